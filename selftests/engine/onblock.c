// SPDX-License-Identifier: GPL-2.0-only
/*
 * What workers that sleep in a call leave undone, and who does it: helpers and spares
 * of user workers (policy on_block; D-4, D-5, D-8, DX-43, DX-70, DX-75). What stalls
 * under STRICT, see deadlock.c, finishes here. KUnit has helpers and spares of kernel
 * workers, libwait.c those of libdxk.
 */
#include "lib/puppet.h"

/* --- a worker that helps --------------------------------------------------- */

static _Atomic unsigned int depth_max;
static _Thread_local unsigned int depth;

/* Executes the request that the module called for. */
static int help(struct dxt_worker *w)
{
	struct dxt_call call = { .worker = w };
	struct dxk_done done = { 0 };
	unsigned int max;
	int rc;

	rc = dxk_next(w->member, NULL, 0, NULL, &call.work, 1, NULL, 0, 0);
	if (rc != 1)
		return rc < 0 ? rc : -ENODATA;
	depth++;
	while ((max = depth_max) < depth)
		__atomic_compare_exchange_n((unsigned int *)&depth_max, &max, depth, 0,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	done.ticket = call.work.ticket;
	done.status = ((dxt_exec_t)(uintptr_t)call.work.executor)(&call);
	depth--;
	rc = dxk_next(w->member, &done, 1, NULL, NULL, 0, NULL, 0, 0);
	return rc < 0 ? rc : 0;
}

/* --- families of requests -------------------------------------------------- */

#define FAMILIES	10

/* A parent and its children, see deadlock.c. */
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

FIXTURE(onblock) {
	struct dxt t;
	struct manager manager;
};

FIXTURE_VARIANT(onblock) {
	unsigned int on_block;
};

FIXTURE_VARIANT_ADD(onblock, help) { .on_block = DXK_ON_BLOCK_HELP };
FIXTURE_VARIANT_ADD(onblock, spare) { .on_block = DXK_ON_BLOCK_SPARE };

FIXTURE_SETUP(onblock)
{
	memset((void *)family, 0, sizeof(family));
	depth_max = 0;
	barrier = dxt_gate_new();
	ASSERT_EQ(0, dxt_open(&self->t));
	no_sweeps(&self->t);
	self->t.policy.on_block = variant->on_block;
}

FIXTURE_TEARDOWN(onblock)
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
TEST_F(onblock, d4)
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
TEST_F(onblock, d5)
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
TEST_F(onblock, shares_stay)
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
TEST_F(onblock, only_what_is_admissible)
{
	struct dxt *t = &self->t;

	use_cmls(t);
	t->policy.max_threads = 10;
	t->policy.ready_entries = 100;
	PARENTS(4, 2, PXR_LANE2, 0);
	ALL_DONE(4);
}

/* D-8: completing workers that wait for Rejoin Pool entries have spares. */
TEST_F(onblock, rejoin_pool_full)
{
	struct dxt *t = &self->t;

	t->policy.max_threads = 2;
	t->policy.rejoin_full = DXK_REJOIN_BLOCK_WORKER;
	t->policy.rejoin_entries = 2;
	PARENTS(1, 6, 0, 0);
	ALL_DONE(1);
}

/* --- bounds of helping --------------------------------------------------------------- */

/* Each posts one of its kind and waits for it: a chain as deep as param. */
static int exe_chain(struct dxt_call *call)
{
	struct dxt_worker *w = call->worker;
	struct dxk_post_entry e = dxt_entry(100 + call->work.param, DXT_FN(exe_chain),
					    call->work.param - 1, PXR_REJOIN);
	struct dxk_result r;
	unsigned int answer = 0;
	int rc = 0;

	if (!call->work.param)
		return 0;
	if (dxk_post_flags(w->member, &e, 1, DXK_CALL_HELP, 0, NULL) != 1)
		return -EIO;
	while (!rc && answer != RJR_RETURNED) {
		rc = dxk_rejoin_flags(w->member, e.owner, &r, 1, 1, NULL, 0,
				      DXK_CALL_HELP, -1, &answer);
		if (rc < 0)
			return rc;
		rc = answer == RJR_HELP ? help(w) : 0;
	}
	return rc ?: r.status + 1;
}

/* help_depth is a bound: a chain of that length ends, a longer one stalls. */
TEST(help_depth)
{
	struct dxk_result r;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	no_sweeps(&t);
	t.policy.on_block = DXK_ON_BLOCK_HELP;
	t.policy.help_depth = 3;
	t.policy.max_threads = 1;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, dxt_workers_start(&t, 1));
	depth_max = 0;
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_FN(exe_chain), 3, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(1, dxt_rejoin(t.member, 1, &r, 1, 1, dxt_in(60 * DXT_SEC), NULL));
	EXPECT_EQ(3, r.status);
	EXPECT_EQ(3, depth_max);
	EXPECT_EQ(3, dxt_num(&t, "stats/helps"));
	EXPECT_EQ(0, dxt_num(&t, "stats/stalls"));

	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_FN(exe_chain), 4, PXR_REJOIN, 0, NULL));
	EXPECT_TRUE(stall_comes(&t, 0));
	EXPECT_EQ(3, depth_max);
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_CANCEL, dxt_late_ns()));
	dxt_down(&t);
}

