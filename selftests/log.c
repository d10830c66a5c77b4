// SPDX-License-Identifier: GPL-2.0-only
/*
 * The asynchronous log: the Log Pool and what a full one does, its readers, the
 * file that the kernel writes, and the log of libdxk on top of them.
 */
#include "engine_test.h"

#include <dx.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define DIR_	"/tmp/dxk-log-test"
#define LOG	DIR_ "/log"
#define SMALL	DIR_ "/small"		/* a file system of few pages */

/* --- calls ------------------------------------------------------------------- */

static int say(int member, uint32_t flags, uint64_t deadline, const char *format, ...)
{
	struct dxk_log_write w = { .size = sizeof(w), .flags = flags, .deadline = deadline };
	char text[256];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	w.text = DXT_PTR(text);
	w.len = strlen(text);
	return dxt_ioctl(member, DXK_IOC_LOG_WRITE, &w);
}

static int read_log(const struct dxt *t, struct dxk_log_record *r, unsigned int nr,
		    uint64_t deadline)
{
	struct dxk_log_read a = {
		.size = sizeof(a),
		.deadline = deadline,
		.records = DXT_PTR(r),
		.nr = nr,
		.record_size = sizeof(*r),
	};

	return dxt_ioctl(t->ctx, DXK_IOC_LOG_READ, &a);
}

/* Reads until there is nothing; how many were messages. */
static int discard(const struct dxt *t)
{
	struct dxk_log_record r;
	int n = 0;

	while (read_log(t, &r, 1, 0) == 1)
		n += !(r.flags & DXK_LOG_GAP);
	return n;
}

static bool readable(const struct dxt *t)
{
	struct pollfd p = { .fd = t->ctx, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && p.revents & POLLIN;
}

static int open_log(const char *path)
{
	return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
}

/* A context with a Log Pool of @entries, started, its own messages read. */
static int up(struct dxt *t, unsigned int entries, unsigned int full)
{
	int rc = dxt_open(t);

	if (rc)
		return rc;
	t->policy.log_entries = entries;
	t->policy.log_full = full;
	rc = dxt_start(t);
	if (!rc)
		discard(t);
	return rc;
}

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

/* --- log files --------------------------------------------------------------- */

struct line {
	unsigned long long seq;
	unsigned int thread;
	bool gap;
	char text[512];
};

/* The next line; false at the end. A malformed one has sequence number 0. */
static bool get_line(FILE *f, struct line *l)
{
	unsigned long long sec, nsec;
	char line[512];
	int at = 0;

	if (!fgets(line, sizeof(line), f))
		return false;
	memset(l, 0, sizeof(*l));
	if (!strchr(line, '\n'))
		return true;
	line[strcspn(line, "\n")] = 0;
	if (sscanf(line, "%llu %llu.%9llu %u %n", &l->seq, &sec, &nsec, &l->thread,
		   &at) < 4 || !at) {
		at = 0;
		l->gap = sscanf(line, "%llu %llu.%9llu - %n", &l->seq, &sec, &nsec,
				&at) == 3 && at;
		if (!l->gap)
			l->seq = 0;
	}
	if (!l->seq)
		snprintf(l->text, sizeof(l->text), "%s", line);
	else
		snprintf(l->text, sizeof(l->text), "%s", line + at);
	return true;
}

/* What a file holds. */
struct content {
	unsigned int messages;		/* "message N" */
	unsigned int first, last;	/* N */
	unsigned int lost;
	unsigned int disorder;		/* messages out of order, jumps in the numbers */
	unsigned int malformed;
	unsigned long long seq;		/* of the last line */
};

/* Adds a file; the next one goes on where it ends. */
static void content_add(struct content *c, const char *path)
{
	FILE *f = fopen(path, "r");
	unsigned int n;
	struct line l;

	while (f && get_line(f, &l)) {
		if (!l.seq) {
			c->malformed++;
			continue;
		}
		c->disorder += l.seq != c->seq + 1;
		c->seq = l.seq;
		if (l.gap) {
			n = atoi(l.text);
			c->lost += n;
			c->seq += n - 1;
		} else if (sscanf(l.text, "message %u", &n) == 1) {
			if (!c->messages++)
				c->first = n;
			else
				c->disorder += n <= c->last;
			c->last = n;
		}
	}
	if (f)
		fclose(f);
}

static struct content content_of(const char *path)
{
	struct content c = { 0 };

	content_add(&c, path);
	return c;
}

static bool in_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "r");
	bool found = false;
	struct line l;

	while (f && !found && get_line(f, &l))
		found = !strcmp(l.text, text);
	if (f)
		fclose(f);
	return found;
}

