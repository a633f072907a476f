/* Takes several slices before it lets an answer go. */
#include "edge.h"

static volatile __u64 turns;

SEC("edge/response")
int slow(struct edge_ctx *ctx)
{
	for (int i = 0; i < 500000; i++)
		turns++;
	return EDGE_NEXT;
}
