// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * dxfarm: SHA-256 of files, computed wherever the service runs that is asked.
 *
 * A request is the name of a file, so whoever serves has the same files at hand, below a
 * directory that all of its hosts mount. To ask a service on other hosts is to ask another
 * context, NAME@BROKER, which dxkd has made; the program does not differ. A sum may be computed
 * twice, so all requests have PXR_REDO: none is lost with the host that had it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <locale.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "../common.h"
#include "../names.h"

#define SERVICE		"dxfarm"
#define SUM		1		/* the only operation */
#define WINDOW		64
#define NAME_ROOM	512		/* the data of a request */

static const char usage[] =
"Usage: dxfarm [-n NAME] [-u USER] [-w N] <NAMES\n"
"       dxfarm -s [-n NAME] [-w N] [-m MODE] DIR\n"
"Print the SHA-256 of files as sha256sum does, in the order of NAMES, a line each: names\n"
"below the DIR of those who compute it.\n"
"\n"
"  -s          serve: compute it for others, of files below DIR\n"
"  -n NAME     context of the service (" SERVICE "); NAME@BROKER is on other hosts, see dxkd(8)\n"
"  -u USER     whose context it has to be, by name or number (anybody's)\n"
"  -w N        requests under way (64); to serve: threads (one for each CPU)\n"
"  -m MODE     to serve: permissions in octal, w may ask (0600)\n"
"  -h, --help  print this\n"
"\n"
"Exit status: 0; 1 when something could not be read; 2 when it could not run.\n";

struct program program = { .name = "dxfarm" };

/* --- who serves -------------------------------------------------------------- */

static int root = -1;

/* A name leads to nothing above DIR, and a fifo, say, is not waited for. */
static int open_below(const char *name)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, root, name, &how, sizeof(how));
	struct stat st;

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
}

static int digest(int fd, unsigned char *sum)
{
	static _Thread_local unsigned char block[64 * 1024];
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	int rc = md && EVP_DigestInit_ex(md, EVP_sha256(), NULL) == 1 ? 0 : -ENOMEM;
	ssize_t n = 1;

	while (!rc && n) {
		if (ShouldStop(0) == 1)
			rc = -ECANCELED;
		n = read(fd, block, sizeof(block));
		if (n < 0)
			rc = -errno;
		else if (EVP_DigestUpdate(md, block, (size_t)n) != 1)
			rc = -EIO;
	}
	if (!rc && EVP_DigestFinal_ex(md, sum, NULL) != 1)
		rc = -EIO;
	EVP_MD_CTX_free(md);
	return rc;
}

/* Whoever may post says what is in @request. */
static int sum_file(const RQElement *request)
{
	unsigned char sum[DIGEST_LEN];
	char name[NAME_ROOM + 1];
	int fd, rc;

	if (!request->RQEDataLen || request->RQEDataLen > NAME_ROOM ||
	    memchr(request->pData, 0, request->RQEDataLen))
		return -EINVAL;
	memcpy(name, request->pData, request->RQEDataLen);
	name[request->RQEDataLen] = '\0';
	fd = open_below(name);
	if (fd < 0)
		return fd;
	rc = digest(fd, sum);
	close(fd);
	return rc ? rc : SetRequestResult(sum, sizeof(sum));
}

static int serve(RunSettings *settings, unsigned int threads, const char *dir)
{
	static const Operation operations[] = { [SUM] = sum_file };
	static const OperationTable table = { .Operations = operations, .Count = SUM + 1 };
	ThreadManagerPolicy policy;
	MTExecutive *mte;

	root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		die(NOT_RUN, "%s: %s", dir, strerror(errno));
	ThreadManagerPolicyInit(&policy);
	if (threads)
		policy.TPMaxThreads = threads;
	policy.TPDataSize = NAME_ROOM;
	policy.TPRedoMax = 3;	/* of a file that kills who reads it */
	settings->Operations = &table;
	signals_block();
	mte = run_time(settings, &policy);
	signals_wait();
	return MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1) ? NOT_RUN : 0;
}

/* --- who asks ---------------------------------------------------------------- */

struct answer {
	char *name;
	bool here;
	int status;
	unsigned char sum[DIGEST_LEN];
};

static struct answer *answers;
static unsigned int nr, printed;
static bool failed;
static char owner;

/* What is here, as far as all before it is */
static void print(void)
{
	char *quoted;

	for (; printed < nr && answers[printed].here; printed++) {
		const struct answer *a = &answers[printed];

		if (!a->status) {
			print_sum(a->name, a->sum);
			continue;
		}
		failed = true;
		quoted = quote_file(a->name);
		tell("%s: %s", quoted, strerror(-a->status));
		free(quoted);
	}
}

