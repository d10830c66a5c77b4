/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of the ABI share: a table of all calls, a context in which they fail. */
#ifndef ABI_TEST_H
#define ABI_TEST_H

#include "lib/arg.h"
#include "lib/dxt.h"

#include <sys/mman.h>

#define OWNER		7
#define DATA_SIZE	256
#define PAGE		4096
#define KERNEL_ADDRESS	0xffff888000001000ULL

enum { ON_CONTROL = 1, ON_CONTEXT = 2, ON_CLIENT = 4, ON_WORKER = 8 };

struct call {
	const char *name;
	unsigned long cmd;
	unsigned int on;
	uint32_t size;
	int flags_at;	/* offset of a field that must be 0, or -1 */
	int flags_err;
};

extern const struct call calls[];
extern const unsigned int nr_calls;

/* The member of the test's thread: a worker must not be a client as well. */
int take_role(struct dxt *t, unsigned int is);
/*
 * Something in each pool: a result with data that waits in the Rejoin Pool and,
 * on top, a request in the Ready Pool, both of OWNER. No abuse may move them.
 */
int populate(struct dxt *t, unsigned int is, int *me);
/* A correct argument. The calls in it have no effect, see works(). */
void fill(union arg *a, const struct call *c, void *array);
/* Of the argument's first version: what is shorter is refused. */
uint32_t first_size(const struct call *c);
/* Bits of that field that mean something. */
uint32_t known_flags(const struct call *c);
/* What a correct call answers on a running context where nothing waits. */
int right_answer(const struct call *c);
int on(const struct dxt *t, int me, unsigned int kind);
/* A call that succeeds may have made a descriptor. */
void undo(const struct call *c, const union arg *a, int rc);

#ifndef DXT_NO_HARNESS
FIXTURE(abi) {
	struct dxt t;
	int me;			/* the member under test */
	unsigned int is;	/* ON_CLIENT or ON_WORKER */
	struct dxt_snapshot before;
	struct dxk_post_entry entry[DXK_BATCH_MAX];
	struct dxk_result result[DXK_BATCH_MAX];
	struct dxk_work work[DXK_BATCH_MAX];
	struct dxk_done done[DXK_BATCH_MAX];
	unsigned char data[DXK_BATCH_MAX][DATA_SIZE];
	char *wall;		/* a page without access, and a writable one before it */
	void *read_only;	/* a page */
};

FIXTURE_VARIANT(abi) {
	unsigned int is;
};
FIXTURE_VARIANT_ADD(abi, client) {
	.is = ON_CLIENT,
};
FIXTURE_VARIANT_ADD(abi, worker) {
	.is = ON_WORKER,
};

FIXTURE_SETUP(abi)
{
	char *p;

	ASSERT_EQ(0, dxt_open(&self->t));
	self->t.policy.max_threads = 2;
	self->t.policy.data_size = DATA_SIZE;
	self->t.policy.max_waiting = 16;
	ASSERT_EQ(0, dxt_start(&self->t));

	p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		 -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)p);
	self->wall = p + PAGE;
	ASSERT_EQ(0, mprotect(self->wall, PAGE, PROT_NONE));
	self->read_only = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->read_only);
	self->is = variant->is;
}

FIXTURE_TEARDOWN(abi)
{
	dxt_down(&self->t);
}

#define POPULATE() do {							\
	ASSERT_EQ(0, populate(&self->t, self->is, &self->me));		\
	dxt_snapshot(&self->t, &self->before);				\
} while (0)

#define EXPECT_UNCHANGED(what) do {					\
	struct dxt_snapshot _now;					\
	const char *_bad;						\
									\
	dxt_snapshot(&self->t, &_now);					\
	_bad = dxt_differs(&self->before, &_now);			\
	EXPECT_EQ(NULL, _bad) {						\
		TH_LOG("%s changed %s", what, _bad);			\
		dxt_snapshot(&self->t, &self->before);			\
	}								\
} while (0)

/* Refused with @err; the argument stays as it is. */
#define REFUSED(err, fd, cmd, arg, len, what) do {			\
	unsigned char _copy[512];					\
									\
	memcpy(_copy, arg, len);					\
	EXPECT_EQ(-(err), dxt_ioctl(fd, cmd, arg))			\
		TH_LOG("%s", what);					\
	EXPECT_EQ(0, memcmp(_copy, arg, len))				\
		TH_LOG("%s changed its argument", what);		\
	EXPECT_UNCHANGED(what);						\
} while (0)
#endif

#endif /* ABI_TEST_H */
