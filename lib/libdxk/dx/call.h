/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A request that is posted and waited for, for what is built on <dx.h>.
 */
#ifndef _DX_CALL_H
#define _DX_CALL_H

#include "dx.h"

int dx_call(MTExecutive *mte, const RQPost *post, const RQOptions *options,
	    RQElement *element, int *answer);

#endif /* _DX_CALL_H */
