/* SPDX-License-Identifier: GPL-2.0-only */
/* What the checker (history.h) knows of keys, for keys.c and circles.c. */
#ifndef HISTORY_KEYS_H
#define HISTORY_KEYS_H

#include "facts.h"
#include "windows.h"

/* A turn of a request that has a key: one START of it. */
struct stay {
	const struct history_event *start;
	const struct history_event *done;	/* its end, or NULL */
	const struct history_gone *gone;	/* else that of its worker, or NULL */
	bool jumped;
};

/* The key was certainly that of a turn from then until then. */
struct spell {
	const struct stay *stay;
	uint64_t from, until;
};

struct keyed {
	struct check *c;
	struct stay *stay;			/* by key, then by time */
	struct spell *spell;			/* likewise */
	uint32_t nr_stays, nr_spells;
	const struct history_event **ask;	/* LEAVE to NOTIFY_ALL, by ticket, then by time */
	const struct history_event **rule;	/* all KEY, by key, then by time */
	const struct history_event **sleep;	/* answers of rejoins, by member, then by time */
	uint32_t nr_asks, nr_rules, nr_sleeps;
};

/* When could the turn still have had its key? NEVER: it may have it yet. */
uint64_t keys_until(const struct stay *s);
/* Is it over when all is at rest? A thread that ended before has been noticed then. */
bool keys_is_over(const struct keyed *k, const struct stay *s);
/* The last rejoin of a member that began before @before, or NULL. */
const struct history_event *keys_sleep(const struct keyed *k, uint32_t member, uint64_t before);
/* The turns of a key: the first of them, and how many. */
const struct stay *keys_stays(const struct keyed *k, uint32_t key, uint32_t *nr);

/* What is nested, and who waits for himself (circles.c). */
void hist_check_circles(const struct keyed *k);

#endif /* HISTORY_KEYS_H */
