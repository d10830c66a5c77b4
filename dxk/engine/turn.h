/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
#ifndef _DXK_ENGINE_TURN_H
#define _DXK_ENGINE_TURN_H

#include "engine/os.h"

struct dxk_member;
struct dxk_rqe;

struct dxk_rqe *dxk_turn(struct dxk_member *m, struct dxk_rqe **done);
bool dxk_post_usual(struct dxk_member *m, struct dxk_rqe *rqe);

#endif /* _DXK_ENGINE_TURN_H */
