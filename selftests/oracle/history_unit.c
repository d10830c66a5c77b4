// SPDX-License-Identifier: GPL-2.0-only
/*
 * The checker of histories (history.h), tested itself. A dispatcher that is as simple
 * as can be, and right, makes histories by the dozen: none may be accused. Then one
 * thing in such a history is made wrong, and the checker has to name it.
 *
 * Needs no module. DXK_SEED repeats the histories of another run, DXK_ROUNDS says how
 * many.
 */
#include "lib/puppet.h"
#include "history/plants.h"

FIXTURE(history) {
	struct sim sim;
	struct history_report r;
	uint64_t seed;
};

FIXTURE_SETUP(history)
{
	self->seed = the_seed();
	TH_LOG("DXK_SEED=%llu", (unsigned long long)self->seed);
}

FIXTURE_TEARDOWN(history)
{
}

static unsigned int rounds(unsigned int usual)
{
	const char *given = getenv("DXK_ROUNDS");

	return given ? (unsigned int)atoi(given) : usual;
}

/* What was right is not accused, however the calls overlap; and there is something. */
TEST_F(history, right_ones_pass)
{
	unsigned int i, nr = rounds((unsigned int)times_of(200)), called = 0, late = 0;
	unsigned int nested = 0, deadlocks = 0, handed = 0, kept = 0, killed = 0;

	for (i = 0; i < nr; i++) {
		sim_run(&self->sim, self->seed + i, i % 2);
		ASSERT_TRUE(history_clean(self->sim.h, &self->r))
			TH_LOG("DXK_SEED=%llu", (unsigned long long)self->seed + i);
		EXPECT_LT(REQUESTS / 2, self->r.accepted);
		EXPECT_LE(self->r.accepted, self->r.starts + REQUESTS / 4);
		called += self->r.wakes[DXK_WAKE_CALL];
		late += self->r.wakes[DXK_WAKE_TIME];
		nested += self->r.nested;
		deadlocks += self->r.deadlocks;
		handed += self->r.handed;
		kept += self->r.kept;
		killed += self->r.killed;
		history_free(self->sim.h);
	}
	EXPECT_LT(0, self->r.none_exist);
	EXPECT_LT(0, self->r.none_ready);
	EXPECT_LT(0, self->r.stale);
	EXPECT_LT(0, self->r.pairs);
	EXPECT_LT(0, called);
	EXPECT_LT(0, late);
	TH_LOG("%u nested, %u EDEADLK, %u hand-overs, %u HOLD, %u met by CANCEL", nested,
	       deadlocks, handed, kept, killed);
	EXPECT_LT(0, nested);
	EXPECT_LT(0, deadlocks);
	EXPECT_LT(0, handed);
	EXPECT_LT(0, kept);
	EXPECT_LT(0, killed);
}

/* --- planted errors ------------------------------------------------------ */

/* The completion that a request ended with, or NULL. */
static struct history_event *end_of(struct sim *s, uint32_t request)
{
	uint32_t i, k;

	for (i = 0; i < s->h->nr_events; i++) {
		struct history_event *d = &s->h->event[i];

		if (d->kind != HIST_DONE || d->how != DONE_TAKEN || d->wait)
			continue;
		for (k = 0; k < s->h->nr_events; k++)
			if (s->h->event[k].kind == HIST_START &&
			    s->h->event[k].request == request &&
			    s->h->event[k].ticket == d->ticket)
				return d;
	}
	return NULL;
}

static bool fit_result(struct sim *s, struct history_event *e)
{
	return e->owner < OWNERS - 1 && e->status != -EOWNERDEAD &&
	       s->attempts[e->request] == 1 && !s->turn[e->request];
}

static bool fit_once(struct sim *s, struct history_event *e)
{
	return !(s->h->request[e->request].attrs & PXR_REDO);
}

static bool fit_redone(struct sim *s, struct history_event *e)
{
	(void)s;
	return e->attempt == 2;
}

