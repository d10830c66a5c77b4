// SPDX-License-Identifier: GPL-2.0-only
/*
 * Work that can never end: what thread pools grind to a halt on (D-1, D-4, D-5, D-6,
 * D-8). Where the engine cannot help, it says so: within a second the Monitor reports
 * a stall, and Stop(cancel) ends it. Then Stop with sleepers, and with services (D-24,
 * D-25). What CMLS does help with, D-2 and D-3, is in lanes_hierarchy.c; a full Rejoin
 * Pool, D-7, and D-23 are in rejoin.c.
 */
#include "lib/puppet.h"

#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>

/* --- families of requests, a context whose stalls are watched -------------- */

#define FAMILIES	10

/*
 * A parent and its children. Its address is the parent's parameter, and owner and
 * parameter of the children.
 */
struct family {
	unsigned int children;
	uint32_t attrs;			/* of the children */
	_Atomic unsigned int posted, executed, returned, cancelled;
	_Atomic unsigned int full;	/* posts that found no room */
	_Atomic int error;		/* that ended the posting */
	_Atomic uint32_t answer;	/* the last */
};

static struct family family[FAMILIES];
/* No child is posted before all parents execute. */
static struct dxt_gate *barrier;

/*
 * The kernel's log from now on. Its records are read one by one, also if the
 * machine's other messages come between.
 */
static int log_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

FIXTURE(deadlock) {
	struct dxt t;
	struct pollfd stalls;	/* the counter, as somebody watches it */
	int log;
};

FIXTURE_SETUP(deadlock)
{
	struct dxt *t = &self->t;

	memset((void *)family, 0, sizeof(family));
	barrier = dxt_gate_new();
	self->log = log_open();
	ASSERT_LE(0, self->log);
	ASSERT_EQ(0, dxt_open(t));
	no_sweeps(t);
	puppet_signals(false);
}

FIXTURE_TEARDOWN(deadlock)
{
	dxt_gate_open(barrier);
	dxt_down(&self->t);
	dxt_gate_free(barrier);
	close(self->log);
	if (self->stalls.fd > 0)
		close(self->stalls.fd);
}

/* Reads the counter: poll(2) tells when it has changed since. */
static void look(const struct dxt *t, struct pollfd *p)
{
	char path[64], text[32];

	snprintf(path, sizeof(path), "/sys/kernel/dxk/%u/stats/stalls", t->id);
	if (p->fd <= 0)
		p->fd = open(path, O_RDONLY | O_CLOEXEC);
	p->events = POLLPRI;
	if (pread(p->fd, text, sizeof(text), 0) < 0)
		p->events = 0;
}

#define START(workers_) ({						\
	t->policy.max_threads = workers_;				\
	ASSERT_EQ(0, dxt_start(t));					\
	ASSERT_EQ(0, dxt_workers_start(t, workers_));			\
	look(t, &self->stalls);						\
	ASSERT_EQ(POLLPRI, self->stalls.events);			\
})

/* --- work that never ends -------------------------------------------------- */

static int exe_child(struct dxt_call *call)
{
	((struct family *)(uintptr_t)call->work.param)->executed++;
	return 7;
}

/* A parent that does not want to wait works off what is Ready. */
static void help(int member)
{
	struct dxt_call call = { 0 };
	struct dxk_done done = { 0 };

	if (dxk_next(member, NULL, 0, NULL, &call.work, 1, NULL, 0, 0) != 1) {
		/* the other parent has it */
		sched_yield();
		return;
	}
	done.ticket = call.work.ticket;
	done.status = ((dxt_exec_t)(uintptr_t)call.work.executor)(&call);
	dxk_next(member, &done, 1, NULL, NULL, 0, NULL, 0, 0);
}

