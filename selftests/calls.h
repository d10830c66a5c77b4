/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A case for every call of uapi/dxk.h, for tests that make each of them fail in each
 * way: the n-th allocation or copy (failnth.c), memory that is not there
 * (usercopy.c).
 *
 * A case prepares the state that its call needs, says which memory the call reads and
 * writes, and afterwards makes sure that the call was made once and takes back what
 * it made. Between two cases the context is as it was when it was made: level().
 */
#ifndef DXK_CALLS_H
#define DXK_CALLS_H

#include "arg.h"
#include "dxk_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OWNER		3
#define DATA		32		/* bytes of data of each request */
#define NAME		"dxk-calls"
#define FILE_		"/tmp/dxk-calls"
#define HOUR_MS		3600000
#define UID		1234
#define BUFS		4

enum { ON_CONTROL = 1, ON_CONTEXT = 2, ON_CLIENT = 4, ON_WORKER = 8 };

/* What of the memory at fault decides the answer. */
enum { WHOLE, ELEMENTS, IGNORED };

/* Memory that a call reads or writes, its argument being one. */
struct buf {
	void *mem;
	__u64 *where;	/* the field that holds its address */
	uint32_t len;
	uint32_t unit;		/* ELEMENTS: bytes of one; those before the fault count */
	int kind;
	bool out;
};

#define LEVELS 13

struct env {
	struct dxt t;			/* running */
	struct dxt other;		/* to be started and stopped */
	int me;				/* a worker of this thread, and command handler */
	unsigned int id;
	int file;			/* a regular file */
	uint64_t nop;			/* a kernel executor */
	uint64_t handle;
	int second;			/* a worker of other */
	union arg arg;
	struct buf buf[BUFS];
	unsigned int bufs;
	/* memory of the calls */
	struct dxk_post_entry entry[2];
	struct dxk_result result[2];
	struct dxk_work work[2];
	struct dxk_done done[2];
	struct dxk_running running[2];
	struct dxk_log_record record[2];
	struct dxk_sample sample[2];
	unsigned char data[2][DATA];
	char text[DXK_COMMAND_MAX];
	char reply[DXK_COMMAND_MAX];
	/* what there was at first */
	int level_fd[LEVELS];
	long long level[LEVELS];
	int dir;
	unsigned int contexts;
	int free_fd;			/* the lowest descriptor that is not in use */
};

struct row {
	const char *name;
	unsigned long cmd;
	unsigned int on;
	uint32_t size;
	/* Prepares the state, fills in arg and buf. 0 or why not. */
	const char *(*set)(struct env *e);
	/* After the call, which gave @rc: checks, takes back. 0 or what is wrong. */
	const char *(*end)(struct env *e, int rc);
	int want;		/* the answer when nothing fails */
	int read_only;		/* the answer with an argument that cannot be written */
	bool heavy;		/* takes long */
	bool fewer;		/* may answer less than wanted when something fails */
};

/* --- helpers ----------------------------------------------------------------- */

static void use_buf(struct env *e, __u64 *where, void *mem, uint32_t len, bool out,
		    int kind, uint32_t unit)
{
	*where = DXT_PTR(mem);
	if (out)
		dxt_poison(mem, len);
	e->buf[e->bufs++] = (struct buf){
		.mem = mem, .where = where, .len = len, .unit = unit, .kind = kind,
		.out = out,
	};
}

static unsigned char pattern(uint64_t param)
{
	return (unsigned char)(param * 16 + 5);
}

/* Two requests with data, the second with a file. */
static int post_two(struct env *e)
{
	unsigned char data[2][DATA];
	struct dxk_post_entry entry[2];
	struct dxk_post post;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		memset(data[i], pattern(i), DATA);
		entry[i] = dxt_entry(OWNER, DXT_NOP, i, PXR_REJOIN | (i ? PXR_FD : 0));
		entry[i].fd = i ? e->file : 0;
		entry[i].data = DXT_PTR(data[i]);
		entry[i].data_len = entry[i].result_len = DATA;
	}
	return dxt_post(e->me, entry, 2, 0, &post) == 2 ? 0 : -EPROTO;
}

