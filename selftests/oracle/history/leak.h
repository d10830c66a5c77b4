/* SPDX-License-Identifier: GPL-2.0-only */
/* What contexts and processes that are gone may have left behind. */
#ifndef HISTORY_LEAK_H
#define HISTORY_LEAK_H

#include "lib/dxt.h"

/* What is in use while there is no context. */
struct leak {
	long long slabs;	/* objects; -1: the kernel does not say */
	long long refs;		/* of the module */
	int files;		/* of this process */
};

void leak_begin(struct leak *l);
/* What is in use now that was not then, after @rounds; NULL: nothing. */
const char *leak_found(const struct leak *l, unsigned int rounds);

/* Contexts that exist. */
int leak_contexts(void);
/* Members of the context that are clients, but for its first. */
int leak_clients(const struct dxt *t);
/* Is the other end of the pipe in nobody's hands any more? */
bool leak_pipe_is_closed(int fd);

#endif /* HISTORY_LEAK_H */
