// SPDX-License-Identifier: GPL-2.0-only
/*
 * libFuzzer's entry points. An input is a sequence of calls (struct step), mutated as
 * such; what it reached in the module is what KCOV says. scripts/fuzz.sh runs it in a
 * guest.
 *
 * In the environment:
 *
 *   DXK_FUZZ_TRACE=1         print every call
 *   DXK_FUZZ_FIRST=N         so many inputs are known ones (corpus/), which together
 *   DXK_FUZZ_MIN_PCS=M       have to reach so many blocks, or exit 1
 *   DXK_FUZZ_BLOCKS=1        count only new blocks, for a small corpus (-merge=1)
 *   DXK_FUZZ_RING=FILE       keep the last inputs there, before they run
 *   DXK_FUZZ_COMPLAINT=ERE   what is a complaint in the kernel's log
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b,
				 size_t b_size, uint8_t *out, size_t max,
				 unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

static unsigned long inputs, first;
static unsigned int first_pcs;

static unsigned long number_of(const char *name)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 10) : 0;
}

static void summary(void)
{
	const unsigned long min = number_of("DXK_FUZZ_MIN_PCS");

	guard_end();
	if (first)
		printf("fuzz: corpus: %lu inputs reached %u basic blocks of dxk\n", first,
		       first_pcs);
	printf("fuzz: %lu inputs, %lu calls, %u basic blocks of dxk\n", inputs,
	       steps_calls, cover_pcs());
	if (first_pcs < min) {
		printf("fuzz: fewer than %lu, so this is no proof\n", min);
		fflush(stdout);
		_exit(1);
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	if (*argc == 4 && !strcmp((*argv)[1], "--unpack"))
		exit(guard_unpack((*argv)[2], (*argv)[3]));
	guard_init();
	steps_init();
	first = number_of("DXK_FUZZ_FIRST");
	atexit(summary);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	guard_before(data, size);
	steps_run(data, size);
	guard_after();
	/* libFuzzer begins with an empty one of its own */
	if (inputs++ == first)
		first_pcs = cover_pcs();
	return 0;
}

/* --- mutations -------------------------------------------------------------- */

/* Its own generator: the seed is all that libFuzzer gives. */
static uint32_t state;

static uint32_t draw(uint32_t below)
{
	state = state * 1664525 + 1013904223;
	return (uint64_t)(state >> 8) * below >> 24;
}

static void step_random(struct step *s)
{
	unsigned int i;

	s->op = draw(256);
	s->obj = draw(8) ? draw(3) : draw(256);
	/* Mostly as it should be: what is bent ends at the first check. */
	s->how = draw(4) ? draw(4) : draw(256);
	for (i = 0; i < STEP_FIELDS; i++)
		s->b[i] = draw(2) ? draw(8) : draw(256);
}

static void step_mutate(struct step *s)
{
	switch (draw(5)) {
	case 0:
		s->how = draw(2) ? s->how ^ (1 << draw(8)) : draw(4);
		break;
	case 1:
		s->obj = draw(2) ? draw(3) : draw(256);
		break;
	case 2:
		LLVMFuzzerMutate(s->b, sizeof(s->b), sizeof(s->b));
		break;
	default:
		s->b[draw(STEP_FIELDS)] = draw(2) ? draw(8) : draw(256);
	}
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
	struct step *s = (struct step *)data, tmp;
	size_t nr = size / sizeof(*s), nr_max = max / sizeof(*s);
	unsigned int times, at, other;

	state = seed;
	if (nr_max > STEPS_MAX)
		nr_max = STEPS_MAX;
	for (times = 1 + draw(4); times; times--) {
		at = nr ? draw(nr) : 0;
		switch (nr ? draw(8) : 0) {
		case 0:
		case 1:		/* a new one */
			if (nr == nr_max)
				break;
			memmove(s + at + 1, s + at, (nr - at) * sizeof(*s));
			step_random(s + at);
			nr++;
			break;
		case 2:		/* one less */
			if (nr == 1)
				break;
			memmove(s + at, s + at + 1, (nr - at - 1) * sizeof(*s));
			nr--;
			break;
		case 3:		/* the same again, elsewhere */
			if (nr == nr_max)
				break;
			tmp = s[draw(nr)];
			memmove(s + at + 1, s + at, (nr - at) * sizeof(*s));
			s[at] = tmp;
			nr++;
			break;
		case 4:
			other = draw(nr);
			tmp = s[at];
			s[at] = s[other];
			s[other] = tmp;
			break;
		default:
			step_mutate(s + at);
		}
	}
	return nr * sizeof(*s);
}

/* The begin of one and the end of the other. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b,
				 size_t b_size, uint8_t *out, size_t max,
				 unsigned int seed)
{
	const size_t one = sizeof(struct step);
	size_t head, tail;

	state = seed;
	head = draw(a_size / one + 1);
	tail = draw(b_size / one + 1);
	if (head > max / one)
		head = max / one;
	if (tail > max / one - head)
		tail = max / one - head;
	memcpy(out, a, head * one);
	memcpy(out + head * one, b + (b_size / one - tail) * one, tail * one);
	return (head + tail) * one;
}