/* Fetches and completes @nr; status 100 + param, data inverted. */
static int execute(struct env *e, unsigned int nr)
{
	unsigned char data[DATA];
	struct dxk_work work;
	struct dxk_done done = { .data = DXT_PTR(data), .data_len = DATA };
	unsigned int i, k;
	int rc;

	for (i = 0; i < nr; i++) {
		rc = dxk_next(e->me, NULL, 0, NULL, &work, 1, data, DATA, 0);
		if (rc != 1)
			return rc;
		if (data[0] != pattern(work.param) || memcmp(data, data + 1, DATA - 1))
			return -EPROTO;
		if (work.fd >= 0)
			close(work.fd);
		for (k = 0; k < DATA; k++)
			data[k] = (unsigned char)~data[k];
		done.ticket = work.ticket;
		done.status = 100 + (int)work.param;
		rc = dxk_next(e->me, &done, 1, NULL, NULL, 0, NULL, 0, 0);
		if (rc)
			return rc;
	}
	return 0;
}

static const char *check_result(const struct dxk_result *r, const unsigned char *data,
				unsigned int param)
{
	if (r->param != param || r->status != 100 + (int)param || r->data_len != DATA)
		return "a result is another's";
	if (data[0] != (unsigned char)~pattern(param) ||
	    memcmp(data, data + 1, DATA - 1))
		return "a result's data is not what it was";
	return NULL;
}

/* Executes what is Ready and collects: requests @first..1 are there, each once. */
static const char *settle(struct env *e, unsigned int first)
{
	unsigned char data[DATA];
	struct dxk_result r;
	const char *why;
	uint32_t answer;
	int rc;

	do {
		rc = execute(e, 1);
	} while (!rc);
	if (rc != -ETIMEDOUT)
		return "a request cannot be executed";
	for (; first < 2; first++) {
		if (dxk_rejoin(e->me, OWNER, &r, 1, 1, data, DATA, 0, NULL) != 1)
			return "a request is lost";
		why = check_result(&r, data, first);
		if (why)
			return why;
	}
	if (dxt_rejoin(e->me, OWNER, &r, 1, 1, 0, &answer) || answer != RJR_NONE_EXIST)
		return "a request is there twice";
	return NULL;
}

static unsigned int contexts(struct env *e)
{
	char space[2048];
	unsigned int nr = 0;
	long n, i;

	lseek(e->dir, 0, SEEK_SET);
	while ((n = syscall(SYS_getdents64, e->dir, space, sizeof(space))) > 0)
		for (i = 0; i < n;) {
			struct dirent64 *d = (void *)(space + i);

			nr += d->d_name[0] >= '0' && d->d_name[0] <= '9';
			i += d->d_reclen;
		}
	return nr;
}

static const char *const level_paths[LEVELS] = {
	"owners", "descriptors", "pools/thread_use", "pools/thread_busy",
	"pools/thread_spares", "pools/ready_use", "pools/rejoin_use", "pools/handle_use",
	"lanes/ready_lane3_in_use", "lanes/user_lane3_in_use", "lanes/ready_lane3_waiters",
	"policy/boost_value",
	/* who holds the executors' module: requests that name one */
	"../../../module/dxk_executors/refcnt",
};

static long long read_level(struct env *e, unsigned int i)
{
	char text[32] = "";

	if (pread(e->level_fd[i], text, sizeof(text) - 1, 0) <= 0)
		return -1;
	return strtoll(text, NULL, 10);
}

static int lowest_free(struct env *e)
{
	int fd = fcntl(e->t.ctl, F_DUPFD_CLOEXEC, 0);

	close(fd);
	return fd;
}

