// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The request object: made by a post, moved between lists until it is collected,
 * never copied.
 */
#include "engine/os.h"
#include "engine/request.h"

/** dxk_rqe_alloc_data - dxk_rqe_reserve_data(), when it carries some */
int dxk_rqe_alloc_data(struct dxk_rqe *rqe)
{
	u32 len = max(rqe->data_len, rqe->result_at + rqe->result_room);

	/* Zeroed: an executor that says more than it wrote must leak nothing. */
	rqe->data = kzalloc(len, GFP_KERNEL_ACCOUNT);
	return rqe->data ? 0 : -ENOMEM;
}

/**
 * dxk_rqe_new_data - room for the data that a turn leaves to the next
 * @rqe: BUSY, the caller's
 * @len: of that data, 1 to its result_room
 *
 * One that may have to be run again keeps what it has until the turn has ended.
 * Return: where the data is to be stored, then comes dxk_rqe_set_data(); NULL: no memory.
 */
void *dxk_rqe_new_data(const struct dxk_rqe *rqe, u32 len)
{
	return rqe->attrs & PXR_REDO ? kzalloc(len + rqe->result_room, GFP_KERNEL_ACCOUNT) :
				       rqe->data;
}

/** dxk_rqe_set_data - there is the data that the turn leaves */
void dxk_rqe_set_data(struct dxk_rqe *rqe, void *data, u32 len)
{
	rqe->data_len = len;
	if (data == rqe->data)
		return;
	kfree(rqe->data);
	rqe->data = data;
	rqe->result_at = len;
}
