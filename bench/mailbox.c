// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages to objects that handle one at a time: aglets, and the mailbox that one writes, a list
 * under a mutex which a GThreadPool serves.
 */
#include <glib.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <dx_aglet.h>

#include "mailbox.h"
#include "pools.h"

/* So many lie in the mailboxes at most. */
#define MAILS		10000

static long boxes;

void mails_boxes(long nr)
{
	boxes = nr;
}

void mails_sender_first(void)
{
	const struct sched_param urgent = { .sched_priority = 1 };

	MUST(0, sched_setscheduler(0, SCHED_FIFO, &urgent));
}

void mails_send(long ops, void (*post)(long box))
{
	while (ops) {
		long nr = ops < MAILS ? ops : MAILS;

		jobs_expect(nr);
		for (long i = 0; i < nr; i++)
			post(i % boxes);
		jobs_wait();
		ops -= nr;
	}
}

/* --- aglets ---------------------------------------------------------------------- */

static MTExecutive *mte;
static AgletContext *context;
static Aglet *aglets;
static AgletMessage *message;
static Runnable runnable;
static int owner;

static bool handle(Aglet *self, AgletMessage *m)
{
	(void)self;
	(void)m;
	job_done();
	return true;
}

static bool reply(Aglet *self, AgletMessage *m)
{
	(void)self;
	return !AgletMessage_sendReply(m, "", 0);
}

static int execute(Runnable *self, void *request)
{
	(void)self;
	(void)request;
	return 0;
}

static void executive_up(void)
{
	ThreadManagerPolicy policy;
	MTExecutiveError error;
	RunSettings settings;

	RunSettingsInit(&settings, "bench", 0, NULL);
	settings.LogPath = "/dev/null";
	MUST(0, ThreadManagerPolicyInit(&policy));
	policy.TPMinThreads = policy.TPMaxThreads = 1;
	policy.TPMaxWaiting = 2 * MAILS;
	policy.TPMaxRequests = 4 * MAILS;
	mte = MTExecutiveCreate(&settings, &policy, &error);
	if (!mte)
		die("MTExecutiveCreate %s %s %d", error.Step, error.Field, error.Error);
}

static void aglets_up(long nr, bool (*handler)(Aglet *self, AgletMessage *m))
{
	AgletContextOptions options;

	executive_up();
	AgletContextOptionsInit(&options);
	options.minThreads = options.maxThreads = 0;
	context = AgletContext_create(mte, &options);
	if (!context)
		die("AgletContext_create");
	mails_boxes(nr);
	aglets = calloc(nr, sizeof(*aglets));
	message = AgletMessage_create("mail", "0123456789abcdef", 16);
	for (long i = 0; i < nr; i++) {
		aglets[i].handleMessage = handler;
		MUST(0, AgletContext_createAglet(context, &aglets[i], NULL, NULL));
	}
}

static void aglets_down(void)
{
	MUST(0, AgletContext_dispose(context));
	AgletMessage_release(message);
	MUST(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	free(aglets);
}

static void aglets_setup(const struct variant *v)
{
	aglets_up(v->arg, handle);
	mails_sender_first();
}

static void aglets_post(long box)
{
	MUST(0, AgletProxy_sendOnewayMessage(aglets[box].Proxy, message));
}

static void aglets_run(long ops)
{
	mails_send(ops, aglets_post);
}

const struct kind aglet_mails = {
	.setup = aglets_setup, .run = aglets_run, .teardown = aglets_down,
};

static void aglet_trip_setup(const struct variant *v)
{
	(void)v;
	aglets_up(1, reply);
}

static void aglet_trip_run(long ops)
{
	while (ops--) {
		AgletReply *r;

		MUST(AGLET_REPLIED, AgletProxy_sendMessage(aglets->Proxy, message, &r));
		free(r);
	}
}

const struct kind aglet_trip = {
	.setup = aglet_trip_setup, .run = aglet_trip_run, .teardown = aglets_down,
};

/* A request of the same executive, and its result */
static void request_trip_setup(const struct variant *v)
{
	(void)v;
	executive_up();
	runnable.ExecuteThisRequest = execute;
}

static void request_trip_run(long ops)
{
	while (ops--) {
		MUST(0, PostARequest(&owner, &runnable, &owner, 5, PXR_REJOIN));
		MUST(RJR_RETURNED, RejoinWait(&owner, NULL, -1));
	}
}

static void request_trip_teardown(void)
{
	MUST(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
}

const struct kind request_trip = {
	.setup = request_trip_setup, .run = request_trip_run, .teardown = request_trip_teardown,
};

/* --- a list and a mutex for each, and GLib's threads ------------------------------- */

struct mail {
	struct mail *next;
	bool replies;
	char text[16];
};

struct box {
	pthread_mutex_t lock;
	struct mail *first, **last;
	bool served;			/* a thread goes on with it, or will */
};

static GThreadPool *pool;
static struct box *list;
static pthread_mutex_t reply_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t replied = PTHREAD_COND_INITIALIZER;
static bool there;

static void box_put(struct box *b, bool replies)
{
	struct mail *m = malloc(sizeof(*m));
	bool serve;

	m->next = NULL;
	m->replies = replies;
	memcpy(m->text, "0123456789abcdef", sizeof(m->text));
	pthread_mutex_lock(&b->lock);
	*b->last = m;
	b->last = &m->next;
	serve = !b->served;
	b->served = true;
	pthread_mutex_unlock(&b->lock);
	if (serve)
		g_thread_pool_push(pool, b, NULL);
}

static struct mail *box_take(struct box *b)
{
	struct mail *m;

	pthread_mutex_lock(&b->lock);
	m = b->first;
	if (m)
		b->first = m->next;
	if (!b->first)
		b->last = &b->first;
	b->served = m;
	pthread_mutex_unlock(&b->lock);
	return m;
}

static void box_serve(void *box, void *arg)
{
	struct mail *m;

	(void)arg;
	while ((m = box_take(box))) {
		if (m->replies) {
			pthread_mutex_lock(&reply_lock);
			there = true;
			pthread_cond_signal(&replied);
			pthread_mutex_unlock(&reply_lock);
		} else {
			job_done();
		}
		free(m);
	}
}

static void boxes_setup(const struct variant *v)
{
	mails_boxes(v->arg);
	list = calloc(boxes, sizeof(*list));
	for (long i = 0; i < boxes; i++) {
		pthread_mutex_init(&list[i].lock, NULL);
		list[i].last = &list[i].first;
	}
	pool = g_thread_pool_new(box_serve, NULL, 1, TRUE, NULL);
	if (!pool)
		die("g_thread_pool_new");
}

static void boxes_post(long box)
{
	box_put(&list[box], false);
}

static void boxes_run(long ops)
{
	mails_send(ops, boxes_post);
}

static void glib_mails_setup(const struct variant *v)
{
	boxes_setup(v);
	mails_sender_first();
}

const struct kind glib_mails = { .setup = glib_mails_setup, .run = boxes_run };

static void box_trip_run(long ops)
{
	while (ops--) {
		there = false;
		box_put(list, true);
		pthread_mutex_lock(&reply_lock);
		while (!there)
			pthread_cond_wait(&replied, &reply_lock);
		pthread_mutex_unlock(&reply_lock);
	}
}

const struct kind glib_mail_trip = { .setup = boxes_setup, .run = box_trip_run };
