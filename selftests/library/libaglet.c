// SPDX-License-Identifier: GPL-2.0-only
/*
 * Aglets: their mailboxes and the order there, sends and replies (AG-1 .. AG-17, AG-35).
 */
#define _GNU_SOURCE
#include "library/libaglet.h"

FIXTURE(aglets) {
	struct place p;
	struct agent a, b;
};

FIXTURE_SETUP(aglets)
{
	ASSERT_EQ(0, place_up(&self->p, 3, DXK_ON_BLOCK_STRICT, DXK_REENTRY_CHAIN));
	self->a = agent_of(NULL);
	self->b = agent_of(NULL);
	ASSERT_EQ(0, begins(self->p.c, &self->a));
	ASSERT_EQ(0, begins(self->p.c, &self->b));
}

FIXTURE_TEARDOWN(aglets)
{
	EXPECT_TRUE(goes(&self->a));
	EXPECT_TRUE(goes(&self->b));
	EXPECT_EQ(0, place_down(&self->p));
}

/* A handler of @a is there, and stays until it is let go. */
static bool stays(struct agent *a)
{
	unsigned int before = a->entered;

	a->closed = true;
	return !oneway(a, "gate", "", 0) && DXT_SOON(a->entered > before);
}

/* --- mailbox ------------------------------------------------------------------------ */

/* AG-1: who sends does not wait; an idle agent gets a thread, one that has one gets no other */
TEST_F(aglets, sends_and_returns)
{
	struct agent *a = &self->a, *b = &self->b;

	ASSERT_TRUE(stays(a));
	EXPECT_EQ(0, a->handled);
	EXPECT_EQ(0, oneway(a, "note", "1", 0));
	EXPECT_EQ(0, oneway(a, "note", "2", 0));
	EXPECT_EQ(0, sync_send(b, "quiet", "", NULL));
	EXPECT_EQ(1, a->inside);
	EXPECT_EQ(0, a->handled);
	EXPECT_EQ(0, trace.nr);
	a->closed = false;
	EXPECT_TRUE(DXT_SOON(a->handled == 3));
	EXPECT_STREQ("12", trace.text);
}

/* Both agents are in a handler at the same time, or give up. */
static bool meets(struct agent *a, AgletMessage *m)
{
	if (is(m, "meet")) {
		a->entered++;
		a->rc = DXT_SOON(a->other->entered);
		return true;
	}
	a->wrong += a->inside != 1;
	return is(m, "alone");
}

static void *sends_many(void *arg)
{
	struct agent *a = arg;
	long bad = 0;

	for (unsigned int i = 0; i < 500; i++)
		for (unsigned int j = 0; j < 10; j++)
			bad += oneway(&a[j], "alone", "", 0) != 0;
	return (void *)bad;
}

/*
 * AG-2, AG-9: one message of an agent at a time, several agents at a time; message and agent do
 * not change meanwhile (handle() looks)
 */
TEST_F(aglets, one_at_a_time)
{
	struct agent a[10], *b = &self->b;
	pthread_t t;
	void *bad;

	self->a.also = b->also = meets;
	self->a.other = b;
	b->other = &self->a;
	EXPECT_EQ(0, oneway(&self->a, "meet", "", 0));
	EXPECT_EQ(0, sync_send(b, "meet", "", NULL));
	EXPECT_TRUE(DXT_SOON(self->a.handled));
	EXPECT_EQ(1, self->a.rc);
	EXPECT_EQ(1, b->rc);
	for (unsigned int i = 0; i < 10; i++) {
		a[i] = agent_of(meets);
		ASSERT_EQ(0, begins(self->p.c, &a[i]));
	}
	ASSERT_EQ(0, pthread_create(&t, NULL, sends_many, a));
	EXPECT_EQ(NULL, sends_many(a));
	pthread_join(t, &bad);
	EXPECT_EQ(NULL, bad);
	for (unsigned int i = 0; i < 10; i++) {
		EXPECT_TRUE(DXT_UNTIL(&self->p.t, a[i].handled == 1000));
		EXPECT_TRUE(goes(&a[i]));
	}
}

