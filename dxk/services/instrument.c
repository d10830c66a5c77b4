// SPDX-License-Identifier: GPL-2.0-only
/*
 * The instrumentation package: counters of the application's own.
 */
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "engine/engine.h"
#include "services/instrument.h"

/* Return: the counter, NULL when there is none of that name. */
static atomic64_t *dxk_instrument_find(struct dxk_instruments *in, const char *name)
{
	/* pairs with the release in dxk_instrument_make() */
	u32 i, nr = smp_load_acquire(&in->nr);

	for (i = 0; i < nr; i++)
		if (!strcmp(in->of[i].name, name))
			return &in->of[i].value;
	return NULL;
}

/* Return: the counter, which others may have made by now; NULL when there is no room. */
static atomic64_t *dxk_instrument_make(struct dxk_instruments *in, struct dxk_engine *e,
				       const char *name)
{
	atomic64_t *value;

	spin_lock(&e->lock);
	value = dxk_instrument_find(in, name);
	if (!value && in->nr < DXK_INSTRUMENTS) {
		value = &in->of[in->nr].value;
		strscpy(in->of[in->nr].name, name, sizeof(in->of[in->nr].name));
		/* pairs with the acquire in dxk_instrument_find() */
		smp_store_release(&in->nr, in->nr + 1);
	}
	spin_unlock(&e->lock);
	return value;
}

/**
 * dxk_instrument - update a counter, which is made if it does not exist
 * @in: the counters
 * @e: their engine
 * @name: of the counter, less than %DXK_NAME_LEN bytes
 * @value: the value to add
 * @set: replace the counter's value by @value instead
 *
 * Context: any but interrupt.
 * Return: 0; -ENOSPC when the maximum number of others exists.
 */
int dxk_instrument(struct dxk_instruments *in, struct dxk_engine *e, const char *name,
		   s64 value, bool set)
{
	atomic64_t *counter = dxk_instrument_find(in, name) ?: dxk_instrument_make(in, e, name);

	if (!counter)
		return -ENOSPC;
	if (set)
		atomic64_set(counter, value);
	else
		atomic64_add(value, counter);
	return 0;
}

/* One line for each counter, oldest first. */
int dxk_instruments_show(const struct dxk_instruments *in, char *buf)
{
	/* pairs with the release in dxk_instrument_make() */
	u32 i, nr = smp_load_acquire(&in->nr);
	int len = 0;

	for (i = 0; i < nr; i++)
		len += sysfs_emit_at(buf, len, "%s %lld\n", in->of[i].name,
				     (s64)atomic64_read(&in->of[i].value));
	return len;
}
