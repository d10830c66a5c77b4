// SPDX-License-Identifier: GPL-2.0-only
/*
 * A signal each millisecond, as a profiler or an alarm sends it, through every wait
 * of the module. With SA_RESTART the call goes on as if there were none; without it is
 * EINTR and nothing was taken. In both cases deadlines are points in time: a wait
 * does not begin anew with each signal. A call that does not sleep is never EINTR.
 */
#include "lib/dxt.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#define OWNER	5
#define WAIT_NS	(500 * DXT_MS)
#define BOUND_NS dxt_late_ns()	/* of the delay, for a busy host */

static _Atomic unsigned long alarms;

static void alarmed(int sig)
{
	(void)sig;
	alarms++;
}

/* Signals for the calling thread alone: the others have it blocked. */
static void alarms_on(bool restart)
{
	struct sigaction a = {
		.sa_handler = alarmed, .sa_flags = restart ? SA_RESTART : 0,
	};
	struct itimerval t = { { 0, 1000 }, { 0, 1000 } };

	alarms = 0;
	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
}

static void alarms_off(void)
{
	struct itimerval none = { 0 };

	setitimer(ITIMER_REAL, &none, NULL);
}

/* A thread inherits what is blocked from who starts it. */
static void mask_alarms(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(how, &set, NULL);
}

FIXTURE(sigalrm) {
	struct dxt t;
	struct dxt still;	/* where a request executes, so that Stop waits */
	int me;			/* a worker of this thread */
	int second;		/* of the other context */
	int handler;		/* a client, and command handler */
	struct dxk_work work;	/* that executes */
	struct dxt_snapshot before;
};

FIXTURE_SETUP(sigalrm)
{
	ASSERT_EQ(0, dxt_open(&self->t));
	self->t.policy.max_threads = 1;
	self->t.policy.ready_entries = 1;
	self->t.policy.log_entries = 2;
	self->t.policy.log_full = DXK_LOG_BLOCK;
	self->t.policy.monitor_interval_ms = 3600000;
	ASSERT_EQ(0, dxt_start(&self->t));
	self->me = dxk_member_create(self->t.ctx, DXK_MEMBER_WORKER, NULL);
	self->handler = dxk_member_create(self->t.ctx, DXK_MEMBER_CLIENT, NULL);
	ASSERT_LE(0, self->me);
	ASSERT_LE(0, self->handler);
	ASSERT_EQ(0, dxk_command_attach(self->handler, 1));

	ASSERT_EQ(0, dxt_open(&self->still));
	self->still.policy.max_threads = 1;
	ASSERT_EQ(0, dxt_start(&self->still));
	self->second = dxk_member_create(self->still.ctx, DXK_MEMBER_WORKER, NULL);
	ASSERT_LE(0, self->second);
	ASSERT_EQ(1, dxt_post1(self->second, OWNER, DXT_NOP, 0, PXR_REJOIN, 0, NULL));
	ASSERT_EQ(1, dxk_next(self->second, NULL, 0, NULL, &self->work, 1, NULL, 0, 0));
}

FIXTURE_TEARDOWN(sigalrm)
{
	alarms_off();
	close(self->second);
	dxt_down(&self->still);
	close(self->handler);
	close(self->me);
	dxt_down(&self->t);
}

typedef FIXTURE_DATA(sigalrm) env;

/* --- the waits ------------------------------------------------------------------ */

/* What is full or empty so that the call waits; see prepare(). */
static int wait_post(env *s, uint64_t deadline)
{
	struct dxk_post_entry e = dxt_entry(OWNER, DXT_NOP, 1, PXR_WAITIF_BUSY);
	struct dxk_post post;

	return dxt_post(s->me, &e, 1, deadline, &post);
}

static int wait_rejoin(env *s, uint64_t deadline)
{
	struct dxk_result r;
	uint32_t answer;
	int rc = dxt_rejoin(s->me, OWNER, &r, 1, 1, deadline, &answer);

	return rc ?: answer == RJR_NONE_READY ? -ETIMEDOUT : -EPROTO;
}

