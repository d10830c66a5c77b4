/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is measured on more than one CPU, see cores.c.
 */
#ifndef _DXK_NATIVE_CORES_H
#define _DXK_NATIVE_CORES_H

#ifdef __cplusplus
extern "C" {
#endif

/* Most requests that are under way in a context. */
#define BATCH	64

/* One who executes requests for one client: @post makes so many, @collect waits for them. */
struct system {
	const char *name;
	void *(*begin)(int workers);
	void (*post)(void *context, int nr);
	void (*collect)(void *context, int nr);
	void (*end)(void *context);
};

extern const struct system dxk_system, glib_system, tbb_system;

/* So many threads of workers will be needed at once, in all contexts. */
void tbb_threads(int nr);

/* Adds how long the context's lock was held. */
void dxk_holds(const void *context, unsigned long long *nr);

/* What a request does: so many rounds of nothing. */
extern int job_rounds;
void job(void);

#ifdef __cplusplus
}
#endif

#endif /* _DXK_NATIVE_CORES_H */
