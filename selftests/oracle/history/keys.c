// SPDX-License-Identifier: GPL-2.0-only
/*
 * The part of the checker (history.h) that is about keys: who has one, who is next, and what
 * is done with it (AG-2, AG-3, AG-22..AG-26, AG-29, AG-31, S-10).
 */
#include "keys.h"

#include <dxk.h>
#include <errno.h>
#include <stdlib.h>

/* --- the turns of each key --------------------------------------------------- */

uint64_t keys_until(const struct stay *s)
{
	return s->done ? s->done->end : s->gone ? s->gone->end : NEVER;
}

/* Until when had it certainly not ended? */
static uint64_t surely_until(const struct stay *s)
{
	return s->done ? s->done->begin : s->gone ? s->gone->begin : NEVER;
}

bool keys_is_over(const struct keyed *k, const struct stay *s)
{
	return surely_until(s) < k->c->h->over;
}

static int compare(uint64_t x, uint64_t y)
{
	return x < y ? -1 : x > y;
}

static int stay_by_key(const void *a, const void *b)
{
	const struct history_event *x = ((const struct stay *)a)->start;
	const struct history_event *y = ((const struct stay *)b)->start;

	return compare(x->key, y->key) ?: compare(x->end, y->end);
}

static int spell_by_key(const void *a, const void *b)
{
	const struct spell *x = a, *y = b;

	return compare(x->stay->start->key, y->stay->start->key) ?: compare(x->from, y->from);
}

static int by_ticket(const void *a, const void *b)
{
	const struct history_event *x = *(void *const *)a, *y = *(void *const *)b;

	return compare(x->ticket, y->ticket) ?: compare(x->begin, y->begin);
}

static int by_key(const void *a, const void *b)
{
	const struct history_event *x = *(void *const *)a, *y = *(void *const *)b;

	return compare(x->key, y->key) ?: compare(x->begin, y->begin);
}

static int by_member(const void *a, const void *b)
{
	const struct history_event *x = *(void *const *)a, *y = *(void *const *)b;

	return compare(x->member, y->member) ?: compare(x->begin, y->begin);
}

static bool is_answer(const struct history_event *e)
{
	switch (e->kind) {
	case HIST_RESULT:
	case HIST_NONE_EXIST:
	case HIST_NONE_READY:
	case HIST_DEADLOCK:
	case HIST_HELP:
	case HIST_ASLEEP:
		return true;
	default:
		return false;
	}
}

const struct history_event *keys_sleep(const struct keyed *k, uint32_t member, uint64_t before)
{
	uint32_t lo = 0, hi = k->nr_sleeps;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;
		const struct history_event *e = k->sleep[mid];

		if (e->member < member || (e->member == member && e->begin < before))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && k->sleep[lo - 1]->member == member ? k->sleep[lo - 1] : NULL;
}

const struct stay *keys_stays(const struct keyed *k, uint32_t key, uint32_t *nr)
{
	uint32_t lo = 0, hi = k->nr_stays, end;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (k->stay[mid].start->key < key)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (end = lo; end < k->nr_stays && k->stay[end].start->key == key; end++)
		;
	*nr = end - lo;
	return k->stay + lo;
}

/* Did the call take effect, for all that is known? */
static bool is_refused(const struct history_event *e)
{
	return e->how == KEY_RETURNED &&
	       (e->status == -EPERM || e->status == -EINVAL || e->status == -EBUSY ||
		e->status == -ESTALE || e->status == -EALREADY || e->status == -EDEADLK);
}

/* Has its request the key now that the call is over? */
static bool comes_back(const struct history_event *e)
{
	if (e->how != KEY_RETURNED || e->what == DXK_KEY_LEAVE)
		return false;
	return !e->status || (e->what == DXK_KEY_WAIT && e->status == -ETIMEDOUT) ||
	       (e->what == DXK_KEY_ENTER && e->status == -EALREADY);
}

static void add_spell(struct keyed *k, const struct stay *s, uint64_t from, uint64_t until)
{
	if (from < until)
		k->spell[k->nr_spells++] = (struct spell){ s, from, until };
}

/* Between what its request does with the key. */
static void add_spells(struct keyed *k, const struct stay *s)
{
	uint32_t lo = 0, hi = k->nr_asks;
	uint64_t from = s->start->end;
	bool has = true;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (k->ask[mid]->ticket < s->start->ticket)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < k->nr_asks && k->ask[lo]->ticket == s->start->ticket; lo++) {
		const struct history_event *e = k->ask[lo];

		if (e->member != s->start->member || (is_refused(e) && !comes_back(e)))
			continue;
		if (has)
			add_spell(k, s, from, e->begin);
		has = comes_back(e);
		from = e->end;
	}
	if (has)
		add_spell(k, s, from, surely_until(s));
}

