// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections of dxkd to a broker on this host, which scripts/check/remote.sh has started:
 * DXKD_DIR is its directory, DXKD_PORT its port, DXKD_TLS_PORT another one with TLS, and
 * DXKD_BROKER what starts and kills it. Without these all is skipped.
 */
#include "../tools/dxkd/link.c"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

const char *tool = "dxkd";

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

/* --- an owner ---------------------------------------------------------------- */

static struct state {
	unsigned int ups, downs, deliveries, redelivered, confirmed, refused, returned;
	uint64_t tag;			/* of the last one */
	char last[64];			/* and its body */
	const char *queue;		/* made and consumed */
	unsigned int prefetch;
	amqp_table_t arguments;
	uintptr_t sum;			/* of what was confirmed */
} *state;

static bool up(struct link *link)
{
	state->ups++;
	if (!state->queue)
		return true;
	return link_exchange(link, "dxk.test", "direct") &&
	       link_queue(link, state->queue, state->arguments) &&
	       link_bind(link, state->queue, "dxk.test", state->queue) &&
	       (!state->prefetch || link_consume(link, state->queue, "test", state->prefetch));
}

static void down(struct link *link)
{
	(void)link;
	state->downs++;
}

static void deliver(struct link *link, const amqp_basic_deliver_t *d, const amqp_message_t *m)
{
	(void)link;
	state->deliveries++;
	state->redelivered += !!d->redelivered;
	state->tag = d->delivery_tag;
	snprintf(state->last, sizeof(state->last), "%.*s", (int)m->body.len,
		 (char *)m->body.bytes);
}

static void on_confirmed(struct link *link, void *what, bool taken)
{
	(void)link;
	state->confirmed += taken;
	state->refused += !taken;
	state->sum += (uintptr_t)what;
}

static void returned(struct link *link, const amqp_message_t *m)
{
	(void)link;
	(void)m;
	state->returned++;
}

static const struct link_ops ops = { up, down, deliver, on_confirmed, returned };

/* Serve links until *@count is @wanted: false after @seconds without that. */
static bool until(struct link *a, struct link *b, const unsigned int *count,
		  unsigned int wanted, unsigned int seconds)
{
	uint64_t end = now_ns() + seconds * NSEC_PER_SEC, next, next_b;
	struct pollfd p[2];
	uint64_t now;

	for (;;) {
		now = now_ns();
		next = link_run(a, now);
		next_b = b ? link_run(b, now) : next;
		next = next_b < next ? next_b : next;
		now = now_ns();
		if (*count >= wanted)
			return true;
		if (now > end)
			return false;
		next = next < end ? next : end + 1000000;
		p[0] = (struct pollfd){ link_fd(a), POLLIN, 0 };
		p[1] = (struct pollfd){ b ? link_fd(b) : -1, POLLIN, 0 };
		poll(p, 2, next > now ? (int)((next - now) / 1000000) + 1 : 0);
	}
}

static bool idle(struct link *a, unsigned int seconds)
{
	unsigned int never = 0;

	return !until(a, NULL, &never, 1, seconds);
}

static bool publish(struct link *link, const char *key, const char *text, bool mandatory,
		    const char *user, uintptr_t what)
{
	amqp_basic_properties_t p = {
		._flags = AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_USER_ID_FLAG,
		.delivery_mode = 2, .user_id = amqp_cstring_bytes(user),
	};

	return link_writable(link) && link_publish(link, "dxk.test", key, mandatory, &p, text,
						   strlen(text), (void *)what);
}

static int broker(const char *what)
{
	char command[512];

	snprintf(command, sizeof(command), "%s %s >/dev/null 2>&1", getenv("DXKD_BROKER"), what);
	return system(command);
}

FIXTURE(link)
{
	struct broker broker;
	struct link a, b;
	struct state state;
	char queue[64], file[3][256];
};

FIXTURE_SETUP(link)
{
	struct broker *broker = &self->broker;

	if (!getenv("DXKD_DIR"))
		SKIP(return, "no broker: scripts/check/remote.sh");
	signal(SIGPIPE, SIG_IGN);
	state = &self->state;
	*broker = (struct broker){ .nr_nodes = 1, .vhost = "/", .user = "me", .password = "secret",
				   .heartbeat = 10 };
	strcpy(broker->nodes[0].host, "127.0.0.1");
	broker->nodes[0].port = (unsigned int)atoi(getenv("DXKD_PORT"));
	broker->nodes[0].plain = true;
	snprintf(self->queue, sizeof(self->queue), "dxk.test.%d", getpid());
	state->queue = self->queue;
	state->prefetch = 2;
	link_init(&self->a, broker, "a", &ops, NULL);
	link_init(&self->b, broker, "b", &ops, NULL);
}

