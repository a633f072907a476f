/* Changes answers in edge/response, and before there is one. */
#include "edge.h"

SEC("edge/request")
int early(struct edge_ctx *ctx)
{
	edge_header_set(EDGE_STR("Server"), EDGE_STR("example"));
	edge_header_add(EDGE_STR("Link"), EDGE_STR("</a>"));
	edge_header_add(EDGE_STR("Link"), EDGE_STR("</b>"));
	edge_header_delete(EDGE_STR("ETAG"));
	edge_kv_set(EDGE_STR("from"), EDGE_STR("early"));
	return EDGE_NEXT;
}

SEC("edge/response")
int late(struct edge_ctx *ctx)
{
	char type[64], from[8], path[16];
	long n = edge_header_get(EDGE_STR("content-TYPE"), type, sizeof(type));

	if (n > 0 && n <= (long)sizeof(type))
		edge_header_set(EDGE_STR("X-Type"), type, (__u64)n);
	n = edge_kv_get(EDGE_STR("from"), from, sizeof(from));
	if (n > 0 && n <= (long)sizeof(from))
		edge_header_set(EDGE_STR("X-From"), from, (__u64)n);
	n = edge_request_path(path, sizeof(path));
	if (n == 7 && edge_equal(path, 7, EDGE_STR("/teapot")) && ctx->status == 404)
		edge_status_set(418);
	return EDGE_NEXT;
}
