/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engine of dxk: posts, dispatch, workers' turns, rejoin, death, Stop.
 *
 * A lock hold is one step (d_step), as ctx->lock makes it. What lies between lock
 * holds is in steps of its own: the sleep of a caller, the wake-ups that a lock
 * hold collected, the copy of a result, the fetch of a request. Configurations and
 * mutations are macros; see check.sh for the list and Documentation/model.rst for
 * what is left out.
 *
 * Names follow the source: dxk_post_continue() is post_continue() here.
 */

/* --- configuration ---------------------------------------------------------- */

#ifndef NW
#define NW	3		/* workers: processes 0..NW-1 */
#endif
#ifndef NCL
#define NCL	2		/* clients: processes NW..NW+NCL-1 */
#endif
#ifndef NREQ
#define NREQ	3
#endif
#ifndef NOWN
#define NOWN	2
#endif
#ifndef OWNER
#define OWNER(r)	(r / 2)
#endif
#ifndef POSTS			/* does client c post request r? */
#define POSTS(c, r)	(OWNER(r) == c)
#endif
#ifndef COLLECTS		/* which owner client c collects */
#define COLLECTS(c)	(c)
#endif
#ifndef SUB			/* what the execution of r posts and waits for, or NREQ */
#define SUB(r)		NREQ
#endif
#ifndef LANE			/* 0 is the upper one of two */
#define LANE(r)		1
#endif
#ifndef REJOIN
#define REJOIN(r)	1	/* PXR_REJOIN */
#endif
#ifndef REDO
#define REDO(r)		1	/* PXR_REDO */
#endif
#ifndef REDO_MAX
#define REDO_MAX	2
#endif
#ifndef ENTRIES
#define ENTRIES		NREQ	/* of the Ready Pool */
#endif
#ifndef BUDGET
#define BUDGET		NREQ	/* dispatches of one lock hold */
#endif
#ifndef DEATHS
#define DEATHS		0	/* so many workers die */
#endif
#ifndef SIGNALS
#define SIGNALS		0	/* so many sleeps end by a signal */
#endif
#ifndef FAULTS
#define FAULTS		0	/* so many results cannot be copied out */
#endif
#ifndef ROUNDS
#define ROUNDS		1	/* so often each client does its work */
#endif
/*
 * Defined or not: CMLS; RESERVE, the Rejoin Pool's entries under that policy; RESIZE,
 * what the Ready Pool grows to; STOP, 1 to drain, 2 to cancel, or 3 to close; STALE, so many
 * completions are sent twice; POLL, clients also ask without sleeping; BATCH, a client
 * posts all in one call; NESTED, SUB is in use; WAITS, requests wait, see waiting.pml; GONE,
 * who dies while a Stop cancels is not replaced.
 */

#define STOPPER	(NW + NCL)
#define T700	(NW + NCL + 1)
#define MONITOR	(NW + NCL + 2)
#ifdef WAITS
#define CALLER	(NW + NCL + 3)
#define CLOCK	(NW + NCL + 4)
#define NP	(NW + NCL + 5)
#else
#define NP	(NW + NCL + 3)
#endif

/* --- state ------------------------------------------------------------------ */

#define FREE		0
#define READY		1
#define DISPATCHED	2
#define BUSY		3
#define REJOINABLE	4	/* DXK_REJOIN, in the done list */
#define LEAVING		5	/* DXK_REJOIN, being copied out */
#define LIMBO		6	/* mutations only: on its way without the lock */
#define WAITING		7

#define AT_READY	0
#define AT_WORK		1
#define AT_REJOIN	2
#define AT_WAIT		3
#ifdef WAITS
#define PLACES		4
#else
#define PLACES		3
#endif

/* The queues of sleepers */
#define Q_NONE		0
#define Q_IDLE		1
#define Q_POSTERS	2
#define Q_POLLERS	3
#define Q_STOPPERS	4

/* err[] */
#define OK		0
#define ESHUTDOWN	1
#define EINTR		2

/* ans[] */
#define RETURNED	1
#define NONE_READY	2
#define NONE_EXIST	3

#define RUNNING		0
#define STOPPING	1
#define STOPPED		2

/* Under the lock */
byte st[NREQ];
byte attempts[NREQ];
#ifdef STALE
byte ticket[NREQ];	/* of the dispatch; here it counts per request */
byte result[NREQ];	/* the dispatch that the result is of */
byte stale = STALE;
#endif
bool dead[NREQ];	/* ended with -EOWNERDEAD */
byte own_nr[NOWN * PLACES];	/* dxk_owner.nr[] */
byte own_done[NOWN];	/* dxk_owner.nr_done */
byte nr[PLACES];	/* dxk_ctx.nr[] */
byte used_r[2];		/* lanes of the Ready Pool */
byte used_w[2];		/* lanes of the workers */
byte workers = NW;
#ifdef RESERVE
byte reserved;		/* dxk_owners.reserved */
bool freed;
#endif
byte state = RUNNING;
bool cancelling = false;
byte queue[NP];		/* the waiter's link */
byte preq[NP];		/* a poster's request */
byte rown[NP];		/* a poller's owner */
byte got[NP];		/* a poller's request + 1 */
byte work[NP];		/* a worker's request + 1 */
#ifdef NESTED
bool held[NP];		/* dxk_member.held */
#endif
byte err[NP];
byte ans[NP];
#ifdef RESIZE
byte entries = ENTRIES;
#else
#define entries ENTRIES
#endif

