// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of aglets, and the workers that they share (AG-28 .. AG-34, R-14).
 */
#define _GNU_SOURCE
#include "library/libaglet.h"

#include <sys/wait.h>

FIXTURE(life) {
	struct place p;
	struct agent a;
};

FIXTURE_SETUP(life)
{
	ASSERT_EQ(0, place_up(&self->p, 4, DXK_ON_BLOCK_STRICT, DXK_REENTRY_CHAIN));
	self->a = agent_of(NULL);
	ASSERT_EQ(0, begins(self->p.c, &self->a));
}

FIXTURE_TEARDOWN(life)
{
	EXPECT_TRUE(goes(&self->a));
	EXPECT_EQ(0, place_down(&self->p));
}

static bool stays(struct agent *a)
{
	unsigned int before = a->entered;

	a->closed = true;
	return !oneway(a, "gate", "", 10) && DXT_SOON(a->entered > before);
}

/* --- states ------------------------------------------------------------------------- */

typedef int (*change_t)(AgletProxy *proxy);

/* Has the agent come to a state by way of those before it? */
static bool comes_to(struct agent *a, int state)
{
	switch (state) {
	case AGLET_RUNNING:
		return true;
	case AGLET_SUSPENDED:
		return !AgletProxy_suspend(a->proxy);
	case AGLET_DEACTIVATED:
		return !AgletProxy_suspend(a->proxy) && !AgletProxy_deactivate(a->proxy);
	}
	return !AgletProxy_suspend(a->proxy) && !AgletProxy_dispose(a->proxy);
}

/* AG-28: each change out of each state */
TEST_F(life, matrix)
{
	static const struct {
		change_t change;
		int from, to;
	} allowed[] = {
		{ AgletProxy_suspend, AGLET_RUNNING, AGLET_SUSPENDED },
		{ AgletProxy_resume, AGLET_SUSPENDED, AGLET_RUNNING },
		{ AgletProxy_deactivate, AGLET_SUSPENDED, AGLET_DEACTIVATED },
		{ AgletProxy_activate, AGLET_DEACTIVATED, AGLET_RUNNING },
		{ AgletProxy_dispose, AGLET_SUSPENDED, AGLET_DESTROYED },
	};

	for (int from = AGLET_RUNNING; from <= AGLET_DESTROYED; from++) {
		for (unsigned int i = 0; i < ARRAY_SIZE(allowed); i++) {
			struct agent a = agent_of(NULL);
			bool may = allowed[i].from == from;

			ASSERT_EQ(0, begins(self->p.c, &a));
			ASSERT_TRUE(comes_to(&a, from));
			EXPECT_EQ(may ? 0 : -EINVAL, allowed[i].change(a.proxy));
			EXPECT_EQ(may ? allowed[i].to : from, AgletProxy_state(a.proxy));
			if (AgletProxy_state(a.proxy) == AGLET_DEACTIVATED)
				EXPECT_EQ(0, AgletProxy_activate(a.proxy));
			EXPECT_TRUE(goes(&a));
		}
	}
}

static int changes_in_creation(Aglet *self, void *arg)
{
	struct agent *a = (struct agent *)self;

	a->proxy = self->Proxy;
	a->wrong += AgletProxy_suspend(self->Proxy) != -EINVAL;
	a->wrong += AgletProxy_resume(self->Proxy) != -EINVAL;
	a->wrong += AgletProxy_activate(self->Proxy) != -EINVAL;
	a->wrong += AgletProxy_dispose(self->Proxy) != -EINVAL;
	a->wrong += oneway(a, "note", "n", 0) != 0;
	a->wrong += DXT_WITHIN(20 * DXT_MS, trace.nr);
	return *(int *)arg ? AgletProxy_deactivate(self->Proxy) : 0;
}

/* AG-28: out of its creation it runs, or is deactivated; what it sends itself there waits */
TEST_F(life, creation)
{
	for (int deactivate = 0; deactivate < 2; deactivate++) {
		struct agent a = agent_of(NULL);

		trace_clear();
		a.base.onCreation = changes_in_creation;
		ASSERT_EQ(0, AgletContext_createAglet(self->p.c, &a.base, &deactivate, &a.proxy));
		EXPECT_EQ(deactivate ? AGLET_DEACTIVATED : AGLET_RUNNING,
			  AgletProxy_state(a.proxy));
		if (deactivate) {
			EXPECT_EQ(0, AgletProxy_activate(a.proxy));
			EXPECT_EQ(1, a.activated);
			EXPECT_EQ(0, a.deactivated);
		}
		EXPECT_EQ(0, sync_send(&a, "quiet", "", NULL));
		EXPECT_STREQ(deactivate ? "" : "n", trace.text);
		EXPECT_TRUE(goes(&a));
	}
}

