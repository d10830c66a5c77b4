// SPDX-License-Identifier: GPL-2.0-only
/*
 * The links that examples/dxspider finds in pages, and what they mean: by tables, and of pages
 * that are changed at random.
 */
#include "../examples/dxspider/links.c"
#include "../examples/dxspider/url.c"

#include <stdarg.h>
#include <stdio.h>

#include "kselftest_harness.h"

/* Of examples/common.c */
void die(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	exit(status);
}

void *xrealloc(void *p, size_t nr, size_t size)
{
	return reallocarray(p, nr, size);
}

TEST(urls)
{
	/* A link on http://h/a/b/c.html?q, and what it is: "" none of ours, ! none at all */
	static const char *const links[][2] = {
		/* within */
		{ "", "http://h/a/b/c.html?q" }, { "#x", "http://h/a/b/c.html?q" },
		{ "d", "http://h/a/b/d" }, { "./d", "http://h/a/b/d" },
		{ "../d", "http://h/a/d" }, { "../../../../d", "http://h/d" },
		{ "d/", "http://h/a/b/d/" }, { ".", "http://h/a/b/" }, { "..", "http://h/a/" },
		{ "/", "http://h/" }, { "/d/./e/../f", "http://h/d/f" },
		{ "d?r#x", "http://h/a/b/d?r" }, { "?r", "http://h/a/b/c.html?r" },
		{ "d?r=/../#/", "http://h/a/b/d?r=/../" }, { "d:e", "" }, { "./d:e", "http://h/a/b/d:e" },
		/* elsewhere */
		{ "//i/d", "http://i/d" }, { "https://h/a", "https://h/a" },
		{ "HTTP://H/A", "http://h/A" }, { "http://i", "http://i/" },
		{ "http://i?r", "http://i/?r" }, { "http://i:80/", "http://i/" },
		{ "http://i:81/", "http://i:81/" }, { "https://i:443/", "https://i/" },
		{ "http://me:secret@i/", "http://i/" }, { "http://[::1]:8/d", "http://[::1]:8/d" },
		/* as people write */
		{ "  d\n", "http://h/a/b/d" }, { "d\n\te", "http://h/a/b/de" },
		{ "d e", "http://h/a/b/d%20e" }, { "d%20e", "http://h/a/b/d%20e" },
		{ "d?r s", "http://h/a/b/d?r%20s" }, { "d%", "http://h/a/b/d%" },
		{ "\xc3\xbc", "http://h/a/b/%C3%BC" }, { "\xfc", "http://h/a/b/%FC" },
		{ "<d>", "http://h/a/b/%3Cd%3E" }, { "d\x01", "http://h/a/b/d" },
		/* others */
		{ "mailto:x@y", "" }, { "javascript:void(0)", "" }, { "data:,x", "" },
		{ "ftp://h/", "" }, { "tel:1", "" }, { "file:///etc", "" },
		/* none */
		{ "http://", "!http://" }, { "http://i:x/", "!http://i:x/" },
		{ "http://[x/", "!http://[x/" }, { "http://i:99999/", "!http://i:99999/" },
		{ "http://a b/", "!http://a%20b/" },
	};

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		const char *want = links[i][1];
		char *url;
		enum url_kind kind = url_resolve("http://h/a/b/c.html?q", links[i][0], &url);

		EXPECT_EQ(kind, !*want ? URL_OTHER : *want == '!' ? URL_BAD : URL_HTTP)
			TH_LOG("'%s'", links[i][0]);
		EXPECT_STREQ(url ? url : "", want + (*want == '!'));
		free(url);
	}
}

static unsigned int seed = 1;

static unsigned int any(unsigned int n)
{
	seed = seed * 1664525 + 1013904223;
	return (unsigned int)(((unsigned long)seed * n) >> 32);
}

static unsigned int rounds(unsigned int n)
{
	return getenv("DXK_LONG") && *getenv("DXK_LONG") ? 100 * n : n;
}

/* What comes out can be a request's, and a word of a line, and is its own meaning. */
static bool fine(const char *url)
{
	char *again, *origin = strstr(url, "://");
	bool ok;

	for (const char *c = url; *c; c++)
		if (*c <= ' ' || *c >= 0x7f)
			return false;
	if (strncmp(url, "http", 4) || !origin || strlen(url) > URL_MAX ||
	    !strchr(origin + 3, '/') || url_origin(url) >= strlen(url) ||
	    url_directory(url) > strlen(url) || url_directory(url) <= url_origin(url))
		return false;
	ok = url_resolve(NULL, url, &again) == URL_HTTP && !strcmp(again, url);
	if (!ok)
		printf("# '%s' becomes '%s'\n", url, again ? again : "");
	free(again);
	return ok;
}

