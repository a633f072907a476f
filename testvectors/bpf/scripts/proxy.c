/* Passes what is below /app on to the application in X-To, or to a default one, with
 * a look at the body: one with "attack" in it is refused. X-Limit is how long it may
 * be; a longer one is refused if X-Strict is there, and passed on unseen if not. */
#include "edge.h"

#define FIELD(name, buffer) edge_request_header(EDGE_STR(name), buffer, sizeof(buffer))

static long number(const char *digits, long length)
{
	long n = 0;

	for (long i = 0; i < length && i < 8; i++)
		n = n * 10 + (digits[i] - '0');
	return n;
}

static char body[4096];

/* has looks for a word in the body, a piece of which fits into memory at a time. */
static int has(const char *word, __u64 length)
{
	__u64 seen = 0;

	for (__u64 offset = 0;; offset++) {
		if (offset % sizeof(body) == 0 && edge_request_body(offset, body, sizeof(body)) <= 0)
			return 0;
		seen = body[offset % sizeof(body)] == word[seen] ? seen + 1 : body[offset % sizeof(body)] == word[0];
		if (seen == length)
			return 1;
	}
}

static void respond(__u32 status, const char *what, long n)
{
	char buffer[64];
	struct edge_text t = {buffer, sizeof(buffer)};

	for (const char *s = what; *s; s++)
		edge_text_byte(&t, *s);
	edge_text_byte(&t, ' ');
	edge_text_number(&t, (__u64)(n < 0 ? -n : n));
	edge_respond(status, EDGE_STR("text/plain"), t.at, t.length);
}

SEC("edge/request")
int pass(struct edge_ctx *ctx)
{
	char path[64], url[128], field[8];
	long n = edge_request_path(path, sizeof(path));
	long limit = 1024;

	if (n < 4 || !edge_equal(path, 4, EDGE_STR("/app")))
		return EDGE_NEXT;
	n = FIELD("X-Limit", field);
	if (n > 0)
		limit = number(field, n);
	edge_header_set(EDGE_STR("X-Seen"), EDGE_STR("yes"));
	n = edge_request_body_wait((__u64)limit);
	if (n == -EDGE_E2BIG && FIELD("X-Strict", field) >= 0)
		respond(413, "too long", limit);
	if (n == -EDGE_EINVAL)
		respond(500, "limit", limit);
	if (n > 0 && has(EDGE_STR("attack")))
		respond(403, "refused", n);
	if (n == -EDGE_E2BIG && edge_request_body(0, body, sizeof(body)) != -EDGE_ENOENT)
		respond(500, "there is a body after all", 0);
	n = FIELD("X-To", url);
	if (n < 0)
		n = edge_proxy(EDGE_STR("http://192.0.2.10/base"));
	else
		n = edge_proxy(url, n > (long)sizeof(url) ? sizeof(url) : (__u64)n);
	respond(500, "proxy", n);
	return EDGE_NEXT;
}
