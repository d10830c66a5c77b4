// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The thin API: requests. dxk_post() and dxk_rejoin() make one call per batch.
 */
#define _GNU_SOURCE
#include <limits.h>

#include "calls.h"

int dxk_post(int member, const struct dxk_post_entry *entries, unsigned int nr,
	     int64_t timeout_ns, unsigned int *reason)
{
	return dxk_post_flags(member, entries, nr, 0, timeout_ns, reason);
}

/* Of elements of @size bytes, which begin with the entry. */
static int post(int member, const void *entries, size_t size, unsigned int nr,
		unsigned int flags, int64_t timeout_ns, unsigned int *reason)
{
	uint64_t deadline = dxk_deadline(timeout_ns);
	unsigned int taken = 0, n, why = 0;
	int rc;

	if (nr > INT_MAX)
		return -EINVAL;
	do {
		const char *first = (const char *)entries + taken * size;
		struct dxk_post arg = {
			.size = sizeof(arg),
			.flags = flags,
			.deadline = deadline,
			.entries = address(first),
			.nr = n = min_u(nr - taken, DXK_BATCH_MAX),
			.entry_size = (uint32_t)size,
		};

		dxk_posting((const void *)first, n, size);
		rc = call(member, DXK_IOC_POST, &arg);
		if (rc > 0)
			taken += (unsigned int)rc;
		if (rc != (int)n)
			why = arg.reason;
	} while (rc == (int)n && taken < nr);

	if (reason)
		*reason = why;
	return taken ? (int)taken : rc;
}

int dxk_post_flags(int member, const struct dxk_post_entry *entries,
		   unsigned int nr, unsigned int flags, int64_t timeout_ns,
		   unsigned int *reason)
{
	return post(member, entries, sizeof(*entries), nr, flags, timeout_ns, reason);
}

int dxk_post_more(int member, const struct dxk_post_more *entries, unsigned int nr,
		  int64_t timeout_ns, unsigned int *reason)
{
	return post(member, entries, sizeof(*entries), nr, 0, timeout_ns, reason);
}

int dxk_post_more_flags(int member, const struct dxk_post_more *entries, unsigned int nr,
			unsigned int flags, int64_t timeout_ns, unsigned int *reason)
{
	return post(member, entries, sizeof(*entries), nr, flags, timeout_ns, reason);
}

int dxk_rejoin(int member, uint64_t owner, struct dxk_result *results,
	       unsigned int nr, unsigned int min, void *data, size_t data_stride,
	       int64_t timeout_ns, unsigned int *answer)
{
	return dxk_rejoin_flags(member, owner, results, nr, min, data, data_stride,
				0, timeout_ns, answer);
}

int dxk_rejoin_any(int member, struct dxk_result *results, unsigned int nr, int64_t timeout_ns,
		   uint64_t *owner, unsigned int *answer)
{
	struct dxk_rejoin rejoin = {
		.size = sizeof(rejoin),
		.flags = DXK_CALL_ANY,
		.deadline = dxk_deadline(timeout_ns),
		.results = address(results),
		.nr = min_u(nr, DXK_BATCH_MAX),
		.result_size = sizeof(*results),
	};
	int rc = call(member, DXK_IOC_REJOIN, &rejoin);

	dxk_collected(&rejoin, rc);
	if (owner && rc > 0)
		*owner = rejoin.owner;
	if (answer)
		*answer = rc > 0 ? RJR_RETURNED : rejoin.answer;
	return rc;
}

int dxk_rejoin_flags(int member, uint64_t owner, struct dxk_result *results,
		     unsigned int nr, unsigned int min, void *data,
		     size_t data_stride, unsigned int flags, int64_t timeout_ns,
		     unsigned int *answer)
{
	uint64_t deadline = dxk_deadline(timeout_ns);
	unsigned int got = 0, n, need, said = 0;
	int rc;

	if (nr > INT_MAX || min > nr)
		return -EINVAL;
	if (!min)
		min = 1;
	do {
		struct dxk_rejoin rejoin = {
			.size = sizeof(rejoin),
			.flags = flags,
			.owner = owner,
			.results = address(results + got),
			.nr = n = min_u(nr - got, DXK_BATCH_MAX),
			.result_size = sizeof(*results),
		};

		/* Enough were returned: take the others that are there, do not wait. */
		need = min > got ? min_u(min - got, n) : 0;
		rejoin.min = need;
		rejoin.deadline = need ? deadline : 0;
		if (data) {
			rejoin.data = address((char *)data + got * data_stride);
			rejoin.data_stride = stride32(data_stride);
		}

		rc = call(member, DXK_IOC_REJOIN, &rejoin);
		dxk_collected(&rejoin, rc);
		if (rc > 0)
			got += (unsigned int)rc;
		/* A request that the caller is to execute is the answer of all batches. */
		if (!said || rejoin.answer == RJR_HELP)
			said = rejoin.answer;
		/* Fewer than requested: for the rest, the caller would have to wait again. */
	} while (rc == (int)n && got < nr);

	if (answer)
		*answer = said;
	return got ? (int)got : rc;
}

