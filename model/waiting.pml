/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests that wait: a part of engine.pml, used if WAITS is defined.
 *
 * What a request does is a script: HOW() says how each of its turns ends. Others call it,
 * cancel it, end what it waits for, and time passes, at any step. Here time knows no
 * order: an alarm that is set may ring at once, and rings at last.
 */

/* How a turn ends, and what ends the wait (wait.h) */
#define END		0
#define CALL		1
#define TIME		2
#define JOIN		4
#define RESULT		8
#define AGAIN		16
#define MASKED		32

#ifndef HOW			/* how turn t of r ends; the last one with END */
#define HOW(r, t)	END
#endif
#ifndef POSTED			/* what r waits for as it is posted (PXR_WAIT), or END */
#define POSTED(r)	END
#endif
#ifndef TO			/* the owner that r waits for */
#define TO(r)		OWNER(r)
#endif
#ifndef OBEYS			/* r ends when it is told to; else it goes on with its script */
#define OBEYS(r)	1
#endif
#ifndef CALLS			/* so often, up to 2, r is called by its name */
#define CALLS(r)	0
#endif
#ifndef CANCELS			/* r is cancelled by its name */
#define CANCELS(r)	0
#endif
#ifndef EXPIRE			/* r has a time to end (PXR_EXPIRE) */
#define EXPIRE(r)	0
#endif
#ifndef CLOSES			/* client c collects nothing, and closes the space of its owner */
#define CLOSES(c)	0
#endif

/* wake[] */
#define W_NONE		0
#define W_TIME		1
#define W_CALL		2
#define W_RESULT	3
#define W_JOIN		4
#define W_AGAIN		5
#define W_CANCEL	6
#define W_EXPIRE	7
#define W_STOP		8
#define W_DEADLOCK	9

/* line[], enum dxk_line */
#define LINE_SERVICE	0
#define LINE_WORK	1
#define LINE_KEPT	2

/* joiner[]: the list that dxk_more.joiner is in */
#define J_NONE		0
#define J_OWNER		1
#define J_JOINED	2
#define J_RIPE		3

/* alarm[], bits: the model needs no times, but has to tell the two apart */
#define A_TIME		1
#define A_EXPIRE	2

/* --- state: struct dxk_more --------------------------------------------------- */

byte turns[NREQ];	/* turns that ended with a wait */
byte wake[NREQ];
byte line[NREQ];
byte joiner[NREQ];
byte alarm[NREQ];
bool latched[NREQ];
bool cancelled[NREQ];
bool expired[NREQ];
bool last[NREQ];	/* READY: in dxk_ready.last */
bool was[NREQ];		/* has been posted: others may know its name */
bool closed[NOWN];	/* dxk_space.closed; here each owner has a space */

hidden byte v, w, why, how, parks;

#define BEGUN(r)	(turns[r] > 0 || attempts[r] > 0)
#define SOURCES(r)	(turns[r] == 0 -> POSTED(r) : HOW(r, (turns[r] - 1)))
#define CREW		(workers > 0 && state != STOPPED)
#define HAS_NAME(r)	(st[r] == READY || st[r] == DISPATCHED || st[r] == BUSY || \
			 st[r] == WAITING)
/* dxk_rqe_awaited() */
#define AWAITED(r)	(REJOIN(r) && !closed[OWNER(r)])
/* While a Stop cancels, workers are given last turns only, and lanes do not count. */
#define MAY_TAKE(r)	(cancelling -> last[r] : W_ADMITTED(LANE(r)))
#define LANE_ROOM(l)	(nr[AT_READY] < entries && R_ADMITS(l))

/* It has ended: nothing is left of it but the result. */
inline forget(r)
{
	turns[r] = 0;
	wake[r] = W_NONE;
	line[r] = 0;
	alarm[r] = 0;
	latched[r] = false;
	cancelled[r] = false;
	expired[r] = false;
	last[r] = false
}

/* --- is it over? (wait.c) ------------------------------------------------------ */

/* dxk_wait_told() */
#ifdef MUT_SERVICE_LATE
#define STOP_TELLS(r)	false
#else
#define STOP_TELLS(r)	(LANE(r) == 0 && state != RUNNING)
#endif
#define TOLD(r, h) \
	(((h) & MASKED) -> W_NONE : \
	 (cancelled[r] || cancelling -> W_CANCEL : \
	  (expired[r] -> W_EXPIRE : (STOP_TELLS(r) -> W_STOP : W_NONE))))

