/*
 * edge.h - what a program for edge includes. `edge sdk` prints it.
 *
 * A program is a function in the section of its hook:
 *
 *	#include "edge.h"
 *
 *	SEC("edge/request")
 *	int hello(struct edge_ctx *ctx)
 *	{
 *		edge_header_set(EDGE_STR("X-Hello"), EDGE_STR("world"));
 *		return EDGE_NEXT;
 *	}
 *
 * `edge pack` compiles what lies in .edge/scripts of a site, `edge serve --script`
 * compiles one file, and
 *
 *	clang -target bpf -mcpu=v3 -O2 -g -ffreestanding -fno-builtin -c hello.c
 *
 * does it by hand, with `edge sdk > edge.h` beside hello.c.
 *
 * Rules that hold for every function below:
 *
 *   - Strings are a pointer and a length; nothing ends in a zero byte.
 *   - What fills a buffer returns the whole length of the value and writes as
 *     much of it as fits: a result above the size means that it was cut.
 *   - Errors are negative: -EDGE_ENOENT and so on.
 *   - A pointer outside the program's memory ends the program, and the log says
 *     where: file and line, if it was compiled with -g.
 *   - Numbers never change, and none is used twice.
 *
 * A function has 512 bytes of stack, which begin as zeros; functions nest 8 deep.
 * Static variables are one for each worker and keep their values from request to
 * request: they take what is too large for the stack, but a program that has used
 * up its slice, or has waited for a body, may find them changed by another request
 * when it goes on.
 *
 * A program that fails is not passed over: a request is answered 500, a
 * ClientHello refused with internal_error. One that takes longer than
 * --script-time is stopped and its request answered 503.
 */
#ifndef EDGE_H
#define EDGE_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;

/*
 * SEC names the hook of a program:
 *
 *	edge/hello     the ClientHello is here, nothing is computed or sent yet
 *	edge/request   the request head is here, nothing answers it yet
 *	edge/response  the answer's status and fields are known, nothing is written; not
 *	               for what is refused before there is a request (malformed, too
 *	               large) and for what a failed program is answered
 *
 * Programs of a hook run in the order of their files' names (those of the command
 * line first), and within a file of their own names.
 */
#define SEC(name) __attribute__((section(name), used))

/* EDGE_STR gives a string literal as pointer and length. */
#define EDGE_STR(s) (s), (sizeof(s) - 1)

/* What a program returns. A negative value means that it failed. */
#define EDGE_NEXT 0 /* go on with the next program of this hook */
#define EDGE_LAST 1 /* leave out the programs of this hook that are left */

#define EDGE_EPERM 1   /* not in this hook, or not a program's to change */
#define EDGE_ENOENT 2  /* there is none */
#define EDGE_E2BIG 7   /* longer than its limit */
#define EDGE_EEXIST 17 /* there is one already */
#define EDGE_EINVAL 22 /* malformed */
#define EDGE_ENOSPC 28 /* no room left */

/* What every program is called with. Fields are only ever added at the end. */
struct edge_ctx {
	__u32 size;        /* bytes of this structure that the server fills */
	__u32 hook;        /* EDGE_HOOK_… */
	__u64 time;        /* now, nanoseconds since 1970-01-01 UTC */
	__u8 peer[16];     /* the client's address, IPv4 as ::ffff:a.b.c.d */
	__u16 peer_port;   /* in host order */
	__u8 peer_family;  /* 4 or 6; 0 for a unix socket, which has no address */
	__u8 tls;          /* 1 if the client speaks TLS to us */
	__u16 tls_suite;   /* 0x1301 and so on; 0 in edge/hello */
	__u8 tls_ech;      /* EDGE_ECH_… */
	__u8 tls_resumed;  /* 1 if a ticket was used; 0 in edge/hello */
	__u16 status;      /* of the answer, in edge/response */
	__u8 http_major;   /* of the request: 1 or 2 */
	__u8 http_minor;
	__u32 reserved;
};

