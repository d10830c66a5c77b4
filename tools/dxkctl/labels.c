// SPDX-License-Identifier: GPL-2.0-only
/*
 * The names that applications have for their executors, and the kernel's for its own.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "ctl.h"

static void key_of(char *key, size_t size, uint64_t executor, uint32_t attrs)
{
	snprintf(key, size, attrs & PXR_KERNEL ? "kernel 0x%llx" : "0x%llx",
		 (unsigned long long)executor);
}

struct json_object *labels(const struct ctx *ctx)
{
	struct json_object *all = json_object_new_object();
	struct json_object *kernel = sysfs_dir(-1, SYSFS "/executors");
	char text[4097], key[32], *rest = text, *line;

	if (kernel) {
		json_object_object_foreach(kernel, name, id) {
			key_of(key, sizeof(key), (uint64_t)json_object_get_int64(id), PXR_KERNEL);
			json_object_object_add(all, key, json_object_new_string(name));
		}
		json_object_put(kernel);
	}
	if (sysfs_read(ctx->dir, "labels", text, sizeof(text)) < 0)
		return all;
	/* "2:0x55d0 sum" */
	while ((line = strsep(&rest, "\n"))) {
		char *object = strchr(line, ':'), *name = strchr(line, ' ');

		if (!object || !name || name < object)
			continue;
		*name++ = '\0';
		json_object_object_add(all, object + 1, json_object_new_string(name));
	}
	return all;
}

const char *label_of(struct json_object *labels, uint64_t executor, uint32_t attrs)
{
	struct json_object *name;
	char key[32];

	key_of(key, sizeof(key), executor, attrs);
	return json_object_object_get_ex(labels, key, &name) ? json_object_get_string(name) : NULL;
}