/* Is all as at first, and has every request ended once? Else what is not. */
static const char *level(struct env *e)
{
	static char text[100];
	long long now, posts;
	unsigned int i;

	for (i = 0; i < LEVELS; i++) {
		now = read_level(e, i);
		if (now == e->level[i])
			continue;
		snprintf(text, sizeof(text), "%s is %lld, was %lld", level_paths[i], now,
			 e->level[i]);
		return text;
	}
	posts = dxt_num(&e->t, "stats/posts");
	if (posts != dxt_num(&e->t, "stats/collected") + dxt_num(&e->t, "stats/vanished"))
		return "not each request has ended once";
	if (lowest_free(e) != e->free_fd)
		return "a descriptor is left";
	return contexts(e) == e->contexts ? NULL : "the number of contexts";
}

/* --- the control descriptor --------------------------------------------------- */

static const char *set_nothing(struct env *e)
{
	(void)e;
	return NULL;
}

static const char *end_nothing(struct env *e, int rc)
{
	(void)e;
	(void)rc;
	return NULL;
}

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

/* --- the log --------------------------------------------------------------------- */

static int say(struct env *e, unsigned int i)
{
	char text[16];

	return dxk_log_write(e->me, text, (size_t)snprintf(text, sizeof(text), "say %u", i),
			     0, 0);
}

/* Messages @first..@last of this thread are in the log, those of the module beside. */
static const char *hear(struct env *e, unsigned int first, unsigned int last)
{
	struct dxk_log_record r;
	char want[16];

	while (dxk_log_read(e->t.ctx, &r, 1, 0) == 1) {
		if (r.thread != e->id)
			continue;
		snprintf(want, sizeof(want), "say %u", first++);
		if (r.flags || strcmp(r.text, want))
			return "another message";
	}
	return first == last + 1 ? NULL : "a message is lost";
}

static const char *set_log_write(struct env *e)
{
	const char *why = hear(e, 1, 0);

	e->arg.log_write.len = (uint32_t)snprintf(e->text, sizeof(e->text), "say 1");
	use_buf(e, &e->arg.log_write.text, e->text, e->arg.log_write.len, false, WHOLE, 0);
	return why;
}

static const char *end_log_write(struct env *e, int rc)
{
	return hear(e, 1, rc ? 0 : 1);
}

static const char *set_log_read(struct env *e)
{
	const char *why = hear(e, 1, 0);

	if (say(e, 1) || say(e, 2))
		return "no message";
	e->arg.log_read.nr = 2;
	e->arg.log_read.record_size = sizeof(e->record[0]);
	use_buf(e, &e->arg.log_read.records, e->record, sizeof(e->record), true, ELEMENTS,
		sizeof(e->record[0]));
	return why;
}

static const char *end_log_read(struct env *e, int rc)
{
	unsigned int i, nr = rc > 0 ? (unsigned int)rc : 0;
	char want[16];

	for (i = 0; i < nr; i++) {
		snprintf(want, sizeof(want), "say %u", i + 1);
		if (e->record[i].thread != e->id || strcmp(e->record[i].text, want))
			return "another message";
	}
	return hear(e, nr + 1, 2);
}

static const char *set_log_file(struct env *e)
{
	e->arg.log_file.fd = e->file;
	return NULL;
}

static const char *end_log_file(struct env *e, int rc)
{
	struct dxk_log_record r;
	int read = dxk_log_read(e->t.ctx, &r, 1, 0);

	if (rc ? read < 0 : read != -EBUSY)
		return "the log file";
	return dxk_log_file(e->t.ctx, -1) ? "no log file any more" : NULL;
}

/* --- requests ---------------------------------------------------------------------- */

static const char *set_post(struct env *e)
{
	unsigned int i;

	e->arg.post.nr = 2;
	e->arg.post.entry_size = sizeof(e->entry[0]);
	for (i = 0; i < 2; i++) {
		memset(e->data[i], pattern(i), DATA);
		e->entry[i] = dxt_entry(OWNER, DXT_NOP, i, PXR_REJOIN | (i ? PXR_FD : 0));
		e->entry[i].fd = i ? e->file : 0;
		e->entry[i].data_len = e->entry[i].result_len = DATA;
		use_buf(e, &e->entry[i].data, e->data[i], DATA, false, WHOLE, 0);
	}
	use_buf(e, &e->arg.post.entries, e->entry, sizeof(e->entry), false, WHOLE, 0);
	return NULL;
}

