/* Uses a variable that nothing defines: refused. */
#include "vectors.h"

extern u64 nowhere;

SEC("edge/request") u64 use(struct input *in)
{
	return nowhere;
}
