// SPDX-License-Identifier: GPL-2.0-only
/*
 * Long locks of foms (FO-43 .. FO-46, D-20).
 */
#define _GNU_SOURCE
#include "library/libfom.h"

FIXTURE(locks) {
	struct place p;
};

FIXTURE_SETUP(locks)
{
	ASSERT_EQ(0, place_up(&self->p, 3, 3));
}

FIXTURE_TEARDOWN(locks)
{
	EXPECT_EQ(0, place_down(&self->p));
}

/* A fom that has a lock from phase TWO on, until it is let go. */
struct lock_fom {
	struct test_fom t;
	struct long_lock *lock;
	struct long_lock_link link;
	bool write;
	_Atomic bool stays;		/* in the tick that locks */
};

static _Atomic bool all_in;
static _Atomic int readers, writers, clashes;

static uint32_t waiters_of(struct long_lock *lock)
{
	struct long_lock_stats stats;

	long_lock_get_stats(lock, &stats);
	return stats.waiters;
}

static bool has(struct lock_fom *f)
{
	return f->write ? long_is_write_locked(f->lock, &f->t.fom) :
			  long_is_read_locked(f->lock, &f->t.fom);
}

static int locks(struct lock_fom *f, int next_phase)
{
	return f->write ? long_write_lock(f->lock, &f->link, next_phase) :
			  long_read_lock(f->lock, &f->link, next_phase);
}

/* Locks, waits to be let go, notes how many wait, unlocks. */
static int locker(struct test_fom *t)
{
	struct lock_fom *f = (struct lock_fom *)t;
	int rc;

	if (fom_phase(&t->fom) == FOM_PHASE_INIT) {
		rc = locks(f, TWO);
		t->wrong += fom_phase(&t->fom) != TWO || (rc == FSO_AGAIN) != has(f);
		for (t->entered++; f->stays; usleep(100))
			;
		return rc;
	}
	t->wrong += fom_phase(&t->fom) != TWO || !has(f);
	if (!all_in)
		return FSO_WAIT;
	if (f->write)
		clashes += writers++ || readers;
	else
		clashes += readers++ < 0 || writers;
	note((char)('0' + waiters_of(f->lock)));
	if (f->write)
		writers--;
	else
		readers--;
	if (f->write)
		long_write_unlock(f->lock, &f->link);
	else
		long_read_unlock(f->lock, &f->link);
	long_lock_link_fini(&f->link);
	return ends(t);
}

static void make_locker(struct place *p, struct lock_fom *f, struct long_lock *lock, bool write,
			size_t home)
{
	memset(f, 0, sizeof(*f));
	make(p, &f->t, locker);
	f->t.home = home;
	f->lock = lock;
	f->write = write;
	long_lock_link_init(&f->link, &f->t.fom);
}

/* 9 requests, one after the other; then the owners are let go: how many wait when each has it. */
static void sequence(struct __test_metadata *_metadata, struct place *p, const char *kinds,
		     const char *wanted, size_t spread)
{
	struct lock_fom f[9];
	struct long_lock lock;

	long_lock_init(&lock);
	all_in = false;
	trace_clear();
	for (unsigned int i = 0; i < 9; i++) {
		make_locker(p, &f[i], &lock, kinds[i] == 'W', i * spread);
		ASSERT_EQ(0, fom_queue(&f[i].t.fom));
		ASSERT_TRUE(WAITS(&f[i].t));
	}
	all_in = true;
	for (unsigned int i = 0; i < 9 && has(&f[i]) && kinds[i] == kinds[0]; i++)
		ASSERT_EQ(0, fom_wakeup(&f[i].t.fom));
	for (unsigned int i = 0; i < 9; i++) {
		ASSERT_TRUE(ENDS(&f[i].t));
		EXPECT_EQ(0, f[i].t.wrong);
	}
	EXPECT_STREQ(wanted, trace.text);
	EXPECT_FALSE(long_is_read_locked(&lock, NULL) || long_is_write_locked(&lock, NULL));
	long_lock_fini(&lock);
	EXPECT_EQ(0, clashes);
}

/*
 * FO-43, FO-44: one writer or many readers, in the order of the requests; consecutive readers have
 * it together, and none passes a writer. In one locality, and across three
 */
TEST_F(locks, sequences)
{
	for (size_t spread = 0; spread < 2; spread++) {
		sequence(_metadata, &self->p, "RWRRRWRRR", "874443000", spread);
		sequence(_metadata, &self->p, "WWWRRRWWR", "876333210", spread);
		sequence(_metadata, &self->p, "WRWRWRWRW", "876543210", spread);
	}
}

