/* Reads through a null pointer, three functions deep. */
#include "vectors.h"

struct node {
	struct node *next;
	u64 value;
};

static noinline u64 value_of(struct node *n)
{
	return n->value;
}

SEC("edge/request") u64 chase(struct input *in)
{
	struct node *none = 0;
	asm volatile("" : "+r"(none));
	return value_of(none) + 1;
}
