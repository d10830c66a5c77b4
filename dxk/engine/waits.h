/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
#ifndef _DXK_ENGINE_WAITS_H
#define _DXK_ENGINE_WAITS_H

/**
 * enum os_turn - what others wait for the end of
 *
 * Nobody in a turn waits for one that stands above it, or for another of its own kind, and in
 * none but the first for what a user can hold up: a page, a file, a worker. So all of them
 * end, but for the first. A debug kernel tells of a wait against this order that did not
 * even have to sleep.
 */
enum os_turn {
	/** @OS_EXECUTE: a kernel executor has a request. Stop waits for it */
	OS_EXECUTE,
	/**
	 * @OS_WALK: the walker takes a run down, and buries. Stop waits, Start, and a new
	 * context
	 */
	OS_WALK,
	/** @OS_MONITOR: a turn of thread 500. Start waits for it, and the walker, which ends it */
	OS_MONITOR,
	/** @OS_SCHEDULER: of thread 600. The walker waits for it */
	OS_SCHEDULER,
	/** @OS_TIDY: slots are removed. Start waits, who joins, and the Monitor */
	OS_TIDY,
	/** @OS_GONE: a kernel worker has left its loop. The walker and the Monitor wait */
	OS_GONE,
	/** @OS_SHOW: a file in sysfs is read or written. Who removes it waits */
	OS_SHOW,
	/** @OS_CLOSE: the close of a descriptor. Whoever dies waits for it */
	OS_CLOSE,
	/** @OS_DISPATCHER: a turn of thread 700. With policy dispatch=thread each call waits */
	OS_DISPATCHER,
	OS_TURNS,
};

#endif /* _DXK_ENGINE_WAITS_H */
