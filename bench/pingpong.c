// SPDX-License-Identifier: GPL-2.0-only
/*
 * A word to a second thread and back, both sleep for it: futex, eventfd, pipe,
 * socketpair, POSIX message queues.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"

/* --- futex -------------------------------------------------------------------- */

static uint32_t ping, pong;

static void futex_send(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void futex_await(uint32_t *word, uint32_t old)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == old)
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0);
}

/* UINT32_MAX is the last word. */
static void *futex_partner(void *arg)
{
	uint32_t value = 0;

	while (value != UINT32_MAX) {
		futex_await(&ping, value);
		value = __atomic_load_n(&ping, __ATOMIC_RELAXED);
		futex_send(&pong, value);
	}
	return arg;
}

static void futex_setup(const struct variant *v)
{
	(void)v;
	partner_start(futex_partner, NULL);
}

static void futex_run(long ops)
{
	uint32_t value = pong;

	while (ops--) {
		futex_send(&ping, value + 1);
		futex_await(&pong, value);
		value++;
	}
}

static void futex_teardown(void)
{
	futex_send(&ping, UINT32_MAX);
	partner_join();
}

const struct kind futex_trip = {
	.setup = futex_setup,
	.run = futex_run,
	.teardown = futex_teardown,
};

/* --- descriptors -------------------------------------------------------------- */

/* ends to read and to write */
static int partner_in, partner_out, my_in, my_out;

/* 2 is the last word. */
static void *fd_partner(void *arg)
{
	uint64_t value = 1;

	while (value == 1) {
		MUST(sizeof(value), read(partner_in, &value, sizeof(value)));
		MUST(sizeof(value), write(partner_out, &value, sizeof(value)));
	}
	return arg;
}

static void fd_run(long ops)
{
	uint64_t value = 1;

	while (ops--) {
		MUST(sizeof(value), write(my_out, &value, sizeof(value)));
		MUST(sizeof(value), read(my_in, &value, sizeof(value)));
	}
}

static void fd_teardown(void)
{
	uint64_t last = 2;

	MUST(sizeof(last), write(my_out, &last, sizeof(last)));
	partner_join();
}

static void eventfd_setup(const struct variant *v)
{
	(void)v;
	partner_in = my_out = eventfd(0, EFD_CLOEXEC);
	my_in = partner_out = eventfd(0, EFD_CLOEXEC);
	if (partner_in < 0 || my_in < 0)
		die("eventfd");
	partner_start(fd_partner, NULL);
}

static void pipe_setup(const struct variant *v)
{
	int fds[2];

	(void)v;
	MUST(0, pipe2(fds, O_CLOEXEC));
	partner_in = fds[0];
	my_out = fds[1];
	MUST(0, pipe2(fds, O_CLOEXEC));
	my_in = fds[0];
	partner_out = fds[1];
	partner_start(fd_partner, NULL);
}

static void socketpair_setup(const struct variant *v)
{
	int fds[2];

	(void)v;
	MUST(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
	my_in = my_out = fds[0];
	partner_in = partner_out = fds[1];
	partner_start(fd_partner, NULL);
}

const struct kind eventfd_trip = {
	.setup = eventfd_setup, .run = fd_run, .teardown = fd_teardown,
};

const struct kind pipe_trip = {
	.setup = pipe_setup, .run = fd_run, .teardown = fd_teardown,
};

const struct kind socketpair_trip = {
	.setup = socketpair_setup, .run = fd_run, .teardown = fd_teardown,
};

/* --- message queues ----------------------------------------------------------- */

static mqd_t to_partner, to_me;

static mqd_t queue(const char *name)
{
	struct mq_attr attr = { .mq_maxmsg = 10, .mq_msgsize = sizeof(uint64_t) };
	mqd_t mq;

	mq_unlink(name);
	mq = mq_open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600, &attr);
	if (mq < 0)
		die("mq_open");
	mq_unlink(name);
	return mq;
}

static void *mq_partner(void *arg)
{
	uint64_t value = 1;

	while (value == 1) {
		MUST(sizeof(value), mq_receive(to_partner, (char *)&value,
					       sizeof(value), NULL));
		MUST(0, mq_send(to_me, (char *)&value, sizeof(value), 0));
	}
	return arg;
}

static void mq_setup(const struct variant *v)
{
	(void)v;
	to_partner = queue("/dxk_bench_ping");
	to_me = queue("/dxk_bench_pong");
	partner_start(mq_partner, NULL);
}

static void mq_run(long ops)
{
	uint64_t value = 1;

	while (ops--) {
		MUST(0, mq_send(to_partner, (char *)&value, sizeof(value), 0));
		MUST(sizeof(value), mq_receive(to_me, (char *)&value, sizeof(value),
					       NULL));
	}
}

static void mq_teardown(void)
{
	uint64_t last = 2;

	MUST(0, mq_send(to_partner, (char *)&last, sizeof(last), 0));
	partner_join();
}

const struct kind mq_trip = {
	.setup = mq_setup, .run = mq_run, .teardown = mq_teardown,
};
