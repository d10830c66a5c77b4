// SPDX-License-Identifier: GPL-2.0-only
/* Errors with keys, see plants.h. */
#define DXT_NO_HARNESS
#include "lib/puppet.h"
#include "plants.h"

static struct history_event *done_of(struct sim *s, const struct history_event *start)
{
	uint32_t i;

	for (i = 0; i < s->h->nr_events; i++) {
		struct history_event *e = &s->h->event[i];

		if (e->kind == HIST_DONE && e->how == DONE_TAKEN && e->ticket == start->ticket)
			return e;
	}
	return NULL;
}

/* A turn that one of another kind would have to do with: of a key, and not nested. */
static bool is_turn(const struct history_event *e)
{
	return e->kind == HIST_START && e->key && !e->nested && e->attempt == 1;
}

/* Does nobody die between these, or in a call that he makes then? */
static bool is_calm(struct sim *s, uint64_t begin, uint64_t end)
{
	uint32_t i;

	for (i = 0; i < s->h->nr_members; i++)
		if (s->h->member[i].begin < end && s->h->member[i].end > begin)
			return false;
	for (i = 0; i < s->h->nr_events; i++)
		if (s->h->event[i].kind == HIST_ASLEEP && s->h->event[i].begin < end &&
		    s->h->event[i].end > begin)
			return false;
	return true;
}

/* Does the turn do something with its key? */
static bool asks(struct sim *s, const struct history_event *start)
{
	uint32_t i;

	for (i = 0; i < s->h->nr_events; i++)
		if (s->h->event[i].kind == HIST_KEY && s->h->event[i].ticket == start->ticket)
			return true;
	return false;
}

/* --- two at once ------------------------------------------------------------ */

/* A turn of another key at the same time, of a request that does nothing with that. */
static struct history_event *beside(struct sim *s, const struct history_event *e)
{
	const struct history_event *done = done_of(s, e);
	uint32_t i;

	for (i = 0; done && i < s->h->nr_events; i++) {
		struct history_event *o = &s->h->event[i];

		if (!is_turn(o) || o->key == e->key || o->begin < e->end ||
		    o->end > done->begin)
			continue;
		if (done_of(s, o) && !asks(s, e) && !asks(s, o))
			return o;
	}
	return NULL;
}

static bool fit_beside(struct sim *s, struct history_event *e)
{
	return is_turn(e) && beside(s, e);
}

static void plant_two_turns(struct sim *s)
{
	struct history_event *e = plant_some(s, HIST_START, fit_beside), *o = beside(s, e);
	uint32_t i;

	for (i = 0; o && i < s->h->nr_events; i++)
		if (s->h->event[i].kind == HIST_START &&
		    s->h->event[i].request == o->request)
			s->h->event[i].key = e->key;
	if (o)
		s->h->request[o->request].key = e->key;
}

static bool fit_key(struct sim *s, struct history_event *e)
{
	(void)s;
	return is_turn(e);
}

static void plant_other_key(struct sim *s)
{
	struct history_event *e = plant_some(s, HIST_START, fit_key);

	e->key = 1 + e->key % KEYS;
}

static bool fit_nested(struct sim *s, struct history_event *e)
{
	struct history_event *done = done_of(s, e);

	return e->nested && done && e->end + 10 < done->begin;
}

/* One that is not nested has its turn where only a nested one may. */
static void plant_not_nested(struct sim *s)
{
	plant_some(s, HIST_START, fit_nested)->nested = false;
}

/* Has a member a turn of a key from before @begin until after @end? */
static bool has_key(struct sim *s, uint32_t member, uint32_t key, uint64_t begin, uint64_t end)
{
	uint32_t i;

	for (i = 0; i < s->h->nr_events; i++) {
		const struct history_event *e = &s->h->event[i], *done;

		if (e->kind != HIST_START || e->member != member || e->key != key ||
		    e->end > begin)
			continue;
		done = done_of(s, e);
		if (done && done->begin > end && !asks(s, e))
			return true;
	}
	return false;
}

