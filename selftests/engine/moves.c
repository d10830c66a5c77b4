// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who makes the moves, as the tracepoint dxk_move tells it: its records carry the
 * thread that made them.
 */
#include "lib/dxt.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRACING		"/sys/kernel/tracing"
#define INSTANCE	TRACING "/instances/dxk_selftest"
#define NR		20

FIXTURE(moves) {
	struct dxt t;
};

FIXTURE_SETUP(moves)
{
	if (access(TRACING "/instances", F_OK))
		mount("tracefs", TRACING, "tracefs", 0, NULL);
	ASSERT_EQ(0, dxt_open(&self->t));
}

FIXTURE_TEARDOWN(moves)
{
	dxt_down(&self->t);
	rmdir(INSTANCE);
}

struct count {
	unsigned int moves;		/* of this context */
	unsigned int by_scheduler;
	unsigned int by_monitor;
	unsigned int by_dispatcher;
	unsigned int posts;
	unsigned int dispatches;
	unsigned int collected;
};

/* Reads what the instance has recorded about the context. */
static bool count_moves(const struct dxt *t, struct count *c)
{
	char line[512], ctx[32], name[32];
	FILE *f = fopen(INSTANCE "/trace", "r");

	if (!f)
		return false;
	memset(c, 0, sizeof(*c));
	snprintf(ctx, sizeof(ctx), "dxk_move: ctx=%u ", t->id);
	while (fgets(line, sizeof(line), f)) {
		if (!strstr(line, ctx))
			continue;
		c->moves++;
		c->posts += !!strstr(line, " POSTED->READY ");
		c->dispatches += !!strstr(line, " READY->DISPATCHED ");
		c->collected += !!strstr(line, " REJOIN->FREE ");
		snprintf(name, sizeof(name), "dxk%u/sched-", t->id);
		c->by_scheduler += !!strstr(line, name);
		snprintf(name, sizeof(name), "dxk%u/monitor-", t->id);
		c->by_monitor += !!strstr(line, name);
		snprintf(name, sizeof(name), "dxk%u/dispatch-", t->id);
		c->by_dispatcher += !!strstr(line, name);
	}
	fclose(f);
	return true;
}

/*
 * DX-21, R-20: the Scheduler ages what is Ready and moves nothing. Posts, dispatches and
 * rejoins are the Dispatcher's: thread 700 under dispatch=thread, and otherwise
 * whoever has its role, which is the callers.
 */
TEST_F(moves, scheduler_ages_dispatcher_moves)
{
	struct dxk_result r[NR];
	struct dxt *t = &self->t;
	struct dxt_gate *gate = dxt_gate_new();
	int aged = 0, got = 0, i, rc;
	struct count c;

	if (mkdir(INSTANCE, 0700) ||
	    dxt_write(INSTANCE "/events/dxk/dxk_move/enable", "1"))
		SKIP(return, "this kernel has no tracefs instances");
	t->policy.prio_policy = PRIO_POLICY_AGERQS;
	t->policy.sched_interval_ms = 5;
	ASSERT_EQ(0, dxt_start(t));
	ASSERT_EQ(0, dxt_workers_start(t, 1));
	ASSERT_TRUE(DXT_UNTIL(t, dxt_member_is(t, 1, "available")));

	/* one is executed, the others wait in the Ready Pool and age */
	for (i = 0; i < NR; i++)
		ASSERT_EQ(1, dxt_post1(t->member, 1, DXT_GATE, DXT_PTR(gate),
				       PXR_REJOIN, 0, NULL));
	ASSERT_TRUE(DXT_UNTIL(t, atomic_load(&gate->entered) == 1));
	ASSERT_TRUE(dxt_ticks(t, 1));
	dxt_gate_open(gate);
	while (got < NR) {
		rc = dxt_rejoin(t->member, 1, r, NR, 1, dxt_late(), NULL);
		ASSERT_GT(rc, 0);
		for (i = 0; i < rc; i++)
			aged += r[i].inspect_count > 0 &&
				r[i].prio == (int)r[i].inspect_count;
		got += rc;
	}
	dxt_gate_free(gate);

	/* Nothing was posted after a tick but what waited before it. */
	EXPECT_EQ(NR - 1, aged);
	ASSERT_TRUE(count_moves(t, &c));
	EXPECT_EQ(NR, c.posts);
	EXPECT_EQ(NR, c.dispatches);
	EXPECT_EQ(NR, c.collected);
	EXPECT_EQ(0, c.by_scheduler);
	EXPECT_EQ(0, c.by_monitor);
	/* where it is late, others go on */
	EXPECT_TRUE(dxt_mode() == DXK_DISPATCH_THREAD ? c.by_dispatcher > c.moves / 2 :
							!c.by_dispatcher);
}

