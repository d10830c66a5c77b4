/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_SERVICES_FILE_H
#define _DXK_SERVICES_FILE_H

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

#endif /* _DXK_SERVICES_FILE_H */
