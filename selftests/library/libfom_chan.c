// SPDX-License-Identifier: GPL-2.0-only
/*
 * Channels, clinks and call-backs of foms (FO-17, FO-19, FO-22 .. FO-27, R-13).
 */
#define _GNU_SOURCE
#include "library/libfom.h"

#include <sched.h>

FIXTURE(chans) {
	struct place p;
	struct test_fom t;
	struct chan c;
};

FIXTURE_SETUP(chans)
{
	ASSERT_EQ(0, place_up(&self->p, 2, 2));
	chan_init(&self->c);
}

FIXTURE_TEARDOWN(chans)
{
	chan_fini(&self->c);
	EXPECT_EQ(0, place_down(&self->p));
}

/* --- clinks and threads -------------------------------------------------------------- */

#define CLINKS	4

static struct clink clinks[CLINKS];

/* Notes which clink it is, and consumes what has an odd number. */
static bool notes_clink(struct clink *clink)
{
	note((char)('0' + (clink - clinks)));
	return false;
}

static bool consumes(struct clink *clink)
{
	note((char)('0' + (clink - clinks)));
	return true;
}

static unsigned int events_of(struct clink *clink)
{
	unsigned int n = 0;

	while (chan_trywait(clink))
		n++;
	return n;
}

/* FO-27: each signal is one clink's, in turn; a broadcast is everybody's */
TEST_F(chans, signal_and_broadcast)
{
	chan_signal(&self->c);
	for (unsigned int i = 0; i < CLINKS; i++) {
		clink_init(&clinks[i], notes_clink);
		clink_add(&self->c, &clinks[i]);
	}
	for (unsigned int i = 0; i < 2 * CLINKS; i++)
		chan_signal(&self->c);
	EXPECT_STREQ("01230123", trace.text);
	for (unsigned int i = 0; i < CLINKS; i++)
		EXPECT_EQ(2, events_of(&clinks[i]));
	trace_clear();
	chan_signal(&self->c);
	chan_broadcast(&self->c);
	EXPECT_STREQ("01230", trace.text);
	EXPECT_EQ(2, events_of(&clinks[0]));
	/* who has left has none */
	EXPECT_TRUE(clink_del(&clinks[1]));
	EXPECT_FALSE(clink_del(&clinks[1]));
	for (unsigned int i = 0; i < CLINKS; i++)
		events_of(&clinks[i]);
	chan_broadcast(&self->c);
	EXPECT_EQ(0, events_of(&clinks[1]));
	EXPECT_EQ(1, events_of(&clinks[2]));
	for (unsigned int i = 0; i < CLINKS; i++)
		clink_fini(&clinks[i]);
}

/* FO-27: a filter has an event for itself; a one-shot clink leaves with its first one */
TEST_F(chans, filters_and_oneshots)
{
	clink_init(&clinks[0], consumes);
	clink_init(&clinks[1], notes_clink);
	clink_init(&clinks[2], NULL);
	clinks[1].oneshot = true;
	for (unsigned int i = 0; i < 3; i++)
		clink_add(&self->c, &clinks[i]);
	chan_broadcast(&self->c);
	chan_broadcast(&self->c);
	EXPECT_STREQ("010", trace.text);
	EXPECT_EQ(0, events_of(&clinks[0]));
	EXPECT_EQ(1, events_of(&clinks[1]));
	EXPECT_EQ(2, events_of(&clinks[2]));
	EXPECT_FALSE(clink_del(&clinks[1]));
	/* again */
	clink_add(&self->c, &clinks[1]);
	chan_broadcast(&self->c);
	EXPECT_EQ(1, events_of(&clinks[1]));
	for (unsigned int i = 0; i < 3; i++)
		clink_fini(&clinks[i]);
}

struct sleeper {
	struct clink *clink;
	_Atomic unsigned int woken;
	unsigned int events;
	pthread_t thread;
};

