// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that never comes: every call with its argument, its reply, and each array and
 * buffer it points to on a page that userfaultfd does not serve. Who made the call sleeps
 * in it, holds up nobody, and ends by SIGKILL (DX-113): others join, post, fetch, collect,
 * look, change the policy, stop and start the same context meanwhile, and are killed. The
 * cases are those of calls.h.
 *
 * On the debug kernel each third place is tried, which third says the seed; with DXK_LONG=1
 * each one is.
 */
#include "lib/calls/calls.h"
#include "lib/puppet.h"

#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#define PAGE		4096
#define ARGUMENT	-1	/* as it is read */
#define REST		-2	/* behind its size, which is there */
#define REPLY		-3	/* as it is written */
#define ALL	(DXK_ACCESS_EXECUTE | DXK_ACCESS_WRITE | DXK_ACCESS_READ | DXK_ACCESS_CONTROL)

#define STEPS(X)								\
	X(JOIN) X(MEMBERS) X(POST) X(NEXT) X(REJOIN) X(POLICY) X(LOG)		\
	X(HANDLE) X(COMMAND) X(SYSFS) X(CREATE) X(CLOSE) X(STOP) X(START) X(SLEEP)
#define STEP_ENUM(_name)	_name,
#define STEP_STRING(_name)	#_name,
enum { NONE, STEPS(STEP_ENUM) };
static const char *const step_name[] = { "none", STEPS(STEP_STRING) };

/* In memory that all share. */
struct shared {
	_Atomic bool optional;		/* memory that the call may leave alone */
	_Atomic bool stuck;		/* the victim touched the page */
	_Atomic bool returned;		/* its call did, with rc */
	_Atomic int rc;
	_Atomic unsigned int step;	/* what others are at */
	_Atomic int answer;		/* that should not be, of step wrong */
	_Atomic unsigned int wrong;
	char why[160];			/* the case could not be set up */
};

FIXTURE(unserved) {
	struct env e;
	struct shared *s;
	unsigned int places, tried, slept;
};
typedef FIXTURE_DATA(unserved) unserved;

FIXTURE_SETUP(unserved)
{
	const char *why = env_up(&self->e) ?: complete(&self->e);

	ASSERT_EQ(NULL, why) TH_LOG("%s", why);
	/* each victim has a worker of its own */
	close(self->e.me);
	self->e.me = -1;
	self->s = dxt_shared(sizeof(*self->s));
	self->places = (unsigned int)the_seed() % 3;
}

FIXTURE_TEARDOWN(unserved)
{
	printf("# %u places, %u times the caller slept\n", self->tried, self->slept);
	env_down(&self->e);
}

/* --- the page --------------------------------------------------------------------- */

/*
 * A page that does not come, or one that is there and cannot be written. Before it is one
 * as any other.
 */
static void *page_of(int *uffd, const void *content, size_t len)
{
	struct uffdio_api api = {
		.api = UFFD_API, .features = content ? UFFD_FEATURE_PAGEFAULT_FLAG_WP : 0,
	};
	struct uffdio_register area = {
		.mode = content ? UFFDIO_REGISTER_MODE_WP : UFFDIO_REGISTER_MODE_MISSING,
	};
	struct uffdio_writeprotect protect = { .mode = UFFDIO_WRITEPROTECT_MODE_WP };
	unsigned char *map = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *page = map + PAGE;

	*uffd = (int)syscall(__NR_userfaultfd, O_CLOEXEC);
	area.range.start = protect.range.start = (uintptr_t)page;
	area.range.len = protect.range.len = PAGE;
	if (map == MAP_FAILED || *uffd < 0 || ioctl(*uffd, UFFDIO_API, &api))
		return NULL;
	if (content)
		memcpy(page, content, len);
	if (ioctl(*uffd, UFFDIO_REGISTER, &area) ||
	    (content && ioctl(*uffd, UFFDIO_WRITEPROTECT, &protect)))
		return NULL;
	return page;
}

static struct shared *the_shared;

static void *wait_for_touch(void *uffd)
{
	struct uffd_msg msg;

	if (read((int)(intptr_t)uffd, &msg, sizeof(msg)) == sizeof(msg))
		the_shared->stuck = true;
	pause();
	return NULL;
}

/* --- who makes the call ----------------------------------------------------------- */

