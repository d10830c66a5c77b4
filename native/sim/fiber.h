/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef _DXK_SIM_FIBER_H
#define _DXK_SIM_FIBER_H

struct sim_fiber;

struct sim_fiber *fiber_new(void (*entry)(void));
struct sim_fiber *fiber_of_process(void);
void fiber_switch(struct sim_fiber *from, struct sim_fiber *to);

#endif /* _DXK_SIM_FIBER_H */