static void gather(struct keyed *k)
{
	struct check *c = k->c;
	uint32_t i;

	for (i = 0; i < c->nr_starts; i++) {
		const struct history_event *e = c->start[i], *done;

		if (!e->key)
			continue;
		done = hist_done(c, e);
		k->stay[k->nr_stays++] = (struct stay){
			.start = e, .done = done, .gone = done ? NULL : hist_gone(c, e),
			.jumped = c->jumped[i],
		};
		c->report->keyed++;
		c->report->nested += e->nested;
	}
	for (i = 0; i < c->nr_events; i++) {
		const struct history_event *e = &c->h->event[i];

		if (is_answer(e))
			k->sleep[k->nr_sleeps++] = e;
		if (e->kind != HIST_KEY)
			continue;
		k->rule[k->nr_rules++] = e;
		if (e->what <= DXK_KEY_NOTIFY_ALL)
			k->ask[k->nr_asks++] = e;
	}
	qsort(k->stay, k->nr_stays, sizeof(*k->stay), stay_by_key);
	qsort(k->ask, k->nr_asks, sizeof(*k->ask), by_ticket);
	qsort(k->rule, k->nr_rules, sizeof(*k->rule), by_key);
	qsort(k->sleep, k->nr_sleeps, sizeof(*k->sleep), by_member);
	for (i = 0; i < k->nr_stays; i++)
		add_spells(k, &k->stay[i]);
	qsort(k->spell, k->nr_spells, sizeof(*k->spell), spell_by_key);
}

/* --- one at a time ------------------------------------------------------------- */

/* Was @inner executed within @outer, whose thread has slept or done it all the time? */
static bool lies_within(const struct keyed *k, const struct stay *inner, const struct stay *outer,
			uint64_t from, uint64_t until)
{
	const struct history_event *e;

	if (!inner->start->nested)
		return false;
	if (inner->start->member == outer->start->member)
		return true;
	e = keys_sleep(k, outer->start->member, from + 1);
	return e && e->end >= until;
}

/* AG-2: of two at once one lies within the other. */
static void check_pair(const struct keyed *k, const struct spell *x, const struct spell *y)
{
	uint64_t until = x->until < y->until ? x->until : y->until;

	if (x->stay == y->stay || lies_within(k, x->stay, y->stay, y->from, until) ||
	    lies_within(k, y->stay, x->stay, y->from, until))
		return;
	hist_found(k->c, HIST_KEY_SHARED, y->stay->start->request,
		   "key %u: requests %u and %u at %llu..%llu", y->stay->start->key,
		   x->stay->start->request, y->stay->start->request,
		   (unsigned long long)y->from, (unsigned long long)until);
}

#define AT_ONCE	64

static void check_alone(const struct keyed *k)
{
	const struct spell *now[AT_ONCE];
	uint32_t i, n, kept, nr = 0;

	for (i = 0; i < k->nr_spells; i++) {
		const struct spell *s = &k->spell[i];

		for (n = kept = 0; n < nr; n++) {
			if (now[n]->stay->start->key != s->stay->start->key ||
			    now[n]->until <= s->from)
				continue;
			check_pair(k, now[n], s);
			now[kept++] = now[n];
		}
		nr = kept;
		if (nr < AT_ONCE)
			now[nr++] = s;
	}
}

/* --- the order ------------------------------------------------------------------- */

static uint64_t place(uint32_t key, int32_t prio)
{
	return (uint64_t)key << 32 | ((uint32_t)prio ^ 0x80000000U);
}

/*
 * AG-3: who is Held, or has the key and is Ready, is passed by those only that are more urgent.
 * Of requests that age it is not known when they came to be so.
 */