static const char *end_post(struct env *e, int rc)
{
	return settle(e, rc == 2 ? 0 : 2);
}

/* By a kernel worker, which answers at once; the file is for nobody. */
static const char *set_post_kernel(struct env *e)
{
	const char *why = set_post(e);

	e->arg.post.nr = 1;
	e->entry[0].attrs |= PXR_KERNEL;
	e->entry[0].executor = e->nop;
	e->entry[0].owner = OWNER + 1;
	e->bufs = 0;
	use_buf(e, &e->entry[0].data, e->data[0], DATA, false, WHOLE, 0);
	use_buf(e, &e->arg.post.entries, e->entry, sizeof(e->entry[0]), false, WHOLE, 0);
	return why;
}

static const char *end_post_kernel(struct env *e, int rc)
{
	return dxt_drain(&e->t, e->me, OWNER + 1) == (rc == 1) ? NULL : "a request";
}

/* The Ready Pool is full: the answer says so. */
static const char *set_post_refused(struct env *e)
{
	if (post_two(e))
		return "no requests";
	e->arg.post.nr = 1;
	e->arg.post.entry_size = sizeof(e->entry[0]);
	e->entry[0] = dxt_entry(OWNER, DXT_NOP, 2, PXR_REJOIN);
	use_buf(e, &e->arg.post.entries, e->entry, sizeof(e->entry[0]), false, WHOLE, 0);
	return NULL;
}

static const char *end_post_refused(struct env *e, int rc)
{
	if (rc == -EAGAIN && e->arg.post.reason && e->arg.post.reason != PXR_POOL_FULL)
		return "another reason";
	return settle(e, 0);
}

static const char *set_rejoin(struct env *e)
{
	if (post_two(e) || execute(e, 2))
		return "no results";
	e->arg.rejoin.owner = OWNER;
	e->arg.rejoin.nr = 2;
	e->arg.rejoin.result_size = sizeof(e->result[0]);
	e->arg.rejoin.data_stride = DATA;
	use_buf(e, &e->arg.rejoin.results, e->result, sizeof(e->result), true, ELEMENTS,
		sizeof(e->result[0]));
	use_buf(e, &e->arg.rejoin.data, e->data, sizeof(e->data), true, ELEMENTS, DATA);
	return NULL;
}

static const char *end_rejoin(struct env *e, int rc)
{
	unsigned int i, nr = rc > 0 ? (unsigned int)rc : 0;
	const char *why;

	for (i = 0; i < nr; i++) {
		why = check_result(&e->result[i], e->data[i], i);
		if (why)
			return why;
	}
	return settle(e, nr);
}

/* The answer is in the argument alone. */
static const char *set_rejoin_none(struct env *e)
{
	e->arg.rejoin.owner = 4711;
	e->arg.rejoin.nr = 1;
	e->arg.rejoin.result_size = sizeof(e->result[0]);
	use_buf(e, &e->arg.rejoin.results, e->result, sizeof(e->result[0]), true, IGNORED,
		0);
	return NULL;
}

static const char *end_rejoin_none(struct env *e, int rc)
{
	return rc || e->arg.rejoin.answer == RJR_NONE_EXIST ? NULL : "an answer";
}

static const char *set_fetch(struct env *e)
{
	if (post_two(e))
		return "no requests";
	e->arg.next.nr_work = 2;
	e->arg.next.work_size = sizeof(e->work[0]);
	e->arg.next.data_stride = DATA;
	use_buf(e, &e->arg.next.work, e->work, sizeof(e->work), true, ELEMENTS,
		sizeof(e->work[0]));
	use_buf(e, &e->arg.next.data, e->data, sizeof(e->data), true, ELEMENTS, DATA);
	return NULL;
}

