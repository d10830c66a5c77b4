/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The life of a context: Start, Stop, close and the walker, see engine/life.h.
 *
 * Every lock hold is atomic; what lies between two holds is not. A sleep ends when its
 * condition is true; whether somebody is there to make it true is what is checked: the
 * last process runs when nobody else can, and looks at what is left.
 *
 * STARTS	how often the context is started
 * FAIL		any step of a Start may fail
 * DRAIN	somebody stops with drain, and may lose patience
 * CANCEL	somebody else with cancel; he may be held up as long as you like
 * CLOSE	the descriptor is closed, at any time but in a Start
 * NEST		what executes posts once more
 * STUCK	the worker may never come back from a request, or from its last file
 * PIN		something outlives the run
 * POLICY	policies are set meanwhile
 * SWAP		results are collected meanwhile
 */
#ifndef STARTS
#define STARTS	1
#endif
#define STEPS	4		/* pools, log, crew, workers */
#define CREW	3
#define POSTS	2

mtype = { NEW, STARTING, RUNNING, STOPPING, STOPPED };
mtype state = NEW;
byte gen, over, how, shut, back_new = 1, at;
bool failed, want_down, down, closed, buried, cancelling;
byte live, pins, ready, work;
bool stuck;

bool kick, walking;		/* the item is queued; it runs */
bool in_start, in_close;	/* who holds or gives up the descriptor */
byte started;
bool starter_done;
bool crew_wanted, crew_up;
byte stops;			/* stoppers who have not returned */

/* policy: a field for Start only, a dynamic one */
byte set_fixed, set_dyn, fixed, dyn, run_fixed;
bool changed;			/* MUT_STALE_POLICY */

/* the owners' table: a generation of it, and of what its spares came from */
byte table, spares_of, owners_nr;

#define OVER	(over == gen)
#define QUIET	(ready == 0 && work == 0)
#define OUT	(state == STOPPED || state == NEW || (state == STOPPING && QUIET))

inline walk_kick()
{
	kick = true
}

inline run_end(h, d)
{
	if
	:: state != STOPPED -> state = STOPPING
	:: else
	fi;
#ifdef MUT_HOW_FALLS
	how = h;
#else
	if
	:: how < h -> how = h
	:: else
	fi;
#endif
	cancelling = how >= 1;
	want_down = want_down || d;
	walk_kick()
}

/* --- Start ------------------------------------------------------------------- */

active proctype starter()
{
	byte i;
	bool bad;

	do
	:: started < STARTS ->
		atomic {
			if
			:: closed || in_close -> break
			:: else -> in_start = true
			fi
		};
		atomic {
			if
			:: !OVER -> in_start = false; goto again
			:: else
			fi;
			assert(!at && !live && state != RUNNING && state != STARTING);
			started++;
			back_new = state == NEW;
			gen++;
			how = 0; shut = 0;
			failed = false; want_down = false; down = false; cancelling = false;
			fixed = set_fixed; dyn = set_dyn; run_fixed = fixed;
			state = STARTING
		};
		bad = false;
		do
		:: at < STEPS && !bad ->
			if
			:: at == STEPS - 1 ->
				crew_up = false; crew_wanted = true;
				crew_up		/* the Monitor's turn, below */
#ifdef FAIL
				; if
				:: bad = true
				:: true
				fi
#endif
			:: at == 0 ->
#ifdef SWAP
				/* dxk_owners_exchange() */
#ifdef MUT_SWAP_LOCK
				bad = owners_nr == 0;
				if
				:: bad -> table++; spares_of = table
				:: else
				fi;
				bad = false
#else
				atomic {
					if
					:: owners_nr == 0 -> table++; spares_of = table
					:: else
					fi
				}
#endif
#else
				skip
#endif
			:: else ->
#ifdef FAIL
				if
				:: bad = true
				:: true
				fi
#else
				skip
#endif
			fi;
			if
			:: bad
			:: else -> at++
			fi
		:: else -> break
		od;
		atomic {
			if
			:: bad ->
				failed = true;
				shut = 2;
				i = gen;
				run_end(1, true)
			:: else -> state = RUNNING
			fi
		};
		if
		:: bad ->
end_failed:		over >= i
		:: else
		fi;
		in_start = false;
again:
		skip
	:: started >= STARTS -> break
	:: closed -> break
	od;
	starter_done = true
}

