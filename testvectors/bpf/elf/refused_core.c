/* Relies on kernel types: refused. */
#include "vectors.h"

struct task {
	int pid;
	int other;
} __attribute__((preserve_access_index));

SEC("edge/request") u64 core(struct task *t)
{
	return t->other;
}
