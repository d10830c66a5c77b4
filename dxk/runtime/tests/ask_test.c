// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a module can ask a context, write to its log and wait for; and contexts of programs that
 * a module joins.
 */
#include <linux/cred.h>

#include "engine/keys.h"
#include "runtime/session.h"
#include "runtime/tests/rig.h"
#include "runtime/waiting.h"

static struct dxk_ctx *start(struct kunit *test)
{
	struct dxk_policy p;

	dxk_rig_policy(test, &p, 1);
	p.max_waiting = 4;
	p.sample_interval_ms = 1;
	return dxk_rig_start(test->priv, &p);
}

/* --- the log ---------------------------------------------------------------- */

static int writer(struct dxk_errand *e)
{
	return dxk_client_log(e->rig->m[1], true, DXK_FOREVER, "three");
}

/* DX-97, DX-99, DX-101, DX-102: as a program's member, a client writes to the log */
static void ask_log(struct kunit *test)
{
	struct dxk_log_record *recs = kunit_kcalloc(test, 4, sizeof(*recs), GFP_KERNEL);
	struct dxk_rig *rig = test->priv;
	struct dxk_errand *e;
	struct dxk_policy p;
	struct dxk_ctx *ctx;

	KUNIT_ASSERT_NOT_NULL(test, recs);
	dxk_rig_policy(test, &p, 1);
	p.log_full = DXK_LOG_BLOCK;
	p.log_entries = 2;
	ctx = dxk_rig_start(rig, &p);
	dxk_rig_client(rig, ctx);
	KUNIT_EXPECT_EQ(test, dxk_client_log(rig->m[0], false, 0, "two%200d\n", 2), 0);
	KUNIT_EXPECT_EQ(test, dxk_client_log(rig->m[0], true, dxk_in_ms(5), "late"),
			-ETIMEDOUT);
	/* who does not wait has the oldest one dropped */
	KUNIT_EXPECT_EQ(test, dxk_client_log(rig->m[0], false, 0, "%0*d\n", DXK_LOG_TEXT, 3), 0);
	e = dxk_rig_errand(rig, writer);
	KUNIT_EXPECT_TRUE(test, DXK_SOON(READ_ONCE(rig->m[1]->state) == DXK_M_LOGGING));
	KUNIT_EXPECT_EQ(test, dxk_ctx_log_read(ctx, recs, 2, DXK_FOREVER), 2);
	KUNIT_EXPECT_EQ(test, recs[0].flags, DXK_LOG_GAP);
	KUNIT_EXPECT_EQ(test, recs[0].lost, 1);
	KUNIT_EXPECT_EQ(test, recs[1].len, 203);
	KUNIT_EXPECT_EQ(test, recs[1].thread, rig->m[0]->id);
	dxk_rig_finished(e);
	KUNIT_EXPECT_EQ(test, e->ret, 0);
	KUNIT_EXPECT_EQ(test, dxk_ctx_log_read(ctx, recs, 4, DXK_FOREVER), 2);
	KUNIT_EXPECT_EQ(test, recs[0].flags, DXK_LOG_CUT);
	KUNIT_EXPECT_EQ(test, recs[0].len, DXK_LOG_TEXT - 1);
	KUNIT_EXPECT_STREQ(test, recs[1].text, "three");
	KUNIT_EXPECT_EQ(test, recs[1].thread, rig->m[1]->id);
	KUNIT_EXPECT_EQ(test, dxk_ctx_stop(ctx, DXK_STOP_DRAIN, dxk_in_ms(DXK_RIG_MS)), 0);
	/* synchronous again, without a file (DX-3) */
	KUNIT_EXPECT_EQ(test, dxk_client_log(rig->m[0], true, DXK_FOREVER, "none"), -ENODEV);
}

/* --- looks ------------------------------------------------------------------ */

/* DX-8: the policy in force can be read, and what was set for the next Start */
static void ask_policy(struct kunit *test)
{
	struct dxk_policy p, now;
	struct dxk_ctx *ctx = start(test);

	dxk_ctx_get_policy(ctx, &now);
	KUNIT_EXPECT_EQ(test, now.sample_interval_ms, 1);
	KUNIT_EXPECT_EQ(test, now.kernel_threads, 1);
	KUNIT_EXPECT_EQ(test, dxk_ctx_stop(ctx, DXK_STOP_DRAIN, dxk_in_ms(DXK_RIG_MS)), 0);
	p = now;
	p.ready_entries = 7;
	KUNIT_EXPECT_EQ(test, dxk_ctx_set_policy(ctx, &p), 0);
	dxk_ctx_get_policy(ctx, &now);
	KUNIT_EXPECT_EQ(test, now.ready_entries, 7);
	KUNIT_EXPECT_EQ(test, now.bad_field, 0);
}