static const char *call_it(struct env *e, const struct row *r, int which, struct shared *s)
{
	unsigned char *arg = e->arg.bytes, *page;
	const char *why;
	pthread_t thread;
	int uffd;

	e->me = dxk_member_create(e->t.ctx, DXK_MEMBER_WORKER, &e->id);
	if (e->me < 0)
		return "no worker";
	why = prepare(e, r);
	if (why)
		return why;
	page = page_of(&uffd, which == REPLY ? arg : NULL, sizeof(e->arg));
	the_shared = s;
	if (!page || pthread_create(&thread, NULL, wait_for_touch, (void *)(intptr_t)uffd))
		return "no userfaultfd";
	if (which >= 0)
		*e->buf[which].where = DXT_PTR(page);
	else
		arg = which == REST ? page - sizeof(e->arg.size) : page;
	if (which == REST)
		memcpy(arg, &e->arg.size, sizeof(e->arg.size));
	s->optional = which == REPLY ? r->read_only != -EFAULT :
				       which >= 0 && e->buf[which].kind == IGNORED;
	s->rc = dxt_ioctl(row_fd(e, r), r->cmd, arg);
	s->returned = true;
	return NULL;
}

static _Noreturn void be_victim(unserved *self, const struct row *r, int which)
{
	const char *why = call_it(&self->e, r, which, self->s);

	if (why) {
		snprintf(self->s->why, sizeof(self->s->why), "%s", why);
		self->s->returned = true;
	}
	for (;;)
		pause();
}

/* --- others ------------------------------------------------------------------------ */

/* An answer; what else there may be is that it is full, stops, or asks the victim. */
static void answers(struct shared *s, unsigned int step, int rc)
{
	switch (rc) {
	case -EAGAIN: case -ENOSPC: case -ESHUTDOWN: case -ETIMEDOUT: case -EBUSY:
	case -ENODEV:	/* no log file, of what does not run */
		return;
	}
	if (rc < 0 && !s->wrong) {
		s->answer = rc;
		s->wrong = step;
	}
}

#define AT(_step, _call) do {			\
	s->step = _step;			\
	answers(s, _step, _call);		\
} while (0)

static void use_services(const struct env *e, struct shared *s, int ctx, int client)
{
	struct dxk_policy p;
	char reply[64];
	uint64_t handle;
	int status;

	AT(POLICY, dxk_policy_get(ctx, &p) ?: dxk_policy_set(ctx, &p, NULL));
	AT(LOG, dxk_log_write(client, "text", 4, 0, 0));
	AT(HANDLE, dxk_handle_open(ctx, e->file, &handle) ?: dxk_handle_close(ctx, handle));
	AT(COMMAND, dxk_command_send(ctx, "show lanes", 10, reply, sizeof(reply), &status,
				     DXT_MS));
}

static _Noreturn void be_others(const struct env *e, struct shared *s, unsigned int id)
{
	struct dxt t = { .ctl = dxk_open(), .id = id };
	struct dxk_result r;
	struct dxk_work w;
	int client, worker, ctx, fd;
	char text[16];

	AT(JOIN, t.ctx = dxk_ctx_join_id(t.ctl, id, ALL, 0));
	AT(MEMBERS, client = dxk_member_create(t.ctx, DXK_MEMBER_CLIENT, NULL));
	AT(MEMBERS, worker = dxk_member_create(t.ctx, DXK_MEMBER_WORKER, NULL));
	AT(POST, dxt_post1(client, OWNER, e->nop, 0, PXR_KERNEL | PXR_REJOIN, 0, NULL));
	if (worker >= 0)
		AT(NEXT, dxk_next(worker, NULL, 0, NULL, &w, 1, NULL, 0, 0));
	AT(REJOIN, dxt_rejoin(client, OWNER, &r, 1, 1, dxt_in((int64_t)dxt_stall_ns() / 2),
			      NULL));
	use_services(e, s, t.ctx, client);
	AT(SYSFS, dxt_text(&t, text, sizeof(text), "state") ? 0 : -EIO);
	AT(CREATE, fd = dxk_ctx_create(t.ctl, NULL));
	s->step = CLOSE;
	close(fd);
	close(worker);
	ctx = dxk_ctx_join_id(t.ctl, id, ALL, DXK_JOIN_SHARED);
	AT(STOP, dxk_ctx_stop(ctx, DXK_STOP_CANCEL, 20 * DXT_MS));
	AT(START, dxk_ctx_start(ctx));
	close(ctx);
	s->step = SLEEP;
	for (;;) {
		dxk_next(client, NULL, 0, NULL, &w, 1, NULL, 0, -1);
		dxk_rejoin(client, OWNER, &r, 1, 1, NULL, 0, -1, NULL);
		pause();
	}
}

