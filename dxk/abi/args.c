// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arrays of the caller's: elements of a size that may differ from ours.
 */
#include "abi/args.h"

int dxk_array_get_other(void *elem, size_t size, u64 array, u32 usize, u32 i)
{
	return copy_struct_from_user(elem, size, dxk_array_at(array, usize, i), usize);
}

int dxk_array_put_other(const void *elem, size_t size, u64 array, u32 usize, u32 i)
{
	void __user *to = dxk_array_at(array, usize, i);

	if (copy_to_user(to, elem, min_t(size_t, size, usize)))
		return -EFAULT;
	if (usize > size && clear_user(to + size, usize - size))
		return -EFAULT;
	return 0;
}
