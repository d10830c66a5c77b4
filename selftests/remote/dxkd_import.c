// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the importing side of dxkd does with a request whose message may be lost, without a broker,
 * and without a context: the places are those of a window that has fetched.
 */
/* link.c has another one */
#define grow grow_array
#include "../tools/dxkd/config.c"
#undef grow
#include "../tools/dxkd/judge.c"
#include "../tools/dxkd/message.c"
#include "../tools/dxkd/link.c"
#include "../tools/dxkd/payload.c"
#include "../tools/dxkd/closer.c"

static bool link_ok(struct link *link, const char *name)
{
	(void)link, (void)name;
	return true;
}

static bool queue_ok(struct link *link, const char *name, amqp_table_t arguments)
{
	(void)arguments;
	return link_ok(link, name);
}

static bool queue_is_gone(struct link *link, const char *name)
{
	(void)name;
	link->code = 404;
	return false;
}

static time_t clock_step;

static int stepped_clock(clockid_t clock, struct timespec *ts)
{
	int rc = clock_gettime(clock, ts);

	if (clock == CLOCK_REALTIME || clock == CLOCK_BOOTTIME)
		ts->tv_sec += clock_step;
	return rc;
}

#define clock_gettime stepped_clock
#define link_exchange_exists link_ok
#define link_queue_exists queue_is_gone
#define link_queue queue_ok
#define link_bind(link, queue, exchange, key) link_ok(link, queue)
#define link_consume(link, queue, consumer, prefetch) link_ok(link, queue)
#include "../tools/dxkd/import.c"

#include <sys/mman.h>

#include "kselftest_harness.h"

const char *tool = "dxkd";

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

FIXTURE(import) {
	struct service cfg;
	struct place places[2];
	struct import m;
};

FIXTURE_SETUP(import)
{
	unsigned int i;

	self->cfg = (struct service){ .window = 2, .begin_within = 1 };
	self->m = (struct import){
		.cfg = &self->cfg, .places = self->places, .closer = closer_new(), .epoll = -1,
	};
	for (i = 0; i < 2; i++) {
		struct place *p = &self->places[i];

		p->number = i + 1;
		p->fd = p->file = -1;
		p->w.work.attrs = PXR_REDO;
		set_at(&self->m, p, UNSENT);
		set_times(&self->m, p);
	}
}

FIXTURE_TEARDOWN(import)
{
	closer_free(self->m.closer);
}

/*
 * What nobody has been sent ends with ETIME when its time to begin is over. What was sent, and is to
 * be sent again as the broker's word on it did not come, may have begun: nobody says that it has not.
 */
TEST_F(import, lost_may_have_begun)
{
	struct place *unsent = &self->places[0], *lost_one = &self->places[1];

	set_at(&self->m, lost_one, SENT);
	message_lost(&self->m, lost_one);
	EXPECT_EQ(UNSENT, lost_one->at);
	EXPECT_EQ(1, self->m.counts.republished);
	EXPECT_EQ(NEVER, end_late(&self->m, now_ns() + 2 * NSEC_PER_SEC));
	EXPECT_EQ(1, self->m.counts.refused);
	EXPECT_EQ(IDLE, unsent->at);
	EXPECT_EQ(UNSENT, lost_one->at);
	EXPECT_EQ(1, self->m.nr_unsent);
}

/* What a daemon that has died had may have been sent by it. */
TEST_F(import, other_had_it)
{
	struct place *p = &self->places[0];

	p->w.work.attempt = 2;
	p->w.expire = 1;
	set_times(&self->m, p);
	end_late(&self->m, now_ns() + 2 * NSEC_PER_SEC);
	EXPECT_EQ(UNSENT, p->at);
	EXPECT_EQ(IDLE, self->places[1].at);
}

/*
 * Who could not take answers for so long that the broker has deleted their queue does not wait for
 * those that were in it.
 */
