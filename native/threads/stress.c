// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * One engine and many threads: clients that post and collect, workers, watchers, deadlines
 * and interrupts at any time, workers that die, and Stop. At the end every request must
 * have been collected or have vanished, and nothing may be left.
 *
 *   stress [ROUNDS [SEED]]
 */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "engine/calls.h"
#include "engine/dispatch.h"
#include "engine/policy.h"
#include "engine/stall.h"
#include "engine/tests/draw.h"

#define CLIENTS		6
#define WORKERS		5
#define THREADS		(CLIENTS + WORKERS + 1)
#define TURNS		800

struct stress {
	struct dxk_engine e;
	/* The clients have made their calls; nobody wakes anybody any more. */
	pthread_barrier_t calm, gone;
	pthread_mutex_t lock;
	struct task_struct *task[THREADS];
	/* Requests that their posters were told are taken; results that were returned. */
	u64 posted, collected;
	bool over;
};

struct actor {
	struct stress *s;
	pthread_t thread;
	struct dxk_member m;
	u32 nr;
	u64 rnd;
	/* It has posted for its own owner and is to collect that. */
	u32 mine;
};

void os_warn(const char *file, int line, const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "%s:%d: ", file, line);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	abort();
}

#define MUST(cond) do {							\
	if (!(cond))							\
		os_warn(__FILE__, __LINE__, "not: %s\n", #cond);	\
} while (0)

static u32 draw(struct actor *a, u32 below)
{
	return draw_u32(&a->rnd) % below;
}

/* At once, soon, or never. */
static u64 deadline(struct actor *a)
{
	switch (draw(a, 4)) {
	case 0:
		return 1;
	case 1:
		return os_now() + draw(a, 200) * 1000;
	default:
		return DXK_FOREVER;
	}
}

static void add(u64 *sum, u64 nr)
{
	__atomic_fetch_add(sum, nr, __ATOMIC_RELAXED);
}

/* --- what an actor does ------------------------------------------------------ */

/* The nested turn of a worker that was called while it slept in another call. */
static int work(struct actor *a, u32 max, u64 until);

static int post(struct actor *a, u64 owner, u64 until)
{
	u32 i, nr = 1 + draw(a, 8), attrs = draw(a, 4) ? PXR_REJOIN : 0;
	struct dxk_post_op p = { .m = &a->m, .help = true };
	int ret;

	MUST(!dxk_client_begin(&p, nr));
	for (i = 0; i < nr; i++) {
		struct dxk_post_entry req = {
			.owner = owner, .prio = draw(a, 5),
			.attrs = attrs | (draw(a, 8) ? 0 : PXR_REDO) |
				 (draw(a, 3) ? PXR_WAITIF_BUSY : 0) |
				 (draw(a, 3) ? 0 : draw(a, 2) ? PXR_LANE1 : PXR_LANE2),
		};

		list_add_tail(&dxk_rqe_make(&a->m.rqes, &req, NULL)->link, &p.rqes);
	}
	ret = dxk_client_post(&p, until);
	MUST(ret > 0 || ret == -EAGAIN || ret == -ETIMEDOUT || ret == -ERESTARTSYS ||
	     ret == -ENOSPC || ret == -ESHUTDOWN);
	add(&a->s->posted, p.taken);
	dxk_rqe_drop_all(&a->m, &p.rqes);
	if (p.helper.called)
		work(a, 1, 1);
	return ret;
}

