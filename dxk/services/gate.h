/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The gate that is shut while the system is suspended: no file may change any more once a
 * hibernation image was taken. An item that comes to it returns, and is called again; a
 * kernel worker waits. Who were frozen instead would, where he hangs in a file system, keep
 * the system awake.
 */
#ifndef _DXK_SERVICES_GATE_H
#define _DXK_SERVICES_GATE_H

#include <linux/list.h>
#include <linux/types.h>

struct file;

/**
 * struct dxk_gate - how somebody comes to the gate
 */
struct dxk_gate {
	/** @link: in the list of those who are called when it opens; or empty */
	struct list_head link;
	/** @open: calls; in a spinlock. NULL: who comes waits itself */
	void (*open)(struct dxk_gate *gate);
	/** @local: inside: the file is on a disk of this machine */
	bool local;
};

void dxk_gate_prepare(struct dxk_gate *gate, void (*open)(struct dxk_gate *gate));
bool dxk_gate_enter(struct dxk_gate *gate, const struct file *file);
void dxk_gate_leave(struct dxk_gate *gate);

int dxk_gate_close(void);
void dxk_gate_open(void);
int dxk_gate_init(void);
void dxk_gate_exit(void);

#endif /* _DXK_SERVICES_GATE_H */
