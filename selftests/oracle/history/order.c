// SPDX-License-Identifier: GPL-2.0-only
/*
 * The part of the checker (history.h) that compares requests with each other: was
 * there one, which came first, how many at once.
 */
#include "facts.h"
#include "windows.h"

#include <dxk.h>
#include <stdlib.h>

/* --- owners -------------------------------------------------------------- */

/* Its last execution ended then, and no wait begins. */
bool hist_end_of(const struct check *c, uint32_t i, uint64_t *begin, uint64_t *end)
{
	const struct facts *f = &c->facts[i];

	if (hist_waits(f))
		return false;
	if (f->done) {
		*begin = f->done->begin;
		*end = f->done->end;
	} else if (hist_died(c, i)) {
		*begin = hist_gone(c, f->last)->begin;
		*end = hist_gone(c, f->last)->end;
	} else {
		return false;
	}
	return true;
}

/* From when on was it certainly there? */
uint64_t hist_taken(const struct check *c, uint32_t i)
{
	const struct facts *f = &c->facts[i];
	uint64_t from = NEVER;

	if (f->post && f->post->how == POST_TAKEN)
		from = f->post->end;
	if (f->first && f->first->end < from)
		from = f->first->end;
	return from;
}

/* When did the request certainly live? */
static void add_life(const struct check *c, struct windows *ws, uint32_t i)
{
	const struct history_request *r = &c->h->request[i];
	const struct facts *f = &c->facts[i];
	uint64_t from = hist_taken(c, i), until = 0, end;

	if (f->result)
		until = f->result->begin;
	else if (r->attrs & PXR_REJOIN && r->space != HIST_NOBODY)
		until = c->h->space[r->space].begin;
	else if (!(r->attrs & PXR_REJOIN))
		hist_end_of(c, i, &until, &end);
	window_add(ws, r->owner, from, until);
}

/* When did its result certainly lie in the Rejoin Pool? */
static void add_rest(const struct check *c, struct windows *ws, uint32_t i)
{
	const struct history_request *r = &c->h->request[i];
	const struct facts *f = &c->facts[i];
	uint64_t begin, end;

	if (f->result && hist_end_of(c, i, &begin, &end))
		window_add(ws, r->owner, end, f->result->begin);
}

void hist_check_owners(struct check *c)
{
	struct windows life = { calloc(c->nr_requests + 1, sizeof(struct window)), 0 };
	struct windows rest = { calloc(c->nr_requests + 1, sizeof(struct window)), 0 };
	const struct history_event *e, *before = NULL;
	uint64_t begin, end, begin2, end2;
	uint32_t i;

	for (i = 0; i < c->nr_requests; i++) {
		add_life(c, &life, i);
		add_rest(c, &rest, i);
	}
	windows_seal(&life);
	windows_seal(&rest);
	for (i = 0; i < c->nr_events; i++) {
		e = &c->h->event[i];
		switch (e->kind) {
		case HIST_NONE_EXIST:
			c->report->none_exist++;
			if (windows_latest(&life, e->owner, e->begin) > e->end)
				hist_found(c, HIST_FALSE_NONE_EXIST, HIST_NOBODY, "owner %u, %llu..%llu",
				      e->owner, (unsigned long long)e->begin,
				      (unsigned long long)e->end);
			break;
		case HIST_NONE_READY:
			c->report->none_ready++;
			if (windows_latest(&rest, e->owner, e->begin) > e->end)
				hist_found(c, HIST_FALSE_NONE_READY, HIST_NOBODY, "owner %u, %llu..%llu",
				      e->owner, (unsigned long long)e->begin,
				      (unsigned long long)e->end);
			break;
		case HIST_RESULT:
			if (e->request >= c->nr_requests ||
			    !hist_end_of(c, e->request, &begin, &end))
				break;
			/* oldest completion first: from call to call, and in each */
			if (windows_latest(&rest, e->owner, begin) > e->end ||
			    (e->at && before && before->request < c->nr_requests &&
			     before->begin == e->begin &&
			     hist_end_of(c, before->request, &begin2, &end2) &&
			     begin2 > end))
				hist_found(c, HIST_WRONG_ORDER, e->request, "request %u of owner %u",
				      e->request, e->owner);
			before = e;
			break;
		}
	}
	free(life.w);
	free(rest.w);
}

/* --- the order of dispatches --------------------------------------------- */

static unsigned int lane_of(uint32_t attrs)
{
	return attrs & PXR_LANE0 ? 0 : attrs & PXR_LANE1 ? 1 : attrs & PXR_LANE2 ? 2 : 3;
}

static uint64_t place(unsigned int lane, int32_t prio)
{
	return (uint64_t)lane << 32 | ((uint32_t)prio ^ 0x80000000U);
}

/*
 * Has a worker taken it, ahead of all others, as it had ended what the request waited for
 * (CO-16)? @before: the start before @e, of any request.
 */
