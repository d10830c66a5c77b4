// SPDX-License-Identifier: GPL-2.0-only
/* See plants.h. */
#define DXT_NO_HARNESS
#include "lib/puppet.h"
#include "plants.h"

struct history_event *plant_none(struct sim *s)
{
	static struct history_event nothing;

	s->missing = true;
	return &nothing;
}

struct history_event *plant_some(struct sim *s, uint8_t kind,
				 bool (*fit)(struct sim *, struct history_event *))
{
	uint32_t n = s->h->nr_events, i;

	for (i = 0; i < n; i++) {
		struct history_event *e = &s->h->event[(n / 2 + i) % n];

		if (e->kind == kind && (!fit || fit(s, e)))
			return e;
	}
	return plant_none(s);
}

struct history_event *plant_copy(struct sim *s, const struct history_event *e)
{
	struct history_event *new = &s->h->event[s->h->nr_events++];

	*new = *e;
	return new;
}

struct history_event *plant_event(struct sim *s, uint8_t kind, uint32_t request)
{
	uint32_t i;

	for (i = 0; i < s->h->nr_events; i++)
		if (s->h->event[i].kind == kind && s->h->event[i].request == request)
			return &s->h->event[i];
	return NULL;
}

void plant_forget(struct sim *s, uint8_t kind, uint32_t request, uint32_t keep)
{
	uint32_t i, nr = 0;

	for (i = 0; i < s->h->nr_events; i++)
		if (s->h->event[i].kind == kind && s->h->event[i].request == request &&
		    nr++ >= keep)
			s->h->event[i].kind = HIST_NOTHING;
}
