/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What dxserve offers and dxcall asks for: the executor of a request is the number of
 * an operation, its file comes with it (PXR_FD), the result is data. Nothing else is
 * shared by the two.
 */
#ifndef SERVICE_H
#define SERVICE_H

#include <stdint.h>

#define SERVICE_NAME	"dxserve"

enum operation {
	OP_SHA256 = 1,		/* result: 32 bytes */
	OP_COUNT = 2,		/* result: struct counts */
};

/* As wc(1) counts in the C locale. */
struct counts {
	uint64_t lines;
	uint64_t words;
	uint64_t bytes;
};

#endif /* SERVICE_H */
