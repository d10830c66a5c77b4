/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
#ifndef _DXK_ENGINE_POLICY_H
#define _DXK_ENGINE_POLICY_H

#include "engine/os.h"
#include "uapi/dxk.h"

/**
 * struct dxk_field - one field of the policy
 */
struct dxk_field {
	/** @name: as in struct dxk_policy and in sysfs */
	const char *name;
	/** @offset: in struct dxk_policy */
	u32 offset;
	/** @min: smallest value */
	u32 min;
	/**
	 * @max: largest value; for bit masks and choices, all that this version offers
	 */
	u32 max;
	/** @mask: the field is a set of bits, @max the known ones */
	bool mask;
	/**
	 * @choice: the field is an enumeration: a value beyond @max may be one of a
	 * later version
	 */
	bool choice;
	/** @dynamic: can be changed while the context runs */
	bool dynamic;
};

extern const struct dxk_field dxk_fields[];
extern const u32 dxk_fields_nr;

static inline u32 *dxk_field_of(struct dxk_policy *p, const struct dxk_field *f)
{
	return (u32 *)((char *)p + f->offset);
}

void dxk_policy_default(struct dxk_policy *policy, u32 threads);
int dxk_policy_check(struct dxk_policy *policy);

#endif /* _DXK_ENGINE_POLICY_H */