/* A worker of the context where nothing is Ready. */
static int wait_next(env *s, uint64_t deadline)
{
	struct dxk_work work;
	struct dxk_next next = {
		.size = sizeof(next), .deadline = deadline, .nr_work = 1,
		.work = DXT_PTR(&work), .work_size = sizeof(work),
	};

	return dxt_ioctl(s->second, DXK_IOC_NEXT, &next);
}

static int wait_should_stop(env *s, uint64_t deadline)
{
	struct dxk_should_stop a = { .size = sizeof(a), .deadline = deadline };

	return dxt_ioctl(s->me, DXK_IOC_SHOULD_STOP, &a) ?: -ETIMEDOUT;
}

static int wait_crew(env *s, uint64_t deadline)
{
	struct dxk_crew_wait a = { .size = sizeof(a), .deadline = deadline };

	return dxt_ioctl(s->t.ctx, DXK_IOC_CREW_WAIT, &a) ?: -ETIMEDOUT;
}

static int wait_log_write(env *s, uint64_t deadline)
{
	struct dxk_log_write a = {
		.size = sizeof(a), .flags = DXK_LOG_WAIT, .deadline = deadline,
		.text = DXT_PTR("never"), .len = 5,
	};

	return dxt_ioctl(s->me, DXK_IOC_LOG_WRITE, &a);
}

static int wait_log_read(env *s, uint64_t deadline)
{
	struct dxk_log_record r;
	struct dxk_log_read a = {
		.size = sizeof(a), .deadline = deadline, .records = DXT_PTR(&r), .nr = 1,
		.record_size = sizeof(r),
	};

	return dxt_ioctl(s->still.ctx, DXK_IOC_LOG_READ, &a) ?: -ETIMEDOUT;
}

/* Nobody takes it: the handler is this thread. */
static int wait_command_send(env *s, uint64_t deadline)
{
	struct dxk_command_send a = {
		.size = sizeof(a), .deadline = deadline, .text = DXT_PTR("hello"),
		.text_len = 5,
	};

	return dxt_ioctl(s->still.ctx, DXK_IOC_COMMAND_SEND, &a);
}

static int wait_command_next(env *s, uint64_t deadline)
{
	char text[DXK_COMMAND_MAX];
	struct dxk_command_next a = {
		.size = sizeof(a), .deadline = deadline, .text = DXT_PTR(text),
		.text_room = sizeof(text),
	};

	return dxt_ioctl(s->handler, DXK_IOC_COMMAND_NEXT, &a);
}

static int wait_stop(env *s, uint64_t deadline)
{
	struct dxk_ctx_stop a = {
		.size = sizeof(a), .mode = DXK_STOP_DRAIN, .deadline = deadline,
	};

	return dxt_ioctl(s->still.ctx, DXK_IOC_CTX_STOP, &a);
}

static const struct {
	const char *name;
	int (*call)(env *s, uint64_t deadline);
	bool not_restarted;	/* EINTR in any case */
	bool takes;		/* what it tries again is another one */
} waits[] = {
	{ "POST", wait_post, false, false },
	{ "REJOIN", wait_rejoin, false, false },
	{ "NEXT", wait_next, false, false },
	{ "SHOULD_STOP", wait_should_stop, false, false },
	{ "CREW_WAIT", wait_crew, false, false },
	{ "LOG_WRITE", wait_log_write, false, false },
	{ "LOG_READ", wait_log_read, false, false },
	{ "COMMAND_NEXT", wait_command_next, false, false },
	/* it would be sent again */
	{ "COMMAND_SEND", wait_command_send, true, true },
	/* the last one: from then on the context stops */
	{ "CTX_STOP", wait_stop, false, false },
};

#define WAITS	(sizeof(waits) / sizeof(waits[0]))

static void *attach_and_sleep(void *arg)
{
	env *s = arg;
	int fd = dxk_member_create(s->still.ctx, DXK_MEMBER_CLIENT, NULL);

	if (fd < 0 || dxk_command_attach(fd, 1))
		return (void *)1;
	/* its commands are not taken until the context stops */
	dxk_should_stop(fd, -1);
	close(fd);
	return NULL;
}

