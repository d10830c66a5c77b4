// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the exporting side of dxkd does with what comes late, or while it ends, and with an answer
 * for which there is no queue. No broker, and no context.
 */
/* link.c has another one */
#define grow grow_array
#include "../tools/dxkd/config.c"
#undef grow
#include "../tools/dxkd/judge.c"
#include "../tools/dxkd/message.c"

static uint64_t clock_now = 1000000000000;
static uint64_t frames;		/* that the broker has sent, each in a microsecond */

static int frame_of_broker(amqp_connection_state_t conn, amqp_frame_t *frame,
			   const struct timeval *limit)
{
	static amqp_basic_ack_t ack;

	(void)conn, (void)limit;
	*frame = (amqp_frame_t){
		.frame_type = AMQP_FRAME_METHOD,
		.payload.method = { .id = AMQP_BASIC_ACK_METHOD, .decoded = &ack },
	};
	clock_now += 1000;
	return ++frames < 10000000 ? AMQP_STATUS_OK : AMQP_STATUS_TIMEOUT;
}

#define amqp_simple_wait_frame_noblock frame_of_broker
#define amqp_maybe_release_buffers(conn)
#include "../tools/dxkd/link.c"
#include "../tools/dxkd/payload.c"
#include "../tools/dxkd/export.c"

#include "kselftest_harness.h"

#define UUID	"01234567-89ab-cdef-0123-456789abcdef"
#define ID	UUID ".7.8"

const char *tool = "dxkd";

uint64_t now_ns(void)
{
	return clock_now;
}

FIXTURE(export) {
	struct broker broker;
	struct service cfg;
	struct export x;
	struct job *job;
	amqp_message_t message;
};

FIXTURE_SETUP(export)
{
	self->broker = (struct broker){ .user = "me" };
	self->cfg = (struct service){
		.name = "render", .broker = &self->broker, .peers = { 1, { "me" } }, .grace = 2,
		.redo_max = 3,
	};
	self->x = (struct export){ .cfg = &self->cfg };
	self->x.in.owner = self->x.out.owner = &self->x;
	self->job = calloc(1, sizeof(*self->job));
	strcpy(self->job->r.id, ID);
	strcpy(self->job->r.user, "me");
	self->job->file = -1;
	remember(&self->x, self->job);
	enlist(&self->x, self->job, SENT);
	self->message = (amqp_message_t){ .properties = {
		._flags = AMQP_BASIC_CORRELATION_ID_FLAG,
		.correlation_id = amqp_cstring_bytes(ID),
	} };
}

FIXTURE_TEARDOWN(export)
{
	job_free(&self->x, self->job);
}

/* It is sent again each second, and the answer of a broker that has the queue again counts. */
TEST_F(export, answer_without_queue)
{
	unsigned int i;

	for (i = 0; i < 3; i++) {
		on_returned(&self->x.out, &self->message);
		on_confirmed(&self->x.out, self->job, true);
		ASSERT_EQ(AWAY, self->job->state);
		EXPECT_FALSE(holds_nothing(&self->x));
		send_again(&self->x, clock_now + SEND_AGAIN - 1);
		EXPECT_EQ(AWAY, self->job->state);
		clock_now += SEND_AGAIN;
		send_again(&self->x, clock_now);
		ASSERT_EQ(UNSENT, self->job->state);
		move(&self->x, self->job, SENT);
	}
	on_confirmed(&self->x.out, self->job, true);
	EXPECT_EQ(REMEMBERED, self->job->state);
	EXPECT_EQ(0, self->job->away);
}

/* Whoever asked for it and does not come back for long gets none. */
TEST_F(export, nobody_comes_back)
{
	on_returned(&self->x.out, &self->message);
	on_confirmed(&self->x.out, self->job, true);
	ASSERT_EQ(AWAY, self->job->state);
	move(&self->x, self->job, SENT);
	clock_now += SEND_FOR * NSEC_PER_SEC + 1;
	on_returned(&self->x.out, &self->message);
	on_confirmed(&self->x.out, self->job, true);
	EXPECT_EQ(REMEMBERED, self->job->state);
}

/* Who may not post cannot keep the places of those who may. */
TEST_F(export, not_a_client)
{
	strcpy(self->job->r.user, "they");
	on_returned(&self->x.out, &self->message);
	on_confirmed(&self->x.out, self->job, true);
	EXPECT_EQ(REMEMBERED, self->job->state);
}

