// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Owners: the hash, and the answers of rejoin against a model that counts. The
 * model test makes its calls as threads do, by calls.h.
 */
#include "engine/tests/draw.h"
#include "engine/tests/puppet.h"

#define OWNERS		5
#define WORKERS		6
#define MANY		10000

struct hash {
	struct dxk_engine e;
	struct dxk_space space;
	struct dxk_stash spares;
};

static void hash_release(void *arg)
{
	struct hash *h = arg;

	dxk_owners_destroy(&h->e.owners);
	dxk_owner_stash_free(&h->spares);
}

static struct hash *hash_make(struct kunit *test, u32 max_requests)
{
	struct hash *h = kunit_kzalloc(test, sizeof(*h), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, h);
	dxk_engine_init(&h->e);
	h->e.policy.max_requests = max_requests;
	KUNIT_ASSERT_EQ(test, dxk_owners_start(&h->e), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, hash_release, h), 0);
	return h;
}

/* Owners in the hash, the longest chain, and how many chains there are. */
static u32 hash_count(const struct hash *h, u32 *longest, u32 *chains)
{
	struct dxk_owner *own;
	u32 i, nr = 0;

	*longest = 0;
	*chains = 0;
	for (i = 0; i < 1U << h->e.owners.bits; i++) {
		u32 chain = 0;

		hlist_for_each_entry(own, &h->e.owners.bucket[i], hash)
			chain++;
		*longest = max(*longest, chain);
		*chains += !!chain;
		nr += chain;
	}
	return nr;
}

/* DX-49: any cookie is an owner, 0 too; DX-55: and again after it was gone */
static void owner_enter_and_leave(struct kunit *test)
{
	static const u64 cookies[] = { 0, 1, U64_MAX, 1ULL << 32, 0xffff888000001000 };
	struct hash *h = hash_make(test, 64);
	struct dxk_owner *own[5];
	u32 round, i, longest, chains;

	KUNIT_ASSERT_EQ(test, dxk_owner_stash_fill(&h->e.owners, &h->spares, 5), 0);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 5; i++) {
			KUNIT_EXPECT_NULL(test, dxk_owner_find(&h->e.owners, &h->space,
							       cookies[i]));
			own[i] = dxk_owner_enter(&h->e.owners, &h->space, cookies[i], &h->spares);
			KUNIT_EXPECT_EQ(test, own[i]->cookie, cookies[i]);
			KUNIT_EXPECT_EQ(test, dxk_owner_live(own[i]), 0);
			KUNIT_EXPECT_EQ(test, own[i]->nr_done, 0);
			/* one record per owner */
			KUNIT_EXPECT_PTR_EQ(test, own[i],
					    dxk_owner_enter(&h->e.owners, &h->space, cookies[i],
							    &h->spares));
		}
		KUNIT_EXPECT_EQ(test, h->e.owners.nr, 5);
		/* later rounds take what the first has left */
		KUNIT_EXPECT_EQ(test, h->spares.nr, 0);
		for (i = 0; i < 5; i++) {
			KUNIT_EXPECT_PTR_EQ(test, own[i],
					    dxk_owner_find(&h->e.owners, &h->space, cookies[i]));
			dxk_owner_leave(&h->e.owners, own[i]);
			KUNIT_EXPECT_NULL(test, dxk_owner_find(&h->e.owners, &h->space,
							       cookies[i]));
		}
		KUNIT_EXPECT_EQ(test, h->e.owners.spares.nr, 5);
	}
	KUNIT_EXPECT_EQ(test, hash_count(h, &longest, &chains), 0);
}

/* What is free is kept for the next posts; a stash that was emptied can be filled again. */
static void owner_stash(struct kunit *test)
{
	struct hash *h = hash_make(test, 64);
	struct dxk_stash *stash = &h->spares;
	u32 round;

	for (round = 0; round < 2; round++) {
		KUNIT_ASSERT_EQ(test, dxk_owner_stash_fill(&h->e.owners, stash, 3), 0);
		KUNIT_EXPECT_EQ(test, stash->nr, 3);
		KUNIT_ASSERT_EQ(test, dxk_owner_stash_fill(&h->e.owners, stash, 2), 0);
		KUNIT_EXPECT_EQ(test, stash->nr, 3);
		dxk_owner_stash_free(stash);
		KUNIT_ASSERT_EQ(test, stash->nr, 0);
	}
}

