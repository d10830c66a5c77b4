// SPDX-License-Identifier: GPL-2.0-only
/* The cases (calls.h) of a control descriptor and of a context. */
#define DXT_NO_HARNESS
#include "lib/calls/calls.h"

/* --- the control descriptor --------------------------------------------------- */

static const char *end_version(struct env *e, int rc)
{
	return rc || e->arg.version.batch_max == DXK_BATCH_MAX ? NULL : "no version";
}

static const char *set_find(struct env *e)
{
	strcpy(e->arg.executor_find.name, "nop");
	return NULL;
}

static const char *end_find(struct env *e, int rc)
{
	return rc || e->arg.executor_find.id == e->nop ? NULL : "another executor";
}

static const char *set_create(struct env *e)
{
	e->arg.ctx_create.flags = DXK_CTX_CHOWN;
	e->arg.ctx_create.uid = UID;
	e->arg.ctx_create.mode = 0600;
	strcpy(e->arg.ctx_create.name, NAME "2");
	return NULL;
}

static const char *end_create(struct env *e, int rc)
{
	if (!rc && fcntl(e->arg.ctx_create.fd, F_GETFD) != FD_CLOEXEC)
		return "no descriptor";
	if (!rc)
		close(e->arg.ctx_create.fd);
	return NULL;
}

static const char *set_join(struct env *e)
{
	e->arg.ctx_join.access = DXK_ACCESS_WRITE | DXK_ACCESS_EXECUTE;
	e->arg.ctx_join.abi = DXK_ABI_VERSION;
	strcpy(e->arg.ctx_join.name, NAME);
	return NULL;
}

static const char *set_join_shared(struct env *e)
{
	e->arg.ctx_join.access = DXK_ACCESS_READ;
	e->arg.ctx_join.abi = DXK_ABI_VERSION;
	e->arg.ctx_join.flags = DXK_JOIN_SHARED | DXK_JOIN_BY_ID;
	e->arg.ctx_join.id = e->t.id;
	return NULL;
}

static const char *end_join(struct env *e, int rc)
{
	if (!rc && (fcntl(e->arg.ctx_join.fd, F_GETFD) != FD_CLOEXEC ||
		    e->arg.ctx_join.id != e->t.id))
		return "no descriptor";
	if (!rc)
		close(e->arg.ctx_join.fd);
	return NULL;
}

/* --- the context --------------------------------------------------------------- */

static bool other_is(struct env *e, const char *state)
{
	char text[16];

	return dxt_text(&e->other, text, sizeof(text), "state") && !strcmp(text, state);
}

/* A Log Pool of another size is made anew. */
static const char *set_start(struct env *e)
{
	e->other.policy.log_entries = e->other.policy.log_entries == 64 ? 128 : 64;
	return dxk_policy_set(e->other.ctx, &e->other.policy, NULL) ? "a policy" : NULL;
}

/* DX-6: nothing of a Start that failed is left. */
static const char *end_start(struct env *e, int rc)
{
	if (rc)
		return other_is(e, "stopped") && !dxt_num(&e->other, "pools/thread_use") &&
		       !dxt_exists(&e->other, "threads/500") &&
		       !dxt_exists(&e->other, "threads/1") ? NULL : "Start left something";
	if (!other_is(e, "running") || dxt_num(&e->other, "pools/thread_use") != 1 ||
	    !dxt_exists(&e->other, "threads/700"))
		return "it does not run";
	return dxk_ctx_stop(e->other.ctx, DXK_STOP_DRAIN, -1) ? "Stop" : NULL;
}

/* Its first Start: then files come, too. */
static const char *set_first_start(struct env *e)
{
	struct dxk_ctx_create create = { .mode = 0744 };

	close(e->other.ctx);
	e->other.ctx = dxk_ctx_create_as(e->t.ctl, &create);
	e->other.id = create.id;
	return e->other.ctx < 0 || dxk_policy_set(e->other.ctx, &e->other.policy, NULL) ?
	       "a new context" : NULL;
}

