// SPDX-License-Identifier: GPL-2.0-only
/*
 * Readers of the log: a process by LOG_READ, or the module that has the context.
 */
#include <linux/ktime.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>

#include "engine/os.h"
#include "services/log.h"

/* Whether a reader need not wait: there is a message, or there will be none for it. */
static bool dxk_log_stirs(struct dxk_log *log)
{
	return !READ_ONCE(log->async) || READ_ONCE(log->file) || dxk_log_readable(log);
}

/* Sleep until @over: 0, -ERESTARTSYS, or -ETIMEDOUT at the deadline; a deadline of 0 is over. */
static int dxk_log_wait(struct dxk_log *log, wait_queue_head_t *queue,
			bool (*over)(struct dxk_log *log), u64 deadline)
{
	ktime_t until = ns_to_ktime(min_t(u64, deadline, KTIME_MAX));
	DEFINE_WAIT(wait);
	int err = 0;

	os_may_wait_for_user();
	for (;;) {
		prepare_to_wait(queue, &wait, TASK_INTERRUPTIBLE);
		if (over(log)) {
			err = 0;
			break;
		}
		/* The deadline takes precedence over signals, as in os_doze(). */
		if (!err && signal_pending(current))
			err = ktime_get_ns() < deadline ? -ERESTARTSYS : -ETIMEDOUT;
		if (err)
			break;
		if (!schedule_hrtimeout_range(deadline == DXK_FOREVER ? NULL : &until,
					      current->timer_slack_ns,
					      HRTIMER_MODE_ABS))
			err = -ETIMEDOUT;
	}
	finish_wait(queue, &wait);
	return err;
}

/* Hand on messages, as the drainer. A message that the reader cannot take stays the next one. */
static int dxk_log_read_some(struct dxk_log *log, struct dxk_log_sink *sink, u32 nr)
{
	/* Read before the pool: once it is false, no further message comes. */
	bool more = READ_ONCE(log->async);
	int err = 0;
	u32 i;

	smp_rmb();
	for (i = 0; i < nr; i++) {
		if (!dxk_log_hold(log)) {
			err = more ? 0 : -ESHUTDOWN;
			break;
		}
		err = sink->put(sink, &log->held, i);
		if (err)
			break;
		dxk_log_pass(log);
	}
	return i ? (int)i : err;
}

static bool dxk_log_is_unread(struct dxk_log *log)
{
	return !dxk_log_is_read(log);
}

/*
 * Become the drainer. A turn of the item is short; a reader whose memory is never served takes
 * without limit, so that others wait for it until their deadline.
 */
static int dxk_log_await(struct dxk_log *log, u64 deadline)
{
	int err, claim;

	do {
		err = dxk_log_wait(log, &log->claimants, dxk_log_is_settled, DXK_FOREVER);
		if (err)
			return err;
		claim = dxk_log_claim(log);
		if (claim)
			return claim;
		err = dxk_log_wait(log, &log->claimants, dxk_log_is_unread, deadline);
	} while (!err);
	return err;
}

static int dxk_log_read_now(struct dxk_log *log, struct dxk_log_sink *sink, u32 nr,
			    u64 deadline)
{
	int ret = dxk_log_await(log, deadline);

	if (ret < 0)
		return ret;
	ret = dxk_log_read_some(log, sink, nr);
	dxk_log_yield(log);
	return ret;
}

/**
 * dxk_log_read - read messages, and so take them out of the pool
 * @log: the pool
 * @sink: their destination
 * @nr: how many at most
 * @deadline: how long to sleep while there is none; 0 for not at all
 *
 * Return: how many; 0: none in time, or another reader was active; -ESHUTDOWN: none, and none
 * comes before the next Start; -EBUSY: the messages go to a file; -ERESTARTSYS; or the error of
 * @sink for the first message.
 */
int dxk_log_read(struct dxk_log *log, struct dxk_log_sink *sink, u32 nr, u64 deadline)
{
	int ret = 0;

	while (!ret) {
		ret = dxk_log_read_now(log, sink, nr, deadline);
		if (ret || !deadline)
			break;
		ret = dxk_log_wait(log, &log->readers, dxk_log_stirs, deadline);
	}
	return ret == -ETIMEDOUT ? 0 : ret;
}
