/* Helpers by name: an undefined function is looked up in the helper table. */
#include "vectors.h"

extern u64 answer(u64 a, u64 b);
extern u64 declared(u64 a) __attribute__((section(".ksyms")));

SEC("edge/request") u64 ask(struct input *in)
{
	return answer(in->kind, 2) + declared(3);
}
