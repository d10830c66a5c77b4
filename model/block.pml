/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Block marks and keys: a request that is about to sleep outside of dxk gives its key and its
 * worker's place to others, until it is back.
 *
 * Of the engine there is what that needs: one kind of workers, spares that are made while
 * somebody has use for one, requests with a key or none, and their sleeps: for a spare (an
 * asker), for the key on the way back, for each other in a rejoin. A lock hold is one step, and a
 * sleep ends in the hold that makes the sleeper's move: that this is so is shown by the other
 * models. Who has a key, calls and nesting are in key.pml.
 *
 * What a request does is a script, OP(). The sleep outside, for which it says that it blocks, is
 * one until another request has ended: so with one worker nothing ends if the marks do not
 * do what they are for. Names follow the source: dxk_mark_begin() is mark_begin() here.
 */

/* --- configuration ------------------------------------------------------------ */

#ifndef NW
#define NW	1		/* workers */
#endif
#ifndef NS
#define NS	1		/* most spares */
#endif
#ifndef NREQ
#define NREQ	3
#endif
#ifndef NKEY
#define NKEY	1
#endif
#ifndef KEY
#define KEY(r)	0		/* of request r; NKEY: none */
#endif
#ifndef DEATHS
#define DEATHS	0		/* so many workers die */
#endif
#ifndef SIGNALS
#define SIGNALS	0		/* so many sleeps for a spare end by a signal */
#endif
#ifndef OP
#define OP(r, p)	END	/* step p of r */
#endif
#define NT	(NW + NS)

/* What a request does; the rest is the argument */
#define END		0
#define BLOCK		1	/* if somebody goes on */
#define BLOCK_WAIT	2	/* .. or sleeps until somebody does */
#define BLOCK_FORCED	3
#define UNBLOCK		4
#define OP_SLEEP	5	/* outside of dxk, until r has ended; not if BLOCK was refused */
#define OP_REJOIN	6	/* in dxk, until r has ended */
#define SLEEP(r)	(OP_SLEEP + 16 * (r))
#define REJOIN(r)	(OP_REJOIN + 16 * (r))

/* --- state -------------------------------------------------------------------- */

#define NEW	0
#define HELD	1
#define READY	2
#define WORK	3
#define ENDED	4

/* enum dxk_at_key */
#define OUT	0
#define QUEUED	1	/* DXK_KEY_HELD */
#define HAS	2
#define BACK	3

/* Threads */
#define NONE	0	/* a spare that is not made */
#define COMING	1	/* .. or is being made */
#define IDLE	2	/* of a spare: parked */
#define RUNS	3
#define ASKS	4	/* sleeps for a spare */
#define ENTERS	5	/* .. for the key of its request */
#define REJOINS	6
#define DEAD	7

byte st[NREQ];
byte at[NREQ];
byte pc[NREQ];
bool refused[NREQ];	/* its BLOCK was */
byte turn[NKEY];	/* dxk_key.turn: request + 1 */

byte is[NT];
byte has[NT];		/* its request + 1 */
bool marked[NT];
bool left_key[NT];
bool extra[NT];		/* its request is in the place of a sleeper */
bool asks[NT];		/* it is in dxk_crew.askers */
bool counted[NT];	/* its sleep in a call counts in asleep */

byte asleep;		/* dxk_crew.asleep */
byte extras;		/* dxk_crew.extra */
byte deaths = DEATHS;
byte signals = SIGNALS;

/* Locals of lock holds */
hidden byte a, b, c, d, h, i, j, k, l, m, n, r, op, arg;

#define IS_SPARE(y)	((y) >= NW)
#define MINE(y)		(KEY(y) < NKEY)

/* --- sleeps in calls ------------------------------------------------------------- */

/* Whoever is marked counts already. */
inline sleep_in(y, how)
{
	is[y] = how;
#ifndef MUT_TWICE
	counted[y] = !marked[y];
#else
	counted[y] = true;
#endif
	asleep = asleep + counted[y]
}

inline wake_up(y)
{
	is[y] = RUNS;
	asleep = asleep - counted[y];
	counted[y] = false;
	pc[has[y] - 1]++
}

/* --- keys ------------------------------------------------------------------------ */

#ifndef MUT_BACK_LAST
#define FIRST	BACK
#define SECOND	QUEUED
#else
#define FIRST	QUEUED
#define SECOND	BACK
#endif

/* dxk_key_pass(): who comes back has it before all that are Held. */
inline key_pass(kk)
{
	turn[kk] = 0;
	n = NREQ;
	for (i : 0 .. NREQ - 1) {
		if
		:: KEY(i) == (kk) && at[i] == FIRST && (n == NREQ || at[n] == SECOND) -> n = i
		:: KEY(i) == (kk) && at[i] == SECOND && n == NREQ -> n = i
		:: else
		fi
	}
	if
	:: n < NREQ ->
		for (i : 0 .. NREQ - 1) {
			assert(KEY(i) != (kk) || at[i] != BACK || at[n] == BACK)
		}
		turn[kk] = n + 1;
		if
		:: at[n] == QUEUED -> st[n] = READY
		:: else ->
			for (i : 0 .. NT - 1) {
				if
				:: has[i] == n + 1 -> wake_up(i)
				:: else
				fi
			}
		fi;
		at[n] = HAS
	:: else
	fi;
	n = 0;
	i = 0
}