struct sent {
	int priority;
	char name;
};

static int more_urgent(const void *x, const void *y)
{
	const struct sent *a = x, *b = y;

	return a->priority != b->priority ? b->priority - a->priority : a->name - b->name;
}

/* AG-3: the more urgent one first, then the older one: as a sorted list has it */
TEST_F(aglets, order)
{
	struct sent sent[64];
	char wanted[65] = "";

	srand(7);
	for (unsigned int round = 0; round < 5; round++) {
		trace_clear();
		ASSERT_TRUE(stays(&self->a));
		for (unsigned int i = 0; i < 64; i++) {
			char name[2] = { (char)('0' + i) };

			sent[i] = (struct sent){ 1 + rand() % 10, name[0] };
			ASSERT_EQ(0, oneway(&self->a, "note", name, sent[i].priority));
		}
		qsort(sent, 64, sizeof(*sent), more_urgent);
		for (unsigned int i = 0; i < 64; i++)
			wanted[i] = sent[i].name;
		self->a.closed = false;
		ASSERT_TRUE(DXT_SOON(trace.nr == 64));
		EXPECT_STREQ(wanted, trace.text);
	}
}

/* AG-3: until a thread has it, the first one makes room for a more urgent one */
TEST(order_without_a_thread)
{
	struct agent a = agent_of(NULL), b = agent_of(NULL);
	struct place p;

	ASSERT_EQ(0, place_up(&p, 1, DXK_ON_BLOCK_STRICT, DXK_REENTRY_CHAIN));
	ASSERT_EQ(0, begins(p.c, &a));
	ASSERT_EQ(0, begins(p.c, &b));
	ASSERT_TRUE(stays(&b));
	EXPECT_EQ(0, oneway(&a, "note", "5", 5));
	EXPECT_EQ(0, oneway(&a, "note", "9", 9));
	EXPECT_EQ(0, oneway(&a, "note", "1", 1));
	b.closed = false;
	EXPECT_TRUE(DXT_SOON(trace.nr == 3));
	EXPECT_STREQ("951", trace.text);
	EXPECT_TRUE(goes(&a));
	EXPECT_TRUE(goes(&b));
	EXPECT_EQ(0, place_down(&p));
}

/* AG-4: a kind of which the table says nothing has no priority of a message that was of it */
TEST_F(aglets, kinds_learn_nothing)
{
	ASSERT_TRUE(stays(&self->a));
	EXPECT_EQ(0, oneway(&self->a, "note", "5", 0));
	EXPECT_EQ(0, oneway(&self->a, "note", "9", 9));
	EXPECT_EQ(0, oneway(&self->a, "note", "x", 0));
	EXPECT_EQ(0, oneway(&self->a, "note", "7", 7));
	self->a.closed = false;
	EXPECT_TRUE(DXT_SOON(trace.nr == 4));
	EXPECT_STREQ("975x", trace.text);
}

/* AG-3, AG-6: the table says a kind's priority, and takes no other ones than 1..10 */
TEST_F(aglets, kinds_have_priorities)
{
	static const int none[] = { 0, 11, -2, 1000 };
	Aglet *a = &self->a.base;

	for (unsigned int i = 0; i < ARRAY_SIZE(none); i++)
		EXPECT_EQ(-EINVAL, MessageManager_setPriority(a, "note", none[i]));
	EXPECT_EQ(0, MessageManager_setPriority(a, "note", 6));
	ASSERT_TRUE(stays(&self->a));
	EXPECT_EQ(0, oneway(&self->a, "other", "", 7));
	EXPECT_EQ(0, oneway(&self->a, "note", "a", 10));
	MessageManager_removePriority(a, "note");
	MessageManager_removePriority(a, "note");
	EXPECT_EQ(0, oneway(&self->a, "note", "b", 8));
	EXPECT_EQ(0, oneway(&self->a, "note", "c", 4));
	/* normal ones */
	EXPECT_EQ(0, oneway(&self->a, "note", "0", 11));
	EXPECT_EQ(0, oneway(&self->a, "note", "1", -2));
	self->a.closed = false;
	EXPECT_TRUE(DXT_SOON(trace.nr == 5));
	EXPECT_STREQ("ba01c", trace.text);
}

