// SPDX-License-Identifier: GPL-2.0-only
/*
 * Foms: calls and chores of localities, simple foms, leaders, what is interposed, statistics
 * (FO-28, FO-47, FO-48, FO-50, FO-51).
 */
#define _GNU_SOURCE
#include "library/libfom.h"

FIXTURE(localities) {
	struct place p;
	struct test_fom t;
};

FIXTURE_SETUP(localities)
{
	struct fom_domain_options options = options_of(3);
	ThreadManagerPolicy policy = fom_policy_of(3, 1000);

	options.stats = 1;
	ASSERT_EQ(0, place_up_with(&self->p, &policy, &options));
}

FIXTURE_TEARDOWN(localities)
{
	EXPECT_EQ(0, place_down(&self->p));
}

/* --- calls ---------------------------------------------------------------------------- */

struct call {
	struct place *p;
	uint32_t locality;
	_Atomic unsigned int calls, wrong;
	int rc;
	pid_t thread;
};

/* Serial with the locality's foms. */
static int is_called(void *data)
{
	struct call *c = data;

	c->wrong += locality_here() != (int)c->locality || fom_current();
	if (atomic_fetch_add(&in_locality[c->locality], 1))
		crowded++;
	c->thread = gettid();
	usleep(10);
	in_locality[c->locality]--;
	c->calls++;
	return c->rc;
}

static int always_wakes_itself(struct test_fom *t)
{
	usleep(10);
	if (t->stops)
		return ends(t);
	fom_wakeup(&t->fom);
	return FSO_WAIT;
}

/* FO-28: the result comes back; in the locality, serial with its foms */
TEST_F(localities, call)
{
	struct call c = { .p = &self->p, .locality = 1, .rc = 42 };
	struct test_fom t[3];

	EXPECT_EQ(-EPERM, locality_here());
	EXPECT_EQ(42, locality_call(self->p.d, 1, is_called, &c));
	EXPECT_NE(gettid(), c.thread);
	c.rc = -EDOM;
	EXPECT_EQ(-EDOM, locality_call(self->p.d, 1, is_called, &c));
	EXPECT_EQ(-EINVAL, locality_call(self->p.d, 3, is_called, &c));
	for (unsigned int i = 0; i < 3; i++) {
		make(&self->p, &t[i], always_wakes_itself);
		t[i].home = 1;
		ASSERT_EQ(0, fom_queue(&t[i].fom));
	}
	for (unsigned int i = 0; i < 100; i++)
		ASSERT_EQ(-EDOM, locality_call(self->p.d, 1, is_called, &c));
	for (unsigned int i = 0; i < 3; i++) {
		t[i].stops = true;
		EXPECT_TRUE(ENDS(&t[i]));
	}
	EXPECT_EQ(102, c.calls);
	EXPECT_EQ(0, c.wrong);
}

static struct place *place;

static int adds_one(void *data)
{
	return *(int *)data + 1;
}

/* Calls its own locality, then the next one. */
static int calls_both(struct test_fom *t)
{
	uint32_t here = fom_locality(&t->fom);
	int n = 1, rc;

	t->wrong += locality_here() != (int)here;
	t->wrong += locality_call(place->d, here, adds_one, &n) != 2;
	rc = locality_call(place->d, (here + 1) % 3, adds_one, &n);
	t->wrong += rc != 2 && rc != -EDEADLK;
	t->wrong += locality_here() != (int)here;
	return t->ticks == 50 ? ends(t) : FSO_AGAIN;
}

/*
 * FO-28: a call of one's own locality is a mere call; localities that all call each other in a ring
 * do not wait for ever
 */
TEST_F(localities, calls_from_foms)
{
	struct test_fom t[3];

	place = &self->p;
	for (unsigned int i = 0; i < 3; i++) {
		make(&self->p, &t[i], calls_both);
		t[i].home = i;
		ASSERT_EQ(0, fom_queue(&t[i].fom));
	}
	for (unsigned int i = 0; i < 3; i++) {
		EXPECT_TRUE(DXT_UNTIL(&self->p.t, t[i].finis));
		/* each is called within a tick of the other one, or told that this cannot be */
		EXPECT_EQ(50, t[i].ticks);
		EXPECT_EQ(0, t[i].wrong);
	}
}

