// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Who lets go of the files of requests that have ended: the worker that completes them, and
 * of those that nobody executed, the item that empties the bin.
 */
#include "engine/bin.h"
#include "engine/more.h"
#include "engine/tests/puppet.h"

static struct puppets *new_bin(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);

	os_bins = 0;
	os_gone = 0;
	return ps;
}

/* Of the newest request: a file. */
static void add_file(struct puppets *ps, struct dxk_file_ref *file, u32 attrs)
{
	*file = (struct dxk_file_ref) { };
	puppet_post(ps, 8, 0, attrs);
	dxk_more_of(ps->main, dxk_ready_first(&ps->e->ready))->file = file;
}

/* They pin the context until the item has them, and it is told when there is one more. */
static void files_bin(struct kunit *test)
{
	struct puppets *ps = new_bin(test);
	struct dxk_file_ref files[3] = { { &files[1] }, { &files[2] } };

	dxk_bin_put(ps->e, NULL);
	EXPECT_IS(ps->e->run.pins, 0);
	EXPECT_IS(os_bins, 0);
	dxk_bin_put(ps->e, files);
	EXPECT_IS(ps->e->run.pins, 1);
	EXPECT_IS(os_bins, 1);
	EXPECT(dxk_bin_take(ps->e) == &files[2]);
	EXPECT(files[2].next == &files[1] && files[1].next == &files[0] && !files[0].next);
	/* one that comes meanwhile is the same item's */
	files[0].next = NULL;
	dxk_bin_put(ps->e, files);
	EXPECT_IS(ps->e->run.pins, 1);
	EXPECT_IS(os_bins, 1);
	EXPECT(dxk_bin_take(ps->e) == files);
	EXPECT(!dxk_bin_take(ps->e));
	dxk_unpin(ps->e);
	EXPECT_IS(ps->e->run.pins, 0);
	/* and then there is another one */
	dxk_bin_put(ps->e, files);
	EXPECT_IS(ps->e->run.pins, 1);
	EXPECT_IS(os_bins, 2);
	EXPECT(dxk_bin_take(ps->e) == files && !dxk_bin_take(ps->e));
	dxk_unpin(ps->e);
}

/* What Stop(cancel) ends puts its file into the bin, and whoever stops tells the item. */
static void files_cancelled(struct kunit *test)
{
	struct puppets *ps = new_bin(test);
	struct dxk_file_ref file = { };
	u32 released = os_released;

	add_file(ps, &file, 0);
	EXPECT_IS(os_bins, 0);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
	EXPECT_IS(ps->e->stats.cancelled, 1);
	EXPECT_IS(os_bins, 1);
	EXPECT(dxk_bin_take(ps->e) == &file && !dxk_bin_take(ps->e));
	dxk_unpin(ps->e);
	EXPECT_IS(os_gone, 0);
	/* and the request has it no more */
	EXPECT_IS(os_released, released);
}

/* Of what a worker completes it has the files in its hands, all of them. */
static void files_of_the_worker(struct kunit *test)
{
	struct puppets *ps = new_bin(test);
	struct dxk_file_ref files[2] = { };
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_next_op *n;
	u32 i;

	for (i = 0; i < 2; i++) {
		add_file(ps, &files[i], 0);
		puppet_work(ps, worker);
		n = puppet_end(ps, worker, 0, 0);
		EXPECT(n->files == &files[i] && !files[i].next);
		n->files = NULL;
	}
	EXPECT_IS(ps->e->run.pins, 0);
}

/* It lets go of them before it sleeps, and once; @max: 0 for who does not sleep. */
static void completes(struct puppets *ps, struct dxk_member *worker, u32 max, int err)
{
	struct dxk_next_op n;

	memset(&n, 0xa5, sizeof(n));
	n.m = worker;
	n.max = max;
	INIT_LIST_HEAD(&n.done);
	list_splice_init(&worker->busy, &n.done);
	EXPECT_IS(dxk_next(&n, 0), err);
	dxk_rqe_drop_all(NULL, &n.ended);
}

static u32 gone_by_then;

static void count_gone(void *unused)
{
	gone_by_then = os_gone;
}

static void files_let_go(struct kunit *test)
{
	static const u32 attrs[] = { 0, PXR_REJOIN };
	struct puppets *ps = new_bin(test);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_file_ref files[2];
	u32 max, i, row;

	for (row = 0; row < ARRAY_SIZE(attrs); row++)
		for (max = 0; max < 2; max++) {
			os_gone = 0;
			for (i = 0; i < 2; i++) {
				add_file(ps, &files[i], attrs[row]);
				puppet_work(ps, worker);
			}
			gone_by_then = 2;
			os_late = count_gone;
			completes(ps, worker, max, max ? -ETIMEDOUT : 0);
			os_late = NULL;
			EXPECT_IS(gone_by_then, 2);
			EXPECT_IS(os_gone, 2);
			/* and what has none lets go of none */
			puppet_post(ps, 8, 0, 0);
			puppet_work(ps, worker);
			completes(ps, worker, max, max ? -ETIMEDOUT : 0);
			EXPECT_IS(os_gone, 2);
		}
	EXPECT_IS(os_bins, 0);
}

/* A worker of the kernel is not available before that (DX-28); a user's lets go by itself. */
static void files_tidies(struct kunit *test)
{
	struct puppets *ps = new_bin(test);
	struct dxk_file_ref file;
	u32 kind;

	for (kind = 0; kind < DXK_KINDS; kind++) {
		struct dxk_member *worker = puppet_member(ps, DXK_ROLE_WORKER, kind, false);
		u32 attrs = kind == DXK_KERNEL ? PXR_KERNEL : 0;
		struct dxk_next_op *n;

		puppet_post_nr(ps, ps->main, 2, 8, attrs);
		dxk_more_of(ps->main, dxk_ready_first_of(&ps->e->ready, kind, DXK_LANES - 1))->file = &file;
		puppet_work(ps, worker);
		n = puppet_end(ps, worker, 0, 1);
		EXPECT(!ASLEEP(n));
		EXPECT_IS(n->err, 0);
		EXPECT_IS(n->nr, kind == DXK_USER);
		n->files = NULL;
	}
}

static struct kunit_case files_cases[] = {
	KUNIT_CASE(files_bin),
	KUNIT_CASE(files_cancelled),
	KUNIT_CASE(files_of_the_worker),
	KUNIT_CASE(files_let_go),
	KUNIT_CASE(files_tidies),
	{ }
};

static struct kunit_suite files_suite = {
	.name = "native_files",
	.exit = puppets_end,
	.test_cases = files_cases,
};

kunit_test_suite(files_suite);