/* A start that failed leaves no hash, but one with owners in it stays. */
static void owner_unstart(struct kunit *test)
{
	struct hash *h = hash_make(test, 64);
	struct dxk_owner *own;

	KUNIT_ASSERT_EQ(test, dxk_owner_stash_fill(&h->e.owners, &h->spares, 1), 0);
	own = dxk_owner_enter(&h->e.owners, &h->space, 1, &h->spares);
	dxk_owners_unstart(&h->e);
	KUNIT_EXPECT_PTR_EQ(test, own, dxk_owner_find(&h->e.owners, &h->space, 1));
	/* and so it does when the next run begins, with another policy */
	h->e.policy.max_requests = 1 << 10;
	h->e.policy.rejoin_entries = 77;
	KUNIT_ASSERT_EQ(test, dxk_owners_start(&h->e), 0);
	KUNIT_EXPECT_EQ(test, h->e.owners.bits, 4);
	KUNIT_EXPECT_EQ(test, h->e.owners.entries, 77);
	KUNIT_EXPECT_PTR_EQ(test, own, dxk_owner_find(&h->e.owners, &h->space, 1));
	dxk_owner_leave(&h->e.owners, own);
	dxk_owners_unstart(&h->e);
	KUNIT_EXPECT_NULL(test, h->e.owners.bucket);
	KUNIT_EXPECT_NULL(test, dxk_owner_find(&h->e.owners, &h->space, 1));
	KUNIT_ASSERT_EQ(test, dxk_owners_start(&h->e), 0);
	KUNIT_EXPECT_EQ(test, h->e.owners.bits, 8);
	/* by chance once in 2^32 */
	KUNIT_EXPECT_NE(test, h->e.owners.seed, 0);
}

/* Cookies as programs make them: addresses, counters, both halves alone. */
static u64 cookie_of(u32 i)
{
	switch (i % 4) {
	case 0:
		return 0xffff888000000000 + 4096ULL * i;
	case 1:
		return i;
	case 2:
		return (u64)i << 32;
	default:
		return 0x7f0000000000 + 64ULL * i;
	}
}

/* Many owners: each is found, chains stay short, nothing is left at the end. */
static void owner_many(struct kunit *test)
{
	struct hash *h = hash_make(test, MANY);
	u32 i, longest, chains, wrong = 0;

	for (i = 0; i < MANY; i++) {
		KUNIT_ASSERT_EQ(test, dxk_owner_stash_fill(&h->e.owners, &h->spares,
							   1 + i % DXK_STASH_MAX), 0);
		wrong += dxk_owner_enter(&h->e.owners, &h->space, cookie_of(i),
					 &h->spares)->cookie !=
			 cookie_of(i);
	}
	KUNIT_EXPECT_EQ(test, h->e.owners.nr, MANY);
	KUNIT_EXPECT_EQ(test, hash_count(h, &longest, &chains), MANY);
	/* about 5 on average; 32 by chance is once in 10^13 */
	KUNIT_EXPECT_LT(test, longest, 32);
	KUNIT_EXPECT_GT(test, longest, 1);
	/* all of the hash is in use */
	KUNIT_EXPECT_GT(test, chains, (1U << h->e.owners.bits) / 4 * 3);
	for (i = 0; i < MANY; i++) {
		struct dxk_owner *own = dxk_owner_find(&h->e.owners, &h->space, cookie_of(i));

		wrong += !own || own->cookie != cookie_of(i);
		wrong += !!dxk_owner_find(&h->e.owners, &h->space, cookie_of(i) + (1ULL << 60));
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);

	/* 7919 is prime: every one, in another order */
	for (i = 0; i < MANY; i++) {
		struct dxk_owner *own = dxk_owner_find(&h->e.owners, &h->space,
						       cookie_of(i * 7919U % MANY));

		KUNIT_ASSERT_NOT_NULL(test, own);
		dxk_owner_leave(&h->e.owners, own);
	}
	KUNIT_EXPECT_EQ(test, h->e.owners.nr, 0);
	KUNIT_EXPECT_EQ(test, hash_count(h, &longest, &chains), 0);
	/* what the next owners can need is kept, not what has once been */
	KUNIT_EXPECT_GT(test, h->e.owners.spares.nr, 0);
	KUNIT_EXPECT_LE(test, h->e.owners.spares.nr, DXK_STASH_MAX);
}