/* dxk_wait_for_owner() */
#ifdef MUT_SELF_JOIN
#define SELF(r)		false
#else
#define SELF(r)		(TO(r) == OWNER(r))
#endif
#define OWNER_OVER(r, h) \
	(((h) & (JOIN | RESULT)) == 0 -> W_NONE : \
	 (SELF(r) -> W_DEADLOCK : \
	  (((h) & RESULT) -> \
	   (own_done[TO(r)] > 0 || COMING(TO(r)) == 0 -> W_RESULT : W_NONE) : \
	   (COMING(TO(r)) == 0 -> W_JOIN : W_NONE))))

/* late: its time has come before it began to wait */
inline wait_over(r, h, late)
{
	why = TOLD(r, h);
	if
	:: why == W_NONE ->
#ifdef MUT_PARK_UNLOCKED
		why = (((h) & AGAIN) -> W_AGAIN :
		       (((h) & CALL) && latched[r] -> W_CALL : early));
#else
		why = (((h) & AGAIN) -> W_AGAIN :
		       (((h) & CALL) && latched[r] -> W_CALL : OWNER_OVER(r, h)));
#endif
		if
		:: why == W_NONE && (late) -> why = W_TIME
		:: else
		fi
	:: else
	fi
}

/* dxk_post_begins_waiting() */
#define BEGINS(r) \
	(POSTED(r) != END && TOLD(r, POSTED(r)) == W_NONE && OWNER_OVER(r, POSTED(r)) == W_NONE)

/* --- begin ---------------------------------------------------------------------- */

/* dxk_line_of() */
#define STOP_WENT_BY(r)	(cancelling || (LANE(r) == 0 && state != RUNNING))
#define LINE_OF(r) \
	(STOP_WENT_BY(r) && BEGUN(r) -> LINE_KEPT : \
	 (LANE(r) != 0 || STOP_WENT_BY(r) -> LINE_WORK : LINE_SERVICE))

inline wait_enter(r, h)
{
	st[r] = WAITING;
	place_enter(r, AT_WAIT);
	line[r] = LINE_OF(r);
	if
	:: (h) & (JOIN | RESULT) -> joiner[r] = J_OWNER
	:: else
	fi;
	if
	:: (h) & TIME -> alarm[r] = alarm[r] | A_TIME
	:: else
	fi
}

inline wait_ready(r, reason)
{
	wake[r] = reason;
	if
	:: wake[r] == W_CALL -> latched[r] = false
	:: wake[r] == W_EXPIRE -> expired[r] = false
	:: else
	fi;
	st[r] = READY;
	place_enter(r, AT_READY);
	last[r] = cancelling
}

/* dxk_post_take_more() */
inline post_take_more(r)
{
	was[r] = true;
	alarm[r] = (EXPIRE(r) -> A_EXPIRE : 0);
	if
	:: BEGINS(r) -> wait_enter(r, POSTED(r))
	:: else -> st[r] = READY; place_enter(r, AT_READY)
	fi
}

/*
 * The turn is over: does it end with a wait? Not if the script says so, nor if it was told
 * to end and does. If it is refused the wait it ends as well.
 */
inline park(r)
{
	how = HOW(r, turns[r]);
	parks = how != END && !(OBEYS(r) && (wake[r] == W_CANCEL || wake[r] == W_STOP));
#ifndef MUT_PARK_CLOSED
	if
	:: closed[OWNER(r)] -> parks = false
	:: else
	fi;
#endif
	if
	:: cancelling && !CREW -> parks = false
	:: else
	fi;
	if
	:: parks ->
		place_leave(r, AT_WORK);
		turns[r]++;
		attempts[r] = 0;
		wait_over(r, how, late);
		if
		:: why != W_NONE -> wait_ready(r, why)
		:: else -> wait_enter(r, how)
		fi
	:: else
	fi
}

/* --- end ------------------------------------------------------------------------ */

inline wait_leave(r, keeps)
{
	place_leave(r, AT_WAIT);
#ifndef MUT_TWO_REASONS
	joiner[r] = J_NONE;
#endif
#ifndef MUT_TIMER_STALE
	alarm[r] = alarm[r] & (keeps)
#endif
	skip
}

/* why: it needs room that is not there */
inline look_for_room(r)
{
	why = !LANE_ROOM(LANE(r));
	for (w : 0 .. NREQ - 1) {
		if
		:: joiner[w] == J_RIPE && LANE(w) == LANE(r) -> why = true
		:: else
		fi
	}
}