static void check_order(const struct keyed *k)
{
	struct check *c = k->c;
	struct windows held = { calloc(c->nr_requests + 1, sizeof(struct window)), 0 };
	int32_t prio, top = INT32_MIN;
	uint32_t i;

	for (i = 0; i < c->nr_requests; i++) {
		const struct history_request *r = &c->h->request[i];
		const struct facts *f = &c->facts[i];

		if (!r->key || !f->first || !f->post || f->post->how != POST_TAKEN ||
		    r->attrs & PXR_WAIT)
			continue;
		window_add(&held, place(r->key, r->prio), f->post->end, f->first->begin);
		top = r->prio > top ? r->prio : top;
	}
	windows_seal(&held);
	for (i = 0; i < c->nr_requests; i++) {
		const struct history_request *r = &c->h->request[i];
		const struct history_event *e = c->facts[i].first, *post = c->facts[i].post;

		if (!r->key || !e || e->nested || !post || e->attempt != 1 || e->turn)
			continue;
		for (prio = r->prio; prio <= top; prio++) {
			bool later = prio > r->prio && !c->h->ageing;
			uint64_t before = later && e->begin > post->begin ? e->begin : post->begin;

			if (windows_latest(&held, place(r->key, prio), before) > e->end)
				hist_found(c, HIST_KEY_ORDER, i,
					   "key %u: request %u (%d) before one of %d", r->key, i,
					   r->prio, prio);
		}
	}
	free(held.w);
}

/* S-10: how often in a row a worker was given a key before others that had come earlier. */
static void check_batch(const struct keyed *k)
{
	uint32_t i, run = 0;

	for (i = 0; i < k->nr_stays; i++) {
		const struct history_event *e = k->stay[i].start;

		if (i && (k->stay[i - 1].start->key != e->key ||
			  k->stay[i - 1].start->member != e->member))
			run = 0;
		run = k->stay[i].jumped ? run + 1 : 0;
		if (run && run >= k->c->h->key_batch)
			hist_found(k->c, HIST_INVERSION, e->request,
				   "request %u: key %u before its equals, %u. time", e->request,
				   e->key, run);
	}
}

/* --- hand-over --------------------------------------------------------------------- */

static bool notifies(const struct history_event *e)
{
	return e->what == DXK_KEY_NOTIFY || e->what == DXK_KEY_NOTIFY_ALL;
}

/* The calls on one key. */
struct rules {
	const struct history_event *const *e;
	uint32_t nr;
};

static void found_notify(const struct keyed *k, const struct history_event *e, const char *what)
{
	hist_found(k->c, HIST_WRONG_NOTIFY, HIST_NOBODY, "key %u, member %u, %llu..%llu: %s",
		   e->key, e->member, (unsigned long long)e->begin, (unsigned long long)e->end,
		   what);
}

/* AG-22, AG-23: one that has waited, and says why that is over. */
static void check_wait(const struct keyed *k, const struct rules *r, const struct history_event *e)
{
	uint32_t i;

	if (e->status == -ETIMEDOUT && e->time < e->deadline)
		hist_found(k->c, HIST_TOO_EARLY, HIST_NOBODY, "key %u, member %u: at %llu, not %llu",
			   e->key, e->member, (unsigned long long)e->time,
			   (unsigned long long)e->deadline);
	if (e->status)
		return;
	k->c->report->handed++;
	for (i = 0; i < r->nr; i++)
		if (notifies(r->e[i]) && !is_refused(r->e[i]) && r->e[i]->begin < e->end &&
		    r->e[i]->end > e->begin)
			return;
	found_notify(k, e, "nobody has notified it");
}

/* Was it notified by somebody before @notify, for all that is known? */
static bool is_told_before(const struct rules *r, const struct history_event *wait,
			   const struct history_event *notify)
{
	uint32_t i;

	for (i = 0; i < r->nr; i++)
		if (r->e[i] != notify && notifies(r->e[i]) && !is_refused(r->e[i]) &&
		    r->e[i]->begin < notify->begin && r->e[i]->end > wait->begin)
			return true;
	return false;
}

/*
 * AG-24, AG-25: the key is that of who waits, then that of the caller, and nobody else's. Who
 * had the key waits before anybody else has it, and has been told before it gives it up again.
 */
static void check_notify(const struct keyed *k, const struct rules *r,
			 const struct history_event *e)
{
	bool begun = false, died = false;
	const struct stay *s;
	uint32_t i, nr, told = 0, left = 0;

	s = keys_stays(k, e->key, &nr);
	for (i = 0; i < nr; i++) {
		begun |= !s[i].start->nested && s[i].start->begin > e->begin &&
			 s[i].start->end < e->end;
		/* then it may be Ready again, and a more urgent one comes */
		died |= s[i].gone && s[i].gone->begin < e->end && s[i].gone->end > e->begin;
	}
	if (begun && !died)
		found_notify(k, e, "a turn of another one has begun meanwhile");
	for (i = 0; i < r->nr; i++) {
		const struct history_event *w = r->e[i];

		if (w->what != DXK_KEY_WAIT || is_refused(w) || w->begin > e->end ||
		    w->end < e->begin)
			continue;
		if (w->end < e->end || w->how != KEY_RETURNED || w->status)
			told++;
		else if (w->begin < e->begin && !is_told_before(r, w, e))
			left++;
	}
	if (left && (!told || e->what == DXK_KEY_NOTIFY_ALL))
		found_notify(k, e, "who waited was not told");
}