/* AG-28: it does not begin if it does not want to, and nothing of it is left */
TEST_F(life, no_creation)
{
	struct agent a = agent_of(NULL);
	int no = -ENOTTY;

	EXPECT_EQ(-EINVAL, AgletContext_createAglet(self->p.c, NULL, NULL, NULL));
	EXPECT_EQ(-ENOTTY, AgletContext_createAglet(self->p.c, &a.base, &no, &a.proxy));
	EXPECT_EQ(NULL, a.proxy);
	EXPECT_EQ(1, a.created);
	EXPECT_EQ(0, a.disposed);
	a.base.handleMessage = NULL;
	EXPECT_EQ(-EINVAL, AgletContext_createAglet(self->p.c, &a.base, NULL, &a.proxy));
}

static AgletContext *all;

static int outlives_its_context(Aglet *self, void *arg)
{
	struct agent *a = (struct agent *)self;

	(void)arg;
	a->entered = 1;
	return DXT_SOON(AgletProxy_state(self->Proxy) == AGLET_DESTROYED) ? 0 : -ETIME;
}

static void *disposes_of_all(void *arg)
{
	struct agent *a = arg;

	a->rc = DXT_SOON(a->entered) ? AgletContext_dispose(all) : -ETIME;
	return NULL;
}

/* AG-28: its context is disposed of while it is created: it has begun, and then it ends */
TEST_F(life, disposed_in_creation)
{
	struct agent a = agent_of(NULL);
	struct place p;
	pthread_t thread;

	ASSERT_EQ(0, place_up(&p, 2, DXK_ON_BLOCK_STRICT, DXK_REENTRY_CHAIN));
	a.base.onCreation = outlives_its_context;
	all = p.c;
	ASSERT_EQ(0, pthread_create(&thread, NULL, disposes_of_all, &a));
	EXPECT_EQ(0, AgletContext_createAglet(p.c, &a.base, NULL, NULL));
	EXPECT_EQ(1, a.disposed);
	EXPECT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, a.rc);
	p.c = NULL;
	EXPECT_EQ(0, place_down(&p));
}

static void disposes(Aglet *self)
{
	struct agent *a = (struct agent *)self;

	a->entered += AgletContext_dispose(all) == -EDEADLK;
}

static int disposes_in_creation(Aglet *self, void *arg)
{
	(void)arg;
	disposes(self);
	return 0;
}

/* AG-31: no callback disposes of the context that it is called from, on whatever thread */
TEST_F(life, no_disposal_in_callbacks)
{
	struct agent a = agent_of(NULL);

	all = self->p.c;
	a.base.onCreation = disposes_in_creation;
	a.base.onActivation = disposes;
	a.base.onDeactivating = disposes;
	a.base.onDisposing = disposes;
	ASSERT_EQ(0, AgletContext_createAglet(all, &a.base, NULL, &a.proxy));
	EXPECT_EQ(0, AgletProxy_suspend(a.proxy));
	EXPECT_EQ(0, AgletProxy_deactivate(a.proxy));
	EXPECT_EQ(0, AgletProxy_activate(a.proxy));
	EXPECT_EQ(3, a.entered);
	EXPECT_EQ(0, AgletProxy_suspend(a.proxy));
	EXPECT_EQ(0, AgletProxy_dispose(a.proxy));
	EXPECT_EQ(4, a.entered);
	EXPECT_EQ(AGLET_DESTROYED, AgletProxy_state(a.proxy));
	AgletProxy_release(a.proxy);
}

/* AG-29: suspended, none is handled, also of those that are not queued; resumed, in their order */
TEST_F(life, suspended)
{
	struct agent *a = &self->a;
	char name[2] = "";

	EXPECT_EQ(0, MessageManager_setPriority(&a->base, "quiet", NOT_QUEUED));
	EXPECT_EQ(0, AgletProxy_suspend(a->proxy));
	for (unsigned int i = 0; i < 100; i++) {
		name[0] = (char)(' ' + i % 90);
		ASSERT_EQ(0, oneway(a, "note", name, 10 - (int)i / 10));
	}
	EXPECT_EQ(0, oneway(a, "quiet", "", 0));
	dxt_sleep_ms(50);
	EXPECT_EQ(0, a->handled);
	EXPECT_EQ(0, AgletProxy_resume(a->proxy));
	EXPECT_TRUE(DXT_SOON(a->handled == 101));
	for (unsigned int i = 0; i < 100; i++)
		EXPECT_EQ((char)(' ' + i % 90), trace.text[i]);
}

