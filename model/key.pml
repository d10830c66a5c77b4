/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keys: of all requests with one key at most one has its turn.
 *
 * Of the engine there is only what keys need. A lock hold is one step, and a sleep ends in
 * the hold that makes the sleeper's move: that this is so is shown by the other models.
 * There is room for all, any worker takes any request that is Ready, and each request is an
 * owner of its own, so that a rejoin waits for the requests it names.
 *
 * What a request does is a script, OP(). Names follow the source: dxk_key_pass() is
 * key_pass() here. Configurations and mutations are macros, see check.sh.
 */

/* --- configuration ------------------------------------------------------------ */

#ifndef NW
#define NW	2		/* workers */
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
#ifndef PRIO
#define PRIO(r)	0
#endif
#ifndef OUTSIDE			/* r is posted from outside, at any time */
#define OUTSIDE(r) 1
#endif
#ifndef REDO
#define REDO(r)	0		/* PXR_REDO */
#endif
#ifndef REDO_MAX
#define REDO_MAX 2
#endif
#ifndef REENTRY
#define REENTRY(r) CHAIN	/* of a call to its key */
#endif
#ifndef DEATHS
#define DEATHS	0		/* so many workers die */
#endif
#ifndef SIGNALS
#define SIGNALS	0		/* so many sleeps for a key end by a signal */
#endif
#ifndef CALLS
#define CALLS(r) 0		/* r is called by its name */
#endif
#ifndef CANCELS
#define CANCELS(r) 0		/* r is cancelled by its name */
#endif
#ifndef SUSPENDS
#define SUSPENDS 0		/* so often key 0 is held back, and released */
#endif
#ifndef DEADLOCKS
#define DEADLOCKS 0		/* so many calls may be told that they would wait for themselves */
#endif
#ifndef HELP_DEPTH
#define HELP_DEPTH 2
#endif

/* What a request does; the rest is the argument */
#define END		0
#define PARK		1	/* wait for a call; its key is another's then */
#define AGAIN		2
#define LEAVE		3
#define ENTER		4
#define WAIT		5
#define WAIT_TIMED	6
#define NOTIFY		7
#define NOTIFY_ALL	8
#define OP_POST		9
#define OP_CALL		10
#define OP_CALL_TIMED	11
#define POST(r)		(OP_POST + 16 * (r))
#define CALL(set)	(OP_CALL + 16 * (set))	/* wait until all of these have ended */
#define CALL_TIMED(set)	(OP_CALL_TIMED + 16 * (set))
#ifndef OP
#define OP(r, p)	END	/* step p of r */
#endif

#define bit(r)	(1 << (r))

/* REENTRY() */
#define NONE	0
#define SELF	1
#define CHAIN	2

/* --- state -------------------------------------------------------------------- */

#define NEW	0
#define WAITING	1	/* for a call */
#define HELD	2	/* the same state in the engine: for its key */
#define READY	3
#define WORK	4	/* DISPATCHED, BUSY */
#define ENDED	5

/* enum dxk_at_key */
#define OUT	0
#define QUEUED	1	/* DXK_KEY_HELD */
#define HAS	2
#define NESTED	3
#define WAITS	4
#define BACK	5

/* stuck[] */
#define S_OWNER	1
#define S_KEY	2
#define S_COND	3	/* of KEY_WAIT: it is no link of a circle */

byte st[NREQ];
byte at[NREQ];
byte pos[NREQ];		/* in the list of its key that it is in: 1 is the first */
byte pc[NREQ];
byte from[NREQ];	/* step at which its turn has begun */
byte attempts[NREQ];
byte who[NREQ];		/* WORK: its worker */
byte below[NREQ];	/* WORK: the request + 1 that its worker had before */
byte outer_of[NREQ];	/* NESTED: dxk_more.outer + 1 */
bool parked[NREQ];	/* a turn has ended with a wait */
bool latched[NREQ];
bool cancelled[NREQ];
bool away[NREQ];	/* its thread is to call ENTER before it has the key */

byte turn[NKEY];	/* dxk_key.turn: request + 1 */
bool suspended[NKEY];

