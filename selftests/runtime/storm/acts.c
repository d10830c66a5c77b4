// SPDX-License-Identifier: GPL-2.0-only
/* What each thread of the storm does, one thing after the other, as drawn from its seed. */
#define DXT_NO_HARNESS
#include "runtime/storm/storm.h"

#include "lib/puppet.h"

#include <dirent.h>
#include <fcntl.h>

#define SLOTS	3	/* context descriptors of a process */
#define HELD	4	/* requests that a thread has at a time */
#define DATA	512
#define ALL	(DXK_ACCESS_EXECUTE | DXK_ACCESS_WRITE | DXK_ACCESS_READ | DXK_ACCESS_CONTROL)

struct process {
	struct storm *s;
	int ctl;
	int file;		/* to be handed over */
	uint64_t executor[2];
	_Atomic int ctx[SLOTS];
	_Atomic unsigned int id;
};

struct thread {
	struct process *p;
	uint64_t rnd;
	int member;		/* or -1 */
	struct dxk_work work[HELD];
	unsigned int held;
	unsigned char data[HELD][DATA];
};

const char *const storm_name[ACTS] = {
#define STORM_STRING(_name)	#_name,
	STORM_ACTS(STORM_STRING)
};

static unsigned int draw(struct thread *th, unsigned int n)
{
	return rnd(&th->rnd) % n;
}

/*
 * Of a call: not at all, for a moment, now and then as long as it takes. Who has a request
 * does not: a drain would wait for its end, which is that of its process.
 */
static int64_t timeout(struct thread *th)
{
	unsigned int n = draw(th, 64);

	return n < 2 && !th->held ? -1 : n < 40 ? 0 : (int64_t)draw(th, 20) * DXT_MS;
}

/* One that another thread may close at any time; -1: there is none. */
static int some_ctx(struct thread *th)
{
	return th->p->ctx[draw(th, SLOTS)];
}

static void put_ctx(struct thread *th, int fd)
{
	int old = atomic_exchange(&th->p->ctx[draw(th, SLOTS)], fd);

	if (old >= 0)
		close(old);
}

/* --- contexts -------------------------------------------------------------------- */

static int create(struct thread *th, unsigned int *id)
{
	struct dxk_ctx_create c = { .name = STORM_NAME, .mode = 0777 };
	int fd = dxk_ctx_create_as(th->p->ctl, &c);
	struct dxk_policy p;

	*id = c.id;
	if (fd < 0 || dxk_policy_get(fd, &p))
		return fd;
	p.dispatch = dxt_mode();
	p.max_threads = 8;
	p.kernel_threads = 2;
	p.ready_entries = 32;
	p.monitor_interval_ms = 10;
	dxk_policy_set(fd, &p, NULL);
	dxk_ctx_start(fd);
	return fd;
}

static int act_join(struct thread *th)
{
	unsigned int flags = draw(th, 2) ? DXK_JOIN_SHARED : 0, id;
	int fd = dxk_ctx_join(th->p->ctl, STORM_NAME, ALL, flags, &id);

	if (fd == -EACCES)
		fd = dxk_ctx_join(th->p->ctl, STORM_NAME, ALL & ~DXK_ACCESS_CONTROL, flags, &id);
	if (fd == -ENOENT)
		fd = create(th, &id);
	if (fd < 0)
		return fd;
	th->p->id = id;
	put_ctx(th, fd);
	return 0;
}

static int act_leave(struct thread *th)
{
	put_ctx(th, -1);
	return 0;
}

static int act_start(struct thread *th)
{
	return dxk_ctx_start(some_ctx(th));
}

static int act_stop(struct thread *th)
{
	struct dxk_running r[8];
	unsigned int running;

	if (draw(th, 2))
		return dxk_ctx_stop(some_ctx(th), draw(th, 3), timeout(th));
	return dxk_ctx_stop_report(some_ctx(th), draw(th, 3), timeout(th), r, 8, &running);
}

