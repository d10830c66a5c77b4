// SPDX-License-Identifier: GPL-2.0-only
/*
 * dxkd: carries the requests of named contexts to workers on other machines.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "../common/common.h"
#include "config.h"

static const char usage[] =
"Usage: dxkd --check FILE\n"
"       dxkd --help | --version\n"
"\n"
"  --check FILE  read the configuration FILE, print every error in it\n"
"\n"
"Exit status: 0; 2 for wrong arguments; 78 for errors in the configuration.\n";

static int check(const char *path)
{
	struct config config;
	unsigned int errors = config_read(path, &config);

	config_free(&config);
	return errors ? EX_CONFIG : DONE;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "check", required_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ }
	};
	const char *checked = NULL;
	int opt;

	tool = "dxkd";
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":h", longs, NULL)) != -1)
		switch (opt) {
		case 'c':
			checked = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			return flush(DONE);
		case 'V':
			return flush(version());
		case ':':
			return misuse("%s needs an argument", argv[optind - 1]);
		default:
			return bad_option(argv);
		}
	if (optind < argc)
		return misuse("no such argument: %s", argv[optind]);
	if (!checked)
		return misuse("--check FILE is missing");
	return check(checked);
}