static int collect(struct actor *a, u64 owner, u64 until)
{
	u32 max = 1 + draw(a, 8);
	struct dxk_rejoin_op r = {
		.m = &a->m, .cookie = owner, .max = max, .min = 1 + draw(a, max),
		.wait = until != 1, .help = true, .free = draw(a, 4),
	};
	int err = dxk_client_rejoin(&r, until);

	MUST(!err || err == -ESHUTDOWN || err == -ERESTARTSYS || err == -EDEADLK);
	if (!r.free && r.nr) {
		/* Half of the copies fail: they are there again. */
		struct dxk_settle_op s = { .m = &a->m };
		struct dxk_rqe *rqe, *next;
		bool failed = draw(a, 2);

		INIT_LIST_HEAD(&s.copied);
		INIT_LIST_HEAD(&s.failed);
		list_for_each_entry_safe(rqe, next, &r.rqes, link)
			list_move_tail(&rqe->link, failed ? &s.failed : &s.copied);
		dxk_perform(a->m.engine, &s.op, dxk_settle_run);
		if (!failed)
			add(&a->s->collected, r.nr);
		dxk_rqe_drop_all(&a->m, &s.copied);
	} else {
		MUST(err || r.answer != RJR_RETURNED || r.nr);
		add(&a->s->collected, r.nr);
		dxk_rqe_drop_all(&a->m, &r.rqes);
	}
	if (!err && r.answer == RJR_HELP)
		work(a, 1, 1);
	return err ?: (int)r.answer;
}

/* A worker's request may post and collect, of an owner of its own. */
static void execute(struct actor *a)
{
	u64 owner = 1000 + a->nr;

	if (draw(a, 4) || a->m.extra > 2)
		return;
	if (post(a, owner, 1) > 0)
		collect(a, owner, os_now() + 100000);
}

static void give_back(struct actor *a, struct dxk_next_op *n)
{
	struct dxk_list_op l = { .m = &a->m };

	INIT_LIST_HEAD(&l.rqes);
	INIT_LIST_HEAD(&l.ended);
	list_splice_init(&n->work, &l.rqes);
	dxk_perform(a->m.engine, &l.op, dxk_return_run);
	dxk_rqe_drop_all(NULL, &l.ended);
}

static int work(struct actor *a, u32 max, u64 until)
{
	struct dxk_next_op n = { .m = &a->m, .max = max };
	struct dxk_rqe *rqe, *next;
	LIST_HEAD(begun);
	int err;

	INIT_LIST_HEAD(&n.done);
	err = dxk_next(&n, until);
	MUST(!err || err == -ESHUTDOWN || err == -ETIMEDOUT || err == -ERESTARTSYS);
	dxk_rqe_drop_all(&a->m, &n.ended);
	if (err)
		return err;
	if (n.nr && !draw(a, 10)) {
		give_back(a, &n);
		return 0;
	}
	list_for_each_entry_safe(rqe, next, &n.work, link) {
		WRITE_ONCE(rqe->state, DXK_BUSY);
		list_move_tail(&rqe->link, &a->m.busy);
	}
	dxk_member_set_state(&a->m, DXK_M_BUSY);
	for (; n.nr; n.nr--) {
		struct dxk_next_op end = { .m = &a->m };

		execute(a);
		rqe = list_last_entry(&a->m.busy, struct dxk_rqe, link);
		INIT_LIST_HEAD(&end.done);
		list_move_tail(&rqe->link, &end.done);
		/* It waits for room in the Rejoin Pool, whatever comes. */
		do {
			err = dxk_next(&end, DXK_FOREVER);
			dxk_rqe_drop_all(&a->m, &end.ended);
		} while (!list_empty(&end.done));
		MUST(!err || err == -ERESTARTSYS);
	}
	return 0;
}

/* --- the actors -------------------------------------------------------------- */

static void enter(struct actor *a)
{
	pthread_mutex_lock(&a->s->lock);
	a->s->task[a->nr] = os_self();
	pthread_mutex_unlock(&a->s->lock);
}

static void leave(struct actor *a)
{
	pthread_mutex_lock(&a->s->lock);
	a->s->task[a->nr] = NULL;
	pthread_mutex_unlock(&a->s->lock);
	if (a->nr < CLIENTS)
		pthread_barrier_wait(&a->s->calm);
	pthread_barrier_wait(&a->s->gone);
}

