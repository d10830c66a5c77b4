// SPDX-License-Identifier: GPL-2.0-only
/*
 * Both ends of a remote service, for scripts/check/remote-guest.sh.
 *
 *   dxkd_peer serve CTX WORKERS WORK_US LOG [PCT]
 *                                                makes CTX; processes execute its requests,
 *                                                each appends the param of what it begins to LOG.
 *                                                Lane 2 has PCT percent of them
 *   dxkd_peer tree CTX COUNT LANE SECONDS        posts requests to lane 2 of CTX; who executes
 *                                                one posts another to LANE of it, and waits for
 *                                                that. Says how many came back before none did
 *                                                for so long
 *   dxkd_peer app CTX COUNT WINDOW REDO [WORD [FIRST]]
 *                                                posts requests with params from FIRST on to
 *                                                CTX, REDO percent of them with PXR_REDO, and
 *                                                says what came back. WORD begins their data:
 *                                                "poison" kills who executes it; "payload"
 *                                                sends a sealed file with each
 *   dxkd_peer one CTX fd|open|sealed|poison|room|executor [BYTES]
 *                                                posts one, with a pipe, or a memfd of BYTES
 *                                                that is sealed or not; says its status, how
 *                                                often it was begun, and if its result is right
 *   dxkd_peer make CTX                           makes it, and does not start it
 *   dxkd_peer expire CTX                         posts four requests that end when their time is
 *                                                over, and one whose time is over before; says
 *                                                the statuses
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <dxk.h>

#define DATA	256
#define BATCH	64
#define SECOND	1000000000LL

static _Noreturn void fail(const char *what, int rc)
{
	fprintf(stderr, "dxkd_peer: %s: %s\n", what, strerror(-rc));
	exit(2);
}

static uint64_t hash(const char *data, size_t len, uint64_t seed)
{
	uint64_t sum = 14695981039346656037ULL ^ seed;
	size_t i;

	for (i = 0; i < len; i++)
		sum = (sum ^ (unsigned char)data[i]) * 1099511628211ULL;
	return sum;
}

/* A memfd with bytes that depend on @seed, and can be computed again */
static int payload(size_t len, uint64_t seed, bool sealed, uint64_t *sum)
{
	int fd = memfd_create("payload", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	char *data = malloc(len + 1);
	size_t i;

	for (i = 0; i < len; i++)
		data[i] = (char)((i * 31 + seed * 7) >> 3);
	if (fd < 0 || write(fd, data, len) != (ssize_t)len)
		fail("memfd", -errno);
	if (sealed && fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW))
		fail("seals", -errno);
	*sum = hash(data, len, seed);
	free(data);
	return fd;
}

/* The sum of what came with a request: sealed as it was, and all there from its beginning on */
static uint64_t sum_of(int fd, uint64_t seed)
{
	const int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
	size_t len = (size_t)lseek(fd, 0, SEEK_END), at = 0;
	char *data = malloc(len + 1);
	uint64_t sum;
	ssize_t n;

	if ((fcntl(fd, F_GET_SEALS) & seals) != seals || lseek(fd, 0, SEEK_SET))
		fail("the file that came", -EINVAL);
	while ((n = read(fd, data + at, len + 1 - at)) > 0)
		at += (size_t)n;
	if (n < 0 || at != len)
		fail("read", n < 0 ? -errno : -EIO);
	sum = hash(data, len, seed);
	free(data);
	close(fd);
	return sum;
}

static const uint16_t lanes[] = { PXR_LANE0, PXR_LANE1, PXR_LANE2, PXR_LANE3 };

static int client(const char *name)
{
	int ctl = dxk_open(), ctx, i, me;

	for (i = 0; (ctx = dxk_ctx_join(ctl, name, DXK_ACCESS_WRITE, 0, NULL)) == -ENOENT; i++) {
		if (i == 300)
			break;
		usleep(100000);
	}
	if (ctx < 0)
		fail(name, ctx);
	me = dxk_member_create(ctx, DXK_MEMBER_CLIENT, NULL);
	if (me < 0)
		fail("client", me);
	return me;
}