byte top[NW];		/* what the worker executes: request + 1 */
byte called[NW];	/* given to it, within that, and not fetched: request + 1 */
byte stuck[NW];		/* how it sleeps */
bool timed[NW];
byte awaits[NW];	/* S_OWNER: set of requests */
byte outer[NW];		/* dxk_member.outer: nested ones within its work elsewhere */

byte deaths = DEATHS;
byte signals = SIGNALS;
byte suspends = SUSPENDS;
byte deadlocks;

/* Locals of lock holds */
hidden byte a, b, c, i, j, k, l, m, n, p, q, r, x, nest, op, arg, first, sum;
hidden byte passes;	/* set of keys: somebody is to have them next */
hidden byte takes;	/* set of requests that are to have a turn */
hidden byte looks;	/* set of workers that sleep for requests: do they wait for themselves? */

#define BEGUN(y)	(attempts[y] > 0 || parked[y])
#define MINE(y)		(KEY(y) < NKEY)

/* --- lists of a key ----------------------------------------------------------- */

/* y leaves the list that it is in. */
inline list_leave(y)
{
	for (i : 0 .. NREQ - 1) {
		if
		:: i != (y) && at[i] == at[y] && KEY(i) == KEY(y) && pos[i] > pos[y] -> pos[i]--
		:: else
		fi
	}
	pos[y] = 0;
	at[y] = OUT
}

/* y enters a list at a place, 1 for the first one. */
inline list_enter(y, list, place)
{
	for (i : 0 .. NREQ - 1) {
		if
		:: i != (y) && at[i] == (list) && KEY(i) == KEY(y) && pos[i] >= (place) -> pos[i]++
		:: else
		fi
	}
	at[y] = list;
	pos[y] = place
}

/* n: how many are in a list of key kk; first: the first one + 1; l: the last one + 1 */
inline list_look(kk, list)
{
	n = 0;
	first = 0;
	l = 0;
	for (i : 0 .. NREQ - 1) {
		if
		:: at[i] == (list) && KEY(i) == (kk) ->
			n++;
			if
			:: pos[i] == 1 -> first = i + 1
			:: else
			fi;
			if
			:: l == 0 -> l = i + 1
			:: l != 0 && pos[i] > pos[l - 1] -> l = i + 1
			:: else
			fi
		:: else
		fi
	}
}

/* c: whoever has key kk innermost + 1, dxk_key_holder() */
inline key_holder(kk)
{
	list_look(kk, NESTED);
	c = (l > 0 -> l : turn[kk])
}

/* --- answers to those who sleep ----------------------------------------------- */

/* The worker's call is over, and its request goes on behind it. */
inline answer(w)
{
	stuck[w] = 0;
	awaits[w] = 0;
	timed[w] = false;
	pc[top[w] - 1]++
}

/* The call for the key that sleeps for y, if one does */
inline key_answer(y)
{
	if
	:: away[y] && stuck[who[y]] >= S_KEY && top[who[y]] == (y) + 1 ->
		away[y] = false;
		answer(who[y])
	:: else
	fi
}

/* b: have all ended that worker w waits for? */
inline have_ended(w)
{
	b = true;
	for (i : 0 .. NREQ - 1) {
		if
		:: (awaits[w] & bit(i)) && st[i] != ENDED -> b = false
		:: else
		fi
	}
}

#ifdef MUT_NEST_WAKE
#define MAY_GO_ON(w)	true
#else
/* Not beside what is nested in its work */
#define MAY_GO_ON(w)	(outer[w] == 0)
#endif

/* A request has ended, or what was nested in the work of a worker. */
inline serve_pollers()
{
	for (j : 0 .. NW - 1) {
		if
		:: stuck[j] == S_OWNER && MAY_GO_ON(j) ->
			have_ended(j);
			if
			:: b -> answer(j)
			:: else
			fi
		:: else
		fi
	}
}

/* --- who has it (key.c) ------------------------------------------------------- */

inline key_give(y)
{
	turn[KEY(y)] = (y) + 1;
	at[y] = HAS;
	pos[y] = 0
}

/*
 * y is Held: behind those that are as urgent. again: it was there before, and comes before
 * these.
 */
