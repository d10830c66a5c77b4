// SPDX-License-Identifier: GPL-2.0-only
/* See windows.h. */
#include "windows.h"

#include <stdlib.h>

void window_add(struct windows *ws, uint64_t group, uint64_t from, uint64_t until)
{
	if (from < until)
		ws->w[ws->nr++] = (struct window){ group, from, until };
}

static int by_from(const void *a, const void *b)
{
	const struct window *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

void windows_seal(struct windows *ws)
{
	uint32_t i;

	qsort(ws->w, ws->nr, sizeof(*ws->w), by_from);
	for (i = 1; i < ws->nr; i++)
		if (ws->w[i].group == ws->w[i - 1].group &&
		    ws->w[i].until < ws->w[i - 1].until)
			ws->w[i].until = ws->w[i - 1].until;
}

uint64_t windows_latest(const struct windows *ws, uint64_t group, uint64_t before)
{
	uint32_t lo = 0, hi = ws->nr;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;
		const struct window *w = &ws->w[mid];

		if (w->group < group || (w->group == group && w->from < before))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && ws->w[lo - 1].group == group ? ws->w[lo - 1].until : 0;
}
