// SPDX-License-Identifier: GPL-2.0-only
/*
 * The asynchronous log: its messages, its readers, what a full Log Pool does, and what
 * becomes of messages when the context starts and stops. The file that the kernel writes
 * is in logfile.c, the log of libdxk in liblog.c.
 */
#include "lib/command.h"
#include "lib/log.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* --- puppets that log -------------------------------------------------------- */

struct writer {
	struct puppet *p;
	unsigned int first, last;
	uint32_t flags;
	uint64_t deadline;
	int rc;			/* of the last message */
};

static struct writer *writer_of[16];

static void call_write(struct puppet *p)
{
	struct writer *w = NULL;
	unsigned int i;

	for (i = 0; i < 16; i++)
		if (writer_of[i] && writer_of[i]->p == p)
			w = writer_of[i];
	for (i = w->first; i <= w->last; i++) {
		w->rc = say(p->fd, w->flags, w->deadline, "message %u", i);
		if (w->rc)
			break;
	}
	p->ret = w->rc;
}

static bool logging(const struct dxt *t, unsigned int id)
{
	return dxt_member_is(t, id, "logging");
}

/* Begins to write; true when the writer sleeps. */
static bool writes(struct writer *w, struct puppet *p, unsigned int first,
		   unsigned int last, uint64_t deadline)
{
	unsigned int i;

	for (i = 0; i < 16 && writer_of[i] && writer_of[i] != w; i++)
		;
	writer_of[i] = w;
	*w = (struct writer){ .p = p, .first = first, .last = last,
			      .flags = DXK_LOG_WAIT, .deadline = deadline };
	pthread_mutex_lock(&p->lock);
	p->ret = -EINPROGRESS;
	p->call = call_write;
	pthread_cond_broadcast(&p->cond);
	pthread_mutex_unlock(&p->lock);
	if (!DXT_UNTIL(p->t, !puppet_busy(p) || logging(p->t, p->id)))
		fprintf(stderr, "# writer %u neither returns nor sleeps\n", p->id);
	return puppet_busy(p) && logging(p->t, p->id);
}

FIXTURE(log) {
	struct dxt t;
	struct puppet *p[4];
	struct writer w[4];
	struct dxk_log_record r[DXK_BATCH_MAX];
};

FIXTURE_SETUP(log)
{
	mkdir(DIR_, 0755);
	unlink(LOG);
	memset(writer_of, 0, sizeof(writer_of));
}

FIXTURE_TEARDOWN(log)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		if (self->p[i])
			puppet_free(self->p[i]);
	if (self->t.ctx > 0)
		dxt_down(&self->t);
	umount(SMALL);
	unlink(LOG);
}

#define PUPPETS(_nr)		puppets_new(&self->t, self->p, _nr, DXK_MEMBER_CLIENT)

/* --- messages ---------------------------------------------------------------- */

/* DX-15, DX-97, DX-99: what was written is read, in order, with who and when. */
TEST_F(log, write_and_read)
{
	uint64_t before, seq;
	unsigned int i;

	UP(1024, DXK_LOG_BLOCK);
	EXPECT_EQ(0, read_log(&self->t, self->r, 8, 0));
	EXPECT_FALSE(readable(&self->t));
	before = dxt_now();
	for (i = 0; i < 100; i++)
		ASSERT_EQ(0, say(self->t.member, 0, 0, "message %u", i));
	EXPECT_TRUE(readable(&self->t));
	EXPECT_EQ(100, dxt_num(&self->t, "pools/log_use"));
	ASSERT_EQ(64, read_log(&self->t, self->r, 64, 0));
	seq = self->r[0].seq;
	for (i = 0; i < 100; i++) {
		struct dxk_log_record *r = &self->r[i % 64];
		char text[32];

		if (i == 64)
			ASSERT_EQ(36, read_log(&self->t, self->r, 64, 0));
		EXPECT_EQ(seq + i, r->seq);
		EXPECT_LE(before, r->time_ns);
		before = r->time_ns;
		EXPECT_EQ(self->t.member_id, r->thread);
		EXPECT_EQ(0, r->flags);
		EXPECT_EQ(0, r->lost);
		snprintf(text, sizeof(text), "message %u", i);
		EXPECT_STREQ(text, r->text);
		EXPECT_EQ(strlen(text), r->len);
	}
	EXPECT_GE(dxt_now(), before);
	EXPECT_FALSE(readable(&self->t));
	EXPECT_EQ(0, read_log(&self->t, self->r, 1, 0));
	EXPECT_EQ(0, dxt_num(&self->t, "pools/log_lost"));
	EXPECT_EQ(100, dxt_num(&self->t, "pools/log_high_water"));
}

