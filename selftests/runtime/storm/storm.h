/* SPDX-License-Identifier: GPL-2.0-only */
/* What the storm's processes have in common: see ../storm.c. */
#ifndef STORM_H
#define STORM_H

#include "lib/dxt.h"

#define STORM_NAME	"dxk-storm"
#define STORM_THREADS	5

#define STORM_ACTS(X)							\
	X(join) X(leave) X(start) X(stop) X(policy) X(member) X(post)	\
	X(next) X(rejoin) X(sysfs) X(log) X(command)

#define STORM_ENUM(_name)	STORM_##_name,
enum { STORM_ACTS(STORM_ENUM) ACTS };

/* In memory that all processes share. */
struct storm {
	_Atomic bool calm;			/* all are to sleep */
	_Atomic unsigned int asleep;
	struct {
		_Atomic unsigned long made;
		_Atomic unsigned long done;	/* of which answered 0 or more */
		_Atomic int wrong;		/* an answer that it cannot have */
	} act[ACTS];
};

extern const char *const storm_name[ACTS];

/* A process of STORM_THREADS threads; it goes on until it is killed. */
_Noreturn void storm_process(struct storm *s, uint64_t seed);

#endif /* STORM_H */
