// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the threads of a history do with keys: see actor.h.
 *
 * The first worker of each process never sleeps for long, so what is called finds somebody:
 * it neither calls nor waits for its key. What has a key is of lane 3, whose requests wait for
 * no lane.
 */
#define DXT_NO_HARNESS
#include "lib/puppet.h"
#include "actor.h"

#include <unistd.h>

#define KEYS		2	/* of all processes */
#define PRIVATE		1	/* further ones of each */
#define CALLED		(1U << 20)	/* owners from here on are those of calls */

static uint32_t some_key(struct actor *a)
{
	uint32_t n = rnd(&a->seed);

	/* one that is wanted by many, and others */
	return a->log->space == HIST_NOBODY ? 1 + (n % 4 ? 0 : n / 4 % KEYS) :
					      1 + KEYS + PRIVATE * a->log->space + n % PRIVATE;
}

void actor_key(struct actor *a, struct dxk_post_more *e)
{
	e->post.attrs &= ~(PXR_LANE0 | PXR_LANE1 | PXR_LANE2);
	e->post.attrs |= PXR_KEY;
	e->key = some_key(a);
	e->reentry = rnd(&a->seed) % (DXK_REENTRY_CHAIN + 1);
}

void actor_move(struct actor *a, const struct held *h, struct dxk_wait *w)
{
	const struct history_request *r = &a->log->h->request[h->request];
	uint32_t n = rnd(&a->seed);

	if (n % 8 > 1 || r->attrs & (PXR_LANE0 | PXR_LANE1 | PXR_LANE2))
		return;
	if (n % 8) {
		w->wait |= DXK_WAIT_ALONE;
	} else {
		w->wait |= DXK_WAIT_MOVE;
		w->key = r->space == HIST_NOBODY ? 1 + n / 8 % KEYS :
						   1 + KEYS + PRIVATE * r->space + n / 8 % PRIVATE;
	}
}

/* --- of clients ---------------------------------------------------------------- */

static void rule(struct actor *a, uint32_t what, uint32_t key)
{
	int rc = log_key(a->log, what, key, 0, 0,
			 what == DXK_KEY_HOLD && rnd(&a->seed) % 2);

	if (rc < 0 && rc != -ENOENT && (rc != -ENOSPC || what != DXK_KEY_HOLD))
		actor_odd(rc);
}

void actor_rule(struct actor *a)
{
	uint32_t what = rnd(&a->seed) % 16, key = some_key(a);

	if (what < 2) {
		rule(a, DXK_KEY_HOLD, key);
		usleep(rnd(&a->seed) % 5000);
		rule(a, DXK_KEY_RELEASE, key);
	} else if (what < 8) {
		rule(a, what < 3 ? DXK_KEY_CANCEL : DXK_KEY_RELEASE, key);
	}
}

void actor_release(struct actor *a)
{
	uint32_t i;

	if (!a->log->h->waits)
		return;
	if (a->log->space == HIST_NOBODY)
		for (i = 1; i <= KEYS; i++)
			rule(a, DXK_KEY_RELEASE, i);
	else
		for (i = 0; i < PRIVATE; i++)
			rule(a, DXK_KEY_RELEASE, 1 + KEYS + PRIVATE * a->log->space + i);
}

/* --- calls ------------------------------------------------------------------------ */

uint32_t actor_call_owner(uint32_t space, unsigned int thread, unsigned int depth)
{
	return CALLED + (space * THREADS + thread) * CALL_DEPTH + depth;
}

static bool post_called(struct actor *a, uint32_t owner)
{
	struct dxk_post_more *e = log_entry(a->log, 0);
	int rc = -EAGAIN;

	*e = (struct dxk_post_more){ 0 };
	e->post = (struct dxk_post_entry){
		.executor = 7, .prio = (int)(rnd(&a->seed) % 4) - 1,
		.attrs = PXR_REJOIN | (rnd(&a->seed) % 2 ? PXR_REDO : 0),
	};
	actor_key(a, e);
	a->crowd->posting++;
	if (!actor_is_quiet()) {
		*a->doing = POSTING;
		rc = log_post(a->log, 1, owner, 0);
		*a->doing = ELSEWHERE;
	}
	a->crowd->posting--;
	if (rc < 0 && rc != -EAGAIN && rc != -ENOSPC && rc != -ECANCELED)
		actor_odd(rc);
	return rc == 1;
}

static void call(struct actor *a);