static off_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? -1 : st.st_size;
}

/* A file system of 4 pages, all but one of them filled with SMALL/ballast. */
static int small_mount(void)
{
	static const char ballast[3 * 4096];
	int fd, rc = 0;

	mkdir(SMALL, 0755);
	if (mount("dxk", SMALL, "tmpfs", 0, "size=16k"))
		return -errno;
	fd = open(SMALL "/ballast", O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0 || write(fd, ballast, sizeof(ballast)) != sizeof(ballast))
		rc = -EIO;
	close(fd);
	return rc;
}

static void small_umount(void)
{
	umount(SMALL);
	rmdir(SMALL);
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

#define UP(_entries, _full)	ASSERT_EQ(0, up(&self->t, _entries, _full))
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

static int write_raw(int member, const void *text, uint32_t len)
{
	struct dxk_log_write w = {
		.size = sizeof(w),
		.text = DXT_PTR(text),
		.len = len,
	};

	return dxt_ioctl(member, DXK_IOC_LOG_WRITE, &w);
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
	EXPECT_EQ(1, epoll_wait(ep, &e, 1, 10000));
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
	unsigned int i, n = 0;
	struct dxk_result result;

	UP(8, DXK_LOG_BLOCK);
	ASSERT_EQ(0, dxt_workers_start(&self->t, 2));
	ASSERT_EQ(1, dxt_post1(self->t.member, 1, DXT_FN(exe_log_100), 0, PXR_REJOIN, 0,
			       NULL));
	EXPECT_TRUE(DXT_UNTIL(&self->t, some_worker_logs(&self->t)));
	EXPECT_EQ(8, dxt_num(&self->t, "pools/log_use"));
	/* the request is not over, and its owner is told so */
	EXPECT_EQ(RJR_NONE_READY, poll_owner(&self->t, 1));
	while (n < 100) {
		int rc = read_log(&self->t, self->r, 3, dxt_in(dxt_stall_ns()));

		ASSERT_LT(0, rc);
		for (i = 0; i < (unsigned int)rc; i++) {
			unsigned int nr = 0;

			sscanf(self->r[i].text, "message %u", &nr);
			EXPECT_EQ(++n, nr);
			EXPECT_EQ(0, self->r[i].flags);
		}
	}
	EXPECT_EQ(1, dxt_rejoin(self->t.member, 1, &result, 1, 1,
				dxt_in(dxt_stall_ns()), NULL));
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
	/* "stopped" took the place of the oldest one */
	ASSERT_EQ(3, read_log(&self->t, self->r, 8, 0));
	EXPECT_EQ(1, self->r[0].lost);
	EXPECT_STREQ("message 1", self->r[1].text);
	EXPECT_STREQ("stopped", self->r[2].text);
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
				dxt_in(dxt_stall_ns()), NULL));
	EXPECT_EQ(-EOWNERDEAD, result.status);
	EXPECT_EQ(2, read_log(&self->t, self->r, 64, 0));
}

/* --- Start and Stop ---------------------------------------------------------- */

/* DX-103: what was accepted before a Stop can be read, also after a new Start. */
TEST_F(log, stop_keeps_messages)
{
	static const unsigned int size[] = { 64, 16, 256 };
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
	/* 40 messages and two of the module's, carried over twice */
	for (k = 1; k < 3; k++) {
		EXPECT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_DRAIN, -1));
		self->t.policy.log_entries = size[k];
		ASSERT_EQ(0, dxk_policy_set(self->t.ctx, &self->t.policy, NULL));
		ASSERT_EQ(0, dxk_ctx_start(self->t.ctx));
	}
	/* 42 and "stopped": 16 of them stay, "started" moves out one more, ... */
	EXPECT_EQ(43 - 16 + 2, dxt_num(&self->t, "pools/log_lost"));
	fd = open_log(LOG);
	EXPECT_EQ(0, dxk_log_file(self->t.ctx, fd));
	close(fd);
	EXPECT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_DRAIN, -1));
	c = content_of(LOG);
	EXPECT_EQ(0, c.malformed);
	EXPECT_EQ(29, c.lost);
	EXPECT_EQ(40, c.last);
	EXPECT_EQ(11, c.messages);
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