static int act_policy(struct thread *th)
{
	int ctx = some_ctx(th), rc;
	struct dxk_policy p;

	rc = dxk_policy_get(ctx, &p);
	if (rc)
		return rc;
	switch (draw(th, 5)) {
	case 0:
		p.max_threads = 2 + draw(th, 7);
		p.kernel_threads = draw(th, 3);
		break;
	case 1:
		p.sched_mode = draw(th, 2) ? TPOOL_MODE_CMLS : 0;
		p.lane_pct[draw(th, 3)] = draw(th, 30);
		break;
	case 2:
		p.on_block = draw(th, 3);
		p.rejoin_full = draw(th, 3);
		p.rejoin_entries = 1 + draw(th, 32);
		break;
	case 3:
		p.log_entries = 2U << draw(th, 6);
		p.log_full = draw(th, 3);
		break;
	default:
		p.monitor_interval_ms = 1 + draw(th, 20);
		p.sample_interval_ms = draw(th, 20);
	}
	rc = dxk_policy_set(ctx, &p, NULL);
	return rc == -EINVAL ? -EBUSY : rc;	/* a crew with no place for a lane */
}

/* --- members --------------------------------------------------------------------- */

static int act_member(struct thread *th)
{
	unsigned int i;

	for (i = 0; i < th->held; i++)
		close(th->work[i].fd);
	th->held = 0;
	if (th->member >= 0)
		close(th->member);
	th->member = dxk_member_create(some_ctx(th), th->p->s->calm ? DXK_MEMBER_WORKER :
				       (draw(th, 5) + 1) / 2, NULL);
	return th->member < 0 ? th->member : 0;
}

/* That of the thread, if need be a new one. */
static int member(struct thread *th)
{
	if (th->member < 0)
		act_member(th);
	return th->member;
}

static int act_post(struct thread *th)
{
	static const uint32_t lane[] = { 0, 0, 0, 0, PXR_LANE0, PXR_LANE1, PXR_LANE2 };
	struct dxk_post_entry e[4];
	unsigned int i, nr = 1 + draw(th, 4);

	for (i = 0; i < nr; i++) {
		e[i] = dxt_entry(draw(th, 3), 0, draw(th, 5000),
				 draw(th, 16) & (PXR_WAITIF_BUSY | PXR_REJOIN | PXR_REDO));
		e[i].attrs |= lane[draw(th, ARRAY_SIZE(lane))];
		if (draw(th, 2)) {
			e[i].attrs |= PXR_KERNEL;
			e[i].executor = th->p->executor[draw(th, 2)];
		}
		if (!draw(th, 4)) {
			e[i].attrs |= PXR_FD;
			e[i].fd = th->p->file;
		}
		e[i].data = DXT_PTR(th->data);
		e[i].data_len = e[i].result_len = draw(th, 64);
	}
	return dxk_post(member(th), e, nr, timeout(th), NULL);
}

/* Ends some of what it has, and takes more. */
static int act_next(struct thread *th)
{
	unsigned int nr = draw(th, 2) ? th->held : draw(th, th->held + 1), i, taken = 0;
	struct dxk_done done[HELD] = { { 0 } };
	int rc = 0;

	for (i = 0; i < nr; i++) {
		done[i].ticket = th->work[i].ticket;
		if (th->work[i].fd >= 0)
			close(th->work[i].fd);
		th->work[i].fd = -1;
	}
	if (nr)
		rc = dxk_next(th->member, done, nr, &taken, NULL, 0, NULL, 0, 0);
	if (rc == -ESTALE)
		taken = nr;	/* a drain that was cancelled took it from this worker */
	th->held -= taken;
	memmove(th->work, th->work + taken, th->held * sizeof(th->work[0]));
	if (rc < 0 || th->held == HELD)
		return rc;
	rc = dxk_next(member(th), NULL, 0, NULL, th->work + th->held, HELD - th->held,
		      th->data, DATA, timeout(th));
	if (rc > 0)
		th->held += (unsigned int)rc;
	else if (rc == -ESHUTDOWN)
		act_member(th);
	return rc;
}

static int act_rejoin(struct thread *th)
{
	struct dxk_result r[8];
	unsigned int answer;

	return dxk_rejoin(member(th), draw(th, 3), r, 8, draw(th, 3), NULL, 0, timeout(th),
			  &answer);
}

/* --- services, and those who look on --------------------------------------------- */

static int act_sysfs(struct thread *th)
{
	static const char *const path[] = {
		"state", "descriptors", "threads/1/state", "threads/500/age_ns",
		"stats/posts", "pools/ready_use", "lanes/user_lane3_in_use", "owners",
	};
	const struct dxt t = { .id = th->p->id };
	char text[64];
	DIR *dir;

	if (!draw(th, 8)) {
		snprintf(text, sizeof(text), "/sys/kernel/dxk/%u/threads", t.id);
		dir = opendir(text);
		while (dir && readdir(dir))
			;
		return dir ? closedir(dir) : -ENOENT;
	}
	if (!draw(th, 8))
		return dxt_store(&t, "policy/boost_value", "3");
	return dxt_text(&t, text, sizeof(text), "%s", path[draw(th, ARRAY_SIZE(path))]) ?
	       0 : -ENOENT;
}