/* Without the lock */
bool done[NP];		/* dxk_waiter.done */
bool asleep[NP];	/* task state: 0 is TASK_RUNNING */
short wakes[NP];	/* whom a lock hold left to wake */
short sweep;		/* who has still to kick thread 700 */
bool kicked;		/* dxk_dispatcher.kicked */

/* What the model may still do */
byte deaths = DEATHS;
byte signals = SIGNALS;
byte faults = FAULTS;
bool finished = false;	/* nothing can happen any more */
byte clients = NCL;	/* clients and others that have to come to an end */

/* The truth, to compare with: requests of an owner that exist */
byte exist[NOWN];

/* Locals of lock holds */
hidden byte i, j, k, x, y, z, sum, lane, budget, best, pick;
hidden byte room, again, behind;

#define bit(p)	(1 << (p))

/* dxk_is_shut(): a drain leaves those alone who execute a request */
#if defined NESTED && !defined MUT_DRAIN_INSIDE
#define SHUT(p)	(state != RUNNING && !(state == STOPPING && !cancelling && held[p]))
#else
#define SHUT(p)	(state != RUNNING)
#endif
#ifdef NESTED
#define HOLDS(p, how)	held[p] = how
#else
#define HOLDS(p, how)	skip
#endif

/* --- moves (move.h) --------------------------------------------------------- */

inline place_enter(r, pl)
{
	own_nr[OWNER(r) * PLACES + pl]++;
	nr[pl]++;
	if
	:: pl == AT_READY -> used_r[LANE(r)]++
	:: pl == AT_WORK -> used_w[LANE(r)]++
	:: else
	fi
}

inline place_leave(r, pl)
{
	assert(own_nr[OWNER(r) * PLACES + pl] > 0 && nr[pl] > 0);
	own_nr[OWNER(r) * PLACES + pl]--;
	nr[pl]--;
	if
	:: pl == AT_READY -> assert(used_r[LANE(r)] > 0); used_r[LANE(r)]--
	:: pl == AT_WORK -> assert(used_w[LANE(r)] > 0); used_w[LANE(r)]--
	:: else
	fi
}

#ifdef WAITS
#define WAITING_OF(o)	own_nr[(o) * PLACES + AT_WAIT]
#else
#define WAITING_OF(o)	0
#endif
/* dxk_owner_coming(), dxk_owner_live() */
#define COMING(o) \
	(own_nr[(o) * PLACES + AT_READY] + own_nr[(o) * PLACES + AT_WORK] + WAITING_OF(o))
#define LIVE(o)	(COMING(o) + own_nr[(o) * PLACES + AT_REJOIN])

/* The request is not there any more. */
inline vanish(r)
{
	assert(exist[OWNER(r)] > 0);
	exist[OWNER(r)]--;
	st[r] = FREE
}

/* --- lanes (lanes.h), two of them ------------------------------------------- */

#ifdef CMLS
/* Half of the workers, at least one, and never more than there are */
#define QUOTA0	(workers / 2 > 0 -> workers / 2 : (workers > 0 -> 1 : 0))
#define W_ADMITS(l)	((l == 1 || used_w[0] < QUOTA0) && \
			 used_w[0] + used_w[1] < workers)
#ifndef R_QUOTA0
#define R_QUOTA0	entries
#endif
#define R_ADMITS(l)	((l == 1 || used_r[0] < R_QUOTA0) && \
			 used_r[0] + used_r[1] < entries)
#else
#define W_ADMITS(l)	true
#define R_ADMITS(l)	true
#endif

#ifdef MUT_LANE_TEST
#define W_ADMITTED(l)	true
#else
#define W_ADMITTED(l)	W_ADMITS(l)
#endif

#ifdef RESERVE
#define J_ADMITS(r)	(!REJOIN(r) || reserved < RESERVE || state != RUNNING)
#else
#define J_ADMITS(r)	true
#endif

#define R_ADMIT(r) \
	((BEGINS(r) || (nr[AT_READY] < entries && R_ADMITS(LANE(r)))) && J_ADMITS(r))

/* --- requests that wait ------------------------------------------------------ */

#ifdef WAITS
#include "waiting.pml"
#else
#define BEGINS(r)	false
#define AWAITED(r)	REJOIN(r)
#define MAY_TAKE(r)	(!cancelling && W_ADMITTED(LANE(r)))
#endif

/* --- waiters (dispatch.c) --------------------------------------------------- */

