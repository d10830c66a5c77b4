// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the cases of lib/calls do not show of calls that fail: each allocation and each
 * copy of a call fails in turn (debug kernel), and a command takes effect or does not,
 * each sender gets its answer, each message is in one file, a request is run again, once
 * or, if the call says so, not at all; Stop's report.
 */
#include "lib/dxt.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define OWNER	3
#define DATA	64
#define NR_MAX	200	/* faults of one call; far more than any has */
#define FILE_	"/tmp/dxk-fault-test"
#define WRONG	(-EPROTO)

/* The call with a fault; *hit: did it happen? */
#define FAULTY(n, hit, call) ({						\
	int _rc;							\
									\
	dxt_fail_nth(n);						\
	_rc = (call);							\
	*(hit) = dxt_fail_hit();					\
	_rc;								\
})

static bool is_fault(int rc)
{
	return rc == -EFAULT || rc == -ENOMEM;
}

FIXTURE(services) {
	struct dxt t;
	int me;			/* a worker, and the command handler */
	unsigned int id;
};
typedef FIXTURE_DATA(services) services;

FIXTURE_SETUP(services)
{
	ASSERT_EQ(0, dxt_open(&self->t));
	self->t.policy.max_threads = 2;
	self->t.policy.data_size = DATA;
	self->t.policy.redo_max = 1000;
	self->t.policy.sched_interval_ms = 3600000;
	/* no tick comes between */
	self->t.policy.monitor_interval_ms = 3600000;
	ASSERT_EQ(0, dxt_start(&self->t));
	self->me = dxk_member_create(self->t.ctx, DXK_MEMBER_WORKER, &self->id);
	ASSERT_LE(0, self->me);
	if (!dxt_faults())
		SKIP(return, "this kernel cannot make allocations and copies fail");
}

FIXTURE_TEARDOWN(services)
{
	if (self->me >= 0)
		close(self->me);
	dxt_down(&self->t);
}

/* --- commands ---------------------------------------------------------------- */

static int tell(services *s, const char *text)
{
	return dxk_command_send(s->t.ctx, text, strlen(text), NULL, 0, NULL, 0);
}

static int ask(services *s, const char *text, char *reply, size_t room, int *status)
{
	memset(reply, 0, room);
	return dxk_command_send(s->t.ctx, text, strlen(text), reply, room - 1, status,
				dxt_late_ns());
}

/* Answers and gets a command: the tick that an attach can bring is no part of this. */
static int next_text(services *s, int status, const char *reply, char *text, size_t *len,
		     int64_t ns)
{
	int rc;

	do {
		rc = dxk_command_next(s->me, status, reply, strlen(reply), text, len, ns);
	} while (rc == DXK_COMMAND_TICK);
	return rc;
}

/* What the handler gets next is @want, or nothing for NULL. */
static bool gets(services *s, const char *want)
{
	char text[DXK_COMMAND_MAX];
	size_t len;
	int rc = next_text(s, 0, "", text, &len, 0);

	if (!want)
		return rc == -ETIMEDOUT;
	return rc == DXK_COMMAND_TEXT && len == strlen(want) && !memcmp(text, want, len);
}

/*
 * One of the context's own commands: ENOMEM, of the call or its status, says that
 * it did not run. It may have run when the reply alone could not be stored.
 */
static int send_set(services *s, unsigned int n, bool *hit)
{
	char text[32], reply[256];
	int rc, status = 0;
	bool done;

	snprintf(text, sizeof(text), "set boost_value %u", 100 + n);
	rc = FAULTY(n, hit, ask(s, text, reply, sizeof(reply), &status));
	if (rc == 0)
		rc = status;
	/* it takes effect at the Monitor's next review */
	done = rc ? dxt_num(&s->t, "policy/boost_value") == 100 + n :
		    DXT_UNTIL(&s->t, dxt_num(&s->t, "policy/boost_value") == 100 + n);
	if (rc != -EFAULT && done != (rc == 0))
		return WRONG;
	return rc;
}

