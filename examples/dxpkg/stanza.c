// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Sub-requests (lane 3): each takes one stanza apart, into the fields that are
 * stored and the alternatives of its relations. Nothing is copied: all of it points
 * into the text of the chunk.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "dxpkg.h"

static const char *const field_names[FIELDS] = {
	"Package", "Version", "Architecture", "Status", "Section", "Priority",
	"Source", "Installed-Size",
};

const char *const relation_names[RELATIONS] = {
	"Pre-Depends", "Depends", "Recommends", "Suggests", "Enhances", "Breaks",
	"Conflicts", "Replaces", "Provides",
};

static bool bad(struct stanza *s, unsigned long line, const char *problem)
{
	s->outcome = MALFORMED;
	s->problem = problem;
	s->bad_line = line;
	return false;
}

static struct slice trim(const char *p, const char *end)
{
	while (p < end && isspace((unsigned char)*p))
		p++;
	while (p < end && isspace((unsigned char)end[-1]))
		end--;
	return (struct slice){ p, (int)(end - p) };
}

static bool is_name(struct slice name)
{
	int i;

	if (name.len < 2 || !isalnum((unsigned char)*name.p))
		return false;
	for (i = 1; i < name.len; i++)
		if (!isalnum((unsigned char)name.p[i]) && !strchr("+-.", name.p[i]))
			return false;
	return true;
}

static bool is_word(struct slice word)
{
	int i;

	for (i = 0; i < word.len; i++)
		if (!isgraph((unsigned char)word.p[i]) || strchr("(),|", word.p[i]))
			return false;
	return word.len;
}

/* --- relations ------------------------------------------------------------- */

/* "(>= 1.0)" from behind the opening bracket on. */
static const char *split_version(struct relation *r, struct slice text)
{
	static const char *const ops[] = { "<<", "<=", ">=", ">>", "=", "<", ">" };
	const char *end = text.p + text.len;
	size_t i, len;

	if (!text.len || end[-1] != ')')
		return "a version without its closing bracket";
	text = trim(text.p, end - 1);
	for (i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
		len = strlen(ops[i]);
		if ((size_t)text.len < len || memcmp(text.p, ops[i], len))
			continue;
		r->op = (struct slice){ text.p, (int)len };
		r->version = trim(text.p + len, text.p + text.len);
		return is_word(r->version) ? NULL : "a relation without its version";
	}
	return "a version without its operator";
}

/* "name:arch (op version)" */
static const char *split_alternative(struct relation *r, struct slice text)
{
	const char *end = text.p + text.len, *p, *colon;
	const char *problem = NULL;

	p = memchr(text.p, '(', (size_t)text.len);
	if (p) {
		problem = split_version(r, trim(p + 1, end));
		end = p;
	}
	r->name = trim(text.p, end);
	colon = memchr(r->name.p, ':', (size_t)r->name.len);
	if (colon) {
		r->arch = trim(colon + 1, r->name.p + r->name.len);
		r->name = trim(r->name.p, colon);
		if (!is_name(r->arch))
			return "the architecture of a relation is wrong";
	}
	if (!is_name(r->name))
		return "the name of a package in a relation is wrong";
	return problem;
}

static struct relation *add_relation(struct stanza *s)
{
	if (s->nr == s->room) {
		s->room = s->room ? 2 * s->room : 16;
		s->relations = xrealloc(s->relations, s->room, sizeof(*s->relations));
	}
	return &s->relations[s->nr++];
}

/* Return: what is wrong with it, or %NULL. */
static const char *split_relations(struct stanza *s, int field, struct slice value)
{
	const char *p = value.p, *end = value.p + value.len, *stop;
	int group = 0, alternative = 0;
	const char *problem;
	struct relation *r;

	while (p < end) {
		for (stop = p; stop < end && *stop != ',' && *stop != '|'; stop++)
			;
		r = add_relation(s);
		*r = (struct relation){ .field = field, .group = group,
					.alternative = alternative };
		problem = split_alternative(r, trim(p, stop));
		if (problem)
			return problem;
		if (stop < end && *stop == '|')
			alternative++;
		else
			group++, alternative = 0;
		p = stop + 1;
	}
	/* what ends with a bar lacks an alternative, with a comma only looks bad */
	return alternative ? "a relation ends with a bar" : NULL;
}

