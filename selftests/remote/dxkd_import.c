// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the importing side of dxkd does with a request whose message may be lost, without a context:
 * the places are those of a window that has fetched. And what it does with the files of others. No
 * broker.
 */
/* link.c has another one */
#define grow grow_array
#include "../tools/dxkd/config.c"
#undef grow
#include "../tools/dxkd/judge.c"
#include "../tools/dxkd/message.c"
#include "../tools/dxkd/link.c"
#include "../tools/dxkd/payload.c"
#include "../tools/dxkd/closer.c"
#include "../tools/dxkd/import.c"

#include "lib/fuse.h"

const char *tool = "dxkd";

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

FIXTURE(import) {
	struct service cfg;
	struct place places[2];
	struct import m;
};

FIXTURE_SETUP(import)
{
	unsigned int i;

	self->cfg = (struct service){ .window = 2, .begin_within = 1 };
	self->m = (struct import){
		.cfg = &self->cfg, .places = self->places, .closer = closer_new(), .epoll = -1,
	};
	for (i = 0; i < 2; i++) {
		struct place *p = &self->places[i];

		p->number = i + 1;
		p->fd = p->file = -1;
		p->w.work.attrs = PXR_REDO;
		set_at(&self->m, p, UNSENT);
		set_times(&self->m, p);
	}
}

FIXTURE_TEARDOWN(import)
{
	closer_free(self->m.closer);
}

/*
 * What nobody has been sent ends with ETIME when its time to begin is over. What was sent, and is to
 * be sent again as the broker's word on it did not come, may have begun: nobody says that it has not.
 */
TEST_F(import, lost_may_have_begun)
{
	struct place *unsent = &self->places[0], *lost_one = &self->places[1];

	set_at(&self->m, lost_one, SENT);
	message_lost(&self->m, lost_one);
	EXPECT_EQ(UNSENT, lost_one->at);
	EXPECT_EQ(1, self->m.counts.republished);
	unsent->begin_us = unsent->begin_us ? 1 : 0;
	lost_one->begin_us = lost_one->begin_us ? 1 : 0;
	EXPECT_EQ(NEVER, end_late(&self->m, now_ns()));
	EXPECT_EQ(1, self->m.counts.refused);
	EXPECT_EQ(IDLE, unsent->at);
	EXPECT_EQ(UNSENT, lost_one->at);
	EXPECT_EQ(1, self->m.nr_unsent);
}

/* Requests are sent in the order in which the context gave them, wherever their places are. */
TEST_F(import, in_order)
{
	self->places[0].w.work.ticket = 8;
	self->places[1].w.work.ticket = 7;
	EXPECT_EQ(&self->places[1], first_unsent(&self->m));
	set_at(&self->m, &self->places[1], SENT);
	EXPECT_EQ(&self->places[0], first_unsent(&self->m));
}

FIXTURE(context) {
	struct broker broker;
	struct service cfg;
	struct import *m;
	struct fusefs *fs;
	int ctl, ctx, me;
};

FIXTURE_SETUP(context)
{
	self->ctl = self->ctx = self->me = -1;
	self->cfg = (struct service){
		.name = "test", .broker = &self->broker, .context = "dxkd-import-test",
		.window = CLOSER_MAX + 2, .mode = 0600, .data_size = 64, .payload_max = 4096,
	};
	self->fs = fuse_up(false);
	if (!self->fs)
		SKIP(return, "this kernel has no FUSE");
	self->m = (struct import *)import_new(&self->cfg);
	context_try(self->m, now_ns());
	ASSERT_NE(NULL, self->m->places) TH_LOG("%s", strerror(-self->m->said));
	self->ctl = dxk_open();
	self->ctx = dxk_ctx_join(self->ctl, self->cfg.context, DXK_ACCESS_WRITE, 0, NULL);
	self->me = dxk_member_create(self->ctx, DXK_MEMBER_CLIENT, NULL);
	ASSERT_LE(0, self->me);
}

FIXTURE_TEARDOWN(context)
{
	int fds[] = { self->me, self->ctx, self->ctl };

	if (self->fs)
		fuse_down(self->fs);
	for (unsigned int i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	if (self->m)
		import_close(&self->m->task);
}

/*
 * Files that do not travel are refused, and who has passed them decides when their close returns:
 * dxkd goes on meanwhile, until there are too many, and then again.
 */
TEST_F(context, refused_files)
{
	struct dxk_post_entry e = { .owner = 1, .attrs = PXR_REJOIN | PXR_FD };
	struct import *m = self->m;
	struct dxk_result result;
	uint64_t now = now_ns();
	unsigned int i, answer;

	e.fd = open(FUSE_FILE, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, e.fd);
	self->fs->hang = FUSE_FLUSH;
	for (i = 0; i < CLOSER_MAX + 1; i++)
		ASSERT_EQ(1, dxk_post(self->me, &e, 1, 0, NULL));
	fetch(m);
	EXPECT_EQ(CLOSER_MAX, m->counts.refused);
	for (i = 0; i < CLOSER_MAX; i++) {
		ASSERT_EQ(1, dxk_rejoin(self->me, 1, &result, 1, 0, NULL, 0, 0, &answer));
		EXPECT_EQ(-EOPNOTSUPP, result.status);
	}
	EXPECT_TRUE(held_up(m, now));
	EXPECT_EQ(now + CLOSED_LATE, m->full);
	EXPECT_TRUE(held_up(m, m->full));
	EXPECT_EQ(NEVER, m->full);
	fetch(m);
	EXPECT_EQ(CLOSER_MAX, m->counts.refused);
	EXPECT_TRUE(DXT_SOON(self->fs->hung == 1));

	fuse_down(self->fs);
	self->fs = NULL;
	EXPECT_TRUE(DXT_SOON(!held_up(m, now)));
	EXPECT_EQ(0, m->full);
	fetch(m);
	EXPECT_EQ(CLOSER_MAX + 1, m->counts.refused);
	close(e.fd);
}

TEST_HARNESS_MAIN
