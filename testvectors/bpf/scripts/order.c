/* Two programs of one hook: the first may be the last. */
#include "edge.h"

SEC("edge/request")
int a_first(struct edge_ctx *ctx)
{
	char b[1];

	edge_header_add(EDGE_STR("X-Order"), EDGE_STR("first"));
	return edge_request_header(EDGE_STR("X-Last"), b, sizeof(b)) >= 0 ? EDGE_LAST : EDGE_NEXT;
}

SEC("edge/request")
int b_second(struct edge_ctx *ctx)
{
	edge_header_add(EDGE_STR("X-Order"), EDGE_STR("second"));
	return EDGE_NEXT;
}