/* Records of an event about the context that have the text, too. */
static unsigned int events(const struct dxt *t, const char *event, const char *text)
{
	char line[512], begin[48];
	unsigned int nr = 0;
	FILE *f = fopen(INSTANCE "/trace", "r");

	snprintf(begin, sizeof(begin), ": dxk_%s: ctx=%u ", event, t->id);
	while (f && fgets(line, sizeof(line), f))
		nr += strstr(line, begin) && strstr(line, text);
	if (f)
		fclose(f);
	return nr;
}

/*
 * The life of requests as the tracepoints tell it: each has its post, its dispatch,
 * start, completion and rejoin, under one number; one that Stop cancels completes
 * without a worker (DX-108). A sleep has its begin and its end.
 */
TEST_F(moves, events)
{
	static const char *const event[] = {
		"post", "dispatch", "start", "complete", "rejoin", "block", "stall",
	};
	struct dxt *t = &self->t;
	struct dxk_result r[8];
	struct dxt_worker *w;
	char path[128];
	unsigned int i;

	if (mkdir(INSTANCE, 0700))
		SKIP(return, "this kernel has no tracefs instances");
	for (i = 0; i < ARRAY_SIZE(event); i++) {
		snprintf(path, sizeof(path), INSTANCE "/events/dxk/dxk_%s/enable", event[i]);
		ASSERT_EQ(0, dxt_write(path, "1"));
	}
	ASSERT_EQ(0, dxt_start(t));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(1, dxt_post1(t->member, 5, DXT_PARAM, 40 + i,
				       PXR_REJOIN, 0, NULL));
	w = dxt_worker_start(t);
	ASSERT_NE(NULL, w);
	EXPECT_EQ(3, dxt_rejoin(t->member, 5, r, 8, 3, dxt_late(), NULL));
	/* one that waits for it */
	ASSERT_EQ(1, dxt_post1(t->member, 6, DXT_PARAM, 50, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(1, dxt_rejoin(t->member, 6, r, 8, 1, dxt_late(), NULL));
	dxt_worker_end(w);
	ASSERT_EQ(1, dxt_post1(t->member, 7, DXT_PARAM, 60, PXR_REJOIN, 0, NULL));
	ASSERT_EQ(0, dxk_ctx_stop(t->ctx, DXK_STOP_CANCEL, -1));
	EXPECT_EQ(1, dxt_rejoin(t->member, 7, r, 8, 1, 0, NULL));

	EXPECT_EQ(5, events(t, "post", " member=0 "));
	EXPECT_EQ(3, events(t, "post", " owner=0x5 "));
	EXPECT_EQ(4, events(t, "dispatch", " worker=1 lane=3 "));
	EXPECT_EQ(4, events(t, "start", " worker=1 lane=3 attempts=1 "));
	EXPECT_EQ(4, events(t, "complete", " worker=1 "));
	EXPECT_EQ(1, events(t, "complete", " worker=1 status=42"));
	EXPECT_EQ(1, events(t, "complete", " worker=0 status=-125"));
	EXPECT_EQ(5, events(t, "complete", ""));
	EXPECT_EQ(5, events(t, "rejoin", " member=0 "));
	EXPECT_EQ(1, events(t, "rejoin", " owner=0x7 status=-125"));
	/* as many begins as ends */
	EXPECT_EQ(events(t, "block", " member=0 what=rejoining ns=0\n"),
		  events(t, "block", " member=0 what=rejoining ") / 2);
	EXPECT_EQ(dxt_num(t, "stats/rejoin_blocks"),
		  events(t, "block", " member=0 what=rejoining ns=0\n"));
	EXPECT_EQ(0, events(t, "stall", ""));
	/* one number from post to rejoin */
	for (i = 0; i < 5; i++) {
		char seq[32];

		snprintf(seq, sizeof(seq), " seq=%u ", i);
		EXPECT_EQ(1, events(t, "post", seq));
		EXPECT_EQ(1, events(t, "complete", seq));
		EXPECT_EQ(1, events(t, "rejoin", seq));
		EXPECT_EQ(i < 4, events(t, "dispatch", seq));
		EXPECT_EQ(i < 4, events(t, "start", seq));
	}
}

/*
 * In which order the context's kernel threads were ended, by their names: each time somebody
 * began to wait for the end of one. When they trace their ends themselves is another matter.
 */
static unsigned int exits(const struct dxt *t, char order[][16], unsigned int room)
{
	char line[512], prefix[32];
	unsigned int nr = 0;
	FILE *f = fopen(INSTANCE "/trace", "r");
	const char *at;

	snprintf(prefix, sizeof(prefix), "comm=dxk%u/", t->id);
	while (f && nr < room && fgets(line, sizeof(line), f)) {
		at = strstr(line, prefix);
		if (at && sscanf(at + strlen(prefix), "%15[^ ]", order[nr]) == 1)
			nr++;
	}
	if (f)
		fclose(f);
	return nr;
}

/* Stops or closes, and looks in which order the kernel threads end. */
static bool ends_in_order(struct dxt *t, void (*end)(struct dxt *t))
{
	static const char *const control[] = { "dispatch", "sched", "monitor" };
	unsigned int i, nr = 0;
	char order[8][16];

	end(t);
	if (!DXT_SOON((nr = exits(t, order, 8)) >= 6) || nr != 6)
		return false;
	for (i = 0; i < 3; i++)
		/* workers, in any order */
		if (order[i][0] < '1' || order[i][0] > '3' || strcmp(control[i], order[3 + i]))
			return false;
	return true;
}

static void by_stop(struct dxt *t)
{
	dxk_ctx_stop(t->ctx, DXK_STOP_DRAIN, -1);
}

/*
 * DX-111: Stop ends the workers, then Dispatcher, Scheduler and, last, Monitor; so
 * does the end of a context that is closed while it runs.
 */
TEST_F(moves, order_of_stop)
{
	struct dxt *t = &self->t, closed;

	if (mkdir(INSTANCE, 0700) ||
	    dxt_write(INSTANCE "/events/sched/sched_kthread_stop/enable", "1"))
		SKIP(return, "this kernel has no tracefs instances");
	ASSERT_EQ(0, dxt_open(&closed));
	t->policy.max_threads = t->policy.kernel_threads = 3;
	closed.policy.max_threads = closed.policy.kernel_threads = 3;
	ASSERT_EQ(0, dxt_start(t));
	ASSERT_EQ(0, dxt_start(&closed));
	EXPECT_TRUE(ends_in_order(t, by_stop));
	EXPECT_TRUE(ends_in_order(&closed, dxt_close));
}

/* --- probes of functions ---------------------------------------------------------- */

struct probe {
	const char *name, *function;
};

/* Makes or removes the probes; 0, or why that cannot be. */
static int probes(const struct probe *p, unsigned int nr, bool there)
{
	char text[128];
	int rc = 0;

	for (; nr-- && !rc; p++) {
		snprintf(text, sizeof(text), there ? "p:dxt/%s %s" : "-:dxt/%s", p->name,
			 p->function);
		rc = dxt_write(TRACING "/kprobe_events", text);
	}
	return rc;
}

/* An instance with them in it. */
static bool probes_begin(const struct probe *p, unsigned int nr)
{
	/* left by one that was killed */
	probes(p, nr, false);
	return !mkdir(INSTANCE, 0700) && !probes(p, nr, true) &&
	       !dxt_write(INSTANCE "/events/dxt/enable", "1");
}

static void probes_end(const struct probe *p, unsigned int nr)
{
	dxt_write(INSTANCE "/events/dxt/enable", "0");
	probes(p, nr, false);
}

/* Records of the event by threads whose name begins with @comm. */
static unsigned int hits(const char *event, const char *comm)
{
	char line[512], name[64];
	unsigned int nr = 0;
	FILE *f = fopen(INSTANCE "/trace", "r");

	snprintf(name, sizeof(name), " %s: (", event);
	while (f && fgets(line, sizeof(line), f))
		nr += strstr(line, name) &&
		      !strncmp(line + strspn(line, " "), comm, strlen(comm));
	if (f)
		fclose(f);
	return nr;
}

/*
 * DX-20, DX-32: the Monitor, and nobody else, starts workers, reviews the settings, takes
 * samples and looks after commands; the log is written by others, as nothing that
 * blocks may keep the Monitor.
 */
TEST_F(moves, duties_of_the_monitor)
{
	static const struct probe duty[] = {
		{ "mon_workers", "dxk_crew_review" },
		{ "mon_settings", "dxk_policy_review" },
		{ "mon_samples", "dxk_samples_take" },
		{ "mon_commands", "dxk_commands_tick" },
		{ "log_write", "dxk_logfile_work" },
	};
	const unsigned int log = ARRAY_SIZE(duty) - 1;
	struct dxt *t = &self->t;
	unsigned int i, looks;
	char name[32];
	int fd;

	if (!probes_begin(duty, ARRAY_SIZE(duty))) {
		probes_end(duty, ARRAY_SIZE(duty));
		SKIP(return, "this kernel has no probes of functions");
	}
	fd = open("/tmp", O_TMPFILE | O_RDWR | O_APPEND, 0600);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, dxk_log_file(t->ctx, fd));
	t->policy.kernel_threads = 1;
	t->policy.monitor_interval_ms = t->policy.sample_interval_ms = 10;
	ASSERT_EQ(0, dxt_start(t));
	ASSERT_EQ(0, dxk_command_attach(t->member, 1));
	ASSERT_EQ(0, dxk_log_write(t->member, "x", 1, DXK_LOG_WAIT, -1));
	snprintf(name, sizeof(name), "dxk%u/monitor-", t->id);
	for (i = 0; i < ARRAY_SIZE(duty); i++) {
		/* looks are counted: a trace that grows takes longer and longer to read */
		for (looks = 0; looks < 100 && !hits(duty[i].name, i == log ? "" : name); looks++)
			dxt_sleep_ms(20);
		EXPECT_GT(100, looks) TH_LOG("%s", duty[i].name);
	}
	ASSERT_EQ(0, dxk_ctx_stop(t->ctx, DXK_STOP_DRAIN, -1));
	for (i = 0; i < log; i++) {
		EXPECT_EQ(hits(duty[i].name, name), hits(duty[i].name, ""))
			TH_LOG("%s", duty[i].name);
	}
	EXPECT_EQ(0, hits(duty[log].name, name));
	probes_end(duty, ARRAY_SIZE(duty));
	close(fd);
}

/* --- the steps of Start and Stop ------------------------------------------------- */

/* What undoes a step, in the order of Start. */
static const struct probe steps[] = {
	{ "undo_files", "dxk_files_stop" },
	{ "undo_threads", "dxk_thread_pool_stop" },
	{ "undo_rejoin", "dxk_rejoin_pool_stop" },
	{ "undo_log", "dxk_log_pool_stop" },
	{ "undo_handles", "dxk_handle_table_stop" },
	{ "undo_monitor", "dxk_monitor_step_stop" },
	{ "undo_scheduler", "dxk_scheduler_step_stop" },
	{ "undo_dispatcher", "dxk_dispatcher_step_stop" },
	{ "undo_commands", "dxk_commands_stop" },
};

#define STEPS	((int)ARRAY_SIZE(steps))

/* Which steps have been undone since it was asked last: their numbers, from 1 on. */
static int undone(char *order)
{
	static long from;
	char line[512], name[64];
	int nr = 0, i;
	FILE *f = fopen(INSTANCE "/trace", "r");

	for (*order = '\0'; f && fgets(line, sizeof(line), f);) {
		for (i = 0; i < STEPS; i++) {
			snprintf(name, sizeof(name), " %s: (", steps[i].name);
			if (strstr(line, name) && ++nr > from)
				sprintf(order + strlen(order), "%d", i + 1);
		}
	}
	if (f)
		fclose(f);
	i = nr - (int)from;
	from = nr;
	return i;
}

/*
 * DX-6, DX-111: what Start has made is undone in reverse order, by Stop, which has written
 * the log by then, and by a Start that fails: a worker of the last run has the only place.
 */
TEST_F(moves, reverse_order)
{
	struct dxt *t = &self->t;
	char order[64], text[256] = "";
	int worker, fd;

	if (!probes_begin(steps, STEPS)) {
		probes_end(steps, STEPS);
		SKIP(return, "this kernel has no probes of functions");
	}
	fd = open("/tmp", O_TMPFILE | O_RDWR | O_APPEND, 0600);
	ASSERT_LE(0, fd);
	t->policy.max_threads = 1;
	ASSERT_EQ(0, dxk_log_file(t->ctx, fd));
	ASSERT_EQ(0, dxt_start(t));
	worker = dxk_member_create(t->ctx, DXK_MEMBER_WORKER, NULL);
	ASSERT_LE(0, worker);
	ASSERT_EQ(0, dxk_log_write(t->member, "the last", 8, DXK_LOG_WAIT, -1));
	ASSERT_EQ(0, dxk_ctx_stop(t->ctx, DXK_STOP_DRAIN, -1));
	EXPECT_LT(0, pread(fd, text, sizeof(text) - 1, 0));
	EXPECT_NE(NULL, strstr(text, "the last"));
	EXPECT_EQ(STEPS, undone(order));
	EXPECT_STREQ("987654321", order);

	t->policy.kernel_threads = 1;
	ASSERT_EQ(0, dxk_policy_set(t->ctx, &t->policy, NULL));
	EXPECT_EQ(-EAGAIN, dxk_ctx_start(t->ctx));
	/* the crew is what fails, so all but the commands were there */
	EXPECT_EQ(STEPS - 1, undone(order));
	EXPECT_STREQ("87654321", order);
	close(worker);
	close(fd);
	probes_end(steps, STEPS);
}

TEST_HARNESS_MAIN
