// SPDX-License-Identifier: GPL-2.0-only
/*
 * Handlers of commands (DX-30..DX-32, D-9) in threads and processes: what each sees
 * and answers, what a wrong or a slow one does, when it is woken, by ticks (DX-29) and
 * by timed commands; handlers that come and go while others send or stop.
 */
#include "lib/command.h"

#include <poll.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- a context that ticks, a handler in a thread --------------------------- */

#define PENDING	64	/* most commands that wait, most timed ones */

/* A context whose Monitor ticks every @ms. */
static int up(struct dxt *t, unsigned int ms)
{
	int rc = dxt_open(t);

	t->policy.monitor_interval_ms = ms;
	return rc ? rc : dxt_start(t);
}

/* What "show commands" says in its second line. */
static int waiting(struct dxt *t)
{
	char reply[DXK_COMMAND_MAX + 1], *at;

	if (ask(t, "show commands", reply, sizeof(reply)))
		return -1;
	at = strstr(reply, "waiting: ");
	return at ? atoi(at + 9) : -1;
}

/*
 * A handler in a thread of its own. "hold" keeps it until the gate opens, "echo X"
 * answers with the whole text, "set boost_value 99" it replaces; all else it does
 * not know.
 */
struct handler {
	struct dxt *t;
	enum dxk_member_kind kind;
	struct dxt_gate *gate;
	pthread_t thread;
	int fd;
	unsigned int id;
	_Atomic int ready;	/* attached, or error is set */
	_Atomic int quit;
	_Atomic int ended;
	_Atomic unsigned int ticks;
	_Atomic unsigned int texts;
	int error;		/* what ended its loop */
	bool keep;		/* ends without closing the member */
	char text[DXK_COMMAND_MAX + 1];	/* the last one */
};

static int handle(struct handler *h, size_t len)
{
	h->text[len] = '\0';
	h->texts++;
	if (!strcmp(h->text, "hold")) {
		dxt_gate_pass(h->gate, 0);
		return 0;
	}
	if (!strncmp(h->text, "echo ", 5) || !strcmp(h->text, "set boost_value 99"))
		return 0;
	return strcmp(h->text, "fail") ? -ENOENT : -EXDEV;
}

static void handler_loop(struct handler *h)
{
	char reply[DXK_COMMAND_MAX];
	size_t len, reply_len = 0;
	int rc, status = 0;

	for (;;) {
		rc = dxk_command_next(h->fd, status, reply, reply_len, h->text, &len, -1);
		reply_len = 0;
		status = 0;
		if (rc == DXK_COMMAND_TICK) {
			h->ticks++;
		} else if (rc == DXK_COMMAND_TEXT) {
			status = handle(h, len);
			reply_len = len;
			memcpy(reply, h->text, len);
		} else if (rc != -EINTR || h->quit) {
			h->error = rc;
			return;
		}
	}
}

static void *handler_thread(void *arg)
{
	struct handler *h = arg;

	h->fd = dxk_member_create(h->t->ctx, h->kind, &h->id);
	h->error = h->fd < 0 ? h->fd : dxk_command_attach(h->fd, 1);
	h->ready = 1;
	if (!h->error)
		handler_loop(h);
	if (h->fd >= 0 && !h->keep)
		close(h->fd);
	h->ended = 1;
	return NULL;
}

static void ignore(int sig)
{
	(void)sig;
}

static struct handler *handler_start_as(struct dxt *t,
					enum dxk_member_kind kind)
{
	struct sigaction sa = { .sa_handler = ignore };
	struct handler *h = calloc(1, sizeof(*h));

	sigaction(DXT_NUDGE, &sa, NULL);
	h->t = t;
	h->kind = kind;
	h->gate = dxt_gate_new();
	if (pthread_create(&h->thread, NULL, handler_thread, h))
		abort();
	while (!h->ready)
		dxt_sleep_ms(1);
	return h;
}

static struct handler *handler_start(struct dxt *t)
{
	return handler_start_as(t, DXK_MEMBER_CLIENT);
}

static void handler_free(struct handler *h)
{
	dxt_gate_free(h->gate);
	free(h);
}

/* Has it leave; why its loop ended. */
static int handler_end(struct handler *h)
{
	int error;

	h->quit = 1;
	dxt_gate_open(h->gate);
	while (!h->ended) {
		pthread_kill(h->thread, DXT_NUDGE);
		dxt_sleep_ms(1);
	}
	pthread_join(h->thread, NULL);
	error = h->error;
	handler_free(h);
	return error;
}

/* --- abuse ------------------------------------------------------------------- */

