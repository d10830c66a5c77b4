// SPDX-License-Identifier: GPL-2.0-only
/*
 * One step: its argument is filled from the step's bytes so that it is mostly a valid
 * one, then bent as the step says, and the call is made.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "actor.h"
#include "call.h"

unsigned long steps_calls;

/* --- values ----------------------------------------------------------------- */

uint8_t take(struct call *c)
{
	return c->pos < STEP_FIELDS ? c->s->b[c->pos++] : 0;
}

/* A small number mostly, else one at some limit. */
uint32_t number(struct call *c)
{
	static const uint32_t odd[] = {
		0x7fffffff, 0x80000000, 0xffffffff, 63, 64, 65, 499, 500, 511, 512, 513,
		4095, 4096, 4097, 0x10000, 0x100000, 0x100001, 1000, 100, 128,
	};
	uint8_t v = take(c);

	return v < 0xc0 ? v & 0x1f : odd[v % (sizeof(odd) / sizeof(odd[0]))];
}

uint64_t deadline(struct call *c)
{
	uint8_t v = take(c);
	struct timespec t;
	uint64_t now;

	if (v < 0x40)
		return 0;
	if (v < 0x48)
		return 1;
	if (v >= 0xf0) {
		c->endless = true;
		return ~0ULL;
	}
	clock_gettime(CLOCK_MONOTONIC, &t);
	now = t.tv_sec * 1000000000ULL + t.tv_nsec;
	return now + (v & 7) * 500000;
}

/* Where an array is, or none can be. */
uint64_t address(struct call *c, unsigned int where)
{
	const uint64_t base = (uintptr_t)c->a->arena;

	if (!(c->s->how & STEP_BAD))
		return base + where;
	c->bad = true;
	switch (c->s->b[11] % 6) {
	case 0: return 0;
	case 1: return base + ARENA_RO;
	case 2: return base + ARENA_END - 8;
	case 3: return base + ARENA_END;
	case 4: return 0xffff888000001000;
	default: return 0x8000000000000000;
	}
}

/*
 * What is allowed and costs too much: no more than a few kernel threads, small pools,
 * intervals that leave time for others. Values that are refused stay as they are.
 */
static void clamp(uint32_t cmd, void *arg)
{
	struct dxk_policy *p = arg;
	uint32_t *pool[] = {
		&p->ready_entries, &p->rejoin_entries, &p->log_entries,
		&p->handle_entries, &p->max_requests, &p->sample_entries,
	};
	uint32_t *interval[] = {
		&p->sched_interval_ms, &p->monitor_interval_ms, &p->sample_interval_ms,
	};
	unsigned int i;

	if (cmd != DXK_IOC_POLICY_SET)
		return;
	for (i = 0; i < sizeof(interval) / sizeof(interval[0]); i++)
		if (*interval[i] && *interval[i] < 5)
			*interval[i] += 5;
	if (p->kernel_threads > 4 && p->kernel_threads < 500)
		p->kernel_threads &= 3;
	if (p->max_spares > 8 && p->max_spares < 500)
		p->max_spares &= 7;
	for (i = 0; i < sizeof(pool) / sizeof(pool[0]); i++)
		if (*pool[i] > 4096 && *pool[i] <= 1 << 21)
			*pool[i] = 4096;
}

/* --- the call --------------------------------------------------------------- */

/* What the contract names, and what log files and descriptors may tell. */
static bool is_known_error(int err)
{
	static const int known[] = {
		EPERM, ENOENT, ESRCH, EINTR, E2BIG, EBADF, EAGAIN, ENOMEM, EACCES,
		EFAULT, EBUSY, EEXIST, ENODEV, EINVAL, ENFILE, EMFILE, ENOTTY, ENOSPC,
		EDEADLK, ELOOP, EPROTONOSUPPORT, EOPNOTSUPP, ETIMEDOUT, ESTALE,
		ESHUTDOWN, EMSGSIZE, EALREADY, ECANCELED,
	};
	unsigned int i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (err == known[i])
			return true;
	return false;
}

static bool tracing(void)
{
	static int on = -1;

	if (on < 0)
		on = getenv("DXK_FUZZ_TRACE") != NULL;
	return on;
}

static void trace(const struct call *c, const char *name, int ret)
{
	static const char * const who[] = { "main", "helper" };
	const int err = errno;
	struct timespec t;

	if (!tracing())
		return;
	clock_gettime(CLOCK_MONOTONIC, &t);
	printf("%4ld.%06ld %-6s %-16s fd %2d size %4u%s%s%s = %d%s%s\n",
	       (long)t.tv_sec, t.tv_nsec / 1000,
	       c->a->nr < 2 ? who[c->a->nr] : "other", name, c->fd, c->usize,
	       c->s->how & STEP_PATCH ? " patched" : "",
	       c->s->how & STEP_EDGE ? " edge" : "", c->bad ? " bad" : "", ret,
	       ret < 0 ? " " : "", ret < 0 ? strerrorname_np(err) : "");
	fflush(stdout);
	errno = err;
}