static bool follows_at_once(const struct check *c, const struct history_event *e,
			    const struct history_event *before)
{
	const struct history_request *r = &c->h->request[e->request];
	const struct history_event *park;

	if (e->wake != DXK_WAKE_JOIN)
		return false;
	if (!e->turn)
		return r->wait & DXK_WAIT_EAGER;
	park = before && before->request == e->request ? hist_done(c, before) : NULL;
	return park && park->wait & DXK_WAIT_EAGER;
}

/*
 * Whatever admits a request of one lane admits one of a larger lane, so of those the
 * more urgent, or the equal and older, goes first (DX-57, DX-73). A request is surely
 * Ready from the end of its post until the call begins that brings it to a worker,
 * unless it was in the hands of somebody who died before he got it.
 */
void hist_check_order(struct check *c)
{
	struct windows ready = { calloc(c->nr_requests + 1, sizeof(struct window)), 0 };
	struct windows lost = { calloc(c->nr_events + 1, sizeof(struct window)), 0 };
	uint64_t *group = calloc(c->nr_requests + 1, sizeof(*group));
	uint32_t i, g, groups = 0;

	for (i = 0; i < c->nr_requests; i++) {
		const struct facts *f = &c->facts[i];

		/* one that waits first, for its key as well, is Ready later */
		if (f->first && f->post && f->post->how == POST_TAKEN &&
		    !(c->h->request[i].attrs & (PXR_WAIT | PXR_KEY)))
			window_add(&ready, place(lane_of(c->h->request[i].attrs),
						 c->h->request[i].prio),
				   f->post->end, f->first->begin);
	}
	windows_seal(&ready);
	for (i = 0; i < ready.nr; i++)
		if (!i || ready.w[i].group != ready.w[i - 1].group)
			group[groups++] = ready.w[i].group;
	for (i = 0; i < c->nr_events; i++)
		if (c->h->event[i].kind == HIST_FETCH_LOST)
			window_add(&lost, 0, c->h->event[i].begin, c->h->event[i].end);
	windows_seal(&lost);

	for (i = 0; i < c->nr_starts; i++) {
		const struct history_event *e = c->start[i];
		const struct history_request *r = &c->h->request[e->request];
		const struct facts *f = &c->facts[e->request];
		uint64_t own = place(lane_of(r->attrs), r->prio), from = e->begin;

		if (!f->post || e->nested || windows_latest(&lost, 0, e->end) > e->begin ||
		    follows_at_once(c, e, i ? c->start[i - 1] : NULL))
			continue;
		if (f->post->begin > from)
			from = f->post->begin;
		for (g = 0; g < groups; g++) {
			uint32_t lane = group[g] >> 32, prio = (uint32_t)group[g];

			if (lane < own >> 32 || prio < (uint32_t)own)
				continue;
			c->report->pairs++;
			if (windows_latest(&ready, group[g], prio > (uint32_t)own ?
					   from : f->post->begin) <= e->end)
				continue;
			/* so may some of a key, in a row: dxk_policy.key_batch */
			if (prio == (uint32_t)own && e->key)
				c->jumped[i] = true;
			else
				hist_found(c, HIST_INVERSION, e->request,
				      "request %u (lane %u, %d) before one of lane %u, %d",
				      e->request, lane_of(r->attrs), r->prio, lane,
				      (int32_t)(prio ^ 0x80000000U));
		}
	}
	free(ready.w);
	free(lost.w);
	free(group);
}

/* --- lanes --------------------------------------------------------------- */

struct step {
	uint64_t at;
	int32_t lane;		/* ~lane: one less */
};

static int by_at(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* Of lanes 0..l together never more execute than quota[l] (DX-67..DX-71). */
void hist_check_lanes(struct check *c)
{
	struct step *s = calloc(2 * c->nr_starts + 1, sizeof(*s));
	uint32_t i, n = 0, l, k, sum, used[4] = { 0 };

	for (i = 0; i < c->nr_starts; i++) {
		const struct history_event *e = c->start[i], *d = hist_done(c, e);
		uint64_t until = d ? d->begin : hist_gone(c, e) ? hist_gone(c, e)->begin : NEVER;
		int32_t lane = (int32_t)lane_of(c->h->request[e->request].attrs);

		/* the thread of a nested one has its place already */
		if (e->end >= until || e->nested)
			continue;
		s[n++] = (struct step){ e->end, lane };
		s[n++] = (struct step){ until, ~lane };
	}
	qsort(s, n, sizeof(*s), by_at);
	for (i = 0; i < n; i++) {
		if (s[i].lane < 0) {
			used[~s[i].lane]--;
			continue;
		}
		used[s[i].lane]++;
		for (l = s[i].lane; l < 4; l++) {
			for (sum = 0, k = 0; k <= l; k++)
				sum += used[k];
			if (sum > c->h->quota[l])
				hist_found(c, HIST_LANE_OVERRUN, HIST_NOBODY,
				      "at %llu: %u %u %u %u execute",
				      (unsigned long long)s[i].at, used[0], used[1],
				      used[2], used[3]);
		}
	}
	free(s);
}
