/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_CREW_H
#define _DXK_CREW_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "lanes.h"
#include "member.h"
#include "request.h"

struct dxk_ctx;
struct kobject;

/**
 * struct dxk_crew - the workers and all other members
 * @members: (M) by thread id
 * @threads: (C) directory of the members in sysfs
 * @idle: (L) by kind: struct dxk_next_op of workers that sleep for work, the
 *	last one to fall idle first: its cache is the warmest
 * @nr_idle: (L) by kind: how many are in @idle
 * @workers: (L) by kind: workers that count, i.e. attached, not leaving, no spares
 * @present: (L) workers of both kinds, leaving ones and spares included
 * @asleep: (L) by kind: of these, how many sleep in a post, a rejoin or a completion
 * @helpers: (L) by kind: struct dxk_helper of sleeping workers, the last one first
 * @spares: (L) by kind: spare workers
 * @parked: (L) by kind: struct dxk_next_op of spares that have no work
 * @nr_parked: (L) by kind: how many are in @parked
 * @extra: (L) by kind: requests that helpers and spares have
 * @managers: (L) struct dxk_crew_op that sleep until a thread is needed
 * @promised: (L) one was told that spares are needed and has not come back
 * @clients: (L) members that are no workers
 * @clients_asleep: (L) of these, how many sleep in a post or a rejoin
 * @lanes: (L) by kind: CMLS over these workers
 * @work_wait: user workers in poll(2) sleep here
 */
struct dxk_crew {
	struct xarray members;
	struct kobject *threads;
	struct list_head idle[DXK_KINDS];
	u32 nr_idle[DXK_KINDS];
	u32 workers[DXK_KINDS];
	u32 present;
	u32 asleep[DXK_KINDS];
	struct list_head helpers[DXK_KINDS];
	u32 spares[DXK_KINDS];
	struct list_head parked[DXK_KINDS];
	u32 nr_parked[DXK_KINDS];
	u32 extra[DXK_KINDS];
	struct list_head managers;
	bool promised;
	u32 clients;
	u32 clients_asleep;
	struct dxk_lanes lanes[DXK_KINDS];
	wait_queue_head_t work_wait;
};

/* Where a member counts while it sleeps in a post, a rejoin or a completion. */
static inline u32 *dxk_crew_sleepers(struct dxk_crew *crew, const struct dxk_member *m)
{
	return m->role == DXK_ROLE_WORKER ? &crew->asleep[m->kind] :
					    &crew->clients_asleep;
}

static inline u32 dxk_crew_asleep(const struct dxk_crew *crew)
{
	return crew->asleep[DXK_USER] + crew->asleep[DXK_KERNEL];
}

/**
 * dxk_crew_awake - workers that run, be it a request or on their way to the next
 * @crew: of a locked context
 *
 * With none awake nothing in the context goes on by itself.
 */
static inline u32 dxk_crew_awake(const struct dxk_crew *crew)
{
	return crew->present - crew->nr_idle[DXK_USER] - crew->nr_idle[DXK_KERNEL] -
	       crew->nr_parked[DXK_USER] - crew->nr_parked[DXK_KERNEL] -
	       dxk_crew_asleep(crew);
}

void dxk_crew_init(struct dxk_crew *crew);
struct dxk_member *dxk_crew_vacancy(struct dxk_ctx *ctx);
u32 dxk_crew_count(struct dxk_ctx *ctx, enum dxk_kind kind);
int dxk_crew_fit(struct dxk_ctx *ctx);
int dxk_crew_review(struct dxk_ctx *ctx);
void dxk_crew_stop(struct dxk_ctx *ctx);
void dxk_crew_clear(struct dxk_ctx *ctx);
void dxk_crew_empty(struct dxk_ctx *ctx);
void dxk_crew_bury(struct dxk_ctx *ctx);
bool dxk_crew_resting(const struct dxk_ctx *ctx);
void dxk_crew_set_lanes(struct dxk_ctx *ctx);
struct dxk_member *dxk_crew_spare_place(struct dxk_ctx *ctx);

#endif /* _DXK_CREW_H */