/* AG-29: a handler that executes goes on, and the next does not begin */
TEST_F(life, suspended_amid)
{
	struct agent *a = &self->a;

	ASSERT_TRUE(stays(a));
	EXPECT_EQ(0, oneway(a, "note", "n", 0));
	EXPECT_EQ(0, AgletProxy_suspend(a->proxy));
	a->closed = false;
	EXPECT_TRUE(DXT_SOON(a->handled == 1));
	dxt_sleep_ms(30);
	EXPECT_EQ(0, trace.nr);
	EXPECT_EQ(0, AgletProxy_resume(a->proxy));
	EXPECT_TRUE(DXT_SOON(trace.nr == 1));
}

/* AG-30: deactivated, messages are not handled, those that wait and later ones; but for a kind */
TEST_F(life, deactivated)
{
	struct agent *a = &self->a;
	FutureReply *f;
	char text[64];

	EXPECT_EQ(0, MessageManager_setActivation(&a->base, "echo", true));
	EXPECT_EQ(0, MessageManager_setPriority(&a->base, "throw", NOT_QUEUED));
	EXPECT_EQ(0, AgletProxy_suspend(a->proxy));
	f = future_of(a, "quiet", "");
	EXPECT_FALSE(FutureReply_isAvailable(f));
	EXPECT_EQ(0, AgletProxy_deactivate(a->proxy));
	EXPECT_EQ(1, a->deactivated);
	EXPECT_EQ(AGLET_NOT_HANDLED, answer_of(f, NULL));
	EXPECT_EQ(AGLET_NOT_HANDLED, sync_send(a, "quiet", "", NULL));
	EXPECT_EQ(AGLET_NOT_HANDLED, sync_send(a, "throw", "", NULL));
	EXPECT_EQ(0, oneway(a, "note", "n", 0));
	EXPECT_EQ(0, a->activated);
	EXPECT_EQ(AGLET_REPLIED, sync_send(a, "echo", "up", text));
	EXPECT_STREQ("up", text);
	EXPECT_EQ(AGLET_RUNNING, AgletProxy_state(a->proxy));
	EXPECT_EQ(1, a->activated);
	EXPECT_EQ(1, a->handled);
	EXPECT_EQ(0, MessageManager_setActivation(&a->base, "echo", false));
	EXPECT_EQ(0, AgletProxy_suspend(a->proxy));
	EXPECT_EQ(0, AgletProxy_deactivate(a->proxy));
	EXPECT_EQ(AGLET_NOT_HANDLED, sync_send(a, "echo", "", NULL));
	EXPECT_EQ(0, AgletProxy_activate(a->proxy));
	EXPECT_EQ(AGLET_REPLIED, sync_send(a, "echo", "", NULL));
	EXPECT_EQ(0, trace.nr);
}

/* AG-30: the last handler that returns tells; one that is activated before that is told nothing */
TEST_F(life, deactivated_amid)
{
	struct agent *a = &self->a;

	ASSERT_TRUE(stays(a));
	EXPECT_EQ(0, AgletProxy_suspend(a->proxy));
	EXPECT_EQ(0, AgletProxy_deactivate(a->proxy));
	EXPECT_EQ(0, AgletProxy_activate(a->proxy));
	a->closed = false;
	EXPECT_EQ(0, sync_send(a, "quiet", "", NULL));
	EXPECT_EQ(0, a->activated + a->deactivated);
	ASSERT_TRUE(stays(a));
	EXPECT_EQ(0, AgletProxy_suspend(a->proxy));
	EXPECT_EQ(0, AgletProxy_deactivate(a->proxy));
	EXPECT_EQ(0, a->deactivated);
	a->closed = false;
	EXPECT_TRUE(DXT_SOON(a->deactivated == 1));
	EXPECT_EQ(0, AgletProxy_activate(a->proxy));
}

static void changes_in_activation(Aglet *self)
{
	struct agent *a = (struct agent *)self;

	a->activated++;
	a->wrong += AgletProxy_suspend(self->Proxy) != -EINVAL;
	a->wrong += AgletProxy_resume(self->Proxy) != -EBUSY;
	a->wrong += AgletProxy_deactivate(self->Proxy) != -EBUSY;
	a->wrong += AgletProxy_activate(self->Proxy) != -EINVAL;
	a->wrong += oneway(a, "note", "n", 0) != 0;
	a->wrong += DXT_WITHIN(20 * DXT_MS, trace.nr);
}

/* AG-30: it is told before it handles anything, and may not change its state there */
TEST_F(life, activation)
{
	struct agent *a = &self->a;

	a->base.onActivation = changes_in_activation;
	EXPECT_EQ(0, AgletProxy_suspend(a->proxy));
	EXPECT_EQ(0, AgletProxy_deactivate(a->proxy));
	EXPECT_EQ(0, AgletProxy_activate(a->proxy));
	EXPECT_TRUE(DXT_SOON(trace.nr == 1));
	EXPECT_EQ(1, a->activated);
}