inline key_hold(y, again)
{
	st[y] = HELD;
	n = 1;
	for (i : 0 .. NREQ - 1) {
		if
		:: at[i] == QUEUED && KEY(i) == KEY(y) &&
		   (PRIO(i) > PRIO(y) || (PRIO(i) == PRIO(y) && !(again))) -> n++
		:: else
		fi
	}
	x = n;
	list_enter(y, QUEUED, x);
#ifndef MUT_HELD_AGAIN
	/* Whoever waits for it may have to wait for itself now. */
	for (j : 0 .. NW - 1) {
		looks = ((awaits[j] & bit(y)) -> looks | bit(j) : looks)
	}
#endif
	skip
}

/* Who has key kk is READY, and gives it up to whoever is first. */
inline key_yield(kk)
{
	x = turn[kk] - 1;
	turn[kk] = 0;
	a = x;
	key_hold(a, true)
}

#ifdef MUT_NEST_FREE
#define NO_NESTED	true
#else
#define NO_NESTED	(n == 0)
#endif

#ifdef MUT_KEY_TWO
#define TURN_IS_FREE(kk) (turn[kk] == 0 || st[turn[kk] - 1] == READY)
#else
#define TURN_IS_FREE(kk) (turn[kk] == 0)
#endif

/* b: dxk_key_is_vacant() */
inline key_is_vacant(kk)
{
	list_look(kk, BACK);
	b = TURN_IS_FREE(kk) && n == 0;
	list_look(kk, NESTED);
	b = b && NO_NESTED
}

/* b: has y, which is to have a turn, its key? Then it is READY, else Held. */
inline key_take(y)
{
	b = true;
	if
	:: MINE(y) ->
		key_is_vacant(KEY(y));
		list_look(KEY(y), QUEUED);
		b = b && n == 0 && !suspended[KEY(y)];
		if
		:: !b && turn[KEY(y)] > 0 && st[turn[KEY(y)] - 1] == READY &&
		   PRIO(turn[KEY(y)] - 1) < PRIO(y) ->
			key_yield(KEY(y));
			b = true
		:: else
		fi;
		if
		:: b -> key_give(y)
		:: else
		fi
	:: else
	fi;
	if
	:: b -> st[y] = READY
	:: else -> key_hold(y, false)
	fi
}

/* Somebody has key kk next, if nobody has it. */
inline key_pass(kk)
{
	list_look(kk, NESTED);
	if
	:: turn[kk] == 0 && NO_NESTED ->
		list_look(kk, BACK);
#ifdef MUT_BACK_LAST
		if
		:: first > 0 ->
			p = first;
			list_look(kk, QUEUED);
			first = (first > 0 && !suspended[kk] -> 0 : p)
		:: else
		fi;
#endif
		if
		:: first > 0 ->
			p = first - 1;
			list_leave(p);
			key_give(p);
			key_answer(p)
		:: else ->
			list_look(kk, QUEUED);
			if
			:: first > 0 && !suspended[kk] ->
				p = first - 1;
				list_leave(p);
				key_give(p);
				st[p] = READY;
				/* who comes back is before all that are Held (AG-24) */
				list_look(kk, BACK);
				assert(n == 0)
			:: else
			fi
		fi
	:: else
	fi
}

/* y, which has the key, is READY again: is one that is Held more urgent? */
inline key_review(y)
{
	list_look(KEY(y), QUEUED);
	if
	:: suspended[KEY(y)] || (first > 0 && PRIO(first - 1) > PRIO(y)) ->
		key_yield(KEY(y));
		passes = passes | bit(KEY(y))
	:: else
	fi
}

/* y goes without waiting for those that are nested in it on other threads. */
inline nest_orphan(y)
{
	for (i : 0 .. NREQ - 1) {
		if
		:: at[i] == NESTED && KEY(i) == KEY(y) && outer_of[i] == who[y] + 1 ->
			outer[who[y]]--;
			outer_of[i] = 0
		:: else
		fi
	}
}

inline nest_leave(y)
{
	list_leave(y);
	if
	:: outer_of[y] > 0 -> outer[outer_of[y] - 1]--; outer_of[y] = 0
	:: else
	fi;
#ifndef MUT_NEST_AGAIN
	/* Whoever waits for one that is Held here may have to wait for itself now. */
	for (i : 0 .. NREQ - 1) {
		for (j : 0 .. NW - 1) {
			if
			:: at[i] == QUEUED && KEY(i) == KEY(y) && stuck[j] == S_OWNER &&
			   (awaits[j] & bit(i)) -> looks = looks | bit(j)
			:: else
			fi
		}
	}
#endif
	skip
}

