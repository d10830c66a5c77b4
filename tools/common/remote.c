// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>

#include <json-c/json.h>

#include "common.h"

struct json_object *remote_read(const char *path, struct json_object **services)
{
	struct json_object *all;

	errno = 0;
	all = json_object_from_file(path);
	if (json_object_object_get_ex(all, "services", services) &&
	    json_object_is_type(*services, json_type_array))
		return all;
	json_object_put(all);
	if (!errno)
		errno = EINVAL;
	return NULL;
}