/* The Ready Pool of one is full, a result will not come, the log is full. */
static const char *prepare(env *s, pthread_t *handler)
{
	if (dxt_post1(s->me, OWNER, DXT_NOP, 0, PXR_REJOIN, 0, NULL) != 1)
		return "a request";
	while (dxt_num(&s->t, "pools/log_use") < 2)
		if (dxk_log_write(s->me, "full", 4, 0, 0))
			return "the log";
	while (dxt_num(&s->still, "pools/log_use")) {
		struct dxk_log_record r;

		if (dxk_log_read(s->still.ctx, &r, 1, 0) != 1)
			return "the log";
	}
	mask_alarms(SIG_BLOCK);
	if (pthread_create(handler, NULL, attach_and_sleep, s))
		return "a thread";
	mask_alarms(SIG_UNBLOCK);
	if (!DXT_UNTIL(&s->still, dxt_exists(&s->still, "threads/1000")))
		return "the handler";
	return NULL;
}

/* What a wait without end may leave: as it was. */
static const char *const same[] = {
	"owners", "pools/ready_use", "pools/rejoin_use", "pools/thread_busy",
	"pools/thread_use", "pools/log_use", "stats/posts", "stats/dispatches",
	"lanes/ready_lane3_waiters", "stats/collected",
};

#define SAME	(sizeof(same) / sizeof(same[0]))

static void look(const env *s, long long *now)
{
	unsigned int i;

	for (i = 0; i < SAME; i++) {
		now[i] = dxt_num(&s->t, same[i]);
		now[SAME + i] = dxt_num(&s->still, same[i]);
	}
}

/*
 * A wait of 0.5 s ends when 0.5 s are over, whichever way its signals are handled.
 * A wait that began anew each time would never end.
 */
TEST_F(sigalrm, deadlines)
{
	long long before[2 * SAME], now[2 * SAME];
	uint64_t deadline, end, longest = 0;
	unsigned int i, k, restart, tries;
	unsigned long eintr;
	pthread_t handler;
	const char *why;
	void *failed;
	int rc;

	why = prepare(self, &handler);
	ASSERT_EQ(NULL, why) TH_LOG("%s", why);
	look(self, before);
	for (i = 0; i < WAITS; i++) {
		dxt_tell("%s", waits[i].name);
		for (restart = 0; restart < 2; restart++) {
			/*
			 * Some of the hundreds of signals: else the guest was not run, and
			 * the wait may have been over before it began.
			 */
			for (tries = 0; tries < 20; tries++) {
				eintr = 0;
				alarms_on(restart);
				deadline = dxt_in(waits[i].takes ? BOUND_NS : WAIT_NS);
				do {
					rc = waits[i].call(self, deadline);
					eintr += rc == -EINTR;
				} while (rc == -EINTR && !waits[i].takes);
				end = dxt_now();
				alarms_off();
				if (waits[i].takes || alarms >= 20)
					break;
			}
			if (waits[i].takes) {
				EXPECT_EQ(-EINTR, rc) TH_LOG("%s", waits[i].name);
				continue;
			}
			EXPECT_EQ(-ETIMEDOUT, rc) TH_LOG("%s", waits[i].name);
			EXPECT_LE(deadline, end) TH_LOG("%s is early", waits[i].name);
			EXPECT_GT(deadline + BOUND_NS, end)
				TH_LOG("%s is late", waits[i].name);
			/* they came, and were seen or not as the contract says */
			EXPECT_LT(0, alarms);
			EXPECT_EQ(restart, !eintr)
				TH_LOG("%s, restart %u: %lu times EINTR", waits[i].name,
				       restart, eintr);
			if (end > deadline && end - deadline > longest)
				longest = end - deadline;
		}
		if (waits[i].call == wait_stop)
			break;
		look(self, now);
		for (k = 0; k < 2 * SAME; k++) {
			EXPECT_EQ(before[k], now[k])
				TH_LOG("%s changed %s", waits[i].name, same[k % SAME]);
		}
	}
	TH_LOG("at most %llu ms late", (unsigned long long)(longest / DXT_MS));

	/* Stop waits on: what executes is completed and collected all the same. */
	alarms_on(true);
	{
		struct dxk_done done = { .ticket = self->work.ticket, .status = 9 };
		struct dxk_result r;

		EXPECT_EQ(0, dxk_next(self->second, &done, 1, NULL, NULL, 0, NULL, 0, 0));
		EXPECT_EQ(0, wait_stop(self, DXK_FOREVER));
		EXPECT_EQ(1, dxt_rejoin(self->second, OWNER, &r, 1, 1, 0, NULL));
		EXPECT_EQ(9, r.status);
	}
	alarms_off();
	pthread_join(handler, &failed);
	EXPECT_EQ(NULL, failed);
}

