// SPDX-License-Identifier: GPL-2.0-only
/*
 * Aglets that call each other, and their monitors (AG-18 .. AG-27, AG-35).
 */
#define _GNU_SOURCE
#include "library/libaglet.h"

#include <signal.h>

/* --- calls that come back ------------------------------------------------------------- */

/*
 * "self": sends "inner" to itself, and waits; "call": sends "back" to the other one, who sends
 * "inner" back. What came of it is the reply.
 */
static bool calls(struct agent *a, AgletMessage *m)
{
	struct agent *to = is(m, "self") || !a->other ? a : a->other;
	const char *what = is(m, "call") ? "back" : "inner";
	pid_t thread = a->thread;
	char text[64];

	if (is(m, "inner")) {
		note('i');
		AgletMessage_sendReply(m, "from inside", 11);
		return true;
	}
	note('(');
	a->rc = sync_send(to, what, "", text);
	note(')');
	/* AG-18: on the same thread. AG-35: and then it is the outer one again. */
	a->wrong += to == a && !a->rc && thread != a->thread;
	a->wrong += getCurrentMessage() != m;
	if (a->rc)
		AgletMessage_sendException(m, a->rc, "refused");
	else
		AgletMessage_sendReply(m, text, strlen(text));
	return true;
}

static int two_up(struct place *p, struct agent *a, struct agent *b, unsigned int threads,
		  unsigned int on_block, unsigned int reentry)
{
	if (place_up(p, threads, on_block, reentry))
		return -1;
	*a = *b = agent_of(calls);
	a->other = b;
	b->other = a;
	return begins(p->c, a) || begins(p->c, b);
}

static bool two_down(struct place *p, struct agent *a, struct agent *b)
{
	bool ok = goes(a);

	ok &= goes(b);
	return !place_down(p) && ok;
}

static const unsigned int on_block[] = {
	DXK_ON_BLOCK_STRICT, DXK_ON_BLOCK_HELP, DXK_ON_BLOCK_SPARE,
};

/*
 * AG-18, AG-19, AG-35: a message to oneself is handled within the handler, before those that
 * are queued; the outer one once, and it gets the inner one's reply. One thread is enough
 */
TEST(to_itself)
{
	struct agent a, b;
	struct place p;
	char text[64];
	FutureReply *f;

	for (unsigned int i = 0; i < ARRAY_SIZE(on_block); i++) {
		ASSERT_EQ(0, two_up(&p, &a, &b, 1, on_block[i], DXK_REENTRY_SELF));
		a.closed = true;
		ASSERT_EQ(0, oneway(&a, "gate", "", 0));
		ASSERT_TRUE(DXT_SOON(a.entered));
		f = future_of(&a, "self", "");
		EXPECT_EQ(0, oneway(&a, "note", "q", 0));
		a.closed = false;
		EXPECT_EQ(AGLET_REPLIED, answer_of(f, text));
		EXPECT_STREQ("from inside", text);
		EXPECT_TRUE(DXT_SOON(trace.nr == 4));
		EXPECT_STREQ("(i)q", trace.text);
		EXPECT_TRUE(DXT_SOON(a.handled == 4));
		EXPECT_TRUE(two_down(&p, &a, &b));
	}
}

/* AG-20: a call that comes back by way of another agent: within the first one, if it may */
TEST(by_way_of_another)
{
	struct agent a, b;
	struct place p;
	char text[64];

	for (unsigned int i = 0; i < ARRAY_SIZE(on_block); i++) {
		unsigned int threads = on_block[i] == DXK_ON_BLOCK_STRICT ? 2 : 1;

		ASSERT_EQ(0, two_up(&p, &a, &b, threads, on_block[i], DXK_REENTRY_CHAIN));
		for (unsigned int n = 0; n < 20; n++) {
			trace_clear();
			EXPECT_EQ(AGLET_REPLIED, sync_send(&a, "call", "", text));
			EXPECT_STREQ("from inside", text);
			EXPECT_STREQ("((i))", trace.text);
		}
		EXPECT_TRUE(two_down(&p, &a, &b));
	}
}

