// SPDX-License-Identifier: GPL-2.0-only
/*
 * The simulator of tiny.c.
 */
#include "engine/tiny.h"

int main(void)
{
	return tiny_rare(7) != 7 || tiny_rare(8) != 7 || tiny_rare(6) != 6;
}
