/* Maps of every type there is. */
#include "vectors.h"

struct visit {
	u64 count;
	u32 last;
};

struct {
	__uint(type, 9); /* LRU hash */
	__uint(max_entries, 4);
	__type(key, u32);
	__type(value, struct visit);
} visits SEC(".maps");

struct {
	__uint(type, 2); /* array */
	__uint(max_entries, 16);
	__type(key, u32);
	__type(value, u64);
} totals SEC(".maps");

struct {
	__uint(type, 6); /* per-CPU array */
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, u64);
} mine SEC(".maps");

struct {
	__uint(type, 1); /* hash */
	__uint(max_entries, 8);
	__uint(map_flags, 1);
	__uint(pinning, 1); /* by name */
	__type(key, u64);
	__type(value, u64);
} everyone SEC(".maps");

SEC("edge/request") u64 visit(struct input *in)
{
	struct visit *v = map_lookup(&visits, &in->kind);
	u32 zero = 0;
	u64 *total = map_lookup(&totals, &zero), *own = map_lookup(&mine, &zero);

	if (!v) {
		struct visit first = {1, in->length};
		map_update(&visits, &in->kind, &first, 1);
		return 1;
	}
	v->count++;
	v->last = in->length;
	if (total)
		__sync_fetch_and_add(total, 1);
	if (own)
		*own += 1;
	return v->count;
}

SEC("edge/response") u64 pinned(struct input *in)
{
	u64 key = in->kind, one = 1;
	u64 *v = map_lookup(&everyone, &key);

	if (v)
		return __sync_fetch_and_add(v, 1) + 1;
	map_update(&everyone, &key, &one, 0);
	return 1;
}

SEC("edge/response") u64 forget(struct input *in)
{
	u64 key = in->kind;
	return map_delete(&everyone, &key);
}
