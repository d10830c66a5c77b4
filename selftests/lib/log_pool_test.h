/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of the Log Pool share beside log_test.h: puppets that log. */
#ifndef LOG_POOL_TEST_H
#define LOG_POOL_TEST_H

#include "log_test.h"

/* --- puppets that log -------------------------------------------------------- */

struct writer {
	struct puppet *p;
	unsigned int first, last;
	uint32_t flags;
	uint64_t deadline;
	int rc;			/* of the last message */
};

static struct writer *writer_of[16];

static inline void call_write(struct puppet *p)
{
	struct writer *w = NULL;
	unsigned int i;

	for (i = 0; i < 16; i++)
		if (writer_of[i] && writer_of[i]->p == p)
			w = writer_of[i];
	for (i = w->first; i <= w->last; i++) {
		w->rc = say(p->fd, w->flags, w->deadline, "message %u", i);
		if (w->rc)
			break;
	}
	p->ret = w->rc;
}

static inline bool logging(const struct dxt *t, unsigned int id)
{
	return dxt_member_is(t, id, "logging");
}

/* Begins to write; true when the writer sleeps. */
static inline bool writes(struct writer *w, struct puppet *p, unsigned int first,
			  unsigned int last, uint64_t deadline)
{
	unsigned int i;

	for (i = 0; i < 16 && writer_of[i] && writer_of[i] != w; i++)
		;
	writer_of[i] = w;
	*w = (struct writer){ .p = p, .first = first, .last = last,
			      .flags = DXK_LOG_WAIT, .deadline = deadline };
	pthread_mutex_lock(&p->lock);
	p->ret = -EINPROGRESS;
	p->call = call_write;
	pthread_cond_broadcast(&p->cond);
	pthread_mutex_unlock(&p->lock);
	if (!DXT_UNTIL(p->t, !puppet_busy(p) || logging(p->t, p->id)))
		fprintf(stderr, "# writer %u neither returns nor sleeps\n", p->id);
	return puppet_busy(p) && logging(p->t, p->id);
}

FIXTURE(log) {
	struct dxt t;
	struct puppet *p[4];
	struct writer w[4];
	struct dxk_log_record r[DXK_BATCH_MAX];
};

FIXTURE_SETUP(log)
{
	mkdir(DIR_, 0755);
	unlink(LOG);
	memset(writer_of, 0, sizeof(writer_of));
}

FIXTURE_TEARDOWN(log)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		if (self->p[i])
			puppet_free(self->p[i]);
	if (self->t.ctx > 0)
		dxt_down(&self->t);
	umount(SMALL);
	unlink(LOG);
}

#define PUPPETS(_nr)		puppets_new(&self->t, self->p, _nr, DXK_MEMBER_CLIENT)

#endif /* LOG_POOL_TEST_H */