static const char *end_first_start(struct env *e, int rc)
{
	static const char *const files[] = { "pools", "lanes", "stats" };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(files); i++)
		if (dxt_exists(&e->other, files[i]) != !rc)
			return files[i];
	if (!rc)
		return end_start(e, 0);
	if (!other_is(e, "new") || dxt_exists(&e->other, "threads/500") ||
	    dxt_exists(&e->other, "threads/1"))
		return "Start left something";
	/* as the other cases find it */
	return dxk_ctx_start(e->other.ctx) ||
	       dxk_ctx_stop(e->other.ctx, DXK_STOP_DRAIN, -1) ? "Start and Stop" : NULL;
}

static const char *set_stop(struct env *e)
{
	e->arg.ctx_stop.mode = DXK_STOP_DRAIN;
	e->arg.ctx_stop.deadline = DXK_FOREVER;
	return dxk_ctx_start(e->other.ctx) ? "Start" : NULL;
}

static const char *end_stop(struct env *e, int rc)
{
	/* Stop may always be called again. */
	if (rc && dxk_ctx_stop(e->other.ctx, DXK_STOP_CANCEL, -1))
		return "a second Stop";
	return other_is(e, "stopped") && !dxt_exists(&e->other, "threads/500") ?
	       NULL : "it is not stopped";
}

/* Two requests execute: Stop reports them. */
static const char *set_report(struct env *e)
{
	struct dxk_work work;
	int i;

	if (dxk_ctx_start(e->other.ctx))
		return "Start";
	e->second = dxk_member_create(e->other.ctx, DXK_MEMBER_WORKER, NULL);
	for (i = 0; i < 2; i++)
		if (dxt_post1(e->second, OWNER, DXT_NOP, (uint64_t)i, 0, 0, NULL) != 1 ||
		    dxk_next(e->second, NULL, 0, NULL, &work, 1, NULL, 0, 0) != 1)
			return "no request to wait for";
	e->arg.ctx_stop.mode = DXK_STOP_DRAIN;
	e->arg.ctx_stop.nr = 2;
	e->arg.ctx_stop.running_size = sizeof(e->running[0]);
	use_buf(e, &e->arg.ctx_stop.running, e->running, sizeof(e->running[0]), true,
		IGNORED, 0);
	return NULL;
}

static const char *end_report(struct env *e, int rc)
{
	const char *why = NULL;

	/* one worker holds both */
	if (rc == -ETIMEDOUT && e->arg.ctx_stop.nr_running &&
	    (e->arg.ctx_stop.nr_running != 1 || e->running[0].param != 1))
		why = "another report";
	close(e->second);
	return dxk_ctx_stop(e->other.ctx, DXK_STOP_CANCEL, -1) ? "a second Stop" : why;
}

static const char *end_policy_get(struct env *e, int rc)
{
	return rc || !memcmp(&e->arg.policy, &e->t.policy, sizeof(e->t.policy)) ?
	       NULL : "another policy";
}

/* Of the context that does not run: it has effect at once. */
static const char *set_policy(struct env *e)
{
	e->arg.policy = e->other.policy;
	e->arg.policy.boost_value = 77;
	return NULL;
}

static const char *end_policy(struct env *e, int rc)
{
	struct dxk_policy now;

	dxk_policy_get(e->other.ctx, &now);
	if (now.boost_value != (rc ? e->other.policy.boost_value : 77))
		return rc ? "a policy that was refused is set" : "it is not set";
	return dxk_policy_set(e->other.ctx, &e->other.policy, NULL) ? "set back" : NULL;
}

static const char *set_policy_bad(struct env *e)
{
	e->arg.policy = e->other.policy;
	e->arg.policy.boost_value = 1 << 20;
	return NULL;
}

static const char *end_policy_bad(struct env *e, int rc)
{
	if (rc == -EINVAL && e->arg.policy.bad_field &&
	    e->arg.policy.bad_field != offsetof(struct dxk_policy, boost_value))
		return "another field";
	return end_policy(e, rc);
}

