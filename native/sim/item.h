/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Items: requests that lie in objects of others, as those of runtime/item.c do. Who queues
 * one, who executes it and who cancels it keep to the rules that its head tells; what the
 * engine does with a request that may be gone, or another one, is what is looked at.
 */
#ifndef _DXK_SIM_ITEM_H
#define _DXK_SIM_ITEM_H

#include "engine/request.h"

struct actor;

struct sim_item {
	struct dxk_rqe rqe;
	/* It is queued, and not begun: whoever has set it has the item until it is cleared. */
	u32 pending;
	/* Calls that see to it that it is not queued; threads that know the object. */
	u32 held, users;
	/* Workers that execute it. */
	u32 runs;
	/* How often it was queued by others than its function. */
	u32 queued;
};

/* item.c */
void actor_items(struct actor *a);
struct dxk_rqe *item_begin(struct actor *a, struct dxk_rqe *rqe);
void item_run(struct actor *a);
void item_end(struct actor *a);
bool item_is_held(const struct dxk_rqe *rqe);
void item_disown(struct dxk_rqe *rqe);
void items_check(bool idle);
void items_reset(void);
void items_stop(void);

#endif /* _DXK_SIM_ITEM_H */
