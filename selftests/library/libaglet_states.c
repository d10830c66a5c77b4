// SPDX-License-Identifier: GPL-2.0-only
/*
 * Aglets in their callbacks: what others do meanwhile, and callbacks that do not return
 * (AG-28 .. AG-31).
 */
#define _GNU_SOURCE
#include "library/libaglet.h"

#include <sched.h>

FIXTURE(states) {
	struct place p;
	struct agent a, b;
};

FIXTURE_SETUP(states)
{
	ASSERT_EQ(0, place_up(&self->p, 4, DXK_ON_BLOCK_STRICT, DXK_REENTRY_CHAIN));
	self->a = agent_of(NULL);
	self->b = agent_of(NULL);
	ASSERT_EQ(0, begins(self->p.c, &self->a));
	ASSERT_EQ(0, begins(self->p.c, &self->b));
}

FIXTURE_TEARDOWN(states)
{
	EXPECT_TRUE(goes(&self->a));
	EXPECT_TRUE(goes(&self->b));
	EXPECT_EQ(0, place_down(&self->p));
}

/* A thread that makes one call, on an agent. */
struct caller {
	pthread_t thread;
	int (*call)(struct agent *a);
	struct agent *a;
	_Atomic int rc;
	_Atomic bool returned;
};

static void *calls(void *arg)
{
	struct caller *c = arg;

	c->rc = c->call(c->a);
	c->returned = true;
	return NULL;
}

static bool starts(struct caller *c, int (*call)(struct agent *a), struct agent *a)
{
	*c = (struct caller){ .call = call, .a = a };
	return !pthread_create(&c->thread, NULL, calls, c);
}

/* It has returned, or ended its thread, in time. */
static bool joins(struct caller *c)
{
	struct timespec late;

	clock_gettime(CLOCK_REALTIME, &late);
	late.tv_sec += dxt_late_ns() / 1000000000;
	return !pthread_timedjoin_np(c->thread, NULL, &late);
}

static int activates(struct agent *a)
{
	return AgletProxy_activate(a->proxy);
}

static int deactivates(struct agent *a)
{
	int rc = AgletProxy_suspend(a->proxy);

	return rc ? rc : AgletProxy_deactivate(a->proxy);
}

static int disposes(struct agent *a)
{
	int rc = AgletProxy_suspend(a->proxy);

	return rc ? rc : AgletProxy_dispose(a->proxy);
}

/* --- a callback is alone ------------------------------------------------------------ */

static void is_alone(Aglet *self)
{
	struct agent *a = (struct agent *)self;

	a->activated++;
	a->wrong += DXT_WITHIN(5 * DXT_MS, a->inside || a->handled);
}

/*
 * AG-30: a turn that began before it was deactivated, and comes to its handler when it is
 * activated, runs none. Here turns begin and do not get on: who sends has the CPU
 */
TEST(alone_in_activation)
{
	const struct sched_param urgent = { .sched_priority = 1 }, usual = { 0 };
	struct agent a = agent_of(NULL);
	cpu_set_t was, one;
	struct place p;

	ASSERT_EQ(0, sched_getaffinity(0, sizeof(was), &was));
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(one), &one));
	ASSERT_EQ(0, place_up(&p, 2, DXK_ON_BLOCK_STRICT, DXK_REENTRY_CHAIN));
	a.base.onActivation = is_alone;
	ASSERT_EQ(0, begins(p.c, &a));
	ASSERT_EQ(0, sched_setscheduler(0, SCHED_FIFO, &urgent));
	for (unsigned int i = 1; i <= 20; i++) {
		EXPECT_EQ(0, oneway(&a, "quiet", "", 0));
		EXPECT_EQ(0, deactivates(&a));
		a.handled = 0;
		EXPECT_EQ(0, activates(&a));
		EXPECT_EQ(i, a.activated);
		/* The workers are idle again. */
		EXPECT_EQ(AGLET_REPLIED, sync_send(&a, "echo", "", NULL));
	}
	ASSERT_EQ(0, sched_setscheduler(0, SCHED_OTHER, &usual));
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(was), &was));
	EXPECT_TRUE(goes(&a));
	EXPECT_EQ(0, place_down(&p));
}

