// SPDX-License-Identifier: GPL-2.0-only
/*
 * The part of the checker (history.h) that is about requests that wait: had each turn the
 * reason that it was told, and is who has a name found by it?
 */
#include "facts.h"
#include "windows.h"

#include <dxk.h>
#include <stdlib.h>

/* What is known of the owners that are waited for. */
struct owners {
	struct windows coming;		/* something is certainly still to end */
	struct windows rest;		/* there may be a result */
};

/* One wait: where it was begun, and how. */
struct wait {
	uint64_t begin;
	uint32_t wait, awaited;
	uint64_t deadline;
};

/* --- owners ---------------------------------------------------------------- */

static void add_request(const struct check *c, struct owners *o, uint32_t i)
{
	const struct history_request *r = &c->h->request[i];
	const struct facts *f = &c->facts[i];
	uint64_t begin, end;

	if (hist_end_of(c, i, &begin, &end)) {
		window_add(&o->coming, r->owner, hist_taken(c, i), begin);
	} else if (f->post && f->post->how != POST_REFUSED) {
		/* it was cancelled, has expired, or is the kernel's: at some time */
		begin = f->post->begin;
	} else {
		return;
	}
	if (r->attrs & PXR_REJOIN)
		window_add(&o->rest, r->owner, begin, f->result ? f->result->end : NEVER);
}

/* Was something of the owner still to end, all the time of the wait? */
static bool comes(const struct owners *o, const struct wait *w, uint64_t end)
{
	return windows_latest(&o->coming, w->awaited, w->begin) > end;
}

/* Could there be a result of it, at some time of the wait? */
static bool may_rest(const struct owners *o, const struct wait *w, uint64_t end)
{
	return windows_latest(&o->rest, w->awaited, end) > w->begin;
}

/* --- reasons ---------------------------------------------------------------- */

static void wrong(struct check *c, const struct history_event *e, const struct wait *w,
		  const char *why)
{
	hist_found(c, HIST_WRONG_WAKE, e->request,
		   "request %u, turn %u: wake %u after a wait %#x for %u: %s", e->request,
		   e->turn, e->wake, w->wait, w->awaited, why);
}

static void too_early(struct check *c, const struct history_event *e, uint64_t time)
{
	if (e->time < time)
		hist_found(c, HIST_TOO_EARLY, e->request,
			   "request %u, turn %u: at %llu, not %llu", e->request, e->turn,
			   (unsigned long long)e->time, (unsigned long long)time);
}

/* Is that what it waits for, and has it happened? @calls: turns so far for calls. */
static void check_reason(struct check *c, const struct owners *o, const struct wait *w,
			 const struct history_event *e, uint32_t calls)
{
	static const uint32_t source[] = {
		[DXK_WAKE_TIME] = DXK_WAIT_TIME, [DXK_WAKE_CALL] = DXK_WAIT_CALL,
		[DXK_WAKE_FILE] = DXK_WAIT_FILE, [DXK_WAKE_RESULT] = DXK_WAIT_RESULT,
		[DXK_WAKE_JOIN] = DXK_WAIT_JOIN, [DXK_WAKE_AGAIN] = DXK_WAIT_AGAIN,
		[DXK_WAKE_DEADLOCK] = DXK_WAIT_RESULT | DXK_WAIT_JOIN,
	};
	const struct history_request *r = &c->h->request[e->request];

	if (e->wake < sizeof(source) / sizeof(source[0]) && source[e->wake] &&
	    !(w->wait & source[e->wake])) {
		wrong(c, e, w, "it waits for something else");
		return;
	}
	switch (e->wake) {
	case DXK_WAKE_NONE:
		if (e->turn || w->wait)
			wrong(c, e, w, "it has waited");
		break;
	case DXK_WAKE_TIME:
		too_early(c, e, w->deadline);
		break;
	case DXK_WAKE_CALL:
		if (hist_calls(c, e->request, HIST_CALL, e->end) < calls)
			wrong(c, e, w, "nobody has called it");
		break;
	case DXK_WAKE_RESULT:
		if (comes(o, w, e->end) && !may_rest(o, w, e->end))
			wrong(c, e, w, "the owner has none");
		break;
	case DXK_WAKE_JOIN:
		if (comes(o, w, e->end))
			wrong(c, e, w, "the owner has something coming");
		break;
	case DXK_WAKE_AGAIN:
		break;
	case DXK_WAKE_CANCEL:
		if (!hist_calls(c, e->request, HIST_CANCEL, e->end) &&
		    !hist_killed(c, e->request, e->end))
			wrong(c, e, w, "nobody has cancelled it");
		break;
	case DXK_WAKE_EXPIRE:
		if (r->attrs & PXR_EXPIRE)
			too_early(c, e, r->expire);
		else
			wrong(c, e, w, "it does not expire");
		break;
	case DXK_WAKE_DEADLOCK:
		if (w->awaited != r->owner)
			wrong(c, e, w, "it is another owner");
		break;
	default:
		wrong(c, e, w, "no Stop has begun");
	}
}

