// SPDX-License-Identifier: GPL-2.0-only
/*
 * Workers that wait in a call of the library: what strict mode grinds to a halt on
 * (D-4, D-5, DX-37, DX-38) finishes when the waiting worker helps or a spare takes its
 * place. Built a second time with the address sanitizer.
 */
#include "library/libwait.h"

#include <stdlib.h>

#define FAMILIES	10

/* --- families ----------------------------------------------------------------- */

/* A parent, which posts children and waits for them. */
struct family {
	Runnable base;
	Runnable child;
	struct dxt_gate *barrier;
	unsigned int children;
	unsigned int attrs;			/* of the children */
	_Atomic unsigned int posted, executed, returned, cancelled, wrong;
	_Atomic int answer;
};

static int be_child(Runnable *self, void *request)
{
	struct family *f = request;

	f->wrong += self != &f->child || CurrentRequest()->pPObject != request ||
		    CurrentRequest()->pXObject != self ||
		    (int)CurrentRequest()->RQEWorker != MTExecutiveThreadId(NULL);
	f->executed++;
	return 7;
}

static int be_parent(Runnable *self, void *request)
{
	struct family *f = (struct family *)self;
	const RQElement *me = CurrentRequest();
	RQElement copy = *me, e;
	unsigned int ended = 0;
	int rc = 0;

	dxt_gate_pass(f->barrier, me->RQEWorker);
	while (f->posted < f->children && !rc) {
		rc = PostARequest(f, &f->child, f, 10, PXR_REJOIN | f->attrs);
		f->posted += !rc;
	}
	for (;;) {
		rc = GetRejoinElement(f, &e, NULL, 0, -1);
		/* Stop wakes the sleepers, once; then they can go on */
		if (rc == -ESHUTDOWN && !ended++)
			continue;
		if (rc != RJR_RETURNED)
			break;
		f->cancelled += e.RQEStatus == -ECANCELED;
		f->wrong += e.RQEStatus != 7 && e.RQEStatus != -ECANCELED;
		f->returned++;
	}
	f->answer = rc;
	/* whatever it executed meanwhile, this is the request that it executes */
	f->wrong += CurrentRequest() != me || memcmp(me, &copy, sizeof(copy)) ||
		    me->pPObject != request || me->pXObject != self;
	return 42;
}

static struct family family[FAMILIES];
static int all;				/* the parents' owner */

/* Posts @nr parents, which begin to post when @together of them execute. */
static bool parents(const struct dxt *t, struct dxt_gate *barrier, unsigned int nr,
		    unsigned int together, unsigned int children, unsigned int attrs)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		family[i] = (struct family){
			.base = { be_parent },
			.child = { be_child },
			.barrier = barrier,
			.children = children,
			.attrs = attrs,
		};
		if (PostARequest(&family[i], &family[i].base, &all, 0,
				 PXR_REJOIN | PXR_WAITIF_BUSY))
			return false;
	}
	if (!DXT_UNTIL(t, barrier->entered == together))
		return false;
	dxt_gate_open(barrier);
	return true;
}

/* All parents came back, and had all their children back. */
static bool finished(unsigned int nr, unsigned int children)
{
	bool right = true;
	unsigned int i;
	RQElement e;

	for (i = 0; i < nr; i++)
		right &= GetRejoinElement(&all, &e, NULL, 0,
					  dxt_late_ns()) == RJR_RETURNED &&
			 e.RQEStatus == 42;
	right &= GetRejoinRequest(&all, NULL) == RJR_NONE_EXIST;
	for (i = 0; i < nr; i++)
		right &= family[i].executed == children &&
			 family[i].returned == children && !family[i].cancelled &&
			 !family[i].wrong && family[i].answer == RJR_NONE_EXIST;
	return right;
}

/* D-4's policy: two workers, four entries, no lanes. */
static ThreadManagerPolicy d4(unsigned int on_block)
{
	ThreadManagerPolicy policy = policy_of(on_block, 2);

	policy.TPReadyEntries = 4;
	return policy;
}

/* D-5's policy: lanes, but the requests that wait are of lane 3. */
static ThreadManagerPolicy d5(unsigned int on_block)
{
	ThreadManagerPolicy policy = policy_of(on_block, 10);

	policy.TPReadyEntries = 100;
	policy.TPSchedMode = TPOOL_MODE_CMLS;
	policy.TPLanePct[1] = policy.TPLanePct[2] = 20;
	return policy;
}

/*
 * D-4, D-5 under strict: the stall is reported, and Stop(cancel) ends it: the
 * children come back cancelled, every parent sees their end (DX-108).
 */
