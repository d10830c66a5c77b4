// SPDX-License-Identifier: GPL-2.0-only
/*
 * A worker that helps is in two requests without mixing them up: requests that wait for
 * the next one, link by link, in one worker or with a spare for each; what the worker has
 * in use, and what its death takes along. Built a second time with the address sanitizer.
 */
#include "library/libwait.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

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
	fds = dxt_fds();

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
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_fds() <= fds));
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
