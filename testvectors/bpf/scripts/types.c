/* Decides, by the path, what may be compressed of the answers. */
#include "edge.h"

SEC("edge/response")
int types(struct edge_ctx *ctx)
{
	char path[16];
	long n = edge_request_path(path, sizeof(path));

	if (n == 10 && edge_equal(path, 10, EDGE_STR("/api/plain")))
		edge_header_set(EDGE_STR("Cache-Control"), EDGE_STR("no-transform"));
	if (n == 9 && edge_equal(path, 9, EDGE_STR("/api/text")))
		edge_header_set(EDGE_STR("Content-Type"), EDGE_STR("text/plain"));
	return EDGE_NEXT;
}