/* A request whose data is "child LANE CTX" is not done before another one is, there. */
static int wait_for_child(const char *data)
{
	struct dxk_post_entry e = {
		.owner = (uint64_t)getpid(), .data = (uintptr_t)"leaf", .data_len = 5,
		.result_len = 8, .attrs = PXR_REJOIN | PXR_WAITIF_BUSY,
	};
	struct dxk_result res;
	unsigned int lane;
	char name[32];
	uint64_t sum;
	int me, n;

	if (sscanf(data, "child %u %31s", &lane, name) != 2 || lane > 3)
		return 0;
	e.attrs |= lanes[lane];
	me = client(name);
	n = dxk_post(me, &e, 1, -1, NULL);
	if (n == 1)
		n = dxk_rejoin(me, e.owner, &res, 1, 1, &sum, sizeof(sum), -1, NULL);
	close(me);
	return n == 1 ? res.status : n;
}

static _Noreturn void work(int ctx, long us, int log)
{
	int me = dxk_member_create(ctx, DXK_MEMBER_WORKER, NULL), n;
	struct dxk_done d, *done = NULL;
	struct timespec time = { us / 1000000, us % 1000000 * 1000 };
	static char data[4096];
	struct dxk_work w;
	char line[32];
	uint64_t sum;

	if (me < 0)
		fail("worker", me);
	for (;;) {
		n = dxk_next(me, done, !!done, NULL, &w, 1, data, sizeof(data), -1);
		done = NULL;
		if (n == -ESHUTDOWN)
			exit(0);
		if (n < 0 && n != -EINTR)
			fail("next", n);
		if (n < 1)
			continue;
		n = snprintf(line, sizeof(line), "%llu\n", (unsigned long long)w.param);
		if (write(log, line, (size_t)n) != n)
			fail("log", -errno);
		if (!strncmp(data, "poison", 6))
			kill(getpid(), SIGKILL);
		nanosleep(&time, NULL);
		sum = hash(data, w.data_len, w.param ^ w.executor);
		if (w.fd >= 0)
			sum ^= sum_of(w.fd, w.param);
		d = (struct dxk_done){ .ticket = w.ticket, .data = (uintptr_t)&sum,
				       .data_len = sizeof(sum), .status = wait_for_child(data) };
		if (!strncmp(data, "stop", 4))
			d.status = dxk_should_stop(me, 60 * SECOND) + 4;
		done = &d;
	}
}

static int serve(const char *name, int workers, long us, const char *path, uint32_t lane2)
{
	struct dxk_ctx_create create = { .mode = 0777 };
	int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600), ctx, i;
	struct dxk_policy policy;

	snprintf(create.name, sizeof(create.name), "%s", name);
	ctx = dxk_ctx_create_as(dxk_open(), &create);
	if (ctx < 0 || log < 0)
		fail(name, ctx < 0 ? ctx : -errno);
	dxk_policy_get(ctx, &policy);
	policy.max_threads = (uint32_t)workers;
	policy.kernel_threads = 0;
	policy.max_waiting = 16;
	policy.sched_mode = lane2 ? TPOOL_MODE_CMLS : 0;
	policy.lane_pct[2] = lane2;
	i = dxk_policy_set(ctx, &policy, NULL);
	if (!i)
		i = dxk_ctx_start(ctx);
	if (i)
		fail("start", i);
	puts("serves");
	fflush(stdout);
	for (i = 0;; i++) {
		if (i >= workers)
			wait(NULL);
		if (!fork())
			work(ctx, us, log);
	}
}

