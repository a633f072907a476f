/* Answers /json with what was asked, the rest is the site's. */
#include "edge.h"

SEC("edge/request")
int json(struct edge_ctx *ctx)
{
	char buffer[256], part[192];
	struct edge_text t = {buffer, sizeof(buffer)};
	long n = edge_request_path(part, sizeof(part));

	if (n < 0 || !edge_equal(part, (__u64)n, EDGE_STR("/json")))
		return EDGE_NEXT;
	edge_text_add(&t, EDGE_STR("{\"service\":\"bench\",\"method\":\""));
	edge_text_filled(&t, edge_request_method(EDGE_REST(t)));
	edge_text_add(&t, EDGE_STR("\",\"uri\":\""));
	n = edge_request_target(part, sizeof(part));
	edge_text_json(&t, part, n > (long)sizeof(part) ? sizeof(part) : (__u64)n);
	edge_text_add(&t, EDGE_STR("\"}"));
	if (n > (long)sizeof(part) || t.over)
		edge_respond(414, "", 0, "", 0);
	edge_respond(200, EDGE_STR("application/json"), t.at, t.length);
	return EDGE_NEXT;
}
