// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Block markers: between them a fom has its turn, but not its locality's key.
 */
#define _GNU_SOURCE
#include <errno.h>

#include "internal.h"

/* How long a spare thread may take to start */
#define SPARE_NS	(2LL * 1000000000)

static int enter(struct fom *f, unsigned int flags, int64_t timeout_ns)
{
	int rc;

	if (fom_current() != f)
		return -EPERM;
	rc = EnterBlock(flags, timeout_ns);
	if (rc)
		return rc;
	dxf_store(&f->blocked, true);
	dxf_moved(dxf_locality(f), FOM_RUNNING, FOM_RUNNING, dxf_since(f));
	dxf_here.domain = NULL;
	return 0;
}

int fom_block_enter(struct fom *fom)
{
	return enter(fom, 0, SPARE_NS);
}

int fom_block_enter_anyway(struct fom *fom)
{
	return enter(fom, DXK_KEY_FORCE, 0);
}

int fom_block_leave(struct fom *fom)
{
	int rc;

	if (fom_current() != fom || !fom->blocked)
		return -EPERM;
	rc = LeaveBlock();
	dxf_store(&fom->blocked, false);
	dxf_moved(dxf_locality(fom), FOM_RUNNING, FOM_RUNNING, dxf_since(fom));
	if (!rc)
		dxf_here.domain = dxf_domain(fom);
	return rc;
}