/* Posts its children, then waits until none of them exists. */
static int exe_parent(struct dxt_call *call)
{
	struct family *f = (void *)(uintptr_t)call->work.param;
	int member = call->worker->member, rc, i, ended = 0;
	bool wait = f->attrs & PXR_WAITIF_BUSY;
	struct dxk_result r[8];
	uint32_t answer = 0;

	dxt_gate_pass(barrier, call->worker->id);
	while (f->posted < f->children) {
		rc = dxt_post1(member, DXT_PTR(f), DXT_FN(exe_child), DXT_PTR(f),
			       f->attrs | PXR_REJOIN, DXK_FOREVER, NULL);
		if (rc == 1) {
			f->posted++;
		} else if (rc == -EAGAIN) {
			f->full++;
			help(member);
		} else {
			f->error = rc;
			break;
		}
	}
	while (answer != RJR_NONE_EXIST) {
		rc = dxt_rejoin(member, DXT_PTR(f), r, 8, 1, wait ? DXK_FOREVER : 0,
				&answer);
		/* Stop wakes the sleepers, once; then they can go on */
		if (rc == -ESHUTDOWN && !ended++)
			continue;
		if (rc < 0)
			break;
		if (answer == RJR_NONE_READY)
			help(member);
		for (i = 0; i < rc; i++)
			f->cancelled += r[i].status == -ECANCELED;
		f->returned += rc;
	}
	f->answer = answer;
	return 0;
}

/* --- the report --------------------------------------------------------------- */

/* How many reports of a stall of the context; the lines of the first are in @text. */
static int log_reports(int fd, const struct dxt *t, char *text, size_t room)
{
	char line[2048], *message, begin[64];
	size_t len = 0;
	int nr = 0;
	ssize_t n;

	snprintf(begin, sizeof(begin), "dxk: context %u: stall", t->id);
	while ((n = read(fd, line, sizeof(line) - 1)) > 0 || (n < 0 && errno == EPIPE)) {
		line[n < 0 ? 0 : n] = 0;
		message = strchr(line, ';');
		if (!message || strncmp(message + 1, begin, strlen(begin)))
			continue;
		nr += strstr(message, ": ready ") != NULL;
		if (nr == 1 && len < room)
			len += (size_t)snprintf(text + len, room - len, "%.*s",
						(int)strcspn(message + 1, "\n"),
						message + 1);
	}
	return nr;
}

/* Does the report say it? */
static bool tells(const char *text, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static bool tells(const char *text, const char *fmt, ...)
{
	char words[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(words, sizeof(words), fmt, ap);
	va_end(ap);
	return strstr(text, words);
}

/* The parents that it names, each with its thread, lane and cookies. */
static unsigned int parents_told(const char *text, unsigned int lane,
				 const char *state)
{
	unsigned int id, nr = 0;

	for (id = 1; id <= FAMILIES; id++)
		nr += tells(text, " %u %s lane %u owner 0x1 executor %#llx", id, state,
			    lane, (unsigned long long)DXT_FN(exe_parent));
	return nr;
}

/* Posts @nr parents, and lets go when @together of them execute. */
static bool parents(struct dxt *t, unsigned int nr, unsigned int together,
		    uint32_t lane, unsigned int children, uint32_t child_attrs)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		family[i].children = children;
		family[i].attrs = child_attrs;
		if (dxt_post1(t->member, 1, DXT_FN(exe_parent), DXT_PTR(&family[i]),
			      lane | PXR_REJOIN, 0, NULL) != 1)
			return false;
	}
	if (!DXT_UNTIL(t, barrier->entered == together))
		return false;
	dxt_gate_open(barrier);
	return true;
}

static unsigned int sum_posted(void)
{
	unsigned int i, sum = 0;

	for (i = 0; i < FAMILIES; i++)
		sum += family[i].posted;
	return sum;
}

/* Workers that sleep in a call of dxk, other than for work. */
static unsigned int asleep(const struct dxt *t, unsigned int workers)
{
	unsigned int id, nr = 0;

	for (id = 1; id <= workers; id++)
		nr += dxt_member_is(t, id, "posting") ||
		      dxt_member_is(t, id, "rejoining") ||
		      dxt_member_is(t, id, "completing");
	return nr;
}

/*
 * It has stalled: that is counted within a second, whoever polls the counter is
 * woken, the kernel's log says so once, and nothing moves.
 */