/* FO-43: readers that have come before any writer have it at once */
TEST_F(locks, readers_at_once)
{
	struct lock_fom f[3];
	struct long_lock lock;

	long_lock_init(&lock);
	all_in = true;
	for (unsigned int i = 0; i < 3; i++) {
		make_locker(&self->p, &f[i], &lock, false, i);
		f[i].stays = true;
		ASSERT_EQ(0, fom_queue(&f[i].t.fom));
		ASSERT_TRUE(DXT_SOON(f[i].t.entered));
		EXPECT_TRUE(has(&f[i]));
	}
	EXPECT_TRUE(long_is_read_locked(&lock, NULL));
	EXPECT_FALSE(long_is_write_locked(&lock, NULL));
	for (unsigned int i = 0; i < 3; i++) {
		f[i].stays = false;
		EXPECT_TRUE(ENDS(&f[i].t));
		EXPECT_EQ(2, f[i].t.ticks);
	}
	long_lock_fini(&lock);
}

static struct long_lock stream;
static _Atomic unsigned int had;

/* One of many readers that overlap: there is always one that has it. */
static int reads_on(struct test_fom *t)
{
	struct lock_fom *f = (struct lock_fom *)t;

	if (has(f)) {
		had++;
		if (t->entered) {
			t->entered = 0;
			fom_wakeup(&t->fom);
			return FSO_WAIT;
		}
		long_read_unlock(f->lock, &f->link);
		if (t->stops)
			return ends(t);
	}
	t->entered = 1;
	return locks(f, ONE);
}

static int writes_once(struct test_fom *t)
{
	struct lock_fom *f = (struct lock_fom *)t;
	struct long_lock_stats stats;
	int rc = FSO_AGAIN;

	if (fom_phase(&t->fom) == FOM_PHASE_INIT) {
		rc = locks(f, ONE);
		long_lock_get_stats(f->lock, &stats);
		t->left = (unsigned int)stats.reads;
		return rc;
	}
	long_lock_get_stats(f->lock, &stats);
	t->wrong += !has(f) || t->left != stats.reads;
	long_write_unlock(f->lock, &f->link);
	return ends(t);
}

/* S-9, FO-43: readers come all the time: a writer has it after those that were there before it */
TEST_F(locks, writer_among_readers)
{
	struct lock_fom reader[6], writer;
	unsigned int before;

	long_lock_init(&stream);
	had = 0;
	for (unsigned int i = 0; i < 6; i++) {
		make_locker(&self->p, &reader[i], &stream, false, i);
		reader[i].t.does = reads_on;
		ASSERT_EQ(0, fom_queue(&reader[i].t.fom));
	}
	for (unsigned int i = 0; i < 100; i++) {
		before = had;
		ASSERT_TRUE(DXT_SOON(had > before + 6));
		make_locker(&self->p, &writer, &stream, true, i);
		writer.t.does = writes_once;
		ASSERT_EQ(0, fom_queue(&writer.t.fom));
		ASSERT_TRUE(ENDS(&writer.t));
		ASSERT_EQ(0, writer.t.wrong);
	}
	for (unsigned int i = 0; i < 6; i++) {
		reader[i].t.stops = true;
		EXPECT_TRUE(ENDS(&reader[i].t));
	}
	long_lock_fini(&stream);
}

/* FO-44, D-20: granted before the tick that has locked returns: it is ticked, once */
TEST_F(locks, granted_before_it_waits)
{
	struct lock_fom owner, waiter;
	struct long_lock lock;

	long_lock_init(&lock);
	for (unsigned int i = 0; i < 50; i++) {
		all_in = false;
		make_locker(&self->p, &owner, &lock, true, 0);
		ASSERT_EQ(0, fom_queue(&owner.t.fom));
		ASSERT_TRUE(WAITS(&owner.t));
		make_locker(&self->p, &waiter, &lock, i % 2, 1);
		waiter.stays = true;
		ASSERT_EQ(0, fom_queue(&waiter.t.fom));
		ASSERT_TRUE(DXT_SOON(waiter.t.entered));
		EXPECT_EQ(1, waiters_of(&lock));
		all_in = true;
		ASSERT_EQ(0, fom_wakeup(&owner.t.fom));
		ASSERT_TRUE(ENDS(&owner.t));
		EXPECT_TRUE(has(&waiter));
		EXPECT_EQ(1, waiter.t.ticks);
		waiter.stays = false;
		ASSERT_TRUE(ENDS(&waiter.t));
		EXPECT_EQ(2, waiter.t.ticks);
		EXPECT_EQ(0, waiter.t.wrong + owner.t.wrong);
	}
	long_lock_fini(&lock);
}

/* --- many foms, many locks ------------------------------------------------------------- */

#define LOCKS	3
#define CROWD	60
#define TURNS	40

static struct long_lock some[LOCKS];
static _Atomic int inside[LOCKS];	/* readers; a writer counts 1,000 */

struct busy_fom {
	struct test_fom t;
	struct long_lock_link links[LOCKS];
	unsigned int nr, turns, seed;
	bool write[LOCKS];
};