static const char *end_fetch(struct env *e, int rc)
{
	struct dxk_done done;
	int i, k;

	for (i = 0; i < rc; i++) {
		if (e->work[i].param != (unsigned int)i ||
		    e->data[i][DATA - 1] != pattern((unsigned int)i) ||
		    (i == 1) != (e->work[i].fd >= 0))
			return "another request";
		if (i == 1 && close(e->work[i].fd))
			return "its file";
		for (k = 0; k < DATA; k++)
			e->data[i][k] = (unsigned char)~e->data[i][k];
		done = (struct dxk_done){
			.ticket = e->work[i].ticket, .data = DXT_PTR(e->data[i]),
			.data_len = DATA, .status = 100 + i,
		};
		if (dxk_next(e->me, &done, 1, NULL, NULL, 0, NULL, 0, 0))
			return "a completion";
	}
	return settle(e, 0);
}

static const char *set_complete(struct env *e)
{
	unsigned int i;

	if (post_two(e) || dxk_next(e->me, NULL, 0, NULL, e->work, 2, NULL, 0, 0) != 2)
		return "no work";
	close(e->work[1].fd);
	e->arg.next.nr_done = 2;
	e->arg.next.done_size = sizeof(e->done[0]);
	for (i = 0; i < 2; i++) {
		memset(e->data[i], (unsigned char)~pattern(i), DATA);
		e->done[i] = (struct dxk_done){
			.ticket = e->work[i].ticket, .data_len = DATA,
			.status = 100 + (int)i,
		};
		use_buf(e, &e->done[i].data, e->data[i], DATA, false, WHOLE, 0);
	}
	use_buf(e, &e->arg.next.done, e->done, sizeof(e->done), false, WHOLE, 0);
	return NULL;
}

static const char *end_complete(struct env *e, int rc)
{
	if (rc && (e->done[0].data = DXT_PTR(e->data[0]),
		   e->done[1].data = DXT_PTR(e->data[1]),
		   dxk_next(e->me, e->done, 2, NULL, NULL, 0, NULL, 0, 0)))
		return "a second completion";
	return settle(e, 0);
}

/* --- commands ------------------------------------------------------------------------ */

static int tell(struct env *e, const char *text)
{
	return dxk_command_send(e->t.ctx, text, strlen(text), NULL, 0, NULL, 0);
}

/* The handler gets @want next, NULL is nothing. */
static bool gets(struct env *e, const char *want)
{
	char text[DXK_COMMAND_MAX];
	size_t len;
	int rc = dxk_command_next(e->me, 0, "", 0, text, &len, 0);

	if (!want)
		return rc == -ETIMEDOUT;
	return rc == DXK_COMMAND_TEXT && len == strlen(want) && !memcmp(text, want, len);
}

static const char *set_send(struct env *e)
{
	if (dxk_command_attach(e->me, 1))
		return "no handler";
	e->arg.command_send.text_len = 5;
	memcpy(e->text, "hello", 5);
	use_buf(e, &e->arg.command_send.text, e->text, 5, false, WHOLE, 0);
	return NULL;
}

static const char *end_send(struct env *e, int rc)
{
	if ((!rc && !gets(e, "hello")) || !gets(e, NULL))
		return "the command";
	return dxk_command_attach(e->me, 0) ? "no handler any more" : NULL;
}

/* The context's own, with a reply. */
static const char *set_show(struct env *e)
{
	e->arg.command_send.text_len = 10;
	e->arg.command_send.deadline = DXK_FOREVER;
	e->arg.command_send.reply_room = 20;
	memcpy(e->text, "show lanes", 10);
	use_buf(e, &e->arg.command_send.text, e->text, 10, false, WHOLE, 0);
	use_buf(e, &e->arg.command_send.reply, e->reply, 20, true, WHOLE, 0);
	return NULL;
}

static const char *end_show(struct env *e, int rc)
{
	if (rc)
		return NULL;
	/* its memory may be what fails: then that is its status */
	if (e->arg.command_send.status == -ENOMEM)
		return e->arg.command_send.reply_len ? "a reply of nothing" : NULL;
	if (!e->arg.command_send.status && !memcmp(e->reply, "resource", 8))
		return NULL;
	return "another reply";
}

static const char *set_timed(struct env *e)
{
	e->arg.command_send.text_len = 5;
	e->arg.command_send.at = dxt_in(1000 * DXT_SEC);
	memcpy(e->text, "later", 5);
	use_buf(e, &e->arg.command_send.text, e->text, 5, false, WHOLE, 0);
	return NULL;
}

