// SPDX-License-Identifier: GPL-2.0-only
/* See dxt.h: workers in threads and processes, gates, executors. */
#define DXT_NO_HARNESS
#include "lib/dxt.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- gates ----------------------------------------------------------------- */

void *dxt_shared(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

struct dxt_gate *dxt_gate_new(void)
{
	return dxt_shared(sizeof(struct dxt_gate));
}

void dxt_gate_free(struct dxt_gate *g)
{
	munmap(g, sizeof(*g));
}

void dxt_gate_open(struct dxt_gate *g)
{
	g->open = 1;
	syscall(SYS_futex, &g->open, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
}

void dxt_gate_close(struct dxt_gate *g)
{
	g->open = 0;
}

void dxt_gate_pass(struct dxt_gate *g, unsigned int worker)
{
	g->last = worker;
	g->entered++;
	while (!g->open)
		syscall(SYS_futex, &g->open, FUTEX_WAIT, 0, NULL, NULL, 0);
	g->left++;
}

/* --- executors ------------------------------------------------------------- */

int dxt_exe_nop(struct dxt_call *call)
{
	(void)call;
	return 0;
}

int dxt_exe_param(struct dxt_call *call)
{
	return (int)call->work.param;
}

int dxt_exe_echo(struct dxt_call *call)
{
	uint32_t room = call->work.result_len;

	call->result_len = call->work.data_len < room ? call->work.data_len : room;
	return 0;
}

int dxt_exe_gate(struct dxt_call *call)
{
	dxt_gate_pass((void *)(uintptr_t)call->work.param, call->worker->id);
	return 0;
}

int dxt_exe_count(struct dxt_call *call)
{
	++*(_Atomic unsigned int *)(uintptr_t)call->work.param;
	return 0;
}

/* --- workers --------------------------------------------------------------- */

/* Only interrupts the sleep of a worker that is to leave. */
static void nudged(int sig)
{
	(void)sig;
}

int dxt_worker_loop(struct dxt_worker *w)
{
	unsigned char data[4096];
	struct dxt_call call = { .worker = w, .data = data };
	struct dxk_done done = { 0 };
	unsigned int id = 0, taken;
	bool has_done = false;
	int fd, rc = 0;

	w->tid = (int)syscall(SYS_gettid);
	fd = dxk_member_create(w->ctx, w->spare ? DXK_MEMBER_SPARE : DXK_MEMBER_WORKER,
			       &id);
	w->id = id;
	w->member = fd;
	w->ready = 1;
	if (fd < 0)
		return fd;

	for (;;) {
		/*
		 * A completion is always brought home. The sleep has no end, so
		 * that a wake-up that the module loses shows as a hang.
		 */
		bool fetch = !w->leave;

		if (!fetch && !has_done)
			break;
		rc = dxk_next(fd, has_done ? &done : NULL, has_done, &taken,
			      fetch ? &call.work : NULL, fetch, fetch ? data : NULL,
			      fetch ? sizeof(data) : 0, -1);
		if (rc >= 0 && taken)
			has_done = false;
		if (rc == -EINTR)
			rc = 0;
		if (rc < 0)
			break;
		if (!rc)
			continue;
		call.result_len = 0;
		done.status = ((dxt_exec_t)(uintptr_t)call.work.executor)(&call);
		done.ticket = call.work.ticket;
		done.data = DXT_PTR(data);
		done.data_len = call.result_len;
		has_done = true;
		w->executed++;
	}
	close(fd);
	return rc;
}

static void *worker_thread(void *arg)
{
	struct dxt_worker *w = arg;

	w->error = dxt_worker_loop(w);
	return NULL;
}

static struct dxt_worker *worker_spawn(struct dxt *t)
{
	static const struct sigaction nudge = { .sa_handler = nudged };
	struct dxt_worker *w = calloc(1, sizeof(*w));

	if (!w)
		abort();
	sigaction(DXT_NUDGE, &nudge, NULL);
	w->t = t;
	w->ctx = t->ctx;
	if (pthread_create(&w->thread, NULL, worker_thread, w)) {
		free(w);
		return NULL;
	}
	while (!w->ready)
		dxt_sleep_ms(1);
	return w;
}

struct dxt_worker *dxt_worker_start(struct dxt *t)
{
	struct dxt_worker *w = worker_spawn(t);

	if (w) {
		w->next = t->workers;
		t->workers = w;
	}
	return w;
}

int dxt_workers_start(struct dxt *t, unsigned int nr)
{
	while (nr--) {
		struct dxt_worker *w = dxt_worker_start(t);

		if (!w)
			return -EAGAIN;
		if (w->member < 0)
			return w->member;
	}
	return 0;
}

int dxt_worker_end(struct dxt_worker *w)
{
	struct dxt_worker **at;
	int error;

	w->leave = 1;
	/* Again and again: one that comes just before the sleep does not end it. */
	while (pthread_tryjoin_np(w->thread, NULL) == EBUSY) {
		pthread_kill(w->thread, DXT_NUDGE);
		dxt_sleep_ms(1);
	}
	for (at = &w->t->workers; *at; at = &(*at)->next)
		if (*at == w) {
			*at = w->next;
			break;
		}
	error = w->error;
	free(w);
	return error;
}

int dxt_worker_ended(struct dxt_worker *w)
{
	DXT_SOON(w->error);
	return dxt_worker_end(w);
}

pid_t dxt_worker_process(struct dxt *t, unsigned int nr)
{
	char ok = 0;
	int pipe_fd[2];
	pid_t pid;

	if (pipe2(pipe_fd, O_CLOEXEC))
		return -errno;
	pid = dxt_fork();
	if (!pid) {
		close(pipe_fd[0]);
		if (t->member >= 0)
			close(t->member);
		t->workers = NULL;
		if (dxt_workers_start(t, nr))
			_exit(1);
		if (write(pipe_fd[1], "1", 1) != 1)
			_exit(1);
		while (t->workers) {
			struct dxt_worker *w = t->workers;

			pthread_join(w->thread, NULL);
			t->workers = w->next;
			free(w);
		}
		_exit(0);
	}
	close(pipe_fd[1]);
	if (pid > 0 && read(pipe_fd[0], &ok, 1) != 1) {
		dxt_reap(pid);
		pid = -ECHILD;
	}
	close(pipe_fd[0]);
	return pid;
}

pid_t dxt_fork(void)
{
	pid_t parent = getpid(), pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
	}
	return pid;
}

int dxt_reap(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

bool dxt_gone(pid_t pid)
{
	siginfo_t info = { 0 };

	return !waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid == pid;
}
