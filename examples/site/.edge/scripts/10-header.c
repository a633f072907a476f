/* Shows in every answer that a program has seen it. */
#include "edge.h"

SEC("edge/response")
int header(struct edge_ctx *ctx)
{
	edge_header_set(EDGE_STR("X-Edge"), EDGE_STR("a program in .edge/scripts/10-header.c"));
	return EDGE_NEXT;
}
