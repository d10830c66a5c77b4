// SPDX-License-Identifier: GPL-2.0-only
/* What all cases (calls.h) share. */
#define DXT_NO_HARNESS
#include "lib/calls/calls.h"

#include <stdlib.h>
#include <sys/syscall.h>

void use_buf(struct env *e, __u64 *where, void *mem, uint32_t len, bool out, int kind,
	     uint32_t unit)
{
	*where = DXT_PTR(mem);
	if (out)
		dxt_poison(mem, len);
	e->buf[e->bufs++] = (struct buf){
		.mem = mem, .where = where, .len = len, .unit = unit, .kind = kind,
		.out = out,
	};
}

const char *set_nothing(struct env *e)
{
	(void)e;
	return NULL;
}

const char *end_nothing(struct env *e, int rc)
{
	(void)e;
	(void)rc;
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
	"pools/thread_spares", "pools/ready_use", "pools/rejoin_use", "pools/wait_use",
	"pools/handle_use",
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

const char *level(struct env *e)
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
	return DXT_SOON(contexts(e) == e->contexts) ? NULL : "the number of contexts";
}

struct row rows[64];
unsigned int nr_rows;

static void __attribute__((constructor)) join_rows(void)
{
	static const struct row *const tables[] = {
		context_rows, log_rows, command_rows, work_rows,
	};
	const struct row *r;
	unsigned int i;

	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (r = tables[i]; r->name; r++)
			rows[nr_rows++] = *r;
}

int row_fd(struct env *e, const struct row *r)
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

const char *prepare(struct env *e, const struct row *r)
{
	memset(&e->arg, 0, sizeof(e->arg));
	e->arg.size = r->size;
	e->bufs = 0;
	return r->set(e);
}

const char *complete(struct env *e)
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

void set_level(struct env *e)
{
	unsigned int i;

	for (i = 0; i < LEVELS; i++)
		e->level[i] = read_level(e, i);
	e->contexts = contexts(e);
	e->free_fd = lowest_free(e);
}

const char *env_up(struct env *e)
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
	e->t.policy.max_waiting = 8;
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
	    dxk_executor_find(e->t.ctl, "nop", &e->nop) ||
	    dxk_executor_find(e->t.ctl, "echo", &e->echo))
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

void env_down(struct env *e)
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
