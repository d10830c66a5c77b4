// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The simulator for libFuzzer: an input is the choices of an episode, two bytes each.
 */
#include "choice.h"
#include "episode.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u32 i;

	if (!choices) {
		episode_init();
		outcome->crash = true;
	}
	choices->nr = min(size / 2, (size_t)CHOICES_MAX);
	for (i = 0; i < choices->nr; i++) {
		choices->stream[i] = data[2 * i];
		choices->value[i] = data[2 * i + 1];
	}
	episode_replay(NULL);
	return 0;
}
