/* A verdict for each of some names. */
#include "edge.h"

static volatile __u64 turns;

#define IS(name) edge_equal(sni, (__u64)n, EDGE_STR(name))

SEC("edge/hello")
int verdict(struct edge_ctx *ctx)
{
	char sni[64];
	long n = edge_tls_sni(sni, sizeof(sni));

	if (n < 0 || n > (long)sizeof(sni))
		return EDGE_NEXT;
	if (IS("relay.example"))
		edge_hello_relay(EDGE_STR("behind.example"));
	if (IS("nowhere.example") && edge_hello_relay(EDGE_STR("no such name")) == -EDGE_ENOENT)
		edge_hello_refuse(112);
	if (IS("refuse.example"))
		edge_hello_refuse(49);
	if (IS("drop.example"))
		edge_hello_drop();
	if (IS("ban.example"))
		edge_hello_ban(60);
	if (IS("loop.example"))
		for (;;)
			turns++;
	if (IS("work.example"))
		for (int i = 0; i < 1000000; i++)
			turns++;
	if (IS("fail.example"))
		return -1;
	return EDGE_NEXT;
}
