// SPDX-License-Identifier: GPL-2.0-only
/*
 * Aglets without memory: each allocation of each call fails, and the call says so; afterwards all
 * is as it was (AG-1, AG-11 .. AG-16, AG-28).
 */
#define _GNU_SOURCE
#include "library/libaglet.h"

/* Of this thread: so many succeed, then one does not; -1: all succeed */
static _Thread_local int succeed = -1;
static _Thread_local bool failed;

/* The sanitizer has an allocator of its own. */
#ifdef __SANITIZE_ADDRESS__
static const bool ours = false;
#else
static const bool ours = true;

static bool fails(void)
{
	if (succeed < 0 || succeed--)
		return false;
	failed = true;
	errno = ENOMEM;
	return true;
}

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t nr, size_t size);

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t nr, size_t size)
{
	return fails() ? NULL : __libc_calloc(nr, size);
}
#endif

struct world {
	struct place p;
	struct agent a, b;
	AgletMessage *echo, *empty, *call;
	ReplySet *set;
};

/* Calls that return 0, or an enum AgletAnswer, if all of it succeeds. */

static int sends_and_waits(struct world *w)
{
	AgletReply *r = NULL;
	int rc = AgletProxy_sendMessage(w->a.proxy, w->echo, &r);

	free(r);
	return rc;
}

static int sends_for_nothing(struct world *w)
{
	AgletReply *r = NULL;
	int rc = AgletProxy_sendMessage(w->a.proxy, w->empty, &r);

	free(r);
	return rc;
}

static int sends_future(struct world *w)
{
	FutureReply *f = NULL;
	AgletReply *r = NULL;
	int rc = AgletProxy_sendFutureMessage(w->a.proxy, w->echo, &f);

	if (!rc)
		rc = FutureReply_getReply(f, &r);
	FutureReply_release(f);
	free(r);
	return rc;
}

static int sends_oneway(struct world *w)
{
	return AgletProxy_sendOnewayMessage(w->a.proxy, w->echo);
}

static int sends_to_set(struct world *w)
{
	int rc = ReplySet_sendFutureMessage(w->set, w->a.proxy, w->echo, NULL);

	return rc ? rc : ReplySet_waitForAll(w->set, 0);
}

static int adds_to_set(struct world *w)
{
	FutureReply *f = NULL;
	int rc = AgletProxy_sendFutureMessage(w->a.proxy, w->echo, &f);

	if (!rc)
		rc = ReplySet_addFutureReply(w->set, f);
	if (rc)
		FutureReply_release(f);
	return rc ? rc : ReplySet_waitForAll(w->set, 0);
}

static int sends_to_all(struct world *w)
{
	int rc = AgletContext_multicastMessage(w->p.c, w->call, w->set);

	return rc == 2 ? ReplySet_waitForAll(w->set, 0) : rc < 0 ? rc : -ENOMEM;
}

static int makes_message(struct world *w)
{
	AgletMessage *m = AgletMessage_create("kind", "arg", 3);

	(void)w;
	AgletMessage_release(m);
	return m ? 0 : -ENOMEM;
}

static int makes_set(struct world *w)
{
	ReplySet *set = ReplySet_create(w->p.c);

	ReplySet_release(set);
	return set ? 0 : -ENOMEM;
}

static int makes_aglet(struct world *w)
{
	struct agent c = agent_of(NULL);
	int rc = begins(w->p.c, &c);

	if (rc)
		return c.proxy || c.created ? -EPROTO : rc;
	return goes(&c) ? 0 : -EPROTO;
}

static int makes_context(struct world *w)
{
	AgletContextOptions options;
	AgletContext *c;

	AgletContextOptionsInit(&options);
	options.minThreads = options.maxThreads = 0;
	c = AgletContext_create(w->p.mte, &options);
	return c ? AgletContext_dispose(c) : -errno;
}

static int says_of_kind(struct world *w)
{
	int rc = MessageManager_setPriority(&w->a.base, "rare", 7);

	MessageManager_removePriority(&w->a.base, "rare");
	return rc;
}

