/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of those who die share. */
#ifndef DEATH_TEST_H
#define DEATH_TEST_H

#include "dxk_test.h"

static inline bool wait_busy(struct dxt *t, struct dxt_gate *gate, unsigned int nr)
{
	return DXT_UNTIL(t, gate->entered == nr);
}

/* Kill and reap; false when it did not die of that. */
static inline bool kill_process(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	status = dxt_reap(pid);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

#endif /* DEATH_TEST_H */
