// SPDX-License-Identifier: GPL-2.0-only
/* As lib.c: Runnables that post and collect, while the executive runs or stops. */
#include "lib_test.h"

/* --- the sequence of the DX document ----------------------------------------- */

#define SUBS	8

struct request {
	struct request *top;	/* NULL: it is the top one */
	int number;
	int status;
	bool done;
};

struct worker_object {
	Runnable base;
	Runnable *helper;
	struct request sub[SUBS];
	_Atomic int inside, most;	/* sub-requests in execution */
	_Atomic int wrong;
	_Atomic unsigned int ran[1000];	/* by thread id */
};

static void check(struct worker_object *o, bool ok)
{
	if (!ok)
		o->wrong++;
}

/* Keep it in execution until another one is, so that they overlap if they can. */
static void overlap(struct worker_object *o)
{
	int inside = ++o->inside, most = o->most;

	while (inside > most && !atomic_compare_exchange_weak(&o->most, &most, inside))
		;
	DXT_SOON(o->most >= 2);
	o->inside--;
}

static int execute(Runnable *self, void *request)
{
	struct worker_object *o = (struct worker_object *)self;
	const RQElement *current = CurrentRequest();
	struct request *r = request;
	void *got;
	int i, rc;

	check(o, current && current->pPObject == request && current->pXObject == self &&
		 current->RQEState == RQE_BUSY);
	rc = MTExecutiveThreadId(NULL);
	check(o, rc >= 1 && rc <= 499);
	o->ran[rc]++;
	if (r->top) {
		check(o, current->pOObject == r->top && current->RQEPriority == 10);
		overlap(o);
		r->done = true;
		return 100 + r->number;
	}

	/* DX-105: post for this Runnable and for another one, while executing. */
	check(o, GetRejoinRequest(r, &got) == RJR_NONE_EXIST && !got);
	for (i = 0; i < SUBS; i++) {
		o->sub[i] = (struct request){ .top = r, .number = i };
		rc = PostARequest(&o->sub[i], i == SUBS - 1 ? o->helper : self, r, 10,
				  PXR_REJOIN | PXR_WAITIF_BUSY);
		check(o, rc == 0);
	}
	for (i = 0; i < SUBS; i++) {
		RQElement e;

		rc = GetRejoinElement(r, &e, NULL, 0, dxt_late_ns());
		check(o, rc == RJR_RETURNED);
		if (rc != RJR_RETURNED)
			break;
		check(o, ((struct request *)e.pPObject)->done);
		check(o, e.RQEStatus == 100 + ((struct request *)e.pPObject)->number);
		check(o, e.RQEState == RQE_REJOIN && e.pOObject == r);
		((struct request *)e.pPObject)->status = e.RQEStatus;
	}
	check(o, GetRejoinRequest(r, &got) == RJR_NONE_EXIST);
	/* after the sub-requests the current request is still the top one */
	check(o, CurrentRequest() == current && current->pPObject == request);
	return 42;
}

static int help(Runnable *self, void *request)
{
	struct request *r = request;

	(void)self;
	r->done = true;
	return 100 + r->number;
}

/*
 * DX-104, DX-105, DX-106: main posts the top request, a worker runs it, it posts
 * sub-requests for the same Runnable, which run in parallel, collects them all and
 * gets NONE_EXIST; it ends, main collects it and gets NONE_EXIST.
 */
TEST(sequence)
{
	Runnable helper = { .ExecuteThisRequest = help };
	struct worker_object *o;
	struct request top = { 0 };
	MTExecutive *mte;
	RQElement e;
	void *got;
	int i, owner;

	o = calloc(1, sizeof(*o));
	ASSERT_NE(NULL, o);
	o->base.ExecuteThisRequest = execute;
	o->helper = &helper;
	mte = executive(4);
	ASSERT_NE(NULL, mte);
	EXPECT_EQ(NULL, CurrentRequest());
	EXPECT_EQ(RJR_NONE_EXIST, GetRejoinRequest(&owner, &got));
	ASSERT_EQ(0, PostARequest(&top, &o->base, &owner, 1, PXR_REJOIN));
	EXPECT_EQ(RJR_RETURNED, GetRejoinElement(&owner, &e, NULL, 0,
						 dxt_late_ns()));
	EXPECT_EQ(&top, e.pPObject);
	EXPECT_EQ(&o->base, e.pXObject);
	EXPECT_EQ(&owner, e.pOObject);
	EXPECT_EQ(42, e.RQEStatus);
	EXPECT_EQ(1, e.RQEPriority);
	EXPECT_EQ(RJR_NONE_EXIST, GetRejoinRequest(&owner, &got));
	EXPECT_EQ(NULL, got);
	EXPECT_EQ(0, o->wrong);
	EXPECT_LE(2, o->most) TH_LOG("sub-requests did not run in parallel");
	for (i = 0; i < SUBS; i++)
		EXPECT_EQ(100 + i, o->sub[i].status);
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	free(o);
}