#define EXPECT_STALL(text_) ({						\
	uint64_t _progress = dxt_progress(t);				\
	EXPECT_TRUE(stall_comes(t, 0));					\
	EXPECT_EQ(1, poll(&self->stalls, 1, dxt_late_ms()));		\
	EXPECT_TRUE(self->stalls.revents & POLLPRI);			\
	look(t, &self->stalls);						\
	EXPECT_EQ(1, log_reports(self->log, t, text_, sizeof(text_)));	\
	TH_LOG("%s", text_);						\
	EXPECT_EQ(_progress, dxt_progress(t));				\
})

/* Stop(cancel) ends it, and every parent has seen the end of its children. */
#define EXPECT_STOP_ENDS_IT(parents_, cancelled_) ({			\
	struct dxk_result _r[FAMILIES];					\
	unsigned int _i, _cancelled = 0;				\
	int _n;								\
									\
	EXPECT_EQ(0, dxk_ctx_stop(t->ctx, DXK_STOP_CANCEL, dxt_late_ns())); \
	for (_i = 0; _i < FAMILIES; _i++) {				\
		struct family *_f = &family[_i];			\
									\
		EXPECT_EQ(_f->posted, _f->returned);			\
		EXPECT_EQ(_f->posted, _f->cancelled + _f->executed);	\
		EXPECT_EQ(_f->answer ? RJR_NONE_EXIST : 0, _f->answer);	\
	}								\
	_n = dxt_rejoin(t->member, 1, _r, FAMILIES, 1, 0, NULL);	\
	EXPECT_EQ(parents_, _n);					\
	for (_i = 0; (int)_i < _n; _i++)				\
		_cancelled += _r[_i].status == -ECANCELED;		\
	EXPECT_EQ(cancelled_, _cancelled);				\
	EXPECT_EQ(0, dxt_num(t, "owners"));				\
	EXPECT_EQ(0, dxt_num(t, "pools/thread_busy"));			\
	EXPECT_EQ(0, dxt_num(t, "pools/ready_use"));			\
	EXPECT_EQ(0, dxt_num(t, "pools/rejoin_use"));			\
})

/* What sysfs shows of a parent: what it executes, and whose end it waits for. */
static bool shows_parent(const struct dxt *t, unsigned int id)
{
	unsigned long long executor, owner;
	char text[200];
	unsigned int space;

	if (!dxt_text(t, text, sizeof(text), "threads/%u/executes", id) ||
	    sscanf(text, "lane 3 owner %u:0x1 executor %llx", &space, &executor) != 2 ||
	    executor != DXT_FN(exe_parent))
		return false;
	return dxt_text(t, text, sizeof(text), "threads/%u/awaits", id) &&
	       sscanf(text, "owner %u:%llx", &space, &owner) == 2 &&
	       (owner - DXT_PTR(family)) % sizeof(family[0]) == 0 &&
	       owner < DXT_PTR(&family[4]);
}

/* D-1: four workers, four parents, twelve children: the seed's grind to a halt. */
TEST_F(deadlock, thread_exhaustion)
{
	struct dxt *t = &self->t;
	char text[4096] = "";
	unsigned int i;

	t->policy.ready_entries = 100;
	START(4);
	ASSERT_TRUE(parents(t, 4, 4, 0, 3, PXR_WAITIF_BUSY));
	ASSERT_TRUE(DXT_UNTIL(t, sum_posted() == 12 && asleep(t, 4) == 4));
	EXPECT_EQ(12, dxt_num(t, "pools/ready_use"));
	EXPECT_EQ(4, dxt_num(t, "pools/thread_busy"));
	EXPECT_STALL(text);
	EXPECT_TRUE(tells(text, " 12 lane 3"));
	EXPECT_EQ(4, parents_told(text, 3, "rejoining"));
	/* each waits for its own three children, whom nobody executes */
	EXPECT_TRUE(tells(text, " for owner %#llx: 3 ready, 0 at work;",
			  (unsigned long long)DXT_PTR(&family[3])));
	for (i = 1; i <= 4; i++)
		EXPECT_TRUE(shows_parent(t, i));
	EXPECT_STOP_ENDS_IT(4, 0);
	/* their files are empty, or gone with them */
	for (i = 1; i <= 4; i++)
		EXPECT_TRUE(!dxt_text(t, text, sizeof(text), "threads/%u/executes", i) ||
			    !*text);
	for (i = 0; i < 4; i++)
		EXPECT_EQ(3, family[i].cancelled);
}