/* AG-5: a kind that is not queued is handled at once, beside the one in the handler */
TEST_F(aglets, not_queued)
{
	ASSERT_TRUE(stays(&self->a));
	EXPECT_EQ(0, MessageManager_setPriority(&self->a.base, "quiet", NOT_QUEUED));
	EXPECT_EQ(0, oneway(&self->a, "note", "q", 10));
	EXPECT_EQ(AGLET_REPLIED, sync_send(&self->a, "quiet", "", NULL));
	EXPECT_EQ(1, self->a.inside);
	EXPECT_EQ(0, trace.nr);
	self->a.closed = false;
	EXPECT_TRUE(DXT_SOON(trace.nr == 1));
}

/*
 * AG-7, AG-8: while there are messages a thread goes on with the agent, some in a row; then
 * another agent that waits has it. The one thread serves all of them
 */
TEST(chains)
{
	static const unsigned int batches[] = { 1, 5, 16 };
	struct agent a = agent_of(NULL), b = agent_of(NULL), c = agent_of(NULL);
	ThreadManagerPolicy policy;
	struct place p;

	ASSERT_EQ(0, place_up(&p, 1, DXK_ON_BLOCK_STRICT, DXK_REENTRY_CHAIN));
	ASSERT_EQ(0, begins(p.c, &a));
	ASSERT_EQ(0, begins(p.c, &b));
	ASSERT_EQ(0, begins(p.c, &c));
	for (unsigned int n = 0; n < ARRAY_SIZE(batches); n++) {
		trace_clear();
		ASSERT_EQ(0, MTExecutiveGetPolicy(p.mte, &policy));
		policy.TPKeyBatch = batches[n];
		ASSERT_EQ(0, MTExecutiveSetPolicy(p.mte, &policy, NULL));
		/* The Monitor puts it into force. */
		ASSERT_TRUE(DXT_SOON(!MTExecutiveGetPolicy(p.mte, &policy) &&
				     policy.TPKeyBatch == batches[n]));
		ASSERT_TRUE(stays(&c));
		for (unsigned int i = 0; i < 100; i++)
			ASSERT_EQ(0, oneway(&a, "note", "a", 0));
		ASSERT_EQ(0, oneway(&b, "note", "b", 0));
		c.closed = false;
		EXPECT_TRUE(DXT_SOON(trace.nr == 101));
		EXPECT_EQ(trace.text + batches[n], strchr(trace.text, 'b'));
	}
	EXPECT_EQ(a.thread, b.thread);
	EXPECT_EQ(a.thread, c.thread);
	EXPECT_TRUE(goes(&a));
	EXPECT_TRUE(goes(&b));
	EXPECT_TRUE(goes(&c));
	EXPECT_EQ(0, place_down(&p));
}

/* AG-10: a handler that fails, or ends its thread, ends its own message only */
TEST_F(aglets, a_handler_that_fails)
{
	long long threads = dxt_num(&self->p.t, "pools/thread_use");
	struct agent *a = &self->a;
	char text[64];

	for (unsigned int i = 0; i < 3; i++) {
		EXPECT_EQ(-EDOM, sync_send(a, "throw", "", text));
		EXPECT_STREQ("out of it", text);
		EXPECT_EQ(-EOWNERDEAD, sync_send(a, "die", "", NULL));
		a->inside = 0;
		EXPECT_EQ(AGLET_REPLIED, sync_send(a, "echo", "well", text));
		EXPECT_STREQ("well", text);
	}
	EXPECT_EQ(3, threads);
	EXPECT_TRUE(DXT_SOON(dxt_num(&self->p.t, "pools/thread_use") == threads));
}