/* Return: false at the end of the names. */
static bool read_name(void)
{
	char *name = NULL;
	size_t room = 0;
	ssize_t len = getline(&name, &room, stdin);

	if (len < 0) {
		if (ferror(stdin))
			die(NOT_RUN, "standard input: %s", strerror(errno));
		free(name);
		return false;
	}
	if (len && name[len - 1] == '\n')
		name[--len] = '\0';
	answers = xrealloc(answers, nr + 1, sizeof(*answers));
	answers[nr] = (struct answer){ .name = name };
	if (!len || (size_t)len > NAME_ROOM || memchr(name, 0, (size_t)len)) {
		answers[nr].status = len ? -ENAMETOOLONG : -ENOENT;
		answers[nr].here = true;
	}
	nr++;
	return true;
}

static void ask(unsigned int i)
{
	const RQPost request = {
		.pOObject = &owner,
		.pXObject = DX_OPERATION(SUM),
		.pPObject = (void *)(uintptr_t)i,
		.RQEAttrs = PXR_REJOIN | PXR_WAITIF_BUSY | PXR_REDO,
		.pData = answers[i].name,
		.RQEDataLen = (uint32_t)strlen(answers[i].name),
		.RQEResultRoom = DIGEST_LEN,
		.RQEFd = -1,
	};
	int rc = post(&request, 1);

	if (rc < 0)
		die(NOT_RUN, "the service takes no more: %s", strerror(-rc));
}

static void collect(void)
{
	unsigned char sum[DIGEST_LEN];
	struct answer *a;
	RQElement e;

	if (rejoin(&owner, &e, sum, sizeof(sum)) != RJR_RETURNED)
		die(NOT_RUN, "a request was lost");
	a = &answers[(uintptr_t)e.pPObject];
	a->status = e.RQEStatus;
	a->here = true;
	/* Whoever serves is not to be trusted with what zeros mean. */
	if (a->status > 0 || (!a->status && e.RQEDataLen != sizeof(sum)))
		a->status = -EPROTO;
	if (!a->status)
		memcpy(a->sum, sum, sizeof(sum));
	print();
}

static int64_t user_number(const char *user)
{
	struct passwd *pw = getpwnam(user);

	return pw ? (int64_t)pw->pw_uid : number("-u", user, 0, (unsigned int)-2);
}

static int client(const RunSettings *settings, unsigned int window, const char *user)
{
	char text[DX_ERROR_TEXT];
	MTExecutiveError error;
	unsigned int out = 0;
	bool more = true;

	if (!MTExecutiveJoin(settings, user ? user_number(user) : DX_ANY_OWNER, &error))
		die(NOT_RUN, "%s: %s", settings->ContextName,
		    MTExecutiveErrorText(&error, text, sizeof(text)));
	while (more || out) {
		while (more && out < window) {
			more = read_name();
			if (more && !answers[nr - 1].here) {
				ask(nr - 1);
				out++;
			}
		}
		if (out) {
			collect();
			out--;
		}
	}
	print();
	if (fflush(stdout) || ferror(stdout))
		die(NOT_RUN, "output: %s", strerror(errno));
	return failed;
}

int main(int argc, char **argv)
{
	const char *name = SERVICE, *user = NULL;
	unsigned int nr_given = 0, mode = 0600;
	bool serves = false;
	RunSettings settings;
	char *end;
	int opt;

	setlocale(LC_ALL, "");
	while ((opt = next_option(argc, argv, "sn:u:w:m:", usage)) != -1) {
		switch (opt) {
		case 's':
			serves = true;
			break;
		case 'n':
			name = optarg;
			break;
		case 'u':
			user = optarg;
			break;
		case 'w':
			nr_given = number("-w", optarg, 1, WORKERS_MAX);
			break;
		case 'm':
			mode = (unsigned int)strtoul(optarg, &end, 8);
			if (end == optarg || *end || mode > 0777)
				misuse("-m: '%s' is no mode", optarg);
			break;
		}
	}
	if (argc - optind != serves)
		misuse(serves ? "-s takes one directory" : "names are read from standard input");
	RunSettingsInit(&settings, program.name, argc, argv);
	settings.LogPath = "/dev/null";
	settings.ContextName = name;
	settings.ContextMode = mode;
	return serves ? serve(&settings, nr_given, argv[optind]) :
	       client(&settings, nr_given ? nr_given : WINDOW, user);
}