/* Writes to the log until it may not. */
static int exe_writer(struct dxt_call *call)
{
	int rc;

	do {
		rc = dxk_log_write(call->worker->member, "full?", 5, DXK_LOG_WAIT, -1);
	} while (!rc);
	return rc;
}

static int exe_author(struct dxt_call *call)
{
	struct dxk_result r;

	if (dxt_post1(call->worker->member, 77, DXT_FN(exe_writer), 0, PXR_REJOIN, 0, NULL) != 1)
		return -EIO;
	return dxt_rejoin(call->worker->member, 77, &r, 1, 1, DXK_FOREVER, NULL);
}

/* A worker that waits for room in the log, which nobody reads, hides no stall. */
TEST_F(deadlock, log_full)
{
	struct dxt *t = &self->t;
	struct dxk_result r;
	char text[4096] = "";

	t->policy.log_entries = 8;
	t->policy.log_full = DXK_LOG_BLOCK;
	START(2);
	EXPECT_EQ(0, dxk_label(t->member, DXT_FN(exe_author), "author"));
	ASSERT_EQ(1, dxt_post1(t->member, 1, DXT_FN(exe_author), 0, PXR_REJOIN, 0, NULL));
	ASSERT_TRUE(DXT_UNTIL(t, asleep(t, 2) == 1 && (dxt_member_is(t, 1, "logging") ||
						       dxt_member_is(t, 2, "logging"))));
	EXPECT_STALL(text);
	EXPECT_TRUE(tells(text, " logging lane 3 owner 0x4d "));
	EXPECT_TRUE(tells(text, " rejoining lane 3 owner 0x1 executor %#llx label author for ",
			  (unsigned long long)DXT_FN(exe_author)));
	ASSERT_TRUE(dxt_text(t, text, sizeof(text), "threads/%d/awaits",
			     dxt_member_is(t, 1, "logging") ? 1 : 2));
	EXPECT_STREQ("Log Pool", text);
	EXPECT_EQ(0, dxk_ctx_stop(t->ctx, DXK_STOP_CANCEL, dxt_late_ns()));
	EXPECT_EQ(1, dxt_rejoin(t->member, 1, &r, 1, 1, 0, NULL));
}

/* D-4, strict: both workers sleep for room, nobody runs the four that have it. */
TEST_F(deadlock, pool_full_of_what_nobody_runs)
{
	struct dxt *t = &self->t;
	char text[4096] = "";

	t->policy.ready_entries = 4;
	START(2);
	ASSERT_TRUE(parents(t, 2, 2, 0, 10, PXR_WAITIF_BUSY));
	ASSERT_TRUE(DXT_UNTIL(t, sum_posted() == 4 && asleep(t, 2) == 2));
	EXPECT_EQ(4, dxt_num(t, "pools/ready_use"));
	EXPECT_EQ(2, dxt_num(t, "lanes/ready_lane3_waiters"));
	EXPECT_STALL(text);
	EXPECT_TRUE(tells(text, " 4 lane 3"));
	EXPECT_EQ(2, parents_told(text, 3, "posting"));
	EXPECT_STOP_ENDS_IT(2, 0);
	EXPECT_EQ(-ESHUTDOWN, family[0].error);
	EXPECT_EQ(-ESHUTDOWN, family[1].error);
}

/*
 * D-4, nowait: who is told that the pool is full can do something about it. So can
 * who is told that nothing has come back: it executes, as long as something is Ready.
 */
TEST_F(deadlock, pool_full_without_waiting)
{
	struct dxt *t = &self->t;
	unsigned int i;

	t->policy.ready_entries = 4;
	START(2);
	ASSERT_TRUE(parents(t, 2, 2, 0, 10, 0));
	EXPECT_EQ(2, dxt_drain(t, t->member, 1));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(10, family[i].executed);
		EXPECT_EQ(10, family[i].returned);
		EXPECT_EQ(RJR_NONE_EXIST, family[i].answer);
	}
	EXPECT_LT(0, family[0].full + family[1].full);
	EXPECT_EQ(0, dxt_num(t, "stats/stalls"));
}

