/* .data, .bss and .rodata side by side; a run sees what the last one left. */
#include "vectors.h"

static u64 counter;
static u32 step = 5;
u64 exported = 0x1122334455667788ULL;
static u8 table[300];
const volatile u32 fixed = 77;

SEC("edge/request") u64 count(struct input *in)
{
	counter += step;
	table[counter % sizeof(table)]++;
	return counter;
}

SEC("edge/response") u64 look(struct input *in)
{
	return exported + fixed + table[5];
}

/* Stores to read-only data: traps. */
SEC("edge/response") u64 spoil(struct input *in)
{
	*(volatile u32 *)&fixed = 1;
	return fixed;
}
