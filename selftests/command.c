// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands (DX-20, DX-29..DX-32, R-18, D-9): senders, handlers in threads and
 * processes, ticks, timed commands, the context's own ones.
 */
#include "dxk_test.h"

#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define PENDING	64	/* most commands that wait, most timed ones */

/* A context whose Monitor ticks every @ms. */
static int up(struct dxt *t, unsigned int ms)
{
	int rc = dxt_open(t);

	t->policy.monitor_interval_ms = ms;
	return rc ? rc : dxt_start(t);
}

/* --- senders ----------------------------------------------------------------- */

/* Waits for the reply; the status, or why there is none. */
static int ask_for(struct dxt *t, const char *text, char *reply, size_t room,
		   int64_t ns)
{
	int status, rc;

	memset(reply, 0, room);
	rc = dxk_command_send(t->ctx, text, strlen(text), reply, room - 1, &status, ns);
	return rc < 0 ? rc : status;
}

static int ask(struct dxt *t, const char *text, char *reply, size_t room)
{
	return ask_for(t, text, reply, room, (int64_t)dxt_stall_ns());
}

static int tell(struct dxt *t, const char *text)
{
	return dxk_command_send(t->ctx, text, strlen(text), NULL, 0, NULL, 0);
}

/* A sender in a thread of its own. */
struct sender {
	struct dxt *t;
	const char *text;
	char reply[DXK_COMMAND_MAX + 1];
	int ret;
	_Atomic int done;
	pthread_t thread;
};

static void *sender_thread(void *arg)
{
	struct sender *s = arg;

	s->ret = ask_for(s->t, s->text, s->reply, sizeof(s->reply), -1);
	s->done = 1;
	return NULL;
}

static struct sender *sender_start(struct dxt *t, const char *text)
{
	struct sender *s = calloc(1, sizeof(*s));

	s->t = t;
	s->text = text;
	if (pthread_create(&s->thread, NULL, sender_thread, s))
		abort();
	return s;
}

static int sender_end(struct sender *s)
{
	int ret;

	pthread_join(s->thread, NULL);
	ret = s->ret;
	free(s);
	return ret;
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

/* --- handlers ---------------------------------------------------------------- */

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

static struct handler *handler_start_as(struct dxt *t, enum dxk_member_kind kind)
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

/* Waits for @cond; the handler's own counts are the progress. */
#define SOON(cond) ({							\
	uint64_t _end = dxt_in((int64_t)dxt_stall_ns());		\
	bool _ok;							\
	while (!(_ok = (cond)) && dxt_now() < _end)			\
		dxt_sleep_ms(1);					\
	_ok || (cond);							\
})

/* --- the context's own commands ---------------------------------------------- */

/* DX-20, DX-30: without a handler a command is the context's own */
TEST(own_show)
{
	char reply[DXK_COMMAND_MAX + 1];
	struct dxt t;

	ASSERT_EQ(0, dxt_up(&t, 2));
	EXPECT_EQ(0, ask(&t, "show threads", reply, sizeof(reply)));
	EXPECT_NE(NULL, strstr(reply, "   id  role           state "));
	EXPECT_NE(NULL, strstr(reply, "\n  500  monitor        running "));
	EXPECT_NE(NULL, strstr(reply, "\n    1  user-worker    "));
	EXPECT_NE(NULL, strstr(reply, "\n    0  client         running "));
	EXPECT_EQ(0, ask(&t, " show\tpools\n", reply, sizeof(reply)));
	EXPECT_NE(NULL, strstr(reply, "\nready       1024         0 "));
	EXPECT_EQ(0, ask(&t, "show lanes", reply, sizeof(reply)));
	EXPECT_NE(NULL, strstr(reply, "\nkernel       3 "));
	EXPECT_EQ(0, ask(&t, "show commands", reply, sizeof(reply)));
	EXPECT_NE(NULL, strstr(reply, "handler: none\nwaiting: 0\n"));
	dxt_down(&t);
}