static void *client(void *arg)
{
	struct actor *a = arg;
	u64 owner = a->nr / 2;
	u32 i;

	enter(a);
	for (i = 0; i < TURNS; i++) {
		if (draw(a, 2))
			post(a, owner, deadline(a));
		else if (!draw(a, 4))
			/* What a worker's requests have left. */
			collect(a, 1000 + CLIENTS + draw(a, WORKERS), 1);
		else
			collect(a, owner, draw(a, 2) ? 1 : os_now() + 300000);
	}
	leave(a);
	return NULL;
}

/* A worker executes, dies with what it has, and comes again. */
static void *worker(void *arg)
{
	struct actor *a = arg;
	int err = 0;

	enter(a);
	while (err != -ESHUTDOWN) {
		err = work(a, 1 + draw(a, 4), deadline(a));
		if (err || draw(a, 50))
			continue;
		/* It takes something with it, if there is something. */
		struct dxk_next_op n = { .m = &a->m, .max = 3 };
		struct dxk_rqe *rqe;

		INIT_LIST_HEAD(&n.done);
		if (!dxk_next(&n, 1)) {
			list_for_each_entry(rqe, &n.work, link)
				WRITE_ONCE(rqe->state, DXK_BUSY);
			list_splice_init(&n.work, &a->m.busy);
		}
		dxk_member_do(&a->m, dxk_died_run);
		dxk_member_set_state(&a->m, DXK_M_AWAY);
		dxk_member_do(&a->m, dxk_attach_run);
	}
	leave(a);
	return NULL;
}

/* Signals, ticks, sweeps, policies that change, and looks. */
static void *pest(void *arg)
{
	struct actor *a = arg;
	struct dxk_policy policy = a->s->e.policy;
	struct dxk_stall stall = { };
	u32 workers, spares;

	while (!__atomic_load_n(&a->s->over, __ATOMIC_ACQUIRE)) {
		u32 nr = draw(a, THREADS);

		pthread_mutex_lock(&a->s->lock);
		if (a->s->task[nr])
			os_interrupt(a->s->task[nr]);
		pthread_mutex_unlock(&a->s->lock);
		dxk_tick(&a->s->e);
		dxk_stall_look(&a->s->e, &stall);
		dxk_scheduler_rest(&a->s->e);
		dxk_monitor_rest(&a->s->e, draw(a, 2));
		dxk_crew_wait(&a->s->e, 0, &workers, &spares);
		dxk_should_wait(&a->m, 0);
		policy.lane_pct[1] = 10 + draw(a, 20);
		dxk_enforce(&a->s->e, &policy);
		usleep(200);
	}
	leave(a);
	return NULL;
}

/* --- a round ----------------------------------------------------------------- */

static const struct { u32 on_block, rejoin_full, mode; } kinds[] = {
	{ DXK_ON_BLOCK_STRICT, DXK_REJOIN_GROW, 0 },
	{ DXK_ON_BLOCK_HELP, DXK_REJOIN_GROW, TPOOL_MODE_CMLS },
	{ DXK_ON_BLOCK_HELP, DXK_REJOIN_RESERVE, 0 },
	{ DXK_ON_BLOCK_STRICT, DXK_REJOIN_BLOCK_WORKER, TPOOL_MODE_CMLS },
	{ DXK_ON_BLOCK_HELP, DXK_REJOIN_BLOCK_WORKER, 0 },
};

static void begin(struct stress *s, u32 round)
{
	struct dxk_policy *p = &s->e.policy;

	*s = (struct stress) { .lock = PTHREAD_MUTEX_INITIALIZER };
	dxk_engine_init(&s->e);
	dxk_policy_default(p, WORKERS);
	p->on_block = kinds[round].on_block;
	p->rejoin_full = kinds[round].rejoin_full;
	p->sched_mode = kinds[round].mode;
	p->prio_policy = PRIO_POLICY_AGERQS;
	p->lane_pct[1] = 20;
	p->lane_pct[2] = 20;
	p->ready_entries = 12;
	p->rejoin_entries = 10;
	p->max_requests = 64;
	pthread_barrier_init(&s->calm, NULL, CLIENTS + 1);
	pthread_barrier_init(&s->gone, NULL, THREADS + 1);
	MUST(!dxk_owners_start(&s->e));
	spin_lock(&s->e.lock);
	dxk_crew_set_lanes(&s->e);
	s->e.state = DXK_CTX_RUNNING;
	spin_unlock(&s->e.lock);
}

