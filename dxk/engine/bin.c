// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The bin: files that nobody who calls lets go of, see life.h for what a pin is.
 */
#include "engine/bin.h"
#include "engine/engine.h"
#include "engine/os.h"

/**
 * dxk_bin_add - have a file let go by nobody who calls
 * @e: the engine, locked; not buried
 * @file: of a request that has ended, or of a handle that was closed
 * @wakes: gets the item's call
 *
 * To let go of a file can take as long as its file system wants, so who cancels, buries or
 * collects somebody else's request must not do it.
 */
void dxk_bin_add(struct dxk_engine *e, struct dxk_file_ref *file, struct dxk_wakes *wakes)
{
	lockdep_assert_held(&e->lock);

	file->next = e->bin;
	e->bin = file;
	if (e->binning)
		return;
	e->binning = true;
	e->run.pins++;
	wakes->bin = true;
}

/** dxk_bin_put - dxk_bin_add() of a list, for a caller without the lock */
void dxk_bin_put(struct dxk_engine *e, struct dxk_file_ref *files)
{
	struct dxk_wakes wakes __uninitialized;
	struct dxk_file_ref *file;

	dxk_wakes_init(&wakes);
	while ((file = files)) {
		files = file->next;
		spin_lock(&e->lock);
		dxk_bin_add(e, file, &wakes);
		spin_unlock(&e->lock);
		os_yield();
	}
	if (wakes.bin)
		os_empty_bin(e);
}

/**
 * dxk_bin_take - take out all, for the item
 * @e: the engine
 *
 * Return: the first one, or NULL: then the item ends with dxk_unpin().
 */
struct dxk_file_ref *dxk_bin_take(struct dxk_engine *e)
{
	struct dxk_file_ref *files;

	spin_lock(&e->lock);
	files = e->bin;
	e->bin = NULL;
	e->binning = files;
	spin_unlock(&e->lock);
	return files;
}
