// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every call with every byte of its argument, and of each array and buffer it points
 * to, being the first that cannot be read, or not be written; at odd addresses; from
 * older and newer programs. EFAULT says that nothing was done: the same call succeeds
 * when it is made again, and nothing is lost. The cases are those of calls.h.
 */
#include "lib/calls/calls.h"

#include <sys/mman.h>

#define PAGE	4096
#define SIDE	(2 * PAGE)	/* of a wall; no buffer is longer */
#define TAIL	16	/* bytes of a newer program's argument */
#define ARGUMENT -1

/* SAME: nothing there, and the argument is of the size that it has now. */
enum wall { NONE, READ_ONLY, SAME };
static const char *const wall_name[] = { "there", "writable", "there" };

/* A side, and behind it one that cannot be touched, or not be written. */
struct place {
	unsigned char *wall[3];
	unsigned char *behind;	/* what is in the read-only one */
};

FIXTURE(usercopy) {
	struct env e;
	struct place place;
};

static int place_up(struct place *p)
{
	int fd = (int)syscall(SYS_memfd_create, "behind", 0);
	unsigned char *at = mmap(NULL, 4 * SIDE, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fd < 0 || ftruncate(fd, SIDE) || at == MAP_FAILED ||
	    mprotect(at + SIDE, SIDE, PROT_NONE) ||
	    mmap(at + 3 * SIDE, SIDE, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) ==
	    MAP_FAILED)
		return -1;
	p->wall[NONE] = p->wall[SAME] = at + SIDE;
	p->wall[READ_ONLY] = at + 3 * SIDE;
	p->behind = mmap(NULL, SIDE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return p->behind == MAP_FAILED;
}

FIXTURE_SETUP(usercopy)
{
	const char *why = env_up(&self->e);

	ASSERT_EQ(NULL, why) TH_LOG("%s", why);
	ASSERT_EQ(0, place_up(&self->place));
}

FIXTURE_TEARDOWN(usercopy)
{
	env_down(&self->e);
}

/* @mem with byte @k the first behind the wall. */
static void *put(struct place *p, enum wall wall, const void *mem, size_t len, size_t k)
{
	unsigned char *at = p->wall[wall] - k;

	memcpy(at, mem, k < len ? k : len);
	if (wall == READ_ONLY && k < len)
		memcpy(p->behind, (const unsigned char *)mem + k, len - k);
	return at;
}

/* What the call wrote, as far as it could. */
static void take(struct place *p, enum wall wall, void *mem, size_t len, size_t k)
{
	memcpy(mem, p->wall[wall] - k, k < len ? k : len);
}

/* What the call is to answer with byte @k of @which behind the wall. */
static int expected(const struct env *e, const struct row *r, int which, enum wall wall,
		    size_t k)
{
	const struct buf *b = &e->buf[which];

	if (which == ARGUMENT && wall != READ_ONLY)
		return -EFAULT;
	if (which == ARGUMENT)
		return r->written && k >= r->written ? r->want : r->read_only;
	if (wall == READ_ONLY && !b->out)
		return r->want;
	switch (b->kind) {
	case WHOLE:
		return -EFAULT;
	case ELEMENTS:
		return k / b->unit ? (int)(k / b->unit) : -EFAULT;
	default:
		return r->want;
	}
}

static const char *at_byte(struct env *e, struct place *p, const struct row *r, int which,
			   enum wall wall, size_t k)
{
	static char text[160];
	const char *why = prepare(e, r);
	struct buf *b = which == ARGUMENT ? NULL : &e->buf[which];
	unsigned char *arg = e->arg.bytes;
	union arg was = e->arg;
	int want, rc;

	if (why)
		return why;
	want = expected(e, r, which, wall, k);
	if (b) {
		*b->where = DXT_PTR(put(p, wall, b->mem, b->len, k));
	} else {
		/* with zeros behind it, which a newer program would have there */
		if (wall == NONE)
			e->arg.size += TAIL;
		arg = put(p, wall, arg, sizeof(e->arg) / 2, k);
	}
	rc = dxt_ioctl(row_fd(e, r), r->cmd, arg);
	if (b && b->out)
		take(p, wall, b->mem, b->len, k);
	if (b)
		*b->where = DXT_PTR(b->mem);
	else if (rc == r->want && r->want != r->read_only)
		take(p, wall, e->arg.bytes, r->size, k);
	else
		e->arg = was;
	if (rc != want) {
		snprintf(text, sizeof(text), "answer %d instead of %d", rc, want);
		why = text;
	}
	if (rc == -EFAULT && r->want != -EFAULT && k % 2 == 0) {
		if (b && b->out)
			dxt_poison(b->mem, b->len);
		rc = dxt_ioctl(row_fd(e, r), r->cmd, &e->arg);
		if (rc != r->want && !why) {
			snprintf(text, sizeof(text), "again: %d", rc);
			why = text;
		}
	}
	return r->end(e, rc) ?: why;
}

static unsigned int tries;

#define EACH_BYTE(r, which, wall, len, step) do {				\
	size_t _k, _len = (len);						\
	const char *_why = NULL;						\
										\
	for (_k = 0; _k < _len && !_why; _k += (step)) {			\
		dxt_tell("%s, byte %zu", (r)->name, _k);			\
		_why = at_byte(&self->e, &self->place, r, which, wall, _k);	\
		if (!_why && (_k % 8 == 0 || _k + 1 == _len))			\
			_why = level(&self->e);					\
		EXPECT_EQ(NULL, _why)						\
			TH_LOG("%s, memory %d, byte %zu not %s: %s", (r)->name,	\
			       which, _k, wall_name[wall], _why);		\
		if (_why)							\
			set_level(&self->e);					\
		tries++;							\
	}									\
} while (0)

