// SPDX-License-Identifier: GPL-2.0-only
/*
 * Workers that wait in a call of the library: what strict mode grinds to a halt on
 * (D-4, D-5, DX-37, DX-38) finishes when the waiting worker helps or a spare takes its
 * place, and a worker that helps is in two requests without mixing them up. Requests
 * that wait for the next one, link by link, in one worker or with a spare for each. What
 * the worker has in use, and what its death takes along. Built a second time with the
 * address sanitizer.
 */
#include "lib/dxt.h"

#include <dx.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- an executive that says how it does ------------------------------------ */

#define LOG		"/tmp/dxk-libwait-test.log"

static MTExecutive *executive(const ThreadManagerPolicy *policy,
			      struct dxt *t)
{
	MTExecutiveError error;
	RunSettings settings;
	MTExecutive *mte;

	RunSettingsInit(&settings, "libwait", 0, NULL);
	settings.LogPath = LOG;
	mte = MTExecutiveCreate(&settings, policy, &error);
	if (!mte) {
		fprintf(stderr, "# %s %s: %d\n", error.Step, error.Field, error.Error);
		return NULL;
	}
	*t = (struct dxt){ .id = (unsigned int)MTExecutiveContextId(mte) };
	return mte;
}

static ThreadManagerPolicy policy_of(unsigned int on_block,
				     unsigned int threads)
{
	ThreadManagerPolicy policy;

	unlink(LOG);
	ThreadManagerPolicyInit(&policy);
	policy.TPMaxThreads = threads;
	policy.TPMonitorInterval = 10;
	policy.TPDispatch = dxt_mode();
	policy.TPOnBlock = on_block;
	return policy;
}

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

/* Is there a line of the log that has this? */
static bool logged(const char *text)
{
	char line[512];
	bool found = false;
	FILE *f = fopen(LOG, "r");

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, text);
	if (f)
		fclose(f);
	return found;
}

/* --- chains ------------------------------------------------------------------- */

/*
 * A request that posts the next one and waits for it: the deepest of @links waits for
 * nobody. With its data, its result, its file and its log line at each depth.
 */
struct chain {
	Runnable base;
	unsigned int links;
	_Atomic unsigned int inside, most;	/* in execution, all waiting but one */
	_Atomic unsigned int ran, wrong;
	_Atomic unsigned int by[500];		/* by thread id */
	int owners[64];
	int fd;					/* a file that all get */
	_Atomic int stopped;
};

static ino_t inode(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : st.st_ino;
}

static int link_up(Runnable *self, void *request)
{
	struct chain *c = (struct chain *)self;
	unsigned int depth = (unsigned int)(uintptr_t)request, inside, most, sent;
	const RQElement *me = CurrentRequest();
	RQElement copy = *me, e;
	RQPost post = {
		.pOObject = &c->owners[depth],
		.pXObject = self,
		.pPObject = (void *)(uintptr_t)(depth + 1),
		.RQEPriority = (int)depth,
		.RQEAttrs = PXR_REJOIN | PXR_FD,
		.pData = &sent,
		.RQEDataLen = sizeof(sent),
		.RQEResultRoom = sizeof(sent),
		.RQEFd = c->fd,
	};
	unsigned int result = 1000 + depth, data = 0;
	int rc, fd;

	inside = ++c->inside;
	for (most = c->most; inside > most &&
	     !atomic_compare_exchange_weak(&c->most, &most, inside);)
		;
	c->ran++;
	c->by[me->RQEWorker]++;
	/* what came with it, and a result that the ones above must not touch */
	c->wrong += me->RQEDataLen != sizeof(data) || *(const unsigned int *)me->pData != depth;
	c->wrong += SetRequestResult(&result, sizeof(result)) != 0;
	LogMessage("link %u begins", depth);
	fd = me->RQEFd;
	c->wrong += fd < 0 || inode(fd) != inode(c->fd);
	if (depth % 2) {
		c->wrong += TakeRequestFd() != fd;
		copy.RQEFd = -1;
	}
	if (depth < c->links) {
		sent = depth + 1;
		c->wrong += PostRequests(&post, 1, 0, NULL) != 1;
		rc = GetRejoinElement(&c->owners[depth], &e, &data, sizeof(data), -1);
		if (rc == -ESHUTDOWN) {
			c->stopped++;
			rc = GetRejoinElement(&c->owners[depth], &e, &data, sizeof(data), -1);
		}
		c->wrong += rc != RJR_RETURNED;
		if (rc == RJR_RETURNED && e.RQEStatus != -ECANCELED)
			c->wrong += e.RQEStatus != (int)depth + 1 || data != 1001 + depth;
	}
	c->wrong += CurrentRequest() != me || memcmp(me, &copy, sizeof(copy));
	c->wrong += *(const unsigned int *)me->pData != depth;
	LogMessage("link %u ends", depth);
	if (depth % 2) {
		c->wrong += TakeRequestFd() != -ENOENT || inode(fd) != inode(c->fd);
		close(fd);
	}
	c->inside--;
	return (int)depth;
}

