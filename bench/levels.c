// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hierarchy on 3 workers: 20 feeders, each of 20 transactions, each of 5
 * sub-requests; who has children waits for them. A feeder sleeps before it posts, as one
 * that reads a file: so the next ones begin meanwhile. The workqueue's is in kernel/mix.c.
 */
#include <glib.h>
#include <pthread.h>
#include <unistd.h>

#include <dx.h>

#include "bench.h"
#include "levels.h"

const int level_children[] = { 20, 20, 5, 0 };

static long executed;

void level_executes(int level)
{
	if (!level)
		usleep(1000);
	__atomic_add_fetch(&executed, 1, __ATOMIC_RELAXED);
}

/*
 * Runs @fn in a thread of its own. The value is how many requests were executed when it
 * ended, or when none had started for 2 s.
 */
double levels_watch(void *(*fn)(void *))
{
	static bool ended;
	long last = -1;

	partner_start(fn, &ended);
	for (;;) {
		for (int i = 0; i < 20; i++) {
			if (__atomic_load_n(&ended, __ATOMIC_ACQUIRE)) {
				extra("stood_still", 0);
				return executed;
			}
			usleep(100000);
		}
		if (executed == last) {
			extra("stood_still", 1);
			note("stands still");
			return executed;
		}
		last = executed;
	}
}

void levels_ended(void *ended)
{
	__atomic_store_n((bool *)ended, true, __ATOMIC_RELEASE);
}

/* --- libdxk ------------------------------------------------------------------------- */

struct level {
	Runnable runnable;
	int number;
};

static int level_execute(Runnable *self, void *request);

static struct level levels[] = {
	{ { level_execute }, 0 }, { { level_execute }, 1 }, { { level_execute }, 2 },
};

static const unsigned int lanes[] = { PXR_LANE1, PXR_LANE2, 0 };

/* Posts the children of @parent, which are of level @number, and waits for them. */
static void level_descend(void *parent, int number)
{
	static char requests[20 * 20 * 5];

	for (int i = 0; i < level_children[number]; i++)
		MUST(0, PostARequest(&requests[i], &levels[number].runnable, parent, number,
				     PXR_WAITIF_BUSY | PXR_REJOIN | lanes[number]));
	for (int i = 0; i < level_children[number]; i++)
		MUST(RJR_RETURNED, RejoinWait(parent, NULL, -1));
}

static int level_execute(Runnable *self, void *request)
{
	int number = ((struct level *)self)->number;
	char owner;

	(void)request;
	level_executes(number);
	if (number < 2)
		level_descend(&owner, number + 1);
	return 0;
}

static void *library_main(void *arg)
{
	static int owner;

	level_descend(&owner, 0);
	levels_ended(arg);
	return NULL;
}

/* As many Ready Pool entries as workers: the least that the lanes allow. */
static double library_measure(const struct variant *v)
{
	ThreadManagerPolicy policy;
	MTExecutiveError error;
	RunSettings settings;
	MTExecutive *mte;

	(void)v;
	RunSettingsInit(&settings, "bench", 0, NULL);
	settings.LogPath = "/dev/null";
	MUST(0, ThreadManagerPolicyInit(&policy));
	policy.TPSchedMode = TPOOL_MODE_CMLS;
	policy.TPMaxThreads = 3;
	policy.TPReadyEntries = 3;
	policy.TPLanePct[1] = policy.TPLanePct[2] = 20;
	mte = MTExecutiveCreate(&settings, &policy, &error);
	if (!mte)
		die("MTExecutiveCreate %s %s %d", error.Step, error.Field, error.Error);
	return levels_watch(library_main);
}

const struct kind library_levels = { .measure = library_measure };

/* --- GThreadPool ----------------------------------------------------------------------- */

static GThreadPool *pool;

struct node {
	struct node *parent;
	int level, to_do;
	pthread_mutex_t lock;
	pthread_cond_t done;
};

static void node_descend(struct node *n)
{
	int number = n->level + 1, nr = level_children[number];

	pthread_mutex_init(&n->lock, NULL);
	pthread_cond_init(&n->done, NULL);
	n->to_do = nr;
	for (int i = 0; i < nr; i++) {
		struct node *child = g_new0(struct node, 1);

		child->parent = n;
		child->level = number;
		g_thread_pool_push(pool, child, NULL);
	}
	pthread_mutex_lock(&n->lock);
	while (n->to_do)
		pthread_cond_wait(&n->done, &n->lock);
	pthread_mutex_unlock(&n->lock);
}

static void node_execute(void *data, void *arg)
{
	struct node *n = data, *parent = n->parent;

	(void)arg;
	level_executes(n->level);
	if (n->level < 2)
		node_descend(n);
	pthread_mutex_lock(&parent->lock);
	if (!--parent->to_do)
		pthread_cond_signal(&parent->done);
	pthread_mutex_unlock(&parent->lock);
	g_free(n);
}

/* The best that can be said: lower levels first. */
static int by_level(const void *a, const void *b, void *arg)
{
	const struct node *x = a, *y = b;

	(void)arg;
	return y->level - x->level;
}

static void *glib_main(void *arg)
{
	static struct node root = { .level = -1 };

	node_descend(&root);
	levels_ended(arg);
	return NULL;
}

/* @arg: with a sort function */
static double glib_measure(const struct variant *v)
{
	pool = g_thread_pool_new(node_execute, NULL, 3, TRUE, NULL);
	if (!pool)
		die("g_thread_pool_new");
	if (v->arg)
		g_thread_pool_set_sort_function(pool, by_level, NULL);
	return levels_watch(glib_main);
}

const struct kind glib_levels = { .measure = glib_measure };
