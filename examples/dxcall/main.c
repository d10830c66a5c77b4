// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * dxcall: has a running dxserve do something with files. Each open file goes with its
 * request, so the service needs no right to it and reads just what the caller may.
 * The answers are printed in the order of the arguments. What a service has accepted is
 * answered also when it is told to end.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <locale.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dxk.h>

#include "../common.h"
#include "../dxserve/service.h"
#include "../names.h"

/* Requests on their way at a time; their files are open. */
#define WINDOW	64

static const char usage[] =
"Usage: dxcall [OPTION]... OPERATION FILE...\n"
"Have dxserve work on files. OPERATION is sha256 (as sha256sum prints it) or\n"
"count (lines, words, bytes).\n"
"\n"
"  -n NAME     the service's context (" SERVICE_NAME ")\n"
"  -u USER     whose service it has to be, by name or number; anybody's: any\n"
"              (root's or one's own: the files are given to who runs it)\n"
"  -t SECONDS  how long to wait for an answer (for ever)\n"
"  -h, --help  print this\n"
"\n"
"Exit status: 0; 1 when something could not be done to a file; 2 when there is no\n"
"service, or it does not answer, or ends before it has taken all. What it has taken it\n"
"answers.\n";

/* The answers, by index of the file. */
struct answer {
	bool here;
	int status;
	union {
		unsigned char digest[DIGEST_LEN];
		struct counts counts;
	};
};

struct program program = { .name = "dxcall" };

static enum operation operation;
static char **names;
static struct answer *answers;
static unsigned int nr_files, printed;
static bool failed;
static bool ends;	/* the service takes no more */

static _Noreturn void give_up(const char *what, int rc, const char *advice)
{
	die(NOT_RUN, "%s: %s%s%s", what, strerror(-rc), *advice ? "; " : "", advice);
}

/* As wc does: a line for a file, whatever its name is. */
static void print_counts(const char *name, const struct counts *c)
{
	char *quoted = strchr(name, '\n') ? quote_file(name) : NULL;

	printf("%llu %llu %llu %s\n", (unsigned long long)c->lines,
	       (unsigned long long)c->words, (unsigned long long)c->bytes,
	       quoted ? quoted : name);
	free(quoted);
}

static void complain(const char *name, int status)
{
	char *quoted = quote_file(name);

	tell("%s: %s", quoted, strerror(-status));
	free(quoted);
	failed = true;
}

/* Prints what is there, up to the first that is not. */
static void print(void)
{
	for (; printed < nr_files && answers[printed].here; printed++) {
		const struct answer *a = &answers[printed];

		if (a->status)
			complain(names[printed], a->status);
		else if (operation == OP_SHA256)
			print_sum(names[printed], a->digest);
		else
			print_counts(names[printed], &a->counts);
	}
}

static void answered(unsigned int i, int status, const void *data, size_t len)
{
	struct answer *a = &answers[i];
	size_t whole = operation == OP_SHA256 ? sizeof(a->digest) : sizeof(a->counts);

	/* Whoever serves is not to be trusted with what zeros mean. */
	if (status > 0 || (!status && len != whole))
		status = -EPROTO;
	if (!status)
		memcpy(a->digest, data, len);
	a->status = status;
	a->here = true;
	print();
}

