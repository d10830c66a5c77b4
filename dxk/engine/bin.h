/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
#ifndef _DXK_ENGINE_BIN_H
#define _DXK_ENGINE_BIN_H

struct dxk_engine;
struct dxk_file_ref;
struct dxk_wakes;

void dxk_bin_add(struct dxk_engine *e, struct dxk_file_ref *file, struct dxk_wakes *wakes);
void dxk_bin_put(struct dxk_engine *e, struct dxk_file_ref *files);
struct dxk_file_ref *dxk_bin_take(struct dxk_engine *e);

#endif /* _DXK_ENGINE_BIN_H */