/* Records beyond those for the next owners are for whoever needs some, while the context runs. */
static void owner_kept(struct kunit *test)
{
	struct hash *h = hash_make(test, 2 * DXK_STASH_MAX);
	struct dxk_owners *owners = &h->e.owners;
	struct dxk_owner *own[2 * DXK_STASH_MAX];
	u32 i, k;

	dxk_pools_open(&h->e);
	for (k = 0; k < 2; k++) {
		for (i = 0; i < ARRAY_SIZE(own); i++) {
			KUNIT_ASSERT_EQ(test, dxk_owner_stash_fill(owners, &h->spares, 1), 0);
			own[i] = dxk_owner_enter(owners, &h->space, i, &h->spares);
			KUNIT_EXPECT_TRUE(test, dxk_owner_is_blank(own[i]));
		}
		KUNIT_EXPECT_EQ(test, owners->spares.nr + owners->kept.nr, 0);
		for (i = 0; i < ARRAY_SIZE(own); i++)
			dxk_owner_leave(owners, own[i]);
		KUNIT_EXPECT_EQ(test, owners->spares.nr, DXK_STASH_MAX);
		KUNIT_EXPECT_EQ(test, owners->kept.nr, DXK_STASH_MAX);
	}
	dxk_owner_stash_free(&h->spares);
	KUNIT_ASSERT_EQ(test, dxk_owner_stash_fill(owners, &h->spares, 1), 0);
	KUNIT_EXPECT_EQ(test, h->spares.nr, DXK_STASH_MAX / 2);
	KUNIT_EXPECT_EQ(test, owners->kept.nr, DXK_STASH_MAX / 2);
	/* the Monitor frees what nobody needs */
	KUNIT_EXPECT_TRUE(test, dxk_pools_review(&h->e));
	owners->kept.since = os_now() - 60 * NSEC_PER_SEC;
	KUNIT_EXPECT_FALSE(test, dxk_pools_review(&h->e));
	KUNIT_EXPECT_EQ(test, owners->kept.nr, 0);
	/* who has enough takes none */
	dxk_owner_stash_free(&h->spares);
	KUNIT_ASSERT_EQ(test, dxk_owner_stash_fill(owners, &h->spares, 1), 0);
	KUNIT_ASSERT_EQ(test, dxk_pool_fill(&owners->kept, 1), 0);
	KUNIT_ASSERT_EQ(test, dxk_owner_stash_fill(owners, &h->spares, 1), 0);
	KUNIT_EXPECT_EQ(test, h->spares.nr, 1);
	dxk_pools_close(&h->e);
	KUNIT_EXPECT_EQ(test, owners->kept.nr, 0);
}

/* --- answers ---------------------------------------------------------------- */

struct mine {			/* of one owner, by the model */
	u32 ready, busy;
	u64 done[64];		/* parameters, oldest first */
	u32 nr_done;
};

struct play {
	struct puppets *ps;
	u64 rnd;
	struct dxk_member *worker;
	struct dxk_next_op n;
	struct mine own[OWNERS];
	u64 next;		/* parameter of the next request; carries its owner */
	u64 oldest;		/* of those that are Ready: equal priorities, FIFO */
};

static void play_post(struct play *p)
{
	u32 o = draw_u32(&p->rnd) % OWNERS;
	bool rejoin = draw_u32(&p->rnd) % 4;
	struct dxk_post_entry req = {
		.owner = o, .param = p->next++, .attrs = rejoin ? PXR_REJOIN : 0,
	};
	struct dxk_post_op op = { .m = p->ps->main };

	KUNIT_ASSERT_EQ(p->ps->test, dxk_client_begin(&op, 1), 0);
	list_add_tail(&dxk_rqe_make(&op.m->rqes, &req, NULL)->link, &op.rqes);
	KUNIT_ASSERT_EQ(p->ps->test, dxk_client_post(&op, 0), 1);
	p->own[o].ready++;
}

