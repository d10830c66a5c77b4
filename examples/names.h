/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef _EXAMPLES_NAMES_H
#define _EXAMPLES_NAMES_H

#define DIGEST_LEN	32

void print_sum(const char *name, const unsigned char *digest);
char *quote_file(const char *name);
char *quote_dir(const char *name);

#endif /* _EXAMPLES_NAMES_H */
