/* Answers /client with what is known of the client's certificate, a line each. */
#include "edge.h"

#define LINE(name, fill) \
	edge_text_add(&t, EDGE_STR(name "=")); \
	n = fill; \
	if (n == -EDGE_ENOENT) \
		edge_text_add(&t, EDGE_STR("none")); \
	edge_text_filled(&t, n); \
	edge_text_byte(&t, '\n')

static char text[2048];

SEC("edge/request")
int client(struct edge_ctx *ctx)
{
	struct edge_text t = {text, sizeof(text)};
	char path[16];
	long n = edge_request_path(path, sizeof(path));

	if (n < 0 || !edge_equal(path, (__u64)n, EDGE_STR("/client")))
		return EDGE_NEXT;
	LINE("subject", edge_client_subject(EDGE_REST(t)));
	LINE("issuer", edge_client_issuer(EDGE_REST(t)));
	LINE("sha256", edge_client_sha256(EDGE_REST(t)));
	for (__u64 i = 0; i < 8; i++) {
		n = edge_client_name(i, EDGE_REST(t));
		if (n < 0)
			break;
		edge_text_filled(&t, n);
		edge_text_byte(&t, ' ');
	}
	edge_respond(200, EDGE_STR("text/plain"), t.at, t.length);
	return EDGE_NEXT;
}