/* What does not sleep is not interrupted, be a signal there or not. */
TEST_F(sigalrm, no_sleep)
{
	unsigned int i, k, rounds = dxt_debug_kernel() ? 1000 : 4000;
	unsigned long eintr;
	pthread_t handler;
	const char *why;
	int rc;

	why = prepare(self, &handler);
	ASSERT_EQ(NULL, why) TH_LOG("%s", why);
	for (i = 0; i < WAITS; i++) {
		/* it does not send, then there is nothing to interrupt */
		if (waits[i].takes)
			continue;
		dxt_tell("%s", waits[i].name);
		eintr = 0;
		alarms_on(false);
		for (k = 0; k < rounds; k++) {
			rc = waits[i].call(self, 0);
			eintr += rc == -EINTR;
			if (rc != -EINTR && rc != -ETIMEDOUT)
				break;
		}
		alarms_off();
		EXPECT_EQ(-ETIMEDOUT, rc) TH_LOG("%s", waits[i].name);
		EXPECT_EQ(0, eintr) TH_LOG("%s without a sleep: %lu of %u EINTR",
					   waits[i].name, eintr, k);
	}
	pthread_join(handler, NULL);
}

/* --- with traffic --------------------------------------------------------------- */

/*
 * Posts that wait for room, fetches, completions and collecting, by this thread and by
 * a worker that gets no signals, while they come: each request once.
 */
static int traffic(env *s, unsigned int nr, unsigned char *seen)
{
	struct dxk_result r;
	unsigned int posted = 0, got = 0;
	int rc;

	while (got < nr) {
		if (posted < nr) {
			rc = dxt_post1(s->t.member, OWNER, DXT_PARAM, posted,
				       PXR_REJOIN | PXR_WAITIF_BUSY,
				       dxt_late(), NULL);
			if (rc == 1)
				posted++;
			else if (rc != -EINTR)
				return rc;
		}
		if (posted - got < 8 && posted < nr)
			continue;
		rc = dxt_rejoin(s->t.member, OWNER, &r, 1, 1,
				dxt_late(), NULL);
		if (rc == 1 && r.param < nr && r.status == (int)r.param) {
			seen[r.param]++;
			got++;
		} else if (rc != -EINTR) {
			return rc < 0 ? rc : -EPROTO;
		}
	}
	return 0;
}

TEST_F(sigalrm, traffic)
{
	unsigned int restart, i, nr = dxt_debug_kernel() ? 300 : 1000;
	unsigned char seen[1000];

	close(self->me);
	self->me = -1;
	mask_alarms(SIG_BLOCK);
	ASSERT_EQ(0, dxt_workers_start(&self->t, 1));
	mask_alarms(SIG_UNBLOCK);
	for (restart = 0; restart < 2; restart++) {
		memset(seen, 0, sizeof(seen));
		alarms_on(restart);
		EXPECT_EQ(0, traffic(self, nr, seen));
		alarms_off();
		for (i = 0; i < nr; i++) {
			EXPECT_EQ(1, seen[i]) TH_LOG("request %u", i);
		}
	}
	EXPECT_EQ(2 * nr, dxt_num(&self->t, "stats/posts"));
	EXPECT_EQ(2 * nr, dxt_num(&self->t, "stats/collected"));
	EXPECT_EQ(0, dxt_num(&self->t, "owners"));
}