static int changes_state(struct world *w)
{
	return AgletProxy_suspend(w->a.proxy) || AgletProxy_deactivate(w->a.proxy) ||
	       AgletProxy_activate(w->a.proxy);
}

TEST(each_allocation_fails)
{
	static int (*const calls[])(struct world *w) = {
		sends_and_waits, sends_for_nothing, sends_future, sends_oneway, sends_to_set,
		adds_to_set, sends_to_all, makes_message, makes_set, makes_aglet, makes_context,
		says_of_kind, changes_state,
	};
	struct world w = { .a = agent_of(NULL), .b = agent_of(NULL) };
	int rc;

	if (!ours)
		SKIP(return, "another allocator");
	ASSERT_EQ(0, place_up(&w.p, 2, DXK_ON_BLOCK_STRICT, DXK_REENTRY_CHAIN));
	ASSERT_EQ(0, begins(w.p.c, &w.a));
	ASSERT_EQ(0, begins(w.p.c, &w.b));
	w.echo = message_of("echo", "text", 0);
	w.empty = message_of("quiet", "", 0);
	w.call = message_of("quiet", "", 0);
	w.set = ReplySet_create(w.p.c);
	MessageManager_subscribeMessage(&w.a.base, "quiet", true);
	MessageManager_subscribeMessage(&w.b.base, "quiet", true);
	for (unsigned int i = 0; i < ARRAY_SIZE(calls); i++) {
		/* The thread's own places in the library are there. */
		ASSERT_EQ(0, calls[i](&w));
		for (int n = 0; n < 50; n++) {
			succeed = n;
			failed = false;
			rc = calls[i](&w);
			succeed = -1;
			if (!failed)
				break;
			EXPECT_EQ(-ENOMEM, rc);
			EXPECT_EQ(0, calls[i](&w));
		}
		EXPECT_EQ(0, rc);
		EXPECT_EQ(0, ReplySet_waitForAll(w.set, 0));
		while (ReplySet_countAvailable(w.set))
			FutureReply_release(ReplySet_getNextFutureReply(w.set));
	}
	ReplySet_release(w.set);
	AgletMessage_release(w.echo);
	AgletMessage_release(w.empty);
	AgletMessage_release(w.call);
	EXPECT_TRUE(goes(&w.a));
	EXPECT_TRUE(goes(&w.b));
	EXPECT_EQ(0, place_down(&w.p));
}

/* "late": has no memory for its reply, then has it; "none": never */
static bool replies_without(struct agent *a, AgletMessage *m)
{
	succeed = 0;
	a->rc = AgletMessage_sendReply(m, "text", 4);
	succeed = 0;
	a->wrong += AgletMessage_sendException(m, -EDOM, "text") != -ENOMEM;
	succeed = -1;
	if (is(m, "none"))
		return false;
	a->wrong += AgletMessage_sendReply(m, "after all", 9) != 0;
	return true;
}

/* AG-11, AG-12: a reply for which there is no memory is none, and another one may follow */
TEST(replies)
{
	struct agent a = agent_of(replies_without);
	struct place p;
	char text[64];

	if (!ours)
		SKIP(return, "another allocator");
	ASSERT_EQ(0, place_up(&p, 2, DXK_ON_BLOCK_STRICT, DXK_REENTRY_CHAIN));
	ASSERT_EQ(0, begins(p.c, &a));
	EXPECT_EQ(AGLET_REPLIED, sync_send(&a, "late", "", text));
	EXPECT_STREQ("after all", text);
	EXPECT_EQ(-ENOMEM, a.rc);
	EXPECT_EQ(AGLET_NOT_HANDLED, answer_of(future_of(&a, "none", ""), NULL));
	/* and of a message to which nobody wants one */
	EXPECT_EQ(0, oneway(&a, "gate", "", 0));
	EXPECT_TRUE(DXT_SOON(a.handled == 3));
	EXPECT_TRUE(goes(&a));
	EXPECT_EQ(0, place_down(&p));
}

TEST_HARNESS_MAIN
