// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the exporting side of dxkd does with an answer for which there is no queue. No broker, and no
 * context.
 */
/* link.c has another one */
#define grow grow_array
#include "../tools/dxkd/config.c"
#undef grow
#include "../tools/dxkd/judge.c"
#include "../tools/dxkd/message.c"
#include "../tools/dxkd/link.c"
#include "../tools/dxkd/payload.c"
#include "../tools/dxkd/export.c"

#include "kselftest_harness.h"

#define ID	"01234567-89ab-cdef-0123-456789abcdef.7.8"

const char *tool = "dxkd";
static uint64_t clock_now = 1000 * NSEC_PER_SEC;

uint64_t now_ns(void)
{
	return clock_now;
}

FIXTURE(export) {
	struct service cfg;
	struct export x;
	struct job *job;
	amqp_message_t message;
};

FIXTURE_SETUP(export)
{
	self->cfg = (struct service){ .grace = 2 };
	self->x = (struct export){ .cfg = &self->cfg };
	self->x.in.owner = self->x.out.owner = &self->x;
	self->job = calloc(1, sizeof(*self->job));
	strcpy(self->job->r.id, ID);
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

TEST_HARNESS_MAIN
