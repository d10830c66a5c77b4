// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * --stats: what /sys/kernel/dxk/<context> tells, one line for each of its groups,
 * and what dxsum itself counted.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dxsum.h"

static int no_dots(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static char *read_value(const char *dir, const char *name)
{
	char *path = path_join(dir, name), *line = NULL;
	FILE *f = fopen(path, "re");
	size_t room = 0;

	if (f && getline(&line, &room, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
	} else {
		free(line);
		line = NULL;
	}
	if (f)
		fclose(f);
	free(path);
	return line;
}

/* The attributes of a directory as "name=value", folded; then its directories. */
static void print_group(const char *path, const char *name)
{
	struct dirent **list;
	int i, nr = scandir(path, &list, no_dots, versionsort);
	int column = 0;
	char *text;

	if (nr < 0)
		return;
	fprintf(stderr, "%s:", name);
	for (i = 0; i < nr; i++) {
		if (list[i]->d_type == DT_DIR)
			continue;
		text = read_value(path, list[i]->d_name);
		if (text && column > 60)
			column = fprintf(stderr, "\n ") - 1;
		if (text)
			column += fprintf(stderr, " %s=%s", list[i]->d_name, text);
		free(text);
	}
	fputc('\n', stderr);
	for (i = 0; i < nr; i++) {
		if (list[i]->d_type == DT_DIR) {
			text = path_join(path, list[i]->d_name);
			print_group(text, list[i]->d_name);
			free(text);
		}
		free(list[i]);
	}
	free(list);
}

/** stats_print - all figures, on standard error */
void stats_print(int context)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/sys/kernel/dxk/%d", context);
	print_group(path, "context");
	fprintf(stderr, "dxsum: files=%llu bytes=%llu ms=%llu hashed_instead_of_kernel=%llu waits_for_descriptors=%llu\n",
		(unsigned long long)app.files, (unsigned long long)app.bytes,
		(unsigned long long)(MTExecutiveElapsed(NULL) / 1000000),
		(unsigned long long)app.fallbacks,
		(unsigned long long)app.fd_waits);
}