static bool stalls(const ThreadManagerPolicy *policy, unsigned int nr,
		   unsigned int children)
{
	struct dxt_gate *barrier = dxt_gate_new();
	unsigned int i, executed = 0, returned = 0, posted = 0;
	MTExecutive *mte;
	bool right = true;
	struct dxt t;

	mte = executive(policy, &t);
	if (!mte || !parents(&t, barrier, nr, nr, children, PXR_WAITIF_BUSY))
		return false;
	right &= DXT_UNTIL(&t, dxt_num(&t, "stats/stalls") > 0);
	right &= !MTExecutiveStop(mte, DXK_STOP_CANCEL, -1);
	for (i = 0; i < nr; i++) {
		right &= RejoinWait(&all, NULL, 0) == RJR_RETURNED;
		executed += family[i].executed;
		returned += family[i].returned;
		posted += family[i].posted;
		right &= family[i].answer == RJR_NONE_EXIST && !family[i].wrong;
	}
	right &= !executed && returned == posted && posted < nr * children;
	right &= !MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1);
	dxt_gate_free(barrier);
	return right;
}

/* The same with somebody who executes for those who wait. */
static bool finishes(const ThreadManagerPolicy *policy, unsigned int nr,
		     unsigned int children, const char *counter)
{
	struct dxt_gate *barrier = dxt_gate_new();
	MTExecutive *mte;
	bool right = true;
	uint64_t begin;
	struct dxt t;

	mte = executive(policy, &t);
	begin = dxt_now();
	if (!mte || !parents(&t, barrier, nr, nr, children, PXR_WAITIF_BUSY))
		return false;
	right &= finished(nr, children);
	if (dxt_num(&t, "%s", counter) <= 0) {
		fprintf(stderr, "# %s is %lld\n", counter, dxt_num(&t, "%s", counter));
		right = false;
	}
	/* a spare may come later than the 100 ms after which a stall is told */
	if (dxt_num(&t, "stats/stalls") &&
	    (policy->TPOnBlock == DXK_ON_BLOCK_HELP || dxt_now() - begin < 100 * DXT_MS)) {
		fprintf(stderr, "# a stall was reported\n");
		right = false;
	}
	right &= !MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1);
	dxt_gate_free(barrier);
	return right;
}

TEST(strict_stalls)
{
	ThreadManagerPolicy policy = d4(DXK_ON_BLOCK_STRICT);

	EXPECT_TRUE(stalls(&policy, 2, 10));
	policy = d5(DXK_ON_BLOCK_STRICT);
	EXPECT_TRUE(stalls(&policy, 10, 11));
}

TEST(help_finishes)
{
	ThreadManagerPolicy policy = d4(DXK_ON_BLOCK_HELP);

	EXPECT_TRUE(finishes(&policy, 2, 10, "stats/helps"));
	policy = d5(DXK_ON_BLOCK_HELP);
	EXPECT_TRUE(finishes(&policy, 10, 11, "stats/helps"));
}

TEST(spare_finishes)
{
	ThreadManagerPolicy policy = d4(DXK_ON_BLOCK_SPARE);

	EXPECT_TRUE(finishes(&policy, 2, 10, "stats/spare_runs"));
	/* one spare is enough for children that wait for nobody */
	policy.TPMaxSpares = 1;
	EXPECT_TRUE(finishes(&policy, 2, 10, "stats/spare_runs"));
	policy = d5(DXK_ON_BLOCK_SPARE);
	EXPECT_TRUE(finishes(&policy, 10, 11, "stats/spare_runs"));
}

/* --- many at a time ------------------------------------------------------------ */

#define MANY	150

struct many {
	Runnable base;
	Runnable one;
	RQPost posts[MANY];
	RQElement elements[MANY];
	int data[MANY];
	_Atomic unsigned int executed;
	int posted, returned;
	unsigned int reason, answer, wrong;
};

static int be_one(Runnable *self, void *request)
{
	int result = 2 * *(const int *)CurrentRequest()->pData;

	(void)self;
	((struct many *)request)->executed++;
	return SetRequestResult(&result, sizeof(result));
}

