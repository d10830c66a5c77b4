// SPDX-License-Identifier: GPL-2.0-only
/*
 * Abuse first: every call, on every kind of descriptor, with everything wrong that
 * a caller can get wrong. Each refusal must give the error that the contract
 * names, leave its argument as it was, and leave the context as it was: counters
 * and pool use are compared after each one.
 */
#include "arg.h"
#include "dxk_test.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

/* The sum of the fields is the struct: no hole through which anything leaks. */
#define NO_HOLES(s, n32, n64, bytes) \
	_Static_assert(sizeof(struct s) == 4 * (n32) + 8 * (n64) + (bytes), #s)
NO_HOLES(dxk_version, 6, 1, 0);
NO_HOLES(dxk_executor_find, 2, 1, DXK_NAME_LEN);
NO_HOLES(dxk_ctx_create, 8, 0, DXK_NAME_LEN);
NO_HOLES(dxk_ctx_join, 6, 0, DXK_NAME_LEN);
NO_HOLES(dxk_policy, 32, 0, 0);
NO_HOLES(dxk_ctx_start, 2, 0, 0);
NO_HOLES(dxk_running, 2, 4, 0);
NO_HOLES(dxk_ctx_stop, 6, 2, 0);
NO_HOLES(dxk_member_create, 4, 0, 0);
NO_HOLES(dxk_crew_wait, 4, 1, 0);
NO_HOLES(dxk_post_entry, 6, 4, 0);
NO_HOLES(dxk_post, 6, 2, 0);
NO_HOLES(dxk_result, 8, 2, 0);
NO_HOLES(dxk_rejoin, 8, 4, 0);
NO_HOLES(dxk_done, 2, 2, 0);
NO_HOLES(dxk_work, 8, 4, 0);
NO_HOLES(dxk_next, 8, 4, 0);
NO_HOLES(dxk_should_stop, 2, 1, 0);
NO_HOLES(dxk_log_record, 4, 2, DXK_LOG_TEXT);
NO_HOLES(dxk_log_write, 4, 2, 0);
NO_HOLES(dxk_log_read, 4, 2, 0);
NO_HOLES(dxk_log_file, 2, 0, 0);
NO_HOLES(dxk_command_send, 6, 5, 0);
NO_HOLES(dxk_command_attach, 2, 0, 0);
NO_HOLES(dxk_command_next, 6, 3, 0);
NO_HOLES(dxk_handle_open, 2, 1, 0);
NO_HOLES(dxk_handle_close, 2, 1, 0);
NO_HOLES(dxk_sha256_range, 0, 3, 0);
NO_HOLES(dxk_sample, 6, 4, 0);
NO_HOLES(dxk_samples_read, 4, 2, 0);

#define OWNER		7
#define DATA_SIZE	256
#define PAGE		4096
#define KERNEL_ADDRESS	0xffff888000001000ULL

enum { ON_CONTROL = 1, ON_CONTEXT = 2, ON_CLIENT = 4, ON_WORKER = 8 };

static const struct call {
	const char *name;
	unsigned long cmd;
	unsigned int on;
	uint32_t size;
	int flags_at;	/* offset of a field that must be 0, or -1 */
	int flags_err;
} calls[] = {
	{ "VERSION", DXK_IOC_VERSION, ON_CONTROL, sizeof(struct dxk_version), -1, 0 },
	{ "EXECUTOR_FIND", DXK_IOC_EXECUTOR_FIND, ON_CONTROL | ON_CONTEXT,
	  sizeof(struct dxk_executor_find),
	  offsetof(struct dxk_executor_find, reserved), EINVAL },
	{ "CTX_CREATE", DXK_IOC_CTX_CREATE, ON_CONTROL, sizeof(struct dxk_ctx_create),
	  offsetof(struct dxk_ctx_create, flags), EOPNOTSUPP },
	{ "CTX_START", DXK_IOC_CTX_START, ON_CONTEXT, sizeof(struct dxk_ctx_start),
	  offsetof(struct dxk_ctx_start, flags), EOPNOTSUPP },
	{ "CTX_STOP", DXK_IOC_CTX_STOP, ON_CONTEXT, sizeof(struct dxk_ctx_stop),
	  -1, 0 },
	{ "POLICY_GET", DXK_IOC_POLICY_GET, ON_CONTEXT, sizeof(struct dxk_policy),
	  -1, 0 },
	{ "POLICY_SET", DXK_IOC_POLICY_SET, ON_CONTEXT, sizeof(struct dxk_policy),
	  -1, 0 },
	{ "MEMBER_CREATE", DXK_IOC_MEMBER_CREATE, ON_CONTEXT,
	  sizeof(struct dxk_member_create), -1, 0 },
	{ "POST", DXK_IOC_POST, ON_CLIENT | ON_WORKER, sizeof(struct dxk_post),
	  offsetof(struct dxk_post, flags), EOPNOTSUPP },
	{ "REJOIN", DXK_IOC_REJOIN, ON_CLIENT | ON_WORKER, sizeof(struct dxk_rejoin),
	  offsetof(struct dxk_rejoin, flags), EOPNOTSUPP },
	{ "NEXT", DXK_IOC_NEXT, ON_WORKER, sizeof(struct dxk_next),
	  offsetof(struct dxk_next, flags), EOPNOTSUPP },
	{ "SHOULD_STOP", DXK_IOC_SHOULD_STOP, ON_CLIENT | ON_WORKER,
	  sizeof(struct dxk_should_stop), offsetof(struct dxk_should_stop, flags),
	  EOPNOTSUPP },
	{ "SAMPLES_READ", DXK_IOC_SAMPLES_READ, ON_CONTEXT,
	  sizeof(struct dxk_samples_read), offsetof(struct dxk_samples_read, flags),
	  EOPNOTSUPP },
	{ "LOG_FILE", DXK_IOC_LOG_FILE, ON_CONTEXT, sizeof(struct dxk_log_file), -1, 0 },
	{ "LOG_READ", DXK_IOC_LOG_READ, ON_CONTEXT, sizeof(struct dxk_log_read),
	  offsetof(struct dxk_log_read, flags), EOPNOTSUPP },
	{ "LOG_WRITE", DXK_IOC_LOG_WRITE, ON_CLIENT | ON_WORKER,
	  sizeof(struct dxk_log_write), offsetof(struct dxk_log_write, reserved), EINVAL },
	{ "HANDLE_OPEN", DXK_IOC_HANDLE_OPEN, ON_CONTEXT,
	  sizeof(struct dxk_handle_open), -1, 0 },
	{ "HANDLE_CLOSE", DXK_IOC_HANDLE_CLOSE, ON_CONTEXT,
	  sizeof(struct dxk_handle_close), offsetof(struct dxk_handle_close, flags),
	  EOPNOTSUPP },
	{ "COMMAND_SEND", DXK_IOC_COMMAND_SEND, ON_CONTEXT,
	  sizeof(struct dxk_command_send), -1, 0 },
	{ "COMMAND_ATTACH", DXK_IOC_COMMAND_ATTACH, ON_CLIENT | ON_WORKER,
	  sizeof(struct dxk_command_attach), -1, 0 },
	{ "COMMAND_NEXT", DXK_IOC_COMMAND_NEXT, ON_CLIENT | ON_WORKER,
	  sizeof(struct dxk_command_next), -1, 0 },
	{ "CTX_JOIN", DXK_IOC_CTX_JOIN, ON_CONTROL, sizeof(struct dxk_ctx_join),
	  offsetof(struct dxk_ctx_join, flags), EOPNOTSUPP },
	{ "CREW_WAIT", DXK_IOC_CREW_WAIT, ON_CONTEXT, sizeof(struct dxk_crew_wait),
	  offsetof(struct dxk_crew_wait, flags), EOPNOTSUPP },
};

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

/* The member of the test's thread: a worker must not be a client as well. */
static int take_role(struct dxt *t, unsigned int is)
{
	if (is == ON_CLIENT)
		return t->member;
	close(t->member);
	t->member = dxk_member_create(t->ctx, DXK_MEMBER_WORKER, &t->member_id);
	return t->member;
}

FIXTURE_SETUP(abi)
{
	char *p;

	ASSERT_EQ(0, dxt_open(&self->t));
	self->t.policy.max_threads = 2;
	self->t.policy.data_size = DATA_SIZE;
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

/*
 * Something in each pool: a result with data that waits in the Rejoin Pool and,
 * on top, a request in the Ready Pool, both of OWNER. No abuse may move them.
 */
static int populate(struct dxt *t, unsigned int is, int *me)
{
	char data[16] = "result";
	struct dxk_post_entry e = dxt_entry(OWNER, DXT_ECHO, 0, PXR_REJOIN);
	struct dxt_worker *w = dxt_worker_start(t);
	struct dxk_post post;

	e.data = DXT_PTR(data);
	e.data_len = e.result_len = sizeof(data);
	if (w->member < 0)
		return w->member;
	if (dxt_post(t->member, &e, 1, 0, &post) != 1)
		return -EIO;
	if (!DXT_UNTIL(t, dxt_num(t, "pools/rejoin_use") == 1))
		return -ETIME;
	dxt_worker_end(w);
	*me = take_role(t, is);
	if (*me < 0)
		return *me;
	if (dxt_post1(*me, OWNER, DXT_NOP, 0, PXR_REJOIN, 0, NULL) != 1)
		return -EIO;
	return 0;
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

/* A correct argument. The calls in it have no effect, see works(). */
static void fill(union arg *a, const struct call *c, void *array)
{
	memset(a, 0, sizeof(*a));
	a->size = c->size;
	switch (c->cmd) {
	case DXK_IOC_EXECUTOR_FIND:
		strcpy(a->executor_find.name, "nop");
		break;
	case DXK_IOC_CTX_JOIN:
		a->ctx_join.access = DXK_ACCESS_READ;
		a->ctx_join.abi = DXK_ABI_VERSION;
		strcpy(a->ctx_join.name, "nobody");
		break;
	case DXK_IOC_POST:
		a->post.entries = DXT_PTR(array);
		a->post.nr = 1;
		a->post.entry_size = sizeof(struct dxk_post_entry);
		break;
	case DXK_IOC_REJOIN:
		a->rejoin.results = DXT_PTR(array);
		a->rejoin.nr = 1;
		a->rejoin.result_size = sizeof(struct dxk_result);
		a->rejoin.owner = 4711;
		break;
	case DXK_IOC_NEXT:
		a->next.work = DXT_PTR(array);
		a->next.nr_work = 1;
		a->next.work_size = sizeof(struct dxk_work);
		break;
	case DXK_IOC_SAMPLES_READ:
		a->samples_read.samples = DXT_PTR(array);
		a->samples_read.nr = 1;
		a->samples_read.sample_size = sizeof(struct dxk_sample);
		break;
	case DXK_IOC_HANDLE_OPEN:
		a->handle_open.fd = -1;
		break;
	case DXK_IOC_LOG_FILE:
		a->log_file.fd = -1;
		break;
	case DXK_IOC_COMMAND_SEND:
		a->command_send.text = DXT_PTR("unknown");
		a->command_send.text_len = 7;
		break;
	case DXK_IOC_COMMAND_NEXT:
		a->command_next.text = DXT_PTR(array);
		a->command_next.text_room = DXK_COMMAND_MAX;
		break;
	}
}

/* Bits of that field that mean something. */
static uint32_t known_flags(const struct call *c)
{
	switch (c->cmd) {
	case DXK_IOC_CTX_CREATE:
		return DXK_CTX_CHOWN;
	case DXK_IOC_CTX_JOIN:
		return DXK_JOIN_SHARED | DXK_JOIN_BY_ID;
	case DXK_IOC_POST:
	case DXK_IOC_REJOIN:
		return DXK_CALL_HELP;
	default:
		return 0;
	}
}

/* What a correct call answers on a running context where nothing waits. */
static int right_answer(const struct call *c)
{
	switch (c->cmd) {
	case DXK_IOC_CTX_START:
		return -EBUSY;
	case DXK_IOC_NEXT:
		return -ETIMEDOUT;
	case DXK_IOC_POLICY_SET:
		return -EINVAL;		/* no policy is all zero */
	case DXK_IOC_POST:
		return -EPERM;		/* lane 0 is closed */
	case DXK_IOC_HANDLE_OPEN:
		return -EBADF;
	case DXK_IOC_HANDLE_CLOSE:
	case DXK_IOC_CTX_JOIN:
		return -ENOENT;
	case DXK_IOC_LOG_READ:
		return -EINVAL;		/* no message at all is asked for */
	case DXK_IOC_COMMAND_NEXT:
		return -EPERM;		/* it is no handler */
	default:
		return 0;
	}
}

static int on(const struct dxt *t, int me, unsigned int kind)
{
	switch (kind) {
	case ON_CONTROL:
		return t->ctl;
	case ON_CONTEXT:
		return t->ctx;
	default:
		return me;
	}
}

/* A call that succeeds may have made a descriptor. */
static void undo(const struct call *c, const union arg *a, int rc)
{
	if (rc)
		return;
	if (c->cmd == DXK_IOC_CTX_CREATE)
		close(a->ctx_create.fd);
	if (c->cmd == DXK_IOC_MEMBER_CREATE)
		close(a->member_create.fd);
}

/*
 * The newer program: a longer argument works while its tail is zero, up to a page;
 * E2BIG when it is not. The older one: shorter than the first version is EINVAL.
 */
TEST_F(abi, sizes)
{
	static const uint32_t more[] = { 1, 4, 8, 100, 300 };
	unsigned char array[1024];
	const struct call *c;
	union arg a, was;
	unsigned int kind, i;
	int rc;

	self->t.policy.sched_mode = TPOOL_MODE_CMLS;
	ASSERT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_DRAIN, -1));
	ASSERT_EQ(0, dxt_start(&self->t));
	self->me = take_role(&self->t, self->is);
	ASSERT_LE(0, self->me);
	dxt_snapshot(&self->t, &self->before);

	for (c = calls; c < calls + ARRAY_SIZE(calls); c++) {
		for (kind = 1; kind <= ON_WORKER; kind <<= 1) {
			int fd = on(&self->t, self->me, kind);

			if (!(c->on & kind) || (kind >= ON_CLIENT && kind != self->is) ||
			    c->cmd == DXK_IOC_CTX_STOP)
				continue;
			for (i = 0; i < ARRAY_SIZE(more); i++) {
				struct dxk_post_entry e =
					dxt_entry(1, DXT_NOP, 0, PXR_LANE0);

				memset(array, 0, sizeof(array));
				memcpy(array, &e, sizeof(e));
				fill(&a, c, array);
				a.size = c->size + more[i];
				rc = dxt_ioctl(fd, c->cmd, &a);
				/* there may be places for workers */
				if (c->cmd == DXK_IOC_CREW_WAIT && rc > 0)
					rc = 0;
				EXPECT_EQ(right_answer(c), rc)
					TH_LOG("%s longer by %u", c->name, more[i]);
				undo(c, &a, rc);

				fill(&a, c, array);
				a.size = c->size + more[i];
				a.bytes[a.size - 1] = 1;
				was = a;
				EXPECT_EQ(-E2BIG, dxt_ioctl(fd, c->cmd, &a))
					TH_LOG("%s dirty tail %u", c->name, more[i]);
				EXPECT_EQ(0, memcmp(&a, &was, sizeof(a)));
			}
			for (i = 0; i < c->size; i++) {
				fill(&a, c, array);
				a.size = i;
				was = a;
				EXPECT_EQ(-EINVAL, dxt_ioctl(fd, c->cmd, &a))
					TH_LOG("%s size %u", c->name, i);
				EXPECT_EQ(0, memcmp(&a, &was, sizeof(a)));
			}
			/* nobody wants the kernel to look through gigabytes of tail */
			fill(&a, c, array);
			a.size = UINT_MAX;
			EXPECT_EQ(-E2BIG, dxt_ioctl(fd, c->cmd, &a))
				TH_LOG("%s endless", c->name);
		}
	}
	/* CTX_STOP of a context that does not run does nothing */
	{
		int ctx = dxk_ctx_create(self->t.ctl, NULL);

		c = &calls[4];
		ASSERT_EQ(DXK_IOC_CTX_STOP, c->cmd);
		ASSERT_LE(0, ctx);
		for (i = 0; i < ARRAY_SIZE(more); i++) {
			fill(&a, c, NULL);
			a.size = c->size + more[i];
			EXPECT_EQ(0, dxt_ioctl(ctx, c->cmd, &a));
			a.bytes[a.size - 1] = 1;
			EXPECT_EQ(-E2BIG, dxt_ioctl(ctx, c->cmd, &a));
			EXPECT_EQ(-E2BIG, dxt_ioctl(self->t.ctx, c->cmd, &a));
		}
		for (i = 0; i < c->size; i++) {
			a.size = i;
			EXPECT_EQ(-EINVAL, dxt_ioctl(self->t.ctx, c->cmd, &a));
		}
		close(ctx);
	}
	EXPECT_EQ(0, dxt_num(&self->t, "stats/posts"));
	EXPECT_TRUE(dxt_num(&self->t, "pools/ready_use") == 0);
}

/* ENOTTY: a call on the wrong kind of descriptor, a number that is none. */
TEST_F(abi, wrong_call)
{
	const struct call *c;
	unsigned int kind, nr;
	union arg a;

	POPULATE();
	for (kind = 1; kind <= ON_WORKER; kind <<= 1) {
		int fd = on(&self->t, self->me, kind);

		if (kind >= ON_CLIENT && kind != self->is)
			continue;
		for (c = calls; c < calls + ARRAY_SIZE(calls); c++) {
			if (!(c->on & kind)) {
				fill(&a, c, self->data);
				REFUSED(ENOTTY, fd, c->cmd, &a, sizeof(a), c->name);
				/* also before the argument is looked at */
				EXPECT_EQ(-ENOTTY, dxt_ioctl(fd, c->cmd, NULL));
			}
			/* the same number with a direction and a size is another */
			fill(&a, c, self->data);
			EXPECT_EQ(-ENOTTY, dxt_ioctl(fd, c->cmd | _IOC(_IOC_READ |
					_IOC_WRITE, 0, 0, c->size), &a));
			EXPECT_EQ(-ENOTTY, dxt_ioctl(fd, c->cmd ^ 0x100, &a));
		}
		for (nr = 0; nr < 256; nr++) {
			for (c = calls; c < calls + ARRAY_SIZE(calls); c++)
				if (_IOC_NR(c->cmd) == nr)
					break;
			if (c < calls + ARRAY_SIZE(calls))
				continue;
			memset(&a, 0, sizeof(a));
			a.size = 64;
			EXPECT_EQ(-ENOTTY, dxt_ioctl(fd, _IO(DXK_IOC_TYPE, nr), &a));
		}
		EXPECT_EQ(-ENOTTY, dxt_ioctl(fd, 0x5401 /* TCGETS */, &a));
	}
	EXPECT_UNCHANGED("an unknown call");
}

/* Nothing but ioctl, poll and close makes sense on them. */
TEST_F(abi, wrong_operation)
{
	unsigned int kind;
	char c = 0;

	POPULATE();
	for (kind = 1; kind <= ON_WORKER; kind <<= 1) {
		int fd = on(&self->t, self->me, kind);
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (kind >= ON_CLIENT && kind != self->is)
			continue;
		EXPECT_EQ(-1, read(fd, &c, 1));
		EXPECT_EQ(EINVAL, errno);
		EXPECT_EQ(-1, write(fd, &c, 1));
		EXPECT_EQ(EINVAL, errno);
		EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0));
		EXPECT_EQ(ENODEV, errno);
		EXPECT_LE(0, poll(&p, 1, 0));
		EXPECT_EQ(0, p.revents & (POLLNVAL | POLLERR | POLLHUP));
		/* close-on-exec, all of them; the control as it was opened */
		EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
	}
	EXPECT_UNCHANGED("read, write, mmap, poll");
}