inline waiter_finish(p)
{
	queue[p] = Q_NONE;
	if
	:: (p) == me
	:: else ->
#ifdef MUT_STOP_WAKE
		if
		:: stopping_now
		:: else -> wakes[me] = wakes[me] | bit(p)
		fi
#else
		wakes[me] = wakes[me] | bit(p)
#endif
	fi;
	done[p] = true
}

#ifdef MUT_STOP_WAKE
hidden byte stopping_now;
#endif

/* --- posters (post.c) ------------------------------------------------------- */

inline post_take(p)
{
	assert(st[preq[p]] == FREE);
	attempts[preq[p]] = 0;
	dead[preq[p]] = false;
	exist[OWNER(preq[p])]++;
#ifdef WAITS
	post_take_more(preq[p]);
#else
	st[preq[p]] = READY;
	place_enter(preq[p], AT_READY);
#endif
#ifdef RESERVE
	if
	:: REJOIN(preq[p]) -> reserved++
	:: else
	fi;
#endif
	err[p] = OK;
	waiter_finish(p)
}

/* behind: bits of the lanes whose heads were seen. The lowest number is the head. */
#define HEAD(p)		(queue[p] == Q_POSTERS && !(behind & bit(LANE(preq[p]))))

/* The first head of a lane's queue that has room gets in, then the next. */
inline serve_posters()
{
#ifdef WAITS
	admit_ripe();
#endif
	again = true;
	do
	:: again ->
		again = false;
		behind = 0;
		for (i : 0 .. NW + NCL - 1) {
			if
			:: HEAD(i) && !again ->
				behind = behind | bit(LANE(preq[i]));
				if
				:: R_ADMIT(preq[i]) ->
					post_take(i);
					again = true
				:: else
				fi
			:: else
			fi
		}
	:: else -> break
	od
}

inline post_run()
{
	done[me] = false;
	if
	:: SHUT(me) -> err[me] = ESHUTDOWN; done[me] = true
	:: else ->
		/* behind those of its lane who sleep */
		room = R_ADMIT(preq[me]);
		for (i : 0 .. NW + NCL - 1) {
			if
			:: queue[i] == Q_POSTERS && LANE(preq[i]) == LANE(preq[me]) ->
				room = false
			:: else
			fi
		}
		if
		:: room -> post_take(me)
		:: else -> queue[me] = Q_POSTERS
		fi
	fi
}

/* --- rejoin (rejoin.c) ------------------------------------------------------ */

inline none_exist(p)
{
	/* DX-92: the answer is authoritative */
	assert(exist[rown[p]] == 0);
	ans[p] = NONE_EXIST;
	waiter_finish(p)
}

inline rejoin_take(p)
{
	/* the one that completed first: here the one with the lowest number */
	pick = NREQ;
	for (j : 0 .. NREQ - 1) {
		if
		:: pick == NREQ && st[j] == REJOINABLE && OWNER(j) == rown[p] -> pick = j
		:: else
		fi
	}
	assert(pick < NREQ);
	assert(own_done[rown[p]] > 0);
	own_done[rown[p]]--;
	st[pick] = LEAVING;
	got[p] = pick + 1;
	ans[p] = RETURNED;
#ifdef MUT_COPY_UNCOUNTED
	place_leave(pick, AT_REJOIN);
#endif
	waiter_finish(p)
}

/* room: is p answered? */
inline rejoin_answer(p, waits)
{
	room = true;
	if
	:: own_done[rown[p]] > 0 -> rejoin_take(p)
	:: else ->
		if
		:: LIVE(rown[p]) == 0 -> none_exist(p)
		:: else ->
			if
			:: !(waits) -> ans[p] = NONE_READY; waiter_finish(p)
			:: else -> room = false
			fi
		fi
	fi
}

inline owner_changed(o)
{
#ifdef WAITS
	owner_join(o);
#endif
	for (x : 0 .. NW + NCL - 1) {
		if
		:: queue[x] == Q_POLLERS && rown[x] == (o) -> rejoin_answer(x, true)
		:: else
		fi
	}
}

inline rejoin_run(waits)
{
	done[me] = false;
	got[me] = 0;
	err[me] = OK;
	rejoin_answer(me, waits);
	if
	:: room
	:: else ->
		if
		:: state == STOPPED -> err[me] = ESHUTDOWN; done[me] = true
		:: else -> queue[me] = Q_POLLERS
		fi
	fi
}

/* The result is with the caller, or goes back. */
inline settle_run(copied)
{
	pick = got[me] - 1;
	assert(st[pick] == LEAVING);
	if
	:: copied ->
#ifndef MUT_COPY_UNCOUNTED
		place_leave(pick, AT_REJOIN);
#endif
#ifdef RESERVE
		reserved--;
		freed = true;
#endif
#ifdef STALE
		assert(result[pick] == ticket[pick]);
#endif
		vanish(pick)
	:: else ->
#ifdef MUT_COPY_UNCOUNTED
		place_enter(pick, AT_REJOIN);
#endif
		st[pick] = REJOINABLE;
		own_done[OWNER(pick)]++
	fi;
	y = OWNER(pick);
	owner_changed(y)
}

