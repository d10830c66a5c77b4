// SPDX-License-Identifier: LGPL-2.1-or-later
#include "choice.h"
#include "sched.h"

struct choices *choices;

/** choices_seed - a new episode, all of whose choices are drawn from a seed */
void choices_seed(u64 seed)
{
	choices->given = false;
	choices->nr = 0;
	choices->used = 0;
	choices->rnd = seed;
}

/** choices_replay - an episode of the choices that are there */
void choices_replay(void)
{
	choices->given = true;
	choices->used = 0;
}

static u32 choose_given(u32 below)
{
	u32 i = choices->used++;

	return i < choices->nr ? choices->value[i] % below : 0;
}

/** choose - one of 0..@below - 1 */
u32 choose(u32 below)
{
	u64 z;
	u32 v;

	if (unlikely(choices->given))
		return choose_given(below);
	/* splitmix64 */
	z = (choices->rnd += 0x9e3779b97f4a7c15ULL);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	v = (u64)(u32)((z ^ (z >> 31)) >> 32) * below >> 32;
	if (unlikely(choices->nr == CHOICES_MAX))
		sim_fail("an episode of more than %u choices", CHOICES_MAX);
	choices->value[choices->nr++] = v;
	return v;
}
