// SPDX-License-Identifier: GPL-2.0-only
/*
 * Handlers of commands (DX-30..DX-32, D-9) in threads and processes: what each sees
 * and answers, what a wrong or a slow one does.
 */
#include "handler_test.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

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

TEST_HARNESS_MAIN
