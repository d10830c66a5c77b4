/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DXK_FUZZ_CALL_H
#define DXK_FUZZ_CALL_H

#include "../selftests/lib/arg.h"
#include "actor.h"

/**
 * struct call - a call that is being made
 * @a: by whom
 * @s: for which step
 * @pos: how many of its fields are used
 * @fd: on which descriptor
 * @on: what that is, when the step found it
 * @cmd: number of the ioctl
 * @usize: the size that the module is told
 * @endless: it may sleep without a deadline
 * @bad: an address in it is bad
 */
struct call {
	struct actor *a;
	const struct step *s;
	unsigned int pos;
	int fd;
	struct object on;
	uint32_t cmd;
	uint32_t usize;
	bool endless;
	bool bad;
};

uint8_t take(struct call *c);
uint32_t number(struct call *c);
uint64_t deadline(struct call *c);
uint64_t address(struct call *c, unsigned int where);

/* ops.c */
struct ioctl_op {
	const char *name;
	uint32_t cmd;
	uint32_t size;
	enum kind kind;
	void (*fill)(struct call *c, union arg *a);
	void (*after)(struct call *c, union arg *a, int ret);
};
extern const struct ioctl_op ioctl_ops[];
extern const unsigned int nr_ioctl_ops;

#endif /* DXK_FUZZ_CALL_H */