/* Its callbacks stay until they are let go. */
static void stays(struct agent *a)
{
	for (a->entered++; a->closed; usleep(100))
		;
}

static void activated_late(Aglet *self)
{
	activated(self);
	stays((struct agent *)self);
}

static void deactivated_late(Aglet *self)
{
	deactivated(self);
	stays((struct agent *)self);
}

/* AG-28, AG-30: while it is being activated nobody waits for that; what is sent does */
TEST_F(states, in_activation)
{
	struct agent *a = &self->a;
	struct caller t;
	FutureReply *f;

	a->base.onActivation = activated_late;
	ASSERT_EQ(0, deactivates(a));
	a->closed = true;
	ASSERT_TRUE(starts(&t, activates, a));
	ASSERT_TRUE(DXT_SOON(a->entered));
	EXPECT_EQ(AGLET_SUSPENDED, AgletProxy_state(a->proxy));
	EXPECT_EQ(-EINVAL, AgletProxy_suspend(a->proxy));
	EXPECT_EQ(-EBUSY, AgletProxy_resume(a->proxy));
	EXPECT_EQ(-EBUSY, AgletProxy_deactivate(a->proxy));
	EXPECT_EQ(-EINVAL, AgletProxy_activate(a->proxy));
	f = future_of(a, "quiet", "");
	EXPECT_EQ(-ETIMEDOUT, FutureReply_waitForReply(f, 20));
	a->closed = false;
	EXPECT_TRUE(joins(&t));
	EXPECT_EQ(0, t.rc);
	EXPECT_EQ(AGLET_REPLIED, answer_of(f, NULL));
	EXPECT_EQ(AGLET_RUNNING, AgletProxy_state(a->proxy));
}

/* AG-30: while it is being deactivated, a message of a kind that activates it does so after that */
TEST_F(states, in_deactivation)
{
	struct agent *a = &self->a;
	FutureReply *f, *g;
	struct caller t;

	a->base.onDeactivating = deactivated_late;
	EXPECT_EQ(0, MessageManager_setActivation(&a->base, "echo", true));
	a->closed = true;
	ASSERT_TRUE(starts(&t, deactivates, a));
	ASSERT_TRUE(DXT_SOON(a->entered));
	EXPECT_EQ(AGLET_DEACTIVATED, AgletProxy_state(a->proxy));
	EXPECT_EQ(-EINVAL, AgletProxy_suspend(a->proxy));
	EXPECT_EQ(-EINVAL, AgletProxy_resume(a->proxy));
	EXPECT_EQ(-EINVAL, AgletProxy_deactivate(a->proxy));
	EXPECT_EQ(-EBUSY, AgletProxy_activate(a->proxy));
	EXPECT_EQ(-EINVAL, AgletProxy_dispose(a->proxy));
	EXPECT_EQ(AGLET_NOT_HANDLED, sync_send(a, "quiet", "", NULL));
	f = future_of(a, "echo", "1");
	g = future_of(a, "echo", "2");
	EXPECT_EQ(-ETIMEDOUT, FutureReply_waitForReply(f, 20));
	EXPECT_EQ(0, a->activated);
	a->closed = false;
	EXPECT_TRUE(joins(&t));
	EXPECT_EQ(0, t.rc);
	EXPECT_EQ(AGLET_REPLIED, answer_of(f, NULL));
	EXPECT_EQ(AGLET_REPLIED, answer_of(g, NULL));
	EXPECT_EQ(1, a->activated);
	EXPECT_EQ(AGLET_RUNNING, AgletProxy_state(a->proxy));
}