static bool fit_taken(struct sim *s, struct history_event *e)
{
	(void)s;
	return e->how == DONE_TAKEN;
}

static bool fit_stale(struct sim *s, struct history_event *e)
{
	(void)s;
	return e->how == DONE_STALE;
}

static bool fit_refused(struct sim *s, struct history_event *e)
{
	return e->how == POST_REFUSED && s->h->request[e->request].attrs & PXR_REJOIN;
}

static bool fit_ready_long(struct sim *s, struct history_event *e)
{
	struct history_event *start = plant_event(s, HIST_START, e->request);

	return start && e->end + 100 < start->begin;
}

/* A result is gone: nobody ever collects it. */
static void plant_lost(struct sim *s)
{
	plant_some(s, HIST_RESULT, fit_result)->kind = HIST_NOTHING;
}

/* One without PXR_REJOIN is never executed. */
static bool fit_vanishing(struct sim *s, struct history_event *e)
{
	return !(s->h->request[e->request].attrs & PXR_REJOIN) && !e->key && e->attempt == 1 &&
	       s->attempts[e->request] == 1 && !s->turn[e->request] &&
	       !plant_event(s, HIST_CANCEL, e->request);
}

static void plant_lost_unexecuted(struct sim *s)
{
	struct history_event *e = plant_some(s, HIST_START, fit_vanishing);
	uint32_t i;

	for (i = 0; i < s->h->nr_events; i++)
		if (s->h->event[i].kind == HIST_DONE &&
		    s->h->event[i].ticket == e->ticket)
			s->h->event[i].kind = HIST_NOTHING;
	e->kind = HIST_NOTHING;
}

/* The post was refused, and yet it is executed. */
static void plant_ghost(struct sim *s)
{
	struct history_event *e = plant_some(s, HIST_RESULT, fit_result);

	plant_event(s, HIST_POST, e->request)->how = POST_REFUSED;
}

static void plant_ghost_result(struct sim *s)
{
	struct history_event *e = plant_some(s, HIST_POST, fit_refused);
	struct history_event *r = plant_copy(s, plant_some(s, HIST_RESULT, NULL));

	r->request = e->request;
	r->owner = s->h->request[e->request].owner;
}

static void plant_returned_twice(struct sim *s)
{
	plant_copy(s, plant_some(s, HIST_RESULT, NULL))->begin--;
}

/* A request without PXR_REDO is begun again. */
static void plant_started_twice(struct sim *s)
{
	struct history_event *e = plant_copy(s, plant_some(s, HIST_START, fit_once));

	e->ticket = ++s->tickets;
	e->attempt = 2;
	e->begin = s->now;
	e->end = s->now + 1;
}

/* One is done again though its first worker lives. */
static void plant_doubled(struct sim *s)
{
	struct history_event *e = plant_some(s, HIST_START, fit_redone);
	uint32_t i;

	for (i = 0; i < s->h->nr_events; i++) {
		struct history_event *first = &s->h->event[i];

		if (first->kind == HIST_START && first->request == e->request &&
		    first->attempt == 1) {
			s->h->member[first->member].begin = e->end + 1;
			s->h->member[first->member].end = e->end + 2;
		}
	}
}

/* Attempts are not counted: more beginnings than the policy allows. */
static void plant_too_often(struct sim *s)
{
	plant_some(s, HIST_START, fit_redone);
	s->h->redo_max = 1;
}

static void plant_wrong_status(struct sim *s)
{
	plant_some(s, HIST_RESULT, fit_result)->status += 1000;
}

static void plant_wrong_attempts(struct sim *s)
{
	plant_some(s, HIST_RESULT, NULL)->attempt++;
}

static void plant_wrong_owner(struct sim *s)
{
	struct history_event *e = plant_some(s, HIST_RESULT, NULL);

	e->owner = (e->owner + 1) % OWNERS;
}

