/* Counts requests in a shared map, and says the count. */
#include "edge.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} requests SEC(".maps");

SEC("edge/request")
int count(struct edge_ctx *ctx)
{
	char digits[20];
	struct edge_text t = {digits, sizeof(digits)};
	__u32 key = 0;
	__u64 *n = bpf_map_lookup_elem(&requests, &key);

	if (!n)
		return -1;
	__sync_fetch_and_add(n, 1);
	edge_text_number(&t, *n);
	edge_header_set(EDGE_STR("X-Count"), t.at, t.length);
	return EDGE_NEXT;
}