/*
 * D-5: lane 3 waits for lane 3. CMLS does not help against that: ten workers are
 * busy, a hundred entries full.
 */
TEST_F(deadlock, lane_three_waits_for_lane_three)
{
	struct dxt *t = &self->t;
	char text[4096] = "";

	use_cmls(t);
	t->policy.ready_entries = 100;
	START(10);
	ASSERT_TRUE(parents(t, 10, 10, 0, 11, PXR_WAITIF_BUSY));
	ASSERT_TRUE(DXT_UNTIL(t, sum_posted() == 100 && asleep(t, 10) == 10));
	EXPECT_EQ(100, dxt_num(t, "pools/ready_use"));
	EXPECT_EQ(10, dxt_num(t, "pools/thread_busy"));
	EXPECT_STALL(text);
	EXPECT_TRUE(tells(text, " 100 lane 3"));
	/* as many as there is room for in a line */
	EXPECT_LE(3, parents_told(text, 3, "posting") +
		     parents_told(text, 3, "rejoining"));
	EXPECT_STOP_ENDS_IT(10, 0);
}

/*
 * D-6: the order of the lanes is violated: four of lane 2 execute and wait for
 * lane 1, which has no worker left, though six are idle.
 */
TEST_F(deadlock, lane_two_waits_for_lane_one)
{
	struct dxt *t = &self->t;
	char text[4096] = "";

	use_cmls(t);
	t->policy.ready_entries = 100;
	START(10);
	ASSERT_TRUE(parents(t, 8, 4, PXR_LANE2, 3, PXR_LANE1 | PXR_WAITIF_BUSY));
	ASSERT_TRUE(DXT_UNTIL(t, sum_posted() == 12 && asleep(t, 10) == 4));
	EXPECT_EQ(4, dxt_num(t, "lanes/user_lane2_in_use"));
	EXPECT_EQ(4, dxt_num(t, "lanes/ready_lane2_in_use"));
	EXPECT_EQ(12, dxt_num(t, "lanes/ready_lane1_in_use"));
	EXPECT_EQ(4, dxt_num(t, "pools/thread_busy"));
	EXPECT_STALL(text);
	EXPECT_TRUE(tells(text, " 12 lane 1"));
	EXPECT_TRUE(tells(text, " 4 lane 2"));
	EXPECT_EQ(4, parents_told(text, 2, "rejoining"));
	EXPECT_STOP_ENDS_IT(8, 4);
}

/* D-8: as D-7, with the parent as one of the two workers. It never blocks. */
TEST_F(deadlock, parent_in_the_crew_grow)
{
	struct dxt *t = &self->t;

	t->policy.ready_entries = 4;
	t->policy.rejoin_entries = 4;
	START(2);
	ASSERT_TRUE(parents(t, 1, 1, 0, 20, PXR_WAITIF_BUSY));
	EXPECT_EQ(1, dxt_drain(t, t->member, 1));
	EXPECT_EQ(20, family[0].executed);
	EXPECT_EQ(20, family[0].returned);
	EXPECT_EQ(RJR_NONE_EXIST, family[0].answer);
	EXPECT_EQ(0, dxt_num(t, "stats/complete_blocks"));
	EXPECT_EQ(0, dxt_num(t, "stats/stalls"));
}

/*
 * D-8, block_worker: the other worker keeps the fifth result, four are Ready, and
 * the tenth post sleeps.
 */
TEST_F(deadlock, parent_in_the_crew_block_worker)
{
	struct dxt *t = &self->t;
	char text[4096] = "";

	t->policy.ready_entries = 4;
	t->policy.rejoin_entries = 4;
	t->policy.rejoin_full = DXK_REJOIN_BLOCK_WORKER;
	START(2);
	ASSERT_TRUE(parents(t, 1, 1, 0, 20, PXR_WAITIF_BUSY));
	ASSERT_TRUE(DXT_UNTIL(t, sum_posted() == 9 && asleep(t, 2) == 2));
	EXPECT_EQ(4, dxt_num(t, "pools/rejoin_use"));
	EXPECT_EQ(4, dxt_num(t, "pools/ready_use"));
	EXPECT_EQ(2, dxt_num(t, "pools/thread_busy"));
	EXPECT_STALL(text);
	EXPECT_EQ(1, parents_told(text, 3, "posting"));
	EXPECT_STOP_ENDS_IT(1, 0);
	EXPECT_EQ(5, family[0].executed);
	EXPECT_EQ(4, family[0].cancelled);
}

