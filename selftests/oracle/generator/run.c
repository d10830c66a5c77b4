// SPDX-License-Identifier: GPL-2.0-only
/* See generator.h. */
#define DXT_NO_HARNESS
#include "generator.h"
#include "model_calls.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const unsigned int uid_of[PROCS] = { 0, 0, 4001, 4002 };

void run_differs(struct run *r, const char *fmt, ...)
{
	va_list ap;

	if (r->why[0])
		return;
	va_start(ap, fmt);
	vsnprintf(r->why, sizeof(r->why), fmt, ap);
	va_end(ap);
}

static int64_t patience(void)
{
	return (dxt_debug_kernel() ? 100 : 30) * DXT_SEC;
}

/* --- the processes ------------------------------------------------------- */

static void nothing(int sig)
{
	(void)sig;
}

static long perform(struct call *c)
{
	struct pollfd pfd = { .fd = c->fd, .events = POLLIN };
	long rc;
	int i;

	switch (c->op) {
	case OP_CLOSE:
		rc = close(c->fd);
		break;
	case OP_DUP:
		rc = fcntl(c->fd, F_DUPFD_CLOEXEC, 0);
		break;
	case OP_POLL:
		rc = poll(&pfd, 1, 0);
		break;
	default:
		rc = ioctl(c->fd, c->cmd, &c->a);
	}
	if (rc < 0)
		return -errno;
	/* the file that came with a request: its number is news */
	for (i = 0; c->op == OP_IOCTL && c->cmd == DXK_IOC_NEXT && i < rc; i++) {
		struct dxk_work *w = &call_work(c, (unsigned int)i)->work;

		if (w->fd >= 0) {
			close(w->fd);
			w->fd = 0;
		}
	}
	return rc;
}

static void live(struct call *call, unsigned int uid, int go, int over)
{
	struct sigaction sa = { .sa_handler = nothing };
	char byte;

	dup2(open("/dev/null", O_RDWR | O_CLOEXEC), FILE_FD);
	dup2(dxk_open(), CTL_FD);
	if (uid && (setgroups(0, NULL) || setresgid(uid, uid, uid) ||
		    setresuid(uid, uid, uid)))
		_exit(1);
	/* another user is not killed with the parent any more, unless it says so again */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigaction(DXT_NUDGE, &sa, NULL);
	while (read(go, &byte, 1) == 1) {
		call->rc = perform(call);
		if (write(over, &byte, 1) != 1)
			break;
	}
	_exit(0);
}

static void give_birth(struct run *r, struct proc *p)
{
	int go[2], over[2], i = p->nr;

	if (pipe2(go, O_CLOEXEC) || pipe2(over, O_CLOEXEC))
		abort();
	r->child[i].pid = dxt_fork();
	if (!r->child[i].pid) {
		close(go[1]);
		close(over[0]);
		live(p->call, p->uid, go[0], over[1]);
	}
	close(go[0]);
	close(over[1]);
	r->child[i].go = go[1];
	r->child[i].over = over[0];
	r->child[i].out = r->child[i].asleep = false;
	p->done = true;
	p->in = NULL;
}

static void bury(struct run *r, int i)
{
	kill(r->child[i].pid, SIGKILL);
	dxt_reap(r->child[i].pid);
	close(r->child[i].go);
	close(r->child[i].over);
}

void run_begin(struct run *r)
{
	int i;

	model_reset(&r->m);
	r->why[0] = 0;
	r->steps = r->calls = r->slept = r->rang = 0;
	r->unsure = false;
	memset(r->last, 0, sizeof(r->last));
	for (i = 0; i < PROCS; i++) {
		struct proc *p = &r->m.proc[i];

		p->nr = i;
		p->uid = uid_of[i];
		p->call = dxt_shared(sizeof(*p->call));
		give_birth(r, p);
	}
}

