/* An entry in a section that is no hook: refused, since it would never run. */
#include "vectors.h"

SEC("edge/requests") u64 misspelt(struct input *in)
{
	return 1;
}
