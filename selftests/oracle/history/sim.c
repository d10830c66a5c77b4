// SPDX-License-Identifier: GPL-2.0-only
/* See sim.h. */
#define DXT_NO_HARNESS
#include "lib/puppet.h"
#include "sim.h"

uint64_t sim_now(struct sim *s, uint32_t who)
{
	s->now += 2 * WIDE / MEMBERS;
	while (s->now <= s->until[who] + 1)
		s->now++;
	return s->until[who] = s->now + 1 + rnd(&s->seed) % (s->calm ? 1 : WIDE);
}

struct history_event *sim_call(struct sim *s, uint32_t who, uint8_t kind)
{
	struct history_event *e = &s->h->event[s->h->nr_events++];
	uint64_t before = s->until[who];

	e->end = sim_now(s, who);
	e->begin = s->now - rnd(&s->seed) % (s->calm ? 1 : WIDE) - 1;
	if (e->begin <= before)
		e->begin = before + 1;
	e->kind = kind;
	e->request = HIST_NOBODY;
	e->member = who < CREW ? s->alive[who] : who;
	return e;
}

/* --- waits --------------------------------------------------------------- */

static bool sim_lives(const struct sim *s, uint32_t i)
{
	return s->state[i] >= READY && s->state[i] <= HELD;
}

static bool sim_coming(const struct sim *s, uint32_t owner)
{
	uint32_t i;

	for (i = 0; i < s->h->nr_requests; i++)
		if (s->h->request[i].owner == owner && sim_lives(s, i))
			return true;
	return false;
}

static bool sim_result(const struct sim *s, uint32_t owner)
{
	uint32_t i;

	for (i = 0; i < s->nr_done; i++)
		if (s->state[s->done[i]] == REJOIN &&
		    s->h->request[s->done[i]].owner == owner)
			return true;
	return false;
}

/* Waits are over by their time at the latest. It is the number of the call that ends then. */
static void sim_wait(struct sim *s, uint32_t i)
{
	static const uint32_t sources[] = {
		DXK_WAIT_TIME, DXK_WAIT_CALL, DXK_WAIT_RESULT, DXK_WAIT_JOIN, DXK_WAIT_AGAIN,
	};
	uint32_t random = rnd(&s->seed);

	s->more[i].wait = sources[random % 5];
	if (s->more[i].wait != DXK_WAIT_AGAIN)
		s->more[i].wait |= DXK_WAIT_TIME;
	s->more[i].owner = random / 8 % OWNERS;
	s->more[i].deadline = s->now + random / 64 % 3000;
	s->state[i] = WAITING;
}

/* The reason for which a wait is over now, or 0. */
static uint8_t sim_over_by(struct sim *s, uint32_t i)
{
	uint32_t wait = s->more[i].wait, owner = s->more[i].owner;

	if (s->more[i].cancelled)
		return DXK_WAKE_CANCEL;
	if (wait & DXK_WAIT_AGAIN)
		return DXK_WAKE_AGAIN;
	if (wait & DXK_WAIT_CALL && s->more[i].called)
		return DXK_WAKE_CALL;
	if (wait & (DXK_WAIT_RESULT | DXK_WAIT_JOIN) && owner == s->h->request[i].owner)
		return DXK_WAKE_DEADLOCK;
	if (wait & DXK_WAIT_RESULT && (sim_result(s, owner) || !sim_coming(s, owner)))
		return DXK_WAKE_RESULT;
	if (wait & DXK_WAIT_JOIN && !sim_coming(s, owner))
		return DXK_WAKE_JOIN;
	return s->more[i].deadline <= s->now ? DXK_WAKE_TIME : 0;
}

static void sim_wake(struct sim *s)
{
	uint32_t i;

	for (i = 0; i < s->h->nr_requests; i++) {
		if (s->state[i] != WAITING)
			continue;
		s->more[i].wake = sim_over_by(s, i);
		if (!s->more[i].wake)
			continue;
		if (s->more[i].wake == DXK_WAKE_CALL)
			s->more[i].called = false;
		sim_ready(s, i);
	}
}

/* A request that is new, for which there is room; its post, which has not ended. */
static uint32_t sim_new(struct sim *s, uint32_t who, struct history_event **e)
{
	uint32_t i = s->h->nr_requests++;

	s->h->request[i].space = HIST_NOBODY;
	s->h->request[i].batch = i;
	*e = sim_call(s, who, HIST_POST);
	(*e)->request = i;
	return i;
}

/* Does its key refuse it? */
static bool sim_refused(const struct sim *s, uint32_t i)
{
	return s->key[s->h->request[i].key].refuses;
}

uint32_t sim_post_called(struct sim *s, uint32_t who)
{
	struct history_request *r;
	struct history_event *e;
	uint32_t i;

	if (s->h->nr_requests == REQUESTS)
		return HIST_NOBODY;
	i = sim_new(s, who, &e);
	r = &s->h->request[i];
	r->owner = OWNERS + who;
	r->attrs = PXR_REJOIN | PXR_KEY | (rnd(&s->seed) % 2 ? PXR_REDO : 0);
	r->key = 1 + rnd(&s->seed) % KEYS;
	r->reentry = (uint8_t)(rnd(&s->seed) % 3);
	e->how = sim_refused(s, i) ? POST_REFUSED : POST_TAKEN;
	if (e->how == POST_TAKEN)
		sim_ready(s, i);
	return i;
}