void run_end(struct run *r)
{
	uint64_t end = dxt_in(patience());
	struct dirent *e;
	int i, left;
	DIR *dir;

	for (i = 0; i < PROCS; i++)
		bury(r, i);
	do {
		left = 0;
		dir = opendir("/sys/kernel/dxk");
		while (dir && (e = readdir(dir)))
			left += e->d_name[0] >= '0' && e->d_name[0] <= '9';
		if (dir)
			closedir(dir);
	} while (left && dxt_now() < end);
	if (left)
		run_differs(r, "%d contexts are left when all processes are gone", left);
	for (i = 0; i < PROCS; i++)
		munmap(r->m.proc[i].call, sizeof(struct call));
	model_reset(&r->m);
}

/* --- sysfs --------------------------------------------------------------- */

static long long number(const struct ctx *c, const char *path)
{
	struct dxt t = { .id = c->id };

	return dxt_num(&t, "%s", path);
}

/* Does the process sleep in its call, in the place where it should? */
static bool sleeps(const struct member *m)
{
	static const char *const state[] = {
		[S_POST] = "posting", [S_REJOIN] = "rejoining", [S_IDLE] = "available",
		[S_BLOCKED] = "completing",
	};
	struct dxt t = { .id = m->ctx->id };

	return dxt_member_is(&t, m->id, state[m->sleep]);
}

/* Pools, lanes and counters are shown from the first Start on. */
static long long wanted(const struct ctx *c, const char *path, long long value)
{
	return c->state == NEW && strchr(path, '/') ? -1 : value;
}

void run_look(struct run *r, struct ctx *c)
{
	const struct { const char *path; long long want; } shown[] = {
		{ "owners", model_owners(c) },
		{ "pools/ready_use", model_count(c, READY, -1, -1) },
		{ "pools/rejoin_use", model_count(c, DONE, -1, -1) },
		{ "pools/thread_busy", model_count(c, WORK, -1, -1) },
		{ "pools/wait_use", model_count(c, WAITING, -1, -1) },
		{ "lanes/ready_lane1_in_use", model_count(c, READY, 1, -1) },
		{ "lanes/ready_lane2_in_use", model_count(c, READY, 2, -1) },
		{ "lanes/ready_lane3_in_use", model_count(c, READY, 3, -1) },
		{ "lanes/user_lane1_in_use", model_count(c, WORK, 1, 0) },
		{ "lanes/user_lane2_in_use", model_count(c, WORK, 2, 0) },
		{ "lanes/user_lane3_in_use", model_count(c, WORK, 3, 0) },
	};
	char path[64];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(shown); i++) {
		long long is = number(c, shown[i].path);
		long long want = wanted(c, shown[i].path, shown[i].want);

		if (is != want)
			run_differs(r, "context %u: %s is %lld, not %lld", c->id,
				    shown[i].path, is, want);
	}
	for (i = 0; i < STATS; i++) {
		snprintf(path, sizeof(path), "stats/%s", model_stat[i]);
		if (number(c, path) != wanted(c, path, (long long)c->stat[i]))
			run_differs(r, "context %u: %s is %lld, not %lld", c->id, path,
				    number(c, path),
				    wanted(c, path, (long long)c->stat[i]));
	}
}

/* --- calls --------------------------------------------------------------- */

/* Has the call returned? Waits up to @ms. */
static bool returned(struct run *r, int i, int ms)
{
	struct pollfd pfd = { .fd = r->child[i].over, .events = POLLIN };
	char byte;

	if (poll(&pfd, 1, ms) != 1)
		return false;
	if (read(pfd.fd, &byte, 1) != 1) {
		run_differs(r, "process %d is gone", i);
		return true;
	}
	return true;
}

static void wait_return(struct run *r, struct proc *p)
{
	if (!returned(r, p->nr, (int)(patience() / DXT_MS))) {
		run_differs(r, "process %d does not return; it should with %ld", p->nr,
			    p->answer.rc);
		return;
	}
	run_compare(r, p);
}

