// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the fuzzer looks at after an input: complaints of the kernel, contexts and
 * threads that should be gone. And the last inputs, in a file that outlives the
 * guest.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

#define RING_SLOTS	64
#define CONTEXTS_EVERY	8	/* inputs between two looks for contexts that are left */
#define THREADS_EVERY	64	/* and for threads, which takes longer */

struct slot {
	uint32_t seq;
	uint32_t size;
	uint8_t data[STEPS_MAX * sizeof(struct step)];
};

static int ring = -1, kmsg = -1;
static uint32_t seq;
static regex_t complaint;
static bool have_complaint;

void guard_fail(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "fuzz: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
	/* libFuzzer keeps the input */
	abort();
}

static void nap(unsigned int ms)
{
	struct timespec t = { .tv_nsec = ms * 1000000L };

	nanosleep(&t, NULL);
}

void guard_init(void)
{
	const char *name = getenv("DXK_FUZZ_RING");
	const char *pattern = getenv("DXK_FUZZ_COMPLAINT");

	if (name) {
		ring = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		if (ring < 0)
			guard_fail("%s: %s", name, strerror(errno));
	}
	if (!pattern)
		return;
	if (regcomp(&complaint, pattern, REG_EXTENDED | REG_NOSUB))
		guard_fail("the pattern of complaints is none");
	have_complaint = true;
	kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (kmsg < 0 || lseek(kmsg, 0, SEEK_END) < 0)
		guard_fail("/dev/kmsg: %s", strerror(errno));
}

/** guard_before - this input runs next; what comes then may be the guest's end */
void guard_before(const uint8_t *data, size_t size)
{
	struct slot s = { .seq = ++seq, .size = size };

	if (ring < 0)
		return;
	if (s.size > sizeof(s.data))
		s.size = sizeof(s.data);
	memcpy(s.data, data, s.size);
	if (pwrite(ring, &s, sizeof(s), (off_t)(seq % RING_SLOTS) * sizeof(s)) < 0)
		guard_fail("the ring of inputs: %s", strerror(errno));
}

/* One record of the kernel's log, or false when there is no other. */
static bool kmsg_next(char *text, size_t room)
{
	ssize_t len;

	do
		len = read(kmsg, text, room - 1);
	while (len < 0 && errno == EPIPE);	/* some were overwritten */
	if (len <= 0)
		return false;
	text[len] = 0;
	return true;
}

static void look_for_complaints(void)
{
	char text[4096];
	bool found = false;

	if (!have_complaint)
		return;
	while (kmsg_next(text, sizeof(text))) {
		if (!found && !regexec(&complaint, text, 0, NULL, 0)) {
			found = true;
			fprintf(stderr, "fuzz: the kernel complains:\n");
			nap(200);
		}
		if (found)
			fprintf(stderr, "  | %s", strchr(text, ';') ?: text);
	}
	if (found)
		guard_fail("the kernel complained");
}

/* Directories of contexts have numbers as names. */
static int nr_contexts(void)
{
	DIR *dir = opendir("/sys/kernel/dxk");
	struct dirent *d;
	int nr = 0;

	if (!dir)
		guard_fail("/sys/kernel/dxk: %s", strerror(errno));
	while ((d = readdir(dir)))
		nr += d->d_name[0] >= '0' && d->d_name[0] <= '9';
	closedir(dir);
	return nr;
}

/* Kernel threads of dxk; the fuzzer itself has another name. */
static int nr_threads(char *one, size_t room)
{
	char path[64], comm[32];
	DIR *dir = opendir("/proc");
	struct dirent *d;
	int nr = 0, fd;

	while ((d = readdir(dir))) {
		if (d->d_name[0] < '0' || d->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%.16s/comm", d->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (read(fd, comm, sizeof(comm)) > 3 && !strncmp(comm, "dxk", 3)) {
			snprintf(one, room, "%.*s", (int)strcspn(comm, "\n"), comm);
			nr++;
		}
		close(fd);
	}
	closedir(dir);
	return nr;
}

/* All descriptors are closed: all contexts, and their threads, have to end. */
static void look_for_contexts(void)
{
	int i;

	for (i = 0; nr_contexts(); i++) {
		if (i == 1000)
			guard_fail("contexts are left after 10 s");
		nap(10);
	}
}

static void look_for_threads(void)
{
	char one[32] = "";
	int i;

	for (i = 0; nr_threads(one, sizeof(one)); i++) {
		if (i == 100)
			guard_fail("kernel thread %s is left after 10 s", one);
		nap(100);
	}
}

void guard_after(void)
{
	look_for_complaints();
	if (seq % CONTEXTS_EVERY == 0)
		look_for_contexts();
	if (seq % THREADS_EVERY == 0)
		look_for_threads();
}

/** guard_end - no further input comes */
void guard_end(void)
{
	look_for_contexts();
	look_for_threads();
	look_for_complaints();
}

/** guard_unpack - write the inputs of a ring into files, the oldest first */
int guard_unpack(const char *name, const char *dir)
{
	char path[4096];
	FILE *in = fopen(name, "r"), *out;
	struct slot s;

	if (!in) {
		perror(name);
		return 1;
	}
	while (fread(&s, sizeof(s), 1, in) == 1) {
		if (!s.seq || s.size > sizeof(s.data))
			continue;
		snprintf(path, sizeof(path), "%s/last-%08u", dir, s.seq);
		out = fopen(path, "w");
		if (!out || fwrite(s.data, 1, s.size, out) != s.size || fclose(out)) {
			perror(path);
			return 1;
		}
	}
	fclose(in);
	return 0;
}
