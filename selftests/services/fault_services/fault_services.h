/* SPDX-License-Identifier: GPL-2.0-only */
/* What the calls of fault_services.c share: a fault, and the calls themselves. */
#ifndef FAULT_SERVICES_H
#define FAULT_SERVICES_H

#include "lib/dxt.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define OWNER	3
#define DATA	64
#define NR_MAX	200	/* faults of one call; far more than any has */
#define FILE_	"/tmp/dxk-fault-test"
#define WRONG	(-EPROTO)

/* What the fixture holds. */
typedef struct {
	struct dxt t;
	int me;			/* a worker, and the command handler */
	unsigned int id;
} services;

/* The call with a fault; *hit: did it happen? */
#define FAULTY(n, hit, call) ({						\
	int _rc;							\
									\
	dxt_fail_nth(n);						\
	_rc = (call);							\
	*(hit) = dxt_fail_hit();					\
	_rc;								\
})

static inline bool is_fault(int rc)
{
	return rc == -EFAULT || rc == -ENOMEM;
}

/* The calls, see their table in fault_services.c. Of command.c: */
int send_plain(services *s, unsigned int n, bool *hit);
int send_set(services *s, unsigned int n, bool *hit);
int send_show(services *s, unsigned int n, bool *hit);
int send_timed(services *s, unsigned int n, bool *hit);
int attach(services *s, unsigned int n, bool *hit);
int detach(services *s, unsigned int n, bool *hit);
int next_gets(services *s, unsigned int n, bool *hit);
int next_answers(services *s, unsigned int n, bool *hit);

/* Of log.c: */
int log_write(services *s, unsigned int n, bool *hit);
int log_read(services *s, unsigned int n, bool *hit);
int log_file_set(services *s, unsigned int n, bool *hit);
int log_file_replace(services *s, unsigned int n, bool *hit);

#endif /* FAULT_SERVICES_H */