/* y gives its key up, or its place at it. */
inline key_drop(y)
{
	if
	:: MINE(y) && (at[y] == HAS || at[y] == NESTED) ->
		if
		:: at[y] == HAS -> turn[KEY(y)] = 0; at[y] = OUT
		:: else -> nest_leave(y)
		fi;
		nest_orphan(y);
		passes = passes | bit(KEY(y))
	:: MINE(y) && (at[y] == BACK || at[y] == WAITS) ->
		list_leave(y);
		passes = passes | bit(KEY(y))
	:: else
	fi;
	away[y] = false
}

/* --- circles of waits (cycle.c) ----------------------------------------------- */

#define FAR	9

byte way[NREQ];		/* requests on the way to the searcher that are Held; 0 in between */

/*
 * way[]: of those that do not go on before worker w does, how many are Held on the way to
 * it, itself included; a worker that sleeps for a key counts twice. FAR: they go on.
 * all: sleeps that a time ends as well are links.
 */
inline search(w, all)
{
	for (i : 0 .. NREQ - 1) {
		way[i] = (st[i] == WORK && who[i] == (w) -> 0 : FAR)
	}
	for (q : 1 .. NREQ) {
		for (j : 0 .. NREQ - 1) {
			if
			:: st[j] == HELD ->
				key_holder(KEY(j));
				if
				:: c > 0 && way[c - 1] < FAR && way[j] == FAR -> way[j] = way[c - 1] + 1
				:: else
				fi
			:: st[j] == WORK && way[j] == FAR && stuck[who[j]] == S_KEY ->
				key_holder(KEY(top[who[j]] - 1));
				if
				:: c > 0 && way[c - 1] < FAR -> way[j] = way[c - 1] + 2
				:: else
				fi
			:: st[j] == WORK && way[j] == FAR && stuck[who[j]] == S_OWNER &&
			   ((all) || !timed[who[j]]) ->
				for (i : 0 .. NREQ - 1) {
					if
					:: (awaits[who[j]] & bit(i)) && way[i] < way[j] -> way[j] = way[i]
					:: else
					fi
				}
			:: else
			fi
		}
	}
}

/* b: is one of those dead that worker w is about to wait for? */
inline is_dead(set)
{
	b = false;
	for (i : 0 .. NREQ - 1) {
		if
		:: ((set) & bit(i)) && way[i] < FAR -> b = true
		:: else
		fi
	}
}

/*
 * nest: the one that is Held on a way from a request of the set to worker w and is the only
 * one on it, + 1
 */
inline find_nest(w, set)
{
	nest = 0;
	x = 0;
	for (i : 0 .. NREQ - 1) {
		if
		:: ((set) & bit(i)) && way[i] == 1 && x == 0 -> x = i + 1
		:: else
		fi
	}
	/* along the calls */
	for (q : 1 .. NREQ) {
		if
		:: x > 0 && nest == 0 && st[x - 1] == HELD -> nest = x
		:: x > 0 && nest == 0 && st[x - 1] == WORK ->
			a = 0;
			for (i : 0 .. NREQ - 1) {
				if
				:: (awaits[who[x - 1]] & bit(i)) && way[i] == 1 && a == 0 -> a = i + 1
				:: else
				fi
			}
			x = a
		:: else
		fi
	}
#ifdef MUT_NEST_ANY
	for (i : 0 .. NREQ - 1) {
		if
		:: ((set) & bit(i)) && st[i] == HELD -> nest = i + 1
		:: else
		fi
	}
#endif
	if
	:: nest > 0 ->
		key_holder(KEY(nest - 1));
		if
		:: c == 0 || REENTRY(nest - 1) == NONE -> nest = 0
		:: c > 0 && REENTRY(nest - 1) == SELF && who[c - 1] != (w) -> nest = 0
		:: else
		fi
	:: else
	fi
}

/* sum: requests that worker w has, one within the other */
inline depth(w)
{
	sum = 0;
	for (i : 0 .. NREQ - 1) {
		if
		:: st[i] == WORK && who[i] == (w) -> sum++
		:: else
		fi
	}
}

