// SPDX-License-Identifier: GPL-2.0-only
/* See sim.h. */
#define DXT_NO_HARNESS
#include "lib/puppet.h"
#include "sim.h"

/* A call of a member whose effect comes now. */
static struct history_event *call(struct sim *s, uint32_t who, uint8_t kind)
{
	struct history_event *e = &s->h->event[s->h->nr_events++];
	uint64_t width = s->calm ? 1 : WIDE;

	s->now += 2 * WIDE / MEMBERS;
	while (s->now <= s->until[who] + 1)
		s->now++;
	e->begin = s->now - rnd(&s->seed) % width - 1;
	if (e->begin <= s->until[who])
		e->begin = s->until[who] + 1;
	e->end = s->until[who] = s->now + 1 + rnd(&s->seed) % width;
	e->kind = kind;
	e->request = HIST_NOBODY;
	e->member = who < CREW ? s->alive[who] : who;
	return e;
}

static void sim_post(struct sim *s, uint32_t who)
{
	static const uint32_t lane[] = { 0, PXR_LANE1, PXR_LANE2, 0 };
	uint32_t i = s->h->nr_requests;
	struct history_request *r;
	struct history_event *e;
	uint32_t random = rnd(&s->seed);

	if (i == REQUESTS)
		return;
	s->h->nr_requests++;
	r = &s->h->request[i];
	r->owner = random % OWNERS;
	r->space = r->owner == OWNERS - 1 ? 0 : HIST_NOBODY;
	r->attrs = lane[random / 8 % 4] | (random & 0x40 ? PXR_REDO : 0) |
		   (random & 0x180 ? PXR_REJOIN : 0);
	r->prio = (int)(random >> 10) % 3 - 1;
	r->batch = i;
	e = call(s, who, HIST_POST);
	e->request = i;
	e->how = random >> 14 & 0xf ? POST_TAKEN : POST_REFUSED;
	if (e->how == POST_TAKEN)
		s->state[i] = READY;
}

static bool admitted(const struct sim *s, uint32_t lane_bits)
{
	uint32_t used[4] = { 0 }, sum = 0, i, l, mine = lane_bits & PXR_LANE1 ? 1 :
			    lane_bits & PXR_LANE2 ? 2 : 3;

	for (i = 0; i < CREW; i++) {
		if (s->holds[i] == HIST_NOBODY)
			continue;
		l = s->h->request[s->holds[i]].attrs;
		used[l & PXR_LANE1 ? 1 : l & PXR_LANE2 ? 2 : 3]++;
	}
	for (l = 0; l < 4; l++) {
		sum += used[l];
		if (l >= mine && sum >= s->h->quota[l])
			return false;
	}
	return true;
}

static void sim_fetch(struct sim *s, uint32_t who)
{
	uint32_t i, best = HIST_NOBODY;
	struct history_event *e;

	for (i = 0; i < s->h->nr_requests; i++)
		if (s->state[i] == READY && admitted(s, s->h->request[i].attrs) &&
		    (best == HIST_NOBODY ||
		     s->h->request[i].prio > s->h->request[best].prio))
			best = i;
	if (best == HIST_NOBODY)
		return;
	e = call(s, who, HIST_START);
	e->request = best;
	e->ticket = s->ticket[who] = ++s->tickets;
	e->worker = who + 1;
	e->attempt = ++s->attempts[best];
	e->prio = s->h->request[best].prio;
	s->worker[best] = who + 1;
	s->state[best] = BUSY;
	s->holds[who] = best;
}

static void sim_end(struct sim *s, uint32_t i, int status)
{
	bool rejoin = s->h->request[i].attrs & PXR_REJOIN;

	s->status[i] = status;
	s->state[i] = rejoin ? REJOIN : GONE;
	if (rejoin)
		s->done[s->nr_done++] = i;
}

static void sim_complete(struct sim *s, uint32_t who)
{
	uint32_t i = s->holds[who];
	struct history_event *e = call(s, who, HIST_DONE);

	e->ticket = s->ticket[who];
	e->status = (int)(rnd(&s->seed) % 100);
	e->how = DONE_TAKEN;
	s->holds[who] = HIST_NOBODY;
	sim_end(s, i, e->status);
	if (!(rnd(&s->seed) % 4)) {
		e = call(s, who, HIST_DONE);
		e->ticket = s->ticket[who];
		e->how = DONE_STALE;
	}
}

/* The worker dies, and another member takes its place. */
static void sim_die(struct sim *s, uint32_t who)
{
	uint32_t i = s->holds[who];
	struct history_event *e = call(s, who, HIST_NOTHING);
	struct history_gone *g = &s->h->member[s->alive[who]];

	g->begin = e->begin;
	g->end = e->end;
	s->alive[who] = s->h->nr_members++;
	s->holds[who] = HIST_NOBODY;
	if (i == HIST_NOBODY)
		return;
	if (s->h->request[i].attrs & PXR_REDO && s->attempts[i] < REDO_MAX)
		s->state[i] = READY;
	else
		sim_end(s, i, -EOWNERDEAD);
}

static void sim_rejoin(struct sim *s, uint32_t who, uint32_t owner)
{
	bool lives = false;
	struct history_event *e;
	uint32_t i;

	for (i = 0; i < s->nr_done; i++)
		if (s->state[s->done[i]] == REJOIN &&
		    s->h->request[s->done[i]].owner == owner)
			break;
	if (i < s->nr_done) {
		i = s->done[i];
		e = call(s, who, HIST_RESULT);
		e->request = i;
		e->status = s->status[i];
		e->attempt = s->attempts[i];
		e->worker = s->worker[i];
		e->prio = s->h->request[i].prio;
		s->state[i] = GONE;
	} else {
		for (i = 0; i < s->h->nr_requests; i++)
			lives |= s->h->request[i].owner == owner &&
				 s->state[i] >= READY && s->state[i] <= REJOIN;
		e = call(s, who, lives ? HIST_NONE_READY : HIST_NONE_EXIST);
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
	s->h->nr_members = MEMBERS;
	memcpy(s->h->quota, ((uint32_t[]){ 0, 1, 3, CREW }), sizeof(s->h->quota));
	for (i = 0; i < MEMBERS; i++) {
		s->holds[i] = HIST_NOBODY;
		s->alive[i] = i;
	}
	while (!sim_over(s)) {
		uint32_t who = rnd(&s->seed) % MEMBERS, what = rnd(&s->seed) % 16;

		if (who >= CREW && what < 6)
			sim_post(s, who);
		else if (who >= CREW)
			sim_rejoin(s, who, rnd(&s->seed) % OWNERS);
		else if (!what)
			sim_die(s, who);
		else if (s->holds[who] == HIST_NOBODY)
			sim_fetch(s, who);
		else if (what < 8)
			sim_complete(s, who);
	}
}
