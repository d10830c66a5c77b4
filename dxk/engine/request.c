// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The request object: made by a post, moved between lists until it is collected,
 * never copied.
 */
#include "engine/os.h"
#include "engine/request.h"

/** dxk_rqe_alloc_data - dxk_rqe_reserve_data(), for a request that carries data */
int dxk_rqe_alloc_data(struct dxk_rqe *rqe)
{
	u32 len = max(rqe->data_len, rqe->result_at + rqe->result_room);

	/* Zeroed: an executor that reports more than it wrote must not leak memory contents. */
	rqe->data = kzalloc(len, GFP_KERNEL_ACCOUNT);
	return rqe->data ? 0 : -ENOMEM;
}
