/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One sleep of dxk: dxk_waiter_sleep() and dxk_waiter_finish(), load by load.
 *
 * Stores stay in a buffer until the process "memory" writes them, in any order: more
 * than x86 may do. A release waits until the stores before it are written, a full
 * barrier until all are. The engine's model takes what is shown here for granted.
 */

bool lock;		/* dxk_ctx.lock */
bool queued = true;	/* dxk_waiter.link */
bool answer, b_answer;	/* what the mover leaves for the sleeper, e.g. ->err */
bool done, b_done;	/* dxk_waiter.done */
bool asleep, b_asleep;	/* the sleeper's task state: not TASK_RUNNING */

bool stack = true;	/* the waiter lies on the sleeper's stack */
byte refs = 1;		/* of its task; 0: freed */
bool moved;		/* the move was made */

#define LOCK	atomic { !lock -> lock = true }
/* A release: what was written before is there before. */
#define UNLOCK	atomic { !b_answer && !b_done -> lock = false }

inline get_task()
{
	atomic { assert(refs > 0); refs++ }
}

inline set_done()
{
	atomic {
#ifndef MUT_RELEASE
		!b_answer;
#endif
		assert(stack);
		b_done = true
	}
}

inline wake()
{
	atomic {
		!b_answer && !b_done;
		assert(refs > 0);
		asleep = false
	}
}

active proctype mover()
{
	LOCK;
	if
	:: queued ->
		assert(stack);
		moved = true;
#ifdef MUT_FINISH_ORDER
		b_answer = true;
		set_done();
		assert(stack);		/* w->task */
		queued = false;
		get_task();
#else
		queued = false;
		b_answer = true;
#ifndef MUT_FINISH_REF
		get_task();
#endif
#ifdef MUT_WAKE_FIRST
		wake();
#endif
		set_done();
#endif
		UNLOCK;
#ifndef MUT_WAKE_FIRST
		wake();
#endif
#ifndef MUT_FINISH_REF
		atomic { refs-- }
#endif
	:: else -> UNLOCK
	fi
}

active proctype sleeper()
{
	bool saw, signal;

	do
	:: /* set_current_state() */
		b_asleep = true;
#ifndef MUT_SLEEP_BARRIER
		!b_asleep;
#endif
#ifndef MUT_SLEEP_RECHECK
		saw = done;
#endif
		if
		:: saw || signal -> break
		:: else
		fi;
		/* schedule() */
		!b_asleep;
		if
		:: !asleep
#ifdef SIGNAL
		:: atomic { asleep -> asleep = false; signal = true }
#endif
		fi
	od;
	atomic { !b_asleep -> asleep = false };
	saw = done;
	if
	:: saw
	:: else ->
		/* dxk_cancel_run() */
#ifndef MUT_CANCEL_LOCK
		LOCK;
#endif
		if
#ifndef MUT_CANCEL_DONE
		:: done -> saw = true
#endif
		:: else ->
#ifndef MUT_SIGNAL_LEAVE
			queued = false
#else
			skip
#endif
		fi;
#ifndef MUT_CANCEL_LOCK
		UNLOCK
#endif
	fi;
	if
	:: saw -> assert(answer)
	:: else -> assert(!moved)	/* else the move is lost */
	fi;
	stack = false;
	/* the thread ends */
	atomic { refs-- }
}




active proctype memory()
{
end:
	do
	:: atomic { b_answer -> answer = true; b_answer = false }
	:: atomic { b_done -> done = true; b_done = false }
	:: atomic { b_asleep -> asleep = true; b_asleep = false }
	od
}
