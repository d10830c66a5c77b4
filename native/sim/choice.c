// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Choices, see choice.h.
 */
#include "choice.h"
#include "sched.h"

struct choices *choices;

/* Of given ones: the next of each stream, and the one behind each. */
static u32 first[CHOICE_STREAMS], behind[CHOICES_MAX];

/** choices_seed - a new episode, all of whose choices are drawn from a seed */
void choices_seed(u64 seed)
{
	choices->given = false;
	choices->nr = 0;
	choices->used = 0;
	choices->rnd = seed;
	choices->hash = 0;
}

/** choices_replay - an episode of the choices that are there */
void choices_replay(void)
{
	u32 i, s;

	choices->given = true;
	choices->used = 0;
	for (s = 0; s < CHOICE_STREAMS; s++)
		first[s] = choices->nr;
	for (i = choices->nr; i--; ) {
		behind[i] = first[choices->stream[i]];
		first[choices->stream[i]] = i;
	}
}

static u32 choose_given(u8 stream, u32 below)
{
	u32 i = first[stream];

	if (i == choices->nr)
		return 0;
	first[stream] = behind[i];
	choices->used = max(choices->used, i + 1);
	return choices->value[i] % below;
}

/* FNV-1a, of words */
static void hash(u64 word)
{
	choices->hash = (choices->hash ^ word) * 0x100000001b3ULL;
}

/** choose_in - one of 0..@below - 1, of a stream */
u32 choose_in(u8 stream, u32 below)
{
	u64 z;
	u32 v;

	if (unlikely(choices->given))
		return choose_given(stream, below);
	/* splitmix64 */
	z = (choices->rnd += 0x9e3779b97f4a7c15ULL);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	v = (u64)(u32)((z ^ (z >> 31)) >> 32) * below >> 32;
	if (unlikely(choices->nr == CHOICES_MAX))
		sim_fail("an episode of more than %u choices", CHOICES_MAX);
	hash(below);
	hash((u64)stream << 32 | v);
	choices->value[choices->nr] = v;
	choices->stream[choices->nr++] = stream;
	return v;
}

/** choose - the same for the running thread */
u32 choose(u32 below)
{
	return choose_in(sim_self ? sim_self->stream : CHOICE_STREAM_RUN, below);
}