static int app(const char *name, unsigned int count, unsigned int window, unsigned int redo,
	       const char *word, uint64_t first)
{
	unsigned int posted = 0, back = 0, dead = 0, other = 0, wrong = 0, twice = 0, early = 0;
	char *seen = calloc(count, 1), data[DATA] = "";
	uint64_t *want = calloc(count, sizeof(*want));
	struct dxk_result res[BATCH];
	uint64_t got[BATCH], sum;
	unsigned int answer = 0;
	int me = client(name), n, i;

	srand(1);
	while (back < count) {
		for (; posted < count && posted - back < window; posted++) {
			struct dxk_post_entry e = {
				.owner = 7, .param = first + posted, .executor = ~first,
				.data = (uintptr_t)data, .data_len = DATA, .result_len = 8,
				.prio = rand() % 120, .attrs = PXR_REJOIN | PXR_WAITIF_BUSY |
				(posted % 100 < redo ? PXR_REDO : 0),
			};

			snprintf(data, sizeof(data), "%s %u", word, posted);
			want[posted] = hash(data, DATA, e.param ^ e.executor);
			if (!strcmp(word, "payload")) {
				e.attrs |= PXR_FD;
				e.fd = payload(posted * 1237 % 40000, e.param, true, &sum);
				want[posted] ^= sum;
			}
			n = dxk_post(me, &e, 1, -1, NULL);
			if (n != 1)
				fail("post", n);
			if (e.attrs & PXR_FD)
				close(e.fd);
		}
		n = dxk_rejoin(me, 7, res, BATCH, 1, got, sizeof(*got), 120 * SECOND, &answer);
		if (n < 0)
			fail("rejoin", n);
		if (!n && answer == RJR_NONE_EXIST)
			early++;
		if (!n)
			break;
		for (i = 0; i < n; i++) {
			uint64_t at = res[i].param - first;

			if (at >= count || seen[at]++)
				twice++;
			else if (res[i].status == -EOWNERDEAD)
				dead++;
			else if (res[i].status)
				other++, fprintf(stderr, "status %d\n", res[i].status);
			else if (res[i].data_len != 8 || got[i] != want[at])
				wrong++;
		}
		back += (unsigned int)n;
	}
	dxk_rejoin(me, 7, res, BATCH, 1, NULL, 0, 0, &answer);
	printf("back=%u dead=%u other=%u wrong=%u twice=%u early=%u none=%d\n", back, dead, other,
	       wrong, twice, early, answer == RJR_NONE_EXIST);
	return 0;
}

static int tree(const char *name, unsigned int count, unsigned int lane, int64_t seconds)
{
	struct dxk_result res[BATCH];
	unsigned int i, back = 0, bad = 0;
	struct dxk_post_entry e = {
		.owner = 7, .data_len = DATA, .result_len = 8, .attrs = PXR_REJOIN |
		PXR_WAITIF_BUSY | PXR_LANE2,
	};
	int me = client(name), n;
	char data[DATA] = "";
	uint64_t got[BATCH];

	snprintf(data, sizeof(data), "child %u %s", lane, name);
	e.data = (uintptr_t)data;
	for (i = 0; i < count; i++) {
		n = dxk_post(me, &e, 1, -1, NULL);
		if (n != 1)
			fail("post", n);
	}
	while (back < count) {
		n = dxk_rejoin(me, 7, res, BATCH, 1, got, sizeof(*got), seconds * SECOND, NULL);
		if (n <= 0)
			break;
		for (i = 0; i < (unsigned int)n; i++)
			if (res[i].status && !bad++)
				fprintf(stderr, "status %d\n", res[i].status);
		back += (unsigned int)n;
	}
	printf("back=%u bad=%u\n", back, bad);
	return 0;
}

