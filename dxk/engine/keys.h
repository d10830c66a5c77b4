/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * Reports of keys: who has each, and how many wait for it.
 */
#ifndef _DXK_ENGINE_KEYS_H
#define _DXK_ENGINE_KEYS_H

#include "engine/os.h"

struct dxk_engine;

/* The most keys that are reported. */
#define DXK_KEYS_MAX	64

/**
 * struct dxk_key_seen - a key that exists, or did a moment ago
 */
struct dxk_key_seen {
	/** @key: the key */
	u64 key;
	/** @owner: of the request that has it, the innermost of nested ones */
	u64 owner;
	/** @executor: of that */
	u64 executor;
	/** @attrs: of that: PXR_* bits */
	u32 attrs;
	/** @space: the number of that of @key and @owner */
	u32 space;
	/** @users: its requests that have not ended */
	u32 users;
	/** @held: those of them that wait for nothing but it */
	u32 held;
	/** @worker: who executes the request that has it, or 0 */
	u32 worker;
	/** @taken: a request has it; without @worker that is Ready */
	bool taken;
	/** @suspended: it is held back */
	bool suspended;
	/** @refuses: and posts to it are refused */
	bool refuses;
};

u32 dxk_keys_look(struct dxk_engine *e, struct dxk_key_seen *seen, u32 max);

#endif /* _DXK_ENGINE_KEYS_H */