/* EFAULT: the argument cannot be read or, where it is an answer, written. */
TEST_F(abi, bad_argument_pointer)
{
	const struct call *c;
	unsigned int kind, i;
	union arg a;
	long long contexts;

	POPULATE();
	ASSERT_EQ(0, mprotect(self->read_only, PAGE, PROT_READ | PROT_WRITE));
	for (c = calls; c < calls + ARRAY_SIZE(calls); c++) {
		uint64_t bad[] = {
			0, 1, KERNEL_ADDRESS, ~0ULL, ~0ULL - 3, 1ULL << 63,
			DXT_PTR(self->wall), DXT_PTR(self->wall - 4),
			DXT_PTR(self->wall - 3), DXT_PTR(self->wall - c->size + 4),
			0x800000000000ULL - 4,
		};

		for (kind = 1; kind <= ON_WORKER; kind <<= 1) {
			int fd = on(&self->t, self->me, kind);

			if (!(c->on & kind) || (kind >= ON_CLIENT && kind != self->is))
				continue;
			for (i = 0; i < ARRAY_SIZE(bad); i++) {
				/* a correct beginning where there is one */
				fill(&a, c, self->data);
				if (i >= 7 && i <= 9) {
					size_t n = DXT_PTR(self->wall) - bad[i];

					memcpy((void *)(uintptr_t)bad[i], &a, n);
				}
				EXPECT_EQ(-EFAULT, dxt_ioctl(fd, c->cmd,
						(void *)(uintptr_t)bad[i]))
					TH_LOG("%s at %#llx", c->name,
					       (unsigned long long)bad[i]);
			}
			EXPECT_UNCHANGED(c->name);
		}
	}

	/* An answer that cannot be delivered: nothing is left of what was made. */
	contexts = 0;
	for (c = calls; c < calls + ARRAY_SIZE(calls); c++) {
		if (c->cmd != DXK_IOC_VERSION && c->cmd != DXK_IOC_EXECUTOR_FIND &&
		    c->cmd != DXK_IOC_CTX_CREATE && c->cmd != DXK_IOC_POLICY_GET &&
		    c->cmd != DXK_IOC_MEMBER_CREATE)
			continue;
		ASSERT_EQ(0, mprotect(self->read_only, PAGE, PROT_READ | PROT_WRITE));
		fill(self->read_only, c, NULL);
		ASSERT_EQ(0, mprotect(self->read_only, PAGE, PROT_READ));
		EXPECT_EQ(-EFAULT, dxt_ioctl(c->on & ON_CONTROL ? self->t.ctl :
					     self->t.ctx, c->cmd, self->read_only))
			TH_LOG("%s into read-only memory", c->name);
		EXPECT_UNCHANGED(c->name);
		contexts++;
	}
	EXPECT_EQ(5, contexts);
	EXPECT_FALSE(dxt_exists(&self->t, "threads/1000"));
	i = self->t.id;
	self->t.id = i + 1;
	EXPECT_FALSE(dxt_exists(&self->t, "state"))
		TH_LOG("a context was left");
	self->t.id = i;
}