/* dxk_resume(). It is called for one reason only. */
inline resume(r, reason)
{
	assert(st[r] == WAITING);
	why = false;
	if
	:: !BEGUN(r) && !cancelling -> look_for_room(r)
	:: else
	fi;
	if
	:: joiner[r] == J_RIPE
	:: joiner[r] != J_RIPE && !BEGUN(r) && cancelling ->
		/* Stop ends it. */
		joiner[r] = J_NONE;
		alarm[r] = 0
	:: joiner[r] != J_RIPE && why ->
		wake[r] = reason;
		joiner[r] = J_RIPE;
		alarm[r] = alarm[r] & A_EXPIRE
	:: else ->
#ifdef MUT_EXPIRE_LOST
		wait_leave(r, 0);
#else
		wait_leave(r, A_EXPIRE);
#endif
		wait_ready(r, reason)
	fi
}

/* dxk_admit_ripe(): the lowest number is the first. */
inline admit_ripe()
{
#ifndef MUT_RIPE_SERVE
	for (v : 0 .. NREQ - 1) {
		if
		:: joiner[v] == J_RIPE && !cancelling && LANE_ROOM(LANE(v)) ->
			wait_leave(v, A_EXPIRE);
			wait_ready(v, wake[v])
		:: else
		fi
	}
#endif
	skip
}

/* dxk_owner_join(): that it has happened is decided here; serve_joined() does the rest. */
inline owner_join(o)
{
	for (w : 0 .. NREQ - 1) {
		if
		:: joiner[w] == J_OWNER && TO(w) == (o) &&
		   (COMING(o) == 0 || ((SOURCES(w) & RESULT) && own_done[o] > 0)) ->
			joiner[w] = J_JOINED
		:: else
		fi
	}
}

inline serve_joined()
{
#ifndef MUT_JOIN_SERVE
	for (v : 0 .. NREQ - 1) {
		if
		:: joiner[v] == J_JOINED && (SOURCES(v) & RESULT) -> resume(v, W_RESULT)
		:: joiner[v] == J_JOINED && !(SOURCES(v) & RESULT) -> resume(v, W_JOIN)
		:: else
		fi
	}
#endif
	skip
}

/* --- called and cancelled (wake.c, cancel.c) ------------------------------------- */

inline wake_name(r)
{
	if
	:: st[r] == WAITING && joiner[r] != J_RIPE && (SOURCES(r) & CALL) -> resume(r, W_CALL)
	:: HAS_NAME(r) && !(st[r] == WAITING && joiner[r] != J_RIPE && (SOURCES(r) & CALL)) ->
#ifdef MUT_LATCH_LOST
		latched[r] = latched[r] || st[r] != BUSY
#else
		latched[r] = true
#endif
	:: else
	fi
}

/* A request that is to have a turn has it for another reason. */
inline more_tell(r, reason)
{
#ifndef MUT_TELL_CALL
	latched[r] = latched[r] || wake[r] == W_CALL;
#endif
	wake[r] = reason
}

inline tell_ready(r)
{
	if
	:: cancelled[r] -> more_tell(r, W_CANCEL)
	:: !cancelled[r] && expired[r] -> more_tell(r, W_EXPIRE)
	:: else
	fi;
	expired[r] = false
}

inline end_waiting(r)
{
	wait_leave(r, 0);
	end_request(r)
}

/* dxk_tell() */
inline tell(r, reason)
{
	if
	:: !BEGUN(r) && st[r] == WAITING -> end_waiting(r)
	:: !BEGUN(r) && st[r] == READY -> cancel_ready(r)
	:: BEGUN(r) && HAS_NAME(r) ->
		if
		:: reason == W_CANCEL ->
#ifndef MUT_CANCEL_BUSY
			cancelled[r] = true
#else
			cancelled[r] = st[r] == WAITING || st[r] == READY
#endif
		:: else -> expired[r] = true
		fi;
		if
		:: st[r] == WAITING && !(SOURCES(r) & MASKED) -> resume(r, reason)
		:: st[r] == READY -> tell_ready(r)
		:: else
		fi
	:: else
	fi;
	serve_posters();
	if
	:: state == STOPPING -> stop_workers()
	:: else
	fi
}

/* dxk_put_back(): a request that is READY again, as it could not be fetched */
inline told_back(r)
{
	why = cancelling;
	if
	:: BEGUN(r) -> tell_ready(r)
	:: else -> why = why || cancelled[r] || expired[r]
	fi;
	if
#ifndef MUT_BACK_BEGUN
	:: cancelling && BEGUN(r) && CREW ->
		more_tell(r, W_CANCEL);
		last[r] = true
	:: !(cancelling && BEGUN(r) && CREW) && why -> end_before(r)
#else
	:: why -> end_before(r)
#endif
	:: else
	fi
}

