/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The gate that is shut while the system is suspended: no file may change once a hibernation
 * image has been taken. An item that reaches a shut gate returns and is called again; a kernel
 * worker waits. An asynchronous read is inside until its completion. Freezing these threads
 * instead would keep the system awake whenever one of them hangs in a file system.
 */
#ifndef _DXK_SERVICES_GATE_H
#define _DXK_SERVICES_GATE_H

#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/types.h>

struct file;

/* How long a suspend waits for users inside the gate; it waits as long for tasks to freeze. */
#define DXK_GATE_TIME	(20 * HZ)

/**
 * struct dxk_gate - one user's passage through the gate
 */
struct dxk_gate {
	/** @link: in the list of users called when the gate opens; or empty */
	struct list_head link;
	/**
	 * @open: called when the gate opens, under a spinlock, interrupts off. NULL: the user
	 * waits itself
	 */
	void (*open)(struct dxk_gate *gate);
	/** @local: while inside: the file is on a disk of this machine */
	bool local;
};

void dxk_gate_prepare(struct dxk_gate *gate, void (*open)(struct dxk_gate *gate));
bool dxk_gate_enter(struct dxk_gate *gate, const struct file *file);
void dxk_gate_leave(struct dxk_gate *gate);

int dxk_gate_close(unsigned long timeout);
void dxk_gate_open(void);
int dxk_gate_init(void);
void dxk_gate_exit(void);

#endif /* _DXK_SERVICES_GATE_H */
