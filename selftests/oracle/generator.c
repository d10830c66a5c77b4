// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls at random, right and wrong ones, by processes that share contexts, die and are
 * replaced, each of them compared with a picture of the module (model.h): the value
 * returned, all that is stored, who falls asleep, who wakes, and after some steps what
 * sysfs shows (DX-7, DX-25, DX-37..DX-55, DX-57, DX-67..DX-73, DX-77..DX-96,
 * DX-107..DX-113, D-26, R-3..R-5, R-19).
 *
 * One process makes a call, and when all has come to rest the next one does. So there is
 * one right answer to each, and a run can be repeated: DXK_SEED and DXK_STEPS, which a
 * failure prints. DXK_SECONDS is how long to go on.
 */
#include "lib/puppet.h"
#include "generator/generator.h"

#include <sched.h>
#include <stdarg.h>

#define STEPS	400	/* of one run, which begins with nothing */

/* --- a step -------------------------------------------------------------- */

static unsigned int descs(const struct proc *p)
{
	unsigned int nr = 0, i;

	for (i = 0; i < DESCS; i++)
		nr += p->desc[i].fd != 0;
	return nr;
}

static bool asleep(const struct proc *p)
{
	return !p->done;
}

static void note(struct gen *g, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void note(struct gen *g, const char *fmt, ...)
{
	char *to = g->r.last[g->r.steps % ARRAY_SIZE(g->r.last)];
	va_list ap;
	int n = snprintf(to, sizeof(g->r.last[0]), "step %u: ", g->r.steps);

	va_start(ap, fmt);
	vsnprintf(to + n, sizeof(g->r.last[0]) - (size_t)n, fmt, ap);
	va_end(ap);
}

static void note_call(struct gen *g, const struct proc *p, const char *name)
{
	const struct call *c = p->call;
	char more[100] = "";

	if (c->cmd == DXK_IOC_POST)
		snprintf(more, sizeof(more), " %u from %u, attrs %#x.., owner %u, wait %#x, deadline %d",
			 c->a.post.nr, (unsigned int)c->entry[0].post.param,
			 c->entry[0].post.attrs, (unsigned int)c->entry[0].post.owner,
			 c->a.post.entry_size > sizeof(c->entry[0].post) ?
			 c->entry[0].wait.wait : 0, (int)c->a.post.deadline);
	else if (c->cmd == DXK_IOC_REJOIN)
		snprintf(more, sizeof(more), " owner %u, nr %u, min %u, deadline %d",
			 (unsigned int)c->a.rejoin.owner, c->a.rejoin.nr, c->a.rejoin.min,
			 (int)c->a.rejoin.deadline);
	else if (c->cmd == DXK_IOC_NEXT)
		snprintf(more, sizeof(more),
			 " done %u (ticket %u.., wait %#x), work %u, deadline %d",
			 c->a.next.nr_done, (unsigned int)c->done[0].done.ticket,
			 c->a.next.done_size > sizeof(c->done[0].done) ?
			 c->done[0].wait.wait : 0, c->a.next.nr_work,
			 (int)c->a.next.deadline);
	else if (c->cmd == DXK_IOC_WAKE || c->cmd == DXK_IOC_CANCEL)
		snprintf(more, sizeof(more), " %u, name %u..", c->a.names.nr,
			 (unsigned int)c->name[0]);
	else if (c->cmd == DXK_IOC_CANCEL_OWNER)
		snprintf(more, sizeof(more), " %u", (unsigned int)c->a.cancel_owner.owner);
	note(g, "process %d: %s%s on %d: %s %ld", p->nr, name, more, c->fd,
	     p->done ? "returns" : "sleeps; last", p->answer.rc);
}

/* The weights are for runs of anything, and for those that are about requests that wait. */
static const struct { const char *name; char on; unsigned int weight[2]; } ops[] = {
	{ "create", 0, { 3, 2 } }, { "join", 0, { 5, 2 } }, { "start", 'c', { 3, 3 } },
	{ "policy", 'c', { 3, 1 } }, { "stop", 'c', { 1, 3 } }, { "member", 'c', { 9, 8 } },
	{ "post", 'm', { 26, 34 } }, { "rejoin", 'm', { 20, 24 } },
	{ "next", 'w', { 36, 80 } }, { "wake", 'm', { 3, 20 } }, { "cancel", 'm', { 2, 6 } },
	{ "cancel_owner", 'm', { 2, 5 } }, { "should_stop", 'm', { 2, 3 } },
	{ "log", 'm', { 3, 0 } }, { "log_read", 'c', { 2, 0 } }, { "command", 'c', { 2, 1 } },
	{ "close", '*', { 4, 2 } }, { "dup", '*', { 1, 0 } }, { "poll", 'm', { 4, 3 } },
	{ "wrong", '*', { 1, 0 } }, { "interrupt", 's', { 4, 4 } }, { "kill", 's', { 2, 1 } },
};

static unsigned int some_op(struct gen *g)
{
	unsigned int i, sum = 0, at;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		sum += ops[i].weight[g->waits];
	at = gen_below(g, sum);
	for (i = 0; at >= ops[i].weight[g->waits]; i++)
		at -= ops[i].weight[g->waits];
	return i;
}

static void step(struct gen *g)
{
	struct proc *p = &g->r.m.proc[gen_below(g, PROCS)];
	unsigned int op = some_op(g);
	const char *name = ops[op].name;
	struct desc *d = NULL;

	if (!strcmp(name, "kill")) {
		if (model_death_races(&g->r.m, p))
			return;
		note(g, "process %d is killed", p->nr);
		run_kill(&g->r, p);
		return;
	}
	if (asleep(p)) {
		/* a signal now and then, else somebody else has the turn */
		if (gen_below(g, 8))
			return;
		note(g, "process %d is interrupted", p->nr);
		run_interrupt(&g->r, p);
		return;
	}
	if (gen_make_ready(g, p)) {
		run_call(&g->r, p);
		note_call(g, p, "policy or start");
		return;
	}
	if (ops[op].on == 's')
		return;
	if (ops[op].on)
		d = gen_desc(g, p, ops[op].on == '*' ? 0 : ops[op].on);
	if (ops[op].on && !d && g->waits) {
		/* what it can do, if there is something */
		d = gen_desc(g, p, 'm');
		name = gen_below(g, 3) ? "post" : "wake";
	}
	if (ops[op].on && !d) {
		/* first get what it takes */
		d = gen_desc(g, p, 'c');
		name = !d ? gen_ctxs(g) && gen_below(g, 4) ? "join" : "create" : "member";
	}
	if (!strcmp(name, "create") && gen_ctxs(g) >= g->ctxs)
		name = "join";
	if (descs(p) > 8)
		name = "close", d = gen_desc(g, p, 0);
	if (!strcmp(name, "log") && d->member->ctx->nr_lines > 200)
		return;
	if (!strcmp(name, "close") && model_close_races(&g->r.m, d))
		return;
	gen_call(g, p, name, d);
	run_call(&g->r, p);
	note_call(g, p, name);
}

/* One run; true when nothing differs. Each step has random numbers of its own. */
static bool run(struct gen *g, uint64_t seed, unsigned int steps, const bool *skip)
{
	unsigned int i;

	g->param = g->line = 0;
	/* all at one of them, or some that must not know of each other */
	g->waits = seed % 2;
	g->ctxs = seed % 3 || g->waits ? 1 : CTXS;
	run_begin(&g->r);
	for (i = 0; i < steps && !g->r.why[0] && !g->r.unsure && (!g->end || dxt_now() < g->end); i++) {
		g->r.steps = i;
		g->r.last[i % ARRAY_SIZE(g->r.last)][0] = 0;
		if (skip && skip[i])
			continue;
		g->seed = (seed + 1) * 0x9e3779b97f4a7c15ULL + i * 0xd1342543de82ef95ULL;
		rnd(&g->seed);
		step(g);
		if (!g->r.why[0] && !g->r.unsure && (i % 16 == 15 || i == steps - 1)) {
			int k;

			for (k = 0; k < CTXS; k++)
				if (g->r.m.ctx[k].known && g->r.m.ctx[k].used &&
				    !g->r.m.ctx[k].closed)
					run_look(&g->r, &g->r.m.ctx[k]);
		}
	}
	run_end(&g->r);
	return !g->r.why[0];
}

/* --- a difference -------------------------------------------------------- */

/* Leaves out steps as long as something still differs, for a while. */
static unsigned int shrink(struct gen *g, uint64_t seed, bool *skip, unsigned int steps)
{
	uint64_t end = dxt_in(20 * DXT_SEC);
	unsigned int size, at, i, left = 0;

	for (size = steps / 2; size; size /= 2) {
		for (at = 0; at < steps; at += size) {
			bool before[STEPS];

			if (dxt_now() > end)
				goto out;
			memcpy(before, skip, sizeof(before));
			for (i = at; i < at + size && i < steps; i++)
				skip[i] = true;
			if (run(g, seed, steps, skip))
				memcpy(skip, before, sizeof(before));
		}
	}
out:
	for (i = 0; i < steps; i++)
		left += !skip[i];
	return left;
}

static void show(struct gen *g)
{
	unsigned int i;

	for (i = 1; i <= ARRAY_SIZE(g->r.last); i++) {
		const char *line = g->r.last[(g->r.steps + i) % ARRAY_SIZE(g->r.last)];

		if (*line)
			printf("# %s\n", line);
	}
	printf("# %s\n", g->r.why);
}

FIXTURE(generator) {
	struct gen *g;
	uint64_t seed;
};

FIXTURE_SETUP(generator)
{
	cpu_set_t one;
	struct dxt t;

	/* One runs at a time: a wake-up need not go to another CPU. */
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	self->g = calloc(1, sizeof(*self->g));
	self->seed = the_seed();
	ASSERT_EQ(0, dxt_open(&t));
	ASSERT_EQ(0, dxk_policy_get(t.ctx, &self->g->r.m.initial));
	dxk_executor_find(t.ctl, "nop", &self->g->r.m.nop);
	dxt_down(&t);
	TH_LOG("DXK_SEED=%llu", (unsigned long long)self->seed);
}

FIXTURE_TEARDOWN(generator)
{
	free(self->g);
}

TEST_F(generator, as_the_model_says)
{
	const char *seconds = getenv("DXK_SECONDS"), *steps = getenv("DXK_STEPS");
	uint64_t end = dxt_in((seconds ? atoi(seconds) : dxt_debug_kernel() ? 45 : 5) *
			      DXT_SEC);
	unsigned int most = steps ? (unsigned int)atoi(steps) : STEPS;
	unsigned int runs = 0, calls = 0, slept = 0, rang = 0, unsure = 0, left;
	bool skip[STEPS] = { false };
	bool good;

	if (most > STEPS)
		most = STEPS;
	self->g->end = steps ? 0 : end;
	do {
		good = run(self->g, self->seed + runs, most, NULL);
		runs++;
		calls += self->g->r.calls;
		slept += self->g->r.slept;
		rang += self->g->r.rang;
		unsure += self->g->r.unsure;
		dxt_tell("%u calls", calls);
	} while (good && !steps && dxt_now() < end);
	TH_LOG("%u calls in %u runs, %u of them slept; %u times came, %u too early to tell",
	       calls, runs, slept, rang, unsure);
	EXPECT_TRUE(good) {
		unsigned int last = self->g->r.steps + 1;

		show(self->g);
		printf("# again: DXK_SEED=%llu DXK_STEPS=%u\n",
		       (unsigned long long)self->seed + runs - 1, last);
		/* what hangs in the module may hang the shrinking, too */
		fflush(stdout);
		self->g->end = 0;
		left = shrink(self->g, self->seed + runs - 1, skip, last);
		run(self->g, self->seed + runs - 1, last, skip);
		printf("# %u of these steps are enough:\n", left);
		show(self->g);
	}
}

TEST_HARNESS_MAIN
