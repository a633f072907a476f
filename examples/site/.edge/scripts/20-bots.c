/*
 * A bot filter that only watches: it counts requests by the fingerprint of the
 * client's TLS, and writes a line when a client that does not look like a browser
 * has sent a hundred. Turn edge_log into edge_respond(403, ...) to mean it.
 */
#include "edge.h"

struct ja4 {
	char text[36];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 10000);
	__type(key, struct ja4);
	__type(value, __u64);
} requests SEC(".maps");

/* A browser offers h2: the first part of its JA4 is t13dNNNNh2. */
static int looks_like_a_browser(const struct ja4 *ja4)
{
	return ja4->text[3] == 'd' && ja4->text[8] == 'h' && ja4->text[9] == '2';
}

SEC("edge/request")
int bots(struct edge_ctx *ctx)
{
	struct ja4 ja4 = {};
	__u64 first = 1, *count;
	char line[96];
	struct edge_text t = {line, sizeof(line)};

	if (edge_tls_ja4(ja4.text, sizeof(ja4.text)) != sizeof(ja4.text) || looks_like_a_browser(&ja4))
		return EDGE_NEXT;
	count = bpf_map_lookup_elem(&requests, &ja4);
	if (!count) {
		bpf_map_update_elem(&requests, &ja4, &first, BPF_ANY);
		return EDGE_NEXT;
	}
	if (__sync_add_and_fetch(count, 1) % 100)
		return EDGE_NEXT;
	edge_text_add(&t, EDGE_STR("another hundred requests from "));
	edge_text_add(&t, ja4.text, sizeof(ja4.text));
	edge_log(t.at, t.length);
	return EDGE_NEXT;
}
