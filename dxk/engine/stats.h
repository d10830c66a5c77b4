/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
#ifndef _DXK_ENGINE_STATS_H
#define _DXK_ENGINE_STATS_H

#include "engine/os.h"

/*
 * The counters of a context, each a file below /sys/kernel/dxk/<id>/stats. A new
 * counter needs only one line here. Times are in nanoseconds.
 *
 * posts             requests taken into the Ready Pool
 * post_busy         posts refused for want of room
 * post_refused      posts refused because the context does not run, or stops
 * dispatches        requests given to a worker
 * completions       requests whose executor returned
 * vanished          requests that ended without a result, executed or not, and results
 *                   that were discarded
 * cancelled         requests that ended Ready or waiting: by Stop(cancel), by name, by their
 *                   time, with their space, by a policy that has no worker for them
 * put_back          dispatched requests that could not be fetched
 * owner_dead        requests that ended because their worker died
 * redone            requests that began anew because their worker died
 * stale             completions that named a dispatch the worker does not hold
 * rejoin_returned   rejoin calls answered RJR_RETURNED
 * rejoin_none_ready rejoin calls answered RJR_NONE_READY
 * rejoin_none_exist rejoin calls answered RJR_NONE_EXIST
 * collected         requests returned by rejoin calls
 * helps             requests that workers executed while they slept in a call
 * spare_runs        requests that spare workers executed
 * self_poll         rejoin calls for an owner that the caller's own request has
 * rejoin_overflow   completions beyond rejoin_entries (policy GROW)
 * homeless          times that a request was given to a worker while its home had none
 * waits             turns that ended with a wait, and requests posted waiting
 * held              times that a request had to wait for its key
 * blocked           times that a request began to block, and gave its place to others
 * block_refused     times that it could not, as nobody would have taken it
 * replaced          times that a worker was seen asleep elsewhere for too long
 * nested            requests that were executed within the one that has their key
 * deadlocks         waits that were refused because what they are for waits for them
 * circles           times that the Monitor has found waits for each other, see circle.h
 * timeouts          of the waits, waits that were ended by their time limit
 * expired           requests that had not ended when their expiry time came
 * stalls            times that work existed and nobody could run it, see stall.h
 * overdue           requests that executed for longer than report_age_ms, and reports of
 *                   requests that wait for longer than wait_report_ms
 * tune_intervals    intervals that the search for the best number of workers could compare
 * tune_steps        times that it has changed that number, see tune.h
 * missed_wakeups    sweeps of thread 700 that found work to do; 0 if all is well
 * post_blocks       posts that slept, and the time they did
 * rejoin_blocks     rejoin calls that slept, and the time they did
 * place_blocks      calls that slept until somebody could take the place of a request that is
 *                   to block, and the time they did
 * key_blocks        calls that slept for the key of their request, and the time they did
 * complete_blocks   completions that slept for room, and the time they did
 */
#define DXK_STATS(S)			\
	S(posts)			\
	S(post_busy)			\
	S(post_refused)			\
	S(dispatches)			\
	S(completions)			\
	S(vanished)			\
	S(cancelled)			\
	S(put_back)			\
	S(owner_dead)			\
	S(redone)			\
	S(stale)			\
	S(rejoin_returned)		\
	S(rejoin_none_ready)		\
	S(rejoin_none_exist)		\
	S(collected)			\
	S(helps)			\
	S(spare_runs)			\
	S(self_poll)			\
	S(rejoin_overflow)		\
	S(homeless)			\
	S(waits)			\
	S(held)				\
	S(blocked)			\
	S(block_refused)		\
	S(replaced)			\
	S(nested)			\
	S(deadlocks)			\
	S(circles)			\
	S(timeouts)			\
	S(expired)			\
	S(stalls)			\
	S(overdue)			\
	S(tune_intervals)		\
	S(tune_steps)			\
	S(missed_wakeups)		\
	S(post_blocks)			\
	S(post_block_ns)		\
	S(rejoin_blocks)		\
	S(rejoin_block_ns)		\
	S(place_blocks)			\
	S(place_block_ns)		\
	S(key_blocks)			\
	S(key_block_ns)			\
	S(complete_blocks)		\
	S(complete_block_ns)

struct dxk_stats {
#define DXK_STAT_FIELD(name) u64 name;
	DXK_STATS(DXK_STAT_FIELD)
#undef DXK_STAT_FIELD
};

#endif /* _DXK_ENGINE_STATS_H */
