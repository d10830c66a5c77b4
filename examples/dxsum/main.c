// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * dxsum: options, the run time, and the top level of the hierarchy.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "dxsum.h"

/* Exit status, besides NOT_RUN and 128 + a signal's number */
enum { ALL_READ, SOME_NOT_READ };

struct program program = { .name = "dxsum" };

struct app app = {
	.feeder.ExecuteThisRequest = ExecuteFeeder,
	.transaction.ExecuteThisRequest = ExecuteTransaction,
	.reader.ExecuteThisRequest = ExecuteReader,
};

/* --- options --------------------------------------------------------------- */

static const char usage[] =
"Usage: dxsum [OPTION]... DIR...\n"
"Print SHA-256 checksums of the regular files in the trees below DIR, as\n"
"  find DIR... -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum --\n"
"\n"
"  --kernel            files are hashed by kernel workers (default)\n"
"  --user              files are hashed by worker threads of dxsum\n"
"  --workers N         worker threads of dxsum (5 for each CPU)\n"
"  --kernel-workers N  kernel workers (one for each CPU, at least 3)\n"
"  --ready N           entries of the Ready Pool (1024)\n"
"  --lanes P0,P1,P2    percent of workers and entries of the lanes (0,20,20)\n"
"  --no-cmls           no lanes; dxsum itself limits what it posts\n"
"  --dispatch D        direct or thread: who makes the moves (direct)\n"
"  --stats             print the figures of the context to standard error\n"
"  -h, --help          print this\n"
"\n"
"Exit status: 0; 1 when something could not be read; 2 when dxsum could not run or\n"
"not to the end; 128 + N when signal N ended it.\n";

static void parse_lanes(struct options *o, const char *text)
{
	int len = 0;

	if (sscanf(text, "%3u,%3u,%3u%n", &o->lanes[0], &o->lanes[1], &o->lanes[2],
		   &len) != 3 || text[len] || strpbrk(text, "+- "))
		misuse("--lanes: '%s' is not of the form P0,P1,P2", text);
	if (!o->lanes[1] || !o->lanes[2])
		misuse("--lanes: %s: feeders need lane 1, transactions lane 2",
		       text);
}

static void set_defaults(struct options *o)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	cpus = cpus < 1 ? 1 : cpus > 80 ? 80 : cpus;
	/*
	 * 20 + 20 % of 5 workers for each CPU: when all feeders execute there is
	 * room for a transaction, and so for a file at work, on each CPU.
	 */
	*o = (struct options){
		.kernel = true,
		.cmls = true,
		.workers = 5 * (unsigned int)cpus,
		/* each lane of the policy needs one, used or not */
		.kernel_workers = cpus < 3 ? 3 : (unsigned int)cpus,
		.ready = 1024,
		.lanes = { 0, 20, 20 },
	};
}

static void parse(int argc, char **argv, struct options *o)
{
	enum { KERNEL = 256, USER, WORKERS, KERNEL_WORKERS, READY, LANES, NO_CMLS,
	       DISPATCH, STATS };
	static const struct option options[] = {
		{ "kernel", no_argument, NULL, KERNEL },
		{ "user", no_argument, NULL, USER },
		{ "workers", required_argument, NULL, WORKERS },
		{ "kernel-workers", required_argument, NULL, KERNEL_WORKERS },
		{ "ready", required_argument, NULL, READY },
		{ "lanes", required_argument, NULL, LANES },
		{ "no-cmls", no_argument, NULL, NO_CMLS },
		{ "dispatch", required_argument, NULL, DISPATCH },
		{ "stats", no_argument, NULL, STATS },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	bool lanes = false, kernel_workers = false;
	int opt;

	set_defaults(o);
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		switch (opt) {
		case KERNEL:
			o->kernel = true;
			break;
		case USER:
			o->kernel = false;
			break;
		case WORKERS:
			o->workers = number("--workers", optarg, 1, WORKERS_MAX);
			break;
		case KERNEL_WORKERS:
			o->kernel_workers = number("--kernel-workers", optarg, 1,
						   WORKERS_MAX - 1);
			kernel_workers = true;
			break;
		case READY:
			o->ready = number("--ready", optarg, 1, 1 << 20);
			break;
		case LANES:
			parse_lanes(o, optarg);
			lanes = true;
			break;
		case NO_CMLS:
			o->cmls = false;
			break;
		case DISPATCH:
			o->thread = dispatch_is_thread(optarg);
			break;
		case STATS:
			o->stats = true;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(ALL_READ);
		case ':':
			misuse("%s needs an argument", argv[optind - 1]);
		default:
			misuse("no such option, or not of this form: %s",
			       argv[optind - 1]);
		}
	}
	o->dirs = argv + optind;
	if (!*o->dirs)
		misuse("no directory given");
	if (lanes && !o->cmls)
		misuse("--lanes and --no-cmls exclude each other");
	if (kernel_workers && !o->kernel)
		misuse("--kernel-workers and --user exclude each other");
	if (!o->kernel)
		o->kernel_workers = 0;
	if (!o->cmls && o->workers < 3)
		misuse("--workers: each of the three levels needs one");
	if (o->workers + o->kernel_workers > WORKERS_MAX)
		misuse("--workers and --kernel-workers: more than %d together",
		       WORKERS_MAX);
}

/* --- the run time ---------------------------------------------------------- */