/* Held request y is given to worker w, within the one that has its key. */
inline nest_begin(w, y)
{
	key_holder(KEY(y));
	p = c - 1;
	list_leave(y);
	list_look(KEY(y), NESTED);
	x = n + 1;
	list_enter(y, NESTED, x);
	if
	:: st[p] == WORK && who[p] != (w) -> outer_of[y] = who[p] + 1; outer[who[p]]++
	:: else
	fi;
	st[y] = WORK;
	who[y] = w;
	attempts[y]++;
	from[y] = pc[y];
	called[w] = (y) + 1
}

/* --- moves -------------------------------------------------------------------- */

/* y will never have a turn again. */
inline end_request(y)
{
	st[y] = ENDED;
	pc[y] = 0;
	attempts[y] = 0;
	parked[y] = false;
	cancelled[y] = false;
	latched[y] = false;
	below[y] = 0;
	away[y] = false;
	who[y] = 0;
	from[y] = 0
}

/* Worker w sleeps for requests: would it for ever, and can it help? */
inline rejoin_look(w)
{
	depth(w);
	nest = 0;
	b = false;
	arg = awaits[w];
	/* Of a chain of calls timed ones are links, of a deadlock they are not. */
	for (op : 0 .. 1) {
		if
		:: nest == 0 ->
			search(w, op == 0);
			if
			:: op == 0 && sum <= HELP_DEPTH && called[w] == 0 -> find_nest(w, arg)
			:: op == 1 && !timed[w] -> is_dead(arg)
			:: else
			fi
		:: else
		fi
	}
#ifdef MUT_NO_CYCLE
	b = false;
#endif
	if
	:: nest > 0 ->
		/* RJR_HELP: then it asks once more */
		r = nest - 1;
		nest_begin(w, r);
		stuck[w] = 0;
		awaits[w] = 0;
		timed[w] = false
	:: nest == 0 && b -> deadlocks++; answer(w)
	:: else
	fi
}

inline sleep_for_key(w, y, how)
{
	away[y] = true;
	stuck[w] = how
}

/* The exits that give the key up */
#if defined MUT_KEY_DROP_END
#define DROPS(op)	((op) != END)
#elif defined MUT_KEY_DROP_PARK
#define DROPS(op)	((op) == END)
#else
#define DROPS(op)	true
#endif

/* It has its key, and is not nested. */
#define MAY_ASK(y)	(at[y] == HAS && !away[y])

inline notify(w, y, all)
{
	list_look(KEY(y), WAITS);
	if
	:: n == 0 -> pc[y]++
	:: else ->
		/* Those who are notified come first, then who notifies. */
		sum = (all -> n : 1);
		a = 0;
		do
		:: a < sum ->
			list_look(KEY(y), WAITS);
			p = first - 1;
			list_leave(p);
			a++;
			list_enter(p, BACK, a);
			stuck[who[p]] = (stuck[who[p]] == S_COND -> S_KEY : stuck[who[p]])
		:: else -> break
		od;
		turn[KEY(y)] = 0;
		list_enter(y, BACK, (a + 1));
		sleep_for_key(w, y, S_KEY);
		passes = passes | bit(KEY(y))
	fi
}

