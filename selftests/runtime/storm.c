// SPDX-License-Identifier: GPL-2.0-only
/*
 * A storm over one named context: five processes of three users, of five threads each,
 * make it, join and leave it, start and stop it, change its policy, post, fetch, collect,
 * read its files, all at random, and are killed at random (DX-7, DX-112, DX-113). Who is
 * killed ends within a second; a context of somebody else is served all the time; and when
 * all have gone nothing is left, and the module can go.
 *
 * It goes on for some seconds, with DXK_SECONDS=n for n; DXK_SEED repeats what is drawn,
 * though not when.
 */
#include "lib/modules.h"
#include "runtime/join.h"
#include "runtime/storm/storm.h"

#include <sys/mman.h>
#include <sys/prctl.h>

#define PROCESSES	5

/* An end that is later is no end: 1 s, on the debug kernel what is a hang there. */
static uint64_t bound_ns(void)
{
	return dxt_debug_kernel() ? dxt_stall_ns() : DXT_SEC;
}

/* Somebody with a context of its own, who wants nothing of the storm. */
struct outsider {
	pid_t pid;
	_Atomic bool over;
	_Atomic unsigned long served;
	unsigned long seen;
	struct dxt_turns turns;		/* since then */
};

FIXTURE(storm) {
	struct storm *s;
	struct outsider *outsider;
	pid_t pid[PROCESSES];
	uint64_t rnd;
	mode_t mode;		/* of the device */
	unsigned int contexts;
	char refs[32];		/* of the module */
	uint64_t slowest;	/* end of a process, ns of the clock */
	unsigned int kills;
};
typedef FIXTURE_DATA(storm) storm;

static bool refs_of(char *text, size_t room)
{
	FILE *f = fopen("/sys/module/dxk/refcnt", "re");
	bool read = f && fgets(text, (int)room, f);

	if (f)
		fclose(f);
	return read;
}

static _Noreturn void be_outsider(struct outsider *o)
{
	struct dxk_result r;
	struct dxt t;

	if (dxt_up(&t, 1))
		_exit(1);
	while (!o->over) {
		if (dxt_post1(t.member, OTHER, DXT_PARAM, 7, PXR_REJOIN, 0, NULL) != 1 ||
		    dxt_rejoin(t.member, OTHER, &r, 1, 1, dxt_late(), NULL) != 1 ||
		    r.status != 7)
			_exit(2);
		o->served++;
		dxt_sleep_ms(5);
	}
	_exit(dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, dxt_late_ns()) ? 3 : 0);
}

static void fork_one(storm *self, unsigned int i)
{
	static const uid_t user[] = { 0, UID, OTHER };
	uint64_t seed = self->rnd + self->kills * 1000003 + i * 7919;

	self->pid[i] = dxt_fork();
	if (self->pid[i])
		return;
	if (user[i % 3])
		become(user[i % 3], GID, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);	/* the change of the user took it back */
	storm_process(self->s, seed);
}

FIXTURE_SETUP(storm)
{
	struct stat st;
	unsigned int i;

	self->s = dxt_shared(sizeof(*self->s));
	self->outsider = dxt_shared(sizeof(*self->outsider));
	self->rnd = the_seed();
	self->contexts = dxt_contexts();
	ASSERT_TRUE(refs_of(self->refs, sizeof(self->refs)));
	ASSERT_EQ(0, stat(DXK_DEVICE, &st));
	self->mode = st.st_mode & 0777;
	ASSERT_EQ(0, chmod(DXK_DEVICE, 0666));
	self->outsider->pid = dxt_fork();
	if (!self->outsider->pid)
		be_outsider(self->outsider);
	ASSERT_TRUE(DXT_SOON(self->outsider->served));
	for (i = 0; i < PROCESSES; i++)
		fork_one(self, i);
}

FIXTURE_TEARDOWN(storm)
{
	unsigned int i;

	for (i = 0; i < PROCESSES; i++)
		if (self->pid[i])
			kill(self->pid[i], SIGKILL);
	chmod(DXK_DEVICE, self->mode);
	EXPECT_EQ(0, load_all(true));
}

/* Is the outsider served? A look at it now and then. */
static bool served(struct outsider *o)
{
	if (o->served != o->seen) {
		o->seen = o->served;
		o->turns = (struct dxt_turns){ 0 };
	}
	return dxt_turn(&o->turns) < dxt_stall_ns();
}

