/* Does what it may not: /load and /pointer in edge/request, /negative too. */
#include "edge.h"

SEC("edge/request")
int trap(struct edge_ctx *ctx)
{
	char path[16];
	long n = edge_request_path(path, sizeof(path));

	if (n == 5 && edge_equal(path, 5, EDGE_STR("/load")))
		return *(volatile int *)12345678;
	if (n == 8 && edge_equal(path, 8, EDGE_STR("/pointer")))
		edge_log((char *)12345678, 4);
	if (n == 9 && edge_equal(path, 9, EDGE_STR("/negative")))
		return -EDGE_EINVAL;
	return EDGE_NEXT;
}
