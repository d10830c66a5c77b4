// SPDX-License-Identifier: GPL-2.0-only
/*
 * Constrained Multi Lane Scheduling: parents that wait for their children, level by
 * level, end within the limits at every move (D-2, D-3).
 */
#include "lanes.h"

#include <sys/mount.h>
#include <sys/stat.h>

/* --- hierarchies ----------------------------------------------------------- */

/*
 * What executes, 16 bits a lane, in one number so that every look at it is one of
 * an instant. It is counted after the dispatch and until before the completion:
 * what is seen here is executing for the module, too.
 */
static _Atomic uint64_t executing;
static uint64_t limit[4];	/* of lanes 0..k together */
static _Atomic unsigned int broken, executed[4], wrong;
static uint64_t leaf;		/* executor of the lowest level, if in the kernel */
static unsigned int fan[4];	/* children of a request of that lane */
static bool child;		/* no post says in which lane it is */

static void enter(unsigned int lane)
{
	uint64_t now = atomic_fetch_add(&executing, 1ULL << 16 * lane) +
		       (1ULL << 16 * lane);
	uint64_t sum = 0;
	unsigned int k;

	executed[lane]++;
	for (k = 0; k < 4; k++) {
		sum += now >> 16 * k & 0xffff;
		if (sum > limit[k])
			broken++;
	}
}

static void leave(unsigned int lane)
{
	atomic_fetch_sub(&executing, 1ULL << 16 * lane);
}

static int exe_level(struct dxt_call *call);

/* Posts the children of a request and collects them all. */
static void family(int member, uint64_t owner, unsigned int lane, unsigned int nr)
{
	struct dxk_result r[8];
	unsigned int i, got = 0;
	uint32_t answer = 0;
	int rc;

	for (i = 0; i < nr; i++) {
		bool kernel = lane == 3 && leaf;

		rc = dxt_post1(member, owner, kernel ? leaf : DXT_FN(exe_level),
			       owner * 64 + i,
			       (child ? PXR_LANE_CHILD : lane_attr(lane)) | PXR_REJOIN | PXR_WAITIF_BUSY |
			       (kernel ? PXR_KERNEL : 0), DXK_FOREVER, NULL);
		if (rc == -ESHUTDOWN)
			return;
		wrong += rc != 1;
	}
	while (answer != RJR_NONE_EXIST) {
		rc = dxt_rejoin(member, owner, r, 8, 1, DXK_FOREVER, &answer);
		if (rc == -ESHUTDOWN)
			return;
		if (rc < 0) {
			wrong++;
			return;
		}
		for (i = 0; i < (unsigned int)rc; i++)
			wrong += r[i].param / 64 != owner;
		got += rc;
	}
	wrong += got != nr;
}

/* The param of a request is the owner of its children, so owners differ. */
static int exe_level(struct dxt_call *call)
{
	uint32_t bits = call->work.attrs & (PXR_LANE1 | PXR_LANE2);
	unsigned int lane = bits == PXR_LANE1 ? 1 : bits == PXR_LANE2 ? 2 : 3;

	enter(lane);
	if (fan[lane])
		family(call->worker->member, call->work.param, lane + 1, fan[lane]);
	leave(lane);
	return 0;
}

/* The root is a member of its own thread. */
static void puppet_call_root(struct puppet *p)
{
	unsigned int lane = p->held, nr = p->post.nr;

	family(p->fd, 1, lane, nr);
	p->ret = 0;
}

/* --- the limits at every move ----------------------------------------------- */

/*
 * Executors see only what executes, and not the instant. The tracepoint has every
 * move, made under the lock; its clock, a counter, puts them in their order.
 */
#define TRACING		"/sys/kernel/tracing"
#define INSTANCE	TRACING "/instances/dxk_lanes"

static bool trace_begin(void)
{
	if (access(TRACING "/instances", F_OK))
		mount("tracefs", TRACING, "tracefs", 0, NULL);
	return !mkdir(INSTANCE, 0700) &&
	       !dxt_write(INSTANCE "/trace_clock", "counter") &&
	       !dxt_write(INSTANCE "/buffer_size_kb", "4096") &&
	       !dxt_write(INSTANCE "/events/dxk/dxk_move/enable", "1");
}