/* DX-102: too long is cut and marked; whatever bytes, it is one line. */
TEST_F(log, bad_messages)
{
	struct dxk_log_write w;
	static char big[1 << 20];
	struct dxk_log_record *r = self->r;
	unsigned int i;

	UP(1024, DXK_LOG_BLOCK);
	memset(big, 'x', sizeof(big));
	EXPECT_EQ(0, write_raw(self->t.member, big, sizeof(big)));
	EXPECT_EQ(0, write_raw(self->t.member, big, UINT32_MAX));
	EXPECT_EQ(0, write_raw(self->t.member, big, DXK_LOG_TEXT));
	EXPECT_EQ(0, write_raw(self->t.member, big, DXK_LOG_TEXT - 1));
	EXPECT_EQ(0, write_raw(self->t.member, NULL, 0));
	for (i = 0; i < 40; i++)
		big[i] = (char)i;
	big[40] = '\177';
	big[41] = '\377';
	EXPECT_EQ(0, write_raw(self->t.member, big, 42));
	ASSERT_EQ(6, read_log(&self->t, r, 64, 0));
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(i < 3 ? DXK_LOG_CUT : 0, r[i].flags);
		EXPECT_EQ(DXK_LOG_TEXT - 1, r[i].len);
		EXPECT_EQ(DXK_LOG_TEXT - 1, strlen(r[i].text));
	}
	EXPECT_EQ(0, r[4].len);
	EXPECT_STREQ("", r[4].text);
	EXPECT_EQ(42, r[5].len);
	EXPECT_STREQ("                                 !\"#$%&' \377", r[5].text);

	EXPECT_EQ(-EFAULT, write_raw(self->t.member, (void *)8, 4));
	EXPECT_EQ(-EFAULT, write_raw(self->t.member, (void *)-4096L, 4));
	w = (struct dxk_log_write){ .size = sizeof(w), .flags = 2 };
	EXPECT_EQ(-EOPNOTSUPP, dxt_ioctl(self->t.member, DXK_IOC_LOG_WRITE, &w));
	w = (struct dxk_log_write){ .size = sizeof(w), .reserved = 1 };
	EXPECT_EQ(-EINVAL, dxt_ioctl(self->t.member, DXK_IOC_LOG_WRITE, &w));
	EXPECT_EQ(-ENOTTY, write_raw(self->t.ctx, big, 1));
	/* nothing of it is in the log */
	EXPECT_EQ(0, read_log(&self->t, r, 64, 0));
	EXPECT_EQ(0, dxt_num(&self->t, "pools/log_lost"));
}

/* Control characters in each form that a terminal may obey, and what looks like them. */
TEST_F(log, control_characters)
{
	static const struct {
		const char *in, *out;
	} t[] = {
		{ "\033[31m", " [31m" },
		{ "\xc2\x9b" "31m", "  31m" },			/* U+009B */
		{ "\xc2\x80|\xc2\x9f|\xc2\xa0", "  |  |\xc2\xa0" },
		{ "\x9b" "31m\x80\x9f\xa0", " 31m  \xa0" },	/* bytes of no character */
		{ "\xc3\x9b\xe2\x9b\x84\xf0\x9f\x98\x80", "\xc3\x9b\xe2\x9b\x84\xf0\x9f\x98\x80" },
		{ "\xc1\x9b\xe0\x82\x9b\xf0\x80\x82\x9b", "\xc1 \xe0  \xf0   " },	/* too long */
		{ "\xe2\x9b", "\xe2 " },				/* cut */
		{ "\xe2\x9bx\xf0\x9f\x98", "\xe2 x\xf0  " },
		{ "\xff\x9b\xf8\x88\x80\x80\x80", "\xff \xf8    " },
	};
	unsigned int i;

	UP(1024, DXK_LOG_BLOCK);
	for (i = 0; i < ARRAY_SIZE(t); i++)
		EXPECT_EQ(0, write_raw(self->t.member, t[i].in, (uint32_t)strlen(t[i].in)));
	ASSERT_EQ(ARRAY_SIZE(t), read_log(&self->t, self->r, 64, 0));
	for (i = 0; i < ARRAY_SIZE(t); i++)
		EXPECT_STREQ(t[i].out, self->r[i].text) TH_LOG("text %u", i);
}

/* --- reading ----------------------------------------------------------------- */

