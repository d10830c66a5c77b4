// SPDX-License-Identifier: GPL-2.0-only
/* See abi_test.h. */
#define DXT_NO_HARNESS
#include "lib/calls/abi_test.h"

#include <unistd.h>

const struct call calls[] = {
	{ "VERSION", DXK_IOC_VERSION, ON_CONTROL, sizeof(struct dxk_version), -1, 0 },
	{ "EXECUTOR_FIND", DXK_IOC_EXECUTOR_FIND, ON_CONTROL | ON_CONTEXT,
	  sizeof(struct dxk_executor_find),
	  offsetof(struct dxk_executor_find, reserved), EINVAL },
	{ "CTX_CREATE", DXK_IOC_CTX_CREATE, ON_CONTROL, sizeof(struct dxk_ctx_create),
	  offsetof(struct dxk_ctx_create, flags), EOPNOTSUPP },
	{ "CTX_START", DXK_IOC_CTX_START, ON_CONTEXT, sizeof(struct dxk_ctx_start),
	  offsetof(struct dxk_ctx_start, flags), EOPNOTSUPP },
	{ "CTX_STOP", DXK_IOC_CTX_STOP, ON_CONTEXT, sizeof(struct dxk_ctx_stop),
	  -1, 0 },
	{ "POLICY_GET", DXK_IOC_POLICY_GET, ON_CONTEXT, sizeof(struct dxk_policy),
	  -1, 0 },
	{ "POLICY_SET", DXK_IOC_POLICY_SET, ON_CONTEXT, sizeof(struct dxk_policy),
	  -1, 0 },
	{ "MEMBER_CREATE", DXK_IOC_MEMBER_CREATE, ON_CONTEXT,
	  sizeof(struct dxk_member_create), -1, 0 },
	{ "POST", DXK_IOC_POST, ON_CLIENT | ON_WORKER, sizeof(struct dxk_post),
	  offsetof(struct dxk_post, flags), EOPNOTSUPP },
	{ "REJOIN", DXK_IOC_REJOIN, ON_CLIENT | ON_WORKER, sizeof(struct dxk_rejoin),
	  offsetof(struct dxk_rejoin, flags), EOPNOTSUPP },
	{ "NEXT", DXK_IOC_NEXT, ON_WORKER, sizeof(struct dxk_next),
	  offsetof(struct dxk_next, flags), EOPNOTSUPP },
	{ "SHOULD_STOP", DXK_IOC_SHOULD_STOP, ON_CLIENT | ON_WORKER,
	  sizeof(struct dxk_should_stop), offsetof(struct dxk_should_stop, flags),
	  EOPNOTSUPP },
	{ "WAKE", DXK_IOC_WAKE, ON_CLIENT | ON_WORKER, sizeof(struct dxk_names),
	  offsetof(struct dxk_names, flags), EOPNOTSUPP },
	{ "CANCEL", DXK_IOC_CANCEL, ON_CLIENT | ON_WORKER, sizeof(struct dxk_names),
	  offsetof(struct dxk_names, reserved), EINVAL },
	{ "CANCEL_OWNER", DXK_IOC_CANCEL_OWNER, ON_CLIENT | ON_WORKER,
	  sizeof(struct dxk_cancel_owner), offsetof(struct dxk_cancel_owner, flags),
	  EOPNOTSUPP },
	{ "KEY", DXK_IOC_KEY, ON_CLIENT | ON_WORKER, sizeof(struct dxk_key_call),
	  offsetof(struct dxk_key_call, flags), EOPNOTSUPP },
	{ "INSTRUMENT", DXK_IOC_INSTRUMENT, ON_CLIENT | ON_WORKER,
	  sizeof(struct dxk_instrument), offsetof(struct dxk_instrument, flags), EOPNOTSUPP },
	{ "LABEL", DXK_IOC_LABEL, ON_CLIENT | ON_WORKER, sizeof(struct dxk_label),
	  offsetof(struct dxk_label, flags), EOPNOTSUPP },
	{ "SAMPLES_READ", DXK_IOC_SAMPLES_READ, ON_CONTEXT,
	  sizeof(struct dxk_samples_read), offsetof(struct dxk_samples_read, flags),
	  EOPNOTSUPP },
	{ "LATENCIES_READ", DXK_IOC_LATENCIES_READ, ON_CONTEXT,
	  sizeof(struct dxk_latencies_read), offsetof(struct dxk_latencies_read, flags),
	  EOPNOTSUPP },
	{ "REQUESTS_READ", DXK_IOC_REQUESTS_READ, ON_CONTEXT,
	  sizeof(struct dxk_requests_read), offsetof(struct dxk_requests_read, flags),
	  EOPNOTSUPP },
	{ "LOG_FILE", DXK_IOC_LOG_FILE, ON_CONTEXT, sizeof(struct dxk_log_file), -1, 0 },
	{ "LOG_READ", DXK_IOC_LOG_READ, ON_CONTEXT, sizeof(struct dxk_log_read),
	  offsetof(struct dxk_log_read, flags), EOPNOTSUPP },
	{ "LOG_WRITE", DXK_IOC_LOG_WRITE, ON_CLIENT | ON_WORKER,
	  sizeof(struct dxk_log_write), offsetof(struct dxk_log_write, reserved), EINVAL },
	{ "HANDLE_OPEN", DXK_IOC_HANDLE_OPEN, ON_CONTEXT,
	  sizeof(struct dxk_handle_open), -1, 0 },
	{ "HANDLE_CLOSE", DXK_IOC_HANDLE_CLOSE, ON_CONTEXT,
	  sizeof(struct dxk_handle_close), offsetof(struct dxk_handle_close, flags),
	  EOPNOTSUPP },
	{ "COMMAND_SEND", DXK_IOC_COMMAND_SEND, ON_CONTEXT,
	  sizeof(struct dxk_command_send), -1, 0 },
	{ "COMMAND_ATTACH", DXK_IOC_COMMAND_ATTACH, ON_CLIENT | ON_WORKER,
	  sizeof(struct dxk_command_attach), -1, 0 },
	{ "COMMAND_NEXT", DXK_IOC_COMMAND_NEXT, ON_CLIENT | ON_WORKER,
	  sizeof(struct dxk_command_next), -1, 0 },
	{ "CTX_JOIN", DXK_IOC_CTX_JOIN, ON_CONTROL, sizeof(struct dxk_ctx_join),
	  offsetof(struct dxk_ctx_join, flags), EOPNOTSUPP },
	{ "CREW_WAIT", DXK_IOC_CREW_WAIT, ON_CONTEXT, sizeof(struct dxk_crew_wait),
	  offsetof(struct dxk_crew_wait, flags), EOPNOTSUPP },
	{ "CALL", DXK_IOC_CALL, ON_CLIENT | ON_WORKER, sizeof(struct dxk_roundtrip),
	  offsetof(struct dxk_roundtrip, flags), EOPNOTSUPP },
};
const unsigned int nr_calls = sizeof(calls) / sizeof(calls[0]);