/* Return: 1 when the request is on its way; 0 when there is nothing to ask for. */
static int post_file(int member, unsigned int i, int64_t timeout)
{
	struct dxk_post_entry e = {
		.executor = operation,
		.param = i,
		.result_len = sizeof(answers[i].digest),
		/* a worker that dies over it is replaced by another one */
		.attrs = PXR_REJOIN | PXR_WAITIF_BUSY | PXR_REDO | PXR_FD,
		.fd = open(names[i], O_RDONLY | O_CLOEXEC),
	};
	struct stat st;
	int rc;

	if (e.fd < 0) {
		answered(i, -errno, NULL, 0);
		return 0;
	}
	if (fstat(e.fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		close(e.fd);
		answered(i, -EISDIR, NULL, 0);
		return 0;
	}
	rc = dxk_post(member, &e, 1, timeout, NULL);
	close(e.fd);
	if (rc == -ESHUTDOWN) {
		ends = true;
		return 0;
	}
	/* no file that can be handed over: a socket, say */
	if (rc == -ELOOP) {
		answered(i, rc, NULL, 0);
		return 0;
	}
	if (rc < 0)
		give_up("post", rc, "");
	return 1;
}

/*
 * A service that ends or is cancelled ends the sleep of those who wait, once each, and
 * then goes on with what it has taken. Told more often, nothing comes any more.
 */
#define STOPS	2

static unsigned int collect(int member, int64_t timeout)
{
	unsigned char data[WINDOW][sizeof(answers->digest)];
	struct dxk_result r[WINDOW];
	unsigned int answer, told = 0;
	int n, i;

	do
		n = dxk_rejoin(member, 0, r, WINDOW, 1, data, sizeof(data[0]), timeout,
			       &answer);
	while (n == -ESHUTDOWN && told++ < STOPS);
	if (n < 0)
		give_up("rejoin", n, n == -ESHUTDOWN ? "the service has gone" : "");
	if (!n)
		give_up("no answer in time", -ETIMEDOUT, "does the service have workers?");
	for (i = 0; i < n; i++)
		answered((unsigned int)r[i].param, r[i].status, data[i], r[i].data_len);
	return (unsigned int)n;
}

static void work(int member, int64_t timeout)
{
	unsigned int next = 0, out = 0;

	while ((next < nr_files && !ends) || out) {
		while (next < nr_files && out < WINDOW && !ends)
			out += (unsigned int)post_file(member, next++, timeout);
		if (out)
			out -= collect(member, timeout);
	}
	if (ends)
		give_up("post", -ESHUTDOWN, "the service ends");
}

/* Is this user the one that is asked for? */
static bool is_user(const char *user, uid_t uid)
{
	struct passwd *pw;
	unsigned long n;
	char *end;

	if (!user)
		return !uid || uid == geteuid();
	if (!strcmp(user, "any"))
		return true;
	pw = getpwnam(user);
	if (pw)
		return pw->pw_uid == uid;
	n = strtoul(user, &end, 10);
	return end != user && !*end && n == uid;
}

/* Anybody may have taken the name: nothing is given away before the owner is known. */
static int enter(const char *name, const char *user)
{
	struct dxk_ctx_join join = { .access = DXK_ACCESS_WRITE };
	int ctl = dxk_open();
	int ctx, m;

	if (ctl < 0)
		give_up("/dev/dxk", ctl, "\"dxkctl doctor\" tells why");
	strncpy(join.name, name, sizeof(join.name) - 1);
	ctx = strlen(name) < sizeof(join.name) ? dxk_ctx_join_as(ctl, &join) : -EINVAL;
	if (ctx >= 0 && !is_user(user, join.uid))
		give_up(name, -EPERM, "it is another user's service, see -u");
	if (ctx < 0)
		give_up(name, ctx, ctx == -ENOENT ? "no service of that name runs" :
			       ctx == -EACCES ? "its owner does not let you call it" :
			       ctx == -EINVAL ? "no name for a context" : "");
	m = dxk_member_create(ctx, DXK_MEMBER_CLIENT, NULL);
	if (m < 0)
		give_up("member", m, "");
	return m;
}

int main(int argc, char **argv)
{
	const char *name = SERVICE_NAME, *user = NULL;
	int64_t timeout = -1;
	double seconds;
	char *end;
	int opt;

	setlocale(LC_ALL, "");
	while ((opt = next_option(argc, argv, "n:u:t:", usage)) != -1) {
		switch (opt) {
		case 'n':
			name = optarg;
			break;
		case 'u':
			user = optarg;
			break;
		case 't':
			seconds = strtod(optarg, &end);
			if (end == optarg || *end || !(seconds >= 0 && seconds < 1e9)) {
				fputs(usage, stderr);
				return 2;
			}
			timeout = (int64_t)(seconds * 1e9);
			break;
		}
	}
	if (optind + 1 >= argc ||
	    (strcmp(argv[optind], "sha256") && strcmp(argv[optind], "count"))) {
		fputs(usage, stderr);
		return 2;
	}
	operation = *argv[optind] == 's' ? OP_SHA256 : OP_COUNT;
	names = argv + optind + 1;
	nr_files = (unsigned int)(argc - optind - 1);
	answers = calloc(nr_files, sizeof(*answers));
	if (!answers)
		give_up("memory", -ENOMEM, "");
	work(enter(name, user), timeout);
	if (fflush(stdout) || ferror(stdout))
		give_up("output", -EIO, "");
	return failed;
}