/* --- Stop ---------------------------------------------------------------------- */

/*
 * D-24: Stop(cancel) while posters sleep in points 1 and 2 and pollers for results:
 * all return ESHUTDOWN within a second, and nothing is left.
 */
TEST_F(deadlock, stop_with_sleepers)
{
	struct puppet *lane1[2], *pool[3], *poller[2];
	struct dxt *t = &self->t;
	struct pollfd pfd;
	uint64_t begin;
	int i;

	use_cmls(t);
	t->policy.max_threads = 3;
	t->policy.ready_entries = 10;
	ASSERT_EQ(0, dxt_start(t));
	puppets_new(t, lane1, 2, DXK_MEMBER_CLIENT);
	puppets_new(t, pool, 3, DXK_MEMBER_CLIENT);
	puppets_new(t, poller, 2, DXK_MEMBER_CLIENT);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(1, dxt_post1(t->member, 1, 0, i, PXR_LANE1 | PXR_REJOIN, 0,
				       NULL));
	/* two of lane 1 are its share, though eight entries are free */
	for (i = 0; i < 2; i++)
		ASSERT_TRUE(puppet_post1(lane1[i], 100, PXR_LANE1));
	for (i = 2; i < 10; i++)
		ASSERT_EQ(1, dxt_post1(t->member, 1, 0, i, PXR_REJOIN, 0, NULL));
	for (i = 0; i < 3; i++)
		ASSERT_TRUE(puppet_post1(pool[i], 200, i ? 0 : PXR_LANE2));
	for (i = 0; i < 2; i++)
		ASSERT_TRUE(puppet_rejoin(poller[i], 1, 1, 1, DXK_FOREVER));
	EXPECT_EQ(RJR_NONE_READY, poll_owner(t, 1));
	pfd = (struct pollfd){ .fd = t->member, .events = POLLIN };
	EXPECT_EQ(0, poll(&pfd, 1, 0));

	begin = dxt_now();
	EXPECT_EQ(0, dxk_ctx_stop(t->ctx, DXK_STOP_CANCEL, dxt_late_ns()));
	for (i = 0; i < 2; i++)
		EXPECT_EQ(-ESHUTDOWN, puppet_end(lane1[i]));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(-ESHUTDOWN, puppet_end(pool[i]));
	for (i = 0; i < 2; i++)
		EXPECT_EQ(-ESHUTDOWN, puppet_end(poller[i]));
	EXPECT_EQ(1, poll(&pfd, 1, 0));
	/* within a second; the guest may not have been run for some of the others */
	EXPECT_GT(10 * DXT_SEC, dxt_now() - begin);

	EXPECT_EQ(10, dxt_num(t, "stats/cancelled"));
	EXPECT_EQ(10, dxt_drain(t, t->member, 1));
	EXPECT_EQ(0, dxt_num(t, "owners"));
	EXPECT_EQ(0, dxt_num(t, "pools/ready_use"));
	EXPECT_EQ(0, dxt_num(t, "pools/rejoin_use"));
	EXPECT_EQ(0, dxt_num(t, "pools/thread_busy"));
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(0, dxt_num(t, "lanes/ready_lane%d_in_use", i));
		EXPECT_EQ(0, dxt_num(t, "lanes/ready_lane%d_waiters", i));
	}
	puppets_free(lane1, 2);
	puppets_free(pool, 3);
	puppets_free(poller, 2);
}

static _Atomic bool obedient;