/* The next step of what worker w executes */
inline step(w)
{
	r = top[w] - 1;
	op = OP(r, pc[r]) & 15;
	arg = OP(r, pc[r]) >> 4;
	/* After a signal */
	op = (away[r] -> ENTER : op);
	if
	:: op == END || op == PARK || op == AGAIN ->
		top[w] = below[r];
		below[r] = 0;
		if
		:: DROPS(op) -> key_drop(r)
		:: else
		fi;
		if
		:: op == END -> end_request(r)
		:: else ->
			pc[r]++;
			attempts[r] = 0;
			parked[r] = true;
			who[r] = 0;
			from[r] = 0;
			st[r] = WAITING;
			if
			:: op == AGAIN || latched[r] || cancelled[r] ->
				latched[r] = false;
				takes = bit(r)
			:: else
			fi
		fi
	:: op == OP_POST ->
		pc[r]++;
		/* if it is not done once more */
		takes = (st[arg] == NEW -> bit(arg) : 0)
	:: op == OP_CALL || op == OP_CALL_TIMED ->
		stuck[w] = S_OWNER;
		awaits[w] = arg;
		timed[w] = op == OP_CALL_TIMED;
		looks = bit(w)
	:: op == ENTER && at[r] == HAS -> away[r] = false; pc[r]++
	:: op == ENTER && at[r] == OUT ->
		key_is_vacant(KEY(r));
		if
		:: !b && cancelled[r] -> away[r] = false; pc[r]++
		:: else ->
			list_look(KEY(r), BACK);
			x = n + 1;
			list_enter(r, BACK, x);
			sleep_for_key(w, r, S_KEY);
			passes = bit(KEY(r))
		fi
	:: op == ENTER && (at[r] == BACK || at[r] == WAITS) -> sleep_for_key(w, r, S_KEY)
	:: op == LEAVE && MAY_ASK(r) -> key_drop(r); pc[r]++
	:: (op == WAIT || op == WAIT_TIMED) && MAY_ASK(r) && !cancelled[r] ->
		turn[KEY(r)] = 0;
		list_look(KEY(r), WAITS);
		x = n + 1;
		list_enter(r, WAITS, x);
		sleep_for_key(w, r, S_COND);
		timed[w] = op == WAIT_TIMED;
		passes = bit(KEY(r))
	:: (op == NOTIFY || op == NOTIFY_ALL) && MAY_ASK(r) -> notify(w, r, op == NOTIFY_ALL)
	/* -EPERM, -EBUSY, -ECANCELED */
	:: else -> pc[r]++
	fi
}

/* dxk_key_awake_run(): a signal, or the deadline, ends the sleep of worker w. */
inline awake(w, by_signal)
{
	r = top[w] - 1;
	if
	:: at[r] == WAITS ->
		list_leave(r);
		list_enter(r, BACK, 1);
		stuck[w] = S_KEY;
		timed[w] = false;
		passes = bit(KEY(r))
	:: else
	fi;
	/* If the key is free the move is made all the same. */
	list_look(KEY(r), NESTED);
	stuck[w] = ((by_signal) && !(pos[r] == 1 && turn[KEY(r)] == 0 && NO_NESTED) -> 0 : stuck[w])
}

/* A request of a dead worker: again, or it ends. */
inline bequeath(y)
{
	if
	:: REDO(y) && attempts[y] < REDO_MAX ->
		pc[y] = from[y];
		from[y] = 0;
		below[y] = 0;
		n = 0;
#ifndef MUT_REDO_HAS
		/* What is nested in it on another thread goes on: it comes anew. */
		if
		:: MINE(y) -> list_look(KEY(y), NESTED)
		:: else
		fi;
#endif
		if
		:: MINE(y) && at[y] == HAS && n == 0 ->
			away[y] = false;
			st[y] = READY;
			key_review(y)
		:: else ->
			key_drop(y);
			st[y] = WAITING;
			takes = takes | bit(y)
		fi;
		who[y] = 0
	:: else ->
#ifndef MUT_KEY_DROP_DEATH
		key_drop(y);
#endif
		end_request(y)
	fi
}

/* What was given to a worker, and not fetched, is Held again. */
inline nest_undo(y)
{
	attempts[y]--;
	key_drop(y);
	key_hold(y, true);
	from[y] = 0;
	who[y] = 0
}

/* Worker w is gone, and another one has its place. */
inline died(w)
{
	stuck[w] = 0;
	timed[w] = false;
	awaits[w] = 0;
	if
	:: called[w] > 0 -> r = called[w] - 1; called[w] = 0; nest_undo(r)
	:: else
	fi;
	/* dxk_member.busy: the outermost one first */
	do
	:: top[w] > 0 ->
		r = top[w] - 1;
		op = 0;
		do
		:: below[r] > 0 -> op = r + 1; r = below[r] - 1
		:: else -> break
		od;
		if
		:: op > 0 -> below[op - 1] = 0
		:: else -> top[w] = 0
		fi;
		bequeath(r)
	:: else -> break
	od
}

