// SPDX-License-Identifier: GPL-2.0-only
/*
 * Abuse first: every call, on every kind of descriptor, with everything wrong that
 * a caller can get wrong. Each refusal must give the error that the contract
 * names, leave its argument as it was, and leave the context as it was: counters
 * and pool use are compared after each one.
 */
#include "lib/calls/abi_test.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

/* The sum of the fields is the struct: no hole through which anything leaks. */
#define NO_HOLES(s, n32, n64, bytes) \
	_Static_assert(sizeof(struct s) == 4 * (n32) + 8 * (n64) + (bytes), #s)
NO_HOLES(dxk_version, 6, 1, 0);
NO_HOLES(dxk_executor_find, 2, 1, DXK_NAME_LEN);
NO_HOLES(dxk_ctx_create, 8, 0, DXK_NAME_LEN);
NO_HOLES(dxk_ctx_join, 12, 0, DXK_NAME_LEN);
NO_HOLES(dxk_policy, 46, 0, 0);
NO_HOLES(dxk_ctx_start, 2, 0, 0);
NO_HOLES(dxk_running, 2, 4, 0);
NO_HOLES(dxk_ctx_stop, 6, 2, 0);
NO_HOLES(dxk_member_create, 6, 0, 0);
NO_HOLES(dxk_crew_wait, 4, 1, 0);
NO_HOLES(dxk_post_entry, 6, 4, 0);
NO_HOLES(dxk_wait, 4, 4, 0);
NO_HOLES(dxk_post_more, 12, 11, 0);
NO_HOLES(dxk_post, 6, 2, 0);
NO_HOLES(dxk_result, 8, 2, 0);
NO_HOLES(dxk_rejoin, 8, 4, 0);
NO_HOLES(dxk_roundtrip, 12, 4, 0);
NO_HOLES(dxk_done, 2, 2, 0);
NO_HOLES(dxk_done_more, 8, 6, 0);
NO_HOLES(dxk_work, 12, 4, 0);
NO_HOLES(dxk_work_more, 16, 8, 0);
NO_HOLES(dxk_next, 8, 4, 0);
NO_HOLES(dxk_should_stop, 2, 1, 0);
NO_HOLES(dxk_names, 4, 2, 0);
NO_HOLES(dxk_cancel_owner, 6, 1, 0);
NO_HOLES(dxk_key_call, 4, 3, 0);
NO_HOLES(dxk_log_record, 4, 2, DXK_LOG_TEXT);
NO_HOLES(dxk_instrument, 2, 1, DXK_NAME_LEN);
NO_HOLES(dxk_label, 2, 1, DXK_NAME_LEN);
NO_HOLES(dxk_log_write, 4, 2, 0);
NO_HOLES(dxk_log_read, 4, 2, 0);
NO_HOLES(dxk_log_file, 2, 0, 0);
NO_HOLES(dxk_command_send, 6, 5, 0);
NO_HOLES(dxk_command_attach, 2, 0, 0);
NO_HOLES(dxk_command_next, 6, 3, 0);
NO_HOLES(dxk_handle_open, 2, 1, 0);
NO_HOLES(dxk_handle_close, 2, 1, 0);
NO_HOLES(dxk_sha256_range, 0, 3, 0);
NO_HOLES(dxk_sample, 6, 4, 0);
NO_HOLES(dxk_samples_read, 4, 2, 0);
NO_HOLES(dxk_latencies_read, 6, 1, 0);
NO_HOLES(dxk_request_info, 10, 6, 0);
NO_HOLES(dxk_requests_read, 4, 2, 0);

/*
 * The newer program: a longer argument works while its tail is zero, up to a page;
 * E2BIG when it is not. The older one: shorter than the first version is EINVAL.
 */
TEST_F(abi, sizes)
{
	static const uint32_t more[] = { 1, 4, 8, 100, 300 };
	unsigned char array[1024];
	const struct call *c;
	union arg a, was;
	unsigned int kind, i;
	int rc;

	self->t.policy.sched_mode = TPOOL_MODE_CMLS;
	ASSERT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_DRAIN, -1));
	ASSERT_EQ(0, dxt_start(&self->t));
	self->me = take_role(&self->t, self->is);
	ASSERT_LE(0, self->me);
	dxt_snapshot(&self->t, &self->before);

	for (c = calls; c < calls + nr_calls; c++) {
		for (kind = 1; kind <= ON_WORKER; kind <<= 1) {
			int fd = on(&self->t, self->me, kind);

			if (!(c->on & kind) || (kind >= ON_CLIENT && kind != self->is) ||
			    c->cmd == DXK_IOC_CTX_STOP)
				continue;
			for (i = 0; i < ARRAY_SIZE(more); i++) {
				struct dxk_post_entry e =
					dxt_entry(1, DXT_NOP, 0, PXR_LANE0 | PXR_REJOIN);

				memset(array, 0, sizeof(array));
				memcpy(array, &e, sizeof(e));
				fill(&a, c, array);
				a.size = c->size + more[i];
				rc = dxt_ioctl(fd, c->cmd, &a);
				/* there may be places for workers */
				if (c->cmd == DXK_IOC_CREW_WAIT && rc > 0)
					rc = 0;
				EXPECT_EQ(right_answer(c), rc)
					TH_LOG("%s longer by %u", c->name, more[i]);
				undo(c, &a, rc);

				fill(&a, c, array);
				a.size = c->size + more[i];
				a.bytes[a.size - 1] = 1;
				was = a;
				EXPECT_EQ(-E2BIG, dxt_ioctl(fd, c->cmd, &a))
					TH_LOG("%s dirty tail %u", c->name, more[i]);
				EXPECT_EQ(0, memcmp(&a, &was, sizeof(a)));
			}
			for (i = 0; i < first_size(c); i++) {
				fill(&a, c, array);
				a.size = i;
				was = a;
				EXPECT_EQ(-EINVAL, dxt_ioctl(fd, c->cmd, &a))
					TH_LOG("%s size %u", c->name, i);
				EXPECT_EQ(0, memcmp(&a, &was, sizeof(a)));
			}
			/* nobody wants the kernel to look through gigabytes of tail */
			fill(&a, c, array);
			a.size = UINT_MAX;
			EXPECT_EQ(-E2BIG, dxt_ioctl(fd, c->cmd, &a))
				TH_LOG("%s endless", c->name);
		}
	}
	/* CTX_STOP of a context that does not run does nothing */
	{
		int ctx = dxk_ctx_create(self->t.ctl, NULL);

		c = &calls[4];
		ASSERT_EQ(DXK_IOC_CTX_STOP, c->cmd);
		ASSERT_LE(0, ctx);
		for (i = 0; i < ARRAY_SIZE(more); i++) {
			fill(&a, c, NULL);
			a.size = c->size + more[i];
			EXPECT_EQ(0, dxt_ioctl(ctx, c->cmd, &a));
			a.bytes[a.size - 1] = 1;
			EXPECT_EQ(-E2BIG, dxt_ioctl(ctx, c->cmd, &a));
			EXPECT_EQ(-E2BIG, dxt_ioctl(self->t.ctx, c->cmd, &a));
		}
		for (i = 0; i < c->size; i++) {
			a.size = i;
			EXPECT_EQ(-EINVAL, dxt_ioctl(self->t.ctx, c->cmd, &a));
		}
		close(ctx);
	}
	EXPECT_EQ(0, dxt_num(&self->t, "stats/posts"));
	EXPECT_TRUE(dxt_num(&self->t, "pools/ready_use") == 0);
}