/* It is to execute a request within the one that has its key. */
static void execute_nested(struct actor *a)
{
	struct history_log *log = a->log;
	const struct dxk_work *w = &log_work(log, 0)->work;
	uint64_t ticket;
	uint32_t request;
	int rc;

	*a->doing = NESTING;
	rc = log_next(log, 0, 1, DXK_FOREVER);
	if (rc != 1 || !log_work(log, 0)->nested) {
		actor_odd(rc);
		return;
	}
	ticket = w->ticket;
	request = (uint32_t)w->param;
	actor_dawdle(&a->seed);
	if (++a->depth < CALL_DEPTH && rnd(&a->seed) % 2)
		call(a);
	a->depth--;
	*a->doing = NESTING;
	*log_done(log, 0) = (struct dxk_done_more){
		.done = { .ticket = ticket, .status = actor_status(request) },
	};
	rc = log_next(log, 1, 0, 0);
	*a->doing = ELSEWHERE;
	if (rc || log->next.nr_taken != 1)
		actor_odd(rc);
}

/* Waits for what it has posted, as long as that takes, unless nobody else could end that. */
static void call(struct actor *a)
{
	uint32_t owner = actor_call_owner(a->crowd->space, (unsigned int)(a->log - a->crowd->log),
					  a->depth);
	bool *called = &a->called[a->depth];
	uint32_t answer;
	int rc;

	if (!*called)
		*called = post_called(a, owner);
	if (!*called)
		return;
	do {
		*a->doing = CALLING;
		rc = log_rejoin(a->log, owner, 1, 1,
				rnd(&a->seed) % 4 ? DXK_FOREVER : dxt_in(5 * DXT_MS),
				DXK_CALL_NEST);
		*a->doing = ELSEWHERE;
		/* what is nested makes calls of its own */
		answer = a->log->rejoin.answer;
		if (!rc && answer == RJR_HELP)
			execute_nested(a);
	} while (!rc && answer == RJR_HELP);
	if (rc < 0 && rc != -EDEADLK)
		actor_odd(rc);
	*called = rc < 0 || answer == RJR_NONE_READY;
}

/* --- the way out and back ------------------------------------------------------------ */

/* What a worker does with the key of the one request that it executes. */
static void ask(struct actor *a, struct held *h, uint32_t what)
{
	bool waits = what == DXK_KEY_WAIT;
	int rc, want = 0;

	*a->doing = AT_KEY;
	rc = log_key(a->log, what, h->key, h->ticket,
		     waits ? dxt_in(rnd(&a->seed) % (60 * DXT_MS)) : 0, false);
	*a->doing = ELSEWHERE;
	if (what == DXK_KEY_ENTER && !h->out)
		want = -EALREADY;
	else if (what != DXK_KEY_ENTER && h->out)
		want = -EPERM;
	if (rc == -ECANCELED && what != DXK_KEY_LEAVE && (h->unsure || !want)) {
		/* it goes on without, or has not begun to wait */
		h->unsure = true;
	} else if (!h->unsure && rc != want && !(waits && !want && rc == -ETIMEDOUT)) {
		actor_odd(rc);
	} else if (!rc || (waits && rc == -ETIMEDOUT)) {
		h->out = what == DXK_KEY_LEAVE;
		h->unsure = false;
	}
}

void actor_work(struct actor *a, struct held *held, unsigned int nr_held)
{
	static const uint8_t some[] = {
		DXK_KEY_LEAVE, DXK_KEY_ENTER, DXK_KEY_WAIT, DXK_KEY_WAIT, DXK_KEY_WAIT,
		DXK_KEY_WAIT, DXK_KEY_NOTIFY, DXK_KEY_NOTIFY, DXK_KEY_NOTIFY,
		DXK_KEY_NOTIFY_ALL,
	};
	uint32_t what = rnd(&a->seed) % 16;

	if (!a->log->h->waits || !nr_held || !held->key)
		return;
	if (!a->deserts) {
		if (nr_held == 1 && !what)
			ask(a, held, DXK_KEY_LEAVE);
		return;
	}
	if (what < ARRAY_SIZE(some) && nr_held == 1) {
		ask(a, held, some[what]);
		actor_dawdle(&a->seed);
		if (held->out && rnd(&a->seed) % 2)
			ask(a, held, DXK_KEY_ENTER);
	} else if (what < 13 && !a->crowd->callers++) {
		call(a);
		a->crowd->callers = 0;
	}
}