/* FO-28: when the executive has stopped there is nobody to call */
TEST(call_of_a_stopped_one)
{
	struct place p;
	int n = 1;

	ASSERT_EQ(0, place_up(&p, 1, 1));
	ASSERT_EQ(0, MTExecutiveStop(p.mte, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(-ESHUTDOWN, locality_call(p.d, 0, adds_one, &n));
	EXPECT_EQ(0, place_down(&p));
}

/* --- chores ------------------------------------------------------------------------------ */

static struct {
	_Atomic unsigned int calls, wrong;
	_Atomic uint64_t last;
} chores[MOST_LOCALITIES];

static void does_chore(struct locality_chore *chore, uint32_t locality)
{
	uint64_t now = dxt_now(), last = atomic_exchange(&chores[locality].last, now);

	(void)chore;
	if (atomic_fetch_add(&in_locality[locality], 1))
		crowded++;
	/* Not before its time: of ten periods, at least nine are between ten calls. */
	chores[locality].wrong += locality_here() != (int)locality || now < last;
	chores[locality].calls++;
	in_locality[locality]--;
}

/* FO-51: each period in each locality, not earlier, serial with foms; none after its end */
TEST_F(localities, chores)
{
	struct locality_chore chore;
	unsigned int calls[3];
	struct test_fom t;
	uint64_t begin;

	memset(chores, 0, sizeof(chores));
	EXPECT_EQ(-EINVAL, locality_chore_init(&chore, self->p.d, does_chore, 0));
	EXPECT_EQ(-EINVAL, locality_chore_init(&chore, self->p.d, NULL, 1));
	make(&self->p, &t, always_wakes_itself);
	t.home = 1;
	ASSERT_EQ(0, fom_queue(&t.fom));
	begin = dxt_now();
	ASSERT_EQ(0, locality_chore_init(&chore, self->p.d, does_chore, 5 * DXT_MS));
	for (unsigned int i = 0; i < 3; i++) {
		EXPECT_TRUE(DXT_SOON(chores[i].calls >= 10));
		EXPECT_LE(chores[i].calls * 5 * DXT_MS, dxt_now() - begin);
		EXPECT_EQ(0, chores[i].wrong);
	}
	EXPECT_EQ(0, locality_chore_fini(&chore));
	for (unsigned int i = 0; i < 3; i++)
		calls[i] = chores[i].calls;
	dxt_sleep_ms(20);
	for (unsigned int i = 0; i < 3; i++)
		EXPECT_EQ(calls[i], chores[i].calls);
	t.stops = true;
	EXPECT_TRUE(ENDS(&t));
}

/* FO-51: the executive's Stop ends it */
TEST(chore_and_stop)
{
	struct locality_chore chore;
	struct place p;

	ASSERT_EQ(0, place_up(&p, 2, 2));
	memset(chores, 0, sizeof(chores));
	ASSERT_EQ(0, locality_chore_init(&chore, p.d, does_chore, DXT_MS));
	EXPECT_TRUE(DXT_SOON(chores[0].calls && chores[1].calls));
	EXPECT_EQ(0, MTExecutiveStop(p.mte, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(0, locality_chore_fini(&chore));
	EXPECT_EQ(-ESHUTDOWN, locality_chore_init(&chore, p.d, does_chore, DXT_MS));
	EXPECT_EQ(0, place_down(&p));
}

/* --- simple foms -------------------------------------------------------------------------- */

struct simple {
	_Atomic unsigned int ticks, freed, localities, wrong;
	struct fom *_Atomic fom;
	struct place *p;
	int last;
};

static void is_freed(void *data)
{
	((struct simple *)data)->freed++;
}

/* Three ticks in one turn, then a wait, then the end. */
static int simple_tick(struct fom *fom, void *data)
{
	struct simple *s = data;

	s->localities |= 1U << fom_locality(fom);
	s->fom = fom;
	if (fom_phase(fom) == 7)
		return s->last;
	s->ticks++;
	if (s->ticks % 3)
		return FSO_AGAIN;
	fom_phase_set(fom, 7);
	return FSO_WAIT;
}

static int ends_simply(struct fom *fom, void *data)
{
	struct simple *s = data;

	s->localities |= 1U << fom_locality(fom);
	s->ticks++;
	return -EDOM;
}

static int posts_here(struct test_fom *t)
{
	struct simple *s = (struct simple *)t->other;

	t->wrong += sfom_post(s->p->d, SFOM_HERE, ends_simply, s, is_freed) != 0;
	return ends(t);
}

/* FO-48: a function and its data; it ends by a failure, then the data is freed */
TEST_F(localities, simple)
{
	struct simple s = { .p = &self->p, .last = -ESRCH };

	EXPECT_EQ(0, sfom_post(self->p.d, 2, simple_tick, &s, is_freed));
	EXPECT_TRUE(DXT_SOON(s.ticks == 3 && fom_state(s.fom) == FOM_WAITING));
	EXPECT_EQ(4, s.localities);
	EXPECT_EQ(0, s.freed);
	EXPECT_EQ(-EBUSY, fom_domain_fini(self->p.d));
	EXPECT_EQ(-ETIMEDOUT, sfom_idle_wait(self->p.d, 0));
	EXPECT_EQ(0, fom_wakeup(s.fom));
	EXPECT_EQ(0, sfom_idle_wait(self->p.d, FOM_FOREVER));
	EXPECT_EQ(1, s.freed);
	/* one that ends by its phase: no type of its own says what may follow */
	EXPECT_EQ(-EPERM, sfom_post(self->p.d, SFOM_HERE, ends_simply, &s, is_freed));
	EXPECT_EQ(-EINVAL, sfom_post(self->p.d, 3, ends_simply, &s, is_freed));
	EXPECT_EQ(-EINVAL, sfom_post(self->p.d, 0, NULL, &s, is_freed));
	EXPECT_EQ(1, s.freed);
}

/* FO-48: here is the caller's locality; a hoard is one in each */
TEST_F(localities, here_and_hoard)
{
	struct simple s = { .p = &self->p };
	struct test_fom *t = &self->t;

	for (unsigned int i = 0; i < 3; i++) {
		s.localities = 0;
		make(&self->p, t, posts_here);
		t->other = (struct test_fom *)&s;
		t->home = i;
		ASSERT_EQ(0, fom_queue(&t->fom));
		EXPECT_TRUE(ENDS(t));
		EXPECT_EQ(0, t->wrong);
		EXPECT_EQ(0, sfom_idle_wait(self->p.d, FOM_FOREVER));
		EXPECT_EQ(1U << i, s.localities);
	}
	s.localities = s.freed = s.ticks = 0;
	EXPECT_EQ(3, sfom_hoard(self->p.d, ends_simply, &s, is_freed));
	EXPECT_EQ(0, sfom_idle_wait(self->p.d, FOM_FOREVER));
	EXPECT_EQ(7, s.localities);
	EXPECT_EQ(3, s.freed);
	EXPECT_EQ(3, s.ticks);
}

/* FO-48: also when the Ready Pool is full */
TEST(simple_needs_no_room)
{
	ThreadManagerPolicy policy = fom_policy_of(1, 100);
	struct fom_domain_options options = options_of(16);
	struct simple s = { .ticks = 0 };
	struct place p;

	policy.TPReadyEntries = 8;
	ASSERT_EQ(0, place_up_with(&p, &policy, &options));
	s.p = &p;
	EXPECT_EQ(16, sfom_hoard(p.d, ends_simply, &s, is_freed));
	EXPECT_EQ(0, sfom_idle_wait(p.d, FOM_FOREVER));
	EXPECT_EQ(16, s.freed);
	EXPECT_EQ(0xffff, s.localities);
	EXPECT_EQ(0, MTExecutiveStop(p.mte, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(-ESHUTDOWN, sfom_post(p.d, 0, ends_simply, &s, is_freed));
	EXPECT_EQ(17, s.freed);
	EXPECT_EQ(0, place_down(&p));
}

/* --- leaders --------------------------------------------------------------------------------- */

struct led_fom {
	struct test_fom t;
	struct fom_thrall thrall;
	struct led_fom *serf;		/* it makes this one, and waits for its end */
	_Atomic unsigned int told;
};

static void serf_has_ended(struct fom_thrall *thrall, struct fom *serf)
{
	struct led_fom *f = (struct led_fom *)((char *)thrall - offsetof(struct led_fom, thrall));

	note('e');
	f->t.wrong += &f->t.fom != serf || fom_phase(serf) != FOM_PHASE_FINISH || f->t.finis;
	f->told++;
}

static int leads(struct test_fom *t)
{
	struct led_fom *f = (struct led_fom *)t;

	note(t->name);
	if (!f->serf)
		return ends(t);
	if (t->ticks == 1) {
		fom_enthrall(&t->fom, &f->serf->t.fom, &f->serf->thrall, serf_has_ended);
		return fom_queue(&f->serf->t.fom) ? -EIO : FSO_WAIT;
	}
	t->wrong += f->serf->told != 1 || fom_phase(&f->serf->t.fom) != FOM_PHASE_FINISH;
	return ends(t);
}

/* FO-47: the end of a serf calls end, then wakes its leader; three levels, in other localities */
TEST_F(localities, leaders)
{
	struct led_fom f[3];

	for (unsigned int round = 0; round < 50; round++) {
		trace_clear();
		for (unsigned int i = 0; i < 3; i++) {
			memset(&f[i], 0, sizeof(f[i]));
			make(&self->p, &f[i].t, leads);
			f[i].t.home = i + round;
			f[i].t.name = (char)('A' + i);
			f[i].serf = i < 2 ? &f[i + 1] : NULL;
		}
		ASSERT_EQ(0, fom_queue(&f[0].t.fom));
		ASSERT_TRUE(ENDS(&f[0].t));
		ASSERT_STREQ("ABCeBeA", trace.text);
		ASSERT_EQ(0, fom_service_idle_wait(&self->p.s, FOM_FOREVER));
		for (unsigned int i = 0; i < 3; i++)
			ASSERT_EQ(0, f[i].t.wrong);
	}
}

/* Tells its leader by itself, and then takes a while. */
static void serf_tells(struct fom_thrall *thrall, struct fom *serf)
{
	struct led_fom *f = (struct led_fom *)((char *)thrall - offsetof(struct led_fom, thrall));
	struct test_fom *leader = f->t.other;

	(void)serf;
	f->t.wrong += goes(leader) != 0;
	f->t.wrong += !DXT_SOON(leader->left);
	dxt_sleep_ms(20);
	f->t.wrong += leader->finis != 0;
}

static int leads_until_told(struct test_fom *t)
{
	struct led_fom *f = (struct led_fom *)t;

	if (t->ticks == 1) {
		fom_enthrall(&t->fom, &f->serf->t.fom, &f->serf->thrall, serf_tells);
		return fom_queue(&f->serf->t.fom) ? -EIO : FSO_WAIT;
	}
	t->left++;
	return t->stops ? ends(t) : FSO_WAIT;
}

/* FO-47: a leader that knows that its serf has ended, and ends, is there until it was woken */
TEST_F(localities, leader_ends_first)
{
	struct led_fom f[2];

	for (unsigned int i = 0; i < 2; i++) {
		memset(&f[i], 0, sizeof(f[i]));
		make(&self->p, &f[i].t, i ? NULL : leads_until_told);
		f[i].t.home = i;
		f[i].serf = i ? NULL : &f[1];
		f[i].t.other = &f[0].t;
	}
	ASSERT_EQ(0, fom_queue(&f[0].t.fom));
	EXPECT_TRUE(ENDS(&f[0].t));
	EXPECT_EQ(0, fom_service_idle_wait(&self->p.s, FOM_FOREVER));
	EXPECT_EQ(0, f[1].t.wrong);
}

static struct fom_thrall trap_thrall;
static struct test_fom poor_serf;

/* A thread that can have no descriptor ends a serf, of which its leader would not hear. */
static void *ends_a_serf(void *arg)
{
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 0 });
	fom_queue(&poor_serf.fom);
	return arg;
}

static int leads_a_refused_one(struct test_fom *t)
{
	static struct fom_service stopped;
	pthread_t thread;

	fom_service_init(&stopped, t->fom.service->domain, "stopped", NULL);
	fom_init(&poor_serf.fom, &test_type, &stopped);
	fom_enthrall(&t->fom, &poor_serf.fom, &trap_thrall, NULL);
	pthread_create(&thread, NULL, ends_a_serf, NULL);
	pthread_join(thread, NULL);
	return FSO_WAIT;
}

static int leads_and_fails(struct test_fom *t)
{
	struct led_fom *f = (struct led_fom *)t;

	fom_enthrall(&t->fom, &f->serf->t.fom, &f->serf->thrall, serf_has_ended);
	t->wrong += fom_queue(&f->serf->t.fom) != 0;
	return -EDOM;
}

/* FO-47: a leader that fails before its serf ends is not told of that */
TEST_F(localities, leader_fails)
{
	struct fom_type type = test_type;
	struct led_fom f[2];

	type.failure = 0;
	for (unsigned int i = 0; i < 2; i++) {
		memset(&f[i], 0, sizeof(f[i]));
		make(&self->p, &f[i].t, i ? waits : leads_and_fails);
		f[i].serf = i ? NULL : &f[1];
	}
	f[0].t.fom.type = &type;
	ASSERT_EQ(0, fom_queue(&f[0].t.fom));
	EXPECT_TRUE(ENDS(&f[0].t));
	EXPECT_EQ(-EDOM, f[0].t.rc);
	EXPECT_EQ(0, fom_wakeup(&f[1].t.fom));
	EXPECT_EQ(0, goes(&f[1].t));
	EXPECT_TRUE(ENDS(&f[1].t));
	EXPECT_EQ(0, f[1].told);
	EXPECT_EQ(0, f[0].t.wrong);
	EXPECT_EQ(0, fom_service_idle_wait(&self->p.s, FOM_FOREVER));
}

/* --- interposed --------------------------------------------------------------------------------- */

struct around {
	struct fom_interpose base;
	char name;
	int instead, outcome;
};

static int comes_before(struct fom_interpose *self, struct fom *fom)
{
	struct around *a = (struct around *)self;

	(void)fom;
	note(a->name);
	return a->instead;
}

static int comes_after(struct fom_interpose *self, struct fom *fom, int outcome)
{
	struct around *a = (struct around *)self;

	note((char)(a->name - 'a' + 'A'));
	if (!fom_transitions(fom))
		note('?');
	return a->outcome ? a->outcome : outcome;
}

/* ONE, TWO, THREE, each a tick; then the end. */
static int walks(struct test_fom *t)
{
	int phase = fom_phase(&t->fom);

	note((char)('0' + phase));
	if (phase == THREE || phase == FAILED)
		return ends(t);
	fom_phase_set(&t->fom, phase == FOM_PHASE_INIT ? ONE : phase + 1);
	return FSO_AGAIN;
}

static struct around around[3];

static void walk_with(struct __test_metadata *_metadata, struct place *p, struct test_fom *t,
		      unsigned int nr, const char *wanted)
{
	trace_clear();
	make(p, t, walks);
	for (unsigned int i = 0; i < nr; i++) {
		around[i].base.before = comes_before;
		around[i].base.after = comes_after;
		around[i].name = (char)('a' + i);
		fom_interpose_enter(&t->fom, &around[i].base);
	}
	ASSERT_EQ(0, fom_queue(&t->fom));
	EXPECT_TRUE(ENDS(t));
	EXPECT_STREQ(wanted, trace.text);
}

/* FO-47: before and after ticks, of the phases that are asked for, several levels deep */
TEST_F(localities, interposed)
{
	struct test_fom *t = &self->t;

	memset(around, 0, sizeof(around));
	around[0].base.phases = FOM_PHASE(ONE) | FOM_PHASE(TWO);
	around[1].base.phases = FOM_PHASE(TWO);
	around[2].base.phases = ANY;
	walk_with(_metadata, &self->p, t, 1, "0a2Aa3A4");
	walk_with(_metadata, &self->p, t, 3, "c0Cca2ACcba3ABCc4C");
	/* instead of the tick: it ends, and the inner ones are not asked */
	around[1].instead = -EDOM;
	walk_with(_metadata, &self->p, t, 2, "0a2AbB5");
	EXPECT_EQ(-EDOM, t->rc);
	/* another outcome */
	around[1].instead = 0;
	around[1].outcome = -ERANGE;
	walk_with(_metadata, &self->p, t, 2, "0a2Aba3AB5");
	EXPECT_EQ(-ERANGE, t->rc);
	/* what has left is not called */
	trace_clear();
	make(&self->p, t, walks);
	for (unsigned int i = 0; i < 3; i++)
		fom_interpose_enter(&t->fom, &around[i].base);
	fom_interpose_leave(&t->fom, &around[1].base);
	fom_interpose_leave(&t->fom, &around[2].base);
	ASSERT_EQ(0, fom_queue(&t->fom));
	EXPECT_TRUE(ENDS(t));
	EXPECT_STREQ("0a2Aa3A4", trace.text);
	EXPECT_EQ(0, fom_service_idle_wait(&self->p.s, FOM_FOREVER));
}

static struct test_fom trap_serf;

static int leads_a_late_one(struct test_fom *t)
{
	fom_enthrall(&t->fom, &t->fom, &trap_thrall, NULL);
	return ends(t);
}

static int ends_before_its_serf(struct test_fom *t)
{
	fom_init(&trap_serf.fom, &test_type, t->fom.service);
	fom_enthrall(&t->fom, &trap_serf.fom, &trap_thrall, NULL);
	return ends(t);
}

static int leaves_twice(struct test_fom *t)
{
	fom_interpose_enter(&t->fom, &around[0].base);
	fom_interpose_leave(&t->fom, &around[0].base);
	fom_interpose_leave(&t->fom, &around[0].base);
	return ends(t);
}

/* FO-47: what may never be is a trap */
TEST(traps_of_trees)
{
	EXPECT_TRUE(TRAPS(trap_in_turn(leads_a_late_one)));
	EXPECT_TRUE(TRAPS(trap_in_turn(ends_before_its_serf)));
	EXPECT_TRUE(TRAPS(trap_in_turn(leads_a_refused_one)));
	EXPECT_TRUE(TRAPS(trap_in_turn(leaves_twice)));
}

/* --- statistics ------------------------------------------------------------------------------------ */

static uint64_t sum(const uint64_t histogram[FOM_HISTOGRAM])
{
	uint64_t all = 0;

	for (unsigned int i = 0; i < FOM_HISTOGRAM; i++)
		all += histogram[i];
	return all;
}

/* 40 phases, a wait before each, in which it stays for at least a millisecond. */
static int wanders(struct test_fom *t)
{
	if (t->ticks > 1)
		fom_timeout_fini(&t->timeout);
	if (t->ticks == 40)
		return ends(t);
	fom_phase_set(&t->fom, t->ticks % 2 ? ONE : THREE);
	fom_timeout_init(&t->timeout);
	fom_timeout_wait_on(&t->timeout, &t->fom, dxt_now() + DXT_MS);
	return FSO_WAIT;
}

/* FO-50: phases of a fom, the last 32 of them, and how long foms were in each */
TEST_F(localities, phase_log_and_times)
{
	static const int firsts[2] = { ONE, THREE };
	struct fom_phase_times times[PHASES] = { { 0, 0, 0 } };
	struct fom_type type = test_type;
	struct test_fom *t = &self->t;
	struct fom_log log;

	type.times = times;
	make(&self->p, t, wanders);
	t->fom.type = &type;
	fom_log_to(&t->fom, &log);
	ASSERT_EQ(0, fom_queue(&t->fom));
	EXPECT_TRUE(ENDS(t));
	/* INIT, 39 further ones, FINISH */
	EXPECT_EQ(40, fom_transitions(&t->fom));
	EXPECT_EQ(41, log.nr);
	for (uint64_t n = 41 - FOM_LOG_ENTRIES; n < 40; n++) {
		const struct fom_log_entry *e = &log.entries[n % FOM_LOG_ENTRIES];

		EXPECT_EQ(firsts[(n + 1) % 2], e->phase);
		if (n > 41 - FOM_LOG_ENTRIES)
			EXPECT_LE(DXT_MS, e->at - log.entries[(n - 1) % FOM_LOG_ENTRIES].at);
	}
	EXPECT_EQ(FOM_PHASE_FINISH, log.entries[40 % FOM_LOG_ENTRIES].phase);
	EXPECT_EQ(1, times[FOM_PHASE_INIT].count);
	EXPECT_EQ(20, times[ONE].count);
	EXPECT_EQ(19, times[THREE].count);
	EXPECT_EQ(0, times[TWO].count);
	EXPECT_LE(20 * DXT_MS, times[ONE].ns);
	EXPECT_LE(times[ONE].ns / 20, times[ONE].max_ns);
	EXPECT_GE(times[ONE].ns, times[ONE].max_ns);
	EXPECT_EQ(0, fom_service_idle_wait(&self->p.s, FOM_FOREVER));
}

/* FO-50: what a locality has done, and what is there: as many as were there */
TEST_F(localities, counts)
{
	struct fom_locality_stats s;
	struct test_fom t[7], gate;
	struct fom_domain_options options = options_of(1);
	struct fom_domain *plain;

	EXPECT_EQ(-EINVAL, fom_locality_get_stats(self->p.d, 3, &s));
	ASSERT_EQ(0, fom_domain_init(&plain, self->p.mte, &options));
	EXPECT_EQ(-EOPNOTSUPP, fom_locality_get_stats(plain, 0, &s));
	EXPECT_EQ(0, fom_domain_fini(plain));

	for (unsigned int i = 0; i < 7; i++) {
		make(&self->p, &t[i], waits);
		t[i].home = 1;
		ASSERT_EQ(0, fom_queue(&t[i].fom));
		ASSERT_TRUE(WAITS(&t[i]));
	}
	make(&self->p, &gate, stays);
	gate.home = 1;
	gate.closed = true;
	ASSERT_EQ(0, fom_queue(&gate.fom));
	ASSERT_TRUE(DXT_SOON(gate.entered));
	ASSERT_EQ(0, fom_wakeup(&t[0].fom));
	ASSERT_EQ(0, fom_wakeup(&t[1].fom));
	dxt_sleep_ms(10);
	ASSERT_EQ(0, fom_locality_get_stats(self->p.d, 1, &s));
	EXPECT_EQ(8, s.live);
	EXPECT_EQ(5, s.waiting);
	EXPECT_EQ(2, s.ready);
	EXPECT_EQ(1, s.running);
	EXPECT_EQ(8, s.turns);
	EXPECT_EQ(8, s.ticks);
	gate.closed = false;
	EXPECT_TRUE(DXT_SOON(t[0].ticks == 2 && t[1].ticks == 2));
	for (unsigned int i = 0; i < 7; i++)
		ASSERT_EQ(0, goes(&t[i]));
	EXPECT_EQ(0, fom_service_idle_wait(&self->p.s, FOM_FOREVER));
	ASSERT_EQ(0, fom_locality_get_stats(self->p.d, 1, &s));
	EXPECT_EQ(0, s.live + s.waiting + s.ready + s.running);
	EXPECT_EQ(17, s.ticks);
	EXPECT_LE(17, s.turns);
	EXPECT_EQ(s.turns, sum(s.ready_lengths));
	EXPECT_EQ(s.turns, sum(s.waiting_lengths));
	EXPECT_EQ(s.turns, sum(s.live_lengths));
	/* 4 to 7 waited when the gate came; two were ready for 10 ms, the gate ran so long */
	EXPECT_LE(1, s.waiting_lengths[3]);
	EXPECT_LE(20 * DXT_MS, s.ready_ns);
	EXPECT_LE(10 * DXT_MS, s.running_ns);
	EXPECT_LE(50 * DXT_MS, s.waiting_ns);
	/* and nothing elsewhere */
	ASSERT_EQ(0, fom_locality_get_stats(self->p.d, 0, &s));
	EXPECT_EQ(0, s.turns);
}

TEST_HARNESS_MAIN
