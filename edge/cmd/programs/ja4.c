/* Answers every request with the fingerprints of its client, a line each. */
#include "edge.h"

SEC("edge/request")
int answer(struct edge_ctx *ctx)
{
	char text[256], value[36];
	struct edge_text t = {text, sizeof(text)};
	long n = edge_tls_ja4(value, sizeof(value));

	edge_text_add(&t, EDGE_STR("ja4        "));
	edge_text_add(&t, value, n == sizeof(value) ? sizeof(value) : 0);
	n = edge_tls_ja4_inner(value, sizeof(value));
	if (n == sizeof(value)) {
		edge_text_add(&t, EDGE_STR("\nja4_inner  "));
		edge_text_add(&t, value, sizeof(value));
	}
	edge_text_byte(&t, '\n');
	edge_header_set(EDGE_STR("Cache-Control"), EDGE_STR("no-store"));
	edge_respond(200, EDGE_STR("text/plain; charset=utf-8"), t.at, t.length);
	return EDGE_NEXT;
}
