/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * Cleaning of foreign text before it reaches a terminal. The module, the library and the
 * tools use it: it has no dependencies.
 */
#ifndef _DXK_ENGINE_TEXT_H
#define _DXK_ENGINE_TEXT_H

/* The character of UTF-8 at @s, in its shortest form: its bytes, 0 when there is none. */
static inline unsigned int dxk_text_char(const unsigned char *s, unsigned long left,
					 unsigned int *c)
{
	static const unsigned int least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned int nr, i;

	*c = s[0];
	if (s[0] < 0x80)
		return 1;
	nr = s[0] < 0xc0 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf8 ? 4 : 0;
	if (!nr || nr > left)
		return 0;
	*c &= 0x7f >> nr;
	for (i = 1; i < nr; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*c = *c << 6 | (s[i] & 0x3f);
	}
	return *c < least[nr] ? 0 : nr;
}

/**
 * dxk_text_clean - replace control characters with blanks
 * @text: supposedly UTF-8
 * @len: its bytes
 * @lines: a newline and a tab may stay
 *
 * Those are U+0000..U+001F, U+007F, and U+0080..U+009F, which a terminal may obey as an
 * escape sequence; also as bytes of 0x80..0x9f that are part of no character.
 */
static inline void dxk_text_clean(char *text, unsigned long len, _Bool lines)
{
	unsigned char *s = (unsigned char *)text;
	unsigned int nr, c, i;

	for (; len; s += nr, len -= nr) {
		nr = dxk_text_char(s, len, &c);
		if (!nr) {
			c = s[0];
			nr = 1;
		}
		if ((c >= ' ' && c < 0x7f) || c > 0x9f || (lines && (c == '\n' || c == '\t')))
			continue;
		for (i = 0; i < nr; i++)
			s[i] = ' ';
	}
}

#endif /* _DXK_ENGINE_TEXT_H */
