/* Answers with the results of calls that are wrong, a line each. */
#include "edge.h"

static char big[40000];
static char text[2048];

#define RESULT(name, call) do { \
	long r = (long)(call); \
	edge_text_add(&t, EDGE_STR(name " ")); \
	if (r < 0) { \
		edge_text_byte(&t, '-'); \
		r = -r; \
	} \
	edge_text_number(&t, (__u64)r); \
	edge_text_byte(&t, '\n'); \
} while (0)

SEC("edge/request")
int errors(struct edge_ctx *ctx)
{
	struct edge_text t = {text, sizeof(text)};
	char b[4];

	RESULT("cut", edge_request_target(b, sizeof(b)));
	RESULT("no room", edge_request_target(b, 0));
	RESULT("no field", edge_request_header(EDGE_STR("X-None"), b, sizeof(b)));
	RESULT("no query", edge_request_query(b, sizeof(b)));
	RESULT("no key", edge_kv_get(EDGE_STR("k"), b, sizeof(b)));
	RESULT("empty key", edge_kv_set("", 0, EDGE_STR("v")));
	RESULT("long key", edge_kv_set(big, 65, EDGE_STR("v")));
	RESULT("long value", edge_kv_set(EDGE_STR("k"), big, 4096));
	RESULT("set", edge_kv_set(EDGE_STR("k"), EDGE_STR("v")));
	RESULT("get", edge_kv_get(EDGE_STR("k"), b, sizeof(b)));
	RESULT("delete", edge_kv_delete(EDGE_STR("k")));
	RESULT("delete again", edge_kv_delete(EDGE_STR("k")));
	RESULT("bad name", edge_header_set(EDGE_STR("a b"), EDGE_STR("v")));
	RESULT("bad value", edge_header_set(EDGE_STR("X-A"), EDGE_STR("a\r\nb: c")));
	RESULT("framing", edge_header_set(EDGE_STR("content-length"), EDGE_STR("1")));
	RESULT("long", edge_header_set(EDGE_STR("X-A"), big, 20000));
	RESULT("too early", edge_header_get(EDGE_STR("X-A"), b, sizeof(b)));
	RESULT("status early", edge_status_set(404));
	RESULT("no ja4", edge_tls_ja4(b, sizeof(b)));
	RESULT("hello", edge_hello_drop());
	RESULT("bad status", edge_respond(199, "", 0, "", 0));
	RESULT("bad type", edge_respond(200, EDGE_STR("a\nb"), "", 0));
	RESULT("long type", edge_respond(200, big, 16385, "", 0));
	RESULT("long body", edge_respond(200, "", 0, big, 262145));
	edge_respond(200, EDGE_STR("text/plain"), t.at, t.length);
	return EDGE_NEXT;
}
