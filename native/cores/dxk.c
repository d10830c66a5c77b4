// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The engine with real threads: a context with one client and some workers.
 */
#include "cores.h"
#include "engine/calls.h"
#include "engine/engine.h"
#include "engine/life.h"
#include "engine/policy.h"
#include "engine/pool.h"
#include "engine/post.h"
#include "engine/rejoin.h"
#include "engine/request.h"

#define WORKERS	8
#define OWNER	1

struct context {
	struct dxk_engine e;
	struct dxk_member client, worker[WORKERS];
	pthread_t thread[WORKERS];
	int workers;
};

static void *work(void *arg)
{
	struct dxk_member *m = arg;
	struct dxk_next_op n;
	struct dxk_rqe *rqe;
	int err;

	LIST_HEAD(done);
	do {
		n = (struct dxk_next_op) { .m = m, .max = 1 };
		INIT_LIST_HEAD(&n.done);
		list_splice_init(&done, &n.done);
		err = dxk_next(&n, DXK_FOREVER);
		dxk_rqe_drop_all(m, &n.ended);
		if (err)
			break;
		rqe = list_first_entry(&n.work, struct dxk_rqe, link);
		WRITE_ONCE(rqe->state, DXK_BUSY);
		job();
		list_move_tail(&rqe->link, &done);
	} while (true);
	return NULL;
}

static void join(struct context *c, struct dxk_member *m, u32 id, enum dxk_role role)
{
	dxk_member_init(m, &c->e, id);
	m->role = role;
	dxk_member_do(m, dxk_attach_run);
}

static void *begin(int workers)
{
	struct context *c = calloc(1, sizeof(*c));
	int i;

	if (!c || workers > WORKERS)
		abort();
	c->workers = workers;
	dxk_engine_init(&c->e);
	dxk_policy_default(&c->e.policy, workers);
	dxk_pools_open(&c->e);
	if (dxk_owners_start(&c->e))
		abort();
	spin_lock(&c->e.lock);
	dxk_crew_set_lanes(&c->e);
	c->e.state = DXK_CTX_RUNNING;
	c->e.run.gen = 1;
	spin_unlock(&c->e.lock);
	join(c, &c->client, 1, DXK_ROLE_CLIENT);
	for (i = 0; i < workers; i++) {
		join(c, &c->worker[i], i + 2, DXK_ROLE_WORKER);
		if (pthread_create(&c->thread[i], NULL, work, &c->worker[i]))
			abort();
	}
	return c;
}

static void post(void *context, int nr)
{
	struct dxk_post_entry entry = { .owner = OWNER, .attrs = PXR_REJOIN };
	struct context *c = context;
	struct dxk_post_op p = { .m = &c->client };
	int i;

	if (dxk_client_begin(&p, nr))
		abort();
	for (i = 0; i < nr; i++)
		list_add_tail(&dxk_rqe_make(&c->client.rqes, &entry, NULL)->link, &p.rqes);
	if (dxk_client_post(&p, DXK_FOREVER) != nr)
		abort();
}

static void collect(void *context, int nr)
{
	struct context *c = context;
	struct dxk_rejoin_op r = {
		.m = &c->client, .cookie = OWNER, .max = nr, .min = nr, .wait = true,
		.free = true,
	};

	if (dxk_client_rejoin(&r, DXK_FOREVER) || r.nr != nr)
		abort();
	dxk_rqe_drop_all(&c->client, &r.rqes);
}

static void end(void *context)
{
	struct context *c = context;
	int i;

	if (dxk_run_halt(&c->e, DXK_STOP_DRAIN, false, DXK_FOREVER))
		abort();
	for (i = 0; i < c->workers; i++) {
		pthread_join(c->thread[i], NULL);
		dxk_member_do(&c->worker[i], dxk_died_run);
		dxk_member_free(&c->worker[i]);
	}
	dxk_member_do(&c->client, dxk_died_run);
	dxk_member_free(&c->client);
	dxk_engine_destroy(&c->e);
	free(c);
}

void dxk_holds(const void *context, unsigned long long *nr)
{
	const struct context *c = context;
	int i;

	for (i = 0; i < OS_HOLDS; i++)
		nr[i] += c->e.lock.holds.nr[i];
}

const struct system dxk_system = { "dxk", begin, post, collect, end };