/* Has all locks, in their order, each as what it likes; then gives all back. */
static int is_busy(struct test_fom *t)
{
	struct busy_fom *f = (struct busy_fom *)t;
	int n, rc;

	if (f->nr) {
		n = inside[f->nr - 1] += f->write[f->nr - 1] ? 1000 : 1;
		t->wrong += f->write[f->nr - 1] ? n != 1000 : n >= 1000;
	}
	if (f->nr < LOCKS) {
		f->write[f->nr] = rand_r(&f->seed) % 3 == 0;
		rc = f->write[f->nr] ? long_write_lock(&some[f->nr], &f->links[f->nr], ONE) :
				       long_read_lock(&some[f->nr], &f->links[f->nr], ONE);
		f->nr++;
		return rc;
	}
	while (f->nr) {
		f->nr--;
		inside[f->nr] -= f->write[f->nr] ? 1000 : 1;
		t->wrong += !long_unlock(&some[f->nr], &f->links[f->nr]);
	}
	if (++f->turns == TURNS)
		return ends(t);
	return FSO_AGAIN;
}

/* FO-43, FO-44, FO-45: a fom has several locks; nobody is forgotten */
TEST_F(locks, crowd)
{
	struct busy_fom *f = calloc(CROWD, sizeof(*f));
	unsigned int wrong = 0;

	for (unsigned int i = 0; i < LOCKS; i++)
		long_lock_init(&some[i]);
	for (unsigned int i = 0; i < CROWD; i++) {
		make(&self->p, &f[i].t, is_busy);
		f[i].t.home = i;
		f[i].seed = i;
		for (unsigned int j = 0; j < LOCKS; j++)
			long_lock_link_init(&f[i].links[j], &f[i].t.fom);
	}
	for (unsigned int i = 0; i < CROWD; i++)
		ASSERT_EQ(0, fom_queue_wait(&f[i].t.fom, -1));
	EXPECT_EQ(0, fom_service_idle_wait(&self->p.s, FOM_FOREVER));
	for (unsigned int i = 0; i < CROWD; i++)
		wrong += f[i].t.wrong + (f[i].turns != TURNS);
	EXPECT_EQ(0, wrong);
	for (unsigned int i = 0; i < LOCKS; i++) {
		struct long_lock_stats stats;

		long_lock_get_stats(&some[i], &stats);
		EXPECT_EQ(CROWD * TURNS, stats.reads + stats.writes);
		EXPECT_EQ(0, stats.owners + stats.waiters);
		long_lock_fini(&some[i]);
	}
	free(f);
}

/* --- what links say ------------------------------------------------------------------------ */

static struct long_lock_link second;

static int recurses(struct test_fom *t)
{
	struct lock_fom *f = (struct lock_fom *)t;

	t->wrong += locks(f, ONE) != FSO_AGAIN;
	long_lock_link_init(&second, &t->fom);
	t->wrong += long_read_lock(f->lock, &second, TWO) != -EDEADLK;
	t->wrong += long_write_lock(f->lock, &second, TWO) != -EDEADLK;
	t->wrong += fom_phase(&t->fom) != ONE;
	t->wrong += long_unlock(f->lock, &second);
	t->wrong += !long_unlock(f->lock, &f->link) || long_unlock(f->lock, &f->link);
	return ends(t);
}

/* FO-45: recursion is refused; who gives back what it does not have gives nothing back */
TEST_F(locks, recursion)
{
	struct long_lock lock;
	struct lock_fom f;

	long_lock_init(&lock);
	for (unsigned int i = 0; i < 2; i++) {
		make_locker(&self->p, &f, &lock, i, 0);
		f.t.does = recurses;
		ASSERT_EQ(0, fom_queue(&f.t.fom));
		EXPECT_TRUE(ENDS(&f.t));
		EXPECT_EQ(0, f.t.wrong);
	}
	long_lock_fini(&lock);
}

static int gives_up(struct test_fom *t)
{
	struct lock_fom *f = (struct lock_fom *)t;

	if (fom_phase(&t->fom) == FOM_PHASE_INIT)
		return locks(f, TWO);
	t->wrong += has(f) || long_unlock(f->lock, &f->link);
	return ends(t);
}