static void check_rules(const struct keyed *k, const struct rules *r)
{
	uint64_t last = 0;
	uint32_t i;

	for (i = 0; i < r->nr; i++) {
		const struct history_event *e = r->e[i];

		if (e->how != KEY_RETURNED)
			continue;
		if (e->what == DXK_KEY_WAIT)
			check_wait(k, r, e);
		else if (notifies(e) && !e->status)
			check_notify(k, r, e);
		if (e->what != DXK_KEY_WAIT || e->status)
			continue;
		if (e->end < last)
			found_notify(k, e, "before one that had waited longer");
		else
			last = e->end;
	}
}

/* --- HOLD and CANCEL ------------------------------------------------------------------ */

/* When the HOLD @e is over at the earliest; @alike: or may be one of another kind. */
static uint64_t hold_until(const struct keyed *k, const struct rules *r,
			   const struct history_event *e, bool alike)
{
	uint32_t space = e->awaited, i;
	uint64_t until = NEVER;

	if (space != HIST_NOBODY && k->c->h->space[space].begin)
		until = k->c->h->space[space].begin;
	for (i = 0; i < r->nr; i++)
		if ((r->e[i]->what == DXK_KEY_RELEASE ||
		     (alike && r->e[i]->what == DXK_KEY_HOLD && !r->e[i]->refuse)) &&
		    r->e[i]->end > e->begin && r->e[i]->begin < until)
			until = r->e[i]->begin;
	return until;
}

/* AG-29: no turn begins, and no post is taken, while the key is held back. */
static void check_holds(const struct keyed *k, const struct windows *holds,
			const struct windows *refuses)
{
	struct check *c = k->c;
	uint32_t i;

	for (i = 0; i < k->nr_stays; i++) {
		const struct history_event *e = k->stay[i].start;

		if (!e->nested && windows_latest(holds, e->key, e->begin) > e->end)
			hist_found(c, HIST_HOLD_BROKEN, e->request,
				   "request %u, turn %u of key %u", e->request, e->turn, e->key);
	}
	for (i = 0; i < c->nr_requests; i++) {
		const struct history_event *e = c->facts[i].post;
		uint32_t key = c->h->request[i].key;

		if (key && e && e->how == POST_TAKEN &&
		    windows_latest(refuses, key, e->begin) > e->end)
			hist_found(c, HIST_HOLD_BROKEN, i, "request %u: a post to key %u", i, key);
	}
}

/* Has the member fetched what it was told to? */
static bool is_fetched(const struct keyed *k, const struct history_event *help)
{
	uint32_t i;

	for (i = 0; i < k->nr_stays; i++)
		if (k->stay[i].start->nested && k->stay[i].start->member == help->member &&
		    k->stay[i].start->begin > help->end)
			return true;
	return false;
}

/* Has a worker that was given something died, and nobody knows of it? */
static bool is_in_doubt(const struct keyed *k, uint64_t begin, uint64_t end)
{
	struct check *c = k->c;
	uint32_t i;

	for (i = 0; i < c->nr_events; i++) {
		const struct history_event *e = &c->h->event[i];
		const struct history_gone *g;

		if (e->kind != HIST_FETCH_LOST && e->kind != HIST_ASLEEP &&
		    (e->kind != HIST_HELP || is_fetched(k, e)))
			continue;
		g = &c->h->member[e->member];
		if (e->begin < end && g->begin && g->end > begin)
			return true;
	}
	return false;
}

/* AG-31: of what was there when it began, and not begun, nothing has a turn any more. */
static void check_cancel(const struct keyed *k, const struct history_event *e)
{
	struct check *c = k->c;
	uint32_t i;

	for (i = 0; i < c->nr_requests; i++) {
		const struct history_request *r = &c->h->request[i];
		const struct facts *f = &c->facts[i];

		if (r->key != e->key || r->attrs & PXR_WAIT || !f->post ||
		    f->post->how != POST_TAKEN || f->post->end > e->begin)
			continue;
		c->report->killed++;
		if (f->first && !f->first->nested && f->first->begin > e->end &&
		    !is_in_doubt(k, e->begin, e->end))
			hist_found(c, HIST_CANCEL_LOST, i, "request %u, by one of key %u", i,
				   r->key);
	}
}

/* --- at rest ---------------------------------------------------------------------------- */