/* kill -9 of one, whatever it does: is it gone in its time? */
static bool ends(storm *self, unsigned int i)
{
	uint64_t begin = dxt_now();
	bool gone;

	kill(self->pid[i], SIGKILL);
	gone = DXT_WITHIN(bound_ns(), dxt_gone(self->pid[i]));
	if (dxt_now() - begin > self->slowest)
		self->slowest = dxt_now() - begin;
	self->kills++;
	if (gone)
		dxt_reap(self->pid[i]);
	self->pid[i] = 0;
	return gone;
}

static void rage(struct __test_metadata *_metadata, storm *self)
{
	const char *seconds = getenv("DXK_SECONDS");
	int64_t length = seconds ? atoi(seconds) : dxt_debug_kernel() ? 6 : 4;
	uint64_t end = dxt_in(length * DXT_SEC), pause;
	unsigned int i;

	while (dxt_now() < end) {
		pause = dxt_in((10 + rnd(&self->rnd) % 150) * DXT_MS);
		while (dxt_now() < pause)
			ASSERT_TRUE(served(self->outsider));
		i = rnd(&self->rnd) % PROCESSES;
		ASSERT_TRUE(ends(self, i)) TH_LOG("process %u", i);
		fork_one(self, i);
		dxt_tell("%u kills", self->kills);
	}
}

/* A place for each thread to sleep in, after a Stop that ends the sleeps there are. */
static int make_room(int ctx)
{
	struct dxk_policy p;
	int rc = dxk_ctx_stop(ctx, DXK_STOP_CANCEL, dxt_late_ns()) ?: dxk_policy_get(ctx, &p);

	p.max_threads = 2 * PROCESSES * STORM_THREADS;
	rc = rc ?: dxk_policy_set(ctx, &p, NULL) ?: dxk_ctx_start(ctx);
	return rc;
}

/* Do all come to rest, each in a sleep? */
static bool calm(struct storm *s)
{
	int ctl = dxk_open(), ctx = -1;
	bool calm;

	s->calm = true;
	calm = DXT_SOON((ctx = dxk_ctx_join(ctl, STORM_NAME,
					    DXK_ACCESS_CONTROL | DXK_ACCESS_READ, 0, NULL)) >= 0);
	/* what one has begun before the calm may come between */
	calm = calm && DXT_SOON(!make_room(ctx)) &&
	       DXT_SOON(s->asleep == PROCESSES * STORM_THREADS);
	close(ctx);
	close(ctl);
	return calm;
}

static void tell(const storm *self)
{
	const struct storm *s = self->s;
	unsigned int i;

	printf("# %u kills, the slowest end took %llu ms; %lu requests of the outsider\n",
	       self->kills, (unsigned long long)(self->slowest / DXT_MS),
	       self->outsider->served);
	for (i = 0; i < ACTS; i++)
		printf("# %-8s %6lu, of which %6lu taken\n", storm_name[i], s->act[i].made,
		       s->act[i].done);
}

TEST_F(storm, one_context)
{
	unsigned int i;

	rage(_metadata, self);
	tell(self);
	for (i = 0; i < ACTS; i++) {
		EXPECT_EQ(0, self->s->act[i].wrong) TH_LOG("%s", storm_name[i]);
		EXPECT_LT(0, self->s->act[i].made) TH_LOG("%s", storm_name[i]);
	}
	EXPECT_LT(0, self->s->act[STORM_post].done);
	EXPECT_LT(0, self->s->act[STORM_next].done);
	EXPECT_LT(0, self->s->act[STORM_rejoin].done);
	/* all at once, asleep: nobody is left to wake them */
	EXPECT_TRUE(calm(self->s));
	for (i = 0; i < PROCESSES; i++)
		kill(self->pid[i], SIGKILL);
	for (i = 0; i < PROCESSES; i++)
		EXPECT_TRUE(ends(self, i));
	/* they are gone, and what they had with them */
	EXPECT_TRUE(DXT_SOON(dxt_contexts() == self->contexts + 1));
	EXPECT_TRUE(served(self->outsider));
	self->outsider->over = true;
	EXPECT_EQ(0, dxt_reap(self->outsider->pid));
	EXPECT_TRUE(DXT_SOON(dxt_contexts() == self->contexts));
	EXPECT_TRUE(DXT_SOON(!dxt_kthreads(NULL)));
	EXPECT_TRUE(DXT_SOON(({
		char refs[32] = "";

		refs_of(refs, sizeof(refs)) && !strcmp(refs, self->refs);
	})));
	EXPECT_EQ(0, unload_soon(EXECUTORS));
	EXPECT_EQ(0, unload_soon("dxk"));
	EXPECT_EQ(NULL, left_over()) TH_LOG("%s", left_over());
}

TEST_HARNESS_MAIN
