/* Answers /facts with all that is known of connection and request, a line each,
 * and keeps what edge/hello saw for it. */
#include "edge.h"

/* What the last hello offered by ALPN. */
static char offered[64];
static __u64 offered_length;

SEC("edge/hello")
int offer(struct edge_ctx *ctx)
{
	char ja4[36];
	long n = edge_hello_alpn(offered, sizeof(offered));

	offered_length = n < 0 ? 0 : n > (long)sizeof(offered) ? sizeof(offered) : (__u64)n;
	n = edge_tls_ja4(ja4, sizeof(ja4));
	if (n == sizeof(ja4))
		edge_log(ja4, sizeof(ja4));
	return EDGE_NEXT;
}

#define LINE(name, fill) \
	edge_text_add(&t, EDGE_STR(name "=")); \
	edge_text_filled(&t, fill); \
	edge_text_byte(&t, '\n')
#define NUMBER(name, n) \
	edge_text_add(&t, EDGE_STR(name "=")); \
	edge_text_number(&t, n); \
	edge_text_byte(&t, '\n')

static char text[2048];

SEC("edge/request")
int facts(struct edge_ctx *ctx)
{
	struct edge_text t = {text, sizeof(text)};

	LINE("peer", edge_peer(EDGE_REST(t)));
	NUMBER("port", ctx->peer_port);
	NUMBER("family", ctx->peer_family);
	NUMBER("tls", ctx->tls);
	NUMBER("suite", ctx->tls_suite);
	NUMBER("ech", ctx->tls_ech);
	NUMBER("resumed", ctx->tls_resumed);
	LINE("sni", edge_tls_sni(EDGE_REST(t)));
	LINE("outer", edge_tls_outer_sni(EDGE_REST(t)));
	LINE("alpn", edge_tls_alpn(EDGE_REST(t)));
	LINE("ja4", edge_tls_ja4(EDGE_REST(t)));
	LINE("ja4_inner", edge_tls_ja4_inner(EDGE_REST(t)));
	NUMBER("http", ctx->http_major * 10 + ctx->http_minor);
	LINE("method", edge_request_method(EDGE_REST(t)));
	LINE("target", edge_request_target(EDGE_REST(t)));
	LINE("path", edge_request_path(EDGE_REST(t)));
	LINE("query", edge_request_query(EDGE_REST(t)));
	LINE("host", edge_request_host(EDGE_REST(t)));
	LINE("agent", edge_request_header(EDGE_STR("user-agent"), EDGE_REST(t)));
	NUMBER("seconds", edge_time() / 1000000000);
	NUMBER("same", edge_time() == ctx->time);
	NUMBER("random", edge_random() != edge_random());
	edge_text_add(&t, EDGE_STR("offered="));
	edge_text_add(&t, offered, offered_length);
	edge_text_byte(&t, '\n');
	edge_respond(200, EDGE_STR("text/plain"), t.at, t.length);
	return EDGE_NEXT;
}
