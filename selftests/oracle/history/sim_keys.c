// SPDX-License-Identifier: GPL-2.0-only
/*
 * The keys of the simple dispatcher (sim.h): who has one, what its worker does with it, calls
 * that come back, and who waits for himself.
 */
#define DXT_NO_HARNESS
#include "lib/puppet.h"
#include "sim.h"

static struct sim_key *key_of(struct sim *s, uint32_t i)
{
	return &s->key[s->h->request[i].key];
}

static bool lives(const struct sim *s, uint32_t i)
{
	return s->state[i] > FREE && s->state[i] < REJOIN;
}

/* --- who has it ------------------------------------------------------------- */

static void list_remove(struct sim_list *l, uint32_t i)
{
	uint32_t n, kept = 0;

	for (n = 0; n < l->nr; n++)
		if (l->request[n] != i)
			l->request[kept++] = l->request[n];
	l->nr = kept;
}

static void list_add_at(struct sim_list *l, uint32_t at, uint32_t i)
{
	memmove(l->request + at + 1, l->request + at, (l->nr - at) * sizeof(i));
	l->request[at] = i;
	l->nr++;
}

static bool is_vacant(const struct sim_key *k)
{
	return k->turn == HIST_NOBODY && !k->nested.nr && !k->back.nr;
}

static void give(struct sim *s, struct sim_key *k, uint32_t i)
{
	k->turn = i;
	s->at[i] = AT_HAS;
}

static bool comes_before(const struct sim *s, uint32_t x, uint32_t y)
{
	int32_t a = s->h->request[x].prio, b = s->h->request[y].prio;

	return a != b ? a > b : s->came[x] < s->came[y];
}

static uint32_t first_held(const struct sim *s, uint32_t key)
{
	uint32_t i, best = HIST_NOBODY;

	for (i = 0; i < s->h->nr_requests; i++)
		if (s->state[i] == HELD && s->h->request[i].key == key &&
		    (best == HIST_NOBODY || comes_before(s, i, best)))
			best = i;
	return best;
}

static void pass(struct sim *s, struct sim_key *k)
{
	uint32_t i;

	if (k->turn != HIST_NOBODY || k->nested.nr)
		return;
	if (k->back.nr) {
		i = k->back.request[0];
		list_remove(&k->back, i);
		give(s, k, i);
		return;
	}
	i = k->suspended ? HIST_NOBODY : first_held(s, (uint32_t)(k - s->key));
	if (i == HIST_NOBODY)
		return;
	s->state[i] = READY;
	give(s, k, i);
}

static void yield(struct sim *s, struct sim_key *k)
{
	s->state[k->turn] = HELD;
	s->at[k->turn] = AT_OUT;
	k->turn = HIST_NOBODY;
}

void sim_ready(struct sim *s, uint32_t i)
{
	struct sim_key *k = key_of(s, i);
	uint32_t turn = k->turn;

	s->state[i] = READY;
	if (!s->h->request[i].key)
		return;
	s->came[i] = s->comes++;
	if (!is_vacant(k) || k->suspended) {
		if (turn == HIST_NOBODY || s->state[turn] != READY || k->suspended ||
		    s->h->request[turn].prio >= s->h->request[i].prio) {
			s->state[i] = HELD;
			return;
		}
		yield(s, k);
	}
	give(s, k, i);
}

/* Its worker is gone: it keeps the key, unless it did not have it, or not alone. */
void sim_again(struct sim *s, uint32_t i)
{
	struct sim_key *k = key_of(s, i);
	uint32_t first;

	if (s->at[i] != AT_HAS || k->nested.nr) {
		sim_drop(s, i);
		sim_ready(s, i);
		return;
	}
	s->state[i] = READY;
	first = first_held(s, s->h->request[i].key);
	if (!k->suspended && (first == HIST_NOBODY ||
			      s->h->request[first].prio <= s->h->request[i].prio))
		return;
	yield(s, k);
	pass(s, k);
}

void sim_drop(struct sim *s, uint32_t i)
{
	struct sim_key *k = key_of(s, i);
	uint8_t at = s->at[i];

	if (!s->h->request[i].key)
		return;
	s->at[i] = AT_OUT;
	if (at == AT_HAS)
		k->turn = HIST_NOBODY;
	list_remove(&k->nested, i);
	list_remove(&k->back, i);
	list_remove(&k->waiters, i);
	pass(s, k);
}

void sim_give_up(struct sim *s, uint32_t i)
{
	if (s->at[i] == AT_BACK || s->at[i] == AT_WAITS)
		sim_drop(s, i);
}

/* --- calls on a key ------------------------------------------------------------ */