/* One that was not made, or whose id nobody got, is none. */
static const char *end_timed(struct env *e, int rc)
{
	char reply[DXK_COMMAND_MAX + 1] = "";
	int status;

	if (!rc && dxk_command_cancel(e->t.ctx, (int)e->arg.command_send.id))
		return "no timed command";
	if (dxk_command_send(e->t.ctx, "show commands", 13, reply, sizeof(reply) - 1,
			     &status, -1) < 0 || strstr(reply, "later"))
		return "a timed command is left";
	return NULL;
}

static const char *set_cancel(struct env *e)
{
	int id = dxk_command_schedule(e->t.ctx, "later", 5, dxt_in(1000 * DXT_SEC), 0);

	e->arg.command_send.id = (uint32_t)id;
	e->handle = (uint64_t)id;
	return id > 0 ? NULL : "no timed command";
}

static const char *end_cancel(struct env *e, int rc)
{
	return dxk_command_cancel(e->t.ctx, (int)e->handle) == (rc ? 0 : -ESRCH) ?
	       NULL : "the timed command";
}

static const char *set_attach(struct env *e)
{
	e->arg.command_attach.attach = 1;
	return NULL;
}

static bool handles(struct env *e)
{
	char text[DXK_COMMAND_MAX];
	size_t len;

	return dxk_command_next(e->me, 0, "", 0, text, &len, 0) != -EPERM;
}

static const char *end_attach(struct env *e, int rc)
{
	if (handles(e) != !rc)
		return "the handler";
	return dxk_command_attach(e->me, 0) ? "no handler any more" : NULL;
}

static const char *set_detach(struct env *e)
{
	return dxk_command_attach(e->me, 1) ? "no handler" : NULL;
}

static const char *end_detach(struct env *e, int rc)
{
	if (handles(e) != !!rc)
		return "the handler";
	return dxk_command_attach(e->me, 0) ? "no handler any more" : NULL;
}

/* Owes the answer to "first" and gets "second". */
static const char *set_command(struct env *e)
{
	if (dxk_command_attach(e->me, 1) || tell(e, "first") || tell(e, "second") ||
	    !gets(e, "first"))
		return "no command";
	e->arg.command_next.reply_len = 6;
	e->arg.command_next.text_room = sizeof(e->text);
	memcpy(e->reply, "answer", 6);
	use_buf(e, &e->arg.command_next.reply, e->reply, 6, false, WHOLE, 0);
	use_buf(e, &e->arg.command_next.text, e->text, 6, true, WHOLE, 0);
	return NULL;
}

static const char *end_command(struct env *e, int rc)
{
	if (!rc && (e->arg.command_next.kind != DXK_COMMAND_TEXT ||
		    e->arg.command_next.text_len != 6 || memcmp(e->text, "second", 6)))
		return "another command";
	if ((rc && !gets(e, "second")) || !gets(e, NULL))
		return "the second command";
	return dxk_command_attach(e->me, 0) ? "no handler any more" : NULL;
}

/* --- all of them ---------------------------------------------------------------------- */

