// SPDX-License-Identifier: GPL-2.0-only
/* See dxt.h: time, raw calls, a context. */
#define DXT_NO_HARNESS
#include "lib/dxt.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* --- time ------------------------------------------------------------------ */

uint64_t dxt_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * DXT_SEC + (uint64_t)ts.tv_nsec;
}

uint64_t dxt_in(int64_t ns)
{
	return dxt_now() + (uint64_t)ns;
}

void dxt_sleep_ms(unsigned int ms)
{
	struct timespec ts = { ms / 1000, (long)(ms % 1000) * 1000000 };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

bool dxt_debug_kernel(void)
{
	static _Atomic int known;

	if (!known)
		known = access("/proc/lockdep_stats", F_OK) ? 1 : 2;
	return known == 2;
}

uint64_t dxt_stall_ns(void)
{
	return (dxt_debug_kernel() ? 10 : 2) * DXT_SEC;
}

int64_t dxt_late_ns(void)
{
	return (dxt_debug_kernel() ? 60 : 30) * DXT_SEC;
}

int dxt_late_ms(void)
{
	return (int)(dxt_late_ns() / DXT_MS);
}

uint64_t dxt_late(void)
{
	return dxt_in(dxt_late_ns());
}

uint64_t dxt_turn(struct dxt_turns *turns)
{
	uint64_t most = (dxt_debug_kernel() ? 100 : 20) * DXT_MS, now, took;

	/* Most conditions come true at once; the others must not cost the CPU. */
	if (turns->nr++ < 10)
		sched_yield();
	else
		dxt_sleep_ms(1);
	now = dxt_now();
	took = turns->last ? now - turns->last : 0;
	turns->last = now;
	turns->ran += took < most ? took : most;
	return turns->ran;
}

void dxt_tell(const char *format, ...)
{
	static uint64_t last;
	char line[200];
	va_list ap;
	int n;

	if (dxt_now() - last < 2 * DXT_SEC)
		return;
	last = dxt_now();
	va_start(ap, format);
	n = vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	/* in one piece, and at once */
	dprintf(STDOUT_FILENO, "# %.*s\n", n, line);
}

/* --- raw calls ------------------------------------------------------------- */

void dxt_poison(void *p, size_t n)
{
	memset(p, DXT_POISON, n);
}

bool dxt_poisoned(const void *p, size_t n)
{
	const unsigned char *c = p;

	while (n--)
		if (*c++ != DXT_POISON)
			return false;
	return true;
}

int dxt_ioctl(int fd, unsigned long cmd, void *arg)
{
	int rc = ioctl(fd, cmd, arg);

	return rc < 0 ? -errno : rc;
}

struct dxk_post_entry dxt_entry(uint64_t owner, uint64_t exec, uint64_t param,
				uint32_t attrs)
{
	return (struct dxk_post_entry){
		.owner = owner,
		.executor = exec,
		.param = param,
		.attrs = attrs,
	};
}

int dxt_post(int member, const struct dxk_post_entry *entries, unsigned int nr,
	     uint64_t deadline, struct dxk_post *post)
{
	*post = (struct dxk_post){
		.size = sizeof(*post),
		.deadline = deadline,
		.entries = DXT_PTR(entries),
		.nr = nr,
		.entry_size = sizeof(*entries),
		.index = DXT_POISON32,
		.reason = DXT_POISON32,
	};
	return dxt_ioctl(member, DXK_IOC_POST, post);
}

int dxt_post1(int member, uint64_t owner, uint64_t exec, uint64_t param,
	      uint32_t attrs, uint64_t deadline, uint32_t *reason)
{
	struct dxk_post_entry entry = dxt_entry(owner, exec, param, attrs);
	struct dxk_post post;
	int rc = dxt_post(member, &entry, 1, deadline, &post);

	if (reason)
		*reason = post.reason;
	return rc;
}

int dxt_rejoin(int member, uint64_t owner, struct dxk_result *results,
	       unsigned int nr, unsigned int min, uint64_t deadline,
	       uint32_t *answer)
{
	struct dxk_rejoin rejoin = {
		.size = sizeof(rejoin),
		.owner = owner,
		.deadline = deadline,
		.results = DXT_PTR(results),
		.nr = nr,
		.result_size = sizeof(*results),
		.min = min,
		.answer = DXT_POISON32,
	};
	int rc;

	dxt_poison(results, nr * sizeof(*results));
	rc = dxt_ioctl(member, DXK_IOC_REJOIN, &rejoin);
	if (answer)
		*answer = rejoin.answer;
	return rc;
}

int dxt_drain(const struct dxt *t, int member, uint64_t owner)
{
	struct dxk_result results[16];
	struct dxt_wait wait = { 0 };
	uint32_t answer = 0;
	int got = 0, rc;

	for (;;) {
		rc = dxt_rejoin(member, owner, results, ARRAY_SIZE(results), 1, 0,
				&answer);
		if (rc < 0)
			return rc;
		got += rc;
		if (!rc && answer == RJR_NONE_EXIST)
			return got;
		if (!rc && !dxt_wait_more(t, &wait))
			return -ETIME;
	}
}

/* --- a context ------------------------------------------------------------- */

unsigned int dxt_mode(void)
{
	const char *mode = getenv("DXK_DISPATCH");

	return mode && !strcmp(mode, "thread") ? DXK_DISPATCH_THREAD :
						 DXK_DISPATCH_DIRECT;
}

int dxt_open(struct dxt *t)
{
	int rc;

	*t = (struct dxt){ .ctl = -1, .ctx = -1, .member = -1 };
	t->ctl = dxk_open();
	if (t->ctl < 0)
		return t->ctl;
	t->ctx = dxk_ctx_create(t->ctl, &t->id);
	if (t->ctx < 0)
		return t->ctx;
	rc = dxk_policy_get(t->ctx, &t->policy);
	t->policy.dispatch = dxt_mode();
	t->policy.max_threads = 4;
	t->policy.kernel_threads = 0;
	return rc;
}

int dxt_start(struct dxt *t)
{
	unsigned int bad;
	int rc = dxk_policy_set(t->ctx, &t->policy, &bad);

	if (rc < 0) {
		fprintf(stderr, "# policy field %s: %s\n",
			dxk_policy_field_name(bad) ?: "?", strerror(-rc));
		return rc;
	}
	rc = dxk_ctx_start(t->ctx);
	if (rc < 0)
		return rc;
	if (t->member < 0)
		t->member = dxk_member_create(t->ctx, DXK_MEMBER_CLIENT,
					      &t->member_id);
	return t->member < 0 ? t->member : 0;
}

int dxt_up(struct dxt *t, unsigned int nr)
{
	int rc = dxt_open(t);

	if (rc < 0)
		return rc;
	if (nr)
		t->policy.max_threads = nr;
	rc = dxt_start(t);
	return rc < 0 ? rc : dxt_workers_start(t, nr);
}

void dxt_close(struct dxt *t)
{
	while (t->workers)
		dxt_worker_end(t->workers);
	if (t->member >= 0)
		close(t->member);
	if (t->ctx >= 0)
		close(t->ctx);
	if (t->ctl >= 0)
		close(t->ctl);
	t->member = t->ctx = t->ctl = -1;
}

void dxt_down(struct dxt *t)
{
	if (t->ctx >= 0)
		dxk_ctx_stop(t->ctx, DXK_STOP_CANCEL, DXT_SEC);
	dxt_close(t);
}
