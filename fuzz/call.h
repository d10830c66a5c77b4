/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DXK_FUZZ_CALL_H
#define DXK_FUZZ_CALL_H

#include "../uapi/dxk.h"
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

union any_arg {
	struct dxk_version version;
	struct dxk_executor_find executor_find;
	struct dxk_ctx_create ctx_create;
	struct dxk_ctx_join ctx_join;
	struct dxk_ctx_start ctx_start;
	struct dxk_ctx_stop ctx_stop;
	struct dxk_policy policy;
	struct dxk_member_create member_create;
	struct dxk_crew_wait crew_wait;
	struct dxk_post post;
	struct dxk_rejoin rejoin;
	struct dxk_next next;
	struct dxk_should_stop should_stop;
	struct dxk_log_write log_write;
	struct dxk_log_read log_read;
	struct dxk_log_file log_file;
	struct dxk_command_send command_send;
	struct dxk_command_attach command_attach;
	struct dxk_command_next command_next;
	struct dxk_handle_open handle_open;
	struct dxk_handle_close handle_close;
	struct dxk_samples_read samples_read;
	uint8_t bytes[160];
};

/* ops.c */
struct ioctl_op {
	const char *name;
	uint32_t cmd;
	uint32_t size;
	enum kind kind;
	void (*fill)(struct call *c, union any_arg *a);
	void (*after)(struct call *c, union any_arg *a, int ret);
};
extern const struct ioctl_op ioctl_ops[];
extern const unsigned int nr_ioctl_ops;

#endif /* DXK_FUZZ_CALL_H */
