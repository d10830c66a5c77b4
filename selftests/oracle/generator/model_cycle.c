// SPDX-License-Identifier: GPL-2.0-only
/*
 * The engine of the picture (model.h): who would wait for himself. Keys are not in it, so a
 * circle has two kinds of links: a request that waits for an owner and for nothing else, and a
 * request whose worker sleeps for results of an owner.
 */
#define DXT_NO_HARNESS
#include "model_engine.h"

/* As many requests as the module looks at, and no longer a way. */
#define STEPS	64
#define DEPTH	32

struct search {
	struct ctx *c;
	const struct member *m;		/* who would sleep, or NULL */
	const struct req *r;		/* what would wait, or NULL */
	bool posted;			/* and does not count yet */
	int steps, depth;
};

static bool owner_is_dead(struct search *s, const struct space *space, uint64_t owner,
			  const struct member *but, int coming, int want);

static bool results_are_dead(struct search *s, const struct member *m, const struct space *space,
			     uint64_t owner, int min, int mine)
{
	int coming = engine_owner_coming(s->c, space, owner) - mine;
	int done = engine_owner_count(s->c, space, owner, DONE) +
		   engine_owner_count(s->c, space, owner, LEAVING);
	int want;

	/* it gets what there is, as results that lie there keep workers waiting */
	if (s->c->policy.rejoin_full == DXK_REJOIN_BLOCK_WORKER)
		min = 1;
	want = min > done ? min - done : 0;
	return owner_is_dead(s, space, owner, m, coming, want < coming ? want : coming);
}

static bool member_is_dead(struct search *s, struct member *m)
{
	bool dead;

	if (m == s->m || m->seen)
		return true;
	if (m->sleep != S_REJOIN || !m->nr_busy || m->timed ||
	    !(engine_owner_coming(s->c, m->space, m->owner) +
	      engine_owner_count(s->c, m->space, m->owner, DONE) +
	      engine_owner_count(s->c, m->space, m->owner, LEAVING)))
		return false;
	m->seen = true;
	dead = results_are_dead(s, m, m->space, m->owner, m->min, m->mine);
	m->seen = false;
	return dead;
}

static struct member *worker_of(const struct ctx *c, const struct req *r)
{
	struct member *m;
	int i;

	for (m = engine_members; m < engine_members + MEMBERS; m++)
		for (i = 0; m->used && m->ctx == c && i < m->nr_busy; i++)
			if (m->busy[i] == r)
				return m;
	return NULL;
}

static bool request_is_dead(struct search *s, struct req *r)
{
	int coming = engine_owner_coming(s->c, r->space, r->wait.owner);
	struct member *m;
	bool dead;

	if (r == s->r)
		return true;
	if (r->state == WORK) {
		m = worker_of(s->c, r);
		return m && member_is_dead(s, m);
	}
	if (r->state != WAITING || r->ripe)
		return false;
	if (r->seen)
		return true;
	if (r->wait.wait & (DXK_WAIT_TIME | DXK_WAIT_CALL) || r->expire != DXK_FOREVER)
		return false;
	r->seen = true;
	if (r->wait.wait & DXK_WAIT_RESULT)
		dead = results_are_dead(s, NULL, r->space, r->wait.owner, 1, 0);
	else
		dead = owner_is_dead(s, r->space, r->wait.owner, NULL, coming, coming);
	r->seen = false;
	return dead;
}

/* Those of the owner that the worker executes, and that say nothing of it. */
static int plain_ones(const struct member *m, const struct space *space, uint64_t owner)
{
	int i, nr = 0;

	for (i = 0; i < m->nr_busy; i++)
		nr += engine_of_owner(m->busy[i], space, owner) && !m->busy[i]->more;
	return nr;
}

static struct req *next_of(const struct ctx *c, const struct space *space, uint64_t owner,
			   uint64_t after)
{
	struct req *first = NULL;
	int i;

	for (i = 0; i < c->nr_live; i++) {
		struct req *r = c->live[i];

		if (engine_of_owner(r, space, owner) && r->sibling_seq > after &&
		    r->state != DONE && r->state != LEAVING &&
		    (!first || r->sibling_seq < first->sibling_seq))
			first = r;
	}
	return first;
}

/* Of those that are coming it needs so many: are too few left that go on? */
static bool owner_is_dead(struct search *s, const struct space *space, uint64_t owner,
			  const struct member *but, int coming, int want)
{
	int left = coming - engine_owner_count(s->c, space, owner, READY);
	int enough = coming - want + 1, nr;
	struct member *m = NULL;
	struct req *r = NULL;

	if (!want || s->depth == DEPTH)
		return false;
	nr = s->posted && s->r->space == space && s->r->owner == owner;
	s->depth++;
	if (s->m && s->m != but)
		nr += plain_ones(s->m, space, owner);
	/* a sleeper is found by what it has newest */
	while ((m = engine_sleeper(s->c, S_REJOIN, m ? m->arrival : 0))) {
		if (!m->nr_busy || !engine_of_owner(m->busy[m->nr_busy - 1], space, owner))
			continue;
		if (nr >= enough || left < enough || !s->steps)
			break;
		s->steps--;
		if (m != but && member_is_dead(s, m))
			nr += plain_ones(m, space, owner);
	}
	while ((r = next_of(s->c, space, owner, r ? r->sibling_seq : 0))) {
		if (nr >= enough || left < enough || !s->steps)
			break;
		s->steps--;
		if (r->state == READY || (but && worker_of(s->c, r) == but))
			continue;
		if (request_is_dead(s, r))
			nr++;
		else
			left--;
	}
	s->depth--;
	return nr >= enough;
}

bool engine_wait_is_dead(struct ctx *c, const struct req *r, bool posted)
{
	struct search s = { .c = c, .r = r, .posted = posted, .steps = STEPS };
	int coming = engine_owner_coming(c, r->space, r->wait.owner);

	if (r->wait.wait & DXK_WAIT_RESULT)
		return results_are_dead(&s, NULL, r->space, r->wait.owner, 1, 0);
	return owner_is_dead(&s, r->space, r->wait.owner, NULL, coming, coming);
}

bool engine_rejoin_is_dead(struct ctx *c, const struct member *m)
{
	struct search s = { .c = c, .m = m, .steps = STEPS };

	return results_are_dead(&s, m, m->space, m->owner, m->min, m->mine);
}
