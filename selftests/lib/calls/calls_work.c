// SPDX-License-Identifier: GPL-2.0-only
/* The cases (calls.h) of requests. */
#define DXT_NO_HARNESS
#include "lib/calls/calls.h"

static unsigned char pattern(uint64_t param)
{
	return (unsigned char)(param * 16 + 5);
}

/* Two requests with data, the second with a file. */
static int post_two(struct env *e)
{
	unsigned char data[2][DATA];
	struct dxk_post_entry entry[2];
	struct dxk_post post;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		memset(data[i], pattern(i), DATA);
		entry[i] = dxt_entry(OWNER, DXT_NOP, i, PXR_REJOIN | (i ? PXR_FD : 0));
		entry[i].fd = i ? e->file : 0;
		entry[i].data = DXT_PTR(data[i]);
		entry[i].data_len = entry[i].result_len = DATA;
	}
	return dxt_post(e->me, entry, 2, 0, &post) == 2 ? 0 : -EPROTO;
}

/* Fetches and completes @nr; status 100 + param, data inverted. */
static int execute(struct env *e, unsigned int nr)
{
	unsigned char data[DATA];
	struct dxk_work work;
	struct dxk_done done = { .data = DXT_PTR(data), .data_len = DATA };
	unsigned int i, k;
	int rc;

	for (i = 0; i < nr; i++) {
		rc = dxk_next(e->me, NULL, 0, NULL, &work, 1, data, DATA, 0);
		if (rc != 1)
			return rc;
		if (data[0] != pattern(work.param) || memcmp(data, data + 1, DATA - 1))
			return -EPROTO;
		if (work.fd >= 0)
			close(work.fd);
		for (k = 0; k < DATA; k++)
			data[k] = (unsigned char)~data[k];
		done.ticket = work.ticket;
		done.status = 100 + (int)work.param;
		rc = dxk_next(e->me, &done, 1, NULL, NULL, 0, NULL, 0, 0);
		if (rc)
			return rc;
	}
	return 0;
}

static const char *check_result(const struct dxk_result *r, const unsigned char *data,
				unsigned int param)
{
	if (r->param != param || r->status != 100 + (int)param || r->data_len != DATA)
		return "a result is another's";
	if (data[0] != (unsigned char)~pattern(param) ||
	    memcmp(data, data + 1, DATA - 1))
		return "a result's data is not what it was";
	return NULL;
}

/* Executes what is Ready and collects: requests @first..1 are there, each once. */
static const char *settle(struct env *e, unsigned int first)
{
	unsigned char data[DATA];
	struct dxk_result r;
	const char *why;
	uint32_t answer;
	int rc;

	do {
		rc = execute(e, 1);
	} while (!rc);
	if (rc != -ETIMEDOUT)
		return "a request cannot be executed";
	for (; first < 2; first++) {
		if (dxk_rejoin(e->me, OWNER, &r, 1, 1, data, DATA, 0, NULL) != 1)
			return "a request is lost";
		why = check_result(&r, data, first);
		if (why)
			return why;
	}
	if (dxt_rejoin(e->me, OWNER, &r, 1, 1, 0, &answer) || answer != RJR_NONE_EXIST)
		return "a request is there twice";
	return NULL;
}

/* --- requests ---------------------------------------------------------------------- */

static const char *set_post(struct env *e)
{
	unsigned int i;

	e->arg.post.nr = 2;
	e->arg.post.entry_size = sizeof(e->entry[0]);
	for (i = 0; i < 2; i++) {
		memset(e->data[i], pattern(i), DATA);
		e->entry[i] = dxt_entry(OWNER, DXT_NOP, i, PXR_REJOIN | (i ? PXR_FD : 0));
		e->entry[i].fd = i ? e->file : 0;
		e->entry[i].data_len = e->entry[i].result_len = DATA;
		use_buf(e, &e->entry[i].data, e->data[i], DATA, false, WHOLE, 0);
	}
	use_buf(e, &e->arg.post.entries, e->entry, sizeof(e->entry), false, WHOLE, 0);
	return NULL;
}