#define EDGE_HOOK_HELLO 1
#define EDGE_HOOK_REQUEST 2
#define EDGE_HOOK_RESPONSE 3

#define EDGE_ECH_NONE 0     /* the client offered no ECH */
#define EDGE_ECH_REJECTED 1 /* to a key that is not ours, or GREASE: the outer hello counts */
#define EDGE_ECH_ACCEPTED 2 /* the inner hello counts */

/*
 * Maps, declared as for the kernel. Shared by all workers and kept over a reload
 * if file, name and shape stay: ARRAY, HASH, LRU_HASH. One for each worker:
 * PERCPU_ARRAY, PERCPU_HASH, LRU_PERCPU_HASH. They need clang -g.
 *
 *	struct {
 *		__uint(type, BPF_MAP_TYPE_LRU_HASH);
 *		__uint(max_entries, 10000);
 *		__type(key, __u64);
 *		__type(value, __u64);
 *	} seen SEC(".maps");
 */
#define __uint(name, val) int(*name)[val]
#define __type(name, val) __typeof__(val) *name

#define BPF_MAP_TYPE_HASH 1
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_MAP_TYPE_PERCPU_HASH 5
#define BPF_MAP_TYPE_PERCPU_ARRAY 6
#define BPF_MAP_TYPE_LRU_HASH 9
#define BPF_MAP_TYPE_LRU_PERCPU_HASH 10

#define BPF_ANY 0     /* create or replace */
#define BPF_NOEXIST 1 /* create only */
#define BPF_EXIST 2   /* replace only */

/* bpf_map_lookup_elem returns the value of key in place, null if there is none. */
static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
/* bpf_map_update_elem sets it; flags are BPF_ANY and so on. 0 or an error. */
static long (*bpf_map_update_elem)(void *map, const void *key, const void *value, __u64 flags) = (void *)2;
/* bpf_map_delete_elem removes it. 0 or an error. */
static long (*bpf_map_delete_elem)(void *map, const void *key) = (void *)3;

/* ---- Everywhere ------------------------------------------------------- */

/* edge_log writes a line to the error log: 512 bytes at most, control bytes
 * escaped, and for each file 100 lines a second at most. 0. */
static long (*edge_log)(const char *text, __u64 length) = (void *)1000;

/* edge_time returns the time, in nanoseconds since 1970-01-01 UTC. It stands
 * still while a program runs in one go. */
static __u64 (*edge_time)(void) = (void *)1001;

/* edge_random returns 64 random bits, good enough for keys. */
static __u64 (*edge_random)(void) = (void *)1002;

/*
 * The key-value map of the request. Programs hand each other what they found out:
 * it begins empty, lives until the answer is written, and nobody else sees it.
 * edge/hello has one of its own, for the programs of that hook. Keys have 1 to 64
 * bytes; there are 32 of them at most, 4,096 bytes in all.
 */

/* edge_kv_get reads the value of a key. Its length, or -EDGE_ENOENT. */
static long (*edge_kv_get)(const char *key, __u64 key_length, char *buffer, __u64 size) = (void *)1010;
/* edge_kv_set sets it. 0, -EDGE_EINVAL for a bad key, -EDGE_ENOSPC. */
static long (*edge_kv_set)(const char *key, __u64 key_length, const char *value, __u64 length) = (void *)1011;
/* edge_kv_delete removes it. 0 or -EDGE_ENOENT. */
static long (*edge_kv_delete)(const char *key, __u64 key_length) = (void *)1012;

/* ---- The connection --------------------------------------------------- */

/* edge_peer writes the client's address as text, without port: 192.0.2.1,
 * 2001:db8::1; nothing for a unix socket. For a request that comes from an
 * address of --trust it is whom X-Forwarded-For or Forwarded name; peer_port is
 * 0 then. Address and port as numbers are in struct edge_ctx. Its length, 45 at
 * most. */
static long (*edge_peer)(char *buffer, __u64 size) = (void *)1100;

/* edge_tls_sni writes the name the client wants, in lower case, that of the inner
 * hello if ECH was accepted. Its length; 0 if it sent none, or an IP address. */