/* A member that is no handler, wrong values */
TEST(abuse_handler)
{
	struct dxk_command_attach attach = { .size = sizeof(attach), .attach = 2 };
	struct dxk_command_next next = { .size = sizeof(next) };
	char text[DXK_COMMAND_MAX];
	size_t len;
	struct dxt t;

	ASSERT_EQ(0, up(&t, 10000));
	EXPECT_EQ(-EPERM, dxk_command_next(t.member, 0, NULL, 0, text, &len, 0));
	EXPECT_EQ(-EOPNOTSUPP, dxt_ioctl(t.member, DXK_IOC_COMMAND_ATTACH, &attach));
	EXPECT_EQ(-EPERM, dxk_command_next(t.member, 0, NULL, 0, text, &len, 0));
	EXPECT_EQ(0, dxk_command_attach(t.member, 0));
	EXPECT_EQ(0, dxk_command_attach(t.member, 1));
	EXPECT_EQ(0, dxk_command_attach(t.member, 1));
	EXPECT_EQ(-ETIMEDOUT, dxk_command_next(t.member, 0, NULL, 0, text, &len, 0));
	/* it owes nothing: the answer is ignored, be it wrong */
	EXPECT_EQ(-ETIMEDOUT, dxk_command_next(t.member, 5, NULL, 99, text, &len, 0));
	next.text_room = DXK_COMMAND_MAX - 1;
	next.text = DXT_PTR(text);
	EXPECT_EQ(-EMSGSIZE, dxt_ioctl(t.member, DXK_IOC_COMMAND_NEXT, &next));

	/* what cannot be copied out is still to come */
	ASSERT_EQ(0, tell(&t, "one"));
	ASSERT_EQ(0, tell(&t, "two"));
	next.text_room = DXK_COMMAND_MAX;
	next.text = 8;
	EXPECT_EQ(-EFAULT, dxt_ioctl(t.member, DXK_IOC_COMMAND_NEXT, &next));
	EXPECT_EQ(DXK_COMMAND_TEXT,
		  dxk_command_next(t.member, 0, NULL, 0, text, &len, 0));
	EXPECT_EQ(3, len);
	EXPECT_EQ(0, memcmp(text, "one", 3));
	/* an answer that is wrong or cannot be copied in is still owed */
	EXPECT_EQ(-EFAULT, dxk_command_next(t.member, 0, (void *)8, 9, text, &len, 0));
	EXPECT_EQ(-EINVAL, dxk_command_next(t.member, 1, NULL, 0, text, &len, 0));
	EXPECT_EQ(-EINVAL, dxk_command_next(t.member, -4096, NULL, 0, text, &len, 0));
	EXPECT_EQ(-EMSGSIZE, dxk_command_next(t.member, 0, text, DXK_COMMAND_MAX + 1,
					      text, &len, 0));
	EXPECT_EQ(DXK_COMMAND_TEXT,
		  dxk_command_next(t.member, 0, NULL, 0, text, &len, 0));
	EXPECT_EQ(0, memcmp(text, "two", 3));
	EXPECT_EQ(-ETIMEDOUT, dxk_command_next(t.member, 0, NULL, 0, text, &len, 0));

	/* DX-31: an answer that comes too late changes nothing */
	EXPECT_EQ(0, dxk_command_attach(t.member, 0));
	EXPECT_EQ(-EPERM, dxk_command_next(t.member, 0, NULL, 0, text, &len, 0));
	dxt_down(&t);
}

/* A sender whose answer cannot be delivered: the answer is not lost on retry. */
TEST(abuse_answer)
{
	char text[DXK_COMMAND_MAX];
	struct sender *s;
	size_t len;
	struct dxt t;

	ASSERT_EQ(0, up(&t, 10000));
	ASSERT_EQ(0, dxk_command_attach(t.member, 1));
	s = sender_start(&t, "what");
	ASSERT_EQ(DXK_COMMAND_TEXT,
		  dxk_command_next(t.member, 0, NULL, 0, text, &len, dxt_late_ns()));
	EXPECT_EQ(-EFAULT, dxk_command_next(t.member, -EXDEV, (void *)8, 9, text, &len, 0));
	EXPECT_EQ(-EINVAL, dxk_command_next(t.member, 3, "that", 4, text, &len, 0));
	dxt_sleep_ms(10);
	EXPECT_EQ(0, s->done);
	EXPECT_EQ(-ETIMEDOUT, dxk_command_next(t.member, -EXDEV, "that", 4, text, &len, 0));
	pthread_join(s->thread, NULL);
	EXPECT_EQ(-EXDEV, s->ret);
	EXPECT_STREQ("that", s->reply);
	free(s);

	/* DX-30: it gets the context's own command when it asks itself: to extend it */
	EXPECT_EQ(0, ask(&t, "show pools", text, sizeof(text)));
	EXPECT_NE(NULL, strstr(text, "high_water"));
	EXPECT_EQ(-ENOENT, ask(&t, "me", text, sizeof(text)));
	EXPECT_EQ(0, tell(&t, "me"));
	EXPECT_EQ(DXK_COMMAND_TEXT,
		  dxk_command_next(t.member, 0, NULL, 0, text, &len, 0));
	EXPECT_EQ(0, dxk_command_attach(t.member, 0));
	dxt_down(&t);
}

/* --- handlers ---------------------------------------------------------------- */