static void play_dispatch(struct play *p)
{
	struct dxk_rqe *rqe;

	p->n.max = 1;
	KUNIT_ASSERT_EQ(p->ps->test, dxk_next(&p->n, 0), 0);
	rqe = list_first_entry(&p->n.work, struct dxk_rqe, link);
	KUNIT_ASSERT_EQ(p->ps->test, rqe->param, p->oldest);
	p->oldest++;
	list_move_tail(&rqe->link, &p->worker->busy);
	WRITE_ONCE(rqe->state, DXK_BUSY);
	p->own[rqe->cookie].ready--;
	p->own[rqe->cookie].busy++;
}

/* Any of those that execute ends. */
static void play_complete(struct play *p, u32 busy)
{
	u32 i = draw_u32(&p->rnd) % busy;
	struct dxk_rqe *rqe;
	struct mine *own;

	list_for_each_entry(rqe, &p->worker->busy, link)
		if (!i--)
			break;
	own = &p->own[rqe->cookie];
	own->busy--;
	if (dxk_rqe_rejoinable(rqe))
		own->done[own->nr_done++] = rqe->param;
	rqe->status = rqe->param;
	rqe->data_len = 0;
	list_move_tail(&rqe->link, &p->n.done);
	p->n.max = 0;
	KUNIT_ASSERT_EQ(p->ps->test, dxk_next(&p->n, 0), 0);
	KUNIT_ASSERT_EQ(p->ps->test, p->n.taken, 1);
	dxk_rqe_drop_all(p->worker, &p->n.ended);
}

/* What the poll must say, and, if it returns one, which. */
static void play_poll(struct play *p, u32 o)
{
	struct kunit *test = p->ps->test;
	struct mine *own = &p->own[o];
	int want = own->nr_done ? RJR_RETURNED :
		   own->ready + own->busy ? RJR_NONE_READY : RJR_NONE_EXIST;
	struct dxk_rejoin_op r = {
		.m = p->ps->main, .cookie = o, .max = 1, .min = 1, .free = true,
	};

	KUNIT_ASSERT_EQ(test, dxk_client_rejoin(&r, 0), 0);
	KUNIT_ASSERT_EQ(test, r.answer, want);
	KUNIT_ASSERT_EQ(test, r.nr, want == RJR_RETURNED);
	if (want != RJR_RETURNED)
		return;
	KUNIT_ASSERT_EQ(test, puppet_result(&r)->param, own->done[0]);
	KUNIT_ASSERT_EQ(test, puppet_result(&r)->status, (s32)own->done[0]);
	KUNIT_ASSERT_EQ(test, puppet_result(&r)->worker, p->worker->id);
	memmove(own->done, own->done + 1, --own->nr_done * sizeof(own->done[0]));
	dxk_rqe_drop_all(r.m, &r.rqes);
}

static void play_step(struct play *p)
{
	u32 o, ready = 0, busy = 0, done = 0;

	for (o = 0; o < OWNERS; o++) {
		ready += p->own[o].ready;
		busy += p->own[o].busy;
		done += p->own[o].nr_done;
	}
	switch (draw_u32(&p->rnd) % 5) {
	case 0:
		if (ready + busy + done < 40)
			play_post(p);
		break;
	case 1:
		if (ready && busy < WORKERS)
			play_dispatch(p);
		break;
	case 2:
		if (busy)
			play_complete(p, busy);
		break;
	default:
		play_poll(p, draw_u32(&p->rnd) % OWNERS);
		break;
	}
}

/*
 * DX-50, DX-53..DX-55, DX-82, DX-83, DX-87..DX-90, DX-94, DX-95: the answer is
 * always the model's, the request returned is the owner's oldest completion
 */
