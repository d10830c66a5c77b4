// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * dxserve: a service of worker processes that any number of dxcall clients use.
 *
 * The context has a name. The supervisor makes it, or joins it when it is there: then
 * an earlier supervisor died, its workers and clients live on, and this one takes
 * over. It starts a worker process for each free place, in the beginning and whenever
 * a worker has died.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <dxk.h>

#include "dxserve.h"
#include "service.h"

#define GRACE_NS	10000000000	/* for what executes when it is told to end */
#define LOOK_NS		500000000	/* between two looks whether it is told to */
#define RETRY_NS	100000000	/* after a worker that did not come, first ... */
#define RETRY_MAX_NS	10000000000	/* ... and later */
#define CONTROL		(DXK_ACCESS_CONTROL | DXK_ACCESS_EXECUTE | DXK_ACCESS_READ)

static const char usage[] =
"Usage: dxserve [OPTION]...\n"
"Serve dxcall: a pool of worker processes behind the context NAME.\n"
"\n"
"  -n NAME     the context's name (" SERVICE_NAME ")\n"
"  -w N        worker processes (one for each CPU)\n"
"  -m MODE     permissions in octal: w may call, x may be a worker, the owner always\n"
"              may (0600)\n"
"  -g GROUP    the context's group\n"
"  -d D        direct or thread: who makes the moves (direct)\n"
"  -h, --help  print this\n"
"\n"
"SIGTERM and SIGINT finish what was accepted and end it.\n";

static volatile sig_atomic_t told;

static void tell(int sig)
{
	(void)sig;
	told = 1;
}

static _Noreturn void die(const char *what, int rc, const char *advice)
{
	fprintf(stderr, "dxserve: %s: %s%s%s\n", what, strerror(-rc), *advice ? "; " : "",
		advice);
	exit(1);
}

static void misuse(void)
{
	fputs(usage, stderr);
	exit(2);
}

static unsigned long number(const char *text, int base, unsigned long min,
			    unsigned long max)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(text, &end, base);
	if (errno || end == text || *end || n < min || n > max)
		misuse();
	return n;
}

/* --- the context ------------------------------------------------------------- */

/* Return: 0 when it runs for us, else why not; -EBUSY: it runs, or stops. */
static int start(int ctx, unsigned int workers, unsigned int dispatch)
{
	struct dxk_policy p;
	int rc = dxk_policy_get(ctx, &p);

	if (rc)
		return rc;
	p.max_threads = workers;
	p.kernel_threads = 0;
	p.dispatch = dispatch;
	p.shutdown = DXK_STOP_DRAIN;
	/* A file that kills its worker each time has to end some time. */
	p.redo_max = 3;
	rc = dxk_policy_set(ctx, &p, NULL);
	return rc ? rc : dxk_ctx_start(ctx);
}

/* The earlier supervisor's policy goes on, but for what can change while it runs. */
static int take_over(int ctx, unsigned int workers, unsigned int dispatch)
{
	struct dxk_policy p;
	int rc = dxk_policy_get(ctx, &p);

	if (rc)
		return rc;
	if (p.dispatch != dispatch)
		fprintf(stderr, "dxserve: -d: it runs with the other one, which stays\n");
	p.max_threads = workers;
	return dxk_policy_set(ctx, &p, NULL);
}

static bool is_running(unsigned int id)
{
	char state[16] = "", path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/dxk/%u/state", id);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(state, sizeof(state), f))
		*state = '\0';
	fclose(f);
	return !strcmp(state, "running\n");
}

static void doze(int64_t ns)
{
	struct timespec ts = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	nanosleep(&ts, NULL);
}

/*
 * Takes over a context that is there, as soon as it runs, or starts it again when it does
 * not: the earlier supervisor may be at its end.
 */
static int resume(int ctx, unsigned int id, const char *name, unsigned int workers,
		  unsigned int dispatch)
{
	bool waits = false;
	int rc;

	for (;;) {
		if (is_running(id)) {
			fprintf(stderr, "dxserve: %s is there: taking over\n", name);
			return take_over(ctx, workers, dispatch);
		}
		rc = start(ctx, workers, dispatch);
		if (rc != -EBUSY || told)
			return rc;
		if (!waits)
			fprintf(stderr, "dxserve: %s is there: waiting for its end\n", name);
		waits = true;
		doze(RETRY_NS);
	}
}