TEST_F(log, bad_reads)
{
	struct dxk_log_read a = { .size = sizeof(a) };
	struct {
		struct dxk_log_record r;
		char more[64];
	} longer;
	unsigned int i;

	UP(16, DXK_LOG_BLOCK);
	EXPECT_EQ(-EINVAL, dxt_ioctl(self->t.ctx, DXK_IOC_LOG_READ, &a));
	a.nr = 1;
	a.record_size = sizeof(struct dxk_log_record) - 1;
	EXPECT_EQ(-EINVAL, dxt_ioctl(self->t.ctx, DXK_IOC_LOG_READ, &a));
	a.record_size++;
	a.nr = DXK_BATCH_MAX + 1;
	EXPECT_EQ(-EINVAL, dxt_ioctl(self->t.ctx, DXK_IOC_LOG_READ, &a));
	a.nr = 1;
	a.flags = 1;
	EXPECT_EQ(-EOPNOTSUPP, dxt_ioctl(self->t.ctx, DXK_IOC_LOG_READ, &a));
	a.flags = 0;
	EXPECT_EQ(0, dxt_ioctl(self->t.ctx, DXK_IOC_LOG_READ, &a));

	/* what cannot be copied out stays, and stays the first */
	for (i = 1; i <= 4; i++)
		ASSERT_EQ(0, say(self->t.member, 0, 0, "message %u", i));
	a.records = 8;
	for (i = 0; i < 3; i++)
		EXPECT_EQ(-EFAULT, dxt_ioctl(self->t.ctx, DXK_IOC_LOG_READ, &a));
	EXPECT_TRUE(readable(&self->t));
	a.records = DXT_PTR(&longer);
	a.record_size = sizeof(longer);
	memset(&longer, 0xa5, sizeof(longer));
	EXPECT_EQ(1, dxt_ioctl(self->t.ctx, DXK_IOC_LOG_READ, &a));
	EXPECT_STREQ("message 1", longer.r.text);
	EXPECT_EQ(0, longer.more[0] | longer.more[63]);
	EXPECT_EQ(3, read_log(&self->t, self->r, 8, 0));
	EXPECT_STREQ("message 2", self->r[0].text);
	EXPECT_STREQ("message 4", self->r[2].text);
}

struct reader {
	struct dxt *t;
	pthread_t thread;
	uint64_t deadline;
	_Atomic int tid;
	_Atomic int rc;
	_Atomic bool over;
	struct dxk_log_record r;
};

static void *reader_main(void *arg)
{
	struct reader *r = arg;

	r->tid = gettid();
	r->rc = read_log(r->t, &r->r, 1, r->deadline);
	r->over = true;
	return NULL;
}

static bool thread_sleeps(int tid)
{
	char path[64], text[256] = "", *p;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = fopen(path, "r");
	if (!f)
		return false;
	p = fgets(text, sizeof(text), f);
	fclose(f);
	p = p ? strrchr(text, ')') : NULL;
	return p && p[1] && p[2] == 'S';
}

static void reader_start(struct reader *r, struct dxt *t, uint64_t deadline)
{
	memset(r, 0, sizeof(*r));
	r->t = t;
	r->deadline = deadline;
	pthread_create(&r->thread, NULL, reader_main, r);
	DXT_UNTIL(t, r->over || (r->tid && thread_sleeps(r->tid)));
}

static int reader_end(struct reader *r)
{
	pthread_join(r->thread, NULL);
	return r->rc;
}

/* A read sleeps until there is a message, a signal, a deadline, a Stop, a file. */
TEST_F(log, read_sleeps)
{
	struct epoll_event e = { .events = EPOLLIN };
	struct reader r;
	int fd, ep;

	UP(16, DXK_LOG_BLOCK);
	reader_start(&r, &self->t, DXK_FOREVER);
	EXPECT_FALSE(r.over);
	EXPECT_EQ(0, say(self->t.member, 0, 0, "message 1"));
	EXPECT_EQ(1, reader_end(&r));
	EXPECT_STREQ("message 1", r.r.text);

	EXPECT_EQ(0, read_log(&self->t, self->r, 1, dxt_in(5 * DXT_MS)));

	puppet_signals(false);
	reader_start(&r, &self->t, DXK_FOREVER);
	while (!r.over) {
		pthread_kill(r.thread, DXT_NUDGE);
		dxt_sleep_ms(1);
	}
	EXPECT_EQ(-EINTR, reader_end(&r));

	/* poll(2) is woken as well */
	ep = epoll_create1(EPOLL_CLOEXEC);
	ASSERT_LE(0, ep);
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, self->t.ctx, &e));
	EXPECT_EQ(0, epoll_wait(ep, &e, 1, 0));
	EXPECT_EQ(0, say(self->t.member, 0, 0, "message 2"));
	EXPECT_EQ(1, epoll_wait(ep, &e, 1, dxt_late_ms()));
	close(ep);
	EXPECT_EQ(1, discard(&self->t));

	reader_start(&r, &self->t, DXK_FOREVER);
	fd = open_log(LOG);
	EXPECT_EQ(0, dxk_log_file(self->t.ctx, fd));
	EXPECT_EQ(-EBUSY, reader_end(&r));
	EXPECT_EQ(-EBUSY, read_log(&self->t, self->r, 1, 0));
	EXPECT_EQ(0, dxk_log_file(self->t.ctx, -1));
	close(fd);

	reader_start(&r, &self->t, DXK_FOREVER);
	EXPECT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(1, reader_end(&r));
	EXPECT_STREQ("stopped", r.r.text);
	reader_start(&r, &self->t, DXK_FOREVER);
	EXPECT_EQ(-ESHUTDOWN, reader_end(&r));
}