/* --- the stanza ------------------------------------------------------------ */

static int index_of(const char *const *names, int nr, struct slice name)
{
	int i;

	for (i = 0; i < nr; i++)
		if (strlen(names[i]) == (size_t)name.len &&
		    !strncasecmp(names[i], name.p, (size_t)name.len))
			return i;
	return -1;
}

static bool set_field(struct stanza *s, unsigned int *seen, unsigned long line,
		      struct slice name, struct slice value)
{
	int i = index_of(relation_names, RELATIONS, name);
	const char *problem;

	if (i >= 0) {
		if (*seen & 1u << i)
			return bad(s, line, "a field that was there before");
		*seen |= 1u << i;
		problem = split_relations(s, i, value);
		return problem ? bad(s, line, problem) : true;
	}
	i = index_of(field_names, FIELDS, name);
	if (i < 0)
		return true;
	if (s->fields[i].p)
		return bad(s, line, "a field that was there before");
	s->fields[i] = value;
	return true;
}

static bool is_field_name(struct slice name)
{
	int i;

	for (i = 0; i < name.len; i++)
		if (!isgraph((unsigned char)name.p[i]))
			return false;
	return name.len && *name.p != '#' && *name.p != '-';
}

/* One field with its continuation lines; *@p is behind it then. */
static bool take_field(struct stanza *s, unsigned int *seen, const char **p,
		       const char *end, unsigned long *line)
{
	unsigned long first = *line;
	const char *colon, *eol, *at = *p;
	struct slice name;

	if (*at == ' ' || *at == '\t')
		return bad(s, first, "a continuation of no field");
	eol = memchr(at, '\n', (size_t)(end - at));
	eol = eol ? eol : end;
	colon = memchr(at, ':', (size_t)(eol - at));
	name = (struct slice){ at, colon ? (int)(colon - at) : 0 };
	if (!is_field_name(name))
		return bad(s, first, "a line that is no field");
	for (;;) {
		at = eol < end ? eol + 1 : end;
		(*line)++;
		if (at == end || (*at != ' ' && *at != '\t'))
			break;
		eol = memchr(at, '\n', (size_t)(end - at));
		eol = eol ? eol : end;
	}
	*p = at;
	return set_field(s, seen, first, name, trim(colon + 1, eol));
}

static bool ends_with(struct slice text, const char *word)
{
	size_t len = strlen(word);

	return (size_t)text.len >= len && !memcmp(text.p + text.len - len, word, len);
}

static void parse(struct stanza *s)
{
	const char *p = s->chunk->text + s->at, *end = p + s->len;
	unsigned long line = s->line;
	unsigned int seen = 0;

	if (memchr(p, '\0', s->len)) {
		bad(s, line, "a zero byte");
		return;
	}
	while (p < end)
		if (!take_field(s, &seen, &p, end, &line))
			return;
	if (!is_name(s->fields[PACKAGE])) {
		bad(s, s->line, "no package, or a wrong name of one");
		return;
	}
	/* dpkg remembers packages that it once knew. */
	if (ends_with(s->fields[STATUS], " not-installed")) {
		s->outcome = NOT_INSTALLED;
		return;
	}
	if (!is_word(s->fields[VERSION])) {
		bad(s, s->line, "no version, or a wrong one");
		return;
	}
	s->outcome = STORE;
}

/* The Runnable of a sub-request. */
int ExecuteParser(Runnable *self, void *request)
{
	(void)self;
	parse(request);
	return 0;
}