struct talker {
	struct dxt *t;
	_Atomic bool stop;
	_Atomic unsigned int accepted;
	int member;
	int rc;
};

static void *talk(void *arg)
{
	struct talker *k = arg;

	k->member = dxk_member_create(k->t->ctx, DXK_MEMBER_CLIENT, NULL);
	while (!k->stop && !k->rc) {
		k->rc = say(k->member, DXK_LOG_WAIT, DXK_FOREVER, "message %u",
			    k->accepted + 1);
		if (!k->rc)
			k->accepted++;
		/* it slept when the context stopped */
		if (k->rc == -ESHUTDOWN)
			k->rc = 0;
	}
	close(k->member);
	return NULL;
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

/* --- the file ---------------------------------------------------------------- */

/* What is no log file. */
TEST_F(log, bad_files)
{
	int fd[2], pair[2];
	char name[64];

	ASSERT_EQ(0, dxt_open(&self->t));
	EXPECT_EQ(-EBADF, dxk_log_file(self->t.ctx, 987));
	EXPECT_EQ(-EBADF, dxk_log_file(self->t.ctx, -2));
#define REFUSED(_err, _open) do {					\
		int _fd = (_open);					\
									\
		ASSERT_LE(0, _fd);					\
		EXPECT_EQ(-(_err), dxk_log_file(self->t.ctx, _fd));	\
		close(_fd);						\
	} while (0)
	close(open_log(LOG));
	REFUSED(EBADF, open(LOG, O_RDONLY | O_APPEND));
	REFUSED(EBADF, open(LOG, O_PATH));
	REFUSED(EINVAL, open(LOG, O_WRONLY));
	REFUSED(EINVAL, open(LOG, O_RDWR));
	REFUSED(EBADF, open("/tmp", O_RDONLY | O_APPEND));
	REFUSED(EINVAL, open("/dev/null", O_WRONLY | O_APPEND));
	REFUSED(EINVAL, open("/dev/full", O_WRONLY | O_APPEND));
	REFUSED(EINVAL, open("/proc/self/oom_score_adj", O_WRONLY | O_APPEND));
	snprintf(name, sizeof(name), "/sys/kernel/dxk/%u/policy/log_full", self->t.id);
	REFUSED(EINVAL, open(name, O_WRONLY | O_APPEND));
	REFUSED(EINVAL, epoll_create1(0));
	REFUSED(EINVAL, dup(self->t.ctx));
	REFUSED(EINVAL, dup(self->t.ctl));
	ASSERT_EQ(0, pipe(fd));
	REFUSED(EINVAL, fd[1]);
	close(fd[0]);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	REFUSED(EINVAL, pair[0]);
	close(pair[1]);
#undef REFUSED
	EXPECT_EQ(0, dxk_log_file(self->t.ctx, -1));
}

/* DX-97, DX-100: the kernel writes what is logged, as whole lines. */
TEST_F(log, kernel_writes)
{
	int fd = open_log(LOG), rc;
	unsigned int i, seen;
	struct content c;
	struct line l;
	FILE *f;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, dxt_open(&self->t));
	self->t.policy.log_batch = 3;
	self->t.policy.log_entries = 16;
	ASSERT_EQ(0, dxk_log_file(self->t.ctx, fd));
	/* it has a reference of its own, and the end of the file is where it writes */
	EXPECT_EQ(0, fcntl(fd, F_SETFL, 0));
	close(fd);
	ASSERT_EQ(0, dxt_start(&self->t));
	for (i = 1; i <= 500; i++)
		ASSERT_EQ(0, say(self->t.member, DXK_LOG_WAIT, DXK_FOREVER, "message %u", i));
	/* this one does not wait, so there must be room */
	EXPECT_TRUE(DXT_UNTIL(&self->t, dxt_num(&self->t, "pools/log_use") < 16));
	rc = write_raw(self->t.member, "a\nb\0c", 6);
	EXPECT_EQ(0, rc);
	EXPECT_TRUE(DXT_UNTIL(&self->t, in_file(LOG, "a b c ")));
	EXPECT_FALSE(readable(&self->t));
	c = content_of(LOG);
	EXPECT_EQ(500, c.messages);
	EXPECT_EQ(0, c.disorder + c.malformed + c.lost);
	EXPECT_EQ(502, c.seq);
	EXPECT_EQ(0, dxt_num(&self->t, "pools/log_use"));
	/* no error of the line's format is hidden by the reader of these tests */
	f = fopen(LOG, "r");
	for (seen = 0; f && get_line(f, &l); seen++)
		EXPECT_EQ(seen ? self->t.member_id : 0, l.thread);
	fclose(f);
	EXPECT_EQ(502, seen);
}