/* In which order requests have ended. */
static char ends[16];
static _Atomic unsigned int nr_ends;

static int exe_ends(struct dxt_call *call)
{
	ends[nr_ends++] = (char)call->work.param;
	return 0;
}

/* Posts children when it may, waits for them, and helps meanwhile. */
static int exe_scoped(struct dxt_call *call)
{
	struct dxt_gate *gate = (void *)(uintptr_t)call->work.param;
	struct dxt_worker *w = call->worker;
	struct dxk_result r[4];
	unsigned int answer = 0;
	int rc = 0, i;

	dxt_gate_pass(gate, w->id);
	for (i = 0; i < 3; i++)
		if (dxt_post1(w->member, 8, DXT_FN(exe_ends), 'c', PXR_REJOIN, 0, NULL) != 1)
			return -EIO;
	while (answer != RJR_NONE_EXIST && rc >= 0) {
		rc = dxk_rejoin_flags(w->member, 8, r, 4, 1, NULL, 0, DXK_CALL_HELP, -1, &answer);
		if (rc >= 0 && answer == RJR_HELP)
			rc = help(w);
	}
	ends[nr_ends++] = 'p';
	return rc < 0 ? rc : 0;
}

/* What one waits for comes within its turn, what strangers want before or after it. */
static void helps_in_scope(struct __test_metadata *_metadata, unsigned int scope,
			   const char *order)
{
	struct dxt_gate *gate = dxt_gate_new();
	struct dxk_result r[4];
	struct dxt t;
	int i;

	ASSERT_EQ(0, dxt_open(&t));
	no_sweeps(&t);
	t.policy.on_block = DXK_ON_BLOCK_HELP;
	t.policy.help_scope = scope;
	t.policy.max_threads = 1;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, dxt_workers_start(&t, 1));
	memset(ends, 0, sizeof(ends));
	nr_ends = 0;
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_FN(exe_scoped), DXT_PTR(gate), PXR_REJOIN, 0,
			       NULL));
	ASSERT_TRUE(DXT_UNTIL(&t, gate->entered));
	/* of the same priority, and older than the children */
	for (i = 0; i < 2; i++)
		ASSERT_EQ(1, dxt_post1(t.member, 2, DXT_FN(exe_ends), 's', PXR_REJOIN, 0, NULL));
	dxt_gate_open(gate);
	EXPECT_EQ(1, dxt_rejoin(t.member, 1, r, 1, 1, dxt_late(), NULL));
	EXPECT_EQ(0, r[0].status);
	EXPECT_EQ(2, dxt_drain(&t, t.member, 2));
	EXPECT_STREQ(order, ends);
	EXPECT_EQ(0, dxt_num(&t, "stats/stalls"));
	dxt_down(&t);
	dxt_gate_free(gate);
}

/* DX-70: within its turn only what it waits for, whatever comes first in the Ready Pool. */
TEST(help_scope_own)
{
	helps_in_scope(_metadata, DXK_HELP_OWN, "cccpss");
}

TEST(help_scope_any)
{
	helps_in_scope(_metadata, DXK_HELP_ANY, "sscccp");
}

