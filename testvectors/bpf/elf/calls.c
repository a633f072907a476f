/* Functions: static in .text, global in .text, static in a section of its own,
 * static beside an entry; arguments and results; recursion. */
#include "vectors.h"

static noinline u64 square(u64 x) { return x * x; }

noinline u64 twice(u64 x) { return square(x) + square(x + 1); }

__attribute__((section("library"))) static noinline u64 elsewhere(u64 x)
{
	u64 local[4] = {x, x + 1, x + 2, 0};
	local[3] = square(x);
	record(local, sizeof(local));
	return local[3] + 1;
}

__attribute__((section("edge/request"))) static noinline u64 beside(u64 x) { return x ^ 0xff; }

static noinline u64 down(u64 n)
{
	volatile u64 mine = n;
	if (n == 0)
		return 1;
	return down(n - 1) + mine;
}

SEC("edge/request") u64 nested(struct input *in)
{
	return twice(in->kind) + elsewhere(in->kind) + beside(in->kind);
}

SEC("edge/response") u64 recursive(struct input *in)
{
	return down(in->kind);
}