/*
 * "defer": for ever; "wait": in the monitor; both note what came of it; "later": as "defer",
 * and stays as "gate"
 */
static bool waits(struct agent *a, AgletMessage *m)
{
	if (is(m, "wait")) {
		a->entered++;
		a->rc = MessageManager_waitMessage(0);
		/* and it is outside now, for good */
		a->wrong += MessageManager_waitMessage(1) != -ECANCELED;
		a->wrong += MessageManager_exitMonitor() != -EPERM;
		return true;
	}
	if (is(m, "later")) {
		AgletMessage_enableDeferedReply(m);
		for (a->entered++; a->closed; usleep(100))
			;
		return true;
	}
	if (!is(m, "defer"))
		return false;
	AgletMessage_enableDeferedReply(m);
	a->kept = AgletMessage_hold(m);
	return true;
}

/*
 * AG-31, R-14: queued, waiting, deferred, running, not queued, later: each sender is released,
 * once
 */
TEST_F(life, disposed)
{
	struct agent a = agent_of(waits);
	FutureReply *queued[20], *waiting, *kept, *running, *beside;

	ASSERT_EQ(0, begins(self->p.c, &a));
	EXPECT_EQ(0, MessageManager_setPriority(&a.base, "beside", NOT_QUEUED));
	EXPECT_EQ(0, MessageManager_setPriority(&a.base, "gate", NOT_QUEUED));
	kept = future_of(&a, "defer", "");
	ASSERT_TRUE(DXT_SOON(a.handled == 1));
	waiting = future_of(&a, "wait", "");
	ASSERT_TRUE(DXT_SOON(a.entered == 1));
	a.closed = true;
	beside = future_of(&a, "gate", "");
	ASSERT_TRUE(DXT_SOON(a.entered == 2));
	MessageManager_removePriority(&a.base, "gate");
	running = future_of(&a, "gate", "");
	ASSERT_TRUE(DXT_SOON(a.entered == 3));
	for (unsigned int i = 0; i < 20; i++)
		queued[i] = future_of(&a, "quiet", "");
	EXPECT_EQ(0, oneway(&a, "note", "n", 0));
	EXPECT_EQ(0, AgletProxy_suspend(a.proxy));
	EXPECT_FALSE(FutureReply_isAvailable(queued[0]));
	EXPECT_EQ(0, AgletProxy_dispose(a.proxy));
	for (unsigned int i = 0; i < 20; i++)
		EXPECT_EQ(AGLET_NOT_HANDLED, answer_of(queued[i], NULL));
	EXPECT_EQ(AGLET_REPLIED, answer_of(waiting, NULL));
	EXPECT_EQ(-ECANCELED, a.rc);
	EXPECT_EQ(AGLET_NOT_HANDLED, answer_of(kept, NULL));
	EXPECT_EQ(-EALREADY, AgletMessage_sendReply(a.kept, "", 0));
	AgletMessage_release(a.kept);
	/* later ones */
	EXPECT_EQ(AGLET_NOT_HANDLED, sync_send(&a, "quiet", "", NULL));
	EXPECT_EQ(AGLET_NOT_HANDLED, answer_of(future_of(&a, "beside", ""), NULL));
	EXPECT_EQ(0, oneway(&a, "note", "n", 0));
	/* those that execute go on, and it is there until they have returned */
	EXPECT_FALSE(FutureReply_isAvailable(running));
	EXPECT_EQ(0, a.disposed);
	a.closed = false;
	EXPECT_EQ(AGLET_REPLIED, answer_of(running, NULL));
	EXPECT_EQ(AGLET_REPLIED, answer_of(beside, NULL));
	EXPECT_TRUE(goes(&a));
	EXPECT_EQ(0, trace.nr);
}

/* AG-14, AG-31: whose reply is to come later than its aglet is there has none */
TEST_F(life, disposed_before_it_waits)
{
	struct agent a = agent_of(waits);
	FutureReply *later;

	ASSERT_EQ(0, begins(self->p.c, &a));
	a.closed = true;
	later = future_of(&a, "later", "");
	ASSERT_TRUE(DXT_SOON(a.entered == 1));
	EXPECT_EQ(0, AgletProxy_suspend(a.proxy));
	EXPECT_EQ(0, AgletProxy_dispose(a.proxy));
	EXPECT_FALSE(FutureReply_isAvailable(later));
	a.closed = false;
	EXPECT_EQ(AGLET_NOT_HANDLED, answer_of(later, NULL));
	EXPECT_TRUE(goes(&a));
}

