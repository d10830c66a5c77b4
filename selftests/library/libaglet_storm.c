// SPDX-License-Identifier: GPL-2.0-only
/*
 * All that one can do to aglets, by some threads at a time, at random: each message has one
 * answer, handlers and callbacks are alone where they have to be, and nothing is left
 * (AG-2, AG-11 .. AG-16, AG-18 .. AG-22, AG-28 .. AG-31).
 */
#define _GNU_SOURCE
#include "library/libaglet.h"

#define ACTORS	5
#define CLIENTS	3
#define STEPS	300
#define KEPT	64

struct actor {
	Aglet base;
	_Atomic unsigned int inside;	/* handlers */
	_Atomic pid_t alone;		/* who is in the monitor */
	_Atomic bool called;		/* a callback is executed */
};

static struct {
	struct place p;
	pthread_mutex_t lock;
	AgletProxy *proxy[ACTORS];	/* under the lock, as the next two are */
	AgletMessage *deferred[KEPT];
	unsigned int nr_deferred;
	_Atomic unsigned int created, disposed, wrong, handled, died;
} storm = { .lock = PTHREAD_MUTEX_INITIALIZER };

static _Thread_local unsigned int dice;

static unsigned int any(unsigned int nr)
{
	dice = dice * 1103515245 + 12345;
	return (dice >> 16) % nr;
}

static AgletProxy *some_proxy(void)
{
	AgletProxy *p;

	pthread_mutex_lock(&storm.lock);
	p = storm.proxy[any(ACTORS)];
	if (p)
		AgletProxy_hold(p);
	pthread_mutex_unlock(&storm.lock);
	return p;
}

/* --- what actors do --------------------------------------------------------------------- */

static void wrong(const char *what)
{
	if (!storm.wrong++)
		printf("# %s\n", what);
}

/* Nobody else is in the monitor; a nested one is within whoever is. */
static void enters(struct actor *a)
{
	pid_t none = 0;

	if (!CurrentRequest()->RQENested &&
	    !atomic_compare_exchange_strong(&a->alone, &none, gettid()))
		wrong("two in the monitor");
}

static void leaves(struct actor *a)
{
	if (!CurrentRequest()->RQENested)
		a->alone = 0;
}

static int sends_on(const char *kind, AgletProxy *p)
{
	AgletMessage *m = AgletMessage_create(kind, NULL, 0);
	int rc = AgletProxy_sendMessage(p, m, NULL);

	AgletMessage_release(m);
	return rc;
}

static void defers(AgletMessage *m)
{
	pthread_mutex_lock(&storm.lock);
	if (storm.nr_deferred < KEPT && !AgletMessage_enableDeferedReply(m))
		storm.deferred[storm.nr_deferred++] = AgletMessage_hold(m);
	pthread_mutex_unlock(&storm.lock);
}

static bool acts(Aglet *self, AgletMessage *m)
{
	struct actor *a = (struct actor *)self;
	AgletProxy *p = some_proxy();
	bool known = true;

	a->inside++;
	if (a->called)
		wrong("a handler beside a callback");
	enters(a);
	dice += gettid() + storm.handled++;
	if (!p) {
		known = false;
	} else if (is(m, "pass")) {
		AgletProxy_delegateMessage(p, m);
	} else if (is(m, "call")) {
		sends_on("echo", p);
	} else if (is(m, "self")) {
		sends_on("echo", self->Proxy);
	} else if (is(m, "defer")) {
		defers(m);
	} else if (is(m, "wait")) {
		leaves(a);
		if (MessageManager_waitMessage(1) != -ECANCELED)
			enters(a);
		else if (!CurrentRequest()->RQENested)
			a->alone = 0;
	} else if (is(m, "tell")) {
		leaves(a);
		if (MessageManager_notifyMessage() != -ECANCELED)
			enters(a);
	} else if (is(m, "echo")) {
		AgletMessage_sendReply(m, "echo", 4);
	} else {
		known = false;
	}
	AgletProxy_release(p);
	if (a->alone == gettid())
		leaves(a);
	a->inside--;
	if (is(m, "die")) {
		storm.died++;
		pthread_exit(NULL);
	}
	return known;
}

static void is_called(Aglet *self)
{
	struct actor *a = (struct actor *)self;

	if (atomic_exchange(&a->called, true))
		wrong("two callbacks");
	if (a->inside)
		wrong("a callback beside a handler");
	usleep(any(300));
	if (a->inside)
		wrong("a handler began beside a callback");
	a->called = false;
}

static int is_created(Aglet *self, void *arg)
{
	(void)arg;
	is_called(self);
	MessageManager_subscribeMessage(self, "echo", true);
	MessageManager_setActivation(self, "call", true);
	return any(4) ? 0 : AgletProxy_deactivate(self->Proxy);
}

static void is_disposed(Aglet *self)
{
	is_called(self);
	storm.disposed++;
	free(self);
}

static void becomes(unsigned int i, AgletProxy *p)
{
	AgletProxy *old;

	pthread_mutex_lock(&storm.lock);
	old = storm.proxy[i];
	storm.proxy[i] = p;
	pthread_mutex_unlock(&storm.lock);
	AgletProxy_release(old);
}

static void begins_as(unsigned int i)
{
	struct actor *a = calloc(1, sizeof(*a));
	AgletProxy *p;

	a->base = (Aglet){ acts, is_created, is_called, is_called, is_disposed, NULL };
	if (AgletContext_createAglet(storm.p.c, &a->base, NULL, &p)) {
		wrong("no aglet");
		return;
	}
	storm.created++;
	becomes(i, p);
}

/* --- what is done to them ------------------------------------------------------------------ */

static const char *const kinds[] = {
	"echo", "echo", "pass", "pass", "call", "self", "defer", "wait", "tell", "nothing", "die",
};