static long (*edge_tls_sni)(char *buffer, __u64 size) = (void *)1110;

/* edge_tls_outer_sni writes the name that the network saw. Without ECH, and when
 * it was rejected, it is that of edge_tls_sni. Its length. */
static long (*edge_tls_outer_sni)(char *buffer, __u64 size) = (void *)1111;

/* edge_tls_alpn writes the protocol chosen by ALPN, "h2" or "http/1.1". Its
 * length; 0 if none was, and in edge/hello. */
static long (*edge_tls_alpn)(char *buffer, __u64 size) = (void *)1112;

/* edge_tls_ja4 writes the JA4 of the client, of the hello that the network saw:
 * with ECH the outer one. The access log has it as "ja4". Its length, 36;
 * -EDGE_ENOENT without TLS, and on a connection that is older than the first
 * program that asks. */
static long (*edge_tls_ja4)(char *buffer, __u64 size) = (void *)1113;

/* edge_tls_ja4_inner writes the JA4 of the inner hello. The access log has it as
 * "ja4_inner". Its length, 36; -EDGE_ENOENT unless ECH was accepted. */
static long (*edge_tls_ja4_inner)(char *buffer, __u64 size) = (void *)1114;

/*
 * The client's certificate, which --client-auth asks for. One that is shown has been
 * verified, else there would be no connection; so -EDGE_ENOENT says that there is
 * none, as it does in edge/hello, which comes before.
 */

/* edge_client_subject writes whom it is for: a distinguished name (RFC 4514) in
 * printable ASCII. Its length; 0 for a name of more than 1,024 bytes. */
static long (*edge_client_subject)(char *buffer, __u64 size) = (void *)1120;
/* edge_client_issuer writes who signed it, in the same form. */
static long (*edge_client_issuer)(char *buffer, __u64 size) = (void *)1121;
/* edge_client_sha256 writes its SHA-256 in hexadecimal. Its length, 64. */
static long (*edge_client_sha256)(char *buffer, __u64 size) = (void *)1122;
/* edge_client_name writes one of its subject alternative names, counted from 0, with
 * its kind: DNS:a.example, email:a@b.example, IP:192.0.2.1, URI:spiffe://a/b. Its
 * length, -EDGE_ENOENT if there are not so many. */
static long (*edge_client_name)(__u64 index, char *buffer, __u64 size) = (void *)1123;

/* ---- edge/hello -------------------------------------------------------- */

/* edge_hello_alpn writes the protocols that the client offers, in its order, each
 * behind a byte with its length. The length of all; 0 if it offers none. */
static long (*edge_hello_alpn)(char *buffer, __u64 size) = (void *)1200;

/*
 * Verdicts. Each ends the programs of the hook, and does not return if it is
 * good. Without one the handshake goes on.
 */

/* edge_hello_relay passes the connection on, byte for byte, to where --relay has
 * the given name go. -EDGE_ENOENT if there is no such name. */
static long (*edge_hello_relay)(const char *name, __u64 length) = (void *)1210;
/* edge_hello_refuse refuses with an alert (RFC 9846, 6.2): 49 is access_denied,
 * 112 unrecognized_name. -EDGE_EINVAL for a number that is none, and for those
 * that are no refusal (close_notify, user_canceled). */
static long (*edge_hello_refuse)(__u32 alert) = (void *)1211;
/* edge_hello_drop resets the connection without a word. */
static long (*edge_hello_drop)(void) = (void *)1212;
/* edge_hello_ban drops, and resets every connection from the same address (IPv6:
 * the same /64) for some seconds, a day at most, on all workers and listeners.
 * -EDGE_EINVAL for none, or a peer without an address; -EDGE_ENOSPC if 65,536
 * addresses are banned already. */
static long (*edge_hello_ban)(__u64 seconds) = (void *)1213;

/* ---- The request: edge/request and edge/response ---------------------- */