/* Somebody asks between the post and the result, and is told that none exists. */
static void plant_none_exist(struct sim *s)
{
	struct history_event *e = plant_some(s, HIST_POST, fit_ready_long);
	struct history_event *n = plant_copy(s, e);

	n->kind = HIST_NONE_EXIST;
	n->owner = s->h->request[e->request].owner;
	n->begin = e->end + 1;
	n->end = e->end + 2;
}

/* Has the result lain there for some time? */
static bool fit_lay(struct sim *s, struct history_event *e)
{
	struct history_event *d = end_of(s, e->request);

	return d && d->end + 10 < e->begin;
}

static void plant_none_ready(struct sim *s)
{
	struct history_event *e = plant_some(s, HIST_RESULT, fit_lay);
	struct history_event *n = plant_copy(s, e);

	n->kind = HIST_NONE_READY;
	n->begin = e->begin - 3;
	n->end = e->begin - 2;
}

/* The newest result of an owner is returned first of all. */
static bool fit_late(struct sim *s, struct history_event *e)
{
	uint32_t i, earlier = 0;

	if (!fit_result(s, e))
		return false;
	for (i = 0; i < s->h->nr_events; i++) {
		struct history_event *o = &s->h->event[i];

		earlier += o->kind == HIST_RESULT && o->owner == e->owner && o < e &&
			   fit_result(s, o);
	}
	return earlier > 4;
}

static void plant_wrong_order(struct sim *s)
{
	struct history_event *e = plant_some(s, HIST_RESULT, fit_late);
	uint32_t i;

	/* all the others are returned much later */
	for (i = 0; i < s->h->nr_events; i++) {
		struct history_event *o = &s->h->event[i];

		if (o->kind == HIST_RESULT && o->owner == e->owner && o < e) {
			o->begin = s->now + 1;
			o->end = s->now + 2;
		}
	}
}

/* What waited was more urgent than all that was given meanwhile. */
static bool fit_passed(struct sim *s, struct history_event *e)
{
	struct history_event *start = plant_event(s, HIST_START, e->request), *o;
	uint32_t i;

	if (!start || s->h->request[e->request].attrs & (PXR_LANE1 | PXR_LANE2 | PXR_WAIT |
							 PXR_KEY))
		return false;
	for (i = 0; i < s->h->nr_events; i++) {
		o = &s->h->event[i];
		if (o->kind == HIST_START && !o->nested && o->begin > e->end &&
		    o->end < start->begin)
			return true;
	}
	return false;
}

static void plant_inversion(struct sim *s)
{
	struct history_event *e = plant_some(s, HIST_POST, fit_passed);
	uint32_t i;

	s->h->request[e->request].prio = 7;
	for (i = 0; i < s->h->nr_events; i++)
		if (s->h->event[i].request == e->request)
			s->h->event[i].prio = 7;
}

/* All the others become such as follow at once what they wait for, if that is why they start. */
static void make_eager(struct history *h, uint32_t but, uint8_t wake)
{
	uint32_t i;

	for (i = 0; i < h->nr_requests; i++) {
		if (i == but)
			continue;
		h->request[i].attrs |= PXR_WAIT;
		h->request[i].wait = DXK_WAIT_JOIN | DXK_WAIT_EAGER;
	}
	for (i = 0; i < h->nr_events; i++) {
		struct history_event *e = &h->event[i];

		if (e->kind == HIST_DONE && e->wait)
			e->wait |= DXK_WAIT_EAGER;
		if (e->kind != HIST_START)
			continue;
		e->wake = wake;
		/* One that is begun again follows nobody: not compared. */
		e->nested |= e->attempt > 1;
	}
}

static bool fit_turn(struct sim *s, struct history_event *e)
{
	(void)s;
	return e->turn == 1 && e->attempt == 1 && !e->nested;
}

static void plant_wrong_prio(struct sim *s)
{
	struct history_event *e = plant_some(s, HIST_START, fit_turn);

	e->prio++;
	e = plant_event(s, HIST_RESULT, e->request);
	if (e)
		e->prio++;
}

