// SPDX-License-Identifier: GPL-2.0-only
/*
 * What workers that sleep in a call leave undone, and who does it: helpers and spares
 * of user workers (policy on_block; D-4, D-5, D-8, DX-43, DX-70, DX-75). What stalls
 * under STRICT, see deadlock.c, finishes here. A helper on its own is in
 * relief_help.c, a spare in relief_spare.c. Those of kernel workers are in
 * dxk/runtime/tests/onblock_test.c, libdxk's in libhelp.c.
 */
#include "relief_test.h"

#define FAMILIES	10

/* A parent and its children, see deadlock_test.h. */
struct family {
	unsigned int children;
	uint32_t attrs;			/* of the children */
	_Atomic unsigned int posted, executed, returned;
	_Atomic int error;
	_Atomic uint32_t answer;
};

static struct family family[FAMILIES];
static struct dxt_gate *barrier;
static _Atomic unsigned int managed;	/* spares that the test's manager started */

static int exe_child(struct dxt_call *call)
{
	((struct family *)(uintptr_t)call->work.param)->executed++;
	return 7;
}

/* Posts its children, then waits until none of them exists. */
static int exe_parent(struct dxt_call *call)
{
	struct family *f = (void *)(uintptr_t)call->work.param;
	struct dxt_worker *w = call->worker;
	struct dxk_result r[8];
	unsigned int answer = 0, reason;
	int rc;

	dxt_gate_pass(barrier, w->id);
	while (f->posted < f->children && !f->error) {
		struct dxk_post_entry e = dxt_entry(DXT_PTR(f), DXT_FN(exe_child),
						    DXT_PTR(f), f->attrs | PXR_REJOIN |
						    PXR_WAITIF_BUSY);

		rc = dxk_post_flags(w->member, &e, 1, DXK_CALL_HELP, -1, &reason);
		if (rc == 1)
			f->posted++;
		else if (rc == -EAGAIN && reason == PXR_HELP)
			f->error = help(w);
		else
			f->error = rc ?: -EIO;
	}
	while (answer != RJR_NONE_EXIST && !f->error) {
		rc = dxk_rejoin_flags(w->member, DXT_PTR(f), r, 8, 1, NULL, 0,
				      DXK_CALL_HELP, -1, &answer);
		if (rc < 0)
			f->error = rc;
		else if (answer == RJR_HELP)
			f->error = help(w);
		else
			f->returned += rc;
	}
	f->answer = answer;
	return 0;
}

/* --- a manager of spares --------------------------------------------------------- */

struct manager {
	struct dxt t;		/* its own list of workers */
	pthread_t thread;
	int end;
};

static void *spare_thread(void *arg)
{
	struct dxt_worker *w = arg;

	w->error = dxt_worker_loop(w);
	return NULL;
}

static void *manager_thread(void *arg)
{
	struct manager *m = arg;
	unsigned int spares;
	int rc;

	while ((rc = dxk_crew_wait(m->t.ctx, -1, NULL, &spares)) >= 0 || rc == -EINTR) {
		while (rc > 0 && spares--) {
			struct dxt_worker *w = calloc(1, sizeof(*w));

			w->t = &m->t;
			w->ctx = m->t.ctx;
			w->spare = true;
			if (pthread_create(&w->thread, NULL, spare_thread, w))
				abort();
			while (!w->ready)
				dxt_sleep_ms(1);
			w->next = m->t.workers;
			m->t.workers = w;
			managed += w->member >= 0;
		}
	}
	m->end = rc;
	return NULL;
}

static void manager_start(struct manager *m, const struct dxt *t)
{
	managed = 0;
	m->t = *t;
	m->t.workers = NULL;
	if (pthread_create(&m->thread, NULL, manager_thread, m))
		abort();
}

/* The context is stopped. */
static int manager_end(struct manager *m)
{
	struct dxt_worker *w;

	pthread_join(m->thread, NULL);
	while ((w = m->t.workers)) {
		m->t.workers = w->next;
		pthread_join(w->thread, NULL);
		free(w);
	}
	return m->end;
}

/* --- scenarios --------------------------------------------------------------------- */

FIXTURE(relief) {
	struct dxt t;
	struct manager manager;
};

FIXTURE_VARIANT(relief) {
	unsigned int on_block;
};

FIXTURE_VARIANT_ADD(relief, help) { .on_block = DXK_ON_BLOCK_HELP };
FIXTURE_VARIANT_ADD(relief, spare) { .on_block = DXK_ON_BLOCK_SPARE };

FIXTURE_SETUP(relief)
{
	memset((void *)family, 0, sizeof(family));
	depth_max = 0;
	barrier = dxt_gate_new();
	ASSERT_EQ(0, dxt_open(&self->t));
	no_sweeps(&self->t);
	self->t.policy.on_block = variant->on_block;
}

FIXTURE_TEARDOWN(relief)
{
	dxt_gate_open(barrier);
	if (self->t.ctx >= 0) {
		dxk_ctx_stop(self->t.ctx, DXK_STOP_CANCEL, dxt_late_ns());
		if (self->manager.thread)
			EXPECT_EQ(-ESHUTDOWN, manager_end(&self->manager));
	}
	dxt_down(&self->t);
	dxt_gate_free(barrier);
}

