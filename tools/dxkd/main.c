// SPDX-License-Identifier: GPL-2.0-only
/*
 * dxkd: carries the requests of named contexts to workers on other machines. One thread does all
 * of it: members of contexts belong to the thread that made them.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sysexits.h>
#include <time.h>

#include <systemd/sd-daemon.h>

#include "../common/common.h"
#include "config.h"
#include "link.h"
#include "status.h"
#include "task.h"

#define LINGER		(10 * NSEC_PER_SEC)

static const char usage[] =
"Usage: dxkd [--status STATUS] FILE\n"
"       dxkd --check FILE\n"
"       dxkd --help | --version\n"
"\n"
"  FILE             the configuration: its services are run until a signal comes\n"
"  --check FILE     print every error in the configuration, run nothing\n"
"  --status STATUS  the file for dxkctl remote; without it $RUNTIME_DIRECTORY/status.json,\n"
"                   or none\n"
"\n"
"Exit status: 0; 2 for wrong arguments; 78 for errors in the configuration.\n";

static bool all_left(struct task **tasks, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (!tasks[i]->left(tasks[i]))
			return false;
	return true;
}

static void serve(struct task **tasks, unsigned int nr, struct status_file *status)
{
	struct pollfd *fds = calloc(nr * TASK_FDS, sizeof(*fds));
	uint64_t now, next, until = NEVER;
	bool ready = false;
	struct timespec wait;
	sigset_t ends, before;
	unsigned int i;

	if (!fds)
		abort();
	/* A signal is taken only while the loop waits. */
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigaddset(&ends, SIGQUIT);
	sigprocmask(SIG_BLOCK, &ends, &before);
	for (;;) {
		now = now_ns();
		if (caught && until == NEVER) {
			sd_notify(0, "STOPPING=1");
			until = now + LINGER;
			for (i = 0; i < nr; i++)
				tasks[i]->leave(tasks[i]);
		}
		for (i = 0, next = until; i < nr; i++)
			next = earlier(next, tasks[i]->run(tasks[i], now));
		next = earlier(next, status_run(status, tasks, nr, now));
		if (!ready)	/* each broker and context was tried once */
			sd_notify(0, "READY=1");
		ready = true;
		now = now_ns();
		if (until != NEVER && (now >= until || all_left(tasks, nr)))
			break;
		for (i = 0; i < nr; i++)
			tasks[i]->poll(tasks[i], fds + i * TASK_FDS);
		next = next > now ? next - now : 0;
		wait = (struct timespec){ (time_t)(next / NSEC_PER_SEC),
					  (long)(next % NSEC_PER_SEC) };
		ppoll(fds, nr * TASK_FDS, &wait, &before);
	}
	free(fds);
}

/* Each place and each sealed file on its way has a descriptor. */
static void take_all_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

static int run(const struct config *config, const char *status_path)
{
	struct task **tasks = calloc(config->nr_services, sizeof(struct task *));
	struct status_file status;
	unsigned int i;

	if (!tasks)
		abort();
	status_open(&status, status_path);
	signal(SIGPIPE, SIG_IGN);
	signals_catch();
	take_all_files();
	srandom((unsigned int)now_ns());
	for (i = 0; i < config->nr_services; i++)
		tasks[i] = (config->services[i].role == EXPORT ? export_new : import_new)
			   (&config->services[i]);
	serve(tasks, config->nr_services, &status);
	status_close(&status);
	for (i = 0; i < config->nr_services; i++)
		tasks[i]->close(tasks[i]);
	free(tasks);
	return DONE;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "check", required_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ "status", required_argument, NULL, 's' },
		{ "version", no_argument, NULL, 'V' },
		{ }
	};
	const char *checked = NULL, *status_path = NULL;
	struct config config;
	int opt, status = EX_CONFIG;

	tool = "dxkd";
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":h", longs, NULL)) != -1)
		switch (opt) {
		case 'c':
			checked = optarg;
			break;
		case 's':
			status_path = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			return flush(DONE);
		case 'V':
			return flush(version());
		case ':':
			return misuse("%s needs an argument", argv[optind - 1]);
		default:
			return bad_option(argv);
		}
	if (argc - optind > !checked)
		return misuse("no such argument: %s", argv[optind + !checked]);
	if (!checked && optind == argc)
		return misuse("FILE is missing");
	if (!config_read(checked ?: argv[optind], &config))
		status = checked ? DONE : run(&config, status_path);
	config_free(&config);
	return status;
}
