/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Human-readable names for objects that requests identify by numbers: executors, owners. They
 * are for display only, so it is enough to keep the newest ones: labels need not be removed, and
 * none is refused.
 */
#ifndef _DXK_SERVICES_LABEL_H
#define _DXK_SERVICES_LABEL_H

#include <linux/spinlock.h>
#include <linux/types.h>

#include "uapi/dxk.h"

/* Room for " label " and a label. */
#define DXK_LABEL_TEXT	(7 + DXK_NAME_LEN)

/**
 * struct dxk_labels - the labels of a context
 */
struct dxk_labels {
	/** @lock: innermost; protects all fields here */
	spinlock_t lock;
	/** @given: labels given so far, not counting objects labelled again */
	u32 given;
	/** @of: the newest labels, in a ring */
	struct {
		/** @of.object: the labelled object */
		u64 object;
		/** @of.space: the space in which @of.object identifies it */
		u32 space;
		/** @of.name: the label; empty: the object no longer has one */
		char name[DXK_NAME_LEN];
	} of[DXK_LABELS];
};

void dxk_labels_init(struct dxk_labels *labels);
void dxk_label_give(struct dxk_labels *labels, u32 space, u64 object, const char *name);
const char *dxk_label_find(struct dxk_labels *labels, u32 space, u64 object, char *name);
const char *dxk_label_text(struct dxk_labels *labels, u32 space, u64 executor, u32 attrs,
			   char *text);
int dxk_labels_show(struct dxk_labels *labels, char *buf);

#endif /* _DXK_SERVICES_LABEL_H */