/* Makes the context, or takes over one that is there. */
static int enter(int ctl, const struct dxk_ctx_create *wanted, unsigned int workers,
		 unsigned int dispatch)
{
	struct dxk_ctx_join join = {
		.flags = DXK_JOIN_OWNER, .access = CONTROL, .uid = geteuid(),
	};
	struct dxk_ctx_create create = *wanted;
	int ctx = dxk_ctx_create_as(ctl, &create);
	bool there = ctx == -EEXIST;
	int rc;

	if (there) {
		/* root may join everybody's, whose workers then get what clients give */
		memcpy(join.name, create.name, sizeof(join.name));
		ctx = dxk_ctx_join_as(ctl, &join);
	}
	if (ctx < 0)
		die(create.name, ctx, ctx == -EACCES || ctx == -EPERM ? "it is another user's service" :
				      ctx == -EINVAL ? "no name for a context" : "");
	rc = there ? resume(ctx, join.id, create.name, workers, dispatch) :
		     start(ctx, workers, dispatch);
	if (rc && !told)
		die("start", rc, "");
	return ctx;
}

/* --- the workers --------------------------------------------------------------- */

/* Return: the new process is a worker, or has found its place taken. */
static bool start_worker(const char *name)
{
	int ready[2];
	ssize_t rc;
	pid_t pid;
	char c;

	if (pipe(ready))
		die("pipe", -errno, "");
	pid = fork();
	if (pid < 0)
		die("fork", -errno, "");
	if (!pid) {
		signal(SIGTERM, SIG_DFL);
		/* the terminal's ^C is for the supervisor, which lets workers finish */
		signal(SIGINT, SIG_IGN);
		close(ready[0]);
		serve(name, ready[1]);
	}
	close(ready[1]);
	do
		rc = read(ready[0], &c, 1);
	while (rc < 0 && errno == EINTR);
	close(ready[0]);
	return rc == 1;
}

/*
 * Has a process for each free place, until told to end. A signal between the look and
 * the wait does not end the wait, so that this one is short.
 * Return: why it ended.
 */
static int supervise(int ctx, const char *name)
{
	int64_t retry = RETRY_NS;
	unsigned int places;
	int rc;

	while (!told) {
		rc = dxk_crew_wait(ctx, LOOK_NS, &places, NULL);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (rc < 0 && rc != -EINTR)
			return rc;
		if (rc <= 0)
			continue;
		while (places && !told && start_worker(name))
			places--;
		if (!places) {
			retry = RETRY_NS;
		} else if (!told) {
			/* the next one would not come either */
			doze(retry);
			retry = 2 * retry < RETRY_MAX_NS ? 2 * retry : RETRY_MAX_NS;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = { { "help", no_argument, NULL, 'h' }, { } };
	struct sigaction sa = { .sa_handler = tell };
	unsigned int workers = 0, dispatch = DXK_DISPATCH_DIRECT;
	struct dxk_ctx_create create = { .name = SERVICE_NAME };
	uint32_t mode = 0600;
	struct group *group;
	int opt, ctl, ctx, rc;

	while ((opt = getopt_long(argc, argv, "n:w:m:g:d:h", longs, NULL)) != -1) {
		switch (opt) {
		case 'n':
			if (strlen(optarg) >= sizeof(create.name))
				die(optarg, -ENAMETOOLONG, "");
			strcpy(create.name, optarg);
			break;
		case 'w':
			workers = (unsigned int)number(optarg, 10, 1, 499);
			break;
		case 'm':
			mode = (uint32_t)number(optarg, 8, 0, 0777);
			break;
		case 'g':
			group = getgrnam(optarg);
			if (!group)
				die(optarg, -ENOENT, "no such group");
			create.flags = DXK_CTX_CHOWN;
			create.uid = geteuid();
			create.gid = group->gr_gid;
			break;
		case 'd':
			if (strcmp(optarg, "direct") && strcmp(optarg, "thread"))
				misuse();
			dispatch = *optarg == 't';
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			misuse();
		}
	}
	if (optind < argc)
		misuse();
	if (!workers)
		workers = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);

	/* the workers are the owner's */
	create.mode = mode | 0100;
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	ctl = dxk_open();
	if (ctl < 0)
		die("/dev/dxk", ctl, "\"dxkctl doctor\" tells why");
	ctx = enter(ctl, &create, workers, dispatch);
	rc = supervise(ctx, create.name);
	if (!rc)
		rc = dxk_ctx_stop(ctx, DXK_STOP_DRAIN, GRACE_NS);
	if (rc && rc != -ESHUTDOWN)
		die("stop", rc, "");
	while (wait(NULL) > 0)
		;
	return 0;
}