/* What is sent while it goes has one answer, and its memory may go, too. */
static void frees(Aglet *self)
{
	struct agent *a = (struct agent *)self;

	a->disposed++;
	memset(&a->base, 0x55, sizeof(a->base));
}

struct sender {
	AgletProxy *proxy;
	_Atomic unsigned int answers, wrong;
};

static void *sends_on(void *arg)
{
	AgletMessage *m = message_of("quiet", "", 0);
	struct sender *s = arg;
	int rc;

	do {
		rc = AgletProxy_sendMessage(s->proxy, m, NULL);
		s->answers++;
		s->wrong += rc != AGLET_REPLIED && rc != AGLET_NOT_HANDLED;
	} while (rc == AGLET_REPLIED);
	AgletMessage_release(m);
	return NULL;
}

/* AG-31, R-14: senders at the same time */
TEST_F(life, disposed_amid_sends)
{
	for (unsigned int round = 0; round < 20; round++) {
		struct agent a = agent_of(NULL);
		struct sender s = { 0 };
		pthread_t t[3];

		a.base.onDisposing = frees;
		ASSERT_EQ(0, begins(self->p.c, &a));
		s.proxy = a.proxy;
		for (unsigned int i = 0; i < 3; i++)
			ASSERT_EQ(0, pthread_create(&t[i], NULL, sends_on, &s));
		ASSERT_TRUE(DXT_SOON(s.answers > round));
		EXPECT_EQ(0, AgletProxy_suspend(a.proxy));
		EXPECT_EQ(0, AgletProxy_dispose(a.proxy));
		for (unsigned int i = 0; i < 3; i++)
			pthread_join(t[i], NULL);
		EXPECT_EQ(0, s.wrong);
		EXPECT_TRUE(DXT_SOON(a.disposed == 1));
		AgletProxy_release(a.proxy);
	}
}

static bool ends_itself(struct agent *a, AgletMessage *m)
{
	a->wrong += AgletProxy_suspend(a->proxy) != 0;
	a->wrong += AgletProxy_dispose(a->proxy) != 0;
	a->wrong += a->disposed != 0;
	AgletMessage_sendReply(m, "bye", 3);
	return true;
}

/* AG-31: a handler ends its own agent: its message has its reply, and the agent then goes */
TEST_F(life, ends_itself)
{
	struct agent a = agent_of(ends_itself);
	char text[64];
	FutureReply *f;

	ASSERT_EQ(0, begins(self->p.c, &a));
	a.closed = true;
	EXPECT_EQ(0, oneway(&a, "gate", "", 0));
	ASSERT_TRUE(DXT_SOON(a.entered));
	f = future_of(&a, "end", "");
	EXPECT_EQ(0, oneway(&a, "note", "n", 0));
	a.closed = false;
	EXPECT_EQ(AGLET_REPLIED, answer_of(f, text));
	EXPECT_STREQ("bye", text);
	EXPECT_TRUE(goes(&a));
	EXPECT_EQ(0, trace.nr);
}

static bool delegates(struct agent *a, AgletMessage *m)
{
	a->rc = AgletProxy_delegateMessage(a->other->proxy, m);
	return false;
}

/* AG-16, AG-31: to an agent that is gone, or goes while the message waits for it */
TEST_F(life, delegated_to_nobody)
{
	struct agent a = agent_of(delegates), b = agent_of(NULL), c = agent_of(NULL);
	FutureReply *f;

	ASSERT_EQ(0, begins(self->p.c, &a));
	ASSERT_EQ(0, begins(self->p.c, &b));
	ASSERT_EQ(0, begins(self->p.c, &c));
	a.other = &b;
	EXPECT_EQ(0, AgletProxy_suspend(b.proxy));
	f = future_of(&a, "pass", "");
	ASSERT_TRUE(DXT_SOON(a.handled == 1));
	EXPECT_FALSE(FutureReply_isAvailable(f));
	EXPECT_EQ(0, AgletProxy_dispose(b.proxy));
	EXPECT_EQ(AGLET_NOT_HANDLED, answer_of(f, NULL));
	EXPECT_EQ(AGLET_NOT_HANDLED, sync_send(&a, "pass", "", NULL));
	EXPECT_EQ(-ECANCELED, a.rc);
	/* and deactivated ones */
	a.other = &c;
	EXPECT_EQ(0, AgletProxy_suspend(c.proxy));
	f = future_of(&a, "pass", "");
	ASSERT_TRUE(DXT_SOON(a.handled == 3));
	EXPECT_EQ(0, AgletProxy_deactivate(c.proxy));
	EXPECT_EQ(AGLET_NOT_HANDLED, answer_of(f, NULL));
	EXPECT_EQ(AGLET_NOT_HANDLED, sync_send(&a, "pass", "", NULL));
	MessageManager_setActivation(&c.base, "pass", true);
	c.also = delegates;
	c.other = &b;
	EXPECT_EQ(AGLET_NOT_HANDLED, sync_send(&a, "pass", "", NULL));
	EXPECT_EQ(1, c.handled);
	EXPECT_TRUE(goes(&a));
	EXPECT_TRUE(goes(&b));
	EXPECT_TRUE(goes(&c));
}