/* AG-31: disposed of while it is activated, also by itself, it ends when that has returned */
TEST_F(states, disposed_in_activation)
{
	struct agent a = agent_of(NULL);
	struct caller t;
	FutureReply *f;

	a.base.onActivation = activated_late;
	ASSERT_EQ(0, begins(self->p.c, &a));
	ASSERT_EQ(0, deactivates(&a));
	a.closed = true;
	ASSERT_TRUE(starts(&t, activates, &a));
	ASSERT_TRUE(DXT_SOON(a.entered));
	f = future_of(&a, "quiet", "");
	EXPECT_EQ(0, AgletProxy_dispose(a.proxy));
	EXPECT_EQ(AGLET_DESTROYED, AgletProxy_state(a.proxy));
	EXPECT_EQ(AGLET_NOT_HANDLED, answer_of(f, NULL));
	EXPECT_EQ(AGLET_NOT_HANDLED, sync_send(&a, "quiet", "", NULL));
	EXPECT_EQ(0, a.disposed);
	a.closed = false;
	EXPECT_TRUE(joins(&t));
	EXPECT_EQ(0, t.rc);
	EXPECT_EQ(1, a.disposed);
	EXPECT_EQ(AGLET_DESTROYED, AgletProxy_state(a.proxy));
	AgletProxy_release(a.proxy);
}

static AgletContext *all;

static int disposes_of_all(struct agent *a)
{
	(void)a;
	return AgletContext_dispose(all);
}

/* AG-31: its context is disposed of while it is in a callback: it ends after that */
TEST(context_disposed_in_callbacks)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct agent a = agent_of(NULL);
		struct caller t, all_go;
		struct place p;

		ASSERT_EQ(0, place_up(&p, 2, DXK_ON_BLOCK_STRICT, DXK_REENTRY_CHAIN));
		if (i)
			a.base.onActivation = activated_late;
		else
			a.base.onDeactivating = deactivated_late;
		ASSERT_EQ(0, begins(p.c, &a));
		EXPECT_EQ(0, MessageManager_setActivation(&a.base, "note", true));
		if (i)
			ASSERT_EQ(0, deactivates(&a));
		a.closed = true;
		ASSERT_TRUE(starts(&t, i ? activates : deactivates, &a));
		ASSERT_TRUE(DXT_SOON(a.entered));
		EXPECT_EQ(0, oneway(&a, "note", "n", 0));
		all = p.c;
		ASSERT_TRUE(starts(&all_go, disposes_of_all, &a));
		EXPECT_TRUE(DXT_SOON(AgletProxy_state(a.proxy) == AGLET_DESTROYED));
		EXPECT_FALSE(DXT_WITHIN(20 * DXT_MS, all_go.returned));
		EXPECT_EQ(0, a.disposed);
		a.closed = false;
		EXPECT_TRUE(joins(&t));
		ASSERT_TRUE(joins(&all_go));
		EXPECT_EQ(0, t.rc);
		EXPECT_EQ(0, all_go.rc);
		EXPECT_EQ(1, a.disposed);
		EXPECT_EQ(i, a.activated);
		EXPECT_EQ(0, trace.nr);
		AgletProxy_release(a.proxy);
		p.c = NULL;
		EXPECT_EQ(0, place_down(&p));
	}
}

/* --- what callbacks do ---------------------------------------------------------------- */

/* "change": changes the state of the other one, which is in a callback. */
static bool changes(struct agent *a, AgletMessage *m)
{
	a->rc = AgletProxy_suspend(a->other->proxy);
	a->rc += AgletProxy_activate(a->other->proxy);
	AgletMessage_sendReply(m, "", 0);
	return true;
}

/* Sends to the other one, and waits for it. */
static void sends(Aglet *self)
{
	struct agent *a = (struct agent *)self;
	FutureReply *f = future_of(a->other, "change", "");

	a->entered++;
	a->wrong += FutureReply_waitForReply(f, dxt_late_ns() / 1000000) != 0;
	a->wrong += answer_of(f, NULL) != AGLET_REPLIED;
}

/* AG-28: one that it sends to, and waits for, may call the functions of its state */
TEST_F(states, callbacks_send)
{
	struct agent *a = &self->a, *b = &self->b;

	a->base.onActivation = a->base.onDeactivating = sends;
	a->other = b;
	b->other = a;
	b->also = changes;
	EXPECT_EQ(0, deactivates(a));
	EXPECT_EQ(1, a->entered);
	EXPECT_EQ(-EINVAL - EBUSY, b->rc);
	EXPECT_EQ(0, activates(a));
	EXPECT_EQ(2, a->entered);
	EXPECT_EQ(-EINVAL - EINVAL, b->rc);
}