/* --- sends -------------------------------------------------------------------------- */

/* AG-11: the sender gets the reply, or that there is none */
TEST_F(aglets, sync)
{
	char text[64];

	EXPECT_EQ(AGLET_REPLIED, sync_send(&self->a, "echo", "hello", text));
	EXPECT_STREQ("hello", text);
	EXPECT_EQ(AGLET_REPLIED, sync_send(&self->a, "quiet", "", text));
	EXPECT_STREQ("", text);
	EXPECT_EQ(AGLET_NOT_HANDLED, sync_send(&self->a, "never heard of", "", text));
	EXPECT_EQ(-EDOM, sync_send(&self->a, "throw", "", text));
}

static bool replies_twice(struct agent *a, AgletMessage *m)
{
	a->rc = AgletMessage_sendReply(m, "1", 1);
	a->wrong += a->rc != 0;
	a->rc = AgletMessage_sendReply(m, "2", 1);
	a->wrong += AgletMessage_sendException(m, -EIO, NULL) != -EALREADY;
	return false;
}

/* AG-12: available when it is; a wait ends in time; the second reply is none */
TEST_F(aglets, futures)
{
	AgletMessage *m = message_of("echo", "x", 0);
	char text[64];
	FutureReply *f;

	EXPECT_EQ(-EINVAL, AgletMessage_sendReply(m, "", 0));
	AgletMessage_release(m);
	ASSERT_TRUE(stays(&self->a));
	f = future_of(&self->a, "echo", "later");
	ASSERT_NE(NULL, f);
	EXPECT_FALSE(FutureReply_isAvailable(f));
	EXPECT_EQ(-ETIMEDOUT, FutureReply_waitForReply(f, 20));
	self->a.closed = false;
	EXPECT_EQ(0, FutureReply_waitForReply(f, 60000));
	EXPECT_TRUE(FutureReply_isAvailable(f));
	EXPECT_EQ(AGLET_REPLIED, answer_of(f, text));
	EXPECT_STREQ("later", text);

	self->a.also = replies_twice;
	EXPECT_EQ(AGLET_REPLIED, sync_send(&self->a, "twice", "", text));
	EXPECT_STREQ("1", text);
	EXPECT_EQ(-EALREADY, self->a.rc);
}

/* AG-12: futures that nobody waits for, answered and not */
TEST_F(aglets, futures_given_up)
{
	ASSERT_TRUE(stays(&self->a));
	for (unsigned int i = 0; i < 100; i++)
		FutureReply_release(future_of(i % 2 ? &self->a : &self->b, "quiet", ""));
	self->a.closed = false;
	EXPECT_TRUE(DXT_SOON(self->a.handled == 51 && self->b.handled == 50));
}

/* The kind "self": sends to itself what is noted after what is queued. */
static bool sends_to_itself(struct agent *a, AgletMessage *m)
{
	note('[');
	a->wrong += AgletMessage_sendReply(m, "", 0) != 0;
	a->rc = oneway(a, "note", "s", 0);
	note(']');
	return true;
}

/* AG-13: a oneway message has no reply; one to the agent itself is queued behind others */
TEST_F(aglets, oneway)
{
	self->a.also = sends_to_itself;
	ASSERT_TRUE(stays(&self->a));
	EXPECT_EQ(0, oneway(&self->a, "self", "", 0));
	EXPECT_EQ(0, oneway(&self->a, "note", "q", 0));
	self->a.closed = false;
	EXPECT_TRUE(DXT_SOON(trace.nr == 4));
	EXPECT_STREQ("[]qs", trace.text);
}

/* "defer": keeps the message, "give": replies to it; "both": replies within its own handler. */
static bool defers(struct agent *a, AgletMessage *m)
{
	if (is(m, "give")) {
		a->rc = AgletMessage_sendReply(a->kept, "given", 5);
		AgletMessage_release(a->kept);
		a->kept = NULL;
		return true;
	}
	a->wrong += AgletMessage_enableDeferedReply(m) != 0;
	if (is(m, "both"))
		a->wrong += AgletMessage_sendReply(m, "both", 4) != 0;
	else
		a->kept = AgletMessage_hold(m);
	return true;
}