/* Posts the first link. */
static int chain_begin(struct chain *c, unsigned int links)
{
	static unsigned int data;
	RQPost post = {
		.pOObject = c,
		.pXObject = &c->base,
		.RQEAttrs = PXR_REJOIN | PXR_FD,
		.pData = &data,
		.RQEDataLen = sizeof(data),
		.RQEResultRoom = sizeof(data),
		.RQEFd = c->fd,
	};

	*c = (struct chain){ .base = { link_up }, .links = links, .fd = c->fd };
	return PostRequests(&post, 1, 0, NULL) == 1 ? 0 : -1;
}

static unsigned int descriptors(void)
{
	unsigned int nr = 0;
	int fd;

	for (fd = 0; fd < 1024; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

/*
 * One worker, in all links of a chain at once, as deep as help_depth allows and no
 * deeper: DX-80, DX-82, DX-85 for each of them.
 */
TEST(nested)
{
	ThreadManagerPolicy policy = policy_of(DXK_ON_BLOCK_HELP, 1);
	unsigned int data = 0, fds;
	struct chain c = { 0 };
	MTExecutive *mte;
	struct dxt t;
	RQElement e;
	int i;

	policy.TPHelpDepth = 5;
	mte = executive(&policy, &t);
	ASSERT_NE(NULL, mte);
	c.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, c.fd);
	fds = descriptors();

	/* again and again, for what a run leaves behind */
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, chain_begin(&c, 5));
		ASSERT_EQ(RJR_RETURNED, GetRejoinElement(&c, &e, &data, sizeof(data),
							 dxt_late_ns()));
		EXPECT_EQ(0, e.RQEStatus);
		EXPECT_EQ(1000, data);
		EXPECT_EQ(1, e.RQEWorker);
		EXPECT_EQ(6, c.ran);
		EXPECT_EQ(6, c.most);
		EXPECT_EQ(6, c.by[1]);
		EXPECT_EQ(0, c.wrong);
	}
	EXPECT_EQ(15, dxt_num(&t, "stats/helps"));
	/* other threads of the library may have one for a moment, now and before */
	EXPECT_TRUE(DXT_UNTIL(&t, descriptors() <= fds));
	EXPECT_EQ(0, dxt_num(&t, "stats/stalls"));

	/* one more than that: it stops there, which is told, and Stop ends it */
	ASSERT_EQ(0, chain_begin(&c, 6));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "stats/stalls") > 0));
	EXPECT_EQ(6, c.ran);
	EXPECT_EQ(6, c.inside);
	EXPECT_EQ(0, MTExecutiveStop(mte, DXK_STOP_CANCEL, -1));
	ASSERT_EQ(RJR_RETURNED, GetRejoinElement(&c, &e, &data, sizeof(data), 0));
	EXPECT_EQ(0, e.RQEStatus);
	EXPECT_EQ(1000, data);
	EXPECT_EQ(6, c.ran);
	EXPECT_EQ(0, c.wrong);
	EXPECT_LT(0, c.stopped);
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	EXPECT_TRUE(logged(" 1 link 5 begins"));
	EXPECT_TRUE(logged(" 1 link 5 ends"));
	EXPECT_FALSE(logged("link 6"));
	close(c.fd);
}

/* The same chain by spares: a thread for each link, at most max_spares of them. */
TEST(spares)
{
	ThreadManagerPolicy policy = policy_of(DXK_ON_BLOCK_SPARE, 1);
	struct chain c = { 0 };
	unsigned int data, i;
	long long stalls;
	MTExecutive *mte;
	struct dxt t;
	RQElement e;

	policy.TPMaxSpares = 3;
	mte = executive(&policy, &t);
	ASSERT_NE(NULL, mte);
	c.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	/* none before there is a need */
	EXPECT_EQ(0, dxt_num(&t, "pools/thread_spares"));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, chain_begin(&c, 3));
		ASSERT_EQ(RJR_RETURNED, GetRejoinElement(&c, &e, &data, sizeof(data),
							 dxt_late_ns()));
		EXPECT_EQ(1000, data);
		EXPECT_EQ(4, c.ran);
		EXPECT_EQ(4, c.most);
		EXPECT_EQ(0, c.wrong);
		EXPECT_EQ(1, c.by[1]);
		EXPECT_EQ(3, c.by[499] + c.by[498] + c.by[497]);
		EXPECT_EQ(3, dxt_num(&t, "pools/thread_spares"));
	}
	/* a spare that came late may have been told as a stall before */
	stalls = dxt_num(&t, "stats/stalls");
	ASSERT_EQ(0, chain_begin(&c, 4));
	EXPECT_TRUE(DXT_UNTIL(&t, c.ran == 4 && dxt_num(&t, "stats/stalls") > stalls));
	EXPECT_EQ(4, c.ran);
	EXPECT_EQ(3, dxt_num(&t, "pools/thread_spares"));

	EXPECT_EQ(0, MTExecutiveStop(mte, DXK_STOP_CANCEL, -1));
	ASSERT_EQ(RJR_RETURNED, GetRejoinElement(&c, &e, &data, sizeof(data), 0));
	EXPECT_EQ(1000, data);
	EXPECT_EQ(4, c.ran);
	EXPECT_EQ(0, c.wrong);
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	close(c.fd);
}