/* Thread 500: makes the worker when it is asked, and later if there is none. */
active proctype monitor()
{
end_monitor:
	do
	:: crew_wanted ->
		crew_wanted = false;
		atomic {
			if
#ifdef MUT_JOIN_DOWN
			:: live == 0 ->
#else
			:: live == 0 && !down ->
#endif
				live++;
				run worker()
			:: else
			fi
		};
		crew_up = true
#ifdef MUT_JOIN_DOWN
	:: state == STOPPING && live == 0 && at >= CREW -> crew_wanted = true
#endif
#ifdef POLICY
	:: atomic { state == RUNNING && dyn != set_dyn ->
#ifdef MUT_STALE_POLICY
			fixed = set_fixed;
#endif
			dyn = set_dyn
		}
#endif
	od
}

proctype worker()
{
	bool posted;

end_idle:
	do
	:: atomic { ready > 0 && !cancelling && (state == RUNNING || state == STOPPING) ->
			ready--;
			work++;
			assert(fixed == run_fixed)
		};
#ifdef NEST
		/* inside: also while it drains */
		atomic {
			if
			:: !posted && !cancelling && ready < 2 -> ready++; posted = true
			:: true
			fi
		};
#endif
#ifdef STUCK
		if
		:: stuck = true;
end_stuck:		false
		:: true
		fi;
#endif
		atomic {
			work--;
			if
#ifndef MUT_QUIET_KICK
			:: state == STOPPING && QUIET && want_down -> walk_kick()
#endif
			:: else
			fi
		}
	:: atomic { OUT || down -> skip };
		break
	od;
#ifdef STUCK
	if
	:: stuck = true;
end_file:	false
	:: true
	fi;
#endif
	atomic {
		live--;
#ifndef MUT_LAST_KICK
		if
		:: down && live == 0 -> walk_kick()
		:: else
		fi
#endif
	}
}

/* --- requests from outside ------------------------------------------------------ */

active proctype poster()
{
	byte n;
	bool may;

	do
	:: n < POSTS ->
		n++;
#ifdef MUT_POST_LATE
		may = state == RUNNING;
#endif
		atomic {
#ifndef MUT_POST_LATE
			may = state == RUNNING;
#endif
			if
			:: may && ready < 2 -> ready++
			:: else
			fi
		}
	:: n >= POSTS -> break
	od
}

/* --- Stop ------------------------------------------------------------------------ */

inline halt(h, patient)
{
	stops++;
	atomic {
		g = gen;
		if
		:: state == STARTING || OVER -> g = 0
		:: else -> run_end(h, true)
		fi
	};
	if
	:: g == 0
	:: else ->
end_quiet:	if
		:: OUT || gen != g
		:: !patient -> goto gone
		fi;
#ifdef MUT_STOP_TEARS
		atomic {
			if
			:: state == STOPPING -> how = 1; cancelling = true; ready = 0; down = true
			:: else
			fi
		};
#endif
end_over:	if
		:: over >= g -> assert(over >= g)
		:: !patient
		fi
	fi;
gone:
	stops--
}

#ifdef DRAIN
active proctype drainer()
{
	byte g;

end_wish: atomic { state == RUNNING || starter_done -> skip };
	halt(0, false)
}
#endif

#ifdef CANCEL
active proctype canceller()
{
	byte g;

end_wish: atomic { state == RUNNING || state == STOPPING || starter_done -> skip };
	halt(1, true)
}
#endif

/* --- close -------------------------------------------------------------------------- */

#ifdef CLOSE
bool close_over;