/* A helper that dies with a request in its hands gives it back; who waits gets it. */
TEST(helper_dies)
{
	struct puppet *p;
	struct dxk_result r;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	no_sweeps(&t);
	puppet_signals(false);
	t.policy.on_block = DXK_ON_BLOCK_HELP;
	t.policy.max_threads = 1;
	ASSERT_EQ(0, dxt_start(&t));
	p = puppet_new(&t, DXK_MEMBER_WORKER);
	ASSERT_NE(NULL, p);
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_PARAM, 1, PXR_REJOIN, 0, NULL));
	ASSERT_EQ(1, puppet_fetch(p));
	p->entry[0] = dxt_entry(2, DXT_PARAM, 2, PXR_REJOIN);
	ASSERT_FALSE(puppet_post(p, 1, 0));
	/* without the flag it sleeps on, although it could help */
	EXPECT_TRUE(puppet_rejoin(p, 2, 1, 1, DXK_FOREVER));
	puppet_signal(p);
	EXPECT_EQ(-EINTR, puppet_end(p));
	p->rejoin.flags = DXK_CALL_HELP;
	puppet_begin(p, puppet_call_rejoin);
	EXPECT_EQ(0, puppet_end(p));
	EXPECT_EQ(RJR_HELP, p->rejoin.answer);
	EXPECT_EQ(2, dxt_num(&t, "pools/thread_busy"));
	/* called, not fetched */
	puppet_free(p);
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_busy") == 0));
	EXPECT_EQ(1, dxt_num(&t, "pools/ready_use"));
	EXPECT_EQ(1, dxt_rejoin(t.member, 1, &r, 1, 1, 0, NULL));
	EXPECT_EQ(-EOWNERDEAD, r.status);
	/* the child runs at its place, the first time */
	ASSERT_EQ(0, dxt_workers_start(&t, 1));
	EXPECT_EQ(1, dxt_rejoin(t.member, 2, &r, 1, 1, dxt_in(60 * DXT_SEC), NULL));
	EXPECT_EQ(2, r.status);
	EXPECT_EQ(1, r.attempts);
	dxt_down(&t);
}

/*
 * D-8: a helper does not wait for room in the Rejoin Pool (rejoin_full=block_worker): it
 * may be the one who is to make it.
 */
TEST(helper_completes)
{
	struct dxk_work tmp;
	struct puppet *p;
	struct dxt t;
	unsigned int i;

	ASSERT_EQ(0, dxt_open(&t));
	no_sweeps(&t);
	puppet_signals(false);
	t.policy.on_block = DXK_ON_BLOCK_HELP;
	t.policy.rejoin_full = DXK_REJOIN_BLOCK_WORKER;
	t.policy.rejoin_entries = 1;
	t.policy.max_threads = 1;
	ASSERT_EQ(0, dxt_start(&t));
	p = puppet_new(&t, DXK_MEMBER_WORKER);
	ASSERT_NE(NULL, p);
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_PARAM, 1, 0, 0, NULL));
	ASSERT_EQ(1, puppet_fetch(p));
	for (i = 2; i < 4; i++) {
		/* waits for the second child, and so executes both */
		p->entry[0] = dxt_entry(i, DXT_PARAM, i, PXR_REJOIN);
		puppet_post(p, 1, 0);
		ASSERT_EQ(1, puppet_end(p));
		puppet_rejoin(p, i, 1, 1, 0);
		p->rejoin.flags = DXK_CALL_HELP;
		p->rejoin.deadline = DXK_FOREVER;
		puppet_begin(p, puppet_call_rejoin);
		ASSERT_EQ(0, puppet_end(p));
		ASSERT_EQ(RJR_HELP, p->rejoin.answer);
		ASSERT_EQ(1, puppet_fetch(p));
		tmp = p->work[0];
		p->work[0] = p->work[1];
		p->work[1] = tmp;
		puppet_next(p, 1, 0, 0, 0);
		EXPECT_EQ(0, puppet_end(p));
		EXPECT_EQ(1, p->held);
	}
	EXPECT_EQ(2, dxt_num(&t, "pools/rejoin_use"));
	EXPECT_EQ(0, dxt_num(&t, "stats/complete_blocks"));
	EXPECT_EQ(0, puppet_finish(p, 0));
	puppet_free(p);
	dxt_down(&t);
}