/* A proxy may outlive its agent, and a new one at the same place gets nothing of the old one's. */
TEST_F(life, place_used_again)
{
	struct agent a = agent_of(NULL);
	AgletProxy *old;

	ASSERT_EQ(0, begins(self->p.c, &a));
	old = AgletProxy_hold(a.proxy);
	ASSERT_TRUE(goes(&a));
	a = agent_of(NULL);
	ASSERT_EQ(0, begins(self->p.c, &a));
	for (unsigned int i = 0; i < 10; i++) {
		AgletMessage *m = message_of("quiet", "", 0);

		EXPECT_EQ(AGLET_NOT_HANDLED, AgletProxy_sendMessage(old, m, NULL));
		AgletMessage_release(m);
	}
	EXPECT_EQ(AGLET_DESTROYED, AgletProxy_state(old));
	EXPECT_EQ(0, sync_send(&a, "quiet", "", NULL));
	EXPECT_EQ(1, a.handled);
	EXPECT_TRUE(goes(&a));
	AgletProxy_release(old);
}

/* The context goes with its agents, of any state; what is released later is. */
TEST(context_with_agents)
{
	struct agent a[4];
	FutureReply *f, *g;
	struct place p;

	ASSERT_EQ(0, place_up(&p, 2, DXK_ON_BLOCK_STRICT, DXK_REENTRY_CHAIN));
	for (unsigned int i = 0; i < 4; i++) {
		a[i] = agent_of(waits);
		ASSERT_EQ(0, begins(p.c, &a[i]));
	}
	f = future_of(&a[0], "defer", "");
	ASSERT_TRUE(DXT_SOON(a[0].handled));
	EXPECT_EQ(0, AgletProxy_suspend(a[1].proxy));
	g = future_of(&a[1], "quiet", "");
	EXPECT_EQ(0, AgletProxy_suspend(a[2].proxy));
	EXPECT_EQ(0, AgletProxy_deactivate(a[2].proxy));
	EXPECT_TRUE(comes_to(&a[3], AGLET_DESTROYED));
	EXPECT_EQ(0, oneway(&a[0], "gate", "", 0));
	EXPECT_EQ(0, AgletContext_dispose(p.c));
	for (unsigned int i = 0; i < 4; i++)
		EXPECT_EQ(1, a[i].disposed);
	EXPECT_EQ(AGLET_NOT_HANDLED, answer_of(f, NULL));
	EXPECT_EQ(AGLET_NOT_HANDLED, answer_of(g, NULL));
	AgletMessage_release(a[0].kept);
	for (unsigned int i = 0; i < 4; i++)
		AgletProxy_release(a[i].proxy);
	EXPECT_EQ(0, AgletContext_dispose(NULL));
	MTExecutiveDestroy(p.mte, DXK_STOP_CANCEL, -1);
}

/* A child of fork() has no workers: what it gives up there does not hold it up. */
TEST_F(life, given_up_in_a_child)
{
	struct agent *a = &self->a;
	FutureReply *f;
	int status;
	pid_t child;

	EXPECT_EQ(0, AgletProxy_suspend(a->proxy));
	f = future_of(a, "quiet", "");
	child = fork();
	if (!child) {
		alarm(dxt_late_ns() / 1000000000);
		FutureReply_release(f);
		_exit(AgletContext_dispose(self->p.c) ? 1 : 0);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, AgletProxy_resume(a->proxy));
	EXPECT_EQ(AGLET_REPLIED, answer_of(f, NULL));
}

/* --- bounds -------------------------------------------------------------------------- */

