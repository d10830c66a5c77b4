/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Those who are killed and those who live on: what they do (actors.c), and what
 * is known of their requests.
 */
#ifndef KILL_H
#define KILL_H

#include "lib/puppet.h"

#define SURVIVORS	2		/* clients, and as many workers */
#define VICTIMS		3		/* most of the victim's clients, and workers */
#define REDO_MAX	4
#define CREW		(SURVIVORS + VICTIMS)
#define RECORDS		(1U << 21)
#define VICTIM		1000000		/* owners of victims, from here on */

/* --- what is known of each request, also when its process is gone ------------ */

enum record_state {
	NEVER,		/* it is not known whether the post took it */
	REFUSED,	/* the post has returned and did not take it */
	POSTED,		/* the post has returned and took it */
};

struct record {
	uint32_t owner;
	uint32_t attrs;
	_Atomic uint8_t state;
	_Atomic uint8_t begun;		/* executions */
	_Atomic uint8_t ended;
	_Atomic uint8_t returned;
};

struct shared {
	_Atomic uint32_t nr;		/* records in use */
	_Atomic uint32_t odd;		/* calls with an answer that cannot be */
	_Atomic uint32_t reached[8];	/* how often a victim was seen there */
	struct record record[RECORDS];
};

extern struct shared *all;

/* --- what all of them do ----------------------------------------------------- */

struct actor {
	struct dxt *t;
	pthread_t thread;
	uint64_t seed;
	uint32_t owner;
	int pipe;			/* a file to hand over, or -1 */
	uint64_t nop;			/* kernel executor, or 0 */
	bool victim;
	_Atomic bool *stop;
	struct dxt_worker worker;
};

/* Threads of an actor: a worker; a client who gets back all that it posts. */
void *worker_actor(void *arg);
void *survivor(void *arg);
/* Until none of the owner's exists: how many came back, or an error. */
int collect(int member, uint32_t owner);

/* A process of actors, until SIGKILL, and who kills it. */
void victim_lives(struct dxt *t, uint64_t seed, uint32_t owner, int pipe, uint64_t nop);
void live_and_die(pid_t pid, uint64_t *seed);

#endif /* KILL_H */