/* How the turn has come about that begins with @e, the first start after @before. */
static struct wait wait_before(const struct check *c, const struct history_event *e,
			       const struct history_event *before)
{
	const struct history_request *r = &c->h->request[e->request];
	const struct history_event *post = c->facts[e->request].post;
	const struct history_event *park = e->turn && before ? hist_done(c, before) : NULL;

	if (park)
		return (struct wait){ park->begin, park->wait, park->awaited, park->time };
	return (struct wait){
		.begin = post ? post->begin : 0,
		.wait = r->attrs & PXR_WAIT && !e->turn ? r->wait : 0,
		.awaited = r->awaited, .deadline = r->deadline,
	};
}

/*
 * What is begun again, as its worker has died, has the reason that it had, unless it was told
 * to end meanwhile: a call that was its reason is one for the next wait then.
 */
static void check_reasons(struct check *c, const struct owners *o)
{
	const struct history_event *before = NULL;
	struct wait w = { 0 };
	uint32_t i, calls = 0;

	for (i = 0; i < c->nr_starts; i++) {
		const struct history_event *e = c->start[i];
		bool again = before && before->request == e->request &&
			     before->turn == e->turn;

		if (!before || before->request != e->request) {
			before = NULL;
			calls = 0;
		}
		if (!again)
			w = wait_before(c, e, before);
		if (!again || e->wake != before->wake) {
			calls += e->wake == DXK_WAKE_CALL;
			calls -= again && before->wake == DXK_WAKE_CALL;
			if (again && e->wake != DXK_WAKE_CANCEL && e->wake != DXK_WAKE_EXPIRE)
				wrong(c, e, &w, "it had another reason");
			check_reason(c, o, &w, e, calls);
		}
		before = e;
	}
}

/* --- names ------------------------------------------------------------------ */

static void check_name(struct check *c, const struct history_event *e)
{
	const struct facts *f = &c->facts[e->request];
	uint64_t begin, end;
	bool ended = hist_end_of(c, e->request, &begin, &end);

	if (e->how == NAME_NONE && ended && hist_taken(c, e->request) < e->begin &&
	    begin > e->end)
		hist_found(c, HIST_WRONG_NAME, e->request, "request %u is not found",
			   e->request);
	if (e->how == NAME_FOUND && ((f->post && f->post->begin > e->end) ||
				     (f->post && f->post->how == POST_REFUSED) ||
				     (f->result && f->result->end < e->begin) ||
				     (ended && end < e->begin)))
		hist_found(c, HIST_WRONG_NAME, e->request, "request %u is found", e->request);
}

void hist_check_waits(struct check *c)
{
	struct owners o = {
		.coming.w = calloc(c->nr_requests + 1, sizeof(struct window)),
		.rest.w = calloc(c->nr_requests + 1, sizeof(struct window)),
	};
	uint32_t i;

	if (!o.coming.w || !o.rest.w)
		abort();
	for (i = 0; i < c->nr_requests; i++)
		add_request(c, &o, i);
	windows_seal(&o.coming);
	windows_seal(&o.rest);
	check_reasons(c, &o);
	for (i = 0; i < c->nr_calls; i++)
		check_name(c, c->call[i]);
	free(o.coming.w);
	free(o.rest.w);
}