/* DX-30: it sees each command first; what it does not know is the context's own */
TEST(handler)
{
	char reply[DXK_COMMAND_MAX + 1], text[32];
	struct handler *h;
	struct dxt t;
	int i;

	ASSERT_EQ(0, up(&t, 10000));
	h = handler_start(&t);
	EXPECT_EQ(0, h->error);
	for (i = 0; i < 200; i++) {
		snprintf(text, sizeof(text), "echo %d", i);
		EXPECT_EQ(0, ask(&t, text, reply, sizeof(reply)));
		EXPECT_STREQ(text, reply);
	}
	EXPECT_EQ(200, h->texts);
	EXPECT_EQ(-EXDEV, ask(&t, "fail", reply, sizeof(reply)));
	EXPECT_STREQ("fail", reply);
	EXPECT_EQ(-ENOENT, ask(&t, "who knows", reply, sizeof(reply)));
	EXPECT_STREQ("", reply);
	EXPECT_EQ(0, ask(&t, "show commands", reply, sizeof(reply)));
	EXPECT_NE(NULL, strstr(reply, "handler: thread 1000\nwaiting: 0\n"));
	/* a system command of the context's, replaced */
	EXPECT_EQ(0, ask(&t, "set boost_value 99", reply, sizeof(reply)));
	EXPECT_EQ(0, ask(&t, "set boost_value 98", reply, sizeof(reply)));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "policy/boost_value") == 98));
	EXPECT_EQ(205, h->texts);
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_member_is(&t, h->id, "listening")));

	/* nobody waits for the answers: what it does not know is done all the same */
	EXPECT_EQ(0, tell(&t, "set boost_value 97"));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "policy/boost_value") == 97));
	EXPECT_EQ(-EINTR, handler_end(h));
	EXPECT_EQ(0, ask(&t, "set boost_value 99", reply, sizeof(reply)));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "policy/boost_value") == 99));
	dxt_down(&t);
}

/* A worker may be the handler, too. */
TEST(handler_worker)
{
	char reply[DXK_COMMAND_MAX + 1];
	struct handler *h;
	struct dxt t;

	ASSERT_EQ(0, up(&t, 5));
	h = handler_start_as(&t, DXK_MEMBER_WORKER);
	EXPECT_EQ(0, h->error);
	EXPECT_EQ(0, ask(&t, "echo w", reply, sizeof(reply)));
	EXPECT_TRUE(DXT_SOON(h->ticks > 2));
	/* it does not fetch, so it gets no work */
	EXPECT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, 0, 0, NULL));
	EXPECT_EQ(0, ask(&t, "echo w", reply, sizeof(reply)));
	EXPECT_EQ(1, dxt_num(&t, "pools/ready_use"));
	EXPECT_EQ(-EINTR, handler_end(h));
	dxt_down(&t);
}

/* DX-31: the second replaces the first, whose open command is not lost */
TEST(handler_replaced)
{
	char reply[DXK_COMMAND_MAX + 1];
	struct handler *first, *second;
	struct sender *held, *queued;
	struct dxt t;

	ASSERT_EQ(0, up(&t, 5));
	first = handler_start(&t);
	held = sender_start(&t, "hold");
	ASSERT_TRUE(DXT_SOON(first->gate->entered));
	EXPECT_EQ(0, tell(&t, "echo kept"));
	queued = sender_start(&t, "echo queued");
	dxt_sleep_ms(10);
	second = handler_start(&t);
	EXPECT_EQ(0, second->error);
	/* "hold" is no command of the context's; what the first had not seen is the
	 * second's
	 */
	EXPECT_EQ(-ENOENT, sender_end(held));
	EXPECT_EQ(0, sender_end(queued));
	EXPECT_EQ(2, second->texts);
	EXPECT_TRUE(DXT_SOON(second->ticks > 1));
	EXPECT_EQ(1, first->texts);
	first->ticks = 0;
	dxt_gate_open(first->gate);
	EXPECT_TRUE(DXT_SOON(first->ended));
	EXPECT_EQ(0, first->ticks);
	EXPECT_EQ(-ESTALE, first->error);
	EXPECT_EQ(0, ask(&t, "echo 2", reply, sizeof(reply)));
	pthread_join(first->thread, NULL);
	handler_free(first);

	/* the last goes, and with it its open command and those behind it */
	held = sender_start(&t, "hold");
	ASSERT_TRUE(DXT_SOON(second->gate->entered));
	queued = sender_start(&t, "show pools");
	EXPECT_EQ(0, tell(&t, "set boost_value 5"));
	second->quit = 1;
	first = handler_start(&t);
	EXPECT_EQ(-ENOENT, sender_end(held));
	EXPECT_EQ(0, sender_end(queued));
	EXPECT_EQ(-ESTALE, handler_end(second));
	EXPECT_EQ(-EINTR, handler_end(first));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "policy/boost_value") == 5));
	dxt_down(&t);
}