/* Owners: which, how many where; more than fit are cut at a line's end */
TEST(own_show_owners)
{
	char reply[DXK_COMMAND_MAX + 1];
	unsigned int i, lines = 0;
	size_t len;
	struct dxt t;

	ASSERT_EQ(0, dxt_up(&t, 0));
	EXPECT_EQ(0, ask(&t, "show owners", reply, sizeof(reply)));
	EXPECT_EQ(reply + strlen(reply) - 1, strchr(reply, '\n'));
	for (i = 0; i < 300; i++)
		ASSERT_EQ(1, dxt_post1(t.member, 0xabc000 + i, DXT_NOP, 0, PXR_REJOIN,
				       0, NULL));
	EXPECT_EQ(0, ask(&t, "show owners", reply, sizeof(reply)));
	EXPECT_NE(NULL, strstr(reply, "\n0xabc"));
	EXPECT_NE(NULL, strstr(reply, " 1         0         0\n"));
	len = strlen(reply);
	for (i = 0; i < len; i++)
		lines += reply[i] == '\n';
	EXPECT_LT(60, lines);
	EXPECT_STREQ("\n... of 300\n", reply + len - 12);
	dxt_down(&t);
}

/* Threads: a reply longer than the contract allows says that it was cut */
TEST(own_show_cut)
{
	char reply[DXK_COMMAND_MAX + 1];
	int status = 7, rc;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 200;
	ASSERT_EQ(0, dxt_start(&t));
	EXPECT_EQ(0, ask(&t, "show threads", reply, sizeof(reply)));
	EXPECT_LT(DXK_COMMAND_MAX - 100, strlen(reply));
	EXPECT_STREQ("\n... cut\n", reply + strlen(reply) - 9);

	/* a buffer that is too small gets its part and learns how much there is */
	dxt_poison(reply, sizeof(reply));
	rc = dxk_command_send(t.ctx, "show threads", 12, reply, 10, &status, DXT_SEC);
	EXPECT_LT(DXK_COMMAND_MAX - 100, rc);
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, memcmp(reply, "   id  rol", 10));
	EXPECT_TRUE(dxt_poisoned(reply + 10, sizeof(reply) - 10));
	dxt_down(&t);
}

/* DX-30: unknown to both: -ENOENT, and nothing changes */
TEST(own_unknown)
{
	static const char * const text[] = {
		"no", " ", "\n", "show", "show me", "show threads now", "set", "set x",
		"drain now", "quit 1", "log", "log file", "cancel", "SHOW pools",
		"show threads pools lanes owners", "showthreads",
	};
	char reply[DXK_COMMAND_MAX + 1];
	struct dxt_snapshot before, after;
	unsigned int i;
	struct dxt t;

	ASSERT_EQ(0, dxt_up(&t, 1));
	dxt_snapshot(&t, &before);
	for (i = 0; i < sizeof(text) / sizeof(*text); i++) {
		EXPECT_EQ(-ENOENT, ask(&t, text[i], reply, sizeof(reply))) {
			TH_LOG("%s", text[i]);
		}
	}
	EXPECT_EQ(-EOPNOTSUPP, ask(&t, "log rotate", reply, sizeof(reply)));
	EXPECT_NE(NULL, strstr(reply, "log file"));
	dxt_snapshot(&t, &after);
	EXPECT_EQ(NULL, dxt_differs(&before, &after));
	EXPECT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, 0, 0, NULL));
	dxt_down(&t);
}

