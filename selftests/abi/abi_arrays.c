// SPDX-License-Identifier: GPL-2.0-only
/* As abi.c: the arrays of the calls. */
#include "abi_test.h"

#include <limits.h>

/* Counts and element sizes of the arrays of POST, REJOIN, NEXT. */
TEST_F(abi, arrays)
{
	static const uint32_t counts[] = { 65, 66, 1 << 16, 1U << 31, UINT_MAX };
	struct dxk_rejoin rejoin;
	struct dxk_next next;
	struct dxk_post post;
	unsigned int i;

	POPULATE();
	for (i = 0; i < DXK_BATCH_MAX; i++)
		self->entry[i] = dxt_entry(OWNER, DXT_NOP, 0, PXR_REJOIN);
	dxt_poison(self->result, sizeof(self->result));
	dxt_poison(self->work, sizeof(self->work));
	dxt_poison(self->data, sizeof(self->data));

	const struct dxk_post good_post = {
		.size = sizeof(post), .entries = DXT_PTR(self->entry), .nr = 1,
		.entry_size = sizeof(self->entry[0]),
	};
	const struct dxk_rejoin good_rejoin = {
		.size = sizeof(rejoin), .owner = OWNER, .nr = 1,
		.results = DXT_PTR(self->result),
		.result_size = sizeof(self->result[0]),
		.data = DXT_PTR(self->data), .data_stride = DATA_SIZE,
	};
	const struct dxk_next good_next = {
		.size = sizeof(next), .nr_work = 1, .work = DXT_PTR(self->work),
		.work_size = sizeof(self->work[0]),
		.data = DXT_PTR(self->data), .data_stride = DATA_SIZE,
	};

	post = good_post, post.nr = 0;
	REFUSED(EINVAL, self->me, DXK_IOC_POST, &post, sizeof(post), "post nr 0");
	rejoin = good_rejoin, rejoin.nr = 0;
	REFUSED(EINVAL, self->me, DXK_IOC_REJOIN, &rejoin, sizeof(rejoin), "rejoin 0");
	rejoin = good_rejoin, rejoin.min = 2;
	REFUSED(EINVAL, self->me, DXK_IOC_REJOIN, &rejoin, sizeof(rejoin), "rejoin min");
	rejoin = good_rejoin, rejoin.min = UINT_MAX;
	REFUSED(EINVAL, self->me, DXK_IOC_REJOIN, &rejoin, sizeof(rejoin), "rejoin min");
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		post = good_post, post.nr = counts[i];
		REFUSED(EINVAL, self->me, DXK_IOC_POST, &post, sizeof(post), "post nr");
		rejoin = good_rejoin, rejoin.nr = counts[i];
		REFUSED(EINVAL, self->me, DXK_IOC_REJOIN, &rejoin, sizeof(rejoin),
			"rejoin nr");
	}
	for (i = 0; i < sizeof(self->entry[0]); i++) {
		post = good_post, post.entry_size = i;
		EXPECT_EQ(-EINVAL, dxt_ioctl(self->me, DXK_IOC_POST, &post));
	}
	for (i = 0; i < sizeof(self->result[0]); i++) {
		rejoin = good_rejoin, rejoin.result_size = i;
		EXPECT_EQ(-EINVAL, dxt_ioctl(self->me, DXK_IOC_REJOIN, &rejoin));
	}
	EXPECT_UNCHANGED("an element that is too small");
	post = good_post, post.entry_size = UINT_MAX;
	REFUSED(E2BIG, self->me, DXK_IOC_POST, &post, sizeof(post), "post huge");
	rejoin = good_rejoin, rejoin.result_size = UINT_MAX;
	REFUSED(E2BIG, self->me, DXK_IOC_REJOIN, &rejoin, sizeof(rejoin), "rejoin huge");

	/* A longer element with something in its tail, behind a good one. */
	{
		struct { struct dxk_post_entry e; uint64_t tail; } longer[2] = {
			{ .e = self->entry[0] }, { .e = self->entry[0], .tail = 1 },
		};

		post = good_post;
		post.entries = DXT_PTR(longer);
		post.nr = 2;
		post.entry_size = sizeof(longer[0]);
		post.index = post.reason = DXT_POISON32;
		EXPECT_EQ(-E2BIG, dxt_ioctl(self->me, DXK_IOC_POST, &post));
		EXPECT_EQ(1, post.index);
		EXPECT_EQ(0, post.reason);
		EXPECT_UNCHANGED("a dirty tail");
	}

	if (self->is == ON_WORKER) {
		struct { struct dxk_done d; uint64_t tail; } longer = {
			.d = { .ticket = 1 }, .tail = 1,
		};

		next = good_next, next.nr_work = 0;
		REFUSED(EINVAL, self->me, DXK_IOC_NEXT, &next, sizeof(next), "next 0");
		for (i = 0; i < ARRAY_SIZE(counts); i++) {
			next = good_next, next.nr_work = counts[i];
			REFUSED(EINVAL, self->me, DXK_IOC_NEXT, &next, sizeof(next),
				"next nr_work");
			next = good_next, next.nr_done = counts[i];
			next.done_size = sizeof(struct dxk_done);
			REFUSED(EINVAL, self->me, DXK_IOC_NEXT, &next, sizeof(next),
				"next nr_done");
		}
		for (i = 0; i < sizeof(self->work[0]); i++) {
			next = good_next, next.work_size = i;
			EXPECT_EQ(-EINVAL, dxt_ioctl(self->me, DXK_IOC_NEXT, &next));
		}
		for (i = 0; i < sizeof(struct dxk_done); i++) {
			next = good_next, next.nr_done = 1, next.done_size = i;
			EXPECT_EQ(-EINVAL, dxt_ioctl(self->me, DXK_IOC_NEXT, &next));
		}
		EXPECT_UNCHANGED("an element that is too small");
		next = good_next, next.work_size = UINT_MAX;
		REFUSED(E2BIG, self->me, DXK_IOC_NEXT, &next, sizeof(next), "next huge");
		next = good_next, next.nr_done = 1, next.done_size = UINT_MAX;
		REFUSED(E2BIG, self->me, DXK_IOC_NEXT, &next, sizeof(next), "next huge");
		next = good_next, next.data_stride = DATA_SIZE - 1;
		REFUSED(EMSGSIZE, self->me, DXK_IOC_NEXT, &next, sizeof(next), "stride");
		next = good_next, next.nr_done = 1, next.done_size = sizeof(longer);
		next.done = DXT_PTR(&longer);
		REFUSED(E2BIG, self->me, DXK_IOC_NEXT, &next, sizeof(next), "dirty");
	}
	EXPECT_TRUE(dxt_poisoned(self->result, sizeof(self->result)));
	EXPECT_TRUE(dxt_poisoned(self->work, sizeof(self->work)));
	EXPECT_TRUE(dxt_poisoned(self->data, sizeof(self->data)));
}

