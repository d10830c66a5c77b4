/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A dxk context of a measurement, by its calls.
 */
#ifndef BENCH_DXK_CALLS_H
#define BENCH_DXK_CALLS_H

#include <stdint.h>

#include "../uapi/dxk.h"
#include "bench.h"

#define OWNER	1

extern int dxk_control, dxk_ctx, dxk_client;

/* The defaults but @max_threads 1 and what @change does to them. */
void dxk_open_ctx(void (*change)(struct dxk_policy *policy, long arg), long arg);
int dxk_member(uint32_t kind);
uint64_t dxk_nop(void);
/* @nr requests one after the other, at most BATCH in a call. */
void dxk_post_all(const struct dxk_post_entry *entries, long nr);
/* Collects until @nr came back with @status, or none exists; gives how many. */
long dxk_collect(long nr, int status);
/* As a user worker: fetch up to @batch, complete them with the next call, until Stop. */
void dxk_serve(int worker, unsigned int batch);
void dxk_stop(uint32_t mode);

#endif /* BENCH_DXK_CALLS_H */