static void *sleeps(void *arg)
{
	struct sleeper *s = arg;

	for (unsigned int i = 0; i < s->events; i++) {
		chan_wait(s->clink);
		s->woken++;
	}
	return NULL;
}

/* FO-27: a thread waits for several channels, and until a time */
TEST_F(chans, group)
{
	struct sleeper s = { .clink = &clinks[0], .events = 3 };
	uint64_t before;
	struct chan c[3];

	for (unsigned int i = 0; i < 3; i++) {
		chan_init(&c[i]);
		if (i)
			clink_attach(&clinks[i], &clinks[0], NULL);
		else
			clink_init(&clinks[0], NULL);
		clink_add(&c[i], &clinks[i]);
	}
	ASSERT_EQ(0, pthread_create(&s.thread, NULL, sleeps, &s));
	for (unsigned int i = 0; i < 3; i++) {
		dxt_sleep_ms(2);
		EXPECT_EQ(i, s.woken);
		chan_signal(&c[2 - i]);
		EXPECT_TRUE(DXT_SOON(s.woken == i + 1));
	}
	pthread_join(s.thread, NULL);
	before = dxt_now();
	EXPECT_FALSE(chan_timedwait(&clinks[1], before + 20 * DXT_MS));
	EXPECT_LE(20 * DXT_MS, dxt_now() - before);
	chan_signal(&c[1]);
	EXPECT_TRUE(chan_timedwait(&clinks[2], 0));
	EXPECT_FALSE(chan_timedwait(&clinks[2], 0));
	for (unsigned int i = 3; i--; ) {
		clink_fini(&clinks[i]);
		chan_fini(&c[i]);
	}
}

static void adds_twice(void)
{
	struct chan c;
	struct clink l;

	chan_init(&c);
	clink_init(&l, NULL);
	clink_add(&c, &l);
	clink_add(&c, &l);
}

static void finis_in_use(void)
{
	struct chan c;
	struct clink l;

	chan_init(&c);
	clink_init(&l, NULL);
	clink_add(&c, &l);
	chan_fini(&c);
}

/* FO-27: one place at a time; a channel ends after its clinks */
TEST(traps_of_clinks)
{
	EXPECT_TRUE(TRAPS(adds_twice()));
	EXPECT_TRUE(TRAPS(finis_in_use()));
}

/* --- call-backs ---------------------------------------------------------------------- */

/* A fom with call-backs, and what they are to do. */
struct called_fom {
	struct test_fom t;
	struct chan *chan;
	struct bell {
		struct fom_callback cb;
		struct called_fom *of;
		bool swallows, wakes, again;
		_Atomic bool closed, in;	/* its half stays */
		_Atomic unsigned int tops, bottoms;
		_Atomic pid_t top_thread, bottom_thread;
	} bells[5];
	unsigned int nr;
	bool arms;				/* in its first tick */
	bool cancels[5];			/* in its first tick, after the events */
};

static bool top_half(struct fom_callback *cb)
{
	struct bell *b = (struct bell *)cb;

	b->tops++;
	b->top_thread = gettid();
	for (b->in = true; b->closed; usleep(100))
		;
	b->in = false;
	return b->swallows;
}

static void bottom_half(struct fom_callback *cb)
{
	struct bell *b = (struct bell *)cb;
	struct called_fom *f = b->of;

	enters(&f->t);
	note((char)('a' + (b - f->bells)));
	b->bottoms++;
	b->bottom_thread = gettid();
	for (b->in = true; b->closed; usleep(100))
		;
	b->in = false;
	if (b->again)
		fom_callback_arm(cb, &f->t.fom, f->chan);
	leaves(&f->t);
	if (b->wakes)
		fom_wakeup(&f->t.fom);
}