/* AG-14: the sender waits on when the handler has returned, and the agent does not */
TEST_F(aglets, deferred)
{
	struct agent *a = &self->a;
	char text[64];
	FutureReply *f;

	a->also = defers;
	EXPECT_EQ(AGLET_REPLIED, sync_send(a, "both", "", text));
	EXPECT_STREQ("both", text);
	/* within the agent */
	f = future_of(a, "defer", "");
	EXPECT_EQ(AGLET_REPLIED, sync_send(a, "quiet", "", NULL));
	EXPECT_EQ(-ETIMEDOUT, FutureReply_waitForReply(f, 20));
	EXPECT_EQ(AGLET_REPLIED, sync_send(a, "give", "", NULL));
	EXPECT_EQ(0, a->rc);
	EXPECT_EQ(AGLET_REPLIED, answer_of(f, text));
	EXPECT_STREQ("given", text);
	/* by another thread; and not twice */
	f = future_of(a, "defer", "");
	ASSERT_TRUE(DXT_SOON(a->handled == 5));
	EXPECT_EQ(-EPERM, AgletMessage_enableDeferedReply(a->kept));
	EXPECT_FALSE(FutureReply_isAvailable(f));
	EXPECT_EQ(0, AgletMessage_sendException(a->kept, -ENODATA, "no"));
	EXPECT_EQ(-EALREADY, AgletMessage_sendReply(a->kept, "", 0));
	EXPECT_EQ(-ENODATA, answer_of(f, NULL));
	EXPECT_EQ(-EALREADY, AgletMessage_sendReply(a->kept, "", 0));
	AgletMessage_release(a->kept);
	/* Nobody waits for it: there is nothing to defer. */
	EXPECT_EQ(0, oneway(a, "both", "", 0));
}

/* AG-15: sets: in the order of arrival, all, in time; sent there, added, and multicast */
TEST_F(aglets, sets)
{
	static const unsigned int order[] = { 3, 0, 4, 1, 2 };
	ReplySet *set = ReplySet_create(self->p.c);
	AgletMessage *m = message_of("gate", "", 0), *call = message_of("call", "", 0);
	FutureReply *f[5], *next;
	struct agent a[5];

	EXPECT_EQ(-ENOENT, ReplySet_waitForNext(set, 1));
	EXPECT_EQ(NULL, ReplySet_getNextFutureReply(set));
	EXPECT_TRUE(ReplySet_areAllAvailable(set));
	for (unsigned int i = 0; i < 5; i++) {
		a[i] = agent_of(NULL);
		a[i].closed = true;
		ASSERT_EQ(0, begins(self->p.c, &a[i]));
		if (i != 1)
			MessageManager_subscribeMessage(&a[i].base, "call", true);
	}
	MessageManager_subscribeMessage(&a[2].base, "call", false);
	/* as many as there are threads, one after the other */
	for (unsigned int i = 0; i < 5; i++) {
		struct agent *now = &a[order[i]];

		if (i < 3) {
			ASSERT_EQ(0, ReplySet_sendFutureMessage(set, now->proxy, m,
								&f[order[i]]));
		} else {
			ASSERT_EQ(0, AgletProxy_sendFutureMessage(now->proxy, m, &f[order[i]]));
		}
	}
	EXPECT_EQ(-ETIMEDOUT, ReplySet_waitForNext(set, 10));
	EXPECT_EQ(-ETIMEDOUT, ReplySet_waitForAll(set, 10));
	for (unsigned int i = 0; i < 5; i++) {
		if (i == 3) {
			EXPECT_EQ(0, ReplySet_addFutureReply(set, f[order[3]]));
			EXPECT_EQ(-EINVAL, ReplySet_addFutureReply(set, f[order[3]]));
		}
		a[order[i]].closed = false;
		if (i == 4) {
			/* It is there before it is added. */
			EXPECT_EQ(0, FutureReply_waitForReply(f[order[4]], 0));
			EXPECT_EQ(0, ReplySet_addFutureReply(set, f[order[4]]));
		}
		EXPECT_EQ(0, ReplySet_waitForNext(set, 60000));
		EXPECT_LE(1, ReplySet_countAvailable(set));
		next = ReplySet_getNextFutureReply(set);
		EXPECT_EQ(f[order[i]], next);
		FutureReply_release(next);
	}
	EXPECT_EQ(0, ReplySet_waitForAll(set, 0));
	EXPECT_EQ(NULL, ReplySet_getNextFutureReply(set));
	EXPECT_EQ(3, AgletContext_multicastMessage(self->p.c, call, set));
	EXPECT_EQ(0, ReplySet_waitForAll(set, 60000));
	EXPECT_TRUE(ReplySet_areAllAvailable(set));
	EXPECT_EQ(3, ReplySet_countAvailable(set));
	EXPECT_EQ(AGLET_NOT_HANDLED, answer_of(ReplySet_getNextFutureReply(set), NULL));
	EXPECT_EQ(3, AgletContext_multicastMessage(self->p.c, call, NULL));
	/* It ends with some in it, and some on their way. */
	a[1].closed = true;
	EXPECT_EQ(0, ReplySet_sendFutureMessage(set, a[1].proxy, m, NULL));
	EXPECT_EQ(0, AgletProxy_sendFutureMessage(a[1].proxy, m, &f[0]));
	EXPECT_EQ(0, ReplySet_addFutureReply(set, f[0]));
	ReplySet_release(set);
	a[1].closed = false;
	for (unsigned int i = 0; i < 5; i++)
		EXPECT_TRUE(goes(&a[i]));
	AgletMessage_release(m);
	AgletMessage_release(call);
}