/* DX-9: set, and what it refuses with the name of the field */
TEST(own_set)
{
	char reply[DXK_COMMAND_MAX + 1];
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.sched_mode = TPOOL_MODE_CMLS;
	t.policy.max_threads = 4;
	t.policy.lane_pct[1] = 25;
	ASSERT_EQ(0, dxt_start(&t));
	EXPECT_EQ(0, ask(&t, "set boost_value 17", reply, sizeof(reply)));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "policy/boost_value") == 17));

	EXPECT_EQ(-EINVAL, ask(&t, "set no_field 1", reply, sizeof(reply)));
	EXPECT_STREQ("no_field: no such field\n", reply);
	EXPECT_EQ(-EINVAL, ask(&t, "set boost_value 65537", reply, sizeof(reply)));
	EXPECT_STREQ("boost_value: 65537 is not in 0..65536\n", reply);
	EXPECT_EQ(-EINVAL, ask(&t, "set boost_value -1", reply, sizeof(reply)));
	EXPECT_STREQ("boost_value: -1 is no number\n", reply);
	EXPECT_EQ(-EINVAL, ask(&t, "set boost_value 1x", reply, sizeof(reply)));
	EXPECT_EQ(-EINVAL, ask(&t, "set boost_value 99999999999999999999", reply,
			       sizeof(reply)));
	EXPECT_EQ(-EOPNOTSUPP, ask(&t, "set log_full 3", reply, sizeof(reply)));
	EXPECT_STREQ("log_full: 3 is not offered, at most 2\n", reply);
	EXPECT_EQ(-EBUSY, ask(&t, "set ready_entries 8", reply, sizeof(reply)));
	EXPECT_STREQ("ready_entries: cannot change while the context runs\n", reply);

	/* DX-76: no worker would be left for lane 3 */
	EXPECT_EQ(-EINVAL, ask(&t, "set max_threads 1", reply, sizeof(reply)));
	EXPECT_STREQ("max_threads: 1 does not go with the rule for max_threads\n", reply);
	EXPECT_EQ(-EINVAL, ask(&t, "set lane_pct2 100", reply, sizeof(reply)));
	EXPECT_STREQ("lane_pct2: 100 does not go with the rule for lane_pct0\n", reply);

	dxt_sleep_ms(50);
	EXPECT_EQ(17, dxt_num(&t, "policy/boost_value"));
	EXPECT_EQ(4, dxt_num(&t, "policy/max_threads"));
	EXPECT_EQ(0, dxt_num(&t, "policy/lane_pct2"));
	EXPECT_EQ(1024, dxt_num(&t, "policy/ready_entries"));
	dxt_down(&t);
}

/* drain: refuses posts, answers when all is done; Stop is then at once over */
TEST(own_drain)
{
	struct dxt_gate *gate = dxt_gate_new();
	char reply[DXK_COMMAND_MAX + 1];
	struct sender *s;
	struct dxt t;

	ASSERT_EQ(0, dxt_up(&t, 1));
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_GATE, DXT_PTR(gate), PXR_REJOIN, 0, NULL));
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_REJOIN, 0, NULL));
	ASSERT_TRUE(DXT_UNTIL(&t, gate->entered));
	EXPECT_EQ(-ETIMEDOUT, ask_for(&t, "drain", reply, sizeof(reply), 20 * DXT_MS));
	EXPECT_EQ(-ESHUTDOWN, dxt_post1(t.member, 1, DXT_NOP, 0, 0, 0, NULL));
	s = sender_start(&t, "drain");
	dxt_sleep_ms(20);
	EXPECT_EQ(0, s->done);
	/* a context that stops can still be asked */
	EXPECT_EQ(0, ask(&t, "show threads", reply, sizeof(reply)));
	dxt_gate_open(gate);
	EXPECT_EQ(0, sender_end(s));
	EXPECT_EQ(0, dxt_num(&t, "pools/ready_use"));
	EXPECT_EQ(0, dxt_num(&t, "pools/thread_busy"));
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_CANCEL, 0));
	EXPECT_EQ(2, dxt_drain(&t, t.member, 1));
	EXPECT_EQ(-ESHUTDOWN, ask(&t, "show threads", reply, sizeof(reply)));
	dxt_down(&t);
	dxt_gate_free(gate);
}

