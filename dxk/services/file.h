/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_SERVICES_FILE_H
#define _DXK_SERVICES_FILE_H

#include <linux/uidgid.h>

struct file;

/**
 * enum dxk_file_kind - what dxk may do with an open file
 * @DXK_FILE_REFUSED: nothing
 * @DXK_FILE_PASSED: hand it over with a request
 * @DXK_FILE_STORED: this, and open it once more, read and write it from kernel threads
 */
enum dxk_file_kind {
	DXK_FILE_REFUSED,
	DXK_FILE_PASSED,
	DXK_FILE_STORED,
};

enum dxk_file_kind dxk_file_kind(const struct file *file);

/**
 * struct dxk_payer - for whom a file counts that dxk holds
 */
struct dxk_payer {
	/** @uid: the user */
	kuid_t uid;
	/** @limit: how many files may count for it, for this one to be taken */
	unsigned long limit;
};

struct dxk_payer dxk_payer_self(void);
int dxk_file_charge(const struct dxk_payer *payer);
void dxk_file_uncharge(kuid_t uid);
void dxk_file_exit(void);

#endif /* _DXK_SERVICES_FILE_H */
