/* SPDX-License-Identifier: GPL-2.0-only */
/* Loading and unloading of the modules, and what they leave behind. */
#ifndef DXT_MODULES_H
#define DXT_MODULES_H

#include "lib/dxt.h"

#define EXECUTORS	"dxk_executors"
#define EVENTS	"/sys/kernel/tracing/events/dxk"

bool loaded(const char *name);
/* Loads what is not there; made by udev or devtmpfs, the device comes soon. */
int load_all(bool executors);
/* 0, -EWOULDBLOCK while it is in use */
int unload(const char *name);
/* The last reference to a file is dropped a moment after its close. */
int unload_soon(const char *name);
/* Has the file a line with the word in it? */
bool says(const char *path, const char *word);
/* What a module that is gone has left behind, or NULL. */
const char *left_over(void);

#endif /* DXT_MODULES_H */
