/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A request that waits for a file: dxk_watch_arm(), dxk_watch_called(), dxk_event_fire(),
 * dxk_park(), dxk_fired_run() and dxk_events_look(), load by load.
 *
 * Stores stay in a buffer until the process "memory" writes them, in any order: more
 * than x86 may do. A full barrier waits until all are written, and so does what contains one,
 * an exchange. Two devices change the file; the worker takes turns until it has seen the
 * last change. If an event is lost it waits for ever, which is an invalid end state. While the
 * worker runs nobody is woken; when it sleeps for work it is itself, until it is given other work:
 * then it is thread 700.
 */

#define NOBODY		0
#define DISPATCHER	1
#define WORKER		2

bool level, b_level[2];	/* the file can be read; stored by the devices */
byte changes = CHANGES;	/* that the devices are still to make, each */
byte ended;		/* devices that have made theirs */

bool queue;		/* the lock of the file's wait queue */
bool hooked = true;

bool armed, b_armed;	/* dxk_file_watch.armed; stored by the worker */
bool seen = true;	/* dxk_event.seen: of an earlier wait ... */
bool b_unseen;		/* ... and the worker's store of 0 */
bool pending;		/* dxk_event.pending */
bool listed;		/* the event is in dxk_waits.fired */
bool freed;

bool lock;		/* dxk_engine.lock */
bool waiting;		/* the request is WAITING; else the worker has it, or it is READY */
byte call = DISPATCHER;	/* dxk_waits.call; stored by an exchange */
bool kicked;		/* thread 700 */
bool woken;		/* the worker, since it was about to sleep */
bool over;		/* the worker has ended */

#define LOCK	atomic { !lock -> lock = true }
#define UNLOCK	atomic { !b_armed && !b_unseen -> lock = false }
#define MB	!b_armed && !b_unseen

/* Nothing is to come, and nothing is on its way. */
#define over_by_now	(waiting && ended == 2 && !level && !listed && !b_level[0] && !b_level[1] && \
			 !queue)

/* The worker does not sleep for work any more: dxk_catcher_leave(). */
inline leave()
{
	if
	:: call == WORKER ->
		call = DISPATCHER;
#ifndef MUT_CATCH_LEAVE
		kick_for_events()
#endif
	:: else
	fi
}

inline run_fired()
{
	if
	:: listed ->
		listed = false;
		assert(!freed);
#ifndef MUT_FIRE_PENDING
		pending = false;
#endif
		if
		:: waiting && seen -> seen = false; waiting = false; leave()
		:: else
		fi;
#ifdef MUT_FIRE_PENDING
		pending = false
#endif
	:: else
	fi
}

inline wake()
{
	who = call;
	if
	:: who == DISPATCHER -> kicked = true
	:: who == WORKER -> woken = true
	:: else
	fi
}

inline kick_for_events()
{
	if
	:: listed -> kicked = true
	:: else
	fi
}

/* Under the lock of the queue. */
inline fire()
{
	assert(!freed);
#ifdef MUT_FIRE_SEEN
	if
	:: atomic { !pending -> pending = true };
		listed = true;
		wake()
	:: else
	fi;
	seen = true
#else
	seen = true;
	if
	:: atomic { !pending -> pending = true };
		/* Others are in the list, or it looks whether to kick. */
		listed = true;
		wake()
	:: else
	fi
#endif
}

proctype device(bit me)
{
	byte n = changes, who;

	do
	:: n ->
		n--;
		b_level[me] = true;
		/* wq_has_sleeper(), or the lock: a full barrier */
#ifndef MUT_WAKE_BARRIER
		!b_level[me];
#endif
		atomic { !queue -> queue = true };
		if
		:: hooked && armed ->
			/* xchg() */
			if
			:: atomic { armed -> armed = false }; fire()
			:: else
			fi
		:: else
		fi;
		queue = false;
		!b_level[me]
	:: else -> break
	od;
	ended++
}

/* It has been told of nothing more than that it is to look. */
inline take_turn()
{
	atomic {
		if
		:: level -> level = false
		:: else
		fi
	}
}

inline arm()
{
#ifdef MUT_ARM_LATE
	polled = level;
#endif
	b_unseen = true;
#ifndef MUT_ARM_ORDER
	/* a release */
	!b_unseen;
#endif
	b_armed = true;
#ifndef MUT_ARM_BARRIER
	MB;
#endif
#ifndef MUT_ARM_LATE
	polled = level;
#endif
	if
	:: polled ->
		MB;
		if
		:: atomic { armed -> armed = false }; seen = true
		:: else
		fi
	:: else
	fi
}

active proctype worker()
{
	bool polled, last, other;

	run device(0);
	run device(1);
	do
	:: atomic { last = (ended == 2) };
		take_turn();
		if
		:: last -> break
		:: else
		fi;
		arm();
		LOCK;
		MB;
		run_fired();
		if
#ifndef MUT_PARK_SEEN
		:: seen -> seen = false
#endif
		:: else -> waiting = true
		fi;
		call = NOBODY;
		UNLOCK;
		/* It executes something else, then there is nothing. */
		LOCK;
		run_fired();
		if
		:: waiting ->
#ifdef MUT_HINT_LATE
			kick_for_events();
#endif
			/* With policy dispatch=thread it makes no moves itself. */
			if
			:: call = WORKER
			:: call = DISPATCHER
			fi;
#ifndef MUT_HINT_LATE
			kick_for_events()
#endif
		:: else
		fi;
		UNLOCK;
		if
		:: other = true
		:: other = false
		fi;
		/* That it is over is told by the last change, or by nobody. */
		do
		:: !waiting -> break
		:: atomic { over_by_now -> waiting = false; call = NOBODY }
		:: call == WORKER && waiting ->
#ifndef MUT_CATCH_SLEEP
			woken = false;
#endif
			if
			:: listed -> LOCK; run_fired(); UNLOCK
			:: else ->
#ifdef MUT_CATCH_SLEEP
				woken = false;
#endif
				if
				:: woken || !waiting
				:: atomic { over_by_now -> waiting = false; call = NOBODY }
				/* It is given other work, and comes to the lock no more. */
				:: other && waiting -> LOCK; leave(); UNLOCK
				fi
			fi
		od
	od;

	/* dxk_watch_let_go(): by the bin */
	atomic { !queue -> queue = true };
	hooked = false;
	queue = false;
#ifndef MUT_UNHOOK_FREE
	do
	:: pending -> LOCK; run_fired(); UNLOCK
	:: else -> break
	od;
#endif
	freed = true;
	over = true
}

active proctype dispatcher()
{
end:
	do
	:: atomic { kicked -> kicked = false };
		LOCK;
		run_fired();
		UNLOCK
	od
}

active proctype memory()
{
end:
	do
	:: atomic { b_level[0] -> level = true; b_level[0] = false }
	:: atomic { b_level[1] -> level = true; b_level[1] = false }
	:: atomic { b_armed -> armed = true; b_armed = false }
	:: atomic { b_unseen -> seen = false; b_unseen = false }
	od
}