/* --- a full pool ------------------------------------------------------------- */

/* A worker logs 100 messages within a request. */
static int exe_log_100(struct dxt_call *call)
{
	unsigned int i;
	int rc = 0;

	for (i = 1; i <= 100 && !rc; i++)
		rc = say(call->worker->member, DXK_LOG_WAIT, DXK_FOREVER, "message %u", i);
	return rc;
}

static bool some_worker_logs(const struct dxt *t)
{
	return logging(t, 1) || logging(t, 2);
}

/* D-10, DX-98, DX-101: policy block: nobody loses anything. */
TEST_F(log, full_block)
{
	char report[DXK_COMMAND_MAX + 1];
	unsigned int i, n = 0;
	struct dxk_result result;

	UP(8, DXK_LOG_BLOCK);
	ASSERT_EQ(0, dxt_workers_start(&self->t, 2));
	ASSERT_EQ(1, dxt_post1(self->t.member, 1, DXT_FN(exe_log_100), 0, PXR_REJOIN, 0,
			       NULL));
	EXPECT_TRUE(DXT_UNTIL(&self->t, some_worker_logs(&self->t)));
	EXPECT_EQ(8, dxt_num(&self->t, "pools/log_use"));
	/* who sleeps, and for what, is told */
	EXPECT_EQ(0, ask(&self->t, "show threads", report, sizeof(report)));
	EXPECT_NE(NULL, strstr(report, "logging"));
	EXPECT_TRUE(dxt_text(&self->t, report, sizeof(report), "threads/%u/awaits",
			     logging(&self->t, 1) ? 1 : 2));
	EXPECT_STREQ("Log Pool", report);
	/* the request is not over, and its owner is told so */
	EXPECT_EQ(RJR_NONE_READY, poll_owner(&self->t, 1));
	while (n < 100) {
		int rc = read_log(&self->t, self->r, 3, dxt_late());

		ASSERT_LT(0, rc);
		for (i = 0; i < (unsigned int)rc; i++) {
			unsigned int nr = 0;

			sscanf(self->r[i].text, "message %u", &nr);
			EXPECT_EQ(++n, nr);
			EXPECT_EQ(0, self->r[i].flags);
		}
	}
	EXPECT_EQ(1, dxt_rejoin(self->t.member, 1, &result, 1, 1,
				dxt_late(), NULL));
	EXPECT_EQ(0, result.status);
	EXPECT_EQ(0, dxt_num(&self->t, "pools/log_lost"));
	EXPECT_LT(0, dxt_num(&self->t, "pools/log_blocks"));
	EXPECT_LT(0, dxt_num(&self->t, "pools/log_block_ns"));
}

/* D-10: with policy block a caller that does not ask to wait never does. */
TEST_F(log, full_block_unasked)
{
	unsigned int i;

	UP(8, DXK_LOG_BLOCK);
	for (i = 1; i <= 100; i++)
		EXPECT_EQ(0, say(self->t.member, 0, DXK_FOREVER, "message %u", i));
	EXPECT_EQ(92, dxt_num(&self->t, "pools/log_lost"));
	EXPECT_EQ(9, read_log(&self->t, self->r, 64, 0));
	EXPECT_EQ(92, self->r[0].lost);
	EXPECT_STREQ("message 100", self->r[8].text);
}

/* D-10: drop_new keeps the first 8 of 100, drop_oldest the last; one gap. */
TEST_F(log, full_drop)
{
	unsigned int full, i, at, gap;
	uint64_t seq;
	char text[32];

	for (full = DXK_LOG_DROP_NEW; full <= DXK_LOG_DROP_OLDEST; full++) {
		struct dxk_log_record *g;

		UP(8, full);
		for (i = 1; i <= 100; i++)
			EXPECT_EQ(0, say(self->t.member, DXK_LOG_WAIT, DXK_FOREVER,
					 "message %u", i));
		EXPECT_EQ(92, dxt_num(&self->t, "pools/log_lost"));
		EXPECT_EQ(8, dxt_num(&self->t, "pools/log_use"));
		ASSERT_EQ(9, read_log(&self->t, self->r, 64, 0));
		EXPECT_EQ(0, read_log(&self->t, self->r + 32, 1, 0));
		gap = full == DXK_LOG_DROP_NEW ? 8 : 0;
		at = full == DXK_LOG_DROP_NEW ? 0 : 1;
		g = &self->r[gap];
		EXPECT_EQ(DXK_LOG_GAP, g->flags);
		EXPECT_EQ(92, g->lost);
		EXPECT_STREQ("92 lost", g->text);
		seq = full == DXK_LOG_DROP_NEW ? g->seq - 8 : g->seq + 92;
		for (i = 0; i < 8; i++) {
			snprintf(text, sizeof(text), "message %u",
				 full == DXK_LOG_DROP_NEW ? i + 1 : i + 93);
			EXPECT_STREQ(text, self->r[at + i].text);
			EXPECT_EQ(seq + i, self->r[at + i].seq);
		}
		/* the stream goes on behind the gap */
		EXPECT_EQ(0, say(self->t.member, 0, 0, "message 101"));
		ASSERT_EQ(1, read_log(&self->t, self->r, 1, 0));
		EXPECT_EQ(seq + (full == DXK_LOG_DROP_NEW ? 100 : 8), self->r[0].seq);
		dxt_down(&self->t);
		self->t.ctx = 0;
	}
}