static int is_called(struct test_fom *t)
{
	struct called_fom *f = (struct called_fom *)t;

	note('T');
	if (t->ticks == 1 && f->arms)
		for (unsigned int i = 0; i < f->nr; i++)
			fom_callback_arm(&f->bells[i].cb, &t->fom, f->chan);
	t->entered++;
	while (t->closed)
		usleep(100);
	for (unsigned int i = 0; i < f->nr && t->ticks == 1; i++)
		if (f->cancels[i])
			t->wrong += !fom_callback_cancel(&f->bells[i].cb) ||
				    fom_callback_cancel(&f->bells[i].cb);
	if (!t->stops)
		return FSO_WAIT;
	for (unsigned int i = 0; i < f->nr; i++) {
		fom_callback_cancel(&f->bells[i].cb);
		fom_callback_fini(&f->bells[i].cb);
	}
	return ends(t);
}

static struct called_fom *called_fom(struct place *p, struct chan *c, unsigned int nr)
{
	struct called_fom *f = calloc(1, sizeof(*f));

	make(p, &f->t, is_called);
	f->chan = c;
	f->nr = nr;
	f->arms = true;
	for (unsigned int i = 0; i < nr; i++) {
		fom_callback_init(&f->bells[i].cb, top_half, bottom_half);
		f->bells[i].of = f;
	}
	return f;
}

static bool ends_called(struct called_fom *f)
{
	bool ok = !goes(&f->t) && ENDS(&f->t) && !f->t.wrong &&
		  !fom_service_idle_wait(f->t.fom.service, FOM_FOREVER);

	free(f);
	return ok;
}

/* Armed by who ticks it; waits for the event, ends after it. */
struct waiting_fom {
	struct test_fom t;
	struct fom_callback cb;
	struct chan *chan;
};

static int waits_on(struct test_fom *t)
{
	struct waiting_fom *w = (struct waiting_fom *)t;

	if (fom_phase(&t->fom) == ONE)
		return ends(t);
	fom_phase_set(&t->fom, ONE);
	fom_callback_init(&w->cb, NULL, NULL);
	fom_wait_on(&t->fom, w->chan, &w->cb);
	t->entered++;
	return FSO_WAIT;
}

/* FO-17, FO-19: armed, then waits; the event may come before that: ticked in its home locality */
TEST_F(chans, wait_on)
{
	struct waiting_fom w;

	for (unsigned int i = 0; i < 500; i++) {
		make(&self->p, &w.t, waits_on);
		w.t.home = i;
		w.chan = &self->c;
		ASSERT_EQ(0, fom_queue(&w.t.fom));
		while (!w.t.entered)
			sched_yield();
		for (volatile unsigned int n = i % 256 * 8; n; n--)
			;
		chan_signal(&self->c);
		ASSERT_TRUE(ENDS(&w.t));
		ASSERT_EQ(2, w.t.ticks);
		ASSERT_EQ(i % 2, fom_locality(&w.t.fom));
		ASSERT_EQ(0, w.t.wrong);
	}
}

/* FO-22: the top half is of the signaller's thread, the bottom half of the turn */
TEST_F(chans, halves)
{
	struct called_fom *f = called_fom(&self->p, &self->c, 2);

	f->bells[0].swallows = true;
	ASSERT_EQ(0, fom_queue(&f->t.fom));
	ASSERT_TRUE(WAITS(&f->t));
	chan_broadcast(&self->c);
	EXPECT_TRUE(DXT_SOON(f->bells[1].bottoms == 1));
	EXPECT_TRUE(WAITS(&f->t));
	EXPECT_EQ(1, f->bells[0].tops);
	EXPECT_EQ(gettid(), f->bells[0].top_thread);
	EXPECT_EQ(gettid(), f->bells[1].top_thread);
	EXPECT_NE(gettid(), f->bells[1].bottom_thread);
	/* it was one-shot, and the fom was not ticked for it */
	chan_broadcast(&self->c);
	EXPECT_STREQ("Tb", trace.text);
	EXPECT_EQ(0, f->bells[0].bottoms);
	EXPECT_TRUE(ends_called(f));
	EXPECT_STREQ("TbT", trace.text);
}