/* Links of pieces that mean something, in any order */
TEST(urls_at_random)
{
	static const char *const pieces[] = {
		"http:", "https:", "//", "/", "\\", "..", ".", "?", "#", ":", "@", "[", "]", "%", "%2",
		"%2e", "%00", "h", "i:80", "[::1]", "1.2.3.4", "0x7f", " ", "\t", "\n", "\x01", "\xc3\xbc",
		"\xff", "a=b&c", ";", "mailto:", "xxxxxxxxxxxxxxxx", "~", "|", "'", "\"",
	};
	static const char *const bases[] = {
		"http://h/", "http://h/a/b/c.html?q", "https://[::1]:8/%2f//a/", NULL,
	};

	for (unsigned int i = 0; i < rounds(20000); i++) {
		char text[8 * 20] = "", *url;
		enum url_kind kind;

		for (unsigned int k = any(8); k; k--)
			strcat(text, pieces[any(sizeof(pieces) / sizeof(pieces[0]))]);
		kind = url_resolve(bases[any(4)], text, &url);
		ASSERT_EQ(kind == URL_OTHER, !url);
		ASSERT_TRUE(kind != URL_HTTP || fine(url))
			TH_LOG("'%s': '%s'", text, url);
		free(url);
	}
}

/* The links of a page that comes in pieces of @piece bytes, each with a blank; to be freed */
static char *links_of(const char *page, size_t len, size_t piece)
{
	struct text out = { 0 };
	struct link_reader *r = links_begin("http://h/a/", &out);
	size_t nr, seen = 0;

	for (size_t i = 0; i < len; i += piece)
		links_read(r, page + i, len - i < piece ? len - i : piece);
	nr = links_end(r, true);
	for (size_t i = 0; i < out.len; i++)
		if (!out.data[i]) {
			out.data[i] = ' ';
			seen++;
		}
	text_add(&out, "", 1);
	if (seen != nr)
		printf("# %zu links, and %zu are said\n", seen, nr);
	return seen == nr ? out.data : NULL;
}

static const char *const pages[][2] = {
	{ "<a href=b>", "http://h/a/b " },
	{ "<A HREF = 'b'>x</A><img SRC=\"/c\">", "http://h/a/b http://h/c " },
	{ "<a href=b><a href=b>", "http://h/a/b http://h/a/b " },
	{ "<script src=s></script><link rel=stylesheet href=t><iframe src=u></iframe>",
	  "http://h/a/s http://h/a/t http://h/a/u " },
	{ "<script>'<a href=no>'</script><style><a href=no></style><!-- <a href=no> -->", "" },
	{ "<link rel=preconnect href=no><link rel='x dns-prefetch' href=no>", "" },
	{ "<a href><a><a name=x href=''>", "http://h/a/ " },
	{ "<a href='b?x=1&amp;y=2&copy=3'>", "http://h/a/b?x=1&y=2&copy=3 " },
	{ "<base href='/c/'><a href=b><base href='/d/'><a href=b>", "http://h/c/b http://h/c/b " },
	{ "<base href='mailto:x'><base href='http://'><a href=b>", "http://h/a/b " },
	{ "<a href=mailto:x><a href=http://>", "!http:// " },
	{ "<a href='b", "http://h/a/b " }, { "<a href=b", "http://h/a/b " },
	{ "", "" }, { "<", "" }, { "text", "" },
	/* UTF-8 that is not said to be, that is; ISO 8859-1; letters by their names */
	{ "<a href='\xc3\xbc'>", "http://h/a/%C3%BC " },
	{ "<meta charset=utf-8><a href='\xc3\xbc'>", "http://h/a/%C3%BC " },
	{ "<a href='\xfc'>", "http://h/a/%C3%BC " },
	{ "<meta charset=iso-8859-1><a href='\xfc'>", "http://h/a/%C3%BC " },
	{ "<a href='&uuml;&#252;&#x20ac;'>", "http://h/a/%C3%BC%C3%BC%E2%82%AC " },
	{ "\xef\xbb\xbf<a href='\xc3\xbc'>", "http://h/a/%C3%BC " },
	{ "<p>\xff\xfe\x80<a href=b>\x01", "http://h/a/b " },
};

TEST(links)
{
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
		for (size_t piece = 1; piece < 70; piece += 1 + piece / 2) {
			char *links = links_of(pages[i][0], strlen(pages[i][0]), piece);

			EXPECT_STREQ(links, pages[i][1])
				TH_LOG("'%s' by %zu", pages[i][0], piece);
			free(links);
		}
}

/* Whatever they are changed to, each link is one that can be sent. */
TEST(pages_at_random)
{
	for (unsigned int i = 0; i < rounds(5000); i++) {
		char page[600] = "", *links, *link;
		size_t len;

		for (unsigned int k = 1 + any(4); k; k--)
			strcat(page, pages[any(sizeof(pages) / sizeof(pages[0]))][0]);
		len = strlen(page);
		for (unsigned int k = any(8); k && len; k--)
			page[any((unsigned int)len)] = any(3) ? "<>'\"=/&#;! "[any(11)] : (char)any(256);
		links = links_of(page, len, 1 + any(100));
		ASSERT_NE(links, NULL);
		for (link = strtok(links, " "); link; link = strtok(NULL, " "))
			ASSERT_TRUE(*link == BAD_URL || fine(link))
				TH_LOG("'%s'", link);
		free(links);
	}
}

TEST_HARNESS_MAIN
