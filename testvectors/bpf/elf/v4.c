/* What the fourth version of the instruction set added. */
#include "vectors.h"

struct signed_input {
	signed char b;
	u8 pad;
	short h;
	s32 w;
	s64 d;
};

SEC("edge/request") s64 arithmetic(struct signed_input *in)
{
	s64 sum = in->b;
	sum += in->h;
	sum += in->w;
	if (in->d)
		sum += sum / in->d + sum % in->d;
	return sum + (s32)(in->w / (in->h | 1)) + (signed char)sum;
}

SEC("edge/request") u64 swap(struct signed_input *in)
{
	return __builtin_bswap64(in->d) ^ __builtin_bswap32(in->w) ^ __builtin_bswap16(in->h);
}