/* The time during which nobody could have come back does not count. */
TEST_F(export, broker_was_away)
{
	on_returned(&self->x.out, &self->message);
	on_confirmed(&self->x.out, self->job, true);
	ASSERT_EQ(AWAY, self->job->state);
	clock_now += 2 * SEND_FOR * NSEC_PER_SEC;
	self->x.out.since = clock_now;
	move(&self->x, self->job, SENT);
	clock_now += NSEC_PER_SEC;
	on_returned(&self->x.out, &self->message);
	on_confirmed(&self->x.out, self->job, true);
	EXPECT_EQ(AWAY, self->job->state);
	move(&self->x, self->job, SENT);
	clock_now += SEND_FOR * NSEC_PER_SEC;
	on_returned(&self->x.out, &self->message);
	on_confirmed(&self->x.out, self->job, true);
	EXPECT_EQ(REMEMBERED, self->job->state);
}

/* Without the copy nobody would answer the request. */
TEST_F(export, copy_without_queue)
{
	unsigned int i;

	publish_copy(&self->x, self->job, 2);
	for (i = 0; i < 3; i++) {
		move(&self->x, self->job, SENT);
		on_returned(&self->x.out, &self->message);
		on_confirmed(&self->x.out, self->job, true);
		ASSERT_EQ(AWAY, self->job->state);
		clock_now += SEND_FOR * NSEC_PER_SEC;
	}
}

/* Another one's message, and a connection that breaks before the confirm, say nothing of it. */
TEST_F(export, not_of_this_one)
{
	self->message.properties.correlation_id.len--;
	on_returned(&self->x.out, &self->message);
	EXPECT_FALSE(self->job->returned);
	self->message.properties.correlation_id.len++;
	on_returned(&self->x.out, &self->message);
	EXPECT_TRUE(self->job->returned);
	out_down(&self->x.out);
	EXPECT_EQ(UNSENT, self->job->state);
	EXPECT_FALSE(self->job->returned);
}

/* What was not begun here, but maybe elsewhere, does not end as one that was not begun. */
TEST_F(export, late)
{
	self->job->r.attempt = 1;
	answer_late(&self->x, self->job);
	EXPECT_EQ(-ETIME, self->job->status);
	self->job->r.attempt = 2;
	answer_late(&self->x, self->job);
	EXPECT_EQ(-EOWNERDEAD, self->job->status);
}

static void give(struct export *x, const char *id, bool redelivered)
{
	struct request r = { .user = "me", .reply_to = "dxk.reply.me." UUID, .lane = 3, .band = -1,
			     .attempt = 1 };
	amqp_basic_deliver_t d = { .redelivered = redelivered,
				   .routing_key = amqp_cstring_bytes("3") };
	amqp_message_t message = { 0 };
	struct message m;

	strcpy(r.id, id);
	request_write(&r, "render", "me", 1000000000, &m);
	message.properties = m.p;
	deliver(&x->in, &d, &message);
}

/*
 * What comes while nothing is begun any more is given back. A copy would say that it has not begun,
 * so there is none of what may have.
 */
TEST_F(export, given_back)
{
	self->x.leaving = true;
	self->x.ups = 2;
	self->x.in.since = clock_now;
	give(&self->x, UUID ".8.1", true);
	post_all(&self->x);
	give_back(&self->x);
	EXPECT_EQ(NULL, job_of(&self->x, UUID ".8.1"));
	EXPECT_EQ(0, self->x.lists[UNSENT].nr);
	clock_now += 2 * NSEC_PER_SEC;
	give(&self->x, UUID ".8.1", true);
	post_all(&self->x);
	give_back(&self->x);
	ASSERT_EQ(1, self->x.lists[UNSENT].nr);
	EXPECT_EQ(-EOWNERDEAD, self->x.lists[UNSENT].first->status);
	EXPECT_EQ(0, self->x.counts.republished);
	job_free(&self->x, self->x.lists[UNSENT].first);
	give(&self->x, UUID ".8.2", false);
	post_all(&self->x);
	give_back(&self->x);
	EXPECT_EQ(1, self->x.counts.republished);
	ASSERT_EQ(1, self->x.lists[UNSENT].nr);
	EXPECT_TRUE(self->x.lists[UNSENT].first->copy);
	job_free(&self->x, self->x.lists[UNSENT].first);
}

/* A client that sends faster than it is rejected does not keep the daemon from the rest. */
TEST_F(export, frames_without_end)
{
	int some;

	self->broker.heartbeat = 10;
	self->x.in.broker = &self->broker;
	self->x.in.conn = (amqp_connection_state_t)&some;
	EXPECT_GE(clock_now, link_run(&self->x.in, clock_now));
	EXPECT_LT(0, frames);
	EXPECT_GE(SLICE / 1000, frames);
	EXPECT_TRUE(self->x.in.unread);
	frames = 10000000;
	EXPECT_LT(clock_now, link_run(&self->x.in, clock_now));
	EXPECT_FALSE(self->x.in.unread);
}

TEST_HARNESS_MAIN