/* A longer element with a zero tail is taken, an answer's tail is cleared. */
TEST_F(abi, longer_elements)
{
	struct { struct dxk_post_entry e; uint64_t tail[3]; } entry = { 0 };
	struct { struct dxk_result r; uint64_t tail[3]; } result[2];
	struct { struct dxk_work w; uint64_t tail[3]; } work[2];
	struct { struct dxk_done d; uint64_t tail[3]; } done = { 0 };
	struct dxk_post post = {
		.size = sizeof(post), .entries = DXT_PTR(&entry), .nr = 1,
		.entry_size = sizeof(entry),
	};
	struct dxk_rejoin rejoin = {
		.size = sizeof(rejoin), .owner = 3, .nr = 2,
		.results = DXT_PTR(result), .result_size = sizeof(result[0]),
	};
	struct dxk_next next = {
		.size = sizeof(next), .nr_work = 1, .work = DXT_PTR(work),
		.work_size = sizeof(work[0]),
	};

	if (self->is == ON_CLIENT)
		SKIP(return, "needs a worker");
	self->me = take_role(&self->t, self->is);
	ASSERT_LE(0, self->me);
	entry.e = dxt_entry(3, 0x1122334455667788, 0x99aabbccddeeff00, PXR_REJOIN);
	entry.e.prio = -5;
	ASSERT_EQ(1, dxt_ioctl(self->me, DXK_IOC_POST, &post));

	dxt_poison(work, sizeof(work));
	ASSERT_EQ(1, dxt_ioctl(self->me, DXK_IOC_NEXT, &next));
	EXPECT_EQ(0x1122334455667788, work[0].w.executor);
	EXPECT_EQ(0x99aabbccddeeff00, work[0].w.param);
	EXPECT_EQ(3, work[0].w.owner);
	EXPECT_EQ(-5, work[0].w.prio);
	EXPECT_EQ(PXR_REJOIN, work[0].w.attrs);
	EXPECT_EQ(-1, work[0].w.fd);
	EXPECT_EQ(0, work[0].tail[0] | work[0].tail[1] | work[0].tail[2]);
	EXPECT_TRUE(dxt_poisoned(&work[1], sizeof(work[1])));

	done.d.ticket = work[0].w.ticket;
	done.d.status = 42;
	next.nr_work = 0;
	next.nr_done = 1;
	next.done = DXT_PTR(&done);
	next.done_size = sizeof(done);
	next.nr_taken = DXT_POISON32;
	EXPECT_EQ(0, dxt_ioctl(self->me, DXK_IOC_NEXT, &next));
	EXPECT_EQ(1, next.nr_taken);

	dxt_poison(result, sizeof(result));
	ASSERT_EQ(1, dxt_ioctl(self->me, DXK_IOC_REJOIN, &rejoin));
	EXPECT_EQ(RJR_RETURNED, rejoin.answer);
	EXPECT_EQ(0x1122334455667788, result[0].r.executor);
	EXPECT_EQ(0x99aabbccddeeff00, result[0].r.param);
	EXPECT_EQ(42, result[0].r.status);
	EXPECT_EQ(-5, result[0].r.prio);
	EXPECT_EQ(self->t.member_id, result[0].r.worker);
	EXPECT_EQ(0, result[0].tail[0] | result[0].tail[1] | result[0].tail[2]);
	EXPECT_TRUE(dxt_poisoned(&result[1], sizeof(result[1])));
}

