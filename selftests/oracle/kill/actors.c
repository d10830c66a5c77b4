// SPDX-License-Identifier: GPL-2.0-only
/* What survivors and victims of kill.c do: they post, execute and collect. */
#define DXT_NO_HARNESS
#include "kill.h"

#include <poll.h>
#include <sys/syscall.h>

struct shared *all;

static int status_of(uint64_t param)
{
	return (int)(param % 32749) + 1;
}

static void pause_a_little(uint64_t *seed)
{
	uint32_t r = rnd(seed) % 16;

	if (r < 8)
		sched_yield();
	else if (r < 15)
		usleep(rnd(seed) % 1000);
	else
		usleep(rnd(seed) % 8000);
}

/* Requests wait for nobody for ever: a process that dies may hold what they want. */
static void post_and_poll(int member, uint64_t *seed, uint64_t owner)
{
	struct dxk_result r;

	dxt_post1(member, owner, DXT_NOP, 0, PXR_WAITIF_BUSY | PXR_REJOIN,
		  dxt_in(rnd(seed) % (3 * DXT_MS)), NULL);
	dxt_rejoin(member, owner, &r, 1, 1, dxt_in(rnd(seed) % (3 * DXT_MS)), NULL);
}

static int exe_kill(struct dxt_call *call)
{
	struct actor *a = call->worker->priv;
	struct record *rec = &all->record[call->work.param];

	rec->begun++;
	if (call->work.fd >= 0)
		close(call->work.fd);
	else if (call->work.attrs & PXR_FD)
		all->odd++;
	pause_a_little(&a->seed);
	/* children of its own, whom nobody of another owner ever meets */
	if (!(rnd(&a->seed) % 8))
		post_and_poll(call->worker->member, &a->seed, a->owner);
	/* a thread that ends while its process goes on */
	if (a->victim && !(rnd(&a->seed) % 64))
		syscall(SYS_exit, 0);
	rec->ended++;
	return status_of(call->work.param);
}

void *worker_actor(void *arg)
{
	struct actor *a = arg;

	a->worker.priv = a;
	a->worker.ctx = a->t->ctx;
	a->worker.t = a->t;
	a->worker.error = dxt_worker_loop(&a->worker);
	return NULL;
}

static uint32_t random_attrs(struct actor *a)
{
	static const uint32_t lane[] = { 0, 0, PXR_LANE1, PXR_LANE2 };
	uint32_t r = rnd(&a->seed), attrs = lane[r % 4];

	attrs |= r & 0x10 ? PXR_REDO : 0;
	attrs |= r & 0x60 && a->pipe >= 0 ? PXR_FD : 0;
	attrs |= a->nop && !(r & 0x700) ? PXR_KERNEL : 0;
	/* a file in the kernel worker's hands ends with the request */
	return attrs;
}

/* One call with some requests, which are written down first; how many it took. */
static int post_some(struct actor *a, int member, bool rejoin)
{
	unsigned int nr = 1 + rnd(&a->seed) % 4, i;
	uint32_t first = atomic_fetch_add(&all->nr, nr);
	struct dxk_post_entry e[4];
	struct dxk_post post;
	int rc;

	if (first + nr > RECORDS)
		return 0;
	for (i = 0; i < nr; i++) {
		struct record *rec = &all->record[first + i];

		rec->owner = a->owner;
		rec->attrs = random_attrs(a) | (rejoin ? PXR_REJOIN : 0);
		e[i] = dxt_entry(a->owner, rec->attrs & PXR_KERNEL ? a->nop :
				 DXT_FN(exe_kill), first + i,
				 rec->attrs | PXR_WAITIF_BUSY);
		e[i].fd = rec->attrs & PXR_FD ? a->pipe : 0;
		e[i].prio = (int)(rnd(&a->seed) % 8);
	}
	rc = dxt_post(member, e, nr, a->victim && rnd(&a->seed) % 2 ?
		      dxt_in(rnd(&a->seed) % (5 * DXT_MS)) : DXK_FOREVER, &post);
	for (i = 0; i < nr; i++)
		all->record[first + i].state = (int)i < rc ? POSTED : REFUSED;
	return rc;
}

/* The result of one request against what is known of it. */
static bool result_is_right(const struct dxk_result *r, uint32_t owner)
{
	struct record *rec = &all->record[r->param];

	if (r->param >= RECORDS || rec->owner != owner || rec->returned++)
		return false;
	if (!(rec->attrs & PXR_REJOIN) || rec->state == REFUSED)
		return false;
	if (rec->attrs & PXR_KERNEL)
		return !r->status && !rec->begun;
	if (r->status == -EOWNERDEAD)
		return !(rec->attrs & PXR_REDO) ? rec->begun <= 1 && r->attempts == 1 :
						  r->attempts == REDO_MAX;
	if (r->status != status_of(r->param) || r->attempts < rec->begun)
		return false;
	/* an execution that was begun and not ended is one whose worker died */
	return rec->attrs & PXR_REDO ? rec->ended >= 1 && r->attempts <= REDO_MAX :
				       rec->begun == 1 && rec->ended == 1;
}