/*
 * A full disk: nothing is lost while the pool has room, a line that was written in
 * part is completed; without room log_full decides, and the gap shows.
 */
TEST_F(log, disk_full)
{
	struct content c;
	unsigned int i;
	int fd;

	ASSERT_EQ(0, small_mount());
	UP(256, DXK_LOG_DROP_OLDEST);
	fd = open_log(SMALL "/log");
	ASSERT_EQ(0, dxk_log_file(self->t.ctx, fd));
	close(fd);
	for (i = 1; i <= 150; i++)
		ASSERT_EQ(0, say(self->t.member, 0, 0,
				 "message %u of a disk that is filled to its last page", i));
	EXPECT_TRUE(DXT_UNTIL(&self->t, size_of(SMALL "/log") == 4096));
	EXPECT_LT(0, dxt_num(&self->t, "pools/log_use"));
	/* the line at the end of the page is not whole, unless by chance */
	EXPECT_GE(1, content_of(SMALL "/log").malformed);
	for (; i <= 1000; i++)
		ASSERT_EQ(0, say(self->t.member, 0, 0, "message %u", i));
	EXPECT_EQ(256, dxt_num(&self->t, "pools/log_use"));
	EXPECT_LT(0, dxt_num(&self->t, "pools/log_lost"));
	EXPECT_EQ(4096, size_of(SMALL "/log"));
	ASSERT_EQ(0, unlink(SMALL "/ballast"));
	EXPECT_TRUE(DXT_UNTIL(&self->t, !dxt_num(&self->t, "pools/log_use") &&
					content_of(SMALL "/log").last == 1000));
	c = content_of(SMALL "/log");
	EXPECT_EQ(0, c.malformed);
	EXPECT_EQ(0, c.disorder - 1);	/* "started" was read by up() */
	EXPECT_EQ(dxt_num(&self->t, "pools/log_lost"), c.lost);
	EXPECT_EQ(1000, c.messages + c.lost);
	EXPECT_EQ(0, dxk_log_file(self->t.ctx, -1));
	small_umount();
}

/* DX-3: a full disk without a running context is the caller's error. */
TEST_F(log, disk_full_synchronous)
{
	struct content c;
	int member, fd, rc = 0;
	unsigned int i, torn;

	ASSERT_EQ(0, small_mount());
	ASSERT_EQ(0, dxt_open(&self->t));
	member = dxk_member_create(self->t.ctx, DXK_MEMBER_CLIENT, NULL);
	fd = open_log(SMALL "/log");
	ASSERT_EQ(0, dxk_log_file(self->t.ctx, fd));
	close(fd);
	for (i = 1; i <= 200 && !rc; i++)
		rc = say(member, 0, 0, "message %u of a disk that is filled", i);
	EXPECT_EQ(-ENOSPC, rc);
	EXPECT_EQ(-ENOSPC, say(member, 0, 0, "message %u", i));
	c = content_of(SMALL "/log");
	EXPECT_EQ(i - 2, c.last);
	EXPECT_GE(1, c.malformed);	/* as much of it as there was room for */
	torn = c.malformed;
	ASSERT_EQ(0, unlink(SMALL "/ballast"));
	EXPECT_EQ(0, say(member, 0, 0, "message %u", i));
	c = content_of(SMALL "/log");
	EXPECT_EQ(i, c.last);
	/* it has a line for itself, which may look like a message */
	EXPECT_EQ(torn, c.malformed + c.disorder);
	EXPECT_EQ(0, c.lost);
	close(member);
	EXPECT_EQ(0, dxk_log_file(self->t.ctx, -1));
	small_umount();
}