/* dxk_tell() */
inline cancel(y)
{
	if
	:: st[y] == HELD && !BEGUN(y) -> list_leave(y); end_request(y)
	:: st[y] == READY && !BEGUN(y) ->
#ifndef MUT_KEY_DROP_CANCEL
		key_drop(y);
#endif
		end_request(y)
	:: st[y] == WAITING -> cancelled[y] = true; takes = bit(y)
	:: (st[y] == HELD || st[y] == READY) && BEGUN(y) -> cancelled[y] = true
	:: st[y] == WORK ->
		cancelled[y] = true;
		/* dxk_key_give_up() */
		if
		:: at[y] == WAITS || at[y] == BACK ->
			list_leave(y);
			if
			:: stuck[who[y]] >= S_KEY && top[who[y]] == (y) + 1 -> key_answer(y)
			:: else
			fi;
			away[y] = false
		:: else
		fi
	:: else
	fi
}

/* --- what holds whenever the lock is free ------------------------------------- */

/* Ends every lock hold. */
inline unlock()
{
	for (r : 0 .. NREQ - 1) {
		if
		:: takes & bit(r) -> key_take(r)
		:: else
		fi
	}
	for (k : 0 .. NKEY - 1) {
		if
		:: passes & bit(k) -> key_pass(k)
		:: else
		fi
	}
	serve_pollers();
#ifndef MUT_ENTER_AGAIN
	/* The same of one whose worker has come to sleep for its key */
	for (m : 0 .. NW - 1) {
		for (j : 0 .. NW - 1) {
			if
			:: stuck[m] == S_KEY && (awaits[j] & bit(top[m] - 1)) ->
				looks = looks | bit(j)
			:: else
			fi
		}
	}
#endif
	for (m : 0 .. NW - 1) {
		if
		:: (looks & bit(m)) && stuck[m] == S_OWNER && MAY_GO_ON(m) -> rejoin_look(m)
		:: else
		fi
	}
	check()
}

inline check()
{
	for (k : 0 .. NKEY - 1) {
		n = 0;
		sum = 0;
		x = 0;
		b = 0;
		for (i : 0 .. NREQ - 1) {
			if
			:: KEY(i) == k ->
				if
				/* who executes with the key, and does not wait */
				:: (at[i] == HAS || at[i] == NESTED) && st[i] == WORK &&
				   ((top[who[i]] == i + 1 && stuck[who[i]] == 0 && called[who[i]] == 0) ||
				    called[who[i]] == i + 1) -> sum++
				:: else
				fi;
				if
				:: at[i] == HAS ->
					n++;
					assert(turn[k] == i + 1);
					assert(st[i] == READY || st[i] == WORK)
				:: at[i] == NESTED -> x++; assert(st[i] == WORK)
				:: at[i] == QUEUED || at[i] == BACK ->
					assert((at[i] == QUEUED) == (st[i] == HELD));
					b = b || at[i] == BACK || !suspended[k];
					if
					:: at[i] == QUEUED && turn[k] > 0 ->
						assert(st[turn[k] - 1] != READY || PRIO(turn[k] - 1) >= PRIO(i))
					:: else
					fi
				:: else -> assert(st[i] != HELD)
				fi
			:: else
			fi
		}
		/* one has it at most, and what is nested runs while the others wait */
		assert(n == (turn[k] > 0));
		assert(sum <= 1);
		/* nobody stands before a free key */
		assert(!b || n > 0 || x > 0)
	}
	assert(deadlocks <= DEADLOCKS);
	for (i : 0 .. NREQ - 1) {
		way[i] = 0
	}
	a = 0; b = 0; c = 0; i = 0; j = 0; k = 0; l = 0; m = 0; n = 0; p = 0; q = 0; r = 0; x = 0;
	nest = 0; op = 0; arg = 0; first = 0; sum = 0; passes = 0; takes = 0;
	looks = 0
}

#define UNLOCKED	; unlock() } }

/* A choice of what the lock hold is for */
#define LOCKED_FOR(choices) atomic { if choices fi; d_step {

#define TAKES(y)	:: top[me] == 0 && called[me] == 0 && st[y] == READY -> y_ = y
#define POSTS(y)	:: OUTSIDE(y) && st[y] == NEW -> y_ = y
#define NAMED(y)	(st[y] != NEW && st[y] != ENDED)
#define TO_CALL(y) \
	:: (todo & bit(y)) && st[y] != NEW -> todo = todo & ~bit(y); y_ = y