FIXTURE_TEARDOWN(link)
{
	if (!state)
		return;
	if (self->a.up)
		amqp_queue_delete(self->a.conn, CHANNEL, amqp_cstring_bytes(self->queue), 0, 0);
	link_close(&self->a);
	link_close(&self->b);
}

/* What is published is confirmed, delivered, as far as there is credit, and gone when acked. */
TEST_F(link, messages)
{
	unsigned int i;
	char text[8];

	ASSERT_TRUE(until(&self->a, NULL, &state->ups, 1, 10));
	ASSERT_TRUE(self->a.up);
	for (i = 1; i <= 200; i++) {
		snprintf(text, sizeof(text), "%u", i);
		ASSERT_TRUE(publish(&self->a, self->queue, text, true, "me", i));
	}
	ASSERT_TRUE(until(&self->a, NULL, &state->confirmed, 200, 10));
	EXPECT_EQ(200 * 201 / 2, state->sum);
	EXPECT_EQ(0, state->returned);
	EXPECT_EQ(self->a.first, self->a.next);
	ASSERT_TRUE(idle(&self->a, 1));
	EXPECT_EQ(2, state->deliveries);
	for (i = 3; i <= 200; i++) {
		ASSERT_TRUE(link_ack(&self->a, i - 2));
		ASSERT_TRUE(until(&self->a, NULL, &state->deliveries, i, 10));
	}
	EXPECT_STREQ("200", state->last);
	EXPECT_EQ(0, state->redelivered);
	EXPECT_EQ(0, state->downs);
}

/* Without a queue it comes back. */
TEST_F(link, unroutable)
{
	ASSERT_TRUE(until(&self->a, NULL, &state->ups, 1, 10));
	ASSERT_TRUE(publish(&self->a, "nowhere", "x", true, "me", 7));
	ASSERT_TRUE(until(&self->a, NULL, &state->confirmed, 1, 10));
	EXPECT_EQ(1, state->returned);
	EXPECT_EQ(7, state->sum);
}

/* A connection that ends gives back what it did not ack. */
TEST_F(link, redelivered)
{
	ASSERT_TRUE(until(&self->a, NULL, &state->ups, 1, 10));
	ASSERT_TRUE(publish(&self->a, self->queue, "x", true, "me", 1));
	ASSERT_TRUE(until(&self->a, NULL, &state->deliveries, 1, 10));
	shutdown(link_fd(&self->a), SHUT_RDWR);
	ASSERT_TRUE(until(&self->a, NULL, &state->redelivered, 1, 10));
	EXPECT_EQ(1, state->downs);
	EXPECT_EQ(2, state->ups);
	EXPECT_EQ(2, self->a.epoch);
	EXPECT_STREQ("x", state->last);
	ASSERT_TRUE(link_ack(&self->a, state->tag));
}

/* Who may not is told why, and tries again after a minute. */
TEST_F(link, refused)
{
	self->broker.password = "wrong";
	ASSERT_TRUE(idle(&self->a, 1));
	EXPECT_EQ(0, state->ups);
	EXPECT_EQ(NULL, self->a.conn);
	EXPECT_EQ(403, self->a.code);
	EXPECT_NE(NULL, strstr(self->a.why, "ACCESS_REFUSED")) {
		TH_LOG("%s", self->a.why);
	}
	EXPECT_LT(now_ns() + 50 * NSEC_PER_SEC, self->a.retry);
	self->broker.password = "secret";
	self->broker.vhost = "none";
	ASSERT_TRUE(idle(&self->b, 1));
	EXPECT_EQ(530, self->b.code);
	EXPECT_LT(now_ns() + 50 * NSEC_PER_SEC, self->b.retry);
}

/* A queue with other arguments is told in the broker's words. */
TEST_F(link, other_arguments)
{
	amqp_table_entry_t priority = { amqp_cstring_bytes("x-max-priority"),
					{ AMQP_FIELD_KIND_I32, { .i32 = 5 } } };

	ASSERT_TRUE(until(&self->a, NULL, &state->ups, 1, 10));
	state->arguments = (amqp_table_t){ 1, &priority };
	ASSERT_TRUE(until(&self->b, NULL, &state->ups, 2, 10));
	EXPECT_FALSE(self->b.up);
	EXPECT_EQ(406, self->b.code);
	EXPECT_NE(NULL, strstr(self->b.why, "inequivalent arg 'x-max-priority'")) {
		TH_LOG("%s", self->b.why);
	}
}

