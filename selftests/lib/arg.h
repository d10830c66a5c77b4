/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DXK_ARG_H
#define DXK_ARG_H

#include "../../uapi/dxk.h"

/* The argument of any call, as in dxk/abi/args.h, with room behind it for a tail. */
union arg {
	__u32 size;
	unsigned char bytes[512];
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
	struct dxk_roundtrip roundtrip;
	struct dxk_next next;
	struct dxk_should_stop should_stop;
	struct dxk_names names;
	struct dxk_cancel_owner cancel_owner;
	struct dxk_key_call key_call;
	struct dxk_instrument instrument;
	struct dxk_label label;
	struct dxk_log_write log_write;
	struct dxk_log_read log_read;
	struct dxk_log_file log_file;
	struct dxk_command_send command_send;
	struct dxk_command_attach command_attach;
	struct dxk_command_next command_next;
	struct dxk_handle_open handle_open;
	struct dxk_handle_close handle_close;
	struct dxk_samples_read samples_read;
	struct dxk_latencies_read latencies_read;
	struct dxk_requests_read requests_read;
};

#endif /* DXK_ARG_H */