/* ENOTTY: a call on the wrong kind of descriptor, a number that is none. */
TEST_F(abi, wrong_call)
{
	const struct call *c;
	unsigned int kind, nr;
	union arg a;

	POPULATE();
	for (kind = 1; kind <= ON_WORKER; kind <<= 1) {
		int fd = on(&self->t, self->me, kind);

		if (kind >= ON_CLIENT && kind != self->is)
			continue;
		for (c = calls; c < calls + nr_calls; c++) {
			if (!(c->on & kind)) {
				fill(&a, c, self->data);
				REFUSED(ENOTTY, fd, c->cmd, &a, sizeof(a), c->name);
				/* also before the argument is looked at */
				EXPECT_EQ(-ENOTTY, dxt_ioctl(fd, c->cmd, NULL));
			}
			/* the same number with a direction and a size is another */
			fill(&a, c, self->data);
			EXPECT_EQ(-ENOTTY, dxt_ioctl(fd, c->cmd | _IOC(_IOC_READ |
					_IOC_WRITE, 0, 0, c->size), &a));
			EXPECT_EQ(-ENOTTY, dxt_ioctl(fd, c->cmd ^ 0x100, &a));
		}
		for (nr = 0; nr < 256; nr++) {
			for (c = calls; c < calls + nr_calls; c++)
				if (_IOC_NR(c->cmd) == nr)
					break;
			if (c < calls + nr_calls)
				continue;
			memset(&a, 0, sizeof(a));
			a.size = 64;
			EXPECT_EQ(-ENOTTY, dxt_ioctl(fd, _IO(DXK_IOC_TYPE, nr), &a));
		}
		EXPECT_EQ(-ENOTTY, dxt_ioctl(fd, 0x5401 /* TCGETS */, &a));
	}
	EXPECT_UNCHANGED("an unknown call");
}