static void sends_to_itself(Aglet *self)
{
	struct agent *a = (struct agent *)self;

	a->proxy = self->Proxy;
	a->entered++;
	a->wrong += sync_send(a, "quiet", "", NULL) != -EDEADLK;
	a->wrong += oneway(a, "note", "n", 0) != 0;
}

static int sends_in_creation(Aglet *self, void *arg)
{
	(void)arg;
	sends_to_itself(self);
	return 0;
}

/* AG-28, AG-30: who would wait for what is handled after the callback that he is in is told */
TEST_F(states, callbacks_send_to_themselves)
{
	struct agent a = agent_of(NULL);

	a.base.onCreation = sends_in_creation;
	a.base.onActivation = a.base.onDeactivating = sends_to_itself;
	ASSERT_EQ(0, begins(self->p.c, &a));
	EXPECT_TRUE(DXT_SOON(trace.nr == 1));
	EXPECT_EQ(0, MessageManager_setActivation(&a.base, "quiet", true));
	EXPECT_EQ(0, MessageManager_setActivation(&a.base, "note", true));
	EXPECT_EQ(0, deactivates(&a));
	EXPECT_TRUE(DXT_SOON(trace.nr == 3));
	EXPECT_EQ(3, a.entered);
	EXPECT_TRUE(goes(&a));
}

/* --- what is sent amid its creation ---------------------------------------------------- */

static int created_late(Aglet *self, void *arg)
{
	struct agent *a = (struct agent *)self;
	int rc = arg ? AgletProxy_deactivate(self->Proxy) : 0;

	a->proxy = AgletProxy_hold(self->Proxy);
	stays(a);
	a->wrong += a->inside || a->handled || a->activated;
	return rc ? rc : a->rc;
}

static AgletContext *where;
static void *how;

static int creates(struct agent *a)
{
	return AgletContext_createAglet(where, &a->base, how, NULL);
}

static bool passes(struct agent *a, AgletMessage *m)
{
	a->wrong += AgletProxy_delegateMessage(a->other->proxy, m) != 0;
	return true;
}

/* AG-16, AG-28: one to whom a message is delegated amid its creation handles it after that */
TEST_F(states, delegated_to_a_new_one)
{
	struct agent *a = &self->a, b = agent_of(NULL);
	struct caller t;
	FutureReply *f;

	b.base.onCreation = created_late;
	b.closed = true;
	where = self->p.c;
	how = NULL;
	ASSERT_TRUE(starts(&t, creates, &b));
	ASSERT_TRUE(DXT_SOON(b.entered));
	a->also = passes;
	a->other = &b;
	f = future_of(a, "echoes", "x");
	ASSERT_TRUE(DXT_SOON(a->handled == 1));
	EXPECT_EQ(-ETIMEDOUT, FutureReply_waitForReply(f, 20));
	EXPECT_EQ(0, b.inside + b.handled);
	b.closed = false;
	EXPECT_TRUE(joins(&t));
	EXPECT_EQ(0, t.rc);
	EXPECT_EQ(AGLET_NOT_HANDLED, answer_of(f, NULL));
	EXPECT_EQ(1, b.handled);
	EXPECT_TRUE(goes(&b));
}

/* AG-28, AG-30: one that is deactivated in its creation is not activated before the end of that */
TEST_F(states, activated_amid_creation)
{
	for (int fails = 0; fails < 2; fails++) {
		struct agent b = agent_of(NULL);
		struct caller t;
		FutureReply *f;

		b.base.onCreation = created_late;
		b.closed = true;
		b.rc = fails ? -ENOTTY : 0;
		where = self->p.c;
		how = &b;
		ASSERT_TRUE(starts(&t, creates, &b));
		ASSERT_TRUE(DXT_SOON(b.entered));
		EXPECT_EQ(AGLET_DEACTIVATED, AgletProxy_state(b.proxy));
		EXPECT_EQ(-EBUSY, AgletProxy_activate(b.proxy));
		EXPECT_EQ(0, MessageManager_setActivation(&b.base, "echo", true));
		f = future_of(&b, "echo", "x");
		EXPECT_EQ(-ETIMEDOUT, FutureReply_waitForReply(f, 20));
		b.closed = false;
		EXPECT_TRUE(joins(&t));
		EXPECT_EQ(b.rc, t.rc);
		EXPECT_EQ(fails ? AGLET_NOT_HANDLED : AGLET_REPLIED, answer_of(f, NULL));
		EXPECT_EQ(!fails, b.activated);
		EXPECT_EQ(!fails, b.handled);
		if (fails)
			AgletProxy_release(b.proxy);
		else
			EXPECT_TRUE(goes(&b));
	}
}