int dxk_roundtrip(int member, struct dxk_roundtrip *arg)
{
	const struct dxk_post_entry *first = (const void *)(uintptr_t)arg->entries;
	struct dxk_rejoin rejoin = {
		.results = arg->results,
		.data = arg->data,
		.data_stride = arg->data_stride,
	};
	int rc;

	arg->size = sizeof(*arg);
	dxk_posting(first, min_u(arg->nr, DXK_BATCH_MAX), arg->entry_size);
	rc = call(member, DXK_IOC_CALL, arg);
	if (arg->taken) {
		rejoin.owner = first->owner;
		dxk_collected(&rejoin, rc);
	}
	return rc;
}

int dxk_call(int member, const struct dxk_post_entry *entries, unsigned int nr,
	     struct dxk_result *results, unsigned int min, void *data,
	     size_t data_stride, int64_t timeout_ns, unsigned int *taken)
{
	struct dxk_roundtrip arg = {
		.deadline = dxk_deadline(timeout_ns),
		.entries = address(entries),
		.results = address(results),
		.data = address(data),
		.nr = nr,
		.entry_size = sizeof(*entries),
		.result_size = sizeof(*results),
		.data_stride = data ? stride32(data_stride) : 0,
		.min = min,
	};
	int rc = dxk_roundtrip(member, &arg);

	*taken = arg.taken;
	return rc;
}

/* Of elements of these sizes. */
static int next(int member, const void *dones, size_t done_size, unsigned int nr_done,
		unsigned int *nr_taken, void *works, size_t work_size, unsigned int nr_work,
		void *data, size_t data_stride, int64_t timeout_ns)
{
	struct dxk_next arg = {
		.size = sizeof(arg),
		.deadline = dxk_deadline(timeout_ns),
		.done = address(dones),
		.work = address(works),
		.data = address(data),
		.nr_done = nr_done,
		.done_size = nr_done ? (uint32_t)done_size : 0,
		.nr_work = nr_work,
		.work_size = nr_work ? (uint32_t)work_size : 0,
		.data_stride = data ? stride32(data_stride) : 0,
	};
	int rc;

	dxk_completing(member, dones, nr_done, done_size);
	rc = call(member, DXK_IOC_NEXT, &arg);
	dxk_fetched(member, &arg, rc);
	if (nr_taken)
		*nr_taken = rc < 0 ? 0 : arg.nr_taken;
	return rc;
}

int dxk_next(int member, const struct dxk_done *dones, unsigned int nr_done,
	     unsigned int *nr_taken, struct dxk_work *works,
	     unsigned int nr_work, void *data, size_t data_stride,
	     int64_t timeout_ns)
{
	return next(member, dones, sizeof(*dones), nr_done, nr_taken, works,
		    sizeof(*works), nr_work, data, data_stride, timeout_ns);
}

int dxk_next_more(int member, const struct dxk_done_more *dones, unsigned int nr_done,
		  unsigned int *nr_taken, struct dxk_work_more *works,
		  unsigned int nr_work, void *data, size_t data_stride,
		  int64_t timeout_ns)
{
	return next(member, dones, sizeof(*dones), nr_done, nr_taken, works,
		    sizeof(*works), nr_work, data, data_stride, timeout_ns);
}

int dxk_wake(int member, const uint64_t *names, unsigned int nr)
{
	struct dxk_names arg = { .size = sizeof(arg), .names = address(names), .nr = nr };

	dxk_calling(names, min_u(nr, DXK_BATCH_MAX));
	return call(member, DXK_IOC_WAKE, &arg);
}

int dxk_cancel(int member, const uint64_t *names, unsigned int nr, uint32_t *states)
{
	struct dxk_names arg = {
		.size = sizeof(arg), .names = address(names), .states = address(states), .nr = nr,
	};
	int rc;

	dxk_calling(names, min_u(nr, DXK_BATCH_MAX));
	rc = call(member, DXK_IOC_CANCEL, &arg);
	if (states && (rc > 0 || rc == -ENOENT))
		dxk_written(states, nr * sizeof(*states));
	return rc;
}

int dxk_key(int member, unsigned int what, uint64_t key, uint64_t ticket, unsigned int flags,
	    int64_t timeout_ns)
{
	struct dxk_key_call arg = {
		.size = sizeof(arg),
		.what = what,
		.key = key,
		.ticket = ticket,
		.deadline = dxk_deadline(timeout_ns),
		.flags = flags,
	};
	int rc;

	dxk_key_left(member, ticket);
	rc = call(member, DXK_IOC_KEY, &arg);
	dxk_key_entered(member, ticket);
	return rc;
}

int dxk_cancel_owner(int member, uint64_t owner, struct dxk_cancel_owner *were)
{
	struct dxk_cancel_owner arg = { .size = sizeof(arg), .owner = owner };
	int rc = call(member, DXK_IOC_CANCEL_OWNER, &arg);

	if (were)
		*were = arg;
	return rc;
}
