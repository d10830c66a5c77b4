/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of foms share: foms that do what the test says, and note it; a domain and a
 * service; what has to be a trap.
 */
#ifndef DXT_LIBFOM_H
#define DXT_LIBFOM_H

#include "library/libwait.h"

#include <dx_fom.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Phases of the tests' type */
enum { ONE = 2, TWO, THREE, FAILED, PHASES };

#define ANY	(FOM_PHASE(PHASES) - 1)

static const struct fom_phase phases[PHASES] = {
	[FOM_PHASE_INIT] = { "init", ANY, 0, 0 },
	[FOM_PHASE_FINISH] = { "finish", 0, 0, 0 },
	[ONE] = { "one", ANY, 0, 0 },
	[TWO] = { "two", FOM_PHASE(THREE) | FOM_PHASE(FAILED) | FOM_PHASE(FOM_PHASE_FINISH), 0, 0 },
	[THREE] = { "three", ANY, 0, 0 },
	[FAILED] = { "failed", FOM_PHASE(FOM_PHASE_FINISH), FOM_PHASE_FAILURE, 0 },
};

/* What was done, one character for each. */
static struct trace {
	_Atomic unsigned int places;
	_Atomic unsigned int nr;	/* that are in the text: who sees it may read them */
	char text[4096];
} trace;

static inline void note(char what)
{
	unsigned int i = atomic_fetch_add(&trace.places, 1);

	if (i < sizeof(trace.text) - 1)
		trace.text[i] = what;
	trace.nr++;
}

static inline void trace_clear(void)
{
	memset(trace.text, 0, sizeof(trace.text));
	trace.places = 0;
	trace.nr = 0;
}

/* A fom that ends with its first tick, if the test says nothing else. */
struct test_fom {
	struct fom fom;
	int (*does)(struct test_fom *t);
	size_t home;
	char name;
	_Atomic bool stops;		/* it is to end */
	_Atomic bool closed;		/* its tick stays */
	_Atomic unsigned int ticks, finis, inside, wrong, hung, entered;
	_Atomic unsigned int wakes, left;
	_Atomic pid_t thread;
	_Atomic int rc;
	uint64_t at;
	struct test_fom *other;
	struct fom_timeout timeout;
	int fd;
};

#define MOST_LOCALITIES	16

/* Ticks and bottom halves that execute in a locality; one at a time is all there may be. */
static _Atomic unsigned int in_locality[MOST_LOCALITIES], crowded;
static bool by_the_fom;			/* only the fom is serial by itself */

static inline void enters(struct test_fom *t)
{
	unsigned int l = fom_locality(&t->fom);

	if (atomic_fetch_add(&t->inside, 1) || fom_current() != &t->fom ||
	    fom_state(&t->fom) != FOM_RUNNING)
		t->wrong++;
	if (atomic_fetch_add(&in_locality[l], 1) && !by_the_fom)
		crowded++;
}

static inline void leaves(struct test_fom *t)
{
	in_locality[fom_locality(&t->fom)]--;
	t->inside--;
}

static inline int ends(struct test_fom *t)
{
	fom_phase_set(&t->fom, FOM_PHASE_FINISH);
	return FSO_WAIT;
}

static inline int test_tick(struct fom *fom)
{
	struct test_fom *t = (struct test_fom *)fom;
	int rc;

	enters(t);
	t->thread = gettid();
	t->ticks++;
	rc = t->does ? t->does(t) : ends(t);
	leaves(t);
	return rc;
}

static inline void test_fini(struct fom *fom)
{
	struct test_fom *t = (struct test_fom *)fom;

	if (fom_state(fom) != FOM_FINISHED || fom_phase(fom) != FOM_PHASE_FINISH)
		t->wrong++;
	t->rc = fom_rc(fom);
	fom_fini(fom);
	t->finis++;
}

static _Atomic unsigned int homes_asked;

static inline size_t test_home(const struct fom *fom)
{
	homes_asked++;
	return ((const struct test_fom *)fom)->home;
}

static inline void test_hung(struct fom *fom)
{
	((struct test_fom *)fom)->hung++;
}

static const struct fom_ops test_ops = { test_tick, test_fini, test_home, test_hung };