/* What follows from events that come while the fom is ticked. */
static void fire_while_running(struct __test_metadata *_metadata, struct place *p, struct chan *c,
			       struct called_fom *f, const char *wanted)
{
	f->t.closed = true;
	ASSERT_EQ(0, fom_queue(&f->t.fom));
	ASSERT_TRUE(DXT_SOON(f->t.entered));
	for (unsigned int i = 0; i < f->nr; i++)
		chan_signal(c);
	(void)p;
	EXPECT_STREQ("T", trace.text);
	f->t.closed = false;
	EXPECT_TRUE(DXT_SOON(strlen(trace.text) == strlen(wanted)));
	EXPECT_TRUE(WAITS(&f->t));
	EXPECT_STREQ(wanted, trace.text);
}

/* FO-23: pending until it waits, then in their order, until one wakes it; the rest when it waits */
TEST_F(chans, pending)
{
	struct called_fom *f = called_fom(&self->p, &self->c, 5);

	f->bells[2].wakes = true;
	fire_while_running(_metadata, &self->p, &self->c, f, "TabcTde");
	EXPECT_TRUE(ends_called(f));
}

/* FO-23: those that are pending when it was woken come when it waits again */
TEST_F(chans, pending_while_ready)
{
	struct called_fom *f = called_fom(&self->p, &self->c, 2);
	struct test_fom gate;

	ASSERT_EQ(0, fom_queue(&f->t.fom));
	ASSERT_TRUE(WAITS(&f->t));
	make(&self->p, &gate, stays);
	gate.closed = true;
	ASSERT_EQ(0, fom_queue(&gate.fom));
	ASSERT_TRUE(DXT_SOON(gate.entered));
	chan_signal(&self->c);
	EXPECT_EQ(0, fom_wakeup(&f->t.fom));
	chan_signal(&self->c);
	EXPECT_EQ(0, f->bells[0].bottoms);
	gate.closed = false;
	EXPECT_TRUE(DXT_SOON(trace.nr == 4));
	EXPECT_STREQ("TTab", trace.text);
	EXPECT_TRUE(ends_called(f));
}

/* FO-24, R-13: cancelled when they are pending: the first, one amid, the last, all */
TEST_F(chans, cancel_pending)
{
	static const struct {
		const char *cancels, *wanted;
	} cases[] = {
		{ "0", "Tbcde" }, { "2", "Tabde" }, { "4", "Tabcd" }, { "04", "Tbcd" }, { "01234", "T" },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		struct called_fom *f = called_fom(&self->p, &self->c, 5);

		for (const char *c = cases[i].cancels; *c; c++)
			f->cancels[*c - '0'] = true;
		trace_clear();
		fire_while_running(_metadata, &self->p, &self->c, f, cases[i].wanted);
		EXPECT_TRUE(ends_called(f));
	}
}

/* FO-24: cancelled before the event: neither half is called. By the fom, and by another thread */
TEST_F(chans, cancel_armed)
{
	struct called_fom *f = called_fom(&self->p, &self->c, 3);

	f->cancels[1] = true;
	ASSERT_EQ(0, fom_queue(&f->t.fom));
	ASSERT_TRUE(WAITS(&f->t));
	EXPECT_TRUE(fom_callback_cancel(&f->bells[2].cb));
	EXPECT_FALSE(fom_callback_cancel(&f->bells[2].cb));
	chan_broadcast(&self->c);
	EXPECT_TRUE(DXT_SOON(f->bells[0].bottoms == 1));
	EXPECT_TRUE(WAITS(&f->t));
	EXPECT_STREQ("Ta", trace.text);
	EXPECT_EQ(0, f->bells[1].tops + f->bells[2].tops);
	EXPECT_TRUE(ends_called(f));
}