/* AG-29: what waits for a suspended agent is bounded; who is refused is told, others are handled */
TEST(full)
{
	ThreadManagerPolicy policy = policy_of(DXK_ON_BLOCK_STRICT, 2);
	AgletContextOptions options;
	struct agent a = agent_of(NULL);
	unsigned int sent = 0;
	struct place p;
	int rc;

	policy.TPMaxWaiting = 100;
	p.mte = executive(&policy, &p.t);
	ASSERT_NE(NULL, p.mte);
	AgletContextOptionsInit(&options);
	options.minThreads = options.maxThreads = 0;
	p.c = AgletContext_create(p.mte, &options);
	ASSERT_NE(NULL, p.c);
	ASSERT_EQ(0, begins(p.c, &a));
	EXPECT_EQ(0, AgletProxy_suspend(a.proxy));
	while (!(rc = oneway(&a, "quiet", "", 0)) && sent < 1000)
		sent++;
	EXPECT_EQ(-ENOSPC, rc);
	EXPECT_LE(50, sent);
	EXPECT_GE(100, sent);
	EXPECT_EQ(-ENOSPC, sync_send(&a, "quiet", "", NULL));
	EXPECT_EQ(NULL, future_of(&a, "quiet", ""));
	EXPECT_EQ(0, AgletProxy_resume(a.proxy));
	EXPECT_TRUE(DXT_SOON(a.handled == sent));
	EXPECT_EQ(0, sync_send(&a, "quiet", "", NULL));
	EXPECT_TRUE(goes(&a));
	EXPECT_EQ(0, place_down(&p));
}

struct asker {
	struct agent *a;
	int rc;
	pthread_t thread;
};

static void *asks(void *arg)
{
	struct asker *s = arg;

	s->rc = sync_send(s->a, "quiet", "", NULL);
	return NULL;
}

/* AG-29: a message needs no room in the Ready Pool, however it is sent */
TEST(no_room_in_the_ready_pool)
{
	ThreadManagerPolicy policy = policy_of(DXK_ON_BLOCK_STRICT, 1);
	AgletContextOptions options;
	struct asker asker;
	struct agent a[6];
	FutureReply *f;
	struct place p;

	policy.TPMaxWaiting = 100;
	policy.TPReadyEntries = 2;
	p.mte = executive(&policy, &p.t);
	ASSERT_NE(NULL, p.mte);
	AgletContextOptionsInit(&options);
	options.minThreads = options.maxThreads = 0;
	p.c = AgletContext_create(p.mte, &options);
	ASSERT_NE(NULL, p.c);
	for (unsigned int i = 0; i < 6; i++) {
		a[i] = agent_of(NULL);
		ASSERT_EQ(0, begins(p.c, &a[i]));
	}
	a[0].closed = true;
	ASSERT_EQ(0, oneway(&a[0], "gate", "", 0));
	ASSERT_TRUE(DXT_SOON(a[0].entered));
	EXPECT_EQ(0, oneway(&a[1], "quiet", "", 0));
	EXPECT_EQ(0, oneway(&a[2], "quiet", "", 0));
	ASSERT_EQ(2, dxt_num(&p.t, "pools/ready_use"));
	EXPECT_EQ(0, oneway(&a[3], "quiet", "", 0));
	f = future_of(&a[4], "quiet", "");
	EXPECT_NE(NULL, f);
	asker.a = &a[5];
	ASSERT_EQ(0, pthread_create(&asker.thread, NULL, asks, &asker));
	/* it comes as the third that waits for its time, or for room */
	EXPECT_TRUE(DXT_SOON(dxt_num(&p.t, "pools/wait_use") == 3));
	EXPECT_EQ(2, dxt_num(&p.t, "pools/ready_use"));
	a[0].closed = false;
	pthread_join(asker.thread, NULL);
	EXPECT_EQ(AGLET_REPLIED, asker.rc);
	EXPECT_EQ(AGLET_REPLIED, answer_of(f, NULL));
	EXPECT_TRUE(DXT_SOON(a[3].handled == 1));
	for (unsigned int i = 0; i < 6; i++)
		EXPECT_TRUE(goes(&a[i]));
	EXPECT_EQ(0, place_down(&p));
}

/*
 * AG-32: the pool begins with some threads, and grows while messages need them, to its maximum;
 * then the next message waits
 */
