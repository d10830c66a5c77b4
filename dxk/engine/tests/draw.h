/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * Random numbers that are the same in every world.
 */
#ifndef _DXK_ENGINE_TESTS_DRAW_H
#define _DXK_ENGINE_TESTS_DRAW_H

#include "engine/os.h"

/** draw_u32 - 32 bits, from a state that is its seed at first (splitmix64) */
static inline u32 draw_u32(u64 *state)
{
	u64 z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (z ^ (z >> 31)) >> 32;
}

#endif /* _DXK_ENGINE_TESTS_DRAW_H */