static int exe_drain(struct dxt_call *call)
{
	char reply[16];

	return ask_for(call->worker->t, "drain", reply, sizeof(reply), -1);
}

/* A worker that asked would wait for its own request. */
TEST(own_drain_by_worker)
{
	struct dxk_result result;
	struct dxt t;

	ASSERT_EQ(0, dxt_up(&t, 1));
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_FN(exe_drain), 0, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(1, dxt_rejoin(t.member, 1, &result, 1, 1, dxt_in(dxt_stall_ns()), NULL));
	EXPECT_EQ(-EDEADLK, result.status);
	EXPECT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, 0, 0, NULL));
	dxt_down(&t);
}

/* quit: begins the Stop that the policy says, and answers at once */
TEST(own_quit)
{
	struct dxt_gate *gate = dxt_gate_new();
	char reply[DXK_COMMAND_MAX + 1];
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.shutdown = DXK_STOP_CANCEL;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, dxt_workers_start(&t, 1));
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_GATE, DXT_PTR(gate), 0, 0, NULL));
	ASSERT_TRUE(DXT_UNTIL(&t, gate->entered));
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, 0, 0, NULL));
	EXPECT_EQ(0, ask(&t, "quit", reply, sizeof(reply)));
	EXPECT_EQ(-ESHUTDOWN, dxt_post1(t.member, 1, DXT_NOP, 0, 0, 0, NULL));
	EXPECT_EQ(1, dxt_num(&t, "stats/cancelled"));
	EXPECT_EQ(0, ask(&t, "quit", reply, sizeof(reply)));
	dxt_gate_open(gate);
	dxt_down(&t);
	dxt_gate_free(gate);
}

/* --- abuse ------------------------------------------------------------------- */