/* DX-20, DX-115: counters of a module's own, and names of what it posts for */
static void ask_names(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_key_seen key = { .taken = true, .attrs = PXR_KERNEL };
	struct dxk_ctx *ctx = start(test);
	char name[DXK_NAME_LEN], words[DXK_WAITING_TEXT];
	struct dxk_member *m;

	dxk_rig_client(rig, ctx);
	m = rig->m[0];
	KUNIT_EXPECT_EQ(test, dxk_client_instrument(m, "pages", 5, false), 0);
	KUNIT_EXPECT_EQ(test, dxk_client_instrument(m, "pages", -7, false), 0);
	KUNIT_EXPECT_EQ(test, dxk_client_instrument(m, "runs", 3, true), 0);
	KUNIT_EXPECT_EQ(test, dxk_client_instrument(m, "a b", 1, false), -EINVAL);
	KUNIT_EXPECT_EQ(test, dxk_client_label(m, 8, "disk"), 0);
	KUNIT_EXPECT_EQ(test, dxk_client_label(m, 8, "a b"), -EINVAL);
	KUNIT_EXPECT_STREQ(test, dxk_label_find(&ctx->labels, m->space->id, 8, name), "disk");
	KUNIT_EXPECT_STREQ(test, dxk_label_find(&ctx->labels, m->space->id + 1, 8, name), "");
	KUNIT_EXPECT_EQ(test, dxk_client_label(m, 8, ""), 0);
	KUNIT_EXPECT_STREQ(test, dxk_label_find(&ctx->labels, m->space->id, 8, name), "");
	/* the number of an executor of the kernel may be that of something else as well */
	KUNIT_EXPECT_EQ(test, dxk_client_label(m, rig->exec.id, "disk"), 0);
	key.space = m->space->id;
	key.executor = rig->exec.id;
	dxk_key_text(&ctx->labels, &key, words);
	KUNIT_EXPECT_NOT_NULL(test, strstr(words, " label kunit"));
	KUNIT_EXPECT_EQ(test, ctx->instruments.nr, 2);
	KUNIT_EXPECT_EQ(test, atomic64_read(&ctx->instruments.of[0].value), -2);
	KUNIT_EXPECT_EQ(test, atomic64_read(&ctx->instruments.of[1].value), 3);
}

/* DX-20, DX-115: samples, and how long requests took */
static void ask_samples(struct kunit *test)
{
	u64 *counts = kunit_kcalloc(test, DXK_LATENCY_BUCKETS, sizeof(*counts), GFP_KERNEL);
	struct dxk_rig *rig = test->priv;
	struct dxk_ctx *ctx = start(test);
	struct dxk_sample s[2];
	u32 i, answer;
	u64 nr = 0;

	KUNIT_ASSERT_NOT_NULL(test, counts);
	KUNIT_ASSERT_EQ(test, dxk_rig_post(dxk_rig_job(rig), 1, 0, PXR_REJOIN | PXR_LANE1, NULL),
			1);
	KUNIT_EXPECT_EQ(test, dxk_rig_rejoin(rig, 1, &answer), 1);
	KUNIT_ASSERT_TRUE(test, DXK_SOON(dxk_ctx_read_samples(ctx, 0, s, 2) == 2));
	KUNIT_EXPECT_LT(test, s[0].time_ns, s[1].time_ns);
	KUNIT_EXPECT_EQ(test, s[1].workers, 1);
	KUNIT_EXPECT_EQ(test, dxk_ctx_read_samples(ctx, s[0].time_ns, s, 1), 1);
	KUNIT_EXPECT_EQ(test, s[0].time_ns, s[1].time_ns);
	KUNIT_EXPECT_EQ(test, dxk_ctx_read_samples(ctx, U64_MAX, s, 2), 0);

	KUNIT_EXPECT_EQ(test, dxk_ctx_read_latencies(ctx, DXK_LATENCY_RUN, 1, counts), 0);
	for (i = 0; i < DXK_LATENCY_BUCKETS; i++)
		nr += counts[i];
	KUNIT_EXPECT_EQ(test, nr, 1);
	KUNIT_EXPECT_EQ(test, dxk_ctx_read_latencies(ctx, DXK_LATENCY_WAIT, 3, counts), 0);
	KUNIT_EXPECT_NULL(test, memchr_inv(counts, 0, DXK_LATENCY_BUCKETS * sizeof(*counts)));
	KUNIT_EXPECT_EQ(test, dxk_ctx_read_latencies(ctx, DXK_LATENCY_RUN, 4, counts), -EINVAL);
	KUNIT_EXPECT_EQ(test, dxk_ctx_read_latencies(ctx, DXK_LATENCY_RUN + 1, 0, counts), -EINVAL);
}

