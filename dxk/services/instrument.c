// SPDX-License-Identifier: GPL-2.0-only
/*
 * The instrumentation package: counters of the application's own.
 */
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "engine/engine.h"
#include "services/instrument.h"

/* Return: its place, or how many there are when it has none. */
static u32 dxk_instrument_find(const struct dxk_instruments *in, const char *name)
{
	/* pairs with the release in dxk_instrument_make() */
	u32 i, nr = smp_load_acquire(&in->nr);

	for (i = 0; i < nr && strcmp(in->of[i].name, name); i++)
		;
	return i;
}

/* Return: its place, %DXK_INSTRUMENTS when there is no room. */
static u32 dxk_instrument_make(struct dxk_instruments *in, struct dxk_engine *e,
			       const char *name)
{
	u32 i;

	spin_lock(&e->lock);
	i = dxk_instrument_find(in, name);
	if (i == in->nr && i < DXK_INSTRUMENTS) {
		strscpy(in->of[i].name, name, sizeof(in->of[i].name));
		/* pairs with the acquire in dxk_instrument_find() */
		smp_store_release(&in->nr, i + 1);
	}
	spin_unlock(&e->lock);
	return i;
}

/**
 * dxk_instrument - count in a counter, which is made if need be
 * @in: the counters
 * @e: their engine
 * @name: of the counter, below %DXK_NAME_LEN bytes
 * @value: what is added
 * @set: it takes the counter's place instead
 *
 * Context: any but interrupt.
 * Return: 0; -ENOSPC when there are as many others as may be.
 */
int dxk_instrument(struct dxk_instruments *in, struct dxk_engine *e, const char *name,
		   s64 value, bool set)
{
	u32 i = dxk_instrument_find(in, name);

	if (i == READ_ONCE(in->nr))
		i = dxk_instrument_make(in, e, name);
	if (i == DXK_INSTRUMENTS)
		return -ENOSPC;
	if (set)
		atomic64_set(&in->of[i].value, value);
	else
		atomic64_add(value, &in->of[i].value);
	return 0;
}

/* A line each, by their age. */
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
