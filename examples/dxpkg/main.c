// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * dxpkg: options, the run time, and the top level of the hierarchy.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dxpkg.h"

#define STATUS_FILE	"/var/lib/dpkg/status"
#define APT_LISTS	"/var/lib/apt/lists/*_Packages*"

struct app app = {
	.feeder.ExecuteThisRequest = ExecuteFeeder,
	.transaction.ExecuteThisRequest = ExecuteTransaction,
	.parser.ExecuteThisRequest = ExecuteParser,
};

/* --- small things ---------------------------------------------------------- */

static void discard(void)
{
	db_discard(app.db);
}

struct program program = { .name = "dxpkg", .discard = discard };

bool stopping(void)
{
	return program.stopped || app.failed;
}

/* The first error is told; from then on everybody stops. */
void fail(const char *what, const char *why)
{
	bool expected = false;

	if (!program.stopped && atomic_compare_exchange_strong(&app.failed, &expected, true))
		tell("%s: %s: %s", app.opt.db, what, why);
}

/* --- options --------------------------------------------------------------- */

static const char usage[] =
"Usage: dxpkg --db FILE [OPTION]...\n"
"Build a SQLite database of packages, their versions and all their relations.\n"
"\n"
"  --db FILE      the database; one that exists is replaced when all went well\n"
"  --status FILE  what dpkg knows (" STATUS_FILE ", unless --index or --apt)\n"
"  --index FILE   a Packages file; may be repeated, and may be packed if apt is\n"
"                 there to unpack it\n"
"  --apt          all of " APT_LISTS "\n"
"  --workers N    worker threads (5 for each CPU, at least 3)\n"
"  --dispatch D   direct or thread: who makes the moves (direct)\n"
"  -h, --help     print this\n"
"\n"
"Malformed stanzas are told as FILE:LINE and left out. Tables: file, package,\n"
"version, dependency (an alternative of a relation each), reverse (how many\n"
"versions of a file name a package).\n"
"\n"
"Exit status: 0; 1 when a file could not be read or a stanza was malformed, the\n"
"others are in the database; 2 when dxpkg could not run or not to the end; 3 when\n"
"the database could not be written; 128 + N when signal N ended it.\n";

static void add_input(struct options *o, const char *path, const char *kind)
{
	o->inputs = xrealloc(o->inputs, o->nr + 1, sizeof(*o->inputs));
	o->inputs[o->nr] = (struct input){ .path = path, .kind = kind,
					   .id = (int)o->nr + 1 };
	o->nr++;
}

/* Of its name without the suffix of a packed one; 0 when it is no index. */
static size_t index_len(const char *path)
{
	static const char end[] = "_Packages";
	const char *suffix = packed_suffix(path);
	size_t len = suffix ? (size_t)(suffix - path) : strlen(path), n = strlen(end);

	return len > n && !memcmp(path + len - n, end, n) ? len : 0;
}

/* An index that apt keeps both packed and not is one; their names follow each other. */
static void add_lists(struct options *o)
{
	const char *path, *before = "";
	glob_t found;
	size_t i, len;

	/* never freed: the names are used to the end */
	if (glob(APT_LISTS, 0, NULL, &found))
		misuse("--apt: there is no %s", APT_LISTS);
	for (i = 0; i < found.gl_pathc; i++) {
		path = found.gl_pathv[i];
		len = index_len(path);
		if (!len || (len == index_len(before) && !memcmp(path, before, len)))
			continue;
		add_input(o, path, "index");
		before = path;
	}
}

static void parse(int argc, char **argv, struct options *o)
{
	enum { DB = 256, STATUS_OPT, INDEX, APT, WORKERS, DISPATCH };
	static const struct option options[] = {
		{ "db", required_argument, NULL, DB },
		{ "status", required_argument, NULL, STATUS_OPT },
		{ "index", required_argument, NULL, INDEX },
		{ "apt", no_argument, NULL, APT },
		{ "workers", required_argument, NULL, WORKERS },
		{ "dispatch", required_argument, NULL, DISPATCH },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int opt;

	o->workers = 5 * (unsigned int)(cpus < 1 ? 1 : cpus > 90 ? 90 : cpus);
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		switch (opt) {
		case DB:
			o->db = optarg;
			break;
		case STATUS_OPT:
			add_input(o, optarg, "status");
			break;
		case INDEX:
			add_input(o, optarg, "index");
			break;
		case APT:
			add_lists(o);
			break;
		case WORKERS:
			o->workers = number("--workers", optarg, 3, WORKERS_MAX);
			break;
		case DISPATCH:
			o->thread = dispatch_is_thread(optarg);
			break;
		case 'h':
			fputs(usage, stdout);
			exit(ALL_STORED);
		case ':':
			misuse("%s needs an argument", argv[optind - 1]);
		default:
			misuse("no such option: %s", argv[optind - 1]);
		}
	}
	if (argv[optind])
		misuse("'%s' is no option", argv[optind]);
	if (!o->db || !*o->db)
		misuse("%s: where shall the database be?", "--db");
	if (!o->nr)
		add_input(o, STATUS_FILE, "status");
}