#define TO_CANCEL(y) \
	:: (todo & bit(NREQ + y)) && st[y] != NEW -> todo = todo & ~bit(NREQ + y); y_ = NREQ + y
#define LEFT(y)		(CALLS(y) * bit(y) + CANCELS(y) * bit(NREQ + y))

#if NREQ == 2
#define EACH(what)	what(0) what(1)
#define ALL(what)	(what(0) + what(1))
#elif NREQ == 3
#define EACH(what)	what(0) what(1) what(2)
#define ALL(what)	(what(0) + what(1) + what(2))
#elif NREQ == 4
#define EACH(what)	what(0) what(1) what(2) what(3)
#define ALL(what)	(what(0) + what(1) + what(2) + what(3))
#else
#define EACH(what)	what(0) what(1) what(2) what(3) what(4)
#define ALL(what)	(what(0) + what(1) + what(2) + what(3) + what(4))
#endif

/* --- processes ---------------------------------------------------------------- */

proctype worker(byte me)
{
	byte y_;

end:
	do
	:: LOCKED_FOR(EACH(TAKES))
			st[y_] = WORK;
			who[y_] = me;
			attempts[y_]++;
			from[y_] = pc[y_];
			top[me] = y_ + 1;
			y_ = 0
		UNLOCKED
	:: d_step { called[me] > 0 ->
		below[called[me] - 1] = top[me];
		top[me] = called[me];
		called[me] = 0;
		unlock() }
	:: d_step { top[me] > 0 && called[me] == 0 && stuck[me] == 0 -> step(me); unlock() }
	:: d_step { stuck[me] == S_OWNER && timed[me] && MAY_GO_ON(me) -> answer(me); unlock() }
	:: d_step { stuck[me] == S_COND && timed[me] -> awake(me, false); unlock() }
#if SIGNALS
	:: d_step { stuck[me] >= S_KEY && signals > 0 -> signals--; awake(me, true); unlock() }
#endif
#if DEATHS
	:: d_step { (top[me] > 0 || called[me] > 0) && deaths > 0 -> deaths--; died(me); unlock() }
#endif
	od
}

proctype poster()
{
	byte y_;

end:
	do
	:: LOCKED_FOR(EACH(POSTS)) takes = bit(y_); y_ = 0 UNLOCKED
	od
}

/* Calls and cancels by name, once each */
proctype caller()
{
	byte y_;
	short todo = ALL(LEFT);

end:
	do
	:: LOCKED_FOR(EACH(TO_CALL) EACH(TO_CANCEL))
			if
			:: y_ >= NREQ && NAMED(y_ - NREQ) -> r = y_ - NREQ; cancel(r)
			:: y_ < NREQ && st[y_] == WAITING -> takes = bit(y_)
			:: y_ < NREQ && st[y_] != WAITING && NAMED(y_) -> latched[y_] = true
			:: else
			fi;
			y_ = 0
		UNLOCKED
	od
}

#if SUSPENDS
/* HOLD and RELEASE of key 0 */
proctype holder()
{
end:
	do
	:: d_step { suspends > 0 ->
		suspends--;
		suspended[0] = true;
		if
		:: turn[0] > 0 && st[turn[0] - 1] == READY ->
			key_yield(0);
#ifndef MUT_HOLD_PASS
			/* who comes back has it still */
			passes = 1;
#endif
			skip
		:: else
		fi;
		unlock() };
		d_step {
			suspended[0] = false;
#ifndef MUT_RELEASE_PASS
			passes = 1;
#endif
			unlock()
		}
	od
}
#endif

/* When nothing can happen any more, nothing may be left to do. */
proctype judge()
{
	byte y;

	timeout ->
	d_step {
		for (y : 0 .. NREQ - 1) {
			assert(st[y] == ENDED || (st[y] == NEW && !OUTSIDE(y)))
		}
		for (y : 0 .. NW - 1) {
			assert(top[y] == 0 && called[y] == 0 && stuck[y] == 0 && outer[y] == 0)
		}
		y = 0
	}
}

init
{
	byte w;

	atomic {
		for (w : 0 .. NW - 1) {
			run worker(w)
		}
		w = 0;
		run poster();
		run caller();
#if SUSPENDS
		run holder();
#endif
		run judge()
	}
}
