/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dxk_bench: measurements of the kernel's side.
 */
#ifndef DXK_BENCH_H
#define DXK_BENCH_H

#include <linux/types.h>

#include "../../dxk/dxk_api.h"

#define BATCH	DXK_BATCH_MAX
#define OWNER	1

struct seq_file;

/**
 * struct bench - one measurement
 * @name: its file
 * @setup: before each run, for @ops requests; may be %NULL
 * @run: do @ops of it; the only part that is timed
 * @teardown: after each run; may be %NULL
 * @arg: for @setup
 * @least: repeat @run, so that at least so many are timed in all
 * @show: instead of the three: writes the numbers
 */
struct bench {
	const char *name;
	int (*setup)(u32 ops, u32 arg);
	int (*run)(u32 ops);
	void (*teardown)(void);
	u32 arg;
	u32 least;
	int (*show)(struct seq_file *m, u32 ops, u32 arg);
};

/* Each ends with one without a name. */
extern const struct bench dxk_benches[];
extern const struct bench rival_benches[];
extern const struct bench yardsticks[];
extern const struct bench urgent_benches[];
extern const struct bench mix_benches[];

/* What the user side says of the next measurement. */
extern u32 bench_arg;
extern bool bench_profile;

/* Around what a @show times itself. */
void bench_begin(void);
void bench_end(void);

/* --- a number of requests that all have to be done ----------------------------- */

void all_expect(u32 nr);
void one_done(void);
int all_wait(void);

/* --- a context ------------------------------------------------------------------ */

extern struct dxk_ctx *bench_ctx;
extern struct dxk_member *bench_client;

/* Room for @ops requests, @workers kernel workers, and what @change does. */
int bench_ctx_open(u32 ops, u32 workers, void (*change)(struct dxk_policy *policy));
void bench_ctx_close(void);
int bench_post(const struct dxk_request *reqs, u32 nr);
int bench_rejoin(u64 owner, u32 nr);

/* each file's own executors, up to a NULL */
extern struct dxk_executor *dxk_executors[];
extern struct dxk_executor *urgent_executors[];
extern struct dxk_executor *mix_executors[];

#endif /* DXK_BENCH_H */
