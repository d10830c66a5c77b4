/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of dxk_executors.ko offer to its table in main.c.
 *
 * The prefix is exe_ because the kernel has a sha256_init() of its own.
 */
#ifndef _DXK_EXECUTORS_H
#define _DXK_EXECUTORS_H

#include "../dxk_api.h"

s32 exe_nop(struct dxk_call *call);
s32 exe_echo(struct dxk_call *call);
s32 exe_sleep(struct dxk_call *call);
s32 exe_block(struct dxk_call *call);

s32 exe_sha256(struct dxk_call *call);
s32 exe_aread(struct dxk_call *call);

int exe_sha256_setup(void);
void exe_sha256_teardown(void);

#endif /* _DXK_EXECUTORS_H */
