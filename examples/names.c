// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Names in the manner of the programs that dxsum and dxcall stand for. In messages: files as
 * sha256sum writes them, to be pasted into a shell; directories as find does. Where
 * a name has both an apostrophe and what cannot be printed, the sha256sum of
 * coreutils 9.1 writes what no shell reads back; this does not follow it there.
 */
#define _GNU_SOURCE
#include <langinfo.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

#include "common.h"
#include "names.h"

struct text {
	char *p;
	size_t len;
};

/* An escape takes 4 bytes; with the quotes around it at most 9. */
static struct text text_new(const char *name)
{
	return (struct text){ .p = xrealloc(NULL, 1, 9 * strlen(name) + 16) };
}

static void put(struct text *t, const char *s, size_t len)
{
	memcpy(t->p + t->len, s, len);
	t->len += len;
	t->p[t->len] = '\0';
}

static void puts_to(struct text *t, const char *s)
{
	put(t, s, strlen(s));
}

/* The bytes of the character at @s. @printable: is it one, in this locale? */
static size_t char_len(const char *s, bool *printable)
{
	mbstate_t state = { 0 };
	size_t len, left = strlen(s);
	wchar_t wc;

	len = mbrtowc(&wc, s, left, &state);
	*printable = len <= left && iswprint((wint_t)wc);
	if (len == (size_t)-2)
		return left;	/* the beginning of one, to the end of the name */
	return len <= left && len ? len : 1;
}

static void put_escape(struct text *t, unsigned char c)
{
	static const char from[] = "\a\b\f\n\r\t\v\\", to[] = "abfnrtv\\";
	const char *p = strchr(from, c);
	char octal[5];

	if (p)
		snprintf(octal, sizeof(octal), "\\%c", to[p - from]);
	else
		snprintf(octal, sizeof(octal), "\\%03o", c);
	puts_to(t, octal);
}

/* --- for a shell ----------------------------------------------------------- */

static bool shell_plain(const char *name)
{
	const char *p;
	bool printable;

	if (!*name || strchr("#~", *name) || !strcmp(name, "{") ||
	    !strcmp(name, "}") || strpbrk(name, "?\\' !\"$&()*;<=>[^`|:"))
		return false;
	for (p = name; *p; p += char_len(p, &printable)) {
		char_len(p, &printable);
		if (!printable)
			return false;
	}
	return true;
}

/* Can it be written in double quotes, for it has an apostrophe? */
static bool shell_double(const char *name)
{
	const char *p;
	bool printable;

	if (!strchr(name, '\''))
		return false;
	for (p = name; *p; p += char_len(p, &printable)) {
		char_len(p, &printable);
		/* some characters count only at the beginning or alone */
		if (!printable || strchr("?\\!\"$&()*;<=>[^`|", *p) ||
		    (p != name && strchr("#~", *p)) || strchr("{}", *p))
			return false;
	}
	return true;
}

/** quote_file - the name of a file as sha256sum writes it; to be freed */
char *quote_file(const char *name)
{
	struct text t = text_new(name);
	bool printable, escaped = false;
	size_t len;

	if (shell_plain(name)) {
		puts_to(&t, name);
		return t.p;
	}
	if (shell_double(name)) {
		puts_to(&t, "\"");
		puts_to(&t, name);
		puts_to(&t, "\"");
		return t.p;
	}
	puts_to(&t, "'");
	for (; *name; name += len) {
		len = char_len(name, &printable);
		if (!printable) {
			if (!escaped)
				puts_to(&t, "'$'");
			escaped = true;
			for (size_t i = 0; i < len; i++)
				put_escape(&t, (unsigned char)name[i]);
			continue;
		}
		if (escaped && *name != '\'')
			puts_to(&t, "''");
		if (*name == '\'')
			puts_to(&t, "'\\'");
		escaped = false;
		put(&t, name, len);
	}
	puts_to(&t, "'");
	return t.p;
}

/* --- for a reader ---------------------------------------------------------- */

/** quote_dir - the name of a directory as find writes it; to be freed */
char *quote_dir(const char *name)
{
	bool utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8"), printable;
	const char *left = utf8 ? "\u2018" : "'", *right = utf8 ? "\u2019" : "'";
	struct text t = text_new(name);
	size_t len;

	puts_to(&t, left);
	for (; *name; name += len) {
		len = char_len(name, &printable);
		if (!printable || *name == '\\') {
			for (size_t i = 0; i < len; i++)
				put_escape(&t, (unsigned char)name[i]);
			continue;
		}
		if (!strncmp(name, right, strlen(right)))
			puts_to(&t, "\\");
		put(&t, name, len);
	}
	puts_to(&t, right);
	return t.p;
}

/* --- for a program --------------------------------------------------------- */

/** print_sum - a line as sha256sum prints it: one with an escaped name begins with a backslash */
void print_sum(const char *name, const unsigned char *digest)
{
	bool escaped = name[strcspn(name, "\\\n\r")];
	int i;

	/* A thread that ends it all flushes no half of a line. */
	flockfile(stdout);
	if (escaped)
		putchar('\\');
	for (i = 0; i < DIGEST_LEN; i++)
		printf("%02x", digest[i]);
	fputs("  ", stdout);
	for (; *name; name++)
		switch (escaped ? *name : 0) {
		case '\\':
			fputs("\\\\", stdout);
			break;
		case '\n':
			fputs("\\n", stdout);
			break;
		case '\r':
			fputs("\\r", stdout);
			break;
		default:
			putchar(*name);
		}
	putchar('\n');
	funlockfile(stdout);
}