/* The call of another member within which a nested turn lies. */
static struct history_event *call_around(struct sim *s, const struct history_event *e)
{
	const struct history_event *done = done_of(s, e);
	uint32_t i;

	for (i = 0; done && i < s->h->nr_events; i++) {
		struct history_event *o = &s->h->event[i];

		if ((o->kind == HIST_RESULT || o->kind == HIST_DEADLOCK) &&
		    o->owner >= OWNERS && o->member != e->member && o->begin < e->begin &&
		    o->end > done->end && has_key(s, o->member, e->key, e->begin, done->end))
			return o;
	}
	return NULL;
}

static bool fit_chain(struct sim *s, struct history_event *e)
{
	return fit_nested(s, e) && e->attempt == 1 && !e->turn && call_around(s, e);
}

/* What a nested turn is nested in goes on beside it. */
static void plant_outer_goes_on(struct sim *s)
{
	struct history_event *e = plant_some(s, HIST_START, fit_chain);
	struct history_event *call = call_around(s, e);

	if (call)
		call->end = e->end + 1;
}

/* --- the order --------------------------------------------------------------- */

/* Is one of its key begun before it, though posted later? Of those that cannot be passed. */
static struct history_event *passer(struct sim *s, const struct history_event *e)
{
	struct history_event *post = plant_event(s, HIST_POST, e->request);
	uint32_t i;

	for (i = 0; i < s->h->nr_events; i++) {
		struct history_event *o = &s->h->event[i];

		if (is_turn(o) && o->key == e->key && !o->turn && o->begin > post->end &&
		    o->end < e->begin)
			return o;
	}
	return NULL;
}

static bool fit_passed(struct sim *s, struct history_event *e)
{
	return is_turn(e) && !e->turn && !(s->h->request[e->request].attrs & PXR_WAIT) &&
	       passer(s, e);
}

static void set_prio(struct sim *s, uint32_t request, int32_t prio)
{
	uint32_t i;

	s->h->request[request].prio = prio;
	for (i = 0; i < s->h->nr_events; i++)
		if (s->h->event[i].request == request)
			s->h->event[i].prio = prio;
}

static void plant_less_urgent(struct sim *s)
{
	set_prio(s, plant_some(s, HIST_START, fit_passed)->request, 7);
}

static bool fit_passed_later(struct sim *s, struct history_event *e)
{
	struct history_event *o = fit_passed(s, e) ? passer(s, e) : NULL, *post;

	if (!o)
		return false;
	post = plant_event(s, HIST_POST, o->request);
	return post->begin > plant_event(s, HIST_POST, e->request)->end;
}

static void plant_not_the_oldest(struct sim *s)
{
	struct history_event *e = plant_some(s, HIST_START, fit_passed_later), *o;

	o = s->missing ? NULL : passer(s, e);
	if (o)
		set_prio(s, e->request, s->h->request[o->request].prio);
}

/* One without a key that is Ready while a turn of a key begins that was posted later. */
static struct history_event *jumper(struct sim *s, const struct history_event *e)
{
	struct history_event *post = plant_event(s, HIST_POST, e->request), *o;
	uint32_t i;

	for (i = 0; i < s->h->nr_events; i++) {
		o = &s->h->event[i];
		if (is_turn(o) && o->begin > post->end && o->end < e->begin &&
		    plant_event(s, HIST_POST, o->request)->begin > post->end)
			return o;
	}
	return NULL;
}

static bool fit_jumped(struct sim *s, struct history_event *e)
{
	const struct history_request *r = &s->h->request[e->request];

	return !e->key && e->attempt == 1 && !e->turn &&
	       !(r->attrs & (PXR_WAIT | PXR_LANE1 | PXR_LANE2)) && jumper(s, e);
}

/* A key is given out of turn more often than dxk_policy.key_batch allows. */
static void plant_batch(struct sim *s)
{
	struct history_event *e = plant_some(s, HIST_START, fit_jumped), *o;

	o = s->missing ? NULL : jumper(s, e);
	if (o)
		set_prio(s, e->request, s->h->request[o->request].prio);
	s->h->key_batch = 1;
}

