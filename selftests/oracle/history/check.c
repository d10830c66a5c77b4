// SPDX-License-Identifier: GPL-2.0-only
/* The checker of histories: see history.h. */
#include "facts.h"

#include <dxk.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

const char *const history_error_name[HIST_ERRORS] = {
	[HIST_LOST] = "lost",
	[HIST_GHOST] = "ghost",
	[HIST_RETURNED_TWICE] = "returned twice",
	[HIST_STARTED_TWICE] = "started twice",
	[HIST_WRONG_RESULT] = "wrong result",
	[HIST_WRONG_OWNER] = "wrong owner",
	[HIST_FALSE_NONE_EXIST] = "false NONE_EXIST",
	[HIST_FALSE_NONE_READY] = "false NONE_READY",
	[HIST_WRONG_ORDER] = "wrong order",
	[HIST_INVERSION] = "inversion",
	[HIST_WRONG_PRIO] = "wrong priority",
	[HIST_LANE_OVERRUN] = "lane overrun",
	[HIST_STALE_TAKEN] = "stale completion taken",
	[HIST_STALE_REFUSED] = "completion refused as stale",
	[HIST_WRONG_TURN] = "wrong turn",
	[HIST_WRONG_WAKE] = "woken for no reason",
	[HIST_TOO_EARLY] = "before its time",
	[HIST_WRONG_NAME] = "wrong answer for a name",
	[HIST_KEY_SHARED] = "two turns of a key",
	[HIST_KEY_ORDER] = "wrong order within a key",
	[HIST_KEY_IDLE] = "a free key",
	[HIST_KEY_BURIED] = "a dead worker's key",
	[HIST_WRONG_NEST] = "wrongly nested",
	[HIST_WRONG_DEADLOCK] = "EDEADLK without a circle",
	[HIST_NO_DEADLOCK] = "a circle without EDEADLK",
	[HIST_WRONG_NOTIFY] = "wrong hand-over",
	[HIST_HOLD_BROKEN] = "through a key that is held back",
	[HIST_CANCEL_LOST] = "missed by the cancel of its key",
};

/* --- memory -------------------------------------------------------------- */