/* --- handles ------------------------------------------------------------------ */

struct class {
	HandleClass base;
	_Atomic unsigned int opens, closes;
};

static int open_own(HandleClass *base, void *native, void **own)
{
	(void)native;
	((struct class *)base)->opens++;
	*own = calloc(1, 1);
	return *own ? 0 : -ENOMEM;
}

static void close_own(HandleClass *base, void *own)
{
	((struct class *)base)->closes++;
	free(own);
}

struct handler {
	Runnable outer, inner;
	struct class class;
	int native[2];
	unsigned int closes;		/* when the inner one had ended */
	int wrong;
};

static int use_inner(Runnable *self, void *request)
{
	struct handler *h = request;
	char *own;

	(void)self;
	/* the one that the outer request has, too, and one of its own */
	h->wrong += GetThreadHandle(&h->native[0], (void **)&own) || *own != 1;
	h->wrong += ReleaseThreadHandle(&h->native[0]) != 0;
	h->wrong += GetThreadHandle(&h->native[1], (void **)&own) != 0;
	h->wrong += ReleaseThreadHandle(&h->native[1]) != 0;
	h->wrong += h->class.closes != 0;
	return 0;
}

static int use_outer(Runnable *self, void *request)
{
	struct handler *h = request;
	char *own, *again;

	(void)self;
	h->wrong += GetThreadHandle(&h->native[0], (void **)&own) != 0;
	*own = 1;
	h->wrong += PostARequest(h, &h->inner, &h->inner, 0, PXR_REJOIN) != 0;
	h->wrong += RejoinWait(&h->inner, NULL, -1) != RJR_RETURNED;
	h->closes = h->class.closes;
	/* still there, still the same */
	h->wrong += *own != 1;
	h->wrong += GetThreadHandle(&h->native[0], (void **)&again) || again != own;
	return 0;
}

/*
 * DX-27, DX-28: a handle that the request below has in use stays open when the one
 * above it ends; one that only that had is closed then.
 */
TEST(handles_of_both)
{
	ThreadManagerPolicy policy = policy_of(DXK_ON_BLOCK_HELP, 1);
	struct handler h = {
		.outer = { use_outer },
		.inner = { use_inner },
		.class = { .base = { open_own, close_own } },
	};
	MTExecutive *mte;
	struct dxt t;

	mte = executive(&policy, &t);
	ASSERT_NE(NULL, mte);
	ASSERT_EQ(0, HandleTableAdd(&h.class.base, &h.native[0]));
	ASSERT_EQ(0, HandleTableAdd(&h.class.base, &h.native[1]));
	ASSERT_EQ(0, PostARequest(&h, &h.outer, &h, 0, PXR_REJOIN));
	EXPECT_EQ(RJR_RETURNED, RejoinWait(&h, NULL, dxt_late_ns()));
	EXPECT_EQ(0, h.wrong);
	EXPECT_EQ(1, h.closes);
	EXPECT_EQ(2, h.class.opens);
	EXPECT_EQ(1, dxt_num(&t, "stats/helps"));
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(2, h.class.closes);
}

/* --- death -------------------------------------------------------------------- */

struct mortal {
	Runnable outer, inner;
};

static int die(Runnable *self, void *request)
{
	(void)self;
	(void)request;
	pthread_exit(NULL);
}

static int wait_for_dead(Runnable *self, void *request)
{
	struct mortal *m = request;

	(void)self;
	if (PostARequest(m, &m->inner, &m->inner, 0, PXR_REJOIN))
		return -1;
	RejoinWait(&m->inner, NULL, -1);
	return 0;
}