struct profile {
	unsigned int used[4], high[4];	/* now, and the most of lanes 0..k together */
};

static unsigned int profile_add(struct profile *p, unsigned int lane,
				const unsigned int *limits)
{
	unsigned int k, sum = 0, bad = 0;

	p->used[lane]++;
	for (k = 0; k < 4; k++) {
		sum += p->used[k];
		bad += k >= lane && sum > limits[k];
		if (sum > p->high[k])
			p->high[k] = sum;
	}
	return bad;
}

/* The place, from the name of a state: 0 none, 1 Ready, 2 with a worker. */
static int place_of(const char *state)
{
	if (!strcmp(state, "READY"))
		return 1;
	return !strcmp(state, "DISPATCHED") || !strcmp(state, "BUSY") ? 2 : 0;
}

/*
 * Replays all moves. Moves after which 1.1.12 did not hold for the Ready Pool
 * (0) or the user workers (1); -1 when there is no record of them.
 */
static int replay(const struct dxt *t, const unsigned int limits[2][4],
		  struct profile profile[2], unsigned int *posts)
{
	char line[512], ctx[32], from[16], to[16];
	FILE *f = fopen(INSTANCE "/trace", "r");
	unsigned int lane, attrs;
	int bad = 0;

	if (!f)
		return -1;
	memset(profile, 0, 2 * sizeof(*profile));
	*posts = 0;
	snprintf(ctx, sizeof(ctx), "dxk_move: ctx=%u ", t->id);
	while (fgets(line, sizeof(line), f)) {
		char *at = strstr(line, ctx);
		int place;

		if (!at || sscanf(at + strlen(ctx), "rqe=%*s %15[A-Z]->%15[A-Z] owner=%*s "
				  "param=%*s lane=%u prio=%*d attrs=%x", from, to,
				  &lane, &attrs) != 4)
			continue;
		*posts += !strcmp(from, "POSTED");
		place = place_of(from);
		if (place == 1 || (place == 2 && !(attrs & PXR_KERNEL)))
			profile[place - 1].used[lane]--;
		place = place_of(to);
		if (place == 1 || (place == 2 && !(attrs & PXR_KERNEL)))
			bad += profile_add(&profile[place - 1], lane,
					   limits[place - 1]);
	}
	fclose(f);
	return bad;
}

FIXTURE(hierarchy) {
	struct dxt t;
	bool traced;
};

FIXTURE_VARIANT(hierarchy) {
	unsigned int workers, kernel, entries, top;
	bool child;
	unsigned int roots, transactions, subs;
};

/* D-2: two levels, 50 parents of 10 children. */
FIXTURE_VARIANT_ADD(hierarchy, two_levels) {
	.workers = 10, .entries = 100, .top = 2,
	.roots = 50, .subs = 10,
};

/* D-3: three levels, 20 feeders of 20 transactions of 5 subs. */
FIXTURE_VARIANT_ADD(hierarchy, three_levels) {
	.workers = 10, .entries = 100, .top = 1,
	.roots = 20, .transactions = 20, .subs = 5,
};

/* D-3, with the lane of each request that below its poster's. */
FIXTURE_VARIANT_ADD(hierarchy, three_levels_children) {
	.workers = 3, .entries = 3, .top = 1, .child = true,
	.roots = 20, .transactions = 20, .subs = 5,
};

/* D-3 with the least that CMLS takes: one worker and one entry a lane. */
FIXTURE_VARIANT_ADD(hierarchy, three_levels_minimum) {
	.workers = 3, .entries = 3, .top = 1,
	.roots = 20, .transactions = 20, .subs = 5,
};

/* The lowest level in the kernel. */
FIXTURE_VARIANT_ADD(hierarchy, three_levels_mixed) {
	.workers = 10, .kernel = 3, .entries = 100, .top = 1,
	.roots = 20, .transactions = 10, .subs = 5,
};

