/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of deadlocks share: families of requests, a context whose stalls are
 * watched.
 */
#ifndef DEADLOCK_TEST_H
#define DEADLOCK_TEST_H

#include "engine_test.h"

#include <fcntl.h>
#include <poll.h>

#define FAMILIES	10

/*
 * A parent and its children. Its address is the parent's parameter, and owner and
 * parameter of the children.
 */
struct family {
	unsigned int children;
	uint32_t attrs;			/* of the children */
	_Atomic unsigned int posted, executed, returned, cancelled;
	_Atomic unsigned int full;	/* posts that found no room */
	_Atomic int error;		/* that ended the posting */
	_Atomic uint32_t answer;	/* the last */
};

static struct family family[FAMILIES];
/* No child is posted before all parents execute. */
static struct dxt_gate *barrier;

/*
 * The kernel's log from now on. Its records are read one by one, also if the
 * machine's other messages come between.
 */
static inline int log_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

FIXTURE(deadlock) {
	struct dxt t;
	struct pollfd stalls;	/* the counter, as somebody watches it */
	int log;
};

FIXTURE_SETUP(deadlock)
{
	struct dxt *t = &self->t;

	memset((void *)family, 0, sizeof(family));
	barrier = dxt_gate_new();
	self->log = log_open();
	ASSERT_LE(0, self->log);
	ASSERT_EQ(0, dxt_open(t));
	no_sweeps(t);
	puppet_signals(false);
}

FIXTURE_TEARDOWN(deadlock)
{
	dxt_gate_open(barrier);
	dxt_down(&self->t);
	dxt_gate_free(barrier);
	close(self->log);
	if (self->stalls.fd > 0)
		close(self->stalls.fd);
}

/* Reads the counter: poll(2) tells when it has changed since. */
static inline void look(const struct dxt *t, struct pollfd *p)
{
	char path[64], text[32];

	snprintf(path, sizeof(path), "/sys/kernel/dxk/%u/stats/stalls", t->id);
	if (p->fd <= 0)
		p->fd = open(path, O_RDONLY | O_CLOEXEC);
	p->events = POLLPRI;
	if (pread(p->fd, text, sizeof(text), 0) < 0)
		p->events = 0;
}

#define START(workers_) ({						\
	t->policy.max_threads = workers_;				\
	ASSERT_EQ(0, dxt_start(t));					\
	ASSERT_EQ(0, dxt_workers_start(t, workers_));			\
	look(t, &self->stalls);						\
	ASSERT_EQ(POLLPRI, self->stalls.events);			\
})

#endif /* DEADLOCK_TEST_H */