static uint32_t bent_size(struct call *c, uint32_t size)
{
	const uint8_t v = c->s->b[12];

	switch (c->s->how & STEP_SIZE) {
	case 0x08: return v & 0x80 ? v & 7 : size - 4 * (1 + (v & 7));
	case 0x10: return size + 4 * (v & 15);
	case 0x18: return v & 0x80 ? 0x1001 + v : size + 1 + (v & 0x3f);
	default: return size;
	}
}

/*
 * Make the call of @c->cmd with the @size bytes at @arg, the first four of which are
 * its size, and copy back what it left there.
 */
static int call_ioctl(struct call *c, const char *name, void *arg, size_t size)
{
	const struct step *s = c->s;
	uint8_t *at = c->a->arena + ARENA_ARG;
	void *passed;
	int ret;

	c->usize = bent_size(c, size);
	memcpy(arg, &c->usize, sizeof(c->usize));
	if (s->how & STEP_PATCH) {
		((uint8_t *)arg)[s->b[9] % size] ^= s->b[10];
		((uint8_t *)arg)[s->b[11] % size] ^= s->b[12];
		/* It may be a deadline. */
		c->endless = true;
	}
	clamp(c->cmd, arg);
	memset(at, (s->how & STEP_SIZE) == STEP_SIZE ? 0xa5 : 0, 0x1000);
	if (s->how & STEP_EDGE)
		at += 0x1000 - size;
	memcpy(at, arg, size);
	passed = at;
	if (s->how & STEP_BAD && !c->bad) {
		/* one of the addresses can be read, but takes no reply */
		memcpy(c->a->arena + ARENA_RW, arg, size);
		passed = (void *)(uintptr_t)address(c, 0);
	}

	if (c->endless)
		actor_begin(c->a);
	ret = ioctl(c->fd, c->cmd, passed);
	if (c->endless)
		actor_end(c->a);
	trace(c, name, ret);
	__atomic_add_fetch(&steps_calls, 1, __ATOMIC_RELAXED);
	if (ret < 0 && !is_known_error(errno))
		guard_fail("%s: error %s is none of the contract's", name,
			   strerrorname_np(errno) ?: "without a name");
	if (ret > 499)
		guard_fail("%s returned %d", name, ret);
	memcpy(arg, at, size);
	return ret;
}

/* --- descriptors ------------------------------------------------------------ */

static int open_control(struct call *c)
{
	c->fd = open("/dev/dxk", O_RDWR | O_CLOEXEC);
	if (c->fd >= 0)
		table_add(c->fd, CONTROL, c->a->nr, 0);
	trace(c, "open", c->fd);
	return c->fd;
}

/* What a step needs and the input did not make: made without a flaw. */
static int make(struct call *c, enum kind kind)
{
	static const struct step plain = { };
	struct call m = { .a = c->a, .s = &plain };
	struct object from;

	switch (kind) {
	case CONTROL:
		return open_control(&m);
	case CONTEXT: {
		struct dxk_ctx_create a = { .mode = 0700 };

		if (!table_find(CONTROL, 0, 0, &from))
			from.fd = make(c, CONTROL);
		m.fd = from.fd;
		m.cmd = DXK_IOC_CTX_CREATE;
		if (call_ioctl(&m, "(ctx_create)", &a, sizeof(a)))
			return -1;
		table_add(a.fd, CONTEXT, c->a->nr, a.id);
		return a.fd;
	}
	case CLIENT:
	case WORKER: {
		struct dxk_member_create a = { .kind = kind == WORKER };

		if (!table_find(CONTEXT, 0, c->s->obj & 7, &from))
			from.fd = make(c, CONTEXT);
		m.fd = from.fd;
		m.cmd = DXK_IOC_MEMBER_CREATE;
		if (call_ioctl(&m, "(member_create)", &a, sizeof(a)))
			return -1;
		table_add(a.fd, kind, c->a->nr, a.id);
		return a.fd;
	}
	default:
		return -1;
	}
}

static bool find(struct call *c, enum kind kind)
{
	if (table_find(kind, c->a->nr, c->s->obj, &c->on)) {
		c->fd = c->on.fd;
		return true;
	}
	c->fd = c->s->obj & 0x80 ? -1 : make(c, kind);
	return c->fd >= 0;
}

/* --- steps that are no ioctl ------------------------------------------------ */