/* Lengths, addresses, zero bytes: refused before anything is done */
TEST(abuse_send)
{
	char *text = malloc(DXK_COMMAND_MAX + 1);
	struct dxk_command_send send;
	char reply[16];
	struct dxt t;

	memset(text, 'x', DXK_COMMAND_MAX + 1);
	ASSERT_EQ(0, dxt_open(&t));
	EXPECT_EQ(-ESHUTDOWN, tell(&t, "show pools"));
	EXPECT_EQ(-ESHUTDOWN, dxk_command_schedule(t.ctx, "show pools", 10, 0, 1));
	ASSERT_EQ(0, dxt_start(&t));
#define SEND(...) ({							\
	send = (struct dxk_command_send){ .size = sizeof(send),		\
		.deadline = dxt_in(DXT_SEC), .text = DXT_PTR(text),	\
		.text_len = 4, .reply = DXT_PTR(reply),			\
		.reply_room = sizeof(reply) };				\
	__VA_ARGS__;							\
	dxt_ioctl(t.ctx, DXK_IOC_COMMAND_SEND, &send);			\
})
	EXPECT_EQ(0, SEND());
	EXPECT_EQ(-ENOENT, send.status);
	EXPECT_EQ(-EINVAL, SEND(send.text_len = 0));
	EXPECT_EQ(0, SEND(send.text_len = DXK_COMMAND_MAX));
	EXPECT_EQ(-ENOENT, send.status);
	EXPECT_EQ(-EMSGSIZE, SEND(send.text_len = DXK_COMMAND_MAX + 1));
	EXPECT_EQ(-EMSGSIZE, SEND(send.text_len = ~0U));
	EXPECT_EQ(-EFAULT, SEND(send.text = 0));
	EXPECT_EQ(-EFAULT, SEND(send.text = ~0ULL - 1));
	text[2] = '\0';
	EXPECT_EQ(-EINVAL, SEND());
	strcpy(text, "show pools");
	EXPECT_EQ(-EFAULT, SEND(send.text_len = 10, send.reply = 8));
	EXPECT_EQ(0, SEND(send.text_len = 10, send.reply = 8, send.reply_room = 0));
	EXPECT_LT(100, send.reply_len);
	/* no waiting, no reply */
	EXPECT_EQ(0, SEND(send.text_len = 10, send.deadline = 0, send.reply = 8));
	EXPECT_EQ(0, send.reply_len);
	EXPECT_EQ(-EINVAL, SEND(send.size = 8));
	EXPECT_EQ(-ENOTTY, dxt_ioctl(t.member, DXK_IOC_COMMAND_SEND, &send));
	EXPECT_EQ(-ENOTTY, dxt_ioctl(t.ctl, DXK_IOC_COMMAND_SEND, &send));
	free(text);
	dxt_down(&t);
}

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
		  dxk_command_next(t.member, 0, NULL, 0, text, &len, dxt_stall_ns()));
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
	EXPECT_TRUE(SOON(h->ticks > 2));
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
	ASSERT_TRUE(SOON(first->gate->entered));
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
	EXPECT_TRUE(SOON(second->ticks > 1));
	EXPECT_EQ(1, first->texts);
	first->ticks = 0;
	dxt_gate_open(first->gate);
	EXPECT_TRUE(SOON(first->ended));
	EXPECT_EQ(0, first->ticks);
	EXPECT_EQ(-ESTALE, first->error);
	EXPECT_EQ(0, ask(&t, "echo 2", reply, sizeof(reply)));
	pthread_join(first->thread, NULL);
	handler_free(first);

	/* the last goes, and with it its open command and those behind it */
	held = sender_start(&t, "hold");
	ASSERT_TRUE(SOON(second->gate->entered));
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
		  dxk_command_next(t.member, 0, NULL, 0, text, &len, dxt_stall_ns()));
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
	ASSERT_TRUE(SOON(*(volatile int *)entered == 1));
	held = sender_start(&t, "show pools");
	ASSERT_TRUE(SOON(*(volatile int *)entered == 2));
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
	ASSERT_TRUE(SOON(h->gate->entered));
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
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, (int64_t)dxt_stall_ns()));
	EXPECT_EQ(-ESHUTDOWN, sender_end(held));
	EXPECT_EQ(-ESHUTDOWN, sender_end(queued));
	EXPECT_EQ(-ESHUTDOWN, tell(&t, "echo 3"));

	/* DX-112: it is still the handler of the next run, whatever it answers now */
	EXPECT_EQ(0, dxk_ctx_start(t.ctx));
	dxt_gate_open(h->gate);
	EXPECT_EQ(0, ask(&t, "echo 4", reply, sizeof(reply)));
	EXPECT_STREQ("echo 4", reply);
	EXPECT_TRUE(SOON(h->ticks));
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, (int64_t)dxt_stall_ns()));
	EXPECT_TRUE(SOON(h->ended));
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
	ASSERT_TRUE(SOON(h->gate->entered));
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
	EXPECT_TRUE(SOON(h->texts == PENDING));
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
	ASSERT_TRUE(SOON(h->gate->entered));
	s = sender_start(&t, "echo late");
	while (!s->done) {
		pthread_kill(s->thread, DXT_NUDGE);
		dxt_sleep_ms(1);
	}
	EXPECT_EQ(-EINTR, sender_end(s));
	dxt_gate_open(h->gate);
	EXPECT_TRUE(SOON(h->texts == 2));
	EXPECT_STREQ("echo late", h->text);
	EXPECT_EQ(-EINTR, handler_end(h));
	dxt_down(&t);
}

/* --- ticks ------------------------------------------------------------------- */

/* Times that the Monitor went to sleep; -1 when it is not found. */
static long monitor_sleeps(const struct dxt *t)
{
	char path[300], line[128], name[32];
	DIR *proc = opendir("/proc");
	struct dirent *e;
	long nr = -1;
	FILE *f;

	snprintf(name, sizeof(name), "dxk%u/monitor\n", t->id);
	while (proc && nr < 0 && (e = readdir(proc))) {
		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		*line = '\0';
		if (fgets(line, sizeof(line), f) && !strcmp(line, name)) {
			fclose(f);
			snprintf(path, sizeof(path), "/proc/%s/status", e->d_name);
			f = fopen(path, "r");
			while (f && fgets(line, sizeof(line), f))
				sscanf(line, "voluntary_ctxt_switches: %ld", &nr);
		}
		if (f)
			fclose(f);
	}
	if (proc)
		closedir(proc);
	return nr;
}

