// SPDX-License-Identifier: GPL-2.0-only
/*
 * The part of the checker (history.h) that is about chains of calls: what is executed within
 * the turn that it would wait for, and who is told that he waits for himself (AG-18, AG-20,
 * D-12..D-14, Y-1, Y-2).
 *
 * What an answer is judged by is what may have been at some instant of its call: a way from
 * the caller, over what it and others waited for, back to it.
 */
#include "keys.h"

#include <dxk.h>
#include <stdlib.h>

#define FAR	32		/* as many members are looked at; it may be that a way leads on */

/* All requests, by owner. */
struct owned {
	uint32_t owner, request;
};

struct circles {
	const struct keyed *k;
	struct owned *owned;
	const struct history_event **dead;	/* EDEADLK */
	bool *sound;				/* that there was a circle for it is shown */
	uint32_t nr_dead;
};

/* A search for a way back. */
struct way {
	const struct circles *cs;
	const struct history_event *call;	/* the call whose answer is looked at */
	const struct history_event *within;	/* the nested turn that it has led to, or NULL */
	bool all;				/* others that were told EDEADLK are links, too */
	struct {
		uint32_t member;
		bool held;			/* behind one that is Held */
	} seen[FAR];
	uint32_t nr;
};

static int by_owner(const void *a, const void *b)
{
	const struct owned *x = a, *y = b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	return x->request < y->request ? -1 : x->request > y->request;
}