/* Does each of their steps end? */
static bool others_pass(struct shared *s)
{
	unsigned int at = NONE;

	while (at != SLEEP) {
		if (!DXT_WITHIN(dxt_stall_ns(), s->step != at))
			return false;
		at = s->step;
	}
	return true;
}

/* --- one place ---------------------------------------------------------------------- */

static bool can_be_killed(pid_t pid)
{
	kill(pid, SIGKILL);
	if (!DXT_WITHIN(dxt_stall_ns(), dxt_gone(pid)))
		return false;
	dxt_reap(pid);
	return true;
}

/* As the next case is to find it. */
static const char *restore(struct env *e)
{
	struct dxk_log_record record;

	dxk_log_file(e->t.ctx, -1);
	if (dxk_ctx_stop(e->other.ctx, DXK_STOP_CANCEL, dxt_late_ns()) ||
	    dxk_ctx_stop(e->t.ctx, DXK_STOP_CANCEL, dxt_late_ns()))
		return "Stop";
	if (dxt_drain(&e->t, e->t.member, OWNER) < 0 ||
	    dxt_drain(&e->t, e->t.member, OWNER + 1) < 0)
		return "the results";
	while (dxk_log_read(e->t.ctx, &record, 1, 0) == 1)
		;
	return dxk_ctx_start(e->t.ctx) ? "Start" : NULL;
}

static const char *try_place(unserved *self, const struct row *r, int which)
{
	static char text[120];
	struct env *e = &self->e;
	struct shared *s = self->s;
	const char *why = NULL;
	pid_t victim, others;

	memset(s, 0, sizeof(*s));
	victim = dxt_fork();
	if (!victim)
		be_victim(self, r, which);
	if (!DXT_SOON(s->stuck || s->returned))
		why = "the call was not begun";
	else if (s->why[0])
		why = s->why;
	else if (s->returned && !s->optional)
		why = "the call did without that memory";
	if (s->stuck && !why) {
		self->slept++;
		others = dxt_fork();
		if (!others)
			be_others(e, s, row_fd(e, r) == e->other.ctx ? e->other.id : e->t.id);
		if (!others_pass(s))
			why = "others wait";
		else if (s->wrong)
			why = "others are not answered";
		else if (s->returned)
			why = "the call returned";
		if (why)
			snprintf(text, sizeof(text), "%s: %s, %d", why,
				 step_name[s->wrong ?: s->step], s->answer);
		why = why ? text : NULL;
		if (!can_be_killed(others) && !why)
			why = "others do not end";
	}
	if (!can_be_killed(victim))
		return "it does not end";
	return restore(e) ?: why;
}

static bool is_turn(unserved *self)
{
	return self->places++ % 3 == 0 || !dxt_debug_kernel() || getenv("DXK_LONG");
}

#define TRY(_r, _which) do {							\
	const char *_why;							\
										\
	if (!is_turn(self))							\
		break;								\
	dxt_tell("%s", (_r)->name);						\
	_why = try_place(self, _r, _which);					\
	self->tried++;								\
	ASSERT_EQ(NULL, _why) TH_LOG("%s, memory %d: %s", (_r)->name, _which, _why); \
} while (0)

/* Nothing of it comes, or nothing behind its size: by turns, if it is not to take long. */
TEST_F(unserved, argument)
{
	const struct row *r;

	for (r = rows; r < rows + ROWS; r++) {
		if (getenv("DXK_LONG") || (r - rows) % 2)
			TRY(r, ARGUMENT);
		if (getenv("DXK_LONG") || (r - rows) % 2 == 0)
			TRY(r, REST);
	}
}

TEST_F(unserved, reply)
{
	const struct row *r;

	for (r = rows; r < rows + ROWS; r++)
		TRY(r, REPLY);
}

/* How many buffers a case has is known when it was set up, by somebody else. */
static unsigned int buffers(unserved *self, const struct row *r)
{
	struct env *e = &self->e;
	pid_t pid = dxt_fork();

	if (!pid) {
		e->me = dxk_member_create(e->t.ctx, DXK_MEMBER_WORKER, &e->id);
		_exit(prepare(e, r) ? 99 : (int)e->bufs);
	}
	return (unsigned int)WEXITSTATUS(dxt_reap(pid));
}

TEST_F(unserved, buffers)
{
	const struct row *r;
	unsigned int i, nr;
	const char *why;

	for (r = rows; r < rows + ROWS; r++) {
		nr = buffers(self, r);
		why = restore(&self->e);
		ASSERT_EQ(NULL, why);
		ASSERT_GE(BUFS, nr);
		for (i = 0; i < nr; i++)
			TRY(r, (int)i);
	}
}

TEST_HARNESS_MAIN
