// SPDX-License-Identifier: GPL-2.0-only
/*
 * set: changes the policy of a context.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl.h"

#define SETTINGS_MAX	64
/* The field that is no number. */
#define CPUS		"cpus"

/* Sets one field through its file, which cannot change any other one. */
static int write_field(int dir, const char *name, const char *text)
{
	char path[64];
	struct stat st;
	int fd, err = 0;

	snprintf(path, sizeof(path), "policy/%s", name);
	if (fstatat(dir, path, &st, 0))
		return -errno;
	/* The administrator could open it, but not write to it. */
	if (!(st.st_mode & 0222))
		return -EROFS;
	fd = openat(dir, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

/*
 * Finds which field of the policy is refused, without setting it: a context that is made for
 * this accepts it or not. So the check cannot undo another process's change.
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

/**
 * struct setting - a field and its new value
 * @name: the field's
 * @f: its description, or NULL
 * @value: the new value
 * @text: the text for its file
 * @err: why it is not set, 0 when it is
 */
struct setting {
	const char *name;
	const struct field *f;
	uint32_t value;
	char text[256];
	int err;
};

/* Sets them in any order that fits: one may make room for another. Return: how many are left. */
static unsigned int write_fields(int dir, struct setting *s, unsigned int nr)
{
	unsigned int i, left = nr, before;

	do {
		before = left;
		for (i = 0; i < nr; i++) {
			if (!s[i].err)
				continue;
			s[i].err = write_field(dir, s[i].name, s[i].text);
			left -= !s[i].err;
		}
	} while (left && left < before);
	return left;
}

/* The first that is not set, or NULL. */
static struct setting *first_left(struct setting *s, unsigned int nr)
{
	for (; nr--; s++)
		if (s->err)
			return s;
	return NULL;
}

/* The one of the field at @offset, else the first of those that are left. */
static const struct setting *to_blame(struct setting *s, unsigned int nr, unsigned int offset)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (s[i].err && s[i].f && s[i].f->offset == offset)
			return &s[i];
	return first_left(s, nr);
}

static int refused(struct setting *s, unsigned int nr, int err, unsigned int bad,
		   const struct dxk_policy *policy)
{
	const struct setting *it = to_blame(s, nr, bad);
	uint32_t min = 0, max = UINT32_MAX;
	char text[DXK_POLICY_TEXT];

	switch (err) {
	case -EBUSY:
		return fail("stop the context, or set it before its Start",
			    "%s cannot change while the context runs", it->name);
	case -EINVAL:
	case -EOPNOTSUPP:
		dxk_policy_range(it->f->offset, &min, &max);
		if (bad == it->f->offset && (it->value < min || it->value > max))
			return fail(field_range(it->f, text, sizeof(text)),
				    "%s cannot be %u", it->name, it->value);
		dxk_policy_why(policy, err, bad, text, sizeof(text));
		return fail("set that first, or take another value: dxkctl show CTX policy",
			    "%s cannot be %u beside the rest of the policy; %s does not fit%s%s",
			    it->name, it->value, field_at(bad), *text ? ": " : "", text);
	}
	return fail("dxkctl doctor", "%s cannot be set: %s", it->name, strerror(-err));
}

/* Puts the rest into @policy. Return: whether that has a field that only Start takes. */
static bool apply(struct dxk_policy *policy, struct setting *s, unsigned int nr)
{
	bool at_start = false;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		uint32_t *now;

		if (!s[i].err)
			continue;
		now = (uint32_t *)((char *)policy + s[i].f->offset);
		if (s[i].err == -EROFS && *now == s[i].value)
			s[i].err = 0;
		at_start |= s[i].err == -EROFS;
		*now = s[i].value;
	}
	return at_start;
}

/*
 * For fields whose files, in @dir, do not accept the value. Fields that only Start takes are set
 * together with all other fields, which is refused if the context runs; several processes do this
 * one after the other.
 */
static int set_policy(const char *word, int dir, struct setting *s, unsigned int nr)
{
	struct dxk_policy policy;
	unsigned int id, bad = first_left(s, nr)->f->offset;
	int ctx, rc;

	if (ctx_join(word, DXK_ACCESS_CONTROL | DXK_ACCESS_READ, &ctx, &id))
		return FAILED;
	flock(dir, LOCK_EX);
	rc = dxk_policy_get(ctx, &policy);
	if (rc >= 0) {
		if (apply(&policy, s, nr)) {
			rc = dxk_policy_set(ctx, &policy, &bad);
		} else if (first_left(s, nr)) {
			rc = first_left(s, nr)->err;
			try_policy(&policy, &bad);
		}
	}
	flock(dir, LOCK_UN);
	close(ctx);
	return rc < 0 ? refused(s, nr, rc, bad, &policy) : DONE;
}