/* DX-114: what a Stop still waits for */
static void ask_running(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_running r[2] = { };
	struct dxk_ctx *ctx = start(test);
	struct dxk_job *job = dxk_rig_gate(rig, 77, PXR_LANE2);

	KUNIT_EXPECT_EQ(test, dxk_ctx_stop(ctx, DXK_STOP_DRAIN, dxk_in_ms(20)), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, dxk_ctx_read_running(ctx, r, 2), 1);
	KUNIT_EXPECT_EQ(test, r[0].thread, 1);
	KUNIT_EXPECT_EQ(test, r[0].owner, 77);
	KUNIT_EXPECT_EQ(test, r[0].executor, rig->exec.id);
	KUNIT_EXPECT_EQ(test, r[0].param, (uintptr_t)job);
	KUNIT_EXPECT_EQ(test, r[0].attrs, PXR_KERNEL | PXR_LANE2);
	KUNIT_EXPECT_EQ(test, r[1].executor, 0);
	KUNIT_EXPECT_EQ(test, dxk_ctx_read_running(ctx, NULL, 0), 1);
	complete(&job->leave);
	KUNIT_EXPECT_EQ(test, dxk_ctx_stop(ctx, DXK_STOP_DRAIN, dxk_in_ms(DXK_RIG_MS)), 0);
	KUNIT_EXPECT_EQ(test, dxk_ctx_read_running(ctx, r, 2), 0);
}

/* DX-34: where each live request is */
static void ask_requests(struct kunit *test)
{
	struct dxk_request_info *seen = kunit_kcalloc(test, DXK_BATCH_MAX, sizeof(*seen),
						      GFP_KERNEL);
	u32 states[DXK_REQUEST_WAIT + 1] = { };
	struct dxk_rig *rig = test->priv;
	struct dxk_ctx *ctx = start(test);
	struct dxk_job *job = dxk_rig_gate(rig, 1, 0);
	struct dxk_request req;
	u64 cursor = 0, wrong;
	int i, n;

	KUNIT_ASSERT_NOT_NULL(test, seen);
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, dxk_rig_post(dxk_rig_job(rig), 2, i, 0, NULL), 1);
	req = dxk_rig_request(dxk_rig_job(rig), 3, 0, PXR_NAMED | PXR_WAIT);
	req.name = 9;
	req.wait.wait = DXK_WAIT_CALL;
	KUNIT_ASSERT_EQ(test, dxk_post(rig->m[0], &req, 1, 0, NULL), 1);
	while (cursor != DXK_REQUESTS_END) {
		n = dxk_ctx_read_requests(ctx, &cursor, seen);
		KUNIT_ASSERT_GE(test, n, 0);
		for (i = 0; i < n; i++) {
			u32 state = seen[i].state;

			KUNIT_ASSERT_LE(test, state, DXK_REQUEST_WAIT);
			states[state]++;
			KUNIT_EXPECT_EQ(test, seen[i].owner, state == DXK_REQUEST_WORK ? 1 :
					state == DXK_REQUEST_READY ? 2 : 3);
			KUNIT_EXPECT_EQ(test, seen[i].executor, rig->exec.id);
		}
	}
	KUNIT_EXPECT_EQ(test, states[DXK_REQUEST_WORK], 1);
	KUNIT_EXPECT_EQ(test, states[DXK_REQUEST_READY], 3);
	KUNIT_EXPECT_EQ(test, states[DXK_REQUEST_WAIT], 1);
	wrong = DXK_REQUESTS_END;
	KUNIT_EXPECT_EQ(test, dxk_ctx_read_requests(ctx, &wrong, seen), -EINVAL);
	wrong = 1ULL << 32 | 1;
	KUNIT_EXPECT_EQ(test, dxk_ctx_read_requests(ctx, &wrong, seen), -EINVAL);
	complete(&job->leave);
}

