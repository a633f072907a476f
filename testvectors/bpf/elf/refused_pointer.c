/* Calls through a pointer: refused. */
#include "vectors.h"

static noinline u64 a(u64 x) { return x + 1; }
static noinline u64 b(u64 x) { return x + 2; }

SEC("edge/request") u64 indirect(struct input *in)
{
	static u64 (*const table[])(u64) = {a, b};
	return table[in->kind & 1](3);
}