static int be_many(Runnable *self, void *request)
{
	struct many *m = (struct many *)self;
	unsigned char seen[MANY] = { 0 };
	static int back[MANY];
	int i;

	(void)request;
	for (i = 0; i < MANY; i++) {
		m->data[i] = i;
		m->posts[i] = (RQPost){
			.pOObject = m,
			.pXObject = &m->one,
			.pPObject = m,
			.RQEAttrs = PXR_REJOIN | PXR_WAITIF_BUSY,
			.pData = &m->data[i],
			.RQEDataLen = sizeof(int),
			.RQEResultRoom = sizeof(int),
		};
	}
	m->posted = PostRequests(m->posts, MANY, -1, &m->reason);
	m->returned = GetRejoinRequests(m, m->elements, MANY, MANY, back, sizeof(*back),
					-1, &m->answer);
	for (i = 0; i < m->returned; i++) {
		int n = back[i] / 2;

		m->wrong += back[i] % 2 || n < 0 || n >= MANY || seen[n]++ ||
			    m->elements[i].RQEStatus;
	}
	return 0;
}

/* DX-37, DX-94: one call that posts many, one that waits for all, in each way. */
static bool at_once(unsigned int on_block, unsigned int entries)
{
	ThreadManagerPolicy policy = policy_of(on_block, 1);
	static struct many m;
	MTExecutive *mte;
	struct dxt t;

	m = (struct many){ .base = { be_many }, .one = { be_one } };
	policy.TPReadyEntries = entries;
	mte = executive(&policy, &t);
	if (!mte || PostARequest(NULL, &m.base, &all, 0, PXR_REJOIN) ||
	    RejoinWait(&all, NULL, dxt_late_ns()) != RJR_RETURNED)
		return false;
	if (m.posted != MANY || m.returned != MANY || m.executed != MANY || m.wrong ||
	    m.reason || m.answer != RJR_RETURNED) {
		fprintf(stderr, "# posted %d returned %d executed %u wrong %u reason %u\n",
			m.posted, m.returned, m.executed, m.wrong, m.reason);
		return false;
	}
	return !MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1);
}

TEST(many_at_once)
{
	EXPECT_TRUE(at_once(DXK_ON_BLOCK_HELP, 4));
	EXPECT_TRUE(at_once(DXK_ON_BLOCK_HELP, 1000));
	EXPECT_TRUE(at_once(DXK_ON_BLOCK_SPARE, 4));
}

/* --- deadlines ---------------------------------------------------------------- */

struct impatient {
	Runnable base;
	Runnable holder;
	struct dxt_gate *gate;
	int post, reason, rejoin;
	uint64_t took;
};

static int hold(Runnable *self, void *request)
{
	(void)self;
	dxt_gate_pass(request, CurrentRequest()->RQEWorker);
	return 0;
}

static int try_in_vain(Runnable *self, void *request)
{
	struct impatient *p = (struct impatient *)self;
	RQPost post = {
		.pOObject = p,
		.pXObject = &p->holder,
		.pPObject = p->gate,
		.RQEAttrs = PXR_REJOIN | PXR_WAITIF_BUSY,
	};
	uint64_t begin = dxt_now();
	unsigned int reason = 99;

	(void)request;
	/* the other worker has what this one waits for: nobody can help */
	p->rejoin = RejoinWait(p->gate, NULL, 50 * DXT_MS);
	p->took = dxt_now() - begin;
	p->post = PostRequests(&post, 1, 0, &reason);
	p->reason = (int)reason;
	return 0;
}

/* DX-44, DX-91: a deadline ends the wait of a worker that could help; polls do not. */
TEST(deadlines)
{
	ThreadManagerPolicy policy = policy_of(DXK_ON_BLOCK_HELP, 2);
	struct impatient p = {
		.base = { try_in_vain },
		.holder = { hold },
		.gate = dxt_gate_new(),
	};
	MTExecutive *mte;
	struct dxt t;

	mte = executive(&policy, &t);
	ASSERT_NE(NULL, mte);
	ASSERT_EQ(0, PostARequest(p.gate, &p.holder, p.gate, 0, PXR_REJOIN));
	ASSERT_TRUE(DXT_UNTIL(&t, p.gate->entered == 1));
	ASSERT_EQ(0, PostARequest(NULL, &p.base, &p.base, 0, PXR_REJOIN));
	EXPECT_EQ(RJR_RETURNED, RejoinWait(&p.base, NULL, dxt_late_ns()));
	EXPECT_EQ(RJR_NONE_READY, p.rejoin);
	EXPECT_LE(50 * DXT_MS, p.took);
	EXPECT_EQ(1, p.post);
	EXPECT_EQ(0, p.reason);
	dxt_gate_open(p.gate);
	EXPECT_EQ(RJR_RETURNED, RejoinWait(p.gate, NULL, -1));
	EXPECT_EQ(RJR_RETURNED, RejoinWait(&p, NULL, -1));
	EXPECT_EQ(0, dxt_num(&t, "stats/helps"));
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	dxt_gate_free(p.gate);
}

TEST_HARNESS_MAIN