/* A signal, a deadline and a Stop end the sleep of a helper as any other. */
TEST(helper_wakes)
{
	struct dxt_gate *gate = dxt_gate_new();
	struct puppet *p;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	no_sweeps(&t);
	puppet_signals(false);
	t.policy.on_block = DXK_ON_BLOCK_HELP;
	t.policy.max_threads = 2;
	ASSERT_EQ(0, dxt_start(&t));
	p = puppet_new(&t, DXK_MEMBER_WORKER);
	ASSERT_NE(NULL, p);
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_PARAM, 1, PXR_REJOIN, 0, NULL));
	ASSERT_EQ(1, puppet_fetch(p));
	/* for a request that another one executes */
	ASSERT_EQ(0, dxt_workers_start(&t, 1));
	ASSERT_EQ(1, dxt_post1(t.member, 2, DXT_GATE, DXT_PTR(gate), PXR_REJOIN, 0,
			       NULL));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_busy") == 2));
	EXPECT_TRUE(puppet_rejoin(p, 2, 1, 1, DXK_FOREVER));
	puppet_signal(p);
	EXPECT_EQ(-EINTR, puppet_end(p));
	p->rejoin.flags = DXK_CALL_HELP;
	EXPECT_TRUE(puppet_begin(p, puppet_call_rejoin));
	puppet_signal(p);
	EXPECT_EQ(-EINTR, puppet_end(p));
	p->rejoin.deadline = dxt_in(5 * DXT_MS);
	puppet_begin(p, puppet_call_rejoin);
	EXPECT_EQ(0, puppet_end(p));
	EXPECT_EQ(RJR_NONE_READY, p->rejoin.answer);
	p->rejoin.deadline = DXK_FOREVER;
	EXPECT_TRUE(puppet_begin(p, puppet_call_rejoin));
	ASSERT_EQ(1, dxt_post1(t.member, 3, DXT_PARAM, 9, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(0, puppet_end(p));
	EXPECT_EQ(RJR_HELP, p->rejoin.answer);
	EXPECT_EQ(1, puppet_fetch(p));
	EXPECT_EQ(9, p->work[1].param);
	p->rejoin.flags = DXK_CALL_HELP;
	EXPECT_TRUE(puppet_begin(p, puppet_call_rejoin));
	dxk_ctx_stop(t.ctx, DXK_STOP_CANCEL, 0);
	EXPECT_EQ(-ESHUTDOWN, puppet_end(p));
	puppet_free(p);
	dxt_gate_open(gate);
	dxt_down(&t);
	dxt_gate_free(gate);
}

/* --- spares -------------------------------------------------------------------------- */

/* Who may be a spare, and how many. */
TEST(spare_places)
{
	struct puppet *s[3];
	struct dxt t;
	char role[32];
	unsigned int bad = 0;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.on_block = DXK_ON_BLOCK_SPARE;
	t.policy.max_threads = 490;
	t.policy.max_spares = 10;
	EXPECT_EQ(-EINVAL, dxk_policy_set(t.ctx, &t.policy, &bad));
	EXPECT_EQ(offsetof(struct dxk_policy, max_spares), bad);
	t.policy.max_threads = 1;
	t.policy.max_spares = 2;
	ASSERT_EQ(0, dxt_start(&t));
	s[0] = puppet_new(&t, DXK_MEMBER_SPARE);
	s[1] = puppet_new(&t, DXK_MEMBER_SPARE);
	ASSERT_NE(NULL, s[0]);
	ASSERT_NE(NULL, s[1]);
	EXPECT_EQ(499, s[0]->id);
	EXPECT_EQ(498, s[1]->id);
	EXPECT_TRUE(dxt_text(&t, role, sizeof(role), "threads/499/role"));
	EXPECT_STREQ("user-spare", role);
	EXPECT_EQ(-ENOSPC, dxk_member_create(t.ctx, DXK_MEMBER_SPARE, NULL));
	EXPECT_EQ(2, dxt_num(&t, "pools/thread_spares"));
	EXPECT_EQ(0, dxt_num(&t, "pools/thread_use"));

	/* a spare takes nothing as long as nobody sleeps */
	EXPECT_TRUE(puppet_ask(s[0]));
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_REJOIN, 0, NULL));
	EXPECT_TRUE(puppet_sleeps(s[0]));
	EXPECT_TRUE(puppet_ask(s[1]));
	EXPECT_EQ(1, dxt_num(&t, "pools/ready_use"));
	puppet_free(s[1]);
	EXPECT_TRUE(DXT_UNTIL(&t, !dxt_exists(&t, "threads/498")));
	EXPECT_EQ(1, dxt_num(&t, "pools/thread_spares"));
	ASSERT_EQ(0, dxt_workers_start(&t, 1));
	EXPECT_EQ(1, dxt_drain(&t, t.member, 1));
	puppet_free(s[0]);
	dxt_down(&t);

	ASSERT_EQ(0, dxt_open(&t));
	ASSERT_EQ(0, dxt_start(&t));
	EXPECT_EQ(-ENODEV, dxk_member_create(t.ctx, DXK_MEMBER_SPARE, NULL));
	dxt_down(&t);
}