/* Let a request that will never run (again) reach its owner, or vanish. */
inline end_request(r)
{
#ifdef WAITS
	forget(r);
#endif
	if
	:: AWAITED(r) ->
		place_enter(r, AT_REJOIN);
		st[r] = REJOINABLE;
		own_done[OWNER(r)]++
	:: else -> vanish(r)
	fi;
	y = OWNER(r);
#ifndef MUT_NO_NOTIFY
	owner_changed(y)
#endif
}

inline complete(r)
{
#ifndef MUT_COMPLETE_LOCK
	assert(st[r] == BUSY);
	place_leave(r, AT_WORK);
#endif
	end_request(r)
}

inline cancel_ready(r)
{
	place_leave(r, AT_READY);
	end_request(r)
}

/* --- dispatch (dispatch.c, work.c) ------------------------------------------ */

/* The request that a worker should run next: the lowest number is the best. */
inline ready_best()
{
	best = NREQ;
	for (j : 0 .. NREQ - 1) {
		if
		:: best == NREQ && st[j] == READY && MAY_TAKE(j) -> best = j
		:: else
		fi
	}
}

inline assign(p, r)
{
#ifndef MUT_LANE_TEST
	assert(W_ADMITS(LANE(r)) || cancelling);
#endif
	assert(attempts[r] < REDO_MAX);
	attempts[r]++;
#ifdef STALE
	ticket[r]++;
#endif
#ifdef WAITS
	last[r] = false;
#ifdef MUT_LATCH_CLEAR
	latched[r] = false;
#endif
#endif
	work[p] = r + 1;
	HOLDS(p, true);
	place_leave(r, AT_READY);
	st[r] = DISPATCHED;
	place_enter(r, AT_WORK);
#ifndef MUT_ASSIGN_SERVE
	serve_posters()
#endif
}

inline dispatch()
{
#ifdef WAITS
	serve_joined();
#endif
#ifdef RESERVE
	if
	:: freed ->
		freed = false;
#ifndef MUT_SERVE_FREED
		serve_posters()
#endif
	:: else
	fi;
#endif
	budget = BUDGET;
	for (k : 0 .. NW - 1) {
		if
		:: queue[k] == Q_IDLE ->
			ready_best();
			if
			:: best < NREQ && budget == 0 ->
#ifndef MUT_SWEEP
				sweep = sweep | bit(me)
#else
				skip
#endif
			:: best < NREQ && budget > 0 ->
				budget--;
				z = best;
				queue[k] = Q_NONE;
				assign(k, z);
				err[k] = OK;
				waiter_finish(k)
			:: else
			fi
		:: else
		fi
	}
}

#if defined WAITS && !defined MUT_STOP_WAITING
#define QUIET		(!nr[AT_READY] && !nr[AT_WORK] && !nr[AT_WAIT])
#else
#define QUIET		(!nr[AT_READY] && !nr[AT_WORK])
#endif
#define OUT_OF_WORK	(state == STOPPED || (state == STOPPING && QUIET))

inline stop_workers()
{
	if
	:: OUT_OF_WORK ->
		for (i : 0 .. NP - 1) {
			if
			:: queue[i] == Q_IDLE -> err[i] = ESHUTDOWN; waiter_finish(i)
			:: queue[i] == Q_STOPPERS -> waiter_finish(i)
			:: else
			fi
		}
	:: else
	fi
}

/* A worker's turn. fin: the request + 1 that it has executed, or 0 */
inline next_run(fin)
{
	done[me] = false;
	err[me] = OK;
	work[me] = 0;
	if
	:: fin > 0 ->
		z = fin - 1;
		HOLDS(me, false);
#ifdef WAITS
		park(z);
		if
		:: parks
		:: else -> complete(z)
		fi
#else
		complete(z)
#endif
	:: else
	fi;
	ready_best();
	if
	:: best < NREQ -> z = best; assign(me, z); done[me] = true
	:: else ->
		if
		:: OUT_OF_WORK -> err[me] = ESHUTDOWN; done[me] = true
		:: else -> queue[me] = Q_IDLE
		fi
	fi;
	if
	:: state == STOPPING -> stop_workers()
	:: else
	fi
}

/* A dispatched request that could not be fetched goes back. */
inline put_back(r)
{
	assert(st[r] == DISPATCHED);
	HOLDS(me, false);
	attempts[r]--;
	place_leave(r, AT_WORK);
	st[r] = READY;
	place_enter(r, AT_READY);
#ifdef WAITS
	told_back(r);
#elif !defined MUT_PUT_BACK_CANCEL
	if
	:: cancelling -> cancel_ready(r)
	:: else
	fi
#endif
	skip
}

#ifdef MUT_REDO_BOUND
#define MAY_REDO(r)	(REDO(r) && !cancelling)
#else
#define MAY_REDO(r)	(REDO(r) && attempts[r] < REDO_MAX && !cancelling)
#endif

