// SPDX-License-Identifier: GPL-2.0-only
/*
 * Subcommands that need a descriptor of the context: drain, stop.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "ctl.h"

int ctx_join(const char *word, unsigned int access, int *ctx, unsigned int *id)
{
	int ctl = dxk_open();

	if (ctl < 0)
		return fail("dxkctl doctor", "%s: %s", DXK_DEVICE, strerror(-ctl));
	if (!ctx_is_id(word))
		*ctx = dxk_ctx_join(ctl, word, access, 0, id);
	else if (parse_id(word, id))
		*ctx = dxk_ctx_join_id(ctl, *id, access, 0);
	else
		*ctx = -ENOENT;
	close(ctl);
	switch (*ctx) {
	case -ENOENT:
	case -EINVAL:
		return fail("dxkctl list", "there is no context '%s'", word);
	case -EACCES:
		return fail("do it as the context's owner, or as root",
			    "you may not control context '%s'", word);
	case -EPROTONOSUPPORT:
	case -ENOTTY:
		return fail("dxkctl doctor", "the module is of another version");
	}
	if (*ctx < 0)
		return fail("dxkctl doctor", "cannot open context '%s': %s", word,
			    strerror(-*ctx));
	return DONE;
}

/* --- drain, stop ----------------------------------------------------------- */

/* Maximum number that is reported by name. */
#define RUNNING_MAX	499

static void tell_running(unsigned int ctx_id, const struct dxk_running *r, unsigned int nr)
{
	struct ctx ctx;
	unsigned int i;
	bool readable = !ctx_open(ctx_id, &ctx);
	struct json_object *names = readable ? labels(&ctx) : NULL;

	fprintf(stderr, "  %6s  %7s  %10s  %4s  %-18s  %-18s  %-18s  %s\n", "worker", "tid",
		"seconds", "lane", "executor", "owner", "param", "label");
	for (i = 0; i < nr; i++, r++) {
		unsigned int lane = r->attrs & PXR_LANE0 ? 0 : r->attrs & PXR_LANE1 ? 1 :
				    r->attrs & PXR_LANE2 ? 2 : 3;
		const char *label = label_of(names, r->executor, r->attrs);
		char path[32], id[16] = "-", pid[16] = "-";

		/* A request that waits has no worker. */
		if (r->thread) {
			snprintf(id, sizeof(id), "%u", r->thread);
			snprintf(path, sizeof(path), "threads/%u/pid", r->thread);
			if (readable)
				(void)sysfs_read(ctx.dir, path, pid, sizeof(pid));
		}
		fprintf(stderr, "  %6s  %7s  %10.3f  %4u  0x%-16llx  0x%-16llx  0x%-16llx  %s\n",
			id, pid, (double)r->age_ns / 1e9, lane,
			(unsigned long long)r->executor, (unsigned long long)r->owner,
			(unsigned long long)r->param, label ? label : "-");
	}
	json_object_put(names);
	if (readable)
		ctx_close(&ctx);
}

/* Posts that the context has refused since it was made because it does not run. */
static unsigned long long refused_posts(unsigned int id)
{
	char text[32] = "0";
	struct ctx ctx;

	if (!ctx_open(id, &ctx)) {
		(void)sysfs_read(ctx.dir, "stats/post_refused", text, sizeof(text));
		ctx_close(&ctx);
	}
	return strtoull(text, NULL, 10);
}

/* Those that execute come first; @told of them are reported. */
static void count_running(const struct dxk_running *r, unsigned int told, unsigned int nr,
			  char *text, size_t size)
{
	unsigned int executing = 0;
	int len;

	while (executing < told && r[executing].thread)
		executing++;
	len = snprintf(text, size, "%u still %s", executing,
		       executing == 1 ? "executes" : "execute");
	if (nr > executing)
		snprintf(text + len, size - (size_t)len, ", %u %s", nr - executing,
			 nr - executing == 1 ? "waits" : "wait");
}

static int stop(const char *word, unsigned int mode, int64_t timeout)
{
	static struct dxk_running running[RUNNING_MAX];
	unsigned long long refused, after;
	unsigned int id, nr = 0, told;
	char what[64];
	int ctx, rc;

	if (ctx_join(word, DXK_ACCESS_CONTROL, &ctx, &id))
		return FAILED;
	signals_catch();
	refused = refused_posts(id);
	rc = dxk_ctx_stop_report(ctx, mode, timeout, running, RUNNING_MAX, &nr);
	after = refused_posts(id);
	close(ctx);
	if (after > refused && mode == DXK_STOP_DRAIN)
		printf("%llu %s refused\n", after - refused,
		       after - refused == 1 ? "post was" : "posts were");
	if (!rc)
		return DONE;
	if (rc != -ETIMEDOUT && rc != -EINTR)
		return fail("dxkctl doctor", "cannot stop it: %s", strerror(-rc));
	told = nr < RUNNING_MAX ? nr : RUNNING_MAX;
	count_running(running, told, nr, what, sizeof(what));
	fail(mode == DXK_STOP_CANCEL ? "wait for them, or end their processes" :
				       "wait on with the same command, or dxkctl stop --cancel CTX",
	     "%s: %s; the context goes on stopping",
	     rc == -EINTR ? "interrupted" : "the time is up", what);
	if (told)
		tell_running(id, running, told);
	return FAILED;
}

static const struct option timeout_option[] = {
	{ "timeout", required_argument, NULL, 't' },
	{ "cancel", no_argument, NULL, 'c' },
	{ }
};

static int stop_args(int argc, char **argv, unsigned int mode)
{
	const char *name = argv[0];
	int64_t timeout = -1;
	int opt;

	while ((opt = options(argc, argv, ":", timeout_option)) != -1) {
		if (opt == '?')
			return MISUSED;
		if (opt == 'c') {
			if (mode == DXK_STOP_DRAIN)
				return misuse("drain has no --cancel");
			mode = DXK_STOP_CANCEL;
		} else if (!parse_seconds(optarg, &timeout)) {
			return misuse("--timeout: '%s' is no number of seconds", optarg);
		}
	}
	if (argc - optind != 1)
		return misuse("%s takes one context", name);
	return stop(argv[optind], mode, timeout);
}

int ctl_drain(int argc, char **argv)
{
	return stop_args(argc, argv, DXK_STOP_DRAIN);
}

int ctl_stop(int argc, char **argv)
{
	return stop_args(argc, argv, DXK_STOP_POLICY);
}
