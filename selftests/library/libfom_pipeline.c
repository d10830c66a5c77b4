// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program of foms, all parts together: a file is copied by a leader with a reader and a writer
 * (FO-47). There are some buffers; the reader takes an empty one for each piece, and waits for a
 * credit if there is none (FO-22, FO-27); the writer has the output's long lock as long as it copies
 * (FO-43, FO-44). Both block in their system calls, between markers (FO-35). Who waits for too long
 * fails, and takes the others with it (FO-30).
 */
#define _GNU_SOURCE
#include "library/libfom.h"

#define PIECES	50
#define PIECE	1000
#define BUFFERS	3

/* A ring of buffers: as much of it is full as was read and not written. */
struct copy {
	struct part {
		struct fom fom;
		struct copy *of;
		struct fom_thrall thrall;
		struct fom_callback called;
	} leader, reader, writer;
	struct long_lock *out;
	struct long_lock_link link;
	struct chan credits, pieces;	/* a buffer is empty, or full */
	char buffer[BUFFERS][PIECE];
	size_t len[BUFFERS];
	_Atomic unsigned int read, written, ended;
	_Atomic bool over;		/* the reader has seen the end, or a part has failed */
	int from, to, rc;
};

/* Phases */
enum { COPYING = 2, CLOSING };

static struct copy *copy_of(struct fom *fom)
{
	return ((struct part *)fom)->of;
}

/* Waits for an event of a channel, unless what it tells of is there by now. */
static int waits_for(struct fom *fom, struct chan *chan, bool (*is_there)(struct copy *c))
{
	struct fom_callback *called = &((struct part *)fom)->called;

	fom_wait_on(fom, chan, called);
	if (!is_there(copy_of(fom)) || !fom_callback_cancel(called))
		return FSO_WAIT;
	return FSO_AGAIN;
}

static bool has_credit(struct copy *c)
{
	return c->read - c->written < BUFFERS || c->over;
}

static bool has_piece(struct copy *c)
{
	return c->read != c->written || c->over;
}

/* What it waits for may not come any more. */
static int ends_part(struct fom *fom)
{
	fom_callback_cancel(&((struct part *)fom)->called);
	fom_phase_set(fom, FOM_PHASE_FINISH);
	return FSO_WAIT;
}

/* read(2) and write(2) block: others of the locality go on. */
static ssize_t moves(struct fom *fom, bool out, int fd, void *data, size_t len)
{
	bool marked = !fom_block_enter(fom);
	ssize_t n = out ? write(fd, data, len) : read(fd, data, len);

	if (marked && fom_block_leave(fom))
		return -1;
	return n;
}

static int reader_tick(struct fom *fom)
{
	struct copy *c = copy_of(fom);
	unsigned int i = c->read % BUFFERS;
	ssize_t n;

	if (fom_rc(fom) || c->over)
		return ends_part(fom);
	if (!has_credit(c))
		return waits_for(fom, &c->credits, has_credit);
	n = moves(fom, false, c->from, c->buffer[i], PIECE);
	if (n < 0)
		return -EIO;
	if (n) {
		c->len[i] = (size_t)n;
		c->read++;
	} else {
		c->over = true;
	}
	chan_signal(&c->pieces);
	return FSO_AGAIN;
}

static int writer_tick(struct fom *fom)
{
	struct copy *c = copy_of(fom);
	unsigned int i = c->written % BUFFERS;

	switch (fom_phase(fom)) {
	case FOM_PHASE_INIT:
		return long_write_lock(c->out, &c->link, COPYING);
	case CLOSING:
		long_unlock(c->out, &c->link);
		return ends_part(fom);
	}
	if (!long_is_write_locked(c->out, fom))
		return FSO_WAIT;
	if (c->read != c->written) {
		if (moves(fom, true, c->to, c->buffer[i], c->len[i]) != (ssize_t)c->len[i])
			return -EIO;
		c->written++;
		chan_signal(&c->credits);
		return FSO_AGAIN;
	}
	if (!c->over)
		return waits_for(fom, &c->pieces, has_piece);
	fom_phase_set(fom, CLOSING);
	return FSO_AGAIN;
}

/* A serf that has failed takes the other one with it. */
static void part_ends(struct fom_thrall *thrall, struct fom *serf)
{
	struct copy *c = copy_of(serf);

	(void)thrall;
	if (fom_rc(serf)) {
		c->rc = fom_rc(serf);
		c->over = true;
		chan_broadcast(&c->credits);
		chan_broadcast(&c->pieces);
	}
	c->ended++;
}

static int leader_tick(struct fom *fom)
{
	struct copy *c = copy_of(fom);

	if (fom_phase(fom) == FOM_PHASE_INIT) {
		fom_phase_set(fom, COPYING);
		fom_enthrall(fom, &c->reader.fom, &c->reader.thrall, part_ends);
		fom_enthrall(fom, &c->writer.fom, &c->writer.thrall, part_ends);
		if (fom_queue(&c->reader.fom) || fom_queue(&c->writer.fom))
			return -EIO;
	}
	if (c->ended == 2)
		fom_phase_move(fom, c->rc, FOM_PHASE_FINISH);
	return FSO_WAIT;
}

static const struct fom_ops reader_ops = { .tick = reader_tick, .fini = fom_fini };
static const struct fom_ops writer_ops = { .tick = writer_tick, .fini = fom_fini };
static const struct fom_ops leader_ops = { .tick = leader_tick, .fini = fom_fini };
static struct fom_type reader_type = { .name = "reader", .ops = &reader_ops, .failure = CLOSING };
static struct fom_type writer_type = { .name = "writer", .ops = &writer_ops, .failure = CLOSING };
static struct fom_type leader_type = { .name = "leader", .ops = &leader_ops };