/* The process is to fall asleep, in that place and not before. */
static void wait_sleep(struct run *r, struct proc *p)
{
	uint64_t end = dxt_in(patience());
	struct member *m = p->in;

	while (!r->why[0]) {
		if (returned(r, p->nr, 0))
			run_differs(r, "process %d returns %ld, it should sleep", p->nr,
				    p->call->rc);
		else if (sleeps(m))
			break;
		else if (dxt_now() > end)
			run_differs(r, "process %d neither returns nor sleeps", p->nr);
	}
	r->child[p->nr].asleep = true;
	r->slept++;
}

/* Kernel threads have something to do: until they did it. */
static void wait_threads(struct run *r, struct ctx *c)
{
	static const char *const file[] = { "redo_max", "shutdown", "lane_pct1", "lane_pct2" };
	uint64_t end = dxt_in(patience());
	const struct dxk_policy *n = &c->next_policy;
	unsigned int i;

	while (c->policy.kernel_threads && !c->closed &&
	       c->completions_seen != c->stat[ST_COMPLETIONS] &&
	       number(c, "stats/completions") != (long long)c->stat[ST_COMPLETIONS])
		if (dxt_now() > end) {
			run_differs(r, "context %u: completions are %lld, not %llu", c->id,
				    number(c, "stats/completions"),
				    (unsigned long long)c->stat[ST_COMPLETIONS]);
			return;
		}
	c->completions_seen = c->stat[ST_COMPLETIONS];
	if (!c->changed || c->state != RUNNING)
		return;
	for (i = 0; i < ARRAY_SIZE(file); i++) {
		const uint32_t want[] = { n->redo_max, n->shutdown, n->lane_pct[1],
					  n->lane_pct[2] };
		char path[64];

		snprintf(path, sizeof(path), "policy/%s", file[i]);
		while (number(c, path) != want[i])
			if (dxt_now() > end) {
				run_differs(r, "context %u: %s does not come", c->id, path);
				return;
			}
	}
	model_review(c);
}

/* What the thread is at, as /proc shows it, or 0: it is not that of the context any more. */
static char state_of(const struct ctx *c, int pid)
{
	char path[64], line[256] = "", name[32], is[64], state = 0;
	FILE *f;

	snprintf(name, sizeof(name), "dxk%u/dispatch", c->id);
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (!fgets(line, sizeof(line), f) ||
	    sscanf(line, "%*d (%63[^)]) %c", is, &state) != 2 || strcmp(is, name))
		state = 0;
	fclose(f);
	return state;
}

/*
 * Thread 700 has something to do: until it sleeps again. Whoever has made that so has told
 * it before its own call was over.
 */
static void wait_dispatcher(struct run *r, struct ctx *c)
{
	uint64_t end = dxt_in(patience());
	struct dxt t = { .id = c->id };
	int pids[16], nr;
	char state;

	c->later = false;
	if (!state_of(c, c->dispatcher)) {
		nr = dxt_kthread_pids(&t, pids, ARRAY_SIZE(pids));
		for (c->dispatcher = 0; nr > 0 && !c->dispatcher; nr--)
			if (state_of(c, pids[nr - 1]))
				c->dispatcher = pids[nr - 1];
	}
	/* with its run it ends */
	while ((state = state_of(c, c->dispatcher)) && state != 'I')
		if (dxt_now() > end) {
			run_differs(r, "context %u: thread 700 does not come to rest", c->id);
			return;
		}
}

/* The end of a run, and of a context, is nobody's call: until it has come. */
static void wait_over(struct run *r, struct ctx *c)
{
	struct dxt t = { .id = c->id };
	uint64_t end = dxt_in(patience());
	char text[32];

	while (dxt_text(&t, text, sizeof(text), "state") &&
	       (c->closed || strcmp(text, "stopped")))
		if (dxt_now() > end) {
			run_differs(r, "context %u: %s, its run is over", c->id, text);
			return;
		}
	c->over = false;
}