static void plant_lane_overrun(struct sim *s)
{
	s->h->quota[2] = 0;
}

/* --- of requests that wait ------------------------------------------------- */

static bool fit_woken(struct history_event *e, uint8_t wake)
{
	return e->wake == wake && e->attempt == 1;
}

static bool fit_time(struct sim *s, struct history_event *e)
{
	(void)s;
	return fit_woken(e, DXK_WAKE_TIME);
}

static bool fit_called(struct sim *s, struct history_event *e)
{
	(void)s;
	return fit_woken(e, DXK_WAKE_CALL);
}

static bool fit_deadlock(struct sim *s, struct history_event *e)
{
	(void)s;
	return fit_woken(e, DXK_WAKE_DEADLOCK);
}

static bool fit_told(struct sim *s, struct history_event *e)
{
	(void)s;
	return fit_woken(e, DXK_WAKE_CANCEL) && !e->key;
}

/* How the turn before that of @e ended; NULL: it is the first one. */
static struct history_event *park_of(struct sim *s, const struct history_event *e)
{
	uint64_t ticket = 0;
	uint32_t i;

	for (i = 0; e->turn && i < s->h->nr_events; i++) {
		struct history_event *o = &s->h->event[i];

		if (o->kind == HIST_START && o->request == e->request &&
		    o->turn == e->turn - 1)
			ticket = o->ticket;
	}
	for (i = 0; i < s->h->nr_events; i++)
		if (s->h->event[i].kind == HIST_DONE && s->h->event[i].ticket == ticket &&
		    s->h->event[i].how == DONE_TAKEN)
			return &s->h->event[i];
	return NULL;
}

/* Turns are numbered with a gap. */
static void plant_turn_missing(struct sim *s)
{
	struct history_event *e = plant_some(s, HIST_START, fit_turn);
	uint32_t i;

	for (i = 0; i < s->h->nr_events; i++)
		if (s->h->event[i].kind == HIST_START &&
		    s->h->event[i].request == e->request && s->h->event[i].turn)
			s->h->event[i].turn++;
}

/* One more turn, though the one before has ended with a status. */
static void plant_turn_too_many(struct sim *s)
{
	struct history_event *e = plant_some(s, HIST_START, fit_turn), *park = park_of(s, e);

	if (park)
		park->wait = 0;
}

/* It waits, and is never woken. */
static bool fit_last_turn(struct sim *s, struct history_event *e)
{
	return e->turn && e->turn == s->turn[e->request] && e->attempt == 1 &&
	       s->attempts[e->request] == 1;
}

static void plant_never_woken(struct sim *s)
{
	struct history_event *e = plant_some(s, HIST_START, fit_last_turn);
	struct history_event *result = plant_event(s, HIST_RESULT, e->request);
	uint32_t i;

	for (i = 0; i < s->h->nr_events; i++)
		if (s->h->event[i].kind == HIST_DONE &&
		    s->h->event[i].ticket == e->ticket)
			s->h->event[i].kind = HIST_NOTHING;
	e->kind = HIST_NOTHING;
	if (result)
		result->kind = HIST_NOTHING;
}

static void plant_other_reason(struct sim *s)
{
	plant_some(s, HIST_START, fit_time)->wake = DXK_WAKE_AGAIN;
}

static void plant_no_reason(struct sim *s)
{
	plant_some(s, HIST_START, fit_turn)->wake = DXK_WAKE_NONE;
}

static bool fit_turn_again(struct sim *s, struct history_event *e)
{
	(void)s;
	return e->turn && e->attempt == 2 && e->wake == DXK_WAKE_TIME;
}

/* Begun again, a turn has another reason than at first. */
static void plant_reason_changes(struct sim *s)
{
	plant_some(s, HIST_START, fit_turn_again)->wake = DXK_WAKE_AGAIN;
}

static void plant_too_early(struct sim *s)
{
	struct history_event *e = plant_some(s, HIST_START, fit_time), *park = park_of(s, e);

	e->time = (park ? park->time : s->h->request[e->request].deadline) - 1;
}

