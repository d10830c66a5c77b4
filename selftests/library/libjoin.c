// SPDX-License-Identifier: GPL-2.0-only
/*
 * The context of a DX application has a name and a mode, and another process finds
 * it by the thin API. Built a second time with the address sanitizer.
 */
#include "lib/dxt.h"

#include <dx.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME	"libjoin-test"

static const OperationTable table;

static MTExecutive *executive(const char *name, unsigned int mode, struct dxt *t,
			      MTExecutiveError *error)
{
	ThreadManagerPolicy policy;
	RunSettings settings;
	MTExecutive *mte;

	RunSettingsInit(&settings, "libjoin", 0, NULL);
	settings.LogPath = "/dev/null";
	settings.ContextName = name;
	settings.ContextMode = mode;
	settings.Operations = &table;
	ThreadManagerPolicyInit(&policy);
	policy.TPMaxThreads = 2;
	policy.TPDispatch = dxt_mode();
	mte = MTExecutiveCreate(&settings, &policy, error);
	if (mte)
		*t = (struct dxt){ .id = (unsigned int)MTExecutiveContextId(mte) };
	return mte;
}

static bool has(const struct dxt *t, const char *file, const char *value)
{
	char text[64];

	return dxt_text(t, text, sizeof(text), "%s", file) && !strcmp(text, value);
}

/* Names and modes that there are, and those that cannot be. */
TEST(names)
{
	static const char *const bad[] = {
		"", ".", "..", "a/b", "a b", "\tx", "caf\xc3\xa9",
		"12345678901234567890123456789012",
	};
	MTExecutive *mte, *other;
	MTExecutiveError error;
	struct dxt t, u;
	size_t i;

	mte = executive(NULL, 0, &t, &error);
	ASSERT_NE(NULL, mte);
	EXPECT_TRUE(has(&t, "name", ""));
	EXPECT_TRUE(has(&t, "mode", "0744"));
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_POLICY, -1));

	mte = executive(NAME, 0640, &t, &error);
	ASSERT_NE(NULL, mte);
	EXPECT_TRUE(has(&t, "name", NAME));
	EXPECT_TRUE(has(&t, "mode", "0640"));
	EXPECT_EQ(NULL, executive(NAME, 0, &u, &error));
	EXPECT_STREQ("context", error.Step);
	EXPECT_EQ(-EEXIST, error.Error);
	/* another name, and the same again when it is free */
	other = executive("1234567890123456789012345678901", 0, &u, &error);
	EXPECT_NE(NULL, other);
	EXPECT_EQ(0, MTExecutiveDestroy(other, DXK_STOP_POLICY, -1));
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_POLICY, -1));
	mte = executive(NAME, 0, &t, &error);
	ASSERT_NE(NULL, mte);
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_POLICY, -1));

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(NULL, executive(bad[i], 0, &t, &error)) TH_LOG("%s", bad[i]);
		EXPECT_STREQ("context", error.Step);
		EXPECT_EQ(-EINVAL, error.Error);
	}
	EXPECT_EQ(NULL, executive(NAME, 01000, &t, &error));
	EXPECT_STREQ("context", error.Step);
	EXPECT_EQ(-EINVAL, error.Error);
}

/* --- another process ---------------------------------------------------------- */

static int triple(Runnable *self, void *request)
{
	(void)self;
	return 3 * (int)(uintptr_t)request;
}

static Runnable tripler = { triple };

enum { TRIPLE = 1, WHO = 3, OPERATIONS };

static int triple_number(const RQElement *request)
{
	return 3 * (int)(uintptr_t)request->pPObject;
}

/* Is it the process of the data that has posted this? Own ones give 1000 more. */
static int who(const RQElement *request)
{
	RQPoster poster;

	if (CurrentPoster(&poster) || request != CurrentRequest() ||
	    request->pXObject != DX_OPERATION(WHO) ||
	    request->RQEDataLen != sizeof(RQPoster) ||
	    memcmp(request->pData, &poster, sizeof(poster)))
		return -EIO;
	return 5 + 1000 * (int)poster.Own;
}