static void *shared(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

struct history *history_new(uint32_t requests, uint32_t events, uint32_t members)
{
	struct history *h = shared(sizeof(*h));

	h->max_requests = requests;
	h->max_events = events;
	h->max_members = h->max_spaces = members;
	h->request = shared(requests * sizeof(*h->request));
	h->event = shared(events * sizeof(*h->event));
	h->member = shared(members * sizeof(*h->member));
	h->space = shared(members * sizeof(*h->space));
	return h;
}

void history_free(struct history *h)
{
	munmap(h->request, h->max_requests * sizeof(*h->request));
	munmap(h->event, h->max_events * sizeof(*h->event));
	munmap(h->member, h->max_members * sizeof(*h->member));
	munmap(h->space, h->max_spaces * sizeof(*h->space));
	munmap(h, sizeof(*h));
}

/* --- what is known of each request --------------------------------------- */

void hist_found(struct check *c, enum history_error error, uint32_t request,
		const char *fmt, ...)
{
	va_list ap;

	c->report->total++;
	if (c->report->nr[error]++)
		return;
	c->report->request[error] = request;
	va_start(ap, fmt);
	vsnprintf(c->report->first[error], sizeof(c->report->first[error]), fmt, ap);
	va_end(ap);
}

static int by_attempt(const void *a, const void *b)
{
	const struct history_event *x = *(void *const *)a, *y = *(void *const *)b;

	if (x->request != y->request)
		return x->request < y->request ? -1 : 1;
	if (x->turn != y->turn)
		return x->turn < y->turn ? -1 : 1;
	return x->attempt < y->attempt ? -1 : x->attempt > y->attempt;
}

static int by_request(const void *a, const void *b)
{
	const struct history_event *x = *(void *const *)a, *y = *(void *const *)b;

	return x->request < y->request ? -1 : x->request > y->request;
}

static int by_ticket(const void *a, const void *b)
{
	const struct history_event *x = *(void *const *)a, *y = *(void *const *)b;

	return x->ticket < y->ticket ? -1 : x->ticket > y->ticket;
}

/* The index of the START with a ticket, or -1. */
static long find_ticket(const struct check *c, uint64_t ticket)
{
	long lo = 0, hi = (long)c->nr_starts - 1;

	while (lo <= hi) {
		long mid = (lo + hi) / 2;

		if (c->ticket[mid]->ticket == ticket)
			return mid;
		if (c->ticket[mid]->ticket < ticket)
			lo = mid + 1;
		else
			hi = mid - 1;
	}
	return -1;
}

/* Completions: each of a dispatch that the member holds, and of each one. */
static void match_dones(struct check *c)
{
	uint32_t i;

	for (i = 0; i < c->nr_events; i++) {
		const struct history_event *e = &c->h->event[i];
		bool held;
		long at;

		if (e->kind != HIST_DONE || e->how == DONE_NOTHING)
			continue;
		at = find_ticket(c, e->ticket);
		/* a member makes one call at a time: here before is before */
		held = at >= 0 && c->ticket[at]->member == e->member &&
		       c->ticket[at]->end < e->begin &&
		       (!c->done[at] || c->done[at]->begin > e->begin);
		if (e->how == DONE_STALE) {
			c->report->stale++;
			if (held)
				hist_found(c, HIST_STALE_REFUSED, HIST_NOBODY, "ticket %llu, member %u",
				      (unsigned long long)e->ticket, e->member);
		} else if (!held) {
			hist_found(c, HIST_STALE_TAKEN, HIST_NOBODY, "ticket %llu, member %u",
			      (unsigned long long)e->ticket, e->member);
		} else {
			c->done[at] = e;
		}
	}
}

static void gather(struct check *c)
{
	uint32_t i;

	for (i = 0; i < c->nr_events; i++) {
		const struct history_event *e = &c->h->event[i];
		struct facts *f;

		if (e->kind == HIST_KEY && e->what == DXK_KEY_CANCEL)
			c->kill[c->nr_kills++] = e;
		if (e->kind != HIST_POST && e->kind != HIST_START &&
		    e->kind != HIST_RESULT && e->kind != HIST_CALL &&
		    e->kind != HIST_CANCEL)
			continue;
		if (e->request >= c->nr_requests) {
			hist_found(c, HIST_GHOST, HIST_NOBODY, "request %u", e->request);
			continue;
		}
		f = &c->facts[e->request];
		switch (e->kind) {
		case HIST_POST:
			f->post = e;
			break;
		case HIST_START:
			c->start[c->nr_starts] = c->ticket[c->nr_starts] = e;
			c->nr_starts++;
			break;
		case HIST_RESULT:
			if (f->result)
				hist_found(c, HIST_RETURNED_TWICE, e->request, "request %u", e->request);
			f->result = e;
			break;
		default:
			c->call[c->nr_calls++] = e;
		}
	}
	qsort(c->call, c->nr_calls, sizeof(*c->call), by_request);
	qsort(c->start, c->nr_starts, sizeof(*c->start), by_attempt);
	qsort(c->ticket, c->nr_starts, sizeof(*c->ticket), by_ticket);
	for (i = 0; i + 1 < c->nr_starts; i++)
		if (c->ticket[i]->ticket == c->ticket[i + 1]->ticket)
			hist_found(c, HIST_STARTED_TWICE, c->ticket[i]->request, "ticket %llu given twice",
			      (unsigned long long)c->ticket[i]->ticket);
	match_dones(c);
}

/* --- executions ---------------------------------------------------------- */

const struct history_gone *hist_gone(const struct check *c,
				     const struct history_event *start)
{
	const struct history_gone *g = &c->h->member[start->member];

	return g->begin ? g : NULL;
}

const struct history_event *hist_done(const struct check *c,
				      const struct history_event *start)
{
	long at = find_ticket(c, start->ticket);

	return at < 0 ? NULL : c->done[at];
}

bool hist_waits(const struct facts *f)
{
	return f->done && f->done->wait;
}

uint32_t hist_starts(const struct check *c, uint32_t request)
{
	uint32_t lo = 0, hi = c->nr_starts;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (c->start[mid]->request < request)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

uint32_t hist_calls(const struct check *c, uint32_t request, uint8_t kind, uint64_t before)
{
	uint32_t lo = 0, hi = c->nr_calls, nr = 0;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (c->call[mid]->request < request)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < c->nr_calls && c->call[lo]->request == request; lo++)
		nr += c->call[lo]->kind == kind && c->call[lo]->how != NAME_NONE &&
		      c->call[lo]->begin < before;
	return nr;
}

/* Has it a key, or had it? */
static bool has_had(const struct check *c, uint32_t request, uint32_t key)
{
	uint32_t i;

	if (c->h->request[request].key == key)
		return true;
	for (i = hist_starts(c, request);
	     i < c->nr_starts && c->start[i]->request == request; i++) {
		const struct history_event *done = hist_done(c, c->start[i]);

		if (c->start[i]->key == key ||
		    (done && done->wait & DXK_WAIT_MOVE && done->key == key))
			return true;
	}
	return false;
}

bool hist_killed(const struct check *c, uint32_t request, uint64_t before)
{
	const struct history_event *post = c->facts[request].post;
	uint32_t i;

	for (i = 0; i < c->nr_kills; i++)
		if (c->kill[i]->begin < before && (!post || c->kill[i]->end > post->begin) &&
		    has_had(c, request, c->kill[i]->key))
			return true;
	return false;
}

/* What key has the turn that begins with @e, by what is known of those before? */
static uint32_t key_of(const struct check *c, const struct history_event *e)
{
	const struct facts *f = &c->facts[e->request];

	if (!f->last)
		return c->h->request[e->request].key;
	if (f->last->turn != e->turn && f->done && f->done->wait & DXK_WAIT_MOVE)
		return f->done->key;
	return f->last->turn != e->turn && f->done && f->done->wait & DXK_WAIT_ALONE ?
	       HIST_NO_KEY : f->last->key;
}

/* A turn follows the one before, which has ended with a wait; the first one is number 0. */
static void check_turn(struct check *c, const struct history_event *e)
{
	struct facts *f = &c->facts[e->request];

	f->attempts = 0;
	if (f->last ? e->turn != f->last->turn + 1 || !hist_waits(f) ||
		      f->done->begin > e->end : e->turn != 0)
		hist_found(c, HIST_WRONG_TURN, e->request, "request %u: turn %u after %d%s",
			   e->request, e->turn, f->last ? f->last->turn : -1,
			   f->last && !hist_waits(f) ? ", which did not end with a wait" : "");
	f->done = NULL;
	if (e->wake < sizeof(c->report->wakes) / sizeof(c->report->wakes[0]))
		c->report->wakes[e->wake]++;
}

/* The priority of a request that was in the Ready Pool for so many intervals. */
static int32_t aged(const struct check *c, const struct history_request *r,
		    const struct history_event *e)
{
	return r->prio + (c->h->ageing ? (int32_t)e->inspect : 0);
}

/* One more beginning of a request, the next one by turn and attempt. */
static void check_start(struct check *c, const struct history_event *e)
{
	const struct history_request *r = &c->h->request[e->request];
	struct facts *f = &c->facts[e->request];
	uint32_t most = r->attrs & PXR_REDO ? c->h->redo_max : 1, key = key_of(c, e);

	if (e->key != key)
		hist_found(c, HIST_WRONG_TURN, e->request, "request %u: key %u, not %u",
			   e->request, e->key, key);
	if (!f->last || e->turn != f->last->turn)
		check_turn(c, e);
	f->starts++;
	f->attempts++;
	c->report->starts++;
	c->report->redone += f->attempts > 1;
	if (f->attempts > most || e->attempt != f->attempts)
		hist_found(c, HIST_STARTED_TWICE, e->request,
			   "request %u: %u. start of turn %u, attempt %u of %u", e->request,
			   f->attempts, e->turn, e->attempt, most);
	else if (f->attempts > 1 && (f->done || !hist_gone(c, f->last) ||
			     hist_gone(c, f->last)->begin > e->end))
		hist_found(c, HIST_STARTED_TWICE, e->request,
		      "request %u: again while member %u lived or had completed it",
		      e->request, f->last->member);
	if (e->prio != aged(c, r, e))
		hist_found(c, HIST_WRONG_PRIO, e->request, "request %u: posted with %d, %u intervals: %d",
		      e->request, r->prio, e->inspect, e->prio);
	if (!f->first)
		f->first = e;
	f->last = e;
	f->done = hist_done(c, e);
}

/* Was it certainly accepted? A later one of the same call tells, too. */
static bool accepted(const struct check *c, uint32_t i)
{
	uint32_t batch = c->h->request[i].batch;

	for (; i < c->nr_requests && c->h->request[i].batch == batch; i++)
		if (c->facts[i].starts || c->facts[i].result ||
		    (c->facts[i].post && c->facts[i].post->how == POST_TAKEN))
			return true;
	return false;
}

static bool is_redo(const struct history_request *r)
{
	return r->attrs & PXR_REDO && !(r->attrs & PXR_KERNEL);
}

bool hist_died(const struct check *c, uint32_t i)
{
	const struct facts *f = &c->facts[i];

	return f->last && !f->done && hist_gone(c, f->last) &&
	       (!is_redo(&c->h->request[i]) || f->attempts == c->h->redo_max);
}

/* May it have ended without a worker: because it was cancelled, or too late? */
static bool may_end_early(const struct check *c, uint32_t i, const struct history_event *e)
{
	const struct history_request *r = &c->h->request[i];

	if (c->facts[i].starts)
		return false;
	if (!e)
		return r->attrs & PXR_EXPIRE || hist_calls(c, i, HIST_CANCEL, UINT64_MAX) ||
		       hist_killed(c, i, UINT64_MAX);
	/* it may have aged: a worker that has died had it, and did not begin it */
	if (e->attempt || e->worker || e->prio != aged(c, r, e))
		return false;
	return e->status == -ETIME ? r->attrs & PXR_EXPIRE && e->time >= r->expire :
	       e->status == -ECANCELED && (hist_calls(c, i, HIST_CANCEL, e->end) ||
					   hist_killed(c, i, e->end));
}

static void check_result(struct check *c, uint32_t i)
{
	const struct history_request *r = &c->h->request[i];
	const struct facts *f = &c->facts[i];
	const struct history_event *e = f->result;

	c->report->returned++;
	if (e->owner != r->owner)
		hist_found(c, HIST_WRONG_OWNER, i, "request %u of %u to %u", i, r->owner,
		      e->owner);
	if (!(r->attrs & PXR_REJOIN) || (f->post && e->end < f->post->begin))
		hist_found(c, HIST_GHOST, i, "request %u returned", i);
	if (r->attrs & PXR_KERNEL) {
		if (e->status || f->starts)
			hist_found(c, HIST_WRONG_RESULT, i, "kernel's request %u: %d", i,
			      e->status);
		return;
	}
	c->report->owner_dead += e->status == -EOWNERDEAD;
	if (may_end_early(c, i, e)) {
		c->report->ended_early++;
		return;
	}
	if (!f->last || hist_waits(f) || e->attempt != f->attempts || e->worker != f->last->worker ||
	    e->prio != f->last->prio ||
	    (f->done ? e->status != f->done->status || e->end < f->done->begin :
		       e->status != -EOWNERDEAD || !hist_died(c, i)))
		hist_found(c, HIST_WRONG_RESULT, i,
		      "request %u: status %d, attempts %u of %u, worker %u", i,
		      e->status, e->attempt, f->attempts, e->worker);
}

/* The whole way of one request. */
static void check_request(struct check *c, uint32_t i)
{
	const struct history_request *r = &c->h->request[i];
	const struct facts *f = &c->facts[i];
	bool space_gone = r->space != HIST_NOBODY && c->h->space[r->space].begin;
	/* with its space goes what waits, for its key as well */
	bool gone = space_gone && (hist_waits(f) || (!f->starts && r->attrs & PXR_WAIT) ||
				   (!f->done && (f->last ? f->last->key : r->key)));

	if (f->post && f->post->how == POST_REFUSED && (f->starts || f->result))
		hist_found(c, HIST_GHOST, i, "request %u was refused", i);
	if (!f->post && (f->starts || f->result))
		hist_found(c, HIST_GHOST, i, "request %u was not posted", i);
	if (f->first && f->post && f->first->end < f->post->begin)
		hist_found(c, HIST_GHOST, i, "request %u began before its post", i);
	if (f->result)
		check_result(c, i);
	if (!accepted(c, i))
		return;
	c->report->accepted++;
	if (f->result)
		return;
	if (r->attrs & PXR_REJOIN && !space_gone)
		hist_found(c, HIST_LOST, i, "request %u of owner %u was not collected", i,
		      r->owner);
	else if (!(r->attrs & PXR_KERNEL) && (!f->done || hist_waits(f)) &&
		 !hist_died(c, i) && !gone && !may_end_early(c, i, NULL))
		hist_found(c, HIST_LOST, i, "request %u was not executed, %u starts", i,
		      f->starts);
	else
		c->report->dropped += !!(r->attrs & PXR_REJOIN);
}

void history_check(const struct history *h, struct history_report *report)
{
	struct check c = {
		.h = h,
		.report = report,
		.nr_requests = h->nr_requests < h->max_requests ? h->nr_requests :
								  h->max_requests,
		.nr_events = h->nr_events < h->max_events ? h->nr_events : h->max_events,
	};
	uint32_t i;

	memset(report, 0, sizeof(*report));
	c.facts = calloc(c.nr_requests + 1, sizeof(*c.facts));
	c.start = calloc(c.nr_events + 1, sizeof(*c.start));
	c.ticket = calloc(c.nr_events + 1, sizeof(*c.ticket));
	c.done = calloc(c.nr_events + 1, sizeof(*c.done));
	c.call = calloc(c.nr_events + 1, sizeof(*c.call));
	c.kill = calloc(c.nr_events + 1, sizeof(*c.kill));
	c.jumped = calloc(c.nr_events + 1, sizeof(*c.jumped));
	if (!c.facts || !c.start || !c.ticket || !c.done || !c.call || !c.kill || !c.jumped)
		abort();
	gather(&c);
	for (i = 0; i < c.nr_starts; i++)
		check_start(&c, c.start[i]);
	for (i = 0; i < c.nr_requests; i++)
		check_request(&c, i);
	hist_check_owners(&c);
	if (!h->ageing)
		hist_check_order(&c);
	hist_check_lanes(&c);
	if (h->waits)
		hist_check_waits(&c);
	hist_check_keys(&c);
	free(c.jumped);
	free(c.kill);
	free(c.call);
	free(c.facts);
	free(c.start);
	free(c.ticket);
	free(c.done);
}

static const char *const kind_name[] = {
	"", "post", "start", "done", "result", "none exist", "none ready",
	"fetch lost", "call", "cancel", "deadlock", "help", "asleep", "key",
};

static void show_request(const struct history *h, uint32_t request)
{
	const struct history_request *r = &h->request[request];
	uint32_t i, k, tickets = 0;
	uint64_t ticket[8];

	printf("#   request %u: owner %u, space %d, attrs %#x, prio %d, wait %#x for %u, "
	       "deadline %llu, expires %llu, key %u\n", request, r->owner, (int)r->space,
	       r->attrs, r->prio, r->wait, r->awaited, (unsigned long long)r->deadline,
	       (unsigned long long)r->expire, r->key);
	for (i = 0; i < h->nr_events && i < h->max_events; i++) {
		const struct history_event *e = &h->event[i];
		bool its = e->request == request && e->kind != HIST_NOTHING;

		if (its && e->kind == HIST_START && tickets < 8)
			ticket[tickets++] = e->ticket;
		for (k = 0; (e->kind == HIST_DONE || e->kind == HIST_KEY) && k < tickets; k++)
			its |= e->ticket == ticket[k];
		if (its)
			printf("#   %llu..%llu %s, member %u, how %u, status %d, prio %d, attempt %u, ticket %llu, "
			       "turn %u, wake %u, wait %#x for %u, time %llu, what %u, nested %u\n",
			       (unsigned long long)e->begin, (unsigned long long)e->end,
			       kind_name[e->kind], e->member, e->how, e->status, e->prio, e->attempt,
			       (unsigned long long)e->ticket, e->turn, e->wake, e->wait,
			       e->awaited, (unsigned long long)e->time, e->what, e->nested);
		if (its && e->kind == HIST_START && h->member[e->member].begin)
			printf("#   member %u is gone: %llu..%llu\n", e->member,
			       (unsigned long long)h->member[e->member].begin,
			       (unsigned long long)h->member[e->member].end);
	}
}

/* What all did while a rejoin was answered: what its owner had, and what others waited for. */
static void show_call(const struct history *h, const struct history_event *call)
{
	uint32_t i;

	for (i = 0; i < h->nr_requests && i < h->max_requests; i++)
		if (h->request[i].owner == call->owner)
			show_request(h, i);
	for (i = 0; i < h->nr_events && i < h->max_events; i++) {
		const struct history_event *e = &h->event[i];

		if (e->begin > call->end || e->end < call->begin || e->kind == HIST_NOTHING)
			continue;
		printf("#   %llu..%llu %s, member %u, owner %u, request %d, deadline %llu, key %u\n",
		       (unsigned long long)e->begin, (unsigned long long)e->end,
		       kind_name[e->kind], e->member, e->owner, (int)e->request,
		       (unsigned long long)e->deadline, e->key);
	}
}

bool history_clean(const struct history *h, struct history_report *report)
{
	unsigned int i;

	history_check(h, report);
	for (i = 0; i < HIST_ERRORS; i++) {
		if (!report->nr[i])
			continue;
		printf("# %s, %u times: %s\n", history_error_name[i], report->nr[i],
		       report->first[i]);
		if (report->request[i] < h->nr_requests)
			show_request(h, report->request[i]);
		if (i == HIST_WRONG_DEADLOCK)
			show_call(h, &report->told);
	}
	return !report->total;
}
