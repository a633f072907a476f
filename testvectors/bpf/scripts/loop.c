/* Loops for ever: /loop in edge/request, /late in edge/response; ?n=N in X-Work
 * makes a loop of N thousand steps. */
#include "edge.h"

static int asked(const char *path, __u64 length)
{
	char buffer[64];
	long n = edge_request_path(buffer, sizeof(buffer));

	return n > 0 && n <= (long)sizeof(buffer) && edge_equal(buffer, (__u64)n, path, length);
}

static volatile __u64 turns;

SEC("edge/request")
int loop(struct edge_ctx *ctx)
{
	char digits[8];
	long n = edge_request_header(EDGE_STR("X-Work"), digits, sizeof(digits));
	__u64 steps = 0;

	for (long i = 0; i < n && i < (long)sizeof(digits); i++)
		steps = steps * 10 + (__u64)(digits[i] - '0');
	for (steps *= 1000; steps; steps--)
		turns++;
	while (asked(EDGE_STR("/loop")))
		for (;;)
			turns++;
	return EDGE_NEXT;
}

SEC("edge/response")
int late(struct edge_ctx *ctx)
{
	if (asked(EDGE_STR("/late")))
		for (;;)
			turns++;
	return EDGE_NEXT;
}