static void part_init(struct copy *c, struct part *part, struct fom_type *type,
		      struct fom_service *s)
{
	part->of = c;
	fom_callback_init(&part->called, NULL, NULL);
	fom_init(&part->fom, type, s);
}

static void copy_init(struct copy *c, struct place *p, struct long_lock *out, int from, int to)
{
	*c = (struct copy){ .out = out, .from = from, .to = to };
	chan_init(&c->credits);
	chan_init(&c->pieces);
	part_init(c, &c->leader, &leader_type, &p->s);
	part_init(c, &c->reader, &reader_type, &p->s);
	part_init(c, &c->writer, &writer_type, &p->s);
	long_lock_link_init(&c->link, &c->writer.fom);
}

static void copy_fini(struct copy *c)
{
	long_lock_link_fini(&c->link);
	chan_fini(&c->credits);
	chan_fini(&c->pieces);
}

FIXTURE(pipeline) {
	struct place p;
	struct long_lock out;
	int from[2], to[2];		/* pipes */
};

FIXTURE_SETUP(pipeline)
{
	ASSERT_EQ(0, place_up(&self->p, 2, 2));
	ASSERT_EQ(0, pipe(self->from));
	ASSERT_EQ(0, pipe(self->to));
	long_lock_init(&self->out);
}

FIXTURE_TEARDOWN(pipeline)
{
	for (unsigned int i = 0; i < 2; i++) {
		close(self->from[i]);
		close(self->to[i]);
	}
	long_lock_fini(&self->out);
	EXPECT_EQ(0, place_down(&self->p));
}

static int feeds[2];

/* Both a piece at a time; all of it fits into pipes. */
static void *feed(void *arg)
{
	char piece[PIECE];

	for (unsigned int i = 0; i < 2 * PIECES; i++) {
		memset(piece, 'a' + i % 2, PIECE);
		if (write(feeds[i % 2], piece, PIECE) != PIECE)
			return arg;
		usleep(100);
	}
	close(feeds[0]);
	close(feeds[1]);
	return NULL;
}

/* FO-43, FO-47: what comes is all of one copy, then all of the other one */
TEST_F(pipeline, copies)
{
	unsigned int nr[2] = { 0, 0 }, changes = 0;
	struct copy c[2];
	char what, last = 0;
	pthread_t feeder;
	int other[2];
	void *failed;

	ASSERT_EQ(0, pipe(other));
	feeds[0] = self->from[1];
	feeds[1] = other[1];
	self->from[1] = -1;
	ASSERT_EQ(0, pthread_create(&feeder, NULL, feed, feeds));
	copy_init(&c[0], &self->p, &self->out, self->from[0], self->to[1]);
	copy_init(&c[1], &self->p, &self->out, other[0], self->to[1]);
	for (unsigned int i = 0; i < 2; i++)
		ASSERT_EQ(0, fom_queue(&c[i].leader.fom));
	for (unsigned int i = 0; i < 2 * PIECES * PIECE; i++) {
		ASSERT_EQ(1, read(self->to[0], &what, 1));
		changes += what != last;
		nr[what == 'b']++;
		last = what;
	}
	EXPECT_EQ(0, fom_service_idle_wait(&self->p.s, FOM_FOREVER));
	EXPECT_EQ(2, changes);
	for (unsigned int i = 0; i < 2; i++) {
		EXPECT_EQ(PIECES * PIECE, nr[i]);
		EXPECT_EQ(0, fom_rc(&c[i].leader.fom));
		copy_fini(&c[i]);
	}
	pthread_join(feeder, &failed);
	EXPECT_EQ(NULL, failed);
	close(other[0]);
}

/* FO-30, FO-45: one that does not get the output in time fails; who has it does not notice */
TEST_F(pipeline, times_out)
{
	struct copy c[2];
	int other = open("/dev/zero", O_RDONLY);
	char what[16];

	copy_init(&c[0], &self->p, &self->out, self->from[0], self->to[1]);
	copy_init(&c[1], &self->p, &self->out, other, self->to[1]);
	ASSERT_EQ(0, fom_queue(&c[0].leader.fom));
	ASSERT_TRUE(DXT_SOON(long_is_write_locked(&self->out, &c[0].writer.fom)));
	fom_set_timeout(&c[1].writer.fom, 20 * DXT_MS);
	ASSERT_EQ(0, fom_queue(&c[1].leader.fom));
	ASSERT_TRUE(DXT_SOON(fom_state(&c[1].leader.fom) == FOM_FINISHED));
	EXPECT_EQ(-ETIMEDOUT, fom_rc(&c[1].leader.fom));
	EXPECT_GE(BUFFERS, c[1].read);
	EXPECT_EQ(0, c[1].written);
	EXPECT_EQ(FOM_WAITING, fom_state(&c[0].leader.fom));
	ASSERT_EQ(5, write(self->from[1], "hello", 5));
	close(self->from[1]);
	self->from[1] = -1;
	EXPECT_EQ(5, read(self->to[0], what, sizeof(what)));
	EXPECT_EQ(0, fom_service_idle_wait(&self->p.s, FOM_FOREVER));
	EXPECT_EQ(0, fom_rc(&c[0].leader.fom));
	copy_fini(&c[0]);
	copy_fini(&c[1]);
	close(other);
}

TEST_HARNESS_MAIN
