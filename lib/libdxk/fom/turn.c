// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A turn of a fom: it is ticked until it waits, or has had its budget. Also what other threads do
 * to begin a turn.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/stat.h>

#include "internal.h"

/* How long a fom that was asked to end may wait at a time, to clean up */
#define CLEANUP_NS	(10LL * 1000000000)

struct fom *fom_current(void)
{
	return dxf_here.fom;
}

/* --- wake-ups ----------------------------------------------------------------------------- */

/**
 * dxf_set - there is something for a fom to look at
 * @f: which; if no lock keeps it, it may end as soon as it has seen the bit
 * @what: DXF_* bits
 *
 * Return: whether the caller is to call it.
 */
bool dxf_set(struct fom *f, uint32_t what)
{
	struct dxf_locality *l = dxf_locality(f);
	uint32_t old = dxf_load(&f->word), new;
	uint64_t since = 0, now = 0;
	bool waits;

	dxk_giving_back(f);
	do {
		new = old | what;
		waits = (old & DXF_STATE) == FOM_WAITING;
		if (waits) {
			new = (new & ~DXF_STATE) | FOM_READY;
			since = dxf_peek(&f->since);
			now = dxf_clock(l->domain);
			dxf_poke(&f->since, now);
			dxf_poke(&f->steady, now);
		}
		/* Also if nothing changes: what was written before is seen by the tick. */
	} while (!__atomic_compare_exchange_n(&f->word, &old, new, false, __ATOMIC_SEQ_CST,
					      __ATOMIC_SEQ_CST));
	if (waits)
		dxf_moved(l, FOM_WAITING, FOM_READY, now - since);
	return waits;
}

/**
 * dxf_call - call a fom that was found waiting
 *
 * Return: 0, or the error if the caller cannot.
 */
int dxf_call(MTExecutive *mte, uint64_t name)
{
	int rc = WakeRequestOf(mte, (void *)(uintptr_t)name);

	/* The executive's Stop came first. */
	return rc == -ENOENT ? 0 : rc;
}

/**
 * dxf_woken - a fom was to be woken by a function that cannot report whether it could
 * @rc: of the wake-up. Traps if the caller lacked the means: the fom would wait without end. Other
 *	errors are of a Stop, which ends the wait
 */
void dxf_woken(int rc)
{
	if (rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM)
		dxf_trap(NULL, "who wakes cannot become a member of the executive");
}

int fom_wakeup(struct fom *fom)
{
	MTExecutive *mte = dxf_domain(fom)->mte;
	const uint64_t name = fom->name;
	int rc;

	if (dxf_state(fom) == FOM_FINISHED)
		return -ESRCH;
	/* The thread that has found it waiting must call it, and so must be able to. */
	rc = MTExecutiveThreadId(mte);
	if (rc < 0)
		return rc;
	return dxf_set(fom, DXF_WOKEN) ? dxf_call(mte, name) : 0;
}

int fom_wait_fd(struct fom *fom, int fd, uint32_t events)
{
	struct stat st;

	dxf_own(fom, "its waits are its own");
	/* A wait that the module refuses at the end of the turn would end the request. */
	if (fstat(fd, &st))
		return -errno;
	if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode))
		return -EPERM;
	if (events & ~(uint32_t)DXK_WAIT_EVENTS)
		return -EINVAL;
	fom->fd = fd;
	fom->wait_events = events;
	return FSO_WAIT;
}

/* --- the word --------------------------------------------------------------------------- */

/* The state of a fom changes, but not its @steady time. Return: see dxf_since() */
static uint64_t since(struct fom *f)
{
	uint64_t now = dxf_clock(dxf_domain(f)), was = dxf_peek(&f->since);

	dxf_poke(&f->since, now);
	return now - was;
}

/** dxf_since - the state of a fom changes. Return: how long it was in the one before. */
uint64_t dxf_since(struct fom *f)
{
	uint64_t ns = since(f);

	dxf_poke(&f->steady, dxf_peek(&f->since));
	return ns;
}