/* A command that the handler could not get is the next, before those behind it. */
static int next_gets(services *s, unsigned int n, bool *hit)
{
	char text[DXK_COMMAND_MAX];
	size_t len;
	int rc;

	if (dxk_command_attach(s->me, 1) || tell(s, "first") || tell(s, "second"))
		return WRONG;
	rc = FAULTY(n, hit, next_text(s, 0, "", text, &len, 0));
	if (rc == DXK_COMMAND_TEXT && (len != 5 || memcmp(text, "first", 5)))
		return WRONG;
	if ((rc < 0 && !gets(s, "first")) || !gets(s, "second") || !gets(s, NULL) ||
	    dxk_command_attach(s->me, 0))
		return WRONG;
	return rc == DXK_COMMAND_TEXT ? 0 : rc;
}

struct sender {
	services *s;
	char reply[64];
	int rc, status;
	pthread_t thread;
};

static void *sender_thread(void *arg)
{
	struct sender *w = arg;

	w->rc = dxk_command_send(w->s->t.ctx, "question", 8, w->reply, sizeof(w->reply),
				 &w->status, -1);
	return NULL;
}

/*
 * Answers one command and gets the next. Whichever failed, the same call again
 * does the rest: the sender gets the answer once, the handler the next command.
 */
static int next_answers(services *s, unsigned int n, bool *hit)
{
	char text[DXK_COMMAND_MAX];
	struct sender w = { .s = s };
	size_t len = 0;
	int rc, again;

	if (dxk_command_attach(s->me, 1) ||
	    pthread_create(&w.thread, NULL, sender_thread, &w))
		return WRONG;
	rc = next_text(s, 0, "", text, &len, dxt_late_ns());
	if (rc != DXK_COMMAND_TEXT || tell(s, "behind"))
		return WRONG;
	again = rc = FAULTY(n, hit, next_text(s, -EXDEV, "answer", text, &len, 0));
	if (is_fault(rc))
		again = next_text(s, -EXDEV, "answer", text, &len, 0);
	if (again != DXK_COMMAND_TEXT || len != 6 || memcmp(text, "behind", 6))
		return WRONG;
	/* also lets go a sender that was not answered */
	if (!gets(s, NULL) || dxk_command_attach(s->me, 0))
		return WRONG;
	pthread_join(w.thread, NULL);
	if (w.rc != 6 || w.status != -EXDEV || memcmp(w.reply, "answer", 6))
		return WRONG;
	return rc == DXK_COMMAND_TEXT ? 0 : rc;
}

/* --- the log ----------------------------------------------------------------- */

static int say(services *s, unsigned int i)
{
	char text[32];
	int len = snprintf(text, sizeof(text), "message %u", i);

	return dxk_log_write(s->me, text, (size_t)len, 0, 0);
}

/* Counts messages 1..@nr in a file; a line without its end is none. */
static void count_lines(const char *path, unsigned char *seen, unsigned int nr)
{
	FILE *f = fopen(path, "re");
	char line[512], *at;
	unsigned int i;

	while (f && fgets(line, sizeof(line), f)) {
		at = strstr(line, " message ");
		if (at && strchr(at, '\n') && sscanf(at, " message %u", &i) == 1 &&
		    i && i <= nr)
			seen[i]++;
	}
	if (f)
		fclose(f);
}

/*
 * Whether the work or the caller writes them, and whichever file could be written:
 * each message is in one of the two, once.
 */