/* Who sleeps for room gets it in the order of coming, and no newcomer before. */
TEST_F(log, sleepers_in_order)
{
	unsigned int i;

	UP(2, DXK_LOG_BLOCK);
	PUPPETS(4);
	EXPECT_EQ(0, say(self->t.member, DXK_LOG_WAIT, 0, "message 0"));
	EXPECT_EQ(0, say(self->t.member, DXK_LOG_WAIT, 0, "message 1"));
	EXPECT_EQ(-ETIMEDOUT, say(self->t.member, DXK_LOG_WAIT, 0, "message"));
	EXPECT_EQ(-ETIMEDOUT, say(self->t.member, DXK_LOG_WAIT, dxt_in(DXT_MS), "message"));
	for (i = 0; i < 4; i++)
		ASSERT_TRUE(writes(&self->w[i], self->p[i], 2 + i, 2 + i, DXK_FOREVER));
	for (i = 0; i < 6; i++) {
		char text[32];

		ASSERT_EQ(1, read_log(&self->t, self->r, 1, 0));
		snprintf(text, sizeof(text), "message %u", i);
		EXPECT_STREQ(text, self->r[0].text);
		if (i < 4) {
			/* its message is in already, so there is no room for others */
			EXPECT_EQ(2, dxt_num(&self->t, "pools/log_use"));
			EXPECT_EQ(0, puppet_end(self->p[i]));
			EXPECT_TRUE(dxt_member_is(&self->t, self->p[i]->id, "running"));
			EXPECT_EQ(-ETIMEDOUT, say(self->t.member, DXK_LOG_WAIT, 0, "no"));
		}
	}
	EXPECT_EQ(0, dxt_num(&self->t, "pools/log_lost"));
	EXPECT_EQ(0, read_log(&self->t, self->r, 1, 0));
}

/* What ends a sleep: a signal, a deadline, a change of policy, Stop. */
TEST_F(log, sleeps_end)
{
	unsigned int i;

	UP(2, DXK_LOG_BLOCK);
	PUPPETS(4);
	puppet_signals(false);
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, say(self->t.member, 0, 0, "message %u", i));
	ASSERT_TRUE(writes(&self->w[0], self->p[0], 8, 8, DXK_FOREVER));
	puppet_signal(self->p[0]);
	EXPECT_EQ(-EINTR, puppet_end(self->p[0]));
	writes(&self->w[0], self->p[0], 9, 9, dxt_in(30 * DXT_MS));
	EXPECT_EQ(-ETIMEDOUT, puppet_end(self->p[0]));

	/* the new policy drops the sleepers' messages, as it would have then */
	for (i = 0; i < 3; i++)
		ASSERT_TRUE(writes(&self->w[i], self->p[i], 10 + i, 10 + i, DXK_FOREVER));
	ASSERT_EQ(0, dxt_store(&self->t, "policy/log_full", "1"));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, puppet_end(self->p[i]));
	EXPECT_EQ(3, dxt_num(&self->t, "pools/log_lost"));
	ASSERT_EQ(0, dxt_store(&self->t, "policy/log_full", "0"));
	EXPECT_TRUE(DXT_UNTIL(&self->t, say(self->t.member, DXK_LOG_WAIT, 0, "no") ==
					-ETIMEDOUT));
	ASSERT_EQ(3, read_log(&self->t, self->r, 8, 0));
	EXPECT_STREQ("message 0", self->r[0].text);
	EXPECT_STREQ("message 1", self->r[1].text);
	EXPECT_LE(3, self->r[2].lost);

	/* a Stop does not wait for them, nor do its own messages */
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, say(self->t.member, 0, 0, "message %u", i));
	for (i = 0; i < 3; i++)
		ASSERT_TRUE(writes(&self->w[i], self->p[i], 20 + i, 20 + i, DXK_FOREVER));
	EXPECT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_CANCEL, -1));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(-ESHUTDOWN, puppet_end(self->p[i]));
	/* "stopped" found no room, and displaced nothing that was accepted */
	ASSERT_EQ(3, read_log(&self->t, self->r, 8, 0));
	EXPECT_STREQ("message 0", self->r[0].text);
	EXPECT_STREQ("message 1", self->r[1].text);
	EXPECT_EQ(1, self->r[2].lost);
	EXPECT_EQ(-ESHUTDOWN, read_log(&self->t, self->r, 8, DXK_FOREVER));
}