static bool fit_call(struct sim *s, struct history_event *e)
{
	struct history_event *call = plant_event(s, HIST_CALL, e->request);

	return fit_called(s, e) && call;
}

static void plant_not_called(struct sim *s)
{
	plant_forget(s, HIST_CALL, plant_some(s, HIST_START, fit_call)->request, 0);
}

/* Of its calls only one is left, and it has had two turns for that. */
static bool fit_called_twice(struct sim *s, struct history_event *e)
{
	uint32_t i, nr = 0;

	for (i = 0; i < s->h->nr_events; i++)
		nr += s->h->event[i].kind == HIST_START &&
		      s->h->event[i].request == e->request &&
		      fit_called(s, &s->h->event[i]);
	return nr > 1;
}

static void plant_called_once(struct sim *s)
{
	plant_forget(s, HIST_CALL, plant_some(s, HIST_START, fit_called_twice)->request, 1);
}

/* Had an owner something coming, and nothing else, from @from until @until? */
static bool is_coming(struct sim *s, uint32_t owner, uint64_t from, uint64_t until)
{
	bool coming = false;
	uint32_t i;

	for (i = 0; i < s->h->nr_requests; i++) {
		struct history_event *post = plant_event(s, HIST_POST, i), *end, *result;

		if (s->h->request[i].owner != owner || post->how != POST_TAKEN)
			continue;
		end = end_of(s, i);
		result = plant_event(s, HIST_RESULT, i);
		coming |= post->end < from && end && end->begin > until;
		if (post->begin < until && (!end || end->begin < until) &&
		    s->h->request[i].attrs & PXR_REJOIN && (!result || result->end > from))
			return false;
	}
	return coming;
}

/* A turn for what an owner has had, which was to be that of another one. */
static void plant_owner(struct sim *s, uint8_t wake)
{
	uint32_t i, owner;

	for (i = 0; i < s->h->nr_events; i++) {
		struct history_event *e = &s->h->event[i], *park;

		if (e->kind != HIST_START || !e->turn || !fit_woken(e, wake))
			continue;
		park = park_of(s, e);
		for (owner = 0; park && owner < OWNERS; owner++)
			if (is_coming(s, owner, park->begin, e->end)) {
				park->awaited = owner;
				return;
			}
	}
	plant_none(s);
}

static void plant_no_result(struct sim *s)
{
	plant_owner(s, DXK_WAKE_RESULT);
}

static void plant_not_joined(struct sim *s)
{
	plant_owner(s, DXK_WAKE_JOIN);
}

static void plant_no_deadlock(struct sim *s)
{
	struct history_event *e = plant_some(s, HIST_START, fit_deadlock), *park = park_of(s, e);

	if (park)
		park->awaited = (park->awaited + 1) % OWNERS;
}

static void plant_not_cancelled(struct sim *s)
{
	plant_forget(s, HIST_CANCEL, plant_some(s, HIST_START, fit_told)->request, 0);
}

static bool fit_cancelled(struct sim *s, struct history_event *e)
{
	(void)s;
	return e->status == -ECANCELED && !e->attempt;
}

/* A result says that nobody has begun the request, and nobody has cancelled it. */
static void plant_ended_early(struct sim *s)
{
	struct history_event *e = plant_some(s, HIST_RESULT, fit_cancelled);

	e->status = -ETIME;
}

/* While a request waits somebody is told that none of its owner exists. */
static bool fit_waited_long(struct sim *s, struct history_event *e)
{
	struct history_event *park = park_of(s, e);
	struct history_event *result = plant_event(s, HIST_RESULT, e->request);

	return fit_turn(s, e) && park && park->end + 10 < e->begin &&
	       (!result || result->begin > park->end + 10);
}

static void plant_none_waits(struct sim *s)
{
	struct history_event *e = plant_some(s, HIST_START, fit_waited_long), *n;
	struct history_event *park = park_of(s, e);

	if (!park)
		return;
	n = plant_copy(s, e);
	n->kind = HIST_NONE_EXIST;
	n->owner = s->h->request[e->request].owner;
	n->begin = park->end + 1;
	n->end = park->end + 2;
}