static struct fom_type test_type = {
	.name = "test", .ops = &test_ops, .phases = phases, .nr_phases = PHASES,
	.failure = FAILED,
};

/* --- a place ---------------------------------------------------------------------- */

struct place {
	struct dxt t;
	MTExecutive *mte;
	struct fom_domain *d;
	struct fom_service s;
};

static inline struct fom_domain_options options_of(unsigned int localities)
{
	return (struct fom_domain_options){ .localities = localities, .hung_age_ns = -1 };
}

static inline int place_up_with(struct place *p, const ThreadManagerPolicy *policy,
			 const struct fom_domain_options *options)
{
	int rc;

	p->mte = executive(policy, &p->t);
	if (!p->mte)
		return -1;
	trace_clear();
	crowded = 0;
	by_the_fom = options->handlers > 1;
	rc = fom_domain_init(&p->d, p->mte, options);
	if (rc)
		return rc;
	fom_service_init(&p->s, p->d, "test", NULL);
	return fom_service_start(&p->s);
}

static inline ThreadManagerPolicy fom_policy_of(unsigned int threads, unsigned int foms)
{
	ThreadManagerPolicy policy = policy_of(DXK_ON_BLOCK_SPARE, threads);

	fom_policy(&policy, threads, foms);
	return policy;
}

static inline int place_up(struct place *p, unsigned int threads, unsigned int localities)
{
	ThreadManagerPolicy policy = fom_policy_of(threads, 20000);
	struct fom_domain_options options = options_of(localities);

	return place_up_with(p, &policy, &options);
}

/* Nothing is left. */
static inline int place_down(struct place *p)
{
	int bad = fom_service_stop(&p->s);

	fom_service_fini(&p->s);
	bad |= fom_domain_fini(p->d);
	bad |= !DXT_SOON(!dxt_num(&p->t, "pools/wait_use"));
	bad |= crowded;
	MTExecutiveDestroy(p->mte, DXK_STOP_CANCEL, -1);
	return bad;
}

static inline void make(struct place *p, struct test_fom *t, int (*does)(struct test_fom *t))
{
	*t = (struct test_fom){ .does = does, .fd = -1 };
	fom_init(&t->fom, &test_type, &p->s);
}

static inline int begins(struct place *p, struct test_fom *t, int (*does)(struct test_fom *t))
{
	make(p, t, does);
	return fom_queue(&t->fom);
}

#define WAITS(t)	DXT_SOON(fom_state(&(t)->fom) == FOM_WAITING)
#define ENDS(t)		DXT_SOON((t)->finis == 1)

/* What several tests have foms do. */

/* Waits until it is to end. */
static inline int waits(struct test_fom *t)
{
	if (t->stops)
		return ends(t);
	if (fom_phase(&t->fom) == FOM_PHASE_INIT)
		fom_phase_set(&t->fom, ONE);
	return FSO_WAIT;
}

static inline int goes(struct test_fom *t)
{
	t->stops = true;
	return fom_wakeup(&t->fom);
}

/* Stays in its tick until it is let go, then ends. */
static inline int stays(struct test_fom *t)
{
	t->entered++;
	while (t->closed)
		usleep(100);
	return ends(t);
}

/* Notes its name at each tick, and waits. */
static inline int notes(struct test_fom *t)
{
	if (t->stops)
		return ends(t);
	note(t->name);
	return FSO_WAIT;
}

/* --- traps ------------------------------------------------------------------------- */

/* A child that does what is a trap ends by abort(3). */
#define TRAPS(does) ({							\
	pid_t _pid = dxt_fork();					\
	int _status;							\
									\
	if (!_pid) {							\
		int _null = open("/dev/null", O_WRONLY);		\
									\
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });		\
		dup2(_null, 2);						\
		does;							\
		_exit(0);						\
	}								\
	_status = dxt_reap(_pid);					\
	WIFSIGNALED(_status) && WTERMSIG(_status) == SIGABRT;		\
})

/* The same in a turn of a fom, in the child's own executive. */
static inline void trap_in_turn(int (*does)(struct test_fom *t))
{
	static struct test_fom t;
	static struct place p;

	if (place_up(&p, 1, 1) || begins(&p, &t, does))
		_exit(1);
	DXT_SOON(t.finis);
	_exit(2);
}

#endif /* DXT_LIBFOM_H */
