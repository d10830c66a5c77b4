// SPDX-License-Identifier: GPL-2.0-only
/*
 * The Handle Table.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "handle.h"

int dxk_handles_alloc(struct dxk_handles *handles, u32 size)
{
	handles->size = size;
	handles->use = 0;
	handles->entry = NULL;
	if (!size)
		return 0;
	handles->entry = kvcalloc(size, sizeof(*handles->entry), GFP_KERNEL_ACCOUNT);
	return handles->entry ? 0 : -ENOMEM;
}

void dxk_handles_free(struct dxk_handles *handles)
{
	kvfree(handles->entry);
	handles->entry = NULL;
	handles->size = 0;
}