static int act_log(struct thread *th)
{
	struct dxk_log_record r[4];

	return draw(th, 2) ? dxk_log_read(some_ctx(th), r, 4, timeout(th)) :
	       dxk_log_write(th->member, "storm", 5, draw(th, 2), timeout(th));
}

static int act_command(struct thread *th)
{
	static const char *const text[] = {
		"show threads", "show owners", "set boost_value 2", "drain", "quit", "x",
	};
	const char *what = text[draw(th, ARRAY_SIZE(text))];
	char reply[256];
	int status;

	return dxk_command_send(some_ctx(th), what, strlen(what), reply, sizeof(reply),
				&status, timeout(th));
}

/* --- all of it ---------------------------------------------------------------------- */

/*
 * Answers of a storm: there is none, one of another kind has its number, it does not run,
 * it is not allowed, there is no room, it is over.
 */
static bool is_answer(int rc)
{
	switch (rc) {
	case -EBADF: case -ENOTTY: case -ENOENT: case -EEXIST: case -ESHUTDOWN:
	case -EBUSY: case -EACCES: case -EPERM: case -EAGAIN: case -ENOSPC: case -ENODEV:
	case -EMFILE: case -EDQUOT: case -EDEADLK: case -ESTALE: case -EINTR:
	case -ETIMEDOUT:
		return true;
	default:
		return rc >= 0;
	}
}

/* The calm behind it: sleeps until somebody ends that. */
static void rest(struct thread *th)
{
	struct storm *s = th->p->s;

	if (act_member(th) < 0) {
		act_join(th);
		dxt_sleep_ms(5);
		return;
	}
	s->asleep++;
	dxk_next(th->member, NULL, 0, NULL, th->work, 1, th->data, DATA, -1);
	s->asleep--;
}

static void *storm_thread(void *arg)
{
	static int (*const act[ACTS])(struct thread *th) = {
#define STORM_ACT(_name)	act_##_name,
		STORM_ACTS(STORM_ACT)
	};
	/* how often, of the sum of all: a run is to last a while */
	static const unsigned int often[ACTS] = {
		[STORM_join] = 5, [STORM_leave] = 4, [STORM_start] = 20, [STORM_stop] = 2,
		[STORM_policy] = 10, [STORM_member] = 10, [STORM_post] = 120,
		[STORM_next] = 120, [STORM_rejoin] = 60, [STORM_sysfs] = 20,
		[STORM_log] = 10, [STORM_command] = 2,
	};
	struct thread *th = arg;
	struct storm *s = th->p->s;
	unsigned int sum = 0, i, n;
	int rc;

	for (i = 0; i < ACTS; i++)
		sum += often[i];
	while (!s->calm) {
		n = draw(th, sum);
		for (i = 0; n >= often[i]; i++)
			n -= often[i];
		rc = act[i](th);
		s->act[i].made++;
		s->act[i].done += rc >= 0;
		if (!is_answer(rc))
			s->act[i].wrong = rc;
		if (rc < 0)		/* not yet: leave the CPU to who makes it so */
			dxt_sleep_ms(draw(th, 3));
	}
	for (;;)
		rest(th);
	return NULL;
}

_Noreturn void storm_process(struct storm *s, uint64_t seed)
{
	static struct process p;
	static struct thread thread[STORM_THREADS];
	pthread_t id;
	int i;

	p.s = s;
	p.ctl = dxk_open();
	p.file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	dxk_executor_find(p.ctl, "nop", &p.executor[0]);
	dxk_executor_find(p.ctl, "sleep", &p.executor[1]);
	for (i = 0; i < SLOTS; i++)
		p.ctx[i] = -1;
	for (i = 0; i < STORM_THREADS; i++) {
		thread[i] = (struct thread){ .p = &p, .member = -1,
					     .rnd = seed + (uint64_t)i * 0x9e3779b97f4a7c15 };
		if (i && pthread_create(&id, NULL, storm_thread, &thread[i]))
			_exit(1);
	}
	storm_thread(&thread[0]);
	_exit(2);
}