/* The first of an owner's. */
static uint32_t first_of(const struct circles *cs, uint32_t owner)
{
	uint32_t lo = 0, hi = cs->k->c->nr_requests;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (cs->owned[mid].owner < owner)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool leads_back(struct way *w, uint32_t owner, bool held);

/* Does the member, which executes something, not go on before the caller does? */
static bool member_leads_back(struct way *w, uint32_t member, bool held)
{
	const struct circles *cs = w->cs;
	const struct history_event *e;
	uint32_t i;

	if (member == w->call->member)
		return held || !w->within;
	for (i = 0; i < w->nr; i++)
		if (w->seen[i].member == member && w->seen[i].held == held)
			return false;
	if (w->nr == FAR)
		return true;
	w->seen[w->nr].member = member;
	w->seen[w->nr++].held = held;
	/* each call of it that may have lasted while this one was answered */
	for (e = keys_sleep(cs->k, member, w->call->end); e && e->end > w->call->begin;
	     e = keys_sleep(cs->k, member, e->begin)) {
		if (e->kind == HIST_DEADLOCK && !w->all) {
			for (i = 0; i < cs->nr_dead && cs->dead[i] != e; i++)
				;
			if (i < cs->nr_dead && !cs->sound[i])
				continue;
		}
		if (leads_back(w, e->owner, held))
			return true;
	}
	/* it may have slept for its key */
	for (i = 0; i < cs->k->nr_asks; i++) {
		const struct history_event *ask = cs->k->ask[i];

		if (ask->member == member && ask->begin < w->call->end &&
		    ask->end > w->call->begin)
			return true;
	}
	return false;
}

/* Who may have had the key meanwhile? */
static bool key_leads_back(struct way *w, uint32_t key)
{
	const struct stay *s;
	uint32_t i, nr;

	s = keys_stays(w->cs->k, key, &nr);
	for (i = 0; i < nr; i++) {
		const struct history_event *help = NULL;
		uint64_t from = s[i].start->begin;

		/* what is nested has its place since the call that said so */
		if (s[i].start->nested)
			help = keys_sleep(w->cs->k, s[i].start->member, from);
		if (help)
			from = help->begin;
		if (s[i].start != w->within && from < w->call->end &&
		    keys_until(&s[i]) > w->call->begin &&
		    member_leads_back(w, s[i].start->member, true))
			return true;
	}
	return false;
}

/* May a request that it waits for not have gone on before it does? */
static bool request_leads_back(struct way *w, uint32_t i, bool held)
{
	const struct check *c = w->cs->k->c;
	const struct history_request *r = &c->h->request[i];
	const struct facts *f = &c->facts[i];
	uint32_t n;

	if (!f->post || f->post->how == POST_REFUSED || f->post->begin > w->call->end ||
	    (f->result && f->result->end < w->call->begin))
		return false;
	if (w->within && w->within->request == i)
		return !held && key_leads_back(w, w->within->key);
	/* of requests that wait for owners nothing is known in between */
	if (hist_waits(f) || r->attrs & PXR_WAIT)
		return true;
	if (r->key && !w->within && key_leads_back(w, r->key))
		return true;
	for (n = hist_starts(c, i); n < c->nr_starts && c->start[n]->request == i; n++) {
		const struct history_event *e = c->start[n], *done;
		const struct history_gone *gone;

		/* with a wait it may have got another key, and have been Held there before this turn */
		if (e->turn && e->key && !w->within && e->end > w->call->begin &&
		    key_leads_back(w, e->key))
			return true;
		if (e->begin > w->call->end)
			continue;
		done = hist_done(c, e);
		gone = hist_gone(c, e);
		if ((done ? done->end : gone ? gone->end : NEVER) > w->call->begin &&
		    member_leads_back(w, e->member, held))
			return true;
	}
	return false;
}

static bool leads_back(struct way *w, uint32_t owner, bool held)
{
	const struct circles *cs = w->cs;
	uint32_t i;

	for (i = first_of(cs, owner);
	     i < cs->k->c->nr_requests && cs->owned[i].owner == owner; i++)
		if (request_leads_back(w, cs->owned[i].request, held))
			return true;
	return false;
}

static bool is_circle(const struct circles *cs, const struct history_event *call,
		      const struct history_event *within, bool all)
{
	struct way w = { .cs = cs, .call = call, .within = within, .all = all };

	return leads_back(&w, call->owner, false);
}

/* --- nested turns ------------------------------------------------------------- */

/* Did it wait for that one itself, and execute what has the key? */
static bool is_its_own(const struct circles *cs, const struct history_event *e,
		       const struct history_event *help)
{
	const struct stay *s;
	uint32_t i, nr;

	s = keys_stays(cs->k, e->key, &nr);
	for (i = 0; i < nr; i++)
		if (s[i].start != e && s[i].start->member == e->member &&
		    s[i].start->begin < help->end && keys_until(&s[i]) > help->begin)
			return cs->k->c->h->request[e->request].owner == help->owner;
	return false;
}

/*
 * Its caller waits for it, perhaps by way of others, and has its key, perhaps by way of
 * others: then it is executed within that turn, by who waits.
 */
static void check_nested(const struct circles *cs, const struct stay *s)
{
	struct check *c = cs->k->c;
	const struct history_event *e = s->start, *help;
	uint8_t reentry = c->h->request[e->request].reentry;

	help = keys_sleep(cs->k, e->member, e->begin);
	if (!help || help->kind != HIST_HELP)
		hist_found(c, HIST_WRONG_NEST, e->request,
			   "request %u: member %u was not told to", e->request, e->member);
	else if (reentry == DXK_REENTRY_NONE)
		hist_found(c, HIST_WRONG_NEST, e->request, "request %u: it must not be",
			   e->request);
	else if (reentry == DXK_REENTRY_SELF && !is_its_own(cs, e, help))
		hist_found(c, HIST_WRONG_NEST, e->request,
			   "request %u: member %u does not call itself", e->request, e->member);
	else if (!is_circle(cs, help, e, true))
		hist_found(c, HIST_WRONG_NEST, e->request,
			   "request %u: member %u waited for %u, which does not need it",
			   e->request, e->member, help->owner);
}

/* --- EDEADLK -------------------------------------------------------------------- */

/*
 * Of a circle exactly one is told: the last one of whom it is not known who else was told has
 * to have been in one with others that slept on, the one before perhaps in one with that, ...
 */
static void check_told(struct circles *cs)
{
	struct check *c = cs->k->c;
	bool again = true;
	uint32_t i;

	while (again) {
		again = false;
		for (i = 0; i < cs->nr_dead; i++) {
			if (cs->sound[i] || !is_circle(cs, cs->dead[i], NULL, false))
				continue;
			cs->sound[i] = again = true;
		}
	}
	for (i = 0; i < cs->nr_dead; i++) {
		const struct history_event *e = cs->dead[i];

		c->report->deadlocks++;
		if (cs->sound[i])
			continue;
		if (!c->report->nr[HIST_WRONG_DEADLOCK])
			c->report->told = *e;
		hist_found(c, HIST_WRONG_DEADLOCK, HIST_NOBODY,
			   "member %u, owner %u, %llu..%llu: %s", e->member, e->owner,
			   (unsigned long long)e->begin, (unsigned long long)e->end,
			   is_circle(cs, e, NULL, true) ?
			   "another one of the circle was told, too" : "no circle");
	}
}

/* The one request of an owner that may live when all is at rest, or HIST_NOBODY. */
static uint32_t only_one_of(const struct circles *cs, uint32_t owner)
{
	const struct check *c = cs->k->c;
	uint32_t i, n, found = HIST_NOBODY;

	for (i = first_of(cs, owner); i < c->nr_requests && cs->owned[i].owner == owner; i++) {
		const struct facts *f = &c->facts[cs->owned[i].request];

		n = cs->owned[i].request;
		if ((f->post && f->post->how == POST_REFUSED) || f->result ||
		    (f->done && !hist_waits(f)))
			continue;
		if (found != HIST_NOBODY || !f->post || f->post->how != POST_TAKEN || hist_waits(f) ||
		    c->h->request[n].attrs & (PXR_WAIT | PXR_EXPIRE) ||
		    hist_calls(c, n, HIST_CANCEL, NEVER) || hist_killed(c, n, NEVER))
			return HIST_NOBODY;
		found = n;
	}
	return found;
}

/* Who executes something at the end: the last one of a key, or of a request's starts. */
static uint32_t member_at_rest(const struct circles *cs, uint32_t request)
{
	const struct check *c = cs->k->c;
	const struct facts *f = &c->facts[request];
	uint32_t key = c->h->request[request].key, i, nr, found = HIST_NOBODY;
	const struct stay *s;

	if (f->last)
		return hist_gone(c, f->last) && hist_gone(c, f->last)->begin < c->h->over ?
		       HIST_NOBODY : f->last->member;
	s = keys_stays(cs->k, key, &nr);
	for (i = 0; i < nr && key; i++) {
		if (keys_is_over(cs->k, &s[i]))
			continue;
		if (found != HIST_NOBODY && found != s[i].start->member)
			return HIST_NOBODY;
		found = s[i].start->member;
	}
	return found;
}

/* What does a member sleep for, for ever, when all is at rest? */
static const struct history_event *sleep_at_rest(const struct circles *cs, uint32_t member)
{
	const struct check *c = cs->k->c;
	const struct history_event *e = keys_sleep(cs->k, member, c->h->over);

	return e && e->kind == HIST_ASLEEP && e->end > c->h->over && e->deadline == DXK_FOREVER ?
	       e : NULL;
}

/* One that waits for himself since long, and has not been told. */
static void check_untold(const struct circles *cs)
{
	struct check *c = cs->k->c;
	uint32_t i, n;

	for (i = 0; i < cs->k->nr_sleeps && c->h->over; i++) {
		const struct history_event *first = cs->k->sleep[i], *e = first;
		uint32_t request, member = HIST_NOBODY;

		if (sleep_at_rest(cs, first->member) != first)
			continue;
		for (n = 0; n < FAR && e && member != first->member; n++) {
			request = only_one_of(cs, e->owner);
			member = request == HIST_NOBODY ? HIST_NOBODY :
							  member_at_rest(cs, request);
			e = member == HIST_NOBODY ? NULL : sleep_at_rest(cs, member);
		}
		if (e && member == first->member)
			hist_found(c, HIST_NO_DEADLOCK, HIST_NOBODY,
				   "member %u waits for owner %u, and that for it, over %u others",
				   member, first->owner, n - 1);
	}
}

void hist_check_circles(const struct keyed *k)
{
	struct circles cs = { .k = k };
	struct check *c = k->c;
	uint32_t i;

	cs.owned = calloc(c->nr_requests + 1, sizeof(*cs.owned));
	cs.dead = calloc(k->nr_sleeps + 1, sizeof(*cs.dead));
	cs.sound = calloc(k->nr_sleeps + 1, sizeof(*cs.sound));
	if (!cs.owned || !cs.dead || !cs.sound)
		abort();
	for (i = 0; i < c->nr_requests; i++)
		cs.owned[i] = (struct owned){ c->h->request[i].owner, i };
	qsort(cs.owned, c->nr_requests, sizeof(*cs.owned), by_owner);
	for (i = 0; i < k->nr_sleeps; i++)
		if (k->sleep[i]->kind == HIST_DEADLOCK)
			cs.dead[cs.nr_dead++] = k->sleep[i];
	for (i = 0; i < k->nr_stays; i++)
		if (k->stay[i].start->nested)
			check_nested(&cs, &k->stay[i]);
	check_told(&cs);
	check_untold(&cs);
	free(cs.owned);
	free(cs.dead);
	free(cs.sound);
}