/* --- callbacks that do not return ------------------------------------------------------ */

static int ends_in_creation(Aglet *self, void *arg)
{
	created(self, arg);
	pthread_exit(NULL);
}

static void ends_in_activation(Aglet *self)
{
	activated(self);
	pthread_exit(NULL);
}

static void ends_in_deactivation(Aglet *self)
{
	deactivated(self);
	pthread_exit(NULL);
}

static void ends_in_disposal(Aglet *self)
{
	disposed(self);
	pthread_exit(NULL);
}

static int begins_with_its_proxy(struct agent *a)
{
	return begins(where, a);
}

/* AG-28 .. AG-31: one that ends its thread is as one that returns; but what it creates is not */
TEST(callbacks_end_threads)
{
	struct agent a = agent_of(NULL), b = agent_of(NULL);
	struct caller t;
	struct place p;

	ASSERT_EQ(0, place_up(&p, 3, DXK_ON_BLOCK_STRICT, DXK_REENTRY_CHAIN));
	where = p.c;
	a.base.onActivation = ends_in_activation;
	a.base.onDeactivating = ends_in_deactivation;
	a.base.onDisposing = ends_in_disposal;
	b.base.onCreation = ends_in_creation;
	ASSERT_TRUE(starts(&t, begins_with_its_proxy, &b));
	ASSERT_TRUE(joins(&t));
	EXPECT_FALSE(t.returned);
	EXPECT_EQ(1, b.created);
	EXPECT_EQ(0, b.disposed);
	EXPECT_EQ(NULL, b.proxy);

	ASSERT_EQ(0, begins(p.c, &a));
	ASSERT_TRUE(starts(&t, deactivates, &a));
	ASSERT_TRUE(joins(&t));
	EXPECT_FALSE(t.returned);
	EXPECT_EQ(1, a.deactivated);
	EXPECT_EQ(AGLET_DEACTIVATED, AgletProxy_state(a.proxy));
	ASSERT_TRUE(starts(&t, activates, &a));
	ASSERT_TRUE(joins(&t));
	EXPECT_FALSE(t.returned);
	EXPECT_EQ(AGLET_RUNNING, AgletProxy_state(a.proxy));
	EXPECT_EQ(AGLET_REPLIED, sync_send(&a, "quiet", "", NULL));
	ASSERT_TRUE(starts(&t, disposes, &a));
	ASSERT_TRUE(joins(&t));
	EXPECT_FALSE(t.returned);
	EXPECT_EQ(1, a.disposed);
	AgletProxy_release(a.proxy);

	/* in the thread that disposes of all, which somebody else does then; and in a worker */
	a = b = agent_of(NULL);
	a.base.onDisposing = b.base.onDisposing = ends_in_disposal;
	ASSERT_EQ(0, begins(p.c, &a));
	ASSERT_EQ(0, begins(p.c, &b));
	b.closed = true;
	EXPECT_EQ(0, oneway(&b, "gate", "", 0));
	ASSERT_TRUE(DXT_SOON(b.entered));
	EXPECT_EQ(0, disposes(&b));
	b.closed = false;
	EXPECT_TRUE(DXT_SOON(b.disposed == 1));
	AgletProxy_release(a.proxy);
	AgletProxy_release(b.proxy);
	all = p.c;
	ASSERT_TRUE(starts(&t, disposes_of_all, NULL));
	ASSERT_TRUE(joins(&t));
	EXPECT_FALSE(t.returned);
	EXPECT_EQ(1, a.disposed);
	ASSERT_TRUE(starts(&t, disposes_of_all, NULL));
	ASSERT_TRUE(joins(&t));
	EXPECT_TRUE(t.returned);
	EXPECT_EQ(0, t.rc);
	p.c = NULL;
	EXPECT_EQ(0, place_down(&p));
}