static const char *set_client(struct env *e)
{
	e->arg.member_create.kind = DXK_MEMBER_CLIENT;
	return NULL;
}

static const char *set_worker(struct env *e)
{
	e->arg.member_create.kind = DXK_MEMBER_WORKER;
	return NULL;
}

static const char *set_spare(struct env *e)
{
	e->arg.member_create.kind = DXK_MEMBER_SPARE;
	return NULL;
}

static const char *end_member(struct env *e, int rc)
{
	static const unsigned int id[] = { 1000, 3, 499 };

	if (rc)
		return NULL;
	if (e->arg.member_create.id != id[e->arg.member_create.kind] ||
	    fcntl(e->arg.member_create.fd, F_GETFD) != FD_CLOEXEC)
		return "another member";
	close(e->arg.member_create.fd);
	return NULL;
}

static const char *end_crew(struct env *e, int rc)
{
	return rc < 0 || (e->arg.crew_wait.workers == 1 && !e->arg.crew_wait.spares) ?
	       NULL : "another crew";
}

static const char *set_samples(struct env *e)
{
	struct dxk_sample s[2];

	if (!DXT_UNTIL(&e->t, dxk_samples_read(e->t.ctx, 0, s, 2) == 2))
		return "no samples";
	e->arg.samples_read.nr = 2;
	e->arg.samples_read.sample_size = sizeof(s[0]);
	use_buf(e, &e->arg.samples_read.samples, e->sample, sizeof(e->sample), true, WHOLE,
		0);
	return NULL;
}

/* Reading takes nothing away: the oldest are the same each time. */
static const char *end_samples(struct env *e, int rc)
{
	struct dxk_sample s[2];

	return rc < 0 || (dxk_samples_read(e->t.ctx, 0, s, 2) == 2 &&
			  !memcmp(s, e->sample, sizeof(s))) ? NULL : "other samples";
}

static const char *set_latencies(struct env *e)
{
	e->arg.latencies_read.nr = DXK_LATENCY_BUCKETS;
	e->arg.latencies_read.latency = DXK_LATENCY_RUN;
	e->arg.latencies_read.lane = 3;
	use_buf(e, &e->arg.latencies_read.counts, e->counts, sizeof(e->counts), true, WHOLE,
		0);
	return NULL;
}

static const char *end_latencies(struct env *e, int rc)
{
	uint64_t counts[DXK_LATENCY_BUCKETS];

	return rc < 0 ||
	       (dxk_latencies_read(e->t.ctx, DXK_LATENCY_RUN, 3, counts,
				   DXK_LATENCY_BUCKETS) == DXK_LATENCY_BUCKETS &&
		!memcmp(counts, e->counts, sizeof(counts))) ? NULL : "other counts";
}

/* Nothing has a worker, so none is told of; then come those that wait. */
static const char *set_requests(struct env *e)
{
	e->arg.requests_read.nr = DXK_BATCH_MAX;
	e->arg.requests_read.request_size = sizeof(e->request[0]);
	e->arg.requests_read.cursor = 1ULL << 32;
	use_buf(e, &e->arg.requests_read.requests, e->request, sizeof(e->request), true, IGNORED,
		0);
	return NULL;
}

static const char *end_requests(struct env *e, int rc)
{
	return rc < 0 || e->arg.requests_read.cursor == 2ULL << 32 ? NULL : "another cursor";
}

static const char *set_handle(struct env *e)
{
	e->arg.handle_open.fd = e->file;
	return NULL;
}

static const char *end_handle(struct env *e, int rc)
{
	return !rc && dxk_handle_close(e->t.ctx, e->arg.handle_open.handle) ?
	       "no handle" : NULL;
}

static const char *set_handle_close(struct env *e)
{
	if (dxk_handle_open(e->t.ctx, e->file, &e->handle))
		return "no handle";
	e->arg.handle_close.handle = e->handle;
	return NULL;
}