/* edge_request_method writes GET, POST and so on. Its length. */
static long (*edge_request_method)(char *buffer, __u64 size) = (void *)1300;
/* edge_request_target writes what stands in the request line, path and query as
 * the client sent them. Its length. */
static long (*edge_request_target)(char *buffer, __u64 size) = (void *)1301;
/* edge_request_path writes the path as the site looks it up: decoded once, without
 * empty, "." and ".." segments, so that a rule holds for every spelling. Its
 * length; -EDGE_EINVAL for a path that is none, which the site answers 400. */
static long (*edge_request_path)(char *buffer, __u64 size) = (void *)1302;
/* edge_request_query writes what follows the first "?", as sent. Its length, or
 * -EDGE_ENOENT if there is no "?". */
static long (*edge_request_query)(char *buffer, __u64 size) = (void *)1303;
/* edge_request_host writes the host asked for, with its port if it has one, as
 * sent. Its length; 0 for an HTTP/1.0 request without one. */
static long (*edge_request_host)(char *buffer, __u64 size) = (void *)1304;
/* edge_request_header writes the value of the first field of a name, in any case.
 * Its length, or -EDGE_ENOENT. */
static long (*edge_request_header)(const char *name, __u64 name_length, char *buffer, __u64 size) = (void *)1305;

/* edge_request_body_wait waits, in edge/request alone, until the body is there, and
 * returns its length, 0 if there is none. -EDGE_E2BIG if it is longer than limit:
 * then no more of it is waited for. -EDGE_EINVAL for a limit of more than 65,536.
 * What was waited for is not lost to the application that is asked afterwards: it
 * gets the body as the client sent it. */
static long (*edge_request_body_wait)(__u64 limit) = (void *)1310;
/* edge_request_body writes the body from offset on. How many bytes there are from
 * there; -EDGE_ENOENT unless edge_request_body_wait has had it, -EDGE_EINVAL for an
 * offset behind its end. */
static long (*edge_request_body)(__u64 offset, char *buffer, __u64 size) = (void *)1311;

/* ---- The answer -------------------------------------------------------- */

/* edge_respond answers the request, in edge/request alone, and does not return if
 * it is good: no further program of the hook runs, and the site is not asked.
 * type is the Content-Type, none if its length is 0. -EDGE_EINVAL for a status
 * outside 200 to 599 or a malformed type, -EDGE_E2BIG for a body of more than
 * 262,144 bytes, -EDGE_ENOSPC for a type that with the fields that were changed
 * comes to more than 16,384. A status that has no body (204, 304) is sent without
 * one. */
static long (*edge_respond)(__u32 status, const char *type, __u64 type_length, const char *body, __u64 length) = (void *)1400;

/* edge_proxy has an application answer, in edge/request alone, and does not return if
 * it is good: no further program of the hook runs. url is http://HOST[:PORT][/BASE],
 * https://HOST[:PORT][/BASE] or unix:/PATH[:/BASE], as with --proxy, whose other flags
 * (--proxy-ca and so on) hold too. -EDGE_EINVAL for any other URL, -EDGE_ENOSPC if
 * programs have named 256 applications already: name the few that you have, and
 * nothing that a client sends. */
static long (*edge_proxy)(const char *url, __u64 length) = (void *)1401;

/*
 * Fields of the answer. In edge/request what is changed is noted and holds for
 * whatever answer comes, the site's or a program's; in edge/response the answer is
 * there. Malformed names and values are -EDGE_EINVAL; fields that frame the message
 * (Content-Length, Transfer-Encoding, Connection and the like) are the server's
 * own, -EDGE_EPERM. 64 changes and 16,384 bytes for a request, then -EDGE_ENOSPC.
 */

/* edge_header_set puts a field in the place of all of its name. 0 or an error. */
static long (*edge_header_set)(const char *name, __u64 name_length, const char *value, __u64 length) = (void *)1410;
/* edge_header_add adds a field. 0 or an error. */
static long (*edge_header_add)(const char *name, __u64 name_length, const char *value, __u64 length) = (void *)1411;
/* edge_header_delete removes all fields of a name. 0 or an error. */
static long (*edge_header_delete)(const char *name, __u64 name_length) = (void *)1412;
/* edge_header_get writes the value of the first field of a name, in edge/response
 * alone. Its length, -EDGE_ENOENT, or -EDGE_EPERM in another hook. */