/* It detaches with commands in its queue: they are the context's own. */
TEST(handler_detaches)
{
	char text[DXK_COMMAND_MAX];
	struct sender *held, *queued;
	size_t len;
	struct dxt t;

	ASSERT_EQ(0, up(&t, 10000));
	ASSERT_EQ(0, dxk_command_attach(t.member, 1));
	held = sender_start(&t, "show pools");
	ASSERT_EQ(DXK_COMMAND_TEXT,
		  dxk_command_next(t.member, 0, NULL, 0, text, &len, dxt_late_ns()));
	EXPECT_EQ(0, tell(&t, "set boost_value 41"));
	queued = sender_start(&t, "show lanes");
	dxt_sleep_ms(20);
	EXPECT_EQ(0, held->done || queued->done);
	EXPECT_EQ(0, dxk_command_attach(t.member, 0));
	EXPECT_EQ(0, sender_end(held));
	EXPECT_EQ(0, sender_end(queued));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "policy/boost_value") == 41));
	EXPECT_EQ(0, waiting(&t));
	dxt_down(&t);
}

/* DX-25 for handlers: a process that dies, a thread that ends without closing */
TEST(handler_dies)
{
	int *entered = dxt_shared(sizeof(*entered));
	struct sender *held;
	struct handler *h;
	struct dxt t;
	pid_t pid;

	ASSERT_EQ(0, up(&t, 10));
	pid = dxt_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		char text[DXK_COMMAND_MAX];
		size_t len;
		int fd = dxk_member_create(t.ctx, DXK_MEMBER_CLIENT, NULL);

		*entered = dxk_command_attach(fd, 1) ? -1 : 1;
		while (dxk_command_next(fd, 0, NULL, 0, text, &len, -1) !=
		       DXK_COMMAND_TEXT)
			;
		*entered = 2;
		pause();
	}
	ASSERT_TRUE(DXT_SOON(*(volatile int *)entered == 1));
	held = sender_start(&t, "show pools");
	ASSERT_TRUE(DXT_SOON(*(volatile int *)entered == 2));
	EXPECT_EQ(0, held->done);
	kill(pid, SIGKILL);
	dxt_reap(pid);
	EXPECT_EQ(0, sender_end(held));
	EXPECT_EQ(0, waiting(&t));

	h = handler_start(&t);
	h->keep = true;
	h->quit = 1;
	while (!h->ended) {
		pthread_kill(h->thread, DXT_NUDGE);
		dxt_sleep_ms(1);
	}
	pthread_join(h->thread, NULL);
	/* the Monitor finds it at its next tick */
	held = sender_start(&t, "echo x");
	EXPECT_EQ(-ENOENT, sender_end(held));
	EXPECT_EQ(0, waiting(&t));
	close(h->fd);
	handler_free(h);
	dxt_down(&t);
	munmap(entered, sizeof(*entered));
}

/*
 * DX-32, D-9: a handler that does not return stops nobody: posts, workers, ticks of
 * nothing, senders that are patient or not, Stop.
 */
TEST(handler_never_returns)
{
	char reply[DXK_COMMAND_MAX + 1];
	struct sender *held, *queued;
	struct handler *h;
	struct dxt t;
	int i;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.monitor_interval_ms = 5;
	t.policy.max_threads = 6;
	t.policy.kernel_threads = 1;
	ASSERT_EQ(0, dxt_start(&t));
	h = handler_start(&t);
	held = sender_start(&t, "hold");
	ASSERT_TRUE(DXT_SOON(h->gate->entered));
	EXPECT_EQ(-ETIMEDOUT, ask_for(&t, "echo 1", reply, sizeof(reply), 20 * DXT_MS));
	queued = sender_start(&t, "show pools");

	/* worker start is the Monitor's, too */
	EXPECT_EQ(0, dxt_store(&t, "policy/kernel_threads", "3"));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_use") == 3));
	ASSERT_EQ(0, dxt_workers_start(&t, 2));
	for (i = 0; i < 100; i++)
		ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(100, dxt_drain(&t, t.member, 1));
	/* and so is the review of settings */
	EXPECT_EQ(0, dxt_store(&t, "policy/boost_value", "12"));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "policy/boost_value") == 12));

	/* DX-107: Stop does not wait for it, and no sender waits after Stop */
	EXPECT_EQ(0, held->done || queued->done);
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, dxt_late_ns()));
	EXPECT_EQ(-ESHUTDOWN, sender_end(held));
	EXPECT_EQ(-ESHUTDOWN, sender_end(queued));
	EXPECT_EQ(-ESHUTDOWN, tell(&t, "echo 3"));

	/* DX-112: it is still the handler of the next run, whatever it answers now */
	EXPECT_EQ(0, dxk_ctx_start(t.ctx));
	dxt_gate_open(h->gate);
	EXPECT_EQ(0, ask(&t, "echo 4", reply, sizeof(reply)));
	EXPECT_STREQ("echo 4", reply);
	EXPECT_TRUE(DXT_SOON(h->ticks));
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, dxt_late_ns()));
	EXPECT_TRUE(DXT_SOON(h->ended));
	EXPECT_EQ(-ESHUTDOWN, h->error);
	pthread_join(h->thread, NULL);
	handler_free(h);
	dxt_down(&t);
}