/* D-10: a worker that sleeps for room can be killed; its request is answered. */
TEST_F(log, sleeper_is_killed)
{
	struct dxk_result result;
	pid_t pid;

	UP(2, DXK_LOG_BLOCK);
	pid = dxt_worker_process(&self->t, 1);
	ASSERT_LT(0, pid);
	ASSERT_EQ(1, dxt_post1(self->t.member, 1, DXT_FN(exe_log_100), 0, PXR_REJOIN, 0,
			       NULL));
	EXPECT_TRUE(DXT_UNTIL(&self->t, some_worker_logs(&self->t)));
	kill(pid, SIGKILL);
	EXPECT_TRUE(WIFSIGNALED(dxt_reap(pid)));
	EXPECT_EQ(1, dxt_rejoin(self->t.member, 1, &result, 1, 1,
				dxt_late(), NULL));
	EXPECT_EQ(-EOWNERDEAD, result.status);
	/* the two that were accepted; what the Monitor had to say found no room */
	EXPECT_LE(2, read_log(&self->t, self->r, 64, 0));
	EXPECT_EQ(0, self->r[0].lost + self->r[1].lost);
}

/* --- Start and Stop ---------------------------------------------------------- */

/* DX-103: what was accepted before a Stop can be read, also after a new Start. */
TEST_F(log, stop_keeps_messages)
{
	static const unsigned int size[] = { 256, 16 };
	unsigned int i, k;
	struct content c;
	int fd;

	UP(64, DXK_LOG_BLOCK);
	for (k = 0; k < 3; k++) {
		for (i = 1; i <= 40; i++)
			EXPECT_EQ(0, say(self->t.member, 0, 0, "message %u", i));
		EXPECT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_DRAIN, -1));
		EXPECT_EQ(-ENODEV, say(self->t.member, DXK_LOG_WAIT, DXK_FOREVER, "no"));
		EXPECT_TRUE(readable(&self->t));
		if (k < 2) {
			ASSERT_EQ(41, read_log(&self->t, self->r, 64, 0));
			EXPECT_STREQ("message 1", self->r[0].text);
			EXPECT_STREQ("message 40", self->r[39].text);
			EXPECT_STREQ("stopped", self->r[40].text);
			EXPECT_EQ(-ESHUTDOWN, read_log(&self->t, self->r, 8, 0));
			EXPECT_FALSE(readable(&self->t));
		}
		/* another size, nothing unread */
		self->t.policy.log_entries = 64 << k;
		ASSERT_EQ(0, dxk_policy_set(self->t.ctx, &self->t.policy, NULL));
		ASSERT_EQ(0, dxk_ctx_start(self->t.ctx));
		if (k < 2)
			EXPECT_EQ(1, read_log(&self->t, self->r, 8, 0));
	}
	/* 40 messages and "stopped" have stayed over the last change, and do over none */
	EXPECT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_DRAIN, -1));
	for (k = 0; k < 2; k++) {
		self->t.policy.log_entries = size[k];
		ASSERT_EQ(0, dxk_policy_set(self->t.ctx, &self->t.policy, NULL));
		ASSERT_EQ(0, dxk_ctx_start(self->t.ctx));
		EXPECT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_DRAIN, -1));
		/* another change loses those that nobody has read by then */
		EXPECT_EQ(k ? 39 : 0, dxt_num(&self->t, "pools/log_lost"));
		EXPECT_EQ(k ? 6 : 45, dxt_num(&self->t, "pools/log_use"));
		EXPECT_EQ(45, dxt_num(&self->t, "pools/log_unwritten"));
		if (k)
			break;
		ASSERT_EQ(2, read_log(&self->t, self->r, 2, 0));
		EXPECT_STREQ("message 2", self->r[1].text);
	}
	fd = open_log(LOG);
	EXPECT_EQ(0, dxk_log_file(self->t.ctx, fd));
	close(fd);
	EXPECT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_DRAIN, -1));
	c = content_of(LOG);
	EXPECT_EQ(0, c.malformed);
	EXPECT_EQ(39, c.lost);
	EXPECT_EQ(0, c.messages);
	EXPECT_TRUE(in_file(LOG, "stopped"));
	EXPECT_EQ(0, dxt_num(&self->t, "pools/log_unwritten"));
}

struct window {
	int ctx;
	_Atomic bool ready;
	_Atomic int rc[3];
};

/* Real-time on a CPU of its own, so that no thread of the kernel comes between. */
static int hold_cpu(int cpu)
{
	struct sched_param param = { .sched_priority = 1 };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		return -errno;
	return sched_setscheduler(0, SCHED_FIFO, &param) ? -errno : 0;
}

