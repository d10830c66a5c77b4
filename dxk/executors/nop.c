// SPDX-License-Identifier: GPL-2.0-only
/*
 * nop, echo, sleep: executors without a work of their own, to measure dxk and to
 * test programs that use it.
 */
#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include "executors.h"

/* A worker must come back in the end, whatever a client asks for. */
#define SLEEP_MAX_US	(60 * USEC_PER_SEC)

/**
 * exe_nop - executor "nop": nothing
 * @call: the request; all of it is ignored
 *
 * Return: 0, without result data.
 */
s32 exe_nop(struct dxk_call *call)
{
	return 0;
}

/**
 * exe_echo - executor "echo": the data that came with the request is its result
 * @call: the request; of its data as much comes back as the result has room for
 *
 * Return: 0.
 */
s32 exe_echo(struct dxk_call *call)
{
	/* Data and result share the buffer, so the bytes are in place. */
	call->result_len = min(call->data_len, call->result_room);
	return 0;
}

/**
 * exe_sleep - executor "sleep": keep a worker for a while
 * @call: the request; @param is how long, in microseconds, 60 seconds at most
 *
 * Return: 0 when the time is over, -ECANCELED when dxk told the worker to stop,
 * -EINTR when a signal came, -EINVAL when @param is too large. No result data.
 */
s32 exe_sleep(struct dxk_call *call)
{
	int err;

	if (call->param > SLEEP_MAX_US)
		return -EINVAL;
	err = dxk_wait_should_stop(call, ktime_get_ns() + call->param * NSEC_PER_USEC);
	return err > 0 ? -ECANCELED : err ? -EINTR : 0;
}

/**
 * exe_block - executor "block": sleep for a while, and give the worker's place away meanwhile
 * @call: the request; @param as of "sleep"
 *
 * Return: as "sleep"; -EAGAIN when nobody could take the place within a second.
 */
s32 exe_block(struct dxk_call *call)
{
	int err = dxk_block_enter(call, false, ktime_get_ns() + NSEC_PER_SEC), left;

	if (err)
		return err;
	err = exe_sleep(call);
	left = dxk_block_leave(call);
	return err ?: left;
}
