/* A static function in each of a hundred sections, each with its relocations. */
#include "vectors.h"

#define ONE(n) \
	__attribute__((section("library/" #n))) static noinline u64 f##n(u64 x) { return record(&x, 0) + x * n; }
#define CALL(n) sum += f##n(in->kind);
#define TEN(x, d) x(d##0) x(d##1) x(d##2) x(d##3) x(d##4) x(d##5) x(d##6) x(d##7) x(d##8) x(d##9)
#define HUNDRED(x) TEN(x, 1) TEN(x, 2) TEN(x, 3) TEN(x, 4) TEN(x, 5) TEN(x, 6) TEN(x, 7) TEN(x, 8) TEN(x, 9) TEN(x, 10)

HUNDRED(ONE)

SEC("edge/request") u64 all(struct input *in)
{
	u64 sum = 0;
	HUNDRED(CALL)
	return sum;
}