TEST_F(usercopy, each_call_has_a_case)
{
	const char *why = complete(&self->e);

	EXPECT_EQ(NULL, why) TH_LOG("%s", why);
}

/* The argument itself. */
TEST_F(usercopy, argument)
{
	const struct row *r;

	for (r = rows; r < rows + ROWS; r++) {
		EACH_BYTE(r, ARGUMENT, NONE, r->size + TAIL, r->heavy ? 5 : 1);
		EACH_BYTE(r, ARGUMENT, SAME, r->size, r->heavy ? 5 : 1);
		EACH_BYTE(r, ARGUMENT, READ_ONLY, r->size, r->heavy ? 7 : 1);
	}
	printf("# %u tries\n", tries);
}

/* What it points to. */
TEST_F(usercopy, buffers)
{
	const struct row *r;
	const char *why;
	uint32_t len;
	unsigned int i, nr;

	for (r = rows; r < rows + ROWS; r++) {
		why = prepare(&self->e, r);
		ASSERT_EQ(NULL, why);
		nr = self->e.bufs;
		/* as if it had been refused */
		why = r->end(&self->e, -EFAULT);
		ASSERT_EQ(NULL, why) TH_LOG("%s: %s", r->name, why);
		for (i = 0; i < nr; i++) {
			len = self->e.buf[i].len;
			EACH_BYTE(r, (int)i, NONE, len, r->heavy ? 7 : 1);
			EACH_BYTE(r, (int)i, READ_ONLY, len, r->heavy ? 7 : 1);
		}
	}
	printf("# %u tries\n", tries);
}

/* All of it at odd addresses. */
static const char *odd(struct env *e, const struct row *r, unsigned int shift)
{
	static unsigned char space[BUFS + 1][2 * PAGE];
	unsigned char *arg = space[BUFS] + shift;
	const char *why = prepare(e, r);
	unsigned int i;
	int rc;

	if (why)
		return why;
	/* first those that a later one points with */
	for (i = 0; i < e->bufs; i++) {
		struct buf *b = &e->buf[i];

		memcpy(space[i] + shift, b->mem, b->len);
		*b->where = DXT_PTR(space[i] + shift);
	}
	memcpy(arg, &e->arg, r->size);
	rc = dxt_ioctl(row_fd(e, r), r->cmd, arg);
	memcpy(&e->arg, arg, r->size);
	for (i = 0; i < e->bufs; i++) {
		memcpy(e->buf[i].mem, space[i] + shift, e->buf[i].len);
		*e->buf[i].where = DXT_PTR(e->buf[i].mem);
	}
	why = r->end(e, rc);
	return rc == r->want ? why : "another answer";
}

/* Older: EINVAL; newer: E2BIG when its tail is not zero, else as ever. */
static const char *sized(struct env *e, const struct row *r, uint32_t size, int dirty)
{
	static char text[80];
	const char *why = prepare(e, r);
	int rc, want = size < r->size ? -EINVAL : dirty ? -E2BIG : r->want;
	union arg was = e->arg;

	if (why)
		return why;
	e->arg.size = size;
	if (dirty)
		e->arg.bytes[dirty] = 0x80;
	rc = dxt_ioctl(row_fd(e, r), r->cmd, &e->arg);
	if (rc == want && want != r->want) {
		e->arg = was;
		rc = dxt_ioctl(row_fd(e, r), r->cmd, &e->arg);
		want = r->want;
	}
	why = r->end(e, rc);
	if (rc == want)
		return why;
	snprintf(text, sizeof(text), "size %u, tail %d: answer %d", size, dirty, rc);
	return text;
}

TEST_F(usercopy, alignment_and_size)
{
	struct env *e = &self->e;
	const struct row *r;
	const char *why;
	uint32_t i;

	for (r = rows; r < rows + ROWS; r++) {
		uint32_t step = r->heavy ? 5 : 1;

		dxt_tell("%s", r->name);
		for (i = 1; i < 8; i += step) {
			why = odd(e, r, i) ?: level(e);
			EXPECT_EQ(NULL, why) TH_LOG("%s at odd %u: %s", r->name, i, why);
		}
		for (i = 0; i <= TAIL; i += step) {
			why = sized(e, r, r->size + i, 0);
			if (!why && i)
				why = sized(e, r, r->size + TAIL,
					    (int)(r->size + i - 1));
			if (!why && i < r->size)
				why = sized(e, r, i, 0);
			if (!why)
				why = level(e);
			EXPECT_EQ(NULL, why) TH_LOG("%s: %s", r->name, why);
		}
	}
}

TEST_HARNESS_MAIN