static const Operation operations[OPERATIONS] = { [TRIPLE] = triple_number, [WHO] = who };
static const OperationTable table = { operations, OPERATIONS, 0 };

/* In the child: joins, posts for an operation of the parent, collects. */
static int visit(unsigned int id, bool by_name, unsigned int flags)
{
	struct dxk_post_entry entry = dxt_entry(DXT_PTR(&tripler), TRIPLE, 14, PXR_REJOIN);
	struct dxk_result result;
	unsigned int found = ~0U, answer, reason;
	int ctl, ctx, member;

	ctl = dxk_open();
	if (ctl < 0)
		return 1;
	ctx = by_name ? dxk_ctx_join(ctl, NAME, DXK_ACCESS_WRITE, flags, &found) :
			dxk_ctx_join_id(ctl, id, DXK_ACCESS_WRITE, flags);
	if (ctx < 0 || (by_name && found != id))
		return 2;
	member = dxk_member_create(ctx, DXK_MEMBER_CLIENT, &found);
	if (member < 0 || found < 1000)
		return 3;
	if (dxk_post(member, &entry, 1, 0, &reason) != 1)
		return 4;
	if (dxk_rejoin(member, entry.owner, &result, 1, 1, NULL, 0,
		       dxt_late_ns(), &answer) != 1)
		return 5;
	if (result.status != 42)
		return 6;
	/* what the parent has posted for the same cookie is not seen here */
	if (dxk_rejoin(member, entry.owner, &result, 1, 1, NULL, 0, 0, &answer) ||
	    answer != RJR_NONE_EXIST)
		return 7;
	/* it was not opened for these */
	if (dxk_crew_wait(ctx, 0, NULL, NULL) != -EACCES ||
	    dxk_member_create(ctx, DXK_MEMBER_WORKER, NULL) != -EACCES ||
	    dxk_ctx_stop(ctx, DXK_STOP_CANCEL, 0) != -EACCES)
		return 8;
	return 0;
}

/* A process that joins by name or by id has its requests executed here (DX-50). */
TEST(visitors)
{
	MTExecutiveError error;
	MTExecutive *mte;
	struct dxt t;
	RQElement e;
	int i, ctl;
	pid_t pid;

	mte = executive(NAME, 0, &t, &error);
	ASSERT_NE(NULL, mte);
	ASSERT_EQ(0, PostARequest((void *)1, &tripler, &tripler, 0, PXR_REJOIN));
	for (i = 0; i < 4; i++) {
		pid = dxt_fork();
		ASSERT_LE(0, pid);
		if (!pid)
			_exit(visit(t.id, i & 1, i & 2 ? DXK_JOIN_SHARED : 0));
		EXPECT_EQ(0, dxt_reap(pid));
	}
	EXPECT_EQ(RJR_RETURNED, GetRejoinElement(&tripler, &e, NULL, 0,
						 dxt_late_ns()));
	EXPECT_EQ(3, e.RQEStatus);
	EXPECT_EQ(RJR_NONE_EXIST, GetRejoinRequest(&tripler, NULL));
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));

	ctl = dxk_open();
	EXPECT_EQ(-ENOENT, dxk_ctx_join(ctl, NAME, DXK_ACCESS_WRITE, 0, NULL));
	EXPECT_EQ(-ENOENT, dxk_ctx_join_id(ctl, t.id, DXK_ACCESS_WRITE, 0));
	EXPECT_EQ(-EINVAL, dxk_ctx_join(ctl, "", DXK_ACCESS_WRITE, 0, NULL));
	EXPECT_EQ(-EINVAL, dxk_ctx_join(ctl, "12345678901234567890123456789012",
					DXK_ACCESS_WRITE, 0, NULL));
	close(ctl);
}