static const char *end_post(struct env *e, int rc)
{
	return settle(e, rc == 2 ? 0 : 2);
}

/* By a kernel worker, which answers at once; the file is for nobody. */
static const char *set_post_kernel(struct env *e)
{
	const char *why = set_post(e);

	e->arg.post.nr = 1;
	e->entry[0].attrs |= PXR_KERNEL;
	e->entry[0].executor = e->nop;
	e->entry[0].owner = OWNER + 1;
	e->bufs = 0;
	use_buf(e, &e->entry[0].data, e->data[0], DATA, false, WHOLE, 0);
	use_buf(e, &e->arg.post.entries, e->entry, sizeof(e->entry[0]), false, WHOLE, 0);
	return why;
}

static const char *end_post_kernel(struct env *e, int rc)
{
	return dxt_drain(&e->t, e->me, OWNER + 1) == (rc == 1) ? NULL : "a request";
}

/* The Ready Pool is full: the answer says so. */
static const char *set_post_refused(struct env *e)
{
	if (post_two(e))
		return "no requests";
	e->arg.post.nr = 1;
	e->arg.post.entry_size = sizeof(e->entry[0]);
	e->entry[0] = dxt_entry(OWNER, DXT_NOP, 2, PXR_REJOIN);
	use_buf(e, &e->arg.post.entries, e->entry, sizeof(e->entry[0]), false, WHOLE, 0);
	return NULL;
}

static const char *end_post_refused(struct env *e, int rc)
{
	if (rc == -EAGAIN && e->arg.post.reason && e->arg.post.reason != PXR_POOL_FULL)
		return "another reason";
	return settle(e, 0);
}

static const char *set_rejoin(struct env *e)
{
	if (post_two(e) || execute(e, 2))
		return "no results";
	e->arg.rejoin.owner = OWNER;
	e->arg.rejoin.nr = 2;
	e->arg.rejoin.result_size = sizeof(e->result[0]);
	e->arg.rejoin.data_stride = DATA;
	use_buf(e, &e->arg.rejoin.results, e->result, sizeof(e->result), true, ELEMENTS,
		sizeof(e->result[0]));
	use_buf(e, &e->arg.rejoin.data, e->data, sizeof(e->data), true, ELEMENTS, DATA);
	return NULL;
}

static const char *end_rejoin(struct env *e, int rc)
{
	unsigned int i, nr = rc > 0 ? (unsigned int)rc : 0;
	const char *why;

	for (i = 0; i < nr; i++) {
		why = check_result(&e->result[i], e->data[i], i);
		if (why)
			return why;
	}
	return settle(e, nr);
}

/* The answer is in the argument alone. */
static const char *set_rejoin_none(struct env *e)
{
	e->arg.rejoin.owner = 4711;
	e->arg.rejoin.nr = 1;
	e->arg.rejoin.result_size = sizeof(e->result[0]);
	use_buf(e, &e->arg.rejoin.results, e->result, sizeof(e->result[0]), true, IGNORED,
		0);
	return NULL;
}

static const char *end_rejoin_none(struct env *e, int rc)
{
	return rc || e->arg.rejoin.answer == RJR_NONE_EXIST ? NULL : "an answer";
}

/* By the kernel worker: the results, of which there are as many as were posted. */
static const char *set_call(struct env *e)
{
	struct dxk_roundtrip *a = &e->arg.roundtrip;
	unsigned int i;

	a->nr = a->min = 2;
	a->deadline = DXK_FOREVER;
	a->entry_size = sizeof(e->entry[0]);
	a->result_size = sizeof(e->result[0]);
	a->data_stride = DATA;
	for (i = 0; i < 2; i++) {
		memset(e->data[i], pattern(i), DATA);
		e->entry[i] = dxt_entry(OWNER + 1, e->echo, i, PXR_REJOIN | PXR_KERNEL);
		e->entry[i].data = DXT_PTR(e->data[i]);
		e->entry[i].data_len = e->entry[i].result_len = DATA;
	}
	use_buf(e, &e->entry[1].data, e->data[1], DATA, false, WHOLE, 0);
	use_buf(e, &a->entries, e->entry, sizeof(e->entry), false, WHOLE, 0);
	use_buf(e, &a->results, e->result, sizeof(e->result), true, ELEMENTS,
		sizeof(e->result[0]));
	use_buf(e, &a->data, e->echoed, sizeof(e->echoed), true, ELEMENTS, DATA);
	return NULL;
}