/* DX-29: once per monitor interval; none without a handler, nor does it wake */
TEST(ticks)
{
	unsigned int ms = 20, ticks;
	struct handler *h;
	uint64_t start;
	struct dxt t;
	long sleeps;

	ASSERT_EQ(0, up(&t, ms));
	dxt_sleep_ms(5 * ms);
	sleeps = monitor_sleeps(&t);
	ASSERT_LT(0, sleeps);
	dxt_sleep_ms(10 * ms);
	EXPECT_EQ(sleeps, monitor_sleeps(&t));

	h = handler_start(&t);
	EXPECT_EQ(0, h->ticks);
	start = dxt_now();
	EXPECT_TRUE(SOON(h->ticks >= 20));
	ticks = h->ticks;
	/* never more than intervals that are over, and some jitter */
	EXPECT_LE(ticks, (dxt_now() - start) / (ms * DXT_MS) + 2);

	/* DX-9: a shorter interval is that of the next tick already */
	EXPECT_EQ(0, dxt_store(&t, "policy/monitor_interval_ms", "3600000"));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "policy/monitor_interval_ms") == 3600000));
	EXPECT_EQ(0, dxt_store(&t, "policy/monitor_interval_ms", "1"));
	ticks = h->ticks;
	EXPECT_TRUE(SOON(h->ticks >= ticks + 20));
	EXPECT_EQ(-EINTR, handler_end(h));

	EXPECT_EQ(0, dxt_store(&t, "policy/monitor_interval_ms", "20"));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "policy/monitor_interval_ms") == 20));
	dxt_sleep_ms(5 * ms);
	sleeps = monitor_sleeps(&t);
	dxt_sleep_ms(10 * ms);
	EXPECT_EQ(sleeps, monitor_sleeps(&t));
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
		  dxk_command_next(t.member, 0, NULL, 0, text, &len, dxt_stall_ns()));
	dxt_sleep_ms(100);
	EXPECT_EQ(0, dxt_store(&t, "policy/monitor_interval_ms", "3600000"));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "policy/monitor_interval_ms") == 3600000));
	dxt_sleep_ms(20);
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

	ASSERT_EQ(0, up(&t, 10000));
	p.fd = t.member;
	EXPECT_EQ(0, poll(&p, 1, 0));
	ASSERT_EQ(0, dxk_command_attach(t.member, 1));
	EXPECT_EQ(0, poll(&p, 1, 0));
	EXPECT_EQ(0, tell(&t, "x"));
	EXPECT_EQ(1, poll(&p, 1, 0));
	EXPECT_EQ(DXK_COMMAND_TEXT,
		  dxk_command_next(t.member, 0, NULL, 0, text, &len, 0));
	EXPECT_EQ(0, poll(&p, 1, 0));
	EXPECT_EQ(0, dxt_store(&t, "policy/monitor_interval_ms", "20"));
	EXPECT_EQ(1, poll(&p, 1, (int)(dxt_stall_ns() / DXT_MS)));
	EXPECT_EQ(0, dxt_store(&t, "policy/monitor_interval_ms", "100000"));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "policy/monitor_interval_ms") == 100000));
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
	int once, again;
	unsigned int nr;

	ASSERT_EQ(0, up(&t, 5));
	h = handler_start(&t);
	once = dxk_command_schedule(t.ctx, "echo once", 9, due, 0);
	EXPECT_LT(0, once);
	EXPECT_EQ(0, h->texts);
	EXPECT_TRUE(SOON(h->texts == 1));
	EXPECT_LE(due, dxt_now());
	EXPECT_STREQ("echo once", h->text);
	snprintf(text, sizeof(text), "cancel %d", once);
	EXPECT_EQ(-ESRCH, ask(&t, text, reply, sizeof(reply)));

	again = dxk_command_schedule(t.ctx, "echo again", 10, 0, 10 * DXT_MS);
	EXPECT_LT(once, again);
	nr = h->texts;
	EXPECT_TRUE(SOON(h->texts >= nr + 5));
	EXPECT_EQ(0, ask(&t, "show commands", reply, sizeof(reply)));
	EXPECT_NE(NULL, strstr(reply, "            10  echo again\n"));
	snprintf(text, sizeof(text), "cancel %d", again);
	EXPECT_EQ(0, dxk_command_cancel(t.ctx, again));
	EXPECT_EQ(-ESRCH, dxk_command_cancel(t.ctx, again));
	EXPECT_EQ(-EINVAL, dxk_command_cancel(t.ctx, 0));
	EXPECT_EQ(-ESRCH, ask(&t, text, reply, sizeof(reply)));
	dxt_sleep_ms(50);	/* one that was on its way has come by now */
	nr = h->texts;
	dxt_sleep_ms(100);
	EXPECT_EQ(nr, h->texts);

	/* Stop forgets what waits and what is to come */
	EXPECT_LT(0, dxk_command_schedule(t.ctx, "echo slow", 9, 0, 1));
	ASSERT_EQ(0, tell(&t, "hold"));
	ASSERT_TRUE(SOON(h->gate->entered));
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
	long sleeps;

	ASSERT_EQ(0, up(&t, 5));
	EXPECT_LT(0, dxk_command_schedule(t.ctx, "set boost_value 77", 18, due, 0));
	EXPECT_TRUE(SOON(dxt_num(&t, "policy/boost_value") == 77));
	EXPECT_LE(due, dxt_now());
	/* nothing is left to tick for */
	dxt_sleep_ms(30);
	sleeps = monitor_sleeps(&t);
	dxt_sleep_ms(100);
	EXPECT_EQ(sleeps, monitor_sleeps(&t));
	EXPECT_LT(0, dxk_command_schedule(t.ctx, "quit", 4, 1, 0));
	EXPECT_TRUE(SOON(dxt_post1(t.member, 1, DXT_NOP, 0, 0, 0, NULL) == -ESHUTDOWN));
	dxt_down(&t);
}