/* The broker checks who says he is who; an exchange that is not there is 404. */
TEST_F(link, forged_user)
{
	ASSERT_TRUE(until(&self->a, NULL, &state->ups, 1, 10));
	ASSERT_TRUE(publish(&self->a, self->queue, "x", true, "you", 1));
	ASSERT_TRUE(until(&self->a, NULL, &state->downs, 1, 10));
	EXPECT_EQ(406, self->a.code);
	EXPECT_EQ(0, state->confirmed);
	ASSERT_TRUE(until(&self->b, NULL, &state->ups, 2, 10));
	EXPECT_FALSE(link_exchange_exists(&self->b, "dxk.none"));
	EXPECT_EQ(404, self->b.code);
}

/* So is a queue, and one that is there can be asked for. */
TEST_F(link, no_queue)
{
	ASSERT_TRUE(until(&self->a, NULL, &state->ups, 1, 10));
	EXPECT_TRUE(link_queue_exists(&self->a, self->queue));
	ASSERT_TRUE(until(&self->b, NULL, &state->ups, 2, 10));
	EXPECT_FALSE(link_queue_exists(&self->b, "dxk.none"));
	EXPECT_EQ(404, self->b.code);
}

/* Nobody's port: tried again, ever later, with the next node in turn */
TEST_F(link, backoff)
{
	self->broker.nr_nodes = 2;
	self->broker.nodes[1] = self->broker.nodes[0];
	self->broker.nodes[0].port = 1;
	ASSERT_TRUE(until(&self->a, NULL, &state->ups, 1, 5));
	EXPECT_TRUE(self->a.up);
	self->broker.nr_nodes = 1;
	ASSERT_TRUE(idle(&self->b, 2));
	EXPECT_LT(BACKOFF_MIN, self->b.backoff);
	EXPECT_GE(BACKOFF_MAX, self->b.backoff);
	EXPECT_EQ(1, state->ups);
}

static pid_t broker_pid(void)
{
	char path[256];
	FILE *file;
	int pid = 0;

	snprintf(path, sizeof(path), "%s/pid", getenv("DXKD_DIR"));
	file = fopen(path, "re");
	if (!file || fscanf(file, "%d", &pid) != 1)
		pid = 0;
	if (file)
		fclose(file);
	return pid;
}

/* Heartbeats keep an idle connection, and tell of a broker that says nothing. */
TEST_F(link, heartbeat)
{
	uint64_t begin;
	pid_t pid = broker_pid();

	self->broker.heartbeat = 1;
	ASSERT_TRUE(until(&self->a, NULL, &state->ups, 1, 10));
	ASSERT_TRUE(idle(&self->a, 6));
	EXPECT_EQ(0, state->downs);
	ASSERT_LT(1, pid);
	begin = now_ns();
	ASSERT_EQ(0, kill(pid, SIGSTOP));
	EXPECT_TRUE(until(&self->a, NULL, &state->downs, 1, 10));
	kill(pid, SIGCONT);
	EXPECT_GT(begin + 5 * NSEC_PER_SEC, now_ns());
	EXPECT_TRUE(until(&self->a, NULL, &state->ups, 2, 20));
}

/* A broker without memory is not written to. */
TEST_F(link, blocked)
{
	unsigned int i;

	ASSERT_TRUE(until(&self->a, NULL, &state->ups, 1, 10));
	ASSERT_EQ(0, broker("ctl $DXKD_DIR set_vm_memory_high_watermark absolute 1MB"));
	ASSERT_TRUE(publish(&self->a, self->queue, "x", true, "me", 1));
	for (i = 0; i < 10 && !self->a.blocked; i++)
		idle(&self->a, 1);
	EXPECT_TRUE(self->a.blocked);
	EXPECT_FALSE(link_writable(&self->a));
	ASSERT_EQ(0, broker("ctl $DXKD_DIR set_vm_memory_high_watermark absolute 1GB"));
	ASSERT_TRUE(until(&self->a, NULL, &state->confirmed, 1, 10));
	for (i = 0; i < 10 && self->a.blocked; i++)
		idle(&self->a, 1);
	EXPECT_TRUE(link_writable(&self->a));
	EXPECT_EQ(0, state->downs);
}

/* What is too large to be sent at once is sent when the broker has just been heard of. */
TEST_F(link, large)
{
	unsigned int i;

	ASSERT_TRUE(until(&self->a, NULL, &state->ups, 1, 10));
	EXPECT_TRUE(link_takes(&self->a, "dxk.test", 1000));
	EXPECT_FALSE(link_takes(&self->a, "dxk.test", 1 << 20));
	for (i = 0; i < 1000 && !link_takes(&self->a, "dxk.test", 1 << 20); i++) {
		usleep(10000);
		link_run(&self->a, now_ns());
	}
	EXPECT_GT(1000, i);
	idle(&self->a, 1);
	ASSERT_EQ(0, broker("ctl $DXKD_DIR set_vm_memory_high_watermark absolute 1MB"));
	EXPECT_FALSE(link_takes(&self->a, "dxk.test", 1 << 20));
	for (i = 0; i < 10 && !self->a.blocked; i++)
		idle(&self->a, 1);
	EXPECT_TRUE(self->a.blocked);
	ASSERT_EQ(0, broker("ctl $DXKD_DIR set_vm_memory_high_watermark absolute 1GB"));
	for (i = 0; i < 1000 && !link_takes(&self->a, "dxk.test", 1 << 20); i++) {
		usleep(10000);
		link_run(&self->a, now_ns());
	}
	EXPECT_GT(1000, i);
	EXPECT_EQ(0, state->downs);
	EXPECT_EQ(0, state->confirmed);
}