static int no_field(const struct ctx *ctx, const char *name)
{
	return fail("take one of: dxkctl show CTX policy",
		    "context %u has no field '%s'", ctx->id, name);
}

/* DONE, or FAILED after a message: nothing is set until all are understood. */
static int setting_parse(const struct ctx *ctx, struct setting *s, const char *name,
			 const char *value)
{
	char path[64], range[128];

	*s = (struct setting){ .name = name, .f = field_of(name), .err = -EAGAIN };
	snprintf(path, sizeof(path), "policy/%s", name);
	/* The name is that of a file. */
	if (strchr(name, '/') || *name == '.' || !*name ||
	    (faccessat(ctx->dir, path, F_OK, 0) && errno == ENOENT))
		return no_field(ctx, name);
	if (!strcmp(name, CPUS)) {
		if ((size_t)snprintf(s->text, sizeof(s->text), "%s\n", value) < sizeof(s->text))
			return DONE;
		return fail("write to its file", "the list of CPUs is too long");
	}
	if (!field_parse(s->f, value, &s->value))
		return fail(field_range(s->f, range, sizeof(range)),
			    "'%s' is no value for %s", value, name);
	snprintf(s->text, sizeof(s->text), "%u\n", s->value);
	return DONE;
}

static int cpus_refused(const struct setting *s)
{
	switch (s->err) {
	case -EINVAL:
		return fail("a list of CPUs, such as 0-3,8", "%s cannot be %.*s", s->name,
			    (int)strcspn(s->text, "\n"), s->text);
	case -ENODEV:
		return fail("see /sys/devices/system/cpu/online", "%s cannot be %.*s: "
			    "not all of them are online", s->name,
			    (int)strcspn(s->text, "\n"), s->text);
	}
	return fail("dxkctl doctor", "%s cannot be set: %s", s->name, strerror(-s->err));
}

static int set_all(const char *word, const struct ctx *ctx, struct setting *s,
		   unsigned int nr)
{
	char state[16];
	unsigned int i;

	if (!write_fields(ctx->dir, s, nr))
		return DONE;
	if (sysfs_read(ctx->dir, "state", state, sizeof(state)) < 0)
		return fail("dxkctl list", "context %s has gone", word);
	for (i = 0; i < nr; i++)
		if (s[i].err && !strcmp(s[i].name, CPUS))
			return cpus_refused(&s[i]);
		else if (s[i].err && !s[i].f)
			return fail("dxkctl doctor", "%s cannot be set: %s", s[i].name,
				    strerror(-s[i].err));
	/* The call reports more than the write. */
	return set_policy(word, ctx->dir, s, nr);
}

/* Fields that were set, but have no effect with the rest of the policy. */
static void tell_idle(const struct ctx *ctx, const struct setting *s, unsigned int nr)
{
	struct dxk_policy policy = { .size = sizeof(policy) };
	char why[DXK_POLICY_TEXT];
	unsigned int at = 0, i;

	fields_read(ctx, &policy);
	/* The files show it after the Monitor's next review. */
	for (i = 0; i < nr; i++)
		if (s[i].f)
			*(uint32_t *)((char *)&policy + s[i].f->offset) = s[i].value;
	while ((at = dxk_policy_idle(&policy, at, why, sizeof(why))))
		for (i = 0; i < nr; i++)
			if (s[i].f && s[i].f->offset == at)
				fprintf(stderr, "%s: %s is set, but %s\n", tool, s[i].name, why);
}

int ctl_set(int argc, char **argv)
{
	static const struct option none[] = { { } };
	struct setting s[SETTINGS_MAX];
	unsigned int nr, i;
	struct ctx ctx;
	int status;

	if (options(argc, argv, "+:", none) == '?')
		return MISUSED;
	argc -= optind + 1;
	argv += optind;
	if (argc < 2 || argc & 1 || argc / 2 > SETTINGS_MAX)
		return misuse("set takes a context, and a value behind each field");
	nr = (unsigned int)argc / 2;
	status = ctx_find(argv[0], &ctx);
	if (status)
		return status;
	for (i = 0; i < nr && !status; i++)
		status = setting_parse(&ctx, &s[i], argv[2 * i + 1], argv[2 * i + 2]);
	if (!status)
		status = set_all(argv[0], &ctx, s, nr);
	if (!status)
		tell_idle(&ctx, s, nr);
	ctx_close(&ctx);
	return status;
}
