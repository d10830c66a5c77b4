// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names for display, see label.h.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "services/executor.h"
#include "services/label.h"

void dxk_labels_init(struct dxk_labels *labels)
{
	spin_lock_init(&labels->lock);
}

/* The index of the object's label, or %DXK_LABELS. */
static u32 dxk_label_at(const struct dxk_labels *labels, u32 space, u64 object)
{
	u32 i, nr = min_t(u32, labels->given, DXK_LABELS);

	lockdep_assert_held(&labels->lock);

	for (i = 0; i < nr; i++)
		if (labels->of[i].object == object && labels->of[i].space == space)
			return i;
	return DXK_LABELS;
}

/**
 * dxk_label_give - label an object
 * @labels: the context's
 * @space: the number of the space in which @object identifies it
 * @object: an executor or an owner
 * @name: less than %DXK_NAME_LEN bytes; empty removes the label
 *
 * When the ring is full, a new label replaces the oldest one.
 */
void dxk_label_give(struct dxk_labels *labels, u32 space, u64 object, const char *name)
{
	u32 at;

	spin_lock(&labels->lock);
	at = dxk_label_at(labels, space, object);
	if (at == DXK_LABELS && *name) {
		at = labels->given % DXK_LABELS;
		/* Once the ring is full, only the position of the next label matters. */
		labels->given = labels->given + 1 < 2 * DXK_LABELS ? labels->given + 1 :
								     DXK_LABELS;
	}
	if (at < DXK_LABELS) {
		labels->of[at].object = object;
		labels->of[at].space = space;
		strscpy(labels->of[at].name, name, sizeof(labels->of[at].name));
	}
	spin_unlock(&labels->lock);
}

/**
 * dxk_label_find - get the label of an object
 * @labels: the context's
 * @space: the number of its space
 * @object: an executor or an owner
 * @name: out: of %DXK_NAME_LEN bytes
 *
 * Return: @name, which is empty if the object has none.
 */
const char *dxk_label_find(struct dxk_labels *labels, u32 space, u64 object, char *name)
{
	u32 at;

	*name = '\0';
	spin_lock(&labels->lock);
	at = dxk_label_at(labels, space, object);
	if (at < DXK_LABELS)
		strscpy(name, labels->of[at].name, DXK_NAME_LEN);
	spin_unlock(&labels->lock);
	return name;
}

/**
 * dxk_label_text - get the name of a request's executor as text
 * @labels: the context's
 * @space: the number of the space of its owner
 * @executor: as posted
 * @attrs: as posted: an executor of the kernel has the name that it was registered with
 * @text: out: %DXK_LABEL_TEXT bytes: " label NAME", or nothing
 *
 * Return: @text.
 */
const char *dxk_label_text(struct dxk_labels *labels, u32 space, u64 executor, u32 attrs,
			   char *text)
{
	char name[DXK_NAME_LEN];

	if (attrs & PXR_KERNEL)
		dxk_executor_name(executor, name);
	else
		dxk_label_find(labels, space, executor, name);
	snprintf(text, DXK_LABEL_TEXT, *name ? " label %s" : "%s", name);
	return text;
}

/* A line each: they fit in a page. */
int dxk_labels_show(struct dxk_labels *labels, char *buf)
{
	u32 i, nr;
	int len = 0;

	static_assert(DXK_LABELS * (10 + 1 + 18 + 1 + DXK_NAME_LEN) < PAGE_SIZE);
	spin_lock(&labels->lock);
	nr = min_t(u32, labels->given, DXK_LABELS);
	for (i = 0; i < nr; i++)
		if (*labels->of[i].name)
			len += sysfs_emit_at(buf, len, "%u:%#llx %s\n", labels->of[i].space,
					     labels->of[i].object, labels->of[i].name);
	spin_unlock(&labels->lock);
	return len;
}