/* EFAULT of each array and data pointer; arithmetic that overflows. */
TEST_F(abi, bad_array_pointers)
{
	uint64_t bad[] = {
		0, 1, KERNEL_ADDRESS, ~0ULL, ~0ULL - 8, 1ULL << 63,
		0x8000000000000000ULL - 16, 0x800000000000ULL - 8,
		DXT_PTR(self->wall), DXT_PTR(self->wall - 8),
	};
	struct dxk_rejoin rejoin;
	struct dxk_next next;
	struct dxk_post post;
	unsigned int i, nr;

	POPULATE();
	for (i = 0; i < DXK_BATCH_MAX; i++)
		self->entry[i] = dxt_entry(OWNER, DXT_NOP, 0, PXR_REJOIN);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		for (nr = 1; nr <= DXK_BATCH_MAX; nr += DXK_BATCH_MAX - 1) {
			post = (struct dxk_post){
				.size = sizeof(post), .entries = bad[i], .nr = nr,
				.entry_size = sizeof(self->entry[0]),
				.index = DXT_POISON32,
			};
			EXPECT_EQ(-EFAULT, dxt_ioctl(self->me, DXK_IOC_POST, &post))
				TH_LOG("entries %#llx", (unsigned long long)bad[i]);
			EXPECT_EQ(0, post.index);
			EXPECT_UNCHANGED("entries");

			/* the data of the last one */
			self->entry[nr - 1].data = bad[i];
			self->entry[nr - 1].data_len = DATA_SIZE;
			EXPECT_EQ(-EFAULT, dxt_post(self->me, self->entry, nr, 0, &post))
				TH_LOG("data %#llx", (unsigned long long)bad[i]);
			EXPECT_EQ(nr - 1, post.index);
			EXPECT_EQ(0, post.reason);
			EXPECT_UNCHANGED("data of an entry");
			self->entry[nr - 1].data_len = 0;
		}
	}

	/*
	 * REJOIN and NEXT with bad arrays do look at a request: it stays where it
	 * is. Answers are counted, so only pools are compared.
	 */
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		rejoin = (struct dxk_rejoin){
			.size = sizeof(rejoin), .owner = OWNER, .nr = 2,
			.results = bad[i], .result_size = sizeof(self->result[0]),
			.answer = DXT_POISON32,
		};
		EXPECT_EQ(-EFAULT, dxt_ioctl(self->me, DXK_IOC_REJOIN, &rejoin));
		EXPECT_EQ(DXT_POISON32, rejoin.answer);
		rejoin.results = DXT_PTR(self->result);
		rejoin.data = bad[i] ?: 1;
		rejoin.data_stride = UINT_MAX;
		dxt_poison(self->result, sizeof(self->result));
		EXPECT_EQ(-EFAULT, dxt_ioctl(self->me, DXK_IOC_REJOIN, &rejoin));
		EXPECT_TRUE(dxt_poisoned(self->result, sizeof(self->result)));
		EXPECT_EQ(1, dxt_num(&self->t, "pools/rejoin_use"));
		EXPECT_EQ(0, dxt_num(&self->t, "stats/collected"));
	}
	if (self->is == ON_WORKER) {
		for (i = 0; i < ARRAY_SIZE(bad); i++) {
			next = (struct dxk_next){
				.size = sizeof(next), .nr_work = 2, .work = bad[i],
				.work_size = sizeof(self->work[0]),
			};
			EXPECT_EQ(-EFAULT, dxt_ioctl(self->me, DXK_IOC_NEXT, &next));
			next.nr_work = 0;
			next.nr_done = 1;
			next.done = bad[i];
			next.done_size = sizeof(self->done[0]);
			EXPECT_EQ(-EFAULT, dxt_ioctl(self->me, DXK_IOC_NEXT, &next));
			EXPECT_EQ(1, dxt_num(&self->t, "pools/ready_use"));
			EXPECT_EQ(0, dxt_num(&self->t, "pools/thread_busy"));
		}
		EXPECT_EQ(ARRAY_SIZE(bad), dxt_num(&self->t, "stats/put_back"));
	}
	/* Both are still there and whole. */
	EXPECT_EQ(1, dxk_rejoin(self->me, OWNER, self->result, 1, 1, self->data,
				DATA_SIZE, 0, NULL));
	EXPECT_STREQ("result", (char *)self->data);
}