/* A run is one run, however many intervals it waits for. */
TEST(timed_not_twice)
{
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
	EXPECT_TRUE(SOON(h->texts == 1));
	EXPECT_LT(0, dxk_command_schedule(t.ctx, "echo 2", 6, 1, ~0ULL));
	EXPECT_TRUE(SOON(h->texts == 2));
	EXPECT_LT(0, dxk_command_schedule(t.ctx, "echo 3", 6, 0, ~0ULL));
	EXPECT_TRUE(SOON(h->texts == 3));
	EXPECT_LT(0, dxk_command_schedule(t.ctx, "echo 4", 6, 1, 1ULL << 63));
	EXPECT_TRUE(SOON(h->texts == 4));
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

/* 10^4 attaches and detaches of two handlers, ticks of 1 ms, senders */
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
		racer[i].rounds = dxt_debug_kernel() ? 300 : 5000;
		ASSERT_EQ(0, pthread_create(&racer[i].thread, NULL, racer_thread,
					    &racer[i]));
	}
	while (!over) {
		/* whoever has it: it is answered, and nothing of it is lost */
		rc = ask(&t, "show pools", reply, sizeof(reply));
		EXPECT_EQ(0, rc);
		EXPECT_EQ(0, tell(&t, "set boost_value 3"));
		asked++;
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
	EXPECT_TRUE(SOON(waiting(&t) == 0));
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
	for (round = 0; round < (dxt_debug_kernel() ? 5 : 20); round++) {
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