/* A file that cannot be written does not keep another one from taking over. */
TEST_F(log, rotation_from_full_disk)
{
	struct content c;
	unsigned int i;
	int fd;

	ASSERT_EQ(0, small_mount());
	UP(256, DXK_LOG_BLOCK);
	fd = open_log(SMALL "/log");
	ASSERT_EQ(0, dxk_log_file(self->t.ctx, fd));
	close(fd);
	for (i = 1; i <= 150; i++)
		ASSERT_EQ(0, say(self->t.member, 0, 0,
				 "message %u of a disk that is filled to its last page", i));
	EXPECT_TRUE(DXT_UNTIL(&self->t, size_of(SMALL "/log") == 4096));
	fd = open_log(LOG);
	EXPECT_EQ(0, dxk_log_file(self->t.ctx, fd));
	close(fd);
	EXPECT_TRUE(DXT_UNTIL(&self->t, content_of(LOG).last == 150));
	c = content_of(SMALL "/log");
	EXPECT_GE(1, c.malformed);
	c.malformed = 0;
	content_add(&c, LOG);
	EXPECT_EQ(150, c.messages);
	EXPECT_EQ(1, c.disorder);	/* "started" was read by up() */
	EXPECT_EQ(0, c.malformed + c.lost);
	/* to none: LOG_READ goes on where the file ends */
	EXPECT_EQ(0, dxk_log_file(self->t.ctx, -1));
	EXPECT_EQ(0, read_log(&self->t, self->r, 8, 0));
	EXPECT_EQ(0, say(self->t.member, 0, 0, "message 151"));
	EXPECT_EQ(1, read_log(&self->t, self->r, 8, 0));
	EXPECT_EQ(c.seq + 1, self->r[0].seq);
	small_umount();
}

/* Rotation under load: no line is lost or doubled, each is where it belongs. */
TEST_F(log, rotation)
{
	struct talker k = { .t = &self->t };
	int i, fd, rounds = times_of(25);
	struct content c = { 0 };
	pthread_t thread;
	char name[64], text[32];

	UP(8, DXK_LOG_BLOCK);
	pthread_create(&thread, NULL, talk, &k);
	for (i = 0; i <= rounds; i++) {
		snprintf(name, sizeof(name), LOG ".%d", i);
		unlink(name);
		fd = open_log(name);
		ASSERT_LE(0, fd);
		snprintf(text, sizeof(text), "before file %d", i);
		if (i)
			EXPECT_EQ(0, say(self->t.member, DXK_LOG_WAIT, DXK_FOREVER, "%s",
					 text));
		EXPECT_EQ(0, dxk_log_file(self->t.ctx, fd));
		close(fd);
		if (i) {
			snprintf(name, sizeof(name), LOG ".%d", i - 1);
			EXPECT_TRUE(in_file(name, text)) TH_LOG("%s", text);
		}
	}
	k.stop = true;
	pthread_join(thread, NULL);
	EXPECT_EQ(0, k.rc);
	EXPECT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_DRAIN, -1));
	c.seq = 1;		/* "started" was read by up() */
	for (i = 0; i <= rounds; i++) {
		snprintf(name, sizeof(name), LOG ".%d", i);
		content_add(&c, name);
		unlink(name);
	}
	EXPECT_EQ(k.accepted, c.messages);
	EXPECT_EQ(0, c.disorder + c.malformed + c.lost);
	EXPECT_EQ(k.accepted + rounds + 2, c.seq);
}

/* --- death ------------------------------------------------------------------- */

static int child_logs(_Atomic unsigned int *accepted, unsigned int entries)
{
	struct dxt t;
	int fd;

	if (dxt_open(&t))
		return 1;
	t.policy.log_entries = entries;
	fd = open_log(LOG);
	if (fd < 0 || dxk_log_file(t.ctx, fd) || dxt_start(&t))
		return 2;
	for (;;) {
		if (say(t.member, DXK_LOG_WAIT, DXK_FOREVER, "message %u", *accepted + 1))
			return 3;
		++*accepted;
	}
}

/* DX-103: every message that was accepted is in the file when the process died. */
TEST_F(log, killed)
{
	_Atomic unsigned int *accepted = dxt_shared(sizeof(*accepted));
	unsigned int n = 0;
	int i, rounds = times_of(8);

	for (i = 0; i < rounds; i++) {
		uint64_t end = dxt_in((int64_t)dxt_stall_ns());
		struct content c;
		pid_t pid;

		unlink(LOG);
		*accepted = 0;
		pid = dxt_fork();
		if (!pid)
			_exit(child_logs(accepted, i & 1 ? 2 : 1024));
		while (*accepted < 20U + 50 * i && dxt_now() < end)
			dxt_sleep_ms(1);
		kill(pid, SIGKILL);
		EXPECT_TRUE(WIFSIGNALED(dxt_reap(pid)));
		n = *accepted;
		EXPECT_LE(20, n);
		c = content_of(LOG);
		EXPECT_EQ(0, c.disorder + c.malformed + c.lost);
		/* one may have been accepted without being counted any more */
		EXPECT_TRUE(c.messages == n || c.messages == n + 1)
			TH_LOG("%u of %u", c.messages, n);
	}
	munmap(accepted, sizeof(*accepted));
}

