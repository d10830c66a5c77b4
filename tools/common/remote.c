// SPDX-License-Identifier: GPL-2.0-only
/*
 * The status file of dxkd, for the tools that show it.
 */
#define _GNU_SOURCE
#include <errno.h>

#include <json-c/json.h>

#include "common.h"

struct json_object *json_in(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(object, key, &value);
	return value;
}

struct json_object *remote_read(const char *path, struct json_object **services)
{
	struct json_object *all;

	errno = 0;
	all = json_object_from_file(path);
	*services = json_in(all, "services");
	if (json_object_is_type(*services, json_type_array))
		return all;
	json_object_put(all);
	if (!errno)
		errno = EINVAL;
	return NULL;
}