/* --- the run time ---------------------------------------------------------- */

static MTExecutive *start(int argc, char **argv, const struct options *o)
{
	ThreadManagerPolicy policy;
	MTExecutiveError error;
	char text[DX_ERROR_TEXT];
	RunSettings settings;
	MTExecutive *mte;

	RunSettingsInit(&settings, "dxpkg", argc, argv);
	settings.LogPath = "/dev/null";	/* messages are dxpkg's own */
	/* what fails here fails again in the constructor, which tells why */
	ThreadManagerPolicyInit(&policy);
	policy.TPMaxThreads = o->workers;
	policy.TPSchedMode = TPOOL_MODE_CMLS;
	policy.TPLanePct[1] = 20;
	policy.TPLanePct[2] = 20;
	/* the database, and a connection of each worker */
	policy.TPHandleEntries = 1 + o->workers;
	policy.TPDispatch = o->thread ? DXK_DISPATCH_THREAD : DXK_DISPATCH_DIRECT;
	mte = MTExecutiveCreate(&settings, &policy, &error);
	if (mte)
		return mte;
	die(NOT_RUN, "%s", MTExecutiveErrorText(&error, text, sizeof(text)));
}

/* --- the top of the hierarchy ---------------------------------------------- */

static void post_feeder(struct input *input)
{
	const RQPost feeder = {
		.pOObject = &app,
		.pXObject = &app.feeder,
		.pPObject = input,
		.RQEPriority = PRIO_FEEDER,
		.RQEAttrs = PXR_LANE1 | PXR_REJOIN | PXR_WAITIF_BUSY,
	};
	int rc = post(&feeder, 1);

	if (rc < 0 && rc != -ESHUTDOWN)
		die(NOT_RUN, "a file cannot be posted: %s", strerror(-rc));
}

static int by_line(const void *a, const void *b)
{
	const struct problem *x = a, *y = b;

	return (x->line > y->line) - (x->line < y->line);
}

/* Return: nothing was wrong with it. */
static bool report(struct input *input)
{
	size_t i;

	qsort(input->problems, input->nr, sizeof(*input->problems), by_line);
	for (i = 0; i < input->nr; i++)
		tell("%s:%lu: %s", input->path, input->problems[i].line,
		     input->problems[i].text);
	if (input->malformed > input->nr)
		tell("%s: %lu more malformed stanzas", input->path,
		     input->malformed - input->nr);
	if (input->error)
		tell("%s: %s", input->path, input->error);
	return !input->malformed && !input->error;
}

int main(int argc, char **argv)
{
	struct options *o = &app.opt;
	int status = ALL_STORED;
	MTExecutive *mte;
	RQElement done;
	size_t i;

	parse(argc, argv, o);
	signals_block();
	mte = start(argc, argv, o);
	app.db = db_create(o->db);
	for (i = 0; i < o->nr; i++)
		db_add_input(app.db, &o->inputs[i]);
	db_share(app.db);
	signals_start(mte);

	for (i = 0; i < o->nr; i++)
		post_feeder(&o->inputs[i]);
	while (rejoin(&app, &done, NULL, 0) == RJR_RETURNED)
		if (done.RQEStatus)
			fail("a file was not read", strerror(-done.RQEStatus));
	signals_end();

	/* The workers close their connections before the last one is used. */
	db_unshare(app.db);
	if (MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1))
		die(NOT_RUN, "the run time does not stop");
	if (program.stopped > 0)
		die(128 + program.stopped, "ended by signal %d", program.stopped);
	if (app.failed)
		die(NOT_WRITTEN, "%s: not made", o->db);
	if (program.stopped)
		die(NOT_RUN, "%s: not made: the context was stopped", o->db);
	for (i = 0; i < o->nr; i++)
		if (!report(&o->inputs[i]))
			status = SOME_NOT_STORED;
	db_finish(app.db, o);
	printf("connections of %u workers: %u, waits for each other: %lu\n",
	       o->workers, app.connections, app.busy_waits);
	free(o->inputs);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "dxpkg: write error: %s\n", strerror(errno));
		status = SOME_NOT_STORED;
	}
	return status;
}