/* --- independence ------------------------------------------------------------ */

/*
 * D-9, DX-32, DX-100: with every worker of both kinds blocked, and a command that
 * its handler does not answer, all lines arrive.
 */
TEST_F(log, nobody_holds_it_up)
{
	struct dxk_command_attach attach = { .size = sizeof(attach), .attach = 1 };
	struct dxk_command_send send = { .size = sizeof(send), .text_len = 5,
					 .text = DXT_PTR("block") };
	static char text[DXK_COMMAND_MAX];
	struct dxk_command_next next = { .size = sizeof(next), .deadline = DXK_FOREVER,
					 .text = DXT_PTR(text), .text_room = sizeof(text) };
	struct dxt_gate *gate = dxt_gate_new();
	struct content c;
	uint64_t sleeps;
	unsigned int i;
	int fd, rc;

	ASSERT_EQ(0, dxt_open(&self->t));
	self->t.policy.log_entries = 8;
	self->t.policy.max_threads = 3;
	self->t.policy.kernel_threads = 1;
	fd = open_log(LOG);
	ASSERT_EQ(0, dxk_log_file(self->t.ctx, fd));
	close(fd);
	ASSERT_EQ(0, dxt_start(&self->t));
	ASSERT_EQ(0, dxt_workers_start(&self->t, 2));
	ASSERT_EQ(0, dxk_executor_find(self->t.ctl, "sleep", &sleeps));
	ASSERT_EQ(1, dxt_post1(self->t.member, 1, sleeps, 10000000, PXR_KERNEL, 0, NULL));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(1, dxt_post1(self->t.member, 1, DXT_GATE, DXT_PTR(gate), 0, 0,
				       NULL));
	EXPECT_TRUE(DXT_UNTIL(&self->t, gate->entered == 2));
	EXPECT_TRUE(DXT_UNTIL(&self->t, dxt_member_is(&self->t, 1, "busy")));
	rc = dxt_ioctl(self->t.member, DXK_IOC_COMMAND_ATTACH, &attach);
	if (rc != -ENOTTY) {
		EXPECT_EQ(0, rc);
		EXPECT_EQ(0, dxt_ioctl(self->t.ctx, DXK_IOC_COMMAND_SEND, &send));
		do {
			rc = dxt_ioctl(self->t.member, DXK_IOC_COMMAND_NEXT, &next);
		} while (!rc && next.kind == DXK_COMMAND_TICK);
		EXPECT_EQ(0, rc);
	}
	for (i = 1; i <= 100; i++)
		ASSERT_EQ(0, say(self->t.member, DXK_LOG_WAIT, dxt_in(dxt_stall_ns()),
				 "message %u", i));
	EXPECT_TRUE(DXT_UNTIL(&self->t, content_of(LOG).last == 100));
	EXPECT_EQ(2, gate->entered);
	EXPECT_EQ(0, gate->left);
	dxt_gate_open(gate);
	c = content_of(LOG);
	EXPECT_EQ(100, c.messages);
	EXPECT_EQ(0, c.disorder + c.malformed + c.lost);
	EXPECT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_CANCEL, 0) == -EINVAL);
	dxt_down(&self->t);
	self->t.ctx = 0;
	dxt_gate_free(gate);
}

/* --- libdxk ------------------------------------------------------------------ */

FIXTURE(lib) {
	ThreadManagerPolicy policy;
	RunSettings settings;
	MTExecutive *mte;
};

FIXTURE_VARIANT(lib) {
	uint32_t writer;
};

FIXTURE_VARIANT_ADD(lib, library) { .writer = DX_LOG_WRITER_LIBRARY };
FIXTURE_VARIANT_ADD(lib, kernel) { .writer = DX_LOG_WRITER_KERNEL };

FIXTURE_SETUP(lib)
{
	mkdir(DIR_, 0755);
	unlink(LOG);
	ThreadManagerPolicyInit(&self->policy);
	self->policy.TPMaxThreads = 2;
	self->policy.TPDispatch = dxt_mode();
	self->policy.TPLogEntries = 8;
	self->policy.TPLogWriter = variant->writer;
	RunSettingsInit(&self->settings, "log", 0, NULL);
	self->settings.LogPath = LOG;
}