static const char *end_call(struct env *e, int rc)
{
	int i, nr = rc > 0 ? rc : 0, left = dxt_drain(&e->t, e->me, OWNER + 1);

	/* a call that was made again may have got the results of the first one */
	if (nr + left != 0 && nr + left != 2 && nr + left != 4)
		return "half a post";
	if (rc == -EFAULT && left && e->arg.roundtrip.taken != 2)
		return "it was not told that they are posted";
	for (i = 0; i < nr; i++)
		if (e->result[i].param != (unsigned int)i || e->result[i].status ||
		    e->result[i].data_len != DATA ||
		    e->echoed[i][0] != pattern((unsigned int)i) ||
		    memcmp(e->echoed[i], e->echoed[i] + 1, DATA - 1))
			return "another result";
	return NULL;
}

/* The Ready Pool is full: nothing is posted, nothing is waited for. */
static const char *set_call_refused(struct env *e)
{
	struct dxk_roundtrip *a = &e->arg.roundtrip;

	if (post_two(e))
		return "no requests";
	a->nr = 1;
	a->deadline = DXK_FOREVER;
	a->entry_size = sizeof(e->entry[0]);
	a->result_size = sizeof(e->result[0]);
	e->entry[0] = dxt_entry(OWNER, DXT_NOP, 2, PXR_REJOIN);
	use_buf(e, &a->entries, e->entry, sizeof(e->entry[0]), false, WHOLE, 0);
	use_buf(e, &a->results, e->result, sizeof(e->result[0]), true, IGNORED, 0);
	return NULL;
}

static const char *end_call_refused(struct env *e, int rc)
{
	if (rc == -EAGAIN && e->arg.roundtrip.reason &&
	    e->arg.roundtrip.reason != PXR_POOL_FULL)
		return "another reason";
	return settle(e, 0);
}

static const char *set_fetch(struct env *e)
{
	if (post_two(e))
		return "no requests";
	e->arg.next.nr_work = 2;
	e->arg.next.work_size = sizeof(e->work[0]);
	e->arg.next.data_stride = DATA;
	use_buf(e, &e->arg.next.work, e->work, sizeof(e->work), true, ELEMENTS,
		sizeof(e->work[0]));
	use_buf(e, &e->arg.next.data, e->data, sizeof(e->data), true, ELEMENTS, DATA);
	return NULL;
}

static const char *end_fetch(struct env *e, int rc)
{
	struct dxk_done done;
	int i, k;

	for (i = 0; i < rc; i++) {
		if (e->work[i].param != (unsigned int)i ||
		    e->data[i][DATA - 1] != pattern((unsigned int)i) ||
		    (i == 1) != (e->work[i].fd >= 0))
			return "another request";
		if (i == 1 && close(e->work[i].fd))
			return "its file";
		for (k = 0; k < DATA; k++)
			e->data[i][k] = (unsigned char)~e->data[i][k];
		done = (struct dxk_done){
			.ticket = e->work[i].ticket, .data = DXT_PTR(e->data[i]),
			.data_len = DATA, .status = 100 + i,
		};
		if (dxk_next(e->me, &done, 1, NULL, NULL, 0, NULL, 0, 0))
			return "a completion";
	}
	return settle(e, 0);
}