static void sim_post(struct sim *s, uint32_t who)
{
	static const uint32_t lane[] = { 0, PXR_LANE1, PXR_LANE2, 0 };
	struct history_request *r;
	struct history_event *e;
	uint32_t random = rnd(&s->seed), i;

	if (s->h->nr_requests == REQUESTS)
		return;
	i = sim_new(s, who, &e);
	r = &s->h->request[i];
	r->owner = random % OWNERS;
	r->space = r->owner == OWNERS - 1 ? 0 : HIST_NOBODY;
	r->attrs = lane[random / 8 % 4] | (random & 0x40 ? PXR_REDO : 0) |
		   (random & 0x180 ? PXR_REJOIN : 0);
	r->prio = (int)(random >> 10) % 3 - 1;
	if (random >> 20 & 1 && r->space == HIST_NOBODY) {
		/* what has its key while it waits for a lane may be waited for by who holds that */
		r->attrs &= ~(PXR_LANE1 | PXR_LANE2);
		r->attrs |= PXR_KEY;
		r->key = 1 + (random >> 21) % KEYS;
	}
	e->how = random >> 14 & 0xf && !sim_refused(s, i) ? POST_TAKEN : POST_REFUSED;
	if (e->how != POST_TAKEN)
		return;
	if (random >> 18 & 3) {
		sim_ready(s, i);
		return;
	}
	r->attrs |= PXR_WAIT;
	sim_wait(s, i);
	if (s->more[i].owner == r->owner || s->more[i].wait == DXK_WAIT_AGAIN)
		s->more[i].wait = DXK_WAIT_TIME;
	r->wait = s->more[i].wait;
	r->awaited = s->more[i].owner;
	r->deadline = s->more[i].deadline;
}

void sim_end(struct sim *s, uint32_t i, int status)
{
	bool rejoin = s->h->request[i].attrs & PXR_REJOIN;

	sim_drop(s, i);
	s->status[i] = status;
	s->state[i] = rejoin ? REJOIN : GONE;
	if (rejoin)
		s->done[s->nr_done++] = i;
}

/* A request is called by its name, or cancelled. */
static void sim_name(struct sim *s, uint32_t who)
{
	uint32_t nr = s->h->nr_requests, back = rnd(&s->seed) % 16, i;
	struct history_event *e;

	if (nr <= back)
		return;
	i = nr - 1 - back;
	e = sim_call(s, who, rnd(&s->seed) % 16 ? HIST_CALL : HIST_CANCEL);
	e->request = i;
	e->how = sim_lives(s, i) ? NAME_FOUND : NAME_NONE;
	if (!sim_lives(s, i))
		return;
	if (e->kind == HIST_CALL) {
		s->more[i].called = true;
	} else if (s->turn[i] || s->attempts[i]) {
		s->more[i].cancelled = true;
		sim_give_up(s, i);
	} else {
		sim_end(s, i, -ECANCELED);
	}
}

static bool admitted(const struct sim *s, uint32_t lane_bits)
{
	uint32_t used[4] = { 0 }, sum = 0, i, l, mine = lane_bits & PXR_LANE1 ? 1 :
			    lane_bits & PXR_LANE2 ? 2 : 3;

	for (i = 0; i < CREW; i++) {
		if (s->holds[i] == HIST_NOBODY)
			continue;
		/* what is nested has no place of its own */
		l = s->h->request[s->depth[i] ? s->below[i][0] : s->holds[i]].attrs;
		used[l & PXR_LANE1 ? 1 : l & PXR_LANE2 ? 2 : 3]++;
	}
	for (l = 0; l < 4; l++) {
		sum += used[l];
		if (l >= mine && sum >= s->h->quota[l])
			return false;
	}
	return true;
}

struct history_event *sim_start(struct sim *s, uint32_t who, uint32_t i)
{
	struct history_event *e = sim_call(s, who, HIST_START);

	e->request = i;
	e->key = s->h->request[i].key;
	e->ticket = s->ticket[i] = ++s->tickets;
	e->worker = who + 1;
	e->attempt = ++s->attempts[i];
	e->turn = s->turn[i];
	e->wake = s->more[i].wake;
	e->time = s->now;
	e->prio = s->h->request[i].prio;
	s->worker[i] = who + 1;
	s->state[i] = BUSY;
	s->holds[who] = i;
	return e;
}

static void sim_fetch(struct sim *s, uint32_t who)
{
	uint32_t i, best = HIST_NOBODY;

	for (i = 0; i < s->h->nr_requests; i++)
		if (s->state[i] == READY && admitted(s, s->h->request[i].attrs) &&
		    (best == HIST_NOBODY ||
		     s->h->request[i].prio > s->h->request[best].prio))
			best = i;
	if (best != HIST_NOBODY)
		sim_start(s, who, best);
}