/* A flood is refused when 64 wait; nobody else notices, and then it works again. */
TEST(flood)
{
	char reply[DXK_COMMAND_MAX + 1];
	unsigned int taken = 0, busy = 0;
	struct handler *h;
	struct dxt t;
	int i, rc, nr = dxt_debug_kernel() ? 1000 : 10000;

	ASSERT_EQ(0, up(&t, 10000));
	h = handler_start(&t);
	ASSERT_EQ(0, tell(&t, "hold"));
	ASSERT_TRUE(DXT_SOON(h->gate->entered));
	for (i = 0; i < nr; i++) {
		rc = tell(&t, "echo flood");
		taken += !rc;
		busy += rc == -EAGAIN;
	}
	EXPECT_EQ(PENDING - 1, taken);
	EXPECT_EQ(nr - taken, busy);
	EXPECT_EQ(-EAGAIN, ask(&t, "echo flood", reply, sizeof(reply)));
	EXPECT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, 0, 0, NULL));
	dxt_gate_open(h->gate);
	EXPECT_TRUE(DXT_SOON(h->texts == PENDING));
	EXPECT_EQ(0, ask(&t, "echo 1", reply, sizeof(reply)));
	EXPECT_EQ(-EINTR, handler_end(h));
	EXPECT_EQ(0, waiting(&t));
	/* without a handler each sender does its own work */
	for (i = 0; i < nr / 10; i++) {
		EXPECT_EQ(0, tell(&t, "show pools"));
	}
	dxt_down(&t);
}

/* A signal ends the wait of a sender and of a handler; the command still runs. */
TEST(signals)
{
	struct handler *h;
	struct sender *s;
	struct dxt t;

	ASSERT_EQ(0, up(&t, 10000));
	h = handler_start(&t);
	ASSERT_EQ(0, tell(&t, "hold"));
	ASSERT_TRUE(DXT_SOON(h->gate->entered));
	s = sender_start(&t, "echo late");
	while (!s->done) {
		pthread_kill(s->thread, DXT_NUDGE);
		dxt_sleep_ms(1);
	}
	EXPECT_EQ(-EINTR, sender_end(s));
	dxt_gate_open(h->gate);
	EXPECT_TRUE(DXT_SOON(h->texts == 2));
	EXPECT_STREQ("echo late", h->text);
	EXPECT_EQ(-EINTR, handler_end(h));
	dxt_down(&t);
}

/* --- ticks ------------------------------------------------------------------- */

/*
 * The Monitor sleeps on: it is not woken for ten intervals. It may have been on its way
 * to sleep, and late, so it has some tries; one that ticks is seen in each.
 */
static bool monitor_rests(const struct dxt *t, unsigned int ms)
{
	unsigned int i;
	long sleeps;

	for (i = 0; i < 10; i++) {
		sleeps = dxt_sleeps(t, "monitor");
		dxt_sleep_ms(10 * ms);
		if (sleeps > 0 && dxt_sleeps(t, "monitor") == sleeps)
			return true;
	}
	return false;
}

/* How long ten intervals take, from a tick to a tick. */
static uint64_t ten_ticks_ns(struct handler *h)
{
	unsigned int ticks = h->ticks;
	uint64_t start;

	if (!DXT_SOON(h->ticks > ticks))
		return UINT64_MAX;
	ticks = h->ticks;
	start = dxt_now();
	return DXT_SOON(h->ticks >= ticks + 10) ? dxt_now() - start : UINT64_MAX;
}

/* DX-29: once per monitor interval; none without a handler, nor does it wake */
TEST(ticks)
{
	unsigned int ms = 20, ticks, tries;
	struct handler *h;
	uint64_t start;
	struct dxt t;

	ASSERT_EQ(0, up(&t, ms));
	EXPECT_TRUE(monitor_rests(&t, ms));

	start = dxt_now();
	h = handler_start(&t);
	EXPECT_TRUE(DXT_SOON(h->ticks >= 20));
	ticks = h->ticks;
	/* never more than intervals that are over, and some jitter */
	EXPECT_LE(ticks, (dxt_now() - start) / (ms * DXT_MS) + 2);
	/* and each one has its tick: 10 take 10 intervals, if the guest is let run */
	for (tries = 0; tries < 30 && ten_ticks_ns(h) > 12 * ms * DXT_MS; tries++)
		;
	EXPECT_GT(30, tries);

	/* DX-9: a shorter interval is that of the next tick already */
	EXPECT_EQ(0, dxt_store(&t, "policy/monitor_interval_ms", "3600000"));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "policy/monitor_interval_ms") == 3600000));
	EXPECT_EQ(0, dxt_store(&t, "policy/monitor_interval_ms", "1"));
	ticks = h->ticks;
	EXPECT_TRUE(DXT_SOON(h->ticks >= ticks + 20));
	EXPECT_EQ(-EINTR, handler_end(h));

	EXPECT_EQ(0, dxt_store(&t, "policy/monitor_interval_ms", "20"));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "policy/monitor_interval_ms") == 20));
	EXPECT_TRUE(monitor_rests(&t, ms));
	dxt_down(&t);
}

