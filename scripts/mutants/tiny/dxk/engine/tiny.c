// SPDX-License-Identifier: GPL-2.0-only
/*
 * A source whose mutants have known verdicts, see expected.txt.
 */
#include "engine/tiny.h"

static int tiny_sent, tiny_message;
int tiny_questions;

int tiny_clamp(int n)
{
	WARN_ON_ONCE(n > 1000);
	if (unlikely(n < 0))
		return 0;
	return tiny_full(n) ? TINY_MOST : n;
}

int tiny_sum(signed char n)
{
	int sum = 0;

	while (n) {
		sum += n;
		n--;
	}
	return sum;
}

int tiny_corners(enum tiny_shape shape, bool round)
{
	tiny_questions++;
	switch (shape) {
	case TINY_SQUARE:
		/* nobody asks for those with round corners */
		return round ? 0 : 4;
	default:
		return 0;
	}
}

/* Only the simulator asks. */
int tiny_rare(int n)
{
	return min(n, 7);
}

void tiny_send(int what)
{
	tiny_message = what;
	smp_store_release(&tiny_sent, 1);
}

int tiny_receive(void)
{
	while (!smp_load_acquire(&tiny_sent))
		;
	return tiny_message;
}

int tiny_lane(int bit)
{
	switch (bit) {
	case 0:
		return 3;
	case 1:
		return 2;
	}
	return -1;
}