static void step_close(struct call *c)
{
	if (!find(c, take(c) % PLAIN))
		return;
	table_remove(c->fd);
	trace(c, "close", close(c->fd));
}

static void step_poll(struct call *c)
{
	struct pollfd p = { .events = POLLIN | POLLOUT };

	if (!find(c, CONTEXT + take(c) % 3))
		return;
	p.fd = c->fd;
	trace(c, "poll", poll(&p, 1, take(c) & 3));
}

/* Any ioctl number on any descriptor, with bytes that nobody thought about. */
static void step_raw(struct call *c)
{
	uint8_t arg[160];
	unsigned int i;

	if (!find(c, take(c) % PLAIN))
		return;
	c->cmd = _IO(DXK_IOC_TYPE, take(c) & 0x3f);
	for (i = 0; i < sizeof(arg); i++)
		arg[i] = c->s->b[2 + i % 11];
	c->endless = true;
	call_ioctl(c, "raw", arg, 8 + (c->s->b[12] & 0x7c));
}

static void step_pause(struct call *c)
{
	const struct timespec t = { .tv_nsec = (1 + (take(c) & 7)) * 1000000 };

	nanosleep(&t, NULL);
}

static void step_poke(struct call *c)
{
	table_poke(take(c));
	trace(c, "poke", 0);
}

static void use_file(struct call *c, const char *path, bool write_it)
{
	const int fd = open(path, (write_it ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
	char text[4096];
	ssize_t len;

	/* -1..7: neither threads nor memory in numbers */
	if (write_it)
		len = write(fd, text, sprintf(text, "%d\n", take(c) % 9 - 1));
	else
		len = read(fd, text, sizeof(text));
	trace(c, strrchr(path, '/') + 1, len);
	__atomic_add_fetch(&steps_calls, 1, __ATOMIC_RELAXED);
	if (fd >= 0)
		close(fd);
}

/*
 * Reads, or below policy/ writes, a file of a context: b[0] which directory, b[1] which
 * file in it, b[2] whether to write, b[3] what.
 */
static void step_sysfs(struct call *c)
{
	static const char * const dirs[] = {
		".", "policy", "pools", "lanes", "stats", "../executors",
		"threads/500", "threads/600", "threads/700", "threads/0", "threads/1",
		"threads/2", "threads/499",
	};
	char path[400];
	unsigned int which, n;
	struct dirent *d;
	DIR *dir;

	if (!find(c, CONTEXT))
		return;
	which = take(c) % (sizeof(dirs) / sizeof(dirs[0]));
	n = snprintf(path, sizeof(path), "/sys/kernel/dxk/%u/%s", c->on.id, dirs[which]);
	dir = opendir(path);
	if (!dir)
		return;
	which = take(c) % 40;
	while ((d = readdir(dir)))
		if (d->d_type == DT_REG && !which--)
			break;
	if (d) {
		const bool write_it = take(c) & 1 && strstr(path, "/policy");

		snprintf(path + n, sizeof(path) - n, "/%s", d->d_name);
		use_file(c, path, write_it);
	}
	closedir(dir);
}

/* --- all of them ------------------------------------------------------------ */

static const struct {
	const char *name;
	void (*step)(struct call *c);
} plain_ops[] = {
	{ "close", step_close },
	{ "poll", step_poll },
	{ "raw", step_raw },
	{ "pause", step_pause },
	{ "sysfs", step_sysfs },
	{ "spawn", NULL },
	{ "reap", NULL },
	{ "poke", step_poke },
};
#define NR_PLAIN	(sizeof(plain_ops) / sizeof(plain_ops[0]))

enum special actor_special(const struct step *s)
{
	switch (s->op % (nr_ioctl_ops + NR_PLAIN) - nr_ioctl_ops) {
	case 5: return SPECIAL_SPAWN;
	case 6: return SPECIAL_REAP;
	default: return SPECIAL_NONE;
	}
}

void actor_step(struct actor *a, const struct step *s)
{
	const unsigned int which = s->op % (nr_ioctl_ops + NR_PLAIN);
	struct call c = { .a = a, .s = s, .fd = -1 };
	const struct ioctl_op *op;
	union arg arg;
	int ret;

	if (which >= nr_ioctl_ops) {
		/* one of the last two within a spawn does nothing */
		if (plain_ops[which - nr_ioctl_ops].step)
			plain_ops[which - nr_ioctl_ops].step(&c);
		return;
	}
	op = &ioctl_ops[which];
	if (!find(&c, op->kind))
		return;
	memset(&arg, 0, sizeof(arg));
	c.cmd = op->cmd;
	op->fill(&c, &arg);
	ret = call_ioctl(&c, op->name, &arg, op->size);
	if (ret >= 0 && op->after)
		op->after(&c, &arg, ret);
}