/* A handler that is late gets one tick, not those that it missed. */
TEST(ticks_are_not_queued)
{
	char text[DXK_COMMAND_MAX];
	size_t len;
	struct dxt t;

	ASSERT_EQ(0, up(&t, 2));
	ASSERT_EQ(0, dxk_command_attach(t.member, 1));
	EXPECT_EQ(DXK_COMMAND_TICK,
		  dxk_command_next(t.member, 0, NULL, 0, text, &len, dxt_late_ns()));
	dxt_sleep_ms(100);
	EXPECT_EQ(0, dxt_store(&t, "policy/monitor_interval_ms", "3600000"));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "policy/monitor_interval_ms") == 3600000));
	/* what it still had to do it has done */
	EXPECT_TRUE(monitor_rests(&t, 2));
	/* with a command waiting both come in turn */
	EXPECT_EQ(0, tell(&t, "a"));
	EXPECT_EQ(DXK_COMMAND_TEXT,
		  dxk_command_next(t.member, 0, NULL, 0, text, &len, 0));
	EXPECT_EQ(DXK_COMMAND_TICK,
		  dxk_command_next(t.member, 0, NULL, 0, text, &len, 0));
	EXPECT_EQ(-ETIMEDOUT, dxk_command_next(t.member, 0, NULL, 0, text, &len, 0));
	dxt_down(&t);
}

/* poll(2): readable when a tick or a command waits */
TEST(readable)
{
	struct pollfd p = { .events = POLLIN };
	char text[DXK_COMMAND_MAX];
	size_t len;
	struct dxt t;

	ASSERT_EQ(0, up(&t, 3600000));
	p.fd = t.member;
	EXPECT_EQ(0, poll(&p, 1, 0));
	ASSERT_EQ(0, dxk_command_attach(t.member, 1));
	/* the first tick is an interval away, which is more than the machine is up */
	EXPECT_EQ(0, poll(&p, 1, 50));
	EXPECT_EQ(0, tell(&t, "x"));
	EXPECT_EQ(1, poll(&p, 1, 0));
	EXPECT_EQ(DXK_COMMAND_TEXT,
		  dxk_command_next(t.member, 0, NULL, 0, text, &len, 0));
	EXPECT_EQ(0, poll(&p, 1, 0));
	EXPECT_EQ(0, dxt_store(&t, "policy/monitor_interval_ms", "20"));
	EXPECT_EQ(1, poll(&p, 1, dxt_late_ms()));
	EXPECT_EQ(0, dxt_store(&t, "policy/monitor_interval_ms", "100000"));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "policy/monitor_interval_ms") == 100000));
	EXPECT_TRUE(monitor_rests(&t, 2));
	EXPECT_EQ(DXK_COMMAND_TICK,
		  dxk_command_next(t.member, 0, NULL, 0, text, &len, 0));
	while (dxk_command_next(t.member, 0, NULL, 0, text, &len, 0) == DXK_COMMAND_TICK)
		;
	EXPECT_EQ(0, poll(&p, 1, 0));
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(1, poll(&p, 1, 0));
	EXPECT_EQ(-ESHUTDOWN, dxk_command_next(t.member, 0, NULL, 0, text, &len, 0));
	dxt_down(&t);
}

/* --- timed commands ----------------------------------------------------------- */