/* FO-43, FO-45: a writer that waits no longer lets the readers behind it pass; so does one that fails */
TEST_F(locks, waits_no_longer)
{
	struct fom_type type = test_type;
	struct lock_fom owner, writer, reader;
	struct long_lock lock;

	type.failure = 0;
	type.timeout_ns = 20 * DXT_MS;
	long_lock_init(&lock);
	for (unsigned int fails = 0; fails < 2; fails++) {
		all_in = false;
		make_locker(&self->p, &owner, &lock, false, 0);
		ASSERT_EQ(0, fom_queue(&owner.t.fom));
		ASSERT_TRUE(WAITS(&owner.t));
		make_locker(&self->p, &writer, &lock, true, 1);
		writer.t.does = gives_up;
		if (fails)
			writer.t.fom.type = &type;
		ASSERT_EQ(0, fom_queue(&writer.t.fom));
		ASSERT_TRUE(fails || WAITS(&writer.t));
		ASSERT_TRUE(DXT_SOON(waiters_of(&lock) == 1));
		all_in = !fails;
		make_locker(&self->p, &reader, &lock, false, 2);
		ASSERT_EQ(0, fom_queue(&reader.t.fom));
		ASSERT_TRUE(fails || WAITS(&reader.t));
		if (!fails)
			ASSERT_EQ(0, fom_wakeup(&writer.t.fom));
		EXPECT_TRUE(ENDS(&writer.t));
		EXPECT_EQ(fails ? -ETIMEDOUT : 0, writer.t.rc);
		all_in = true;
		if (fails) {
			EXPECT_TRUE(DXT_SOON(has(&reader)));
			fom_wakeup(&reader.t.fom);
		}
		EXPECT_TRUE(ENDS(&reader.t));
		ASSERT_EQ(0, fom_wakeup(&owner.t.fom));
		EXPECT_TRUE(ENDS(&owner.t));
		EXPECT_EQ(0, owner.t.wrong + writer.t.wrong + reader.t.wrong);
	}
	long_lock_fini(&lock);
}

/* FO-46: how long it was had, and waited for */
TEST_F(locks, times)
{
	struct lock_fom owner, waiter;
	struct long_lock_stats stats;
	struct long_lock lock;
	uint64_t begin, end;

	long_lock_init(&lock);
	all_in = false;
	make_locker(&self->p, &owner, &lock, true, 0);
	begin = dxt_now();
	ASSERT_EQ(0, fom_queue(&owner.t.fom));
	ASSERT_TRUE(WAITS(&owner.t));
	make_locker(&self->p, &waiter, &lock, false, 1);
	ASSERT_EQ(0, fom_queue(&waiter.t.fom));
	ASSERT_TRUE(WAITS(&waiter.t));
	dxt_sleep_ms(50);
	all_in = true;
	ASSERT_EQ(0, fom_wakeup(&owner.t.fom));
	EXPECT_TRUE(ENDS(&owner.t));
	EXPECT_TRUE(ENDS(&waiter.t));
	end = dxt_now();
	long_lock_get_stats(&lock, &stats);
	EXPECT_EQ(1, stats.writes);
	EXPECT_EQ(1, stats.reads);
	EXPECT_EQ(1, stats.waits);
	EXPECT_LE(50 * DXT_MS, stats.wait_ns);
	EXPECT_EQ(stats.wait_max_ns, stats.wait_ns);
	EXPECT_LE(50 * DXT_MS, stats.hold_max_ns);
	EXPECT_GE(end - begin, stats.hold_max_ns);
	EXPECT_LE(stats.hold_max_ns, stats.hold_ns);
	long_lock_fini(&lock);
}

/* --- traps --------------------------------------------------------------------------------- */

static struct long_lock trap_lock;
static struct long_lock_link trap_link;

static int trap_locks(struct test_fom *t, bool write)
{
	long_lock_init(&trap_lock);
	long_lock_link_init(&trap_link, &t->fom);
	return write ? long_write_lock(&trap_lock, &trap_link, ONE) :
		       long_read_lock(&trap_lock, &trap_link, ONE);
}

static int ends_with_lock(struct test_fom *t)
{
	trap_locks(t, true);
	return ends(t);
}

static int reader_as_writer(struct test_fom *t)
{
	trap_locks(t, false);
	long_write_unlock(&trap_lock, &trap_link);
	return ends(t);
}

static int twice(struct test_fom *t)
{
	trap_locks(t, true);
	long_write_unlock(&trap_lock, &trap_link);
	long_write_unlock(&trap_lock, &trap_link);
	return ends(t);
}

static int finis_lock(struct test_fom *t)
{
	trap_locks(t, true);
	long_lock_fini(&trap_lock);
	return ends(t);
}

static int finis_link(struct test_fom *t)
{
	trap_locks(t, true);
	long_lock_link_fini(&trap_link);
	return ends(t);
}

/* FO-45: what may never be is a trap */
TEST(traps_of_locks)
{
	EXPECT_TRUE(TRAPS(trap_in_turn(ends_with_lock)));
	EXPECT_TRUE(TRAPS(trap_in_turn(reader_as_writer)));
	EXPECT_TRUE(TRAPS(trap_in_turn(twice)));
	EXPECT_TRUE(TRAPS(trap_in_turn(finis_lock)));
	EXPECT_TRUE(TRAPS(trap_in_turn(finis_link)));
}

TEST_HARNESS_MAIN