/* --- at rest ------------------------------------------------------------------- */

/* Is the last turn of a key before the end one of a worker that has died? */
static bool ends_dead(struct sim *s, uint32_t key, uint32_t without)
{
	uint64_t latest = 0;
	bool dead = false;
	uint32_t i;

	for (i = 0; i < s->h->nr_events; i++) {
		const struct history_event *e = &s->h->event[i], *done;
		uint64_t end;

		if (e->kind != HIST_START || e->key != key || e->request == without)
			continue;
		done = done_of(s, e);
		end = done ? done->begin : s->h->member[e->member].begin;
		if (end > latest) {
			latest = end;
			dead = !done;
		}
	}
	return dead;
}

static bool fit_never_begun(struct sim *s, struct history_event *e)
{
	const struct history_request *r = &s->h->request[e->request];
	uint32_t i;

	if (!is_turn(e) || e->turn || s->turn[e->request] || s->attempts[e->request] != 1 ||
	    !(r->attrs & PXR_REJOIN) || r->attrs & PXR_WAIT || r->space != HIST_NOBODY ||
	    plant_event(s, HIST_CANCEL, e->request))
		return false;
	for (i = 0; i < s->h->nr_events; i++)
		if (s->h->event[i].kind == HIST_KEY && s->h->event[i].key == e->key &&
		    s->h->event[i].what == DXK_KEY_CANCEL &&
		    s->h->event[i].end > plant_event(s, HIST_POST, e->request)->begin)
			return false;
	return true;
}

static bool fit_idle(struct sim *s, struct history_event *e)
{
	return fit_never_begun(s, e) && !ends_dead(s, e->key, e->request);
}

static bool fit_buried(struct sim *s, struct history_event *e)
{
	return fit_never_begun(s, e) && ends_dead(s, e->key, e->request);
}

/* It has never been begun, and now all is at rest. */
static void stays_held(struct sim *s, struct history_event *e)
{
	struct history_event *done = done_of(s, e);
	uint32_t i;

	if (s->missing)
		return;
	for (i = 0; i < s->h->nr_events; i++)
		if (s->h->event[i].kind == HIST_KEY && s->h->event[i].what == DXK_KEY_HOLD)
			s->h->event[i].kind = HIST_NOTHING;
	plant_forget(s, HIST_RESULT, e->request, 0);
	e->kind = HIST_NOTHING;
	if (done)
		done->kind = HIST_NOTHING;
	s->h->over = s->now + 1000;
}

static void plant_idle(struct sim *s)
{
	stays_held(s, plant_some(s, HIST_START, fit_idle));
}

static void plant_buried(struct sim *s)
{
	stays_held(s, plant_some(s, HIST_START, fit_buried));
}

/* --- calls that come back ---------------------------------------------------------- */

static void plant_no_reentry(struct sim *s)
{
	s->h->request[plant_some(s, HIST_START, fit_nested)->request].reentry = DXK_REENTRY_NONE;
}

static bool fit_chained(struct sim *s, struct history_event *e)
{
	uint32_t i;

	for (i = 0; i < s->h->nr_events; i++)
		if (s->h->event[i].kind == HIST_START && s->h->event[i].key == e->key &&
		    s->h->event[i].member == e->member && &s->h->event[i] != e)
			return false;
	return fit_chain(s, e) && s->h->request[e->request].reentry == DXK_REENTRY_CHAIN;
}

static void plant_not_itself(struct sim *s)
{
	s->h->request[plant_some(s, HIST_START, fit_chained)->request].reentry =
		DXK_REENTRY_SELF;
}

/* The answer of the member's call before. */
static struct history_event *help_before(struct sim *s, const struct history_event *e)
{
	struct history_event *help = NULL;
	uint32_t i;

