// SPDX-License-Identifier: GPL-2.0-only
/*
 * A crowd at the door: processes join a named context, the first one makes it, use it,
 * leave or are killed, while another process tries to unload the module all the time
 * (DX-113). It is refused as long as somebody is there, and not a moment longer; each
 * process that is killed ends within a second.
 *
 * 200 processes, on the debug kernel 30; DXK_KILLS says how many.
 */
#include "lib/modules.h"
#include "lib/puppet.h"

#include <sys/mman.h>
#include <sys/resource.h>

#define NAME	"dxk-crowd"
#define WIDTH	25	/* processes at a time */
#define LOOK_MS	20	/* each looks so often whether it may enter */

/* An end that is later is no end: 1 s, on the debug kernel what is a hang there. */
static uint64_t bound_ns(void)
{
	return dxt_debug_kernel() ? dxt_stall_ns() : DXT_SEC;
}

/* In memory that all share. */
struct crowd {
	_Atomic unsigned long refused, removed;	/* tries to unload */
	_Atomic unsigned long found, missed;	/* who found the module, who did not */
	_Atomic unsigned long used;		/* requests that were posted and came back */
	_Atomic int wrong;			/* the first answer that cannot be */
	const char *_Atomic whose;		/* and who got it */
};

FIXTURE(crowd) {
	struct crowd *c;
	pid_t remover;
	bool executors;
	uint64_t rnd;
};
typedef FIXTURE_DATA(crowd) crowd;

static void cannot_be(struct crowd *c, int rc, const char *whose)
{
	int none = 0;

	if (atomic_compare_exchange_strong(&c->wrong, &none, rc))
		c->whose = whose;
}

/*
 * Unloads, and loads at once for those who come: each of them sees it, if it goes again. They are
 * many, and on a slow machine would leave it no processor to load a module with.
 */
static _Noreturn void remove_always(struct crowd *c)
{
	const char *left;

	setpriority(PRIO_PROCESS, 0, -20);
	for (;;) {
		int rc = unload("dxk");

		if (rc == -EWOULDBLOCK || rc == -EBUSY) {
			c->refused++;
			dxt_sleep_ms(1);
			continue;
		}
		if (rc)
			cannot_be(c, rc, "who unloads it");
		left = left_over();
		if (left)
			cannot_be(c, -ENOTEMPTY, left);
		rc = load_all(false);
		if (rc)
			cannot_be(c, rc, "who loads it");
		c->removed++;
		dxt_sleep_ms(2 * LOOK_MS);
	}
}

FIXTURE_SETUP(crowd)
{
	self->c = dxt_shared(sizeof(*self->c));
	self->rnd = the_seed();
	self->executors = loaded(EXECUTORS);
	if (self->executors)
		ASSERT_EQ(0, unload_soon(EXECUTORS));
	self->remover = dxt_fork();
	if (!self->remover)
		remove_always(self->c);
}

FIXTURE_TEARDOWN(crowd)
{
	kill(self->remover, SIGKILL);
	dxt_reap(self->remover);
	EXPECT_EQ(0, load_all(self->executors));
}

/* --- one of the crowd ------------------------------------------------------------ */

static int enter(int ctl)
{
	struct dxk_ctx_create create = { .name = NAME, .mode = 0600 };
	int ctx = -ENOENT, i;
	struct dxk_policy p;

	for (i = 0; i < 100 && (ctx == -ENOENT || ctx == -EEXIST); i++) {
		ctx = dxk_ctx_join(ctl, NAME, DXK_ACCESS_WRITE | DXK_ACCESS_EXECUTE |
				   DXK_ACCESS_READ | DXK_ACCESS_CONTROL, 0, NULL);
		if (ctx == -ENOENT)
			ctx = dxk_ctx_create_as(ctl, &create);
	}
	if (ctx < 0)
		return ctx;
	if (!dxk_policy_get(ctx, &p)) {
		p.dispatch = dxt_mode();
		p.max_threads = WIDTH;
		p.kernel_threads = 1;
		dxk_policy_set(ctx, &p, NULL);
	}
	return ctx;
}