/* AG-18, AG-20: where it may not, who would wait for itself is told, and nothing hangs */
TEST(refused)
{
	static const unsigned int reentry[] = { DXK_REENTRY_SELF, DXK_REENTRY_NONE };
	struct agent a, b;
	struct place p;
	char text[64];

	for (unsigned int i = 0; i < ARRAY_SIZE(reentry); i++) {
		ASSERT_EQ(0, two_up(&p, &a, &b, 2, DXK_ON_BLOCK_STRICT, reentry[i]));
		for (unsigned int n = 0; n < 20; n++) {
			/* It is one of the two: the one that waits later. */
			EXPECT_EQ(-EDEADLK, sync_send(&a, "call", "", text));
			EXPECT_STREQ("refused", text);
			EXPECT_EQ(-EDEADLK, a.rc);
			ASSERT_EQ(0, sync_send(&b, "quiet", "", NULL));
		}
		trace_clear();
		EXPECT_EQ(reentry[i] == DXK_REENTRY_SELF ? 0 : -EDEADLK,
			  sync_send(&a, "self", "", text));
		/* What was refused was taken back. */
		EXPECT_EQ(0, sync_send(&a, "quiet", "", NULL));
		EXPECT_STREQ(reentry[i] == DXK_REENTRY_SELF ? "(i)" : "()", trace.text);
		EXPECT_TRUE(two_down(&p, &a, &b));
	}
}

/* "down": to itself, one deeper each time; the deepest one is refused */
static bool deeper(struct agent *a, AgletMessage *m)
{
	char next[2] = { (char)(*(const char *)AgletMessage_arg(m, NULL) + 1) };

	note(next[0]);
	if (next[0] == 'z')
		return true;
	a->rc = sync_send(a, "down", next, NULL);
	if (a->rc)
		AgletMessage_sendException(m, a->rc, NULL);
	return true;
}

/* AG-18: as deep as the policy allows */
TEST(depth)
{
	struct agent a = agent_of(deeper);
	struct place p;

	ASSERT_EQ(0, place_up(&p, 1, DXK_ON_BLOCK_STRICT, DXK_REENTRY_SELF));
	ASSERT_EQ(0, begins(p.c, &a));
	EXPECT_EQ(-EDEADLK, sync_send(&a, "down", "a", NULL));
	EXPECT_EQ(5, trace.nr);
	EXPECT_EQ(0, sync_send(&a, "down", "y", NULL));
	EXPECT_TRUE(goes(&a));
	EXPECT_EQ(0, place_down(&p));
}

/* "self", whose inner message ends the thread */
static bool dies_within(struct agent *a, AgletMessage *m)
{
	if (is(m, "inner"))
		pthread_exit(NULL);
	a->rc = sync_send(a, "inner", "", NULL);
	return true;
}

/* AG-10, AG-18: a worker that ends within a call takes both, and nobody else */
TEST(a_worker_dies_within)
{
	struct agent a, b;
	struct place p;

	for (unsigned int i = 0; i < ARRAY_SIZE(on_block); i++) {
		ASSERT_EQ(0, two_up(&p, &a, &b, 2, on_block[i], DXK_REENTRY_CHAIN));
		a.also = dies_within;
		EXPECT_EQ(-EOWNERDEAD, sync_send(&a, "self", "", NULL));
		a.inside = 0;
		EXPECT_EQ(0, sync_send(&a, "quiet", "", NULL));
		EXPECT_EQ(0, sync_send(&b, "quiet", "", NULL));
		EXPECT_TRUE(two_down(&p, &a, &b));
	}
}

static _Atomic unsigned int signals;

static void count(int sig)
{
	(void)sig;
	signals++;
}

struct signaller {
	pthread_t to;
	struct agent *a;
};

/* Signals to a thread that sends to the gate, which is opened then. */
static void *interrupts(void *arg)
{
	struct signaller *s = arg;

	DXT_SOON(s->a->entered);
	for (unsigned int i = 0; i < 10; i++) {
		pthread_kill(s->to, SIGUSR1);
		usleep(2000);
	}
	s->a->closed = false;
	return NULL;
}

/* AG-11: a signal ends a wait for a reply as its handler says */
TEST(amid_signals)
{
	struct agent a = agent_of(NULL);
	struct place p;

	ASSERT_EQ(0, place_up(&p, 2, DXK_ON_BLOCK_STRICT, DXK_REENTRY_CHAIN));
	ASSERT_EQ(0, begins(p.c, &a));
	for (int restarts = 1; restarts >= 0; restarts--) {
		struct sigaction sa = { .sa_handler = count, .sa_flags = restarts * SA_RESTART };
		struct signaller s = { .to = pthread_self(), .a = &a };
		pthread_t t;

		ASSERT_EQ(0, sigaction(SIGUSR1, &sa, NULL));
		signals = 0;
		a.entered = 0;
		a.closed = true;
		ASSERT_EQ(0, pthread_create(&t, NULL, interrupts, &s));
		EXPECT_EQ(restarts ? AGLET_REPLIED : -EINTR, sync_send(&a, "gate", "", NULL));
		EXPECT_LE(1, signals);
		pthread_join(t, NULL);
		EXPECT_TRUE(DXT_SOON(!a.inside));
	}
	EXPECT_EQ(2, a.handled);
	EXPECT_TRUE(goes(&a));
	EXPECT_EQ(0, place_down(&p));
}

/* --- the monitor -------------------------------------------------------------------------- */

