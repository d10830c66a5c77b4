// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Of the choices of an episode that fails: those that it takes.
 */
#include <time.h>

#include "choice.h"
#include "episode.h"

#define SHRINK_SECONDS	10

/* The choices are fewer or plainer, and the same fails: these are it from here on. */
static struct {
	u32 nr;
	u32 *value;
	u8 *stream;
	time_t until;
	const char *what;
} best;

/* What choices->value and ->stream have now: does it fail as well? */
static bool still_fails(u32 nr)
{
	bool well;

	if (time(NULL) > best.until)
		return false;
	choices->nr = nr;
	outcome->what = NULL;
	well = episode_apart(episode_replay, NULL);
	if (well || outcome->what != best.what)
		return false;
	best.nr = min(nr, choices->used);
	memcpy(best.value, choices->value, best.nr * sizeof(*best.value));
	memcpy(best.stream, choices->stream, best.nr * sizeof(*best.stream));
	return true;
}

/* Without those of a stream from the @from-th on; of all streams if it is negative. */
static bool cut(int stream, u32 from, u32 len)
{
	u32 i, nr = 0, seen = 0;

	for (i = 0; i < best.nr; i++) {
		if (stream < 0 || best.stream[i] == stream) {
			if (seen >= from && seen - from < len) {
				seen++;
				continue;
			}
			seen++;
		}
		choices->value[nr] = best.value[i];
		choices->stream[nr++] = best.stream[i];
	}
	return nr < best.nr && still_fails(nr);
}

/* With those plain. */
static bool flatten(int stream, u32 from, u32 len)
{
	u32 i, seen = 0;
	bool any = false;

	memcpy(choices->value, best.value, best.nr * sizeof(*best.value));
	memcpy(choices->stream, best.stream, best.nr * sizeof(*best.stream));
	for (i = 0; i < best.nr; i++)
		if ((stream < 0 || best.stream[i] == stream) && seen++ - from < len) {
			any |= choices->value[i];
			choices->value[i] = 0;
		}
	return any && still_fails(best.nr);
}

static u32 length_of(int stream)
{
	u32 i, nr = 0;

	for (i = 0; i < best.nr; i++)
		nr += stream < 0 || best.stream[i] == stream;
	return nr;
}

static void shrink_stream(int stream)
{
	u32 len, at;

	if (!length_of(stream) || cut(stream, 0, U32_MAX) || flatten(stream, 0, U32_MAX))
		return;
	for (len = max(length_of(stream) / 2, 1U); len; len /= 2)
		for (at = 0; at < length_of(stream); )
			if (!cut(stream, at, len)) {
				flatten(stream, at, len);
				at += len;
			}
}

/** shrink - replace the choices by fewer ones of which the same fails */
void shrink(void)
{
	u32 before;
	int stream;

	best.value = malloc(CHOICES_MAX * sizeof(*best.value));
	best.stream = malloc(CHOICES_MAX);
	best.what = outcome->what;
	best.until = time(NULL) + SHRINK_SECONDS;
	best.nr = choices->nr;
	if (!still_fails(choices->nr))
		return;
	do {
		before = best.nr;
		for (stream = CHOICE_STREAMS - 1; stream >= 0; stream--)
			cut(stream, 0, U32_MAX);
		for (stream = CHOICE_STREAMS - 1; stream >= 0; stream--)
			shrink_stream(stream);
	} while (best.nr < before && time(NULL) < best.until);
	memcpy(choices->value, best.value, best.nr * sizeof(*best.value));
	memcpy(choices->stream, best.stream, best.nr);
	choices->nr = best.nr;
}