/* Unknown flags are EOPNOTSUPP, reserved fields EINVAL, for each bit. */
TEST_F(abi, flags_and_reserved)
{
	const struct call *c;
	unsigned int kind, bit;
	union arg a;

	POPULATE();
	for (c = calls; c < calls + ARRAY_SIZE(calls); c++) {
		if (c->flags_at < 0)
			continue;
		for (kind = 1; kind <= ON_WORKER; kind <<= 1) {
			int fd = on(&self->t, self->me, kind);

			if (!(c->on & kind) || (kind >= ON_CLIENT && kind != self->is))
				continue;
			for (bit = 0; bit < 32; bit += bit < 4 ? 1 : 9) {
				uint32_t flag = 1U << bit;

				if (flag & known_flags(c))
					continue;
				fill(&a, c, self->data);
				memcpy(a.bytes + c->flags_at, &flag, 4);
				REFUSED(c->flags_err, fd, c->cmd, &a, sizeof(a),
					c->name);
			}
		}
	}
	fill(&a, &calls[9], self->result);
	ASSERT_EQ(DXK_IOC_REJOIN, calls[9].cmd);
	a.rejoin.reserved = 1;
	REFUSED(EINVAL, self->me, DXK_IOC_REJOIN, &a, sizeof(a), "rejoin reserved");
}