static bool fit_found(struct sim *s, struct history_event *e)
{
	struct history_event *end = end_of(s, e->request);

	return e->how == NAME_FOUND && end && end->begin > e->end;
}

static void plant_not_found(struct sim *s)
{
	plant_some(s, HIST_CALL, fit_found)->how = NAME_NONE;
}

static bool fit_found_never(struct sim *s, struct history_event *e)
{
	struct history_event *end = end_of(s, e->request);

	return e->how == NAME_NONE && end && end->end < e->begin;
}

static void plant_found(struct sim *s)
{
	plant_some(s, HIST_CALL, fit_found_never)->how = NAME_FOUND;
}

/* Somebody else's ticket is taken. */
static void plant_stale_taken(struct sim *s)
{
	plant_some(s, HIST_DONE, fit_stale)->how = DONE_TAKEN;
}

static void plant_stale_refused(struct sim *s)
{
	plant_some(s, HIST_DONE, fit_taken)->how = DONE_STALE;
}

static const struct plant plants[] = {
	{ "a result that nobody gets", HIST_LOST, plant_lost },
	{ "a request that nobody executes", HIST_LOST, plant_lost_unexecuted },
	{ "a refused request that runs", HIST_GHOST, plant_ghost },
	{ "a result of a refused request", HIST_GHOST, plant_ghost_result },
	{ "a result that comes twice", HIST_RETURNED_TWICE, plant_returned_twice },
	{ "a request that is begun twice", HIST_STARTED_TWICE, plant_started_twice },
	{ "one done again while it is done", HIST_STARTED_TWICE, plant_doubled },
	{ "one done again too often", HIST_STARTED_TWICE, plant_too_often },
	{ "another status", HIST_WRONG_RESULT, plant_wrong_status },
	{ "another number of attempts", HIST_WRONG_RESULT, plant_wrong_attempts },
	{ "a result of another owner", HIST_WRONG_OWNER, plant_wrong_owner },
	{ "none exists, and one does", HIST_FALSE_NONE_EXIST, plant_none_exist },
	{ "none ready, and one is", HIST_FALSE_NONE_READY, plant_none_ready },
	{ "the last result first", HIST_WRONG_ORDER, plant_wrong_order },
	{ "the less urgent first", HIST_INVERSION, plant_inversion },
	{ "a priority that changed", HIST_WRONG_PRIO, plant_wrong_prio },
	{ "too many in a lane", HIST_LANE_OVERRUN, plant_lane_overrun },
	{ "a stale completion taken", HIST_STALE_TAKEN, plant_stale_taken },
	{ "a good completion refused", HIST_STALE_REFUSED, plant_stale_refused },
	{ "a turn that is missing", HIST_WRONG_TURN, plant_turn_missing },
	{ "a turn after the last", HIST_WRONG_TURN, plant_turn_too_many },
	{ "a wait without end", HIST_LOST, plant_never_woken },
	{ "none exists, and one waits", HIST_FALSE_NONE_EXIST, plant_none_waits },
	{ "a reason that was not waited for", HIST_WRONG_WAKE, plant_other_reason },
	{ "a turn without a reason", HIST_WRONG_WAKE, plant_no_reason },
	{ "another reason at the second attempt", HIST_WRONG_WAKE, plant_reason_changes },
	{ "a call that nobody made", HIST_WRONG_WAKE, plant_not_called },
	{ "two turns for one call", HIST_WRONG_WAKE, plant_called_once },
	{ "a result that was not there", HIST_WRONG_WAKE, plant_no_result },
	{ "an end before the last one's", HIST_WRONG_WAKE, plant_not_joined },
	{ "a circle that is none", HIST_WRONG_WAKE, plant_no_deadlock },
	{ "a cancel that nobody made", HIST_WRONG_WAKE, plant_not_cancelled },
	{ "one that expired and could not", HIST_WRONG_RESULT, plant_ended_early },
	{ "a time that had not come", HIST_TOO_EARLY, plant_too_early },
	{ "a name that is not found", HIST_WRONG_NAME, plant_not_found },
	{ "a name of what has ended", HIST_WRONG_NAME, plant_found },
};