/* --- waits ------------------------------------------------------------------ */

static int until_stop(struct dxk_errand *e)
{
	return dxk_client_wait_stop(e->rig->m[1], DXK_FOREVER);
}

/* DX-109: a thread that serves a context, but is no worker, is woken by Stop */
static void ask_stop(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_ctx *ctx = start(test);
	struct dxk_errand *e;

	dxk_rig_client(rig, ctx);
	KUNIT_EXPECT_EQ(test, dxk_client_wait_stop(rig->m[0], 0), 0);
	KUNIT_EXPECT_EQ(test, dxk_client_wait_stop(rig->m[0], dxk_in_ms(2)), 0);
	e = dxk_rig_errand(rig, until_stop);
	msleep(20);
	KUNIT_EXPECT_FALSE(test, completion_done(&e->done));
	KUNIT_EXPECT_EQ(test, dxk_ctx_stop(ctx, DXK_STOP_DRAIN, dxk_in_ms(DXK_RIG_MS)), 0);
	dxk_rig_finished(e);
	KUNIT_EXPECT_EQ(test, e->ret, 1);
	KUNIT_EXPECT_EQ(test, dxk_client_wait_stop(rig->m[0], DXK_FOREVER), 1);
}

/* DX-25: who replaces workers of a program is told that one is missing */
static void ask_crew(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	u32 workers = 0, spares = 0;
	struct dxk_policy p;
	struct dxk_ctx *ctx = dxk_rig_create(rig);

	KUNIT_EXPECT_EQ(test, dxk_ctx_wait_crew(ctx, 0, &workers, &spares), -ESHUTDOWN);
	dxk_rig_policy(test, &p, 1);
	p.max_threads = 2;
	ctx = dxk_rig_start(rig, &p);
	KUNIT_EXPECT_EQ(test, dxk_ctx_wait_crew(ctx, DXK_FOREVER, &workers, &spares), 1);
	KUNIT_EXPECT_EQ(test, workers, 1);
	KUNIT_EXPECT_EQ(test, spares, 0);
	dxk_rig_join(rig, ctx);
	KUNIT_EXPECT_EQ(test, dxk_ctx_wait_crew(ctx, dxk_in_ms(5), &workers, &spares), 0);
	dxk_client_destroy(rig->m[--rig->nr_m]);
	KUNIT_EXPECT_EQ(test, dxk_ctx_wait_crew(ctx, DXK_FOREVER, &workers, &spares), 1);
}

/* --- contexts of programs --------------------------------------------------- */

#define NAME	"dxk-kunit"

static struct dxk_session *join(u32 access, u32 flags)
{
	struct dxk_ctx_join a = {
		.flags = flags, .access = access, .abi = DXK_ABI_VERSION, .name = NAME,
	};

	return dxk_ctx_join(&a);
}

/* As any user: reading is all that the mode gives. */
static int join_as_other(u32 access)
{
	const struct cred *old;
	struct cred *other = prepare_creds();
	struct dxk_session *s;

	if (!other)
		return -ENOMEM;
	other->uid = KUIDT_INIT(1234);
	other->fsuid = other->uid;
	other->fsgid = KGIDT_INIT(1234);
	cap_clear(other->cap_effective);
	old = override_creds(other);
	s = join(access, 0);
	revert_creds(old);
	put_cred(other);
	if (IS_ERR(s))
		return PTR_ERR(s);
	dxk_session_close(s);
	return 0;
}

static void joins_by_rights(struct kunit *test)
{
	struct dxk_ctx_join a = { .access = DXK_ACCESS_READ, .name = NAME };

	KUNIT_EXPECT_PTR_EQ(test, dxk_ctx_join(&a), ERR_PTR(-EPROTONOSUPPORT));
	a.abi = DXK_ABI_VERSION;
	a.access = 0;
	KUNIT_EXPECT_PTR_EQ(test, dxk_ctx_join(&a), ERR_PTR(-EINVAL));
	a.access = 1U << 31;
	KUNIT_EXPECT_PTR_EQ(test, dxk_ctx_join(&a), ERR_PTR(-EOPNOTSUPP));
	a.access = DXK_ACCESS_READ;
	a.flags = DXK_JOIN_OWNER;
	a.uid = 1234;
	KUNIT_EXPECT_PTR_EQ(test, dxk_ctx_join(&a), ERR_PTR(-EPERM));
	KUNIT_EXPECT_EQ(test, join_as_other(DXK_ACCESS_READ), 0);
	KUNIT_EXPECT_EQ(test, join_as_other(DXK_ACCESS_WRITE), -EACCES);
	KUNIT_EXPECT_EQ(test, join_as_other(DXK_ACCESS_READ | DXK_ACCESS_CONTROL), -EACCES);
}