/* Everybody whose call is over has returned, and nobody else. */
static void compare_now(struct run *r)
{
	int i;

	for (i = 0; i < CTXS; i++) {
		struct ctx *c = &r->m.ctx[i];

		if (c->used && c->known)
			wait_threads(r, c);
		if (c->used)
			model_ended(c);
		if (c->over && c->known)
			wait_over(r, c);
	}
	for (i = 0; i < PROCS && !r->why[0]; i++) {
		struct proc *p = &r->m.proc[i];

		if (!r->child[i].out)
			continue;
		if (p->done)
			wait_return(r, p);
		else if (!r->child[i].asleep)
			wait_sleep(r, p);
		else if (returned(r, i, 0))
			run_differs(r, "process %d returns %ld, it should sleep on", i,
				    p->call->rc);
	}
}

/* What happens after the call, and by its time, which is nobody's call either. */
static void compare_all(struct run *r)
{
	struct ctx *c;

	for (c = r->m.ctx; c < r->m.ctx + CTXS; c++)
		if (c->used)
			model_later(c);
	compare_now(r);
	for (c = r->m.ctx; c < r->m.ctx + CTXS; c++)
		if (c->used && c->known && c->later)
			wait_dispatcher(r, c);
}

/*
 * A time that is soon. It must not have come before all else that the call has led to: what
 * cannot be told any more ends the run.
 */
static void wait_clock(struct run *r, uint64_t soon)
{
	uint64_t end = dxt_in(patience());
	struct ctx *c;

	for (c = r->m.ctx; c < r->m.ctx + CTXS; c++) {
		if (!c->used || !c->known || r->why[0] || !model_soon(c))
			continue;
		r->unsure |= dxt_now() >= soon;
		if (r->unsure)
			return;
		r->rang++;
		model_clock(c);
		while (dxt_now() < soon)
			usleep(100);
		/* Of one that is closed nothing is shown, and its thread 700 has gone. */
		while (!c->closed &&
		       (number(c, "stats/timeouts") != (long long)c->stat[ST_TIMEOUTS] ||
			number(c, "stats/expired") != (long long)c->stat[ST_EXPIRED]))
			if (dxt_now() > end) {
				run_differs(r, "context %u: %lld waits timed out, not %llu, and "
					    "%lld requests expired, not %llu", c->id,
					    number(c, "stats/timeouts"),
					    (unsigned long long)c->stat[ST_TIMEOUTS],
					    number(c, "stats/expired"),
					    (unsigned long long)c->stat[ST_EXPIRED]);
				return;
			}
		wait_dispatcher(r, c);
		compare_all(r);
	}
}

/* The call's times that are soon are so many from now. */
static uint64_t set_clock(struct call *c)
{
	uint64_t soon = dxt_in((dxt_debug_kernel() ? 400 : 40) * DXT_MS);
	unsigned int i;

	for (i = 0; i < SLOTS; i++) {
		struct dxk_post_more *e = &c->entry[i];
		struct dxk_done_more *d = &c->done[i];

		if (c->cmd == DXK_IOC_POST && c->a.post.entry_size == sizeof(*e)) {
			if (e->expire == SOON)
				e->expire = soon;
			if (e->wait.deadline == SOON)
				e->wait.deadline = soon;
		}
		if (c->cmd == DXK_IOC_NEXT && c->a.next.done_size == sizeof(*d) &&
		    d->wait.deadline == SOON)
			d->wait.deadline = soon;
	}
	return soon;
}

void run_call(struct run *r, struct proc *p)
{
	uint64_t soon;

	r->calls++;
	model_call(&r->m, p);
	soon = set_clock(p->call);
	r->child[p->nr].out = true;
	r->child[p->nr].asleep = false;
	if (write(r->child[p->nr].go, "x", 1) != 1)
		run_differs(r, "process %d is gone", p->nr);
	/* the caller first: the number of what it made is to be known */
	if (p->done)
		wait_return(r, p);
	compare_all(r);
	wait_clock(r, soon);
}

void run_interrupt(struct run *r, struct proc *p)
{
	model_interrupt(&r->m, p);
	kill(r->child[p->nr].pid, DXT_NUDGE);
	compare_all(r);
}

void run_kill(struct run *r, struct proc *p)
{
	bury(r, p->nr);
	r->child[p->nr].out = false;
	model_death(&r->m, p);
	give_birth(r, p);
	compare_all(r);
}
