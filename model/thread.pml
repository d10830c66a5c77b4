/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Thread 700: kick and sleep, operations that are handed to it, its end.
 *
 * Stores stay in buffers as in wait.pml. No sleep here ends by its time: the sweep
 * after a second would hide a lost kick.
 *
 * Without PUBLISH callers are dispatchers themselves: one may hand over the rest of its
 * work, the other leaves a backlog. With PUBLISH (policy dispatch=thread) both hand
 * over an operation, while the thread is being stopped, or with STAYS is not. With LATE the
 * first of them may take the role after all, as who waits for long does, and thread 700 is to
 * run what that one leaves; where it has ended meanwhile, the other one waits for long, too.
 */

#define CALLERS	2
#define bit(c)	(1 << (c))
#ifdef LATE
#define takes_over(c)	(c == 0 || (ended && took_over))
#else
#define takes_over(c)	false
#endif

bool lock;			/* dxk_ctx.lock */
bool rest;			/* a dispatch that a caller had no budget for */
bool backlog;			/* something is Ready */
bool parked, will_park;		/* dxk_thread.parked, and that of this sleep */
bool kicked;			/* dxk_thread.kicked */
bool b_kicked[CALLERS + 1];
bool queued;			/* it stands in dxk_thread.wait */
bool asleep, b_asleep;		/* its task state */

#ifdef PUBLISH
bool direct = false;		/* dxk_ctx.direct */
#else
bool direct = true;
#endif
bool b_direct;
bool reading[CALLERS];		/* RCU */
byte inbox, taken;		/* bits of callers */
bool ran[CALLERS], b_ran[CALLERS];
bool csleep[CALLERS];		/* a caller's task state */
bool cgone[CALLERS];
byte runs[CALLERS];
bool should_stop, ended, took_over;

#define LOCK	atomic { !lock -> lock = true }
#define UNLOCK	lock = false

/* dxk_thread_kick() by c */
inline kick(c)
{
	b_kicked[c] = true;
#ifndef MUT_KICK_BARRIER
	/* that of wq_has_sleeper() */
	!b_kicked[c];
#endif
	if
	:: queued ->
		atomic {
			!b_kicked[c];
			/* only who was woken leaves the queue */
			if
			:: queued && asleep -> asleep = false; queued = false
			:: else
			fi
		}
	:: else
	fi
}

/* Run one operation, if there is one, and wake its caller. */
inline inbox_hold(c)
{
	LOCK;
	if
	:: !taken -> atomic { mine = inbox; inbox = 0 }; taken = mine; mine = 0
	:: else
	fi;
	if
	:: taken ->
		c = (taken & bit(0) -> 0 : 1);
		taken = taken & ~bit(c);
		runs[c]++;
		/* a reference to its task is taken */
		assert(!cgone[c]);
		b_ran[c] = true;
		!b_ran[c];
		UNLOCK;
#ifndef MUT_RAN_WAKE
		atomic { !b_ran[c] -> csleep[c] = false }
#endif
	:: else -> UNLOCK
	fi
}

proctype caller(byte c)
{
	bool saw;
	byte mine, d;

	/* rcu_read_lock() */
	reading[c] = true;
	if
	:: direct ->
		reading[c] = false;
		goto perform
	:: else
	fi;
#ifdef MUT_RCU_SECTION
	reading[c] = false;
#endif
	atomic { inbox = inbox | bit(c) };
	reading[c] = false;
	kick(c);
	do
	:: csleep[c] = true;
		saw = ran[c];
		if
		:: saw -> break
		:: else
		fi;
		if
		:: !csleep[c]
		:: takes_over(c) -> goto late
		fi
	od;
	csleep[c] = false;
	goto over;

late:
	csleep[c] = false;
	took_over = true;
	do
	:: ran[c] -> break
	:: else -> inbox_hold(d)
	od;
#ifndef MUT_TAKER_KICK
	kick(c);
#endif
	goto over;

perform:
	LOCK;
	runs[c]++;
#ifndef PUBLISH
	saw = false;
	if
	:: c == 0 ->
		if
		:: rest = true; saw = true
		:: true
		fi
	:: else ->
		backlog = true;
		if
		:: parked -> parked = false; saw = true
		:: else
		fi
	fi;
#endif
	UNLOCK;
	if
	:: saw -> kick(c)
	:: else
	fi;
over:
	cgone[c] = true
}

inline inbox_run()
{
	do
	:: inbox || taken -> inbox_hold(c)
	:: else -> break
	od
}

proctype dispatcher()
{
	bool asked, idle;
	byte mine, c;

	do
	:: should_stop -> break
	:: else ->
#ifdef MUT_KICK_LATE
		asked = kicked;
#else
		atomic { asked = kicked; kicked = false };	/* xchg() */
#endif
		inbox_run();
		/* dxk_sweep() */
#ifdef MUT_PARK_LOCK
		idle = !backlog;
#endif
		LOCK;
		rest = false;
#ifndef MUT_PARK_LOCK
		idle = !backlog;
#endif
		parked = !asked && idle;
		UNLOCK;
#ifdef MUT_KICK_LATE
		kicked = false;
#endif
		/* dxk_thread_wait() */
		will_park = parked;
		do
		:: kicked || should_stop -> break
		:: else ->
			queued = true;
			b_asleep = true;
#ifndef MUT_SLEEP_BARRIER
			!b_asleep;	/* that of prepare_to_wait() */
#endif
			if
			:: kicked || should_stop -> break
			:: else
			fi;
			!b_asleep;
			!asleep
		od;
		atomic { !b_asleep -> asleep = false; queued = false; will_park = false }
	od;
#ifndef MUT_LAST_INBOX
	inbox_run();
#endif
	ended = true
}

#ifdef PUBLISH
#ifndef STAYS
/* dxk_dispatcher_stop() */
proctype stopper()
{
	b_direct = true;
#ifndef MUT_STOP_RCU
	/* synchronize_rcu() */
	!b_direct;
	!reading[0];
	!reading[1];
#endif
	/* kthread_stop() */
	should_stop = true;
	asleep = false;
	ended
}
#endif
#endif

proctype memory()
{
end:
	do
	:: atomic { b_kicked[0] -> kicked = true; b_kicked[0] = false }
	:: atomic { b_kicked[1] -> kicked = true; b_kicked[1] = false }
	:: atomic { b_asleep -> asleep = true; b_asleep = false }
	:: atomic { b_direct -> direct = true; b_direct = false }
	:: atomic { b_ran[0] -> ran[0] = true; b_ran[0] = false }
	:: atomic { b_ran[1] -> ran[1] = true; b_ran[1] = false }
	od
}

/* When nothing can happen any more */
proctype judge()
{
	timeout ->
	assert(cgone[0] && cgone[1]);
	assert(runs[0] == 1 && runs[1] == 1);
	assert(!rest);
	assert(!(backlog && will_park));
#ifdef PUBLISH
#ifndef STAYS
	assert(ended);
#endif
#endif
	atomic { should_stop = true; asleep = false }
}

init
{
	atomic {
		run memory();
		run dispatcher();
		run caller(0);
		run caller(1);
#ifdef PUBLISH
#ifndef STAYS
		run stopper();
#endif
#endif
		run judge()
	}
}