static void sim_complete(struct sim *s, uint32_t who)
{
	uint32_t i = s->holds[who];
	struct history_event *e = sim_call(s, who, HIST_DONE);

	e->ticket = s->ticket[i];
	e->how = DONE_TAKEN;
	sim_pop(s, who);
	if (s->turn[i] < TURNS && !(rnd(&s->seed) % 3)) {
		s->turn[i]++;
		s->attempts[i] = s->worker[i] = 0;
		sim_drop(s, i);
		sim_wait(s, i);
		e->wait = s->more[i].wait;
		e->awaited = s->more[i].owner;
		e->time = s->more[i].deadline;
	} else {
		e->status = (int)(rnd(&s->seed) % 100);
		sim_end(s, i, e->status);
	}
	if (!(rnd(&s->seed) % 4)) {
		e = sim_call(s, who, HIST_DONE);
		e->ticket = s->ticket[i];
		e->how = DONE_STALE;
	}
}

/* The worker dies, and another member takes its place. */
static void sim_die(struct sim *s, uint32_t who)
{
	struct history_event *e = sim_call(s, who, HIST_NOTHING), *call = s->asleep[who];
	struct history_gone *g = &s->h->member[s->alive[who]];
	uint32_t held[DEPTH + 1], nr = 0, i;

	g->begin = e->begin;
	g->end = e->end;
	s->asleep[who] = NULL;
	if (call) {
		g->begin = call->end + 1 < e->begin ? e->begin : call->end + 1;
		call->end = g->end;
		if (call->kind == HIST_KEY)
			call->how = KEY_UNKNOWN;
	}
	s->alive[who] = s->h->nr_members++;
	s->called[who] = HIST_NOBODY;
	for (; s->holds[who] != HIST_NOBODY; sim_pop(s, who))
		held[nr++] = s->holds[who];
	/* nobody waits for what is nested in these */
	for (i = 0; i < REQUESTS; i++)
		if (s->outer[i] == who)
			s->outer[i] = HIST_NOBODY;
	while (nr--) {
		i = held[nr];
		if (s->h->request[i].attrs & PXR_REDO && s->attempts[i] < REDO_MAX)
			sim_again(s, i);
		else
			sim_end(s, i, -EOWNERDEAD);
	}
}

void sim_rejoin(struct sim *s, uint32_t who, uint32_t owner)
{
	struct history_event *e;
	uint32_t i;

	for (i = 0; i < s->nr_done; i++)
		if (s->state[s->done[i]] == REJOIN &&
		    s->h->request[s->done[i]].owner == owner)
			break;
	if (i < s->nr_done) {
		i = s->done[i];
		e = sim_call(s, who, HIST_RESULT);
		e->request = i;
		e->status = s->status[i];
		e->attempt = s->attempts[i];
		e->worker = s->worker[i];
		e->prio = s->h->request[i].prio;
		s->state[i] = GONE;
	} else {
		e = sim_call(s, who, sim_coming(s, owner) ? HIST_NONE_READY : HIST_NONE_EXIST);
	}
	e->owner = owner;
}

static bool sim_over(const struct sim *s)
{
	uint32_t i;

	for (i = 0; i < s->h->nr_requests; i++)
		if (s->state[i] != FREE && s->state[i] != GONE)
			return false;
	return s->h->nr_requests == REQUESTS;
}

void sim_run(struct sim *s, uint64_t seed, bool calm)
{
	uint32_t i;

	memset(s, 0, sizeof(*s));
	s->seed = seed;
	s->calm = calm;
	s->now = 1000;
	s->h = history_new(REQUESTS, 1 << 16, 1 << 12);
	s->h->redo_max = REDO_MAX;
	s->h->waits = true;
	s->h->key_batch = KEY_BATCH;
	s->h->nr_members = MEMBERS;
	memcpy(s->h->quota, ((uint32_t[]){ 0, 1, 3, CREW }), sizeof(s->h->quota));
	for (i = 0; i < MEMBERS; i++) {
		s->holds[i] = HIST_NOBODY;
		s->alive[i] = i;
	}
	for (i = 0; i < CREW; i++)
		s->called[i] = HIST_NOBODY;
	for (i = 0; i <= KEYS; i++)
		s->key[i].turn = HIST_NOBODY;
	memset(s->outer, 0xff, sizeof(s->outer));
	while (!sim_over(s)) {
		uint32_t who = rnd(&s->seed) % MEMBERS, what = rnd(&s->seed) % 16;

		sim_wake(s);
		sim_sleepers(s);
		if (who >= CREW && what < 5)
			sim_post(s, who);
		else if (who >= CREW && what < 8)
			sim_name(s, who);
		else if (who >= CREW && what < 10)
			sim_rule(s, who);
		else if (who >= CREW)
			sim_rejoin(s, who, rnd(&s->seed) % (OWNERS + CREW));
		else if (!what)
			sim_die(s, who);
		else if (s->asleep[who])
			;
		else if (s->holds[who] == HIST_NOBODY)
			sim_fetch(s, who);
		else if (what < 8 && !sim_act(s, who))
			sim_complete(s, who);
	}
}
