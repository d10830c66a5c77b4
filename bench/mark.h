/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Instructions that do nothing, and that the profiler sees by their bytes: a long nop
 * whose displacement is a number. For the kernel's side and for user space.
 */
#ifndef BENCH_MARK_H
#define BENCH_MARK_H

#define MARK_BEGIN	0x6b786401
#define MARK_END	0x6b786402

#define MARK_TEXT(what)		#what
#define MARK_BYTES(what)	".byte 0x0f, 0x1f, 0x84, 0x00\n\t.long " MARK_TEXT(what)
#define MARK(what)		asm volatile(MARK_BYTES(what) : : : "memory")

#endif /* BENCH_MARK_H */