/* Post and collect as a client of a session does. Return: the status. */
static int visit(struct dxk_rig *rig, struct dxk_session *s)
{
	struct dxk_member *m = dxk_session_client(s);
	struct dxk_job *job = dxk_rig_job(rig);
	struct dxk_request req = dxk_rig_request(job, 5, 0, PXR_REJOIN);
	struct dxk_answer a = { };
	u32 answer;
	int n;

	if (IS_ERR(m))
		return PTR_ERR(m);
	job->status = 42;
	n = dxk_post(m, &req, 1, 0, NULL);
	if (n == 1)
		n = dxk_rejoin(m, 5, &a, 1, 1, dxk_in_ms(DXK_RIG_MS), &answer);
	dxk_client_destroy(m);
	return n == 1 ? a.status : n;
}

static int run(struct kunit *test, struct dxk_session *maker)
{
	struct dxk_ctx *ctx = dxk_session_ctx(maker, DXK_ACCESS_CONTROL);
	struct dxk_policy p;

	dxk_rig_policy(test, &p, 1);
	return dxk_ctx_set_policy(ctx, &p) ?: dxk_ctx_start(ctx);
}

/* DX-7, DX-113: a context that a program made, which lives as long as somebody has it */
static void ask_join(struct kunit *test)
{
	const struct dxk_ctx_create c = { .mode = 0704, .name = NAME };
	struct dxk_rig *rig = test->priv;
	struct dxk_session *maker, *s, *reader;

	KUNIT_EXPECT_PTR_EQ(test, join(DXK_ACCESS_READ, 0), ERR_PTR(-ENOENT));
	maker = dxk_session_create(&c, current_cred());
	KUNIT_ASSERT_FALSE(test, IS_ERR(maker));
	KUNIT_EXPECT_EQ(test, run(test, maker), 0);
	joins_by_rights(test);
	reader = join(DXK_ACCESS_READ, 0);
	s = join(DXK_ACCESS_READ | DXK_ACCESS_WRITE, 0);
	dxk_session_close(maker);
	KUNIT_ASSERT_FALSE(test, IS_ERR(reader) || IS_ERR(s));
	KUNIT_EXPECT_EQ(test, visit(rig, s), 42);
	KUNIT_EXPECT_EQ(test, visit(rig, reader), -EACCES);
	KUNIT_EXPECT_PTR_EQ(test, dxk_session_ctx(s, DXK_ACCESS_CONTROL), ERR_PTR(-EACCES));
	KUNIT_EXPECT_PTR_EQ(test, dxk_session_ctx(s, DXK_ACCESS_READ), s->ctx);
	dxk_session_close(reader);
	dxk_session_close(s);
	KUNIT_EXPECT_PTR_EQ(test, join(DXK_ACCESS_READ, 0), ERR_PTR(-ENOENT));
}

KUNIT_ARRAY_PARAM(mode, dxk_rig_modes, dxk_rig_mode_name);

static struct kunit_case ask_cases[] = {
	KUNIT_CASE(ask_log),
	KUNIT_CASE(ask_policy),
	KUNIT_CASE(ask_names),
	KUNIT_CASE(ask_samples),
	KUNIT_CASE_PARAM(ask_running, mode_gen_params),
	KUNIT_CASE_PARAM(ask_requests, mode_gen_params),
	KUNIT_CASE(ask_stop),
	KUNIT_CASE(ask_crew),
	KUNIT_CASE_PARAM(ask_join, mode_gen_params),
	{ }
};

static struct kunit_suite ask_suite = {
	.name = "dxk_ask",
	.init = dxk_rig_init,
	.exit = dxk_rig_exit,
	.test_cases = ask_cases,
};

kunit_test_suite(ask_suite);