/* What the broker refuses for its size is known by that, and keeps nobody from going on. */
TEST_F(link, too_large)
{
	amqp_basic_properties_t p = { 0 };
	size_t size = 1600000;
	char *text = calloc(1, size);

	ASSERT_NE(NULL, text);
	ASSERT_TRUE(until(&self->a, NULL, &state->ups, 1, 10));
	EXPECT_EQ(0, self->a.largest);
	ASSERT_TRUE(link_publish(&self->a, "dxk.test", self->queue, true, &p, text, size, self));
	free(text);
	ASSERT_TRUE(until(&self->a, NULL, &state->downs, 1, 10));
	EXPECT_EQ(1500000, self->a.largest) {
		TH_LOG("%s", self->a.why);
	}
	EXPECT_FALSE(link_is_refused(&self->a));
	ASSERT_TRUE(until(&self->a, NULL, &state->ups, 2, 10));
	EXPECT_EQ(1500000, self->a.largest);
	EXPECT_EQ(0, state->confirmed);
}

/* A broker that crashes has what it confirmed. */
TEST_F_TIMEOUT(link, crash, 180)
{
	state->prefetch = 0;
	ASSERT_TRUE(until(&self->a, NULL, &state->ups, 1, 10));
	ASSERT_TRUE(publish(&self->a, self->queue, "kept", true, "me", 1));
	ASSERT_TRUE(until(&self->a, NULL, &state->confirmed, 1, 10));
	state->prefetch = 2;
	ASSERT_EQ(0, broker("kill $DXKD_DIR"));
	ASSERT_TRUE(until(&self->a, NULL, &state->downs, 1, 5));
	ASSERT_EQ(0, broker("start $DXKD_DIR $DXKD_PORT"));
	ASSERT_TRUE(until(&self->a, NULL, &state->deliveries, 1, 30));
	EXPECT_STREQ("kept", state->last);
	EXPECT_EQ(2, state->ups);
	ASSERT_TRUE(link_ack(&self->a, state->tag));
}

static void use_tls(struct broker *broker, char file[3][256], const char *ca, const char *cert)
{
	const char *dir = getenv("DXKD_DIR");

	strcpy(broker->nodes[0].host, "localhost");
	broker->nodes[0].port = (unsigned int)atoi(getenv("DXKD_TLS_PORT"));
	broker->nodes[0].plain = false;
	snprintf(file[0], 256, "%s/%s.pem", dir, ca);
	broker->ca = file[0];
	if (!cert)
		return;
	snprintf(file[1], 256, "%s/%s.pem", dir, cert);
	snprintf(file[2], 256, "%s/%s.key", dir, cert);
	broker->certificate = file[1];
	broker->key = file[2];
}

TEST_F(link, tls)
{
	use_tls(&self->broker, self->file, "ca", "client");
	ASSERT_TRUE(until(&self->a, NULL, &state->ups, 1, 10)) {
		TH_LOG("%s", self->a.why);
	}
	ASSERT_TRUE(publish(&self->a, self->queue, "x", true, "me", 1));
	ASSERT_TRUE(until(&self->a, NULL, &state->confirmed, 1, 10));
	ASSERT_TRUE(until(&self->a, NULL, &state->deliveries, 1, 10));
}

/* Another CA's broker, one of another name, clients without a certificate and with a foreign one */
TEST_F(link, tls_refused)
{
	static const struct {
		const char *ca, *cert, *host;
	} table[] = {
		{ "other-ca", "client", "localhost" },
		{ "ca", "client", "127.0.0.1" },
		{ "ca", NULL, "localhost" },
		{ "ca", "other", "localhost" },
	};
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(*table); i++) {
		self->broker.certificate = self->broker.key = NULL;
		use_tls(&self->broker, self->file, table[i].ca, table[i].cert);
		strcpy(self->broker.nodes[0].host, table[i].host);
		self->a.retry = 0;
		EXPECT_TRUE(idle(&self->a, 1));
		EXPECT_EQ(0, state->ups) {
			TH_LOG("row %zu", i);
		}
		TH_LOG("%s", self->a.why);
	}
}

TEST_HARNESS_MAIN