/* Until none exists: how many came back, or an error. */
int collect(int member, uint32_t owner)
{
	struct dxk_result r[8];
	uint32_t answer = 0;
	int got = 0, rc, i;

	while (answer != RJR_NONE_EXIST) {
		rc = dxt_rejoin(member, owner, r, 8, 1,
				dxt_in((dxt_debug_kernel() ? 100 : 20) * DXT_SEC),
				&answer);
		if (rc < 0)
			return rc;
		if (answer == RJR_NONE_READY)
			return -ETIME;
		for (i = 0; i < rc; i++)
			if (!result_is_right(&r[i], owner))
				all->odd++;
		got += rc;
	}
	return got;
}

/* --- survivors --------------------------------------------------------------- */

/* Every rejoinable request of it comes back, once, whatever becomes of others. */
void *survivor(void *arg)
{
	struct actor *a = arg;
	int fd = dxk_member_create(a->t->ctx, DXK_MEMBER_CLIENT, NULL);

	while (!*a->stop && all->nr < RECORDS - 1000) {
		int want = post_some(a, fd, true);

		if (want < 1 || collect(fd, a->owner) != want)
			all->odd++;
		pause_a_little(&a->seed);
	}
	close(fd);
	return NULL;
}

/* --- victims ----------------------------------------------------------------- */

/* Counts where the victim was last seen before it died: for the log only. */
#define HERE(i_)	(all->reached[i_]++)

/* Posts, and leaves most of what comes back to others. */
static void *victim_client(void *arg)
{
	struct actor *a = arg;
	int fd = dxk_member_create(a->t->ctx, DXK_MEMBER_CLIENT, NULL);
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct dxk_result r;

	for (;;) {
		int rc;

		HERE(0);
		post_some(a, fd, rnd(&a->seed) % 4);
		HERE(1);
		/* one at a time: at most one is on its way when it dies */
		rc = dxt_rejoin(fd, a->owner, &r, 1, 1, rnd(&a->seed) % 3 ? 0 :
				dxt_in(rnd(&a->seed) % (20 * DXT_MS)), NULL);
		if (rc == 1 && !result_is_right(&r, a->owner))
			all->odd++;
		HERE(2);
		if (!(rnd(&a->seed) % 4))
			poll(&pfd, 1, 5);
		if (rc == -ESHUTDOWN)
			pause_a_little(&a->seed);
		if (!(rnd(&a->seed) % 16)) {
			/* it leaves with all that it owns outstanding */
			close(fd);
			fd = dxk_member_create(a->t->ctx, DXK_MEMBER_CLIENT, NULL);
			pfd.fd = fd;
		}
	}
	return NULL;
}

/* A crew of threads at work, until SIGKILL. */
void victim_lives(struct dxt *t, uint64_t seed, uint32_t owner, int pipe, uint64_t nop)
{
	struct actor *a = calloc(2 * VICTIMS, sizeof(*a));
	unsigned int i, clients = 1 + rnd(&seed) % VICTIMS;
	unsigned int workers = 1 + rnd(&seed) % VICTIMS;

	for (i = 0; i < clients + workers; i++) {
		bool client = i < clients;

		a[i] = (struct actor){
			.t = t, .seed = seed + i, .pipe = pipe, .nop = nop,
			/* what workers post besides is an owner of its own */
			.owner = owner + (client ? i : VICTIMS + i - clients),
			.victim = true,
		};
		if (pthread_create(&a[i].thread, NULL,
				   client ? victim_client : worker_actor, &a[i]))
			_exit(1);
	}
	for (;;)
		pause();
}

/*
 * Half of the victims die some time after their birth, which meets their beginnings,
 * the others some time after they were seen at work, however long that took.
 */
void live_and_die(pid_t pid, uint64_t *seed)
{
	unsigned int most = dxt_debug_kernel() ? 200000 : 30000;
	uint32_t turns = all->reached[2];

	if (rnd(seed) % 2) {
		uint64_t end = dxt_in(5 * DXT_SEC);

		while (all->reached[2] == turns && dxt_now() < end)
			usleep(500);
		most /= 2;
	}
	usleep(rnd(seed) % most);
	kill(pid, SIGKILL);
	dxt_reap(pid);
}