/* Who follows at once what it waited for has passed others rightly (CO-16). */
TEST_F(history, eager_ones_pass)
{
	uint32_t passed = HIST_NOBODY, i, tries = 0;

	/* one that others have passed wrongly */
	do {
		if (passed != HIST_NOBODY)
			history_free(self->sim.h);
		ASSERT_GT(100, tries++);
		sim_run(&self->sim, self->seed++, true);
		plant_inversion(&self->sim);
		passed = 0;
		for (i = 0; i < self->sim.h->nr_requests; i++)
			if (self->sim.h->request[i].prio == 7)
				passed = i;
		make_eager(self->sim.h, passed, DXK_WAKE_TIME);
		history_check(self->sim.h, &self->r);
	} while (self->sim.missing || !self->r.nr[HIST_INVERSION]);
	make_eager(self->sim.h, passed, DXK_WAKE_JOIN);
	history_check(self->sim.h, &self->r);
	EXPECT_EQ(0, self->r.nr[HIST_INVERSION]) TH_LOG("%s", self->r.first[HIST_INVERSION]);
	EXPECT_LT(0, self->r.pairs);
	history_free(self->sim.h);
}

/* Each planted error is found, by its name, and each name has a plant. */
TEST_F(history, planted_errors_are_found)
{
	bool named[HIST_ERRORS] = { false };
	unsigned int i, e, unnamed = 0;
	uint64_t seed = self->seed;

	for (i = 0; i < ARRAY_SIZE(plants) + nr_key_plants; i++) {
		const struct plant *p = i < ARRAY_SIZE(plants) ?
					&plants[i] : &key_plants[i - ARRAY_SIZE(plants)];

		/* calls of some width would hide some errors rightly */
		do {
			sim_run(&self->sim, seed++, true);
			ASSERT_TRUE(history_clean(self->sim.h, &self->r));
			p->plant(&self->sim);
			history_check(self->sim.h, &self->r);
			if (self->sim.missing)
				history_free(self->sim.h);
		} while (self->sim.missing);
		EXPECT_LT(0, self->r.nr[p->error])
			TH_LOG("%s: not found", p->name);
		TH_LOG("%s: %s", p->name, self->r.first[p->error]);
		named[p->error] = true;
		history_free(self->sim.h);
	}
	for (e = 0; e < HIST_ERRORS; e++)
		unnamed += !named[e];
	EXPECT_EQ(0, unnamed);
}

/* What an interval leaves open is no error: calls that overlap prove nothing. */
TEST_F(history, overlapping_calls_prove_nothing)
{
	static const struct history_event event[] = {
		{ .kind = HIST_POST, .how = POST_TAKEN, .begin = 10, .end = 20 },
		/* it may have been answered just before the request was taken */
		{ .kind = HIST_NONE_EXIST, .request = HIST_NOBODY, .begin = 10, .end = 21 },
		{ .kind = HIST_START, .ticket = 1, .worker = 1, .attempt = 1,
		  .begin = 22, .end = 30 },
		{ .kind = HIST_DONE, .how = DONE_TAKEN, .ticket = 1, .begin = 31, .end = 40 },
		/* and this one before it was completed */
		{ .kind = HIST_NONE_READY, .request = HIST_NOBODY, .begin = 39, .end = 44 },
		{ .kind = HIST_RESULT, .attempt = 1, .worker = 1, .begin = 50, .end = 60 },
		{ .kind = HIST_NONE_EXIST, .request = HIST_NOBODY, .begin = 55, .end = 58 },
	};
	struct history *h = history_new(1, ARRAY_SIZE(event), 1);

	h->redo_max = 1;
	h->quota[3] = 1;
	h->nr_requests = h->nr_members = 1;
	h->nr_events = ARRAY_SIZE(event);
	h->request[0].attrs = PXR_REJOIN;
	h->request[0].space = HIST_NOBODY;
	memcpy(h->event, event, sizeof(event));
	EXPECT_TRUE(history_clean(h, &self->r));
	/* a little later and it would be a lie */
	h->event[1].begin = 21;
	h->event[1].end = 22;
	history_check(h, &self->r);
	EXPECT_EQ(1, self->r.nr[HIST_FALSE_NONE_EXIST]);
	EXPECT_EQ(1, self->r.total);
	history_free(h);
}