/* --- spares ------------------------------------------------------------------------- */

/* a: idle workers and parked spares; b: spares that there are; c: that come; d: who asks */
inline look()
{
	a = 0;
	b = 0;
	c = 0;
	d = 0;
	for (i : 0 .. NT - 1) {
		a = a + (is[i] == IDLE);
		b = b + (IS_SPARE(i) && is[i] != NONE && is[i] != DEAD);
		c = c + (is[i] == COMING);
		d = d + asks[i]
	}
	i = 0
}

inline forget()
{
	a = 0;
	b = 0;
	c = 0;
	d = 0
}

/* How many run, and do not sleep, in a call or outside */
inline awake()
{
	m = 0;
	for (i : 0 .. NT - 1) {
		m = m + ((is[i] == RUNS || is[i] == ASKS) && !marked[i])
	}
	i = 0
}

#ifndef MUT_SPARE_ANY
#define SPARE_MAY_RUN	(asleep > extras)	/* dxk_spare_may_run() */
#else
#define SPARE_MAY_RUN	true
#endif

/* dxk_assign(): of a spare it is more than the crew has places for, unless one sleeps. */
inline assign(y, z)
{
	awake();
	assert(!IS_SPARE(y) || m < NW);
	m = 0;
	st[z] = WORK;
	is[y] = RUNS;
	has[y] = (z) + 1;
	extra[y] = IS_SPARE(y);
	extras = extras + extra[y]
}

/* dxk_dispatch(), and dxk_wanted() of the Monitor */
inline dispatch()
{
	for (j : 0 .. NREQ - 1) {
		for (k : 0 .. NT - 1) {
			if
			:: st[j] == READY && is[k] == IDLE && (!IS_SPARE(k) || SPARE_MAY_RUN) ->
				assign(k, j)
			:: else
			fi
		}
	}
	r = 0;
	for (j : 0 .. NREQ - 1) {
		r = r + (st[j] == READY)
	}
	look();
	k = NT;
	for (j : NW .. NT - 1) {
		if
		:: is[j] == NONE -> k = j
		:: else
		fi
	}
	if
	:: k < NT && c == 0 && a == 0 && (d > 0 || (r > 0 && asleep > b)) ->
#ifdef MUT_ASK_UNCALLED
		if
		:: r > 0 && asleep > b -> is[k] = COMING
		:: else
		fi
#else
		is[k] = COMING
#endif
	:: else
	fi;
	forget();
	r = 0;
	j = 0;
	k = 0
}

/* --- marks -------------------------------------------------------------------------- */

/* dxk_block_begin() of a thread with a request */
inline block_begin(y, z)
{
	is[y] = RUNS;
	asks[y] = false;
	marked[y] = true;
#ifndef MUT_NOT_ASLEEP
	asleep++;
#endif
	left_key[y] = MINE(z) && at[z] == HAS;
	pc[z]++;
	if
#ifndef MUT_KEY_KEPT
	:: left_key[y] ->
		at[z] = OUT;
		key_pass(KEY(z))
#endif
	:: else
	fi
}

/* dxk_mark_begin(), of me with r */
inline mark_begin()
{
	look();
	if
	:: op == BLOCK_FORCED -> block_begin(me, r)
#ifndef MUT_NO_STAND_IN
	:: op != BLOCK_FORCED && a > 0 -> block_begin(me, r)
	:: op == BLOCK_WAIT && a == 0 && (c > 0 || b < NS) ->
		is[me] = ASKS;
		asks[me] = true
#else
	:: op != BLOCK_FORCED -> block_begin(me, r)
#endif
	:: else ->
		refused[r] = true;
		pc[r]++
	fi;
	forget()
}

/* dxk_mark_grant(): somebody has nothing to do, which is enough for all who ask. */
inline mark_grant()
{
	look();
	if
#ifndef MUT_GRANT_LOST
	:: a > 0 && d > 0 ->
		for (l : 0 .. NT - 1) {
			if
			:: asks[l] ->
				h = has[l] - 1;
				block_begin(l, h)
			:: else
			fi
		}
#endif
	:: else
	fi;
	forget();
	h = 0;
	l = 0
}

inline unmark(y)
{
	marked[y] = false;
	asleep--
}

/* dxk_mark_end(), of me with r: back, and into its key, where it has one */
inline mark_end()
{
	if
	:: !marked[me] -> pc[r]++
	:: else ->
		unmark(me);
		if
		:: !left_key[me] -> pc[r]++
		:: left_key[me] && turn[KEY(r)] == 0 ->
			turn[KEY(r)] = r + 1;
			at[r] = HAS;
			pc[r]++
		:: else ->
#ifndef MUT_BACK_BESIDE
			at[r] = BACK;
			sleep_in(me, ENTERS)
#else
			at[r] = HAS;
			pc[r]++
#endif
		fi;
		left_key[me] = false
	fi
}

