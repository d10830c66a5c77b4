/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
#ifndef _DXK_ENGINE_WAITS_H
#define _DXK_ENGINE_WAITS_H

/**
 * enum os_turn - turns whose end others wait for
 *
 * A thread in a turn does not wait for a turn listed above it, or for another of its own kind.
 * Only in the first turn may it wait for something that a user can delay: a page, a file, a
 * worker. Therefore all turns end, except for the first. A debug kernel reports a wait against
 * this order even if it did not have to sleep.
 */
enum os_turn {
	/** @OS_EXECUTE: a kernel executor has a request. Stop waits for it */
	OS_EXECUTE,
	/**
	 * @OS_WALK: the walker takes a run down, and buries. Stop, Start and a new context
	 * wait for it
	 */
	OS_WALK,
	/** @OS_MONITOR: a turn of thread 500. Start, and the walker, which ends it, wait for it */
	OS_MONITOR,
	/** @OS_SCHEDULER: a turn of thread 600. The walker waits for it */
	OS_SCHEDULER,
	/** @OS_TIDY: slots are removed. Start, joining threads and the Monitor wait for it */
	OS_TIDY,
	/** @OS_GONE: a kernel worker has left its loop. The walker and the Monitor wait for it */
	OS_GONE,
	/** @OS_SHOW: a file in sysfs is read or written. The remover of the file waits for it */
	OS_SHOW,
	/** @OS_CLOSE: the close of a descriptor. A dying process waits for it */
	OS_CLOSE,
	/** @OS_DISPATCHER: a turn of thread 700. With policy dispatch=thread each call waits */
	OS_DISPATCHER,
	OS_TURNS,
};

#endif /* _DXK_ENGINE_WAITS_H */