/* A worker is gone. r + 1: what it executed, or 0 */
inline died_run(fin)
{
	if
	:: fin > 0 && MAY_REDO(fin - 1) && state != STOPPED ->
		z = fin - 1;
		assert(st[z] == BUSY);
		place_leave(z, AT_WORK);
		st[z] = READY;
		place_enter(z, AT_READY)
	:: fin > 0 && !(MAY_REDO(fin - 1) && state != STOPPED) ->
		z = fin - 1;
		dead[z] = true;
#ifndef MUT_OWNER_DEAD
		complete(z)
#else
		skip
#endif
	:: else
	fi;
	HOLDS(me, false);
	workers--;
#ifdef WAITS
	end_orphans();
#endif
#ifndef MUT_DIED_STOP
	if
	:: state == STOPPING -> stop_workers()
	:: else
	fi
#endif
	skip
}

/* --- what holds whenever the lock is free ----------------------------------- */

inline check_counts()
{
	for (i : 0 .. NOWN - 1) {
		sum = 0;
		x = 0;
		for (j : 0 .. NREQ - 1) {
			if
			:: OWNER(j) == i && st[j] != FREE ->
				sum++;
				if
				:: st[j] == REJOINABLE -> x++
				:: else
				fi
			:: else
			fi
		}
		assert(sum == exist[i]);
		assert(x == own_done[i]);
#if !defined MUT_COPY_UNCOUNTED && !defined MUT_COMPLETE_LOCK
		assert(LIVE(i) == exist[i])
#endif
		skip
	}
}

inline check_served()
{
	/* ready.h: no idle worker and admissible entry exist together, unless
	 * thread 700 was told; no sleeping poster is admissible */
	behind = 0;
	for (i : 0 .. NW + NCL - 1) {
		if
		:: HEAD(i) ->
			behind = behind | bit(LANE(preq[i]));
			assert(!R_ADMIT(preq[i]))
		:: queue[i] == Q_IDLE && !sweep && !kicked ->
			ready_best();
			assert(best == NREQ)
		:: else
		fi
	}
}

/* Ends every lock hold. */
inline unlock()
{
	dispatch();
	check_counts();
	check_served();
#ifdef WAITS
	check_waits();
	v = 0; w = 0; why = 0; how = 0; parks = false; pick = 0;
#endif
	i = 0; j = 0; k = 0; x = 0; y = 0; z = 0
}

#if BUDGET < NREQ
#define TO_WAKE	(wakes[me] != 0 || (sweep & bit(me)))
#else
#define TO_WAKE	(wakes[me] != 0)
#endif

/* One wake-up of dxk_wakes_flush() */
inline wake_one()
{
	d_step {
		if
		:: wakes[me] != 0 ->
			k = 0;
			do
			:: wakes[me] & bit(k) -> break
			:: else -> k++
			od;
			wakes[me] = wakes[me] & ~bit(k);
			asleep[k] = false;
			k = 0
		:: else ->
			sweep = sweep & ~bit(me);
			kicked = true
		fi
	}
}

/*
 * A lock hold, LOCKED ... UNLOCKED(label), and then its wake-ups, each a step of its
 * own; the label has to be unique in the process.
 */
#define LOCKED	atomic { d_step {

#define UNLOCKED(label) ; unlock() }; \
		if \
		:: !TO_WAKE -> goto label##_out \
		:: else \
		fi \
	}; \
label##_more: \
	true; \
	atomic { \
		wake_one(); \
		if \
		:: TO_WAKE -> goto label##_more \
		:: else \
		fi \
	}; \
label##_out:

/* The same before a WAITER_SLEEP of this label, without the look at done[] there. */
#define UNLOCKED_SLEEP(label, signals) ; unlock() }; \
		if \
		:: !TO_WAKE && done[me] -> goto label##_awake \
		:: !TO_WAKE && !done[me] -> goto label##_doze \
		:: else \
		fi \
	}; \
label##_more: \
	true; \
	atomic { \
		wake_one(); \
		if \
		:: TO_WAKE -> goto label##_more \
		:: else \
		fi \
	}; \
	WAITER_SLEEP(label, signals)

/* --- sleeping --------------------------------------------------------------- */

/*
 * set_current_state() is a store and a full barrier: with the barrier the store
 * is in memory before anything else happens. Without it the store may stay in the
 * store buffer while the flag is read, until schedule() empties it.
 */
#ifdef MUT_SLEEP_BARRIER
#define SLEEP_TEST \
	if \
	:: asleep[me] = true; saw = done[me] \
	:: saw = done[me]; asleep[me] = true \
	fi
#else
#ifdef MUT_SLEEP_RECHECK
#define SLEEP_TEST asleep[me] = true; saw = false
#else
#define SLEEP_TEST asleep[me] = true; saw = done[me]
#endif
#endif

/* A move that was made in the last moment wins. */
#ifdef MUT_CANCEL_DONE
#define LATE_DONE(label)
#else
#define LATE_DONE(label) :: interrupted && done[me] -> interrupted = false; goto label##_awake
#endif