/* Nothing but ioctl, poll and close makes sense on them. */
TEST_F(abi, wrong_operation)
{
	unsigned int kind;
	char c = 0;

	POPULATE();
	for (kind = 1; kind <= ON_WORKER; kind <<= 1) {
		int fd = on(&self->t, self->me, kind);
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (kind >= ON_CLIENT && kind != self->is)
			continue;
		EXPECT_EQ(-1, read(fd, &c, 1));
		EXPECT_EQ(EINVAL, errno);
		EXPECT_EQ(-1, write(fd, &c, 1));
		EXPECT_EQ(EINVAL, errno);
		EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0));
		EXPECT_EQ(ENODEV, errno);
		EXPECT_LE(0, poll(&p, 1, 0));
		EXPECT_EQ(0, p.revents & (POLLNVAL | POLLERR | POLLHUP));
		/* close-on-exec, all of them; the control as it was opened */
		EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
	}
	EXPECT_UNCHANGED("read, write, mmap, poll");
}

/* EFAULT: the argument cannot be read or, where it is an answer, written. */
TEST_F(abi, bad_argument_pointer)
{
	const struct call *c;
	unsigned int kind, i;
	union arg a;
	long long contexts;

	POPULATE();
	ASSERT_EQ(0, mprotect(self->read_only, PAGE, PROT_READ | PROT_WRITE));
	for (c = calls; c < calls + nr_calls; c++) {
		uint64_t bad[] = {
			0, 1, KERNEL_ADDRESS, ~0ULL, ~0ULL - 3, 1ULL << 63,
			DXT_PTR(self->wall), DXT_PTR(self->wall - 4),
			DXT_PTR(self->wall - 3), DXT_PTR(self->wall - c->size + 4),
			0x800000000000ULL - 4,
		};

		for (kind = 1; kind <= ON_WORKER; kind <<= 1) {
			int fd = on(&self->t, self->me, kind);

			if (!(c->on & kind) || (kind >= ON_CLIENT && kind != self->is))
				continue;
			for (i = 0; i < ARRAY_SIZE(bad); i++) {
				/* a correct beginning where there is one */
				fill(&a, c, self->data);
				if (i >= 7 && i <= 9) {
					size_t n = DXT_PTR(self->wall) - bad[i];

					memcpy((void *)(uintptr_t)bad[i], &a, n);
				}
				EXPECT_EQ(-EFAULT, dxt_ioctl(fd, c->cmd,
						(void *)(uintptr_t)bad[i]))
					TH_LOG("%s at %#llx", c->name,
					       (unsigned long long)bad[i]);
			}
			EXPECT_UNCHANGED(c->name);
		}
	}

	/* An answer that cannot be delivered: nothing is left of what was made. */
	contexts = 0;
	for (c = calls; c < calls + nr_calls; c++) {
		if (c->cmd != DXK_IOC_VERSION && c->cmd != DXK_IOC_EXECUTOR_FIND &&
		    c->cmd != DXK_IOC_CTX_CREATE && c->cmd != DXK_IOC_POLICY_GET &&
		    c->cmd != DXK_IOC_MEMBER_CREATE)
			continue;
		ASSERT_EQ(0, mprotect(self->read_only, PAGE, PROT_READ | PROT_WRITE));
		fill(self->read_only, c, NULL);
		ASSERT_EQ(0, mprotect(self->read_only, PAGE, PROT_READ));
		EXPECT_EQ(-EFAULT, dxt_ioctl(c->on & ON_CONTROL ? self->t.ctl :
					     self->t.ctx, c->cmd, self->read_only))
			TH_LOG("%s into read-only memory", c->name);
		EXPECT_UNCHANGED(c->name);
		contexts++;
	}
	EXPECT_EQ(5, contexts);
	EXPECT_FALSE(dxt_exists(&self->t, "threads/1000"));
	i = self->t.id;
	self->t.id = i + 1;
	EXPECT_TRUE(DXT_SOON(!dxt_exists(&self->t, "state")))
		TH_LOG("a context was left");
	self->t.id = i;
}