	for (i = 0; i < s->h->nr_events; i++) {
		struct history_event *o = &s->h->event[i];

		if (o->kind == HIST_HELP && o->member == e->member && o->end < e->begin &&
		    (!help || o->begin > help->begin))
			help = o;
	}
	return help ?: plant_none(s);
}

static void plant_not_told(struct sim *s)
{
	help_before(s, plant_some(s, HIST_START, fit_nested))->kind = HIST_NONE_READY;
}

/* The caller waits for an owner that needs nothing. */
static void plant_other_chain(struct sim *s)
{
	struct history_event *e = plant_some(s, HIST_START, fit_nested);

	if (!s->missing && s->h->request[e->request].reentry == DXK_REENTRY_CHAIN)
		help_before(s, e)->owner = 999;
	else
		plant_none(s);
}

static bool fit_of_client(struct sim *s, struct history_event *e)
{
	(void)s;
	return e->member >= CREW && e->member < MEMBERS;
}

/* One that executes nothing, and waits for an owner that needs nothing, is told so. */
static void plant_no_circle(struct sim *s)
{
	struct history_event *e = plant_some(s, HIST_NONE_READY, fit_of_client);

	e->kind = HIST_DEADLOCK;
	e->owner = 999;
}

/*
 * D-14, made by hand: request 0 has key 1 and waits for request 2, of key 2; request 1 has
 * that and waits for request 3, of key 1. @told, and @other: how these waits end.
 */
static void crossed(struct sim *s, uint8_t told, uint8_t other)
{
	static const struct {
		uint8_t kind;
		uint32_t request, owner, member, key;
		uint64_t ticket, begin, end;
	} event[] = {
		{ HIST_POST, 0, 0, 2, 0, 0, 10, 11 }, { HIST_POST, 1, 0, 2, 0, 0, 12, 13 },
		{ HIST_START, 0, 0, 0, 1, 1, 14, 15 }, { HIST_START, 1, 0, 1, 2, 2, 16, 17 },
		{ HIST_POST, 2, 0, 0, 0, 0, 18, 19 }, { HIST_POST, 3, 0, 1, 0, 0, 20, 21 },
		{ HIST_NOTHING, HIST_NOBODY, 10, 0, 0, 0, 22, 500 },
		{ HIST_NOTHING, HIST_NOBODY, 11, 1, 0, 0, 24, 501 },
	};
	struct history *h = s->h;
	uint32_t i;

	h->nr_events = ARRAY_SIZE(event);
	h->nr_requests = 4;
	h->nr_members = 3;
	memset(h->member, 0, MEMBERS * sizeof(*h->member));
	for (i = 0; i < 4; i++)
		h->request[i] = (struct history_request){
			.owner = i < 2 ? 0 : 8 + i, .space = HIST_NOBODY, .batch = i,
			.attrs = PXR_REJOIN | PXR_KEY, .key = i == 0 || i == 3 ? 1 : 2,
		};
	for (i = 0; i < ARRAY_SIZE(event); i++)
		h->event[i] = (struct history_event){
			.kind = event[i].kind, .request = event[i].request,
			.owner = event[i].owner, .member = event[i].member, .key = event[i].key,
			.ticket = event[i].ticket, .begin = event[i].begin, .end = event[i].end,
			.how = event[i].kind == HIST_POST ? POST_TAKEN : 0,
			.attempt = event[i].kind == HIST_START, .deadline = DXK_FOREVER,
		};
	h->event[i - 2].kind = told;
	h->event[i - 1].kind = other;
}

static void plant_both_told(struct sim *s)
{
	crossed(s, HIST_DEADLOCK, HIST_DEADLOCK);
}

static void plant_nobody_told(struct sim *s)
{
	crossed(s, HIST_ASLEEP, HIST_ASLEEP);
	s->h->over = 400;
}

/* --- hand-over --------------------------------------------------------------------- */

static bool is_notify(const struct history_event *e)
{
	return e->kind == HIST_KEY && e->how == KEY_RETURNED && !e->status &&
	       (e->what == DXK_KEY_NOTIFY || e->what == DXK_KEY_NOTIFY_ALL);
}