/* What is still Ready runs, unless it is cancelled. */
static void stop(struct stress *s, struct actor *actor, bool cancel)
{
	u32 i;

	pthread_barrier_wait(&s->calm);
	__atomic_store_n(&s->over, true, __ATOMIC_RELEASE);
	dxk_stop_begin(&s->e, cancel, false);
	MUST(!dxk_stop_wait(&s->e, DXK_FOREVER));
	pthread_barrier_wait(&s->gone);
	for (i = 0; i < THREADS; i++)
		pthread_join(actor[i].thread, NULL);
	pthread_barrier_destroy(&s->calm);
	pthread_barrier_destroy(&s->gone);
}

static void end(struct stress *s, struct actor *actor)
{
	const struct dxk_stats *stats = &s->e.stats;
	u32 i;

	for (i = 0; i < THREADS; i++) {
		dxk_member_do(&actor[i].m, dxk_died_run);
		dxk_member_free(&actor[i].m);
	}
	MUST(stats->posts == s->posted);
	MUST(stats->collected == s->collected);
	MUST(stats->posts == stats->collected + stats->vanished + dxk_live(&s->e));
	MUST(!s->e.nr[DXK_AT_READY] && !s->e.nr[DXK_AT_WORK]);
	MUST(!s->e.crew.present && !s->e.crew.clients && !s->e.crew.clients_asleep);
	MUST(!s->e.crew.asleep[DXK_USER] && !s->e.crew.extra[DXK_USER]);
	MUST(!s->e.owing && list_empty(&s->e.owners.owed));
	printf("posts %llu, collected %llu, vanished %llu, left %u, helps %llu, redone %llu, "
	       "died with %llu, slept %llu\n", stats->posts, stats->collected,
	       stats->vanished, dxk_live(&s->e), stats->helps, stats->redone,
	       stats->owner_dead, stats->post_blocks + stats->rejoin_blocks +
	       stats->complete_blocks);
	dxk_engine_destroy(&s->e);
}

static void run(u32 round, u64 seed)
{
	static struct actor actor[THREADS];
	static struct stress s;
	long before = os_allocated;
	u32 i;

	begin(&s, round % ARRAY_SIZE(kinds));
	for (i = 0; i < THREADS; i++) {
		actor[i] = (struct actor) { .s = &s, .nr = i, .rnd = seed * THREADS + i };
		dxk_member_init(&actor[i].m, &s.e, i + 1);
		actor[i].m.role = i < CLIENTS || i == THREADS - 1 ? DXK_ROLE_CLIENT :
								    DXK_ROLE_WORKER;
		dxk_member_do(&actor[i].m, dxk_attach_run);
	}
	for (i = 0; i < THREADS; i++)
		MUST(!pthread_create(&actor[i].thread, NULL, i < CLIENTS ? client :
				     i < THREADS - 1 ? worker : pest, &actor[i]));
	stop(&s, actor, seed % 2);
	end(&s, actor);
	MUST(os_allocated == before);
}

int main(int argc, char **argv)
{
	u32 round, rounds = argc > 1 ? atoi(argv[1]) : ARRAY_SIZE(kinds);
	u64 seed = argc > 2 ? atoi(argv[2]) : 1;

	MUST(!dxk_rqe_init() && !dxk_owner_init());
	for (round = 0; round < rounds; round++)
		run(round, seed + round);
	dxk_owner_exit();
	dxk_rqe_exit();
	return 0;
}