FIXTURE_SETUP(hierarchy)
{
	struct dxt *t = &self->t;

	ASSERT_EQ(0, dxt_open(t));
	/* the Monitor moves nothing, but would report a stall */
	no_sweeps(t);
	puppet_signals(false);
	use_cmls(t);
	t->policy.max_threads = variant->workers;
	t->policy.kernel_threads = variant->kernel;
	t->policy.ready_entries = variant->entries;
}

FIXTURE_TEARDOWN(hierarchy)
{
	dxt_down(&self->t);
	rmdir(INSTANCE);
}

static unsigned int quota(unsigned int n)
{
	return n * 20 / 100 ? n * 20 / 100 : 1;
}

/*
 * DX-76, DX-51, DX-105: every level posts with WAITIF and waits for the one below,
 * and all of it ends, with nothing but events to drive it and within the limits at
 * every dispatch and every post; nobody reports a stall.
 */
/* D-2, D-3: each hierarchy ends, within the limits at every move. */
TEST_F(hierarchy, finishes)
{
	struct dxt *t = &self->t;
	unsigned int users = variant->workers - variant->kernel, i;
	/* the debug kernel takes as long for a few as others for all */
	unsigned int roots = dxt_debug_kernel() ? variant->roots / 5 : variant->roots;
	unsigned int want[4] = { 0 }, limits[2][4], posts;
	struct profile profile[2];
	struct puppet *root;

	leaf = 0;
	child = variant->child;
	if (variant->kernel && dxk_executor_find(t->ctl, "nop", &leaf))
		SKIP(return, "no executors loaded");
	executing = 0;
	broken = wrong = 0;
	memset((void *)executed, 0, sizeof(executed));
	memset(fan, 0, sizeof(fan));
	fan[1] = variant->transactions;
	fan[2] = variant->subs;
	limit[0] = 0;
	limit[1] = quota(users);
	limit[2] = 2 * quota(users);
	limit[3] = users;
	for (i = 0; i < 4; i++) {
		limits[0][i] = i < 3 ? i * quota(variant->entries) : variant->entries;
		limits[1][i] = (unsigned int)limit[i];
	}
	self->traced = trace_begin();

	ASSERT_EQ(0, dxt_start(t));
	/* a crew that grows has smaller limits, so this is none for the start */
	ASSERT_EQ(0, dxt_workers_start(t, users));
	root = puppet_new(t, DXK_MEMBER_CLIENT);
	root->held = variant->top;
	root->post.nr = roots;
	puppet_begin(root, puppet_call_root);
	ASSERT_EQ(0, puppet_end(root));
	root->held = 0;
	puppet_free(root);

	want[variant->top] = roots;
	if (variant->top == 1)
		want[2] = roots * variant->transactions;
	want[3] = want[2] * variant->subs;
	EXPECT_EQ(0, broken);
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(want[1], executed[1]);
	EXPECT_EQ(want[2], executed[2]);
	EXPECT_EQ(leaf ? 0 : want[3], executed[3]);
	EXPECT_EQ(want[1] + want[2] + want[3], dxt_num(t, "stats/completions"));
	EXPECT_EQ(want[1] + want[2] + want[3], dxt_num(t, "stats/collected"));
	EXPECT_LE(dxt_num(t, "pools/ready_high_water"), variant->entries);
	EXPECT_EQ(0, dxt_num(t, "stats/stalls"));
	if (self->traced) {
		EXPECT_EQ(0, replay(t, limits, profile, &posts));
		/* none of the records was lost */
		EXPECT_EQ(want[1] + want[2] + want[3], posts);
		EXPECT_EQ(dxt_num(t, "pools/ready_high_water"), profile[0].high[3]);
		TH_LOG("most of lanes ..1, ..2, ..3: %u %u %u execute, %u %u %u wait",
		       profile[1].high[1], profile[1].high[2], profile[1].high[3],
		       profile[0].high[1], profile[0].high[2], profile[0].high[3]);
	}
	EXPECT_EQ(0, dxt_num(t, "owners"));
	EXPECT_EQ(0, dxt_num(t, "stats/missed_wakeups"));
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(0, working(t, i));
		EXPECT_EQ(0, waiting(t, i));
		EXPECT_EQ(0, dxt_num(t, "lanes/ready_lane%u_waiters", i));
	}
}

TEST_HARNESS_MAIN