/* Values of the small calls. */
TEST_F(abi, values)
{
	struct dxk_executor_find find = { .size = sizeof(find), .id = 99 };
	struct dxk_member_create create = { .size = sizeof(create), .fd = -7 };
	struct dxk_ctx_stop stop = { .size = sizeof(stop) };
	static const uint32_t kinds[] = { 3, 4, 255, UINT_MAX };
	unsigned int i;

	POPULATE();
	/* ENOENT: no such executor; a name without an end is wrong */
	strcpy(find.name, "no such executor");
	REFUSED(ENOENT, self->t.ctl, DXK_IOC_EXECUTOR_FIND, &find, sizeof(find), "find");
	REFUSED(ENOENT, self->t.ctx, DXK_IOC_EXECUTOR_FIND, &find, sizeof(find), "find");
	memset(find.name, 0, sizeof(find.name));
	REFUSED(ENOENT, self->t.ctl, DXK_IOC_EXECUTOR_FIND, &find, sizeof(find), "find");
	memset(find.name, 'n', sizeof(find.name));
	REFUSED(EINVAL, self->t.ctl, DXK_IOC_EXECUTOR_FIND, &find, sizeof(find), "find");

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		create.kind = kinds[i];
		REFUSED(EOPNOTSUPP, self->t.ctx, DXK_IOC_MEMBER_CREATE, &create,
			sizeof(create), "member kind");
		stop.mode = kinds[i] < 3 ? 3 : kinds[i];
		REFUSED(EOPNOTSUPP, self->t.ctx, DXK_IOC_CTX_STOP, &stop, sizeof(stop),
			"stop mode");
	}
}

