/* SPDX-License-Identifier: GPL-2.0-only */
/* What makes one thing in a right history (sim.h) wrong, so that the checker has to name it. */
#ifndef HISTORY_PLANTS_H
#define HISTORY_PLANTS_H

#include "sim.h"

struct plant {
	const char *name;
	enum history_error error;
	void (*plant)(struct sim *s);
};

/* Those that are about keys. */
extern const struct plant key_plants[];
extern const unsigned int nr_key_plants;

/* There is nothing to make wrong in this one; an event that is none. */
struct history_event *plant_none(struct sim *s);
/* An event of a kind for which @fit holds, from the middle of the history. */
struct history_event *plant_some(struct sim *s, uint8_t kind,
				 bool (*fit)(struct sim *, struct history_event *));
struct history_event *plant_copy(struct sim *s, const struct history_event *e);
/* The first event of a kind of a request, or NULL. */
struct history_event *plant_event(struct sim *s, uint8_t kind, uint32_t request);
/* All events of a kind of a request have never been, but for the first @keep. */
void plant_forget(struct sim *s, uint8_t kind, uint32_t request, uint32_t keep);

#endif /* HISTORY_PLANTS_H */
