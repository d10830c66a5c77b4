// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The bin: files that no caller releases, but an item. Until it ends it is a pin, see life.h.
 */
#include "engine/bin.h"
#include "engine/engine.h"
#include "engine/os.h"

/**
 * dxk_bin_add - leave the release of a file to the item
 * @e: the engine, locked; not buried
 * @file: of a request that has ended, or of a handle that was closed
 * @wakes: gets the item's call
 *
 * The release of a file can take as long as its file system wants, so a thread that cancels,
 * buries or collects the request of another one must not do it.
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
 * dxk_bin_take - take out all files, for the item
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
