// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Reports of waiting requests: see age.h.
 */
#include "engine/age.h"
#include "engine/engine.h"
#include "engine/key.h"
#include "engine/more.h"
#include "engine/os.h"

/** dxk_waiting_copy - copy the report of a waiting request; the engine is locked */
void dxk_waiting_copy(const struct dxk_rqe *rqe, struct dxk_waiting *w)
{
	const struct dxk_more *more = rqe->more;
	bool held = more->at_key == DXK_KEY_HELD;

	*w = (struct dxk_waiting) {
		.executor = rqe->executor,
		.owner = rqe->cookie,
		.param = rqe->param,
		.name = more->name,
		.awaits = held ? more->key->cookie : more->wait.owner,
		.since = more->since,
		.space = rqe->owner->space->id,
		.attrs = rqe->attrs,
		.wait = more->wait.wait,
		.turn = more->turn,
		.kind = rqe->kind,
		.named = more->named,
		.held = held,
		.ripe = more->ripe,
	};
}

/**
 * dxk_waiting_look - report some of the waiting requests
 * @e: the engine
 * @seen: out: line by line, those first that were heard of the longest time ago; or %NULL
 * @max: room there, 0 to %DXK_WAITING_MAX
 * @all: out: how many wait
 *
 * Return: how many of them are in @seen.
 */
u32 dxk_waiting_look(struct dxk_engine *e, struct dxk_waiting *seen, u32 max, u32 *all)
{
	const struct dxk_rqe *rqe;
	u32 line, nr = 0;

	spin_lock(&e->lock);
	*all = e->nr[DXK_AT_WAIT];
	for (line = 0; line < DXK_LINES; line++)
		list_for_each_entry(rqe, &e->waits.line[line], link) {
			if (nr == max)
				goto out;
			dxk_waiting_copy(rqe, &seen[nr++]);
		}
out:
	spin_unlock(&e->lock);
	return nr;
}

/**
 * dxk_waiting_due - report requests that were last heard of long ago; their time begins anew
 * @e: the engine
 * @limit: longer ago than this, of os_clock()
 * @due: out: the requests, except for those that are %PXR_QUIET
 * @max: room there, at least 1
 * @more: out: there may be more of them
 *
 * Return: how many are in @due.
 */
u32 dxk_waiting_due(struct dxk_engine *e, unsigned long limit, struct dxk_waiting *due,
		    u32 max, bool *more)
{
	u32 line, nr = 0, steps = 0;
	unsigned long now;

	*more = false;
	spin_lock(&e->lock);
	now = os_clock();
	for (line = 0; line < DXK_LINES; line++) {
		struct list_head *waits = &e->waits.line[line];

		while (!list_empty(waits)) {
			struct dxk_rqe *rqe = list_first_entry(waits, struct dxk_rqe, link);

			if (now - rqe->more->heard <= limit)
				break;
			if (nr == max || steps++ == DXK_WAITING_MAX) {
				*more = true;
				goto out;
			}
			rqe->more->heard = now;
			dxk_rqe_change(rqe, waits);
			if (!(rqe->attrs & PXR_QUIET))
				dxk_waiting_copy(rqe, &due[nr++]);
		}
	}
out:
	e->stats.overdue += nr;
	spin_unlock(&e->lock);
	return nr;
}