/* AG-31: who is cancelled while it waits for the last handler leaves that to the next one */
TEST(disposal_is_cancelled)
{
	struct agent a = agent_of(NULL);
	struct caller t;
	struct place p;

	ASSERT_EQ(0, place_up(&p, 2, DXK_ON_BLOCK_STRICT, DXK_REENTRY_CHAIN));
	ASSERT_EQ(0, begins(p.c, &a));
	a.closed = true;
	EXPECT_EQ(0, oneway(&a, "gate", "", 0));
	ASSERT_TRUE(DXT_SOON(a.entered));
	all = p.c;
	ASSERT_TRUE(starts(&t, disposes_of_all, NULL));
	EXPECT_TRUE(DXT_SOON(AgletProxy_state(a.proxy) == AGLET_DESTROYED));
	EXPECT_EQ(0, pthread_cancel(t.thread));
	ASSERT_TRUE(joins(&t));
	EXPECT_FALSE(t.returned);
	a.closed = false;
	AgletProxy_release(a.proxy);
	ASSERT_TRUE(starts(&t, disposes_of_all, NULL));
	ASSERT_TRUE(joins(&t));
	EXPECT_EQ(0, t.rc);
	EXPECT_EQ(1, a.disposed);
	p.c = NULL;
	EXPECT_EQ(0, place_down(&p));
}

/* --- bounds ----------------------------------------------------------------------------- */

/* AG-29 .. AG-31: what ends or refuses messages needs no room for some that wait */
TEST(full)
{
	ThreadManagerPolicy policy = policy_of(DXK_ON_BLOCK_STRICT, 2);
	struct agent a = agent_of(NULL), b = agent_of(NULL), c = agent_of(NULL);
	AgletContextOptions options;
	FutureReply *f;
	struct place p;

	policy.TPMaxWaiting = 10;
	p.mte = executive(&policy, &p.t);
	ASSERT_NE(NULL, p.mte);
	AgletContextOptionsInit(&options);
	options.minThreads = options.maxThreads = 0;
	p.c = AgletContext_create(p.mte, &options);
	ASSERT_NE(NULL, p.c);
	ASSERT_EQ(0, begins(p.c, &a));
	ASSERT_EQ(0, begins(p.c, &b));
	EXPECT_EQ(0, AgletProxy_suspend(b.proxy));
	EXPECT_EQ(0, AgletProxy_suspend(a.proxy));
	f = future_of(&a, "quiet", "");
	while (!oneway(&a, "quiet", "", 0))
		;
	c.base.onCreation = created_late;
	where = p.c;
	how = &c;
	EXPECT_EQ(0, creates(&c));
	EXPECT_EQ(AGLET_DEACTIVATED, AgletProxy_state(c.proxy));
	EXPECT_EQ(-ENOSPC, AgletProxy_activate(c.proxy));
	EXPECT_EQ(AGLET_DEACTIVATED, AgletProxy_state(c.proxy));
	EXPECT_EQ(0, MessageManager_setActivation(&c.base, "quiet", true));
	EXPECT_EQ(-ENOSPC, sync_send(&c, "quiet", "", NULL));
	EXPECT_EQ(AGLET_NOT_HANDLED, sync_send(&c, "note", "n", NULL));
	EXPECT_EQ(0, AgletProxy_deactivate(b.proxy));
	EXPECT_EQ(0, AgletProxy_deactivate(a.proxy));
	EXPECT_EQ(AGLET_NOT_HANDLED, answer_of(f, NULL));
	EXPECT_EQ(0, AgletProxy_activate(c.proxy));
	EXPECT_EQ(0, AgletProxy_activate(a.proxy));
	EXPECT_EQ(0, AgletProxy_activate(b.proxy));
	EXPECT_EQ(0, sync_send(&c, "quiet", "", NULL));
	EXPECT_TRUE(goes(&a));
	EXPECT_TRUE(goes(&b));
	EXPECT_TRUE(goes(&c));
	EXPECT_EQ(0, place_down(&p));
}

TEST_HARNESS_MAIN
