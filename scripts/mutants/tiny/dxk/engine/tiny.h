/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A source whose mutants have known verdicts, see expected.txt.
 */
#ifndef _TINY_H
#define _TINY_H

#include <stdbool.h>

#include "world.h"

#define TINY_MOST	3

enum tiny_shape {
	TINY_ROUND,
	TINY_SQUARE,
};

static inline bool tiny_full(int n)
{
	return n >= TINY_MOST;
}

/* For who looks on: what it is does not matter. */
extern int tiny_questions;

int tiny_clamp(int n);
int tiny_sum(signed char n);
int tiny_corners(enum tiny_shape shape, bool round);
int tiny_rare(int n);
int tiny_lane(int bit);
void tiny_send(int what);
int tiny_receive(void);

#endif /* _TINY_H */
