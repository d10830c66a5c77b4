/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Text descriptions of waiting requests, for reports, commands and sysfs.
 */
#ifndef _DXK_RUNTIME_WAITING_H
#define _DXK_RUNTIME_WAITING_H

#include <linux/types.h>

#include "engine/age.h"
#include "engine/keys.h"

struct dxk_labels;
struct dxk_running;

/* Room for the description of one request. */
#define DXK_WAITING_TEXT	256

u32 dxk_waiting_age_ms(const struct dxk_waiting *w);
void dxk_waiting_text(struct dxk_labels *labels, const struct dxk_waiting *w, char *text);
void dxk_key_text(struct dxk_labels *labels, const struct dxk_key_seen *key, char *text);
void dxk_waiting_running(const struct dxk_waiting *w, struct dxk_running *out);

#endif /* _DXK_RUNTIME_WAITING_H */
