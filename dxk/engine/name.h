/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * Names of requests, by which others wake and cancel them: numbers, unique in a space among
 * the requests that have not ended.
 */
#ifndef _DXK_ENGINE_NAME_H
#define _DXK_ENGINE_NAME_H

#include "engine/os.h"

struct dxk_engine;
struct dxk_rqe;
struct dxk_space;

int dxk_names_start(struct dxk_engine *e);
void dxk_names_unstart(struct dxk_engine *e);
void dxk_names_destroy(struct dxk_engine *e);
struct dxk_rqe *dxk_name_find(const struct dxk_engine *e, const struct dxk_space *space,
			      u64 name);
void dxk_name_enter(struct dxk_engine *e, struct dxk_rqe *rqe);
void dxk_name_leave(struct dxk_rqe *rqe);

#endif /* _DXK_ENGINE_NAME_H */
