/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BENCH_LEVELS_H
#define BENCH_LEVELS_H

#ifdef __cplusplus
extern "C" {
#endif

/* How many children the program and a request of each level have. */
extern const int level_children[];

void level_executes(int level);
double levels_watch(void *(*fn)(void *));
void levels_ended(void *ended);

#ifdef __cplusplus
}
#endif
#endif /* BENCH_LEVELS_H */