static void owner_answers_follow_a_model(struct kunit *test)
{
	struct play *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);
	struct dxk_policy policy = puppet_policy(2);
	struct dxk_engine *e;
	u32 step, o;

	KUNIT_ASSERT_NOT_NULL(test, p);
	p->ps = puppets_start(test, &policy);
	e = p->ps->e;
	p->worker = puppet_worker(p->ps);
	p->n.m = p->worker;
	INIT_LIST_HEAD(&p->n.done);
	p->rnd = 11;

	for (step = 0; step < 2000; step++)
		play_step(p);
	KUNIT_EXPECT_GT(test, p->next, 200);

	/* and to the end: then nothing exists */
	for (o = 0; o < OWNERS; o++)
		while (p->own[o].ready)
			play_dispatch(p);
	for (step = e->nr[DXK_AT_WORK]; step; step--)
		play_complete(p, step);
	for (o = 0; o < OWNERS; o++) {
		while (p->own[o].nr_done)
			play_poll(p, o);
		play_poll(p, o);
	}
	KUNIT_EXPECT_EQ(test, dxk_live(e), 0);
	KUNIT_EXPECT_EQ(test, e->owners.nr, 0);
	KUNIT_EXPECT_EQ(test, e->stats.posts, p->next);
	KUNIT_EXPECT_EQ(test, e->stats.posts, e->stats.collected + e->stats.vanished);
}

/* What is not as it was made is noticed before another owner gets the record. */
static void owner_is_blank(struct kunit *test)
{
	struct hash *h = hash_make(test, 4);
	struct list_head *lists[9];
	struct dxk_helper helper;
	struct dxk_owner *own;
	LIST_HEAD(entry);
	u32 kind, i;

	KUNIT_ASSERT_EQ(test, dxk_owner_stash_fill(&h->e.owners, &h->spares, 1), 0);
	own = h->spares.obj[0];
	lists[0] = &own->done;
	lists[1] = &own->joiners[false];
	lists[2] = &own->joiners[true];
	lists[3] = &own->stuck;
	lists[4] = &own->rich;
	lists[5] = &own->owed;
	lists[6] = &own->mores;
	lists[7] = &own->purge;
	lists[8] = &own->doomed;
	for (i = 0; i < ARRAY_SIZE(lists); i++) {
		KUNIT_EXPECT_TRUE(test, dxk_owner_is_blank(own));
		list_add(&entry, lists[i]);
		KUNIT_EXPECT_FALSE(test, dxk_owner_is_blank(own));
		list_del_init(&entry);
	}
	for (i = 0; i < DXK_PLACES; i++) {
		own->nr[i] = 1;
		KUNIT_EXPECT_FALSE(test, dxk_owner_is_blank(own));
		own->nr[i] = 0;
	}
	own->joined = 1;
	KUNIT_EXPECT_FALSE(test, dxk_owner_is_blank(own));
	own->joined = 0;
	own->nr_done = 1;
	KUNIT_EXPECT_FALSE(test, dxk_owner_is_blank(own));
	own->nr_done = 0;
	for (kind = 0; kind < DXK_KINDS; kind++) {
		for (i = 0; i < DXK_LANES; i++) {
			own->own[kind][i] = 1;
			KUNIT_EXPECT_FALSE(test, dxk_owner_is_blank(own));
			own->own[kind][i] = 0;
		}
		own->helper[kind] = &helper;
		KUNIT_EXPECT_FALSE(test, dxk_owner_is_blank(own));
		own->helper[kind] = NULL;
	}
	own->doom = 1;
	KUNIT_EXPECT_FALSE(test, dxk_owner_is_blank(own));
	own->doom = 0;
	KUNIT_EXPECT_TRUE(test, dxk_owner_is_blank(own));
}

static struct kunit_case owner_cases[] = {
	KUNIT_CASE(owner_enter_and_leave),
	KUNIT_CASE(owner_stash),
	KUNIT_CASE(owner_is_blank),
	KUNIT_CASE(owner_unstart),
	KUNIT_CASE(owner_many),
	KUNIT_CASE(owner_kept),
	KUNIT_CASE(owner_answers_follow_a_model),
	{ }
};

static struct kunit_suite owner_suite = {
	.name = "dxk_owner",
	.exit = puppets_end,
	.test_cases = owner_cases,
};

kunit_test_suite(owner_suite);