static const char *set_complete(struct env *e)
{
	unsigned int i;

	if (post_two(e) || dxk_next(e->me, NULL, 0, NULL, e->work, 2, NULL, 0, 0) != 2)
		return "no work";
	close(e->work[1].fd);
	e->arg.next.nr_done = 2;
	e->arg.next.done_size = sizeof(e->done[0]);
	for (i = 0; i < 2; i++) {
		memset(e->data[i], (unsigned char)~pattern(i), DATA);
		e->done[i] = (struct dxk_done){
			.ticket = e->work[i].ticket, .data_len = DATA,
			.status = 100 + (int)i,
		};
		use_buf(e, &e->done[i].data, e->data[i], DATA, false, WHOLE, 0);
	}
	use_buf(e, &e->arg.next.done, e->done, sizeof(e->done), false, WHOLE, 0);
	return NULL;
}

static const char *end_complete(struct env *e, int rc)
{
	if (rc && (e->done[0].data = DXT_PTR(e->data[0]),
		   e->done[1].data = DXT_PTR(e->data[1]),
		   dxk_next(e->me, e->done, 2, NULL, NULL, 0, NULL, 0, 0)))
		return "a second completion";
	return settle(e, 0);
}

/* --- requests that wait ---------------------------------------------------------- */

#define WAITER	4711

static int post_waiter(struct env *e)
{
	struct dxk_post_more m = {
		.post = dxt_entry(OWNER, DXT_NOP, 0, PXR_REJOIN | PXR_NAMED | PXR_WAIT),
		.name = WAITER, .wait = { .wait = DXK_WAIT_CALL },
	};

	return dxk_post_more(e->me, &m, 1, 0, NULL) == 1 ? 0 : -EPROTO;
}

/* The request that waits is cancelled, and nothing else is there; @gone: by the call. */
static const char *end_waiter(struct env *e, bool gone)
{
	struct dxk_result r;
	uint64_t name = WAITER;

	if (dxk_cancel(e->me, &name, 1, NULL) != (gone ? -ENOENT : 1))
		return gone ? "it is still there" : "it is gone";
	if (dxt_rejoin(e->me, OWNER, &r, 1, 1, 0, NULL) != 1 || r.status != -ECANCELED)
		return "its result";
	return NULL;
}

static const char *set_post_more(struct env *e)
{
	e->arg.post.nr = 1;
	e->arg.post.entry_size = sizeof(e->more);
	memset(e->data[0], pattern(0), DATA);
	e->more = (struct dxk_post_more){
		.post = dxt_entry(OWNER, DXT_NOP, 0, PXR_REJOIN | PXR_NAMED | PXR_WAIT |
						      PXR_EXPIRE),
		.name = WAITER, .expire = DXK_FOREVER - 1, .wait = { .wait = DXK_WAIT_CALL },
	};
	e->more.post.data_len = DATA;
	use_buf(e, &e->more.post.data, e->data[0], DATA, false, WHOLE, 0);
	use_buf(e, &e->arg.post.entries, &e->more, sizeof(e->more), false, WHOLE, 0);
	return NULL;
}

static const char *end_post_more(struct env *e, int rc)
{
	if (rc == 1)
		return end_waiter(e, false);
	return dxt_num(&e->t, "pools/wait_use") ? "a request waits" : NULL;
}

/* The same, for a file. */
static const char *set_post_file(struct env *e)
{
	const char *why = set_post_more(e);

	if (pipe(e->pipe))
		return "no pipe";
	e->more.wait = (struct dxk_wait){
		.wait = DXK_WAIT_FILE, .fd = e->pipe[0], .events = 1,
	};
	return why;
}

static const char *end_post_file(struct env *e, int rc)
{
	close(e->pipe[0]);
	close(e->pipe[1]);
	return end_post_more(e, rc);
}

static const char *set_wake(struct env *e)
{
	if (post_waiter(e))
		return "no request";
	e->name = WAITER;
	e->arg.names.nr = 1;
	use_buf(e, &e->arg.names.names, &e->name, sizeof(e->name), false, WHOLE, 0);
	return NULL;
}