/* Unknown flags are EOPNOTSUPP, reserved fields EINVAL, for each bit. */
TEST_F(abi, flags_and_reserved)
{
	const struct call *c;
	unsigned int kind, bit;
	union arg a;

	POPULATE();
	for (c = calls; c < calls + nr_calls; c++) {
		if (c->flags_at < 0)
			continue;
		for (kind = 1; kind <= ON_WORKER; kind <<= 1) {
			int fd = on(&self->t, self->me, kind);

			if (!(c->on & kind) || (kind >= ON_CLIENT && kind != self->is))
				continue;
			for (bit = 0; bit < 32; bit += bit < 4 ? 1 : 9) {
				uint32_t flag = 1U << bit;

				if (flag & known_flags(c))
					continue;
				fill(&a, c, self->data);
				memcpy(a.bytes + c->flags_at, &flag, 4);
				REFUSED(c->flags_err, fd, c->cmd, &a, sizeof(a),
					c->name);
			}
		}
	}
	fill(&a, &calls[9], self->result);
	ASSERT_EQ(DXK_IOC_REJOIN, calls[9].cmd);
	a.rejoin.reserved = 1;
	REFUSED(EINVAL, self->me, DXK_IOC_REJOIN, &a, sizeof(a), "rejoin reserved");
}

/* Values of the small calls. */
TEST_F(abi, values)
{
	struct dxk_executor_find find = { .size = sizeof(find), .id = 99 };
	struct dxk_member_create create = { .size = sizeof(create), .fd = -7 };
	struct dxk_ctx_stop stop = { .size = sizeof(stop) };
	static const uint32_t kinds[] = { 3, 4, 255, UINT_MAX };
	unsigned int i;

	POPULATE();
	/* ENOENT: no such executor; a name without an end is wrong */
	strcpy(find.name, "no such executor");
	REFUSED(ENOENT, self->t.ctl, DXK_IOC_EXECUTOR_FIND, &find, sizeof(find), "find");
	REFUSED(ENOENT, self->t.ctx, DXK_IOC_EXECUTOR_FIND, &find, sizeof(find), "find");
	memset(find.name, 0, sizeof(find.name));
	REFUSED(ENOENT, self->t.ctl, DXK_IOC_EXECUTOR_FIND, &find, sizeof(find), "find");
	memset(find.name, 'n', sizeof(find.name));
	REFUSED(EINVAL, self->t.ctl, DXK_IOC_EXECUTOR_FIND, &find, sizeof(find), "find");

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		create.kind = kinds[i];
		REFUSED(EOPNOTSUPP, self->t.ctx, DXK_IOC_MEMBER_CREATE, &create,
			sizeof(create), "member kind");
		stop.mode = kinds[i] < 3 ? 3 : kinds[i];
		REFUSED(EOPNOTSUPP, self->t.ctx, DXK_IOC_CTX_STOP, &stop, sizeof(stop),
			"stop mode");
	}
}

/* What a call answers is filled in whole: poison must not shine through. */
TEST(answers)
{
	struct dxk_version version;
	struct dxk_executor_find find = { .size = sizeof(find), .name = "nop" };
	struct dxk_policy policy;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	dxt_poison(&version, sizeof(version));
	version.size = sizeof(version);
	ASSERT_EQ(0, dxt_ioctl(t.ctl, DXK_IOC_VERSION, &version));
	EXPECT_EQ(sizeof(version), version.size);
	EXPECT_EQ(DXK_ABI_VERSION, version.abi);
	EXPECT_EQ(DXK_CAP_KERNEL_WORKERS | DXK_CAP_USER_WORKERS |
		  DXK_CAP_DISPATCH_THREAD | DXK_CAP_NAMES | DXK_CAP_HELP |
		  DXK_CAP_SPARE | DXK_CAP_POSTER | DXK_CAP_WAIT | DXK_CAP_CALL | DXK_CAP_KEY,
		  version.capabilities);
	EXPECT_EQ(DXK_BATCH_MAX, version.batch_max);
	EXPECT_EQ(499, version.max_threads);
	EXPECT_EQ(1 << 20, version.max_entries);
	EXPECT_EQ(4096, version.data_max);

	find.id = DXT_POISON32;
	ASSERT_EQ(0, dxt_ioctl(t.ctx, DXK_IOC_EXECUTOR_FIND, &find));
	EXPECT_NE(DXT_POISON32, find.id);
	EXPECT_STREQ("nop", find.name);

	dxt_poison(&policy, sizeof(policy));
	policy.size = sizeof(policy);
	ASSERT_EQ(0, dxt_ioctl(t.ctx, DXK_IOC_POLICY_GET, &policy));
	EXPECT_EQ(sizeof(policy), policy.size);
	EXPECT_EQ(0, policy.bad_field);
	for (uint32_t *p = &policy.sched_mode; p <= &policy.max_spares; p++)
		EXPECT_NE(DXT_POISON32, *p);
	dxt_close(&t);
}