/* Counts and element sizes of the arrays of POST, REJOIN, NEXT. */
TEST_F(abi, arrays)
{
	static const uint32_t counts[] = { 65, 66, 1 << 16, 1U << 31, UINT_MAX };
	struct dxk_rejoin rejoin;
	struct dxk_next next;
	struct dxk_post post;
	unsigned int i;

	POPULATE();
	for (i = 0; i < DXK_BATCH_MAX; i++)
		self->entry[i] = dxt_entry(OWNER, DXT_NOP, 0, PXR_REJOIN);
	dxt_poison(self->result, sizeof(self->result));
	dxt_poison(self->work, sizeof(self->work));
	dxt_poison(self->data, sizeof(self->data));

	const struct dxk_post good_post = {
		.size = sizeof(post), .entries = DXT_PTR(self->entry), .nr = 1,
		.entry_size = sizeof(self->entry[0]),
	};
	const struct dxk_rejoin good_rejoin = {
		.size = sizeof(rejoin), .owner = OWNER, .nr = 1,
		.results = DXT_PTR(self->result),
		.result_size = sizeof(self->result[0]),
		.data = DXT_PTR(self->data), .data_stride = DATA_SIZE,
	};
	const struct dxk_next good_next = {
		.size = sizeof(next), .nr_work = 1, .work = DXT_PTR(self->work),
		.work_size = sizeof(self->work[0]),
		.data = DXT_PTR(self->data), .data_stride = DATA_SIZE,
	};

	post = good_post, post.nr = 0;
	REFUSED(EINVAL, self->me, DXK_IOC_POST, &post, sizeof(post), "post nr 0");
	rejoin = good_rejoin, rejoin.nr = 0;
	REFUSED(EINVAL, self->me, DXK_IOC_REJOIN, &rejoin, sizeof(rejoin), "rejoin 0");
	rejoin = good_rejoin, rejoin.min = 2;
	REFUSED(EINVAL, self->me, DXK_IOC_REJOIN, &rejoin, sizeof(rejoin), "rejoin min");
	rejoin = good_rejoin, rejoin.min = UINT_MAX;
	REFUSED(EINVAL, self->me, DXK_IOC_REJOIN, &rejoin, sizeof(rejoin), "rejoin min");
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		post = good_post, post.nr = counts[i];
		REFUSED(EINVAL, self->me, DXK_IOC_POST, &post, sizeof(post), "post nr");
		rejoin = good_rejoin, rejoin.nr = counts[i];
		REFUSED(EINVAL, self->me, DXK_IOC_REJOIN, &rejoin, sizeof(rejoin),
			"rejoin nr");
	}
	for (i = 0; i < sizeof(self->entry[0]); i++) {
		post = good_post, post.entry_size = i;
		EXPECT_EQ(-EINVAL, dxt_ioctl(self->me, DXK_IOC_POST, &post));
	}
	for (i = 0; i < sizeof(self->result[0]); i++) {
		rejoin = good_rejoin, rejoin.result_size = i;
		EXPECT_EQ(-EINVAL, dxt_ioctl(self->me, DXK_IOC_REJOIN, &rejoin));
	}
	EXPECT_UNCHANGED("an element that is too small");
	post = good_post, post.entry_size = UINT_MAX;
	REFUSED(E2BIG, self->me, DXK_IOC_POST, &post, sizeof(post), "post huge");
	rejoin = good_rejoin, rejoin.result_size = UINT_MAX;
	REFUSED(E2BIG, self->me, DXK_IOC_REJOIN, &rejoin, sizeof(rejoin), "rejoin huge");

	/* A longer element with something in its tail, behind a good one. */
	{
		struct { struct dxk_post_entry e; uint64_t tail; } longer[2] = {
			{ .e = self->entry[0] }, { .e = self->entry[0], .tail = 1 },
		};

		post = good_post;
		post.entries = DXT_PTR(longer);
		post.nr = 2;
		post.entry_size = sizeof(longer[0]);
		post.index = post.reason = DXT_POISON32;
		EXPECT_EQ(-E2BIG, dxt_ioctl(self->me, DXK_IOC_POST, &post));
		EXPECT_EQ(1, post.index);
		EXPECT_EQ(0, post.reason);
		EXPECT_UNCHANGED("a dirty tail");
	}

	if (self->is == ON_WORKER) {
		struct { struct dxk_done d; uint64_t tail; } longer = {
			.d = { .ticket = 1 }, .tail = 1,
		};

		next = good_next, next.nr_work = 0;
		REFUSED(EINVAL, self->me, DXK_IOC_NEXT, &next, sizeof(next), "next 0");
		for (i = 0; i < ARRAY_SIZE(counts); i++) {
			next = good_next, next.nr_work = counts[i];
			REFUSED(EINVAL, self->me, DXK_IOC_NEXT, &next, sizeof(next),
				"next nr_work");
			next = good_next, next.nr_done = counts[i];
			next.done_size = sizeof(struct dxk_done);
			REFUSED(EINVAL, self->me, DXK_IOC_NEXT, &next, sizeof(next),
				"next nr_done");
		}
		for (i = 0; i < sizeof(self->work[0]); i++) {
			next = good_next, next.work_size = i;
			EXPECT_EQ(-EINVAL, dxt_ioctl(self->me, DXK_IOC_NEXT, &next));
		}
		for (i = 0; i < sizeof(struct dxk_done); i++) {
			next = good_next, next.nr_done = 1, next.done_size = i;
			EXPECT_EQ(-EINVAL, dxt_ioctl(self->me, DXK_IOC_NEXT, &next));
		}
		EXPECT_UNCHANGED("an element that is too small");
		next = good_next, next.work_size = UINT_MAX;
		REFUSED(E2BIG, self->me, DXK_IOC_NEXT, &next, sizeof(next), "next huge");
		next = good_next, next.nr_done = 1, next.done_size = UINT_MAX;
		REFUSED(E2BIG, self->me, DXK_IOC_NEXT, &next, sizeof(next), "next huge");
		next = good_next, next.data_stride = DATA_SIZE - 1;
		REFUSED(EMSGSIZE, self->me, DXK_IOC_NEXT, &next, sizeof(next), "stride");
		next = good_next, next.nr_done = 1, next.done_size = sizeof(longer);
		next.done = DXT_PTR(&longer);
		REFUSED(E2BIG, self->me, DXK_IOC_NEXT, &next, sizeof(next), "dirty");
	}
	EXPECT_TRUE(dxt_poisoned(self->result, sizeof(self->result)));
	EXPECT_TRUE(dxt_poisoned(self->work, sizeof(self->work)));
	EXPECT_TRUE(dxt_poisoned(self->data, sizeof(self->data)));
}

/* A longer element with a zero tail is taken, an answer's tail is cleared. */
TEST_F(abi, longer_elements)
{
	struct { struct dxk_post_entry e; uint64_t tail[3]; } entry = { 0 };
	struct { struct dxk_result r; uint64_t tail[3]; } result[2];
	struct { struct dxk_work w; uint64_t tail[3]; } work[2];
	struct { struct dxk_done d; uint64_t tail[3]; } done = { 0 };
	struct dxk_post post = {
		.size = sizeof(post), .entries = DXT_PTR(&entry), .nr = 1,
		.entry_size = sizeof(entry),
	};
	struct dxk_rejoin rejoin = {
		.size = sizeof(rejoin), .owner = 3, .nr = 2,
		.results = DXT_PTR(result), .result_size = sizeof(result[0]),
	};
	struct dxk_next next = {
		.size = sizeof(next), .nr_work = 1, .work = DXT_PTR(work),
		.work_size = sizeof(work[0]),
	};

	if (self->is == ON_CLIENT)
		SKIP(return, "needs a worker");
	self->me = take_role(&self->t, self->is);
	ASSERT_LE(0, self->me);
	entry.e = dxt_entry(3, 0x1122334455667788, 0x99aabbccddeeff00, PXR_REJOIN);
	entry.e.prio = -5;
	ASSERT_EQ(1, dxt_ioctl(self->me, DXK_IOC_POST, &post));

	dxt_poison(work, sizeof(work));
	ASSERT_EQ(1, dxt_ioctl(self->me, DXK_IOC_NEXT, &next));
	EXPECT_EQ(0x1122334455667788, work[0].w.executor);
	EXPECT_EQ(0x99aabbccddeeff00, work[0].w.param);
	EXPECT_EQ(3, work[0].w.owner);
	EXPECT_EQ(-5, work[0].w.prio);
	EXPECT_EQ(PXR_REJOIN, work[0].w.attrs);
	EXPECT_EQ(-1, work[0].w.fd);
	EXPECT_EQ(0, work[0].tail[0] | work[0].tail[1] | work[0].tail[2]);
	EXPECT_TRUE(dxt_poisoned(&work[1], sizeof(work[1])));

	done.d.ticket = work[0].w.ticket;
	done.d.status = 42;
	next.nr_work = 0;
	next.nr_done = 1;
	next.done = DXT_PTR(&done);
	next.done_size = sizeof(done);
	next.nr_taken = DXT_POISON32;
	EXPECT_EQ(0, dxt_ioctl(self->me, DXK_IOC_NEXT, &next));
	EXPECT_EQ(1, next.nr_taken);

	dxt_poison(result, sizeof(result));
	ASSERT_EQ(1, dxt_ioctl(self->me, DXK_IOC_REJOIN, &rejoin));
	EXPECT_EQ(RJR_RETURNED, rejoin.answer);
	EXPECT_EQ(0x1122334455667788, result[0].r.executor);
	EXPECT_EQ(0x99aabbccddeeff00, result[0].r.param);
	EXPECT_EQ(42, result[0].r.status);
	EXPECT_EQ(-5, result[0].r.prio);
	EXPECT_EQ(self->t.member_id, result[0].r.worker);
	EXPECT_EQ(0, result[0].tail[0] | result[0].tail[1] | result[0].tail[2]);
	EXPECT_TRUE(dxt_poisoned(&result[1], sizeof(result[1])));
}