static const char *end_wake(struct env *e, int rc)
{
	if (dxt_num(&e->t, "pools/wait_use") != (rc != 1))
		return "the request is where it should not be";
	return end_waiter(e, false);
}

/* It has ended, also when its state cannot be told. */
static const char *set_cancel(struct env *e)
{
	const char *why = set_wake(e);

	use_buf(e, &e->arg.names.states, &e->state, sizeof(e->state), true, WHOLE, 0);
	return why;
}

static const char *end_cancel(struct env *e, int rc)
{
	/* none, if only that could not be told */
	if (rc == 1 && e->state != DXK_CANCEL_ENDED && e->state != DXK_CANCEL_NONE)
		return "a state";
	return end_waiter(e, !dxt_num(&e->t, "pools/wait_use"));
}

/* A key is held back, whose record is made for that. */
static const char *set_key_hold(struct env *e)
{
	e->arg.key_call.what = DXK_KEY_HOLD;
	e->arg.key_call.key = WAITER;
	return NULL;
}

static const char *end_key_hold(struct env *e, int rc)
{
	struct dxk_key_call release = {
		.size = sizeof(release), .what = DXK_KEY_RELEASE, .key = WAITER,
	};

	if (dxt_ioctl(e->me, DXK_IOC_KEY, &release) != (rc ? -ENOENT : 0))
		return rc ? "it is held back" : "it is not held back";
	return NULL;
}

/* A request with a key, which is Ready and then cancelled by the name that it has. */
static const char *set_post_key(struct env *e)
{
	const char *why = set_post_more(e);

	e->more.post.attrs = PXR_REJOIN | PXR_NAMED | PXR_KEY;
	e->more.expire = 0;
	e->more.wait = (struct dxk_wait){ 0 };
	e->more.key = WAITER;
	return why;
}

static const char *end_post_key(struct env *e, int rc)
{
	if (rc == 1)
		return end_waiter(e, false);
	return dxt_num(&e->t, "pools/ready_use") ? "a request is Ready" : NULL;
}

/* All that there is is cancelled, also when the counts cannot be told. */
static const char *set_cancel_owner(struct env *e)
{
	if (post_waiter(e))
		return "no request that waits";
	e->arg.cancel_owner.owner = OWNER;
	return NULL;
}

static const char *end_cancel_owner(struct env *e, int rc)
{
	const struct dxk_cancel_owner *were = &e->arg.cancel_owner;

	/* done, if an earlier call could not tell it */
	if (!rc && (were->waiting + were->done != 1 || were->ready || were->executing))
		return "a count";
	return end_waiter(e, !dxt_num(&e->t, "pools/wait_use"));
}

/* A turn ends with a wait, and leaves data; it may have to be run again. */
static const char *set_park(struct env *e)
{
	struct dxk_post_entry entry = dxt_entry(OWNER, DXT_NOP, 0, PXR_REJOIN | PXR_REDO);
	struct dxk_post post;

	entry.result_len = DATA;
	if (dxt_post(e->me, &entry, 1, 0, &post) != 1 ||
	    dxk_next(e->me, NULL, 0, NULL, e->work, 1, NULL, 0, 0) != 1)
		return "no work";
	memset(e->data[0], (unsigned char)~pattern(0), DATA);
	e->done_more = (struct dxk_done_more){
		.done = { .ticket = e->work[0].ticket, .data_len = DATA },
		.wait = { .wait = DXK_WAIT_AGAIN },
	};
	e->arg.next.nr_done = 1;
	e->arg.next.done_size = sizeof(e->done_more);
	use_buf(e, &e->done_more.done.data, e->data[0], DATA, false, WHOLE, 0);
	use_buf(e, &e->arg.next.done, &e->done_more, sizeof(e->done_more), false, WHOLE, 0);
	return NULL;
}

/* For a file that it can write to. */
static const char *set_park_file(struct env *e)
{
	const char *why = set_park(e);

	if (pipe(e->pipe))
		return "no pipe";
	e->done_more.wait = (struct dxk_wait){
		.wait = DXK_WAIT_FILE, .fd = e->pipe[1], .events = 4,
	};
	return why;
}

