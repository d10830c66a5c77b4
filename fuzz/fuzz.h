/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DXK_FUZZ_H
#define DXK_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct step - one call of an input; an input is an array of them
 * @op: which, see the table in steps.c
 * @obj: on which descriptor: bits 0-2 which of those of the right kind that the caller
 *	made, bit 6: whoever made it; from 0xf0 on any descriptor at all
 * @how: bits 0-1 who calls, STEP_* below how its argument is bent
 * @b: its fields, in the order in which the call's function takes them; the last
 *	four are offset and value of two patches of the argument
 */
struct step {
	uint8_t op;
	uint8_t obj;
	uint8_t how;
	uint8_t b[13];
};

#define STEPS_MAX	32
#define STEP_FIELDS	13

/* Bits of step.how */
#define STEP_WHO	0x03	/* 0, 1: main; 2: helper, not waited for; 3: helper */
#define STEP_PATCH	0x04	/* the argument is patched */
#define STEP_SIZE	0x18	/* 0: the right size; else as fuzz_size says */
#define STEP_EDGE	0x20	/* the argument ends where its page does */
#define STEP_BAD	0x40	/* an address is one that cannot be used */

/* cover.c: KCOV */
struct cover;
struct cover *cover_new(void);
void cover_enable(struct cover *c);
void cover_begin(struct cover *c);
void cover_take(struct cover *c);
unsigned int cover_pcs(void);

/* steps.c */
void steps_init(void);
void steps_run(const uint8_t *data, size_t size);
extern unsigned long steps_calls;

/* guard.c: what went wrong, and what is left */
void guard_init(void);
void guard_before(const uint8_t *data, size_t size);
void guard_after(void);
void guard_end(void);
void guard_fail(const char *fmt, ...)
	__attribute__((format(printf, 1, 2), noreturn));
int guard_unpack(const char *ring, const char *dir);

#endif /* DXK_FUZZ_H */
