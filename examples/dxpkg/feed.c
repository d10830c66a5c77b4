// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Feeders (lane 1): each reads one file, cuts it at the borders of stanzas into
 * chunks, makes a transaction of every chunk and waits for all of them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dxpkg.h"

#define CHUNK_STANZAS	64		/* of a chunk */
#define CHUNK_BYTES	(1 << 20)	/* after which it gets no more */
#define STANZA_BYTES	(16 << 20)	/* what is longer is no stanza */
#define WINDOW		8		/* chunks of a feeder that are alive */

#define APT_HELPER	"/usr/lib/apt/apt-helper"

extern char **environ;

static void set_error(struct input *input, const char *format, const char *arg)
{
	if (!input->error && asprintf(&input->error, format, arg) < 0)
		die(NOT_RUN, "memory exhausted");
}

/* --- the file -------------------------------------------------------------- */

/* Return: a pipe from a child that unpacks the file, or a negative errno. */
static int unpack(const char *path, pid_t *pid)
{
	char *argv[] = { (char *)APT_HELPER, (char *)"cat-file", (char *)path, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	int fd[2], rc;

	if (pipe2(fd, O_CLOEXEC))
		return -errno;
	/* A worker has its signals blocked; the child must not. */
	sigemptyset(&none);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fd[1], STDOUT_FILENO);
	rc = posix_spawn(pid, APT_HELPER, &actions, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	close(fd[1]);
	if (!rc)
		return fd[0];
	close(fd[0]);
	return -rc;
}

/**
 * packed_suffix - how a packed file is packed
 * @path: its name
 *
 * Return: where its suffix begins; %NULL: it is not packed.
 */
const char *packed_suffix(const char *path)
{
	static const char *const suffixes[] = { ".lz4", ".xz", ".gz", ".bz2", ".zst",
						".lzma" };
	size_t i, len = strlen(path), n;

	for (i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		n = strlen(suffixes[i]);
		if (len > n && !strcmp(path + len - n, suffixes[i]))
			return path + len - n;
	}
	return NULL;
}

static FILE *open_input(struct input *input, pid_t *pid)
{
	int fd = open(input->path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	FILE *f;

	*pid = 0;
	if (fd < 0) {
		set_error(input, "%s", strerror(errno));
		return NULL;
	}
	if (!fstat(fd, &st) && S_ISDIR(st.st_mode)) {
		set_error(input, "%s", strerror(EISDIR));
		close(fd);
		return NULL;
	}
	if (packed_suffix(input->path)) {
		close(fd);
		fd = unpack(input->path, pid);
		if (fd < 0) {
			set_error(input, "cannot be unpacked with " APT_HELPER
				  ", unpack it first: %s", strerror(-fd));
			return NULL;
		}
	}
	f = fdopen(fd, "r");
	if (!f)
		die(NOT_RUN, "memory exhausted");
	return f;
}

static void close_input(struct input *input, FILE *f, pid_t pid)
{
	int status = 0;

	if (ferror(f))
		set_error(input, "%s", strerror(EIO));
	fclose(f);
	if (!pid)
		return;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	/* Whoever stops reading early kills it by SIGPIPE. */
	if (status && !stopping())
		set_error(input, "could not be unpacked to its end%s", "");
}

/* --- transactions ---------------------------------------------------------- */

/* Takes the chunk. Return: it was posted. */
static bool post_chunk(struct chunk *chunk)
{
	const RQPost transaction = {
		.pOObject = chunk->input,
		.pXObject = &app.transaction,
		.pPObject = chunk,
		.RQEPriority = PRIO_TRANSACTION,
		.RQEAttrs = PXR_LANE2 | PXR_REJOIN | PXR_WAITIF_BUSY,
	};
	int rc = post(&transaction, 1);

	if (rc > 0)
		return true;
	if (rc != -ESHUTDOWN)
		die(NOT_RUN, "a transaction cannot be posted: %s", strerror(-rc));
	chunk_free(chunk);
	return false;
}

static void note_problem(struct input *input, const struct stanza *s)
{
	input->malformed++;
	if (input->nr < sizeof(input->problems) / sizeof(*input->problems))
		input->problems[input->nr++] = (struct problem){
			s->bad_line, s->problem,
		};
}

static void count_stanza(struct input *input, const struct stanza *s)
{
	input->stanzas++;
	switch (s->outcome) {
	case STORE:
		input->stored++;
		break;
	case NOT_INSTALLED:
		input->absent++;
		break;
	case MALFORMED:
		note_problem(input, s);
		break;
	case UNPARSED:
		break;
	}
}

/* Waits for a transaction. Return: there was one. */
static bool collect_chunk(struct input *input)
{
	struct chunk *chunk;
	RQElement done;
	size_t i;

	if (rejoin(input, &done, NULL, 0) != RJR_RETURNED)
		return false;
	chunk = done.pPObject;
	if (done.RQEStatus)
		fail("stanzas were not stored", strerror(-done.RQEStatus));
	for (i = 0; i < chunk->nr; i++)
		count_stanza(input, &chunk->stanzas[i]);
	chunk_free(chunk);
	return true;
}

/* --- the feeder ------------------------------------------------------------ */

/* The file as lines. */
struct reader {
	FILE *f;
	char *line;		/* the last one that was read, @len bytes; not terminated */
	size_t len, room;
	unsigned long nr;	/* its number */
};

/* One that is too long comes in pieces. Return: false at the end. */
static bool read_line(struct reader *r)
{
	int c;

	r->len = 0;
	while (r->len <= STANZA_BYTES && (c = getc_unlocked(r->f)) != EOF) {
		if (r->len == r->room) {
			r->room = 2 * r->room + 4096;
			r->line = xrealloc(r->line, r->room, 1);
		}
		r->line[r->len++] = (char)c;
		if (c == '\n')
			break;
	}
	r->nr += !!r->len;
	return r->len;
}

static bool is_blank(const struct reader *r)
{
	size_t i;

	for (i = 0; i < r->len; i++)
		if (!strchr(" \t\r\n", r->line[i]) || !r->line[i])
			return false;
	return true;
}

/*
 * Reads the next chunk, up to a border of stanzas. Return: %NULL at the end of the
 * file, and when it is none with stanzas.
 */
static struct chunk *read_chunk(struct input *input, struct reader *r)
{
	struct chunk *chunk = chunk_new(input);
	bool inside = false;

	while (read_line(r)) {
		if (is_blank(r)) {
			inside = false;
			if (chunk->nr >= CHUNK_STANZAS || chunk->len >= CHUNK_BYTES)
				break;
			continue;
		}
		if (!inside)
			chunk_add_stanza(chunk, r->nr);
		inside = true;
		chunk_add_line(chunk, r->line, r->len);
		if (chunk->stanzas[chunk->nr - 1].len > STANZA_BYTES) {
			set_error(input, "is no package list: more than 16 MB without an empty line%s", "");
			chunk->nr--;
			break;
		}
	}
	if (chunk->nr)
		return chunk;
	chunk_free(chunk);
	return NULL;
}

/*
 * The Runnable of a feeder. A window bounds how many of its chunks are alive, and
 * thereby the memory that a large file takes.
 */
int ExecuteFeeder(Runnable *self, void *request)
{
	struct input *input = request;
	struct reader reader = { 0 };
	struct chunk *chunk;
	unsigned int out = 0;
	pid_t pid;

	(void)self;
	reader.f = open_input(input, &pid);
	if (!reader.f)
		return 0;
	while (!stopping() && !input->error && (chunk = read_chunk(input, &reader))) {
		if (!post_chunk(chunk))
			break;
		if (++out == WINDOW)
			out -= collect_chunk(input);
	}
	while (collect_chunk(input))
		;
	free(reader.line);
	close_input(input, reader.f, pid);
	return 0;
}