/* DX-25: a worker that dies in the upper of two requests takes both along. */
TEST(death_in_both)
{
	ThreadManagerPolicy policy = policy_of(DXK_ON_BLOCK_HELP, 1);
	struct mortal m = { { wait_for_dead }, { die } };
	struct chain c = { 0 };
	MTExecutive *mte;
	struct dxt t;
	RQElement e;
	int i;

	mte = executive(&policy, &t);
	ASSERT_NE(NULL, mte);
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, PostARequest(&m, &m.outer, &m.outer, 0, PXR_REJOIN));
		ASSERT_EQ(RJR_RETURNED, GetRejoinElement(&m.outer, &e, NULL, 0,
							 dxt_late_ns()));
		EXPECT_EQ(-EOWNERDEAD, e.RQEStatus);
		ASSERT_EQ(RJR_RETURNED, GetRejoinElement(&m.inner, &e, NULL, 0,
							 dxt_late_ns()));
		EXPECT_EQ(-EOWNERDEAD, e.RQEStatus);
	}
	/* and another one has taken its place */
	c.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ASSERT_EQ(0, chain_begin(&c, 2));
	EXPECT_EQ(RJR_RETURNED, RejoinWait(&c, NULL, dxt_late_ns()));
	EXPECT_EQ(0, c.wrong);
	EXPECT_EQ(6, dxt_num(&t, "stats/owner_dead"));
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	close(c.fd);
}

/* --- the calls of <dxk.h> ------------------------------------------------------- */

static void *post_top(void *arg)
{
	struct dxk_post_entry top = { .owner = 1, .executor = 1 };
	struct dxt *t = arg;

	t->member = dxk_member_create(t->ctx, DXK_MEMBER_CLIENT, NULL);
	dxk_post(t->member, &top, 1, 0, NULL);
	return NULL;
}

/* Fetches and completes the request that the worker was given. Return: its parameter. */
static int help_once(int member)
{
	struct dxk_work work;
	struct dxk_done done;
	unsigned int taken;

	if (dxk_next(member, NULL, 0, &taken, &work, 1, NULL, 0, 0) != 1)
		return -1;
	done = (struct dxk_done){ .ticket = work.ticket };
	dxk_next(member, &done, 1, &taken, NULL, 0, NULL, 0, 0);
	return taken == 1 ? (int)work.param : -1;
}

/* A request that a later batch of a rejoin gives to the caller is not kept from it. */
TEST(help_in_a_later_batch)
{
	static struct dxk_post_entry entry[DXK_BATCH_MAX + 1];
	static struct dxk_result result[DXK_BATCH_MAX + 1];
	unsigned int i, answer, taken;
	struct dxk_work top;
	pthread_t thread;
	struct dxt t;
	int member;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 1;
	t.policy.on_block = DXK_ON_BLOCK_HELP;
	ASSERT_EQ(0, dxk_policy_set(t.ctx, &t.policy, NULL));
	ASSERT_EQ(0, dxk_ctx_start(t.ctx));
	member = dxk_member_create(t.ctx, DXK_MEMBER_WORKER, NULL);
	ASSERT_LE(0, member);
	ASSERT_EQ(0, pthread_create(&thread, NULL, post_top, &t));
	ASSERT_EQ(1, dxk_next(member, NULL, 0, &taken, &top, 1, NULL, 0, -1));
	pthread_join(thread, NULL);

	for (i = 0; i < ARRAY_SIZE(entry); i++)
		entry[i] = (struct dxk_post_entry){
			.owner = 2, .executor = 2, .attrs = PXR_REJOIN, .param = i,
		};
	ASSERT_EQ(ARRAY_SIZE(entry), dxk_post(member, entry, ARRAY_SIZE(entry), 0, NULL));
	for (i = 0; i < DXK_BATCH_MAX; i++) {
		ASSERT_EQ(0, dxk_rejoin_flags(member, 2, result, ARRAY_SIZE(result),
					      ARRAY_SIZE(result), NULL, 0,
					      DXK_CALL_HELP, -1, &answer));
		ASSERT_EQ(RJR_HELP, answer);
		ASSERT_EQ(i, help_once(member));
	}
	EXPECT_EQ(DXK_BATCH_MAX, dxk_rejoin_flags(member, 2, result, ARRAY_SIZE(result),
						  ARRAY_SIZE(result), NULL, 0,
						  DXK_CALL_HELP, dxt_late_ns(),
						  &answer));
	ASSERT_EQ(RJR_HELP, answer);
	EXPECT_EQ(DXK_BATCH_MAX, help_once(member));
	EXPECT_EQ(1, dxk_rejoin(member, 2, result, 1, 1, NULL, 0, 0, &answer));
	EXPECT_EQ(DXK_BATCH_MAX, result[0].param);
	close(member);
	dxt_down(&t);
}

TEST_HARNESS_MAIN