int take_role(struct dxt *t, unsigned int is)
{
	if (is == ON_CLIENT)
		return t->member;
	close(t->member);
	t->member = dxk_member_create(t->ctx, DXK_MEMBER_WORKER, &t->member_id);
	return t->member;
}

int populate(struct dxt *t, unsigned int is, int *me)
{
	char data[16] = "result";
	struct dxk_post_entry e = dxt_entry(OWNER, DXT_ECHO, 0, PXR_REJOIN);
	struct dxt_worker *w = dxt_worker_start(t);
	struct dxk_post post;

	e.data = DXT_PTR(data);
	e.data_len = e.result_len = sizeof(data);
	if (w->member < 0)
		return w->member;
	if (dxt_post(t->member, &e, 1, 0, &post) != 1)
		return -EIO;
	if (!DXT_UNTIL(t, dxt_num(t, "pools/rejoin_use") == 1))
		return -ETIME;
	dxt_worker_end(w);
	*me = take_role(t, is);
	if (*me < 0)
		return *me;
	if (dxt_post1(*me, OWNER, DXT_NOP, 0, PXR_REJOIN, 0, NULL) != 1)
		return -EIO;
	return 0;
}

void fill(union arg *a, const struct call *c, void *array)
{
	memset(a, 0, sizeof(*a));
	a->size = c->size;
	switch (c->cmd) {
	case DXK_IOC_EXECUTOR_FIND:
		strcpy(a->executor_find.name, "nop");
		break;
	case DXK_IOC_CTX_JOIN:
		a->ctx_join.access = DXK_ACCESS_READ;
		a->ctx_join.abi = DXK_ABI_VERSION;
		strcpy(a->ctx_join.name, "nobody");
		break;
	case DXK_IOC_POST:
		a->post.entries = DXT_PTR(array);
		a->post.nr = 1;
		a->post.entry_size = sizeof(struct dxk_post_entry);
		break;
	case DXK_IOC_REJOIN:
		a->rejoin.results = DXT_PTR(array);
		a->rejoin.nr = 1;
		a->rejoin.result_size = sizeof(struct dxk_result);
		a->rejoin.owner = 4711;
		break;
	case DXK_IOC_CALL:
		a->roundtrip.entries = DXT_PTR(array);
		a->roundtrip.results = DXT_PTR(array);
		a->roundtrip.nr = 1;
		a->roundtrip.entry_size = sizeof(struct dxk_post_entry);
		a->roundtrip.result_size = sizeof(struct dxk_result);
		break;
	case DXK_IOC_NEXT:
		a->next.work = DXT_PTR(array);
		a->next.nr_work = 1;
		a->next.work_size = sizeof(struct dxk_work);
		break;
	case DXK_IOC_WAKE:
	case DXK_IOC_CANCEL:
		a->names.names = DXT_PTR(array);
		a->names.nr = 1;
		break;
	case DXK_IOC_INSTRUMENT:
		strcpy(a->instrument.name, "abi");
		break;
	case DXK_IOC_SAMPLES_READ:
		a->samples_read.samples = DXT_PTR(array);
		a->samples_read.nr = 1;
		a->samples_read.sample_size = sizeof(struct dxk_sample);
		break;
	case DXK_IOC_LATENCIES_READ:
		a->latencies_read.counts = DXT_PTR(array);
		a->latencies_read.nr = 1;
		break;
	case DXK_IOC_REQUESTS_READ:
		a->requests_read.requests = DXT_PTR(array);
		a->requests_read.nr = DXK_BATCH_MAX;
		a->requests_read.request_size = sizeof(struct dxk_request_info);
		break;
	case DXK_IOC_HANDLE_OPEN:
		a->handle_open.fd = -1;
		break;
	case DXK_IOC_LOG_FILE:
		a->log_file.fd = -1;
		break;
	case DXK_IOC_COMMAND_SEND:
		a->command_send.text = DXT_PTR("unknown");
		a->command_send.text_len = 7;
		break;
	case DXK_IOC_COMMAND_NEXT:
		a->command_next.text = DXT_PTR(array);
		a->command_next.text_room = DXK_COMMAND_MAX;
		break;
	}
}

