// SPDX-License-Identifier: GPL-2.0-only
/*
 * nop, echo, sleep: executors without a work of their own, to measure dxk and to
 * test programs that use it.
 */
#include <linux/errno.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/time64.h>

#include "executors.h"

/* A worker must come back in the end, whatever a client asks for. */
#define SLEEP_MAX_US	(60 * USEC_PER_SEC)

/* How long a stop may go unnoticed when nobody wakes the worker for it. */
#define SLEEP_SLICE_US	(10 * USEC_PER_MSEC)

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
	ktime_t now, end, wake;

	if (call->param > SLEEP_MAX_US)
		return -EINVAL;

	now = ktime_get();
	end = ktime_add_us(now, call->param);

	while (ktime_before(now, end)) {
		if (dxk_should_stop(call))
			return -ECANCELED;
		if (signal_pending(current))
			return -EINTR;

		wake = ktime_add_us(now, SLEEP_SLICE_US);
		if (ktime_after(wake, end))
			wake = end;

		/*
		 * Whoever wakes the worker early only makes it ask again. Asking
		 * may sleep, so a wake-up between the question and the new state
		 * is missed; the slice bounds what that costs.
		 */
		set_current_state(TASK_INTERRUPTIBLE);
		schedule_hrtimeout(&wake, HRTIMER_MODE_ABS);
		now = ktime_get();
	}
	return 0;
}