/* The turn of me with r ends: so do its marks, see dxk_mark_over(). */
inline turn_end()
{
	if
#ifndef MUT_MARK_STAYS
	:: marked[me] -> unmark(me)
#endif
	:: else
	fi;
	st[r] = ENDED;
	has[me] = 0;
	extras = extras - extra[me];
	extra[me] = false;
	left_key[me] = false;
	if
	:: MINE(r) && at[r] == HAS ->
		at[r] = OUT;
		key_pass(KEY(r))
	:: else
	fi;
	for (l : 0 .. NT - 1) {
		if
		:: is[l] == REJOINS && OP((has[l] - 1), pc[has[l] - 1]) == REJOIN(r) -> wake_up(l)
		:: else
		fi
	}
	l = 0
}

/* --- what holds when the lock is free ----------------------------------------------- */

inline unlock()
{
	dispatch();
	mark_grant();
	/* for keys that those have left */
	dispatch();
	n = 0;
	m = 0;
	for (i : 0 .. NT - 1) {
		n = n + (marked[i] || is[i] == ENTERS || is[i] == REJOINS);
		m = m + extra[i];
		assert(!marked[i] || has[i] > 0);
		assert(asks[i] == (is[i] == ASKS));
		for (j : 0 .. NT - 1) {
			assert(is[i] != ASKS || is[j] != IDLE)
		}
	}
	assert(n == asleep && m == extras);
	for (i : 0 .. NREQ - 1) {
		for (j : 0 .. NT - 1) {
			assert(st[i] != READY || is[j] != IDLE || (IS_SPARE(j) && asleep <= extras))
		}
		for (j : 0 .. NREQ - 1) {
			assert(i == j || !MINE(i) || KEY(i) != KEY(j) || at[i] != HAS || at[j] != HAS)
		}
		assert(!MINE(i) || at[i] == OUT || turn[KEY(i)] > 0)
	}
	i = 0;
	j = 0;
	m = 0;
	n = 0;
	r = 0;
	op = 0;
	arg = 0
}

/* --- who does it -------------------------------------------------------------------- */

#define R	(has[me] - 1)
#define NOW	OP((has[me] - 1), pc[has[me] - 1])

proctype worker(byte me)
{
end:	do
	:: d_step { is[me] == COMING ->
		is[me] = IDLE;
		unlock() }
	:: d_step { is[me] == RUNS && NOW % 16 != OP_SLEEP ->
		r = R;
		op = NOW % 16;
		arg = NOW / 16;
		if
		:: op == END ->
			turn_end();
			is[me] = IDLE
		:: op == UNBLOCK -> mark_end()
		:: op == OP_REJOIN && st[arg] == ENDED -> pc[r]++
		:: op == OP_REJOIN && st[arg] != ENDED -> sleep_in(me, REJOINS)
		:: else -> mark_begin()
		fi;
		unlock() }
	/* outside */
	:: d_step { is[me] == RUNS && NOW % 16 == OP_SLEEP &&
		    (refused[R] || st[NOW / 16] == ENDED) ->
		pc[R]++ }
#if SIGNALS
	:: d_step { is[me] == ASKS && signals > 0 ->
		signals--;
		r = R;
		is[me] = RUNS;
#ifndef MUT_SIGNAL_LEAVE
		asks[me] = false;
#endif
		refused[r] = true;
		pc[r]++;
		unlock() }
#endif
#if DEATHS
	:: d_step { is[me] == RUNS && deaths > 0 && !IS_SPARE(me) ->
		deaths--;
		r = R;
#ifdef MUT_MARK_DEATH
		marked[me] = false;
#endif
		turn_end();
		is[me] = DEAD;
		unlock() }
#endif
	od
}

proctype poster(byte y)
{
	d_step {
		st[y] = READY;
		if
		:: MINE(y) && turn[KEY(y)] > 0 ->
			st[y] = HELD;
			at[y] = QUEUED
		:: MINE(y) && turn[KEY(y)] == 0 ->
			at[y] = HAS;
			turn[KEY(y)] = y + 1
		:: else
		fi;
		unlock()
	}
}

/* When nothing can happen any more, nothing may be left to do. */
proctype judge()
{
	byte y;

	timeout ->
	d_step {
		for (y : 0 .. NREQ - 1) {
			assert(st[y] == ENDED)
		}
		for (y : 0 .. NT - 1) {
			assert(is[y] == IDLE || is[y] == NONE || is[y] == DEAD)
		}
		assert(asleep == 0 && extras == 0);
		y = 0
	}
}

init
{
	byte y;

	atomic {
		for (y : 0 .. NW - 1) {
			is[y] = IDLE
		}
		for (y : 0 .. NT - 1) {
			run worker(y)
		}
		for (y : 0 .. NREQ - 1) {
			run poster(y)
		}
		y = 0;
		run judge()
	}
}
