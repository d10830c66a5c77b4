/* SPDX-License-Identifier: GPL-2.0-only */
/* The processes that make the calls, and what compares their answers (generator.c). */
#ifndef GENERATOR_H
#define GENERATOR_H

#include "model.h"

/* One run: a picture and the real thing beside it. */
struct run {
	struct model m;
	struct {
		pid_t pid;
		int go, over;		/* pipes: a byte each way */
		bool out;		/* it makes its call */
		bool asleep;		/* and was seen asleep */
	} child[PROCS];
	char why[400];			/* the first difference, "" while there is none */
	char last[16][200];		/* calls */
	unsigned int steps, calls, slept, rang;
	bool unsure;			/* the guest was not run for too long */
};

/* Processes that have nothing; their uids: two are root's. */
void run_begin(struct run *r);
/* Kills all; no context may be left. */
void run_end(struct run *r);
void run_kill(struct run *r, struct proc *p);
/* Makes p->call, in the picture and by the process, and compares whatever ends by it. */
void run_call(struct run *r, struct proc *p);
/* A signal for a process that sleeps. */
void run_interrupt(struct run *r, struct proc *p);
/* What sysfs shows against the picture. */
void run_look(struct run *r, struct ctx *c);
/* The process's call has returned: is that the answer? (compare.c) */
void run_compare(struct run *r, struct proc *p);
/* A difference. */
void run_differs(struct run *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* --- choosing (calls.c) -------------------------------------------------- */

struct gen {
	struct run r;
	uint64_t seed;
	uint32_t param;
	unsigned int line;
	int ctxs;			/* most contexts of this run */
	bool waits;			/* it is about requests that wait */
	uint64_t end;			/* when the last run is over, at whatever step; or 0 */
};

/* A number below @n. */
uint32_t gen_below(struct gen *g, uint32_t n);
/* A descriptor of a context ('c'), a member ('m'), a worker ('w'), or any (0). */
struct desc *gen_desc(struct gen *g, struct proc *p, char which);
int gen_ctxs(const struct gen *g);
/* Makes up a call that a new context of the process needs first, if there is one. */
bool gen_make_ready(struct gen *g, struct proc *p);
/* Makes up p->call, of that name, on @d if it needs a descriptor. */
void gen_call(struct gen *g, struct proc *p, const char *name, struct desc *d);

#endif /* GENERATOR_H */
