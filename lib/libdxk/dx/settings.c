// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Settings and a policy from a file and from the environment. Both are read into copies, so
 * that an error changes nothing.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define ENV_PREFIX	"DX_"

struct reading {
	RunSettings settings;
	ThreadManagerPolicy policy;
	bool has_policy;
	MTExecutiveError *error;	/* or NULL */
	char place[80];			/* of a text: a file, "FILE:LINE", or a variable */
};

static int refuse(const struct reading *r, int rc, const char *name, const char *reason)
{
	dx_error_set(r->error, rc, "settings", name);
	if (r->error)
		snprintf(r->error->Reason, sizeof(r->error->Reason), "%s: %.75s", r->place, reason);
	return rc;
}

/* Texts that settings point to. They are never freed; the list keeps them reachable. */
static const char *keep(const char *text)
{
	static _Atomic(struct kept { struct kept *next; char text[]; } *) all;
	size_t len = strlen(text) + 1;
	struct kept *k = malloc(sizeof(*k) + len);

	if (!k)
		return NULL;
	memcpy(k->text, text, len);
	k->next = atomic_load(&all);
	while (!atomic_compare_exchange_weak(&all, &k->next, k))
		;
	return k->text;
}

static bool number(const char *text, int base, unsigned long long *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, base);
	return isdigit((unsigned char)*text) && !*end && !errno;
}

/* The names of values, for fields with few values or with bits. */
static const struct word {
	const char *name;
	uint32_t value;
} words[] = {
#define WORD(name) { #name, name }
	WORD(TPOOL_MODE_CMLS), WORD(PRIO_POLICY_AGERQS), WORD(PRIO_POLICY_BOOST),
	WORD(DXK_DISPATCH_DIRECT), WORD(DXK_DISPATCH_THREAD),
	WORD(DXK_LOG_BLOCK), WORD(DXK_LOG_DROP_NEW), WORD(DXK_LOG_DROP_OLDEST),
	WORD(DXK_REJOIN_GROW), WORD(DXK_REJOIN_RESERVE), WORD(DXK_REJOIN_BLOCK_WORKER),
	WORD(DXK_STOP_DRAIN), WORD(DXK_STOP_CANCEL),
	WORD(DXK_ON_BLOCK_STRICT), WORD(DXK_ON_BLOCK_HELP), WORD(DXK_ON_BLOCK_SPARE),
	WORD(DXK_HELP_ANY), WORD(DXK_HELP_OWN),
	WORD(DXK_ORDER_PRIO_GLOBAL),
	WORD(DX_LOG_WRITER_LIBRARY), WORD(DX_LOG_WRITER_KERNEL),
#undef WORD
};

/* A number, or words with | between them. */
static bool policy_value(char *text, unsigned long long *value)
{
	char *word, *rest = text;
	size_t i;

	if (number(text, 0, value))
		return true;
	*value = 0;
	while ((word = strsep(&rest, "|"))) {
		for (i = 0; i < sizeof(words) / sizeof(*words); i++)
			if (!strcmp(word, words[i].name))
				break;
		if (i == sizeof(words) / sizeof(*words))
			return false;
		*value |= words[i].value;
	}
	return true;
}

static int set_text(struct reading *r, const char **to, const char *value)
{
	*to = *value ? keep(value) : NULL;
	return *to || !*value ? 0 : refuse(r, -ENOMEM, "", strerror(ENOMEM));
}

static int set(struct reading *r, const char *name, char *value)
{
	unsigned long long n;

	if (!strcmp(name, "LogPath"))
		return set_text(r, &r->settings.LogPath, value);
	if (!strcmp(name, "ContextName"))
		return set_text(r, &r->settings.ContextName, value);
	if (!strcmp(name, "ContextMode")) {
		if (!number(value, 8, &n) || n > 0777)
			return refuse(r, -EINVAL, name, "it is not an octal number in 0..777");
		r->settings.ContextMode = (unsigned int)n;
		return 0;
	}
	if (!dx_policy_knows(name))
		return refuse(r, -EINVAL, name, "there is no such setting");
	if (!r->has_policy)
		return refuse(r, -EINVAL, name, "a policy is not read here");
	if (!policy_value(value, &n) || !dx_policy_put(&r->policy, name, n))
		return refuse(r, -EINVAL, name, "its value is no number or name, or too large");
	return 0;
}

/* @line without the blanks around it */
static char *trim(char *line)
{
	char *end = line + strlen(line);

	while (end > line && isspace((unsigned char)end[-1]))
		end--;
	*end = 0;
	while (isspace((unsigned char)*line))
		line++;
	return line;
}

static int read_line(struct reading *r, char *line)
{
	char *value;

	line = trim(line);
	if (!*line || *line == '#')
		return 0;
	value = strchr(line, '=');
	if (!value)
		return refuse(r, -EINVAL, "", "a line is NAME = VALUE, or begins with #");
	*value++ = 0;
	return set(r, trim(line), trim(value));
}

static int read_file(struct reading *r, const char *path)
{
	unsigned int nr = 0;
	char *line = NULL;
	size_t room = 0;
	ssize_t len;
	FILE *f;
	int rc = 0;

	snprintf(r->place, sizeof(r->place), "%.60s", path);
	f = fopen(path, "re");
	if (!f)
		return refuse(r, -errno, "", "it cannot be opened");
	while (!rc && (errno = 0, len = getline(&line, &room, f)) >= 0) {
		snprintf(r->place, sizeof(r->place), "%.60s:%u", path, ++nr);
		rc = strlen(line) == (size_t)len ? read_line(r, line) :
						   refuse(r, -EINVAL, "", "it is no text");
	}
	if (!rc && errno)
		rc = refuse(r, -errno, "", "it cannot be read");
	free(line);
	fclose(f);
	return rc;
}

/* A variable has the setting's name without brackets: a shell can set it. */
static int read_variable(struct reading *r, const char *name)
{
	char variable[48] = ENV_PREFIX, *to = variable + strlen(variable), *value;
	const char *c;
	int rc;

	for (c = name; *c; c++)
		if (*c != '[' && *c != ']')
			*to++ = *c;
	value = secure_getenv(variable);
	if (!value)
		return 0;
	snprintf(r->place, sizeof(r->place), "%s", variable);
	value = strdup(value);
	if (!value)
		return refuse(r, -ENOMEM, "", strerror(ENOMEM));
	rc = set(r, name, trim(value));
	free(value);
	return rc;
}

static int read_environment(struct reading *r)
{
	static const char *const names[] = { "LogPath", "ContextName", "ContextMode" };
	const char *name;
	unsigned int i;
	int rc = 0;

	for (i = 0; !rc && i < sizeof(names) / sizeof(*names); i++)
		rc = read_variable(r, names[i]);
	for (i = 0; !rc && r->has_policy && (name = dx_policy_name(i)); i++)
		rc = read_variable(r, name);
	return rc;
}

int RunSettingsRead(RunSettings *settings, ThreadManagerPolicy *policy, const char *path,
		    MTExecutiveError *error)
{
	struct reading r = { .settings = *settings, .has_policy = policy, .error = error };
	int rc;

	if (policy)
		r.policy = *policy;
	dx_error_set(error, 0, "settings", NULL);
	rc = path ? read_file(&r, path) : 0;
	if (!rc)
		rc = read_environment(&r);
	if (rc)
		return rc;
	*settings = r.settings;
	if (policy)
		*policy = r.policy;
	return 0;
}