static void ask(struct sim *s, uint32_t who, uint32_t what)
{
	uint32_t i = s->holds[who], n;
	struct sim_key *k = key_of(s, i);
	struct history_event *e = sim_call(s, who, HIST_KEY);

	e->what = (uint8_t)what;
	e->how = KEY_RETURNED;
	e->key = s->h->request[i].key;
	e->ticket = s->ticket[i];
	e->awaited = HIST_NOBODY;
	if (s->at[i] == AT_NESTED || (s->at[i] == AT_HAS && k->nested.nr))
		e->status = -EBUSY;
	else if (what == DXK_KEY_ENTER)
		e->status = s->at[i] == AT_HAS ? -EALREADY : 0;
	else
		e->status = s->at[i] == AT_HAS ? 0 : -EPERM;
	if (e->status)
		return;
	switch (what) {
	case DXK_KEY_LEAVE:
		sim_drop(s, i);
		return;
	case DXK_KEY_ENTER:
		s->at[i] = AT_BACK;
		list_add_at(&k->back, k->back.nr, i);
		break;
	case DXK_KEY_WAIT:
		e->deadline = s->now + rnd(&s->seed) % 4000;
		s->at[i] = AT_WAITS;
		k->turn = HIST_NOBODY;
		list_add_at(&k->waiters, k->waiters.nr, i);
		break;
	default:
		if (!k->waiters.nr)
			return;
		n = 0;
		do {
			uint32_t w = k->waiters.request[0];

			list_remove(&k->waiters, w);
			list_add_at(&k->back, n++, w);
			s->at[w] = AT_BACK;
		} while (what == DXK_KEY_NOTIFY_ALL && k->waiters.nr);
		list_add_at(&k->back, n, i);
		s->at[i] = AT_BACK;
		k->turn = HIST_NOBODY;
	}
	s->timed_out[i] = false;
	s->asleep[who] = e;
	pass(s, k);
}

void sim_rule(struct sim *s, uint32_t who)
{
	static const uint8_t some[] = {
		DXK_KEY_HOLD, DXK_KEY_RELEASE, DXK_KEY_RELEASE, DXK_KEY_CANCEL,
	};
	uint32_t key = 1 + rnd(&s->seed) % KEYS, i;
	struct history_event *e = sim_call(s, who, HIST_KEY);
	struct sim_key *k = &s->key[key];
	bool known = k->suspended;

	e->what = rnd(&s->seed) % 4 ? DXK_KEY_RELEASE : some[rnd(&s->seed) % 4];
	e->how = KEY_RETURNED;
	e->key = key;
	e->awaited = HIST_NOBODY;
	for (i = 0; i < s->h->nr_requests; i++)
		known |= s->h->request[i].key == key && lives(s, i);
	if (e->what == DXK_KEY_HOLD) {
		k->suspended = true;
		k->refuses = e->refuse = rnd(&s->seed) % 2;
		if (k->turn != HIST_NOBODY && s->state[k->turn] == READY) {
			yield(s, k);
			pass(s, k);
		}
		return;
	}
	if (!known) {
		e->status = -ENOENT;
		return;
	}
	if (e->what == DXK_KEY_RELEASE) {
		k->suspended = k->refuses = false;
		pass(s, k);
		return;
	}
	for (i = 0; i < s->h->nr_requests; i++) {
		if (s->h->request[i].key != key)
			continue;
		if (s->at[i] == AT_WAITS) {
			sim_give_up(s, i);
		} else if (s->state[i] == HELD || (s->state[i] == READY && s->at[i] == AT_HAS)) {
			if (s->turn[i] || s->attempts[i])
				s->more[i].cancelled = true;
			else
				sim_end(s, i, -ECANCELED);
		} else {
			continue;
		}
		e->status++;
	}
}

/* --- circles --------------------------------------------------------------------- */

/* Who executes what has the key, the innermost one. */
static uint32_t holder_of(const struct sim *s, uint32_t key)
{
	const struct sim_key *k = &s->key[key];
	uint32_t i = k->nested.nr ? k->nested.request[k->nested.nr - 1] : k->turn, who;

	for (who = 0; i != HIST_NOBODY && who < CREW; who++) {
		uint32_t n;

		if (s->holds[who] == i)
			return who;
		for (n = 0; n < s->depth[who]; n++)
			if (s->below[who][n] == i)
				return who;
	}
	return HIST_NOBODY;
}

/* The one request that a worker's call is about, while it lives. */
static uint32_t called_by(const struct sim *s, uint32_t who)
{
	uint32_t i = s->called[who];

	return i != HIST_NOBODY && lives(s, i) ? i : HIST_NOBODY;
}

/*
 * The way from one that waits, of which each has one target: back to it? @held: the only one
 * on it that is Held, or HIST_NOBODY; @direct: that is what it waits for itself.
 */