/* Posts, executes one that is there, collects; whatever the others do meanwhile. */
static void use(struct crowd *c, int ctx)
{
	struct dxk_work work;
	struct dxk_done done;
	struct dxk_result r;
	int m, rc;

	dxk_ctx_start(ctx);	/* somebody may have stopped it */
	m = dxk_member_create(ctx, DXK_MEMBER_WORKER, NULL);
	dxt_post1(m, 1, DXT_NOP, 0, PXR_REJOIN | PXR_REDO, 0, NULL);
	rc = dxk_next(m, NULL, 0, NULL, &work, 1, NULL, 0, 10 * DXT_MS);
	if (rc == 1) {
		done = (struct dxk_done){ .ticket = work.ticket };
		dxk_next(m, &done, 1, NULL, NULL, 0, NULL, 0, 0);
	}
	c->used += dxk_rejoin(m, 1, &r, 1, 1, NULL, 0, 30 * DXT_MS, NULL) == 1;
	close(m);
}

/* Uses it once, or on and on, or sleeps in it, or stops it and goes. */
static _Noreturn void be_one(struct crowd *c, uint64_t rnd_state)
{
	unsigned int way;
	int ctl, ctx;

	rnd(&rnd_state);
	way = rnd(&rnd_state) % 4;
	while ((ctl = dxk_open()) < 0) {
		c->missed++;
		if (ctl != -ENOENT && ctl != -ENXIO && ctl != -ENODEV)
			cannot_be(c, ctl, "who opens it");
		dxt_sleep_ms(LOOK_MS);
	}
	c->found++;
	ctx = enter(ctl);
	if (ctx < 0)
		cannot_be(c, ctx, "who enters");
	do {
		use(c, ctx);
	} while (way > 2);			/* until it is killed */
	while (way == 1) {			/* in a sleep */
		int m = dxk_member_create(ctx, DXK_MEMBER_WORKER, NULL);
		struct dxk_work work;

		while (dxk_next(m, NULL, 0, NULL, &work, 1, NULL, 0, -1) >= 0)
			;
		close(m);
		dxk_ctx_start(ctx);
	}
	if (way == 2)
		dxk_ctx_stop(ctx, DXK_STOP_CANCEL, 10 * DXT_MS);
	_exit(0);
}

/* --- all of them ------------------------------------------------------------------ */

/* A crowd comes and is driven away. */
static void one_crowd(struct __test_metadata *_metadata, crowd *self, unsigned int nr)
{
	unsigned long found = self->c->found;
	pid_t pid[WIDTH];
	unsigned int i;

	for (i = 0; i < nr; i++) {
		pid[i] = dxt_fork();
		if (!pid[i])
			be_one(self->c, self->rnd + i);
	}
	/* half of it is there, the others may be killed at the door */
	EXPECT_TRUE(DXT_SOON(self->c->found >= found + nr / 2 || self->c->wrong));
	ASSERT_EQ(0, self->c->wrong) {
		TH_LOG("%s", self->c->whose);
	}
	for (i = 0; i < nr; i++) {
		dxt_sleep_ms(rnd(&self->rnd) % 5);
		kill(pid[i], SIGKILL);
		ASSERT_TRUE(DXT_WITHIN(bound_ns(), dxt_gone(pid[i])));
		dxt_reap(pid[i]);
	}
}

TEST_F(crowd, unloaded_under_it)
{
	const char *kills = getenv("DXK_KILLS");
	unsigned int left = kills ? (unsigned int)atoi(kills) : dxt_debug_kernel() ? 30 : 200;
	unsigned int nr, rounds = 0;
	struct crowd *c = self->c;
	unsigned long before;

	for (; left; left -= nr) {
		nr = left < WIDTH ? left : WIDTH;
		one_crowd(_metadata, self, nr);
		/* all have left: now it goes */
		before = c->removed;
		EXPECT_TRUE(DXT_SOON(c->removed > before || c->wrong));
		ASSERT_EQ(0, c->wrong) {
			TH_LOG("%s", c->whose);
		}
		dxt_tell("%u processes left", left);
		rounds++;
	}
	TH_LOG("unloaded %lu times, refused %lu; %lu found it, %lu did not; %lu requests",
	       c->removed, c->refused, c->found, c->missed, c->used);
	EXPECT_LT(0, c->refused);
	EXPECT_LE(rounds, c->removed);
	EXPECT_LT(0, c->found);
}

TEST_HARNESS_MAIN