static void set_policy(const struct options *o, ThreadManagerPolicy *policy)
{
	/* what fails here fails again in the constructor, which tells why */
	ThreadManagerPolicyInit(policy);
	policy->TPMaxThreads = o->workers + o->kernel_workers;
	policy->TPKernelThreads = o->kernel_workers;
	policy->TPReadyEntries = o->ready;
	if (policy->TPMaxRequests < o->ready)
		policy->TPMaxRequests = o->ready;
	policy->TPDataSize = DIGEST_LEN;
	policy->TPDispatch = o->thread ? DXK_DISPATCH_THREAD : DXK_DISPATCH_DIRECT;
	if (!o->cmls)
		return;
	policy->TPSchedMode = TPOOL_MODE_CMLS;
	memcpy(policy->TPLanePct, o->lanes, sizeof(policy->TPLanePct));
}

static _Noreturn void explain(const MTExecutiveError *error)
{
	static const struct { const char *field, *option; } options[] = {
		{ "TPMaxThreads", "--workers" },
		{ "TPKernelThreads", "--kernel-workers" },
		{ "TPReadyEntries", "--ready" },
		{ "TPLanePct", "--lanes" },
	};
	char text[DX_ERROR_TEXT];
	size_t i;

	for (i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (!strncmp(error->Field, options[i].field,
			     strlen(options[i].field)))
			die(NOT_RUN, "%s: %s", options[i].option, error->Reason);
	die(NOT_RUN, "%s", MTExecutiveErrorText(error, text, sizeof(text)));
}

/* Each worker thread has a descriptor, and files and directories come on top. */
static void allow_files(const struct options *o)
{
	rlim_t need = 2 * (rlim_t)o->workers + 64;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= need)
		return;
	limit.rlim_cur = need < limit.rlim_max ? need : limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static MTExecutive *start(int argc, char **argv)
{
	ThreadManagerPolicy policy;
	MTExecutiveError error;
	RunSettings settings;
	MTExecutive *mte;
	int rc;

	allow_files(&app.opt);
	RunSettingsInit(&settings, "dxsum", argc, argv);
	settings.LogPath = "/dev/null";	/* messages are dxsum's own */
	set_policy(&app.opt, &policy);
	mte = MTExecutiveCreate(&settings, &policy, &error);
	if (!mte)
		explain(&error);

	if (app.opt.kernel) {
		rc = FindKernelExecutor("sha256", &app.sha256);
		if (rc == -ENOENT)
			die(NOT_RUN, "no kernel executor \"sha256\": load dxk_executors.ko, or use --user");
		if (rc)
			die(NOT_RUN, "kernel executor \"sha256\": %s", strerror(-rc));
	}
	/*
	 * Without lanes nothing keeps feeders and transactions from filling all
	 * workers and waiting for ever: then one feeder at a time, and a worker
	 * is left for sub-requests.
	 */
	app.feeders = app.opt.cmls ? 16 : 1;
	app.window = DXK_BATCH_MAX;
	if (!app.opt.cmls && app.window > app.opt.workers - 2)
		app.window = app.opt.workers - 2;
	return mte;
}

/* --- the top of the hierarchy ---------------------------------------------- */

/* Return: the feeder was taken. */
static bool post_feeder(struct tree *tree, struct dir *dir)
{
	const RQPost feeder = {
		.pOObject = tree,
		.pXObject = &app.feeder,
		.pPObject = dir,
		.RQEPriority = PRIO_FEEDER,
		.RQEAttrs = PXR_LANE1 | PXR_REJOIN | PXR_WAITIF_BUSY,
	};
	int rc = post(&feeder, 1);

	if (rc < 0 && rc != -ESHUTDOWN)
		die(NOT_RUN, "a directory cannot be posted: %s", strerror(-rc));
	dir->posted = rc > 0;
	return dir->posted;
}

/*
 * Posts a feeder for each directory and collects it; what it found becomes
 * directories to post. Its owner is the tree: when nothing of the tree exists
 * there is nothing left to do.
 */
static void walk(struct tree *tree)
{
	unsigned int out = 0;
	RQElement done;
	struct dir *dir;

	for (;;) {
		while (out < app.feeders && !program.stopped &&
		       (dir = tree_next(tree)) && post_feeder(tree, dir))
			out++;
		if (rejoin(tree, &done, NULL, 0) == RJR_NONE_EXIST)
			return;
		out--;
		dir = done.pPObject;
		if (!dir->error)
			dir->error = done.RQEStatus;
		if (!program.stopped)
			tree_done(tree, dir);
	}
}

/* The exit status of it all. */
static int finish(struct tree *tree)
{
	bool ok = program.stopped || tree_end(tree);

	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "dxsum: write error: %s\n", strerror(errno));
		ok = false;
	}
	if (program.stopped == SHUT_DOWN)
		tell("the context was stopped, files were left out");
	if (program.stopped)
		return program.stopped == SHUT_DOWN ? NOT_RUN : 128 + program.stopped;
	return ok ? ALL_READ : SOME_NOT_READ;
}

int main(int argc, char **argv)
{
	struct tree *tree;
	MTExecutive *mte;
	int status;

	setlocale(LC_ALL, "");
	parse(argc, argv, &app.opt);
	signals_block();
	mte = start(argc, argv);
	if (sum_init())
		die(NOT_RUN, "libcrypto has no SHA-256");
	signals_start(mte);

	tree = tree_new(app.opt.dirs);
	walk(tree);
	signals_end();

	status = finish(tree);
	if (app.opt.stats)
		stats_print(MTExecutiveContextId(mte));
	if (MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1))
		die(NOT_RUN, "the run time does not stop");
	sum_exit();
	return status;
}