/* Handlers that are in the monitor; each note is of one that is alone there. */
static _Atomic unsigned int in_monitor;

static void in(struct agent *a) { a->wrong += in_monitor++ != 0; }
static void out(struct agent *a) { a->wrong += --in_monitor != 0; }

/*
 * "wait": waits for ever, "short": 30 ms, "tell": notifies, "all": all of them; each notes its
 * first letter before, and the argument after. "leave": exits, and stays at the gate.
 */
static bool monitors(struct agent *a, AgletMessage *m)
{
	const char *after = AgletMessage_arg(m, NULL);
	int rc = 0;

	if (is(m, "run")) {
		note('r');
		return true;
	}
	in(a);
	note(*AgletMessage_kind(m));
	out(a);
	if (is(m, "wait"))
		rc = MessageManager_waitMessage(0);
	else if (is(m, "short"))
		rc = MessageManager_waitMessage(30);
	else if (is(m, "tell"))
		rc = MessageManager_notifyMessage();
	else if (is(m, "all"))
		rc = MessageManager_notifyAllMessages();
	else if (is(m, "leave"))
		rc = MessageManager_exitMonitor();
	else
		return false;
	a->rc = rc;
	if (is(m, "leave")) {
		for (a->entered++; a->closed; usleep(100))
			;
		a->wrong += MessageManager_waitMessage(1) != -EPERM;
		a->wrong += MessageManager_notifyMessage() != -EPERM;
		a->wrong += MessageManager_notifyAllMessages() != -EPERM;
		a->wrong += MessageManager_exitMonitor() != -EPERM;
		return true;
	}
	if (rc == -ECANCELED)
		return true;
	in(a);
	note(*after);
	out(a);
	return true;
}

FIXTURE(monitor) {
	struct place p;
	struct agent a;
};

FIXTURE_SETUP(monitor)
{
	in_monitor = 0;
	ASSERT_EQ(0, place_up(&self->p, 6, DXK_ON_BLOCK_STRICT, DXK_REENTRY_CHAIN));
	self->a = agent_of(monitors);
	ASSERT_EQ(0, begins(self->p.c, &self->a));
}

FIXTURE_TEARDOWN(monitor)
{
	EXPECT_TRUE(goes(&self->a));
	EXPECT_EQ(0, place_down(&self->p));
}

static bool traces(const char *text)
{
	return DXT_SOON(trace.nr >= strlen(text)) && !strcmp(trace.text, text);
}

static bool closes(struct agent *a)
{
	unsigned int before = a->entered;

	a->closed = true;
	return !oneway(a, "gate", "", 10) && DXT_SOON(a->entered > before);
}

/* AG-21: the monitor is for the handler of the message that has it */
TEST_F(monitor, for_its_handler)
{
	struct agent *a = &self->a;

	EXPECT_EQ(-EPERM, MessageManager_waitMessage(1));
	EXPECT_EQ(-EPERM, MessageManager_notifyMessage());
	EXPECT_EQ(-EPERM, MessageManager_notifyAllMessages());
	EXPECT_EQ(-EPERM, MessageManager_exitMonitor());
	EXPECT_EQ(0, MessageManager_setPriority(&a->base, "tell", NOT_QUEUED));
	EXPECT_EQ(0, sync_send(a, "tell", "x", NULL));
	EXPECT_EQ(-EPERM, a->rc);
}

/* "self" waits in the monitor within a call of its own. */
static bool waits_within(struct agent *a, AgletMessage *m)
{
	if (!is(m, "inner"))
		return sync_send(a, "inner", "", NULL) == 0;
	a->wrong += MessageManager_waitMessage(1) != -EBUSY;
	a->wrong += MessageManager_notifyMessage() != -EBUSY;
	a->wrong += MessageManager_exitMonitor() != -EBUSY;
	return true;
}

/* AG-21: nor for one within the one that has it */
TEST_F(monitor, not_within)
{
	self->a.also = waits_within;
	EXPECT_EQ(0, sync_send(&self->a, "self", "", NULL));
	EXPECT_EQ(0, self->a.wrong);
}

/* AG-22: others are handled, by other threads, until it is notified; then it is alone */
TEST_F(monitor, waits)
{
	struct agent *a = &self->a;
	FutureReply *f = future_of(a, "wait", "W");
	pid_t waiter;

	EXPECT_TRUE(traces("w"));
	waiter = a->thread;
	EXPECT_EQ(0, sync_send(a, "quiet", "", NULL));
	EXPECT_NE(waiter, a->thread);
	EXPECT_EQ(2, a->inside + a->handled);
	EXPECT_EQ(-ETIMEDOUT, FutureReply_waitForReply(f, 30));
	EXPECT_EQ(0, sync_send(a, "tell", "T", NULL));
	EXPECT_EQ(AGLET_REPLIED, answer_of(f, NULL));
	EXPECT_TRUE(traces("wtWT"));
}

