/* Adds a field to every answer: method and target of the request. */
#include "edge.h"

SEC("edge/request")
int header(struct edge_ctx *ctx)
{
	char buffer[448];
	struct edge_text t = {buffer, sizeof(buffer)};

	edge_text_filled(&t, edge_request_method(EDGE_REST(t)));
	edge_text_byte(&t, ' ');
	edge_text_filled(&t, edge_request_target(EDGE_REST(t)));
	edge_header_set(EDGE_STR("X-Script"), t.at, t.length);
	return EDGE_NEXT;
}
