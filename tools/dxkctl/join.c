// SPDX-License-Identifier: GPL-2.0-only
/*
 * What needs a descriptor of the context: set, drain, stop.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* --- set ------------------------------------------------------------------- */

/* One field through its file: no other one can be changed beside it. */
static int write_field(int dir, const char *name, uint32_t value)
{
	char path[64], text[16];
	struct stat st;
	int fd, len, err = 0;

	snprintf(path, sizeof(path), "policy/%s", name);
	if (fstatat(dir, path, &st, 0))
		return -errno;
	/* The administrator could open it, but not write to it. */
	if (!(st.st_mode & 0222))
		return -EROFS;
	fd = openat(dir, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	len = snprintf(text, sizeof(text), "%u\n", value);
	if (write(fd, text, (size_t)len) < 0)
		err = -errno;
	close(fd);
	return err;
}

/*
 * Which field of the policy is refused, without setting it: a context that is made for
 * this takes it or not. Nobody else's change can be undone by a look.
 */
static void try_policy(const struct dxk_policy *policy, unsigned int *bad)
{
	int ctl = dxk_open();
	int ctx = ctl < 0 ? ctl : dxk_ctx_create(ctl, NULL);
	unsigned int refused = 0;

	if (ctx >= 0) {
		if (dxk_policy_set(ctx, policy, &refused))
			*bad = refused;
		close(ctx);
	}
	if (ctl >= 0)
		close(ctl);
}

/*
 * @err: why the field's file, in @dir, does not take the value. What only Start takes goes
 * with all other fields, which for a context that runs is refused; several of us do this
 * one after the other.
 */
static int set_policy(const char *word, int dir, const struct field *f, const char *name,
		      uint32_t value, int err)
{
	struct dxk_policy policy;
	unsigned int id, bad = f->offset;
	char range[128];
	uint32_t *now;
	int ctx, rc;

	if (ctx_join(word, DXK_ACCESS_CONTROL | DXK_ACCESS_READ, &ctx, &id))
		return FAILED;
	flock(dir, LOCK_EX);
	rc = dxk_policy_get(ctx, &policy);
	now = (uint32_t *)((char *)&policy + f->offset);
	if (!rc && err == -EROFS && *now == value) {
		err = 0;
	} else if (!rc) {
		*now = value;
		if (err == -EROFS)
			err = dxk_policy_set(ctx, &policy, &bad);
		else
			try_policy(&policy, &bad);
	}
	flock(dir, LOCK_UN);
	close(ctx);
	field_range(f, range, sizeof(range));
	switch (rc ? rc : err) {
	case 0:
		return DONE;
	case -EBUSY:
		return fail("stop the context, or set it before its Start",
			    "%s cannot change while the context runs", name);
	case -EINVAL:
	case -EOPNOTSUPP:
		if (bad == f->offset && (value < f->min || value > f->max))
			return fail(range, "%s cannot be %u", name, value);
		return fail("set that first, or take another value: dxkctl show CTX policy",
			    "%s cannot be %u beside the rest of the policy; %s does not fit",
			    name, value, field_at(bad));
	}
	return fail("dxkctl doctor", "%s cannot be set: %s", name, strerror(-(rc ? rc : err)));
}

static int no_field(const struct ctx *ctx, const char *name)
{
	return fail("take one of: dxkctl show CTX policy",
		    "context %u has no field '%s'", ctx->id, name);
}

int ctl_set(int argc, char **argv)
{
	static const struct option none[] = { { } };
	const struct field *f;
	const char *word, *name;
	struct ctx ctx;
	uint32_t value;
	char range[128];
	int err;

	if (options(argc, argv, "+:", none) == '?')
		return MISUSED;
	if (argc - optind != 3)
		return misuse("set takes a context, a field and a value");
	word = argv[optind];
	name = argv[optind + 1];
	if (ctx_find(word, &ctx))
		return FAILED;
	/* It is a file's name. */
	err = strchr(name, '/') || *name == '.' || !*name;
	if (err) {
		no_field(&ctx, name);
		goto out;
	}
	f = field_of(name);
	err = !field_parse(f, argv[optind + 2], &value);
	if (err) {
		fail(field_range(f, range, sizeof(range)),
		     "'%s' is no value for %s", argv[optind + 2], name);
		goto out;
	}
	err = write_field(ctx.dir, name, value);
	if (err == -ENOENT || err == -ENODEV) {
		char state[16];

		if (sysfs_read(ctx.dir, "state", state, sizeof(state)) < 0)
			fail("dxkctl list", "context %s has gone", word);
		else
			no_field(&ctx, name);
	} else if (err && f) {
		/* The call tells more than the write. */
		err = set_policy(word, ctx.dir, f, name, value, err);
	} else if (err) {
		fail("dxkctl doctor", "%s cannot be set: %s", name, strerror(-err));
	}
out:
	ctx_close(&ctx);
	return err ? FAILED : DONE;
}

/* --- drain, stop ----------------------------------------------------------- */

/* Most that are told by name. */
#define RUNNING_MAX	499

static void tell_running(unsigned int id, const struct dxk_running *r, unsigned int nr)
{
	struct ctx ctx;
	unsigned int i;
	bool readable = !ctx_open(id, &ctx);

	fprintf(stderr, "  %6s  %7s  %10s  %4s  %-18s  %-18s  %s\n", "worker", "pid",
		"seconds", "lane", "executor", "owner", "param");
	for (i = 0; i < nr; i++, r++) {
		unsigned int lane = r->attrs & PXR_LANE0 ? 0 : r->attrs & PXR_LANE1 ? 1 :
				    r->attrs & PXR_LANE2 ? 2 : 3;
		char path[32], pid[16] = "-";

		snprintf(path, sizeof(path), "threads/%u/pid", r->thread);
		if (readable)
			(void)sysfs_read(ctx.dir, path, pid, sizeof(pid));
		fprintf(stderr, "  %6u  %7s  %10.3f  %4u  0x%-16llx  0x%-16llx  0x%llx\n",
			r->thread, pid, (double)r->age_ns / 1e9, lane,
			(unsigned long long)r->executor, (unsigned long long)r->owner,
			(unsigned long long)r->param);
	}
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

static int stop(const char *word, unsigned int mode, int64_t timeout)
{
	static struct dxk_running running[RUNNING_MAX];
	unsigned long long refused, after;
	unsigned int id, nr = 0;
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
	fail(mode == DXK_STOP_CANCEL ? "wait for them, or end their processes" :
				       "wait on with the same command, or dxkctl stop --cancel CTX",
	     "%s: %u still %s; the context goes on stopping",
	     rc == -EINTR ? "interrupted" : "the time is up", nr,
	     nr == 1 ? "executes" : "execute");
	if (nr)
		tell_running(id, running, nr < RUNNING_MAX ? nr : RUNNING_MAX);
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
