/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_SERVICES_FILE_H
#define _DXK_SERVICES_FILE_H

#include <linux/uidgid.h>

struct file;

/**
 * enum dxk_file_kind - permitted uses of an open file
 * @DXK_FILE_REFUSED: none
 * @DXK_FILE_PASSED: hand it over with a request
 * @DXK_FILE_STORED: the same, and reopen, read and write it from kernel threads
 */
enum dxk_file_kind {
	DXK_FILE_REFUSED,
	DXK_FILE_PASSED,
	DXK_FILE_STORED,
};

enum dxk_file_kind dxk_file_kind(const struct file *file);

/**
 * struct dxk_payer - the user to whom a file held by dxk is charged
 */
struct dxk_payer {
	/** @uid: the user */
	kuid_t uid;
	/** @limit: most files that may be charged to the user when this one is taken */
	unsigned long limit;
};

struct dxk_payer dxk_payer_self(void);
int dxk_file_charge(const struct dxk_payer *payer);
void dxk_file_uncharge(kuid_t uid);
void dxk_file_exit(void);

#endif /* _DXK_SERVICES_FILE_H */