FIXTURE_TEARDOWN(lib)
{
	if (self->mte)
		MTExecutiveDestroy(self->mte, DXK_STOP_CANCEL, -1);
	umount(SMALL);
	unlink(LOG);
}

static struct dxt of_executive(MTExecutive *mte)
{
	struct dxt t = { .ctx = MTExecutiveContextFd(mte),
			 .id = (unsigned int)MTExecutiveContextId(mte) };

	return t;
}

/* The messages "message N" of a log of the library; they must be in order. */
static unsigned int library_lines(const char *path, unsigned int *wrong,
				  unsigned long long *seq)
{
	unsigned int n, messages = 0;
	unsigned long long s;
	char line[512], *p;
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f)) {
		if (!strchr(line, '\n') || sscanf(line, "%llu", &s) != 1 || s != *seq + 1) {
			++*wrong;
			continue;
		}
		*seq = s;
		p = strstr(line, " message ");
		if (p && sscanf(p, " message %u", &n) == 1)
			messages++;
	}
	if (f)
		fclose(f);
	return messages;
}

#define TALKERS	4

static void *lib_talk(void *arg)
{
	unsigned int i, nr = (unsigned int)times_of(250);
	_Atomic unsigned int *done = arg;

	for (i = 0; i < nr; i++)
		*done += !LogMessage("message %u", i);
	return NULL;
}

/*
 * DX-3, DX-97, DX-99: threads log more than the pool has room for; nothing is lost,
 * before Start, between the modes, after Stop.
 */
TEST_F(lib, all_of_it)
{
	unsigned int i, wrong = 0, n;
	_Atomic unsigned int done = 0;
	unsigned long long seq = 0;
	pthread_t thread[TALKERS];
	ThreadManagerPolicy policy;

	self->mte = MTExecutiveCreate(&self->settings, &self->policy, NULL);
	ASSERT_NE(NULL, self->mte);
	ASSERT_EQ(0, MTExecutiveGetPolicy(NULL, &policy));
	EXPECT_EQ(variant->writer, policy.TPLogWriter);
	policy.TPLogWriter ^= 1;
	EXPECT_EQ(-EBUSY, MTExecutiveSetPolicy(NULL, &policy, NULL));
	for (i = 0; i < TALKERS; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, lib_talk, &done));
	for (i = 0; i < TALKERS; i++)
		pthread_join(thread[i], NULL);
	EXPECT_EQ(TALKERS * times_of(250), done);
	EXPECT_EQ(0, MTExecutiveStop(self->mte, DXK_STOP_DRAIN, -1));
	/* now it is synchronous, and all that was before is there before it */
	for (i = 1; i <= 3; i++) {
		EXPECT_EQ(0, LogMessage("message %u", i));
		seq = 0;
		EXPECT_EQ(done + i, library_lines(LOG, &wrong, &seq));
	}
	EXPECT_EQ(0, MTExecutiveDestroy(self->mte, DXK_STOP_DRAIN, -1));
	self->mte = NULL;
	seq = 0;
	n = library_lines(LOG, &wrong, &seq);
	EXPECT_EQ(done + 3, n);
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(-ENXIO, LogRotate());
}