/* Three messages from the moment at which the context takes any. */
static void *window_log(void *arg)
{
	struct window *w = arg;
	int member = dxk_member_create(w->ctx, DXK_MEMBER_CLIENT, NULL);
	unsigned int i;
	int rc;

	hold_cpu(1);
	w->ready = true;
	do
		rc = say(member, DXK_LOG_WAIT, DXK_FOREVER, "message 0");
	while (rc == -ENODEV);
	w->rc[0] = rc;
	for (i = 1; i < ARRAY_SIZE(w->rc); i++)
		w->rc[i] = say(member, DXK_LOG_WAIT, DXK_FOREVER, "message %u", i);
	close(member);
	return NULL;
}

/*
 * D-11, DX-17: what is logged between the switch to asynchronous logging and the start
 * of the Monitor returns at once, and is in the log in order, in front of "started".
 * Until that has been met: the Monitor cannot run on the CPU of the thread that logs, nor
 * on that of Start before it waits for the Monitor.
 */
TEST_F(log, start_window)
{
	struct window w = { .ctx = -1 };
	struct dxk_log_record *r = self->r;
	unsigned int i, met = 0, turns = 0;
	pthread_t thread;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "needs two CPUs");
	UP(64, DXK_LOG_BLOCK);
	w.ctx = self->t.ctx;
	ASSERT_EQ(0, hold_cpu(0));
	for (; !met && turns < 300; turns++) {
		ASSERT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_DRAIN, -1));
		discard(&self->t);
		for (i = 0; i < ARRAY_SIZE(w.rc); i++)
			w.rc[i] = 1;
		w.ready = false;
		ASSERT_EQ(0, pthread_create(&thread, NULL, window_log, &w));
		while (!w.ready)
			dxt_sleep_ms(1);
		ASSERT_EQ(0, dxk_ctx_start(self->t.ctx));
		ASSERT_EQ(0, pthread_join(thread, NULL));
		for (i = 0; i < ARRAY_SIZE(w.rc); i++)
			ASSERT_EQ(0, w.rc[i]);
		ASSERT_EQ(4, read_log(&self->t, r, 64, 0));
		for (i = 0, met = 1; i < ARRAY_SIZE(w.rc); i++) {
			char text[32];

			snprintf(text, sizeof(text), "message %u", i);
			if (!strcmp(r[i].text, "started"))
				met = 0;
			EXPECT_STREQ(text, r[i + !met].text);
		}
	}
	TH_LOG("met in turn %u", turns);
	EXPECT_TRUE(met);
}

/* DX-3, DX-97: without a running context a message is in the file on return. */
TEST_F(log, synchronous)
{
	unsigned int i, k = 0, n = 0;
	struct content c;
	char text[32];
	int member, fd;

	ASSERT_EQ(0, dxt_open(&self->t));
	ASSERT_EQ(0, dxk_policy_set(self->t.ctx, &self->t.policy, NULL));
	member = dxk_member_create(self->t.ctx, DXK_MEMBER_CLIENT, NULL);
	ASSERT_LE(0, member);
	EXPECT_EQ(-ENODEV, say(member, 0, 0, "no"));
	EXPECT_EQ(-ESHUTDOWN, read_log(&self->t, self->r, 1, DXK_FOREVER));
	fd = open_log(LOG);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, dxk_log_file(self->t.ctx, fd));
	close(fd);
	for (k = 0; k < 3; k++) {
		for (i = 0; i < 10; i++) {
			snprintf(text, sizeof(text), "message %u", ++n);
			ASSERT_EQ(0, say(member, 0, 0, "message %u", n));
			EXPECT_TRUE(in_file(LOG, text));
		}
		ASSERT_EQ(0, dxk_ctx_start(self->t.ctx));
		for (i = 0; i < 10; i++)
			ASSERT_EQ(0, say(member, 0, 0, "message %u", ++n));
		EXPECT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_DRAIN, -1));
	}
	c = content_of(LOG);
	EXPECT_EQ(60, c.messages);
	EXPECT_EQ(0, c.disorder);
	EXPECT_EQ(0, c.malformed);
	EXPECT_EQ(0, c.lost);
	EXPECT_EQ(66, c.seq);	/* "started" and "stopped" three times */
	close(member);
}

struct deserter {
	const struct dxt *t;
	_Atomic int fd;
};

/* Becomes a worker, and ends without closing it. */
static void *desert(void *arg)
{
	struct deserter *d = arg;

	d->fd = dxk_member_create(d->t->ctx, DXK_MEMBER_WORKER, NULL);
	syscall(SYS_exit, 0);
	return NULL;
}

/*
 * DX-25: a process is killed while its two workers execute: a line for each says what becomes
 * of its request. Workers that leave without a request are not worth one.
 */