/*
 * D-14: a request that has got another key with a wait is Held behind that one, and has its turn
 * only after the caller was told.
 */
TEST_F(history, circle_over_one_that_moved)
{
	static const struct history_event event[] = {
		{ .kind = HIST_POST, .how = POST_TAKEN, .begin = 1, .end = 2 },
		{ .kind = HIST_START, .ticket = 1, .owner = 1, .worker = 1, .attempt = 1, .key = 2,
		  .begin = 3, .end = 4 },
		{ .kind = HIST_POST, .how = POST_TAKEN, .request = 1, .begin = 5, .end = 6 },
		{ .kind = HIST_START, .ticket = 2, .request = 1, .owner = 2, .worker = 2,
		  .attempt = 1, .key = 1, .member = 1, .begin = 7, .end = 8 },
		{ .kind = HIST_DONE, .how = DONE_TAKEN, .ticket = 2, .member = 1, .key = 2,
		  .wait = DXK_WAIT_AGAIN | DXK_WAIT_MOVE, .begin = 9, .end = 10 },
		{ .kind = HIST_DEADLOCK, .request = HIST_NOBODY, .owner = 2, .begin = 11, .end = 12,
		  .deadline = DXK_FOREVER },
		{ .kind = HIST_DONE, .how = DONE_TAKEN, .ticket = 1, .begin = 13, .end = 14 },
		{ .kind = HIST_START, .ticket = 3, .request = 1, .owner = 2, .worker = 2,
		  .attempt = 1, .key = 2, .member = 1, .turn = 1, .wake = DXK_WAKE_AGAIN,
		  .begin = 15, .end = 16 },
		{ .kind = HIST_DONE, .how = DONE_TAKEN, .ticket = 3, .member = 1,
		  .begin = 17, .end = 18 },
		{ .kind = HIST_RESULT, .owner = 1, .attempt = 1, .worker = 1, .member = 2,
		  .begin = 19, .end = 20 },
		{ .kind = HIST_RESULT, .request = 1, .owner = 2, .attempt = 1, .worker = 2,
		  .member = 2, .begin = 21, .end = 22 },
	};
	struct history *h = history_new(2, ARRAY_SIZE(event), 3);
	uint32_t i;

	h->redo_max = 1;
	h->quota[3] = 2;
	h->key_batch = KEY_BATCH;
	h->waits = true;
	h->nr_requests = 2;
	h->nr_members = 3;
	h->nr_events = ARRAY_SIZE(event);
	for (i = 0; i < 2; i++)
		h->request[i] = (struct history_request){
			.owner = 1 + i, .space = HIST_NOBODY, .attrs = PXR_REJOIN | PXR_KEY,
			.batch = i, .key = 2 - i,
		};
	memcpy(h->event, event, sizeof(event));
	EXPECT_TRUE(history_clean(h, &self->r));
	EXPECT_EQ(1, self->r.deadlocks);
	/* where it is of a key that the caller does not have it waits for nobody */
	h->event[4].key = h->event[7].key = 3;
	history_check(h, &self->r);
	EXPECT_EQ(1, self->r.nr[HIST_WRONG_DEADLOCK]);
	EXPECT_EQ(1, self->r.total);
	history_free(h);
}

TEST_HARNESS_MAIN