/* LogRotate(): each line is in one file, and nothing is lost. */
TEST_F(lib, rotate)
{
	unsigned int i, wrong = 0, n = 0;
	int rounds = times_of(10);
	_Atomic unsigned int done = 0;
	unsigned long long seq = 0;
	pthread_t thread;
	char name[64];

	self->mte = MTExecutiveCreate(&self->settings, &self->policy, NULL);
	ASSERT_NE(NULL, self->mte);
	ASSERT_EQ(0, pthread_create(&thread, NULL, lib_talk, &done));
	for (i = 0; i < (unsigned int)rounds; i++) {
		snprintf(name, sizeof(name), LOG ".%u", i);
		EXPECT_EQ(0, rename(LOG, name));
		EXPECT_EQ(0, i & 1 ? LogRotate() : LogRotateOf(self->mte));
		EXPECT_LE(0, size_of(LOG));
	}
	pthread_join(thread, NULL);
	EXPECT_EQ(times_of(250), done);
	EXPECT_EQ(0, MTExecutiveStop(self->mte, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(0, LogMessage("message 1"));
	for (i = 0; i < (unsigned int)rounds; i++) {
		snprintf(name, sizeof(name), LOG ".%u", i);
		n += library_lines(name, &wrong, &seq);
		unlink(name);
	}
	n += library_lines(LOG, &wrong, &seq);
	EXPECT_EQ(done + 1, n);
	EXPECT_EQ(0, wrong);
}

/* A full disk: kept, tried again, also when another file comes instead. */
TEST_F(lib, disk_full)
{
	unsigned int i, wrong = 0;
	unsigned long long seq = 0;
	struct dxt t;

	ASSERT_EQ(0, small_mount());
	self->settings.LogPath = SMALL "/log";
	self->policy.TPLogEntries = 256;
	self->mte = MTExecutiveCreate(&self->settings, &self->policy, NULL);
	ASSERT_NE(NULL, self->mte);
	t = of_executive(self->mte);
	for (i = 1; i <= 150; i++)
		ASSERT_EQ(0, LogMessage("message %u fills the disk to its last page", i));
	EXPECT_TRUE(DXT_UNTIL(&t, size_of(SMALL "/log") == 4096));
	/* after Stop the error is the caller's, and Stop does not wait for the disk */
	EXPECT_EQ(0, MTExecutiveStop(self->mte, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(-ENOSPC, LogMessage("message 151"));
	ASSERT_EQ(0, unlink(SMALL "/ballast"));
	EXPECT_TRUE(DXT_UNTIL(&t, !LogMessage("message 151")));
	EXPECT_EQ(151, library_lines(SMALL "/log", &wrong, &seq));
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(0, MTExecutiveDestroy(self->mte, DXK_STOP_DRAIN, -1));
	self->mte = NULL;
	small_umount();
}

/* The destructor does not wait for a disk that stays full. */
TEST_F(lib, disk_stays_full)
{
	unsigned int i;
	struct dxt t;

	ASSERT_EQ(0, small_mount());
	self->settings.LogPath = SMALL "/log";
	self->policy.TPLogEntries = 256;
	self->mte = MTExecutiveCreate(&self->settings, &self->policy, NULL);
	ASSERT_NE(NULL, self->mte);
	t = of_executive(self->mte);
	for (i = 1; i <= 150; i++)
		ASSERT_EQ(0, LogMessage("message %u fills the disk to its last page", i));
	EXPECT_TRUE(DXT_UNTIL(&t, size_of(SMALL "/log") == 4096));
	EXPECT_EQ(0, MTExecutiveDestroy(self->mte, DXK_STOP_DRAIN, -1));
	self->mte = NULL;
	small_umount();
}

/* What cannot be a log for the kernel is refused, and says so. */
TEST_F(lib, refused)
{
	MTExecutiveError error;

	self->policy.TPLogWriter = 2;
	EXPECT_EQ(NULL, MTExecutiveCreate(&self->settings, &self->policy, &error));
	EXPECT_EQ(-EINVAL, error.Error);
	EXPECT_STREQ("TPLogWriter", error.Field);
	self->policy.TPLogWriter = variant->writer;
	self->settings.LogPath = "/dev/null";
	self->mte = MTExecutiveCreate(&self->settings, &self->policy, &error);
	if (variant->writer == DX_LOG_WRITER_KERNEL) {
		EXPECT_EQ(NULL, self->mte);
		EXPECT_EQ(-EINVAL, error.Error);
		EXPECT_STREQ("log writer", error.Step);
	} else {
		EXPECT_NE(NULL, self->mte);
		EXPECT_EQ(0, LogMessage("nowhere"));
		EXPECT_EQ(0, LogRotate());
	}
	if (self->mte)
		EXPECT_EQ(0, MTExecutiveDestroy(self->mte, DXK_STOP_DRAIN, -1));
	self->settings.LogPath = NULL;
	self->policy.TPLogWriter = DX_LOG_WRITER_LIBRARY;
	self->mte = MTExecutiveCreate(&self->settings, &self->policy, &error);
	ASSERT_NE(NULL, self->mte);
	EXPECT_EQ(-EINVAL, LogRotate());
}

/* After fork() the child has no log; the parent's goes on. */
TEST_F(lib, fork)
{
	pid_t pid;

	self->mte = MTExecutiveCreate(&self->settings, &self->policy, NULL);
	ASSERT_NE(NULL, self->mte);
	pid = dxt_fork();
	if (!pid)
		_exit(!(LogMessage("no") == -ENXIO && LogRotateOf(self->mte) == -EPERM &&
			LogMessageOf(self->mte, "no") == -EPERM));
	EXPECT_EQ(0, dxt_reap(pid));
	EXPECT_EQ(0, LogMessage("message"));
}

TEST_HARNESS_MAIN