/* Not earlier than said, once or again and again; cancelled; forgotten at Stop */
TEST(timed)
{
	char reply[DXK_COMMAND_MAX + 1], text[32];
	uint64_t due = dxt_in(60 * DXT_MS);
	struct handler *h;
	struct dxt t;
	int once, again, far;
	unsigned int nr;

	ASSERT_EQ(0, up(&t, 5));
	h = handler_start(&t);
	/* one that is far away holds up nothing */
	far = dxk_command_schedule(t.ctx, "echo far", 8, dxt_in(3600 * DXT_SEC), 0);
	EXPECT_LT(0, far);
	once = dxk_command_schedule(t.ctx, "echo once", 9, due, 0);
	EXPECT_LT(0, once);
	EXPECT_TRUE(DXT_SOON(h->texts == 1));
	EXPECT_LE(due, dxt_now());
	EXPECT_STREQ("echo once", h->text);
	EXPECT_EQ(0, dxk_command_cancel(t.ctx, far));
	snprintf(text, sizeof(text), "cancel %d", once);
	EXPECT_EQ(-ESRCH, ask(&t, text, reply, sizeof(reply)));

	again = dxk_command_schedule(t.ctx, "echo again", 10, 0, 10 * DXT_MS);
	EXPECT_LT(once, again);
	nr = h->texts;
	EXPECT_TRUE(DXT_SOON(h->texts >= nr + 5));
	EXPECT_EQ(0, ask(&t, "show commands", reply, sizeof(reply)));
	EXPECT_NE(NULL, strstr(reply, "            10  echo again\n"));
	snprintf(text, sizeof(text), "cancel %d", again);
	EXPECT_EQ(0, dxk_command_cancel(t.ctx, again));
	EXPECT_EQ(-ESRCH, dxk_command_cancel(t.ctx, again));
	EXPECT_EQ(-EINVAL, dxk_command_cancel(t.ctx, 0));
	EXPECT_EQ(-ESRCH, ask(&t, text, reply, sizeof(reply)));
	dxt_sleep_ms(50);
	/* one that was on its way came before this one */
	EXPECT_EQ(0, ask(&t, "echo last", reply, sizeof(reply)));
	nr = h->texts;
	dxt_sleep_ms(100);
	EXPECT_EQ(nr, h->texts);

	/* Stop forgets what waits and what is to come */
	EXPECT_LT(0, dxk_command_schedule(t.ctx, "echo slow", 9, 0, 1));
	ASSERT_EQ(0, tell(&t, "hold"));
	ASSERT_TRUE(DXT_SOON(h->gate->entered));
	dxt_sleep_ms(100);
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(0, dxk_ctx_start(t.ctx));
	dxt_gate_open(h->gate);
	EXPECT_EQ(0, ask(&t, "show commands", reply, sizeof(reply)));
	EXPECT_EQ(NULL, strstr(reply, "echo slow"));
	EXPECT_EQ(-EINTR, handler_end(h));
	dxt_down(&t);
}

/* Without a handler they are the context's own, and the Monitor ticks for them. */
TEST(timed_own)
{
	uint64_t due = dxt_in(50 * DXT_MS);
	struct dxt t;

	ASSERT_EQ(0, up(&t, 5));
	EXPECT_LT(0, dxk_command_schedule(t.ctx, "set boost_value 77", 18, due, 0));
	EXPECT_TRUE(DXT_SOON(dxt_num(&t, "policy/boost_value") == 77));
	EXPECT_LE(due, dxt_now());
	/* nothing is left to tick for */
	EXPECT_TRUE(monitor_rests(&t, 5));
	EXPECT_LT(0, dxk_command_schedule(t.ctx, "quit", 4, 1, 0));
	EXPECT_TRUE(DXT_SOON(dxt_post1(t.member, 1, DXT_NOP, 0, 0, 0, NULL) == -ESHUTDOWN));
	dxt_down(&t);
}

/* A run is one run, however many intervals it waits for. */
TEST(timed_not_twice)
{
	struct pollfd p = { .events = POLLIN };
	char text[DXK_COMMAND_MAX];
	size_t len;
	struct dxt t;
	int id;

	ASSERT_EQ(0, up(&t, 2));
	ASSERT_EQ(0, dxk_command_attach(t.member, 1));
	id = dxk_command_schedule(t.ctx, "again", 5, 0, 1);
	EXPECT_LT(0, id);
	while (dxk_command_next(t.member, 0, NULL, 0, text, &len, -1) != DXK_COMMAND_TEXT)
		;
	dxt_sleep_ms(100);
	p.fd = t.member;
	EXPECT_EQ(1, poll(&p, 1, dxt_late_ms()));
	/* that one is in my hands, so no other waits */
	EXPECT_EQ(DXK_COMMAND_TICK,
		  dxk_command_next(t.member, 0, NULL, 0, text, &len, -1));
	dxt_down(&t);
}

/* Absurd times: far, past, overflowing; and no more than 64 of them */
TEST(timed_abuse)
{
	char reply[DXK_COMMAND_MAX + 1], text[32];
	struct handler *h;
	struct dxt t;
	int i, id = 0;

	ASSERT_EQ(0, up(&t, 2));
	h = handler_start(&t);
	EXPECT_LT(0, dxk_command_schedule(t.ctx, "echo 1", 6, 1, 0));
	EXPECT_TRUE(DXT_SOON(h->texts == 1));
	EXPECT_LT(0, dxk_command_schedule(t.ctx, "echo 2", 6, 1, ~0ULL));
	EXPECT_TRUE(DXT_SOON(h->texts == 2));
	EXPECT_LT(0, dxk_command_schedule(t.ctx, "echo 3", 6, 0, ~0ULL));
	EXPECT_TRUE(DXT_SOON(h->texts == 3));
	EXPECT_LT(0, dxk_command_schedule(t.ctx, "echo 4", 6, 1, 1ULL << 63));
	EXPECT_TRUE(DXT_SOON(h->texts == 4));
	EXPECT_LT(0, dxk_command_schedule(t.ctx, "echo 5", 6, ~0ULL, 1));
	EXPECT_EQ(0, ask(&t, "show commands", reply, sizeof(reply)));
	dxt_sleep_ms(20);
	EXPECT_EQ(4 + 1, h->texts);
	/* those that cannot come again are gone: that of 2^63 ns and the last are not */
	EXPECT_EQ(NULL, strstr(reply, "echo 3"));
	EXPECT_NE(NULL, strstr(reply, "echo 4"));
	EXPECT_NE(NULL, strstr(reply, "echo 5"));
	for (i = 2; i < PENDING; i++) {
		id = dxk_command_schedule(t.ctx, "echo far", 8, ~0ULL - 1, 0);
		ASSERT_LT(0, id);
	}
	EXPECT_EQ(-EAGAIN, dxk_command_schedule(t.ctx, "echo far", 8, ~0ULL - 1, 0));
	snprintf(text, sizeof(text), "cancel %d", id);
	EXPECT_EQ(0, ask(&t, text, reply, sizeof(reply)));
	EXPECT_LT(id, dxk_command_schedule(t.ctx, "echo far", 8, ~0ULL - 1, 0));
	EXPECT_EQ(-EINVAL, ask(&t, "cancel x", reply, sizeof(reply)));
	EXPECT_EQ(-EINVAL, ask(&t, "cancel -1", reply, sizeof(reply)));
	EXPECT_EQ(-ESRCH, ask(&t, "cancel 0", reply, sizeof(reply)));
	EXPECT_EQ(-EINTR, handler_end(h));
	dxt_down(&t);
}