#define ROW(_name, _cmd, _on, _type, _set, _end, _want, _ro, ...)		\
	{ .name = _name, .cmd = DXK_IOC_##_cmd, .on = _on,			\
	  .size = sizeof(struct _type), .set = _set, .end = _end,		\
	  .want = _want, .read_only = _ro, ##__VA_ARGS__ }
#define MEMBER	(ON_CLIENT | ON_WORKER)

static const struct row rows[] = {
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
	/* these are for the other context */
	ROW("CTX_START", CTX_START, ON_CONTEXT, dxk_ctx_start, set_start, end_start, 0, 0,
	    .heavy = true),
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
	ROW("LOG_FILE", LOG_FILE, ON_CONTEXT, dxk_log_file, set_log_file, end_log_file, 0,
	    0),
	ROW("LOG_READ", LOG_READ, ON_CONTEXT, dxk_log_read, set_log_read, end_log_read, 2,
	    2, .fewer = true),
	ROW("HANDLE_OPEN", HANDLE_OPEN, ON_CONTEXT, dxk_handle_open, set_handle,
	    end_handle, 0, -EFAULT),
	ROW("HANDLE_CLOSE", HANDLE_CLOSE, ON_CONTEXT, dxk_handle_close, set_handle_close,
	    end_handle_close, 0, 0),
	ROW("COMMAND_SEND", COMMAND_SEND, ON_CONTEXT, dxk_command_send, set_send, end_send,
	    0, -EFAULT),
	ROW("COMMAND_SEND show", COMMAND_SEND, ON_CONTEXT, dxk_command_send, set_show,
	    end_show, 0, -EFAULT),
	ROW("COMMAND_SEND timed", COMMAND_SEND, ON_CONTEXT, dxk_command_send, set_timed,
	    end_timed, 0, -EFAULT),
	ROW("COMMAND_SEND cancel", COMMAND_SEND, ON_CONTEXT, dxk_command_send, set_cancel,
	    end_cancel, 0, 0),

	ROW("POST", POST, MEMBER, dxk_post, set_post, end_post, 2, 2),
	ROW("POST kernel", POST, MEMBER, dxk_post, set_post_kernel, end_post_kernel, 1, 1),
	ROW("POST refused", POST, MEMBER, dxk_post, set_post_refused, end_post_refused,
	    -EAGAIN, -EFAULT),
	ROW("REJOIN", REJOIN, MEMBER, dxk_rejoin, set_rejoin, end_rejoin, 2, 2,
	    .fewer = true),
	ROW("REJOIN none", REJOIN, MEMBER, dxk_rejoin, set_rejoin_none, end_rejoin_none, 0,
	    -EFAULT),
	ROW("NEXT fetch", NEXT, ON_WORKER, dxk_next, set_fetch, end_fetch, 2, 2,
	    .fewer = true),
	ROW("NEXT complete", NEXT, ON_WORKER, dxk_next, set_complete, end_complete, 0, 0),
	ROW("SHOULD_STOP", SHOULD_STOP, MEMBER, dxk_should_stop, set_nothing, end_nothing,
	    0, 0),
	ROW("LOG_WRITE", LOG_WRITE, MEMBER, dxk_log_write, set_log_write, end_log_write, 0,
	    0),
	ROW("COMMAND_ATTACH", COMMAND_ATTACH, MEMBER, dxk_command_attach, set_attach,
	    end_attach, 0, 0),
	ROW("COMMAND_ATTACH off", COMMAND_ATTACH, MEMBER, dxk_command_attach, set_detach,
	    end_detach, 0, 0),
	ROW("COMMAND_NEXT", COMMAND_NEXT, MEMBER, dxk_command_next, set_command,
	    end_command, 0, -EFAULT),
};

#define ROWS	(sizeof(rows) / sizeof(rows[0]))

static int row_fd(struct env *e, const struct row *r)
{
	if (r->on & ON_CONTROL)
		return e->t.ctl;
	if (r->on & MEMBER)
		return e->me;
	switch (r->cmd) {
	case DXK_IOC_CTX_START:
	case DXK_IOC_CTX_STOP:
	case DXK_IOC_POLICY_SET:
		return e->other.ctx;
	default:
		return e->t.ctx;
	}
}

/* All set for the call; or why not. */
static const char *prepare(struct env *e, const struct row *r)
{
	memset(&e->arg, 0, sizeof(e->arg));
	e->arg.size = r->size;
	e->bufs = 0;
	return r->set(e);
}

/* The module's calls, asked from itself: one without a case is none that is tested. */
static const char *complete(struct env *e)
{
	static char text[80];
	const struct { int fd; unsigned int on; } kinds[] = {
		{ e->t.ctl, ON_CONTROL }, { e->t.ctx, ON_CONTEXT },
		{ e->t.member, ON_CLIENT }, { e->me, ON_WORKER },
	};
	unsigned int k, nr, i;

	for (k = 0; k < 4; k++)
		for (nr = 0; nr < 256; nr++) {
			unsigned long cmd = _IO(DXK_IOC_TYPE, nr);
			bool there = dxt_ioctl(kinds[k].fd, cmd, NULL) != -ENOTTY;
			bool named = false;

			for (i = 0; i < ROWS; i++)
				named |= rows[i].cmd == cmd && rows[i].on & kinds[k].on;
			if (there == named)
				continue;
			snprintf(text, sizeof(text), "call 0x%02x of descriptor %u: %s",
				 nr, kinds[k].on, there ? "no case" : "no such call");
			return text;
		}
	return NULL;
}

/* What there is now is how it shall be after each call. */
static void set_level(struct env *e)
{
	unsigned int i;

	for (i = 0; i < LEVELS; i++)
		e->level[i] = read_level(e, i);
	e->contexts = contexts(e);
	e->free_fd = lowest_free(e);
}

static const char *env_up(struct env *e)
{
	struct dxk_ctx_create create = { .mode = 0744, .name = NAME };
	struct dxk_ctx_create other = { .flags = DXK_CTX_CHOWN, .uid = UID, .mode = 0744 };
	unsigned int i;
	char path[100];

	memset(e, 0, sizeof(*e));
	if (dxt_open(&e->t) || dxt_open(&e->other))
		return "no context";
	close(e->t.ctx);
	e->t.ctx = dxk_ctx_create_as(e->t.ctl, &create);
	e->t.id = create.id;
	/* whose files are to be given to somebody */
	close(e->other.ctx);
	e->other.ctx = dxk_ctx_create_as(e->t.ctl, &other);
	e->other.id = other.id;
	e->t.policy.max_threads = 3;
	e->t.policy.kernel_threads = 1;
	e->t.policy.data_size = DATA;
	e->t.policy.ready_entries = 2;
	e->t.policy.max_requests = 64;
	e->t.policy.on_block = DXK_ON_BLOCK_SPARE;
	e->t.policy.sample_entries = 4096;
	e->t.policy.sample_interval_ms = 200;
	e->t.policy.log_full = DXK_LOG_DROP_OLDEST;
	/* neither a tick of the handler nor of the Scheduler comes between */
	e->t.policy.sched_interval_ms = e->t.policy.monitor_interval_ms = HOUR_MS;
	e->other.policy.max_threads = 2;
	e->other.policy.kernel_threads = 1;
	e->other.policy.ready_entries = e->other.policy.max_requests = 64;
	if (dxt_start(&e->t) || dxk_policy_set(e->other.ctx, &e->other.policy, NULL))
		return "Start";
	/* once, so that its state is "stopped" each time */
	if (dxk_ctx_start(e->other.ctx) || dxk_ctx_stop(e->other.ctx, DXK_STOP_DRAIN, -1))
		return "Start and Stop";
	e->me = dxk_member_create(e->t.ctx, DXK_MEMBER_WORKER, &e->id);
	e->file = open(FILE_, O_RDWR | O_APPEND | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (e->me < 0 || e->file < 0 || write(e->file, "x", 1) != 1 ||
	    dxk_executor_find(e->t.ctl, "nop", &e->nop))
		return "a worker, a file, an executor";
	if (!DXT_UNTIL(&e->t, dxt_num(&e->t, "pools/thread_use") == 2))
		return "the kernel worker";
	for (i = 0; i < LEVELS; i++) {
		snprintf(path, sizeof(path), "/sys/kernel/dxk/%u/%s", e->t.id,
			 level_paths[i]);
		e->level_fd[i] = open(path, O_RDONLY | O_CLOEXEC);
		if (e->level_fd[i] < 0)
			return level_paths[i];
	}
	e->dir = open("/sys/kernel/dxk", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	set_level(e);
	return NULL;
}

static void env_down(struct env *e)
{
	unsigned int i;

	for (i = 0; i < LEVELS; i++)
		close(e->level_fd[i]);
	close(e->dir);
	close(e->file);
	close(e->me);
	dxt_down(&e->other);
	dxt_down(&e->t);
	unlink(FILE_);
}

#endif /* DXK_CALLS_H */