static _Atomic bool joins;

/* Tries to become a spare where there are to be none. */
static void *join_in_vain(void *arg)
{
	const struct dxt *t = arg;
	unsigned long bad = 0;

	while (joins)
		bad += dxk_member_create(t->ctx, DXK_MEMBER_SPARE, NULL) != -ENODEV;
	return (void *)bad;
}

/* Spares that are refused keep no id from the crew, not even for a moment. */
TEST(spare_refused)
{
	pthread_t thread;
	unsigned int i;
	struct dxt t;
	void *bad;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 498;
	ASSERT_EQ(0, dxt_start(&t));
	for (i = 0; i < 100; i++) {
		joins = true;
		ASSERT_EQ(0, pthread_create(&thread, NULL, join_in_vain, &t));
		t.policy.max_threads = 499 - i % 2;
		ASSERT_EQ(0, dxk_policy_set(t.ctx, &t.policy, NULL));
		ASSERT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "policy/max_threads") ==
					  t.policy.max_threads));
		joins = false;
		ASSERT_EQ(0, pthread_join(thread, &bad));
		EXPECT_EQ(NULL, bad);
		if (i % 2) {
			ASSERT_TRUE(DXT_UNTIL(&t, !dxt_exists(&t, "threads/499")));
		} else {
			ASSERT_TRUE(dxt_exists(&t, "threads/499")) TH_LOG("turn %u", i);
		}
	}
	dxt_down(&t);
}

/* A sleeping worker is replaced by one spare, which goes when it is awake again. */
TEST(spare_in_place)
{
	struct puppet *w, *s;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	no_sweeps(&t);
	t.policy.on_block = DXK_ON_BLOCK_SPARE;
	t.policy.max_threads = 1;
	ASSERT_EQ(0, dxt_start(&t));
	w = puppet_new(&t, DXK_MEMBER_WORKER);
	s = puppet_new(&t, DXK_MEMBER_SPARE);
	ASSERT_NE(NULL, w);
	ASSERT_NE(NULL, s);
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 1, PXR_REJOIN, 0, NULL));
	ASSERT_EQ(1, puppet_fetch(w));
	EXPECT_TRUE(puppet_ask(s));
	w->entry[0] = dxt_entry(2, 0, 21, PXR_REJOIN);
	w->entry[1] = dxt_entry(2, 0, 22, PXR_REJOIN);
	ASSERT_FALSE(puppet_post(w, 2, 0));
	EXPECT_EQ(2, puppet_end(w));
	EXPECT_TRUE(puppet_sleeps(s));
	EXPECT_TRUE(puppet_rejoin(w, 2, 1, 1, DXK_FOREVER));
	EXPECT_EQ(1, puppet_end(s));
	EXPECT_EQ(21, s->work[0].param);
	/* its end wakes the worker; so the spare gets nothing more, although it asks */
	EXPECT_TRUE(puppet_next(s, 1, 0, 1, DXK_FOREVER));
	EXPECT_EQ(1, puppet_end(w));
	EXPECT_EQ(1, dxt_num(&t, "pools/ready_use"));
	EXPECT_EQ(1, dxt_num(&t, "stats/spare_runs"));
	/* and when the worker sleeps again it does */
	EXPECT_TRUE(puppet_rejoin(w, 2, 1, 1, DXK_FOREVER));
	EXPECT_EQ(1, puppet_end(s));
	EXPECT_EQ(22, s->work[0].param);
	EXPECT_EQ(0, puppet_finish(s, 0));
	EXPECT_EQ(1, puppet_end(w));
	EXPECT_EQ(0, puppet_finish(w, 0));
	puppet_free(s);
	puppet_free(w);
	dxt_down(&t);
}