/* Each executor that a stranger can name, and the status that it gets. */
static int strangers_posts(unsigned int id, uid_t uid)
{
	static const struct {
		uint64_t executor;
		int status;
	} post[] = {
		{ DXT_PTR(&tripler), -ENOSYS },		/* the parent has it there, too */
		{ 0x414141414000, -ENOSYS },
		{ ~0ULL, -ENOSYS },
		{ DX_OPERATIONS, -ENOSYS },
		{ DX_OPERATIONS - 1, -ENOSYS },
		{ OPERATIONS, -ENOSYS },
		{ 2, -ENOSYS },				/* there is none */
		{ 0, -ENOSYS },
		{ 1ULL << 32 | TRIPLE, -ENOSYS },
		{ TRIPLE, 42 },
		{ WHO, 5 },
	};
	gid_t gid = uid + 1;
	RQPoster me = { .Uid = uid, .Gid = gid, .Pid = (uint32_t)getpid() };
	struct dxk_post_entry e;
	struct dxk_result r;
	int ctl = dxk_open(), ctx, member;
	unsigned int i, answer;

	if (setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
		return 1;
	ctx = dxk_ctx_join_id(ctl, id, DXK_ACCESS_WRITE, 0);
	member = dxk_member_create(ctx, DXK_MEMBER_CLIENT, NULL);
	for (i = 0; i < ARRAY_SIZE(post); i++) {
		e = dxt_entry(1, post[i].executor, 14, PXR_REJOIN);
		e.data = DXT_PTR(&me);
		e.data_len = sizeof(me);
		if (dxk_post(member, &e, 1, 0, NULL) != 1 ||
		    dxk_rejoin(member, 1, &r, 1, 1, NULL, 0, dxt_late_ns(), &answer) != 1)
			return 2;
		if (r.status != post[i].status)
			return 10 + (int)i;
	}
	return 0;
}

/*
 * Whoever may post names executors of its choice: what is no operation of the table is not
 * jumped to, and the requests of the process itself are executed as ever.
 */
TEST(strangers)
{
	RQPoster me = { .Pid = (uint32_t)getpid(), .Own = 1 };
	MTExecutiveError error;
	MTExecutive *mte;
	RQElement e;
	RQPost post = {
		.pOObject = &e,
		.pXObject = DX_OPERATION(WHO),
		.RQEAttrs = PXR_REJOIN,
		.pData = &me,
		.RQEDataLen = sizeof(me),
	};
	struct dxt t;
	uid_t uid;
	pid_t pid;

	mte = executive(NAME, 0622, &t, &error);
	ASSERT_NE(NULL, mte);
	for (uid = 4005; uid < 4035; uid += 10) {
		pid = dxt_fork();
		if (!pid)
			_exit(strangers_posts(t.id, uid));
		EXPECT_EQ(0, dxt_reap(pid)) TH_LOG("user %u", uid);
	}
	EXPECT_EQ(0, PostARequest((void *)5, &tripler, &e, 0, PXR_REJOIN));
	EXPECT_EQ(RJR_RETURNED, GetRejoinElement(&e, &e, NULL, 0, dxt_late_ns()));
	EXPECT_EQ(15, e.RQEStatus);
	EXPECT_EQ(1, PostRequests(&post, 1, 0, NULL));
	EXPECT_EQ(RJR_RETURNED, GetRejoinElement(&e, &e, NULL, 0, dxt_late_ns()));
	EXPECT_EQ(1005, e.RQEStatus);
	EXPECT_EQ(0, PostARequest(NULL, DX_OPERATION(2), &e, 0, PXR_REJOIN));
	EXPECT_EQ(RJR_RETURNED, GetRejoinElement(&e, &e, NULL, 0, dxt_late_ns()));
	EXPECT_EQ(-ENOSYS, e.RQEStatus);
	EXPECT_EQ(-EPERM, CurrentPoster(&me));
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
}

/* In a child: a client of the parent's context by the names of DX. */
static int joins(int64_t owner, int want)
{
	MTExecutiveError error;
	RunSettings settings;
	MTExecutive *mte;
	RQElement e;
	int rc;

	RunSettingsInit(&settings, "libjoin", 0, NULL);
	settings.LogPath = "/dev/null";
	settings.ContextName = NAME;
	mte = MTExecutiveJoin(&settings, owner, &error);
	if (!mte)
		return strcmp(error.Step, "context") ? 1 : error.Error == want ? 0 : 2;
	if (want)
		return 3;
	if (PostARequest((void *)14, DX_OPERATION(TRIPLE), &e, 0, PXR_REJOIN) ||
	    GetRejoinElement(&e, &e, NULL, 0, dxt_late_ns()) != RJR_RETURNED ||
	    e.RQEStatus != 42)
		return 4;
	/* the parent has a Runnable there, and so has this process */
	if (PostARequest((void *)14, &tripler, &e, 0, PXR_REJOIN) ||
	    GetRejoinElement(&e, &e, NULL, 0, dxt_late_ns()) != RJR_RETURNED ||
	    e.RQEStatus != -ENOSYS)
		return 5;
	if (MTExecutiveStart(mte, NULL) != -EACCES ||
	    MTExecutiveStop(mte, DXK_STOP_CANCEL, 0) != -EACCES ||
	    SendCommand("drain", NULL, 0, 0) != -EACCES ||
	    RequestState(&e, NULL, NULL) != -EACCES)
		return 6;
	if (LogMessage("a client") || MTExecutiveThreadId(mte) < 1000)
		return 7;
	rc = MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1);
	return rc ? 8 : MTExecutiveContextFd(NULL) == -ENXIO ? 0 : 9;
}