/* dxk_cancel_run() */
inline cancel_run()
{
	if
#ifndef MUT_CANCEL_DONE
	:: done[me] -> interrupted = false
#endif
	:: else ->
#ifndef MUT_SIGNAL_LEAVE
		queue[me] = Q_NONE;
#endif
#ifndef MUT_CANCEL_SERVE
		serve_posters()
#else
		skip
#endif
	fi
}

/*
 * dxk_waiter_sleep(). interrupted: a signal ended it, and the move was not made.
 * signals: so many may come
 */
#define WAITER_SLEEP(label, signals) \
	if \
	:: done[me] -> goto label##_awake \
	:: else \
	fi; \
label##_doze: \
	do \
	:: SLEEP_TEST; \
		if \
		:: saw || interrupted -> break \
		:: else \
		fi; \
		if \
		:: !asleep[me] \
		:: finished -> goto over \
		:: atomic { signals > 0 && asleep[me] -> signals--; interrupted = true } \
		fi \
	od; \
	atomic { \
		asleep[me] = false; \
		saw = false; \
		if \
		:: !interrupted -> goto label##_awake \
		LATE_DONE(label) \
		:: else \
		fi \
	}; \
	LOCKED cancel_run() UNLOCKED(label##_c) \
	true; \
label##_awake:

/* --- calls ------------------------------------------------------------------ */

#define POST(label, r) \
label##_again: \
	LOCKED preq[me] = r; post_run() UNLOCKED_SLEEP(label, signals) \
	if \
	:: interrupted -> interrupted = false; goto label##_again \
	:: else \
	fi

/* Nobody collects what is left when the context is closed. */
#if defined STOP && STOP == 3
#define CLOSED	(state == STOPPED)
#else
#define CLOSED	false
#endif

/* Collect all of an owner. */
#define COLLECT(label, o) \
	do \
	:: LOCKED rown[me] = o; rejoin_run(true) UNLOCKED_SLEEP(label, signals) \
		if \
		:: interrupted -> interrupted = false \
		:: !interrupted && err[me] == ESHUTDOWN && !CLOSED /* look again */ \
		:: !interrupted && err[me] == ESHUTDOWN && CLOSED -> break \
		:: !interrupted && err[me] == OK && ans[me] == NONE_EXIST -> break \
		:: !interrupted && err[me] == OK && ans[me] == RETURNED -> \
			if \
			:: LOCKED settle_run(true); got[me] = 0; ans[me] = 0 UNLOCKED(label##_g) true \
			:: atomic { faults > 0 -> faults-- }; \
				LOCKED settle_run(false); got[me] = 0; ans[me] = 0 UNLOCKED(label##_f) true \
			fi \
		fi \
	COLLECT_POLL(label, o) \
	od; \
	ans[me] = 0

#ifdef POLL
#define COLLECT_POLL(label, o) \
	:: LOCKED rown[me] = o; rejoin_run(false) UNLOCKED(label##_p) \
		if \
		:: ans[me] == NONE_EXIST -> break \
		:: ans[me] == NONE_READY \
		:: ans[me] == RETURNED -> \
			LOCKED settle_run(true); got[me] = 0; ans[me] = 0 UNLOCKED(label##_q) true \
		fi
#else
#define COLLECT_POLL(label, o)
#endif

/* --- processes -------------------------------------------------------------- */

#ifdef STALE
#define FETCH_TICKET	mine = ticket[fin - 1]
#define KEEP_TICKET \
	if \
	:: fin > 0 -> result[fin - 1] = mine; old = fin; old_ticket = mine \
	:: else \
	fi
#else
#define FETCH_TICKET	skip
#define KEEP_TICKET	skip
#endif

#ifdef WAITS
#define NOT_LATE	late = false
#else
#define NOT_LATE	skip
#endif

proctype worker(byte me)
{
	bool saw, interrupted;
	byte fin;		/* executed: request + 1 */
#ifdef STALE
	byte mine, old, old_ticket;
#endif
#ifdef WAITS
	bool late;		/* its next wait is for a time that is past */
#endif
#ifdef MUT_PARK_UNLOCKED
	byte early;		/* what it has seen of the owner without the lock */
#endif

turn:
	do
	:: LOCKED KEEP_TICKET; next_run(fin); fin = 0; NOT_LATE UNLOCKED_SLEEP(nx, deaths)
		if
		:: atomic { interrupted -> interrupted = false }; goto died
		:: !interrupted && err[me] == ESHUTDOWN -> goto over
		/* fetched */
		:: atomic { !interrupted && err[me] == OK ->
				st[work[me] - 1] = BUSY; fin = work[me]; FETCH_TICKET; work[me] = 0 }
		/* dies with the request in its hands */
		:: atomic { deaths > 0 && !interrupted && err[me] == OK -> deaths-- };
			LOCKED
				z = work[me] - 1;
				work[me] = 0;
				put_back(z);
				if
				:: state == STOPPING -> stop_workers()
				:: else
				fi
			UNLOCKED(pb)
			goto died
		fi;
		/* execute */
#ifdef WAITS
		if
		:: true
		:: HOW(fin - 1, turns[fin - 1]) & TIME -> late = true
		fi;
#endif
#ifdef MUT_PARK_UNLOCKED
		early = OWNER_OVER((fin - 1), HOW((fin - 1), turns[fin - 1]));
#endif
#ifdef NESTED
		if
		:: SUB(fin - 1) < NREQ ->
			POST(po, SUB(fin - 1));
			/* DX-107: from within a request a drain refuses nothing */
			assert(err[me] == OK || cancelling);
			if
			:: err[me] == OK -> COLLECT(co, OWNER(SUB(fin - 1)))
			:: else
			fi
		:: else
		fi;
#endif
#ifdef STALE
		if
		:: true
		:: atomic { stale > 0 && old_ticket > 0 -> stale-- };
			/* dxk_dones_get() of the completion before */
#ifdef MUT_TICKET
			if
			:: old == fin -> mine = old_ticket
			:: else
			fi
#else
			if
			:: old == fin && old_ticket == mine -> assert(false)
			:: else
			fi
#endif
		fi;
#endif
#ifdef MUT_COMPLETE_LOCK
		LOCKED
			assert(st[fin - 1] == BUSY);
			z = fin - 1;
			place_leave(z, AT_WORK);
			st[z] = LIMBO
		UNLOCKED(cl)
#endif
#if DEATHS
		if
		:: true
		:: atomic { deaths > 0 -> deaths-- }; goto died
		fi
#endif
	od;

died:
	skip;
	LOCKED died_run(fin); fin = 0 UNLOCKED(di)
	/* another thread takes its place, unless there is nothing left to do */
	if
	:: LOCKED state != STOPPED -> workers++ UNLOCKED(at) goto turn
	:: OUT_OF_WORK
#ifdef GONE
	:: cancelling
#endif
	fi;
over:
end:
	false
}

proctype client(byte me)
{
	bool saw, interrupted;
	byte r, round;
#ifdef WAITS
	bool more;
#endif

	do
	:: round < ROUNDS ->
#ifdef BATCH
		LOCKED
			for (x : 0 .. NREQ - 1) {
				if
				:: POSTS((me - NW), x) -> preq[me] = x; post_run()
				:: else
				fi
			}
		UNLOCKED(ba)
#else
		do
		:: atomic { r < NREQ && !POSTS((me - NW), r) -> r++ }
		:: r < NREQ && POSTS((me - NW), r) ->
			POST(po, r);
			r++
		:: atomic { r == NREQ -> r = 0; break }
		od;
#endif
#ifdef WAITS
		if
		:: CLOSES(me - NW) -> CLOSE_SPACE(cs, COLLECTS(me - NW))
		:: else -> COLLECT(co, COLLECTS(me - NW))
		fi;
#else
		COLLECT(co, COLLECTS(me - NW));
#endif
		round++
	:: atomic { round == ROUNDS -> round = 0; clients-- }; break
	od;
over:
end:
	false
}

/* Thread 700: the one second sweep is left out, since it would hide a bug. */
proctype dispatcher(byte me)
{
end:
	do
	/* until the lock hold it is about to look, as those who kick are */
	:: d_step { kicked -> kicked = false; sweep = sweep | bit(me) };
		LOCKED sweep = sweep & ~bit(me); serve_posters() UNLOCKED(sw) true
	od
}

#ifdef STOP
/* Who posts and who collects is told, unless it is left alone. */
inline stop_sleepers()
{
	for (i : 0 .. NW + NCL - 1) {
		if
		:: (queue[i] == Q_POSTERS || queue[i] == Q_POLLERS) && SHUT(i) ->
			err[i] = ESHUTDOWN;
			waiter_finish(i)
		:: else
		fi
	}
}

#if STOP == 1 && defined MUT_STOP_SERVICE
#define STOP_ONE	more = false
#elif STOP == 1
#define STOP_ONE	stop_waits()
#else
#define STOP_ONE	cancel_some()
#endif

proctype stopper(byte me)
{
	bool saw, interrupted;
	byte none;
#ifdef WAITS
	bool more;
#endif

	LOCKED
		state = STOPPING;
		cancelling = (STOP >= 2);
#ifdef MUT_STOP_WAKE
		stopping_now = true;
#endif
		stop_sleepers();
#ifdef MUT_STOP_WAKE
		stopping_now = false;
#endif
		stop_workers()
	UNLOCKED(sb)
#ifdef WAITS
	do
	:: LOCKED STOP_ONE UNLOCKED(sw)
		if
		:: more
		:: else -> break
		fi
	od;
#if STOP == 3
	/* The walker: it waits for nobody. */
	LOCKED state = STOPPED; stop_sleepers(); stop_workers() UNLOCKED(sd)
	do
	:: LOCKED
#ifndef MUT_CLOSE_LAST
		STOP_ONE
#else
		skip
#endif
		UNLOCKED(sl)
		if
		:: more
		:: else -> break
		fi
	od;
	clients--;
	goto over;
#endif
#elif STOP == 2
	do
	:: nr[AT_READY] ->
		LOCKED
			pick = NREQ;
			for (k : 0 .. NREQ - 1) {
				if
				:: st[k] == READY && pick == NREQ -> pick = k
				:: else
				fi
			}
			if
			:: pick < NREQ -> z = pick; cancel_ready(z)
			:: else
			fi;
			stop_workers()
		UNLOCKED(sc)
		true
	:: else -> break
	od;
#endif
	/* dxk_run_halt(): its sleep */
	skip;
	LOCKED done[me] = false; queue[me] = Q_STOPPERS; stop_workers() UNLOCKED_SLEEP(ss, none)
	atomic {
		assert(!nr[AT_READY] && !nr[AT_WORK]);
#ifdef WAITS
		assert(!nr[AT_WAIT]);
#endif
		state = STOPPED;
		clients--
	};
over:
end:
	false
}
#endif

#ifdef RESIZE
/* The Monitor puts a new policy into force. */
proctype monitor(byte me)
{
	LOCKED
		entries = RESIZE;
#ifndef MUT_RESIZE_SERVE
		serve_posters()
#else
		skip
#endif
	UNLOCKED(mo)
	clients--;
end:
	false
}
#endif

#ifdef WAITS
/* A choice, and a lock hold for it, without anything in between */
#define LOCKED_FOR(choices)	atomic { if choices fi; d_step {

/* Which step of the caller is to come: bits of todo */
#define TO_CALL(r)	(1 << (r))
#define TO_CALL_AGAIN(r) (1 << (NREQ + (r)))
#define TO_CANCEL(r)	(1 << (2 * NREQ + (r)))
#define LEFT(r) \
	((CALLS(r) > 0 -> TO_CALL(r) : 0) | (CALLS(r) > 1 -> TO_CALL_AGAIN(r) : 0) | \
	 (CANCELS(r) -> TO_CANCEL(r) : 0))
#define STEPS(r) \
	:: was[r] && (todo & TO_CALL(r)) -> todo = todo & ~TO_CALL(r); q = r \
	:: was[r] && (todo & TO_CALL_AGAIN(r)) && !(todo & TO_CALL(r)) -> \
		todo = todo & ~TO_CALL_AGAIN(r); q = r \
	:: was[r] && (todo & TO_CANCEL(r)) -> \
		todo = todo & ~TO_CANCEL(r); q = r; cancels = true
#define ALARMS(r) \
	:: alarm[r] & A_TIME -> q = r; which = A_TIME \
	:: alarm[r] & A_EXPIRE -> q = r; which = A_EXPIRE

#if NREQ > 2
#define EACH(what)	what(0) what(1) what(2)
#else
#define EACH(what)	what(0) what(1)
#endif

/* It knows by its name what was posted, and calls and cancels it at any time. */
proctype caller(byte me)
{
	short todo;
	byte q;
	bool cancels;

	todo = LEFT(0) | LEFT(1);
#if NREQ > 2
	todo = todo | LEFT(2);
#endif
end:
	do
	:: LOCKED_FOR(EACH(STEPS))
			if
			:: cancels -> tell(q, W_CANCEL)
			:: else -> wake_name(q)
			fi;
			q = 0;
			cancels = false
		UNLOCKED(ca)
		true
	od
}

/* dxk_alarms_ring() */
proctype clock(byte me)
{
	byte q, which;

end:
	do
	:: LOCKED_FOR(EACH(ALARMS))
			if
			:: which == A_TIME -> resume(q, W_TIME)
			:: else ->
				alarm[q] = alarm[q] & ~A_EXPIRE;
				tell(q, W_EXPIRE)
			fi;
			q = 0;
			which = 0
		UNLOCKED(ri)
		true
	od
}
#endif

/* When nothing can happen any more, nothing may be left to do. */
proctype judge()
{
	byte p;

	timeout ->
	d_step {
		for (p : 0 .. NW + NCL) {
			/* lost wake-up: its move is made and it sleeps */
			assert(!(asleep[p] && done[p]))
		}
		/* all callers came back */
		assert(clients == 0);
		for (p : 0 .. NREQ - 1) {
			assert(st[p] == FREE || (CLOSED && st[p] == REJOINABLE))
		}
		p = 0;
		finished = true
	}
}

init
{
	byte p;

	atomic {
		for (p : 0 .. NW - 1) {
			run worker(p)
		}
		for (p : NW .. NW + NCL - 1) {
			run client(p)
		}
#if BUDGET < NREQ
		run dispatcher(T700);
#endif
#ifdef STOP
		clients++;
		run stopper(STOPPER);
#endif
#ifdef RESIZE
		clients++;
		run monitor(MONITOR);
#endif
#ifdef WAITS
		run caller(CALLER);
		run clock(CLOCK);
#endif
		run judge();
		p = 0
	}
}