/* --- all of them, in a Stop ------------------------------------------------------- */

/* What was begun has its last turn, as long as there is somebody to take it. */
inline end_before(r)
{
	assert(!BEGUN(r) || !CREW || closed[OWNER(r)]);
	if
	:: st[r] == WAITING -> wait_leave(r, 0)
	:: else -> place_leave(r, AT_READY)
	fi;
	end_request(r)
}

inline end_orphans()
{
#ifndef MUT_ORPHANS
	for (v : 0 .. NREQ - 1) {
		if
		:: cancelling && !CREW && ((st[v] == WAITING && line[v] == LINE_KEPT) ||
					  (st[v] == READY && last[v])) -> end_before(v)
		:: else
		fi
	}
#endif
	skip
}

/* One step of dxk_stop_waits(). more: one more is to come */
inline stop_waits()
{
	pick = NREQ;
	for (v : 0 .. NREQ - 1) {
		if
		:: pick == NREQ && !cancelling && st[v] == WAITING && line[v] == LINE_SERVICE ->
			pick = v
		:: else
		fi
	}
	more = pick < NREQ;
	if
	:: more ->
		z = pick;
		if
		:: !(SOURCES(z) & MASKED) -> resume(z, W_STOP)
		:: else
		fi;
		if
		:: st[z] == WAITING -> line[z] = (BEGUN(z) -> LINE_KEPT : LINE_WORK)
		:: else
		fi
	:: else
	fi
}

#ifdef MUT_CANCEL_BEGUN
#define ENDS_AT_ONCE(r)	true
#else
#define ENDS_AT_ONCE(r)	(!BEGUN(r) || !CREW)
#endif

/* One step of dxk_cancel_some_run(). more: one more is to come */
inline cancel_some()
{
	pick = NREQ;
	for (v : 0 .. NREQ - 1) {
		if
		:: pick == NREQ && ((st[v] == READY && !last[v]) ||
				    (st[v] == WAITING && line[v] < LINE_KEPT)) -> pick = v
		:: else
		fi
	}
	more = pick < NREQ;
	if
	:: more ->
		z = pick;
		if
		:: st[z] == READY && BEGUN(z) -> more_tell(z, W_CANCEL); last[z] = true
		:: st[z] == WAITING && !ENDS_AT_ONCE(z) && (SOURCES(z) & MASKED) ->
			line[z] = LINE_KEPT
		:: st[z] == WAITING && !ENDS_AT_ONCE(z) && !(SOURCES(z) & MASKED) ->
			resume(z, W_CANCEL)
		:: else -> end_before(z)
		fi
	:: else -> end_orphans()
	fi;
	stop_workers()
}

/* --- a space is closed (space.c) --------------------------------------------------- */

/* One step of dxk_space_close_run(). more: one more is to come */
inline space_close(o)
{
	closed[o] = true;
	pick = NREQ;
	for (v : 0 .. NREQ - 1) {
		if
		:: OWNER(v) == (o) && (st[v] == WAITING || st[v] == REJOINABLE) -> pick = v
		:: else
		fi
	}
	more = pick < NREQ;
	if
	:: more ->
		z = pick;
		if
		:: st[z] == WAITING -> end_before(z)
		:: else ->
			own_done[o]--;
			place_leave(z, AT_REJOIN);
			vanish(z);
			owner_changed(o)
		fi
	:: else
	fi;
	if
	:: state == STOPPING -> stop_workers()
	:: else
	fi
}

/* The whole of it */
#define CLOSE_SPACE(label, o) \
	do \
	:: LOCKED space_close(o) UNLOCKED(label) \
		if \
		:: more \
		:: else -> break \
		fi \
	od

/* --- what holds whenever the lock is free -------------------------------------------- */

inline check_waits()
{
	for (v : 0 .. NREQ - 1) {
		if
		:: st[v] == WAITING && joiner[v] != J_RIPE && !(cancelling && !BEGUN(v)) ->
			/* what it waits for has not happened */
			assert(!((SOURCES(v) & CALL) && latched[v]));
			assert(!(SOURCES(v) & (JOIN | RESULT)) || OWNER_OVER(v, SOURCES(v)) == W_NONE);
			/* it was not told to end */
			assert((SOURCES(v) & MASKED) || !BEGUN(v) || (!cancelled[v] && !expired[v]))
		:: joiner[v] == J_RIPE && !cancelling ->
			assert(st[v] == WAITING && !LANE_ROOM(LANE(v)))
		:: else
		fi
	}
}
