/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_ABI_IOCTL_H
#define _DXK_ABI_IOCTL_H

#include <linux/fs.h>

extern const struct file_operations dxk_control_fops;

void dxk_ioctl_check_abi(void);

#endif /* _DXK_ABI_IOCTL_H */