/* @nr parents with @children each, all executing before the first child is posted. */
#define PARENTS(nr, n_children, parent_attrs, child_attrs) do {			\
	unsigned int _i;							\
									\
	ASSERT_EQ(0, dxt_start(&self->t));					\
	if (variant->on_block == DXK_ON_BLOCK_SPARE)				\
		manager_start(&self->manager, &self->t);			\
	ASSERT_EQ(0, dxt_workers_start(&self->t, self->t.policy.max_threads));	\
	for (_i = 0; _i < (nr); _i++) {						\
		family[_i].children = n_children;				\
		family[_i].attrs = child_attrs;					\
		ASSERT_EQ(1, dxt_post1(self->t.member, 1, DXT_FN(exe_parent),	\
				       DXT_PTR(&family[_i]),			\
				       PXR_REJOIN | (parent_attrs), 0, NULL));	\
	}									\
	EXPECT_TRUE(DXT_UNTIL(&self->t, barrier->entered == (nr)));		\
	dxt_gate_open(barrier);							\
} while (0)

#define ALL_DONE(nr) do {							\
	unsigned int _i;							\
									\
	EXPECT_EQ(nr, dxt_drain(&self->t, self->t.member, 1));			\
	for (_i = 0; _i < (nr); _i++) {						\
		EXPECT_EQ(0, family[_i].error);					\
		EXPECT_EQ(family[_i].children, family[_i].executed);		\
		EXPECT_EQ(family[_i].children, family[_i].returned);		\
		EXPECT_EQ(RJR_NONE_EXIST, family[_i].answer);			\
	}									\
	/* a spare may come later than the 100 ms after which a stall is told */ \
	if (variant->on_block == DXK_ON_BLOCK_HELP)				\
		EXPECT_EQ(0, dxt_num(&self->t, "stats/stalls"));		\
	EXPECT_EQ(0, dxt_num(&self->t, "stats/missed_wakeups"));		\
	EXPECT_EQ(0, dxt_num(&self->t, "pools/thread_busy"));			\
} while (0)

/* D-4: two workers that both sleep for room in the Ready Pool. */
TEST_F(relief, d4)
{
	struct dxt *t = &self->t;

	t->policy.max_threads = 2;
	t->policy.ready_entries = 4;
	PARENTS(2, 10, 0, 0);
	ALL_DONE(2);
	if (variant->on_block == DXK_ON_BLOCK_HELP) {
		EXPECT_LT(0, dxt_num(t, "stats/helps"));
		EXPECT_EQ(0, dxt_num(t, "stats/spare_runs"));
	} else {
		EXPECT_LT(0, dxt_num(t, "stats/spare_runs"));
		EXPECT_GE(2, dxt_num(t, "pools/thread_spares"));
		/* the manager may not have looked at its threads yet */
		EXPECT_TRUE(DXT_SOON(managed == dxt_num(t, "pools/thread_spares")));
	}
}

/* D-5: ten lane-3 requests that wait for lane 3, under CMLS. */
TEST_F(relief, d5)
{
	struct dxt *t = &self->t;

	use_cmls(t);
	t->policy.max_threads = 10;
	t->policy.ready_entries = 100;
	PARENTS(10, 11, 0, 0);
	ALL_DONE(10);
	EXPECT_LT(0, dxt_num(t, "stats/helps") + dxt_num(t, "stats/spare_runs"));
	EXPECT_GE(t->policy.max_spares, managed);
	/* all are back: the limit of lane 3 is what it was */
	EXPECT_EQ(10, dxt_num(t, "lanes/user_lane3_limit"));
}

/*
 * DX-70, DX-75: a sleeping lane-2 request counts in its lane, and neither a helper nor a
 * spare raises the share of lanes 0 to 2: four parents of lane 2 sleep for children
 * of lane 2, so none of those is admitted, by nobody. That is the stall of D-6.
 */
TEST_F(relief, shares_stay)
{
	struct dxt *t = &self->t;

	use_cmls(t);
	t->policy.max_threads = 10;
	t->policy.ready_entries = 100;
	PARENTS(4, 3, PXR_LANE2, PXR_LANE2);
	EXPECT_TRUE(stall_comes(t, 0));
	EXPECT_EQ(4, dxt_num(t, "lanes/user_lane2_in_use"));
	EXPECT_EQ(0, dxt_num(t, "stats/helps") + dxt_num(t, "stats/spare_runs"));
	EXPECT_EQ(0, managed);
	ASSERT_EQ(0, dxk_ctx_stop(t->ctx, DXK_STOP_CANCEL, dxt_late_ns()));
}

/* Lane 3 is executed in their place, and nothing of lane 2. */
TEST_F(relief, only_what_is_admissible)
{
	struct dxt *t = &self->t;

	use_cmls(t);
	t->policy.max_threads = 10;
	t->policy.ready_entries = 100;
	PARENTS(4, 2, PXR_LANE2, 0);
	ALL_DONE(4);
}

/* D-8: completing workers that wait for Rejoin Pool entries have spares. */
TEST_F(relief, rejoin_pool_full)
{
	struct dxt *t = &self->t;

	t->policy.max_threads = 2;
	t->policy.rejoin_full = DXK_REJOIN_BLOCK_WORKER;
	t->policy.rejoin_entries = 2;
	PARENTS(1, 6, 0, 0);
	ALL_DONE(1);
}

TEST_HARNESS_MAIN