static const char *end_park(struct env *e, int rc)
{
	unsigned char data[DATA];
	struct dxk_done done = { .status = 100, .data = DXT_PTR(data), .data_len = DATA };
	struct dxk_work_more w = { .work = e->work[0] };

	if (!rc && dxk_next_more(e->me, NULL, 0, NULL, &w, 1, data, DATA, 0) != 1)
		return "no further turn";
	if (!rc && (w.turn != 1 || (w.wake != DXK_WAKE_AGAIN && w.events != 4) ||
		    data[DATA - 1] != (unsigned char)~pattern(0)))
		return "another turn";
	memset(data, (unsigned char)~pattern(0), DATA);
	done.ticket = w.work.ticket;
	if (dxk_next(e->me, &done, 1, NULL, NULL, 0, NULL, 0, 0))
		return "no end";
	if (dxk_rejoin(e->me, OWNER, e->result, 1, 1, NULL, 0, 0, NULL) != 1)
		return "no result";
	return e->result[0].status == 100 ? NULL : "a status";
}

static const char *end_park_file(struct env *e, int rc)
{
	const char *why = end_park(e, rc);

	close(e->pipe[0]);
	close(e->pipe[1]);
	return why;
}

const struct row work_rows[] = {
	ROW("POST", POST, MEMBER, dxk_post, set_post, end_post, 2, 2),
	ROW("POST kernel", POST, MEMBER, dxk_post, set_post_kernel, end_post_kernel, 1, 1),
	ROW("POST refused", POST, MEMBER, dxk_post, set_post_refused, end_post_refused,
	    -EAGAIN, -EFAULT),
	ROW("REJOIN", REJOIN, MEMBER, dxk_rejoin, set_rejoin, end_rejoin, 2, 2,
	    .fewer = true),
	ROW("REJOIN none", REJOIN, MEMBER, dxk_rejoin, set_rejoin_none, end_rejoin_none, 0,
	    -EFAULT, .written = offsetof(struct dxk_rejoin, reserved)),
	ROW("CALL", CALL, MEMBER, dxk_roundtrip, set_call, end_call, 2, -EFAULT,
	    .written = offsetof(struct dxk_roundtrip, reserved), .fewer = true),
	ROW("CALL refused", CALL, MEMBER, dxk_roundtrip, set_call_refused, end_call_refused,
	    -EAGAIN, -EFAULT),
	ROW("NEXT fetch", NEXT, ON_WORKER, dxk_next, set_fetch, end_fetch, 2, 2,
	    .fewer = true),
	ROW("NEXT complete", NEXT, ON_WORKER, dxk_next, set_complete, end_complete, 0, 0),
	ROW("POST more", POST, MEMBER, dxk_post, set_post_more, end_post_more, 1, 1),
	ROW("POST file", POST, MEMBER, dxk_post, set_post_file, end_post_file, 1, 1),
	ROW("POST key", POST, MEMBER, dxk_post, set_post_key, end_post_key, 1, 1),
	ROW("KEY hold", KEY, MEMBER, dxk_key_call, set_key_hold, end_key_hold, 0, 0),
	ROW("NEXT file", NEXT, ON_WORKER, dxk_next, set_park_file, end_park_file, 0, 0),
	ROW("NEXT park", NEXT, ON_WORKER, dxk_next, set_park, end_park, 0, 0),
	ROW("WAKE", WAKE, MEMBER, dxk_names, set_wake, end_wake, 1, 1),
	ROW("CANCEL", CANCEL, MEMBER, dxk_names, set_cancel, end_cancel, 1, 1),
	ROW("CANCEL_OWNER", CANCEL_OWNER, MEMBER, dxk_cancel_owner, set_cancel_owner,
	    end_cancel_owner, 0, -EFAULT),
	ROW("SHOULD_STOP", SHOULD_STOP, MEMBER, dxk_should_stop, set_nothing, end_nothing,
	    0, 0),
	{ 0 },
};