uint32_t first_size(const struct call *c)
{
	switch (c->cmd) {
	case DXK_IOC_CTX_JOIN:
		return offsetof(struct dxk_ctx_join, uid);
	case DXK_IOC_POLICY_GET:
	case DXK_IOC_POLICY_SET:
		return offsetof(struct dxk_policy, autotune);
	}
	return c->size;
}

uint32_t known_flags(const struct call *c)
{
	switch (c->cmd) {
	case DXK_IOC_INSTRUMENT:
		return DXK_INSTRUMENT_SET;
	case DXK_IOC_CTX_CREATE:
		return DXK_CTX_CHOWN;
	case DXK_IOC_CTX_JOIN:
		return DXK_JOIN_SHARED | DXK_JOIN_BY_ID | DXK_JOIN_OWNER;
	case DXK_IOC_POST:
		return DXK_CALL_HELP;
	case DXK_IOC_REJOIN:
		return DXK_CALL_HELP | DXK_CALL_NEST | DXK_CALL_ANY;
	case DXK_IOC_CALL:
		return DXK_CALL_HELP | DXK_CALL_NEST;
	case DXK_IOC_KEY:
		return DXK_KEY_REFUSE | DXK_KEY_FORCE;
	default:
		return 0;
	}
}

int right_answer(const struct call *c)
{
	switch (c->cmd) {
	case DXK_IOC_CTX_START:
		return -EBUSY;
	case DXK_IOC_NEXT:
		return -ETIMEDOUT;
	case DXK_IOC_POLICY_SET:
		return -EINVAL;		/* no policy is all zero */
	case DXK_IOC_POST:
	case DXK_IOC_CALL:
		return -EPERM;		/* lane 0 is closed */
	case DXK_IOC_HANDLE_OPEN:
		return -EBADF;
	case DXK_IOC_LATENCIES_READ:
		return 1;		/* as many as are asked for */
	case DXK_IOC_HANDLE_CLOSE:
	case DXK_IOC_CTX_JOIN:
	case DXK_IOC_WAKE:
	case DXK_IOC_CANCEL:
	case DXK_IOC_CANCEL_OWNER:
		return -ENOENT;
	case DXK_IOC_KEY:
		return -ESTALE;		/* it executes nothing */
	case DXK_IOC_LOG_READ:
		return -EINVAL;		/* no message at all is asked for */
	case DXK_IOC_COMMAND_NEXT:
		return -EPERM;		/* it is no handler */
	default:
		return 0;
	}
}

int on(const struct dxt *t, int me, unsigned int kind)
{
	switch (kind) {
	case ON_CONTROL:
		return t->ctl;
	case ON_CONTEXT:
		return t->ctx;
	default:
		return me;
	}
}

void undo(const struct call *c, const union arg *a, int rc)
{
	if (rc)
		return;
	if (c->cmd == DXK_IOC_CTX_CREATE)
		close(a->ctx_create.fd);
	if (c->cmd == DXK_IOC_MEMBER_CREATE)
		close(a->member_create.fd);
}