/* AG-15: a set is of the agents of one context */
TEST_F(aglets, sets_of_other_contexts)
{
	AgletMessage *m = message_of("quiet", "", 0);
	struct agent c = agent_of(NULL);
	struct place p;
	ReplySet *set;
	FutureReply *f;

	ASSERT_EQ(0, place_up(&p, 2, DXK_ON_BLOCK_STRICT, DXK_REENTRY_CHAIN));
	ASSERT_EQ(0, begins(p.c, &c));
	MessageManager_subscribeMessage(&c.base, "quiet", true);
	set = ReplySet_create(self->p.c);
	ASSERT_TRUE(stays(&c));
	f = future_of(&c, "quiet", "");
	EXPECT_EQ(-EINVAL, ReplySet_addFutureReply(set, f));
	EXPECT_EQ(-EINVAL, ReplySet_sendFutureMessage(set, c.proxy, m, NULL));
	EXPECT_EQ(-EINVAL, AgletContext_multicastMessage(p.c, m, set));
	EXPECT_EQ(0, ReplySet_countAvailable(set));
	EXPECT_EQ(-ENOENT, ReplySet_waitForNext(set, 0));
	c.closed = false;
	EXPECT_EQ(AGLET_REPLIED, answer_of(f, NULL));
	ReplySet_release(set);
	AgletMessage_release(m);
	EXPECT_TRUE(goes(&c));
	EXPECT_EQ(0, place_down(&p));
}

/* "pass": to the other one, who has a gate; "round": for ever */
static bool passes(struct agent *a, AgletMessage *m)
{
	int rc = AgletProxy_delegateMessage(a->other->proxy, m);

	a->rc = rc;
	if (rc == -ELOOP)
		AgletMessage_sendException(m, rc, "in a circle");
	return false;
}

static bool replies_late(struct agent *a, AgletMessage *m)
{
	while (a->closed)
		usleep(100);
	a->wrong += AgletMessage_sendReply(m, "by b", 4) != 0;
	return true;
}

