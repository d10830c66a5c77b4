/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Posts for the APIs on top of <dx.h>: with the wait for the result, or beside a full Ready Pool.
 */
#ifndef _DX_CALL_H
#define _DX_CALL_H

#include "dx.h"

int dx_call(MTExecutive *mte, const RQPost *post, const RQOptions *options,
	    RQElement *element, int *answer);
int dx_post_beside(MTExecutive *mte, const RQPost *post, RQOptions *options);

#endif /* _DX_CALL_H */
