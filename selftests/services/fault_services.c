// SPDX-License-Identifier: GPL-2.0-only
/*
 * As fault.c, for what goes beside posting and collecting: commands (their calls are
 * in fault_services/command.c), the log (fault_services/log.c), the Handle Table,
 * samples, Stop's report, requests that are run again. On the debug kernel each
 * allocation and each copy of a call fails in turn; every command, message and handle
 * is there once or, if the call says so, not at all.
 */
#include "fault_services/fault_services.h"

FIXTURE(services) {
	services s;
};

FIXTURE_SETUP(services)
{
	ASSERT_EQ(0, dxt_open(&self->s.t));
	self->s.t.policy.max_threads = 2;
	self->s.t.policy.data_size = DATA;
	self->s.t.policy.redo_max = 1000;
	self->s.t.policy.sched_interval_ms = 3600000;
	/* no tick comes between */
	self->s.t.policy.monitor_interval_ms = 3600000;
	self->s.t.policy.sample_interval_ms = 10;
	self->s.t.policy.sample_entries = 4096;
	ASSERT_EQ(0, dxt_start(&self->s.t));
	self->s.me = dxk_member_create(self->s.t.ctx, DXK_MEMBER_WORKER, &self->s.id);
	ASSERT_LE(0, self->s.me);
	if (!dxt_faults())
		SKIP(return, "this kernel cannot make allocations and copies fail");
}

FIXTURE_TEARDOWN(services)
{
	if (self->s.me >= 0)
		close(self->s.me);
	dxt_down(&self->s.t);
}

/* Nothing is left over in any pool. */
static bool idle(const struct dxt *t)
{
	return !dxt_num(t, "pools/ready_use") && !dxt_num(t, "pools/rejoin_use") &&
	       !dxt_num(t, "pools/thread_busy") && !dxt_num(t, "pools/handle_use") &&
	       !dxt_num(t, "owners");
}

/* --- handles, samples, should_stop --------------------------------------------- */