/* AG-16: another one handles it, and the first future has its reply; the first one goes on */
TEST_F(aglets, delegated)
{
	struct agent *a = &self->a, *b = &self->b;
	AgletMessage *m;
	FutureReply *f;
	char text[64];

	a->also = passes;
	a->other = b;
	b->also = replies_late;
	b->closed = true;
	f = future_of(a, "pass", "");
	EXPECT_EQ(AGLET_REPLIED, sync_send(a, "echo", "on", text));
	EXPECT_STREQ("on", text);
	EXPECT_EQ(0, a->rc);
	EXPECT_FALSE(FutureReply_isAvailable(f));
	b->closed = false;
	EXPECT_EQ(AGLET_REPLIED, answer_of(f, text));
	EXPECT_STREQ("by b", text);
	/* one without a reply */
	EXPECT_EQ(0, oneway(a, "pass", "", 0));
	EXPECT_TRUE(DXT_SOON(b->handled == 2));
	/* one whose reply is deferred, by who has it */
	a->also = defers;
	f = future_of(a, "defer", "");
	ASSERT_TRUE(DXT_SOON(a->kept && a->handled == 4));
	EXPECT_EQ(0, AgletProxy_delegateMessage(b->proxy, a->kept));
	EXPECT_EQ(AGLET_REPLIED, answer_of(f, text));
	EXPECT_STREQ("by b", text);
	EXPECT_EQ(-EPERM, AgletProxy_delegateMessage(b->proxy, a->kept));
	AgletMessage_release(a->kept);
	/* by somebody else */
	m = message_of("pass", "", 0);
	EXPECT_EQ(-EPERM, AgletProxy_delegateMessage(b->proxy, m));
	AgletMessage_release(m);
}

/* AG-16: in a circle it goes as often as the context allows */
TEST_F(aglets, delegated_in_a_circle)
{
	char text[64];

	self->a.also = self->b.also = passes;
	self->a.other = &self->b;
	self->b.other = &self->a;
	EXPECT_EQ(-ELOOP, sync_send(&self->a, "round", "", text));
	EXPECT_STREQ("in a circle", text);
	EXPECT_EQ(101, self->a.handled + self->b.handled);
}

static void *opens_later(void *arg)
{
	struct agent *a = arg;

	usleep(100000);
	a->closed = false;
	return NULL;
}

/* AG-17: a time of 0 is for ever */
TEST_F(aglets, for_ever)
{
	ReplySet *set = ReplySet_create(self->p.c);
	uint64_t begin = dxt_now();
	pthread_t t;
	FutureReply *f;

	self->a.closed = true;
	f = future_of(&self->a, "gate", "");
	ASSERT_EQ(0, pthread_create(&t, NULL, opens_later, &self->a));
	EXPECT_EQ(0, FutureReply_waitForReply(f, 0));
	EXPECT_LE(begin + 100 * DXT_MS, dxt_now());
	EXPECT_EQ(0, ReplySet_addFutureReply(set, f));
	EXPECT_EQ(0, ReplySet_waitForNext(set, 0));
	EXPECT_EQ(0, ReplySet_waitForAll(set, 0));
	pthread_join(t, NULL);
	ReplySet_release(set);
}

static int no_aglet(Runnable *self, void *request)
{
	(void)self;
	(void)request;
	return getCurrentMessage() ? -EINVAL : 0;
}

/* AG-35: none where no handler is: here, and in a Runnable of the program's own */
TEST_F(aglets, no_current_message)
{
	Runnable mine = { no_aglet };
	RQElement e;

	EXPECT_EQ(NULL, getCurrentMessage());
	EXPECT_EQ(0, PostARequestOf(self->p.mte, NULL, &mine, &mine, 0, PXR_REJOIN));
	EXPECT_EQ(RJR_RETURNED, GetRejoinElementOf(self->p.mte, &mine, &e, NULL, 0,
						   dxt_late_ns()));
	EXPECT_EQ(0, e.RQEStatus);
}

TEST_HARNESS_MAIN