active proctype closer()
{
	/* whoever is in a call has the descriptor */
end_open: atomic { !in_start && stops == 0 -> in_close = true };
	atomic {
		closed = true;
		if
		:: OVER -> state = STOPPED; how = 2; walk_kick()
		:: else -> run_end(2, true)
		fi
	};
#ifdef MUT_CLOSE_WAITS
	live == 0;
#endif
	close_over = true
}
#endif

#ifdef PIN
active proctype pinned()
{
	atomic {
		if
		:: buried -> goto out
		:: else -> pins++
		fi
	};
	atomic {
		pins--;
#ifndef MUT_PIN_KICK
		if
		:: closed -> walk_kick()
		:: else
		fi
#endif
	};
out:
	skip
}
#endif

/* --- others ------------------------------------------------------------------------- */

#ifdef POLICY
active proctype setter()
{
	/* both fields, then the dynamic one */
	atomic {
#ifndef MUT_STALE_POLICY
		if
		:: !OVER -> skip	/* EBUSY */
		:: else -> set_fixed = 1
		fi
#else
		/* the running branch: pending, whatever becomes of the Start */
		if
		:: state == NEW || state == STOPPED -> set_fixed = 1
		:: state == STARTING -> set_fixed = 1; changed = true
		:: else
		fi
#endif
	};
	set_dyn = 1
}
#endif

#ifdef SWAP
active proctype collector()
{
	byte seen;

	/* one owner lives: its record is of the table there is, and goes to its spares */
	atomic { owners_nr++; seen = table };
	atomic { owners_nr--; assert(seen == spares_of) }
}
#endif

/* --- the walker ------------------------------------------------------------------------ */

active proctype walker()
{
	mtype todo;

end_walker:
	do
	:: atomic { kick -> kick = false; assert(!walking); walking = true };
look:
		atomic {
			if
			:: OVER && closed && shut > how && !buried && !live && !pins ->
				buried = true;
				assert(state == STOPPED && !at)
			:: (OVER && closed && shut <= how) ||
			   (!OVER && (state == STOPPING || state == STOPPED) && shut <= how) ->
				shut = how + 1;
				goto shut_now
			:: !OVER && (state == STOPPING || state == STOPPED) && shut > how &&
			   want_down &&
#ifdef MUT_WALK_EARLY
			   true ->
#else
			   (down || how == 2 || QUIET) ->
#endif
				assert(how == 2 || failed || QUIET);
				down = true;
				goto step_down
			:: else
			fi;
#ifdef MUT_LOOK_PARK
		};
		kick = false;
		atomic {
#endif
			walking = false
		};
		goto parked;
shut_now:
		/* sleepers end, what is Ready is cancelled */
		atomic {
			if
			:: cancelling -> ready = 0
			:: else
			fi
		};
		goto look;
step_down:
		if
		:: at == 0 ->
			atomic {
				over = gen;
				state = (failed && !closed && back_new -> NEW : STOPPED)
			}
		:: at == CREW ->
			/* whoever is idle goes, and is reaped when it has gone */
			atomic {
				if
				:: state == STOPPING -> state = STOPPED
				:: else
				fi;
				cancelling = true
			};
			atomic {
				if
				:: live == 0 -> at--
				:: else -> walking = false; goto parked
				fi
			}
		:: else ->
			assert(at < CREW || down);
			assert(at >= CREW || live == 0);
			at--
		fi;
		goto look;
parked:
		skip
	od
}

/* When nobody can go on: is everything over that could be? */
active proctype last()
{
	timeout ->
	assert(starter_done || stuck);
	assert(OVER || state == RUNNING || stuck);
	assert(stops == 0 || stuck);
#ifdef CLOSE
	assert(close_over || (stuck && stops > 0) || (stuck && in_start));
	assert(!closed || buried || stuck);
#endif
	assert(!want_down || OVER || stuck);
	/* idle beside a request, or left over */
	assert(state != RUNNING || ready == 0 || live == 0 || stuck);
	assert(!OVER || live == 0 || stuck)
}