static int log_file_replace(services *s, unsigned int n, bool *hit)
{
	enum { MESSAGES = 40 };
	unsigned char seen[MESSAGES + 1] = { 0 };
	unsigned int i;
	int fd[2], rc;

	fd[0] = open(FILE_, O_WRONLY | O_APPEND | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	fd[1] = open(FILE_ "2", O_WRONLY | O_APPEND | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (dxk_log_file(s->t.ctx, fd[0]))
		return WRONG;
	for (i = 1; i <= MESSAGES; i++)
		if (say(s, i))
			return WRONG;
	rc = FAULTY(n, hit, dxk_log_file(s->t.ctx, fd[1]));
	if (dxk_log_file(s->t.ctx, -1))
		return WRONG;
	close(fd[0]);
	close(fd[1]);
	count_lines(FILE_, seen, MESSAGES);
	count_lines(FILE_ "2", seen, MESSAGES);
	for (i = 1; i <= MESSAGES; i++)
		if (seen[i] != 1)
			return WRONG;
	return rc;
}

/* --- requests that are run again ------------------------------------------------ */

static int redo(services *s, unsigned int n, bool *hit)
{
	unsigned char posted[DATA], data[DATA];
	struct dxk_post_entry e = dxt_entry(OWNER, DXT_NOP, n, PXR_REJOIN | PXR_REDO);
	struct dxk_done done = { .data = DXT_PTR("result"), .data_len = 7 };
	struct dxk_result result;
	struct dxk_post post;
	struct dxk_work work;
	unsigned int attempt;
	bool died;
	int rc;

	memset(posted, (int)n, DATA);
	e.data = DXT_PTR(posted);
	e.data_len = e.result_len = DATA;
	rc = FAULTY(n, hit, dxt_post(s->me, &e, 1, 0, &post));
	if (rc != 1)
		return rc;
	/* Dies over it, with a fault; the next one finds its id and what was posted. */
	for (attempt = 1; attempt <= 3; attempt++) {
		if (dxk_next(s->me, NULL, 0, NULL, &work, 1, data, DATA, 0) != 1 ||
		    work.attempt != attempt || work.data_len != DATA ||
		    memcmp(data, posted, DATA))
			return WRONG;
		if (attempt == 3)
			break;
		(void)FAULTY(attempt, &died, close(s->me));
		s->me = dxk_member_create(s->t.ctx, DXK_MEMBER_WORKER, &s->id);
		if (s->me < 0)
			return WRONG;
	}
	done.ticket = work.ticket;
	if (dxk_next(s->me, &done, 1, NULL, NULL, 0, NULL, 0, 0) ||
	    dxk_rejoin(s->me, OWNER, &result, 1, 1, data, DATA, 0, NULL) != 1 ||
	    result.status || result.attempts != 3 || memcmp(data, "result", 7))
		return WRONG;
	return 0;
}

/* --- all of them ----------------------------------------------------------------- */

/* Nothing is left over in any pool. */
static bool idle(const struct dxt *t)
{
	return !dxt_num(t, "pools/ready_use") && !dxt_num(t, "pools/rejoin_use") &&
	       !dxt_num(t, "pools/thread_busy") && !dxt_num(t, "pools/handle_use") &&
	       !dxt_num(t, "owners");
}

/* 0, the fault, or WRONG; what the call made is gone when it returns. */
static const struct {
	const char *name;
	int (*call)(services *s, unsigned int n, bool *hit);
	unsigned int faults;	/* copies of the argument, at least */
} calls[] = {
	{ "COMMAND_SEND, set", send_set, 5 },
	{ "COMMAND_NEXT, a command", next_gets, 3 },
	{ "COMMAND_NEXT, a reply", next_answers, 5 },
	{ "LOG_FILE, another", log_file_replace, 1 },
	{ "POST, PXR_REDO", redo, 3 },
};

TEST_F(services, each_in_turn)
{
	unsigned int i, n, faults;
	bool hit;
	int rc;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		faults = 0;
		for (hit = true, n = 1; hit && n < NR_MAX; n++) {
			hit = false;
			rc = calls[i].call(self, n, &hit);
			EXPECT_TRUE(rc == 0 || (hit && is_fault(rc)))
				TH_LOG("%s, fault %u: %d", calls[i].name, n, rc);
			EXPECT_TRUE(idle(&self->t))
				TH_LOG("%s, fault %u: left over", calls[i].name, n);
			faults += hit;
		}
		EXPECT_FALSE(hit);
		EXPECT_EQ(0, rc);
		EXPECT_LE(calls[i].faults, faults) TH_LOG("%s", calls[i].name);
	}
	unlink(FILE_);
	unlink(FILE_ "2");
}

/*
 * Stop's report: refused before Stop has begun, or the answer is ETIMEDOUT and the
 * report as long as it could be stored.
 */
TEST_F(services, stop_report)
{
	struct dxk_running r[3];
	struct dxk_work work[2];
	unsigned int n, nr, faults = 0;
	struct dxk_done done;
	int other, rc = 0;
	bool hit = true;

	other = dxk_member_create(self->t.ctx, DXK_MEMBER_WORKER, NULL);
	ASSERT_LE(0, other);
	ASSERT_EQ(1, dxt_post1(self->me, OWNER, 5, 1, 0, 0, NULL));
	ASSERT_EQ(1, dxk_next(self->me, NULL, 0, NULL, &work[0], 1, NULL, 0, 0));
	ASSERT_EQ(1, dxt_post1(self->me, OWNER, 5, 2, 0, 0, NULL));
	ASSERT_EQ(1, dxk_next(other, NULL, 0, NULL, &work[1], 1, NULL, 0, 0));
	for (n = 1; hit && n < NR_MAX; n++) {
		dxt_poison(r, sizeof(r));
		rc = FAULTY(n, &hit, dxk_ctx_stop_report(self->t.ctx, DXK_STOP_DRAIN, 0,
							 r, 3, &nr));
		faults += hit;
		if (is_fault(rc)) {
			EXPECT_TRUE(hit);
			EXPECT_TRUE(dxt_poisoned(r, sizeof(r)));
			EXPECT_EQ(n == 1 ? 0 : 1, dxk_should_stop(self->me, 0));
			continue;
		}
		EXPECT_EQ(-ETIMEDOUT, rc);
		EXPECT_TRUE(nr == 2 || (hit && nr == 0)) TH_LOG("fault %u: %u", n, nr);
		EXPECT_TRUE(dxt_poisoned(&r[2], sizeof(r[2])));
	}
	EXPECT_FALSE(hit);
	EXPECT_LE(4, faults);
	EXPECT_EQ(2, nr);
	EXPECT_EQ(1, r[0].param);
	EXPECT_EQ(2, r[1].param);
	EXPECT_EQ(2, dxt_num(&self->t, "pools/thread_busy"));

	done = (struct dxk_done){ .ticket = work[0].ticket };
	EXPECT_EQ(0, dxk_next(self->me, &done, 1, NULL, NULL, 0, NULL, 0, 0));
	done.ticket = work[1].ticket;
	EXPECT_EQ(0, dxk_next(other, &done, 1, NULL, NULL, 0, NULL, 0, 0));
	EXPECT_TRUE(idle(&self->t));
	EXPECT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_DRAIN, -1));
	close(other);
}