TEST(clients)
{
	static const struct {
		int64_t owner;
		int want;
	} join[] = {
		{ DX_ANY_OWNER, 0 }, { 0, 0 }, { 4005, -EPERM }, { -2, -EINVAL },
		{ UINT32_MAX, -EPERM }, { 1LL << 32, -EINVAL },
	};
	MTExecutiveError error;
	RunSettings settings;
	MTExecutive *mte;
	struct dxt t;
	RQElement e;
	unsigned int i;

	mte = executive(NAME, 0622, &t, &error);
	ASSERT_NE(NULL, mte);
	for (i = 0; i < ARRAY_SIZE(join); i++) {
		pid_t pid = dxt_fork();

		if (!pid)
			_exit(joins(join[i].owner, join[i].want));
		EXPECT_EQ(0, dxt_reap(pid)) TH_LOG("owner %lld", (long long)join[i].owner);
	}
	/* it runs on */
	EXPECT_EQ(0, PostARequest((void *)5, &tripler, &e, 0, PXR_REJOIN));
	EXPECT_EQ(RJR_RETURNED, GetRejoinElement(&e, &e, NULL, 0, dxt_late_ns()));
	EXPECT_EQ(15, e.RQEStatus);
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));

	RunSettingsInit(&settings, "libjoin", 0, NULL);
	settings.LogPath = "/dev/null";
	EXPECT_EQ(NULL, MTExecutiveJoin(&settings, DX_ANY_OWNER, &error));
	EXPECT_EQ(-EINVAL, error.Error);
	settings.ContextName = NAME;
	EXPECT_EQ(NULL, MTExecutiveJoin(&settings, DX_ANY_OWNER, &error));
	EXPECT_EQ(-ENOENT, error.Error);
	EXPECT_STREQ("context", error.Step);
}

/* Forks as soon as there is an executive, whose log's thread writes its first lines. */
static int forks(void)
{
	MTExecutiveError error;
	struct dxt t;
	MTExecutive *mte = executive(NAME, 0622, &t, &error);
	pid_t pid;

	if (!mte)
		return 20;
	pid = dxt_fork();
	if (!pid)
		_exit(joins(0, 0));
	if (dxt_reap(pid))
		return 21;
	return MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1) ? 22 : 0;
}

/* A child makes an executive of its own whatever the parent's threads held at the fork. */
TEST(log_after_fork)
{
	int i;

	for (i = 0; i < 40; i++) {
		pid_t pid = dxt_fork();

		if (!pid)
			_exit(forks());
		EXPECT_EQ(0, dxt_reap(pid));
		dxt_tell("fork %d", i);
	}
}

TEST_HARNESS_MAIN