TEST(pool_grows)
{
	ThreadManagerPolicy policy = policy_of(DXK_ON_BLOCK_STRICT, 1);
	AgletContextOptions options;
	struct agent a[7];
	struct place p;

	policy.TPMaxWaiting = 1000;
	p.mte = executive(&policy, &p.t);
	ASSERT_NE(NULL, p.mte);
	AgletContextOptionsInit(&options);
	EXPECT_EQ(10, options.minThreads);
	EXPECT_EQ(100, options.maxThreads);
	options.minThreads = 2;
	options.maxThreads = 6;
	p.c = AgletContext_create(p.mte, &options);
	ASSERT_NE(NULL, p.c);
	EXPECT_TRUE(DXT_SOON(dxt_num(&p.t, "pools/thread_use") == 2));
	for (unsigned int i = 0; i < 7; i++) {
		a[i] = agent_of(NULL);
		a[i].closed = true;
		ASSERT_EQ(0, begins(p.c, &a[i]));
	}
	for (unsigned int i = 0; i < 6; i++) {
		ASSERT_EQ(0, oneway(&a[i], "gate", "", 0));
		EXPECT_TRUE(DXT_SOON(a[i].entered));
		EXPECT_LE(i + 1, (unsigned int)dxt_num(&p.t, "pools/thread_use"));
	}
	EXPECT_EQ(0, oneway(&a[6], "gate", "", 0));
	EXPECT_FALSE(DXT_WITHIN(30 * DXT_MS, a[6].entered));
	EXPECT_EQ(6, dxt_num(&p.t, "pools/thread_use"));
	a[3].closed = false;
	EXPECT_TRUE(DXT_SOON(a[6].entered));
	for (unsigned int i = 0; i < 7; i++)
		a[i].closed = false;
	for (unsigned int i = 0; i < 7; i++)
		EXPECT_TRUE(goes(&a[i]));
	EXPECT_EQ(0, place_down(&p));
}

/*
 * AG-33, R-15: with exactly as many threads as may be, each in a handler, the next message waits,
 * and is handled when one returns
 */
TEST(all_threads_busy)
{
	struct agent a[4];
	struct place p;

	ASSERT_EQ(0, place_up(&p, 3, DXK_ON_BLOCK_STRICT, DXK_REENTRY_CHAIN));
	for (unsigned int i = 0; i < 4; i++) {
		a[i] = agent_of(NULL);
		ASSERT_EQ(0, begins(p.c, &a[i]));
	}
	for (unsigned int round = 0; round < 10; round++) {
		unsigned int first = round % 3;

		trace_clear();
		for (unsigned int i = 0; i < 3; i++)
			ASSERT_TRUE(stays(&a[i]));
		ASSERT_EQ(0, oneway(&a[3], "note", "n", 0));
		EXPECT_FALSE(DXT_WITHIN(10 * DXT_MS, trace.nr));
		a[first].closed = false;
		EXPECT_TRUE(DXT_SOON(trace.nr == 1));
		for (unsigned int i = 0; i < 3; i++)
			a[i].closed = false;
		for (unsigned int i = 0; i < 3; i++)
			ASSERT_TRUE(DXT_SOON(a[i].handled == round + 1));
	}
	for (unsigned int i = 0; i < 4; i++)
		EXPECT_TRUE(goes(&a[i]));
	EXPECT_EQ(0, place_down(&p));
}

/* What a context cannot be made with. */
TEST(context_refused)
{
	ThreadManagerPolicy policy = policy_of(DXK_ON_BLOCK_STRICT, 2);
	AgletContextOptions options;
	MTExecutive *mte;
	struct dxt t;

	EXPECT_EQ(NULL, AgletContext_create(NULL, NULL));
	EXPECT_EQ(ENXIO, errno);
	mte = executive(&policy, &t);
	ASSERT_NE(NULL, mte);
	EXPECT_EQ(NULL, AgletContext_create(mte, NULL));
	EXPECT_EQ(EOPNOTSUPP, errno);
	MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1);
	policy.TPMaxWaiting = 10;
	policy.TPRejoinFull = DXK_REJOIN_RESERVE;
	mte = executive(&policy, &t);
	ASSERT_NE(NULL, mte);
	EXPECT_EQ(NULL, AgletContext_create(mte, NULL));
	EXPECT_EQ(EOPNOTSUPP, errno);
	AgletContextOptionsInit(&options);
	options.reentry = DXK_REENTRY_CHAIN + 1;
	EXPECT_EQ(NULL, AgletContext_create(mte, &options));
	EXPECT_EQ(EINVAL, errno);
	AgletContextOptionsInit(&options);
	options.minThreads = 101;
	EXPECT_EQ(NULL, AgletContext_create(mte, &options));
	EXPECT_EQ(EINVAL, errno);
	AgletContextOptionsInit(&options);
	options.Reserved[1] = &options;
	EXPECT_EQ(NULL, AgletContext_create(mte, &options));
	EXPECT_EQ(EINVAL, errno);
	MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1);
}

/* AG-34: who is no worker of the executive cannot become one, nor take its work */
TEST_F(life, foreign_threads)
{
	int fd = MTExecutiveMemberFd(self->p.mte);
	struct dxk_work work;
	unsigned int id;

	EXPECT_EQ(-ENOTTY, dxk_next(fd, NULL, 0, NULL, &work, 1, NULL, 0, 0));
	EXPECT_EQ(-ENOSPC, dxk_member_create(MTExecutiveContextFd(self->p.mte),
					     DXK_MEMBER_WORKER, &id));
}

TEST_HARNESS_MAIN
