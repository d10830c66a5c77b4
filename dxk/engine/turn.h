/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
#ifndef _DXK_ENGINE_TURN_H
#define _DXK_ENGINE_TURN_H

struct dxk_member;
struct dxk_rqe;

struct dxk_rqe *dxk_turn(struct dxk_member *m, struct dxk_rqe **done);

#endif /* _DXK_ENGINE_TURN_H */