static void *signals(void *chan)
{
	chan_signal(chan);
	return NULL;
}

struct canceller {
	struct fom_callback *cb;
	_Atomic bool done;
	bool was;
	pthread_t thread;
};

static void *cancels(void *arg)
{
	struct canceller *c = arg;

	c->was = fom_callback_cancel(c->cb);
	c->done = true;
	return NULL;
}

/* FO-24: while a half executes: the cancel waits for its end; the bottom half does not follow */
TEST_F(chans, cancel_waits)
{
	for (unsigned int half = 0; half < 2; half++) {
		struct called_fom *f = called_fom(&self->p, &self->c, 1);
		struct bell *b = &f->bells[0];
		struct canceller c = { .cb = &b->cb };
		pthread_t signaller;

		if (half)
			b->cb.top = NULL;
		ASSERT_EQ(0, fom_queue(&f->t.fom));
		ASSERT_TRUE(WAITS(&f->t));
		b->closed = true;
		/* The bottom half would come right after the top half. */
		f->t.closed = true;
		ASSERT_EQ(0, half ? 0 : fom_wakeup(&f->t.fom));
		ASSERT_TRUE(half || DXT_SOON(f->t.entered == 2));
		ASSERT_EQ(0, pthread_create(&signaller, NULL, signals, &self->c));
		ASSERT_TRUE(DXT_SOON(b->in));
		ASSERT_EQ(0, pthread_create(&c.thread, NULL, cancels, &c));
		dxt_sleep_ms(20);
		EXPECT_FALSE(c.done);
		b->closed = false;
		pthread_join(signaller, NULL);
		pthread_join(c.thread, NULL);
		EXPECT_EQ(!half, c.was);
		EXPECT_FALSE(b->in);
		f->t.closed = false;
		EXPECT_TRUE(WAITS(&f->t));
		EXPECT_EQ(half, b->bottoms);
		EXPECT_TRUE(ends_called(f));
	}
}

/* FO-24: cancelled by another thread while its bottom half is about to arm it again */
TEST_F(chans, cancel_of_one_that_arms_again)
{
	struct called_fom *f = called_fom(&self->p, &self->c, 1);
	struct bell *b = &f->bells[0];
	struct canceller c = { .cb = &b->cb };

	b->again = b->closed = true;
	b->cb.top = NULL;
	ASSERT_EQ(0, fom_queue(&f->t.fom));
	ASSERT_TRUE(WAITS(&f->t));
	chan_signal(&self->c);
	ASSERT_TRUE(DXT_SOON(b->in));
	ASSERT_EQ(0, pthread_create(&c.thread, NULL, cancels, &c));
	dxt_sleep_ms(20);
	EXPECT_FALSE(c.done);
	b->closed = false;
	pthread_join(c.thread, NULL);
	EXPECT_TRUE(c.was);
	chan_signal(&self->c);
	EXPECT_TRUE(ends_called(f));
	EXPECT_STREQ("TaT", trace.text);
}

/* FO-25: once, unless it is armed again, which its bottom half may do */
TEST_F(chans, oneshot)
{
	struct called_fom *f = called_fom(&self->p, &self->c, 2);

	f->bells[1].again = true;
	ASSERT_EQ(0, fom_queue(&f->t.fom));
	ASSERT_TRUE(WAITS(&f->t));
	for (unsigned int i = 1; i <= 10; i++) {
		chan_broadcast(&self->c);
		ASSERT_TRUE(DXT_SOON(f->bells[1].bottoms == i));
		ASSERT_TRUE(WAITS(&f->t));
	}
	EXPECT_EQ(1, f->bells[0].bottoms);
	EXPECT_TRUE(ends_called(f));
}

static struct chan *stormy;
static _Atomic bool storm;

static void *storms(void *arg)
{
	(void)arg;
	while (storm)
		chan_broadcast(stormy);
	return NULL;
}

