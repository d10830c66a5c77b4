/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names by which people know what requests name by numbers: executors, owners. They are for
 * display alone, so the newest ones do: nobody has to take one away, and none is refused.
 */
#ifndef _DXK_SERVICES_LABEL_H
#define _DXK_SERVICES_LABEL_H

#include <linux/spinlock.h>
#include <linux/types.h>

#include "uapi/dxk.h"

/* Room for " label " and one. */
#define DXK_LABEL_TEXT	(7 + DXK_NAME_LEN)

/**
 * struct dxk_labels - those of a context
 */
struct dxk_labels {
	/** @lock: innermost; of all here */
	spinlock_t lock;
	/** @given: so many so far, beside those given anew */
	u32 given;
	/** @of: the newest ones, in a ring */
	struct {
		/** @of.object: what is named */
		u64 object;
		/** @of.space: in which space that means it */
		u32 space;
		/** @of.name: empty: it has none any more */
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
