/* String literals, two in one section; a table of pointers to strings; a switch
 * that a compiler may turn into a table; constants with an initialiser. */
#include "vectors.h"

static const char *const names[] = {"zero", "one", "two", "three"};

static const u32 primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};

static u64 length(const char *s)
{
	u64 n = 0;
	while (n < 64 && s[n])
		n++;
	return n;
}

static noinline u64 pick(u32 kind)
{
	switch (kind) {
	case 0: return 17;
	case 1: return 23;
	case 2: return 42;
	case 3: return 99;
	case 4: return 1234;
	case 5: return 4321;
	default: return 7;
	}
}

SEC("edge/request") u64 literals(struct input *in)
{
	const char *a = "first string", *b = "another, longer string";
	record(a, length(a));
	record(b, length(b));
	return 0;
}

SEC("edge/request") u64 tables(struct input *in)
{
	const char *name = names[in->kind & 3];
	record(name, length(name));
	return primes[in->kind & 7] * 1000 + pick(in->kind);
}