static AgletMessage *some_message(void)
{
	AgletMessage *m;

	m = AgletMessage_create(kinds[any(ARRAY_SIZE(kinds) - (any(8) != 0))], "some", 4);
	AgletMessage_setPriority(m, 1 + any(10));
	return m;
}

static void changes(AgletProxy *p)
{
	static int (*const change[])(AgletProxy *proxy) = {
		AgletProxy_suspend, AgletProxy_resume, AgletProxy_resume, AgletProxy_deactivate,
		AgletProxy_activate, AgletProxy_activate,
	};

	change[any(ARRAY_SIZE(change))](p);
}

/* One goes, and another one comes in its place. */
static void replaces(void)
{
	unsigned int i = any(ACTORS);
	AgletProxy *p;
	int rc;

	pthread_mutex_lock(&storm.lock);
	p = AgletProxy_hold(storm.proxy[i]);
	pthread_mutex_unlock(&storm.lock);
	AgletProxy_suspend(p);
	rc = AgletProxy_dispose(p);
	AgletProxy_release(p);
	if (!rc)
		begins_as(i);
}

/* Replies to one that waits for that, or has another one do so. Return: there was one. */
static bool answers(bool delegates)
{
	AgletProxy *p = some_proxy();
	AgletMessage *m = NULL;

	pthread_mutex_lock(&storm.lock);
	if (storm.nr_deferred)
		m = storm.deferred[--storm.nr_deferred];
	pthread_mutex_unlock(&storm.lock);
	if (m && (!delegates || AgletProxy_delegateMessage(p, m)))
		AgletMessage_sendReply(m, "late", 4);
	AgletMessage_release(m);
	AgletProxy_release(p);
	return m;
}

struct client {
	pthread_t thread;
	unsigned int seed;
	FutureReply *kept[KEPT];
	unsigned int nr;
	ReplySet *set;
};

static void keeps(struct client *c, AgletProxy *p, AgletMessage *m)
{
	FutureReply *f;

	if (AgletProxy_sendFutureMessage(p, m, &f))
		wrong("a message was not sent");
	else if (c->nr < KEPT)
		c->kept[c->nr++] = f;
	else if (any(2) || ReplySet_addFutureReply(c->set, f))
		FutureReply_release(f);
}

static void *client(void *arg)
{
	struct client *c = arg;

	dice = c->seed;
	for (unsigned int i = 0; i < STEPS; i++) {
		AgletMessage *m = some_message();
		AgletProxy *p = some_proxy();

		switch (any(10)) {
		case 0:
		case 1:
			changes(p);
			break;
		case 2:
			if (!any(4))
				replaces();
			break;
		case 3:
			answers(any(2));
			break;
		case 4:
			AgletContext_multicastMessage(storm.p.c, m, any(2) ? c->set : NULL);
			break;
		case 5:
			AgletProxy_sendOnewayMessage(p, m);
			break;
		case 6:
			ReplySet_sendFutureMessage(c->set, p, m, NULL);
			break;
		case 7:
			if (ReplySet_countAvailable(c->set))
				FutureReply_release(ReplySet_getNextFutureReply(c->set));
			break;
		default:
			keeps(c, p, m);
		}
		AgletProxy_release(p);
		AgletMessage_release(m);
	}
	return NULL;
}

/* All that may keep a message waiting ends. */
static void lets_go(void)
{
	for (unsigned int i = 0; i < ACTORS; i++) {
		AgletProxy_activate(storm.proxy[i]);
		AgletProxy_resume(storm.proxy[i]);
	}
	while (answers(false))
		;
}

static bool all_answered(struct client *c)
{
	lets_go();
	for (; c->nr; c->nr--) {
		FutureReply *f = c->kept[c->nr - 1];
		int rc;

		if (!FutureReply_isAvailable(f))
			return false;
		rc = FutureReply_getReply(f, NULL);
		if (rc != AGLET_REPLIED && rc != AGLET_NOT_HANDLED && rc != AGLET_EXCEPTION)
			wrong("no answer");
		FutureReply_release(f);
	}
	return ReplySet_areAllAvailable(c->set);
}

TEST(at_random)
{
	struct client c[CLIENTS];

	for (unsigned int round = 0; round < 3; round++) {
		storm.created = storm.disposed = 0;
		/* As many as may wait for each other, and for the monitor, with one left. */
		ASSERT_EQ(0, place_up(&storm.p, 24, DXK_ON_BLOCK_STRICT, DXK_REENTRY_CHAIN));
		for (unsigned int i = 0; i < ACTORS; i++)
			begins_as(i);
		for (unsigned int i = 0; i < CLIENTS; i++) {
			c[i] = (struct client){ .seed = round * CLIENTS + i + 1 };
			c[i].set = ReplySet_create(storm.p.c);
			ASSERT_EQ(0, pthread_create(&c[i].thread, NULL, client, &c[i]));
		}
		for (unsigned int i = 0; i < CLIENTS; i++)
			pthread_join(c[i].thread, NULL);
		for (unsigned int i = 0; i < CLIENTS; i++)
			EXPECT_TRUE(DXT_UNTIL(&storm.p.t, all_answered(&c[i])));
		for (unsigned int i = 0; i < CLIENTS; i++)
			ReplySet_release(c[i].set);
		/* What was sent one way is still handled. */
		for (unsigned int i = 0; i < ACTORS; i++)
			becomes(i, NULL);
		EXPECT_EQ(0, place_down(&storm.p));
		EXPECT_EQ(storm.created, storm.disposed);
		EXPECT_EQ(0, storm.wrong);
		EXPECT_LE(1, storm.handled);
	}
	EXPECT_LE(1, storm.died);
}

TEST_HARNESS_MAIN