TEST_F(log, killed_workers)
{
	static const char again[] = "is gone: executed again: 1, ended with EOWNERDEAD: 0";
	static const char ended[] = "is gone: executed again: 0, ended with EOWNERDEAD: 1";
	struct dxt_gate *gate = dxt_gate_new();
	unsigned int i, has_again = 0, has_ended = 0;
	struct deserter d = { .t = &self->t };
	struct dxk_log_record r[4];
	pthread_t thread;
	char begin[16];
	pid_t pid;

	ASSERT_NE(NULL, gate);
	ASSERT_EQ(0, dxt_open(&self->t));
	self->t.policy.log_entries = 16;
	self->t.policy.max_threads = 2;
	self->t.policy.monitor_interval_ms = 20;
	ASSERT_EQ(0, dxt_start(&self->t));
	discard(&self->t);
	pid = dxt_worker_process(&self->t, 2);
	ASSERT_LT(0, pid);
	EXPECT_EQ(1, dxt_post1(self->t.member, 1, DXT_GATE, (uintptr_t)gate, PXR_REDO, 0, NULL));
	EXPECT_EQ(1, dxt_post1(self->t.member, 2, DXT_GATE, (uintptr_t)gate, PXR_REJOIN, 0,
			       NULL));
	EXPECT_TRUE(DXT_UNTIL(&self->t, gate->entered == 2));
	kill(pid, SIGKILL);
	dxt_reap(pid);
	EXPECT_EQ(1, dxt_drain(&self->t, self->t.member, 2));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(1, read_log(&self->t, &r[i], 1, dxt_late_ns()));
		snprintf(begin, sizeof(begin), "worker %u ", r[i].thread);
		EXPECT_EQ(0, strncmp(begin, r[i].text, strlen(begin)));
		has_again += !strcmp(again, r[i].text + strlen(begin));
		has_ended += !strcmp(ended, r[i].text + strlen(begin));
	}
	EXPECT_EQ(1, has_again);
	EXPECT_EQ(1, has_ended);
	EXPECT_NE(r[0].thread, r[1].thread);
	/* these end at their leisure */
	dxt_gate_open(gate);
	pid = dxt_worker_process(&self->t, 2);
	ASSERT_LT(0, pid);
	EXPECT_TRUE(DXT_UNTIL(&self->t, gate->left == 1 &&
				       !dxt_num(&self->t, "pools/thread_busy")));
	kill(pid, SIGKILL);
	dxt_reap(pid);
	/* nor is a thread that the Monitor finds dead, whether its process lives or dies too */
	EXPECT_TRUE(DXT_UNTIL(&self->t, !dxt_num(&self->t, "pools/thread_use")));
	ASSERT_EQ(0, pthread_create(&thread, NULL, desert, &d));
	EXPECT_TRUE(DXT_UNTIL(&self->t, d.fd));
	EXPECT_LT(0, d.fd);
	EXPECT_TRUE(DXT_UNTIL(&self->t, !dxt_num(&self->t, "pools/thread_use")));
	EXPECT_EQ(0, read_log(&self->t, r, 4, 0));
	close(d.fd);
	dxt_gate_free(gate);
}

/*
 * DX-17, DX-103: a thread logs all the time while the context is started and
 * stopped again: every message that was accepted is in the file, once, in order.
 */
TEST_F(log, modes_change_under_load)
{
	struct talker k = { .t = &self->t };
	int i, fd, rounds = times_of(20);
	struct content c;
	pthread_t thread;

	ASSERT_EQ(0, dxt_open(&self->t));
	self->t.policy.log_entries = 4;
	ASSERT_EQ(0, dxk_policy_set(self->t.ctx, &self->t.policy, NULL));
	fd = open_log(LOG);
	EXPECT_EQ(0, dxk_log_file(self->t.ctx, fd));
	close(fd);
	pthread_create(&thread, NULL, talk, &k);
	for (i = 0; i < rounds; i++) {
		unsigned int n;

		ASSERT_EQ(0, dxk_ctx_start(self->t.ctx));
		n = k.accepted;
		EXPECT_TRUE(DXT_UNTIL(&self->t, k.accepted > n + 5));
		ASSERT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_DRAIN, -1));
		n = k.accepted;
		EXPECT_TRUE(DXT_UNTIL(&self->t, k.accepted > n + 5));
	}
	k.stop = true;
	pthread_join(thread, NULL);
	EXPECT_EQ(0, k.rc);
	c = content_of(LOG);
	EXPECT_EQ(0, c.malformed);
	/* the module's own messages do not wait: they may move one out */
	EXPECT_EQ(k.accepted, c.last);
	EXPECT_EQ(0, c.disorder);
	EXPECT_EQ(dxt_num(&self->t, "pools/log_lost"), c.lost);
	EXPECT_GE(2 * rounds, c.lost);
	EXPECT_EQ(k.accepted + 2 * rounds, c.seq);
}

TEST_HARNESS_MAIN