/* A spare that dies over a request is a worker that dies (DX-25). */
TEST(spare_dies)
{
	struct puppet *w, *s;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	no_sweeps(&t);
	t.policy.on_block = DXK_ON_BLOCK_SPARE;
	t.policy.max_threads = 1;
	ASSERT_EQ(0, dxt_start(&t));
	w = puppet_new(&t, DXK_MEMBER_WORKER);
	s = puppet_new(&t, DXK_MEMBER_SPARE);
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 1, PXR_REJOIN, 0, NULL));
	ASSERT_EQ(1, puppet_fetch(w));
	EXPECT_TRUE(puppet_ask(s));
	w->entry[0] = dxt_entry(2, 0, 21, PXR_REJOIN);
	ASSERT_FALSE(puppet_post(w, 1, 0));
	EXPECT_TRUE(puppet_rejoin(w, 2, 1, 1, DXK_FOREVER));
	EXPECT_EQ(1, puppet_end(s));
	puppet_free(s);
	EXPECT_EQ(1, puppet_end(w));
	EXPECT_EQ(-EOWNERDEAD, w->result[0].status);
	EXPECT_EQ(0, dxt_num(&t, "pools/thread_spares"));
	EXPECT_EQ(1, dxt_num(&t, "pools/thread_busy"));
	EXPECT_EQ(0, puppet_finish(w, 0));
	puppet_free(w);
	dxt_down(&t);
}

/* What a manager is told: free places, also when the crew grows or a worker goes. */
TEST(crew_wait)
{
	unsigned int workers = 99, spares = 99;
	struct dxt_worker *w;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 2;
	EXPECT_EQ(-ESHUTDOWN, dxk_crew_wait(t.ctx, 0, &workers, &spares));
	ASSERT_EQ(0, dxt_start(&t));
	EXPECT_EQ(2, dxk_crew_wait(t.ctx, -1, &workers, &spares));
	EXPECT_EQ(2, workers);
	EXPECT_EQ(0, spares);
	w = dxt_worker_start(&t);
	ASSERT_EQ(0, dxt_workers_start(&t, 1));
	EXPECT_EQ(0, dxk_crew_wait(t.ctx, 0, &workers, &spares));
	EXPECT_EQ(0, dxk_crew_wait(t.ctx, 5 * DXT_MS, &workers, &spares));
	EXPECT_EQ(0, dxt_store(&t, "policy/max_threads", "5"));
	EXPECT_EQ(3, dxk_crew_wait(t.ctx, -1, &workers, &spares));
	EXPECT_EQ(0, dxt_store(&t, "policy/max_threads", "2"));
	EXPECT_TRUE(DXT_UNTIL(&t, dxk_crew_wait(t.ctx, 0, NULL, NULL) == 0));
	dxt_worker_end(w);
	EXPECT_EQ(1, dxk_crew_wait(t.ctx, -1, &workers, &spares));
	EXPECT_EQ(1, workers);
	dxt_down(&t);
}

/* A drain still has a use for a thread when a worker dies, and none when all is done. */
TEST(crew_wait_in_a_drain)
{
	unsigned int workers = 99, taken;
	struct dxk_work work;
	struct dxk_done done;
	struct dxt t;
	int worker, i;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 1;
	ASSERT_EQ(0, dxt_start(&t));
	worker = dxk_member_create(t.ctx, DXK_MEMBER_WORKER, NULL);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, i, 0, 0, NULL));
	ASSERT_EQ(1, dxk_next(worker, NULL, 0, &taken, &work, 1, NULL, 0, 0));
	EXPECT_EQ(-ETIMEDOUT, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, 0));
	EXPECT_EQ(0, dxk_crew_wait(t.ctx, 0, &workers, NULL));
	EXPECT_EQ(0, workers);
	close(worker);
	EXPECT_EQ(1, dxk_crew_wait(t.ctx, -1, &workers, NULL));
	EXPECT_EQ(1, workers);
	worker = dxk_member_create(t.ctx, DXK_MEMBER_WORKER, NULL);
	ASSERT_EQ(1, dxk_next(worker, NULL, 0, &taken, &work, 1, NULL, 0, 0));
	EXPECT_EQ(0, dxk_crew_wait(t.ctx, 0, NULL, NULL));
	done = (struct dxk_done){ .ticket = work.ticket };
	dxk_next(worker, &done, 1, &taken, NULL, 0, NULL, 0, 0);
	EXPECT_EQ(1, taken);
	close(worker);
	EXPECT_EQ(-ESHUTDOWN, dxk_crew_wait(t.ctx, -1, NULL, NULL));
	dxt_down(&t);
}

TEST_HARNESS_MAIN
