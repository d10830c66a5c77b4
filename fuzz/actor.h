/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DXK_FUZZ_ACTOR_H
#define DXK_FUZZ_ACTOR_H

#include <pthread.h>

#include "fuzz.h"

#define ACTORS_MAX	6
#define TICKETS_MAX	64

/* An actor's memory that the module reads and writes, at a known place */
#define ARENA_BASE	0x100000000000UL
#define ARENA_STRIDE	0x1000000UL
#define ARENA_ARG	0x1000		/* a page that an unmapped one follows */
#define ARENA_ARRAY	0x3000
#define ARENA_ARRAY_LEN	0x6000
#define ARENA_DATA	(ARENA_ARRAY + ARENA_ARRAY_LEN)
#define ARENA_DATA_LEN	0x10000
#define ARENA_RO	(ARENA_DATA + ARENA_DATA_LEN)
#define ARENA_END	(ARENA_RO + 0x1000)
#define ARENA_RW	(ARENA_END + 0x1000)	/* the page of ARENA_RO, for writing */

/**
 * struct actor - a thread, or a process, that makes calls
 * @nr: which
 * @arena: its memory
 * @tickets: of the requests that it fetched and has not completed
 * @nr_tickets: how many
 * @call: odd while it is in a call that may have no end of its own
 * @tid: who is to be woken from that
 */
struct actor {
	unsigned int nr;
	uint8_t *arena;
	uint64_t tickets[TICKETS_MAX];
	unsigned int nr_tickets;
	unsigned int call;
	int tid;
};

void actor_init(struct actor *a, unsigned int nr);
void actor_exit(struct actor *a);
void actor_begin(struct actor *a);
void actor_end(struct actor *a);
void actors_init(void);
void actors_nudge(bool on);

/* table.c: the descriptors of an input */
enum kind { CONTROL, CONTEXT, CLIENT, WORKER, PLAIN, NR_KINDS };

struct object {
	int fd;
	enum kind kind;
	unsigned int maker;
	uint32_t id;
};

void table_init(void);
void table_begin(void);
void table_reset(void);
void table_add(int fd, enum kind kind, unsigned int maker, uint32_t id);
void table_remove(int fd);
bool table_find(enum kind kind, unsigned int maker, uint8_t obj, struct object *out);

/* Regular file to read, one to append to, pipe, socket, epoll, /proc, not open */
#define NR_FILES	7
int table_file(uint8_t which);
void table_poke(uint8_t what);

/* call.c */
enum special { SPECIAL_NONE, SPECIAL_SPAWN, SPECIAL_REAP };
enum special actor_special(const struct step *s);
void actor_step(struct actor *a, const struct step *s);

#endif /* DXK_FUZZ_ACTOR_H */