static long (*edge_header_get)(const char *name, __u64 name_length, char *buffer, __u64 size) = (void *)1413;
/* edge_status_set changes the status, in edge/response alone. Both the old and the
 * new one must be of those that may have any body (not 204, 205, 206, 304, 416):
 * else -EDGE_EINVAL. 0, or -EDGE_EPERM in another hook. */
static long (*edge_status_set)(__u32 status) = (void *)1414;

/* ---- Text -------------------------------------------------------------- */

/*
 * struct edge_text puts a text together in a buffer, within its size. What does
 * not fit is left out, and over counts it.
 *
 *	char buffer[256];
 *	struct edge_text t = {buffer, sizeof(buffer)};
 *	edge_text_add(&t, EDGE_STR("a"));
 *	edge_log(t.at, t.length);
 */
struct edge_text {
	char *at;
	__u64 size;
	__u64 length;
	__u64 over;
};

/* edge_text_filled takes in the result of a function that filled the end of the
 * buffer: edge_text_filled(&t, edge_request_method(EDGE_REST(t))). */
#define EDGE_REST(t) ((t).at + (t).length), ((t).size - (t).length)

static inline __attribute__((always_inline, unused)) void edge_text_filled(struct edge_text *t, long n)
{
	__u64 room = t->size - t->length;

	if (n <= 0)
		return;
	if ((__u64)n > room) {
		t->over += (__u64)n - room;
		n = (long)room;
	}
	t->length += (__u64)n;
}

/* edge_text_byte adds one byte. */
static inline __attribute__((always_inline, unused)) void edge_text_byte(struct edge_text *t, char c)
{
	if (t->length < t->size)
		t->at[t->length++] = c;
	else
		t->over++;
}

/* edge_text_add adds bytes; for a literal: edge_text_add(&t, EDGE_STR("x")). */
static inline __attribute__((always_inline, unused)) void edge_text_add(struct edge_text *t, const char *s, __u64 length)
{
	char *to = t->at + t->length;

	if (length > t->size - t->length) {
		t->over += length - (t->size - t->length);
		length = t->size - t->length;
	}
	for (__u64 i = 0; i < length; i++)
		to[i] = s[i];
	t->length += length;
}

/* edge_text_json adds bytes as the inside of a JSON string (RFC 8259, 7). */
static __attribute__((noinline, unused)) void edge_text_json(struct edge_text *t, const char *s, __u64 length)
{
	static const char digits[] = "0123456789abcdef";

	for (__u64 i = 0; i < length; i++) {
		__u8 c = (__u8)s[i];

		if (c == '"' || c == '\\') {
			edge_text_byte(t, '\\');
			edge_text_byte(t, (char)c);
		} else if (c < 0x20) {
			edge_text_byte(t, '\\');
			edge_text_byte(t, 'u');
			edge_text_byte(t, '0');
			edge_text_byte(t, '0');
			edge_text_byte(t, digits[c >> 4]);
			edge_text_byte(t, digits[c & 15]);
		} else {
			edge_text_byte(t, (char)c);
		}
	}
}

/* edge_text_number adds a number in decimal. */
static __attribute__((noinline, unused)) void edge_text_number(struct edge_text *t, __u64 n)
{
	char digits[20];
	int at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + n % 10);
		n /= 10;
	} while (n && at > 0);
	edge_text_add(t, digits + at, sizeof(digits) - (__u64)at);
}

/* edge_equal compares two strings. */
static inline __attribute__((always_inline, unused)) int edge_equal(const char *a, __u64 a_length, const char *b, __u64 b_length)
{
	if (a_length != b_length)
		return 0;
	for (__u64 i = 0; i < a_length; i++)
		if (a[i] != b[i])
			return 0;
	return 1;
}

#endif
