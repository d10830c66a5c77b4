// SPDX-License-Identifier: GPL-2.0-only
/*
 * 64 messages to a worker in another process, an answer to each: socketpair, POSIX
 * message queues.
 */
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"

/* What a request carries: who gets the answer, what to do, with what. */
struct message {
	uint64_t owner, executor, param, status;
};

static struct message out[BATCH], in[BATCH];
static struct iovec out_iov[BATCH], in_iov[BATCH];
static struct mmsghdr out_msg[BATCH], in_msg[BATCH];
static int fds[2], process;

/* Each process has its own of all of these. */
static void prepare(void)
{
	for (int i = 0; i < BATCH; i++) {
		out[i] = (struct message){ 1, 2, i, 0 };
		out_iov[i] = (struct iovec){ &out[i], sizeof(out[i]) };
		in_iov[i] = (struct iovec){ &in[i], sizeof(in[i]) };
		out_msg[i].msg_hdr = (struct msghdr){ .msg_iov = &out_iov[i],
						      .msg_iovlen = 1 };
		in_msg[i].msg_hdr = (struct msghdr){ .msg_iov = &in_iov[i],
						     .msg_iovlen = 1 };
	}
}

static void check(long nr)
{
	for (long i = 0; i < nr; i++)
		if (in[i].param != (uint64_t)i)
			die("answer %ld is for %ld", i, (long)in[i].param);
}

static void process_end(void)
{
	child_end(process, SIGKILL);
}

/* --- socketpair, a call for each message -------------------------------------- */

static void each_main(void)
{
	struct message m;

	close(fds[0]);
	while (recv(fds[1], &m, sizeof(m), 0) == sizeof(m))
		MUST(sizeof(m), send(fds[1], &m, sizeof(m), 0));
}

static void each_setup(const struct variant *v)
{
	(void)v;
	prepare();
	MUST(0, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds));
	process = child_start(each_main);
}

static void each_run(long ops)
{
	while (ops) {
		long nr = ops < BATCH ? ops : BATCH;

		for (long i = 0; i < nr; i++)
			MUST(sizeof(*out), send(fds[0], &out[i], sizeof(*out), 0));
		for (long i = 0; i < nr; i++)
			MUST(sizeof(*in), recv(fds[0], &in[i], sizeof(*in), 0));
		check(nr);
		ops -= nr;
	}
}

const struct kind socketpair_each = {
	.setup = each_setup, .run = each_run, .teardown = process_end,
};

/* --- socketpair, a call for up to 64 messages --------------------------------- */

static void send_many(int fd, struct mmsghdr *msgs, long nr)
{
	while (nr) {
		int put = sendmmsg(fd, msgs, nr, 0);

		if (put <= 0)
			die("sendmmsg gave %d", put);
		msgs += put;
		nr -= put;
	}
}

static void mmsg_main(void)
{
	int got;

	close(fds[0]);
	while ((got = recvmmsg(fds[1], in_msg, BATCH, MSG_WAITFORONE, NULL)) > 0) {
		memcpy(out, in, got * sizeof(*in));
		send_many(fds[1], out_msg, got);
	}
}

static void mmsg_setup(const struct variant *v)
{
	(void)v;
	prepare();
	MUST(0, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds));
	process = child_start(mmsg_main);
}

static void mmsg_run(long ops)
{
	while (ops) {
		long nr = ops < BATCH ? ops : BATCH;

		send_many(fds[0], out_msg, nr);
		MUST(nr, recvmmsg(fds[0], in_msg, nr, 0, NULL));
		check(nr);
		ops -= nr;
	}
}

const struct kind socketpair_mmsg = {
	.setup = mmsg_setup, .run = mmsg_run, .teardown = process_end,
};

/* --- socketpair, a stream ------------------------------------------------------- */

/* No boundaries between messages: it cannot serve a second worker. */
static void stream_main(void)
{
	ssize_t got;

	close(fds[0]);
	while ((got = read(fds[1], in, sizeof(in))) > 0)
		write_all(fds[1], in, got);
}

static void stream_setup(const struct variant *v)
{
	(void)v;
	prepare();
	MUST(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
	process = child_start(stream_main);
}

static void stream_run(long ops)
{
	while (ops) {
		long nr = ops < BATCH ? ops : BATCH;

		write_all(fds[0], out, nr * sizeof(*out));
		read_all(fds[0], in, nr * sizeof(*in));
		check(nr);
		ops -= nr;
	}
}

const struct kind socketpair_stream = {
	.setup = stream_setup, .run = stream_run, .teardown = process_end,
};

/* --- message queues ----------------------------------------------------------- */

static mqd_t to_worker, to_me;

static mqd_t queue(const char *name)
{
	struct mq_attr attr = { .mq_maxmsg = BATCH, .mq_msgsize = sizeof(*out) };
	mqd_t mq;

	mq_unlink(name);
	mq = mq_open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600, &attr);
	if (mq < 0)
		die("mq_open");
	mq_unlink(name);
	return mq;
}

static void mq_main(void)
{
	struct message m;

	while (mq_receive(to_worker, (char *)&m, sizeof(m), NULL) == sizeof(m))
		MUST(0, mq_send(to_me, (char *)&m, sizeof(m), 0));
}

static void mq_setup(const struct variant *v)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };

	(void)v;
	MUST(0, setrlimit(RLIMIT_MSGQUEUE, &limit));
	prepare();
	to_worker = queue("/dxk_bench_work");
	to_me = queue("/dxk_bench_done");
	process = child_start(mq_main);
}

static void mq_run(long ops)
{
	while (ops) {
		long nr = ops < BATCH ? ops : BATCH;

		for (long i = 0; i < nr; i++)
			MUST(0, mq_send(to_worker, (char *)&out[i], sizeof(*out), 0));
		for (long i = 0; i < nr; i++)
			MUST(sizeof(*in), mq_receive(to_me, (char *)&in[i],
						     sizeof(*in), NULL));
		check(nr);
		ops -= nr;
	}
}

const struct kind mq_batch = {
	.setup = mq_setup, .run = mq_run, .teardown = process_end,
};