/* Is it Held, or should have the key, for all that is known? */
static bool is_behind(const struct keyed *k, uint32_t i)
{
	const struct check *c = k->c;
	const struct history_request *r = &c->h->request[i];
	const struct facts *f = &c->facts[i];

	return r->key && f->post && f->post->how == POST_TAKEN && !f->first && !f->result &&
	       !(r->attrs & (PXR_WAIT | PXR_EXPIRE)) && !hist_killed(c, i, NEVER) &&
	       !hist_calls(c, i, HIST_CANCEL, NEVER) &&
	       (r->space == HIST_NOBODY || !c->h->space[r->space].begin);
}

/* Is a key held back at the end, for all that is known? */
static bool may_be_kept(const struct keyed *k, uint32_t key)
{
	uint64_t from = 0, until = 0;
	uint32_t i;

	for (i = 0; i < k->nr_rules; i++) {
		const struct history_event *e = k->rule[i];

		if (e->key != key || (e->how == KEY_RETURNED && e->status))
			continue;
		if (e->what == DXK_KEY_HOLD && e->end > from)
			from = e->end;
		if (e->what == DXK_KEY_RELEASE && e->how == KEY_RETURNED && e->begin > until)
			until = e->begin;
	}
	return from > until;
}

/* K-2: nobody has the key, and one that is Held does not have it either. */
static void check_rest(const struct keyed *k)
{
	struct check *c = k->c;
	uint32_t i, n, nr;

	for (i = 0; i < c->nr_requests && c->h->over; i++) {
		const struct stay *s, *last = NULL;
		bool over = true;
		uint32_t key = c->h->request[i].key;

		if (!is_behind(k, i) || c->facts[i].post->end > c->h->over || may_be_kept(k, key))
			continue;
		s = keys_stays(k, key, &nr);
		for (n = 0; n < nr; n++) {
			over &= keys_is_over(k, &s[n]);
			if (!last || surely_until(&s[n]) > surely_until(last))
				last = &s[n];
		}
		if (!over)
			continue;
		hist_found(c, last && last->gone ? HIST_KEY_BURIED : HIST_KEY_IDLE, i,
			   "request %u, key %u: it was that of request %d, member %d", i, key,
			   last ? (int)last->start->request : -1,
			   last ? (int)last->start->member : -1);
	}
}

/* All that is done with keys by calls. */
static void check_calls(const struct keyed *k)
{
	struct windows holds = { calloc(k->nr_rules + 1, sizeof(struct window)), 0 };
	struct windows refuses = { calloc(k->nr_rules + 1, sizeof(struct window)), 0 };
	struct rules r = { k->rule, 0 };
	uint32_t i, n;

	for (i = 0; i < k->nr_rules; i += r.nr) {
		r.e = k->rule + i;
		for (r.nr = 1; i + r.nr < k->nr_rules && r.e[r.nr]->key == r.e[0]->key; r.nr++)
			;
		check_rules(k, &r);
		for (n = 0; n < r.nr; n++) {
			const struct history_event *e = r.e[n];

			if (e->how != KEY_RETURNED)
				continue;
			if (e->what == DXK_KEY_CANCEL)
				check_cancel(k, e);
			if (e->what != DXK_KEY_HOLD || e->status)
				continue;
			k->c->report->kept++;
			window_add(&holds, e->key, e->end, hold_until(k, &r, e, false));
			if (e->refuse)
				window_add(&refuses, e->key, e->end, hold_until(k, &r, e, true));
		}
	}
	windows_seal(&holds);
	windows_seal(&refuses);
	check_holds(k, &holds, &refuses);
	check_rest(k);
	free(holds.w);
	free(refuses.w);
}

void hist_check_keys(struct check *c)
{
	struct keyed k = { .c = c };

	k.stay = calloc(c->nr_starts + 1, sizeof(*k.stay));
	/* each call on a key ends one */
	k.spell = calloc(c->nr_starts + c->nr_events + 1, sizeof(*k.spell));
	k.ask = calloc(c->nr_events + 1, sizeof(*k.ask));
	k.rule = calloc(c->nr_events + 1, sizeof(*k.rule));
	k.sleep = calloc(c->nr_events + 1, sizeof(*k.sleep));
	if (!k.stay || !k.spell || !k.ask || !k.rule || !k.sleep)
		abort();
	gather(&k);
	check_alone(&k);
	check_order(&k);
	check_batch(&k);
	check_calls(&k);
	hist_check_circles(&k);
	free(k.stay);
	free(k.spell);
	free(k.ask);
	free(k.rule);
	free(k.sleep);
}