static bool fit_waited(struct sim *s, struct history_event *e)
{
	(void)s;
	return e->what == DXK_KEY_WAIT && e->how == KEY_RETURNED && !e->status;
}

static void plant_not_notified(struct sim *s)
{
	struct history_event *e = plant_some(s, HIST_KEY, fit_waited);
	uint32_t i;

	for (i = 0; i < s->h->nr_events; i++)
		if (s->h->event[i].kind == HIST_KEY && s->h->event[i].key == e->key &&
		    (s->h->event[i].what == DXK_KEY_NOTIFY ||
		     s->h->event[i].what == DXK_KEY_NOTIFY_ALL))
			s->h->event[i].kind = HIST_NOTHING;
}

static bool fit_handed(struct sim *s, struct history_event *e)
{
	return is_notify(e) && e->end > e->begin + 10 && is_calm(s, e->begin, e->end);
}

/* The key is somebody else's before it is that of who has handed it over again. */
static void plant_handed_elsewhere(struct sim *s)
{
	struct history_event *e = plant_some(s, HIST_KEY, fit_handed), *n;
	struct history_event *o = plant_some(s, HIST_START, NULL);

	if (s->missing)
		return;
	n = plant_copy(s, o);
	n->key = e->key;
	n->nested = false;
	n->attempt = 1;
	n->ticket = ++s->tickets;
	n->begin = e->begin + 1;
	n->end = e->begin + 2;
	n->member = MEMBERS - 1;
}

/* The one hand-over that a waiter was told by. */
static struct history_event *only_notify(struct sim *s, const struct history_event *w)
{
	struct history_event *found = NULL;
	uint32_t i;

	for (i = 0; i < s->h->nr_events; i++) {
		struct history_event *o = &s->h->event[i];

		if (o->kind != HIST_KEY || o == w || o->key != w->key || o->end < w->begin ||
		    o->begin > w->end + 20000 || o->what > DXK_KEY_NOTIFY_ALL ||
		    o->what == DXK_KEY_LEAVE || o->what == DXK_KEY_ENTER)
			continue;
		if (found || !is_notify(o) || o->begin < w->begin)
			return NULL;
		found = o;
	}
	return found;
}

static bool fit_told_once(struct sim *s, struct history_event *e)
{
	return fit_waited(s, e) && only_notify(s, e);
}

static void plant_waiter_left(struct sim *s)
{
	struct history_event *e = plant_some(s, HIST_KEY, fit_told_once);
	struct history_event *n = s->missing ? NULL : only_notify(s, e);

	if (n)
		e->end = n->end + 1;
}

/* One that waits while another one, which began later, does as well. */
static struct history_event *second(struct sim *s, const struct history_event *e)
{
	uint32_t i;

	for (i = 0; i < s->h->nr_events; i++) {
		struct history_event *o = &s->h->event[i];

		if (o->kind == HIST_KEY && fit_waited(s, o) && o->key == e->key &&
		    o->begin > e->begin && o->begin < e->end)
			return o;
	}
	return NULL;
}

static bool fit_second(struct sim *s, struct history_event *e)
{
	return fit_waited(s, e) && second(s, e);
}

static void plant_youngest_first(struct sim *s)
{
	struct history_event *e = plant_some(s, HIST_KEY, fit_second);
	struct history_event *o = s->missing ? NULL : second(s, e);

	if (o)
		e->end = o->end + 1;
}

static bool fit_timed(struct sim *s, struct history_event *e)
{
	(void)s;
	return e->what == DXK_KEY_WAIT && e->how == KEY_RETURNED && e->status == -ETIMEDOUT;
}

static void plant_wait_too_early(struct sim *s)
{
	struct history_event *e = plant_some(s, HIST_KEY, fit_timed);

	e->time = e->deadline - 1;
}

/* --- HOLD and CANCEL ------------------------------------------------------------------ */

