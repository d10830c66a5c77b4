/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files that requests wait for, and the world that makes something happen to them. The protocol
 * of arming and firing is that of services/watch.c, step by step.
 */
#ifndef _DXK_SIM_DEVICE_H
#define _DXK_SIM_DEVICE_H

#include "engine/fire.h"

struct device {
	struct dxk_watch w;
	bool used;
	/* Somebody waits for it; it can be read. */
	u32 armed;
	bool level;
	/* The world is about it. */
	bool firing;
};

void devices_start(void);
void devices_stop(void);
void device_arm(struct dxk_rqe *rqe);
void device_read(struct dxk_rqe *rqe);
void device_release(struct dxk_rqe *rqe);
bool devices_firing(void);
const struct device *device_of(const struct dxk_watch *w);

#endif /* _DXK_SIM_DEVICE_H */