static int open_file(void)
{
	return open(FILE_, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

static int handle_open(services *s, unsigned int n, bool *hit)
{
	uint64_t handle = 0;
	int fd = open_file();
	int rc = FAULTY(n, hit, dxk_handle_open(s->t.ctx, fd, &handle));

	close(fd);
	if (dxt_num(&s->t, "pools/handle_use") != !rc)
		return WRONG;
	return !rc && dxk_handle_close(s->t.ctx, handle) ? WRONG : rc;
}

static int handle_close(services *s, unsigned int n, bool *hit)
{
	int rc, fd = open_file();
	uint64_t handle;

	rc = dxk_handle_open(s->t.ctx, fd, &handle);
	close(fd);
	if (rc)
		return WRONG;
	rc = FAULTY(n, hit, dxk_handle_close(s->t.ctx, handle));
	if (dxk_handle_close(s->t.ctx, handle) != (rc ? 0 : -ENOENT))
		return WRONG;
	return rc;
}

/* Reading takes nothing away: the oldest is the same each time. */
static int samples_read(services *s, unsigned int n, bool *hit)
{
	struct dxk_sample a[2], b[2];
	int rc;

	if (!DXT_UNTIL(&s->t, dxk_samples_read(s->t.ctx, 0, a, 2) == 2))
		return WRONG;
	rc = FAULTY(n, hit, dxk_samples_read(s->t.ctx, 0, b, 2));
	if (rc == 2)
		return memcmp(a, b, sizeof(a)) ? WRONG : 0;
	return rc;
}

static int latencies_read(services *s, unsigned int n, bool *hit)
{
	uint64_t a[DXK_LATENCY_BUCKETS], b[DXK_LATENCY_BUCKETS];
	int rc = FAULTY(n, hit, dxk_latencies_read(s->t.ctx, DXK_LATENCY_RUN, 3, a,
						   DXK_LATENCY_BUCKETS));

	if (rc != DXK_LATENCY_BUCKETS)
		return rc;
	return dxk_latencies_read(s->t.ctx, DXK_LATENCY_RUN, 3, b, DXK_LATENCY_BUCKETS) !=
	       rc || memcmp(a, b, sizeof(a)) ? WRONG : 0;
}

static int should_stop(services *s, unsigned int n, bool *hit)
{
	return FAULTY(n, hit, dxk_should_stop(s->me, 0));
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

/* 0, the fault, or WRONG; what the call made is gone when it returns. */
static const struct {
	const char *name;
	int (*call)(services *s, unsigned int n, bool *hit);
	unsigned int faults;	/* copies of the argument, at least */
} calls[] = {
	{ "COMMAND_SEND, plain", send_plain, 3 },
	{ "COMMAND_SEND, set", send_set, 5 },
	{ "COMMAND_SEND, show", send_show, 7 },
	{ "COMMAND_SEND, timed", send_timed, 4 },
	{ "COMMAND_ATTACH 1", attach, 1 },
	{ "COMMAND_ATTACH 0", detach, 1 },
	{ "COMMAND_NEXT, a command", next_gets, 3 },
	{ "COMMAND_NEXT, a reply", next_answers, 5 },
	{ "LOG_WRITE", log_write, 2 },
	{ "LOG_READ", log_read, 4 },
	{ "LOG_FILE, first", log_file_set, 1 },
	{ "LOG_FILE, another", log_file_replace, 1 },
	{ "HANDLE_OPEN", handle_open, 3 },
	{ "HANDLE_CLOSE", handle_close, 1 },
	{ "SAMPLES_READ", samples_read, 3 },
	{ "LATENCIES_READ", latencies_read, 2 },
	{ "SHOULD_STOP", should_stop, 1 },
	{ "POST, PXR_REDO", redo, 3 },
};

TEST_F(services, each_in_turn)
{
	unsigned int i, n, faults;
	bool hit;
	int rc;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		faults = 0;
		for (hit = true, n = 1; hit && n < NR_MAX; n++) {
			hit = false;
			rc = calls[i].call(&self->s, n, &hit);
			EXPECT_TRUE(rc == 0 || (hit && is_fault(rc)))
				TH_LOG("%s, fault %u: %d", calls[i].name, n, rc);
			EXPECT_TRUE(idle(&self->s.t))
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

	other = dxk_member_create(self->s.t.ctx, DXK_MEMBER_WORKER, NULL);
	ASSERT_LE(0, other);
	ASSERT_EQ(1, dxt_post1(self->s.me, OWNER, 5, 1, 0, 0, NULL));
	ASSERT_EQ(1, dxk_next(self->s.me, NULL, 0, NULL, &work[0], 1, NULL, 0, 0));
	ASSERT_EQ(1, dxt_post1(self->s.me, OWNER, 5, 2, 0, 0, NULL));
	ASSERT_EQ(1, dxk_next(other, NULL, 0, NULL, &work[1], 1, NULL, 0, 0));
	for (n = 1; hit && n < NR_MAX; n++) {
		dxt_poison(r, sizeof(r));
		rc = FAULTY(n, &hit, dxk_ctx_stop_report(self->s.t.ctx, DXK_STOP_DRAIN, 0,
							 r, 3, &nr));
		faults += hit;
		if (is_fault(rc)) {
			EXPECT_TRUE(hit);
			EXPECT_TRUE(dxt_poisoned(r, sizeof(r)));
			EXPECT_EQ(n == 1 ? 0 : 1, dxk_should_stop(self->s.me, 0));
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
	EXPECT_EQ(2, dxt_num(&self->s.t, "pools/thread_busy"));

	done = (struct dxk_done){ .ticket = work[0].ticket };
	EXPECT_EQ(0, dxk_next(self->s.me, &done, 1, NULL, NULL, 0, NULL, 0, 0));
	done.ticket = work[1].ticket;
	EXPECT_EQ(0, dxk_next(other, &done, 1, NULL, NULL, 0, NULL, 0, 0));
	EXPECT_TRUE(idle(&self->s.t));
	EXPECT_EQ(0, dxk_ctx_stop(self->s.t.ctx, DXK_STOP_DRAIN, -1));
	close(other);
}

TEST_HARNESS_MAIN