/* Arms, and cancels some time later: by then it has fired, or never will. */
static int hurries(struct test_fom *t)
{
	struct waiting_fom *w = (struct waiting_fom *)t;

	if (t->ticks > 1) {
		fom_callback_cancel(&w->cb);
		fom_callback_fini(&w->cb);
	}
	if (t->ticks > 1000)
		return ends(t);
	fom_callback_init(&w->cb, NULL, NULL);
	fom_wait_on(&t->fom, w->chan, &w->cb);
	for (volatile unsigned int n = t->ticks % 64 * 8; n; n--)
		;
	if (t->ticks % 2)
		fom_wakeup(&t->fom);
	return FSO_WAIT;
}

/* FO-24, FO-25, R-13: events come all the time while two foms arm, are woken, and cancel */
TEST_F(chans, cancel_races)
{
	struct waiting_fom w[2];
	pthread_t threads[2];

	stormy = &self->c;
	storm = true;
	for (unsigned int i = 0; i < 2; i++) {
		make(&self->p, &w[i].t, hurries);
		w[i].t.home = i;
		w[i].chan = &self->c;
		ASSERT_EQ(0, fom_queue(&w[i].t.fom));
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, storms, NULL));
	}
	for (unsigned int i = 0; i < 2; i++)
		EXPECT_TRUE(DXT_UNTIL(&self->p.t, w[i].t.finis));
	storm = false;
	for (unsigned int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	EXPECT_EQ(0, w[0].t.wrong + w[1].t.wrong);
}

static int arms_its_bell(struct test_fom *t)
{
	struct called_fom *f = (struct called_fom *)t;

	if (t->stops) {
		fom_callback_cancel(&f->bells[0].cb);
		return ends(t);
	}
	fom_callback_arm(&f->bells[0].cb, &t->fom, f->chan);
	return FSO_WAIT;
}

/* Has its next event before it returns. */
static void rings_on(struct fom_callback *cb)
{
	struct bell *b = (struct bell *)cb;

	b->bottoms++;
	if (b->closed)
		return;
	fom_callback_arm(cb, &b->of->t.fom, b->of->chan);
	chan_signal(b->of->chan);
}

/* FO-12, FO-23: who has call-backs for ever lets others of its locality have their turns */
TEST_F(chans, budget)
{
	struct called_fom *f = called_fom(&self->p, &self->c, 1);
	struct bell *b = &f->bells[0];
	struct test_fom other;

	fom_callback_init(&b->cb, NULL, rings_on);
	f->t.does = arms_its_bell;
	ASSERT_EQ(0, fom_queue(&f->t.fom));
	ASSERT_TRUE(WAITS(&f->t));
	chan_signal(&self->c);
	ASSERT_TRUE(DXT_SOON(b->bottoms > 100));
	ASSERT_EQ(0, begins(&self->p, &other, NULL));
	EXPECT_TRUE(ENDS(&other));
	EXPECT_EQ(1, f->t.ticks);
	/* a wake ends its wait amid all that */
	EXPECT_TRUE(ends_called(f));
}

/* --- traps --------------------------------------------------------------------------- */

static struct chan trap_chan;
static struct fom_callback trap_cb;

static void wrong_bottom(struct fom_callback *cb)
{
	fom_fini(cb->fom);
}

static int arms(struct test_fom *t, void (*bottom)(struct fom_callback *cb))
{
	chan_init(&trap_chan);
	fom_callback_init(&trap_cb, NULL, bottom);
	fom_callback_arm(&trap_cb, &t->fom, &trap_chan);
	return FSO_WAIT;
}

static int arms_twice(struct test_fom *t)
{
	arms(t, NULL);
	fom_callback_arm(&trap_cb, &t->fom, &trap_chan);
	return FSO_WAIT;
}