/*
 * DX-9: each allocation of the Monitor fails in turn, up to three times in a row, as it
 * makes slots and workers: it goes on at its next turn, and the crew is complete.
 */
TEST(monitor)
{
	unsigned int n, i, faults = 0;
	bool hit = true;
	struct dxt t;
	int pid;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 1;
	t.policy.monitor_interval_ms = 20;
	ASSERT_EQ(0, dxt_start(&t));
	if (!dxt_faults())
		SKIP(return, "this kernel cannot make allocations and copies fail");
	pid = dxt_kthread(&t, "monitor");
	ASSERT_LT(0, pid);
	for (n = 1; hit && n < NR_MAX; n++) {
		hit = false;
		t.policy.max_threads = 4;
		t.policy.kernel_threads = 3;
		for (i = 0; i < 3; i++) {
			dxt_fail_nth_of(pid, n);
			if (!i)
				ASSERT_EQ(0, dxk_policy_set(t.ctx, &t.policy, NULL));
			ASSERT_TRUE(DXT_UNTIL(&t, dxt_fail_hit_of(pid) ||
						  dxt_num(&t, "pools/thread_use") == 3));
			hit |= dxt_fail_hit_of(pid);
			faults += dxt_fail_hit_of(pid);
		}
		ASSERT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_use") == 3));
		dxt_fail_nth_of(pid, 0);
		EXPECT_TRUE(dxt_exists(&t, "threads/4"));
		t.policy.max_threads = 1;
		t.policy.kernel_threads = 0;
		ASSERT_EQ(0, dxk_policy_set(t.ctx, &t.policy, NULL));
		ASSERT_TRUE(DXT_UNTIL(&t, !dxt_num(&t, "pools/thread_use") &&
					  !dxt_exists(&t, "threads/4")));
	}
	EXPECT_FALSE(hit);
	EXPECT_LE(10, faults);
	dxt_down(&t);
}

TEST_HARNESS_MAIN