static bool is_dead(const struct sim *s, uint32_t who, uint32_t *held, bool *direct)
{
	uint32_t at = who, n, nr_held = 0, i;

	*held = HIST_NOBODY;
	for (n = 0; n < CREW; n++) {
		if (!s->asleep[at] || s->asleep[at]->kind != HIST_ASLEEP)
			return false;
		i = called_by(s, at);
		if (i == HIST_NOBODY)
			return false;
		if (s->state[i] == HELD) {
			*held = nr_held++ ? HIST_NOBODY : i;
			*direct = !n;
			at = holder_of(s, s->h->request[i].key);
		} else if (s->state[i] == BUSY) {
			at = (uint32_t)s->worker[i] - 1;
		} else {
			return false;
		}
		if (at == who)
			return true;
		if (at == HIST_NOBODY)
			return false;
	}
	return false;
}

static bool is_outer(const struct sim *s, uint32_t who)
{
	uint32_t key, n;

	for (key = 1; key <= KEYS; key++)
		for (n = 0; n < s->key[key].nested.nr; n++)
			if (s->outer[s->key[key].nested.request[n]] == who)
				return true;
	return false;
}

static void push(struct sim *s, uint32_t who, uint32_t i)
{
	struct sim_key *k = key_of(s, i);
	uint32_t outer = holder_of(s, s->h->request[i].key);

	list_add_at(&k->nested, k->nested.nr, i);
	s->at[i] = AT_NESTED;
	s->outer[i] = outer == who ? HIST_NOBODY : outer;
	s->below[who][s->depth[who]++] = s->holds[who];
	sim_start(s, who, i)->nested = true;
}

void sim_pop(struct sim *s, uint32_t who)
{
	s->holds[who] = s->depth[who] ? s->below[who][--s->depth[who]] : HIST_NOBODY;
}

/* The worker's call is over now. */
static struct history_event *answer(struct sim *s, uint32_t who, uint8_t kind)
{
	struct history_event *e = s->asleep[who];

	s->asleep[who] = NULL;
	e->end = sim_now(s, who);
	e->time = s->now;
	e->kind = kind;
	return e;
}

static void look_at_call(struct sim *s, uint32_t who)
{
	uint32_t owner = OWNERS + who, held;
	bool direct = false, nests;
	uint64_t begin;

	if (is_outer(s, who))
		return;
	if (called_by(s, who) == HIST_NOBODY) {
		begin = answer(s, who, HIST_NOTHING)->begin;
		sim_rejoin(s, who, owner);
		s->h->event[s->h->nr_events - 1].begin = begin;
		return;
	}
	if (!is_dead(s, who, &held, &direct))
		return;
	nests = held != HIST_NOBODY && s->depth[who] < DEPTH &&
		!key_of(s, held)->suspended &&
		(s->h->request[held].reentry == DXK_REENTRY_CHAIN ||
		 (s->h->request[held].reentry == DXK_REENTRY_SELF && direct &&
		  holder_of(s, s->h->request[held].key) == who));
	answer(s, who, nests ? HIST_HELP : HIST_DEADLOCK);
	if (nests)
		push(s, who, held);
}

static void look_at_key(struct sim *s, uint32_t who)
{
	uint32_t i = s->holds[who];
	struct sim_key *k = key_of(s, i);

	if (s->at[i] == AT_WAITS && s->asleep[who]->deadline <= s->now) {
		s->timed_out[i] = true;
		list_remove(&k->waiters, i);
		list_add_at(&k->back, 0, i);
		s->at[i] = AT_BACK;
		pass(s, k);
	}
	if (s->at[i] == AT_OUT)
		answer(s, who, HIST_KEY)->status = -ECANCELED;
	else if (s->at[i] == AT_HAS)
		answer(s, who, HIST_KEY)->status = s->timed_out[i] ? -ETIMEDOUT : 0;
	else
		return;
}

void sim_sleepers(struct sim *s)
{
	uint32_t who;

	for (who = 0; who < CREW; who++) {
		if (!s->asleep[who])
			continue;
		if (s->asleep[who]->kind == HIST_KEY)
			look_at_key(s, who);
		else
			look_at_call(s, who);
	}
}

/* Waits for what it has called, if that has not ended, or calls something. */
static void call_some(struct sim *s, uint32_t who)
{
	uint32_t i = called_by(s, who), n, callers = 0;
	struct history_event *e;

	for (n = 0; n < CREW; n++)
		callers += s->asleep[n] && s->asleep[n]->kind == HIST_ASLEEP;
	if (callers == CREW / 2)
		return;
	if (i == HIST_NOBODY) {
		s->called[who] = sim_post_called(s, who);
		i = called_by(s, who);
	}
	if (i == HIST_NOBODY)
		return;
	e = sim_call(s, who, HIST_ASLEEP);
	e->owner = OWNERS + who;
	e->deadline = DXK_FOREVER;
	s->asleep[who] = e;
}

bool sim_act(struct sim *s, uint32_t who)
{
	uint32_t what = rnd(&s->seed) % 16;

	if (!s->h->request[s->holds[who]].key || what > 9)
		return false;
	if (what > 4)
		call_some(s, who);
	else if (!s->depth[who])
		ask(s, who, what);
	return true;
}