TEST_F(import, answers_expired)
{
	struct place *redo = &self->places[0], *once = &self->places[1];

	self->m.in.owner = &self->m;
	ASSERT_TRUE(in_up(&self->m.in));
	once->w.work.attrs = 0;
	set_at(&self->m, redo, CONFIRMED);
	set_at(&self->m, once, CONFIRMED);
	in_down(&self->m.in);
	clock_step = 3599;
	EXPECT_TRUE(in_up(&self->m.in));
	EXPECT_EQ(CONFIRMED, redo->at);
	in_down(&self->m.in);
	clock_step += 3600;
	EXPECT_FALSE(in_up(&self->m.in));
	EXPECT_EQ(UNSENT, redo->at);
	EXPECT_EQ(IDLE, once->at);
	EXPECT_EQ(1, self->m.counts.dead);
	EXPECT_TRUE(in_up(&self->m.in));
}

/* The clock of the day is set, for example soon after the host has started: no time has passed. */
TEST_F(import, clock_is_set)
{
	uint64_t now = now_ns(), next;

	self->places[0].w.expire = now + NSEC_PER_SEC / 2;
	set_times(&self->m, &self->places[0]);
	clock_step = 7200;
	next = end_late(&self->m, now);
	EXPECT_EQ(0, self->m.counts.refused);
	EXPECT_EQ(now + NSEC_PER_SEC / 2, next);
	end_late(&self->m, next);
	EXPECT_EQ(IDLE, self->places[0].at);
	EXPECT_EQ(UNSENT, self->places[1].at);
	EXPECT_EQ(1, self->m.counts.refused);
}

/* A message that the broker refuses for its size is not sent again, and the next one not at all. */
TEST_F(import, too_large)
{
	struct place *large = &self->places[0], *small = &self->places[1];

	self->m.out.owner = &self->m;
	self->cfg.quorum = true;	/* no bands */
	self->m.out.largest = 100;
	small->w.work.data_len = 100;
	large->w.work.data_len = 1;
	large->payload = 100;
	set_at(&self->m, large, SENT);
	set_at(&self->m, small, SENT);
	out_down(&self->m.out);
	EXPECT_EQ(IDLE, large->at);
	EXPECT_EQ(1, self->m.counts.refused);
	EXPECT_EQ(UNSENT, small->at);
	EXPECT_EQ(1, self->m.counts.republished);
	large->w.work.data_len = 101;
	set_at(&self->m, large, UNSENT);
	EXPECT_TRUE(publish(&self->m, large));
	EXPECT_EQ(IDLE, large->at);
	EXPECT_EQ(2, self->m.counts.refused);
	EXPECT_EQ(0, self->m.counts.requests[0]);
}

/* Requests are sent in the order in which the context gave them, wherever their places are. */
TEST_F(import, in_order)
{
	self->places[0].w.work.ticket = 8;
	self->places[1].w.work.ticket = 7;
	EXPECT_EQ(&self->places[1], first_unsent(&self->m));
	set_at(&self->m, &self->places[1], SENT);
	EXPECT_EQ(&self->places[0], first_unsent(&self->m));
}

/* Which files can travel, and what arrives of them */
TEST(payloads)
{
	static const char content[] = "content";
	int files[2], unsealed = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	char path[32], *body;
	uint32_t len = 0;

	ASSERT_LE(0, unsealed);
	files[0] = payload_make(content, sizeof(content));
	ASSERT_LE(0, files[0]);
	EXPECT_EQ(0, payload_check(files[0], sizeof(content), &len));
	EXPECT_EQ(sizeof(content), len);
	ASSERT_EQ(0, payload_join("data", 4, files[0], len, &body));
	EXPECT_EQ(0, memcmp(body, "datacontent", 4 + sizeof(content)));
	free(body);
	EXPECT_EQ(-EMSGSIZE, payload_check(files[0], sizeof(content) - 1, &len));
	EXPECT_EQ(-EOPNOTSUPP, payload_check(files[0], 0, &len));
	EXPECT_EQ(-EOPNOTSUPP, payload_check(unsealed, 100, &len));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", files[0]);
	files[1] = open(path, O_WRONLY | O_CLOEXEC);
	ASSERT_LE(0, files[1]);
	EXPECT_EQ(-EOPNOTSUPP, payload_check(files[1], 100, &len));
	close(files[0]);
	close(files[1]);
	close(unsealed);
}

TEST_HARNESS_MAIN