static const char *end_handle_close(struct env *e, int rc)
{
	return dxk_handle_close(e->t.ctx, e->handle) == (rc ? 0 : -ENOENT) ?
	       NULL : "the handle";
}

const struct row context_rows[] = {
	ROW("VERSION", VERSION, ON_CONTROL, dxk_version, set_nothing, end_version, 0,
	    -EFAULT),
	ROW("EXECUTOR_FIND", EXECUTOR_FIND, ON_CONTROL | ON_CONTEXT, dxk_executor_find,
	    set_find, end_find, 0, -EFAULT),
	ROW("CTX_CREATE", CTX_CREATE, ON_CONTROL, dxk_ctx_create, set_create, end_create,
	    0, -EFAULT, .heavy = true),
	ROW("CTX_JOIN", CTX_JOIN, ON_CONTROL, dxk_ctx_join, set_join, end_join, 0,
	    -EFAULT),
	ROW("CTX_JOIN shared", CTX_JOIN, ON_CONTROL, dxk_ctx_join, set_join_shared,
	    end_join, 0, -EFAULT),
	ROW("CTX_START", CTX_START, ON_CONTEXT, dxk_ctx_start, set_start, end_start, 0, 0,
	    .heavy = true),
	ROW("CTX_START first", CTX_START, ON_CONTEXT, dxk_ctx_start, set_first_start,
	    end_first_start, 0, 0, .heavy = true),
	ROW("CTX_STOP", CTX_STOP, ON_CONTEXT, dxk_ctx_stop, set_stop, end_stop, 0, 0,
	    .heavy = true),
	ROW("CTX_STOP report", CTX_STOP, ON_CONTEXT, dxk_ctx_stop, set_report, end_report,
	    -ETIMEDOUT, -ETIMEDOUT, .heavy = true),
	ROW("POLICY_SET", POLICY_SET, ON_CONTEXT, dxk_policy, set_policy, end_policy, 0,
	    -EFAULT),
	ROW("POLICY_SET refused", POLICY_SET, ON_CONTEXT, dxk_policy, set_policy_bad,
	    end_policy_bad, -EINVAL, -EFAULT),
	ROW("POLICY_GET", POLICY_GET, ON_CONTEXT, dxk_policy, set_nothing, end_policy_get,
	    0, -EFAULT),
	ROW("MEMBER_CREATE client", MEMBER_CREATE, ON_CONTEXT, dxk_member_create,
	    set_client, end_member, 0, -EFAULT),
	ROW("MEMBER_CREATE worker", MEMBER_CREATE, ON_CONTEXT, dxk_member_create,
	    set_worker, end_member, 0, -EFAULT),
	ROW("MEMBER_CREATE spare", MEMBER_CREATE, ON_CONTEXT, dxk_member_create,
	    set_spare, end_member, 0, -EFAULT),
	ROW("CREW_WAIT", CREW_WAIT, ON_CONTEXT, dxk_crew_wait, set_nothing, end_crew, 1,
	    -EFAULT),
	ROW("SAMPLES_READ", SAMPLES_READ, ON_CONTEXT, dxk_samples_read, set_samples,
	    end_samples, 2, 2),
	ROW("LATENCIES_READ", LATENCIES_READ, ON_CONTEXT, dxk_latencies_read,
	    set_latencies, end_latencies, DXK_LATENCY_BUCKETS, DXK_LATENCY_BUCKETS),
	ROW("REQUESTS_READ", REQUESTS_READ, ON_CONTEXT, dxk_requests_read, set_requests,
	    end_requests, 0, -EFAULT, .heavy = true),
	ROW("HANDLE_OPEN", HANDLE_OPEN, ON_CONTEXT, dxk_handle_open, set_handle,
	    end_handle, 0, -EFAULT),
	ROW("HANDLE_CLOSE", HANDLE_CLOSE, ON_CONTEXT, dxk_handle_close, set_handle_close,
	    end_handle_close, 0, 0),
	{ 0 },
};