/* Its turn begins, perhaps just @again. */
static void begin(struct fom *f, bool again)
{
	uint32_t old = dxf_load(&f->word);
	uint64_t ns = again ? since(f) : dxf_since(f);

	while (!__atomic_compare_exchange_n(&f->word, &old, (old & ~DXF_STATE) | FOM_RUNNING, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
	dxk_gave_last(f);
	dxf_measure(dxf_locality(f));
	dxf_moved(dxf_locality(f), old & DXF_STATE, FOM_RUNNING, ns);
}

/* Return: whether it was woken. Clears the wake-up. */
static bool take_wakeup(struct fom *f)
{
	if (!(dxf_peek(&f->word) & DXF_WOKEN))
		return false;
	__atomic_and_fetch(&f->word, ~DXF_WOKEN, __ATOMIC_SEQ_CST);
	dxk_gave_last(f);
	return true;
}

/* From now on other threads call it, unless there is something to look at. */
static bool parks(struct fom *f)
{
	uint32_t old = dxf_load(&f->word);
	uint64_t ns;

	if (old != FOM_RUNNING)
		return false;
	ns = dxf_since(f);
	if (!__atomic_compare_exchange_n(&f->word, &old, FOM_WAITING, false, __ATOMIC_SEQ_CST,
					 __ATOMIC_SEQ_CST))
		return false;
	dxf_moved(dxf_locality(f), FOM_RUNNING, FOM_WAITING, ns);
	return true;
}

/* --- how turns end ----------------------------------------------------------------------- */

/* Its budget is used up: other foms of its locality come first. */
static int again(struct fom *f)
{
	static const RQWait wait = { .Sources = DXK_WAIT_AGAIN };

	dxf_moved(dxf_locality(f), FOM_RUNNING, FOM_READY, since(f));
	/* Nobody else changes the state of a fom that has its turn. */
	__atomic_xor_fetch(&f->word, FOM_RUNNING ^ FOM_READY, __ATOMIC_SEQ_CST);
	return WaitRequest(&wait);
}

/* Until when it may wait: the time-out in effect when the wait begins. */
static uint64_t expires(struct fom *f)
{
	int64_t ns = dxf_peek(&f->timeout_ns);

	if (f->expires)
		return f->expires;
	if (!ns)
		ns = dxf_peek(&f->type->timeout_ns);
	if (f->cancelled && (ns <= 0 || ns > CLEANUP_NS))
		ns = CLEANUP_NS;
	f->expires = ns > 0 ? dxf_now() + (uint64_t)ns : FOM_FOREVER;
	return f->expires;
}

/* Ends the turn with a wait for a call, and for whatever else is set. */
static int waits(struct fom *f)
{
	RQWait wait = { .Sources = DXK_WAIT_CALL };
	uint64_t deadline = expires(f);

	if (f->timeouts && f->timeouts->deadline < deadline)
		deadline = f->timeouts->deadline;
	if (f->cancelled)
		wait.Sources |= DXK_WAIT_MASKED;
	if (deadline != FOM_FOREVER) {
		wait.Sources |= DXK_WAIT_TIME;
		/* 0 means none */
		wait.Deadline = deadline ? deadline : 1;
	}
	if (f->fd >= 0) {
		wait.Sources |= DXK_WAIT_FILE;
		wait.Fd = f->fd;
		wait.Events = f->wait_events;
	}
	return WaitRequest(&wait);
}

/* The same for a fom that waits and has more call-backs: its wait continues with its next turn. */
static int goes_on(struct fom *f)
{
	dxf_moved(dxf_locality(f), FOM_RUNNING, FOM_READY, since(f));
	__atomic_xor_fetch(&f->word, FOM_RUNNING ^ FOM_READY, __ATOMIC_SEQ_CST);
	dxf_woken(dxf_call(dxf_domain(f)->mte, f->name));
	return waits(f);
}

/** dxf_finish - the end of a fom, which is in FOM_PHASE_FINISH */
void dxf_finish(struct fom *f)
{
	struct fom_domain *d = dxf_domain(f);

	dxf_serf_ends(f);
	dxf_table_remove(f);
	dxf_moved(dxf_locality(f), dxf_state(f), FOM_FINISHED, dxf_since(f));
	dxf_store(&f->word, FOM_FINISHED);
	f->type->ops->fini(f);
	__atomic_sub_fetch(&d->live, 1, __ATOMIC_SEQ_CST);
}

/** dxf_disarm - disarm all that a fom has armed, release its locks, and leave its serfs */
void dxf_disarm(struct fom *f)
{
	dxf_timeouts_drop(f);
	dxf_callbacks_drop(f);
	dxf_locks_drop(f);
	dxf_serfs_drop(f);
}

/** dxf_die - end a fom, whatever it does */
void dxf_die(struct fom *f, int rc)
{
	struct fom *outer = dxf_here.fom;

	/* It has no turn except that of the caller, if any: this counts as one. */
	dxf_here.fom = f;
	dxf_store(&f->rc, rc);
	dxf_disarm(f);
	dxf_phase(f, FOM_PHASE_FINISH);
	dxf_finish(f);
	dxf_here.fom = outer;
}

/* The tick, or a bottom half, has ended the thread. */
static void died(void *fom)
{
	dxf_die(fom, -EOWNERDEAD);
	dxf_here.fom = NULL;
}

/* --- the turn ----------------------------------------------------------------------------- */

/* Return: enum fom_outcome. */
static int tick(struct fom *f)
{
	int rc;

	f->fd = -1;
	f->expires = 0;
	if (dxf_locality(f)->stats)
		__atomic_fetch_add(&dxf_locality(f)->stats->ticks, 1, __ATOMIC_RELAXED);
	rc = dxf_tick(f);
	if (f->blocked)
		dxf_trap(f, "a tick returns between block markers");
	if (rc < 0) {
		dxf_fail(f, rc);
		return f->failed ? FSO_WAIT : FSO_AGAIN;
	}
	if (rc != FSO_WAIT && rc != FSO_AGAIN)
		dxf_trap(f, "a tick returns FSO_WAIT, FSO_AGAIN or a negative errno");
	if (rc == FSO_AGAIN && f->phase == FOM_PHASE_FINISH)
		dxf_trap(f, "it has ended, and is to be ticked");
	return rc;
}

/* It was asked to end. */
static void cancelled(struct fom *f)
{
	if (f->cancelled)
		return;
	f->cancelled = true;
	f->reason = FOM_WOKEN_CANCELLED;
	dxf_fail(f, -ECANCELED);
}

/*
 * Determines why it has its turn. A file's event counts before a wake-up, which is used up then; a
 * wake-up counts before a time.
 * Return: whether it is to be ticked.
 */
static bool begins(struct fom *f, const RQElement *me)
{
	begin(f, me->RQEWake == DXK_WAKE_AGAIN);
	switch (me->RQEWake) {
	case DXK_WAKE_NONE:
	case DXK_WAKE_AGAIN:
		return true;
	case DXK_WAKE_FILE:
		take_wakeup(f);
		f->reason = FOM_WOKEN_FILE;
		f->events = me->RQEEvents;
		return true;
	case DXK_WAKE_CALL:
	case DXK_WAKE_TIME:
		/* It may have been posted waiting. */
		if (!me->RQETurn)
			return true;
		if (!take_wakeup(f))
			return false;
		f->reason = FOM_WOKEN;
		return true;
	}
	cancelled(f);
	return true;
}

/*
 * It waits. @timed: a time has come. @budget: see dxf_bottoms().
 * Return: whether its wait is over.
 */
static bool is_over(struct fom *f, bool timed, uint32_t *budget)
{
	bool timeout = timed && dxf_timeouts_due(f);

	if (!timeout && dxf_peek(&f->word) & DXF_BOTTOMS)
		dxf_bottoms(f, budget);
	if (f->phase == FOM_PHASE_FINISH)
		dxf_trap(f, "a bottom half ends it");
	if (f->blocked)
		dxf_trap(f, "a bottom half returns between block markers");
	if (take_wakeup(f) || timeout)
		f->reason = timeout ? FOM_WOKEN_TIMEOUT : FOM_WOKEN;
	else if (!timed || dxf_now() < expires(f))
		return false;
	else if (f->cancelled)
		f->reason = FOM_WOKEN_CANCELLED;
	else {
		f->reason = FOM_WOKEN_EXPIRED;
		dxf_fail(f, -ETIMEDOUT);
	}
	return true;
}

/* Return: what the turn returns. */
static int run(struct fom *f, const RQElement *me)
{
	uint32_t budget = dxf_domain(f)->options.again_budget;
	bool ticks = begins(f, me), timed = !ticks && me->RQEWake == DXK_WAKE_TIME;

	while (f->phase != FOM_PHASE_FINISH) {
		if (ticks) {
			ticks = tick(f) == FSO_AGAIN;
			if (budget != FOM_AGAIN_INLINE)
				budget--;
		} else if (is_over(f, timed, &budget)) {
			ticks = true;
		} else if (!budget && dxf_peek(&f->word) & DXF_BOTTOMS) {
			return goes_on(f);
		} else if (parks(f)) {
			return waits(f);
		}
		timed = false;
		if (ticks && !budget && f->phase != FOM_PHASE_FINISH)
			return again(f);
	}
	if (f->failed)
		dxf_disarm(f);
	dxf_finish(f);
	return 0;
}

int dxf_turn(Runnable *self, void *request)
{
	struct dxf_place outer = dxf_here;
	struct fom *f = request;
	int rc;

	(void)self;
	dxf_here = (struct dxf_place){ dxf_domain(f), f->locality, f };
	pthread_cleanup_push(died, f);
	rc = run(f, CurrentRequest());
	pthread_cleanup_pop(0);
	dxf_here = outer;
	return rc;
}