struct gated {
	Runnable base;
	struct dxt_gate *gate;
	MTExecutive *mte;
	_Atomic int stop_answer;
};

static int execute_gated(Runnable *self, void *request)
{
	struct gated *g = (struct gated *)self;

	(void)request;
	g->stop_answer = MTExecutiveStop(g->mte, DXK_STOP_DRAIN, 0);
	dxt_gate_pass(g->gate, 0);
	return 5;
}

/* DX-107, DX-110: Stop while a Runnable executes. */
TEST(stop_while_executing)
{
	struct gated g = { .base.ExecuteThisRequest = execute_gated };
	char owner, request[3];
	MTExecutive *mte;
	struct dxt t = { 0 };
	RQElement e;
	void *got;
	int i;

	g.gate = dxt_gate_new();
	g.mte = mte = executive(1);
	ASSERT_NE(NULL, mte);
	t.id = (unsigned int)MTExecutiveContextId(mte);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, PostARequest(&request[i], &g.base, &owner, 0, PXR_REJOIN));
	ASSERT_TRUE(DXT_UNTIL(&t, g.gate->entered == 1));
	EXPECT_EQ(-ETIMEDOUT, MTExecutiveStop(mte, DXK_STOP_CANCEL, 10 * DXT_MS));
	/* a worker cannot wait for itself */
	EXPECT_EQ(-EDEADLK, g.stop_answer);
	EXPECT_EQ(-ESHUTDOWN, PostARequest(&request[0], &g.base, &owner, 0, PXR_REJOIN));
	for (i = 1; i < 3; i++) {
		EXPECT_EQ(RJR_RETURNED, GetRejoinElement(&owner, &e, NULL, 0, 0));
		EXPECT_EQ(&request[i], e.pPObject);
		EXPECT_EQ(-ECANCELED, e.RQEStatus);
		EXPECT_EQ(0, e.RQEWorker);
	}
	EXPECT_EQ(RJR_NONE_READY, GetRejoinRequest(&owner, &got));
	EXPECT_EQ(-ETIMEDOUT, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, 10 * DXT_MS));
	dxt_gate_open(g.gate);
	EXPECT_EQ(0, MTExecutiveStop(mte, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(RJR_RETURNED, GetRejoinElement(&owner, &e, NULL, 0, 0));
	EXPECT_EQ(5, e.RQEStatus);
	EXPECT_EQ(RJR_NONE_EXIST, GetRejoinRequest(&owner, &got));
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	dxt_gate_free(g.gate);
}

static int execute_data(Runnable *self, void *request)
{
	const RQElement *current = CurrentRequest();
	char text[64];

	(void)self;
	(void)request;
	if (SetRequestResult(current, current->RQEResultRoom + 1) != -EMSGSIZE)
		return 1;
	snprintf(text, sizeof(text), "%.*s!", (int)current->RQEDataLen,
		 (const char *)current->pData);
	return SetRequestResult(text, strlen(text) + 1);
}

/* Data there and back; a result without room for it stays. */
TEST(data)
{
	Runnable runnable = { .ExecuteThisRequest = execute_data };
	MTExecutive *mte = executive(2);
	char owner, room[64] = "";
	RQPost post = {
		.pOObject = &owner, .pXObject = &runnable, .RQEAttrs = PXR_REJOIN,
		.pData = "hello", .RQEDataLen = 5, .RQEResultRoom = 16,
	};
	unsigned int reason;
	RQElement e;

	ASSERT_NE(NULL, mte);
	EXPECT_EQ(-EPERM, SetRequestResult("", 0));
	EXPECT_EQ(-EPERM, TakeRequestFd());
	ASSERT_EQ(1, PostRequests(&post, 1, 0, &reason));
	EXPECT_EQ(-EMSGSIZE, GetRejoinElement(&owner, &e, room, 2,
					      dxt_late_ns()));
	EXPECT_EQ(RJR_RETURNED, GetRejoinElement(&owner, &e, room, sizeof(room), 0));
	EXPECT_EQ(0, e.RQEStatus);
	EXPECT_EQ(7, e.RQEDataLen);
	EXPECT_TRUE(e.pData == room);
	EXPECT_STREQ("hello!", room);
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
}
