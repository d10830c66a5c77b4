/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the engine wants of the world that it runs in; runtime/os.c has it.
 */
#ifndef _DXK_ENGINE_OS_H
#define _DXK_ENGINE_OS_H

#include <linux/types.h>

struct dxk_engine;

void os_kick(struct dxk_engine *e, u32 who);
void os_poll_workers(struct dxk_engine *e);

#endif /* _DXK_ENGINE_OS_H */
