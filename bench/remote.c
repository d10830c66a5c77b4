// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a remote request costs, for scripts/bench/remote.sh.
 *
 *   remote raw HOST PORT COUNT SIZE WINDOW   librabbitmq alone: one process publishes requests, at
 *                                            most WINDOW without their answers, another answers
 *                                            them. All is persistent, confirmed and acked, as
 *                                            dxkd does it
 *   remote app CTX COUNT SIZE WINDOW         the same with dxk: posts to CTX, and rejoins
 *   remote serve CTX WORKERS                 who executes them, in WORKERS processes
 *
 * raw and app say what a request took: us of time, and us of the processor, user and system,
 * of their own processes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <amqp.h>
#include <amqp_tcp_socket.h>

#include <dxk.h>

#define BATCH	64
#define DATA	4096

static _Noreturn void fail(const char *what, const char *why)
{
	fprintf(stderr, "remote: %s: %s\n", what, why);
	exit(1);
}

static void check(const char *what, int rc)
{
	if (rc < 0)
		fail(what, strerror(-rc));
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double us_of(struct timeval t)
{
	return (double)t.tv_sec * 1e6 + (double)t.tv_usec;
}

static void report(double begin, unsigned int count)
{
	struct rusage own, children;

	getrusage(RUSAGE_SELF, &own);
	getrusage(RUSAGE_CHILDREN, &children);
	printf("time %.1f user %.1f system %.1f\n", (now_us() - begin) / count,
	       (us_of(own.ru_utime) + us_of(children.ru_utime)) / count,
	       (us_of(own.ru_stime) + us_of(children.ru_stime)) / count);
}

/* --- librabbitmq alone --------------------------------------------------------- */

/*
 * The publications of a connection that are not confirmed yet, by their number: of the consumer
 * each is the answer to a delivery.
 */
struct unconfirmed {
	uint64_t *tags;
	uint64_t first, next;
};

static void ok(amqp_connection_state_t c, const char *what)
{
	if (amqp_get_rpc_reply(c).reply_type != AMQP_RESPONSE_NORMAL)
		fail(what, "refused");
}

static amqp_connection_state_t join(const char *host, int port)
{
	amqp_connection_state_t c = amqp_new_connection();
	int rc = amqp_socket_open(amqp_tcp_socket_new(c), host, port);

	if (rc)
		fail("connect", amqp_error_string2(rc));
	if (amqp_login(c, "/", 0, 131072, 10, AMQP_SASL_METHOD_PLAIN, "me", "secret").reply_type !=
	    AMQP_RESPONSE_NORMAL)
		fail("login", "refused");
	amqp_channel_open(c, 1);
	ok(c, "channel");
	amqp_confirm_select(c, 1);
	ok(c, "confirms");
	return c;
}

static void consume(amqp_connection_state_t c, const char *queue, unsigned int prefetch)
{
	amqp_basic_qos(c, 1, 0, (uint16_t)prefetch, 0);
	ok(c, "prefetch");
	amqp_basic_consume(c, 1, amqp_cstring_bytes(queue), amqp_empty_bytes, 0, 0, 0,
			   amqp_empty_table);
	ok(c, "consume");
}

/* Waits for one. True: it is a delivery, which is in @m and has @tag. */
static bool next_event(amqp_connection_state_t c, amqp_message_t *m, uint64_t *tag,
		       struct unconfirmed *u, unsigned int *acked)
{
	amqp_basic_ack_t *a;
	amqp_frame_t f;
	uint64_t i;

	amqp_maybe_release_buffers(c);
	if (amqp_simple_wait_frame(c, &f) != AMQP_STATUS_OK)
		fail("connection", "lost");
	if (f.frame_type != AMQP_FRAME_METHOD)
		return false;
	switch (f.payload.method.id) {
	case AMQP_BASIC_DELIVER_METHOD:
		*tag = ((amqp_basic_deliver_t *)f.payload.method.decoded)->delivery_tag;
		if (amqp_read_message(c, 1, m, 0).reply_type != AMQP_RESPONSE_NORMAL)
			fail("connection", "lost");
		return true;
	case AMQP_BASIC_ACK_METHOD:
		a = f.payload.method.decoded;
		for (i = a->multiple ? u->first : a->delivery_tag; i <= a->delivery_tag; i++)
			if (u->tags[i]) {
				if (acked)
					amqp_basic_ack(c, 1, u->tags[i], 0);
				if (acked)
					++*acked;
				u->tags[i] = 0;
			}
		while (u->first < u->next && !u->tags[u->first])
			u->first++;
		return false;
	default:
		fail("connection", "closed");
	}
}

static void publish(amqp_connection_state_t c, const char *key, amqp_bytes_t to,
		    const amqp_basic_properties_t *p, amqp_bytes_t body, struct unconfirmed *u,
		    uint64_t tag)
{
	u->tags[u->next++] = tag;
	if (amqp_basic_publish(c, 1, amqp_empty_bytes, key ? amqp_cstring_bytes(key) : to, 1, 0, p,
			       body))
		fail("publish", "lost");
}

static _Noreturn void answer_all(const char *host, int port, unsigned int count,
				 unsigned int window, int ready)
{
	amqp_connection_state_t c = join(host, port);
	struct unconfirmed u = { calloc(count + 2, sizeof(uint64_t)), 1, 1 };
	amqp_basic_properties_t p = {
		._flags = AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_CORRELATION_ID_FLAG,
		.delivery_mode = 2,
	};
	unsigned int acked = 0;
	amqp_message_t m;
	uint64_t tag;

	consume(c, "bench.requests", window);
	if (write(ready, "", 1) != 1)
		exit(1);
	while (acked < count) {
		if (!next_event(c, &m, &tag, &u, &acked))
			continue;
		p.correlation_id = m.properties.correlation_id;
		publish(c, NULL, m.properties.reply_to, &p, (amqp_bytes_t){ 8, "01234567" }, &u,
			tag);
		amqp_destroy_message(&m);
	}
	amqp_connection_close(c, AMQP_REPLY_SUCCESS);
	exit(0);
}

static int raw(const char *host, int port, unsigned int count, unsigned int size,
	       unsigned int window)
{
	amqp_connection_state_t c = join(host, port);
	struct unconfirmed u = { calloc(count + 2, sizeof(uint64_t)), 1, 1 };
	amqp_basic_properties_t p = {
		._flags = AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_PRIORITY_FLAG |
			AMQP_BASIC_REPLY_TO_FLAG | AMQP_BASIC_CORRELATION_ID_FLAG,
		.delivery_mode = 2, .reply_to = amqp_cstring_bytes("bench.replies"),
	};
	amqp_table_entry_t bands = { amqp_cstring_bytes("x-max-priority"),
		{ AMQP_FIELD_KIND_I32, { .i32 = 5 } } };
	static const char *const queues[] = { "bench.requests", "bench.replies" };
	unsigned int sent = 0, answered = 0, i;
	int ready[2], status;
	char id[32], go;
	amqp_message_t m;
	double begin;
	uint64_t tag;
	char *body = calloc(size, 1);

	for (i = 0; i < 2; i++) {
		amqp_queue_delete(c, 1, amqp_cstring_bytes(queues[i]), 0, 0);
		ok(c, "queue");
		amqp_queue_declare(c, 1, amqp_cstring_bytes(queues[i]), 0, 1, 0, 0,
				   (amqp_table_t){ !i, &bands });
		ok(c, "queue");
	}
	consume(c, "bench.replies", window);
	if (pipe(ready))
		return 1;
	if (!fork())
		answer_all(host, port, count, window, ready[1]);
	if (read(ready[0], &go, 1) != 1)
		return 1;
	begin = now_us();
	while (answered < count || u.first < u.next) {
		for (; sent < count && sent - answered < window; sent++) {
			snprintf(id, sizeof(id), "%u", sent);
			p.priority = (uint8_t)(sent % 6);
			p.correlation_id = amqp_cstring_bytes(id);
			publish(c, "bench.requests", amqp_empty_bytes, &p,
				(amqp_bytes_t){ size, body }, &u, 1);
		}
		if (!next_event(c, &m, &tag, &u, NULL))
			continue;
		amqp_basic_ack(c, 1, tag, 0);
		amqp_destroy_message(&m);
		answered++;
	}
	wait(&status);
	report(begin, count);
	amqp_connection_close(c, AMQP_REPLY_SUCCESS);
	return status != 0;
}

/* --- dxk ----------------------------------------------------------------------- */

static int app(const char *name, unsigned int count, unsigned int size, unsigned int window)
{
	unsigned int sent = 0, answered = 0;
	struct dxk_result res[BATCH];
	char data[DATA] = "";
	uint64_t got[BATCH];
	double begin;
	int ctx, me, n;

	ctx = dxk_ctx_join(dxk_open(), name, DXK_ACCESS_WRITE, 0, NULL);
	check(name, ctx);
	me = dxk_member_create(ctx, DXK_MEMBER_CLIENT, NULL);
	check("client", me);
	begin = now_us();
	while (answered < count) {
		for (; sent < count && sent - answered < window; sent++) {
			struct dxk_post_entry e = {
				.owner = 7, .param = sent, .data = (uintptr_t)data,
				.data_len = size, .result_len = 8, .prio = (int)(sent % 120),
				.attrs = PXR_REJOIN | PXR_WAITIF_BUSY | PXR_REDO,
			};

			check("post", dxk_post(me, &e, 1, -1, NULL));
		}
		n = dxk_rejoin(me, 7, res, BATCH, 1, got, sizeof(*got), 60000000000LL, NULL);
		check("rejoin", n);
		if (!n)
			fail("rejoin", "nothing in a minute");
		answered += (unsigned int)n;
		while (n--)
			if (res[n].status)
				fail("a request", strerror(-res[n].status));
	}
	report(begin, count);
	return 0;
}

static _Noreturn void work(int ctx)
{
	int me = dxk_member_create(ctx, DXK_MEMBER_WORKER, NULL), n;
	struct dxk_done d, *done = NULL;
	static char data[DATA];
	uint64_t sum = 0;
	struct dxk_work w;

	check("worker", me);
	for (;;) {
		n = dxk_next(me, done, !!done, NULL, &w, 1, data, sizeof(data), -1);
		done = NULL;
		if (n == -ESHUTDOWN)
			exit(0);
		if (n != -EINTR)
			check("next", n);
		if (n < 1)
			continue;
		sum += w.param;
		d = (struct dxk_done){ .ticket = w.ticket, .data = (uintptr_t)&sum,
				       .data_len = sizeof(sum) };
		done = &d;
	}
}

static int serve(const char *name, int workers)
{
	struct dxk_ctx_create create = { .mode = 0777 };
	struct dxk_policy policy;
	int ctx, i;

	snprintf(create.name, sizeof(create.name), "%s", name);
	ctx = dxk_ctx_create_as(dxk_open(), &create);
	check(name, ctx);
	check("policy", dxk_policy_get(ctx, &policy));
	policy.max_threads = (uint32_t)workers;
	policy.kernel_threads = 0;
	check("policy", dxk_policy_set(ctx, &policy, NULL));
	check("start", dxk_ctx_start(ctx));
	for (i = 0; i < workers; i++)
		if (!fork())
			work(ctx);
	puts("serves");
	fflush(stdout);
	while (wait(NULL) > 0)
		;
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 7 && !strcmp(argv[1], "raw"))
		return raw(argv[2], atoi(argv[3]), (unsigned int)atoi(argv[4]),
			   (unsigned int)atoi(argv[5]), (unsigned int)atoi(argv[6]));
	if (argc == 6 && !strcmp(argv[1], "app"))
		return app(argv[2], (unsigned int)atoi(argv[3]), (unsigned int)atoi(argv[4]),
			   (unsigned int)atoi(argv[5]));
	if (argc == 4 && !strcmp(argv[1], "serve"))
		return serve(argv[2], atoi(argv[3]));
	fprintf(stderr, "remote: see the beginning of bench/remote.c\n");
	return 2;
}
