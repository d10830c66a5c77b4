// SPDX-License-Identifier: GPL-2.0-only
/*
 * dxkctl: look at the contexts of dxk and control them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "ctl.h"

static const struct subcommand {
	const char *name;
	int (*run)(int argc, char **argv);
} subcommands[] = {
	{ "list", ctl_list },
	{ "show", ctl_show },
	{ "why", ctl_why },
	{ "requests", ctl_requests },
	{ "set", ctl_set },
	{ "send", ctl_send },
	{ "tell", ctl_tell },
	{ "drain", ctl_drain },
	{ "stop", ctl_stop },
	{ "remote", ctl_remote },
	{ "doctor", ctl_doctor },
	{ "trace", ctl_trace },
};

static const char usage[] =
"Usage: dxkctl list [--json]\n"
"       dxkctl show [--json] CTX [SECTION]...\n"
"       dxkctl why [--json | --dot] CTX\n"
"       dxkctl requests [--json] CTX\n"
"       dxkctl set CTX FIELD VALUE [FIELD VALUE]...\n"
"       dxkctl send [--timeout S] CTX TEXT...\n"
"       dxkctl tell [--timeout S] ADDIN TEXT...\n"
"       dxkctl drain [--timeout S] CTX\n"
"       dxkctl stop [--cancel] [--timeout S] CTX\n"
"       dxkctl remote [--json] [STATUS]\n"
"       dxkctl doctor\n"
"       dxkctl trace [-o FILE] [-t S] [CTX]\n"
"       dxkctl --help | --version\n"
"\n"
"  list      the contexts that you may read\n"
"  show      one of them; SECTION is policy, pools, lanes, threads, waits, waiting,\n"
"            keys, stats or instrumentation\n"
"  why       who waits for whom, in circles, and who holds others up\n"
"  requests  those of one that have not ended\n"
"  set       change fields of its policy\n"
"  send      send it a command, print the reply\n"
"  tell      send a command to an add-in, print the reply\n"
"  drain     stop it when all that is Ready has been executed\n"
"  stop      stop it as its policy says; with --cancel at once\n"
"  remote    the services of dxkd: connections, what is under way, counts\n"
"  doctor    why can /dev/dxk not be used?\n"
"  trace     record a time line for a trace viewer\n"
"\n"
"CTX is the id of a context or its name, ADDIN the name of an application or the\n"
"path of its socket. Exit status: 0; 1 when it did not work; 2 for wrong arguments.\n";

int options(int argc, char **argv, const char *text, const struct option *longs)
{
	int opt;

	opterr = 0;
	opt = getopt_long(argc, argv, text, longs, NULL);
	if (opt == ':')
		misuse("%s: %s needs an argument", argv[0], argv[optind - 1]);
	else if (opt == '?')
		bad_option(argv);
	return opt == ':' ? '?' : opt;
}

static bool is_help(const char *word)
{
	return !strcmp(word, "--help") || !strcmp(word, "-h");
}

int main(int argc, char **argv)
{
	const struct subcommand *s;

	tool = "dxkctl";
	/* A reader that goes away shows as an error of write(). */
	signal(SIGPIPE, SIG_IGN);
	if (argc < 2)
		return misuse("no subcommand");
	/* also of a subcommand; "send CTX --help" is a command for the context */
	if (is_help(argv[1]) || !strcmp(argv[1], "help") || (argc > 2 && is_help(argv[2]))) {
		fputs(usage, stdout);
		return flush(DONE);
	}
	if (!strcmp(argv[1], "--version"))
		return flush(version());
	for (s = subcommands; s < subcommands + sizeof(subcommands) / sizeof(*s); s++)
		if (!strcmp(s->name, argv[1]))
			return flush(s->run(argc - 1, argv + 1));
	return misuse("no such subcommand: %s", argv[1]);
}