/* --- the arrays of the calls ----------------------------------------------- */

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
		struct { struct dxk_post_more e; uint64_t tail; } longer[2] = {
			{ .e.post = self->entry[0] }, { .e.post = self->entry[0], .tail = 1 },
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
		struct { struct dxk_done_more d; uint64_t tail; } longer = {
			.d.done = { .ticket = 1 }, .tail = 1,
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
		/* the size of the first version */
		for (i = 0; i < offsetof(struct dxk_work, uid); i++) {
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

/* What reads the requests refuses any cursor that it has not made, and takes nothing away. */
TEST_F(abi, requests)
{
	static const uint64_t bad[] = {
		3ULL << 32, 4ULL << 32, 1ULL << 63, DXK_REQUESTS_END, 500, 0xffffffff,
		1ULL << 32 | 1, 1ULL << 32 | 0xffffffff,
	};
	static const uint64_t beyond[] = { 2ULL << 32 | 0x100000, 2ULL << 32 | 0xffffffff };
	static struct dxk_request_info r[DXK_BATCH_MAX];
	struct dxk_requests_read read, good = {
		.size = sizeof(good), .requests = DXT_PTR(r), .nr = DXK_BATCH_MAX,
		.request_size = sizeof(r[0]),
	};
	uint64_t cursor = 0;
	unsigned int i, ready = 0;
	int nr, j;

	POPULATE();
	dxt_poison(r, sizeof(r));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		read = good;
		read.cursor = bad[i];
		EXPECT_EQ(-EINVAL, dxt_ioctl(self->t.ctx, DXK_IOC_REQUESTS_READ, &read));
		EXPECT_EQ(bad[i], read.cursor);
	}
	for (i = 0; i < ARRAY_SIZE(beyond); i++) {
		read = good;
		read.cursor = beyond[i];
		EXPECT_EQ(0, dxt_ioctl(self->t.ctx, DXK_IOC_REQUESTS_READ, &read));
		EXPECT_EQ(DXK_REQUESTS_END, read.cursor);
	}
	for (i = 0; i < 4; i++) {
		static const uint32_t nrs[] = { 0, 1, DXK_BATCH_MAX - 1, DXK_BATCH_MAX + 1 };

		read = good;
		read.nr = nrs[i];
		EXPECT_EQ(-EINVAL, dxt_ioctl(self->t.ctx, DXK_IOC_REQUESTS_READ, &read));
	}
	read = good;
	read.request_size = sizeof(r[0]) - 4;
	EXPECT_EQ(-EINVAL, dxt_ioctl(self->t.ctx, DXK_IOC_REQUESTS_READ, &read));
	read.request_size = 1025;
	EXPECT_EQ(-E2BIG, dxt_ioctl(self->t.ctx, DXK_IOC_REQUESTS_READ, &read));
	EXPECT_TRUE(dxt_poisoned(r, sizeof(r)));
	read = good;
	read.cursor = 2ULL << 32;
	read.requests = KERNEL_ADDRESS;
	EXPECT_EQ(-EFAULT, dxt_ioctl(self->t.ctx, DXK_IOC_REQUESTS_READ, &read));
	EXPECT_EQ(2ULL << 32, read.cursor);

	while (cursor != DXK_REQUESTS_END) {
		nr = dxk_requests_read(self->t.ctx, &cursor, r);
		ASSERT_LE(0, nr);
		for (j = 0; j < nr; j++) {
			EXPECT_EQ(DXK_REQUEST_READY, r[j].state);
			EXPECT_EQ(OWNER, r[j].owner);
			EXPECT_EQ(PXR_REJOIN, r[j].attrs);
			EXPECT_EQ(3, r[j].lane);
			EXPECT_LE(0, r[j].prio);
			EXPECT_EQ(0, r[j].flags);
			ready++;
		}
	}
	EXPECT_EQ(1, ready);
}

TEST_HARNESS_MAIN