/* EFAULT of each array and data pointer; arithmetic that overflows. */
TEST_F(abi, bad_array_pointers)
{
	uint64_t bad[] = {
		0, 1, KERNEL_ADDRESS, ~0ULL, ~0ULL - 8, 1ULL << 63,
		0x8000000000000000ULL - 16, 0x800000000000ULL - 8,
		DXT_PTR(self->wall), DXT_PTR(self->wall - 8),
	};
	struct dxk_rejoin rejoin;
	struct dxk_next next;
	struct dxk_post post;
	unsigned int i, nr;

	POPULATE();
	for (i = 0; i < DXK_BATCH_MAX; i++)
		self->entry[i] = dxt_entry(OWNER, DXT_NOP, 0, PXR_REJOIN);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		for (nr = 1; nr <= DXK_BATCH_MAX; nr += DXK_BATCH_MAX - 1) {
			post = (struct dxk_post){
				.size = sizeof(post), .entries = bad[i], .nr = nr,
				.entry_size = sizeof(self->entry[0]),
				.index = DXT_POISON32,
			};
			EXPECT_EQ(-EFAULT, dxt_ioctl(self->me, DXK_IOC_POST, &post))
				TH_LOG("entries %#llx", (unsigned long long)bad[i]);
			EXPECT_EQ(0, post.index);
			EXPECT_UNCHANGED("entries");

			/* the data of the last one */
			self->entry[nr - 1].data = bad[i];
			self->entry[nr - 1].data_len = DATA_SIZE;
			EXPECT_EQ(-EFAULT, dxt_post(self->me, self->entry, nr, 0, &post))
				TH_LOG("data %#llx", (unsigned long long)bad[i]);
			EXPECT_EQ(nr - 1, post.index);
			EXPECT_EQ(0, post.reason);
			EXPECT_UNCHANGED("data of an entry");
			self->entry[nr - 1].data_len = 0;
		}
	}

	/*
	 * REJOIN and NEXT with bad arrays do look at a request: it stays where it
	 * is. Answers are counted, so only pools are compared.
	 */
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		rejoin = (struct dxk_rejoin){
			.size = sizeof(rejoin), .owner = OWNER, .nr = 2,
			.results = bad[i], .result_size = sizeof(self->result[0]),
			.answer = DXT_POISON32,
		};
		EXPECT_EQ(-EFAULT, dxt_ioctl(self->me, DXK_IOC_REJOIN, &rejoin));
		EXPECT_EQ(DXT_POISON32, rejoin.answer);
		rejoin.results = DXT_PTR(self->result);
		rejoin.data = bad[i] ?: 1;
		rejoin.data_stride = UINT_MAX;
		dxt_poison(self->result, sizeof(self->result));
		EXPECT_EQ(-EFAULT, dxt_ioctl(self->me, DXK_IOC_REJOIN, &rejoin));
		EXPECT_TRUE(dxt_poisoned(self->result, sizeof(self->result)));
		EXPECT_EQ(1, dxt_num(&self->t, "pools/rejoin_use"));
		EXPECT_EQ(0, dxt_num(&self->t, "stats/collected"));
	}
	if (self->is == ON_WORKER) {
		for (i = 0; i < ARRAY_SIZE(bad); i++) {
			next = (struct dxk_next){
				.size = sizeof(next), .nr_work = 2, .work = bad[i],
				.work_size = sizeof(self->work[0]),
			};
			EXPECT_EQ(-EFAULT, dxt_ioctl(self->me, DXK_IOC_NEXT, &next));
			next.nr_work = 0;
			next.nr_done = 1;
			next.done = bad[i];
			next.done_size = sizeof(self->done[0]);
			EXPECT_EQ(-EFAULT, dxt_ioctl(self->me, DXK_IOC_NEXT, &next));
			EXPECT_EQ(1, dxt_num(&self->t, "pools/ready_use"));
			EXPECT_EQ(0, dxt_num(&self->t, "pools/thread_busy"));
		}
		EXPECT_EQ(ARRAY_SIZE(bad), dxt_num(&self->t, "stats/put_back"));
	}
	/* Both are still there and whole. */
	EXPECT_EQ(1, dxk_rejoin(self->me, OWNER, self->result, 1, 1, self->data,
				DATA_SIZE, 0, NULL));
	EXPECT_STREQ("result", (char *)self->data);
}

