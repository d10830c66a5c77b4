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

#include "engine/policy.h"
#include "stress.h"

void os_warn(const char *file, int line, const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "%s:%d: ", file, line);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	abort();
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
	dxk_pools_open(&s->e);
	spin_lock(&s->e.lock);
	dxk_crew_set_lanes(&s->e);
	s->e.state = DXK_CTX_RUNNING;
	s->e.run.gen = 1;
	spin_unlock(&s->e.lock);
}

/* What is still Ready runs, unless it is cancelled. */
static void stop(struct stress *s, struct actor *actor, bool cancel)
{
	u32 i;

	pthread_barrier_wait(&s->calm);
	__atomic_store_n(&s->over, true, __ATOMIC_RELEASE);
	MUST(!dxk_run_halt(&s->e, cancel ? DXK_STOP_CANCEL : DXK_STOP_DRAIN, false, DXK_FOREVER));
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