static int one(const char *name, const char *what, size_t bytes)
{
	struct dxk_post_entry e = { .owner = 7, .result_len = 8, .attrs = PXR_REJOIN };
	struct dxk_result res = { 0 };
	uint64_t want = 0, got;
	char data[4096];
	int me = client(name), n, fds[2];

	if (!strcmp(what, "fd")) {
		if (pipe(fds))
			fail("pipe", -errno);
		e.attrs |= PXR_FD;
		e.fd = fds[0];
	}
	if (!strcmp(what, "open") || !strcmp(what, "sealed")) {
		e.attrs |= PXR_FD;
		e.fd = payload(bytes, 0, *what == 's', &want);
	}
	if (!strcmp(what, "poison")) {
		e.attrs |= PXR_REDO;
		e.data = (uintptr_t)what;
		e.data_len = 7;
	}
	if (!strcmp(what, "room"))
		e.result_len = 1024;
	want ^= hash(what, e.data_len, 0);
	n = dxk_post(me, &e, 1, -1, NULL);
	if (n != 1)
		fail("post", n);
	n = dxk_rejoin(me, 7, &res, 1, 1, data, sizeof(data), 60 * SECOND, NULL);
	if (n != 1)
		fail("rejoin", n);
	memcpy(&got, data, sizeof(got));
	printf("status=%d begun=%u %s\n", res.status, res.attempts,
	       res.data_len == sizeof(got) && got == want ? "right" : "no result");
	return 0;
}

static int make(const char *name)
{
	struct dxk_ctx_create create = { .mode = 0777 };
	int ctx;

	snprintf(create.name, sizeof(create.name), "%s", name);
	ctx = dxk_ctx_create_as(dxk_open(), &create);
	if (ctx < 0)
		fail(name, ctx);
	puts("made");
	fflush(stdout);
	return pause();
}

static int expire(const char *name)
{
	struct dxk_post_more e = {
		.post = { .owner = 7, .data = (uintptr_t)"stop", .data_len = 5, .result_len = 8,
			  .prio = 1, .attrs = PXR_REJOIN | PXR_EXPIRE },
	};
	int me = client(name), status[5], i, n;
	struct dxk_result res;
	struct timespec ts;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = (uint64_t)ts.tv_sec * SECOND + (uint64_t)ts.tv_nsec;
	for (i = 0; i < 5; i++) {
		e.post.param = (uint64_t)i;
		e.post.prio = i < 4;
		e.expire = now + (i < 4 ? 8 : 4) * SECOND;
		n = dxk_post_more(me, &e, 1, 0, NULL);
		if (n != 1)
			fail("post", n);
	}
	for (i = 0; i < 5; i++) {
		n = dxk_rejoin(me, 7, &res, 1, 1, NULL, 0, 60 * SECOND, NULL);
		if (n != 1 || res.param > 4)
			fail("rejoin", n);
		status[res.param] = res.status;
	}
	printf("statuses %d %d %d %d %d\n", status[0], status[1], status[2], status[3], status[4]);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc >= 6 && !strcmp(argv[1], "serve"))
		return serve(argv[2], atoi(argv[3]), atol(argv[4]), argv[5],
			     argc > 6 ? (uint32_t)atoi(argv[6]) : 0);
	if (argc == 6 && !strcmp(argv[1], "tree"))
		return tree(argv[2], (unsigned int)atoi(argv[3]), (unsigned int)atoi(argv[4]),
			    atoi(argv[5]));
	if (argc >= 6 && !strcmp(argv[1], "app"))
		return app(argv[2], (unsigned int)atoi(argv[3]), (unsigned int)atoi(argv[4]),
			   (unsigned int)atoi(argv[5]), argc > 6 ? argv[6] : "work",
			   argc > 7 ? strtoull(argv[7], NULL, 0) : 1);
	if (argc >= 4 && !strcmp(argv[1], "one"))
		return one(argv[2], argv[3], argc > 4 ? strtoul(argv[4], NULL, 0) : 0);
	if (argc == 3 && !strcmp(argv[1], "make"))
		return make(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "expire"))
		return expire(argv[2]);
	/* among all test programs it is none */
	if (argc == 1)
		puts("TAP version 13\n1..0 # SKIP for scripts/check/remote.sh");
	return argc == 1 ? 4 : 2;
}