/* What an entry can say wrongly refuses the whole post, the good ones included. */
TEST_F(abi, entries)
{
	static const struct {
		const char *what;
		struct dxk_post_entry e;
		int err;
	} bad[] = {
		{ "two lanes", { .attrs = PXR_LANE0 | PXR_LANE1 }, EINVAL },
		{ "two lanes", { .attrs = PXR_LANE1 | PXR_LANE2 }, EINVAL },
		{ "two lanes", { .attrs = PXR_LANE0 | PXR_LANE2 }, EINVAL },
		{ "three lanes", { .attrs = PXR_LANE0 | PXR_LANE1 | PXR_LANE2 }, EINVAL },
		{ "attrs", { .attrs = 0x80 }, EOPNOTSUPP },
		{ "attrs", { .attrs = 0x400 }, EOPNOTSUPP },
		{ "attrs", { .attrs = 1U << 31 }, EOPNOTSUPP },
		{ "reserved", { .reserved = 1 }, EINVAL },
		{ "reserved", { .reserved = 1U << 31 }, EINVAL },
		{ "a file that is not handed over", { .fd = 1 }, EINVAL },
		{ "a file that is not handed over", { .fd = -1 }, EINVAL },
		{ "data", { .data = 4096, .data_len = DATA_SIZE + 1 }, EMSGSIZE },
		{ "data", { .data = 4096, .data_len = UINT_MAX }, EMSGSIZE },
		{ "result", { .result_len = DATA_SIZE + 1 }, EMSGSIZE },
		{ "result", { .result_len = UINT_MAX }, EMSGSIZE },
		{ "file", { .attrs = PXR_FD, .fd = -1 }, EBADF },
		{ "file", { .attrs = PXR_FD, .fd = INT_MAX }, EBADF },
		{ "file", { .attrs = PXR_FD, .fd = INT_MIN }, EBADF },
	};
	struct dxk_post post;
	unsigned int i, at;
	uint64_t nop;

	POPULATE();
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		for (at = 0; at < 3; at++) {
			self->entry[0] = self->entry[1] = self->entry[2] =
				dxt_entry(OWNER, DXT_NOP, 0, PXR_REJOIN);
			self->entry[at] = bad[i].e;
			EXPECT_EQ(-bad[i].err,
				  dxt_post(self->me, self->entry, 3, 0, &post))
				TH_LOG("%s %u", bad[i].what, i);
			EXPECT_EQ(at, post.index);
			EXPECT_EQ(0, post.reason);
			EXPECT_UNCHANGED(bad[i].what);
		}
	}
	/* An executor there is, but no kernel worker */
	ASSERT_EQ(0, dxk_executor_find(self->t.ctl, "nop", &nop));
	EXPECT_EQ(-ENODEV, dxt_post1(self->me, OWNER, nop, 0, PXR_KERNEL, 0, NULL));
	EXPECT_UNCHANGED("a post for a kernel worker");
}

/* ENOENT: an id that no executor has, not even one whose neighbour has. */
TEST(unknown_executor)
{
	static const char *const names[] = { "nop", "echo", "sleep" };
	struct dxt_snapshot before, now;
	uint64_t bad[] = { 0, 4711, ~0ULL, 1ULL << 32, 1ULL << 63 };
	unsigned int i;
	uint64_t id;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 2;
	t.policy.kernel_threads = 1;
	ASSERT_EQ(0, dxt_start(&t));
	dxt_snapshot(&t, &before);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(-ENOENT, dxt_post1(t.member, 1, bad[i], 0, PXR_KERNEL, 0, NULL));
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		ASSERT_EQ(0, dxk_executor_find(t.ctl, names[i], &id));
		EXPECT_EQ(-ENOENT, dxt_post1(t.member, 1, id | 1ULL << 32, 0, PXR_KERNEL,
					     0, NULL));
	}
	dxt_snapshot(&t, &now);
	EXPECT_EQ(NULL, dxt_differs(&before, &now))
		TH_LOG("%s", dxt_differs(&before, &now));
	dxt_down(&t);
}

/* The other way round: kernel workers only. */
TEST(no_user_worker)
{
	struct dxt_snapshot before, now;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = t.policy.kernel_threads = 1;
	ASSERT_EQ(0, dxt_start(&t));
	dxt_snapshot(&t, &before);
	EXPECT_EQ(-ENODEV, dxt_post1(t.member, 1, DXT_NOP, 0, 0, 0, NULL));
	EXPECT_EQ(-ENODEV, dxk_member_create(t.ctx, DXK_MEMBER_WORKER, NULL));
	dxt_snapshot(&t, &now);
	EXPECT_EQ(NULL, dxt_differs(&before, &now))
		TH_LOG("%s", dxt_differs(&before, &now));
	dxt_down(&t);
}

/* EBADF and ELOOP: files that a request may not hold. */
TEST_F(abi, files)
{
	int fds[32], pair[2], pipes[2], closed, ring, path_fd, wrong = 0, right = 0;
	struct io_uring_params params = { 0 };
	unsigned int i, nr = 0;
	sigset_t none;

	POPULATE();
	sigemptyset(&none);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	fds[nr++] = pair[0];
	fds[nr++] = pair[1];
	fds[nr++] = socket(AF_UNIX, SOCK_DGRAM, 0);
	fds[nr++] = epoll_create1(0);
	fds[nr++] = eventfd(0, 0);
	fds[nr++] = timerfd_create(CLOCK_MONOTONIC, 0);
	fds[nr++] = signalfd(-1, &none, 0);
	fds[nr++] = inotify_init1(0);
	fds[nr++] = self->t.ctl;
	fds[nr++] = self->t.ctx;
	fds[nr++] = self->me;
	fds[nr++] = open(DXK_DEVICE, O_RDONLY);
	for (i = 0; i < nr; i++)
		ASSERT_LE(0, fds[i]);
	ring = (int)syscall(SYS_io_uring_setup, 1, &params);
	if (ring >= 0)
		fds[nr++] = ring;
	else
		TH_LOG("io_uring is not to be had: %s", strerror(errno));
	for (i = 0; i < nr; i++) {
		self->entry[0] = dxt_entry(OWNER, DXT_NOP, 0, PXR_FD);
		self->entry[0].fd = fds[i];
		EXPECT_EQ(-ELOOP, dxk_post(self->me, self->entry, 1, 0, NULL))
			TH_LOG("file %u", i);
		EXPECT_UNCHANGED("a file");
		wrong++;
	}
	EXPECT_LE(12, wrong);

	path_fd = open("/", O_PATH);
	ASSERT_LE(0, path_fd);
	self->entry[0].fd = path_fd;
	EXPECT_EQ(-EBADF, dxk_post(self->me, self->entry, 1, 0, NULL));
	closed = dup(0);
	close(closed);
	self->entry[0].fd = closed;
	EXPECT_EQ(-EBADF, dxk_post(self->me, self->entry, 1, 0, NULL));
	EXPECT_UNCHANGED("a file that is not open");

	/* What holds nothing else goes; a cancel lets go of it. */
	ASSERT_EQ(0, pipe(pipes));
	fds[0] = open("/dev/null", O_RDWR);
	fds[1] = pipes[1];
	fds[2] = (int)syscall(SYS_memfd_create, "x", 0);
	fds[3] = open("/proc/self/exe", O_RDONLY);
	for (i = 0; i < 4; i++) {
		ASSERT_LE(0, fds[i]);
		self->entry[0].fd = fds[i];
		right += dxk_post(self->me, self->entry, 1, 0, NULL);
		close(fds[i]);
	}
	EXPECT_EQ(4, right);
	EXPECT_EQ(5, dxt_num(&self->t, "pools/ready_use"));
	/* the pipe's other end sees whether somebody still holds it */
	{
		struct pollfd p = { .fd = pipes[0], .events = POLLIN };

		EXPECT_EQ(0, poll(&p, 1, 0));
		EXPECT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_CANCEL, DXT_SEC));
		/* file references are dropped by delayed work */
		EXPECT_TRUE(DXT_UNTIL(&self->t, poll(&p, 1, 0) == 1 &&
						(p.revents & POLLHUP)));
	}
}