/* poll(2) is never restarted; what it waits for is there at the next one. */
TEST_F(sigalrm, poll)
{
	struct pollfd p = { .fd = self->handler, .events = POLLIN };
	struct dxk_result r;
	struct dxk_done done = { 0 };
	struct dxk_work work;
	uint64_t end;
	int rc, i, eintr = 0;
	uint32_t answer;

	ASSERT_EQ(1, dxt_post1(self->handler, OWNER, DXT_NOP, 0, PXR_REJOIN, 0, NULL));
	ASSERT_EQ(1, dxk_next(self->me, NULL, 0, NULL, &work, 1, NULL, 0, 0));
	ASSERT_EQ(0, dxt_rejoin(self->handler, OWNER, &r, 1, 1, 0, &answer));
	ASSERT_EQ(RJR_NONE_READY, answer);
	alarms_on(true);
	end = dxt_in(WAIT_NS / 2);
	for (i = 0; i < 300 && (dxt_now() < end || !eintr); i++) {
		rc = poll(&p, 1, 100);
		EXPECT_TRUE(rc == 0 || (rc < 0 && errno == EINTR));
		eintr += rc < 0;
	}
	EXPECT_LT(0, eintr);
	done.ticket = work.ticket;
	EXPECT_EQ(0, dxk_next(self->me, &done, 1, NULL, NULL, 0, NULL, 0, 0));
	end = dxt_late();
	do {
		rc = poll(&p, 1, 100);
	} while (rc < 1 && dxt_now() < end);
	alarms_off();
	EXPECT_EQ(1, rc);
	EXPECT_EQ(1, dxt_rejoin(self->handler, OWNER, &r, 1, 1, 0, NULL));
}

/* A log file that the kernel writes is replaced while signals come: each line once. */
TEST_F(sigalrm, log_file)
{
	static const char *const name[] = { "/tmp/dxk-sigalrm1", "/tmp/dxk-sigalrm2" };
	unsigned int i, k, lines = 0, turns = 0, n, nr = 200;
	unsigned char seen[200] = { 0 };
	char line[512], *at, text[32];
	int fd[2], rc;
	FILE *f;

	for (i = 0; i < 2; i++) {
		fd[i] = open(name[i], O_WRONLY | O_APPEND | O_CREAT | O_TRUNC | O_CLOEXEC,
			     0600);
		ASSERT_LE(0, fd[i]);
	}
	ASSERT_EQ(0, dxk_log_file(self->t.ctx, fd[0]));
	alarms_on(false);
	for (i = 0; i < nr; i++) {
		n = (unsigned int)snprintf(text, sizeof(text), "message %u", i);
		do {
			rc = dxk_log_write(self->me, text, n, DXK_LOG_WAIT,
					   dxt_late_ns());
		} while (rc == -EINTR);
		EXPECT_EQ(0, rc);
		if (i % 10)
			continue;
		do {
			rc = dxk_log_file(self->t.ctx, fd[++turns & 1]);
			/* refused: the old one goes on */
			turns -= rc == -EINTR;
		} while (rc == -EINTR);
		EXPECT_EQ(0, rc);
	}
	do {
		rc = dxk_log_file(self->t.ctx, -1);
	} while (rc == -EINTR);
	alarms_off();
	EXPECT_EQ(0, rc);
	for (k = 0; k < 2; k++) {
		f = fopen(name[k], "re");
		ASSERT_NE(NULL, f);
		while (fgets(line, sizeof(line), f)) {
			at = strstr(line, " message ");
			if (!at || sscanf(at, " message %u", &i) != 1 || i >= nr)
				continue;
			seen[i]++;
			lines++;
		}
		fclose(f);
		close(fd[k]);
		unlink(name[k]);
	}
	EXPECT_EQ(nr, lines);
	for (i = 0; i < nr; i++) {
		EXPECT_EQ(1, seen[i]) TH_LOG("message %u", i);
	}
}

TEST_HARNESS_MAIN