/* A service: it works until it is told to stop, or, disobedient, until the gate. */
static int exe_service(struct dxt_call *call)
{
	struct dxk_should_stop ask = { .size = sizeof(ask) };
	struct dxt_gate *gate = (void *)(uintptr_t)call->work.param;
	int rc = 0;

	gate->entered++;
	while (obedient && !rc) {
		ask.deadline = dxt_in(20 * DXT_MS);
		rc = dxt_ioctl(call->worker->member, DXK_IOC_SHOULD_STOP, &ask);
	}
	if (!obedient)
		dxt_gate_pass(gate, call->worker->id);
	return rc;
}

static int post_service(struct dxt *t, struct dxt_gate *gate)
{
	return dxt_post1(t->member, 1, DXT_FN(exe_service), DXT_PTR(gate),
			 PXR_LANE0 | PXR_REJOIN, 0, NULL);
}

static void use_lane_zero(struct dxt *t)
{
	t->policy.sched_mode = TPOOL_MODE_CMLS;
	t->policy.lane_pct[0] = 25;
}

/* D-25: Stop(drain) ends a service that asks whether it should stop, and the rest. */
TEST_F(deadlock, drain_with_a_service)
{
	struct dxt_gate *gate = dxt_gate_new();
	struct dxt *t = &self->t;
	struct dxk_result r[21];
	int i, n, services = 0;

	use_lane_zero(t);
	START(4);
	obedient = true;
	ASSERT_EQ(1, post_service(t, gate));
	ASSERT_TRUE(DXT_UNTIL(t, gate->entered == 1));
	for (i = 0; i < 20; i++)
		ASSERT_EQ(1, dxt_post1(t->member, 1, DXT_PARAM, 5, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(0, dxk_ctx_stop(t->ctx, DXK_STOP_DRAIN, dxt_late_ns()));
	n = dxt_rejoin(t->member, 1, r, 21, 21, 0, NULL);
	EXPECT_EQ(21, n);
	for (i = 0; i < n; i++) {
		services += r[i].param == DXT_PTR(gate);
		EXPECT_EQ(r[i].param == DXT_PTR(gate) ? 1 : 5, r[i].status);
	}
	EXPECT_EQ(1, services);
	EXPECT_EQ(0, dxt_num(t, "stats/stalls"));
	dxt_gate_free(gate);
}

/* D-25: one that does not ask keeps Stop waiting, which then says who it is. */
TEST_F(deadlock, drain_with_a_deaf_service)
{
	struct dxt_gate *gate = dxt_gate_new();
	struct dxk_running running[4];
	struct dxt *t = &self->t;
	struct dxk_ctx_stop stop = {
		.size = sizeof(stop), .mode = DXK_STOP_DRAIN,
		.running = DXT_PTR(running), .nr = 4,
		.running_size = sizeof(running[0]),
	};

	use_lane_zero(t);
	START(4);
	obedient = false;
	ASSERT_EQ(1, post_service(t, gate));
	ASSERT_TRUE(DXT_UNTIL(t, gate->entered == 2));
	dxt_poison(running, sizeof(running));
	stop.deadline = dxt_in(200 * DXT_MS);
	EXPECT_EQ(-ETIMEDOUT, dxt_ioctl(t->ctx, DXK_IOC_CTX_STOP, &stop));
	ASSERT_EQ(1, stop.nr_running);
	EXPECT_EQ(gate->last, running[0].thread);
	EXPECT_EQ(DXT_FN(exe_service), running[0].executor);
	EXPECT_EQ(1, running[0].owner);
	EXPECT_EQ(DXT_PTR(gate), running[0].param);
	EXPECT_EQ(PXR_LANE0 | PXR_REJOIN, running[0].attrs);
	/* in jiffies, which the CPU that counts them may owe for as long as it is away */
	EXPECT_LE(10 * DXT_MS, running[0].age_ns);
	EXPECT_GE(20 * DXT_SEC, running[0].age_ns);
	EXPECT_TRUE(dxt_poisoned(&running[1], sizeof(running[1])));

	dxt_gate_open(gate);
	stop.deadline = dxt_late();
	EXPECT_EQ(0, dxt_ioctl(t->ctx, DXK_IOC_CTX_STOP, &stop));
	dxt_gate_free(gate);
}

TEST_HARNESS_MAIN