struct stranger {
	int fd;
	int rc[4];
	struct dxk_post post;
	struct dxk_rejoin rejoin;
	struct dxk_next next;
};

static void *use_member(void *arg)
{
	struct stranger *s = arg;

	s->rc[0] = dxt_ioctl(s->fd, DXK_IOC_POST, &s->post);
	s->rc[1] = dxt_ioctl(s->fd, DXK_IOC_REJOIN, &s->rejoin);
	s->rc[2] = dxt_ioctl(s->fd, DXK_IOC_NEXT, &s->next);
	s->rc[3] = dxt_ioctl(s->fd, DXK_IOC_VERSION, &s->next);
	return NULL;
}

/* DX-23: a member is for the thread that made it, no other, no child. */
TEST_F(abi, member_of_another_thread)
{
	struct dxk_post_entry entry = dxt_entry(OWNER, DXT_NOP, 0, PXR_REJOIN);
	struct stranger was, *s = dxt_shared(sizeof(*s));
	pthread_t thread;
	pid_t pid;

	POPULATE();
	dxt_poison(self->result, sizeof(self->result));
	dxt_poison(self->work, sizeof(self->work));
	*s = (struct stranger){
		.fd = self->me,
		.post = { .size = sizeof(s->post), .entries = DXT_PTR(&entry), .nr = 1,
			  .entry_size = sizeof(entry) },
		.rejoin = { .size = sizeof(s->rejoin), .owner = OWNER, .nr = 1,
			    .results = DXT_PTR(self->result),
			    .result_size = sizeof(self->result[0]) },
		.next = { .size = sizeof(s->next), .work = DXT_PTR(self->work),
			  .nr_work = 1, .work_size = sizeof(self->work[0]) },
	};
	was = *s;
	ASSERT_EQ(0, pthread_create(&thread, NULL, use_member, s));
	pthread_join(thread, NULL);
	EXPECT_EQ(-EPERM, s->rc[0]);
	EXPECT_EQ(-EPERM, s->rc[1]);
	EXPECT_EQ(self->is == ON_WORKER ? -EPERM : -ENOTTY, s->rc[2]);
	EXPECT_EQ(-ENOTTY, s->rc[3]);
	EXPECT_UNCHANGED("another thread");

	pid = dxt_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		memset(s->rc, 0, sizeof(s->rc));
		use_member(s);
		/* its close is not the last one: the member lives on */
		close(s->fd);
		_exit(0);
	}
	EXPECT_EQ(0, dxt_reap(pid));
	EXPECT_EQ(-EPERM, s->rc[0]);
	EXPECT_EQ(-EPERM, s->rc[1]);
	EXPECT_EQ(self->is == ON_WORKER ? -EPERM : -ENOTTY, s->rc[2]);
	EXPECT_UNCHANGED("a child");
	EXPECT_EQ(0, memcmp(&s->post, &was.post, sizeof(was.post)));
	EXPECT_EQ(0, memcmp(&s->rejoin, &was.rejoin, sizeof(was.rejoin)));
	EXPECT_EQ(0, memcmp(&s->next, &was.next, sizeof(was.next)));
	EXPECT_TRUE(dxt_poisoned(self->result, sizeof(self->result)));
	EXPECT_TRUE(dxt_poisoned(self->work, sizeof(self->work)));
	/* and its own thread can use it as before */
	EXPECT_EQ(1, dxt_post1(self->me, OWNER, DXT_NOP, 0, 0, 0, NULL));
}

/* Without room for a descriptor nothing is made. */
TEST_F(abi, no_descriptor)
{
	struct rlimit_pair { unsigned long cur, max; } old, none = { 0, 0 };
	struct dxk_ctx_create create = { .size = sizeof(create), .fd = -7, .id = 77 };
	struct dxk_member_create member = { .size = sizeof(member), .fd = -7, .id = 77 };

	POPULATE();
	ASSERT_EQ(0, syscall(SYS_prlimit64, 0, 7 /* NOFILE */, NULL, &old));
	none.max = old.max;
	ASSERT_EQ(0, syscall(SYS_prlimit64, 0, 7, &none, NULL));
	EXPECT_EQ(-EMFILE, dxt_ioctl(self->t.ctl, DXK_IOC_CTX_CREATE, &create));
	EXPECT_EQ(-EMFILE, dxt_ioctl(self->t.ctx, DXK_IOC_MEMBER_CREATE, &member));
	member.kind = DXK_MEMBER_WORKER;
	EXPECT_EQ(-EMFILE, dxt_ioctl(self->t.ctx, DXK_IOC_MEMBER_CREATE, &member));
	ASSERT_EQ(0, syscall(SYS_prlimit64, 0, 7, &old, NULL));
	EXPECT_EQ(-7, create.fd);
	EXPECT_EQ(77, create.id);
	EXPECT_EQ(-7, member.fd);
	EXPECT_EQ(77, member.id);
	EXPECT_UNCHANGED("a call without room for a descriptor");
	EXPECT_FALSE(dxt_exists(&self->t, "threads/1000"));
}

/* What a call answers is filled in whole: poison must not shine through. */
TEST(answers)
{
	struct dxk_version version;
	struct dxk_executor_find find = { .size = sizeof(find), .name = "nop" };
	struct dxk_policy policy;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	dxt_poison(&version, sizeof(version));
	version.size = sizeof(version);
	ASSERT_EQ(0, dxt_ioctl(t.ctl, DXK_IOC_VERSION, &version));
	EXPECT_EQ(sizeof(version), version.size);
	EXPECT_EQ(DXK_ABI_VERSION, version.abi);
	EXPECT_EQ(DXK_CAP_KERNEL_WORKERS | DXK_CAP_USER_WORKERS |
		  DXK_CAP_DISPATCH_THREAD | DXK_CAP_NAMES | DXK_CAP_HELP |
		  DXK_CAP_SPARE, version.capabilities);
	EXPECT_EQ(DXK_BATCH_MAX, version.batch_max);
	EXPECT_EQ(499, version.max_threads);
	EXPECT_EQ(1 << 20, version.max_entries);
	EXPECT_EQ(4096, version.data_max);

	find.id = DXT_POISON32;
	ASSERT_EQ(0, dxt_ioctl(t.ctx, DXK_IOC_EXECUTOR_FIND, &find));
	EXPECT_NE(DXT_POISON32, find.id);
	EXPECT_STREQ("nop", find.name);

	dxt_poison(&policy, sizeof(policy));
	policy.size = sizeof(policy);
	ASSERT_EQ(0, dxt_ioctl(t.ctx, DXK_IOC_POLICY_GET, &policy));
	EXPECT_EQ(sizeof(policy), policy.size);
	EXPECT_EQ(0, policy.bad_field);
	for (uint32_t *p = &policy.sched_mode; p <= &policy.max_spares; p++)
		EXPECT_NE(DXT_POISON32, *p);
	dxt_close(&t);
}

TEST_HARNESS_MAIN