/* AG-23: when its time is over it is the next, before all that are queued */
TEST_F(monitor, waits_for_some_time)
{
	struct agent *a = &self->a;
	FutureReply *f = future_of(a, "short", "S");

	EXPECT_TRUE(traces("s"));
	ASSERT_TRUE(closes(a));
	EXPECT_EQ(0, oneway(a, "run", "", 10));
	/* The time is over while another one is handled. */
	dxt_sleep_ms(60);
	EXPECT_STREQ("s", trace.text);
	a->closed = false;
	EXPECT_EQ(AGLET_REPLIED, answer_of(f, NULL));
	EXPECT_TRUE(traces("sSr"));
	EXPECT_EQ(-ETIMEDOUT, a->rc);
}

/* AG-24: who waits longest, then the notifier, then those that are queued; without any: nothing */
TEST_F(monitor, notifies)
{
	struct agent *a = &self->a;
	FutureReply *f[3];

	EXPECT_EQ(0, sync_send(a, "tell", "T", NULL));
	EXPECT_TRUE(traces("tT"));
	trace_clear();
	f[0] = future_of(a, "wait", "1");
	EXPECT_TRUE(traces("w"));
	f[1] = future_of(a, "wait", "2");
	EXPECT_TRUE(traces("ww"));
	ASSERT_TRUE(closes(a));
	f[2] = future_of(a, "tell", "T");
	EXPECT_EQ(0, oneway(a, "run", "", 0));
	a->closed = false;
	EXPECT_TRUE(traces("wwt1Tr"));
	EXPECT_EQ(AGLET_REPLIED, answer_of(f[0], NULL));
	EXPECT_EQ(AGLET_REPLIED, answer_of(f[2], NULL));
	EXPECT_FALSE(FutureReply_isAvailable(f[1]));
	EXPECT_EQ(0, sync_send(a, "tell", "U", NULL));
	EXPECT_TRUE(traces("wwt1Trt2U"));
	EXPECT_EQ(AGLET_REPLIED, answer_of(f[1], NULL));
}

/* AG-25: all who wait, in order, then the notifier, then those that are queued */
TEST_F(monitor, notifies_all)
{
	struct agent *a = &self->a;
	FutureReply *f[4];

	for (unsigned int i = 0; i < 3; i++) {
		char name[2] = { (char)('1' + i) };

		f[i] = future_of(a, "wait", name);
		ASSERT_TRUE(DXT_SOON(trace.nr == i + 1));
	}
	ASSERT_TRUE(closes(a));
	f[3] = future_of(a, "all", "A");
	EXPECT_EQ(0, oneway(a, "run", "", 0));
	a->closed = false;
	EXPECT_TRUE(traces("wwwa123Ar"));
	for (unsigned int i = 0; i < 4; i++)
		EXPECT_EQ(AGLET_REPLIED, answer_of(f[i], NULL));
}

/* AG-26: the next is handled while the caller goes on, who is outside for good */
TEST_F(monitor, exits)
{
	struct agent *a = &self->a;
	FutureReply *f;
	pid_t left;

	a->closed = true;
	f = future_of(a, "leave", "");
	ASSERT_TRUE(DXT_SOON(a->entered));
	left = a->thread;
	EXPECT_EQ(0, sync_send(a, "quiet", "", NULL));
	EXPECT_NE(left, a->thread);
	EXPECT_FALSE(FutureReply_isAvailable(f));
	a->closed = false;
	EXPECT_EQ(AGLET_REPLIED, answer_of(f, NULL));
}

/* "ping": waits until it is its turn, and notifies the other one */
static bool ping_pong(struct agent *a, AgletMessage *m)
{
	unsigned int me = *(const char *)AgletMessage_arg(m, NULL) == '1';

	for (unsigned int i = 0; i < 2000; i++) {
		while (a->entered % 2 != me)
			a->wrong += MessageManager_waitMessage(0) != 0;
		a->entered++;
		a->wrong += MessageManager_notifyMessage() != 0;
	}
	return true;
}

/* AG-27: who is notified goes on, each time */
TEST_F(monitor, none_hangs)
{
	FutureReply *f[2];

	self->a.also = ping_pong;
	f[0] = future_of(&self->a, "ping", "0");
	f[1] = future_of(&self->a, "ping", "1");
	EXPECT_TRUE(DXT_UNTIL(&self->p.t, self->a.handled == 2));
	EXPECT_EQ(4000, self->a.entered);
	EXPECT_EQ(AGLET_REPLIED, answer_of(f[0], NULL));
	EXPECT_EQ(AGLET_REPLIED, answer_of(f[1], NULL));
}

TEST_HARNESS_MAIN