/* A call on a key, before @e. */
static struct history_event *rule(struct sim *s, uint8_t what, const struct history_event *e,
				  uint32_t key)
{
	struct history_event *n = plant_copy(s, e);

	*n = (struct history_event){
		.kind = HIST_KEY, .what = what, .how = KEY_RETURNED, .key = key,
		.request = HIST_NOBODY, .awaited = HIST_NOBODY, .member = MEMBERS - 1,
		.begin = e->begin - 3, .end = e->begin - 1,
	};
	return n;
}

static void plant_through_hold(struct sim *s)
{
	struct history_event *e = plant_some(s, HIST_START, fit_key);

	rule(s, DXK_KEY_HOLD, e, e->key);
}

static bool fit_keyed(struct sim *s, struct history_event *e)
{
	return e->how == POST_TAKEN && s->h->request[e->request].key;
}

static void plant_not_refused(struct sim *s)
{
	struct history_event *e = plant_some(s, HIST_POST, fit_keyed);

	rule(s, DXK_KEY_HOLD, e, s->h->request[e->request].key)->refuse = true;
}

static bool fit_missed(struct sim *s, struct history_event *e)
{
	return is_turn(e) && !e->turn && !(s->h->request[e->request].attrs & PXR_WAIT) &&
	       plant_event(s, HIST_POST, e->request)->end + 10 < e->begin &&
	       is_calm(s, e->begin - 3, e->begin);
}

static void plant_missed(struct sim *s)
{
	struct history_event *e = plant_some(s, HIST_START, fit_missed);

	rule(s, DXK_KEY_CANCEL, e, e->key);
}

const struct plant key_plants[] = {
	{ "a turn of another key", HIST_WRONG_TURN, plant_other_key },
	{ "two turns of a key at once", HIST_KEY_SHARED, plant_two_turns },
	{ "one that is not nested beside another", HIST_KEY_SHARED, plant_not_nested },
	{ "a caller beside what is nested in it", HIST_KEY_SHARED, plant_outer_goes_on },
	{ "the less urgent of a key first", HIST_KEY_ORDER, plant_less_urgent },
	{ "the later one of a key first", HIST_KEY_ORDER, plant_not_the_oldest },
	{ "a key too often in a row", HIST_INVERSION, plant_batch },
	{ "one that is Held, and its key is free", HIST_KEY_IDLE, plant_idle },
	{ "a key that has died with a worker", HIST_KEY_BURIED, plant_buried },
	{ "nested, and it must not be", HIST_WRONG_NEST, plant_no_reentry },
	{ "nested in another one's turn", HIST_WRONG_NEST, plant_not_itself },
	{ "nested, and nobody has asked", HIST_WRONG_NEST, plant_not_told },
	{ "nested out of the chain of calls", HIST_WRONG_NEST, plant_other_chain },
	{ "EDEADLK for one that executes nothing", HIST_WRONG_DEADLOCK, plant_no_circle },
	{ "EDEADLK for both of two", HIST_WRONG_DEADLOCK, plant_both_told },
	{ "EDEADLK for neither of two", HIST_NO_DEADLOCK, plant_nobody_told },
	{ "a wait for a key that nobody has ended", HIST_WRONG_NOTIFY, plant_not_notified },
	{ "a hand-over to somebody else", HIST_WRONG_NOTIFY, plant_handed_elsewhere },
	{ "a hand-over to nobody", HIST_WRONG_NOTIFY, plant_waiter_left },
	{ "a hand-over to the youngest", HIST_WRONG_NOTIFY, plant_youngest_first },
	{ "a wait for a key ended too early", HIST_TOO_EARLY, plant_wait_too_early },
	{ "a turn through a HOLD", HIST_HOLD_BROKEN, plant_through_hold },
	{ "a post that was to be refused", HIST_HOLD_BROKEN, plant_not_refused },
	{ "one that a CANCEL has not met", HIST_CANCEL_LOST, plant_missed },
};
const unsigned int nr_key_plants = ARRAY_SIZE(key_plants);