/* --- races ------------------------------------------------------------------- */

struct racer {
	struct dxt *t;
	pthread_t thread;
	unsigned int rounds;
	unsigned int got;
	const char *wrong;
	int rc;
};

/* Attach, take what there is, detach; after that there is nothing for it. */
static void *racer_thread(void *arg)
{
	char text[DXK_COMMAND_MAX];
	struct racer *r = arg;
	unsigned int i;
	size_t len;
	int fd;

	fd = dxk_member_create(r->t->ctx, DXK_MEMBER_CLIENT, NULL);
	for (i = 0; i < r->rounds && !r->wrong; i++) {
		r->rc = dxk_command_attach(fd, 1);
		if (r->rc)
			r->wrong = "attach";
		r->rc = dxk_command_next(fd, 0, NULL, 0, text, &len, 0);
		if (r->rc > 0)
			r->got++;
		else if (r->rc != -ETIMEDOUT && r->rc != -ESTALE)
			r->wrong = "next";
		if (i % 8 == 0)
			continue;
		r->rc = dxk_command_attach(fd, 0);
		if (r->rc)
			r->wrong = "detach";
		r->rc = dxk_command_next(fd, 0, NULL, 0, text, &len, 0);
		if (r->rc != -EPERM)
			r->wrong = "next after detach";
	}
	close(fd);
	return NULL;
}

/* thousands of attaches and detaches of two handlers, ticks of 1 ms, senders */
TEST(race)
{
	char reply[DXK_COMMAND_MAX + 1];
	struct racer racer[2] = { 0 };
	unsigned int i, asked = 0;
	bool over = false;
	struct dxt t;
	int rc;

	ASSERT_EQ(0, up(&t, 1));
	for (i = 0; i < 2; i++) {
		racer[i].t = &t;
		racer[i].rounds = dxt_debug_kernel() ? 300 : 2000;
		ASSERT_EQ(0, pthread_create(&racer[i].thread, NULL, racer_thread,
					    &racer[i]));
	}
	while (!over) {
		/* whoever has it: it is answered, and nothing of it is lost */
		rc = ask(&t, "show pools", reply, sizeof(reply));
		EXPECT_EQ(0, rc);
		EXPECT_EQ(0, tell(&t, "set boost_value 3"));
		asked++;
		dxt_tell("%u commands", asked);
		over = rc || pthread_tryjoin_np(racer[0].thread, NULL) == 0;
	}
	if (rc)
		pthread_join(racer[0].thread, NULL);
	pthread_join(racer[1].thread, NULL);
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(NULL, racer[i].wrong) {
			TH_LOG("%s: %d", racer[i].wrong, racer[i].rc);
		}
	}
	EXPECT_LT(0, asked);
	EXPECT_TRUE(DXT_SOON(waiting(&t) == 0));
	dxt_down(&t);
}

/* Stop while senders send and handlers come and go: all are answered. */
TEST(race_stop)
{
	struct sender *s[8];
	struct handler *h;
	struct dxt t;
	int round, i;

	ASSERT_EQ(0, up(&t, 1));
	for (round = 0; round < (dxt_debug_kernel() ? 5 : 12); round++) {
		h = handler_start(&t);
		for (i = 0; i < 8; i++)
			s[i] = sender_start(&t, i & 1 ? "echo x" : "show pools");
		EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_CANCEL, -1));
		for (i = 0; i < 8; i++) {
			int rc = sender_end(s[i]);

			EXPECT_TRUE(!rc || rc == -ESHUTDOWN) {
				TH_LOG("%d", rc);
			}
		}
		EXPECT_EQ(-ESHUTDOWN, handler_end(h));
		EXPECT_EQ(0, dxk_ctx_start(t.ctx));
	}
	dxt_down(&t);
}

TEST_HARNESS_MAIN