static int arms_pending(struct test_fom *t)
{
	arms(t, NULL);
	chan_signal(&trap_chan);
	fom_callback_arm(&trap_cb, &t->fom, &trap_chan);
	return FSO_WAIT;
}

static int ends_armed(struct test_fom *t)
{
	arms(t, NULL);
	return ends(t);
}

static int ends_pending(struct test_fom *t)
{
	arms(t, NULL);
	chan_signal(&trap_chan);
	return ends(t);
}

static int finis_callback(struct test_fom *t)
{
	arms(t, NULL);
	fom_callback_fini(&trap_cb);
	return FSO_WAIT;
}

static int finis_channel(struct test_fom *t)
{
	arms(t, NULL);
	chan_fini(&trap_chan);
	return FSO_WAIT;
}

static int bottom_finis(struct test_fom *t)
{
	arms(t, wrong_bottom);
	chan_signal(&trap_chan);
	return FSO_WAIT;
}

static void bottom_ends(struct fom_callback *cb)
{
	fom_phase_set(cb->fom, FOM_PHASE_FINISH);
}

static void bottom_blocks(struct fom_callback *cb)
{
	fom_block_enter_anyway(cb->fom);
}

static int ended_by_bottom(struct test_fom *t)
{
	arms(t, bottom_ends);
	chan_signal(&trap_chan);
	return FSO_WAIT;
}

static int blocked_by_bottom(struct test_fom *t)
{
	arms(t, bottom_blocks);
	chan_signal(&trap_chan);
	return FSO_WAIT;
}

static int waits_on_bottom(struct test_fom *t)
{
	chan_init(&trap_chan);
	fom_callback_init(&trap_cb, NULL, wrong_bottom);
	fom_wait_on(&t->fom, &trap_chan, &trap_cb);
	return FSO_WAIT;
}

/* FO-25, FO-26: what may never be is a trap */
TEST(traps_of_callbacks)
{
	EXPECT_TRUE(TRAPS(trap_in_turn(arms_twice)));
	EXPECT_TRUE(TRAPS(trap_in_turn(arms_pending)));
	EXPECT_TRUE(TRAPS(trap_in_turn(ends_armed)));
	EXPECT_TRUE(TRAPS(trap_in_turn(ends_pending)));
	EXPECT_TRUE(TRAPS(trap_in_turn(finis_callback)));
	EXPECT_TRUE(TRAPS(trap_in_turn(finis_channel)));
	EXPECT_TRUE(TRAPS(trap_in_turn(bottom_finis)));
	EXPECT_TRUE(TRAPS(trap_in_turn(ended_by_bottom)));
	EXPECT_TRUE(TRAPS(trap_in_turn(blocked_by_bottom)));
	EXPECT_TRUE(TRAPS(trap_in_turn(waits_on_bottom)));
}

/* --- ends by failure ------------------------------------------------------------------- */

static int expires_armed(struct test_fom *t)
{
	struct waiting_fom *w = (struct waiting_fom *)t;

	fom_callback_init(&w->cb, NULL, NULL);
	fom_wait_on(&t->fom, w->chan, &w->cb);
	return FSO_WAIT;
}

/* FO-24, FO-30: a fom that fails and has no phase for that leaves nothing armed */
TEST_F(chans, fails_armed)
{
	struct fom_type type = test_type;
	struct waiting_fom w;

	type.failure = 0;
	type.timeout_ns = 10 * DXT_MS;
	make(&self->p, &w.t, expires_armed);
	w.t.fom.type = &type;
	w.chan = &self->c;
	ASSERT_EQ(0, fom_queue(&w.t.fom));
	EXPECT_TRUE(ENDS(&w.t));
	EXPECT_EQ(-ETIMEDOUT, w.t.rc);
	fom_callback_fini(&w.cb);
	chan_broadcast(&self->c);
	EXPECT_EQ(0, fom_service_idle_wait(&self->p.s, FOM_FOREVER));
}

TEST_HARNESS_MAIN
