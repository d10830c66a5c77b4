/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The engine's events. sim/ watches them; elsewhere nobody does.
 */
#ifndef _DXK_NATIVE_TRACE_H
#define _DXK_NATIVE_TRACE_H

#define trace_dxk_move(...)		do { } while (0)
#define trace_dxk_post(...)		do { } while (0)
#define trace_dxk_dispatch(...)		do { } while (0)
#define trace_dxk_complete(...)		do { } while (0)
#define trace_dxk_rejoin(...)		do { } while (0)
#define trace_dxk_held(...)		do { } while (0)
#define trace_dxk_block(...)		do { } while (0)
#define trace_dxk_block_enabled()	false

#endif /* _DXK_NATIVE_TRACE_H */
