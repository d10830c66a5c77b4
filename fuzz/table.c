// SPDX-License-Identifier: GPL-2.0-only
/* The descriptors that an input made, and a few files of other kinds. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "actor.h"

#define OBJECTS_MAX	64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct object objects[OBJECTS_MAX];
static unsigned int nr_objects;
static int files[NR_FILES];
static int pipe_out, peer;	/* the other ends of the pipe and the socket */
static int first_fd;

static void lock_it(void)
{
	pthread_mutex_lock(&lock);
}

static void unlock_it(void)
{
	pthread_mutex_unlock(&lock);
}

void table_init(void)
{
	char name[] = "/tmp/fuzz-XXXXXX", log[] = "/tmp/fuzz-log-XXXXXX";
	int pair[2], fd;

	fd = mkstemp(name);
	if (fd < 0 || ftruncate(fd, 5000))
		guard_fail("no file in /tmp");
	files[0] = fd;
	fd = mkstemp(log);
	close(fd);
	files[1] = open(log, O_RDWR | O_APPEND | O_CLOEXEC);
	if (pipe(pair))
		guard_fail("no pipe");
	files[2] = pair[1];
	pipe_out = pair[0];
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		guard_fail("no socket");
	files[3] = pair[0];
	peer = pair[1];
	files[4] = epoll_create1(EPOLL_CLOEXEC);
	files[5] = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	files[6] = -1;
	unlink(name);
	unlink(log);
	pthread_atfork(lock_it, unlock_it, unlock_it);
}

/** table_begin - what is open now is not the input's: libFuzzer has files, too */
void table_begin(void)
{
	first_fd = dup(0);
	close(first_fd);
}

int table_file(uint8_t which)
{
	return files[which % NR_FILES];
}

static void empty(int fd)
{
	char bytes[256];

	while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
}

/** table_poke - something happens to the pipe or the socket, that requests may wait for */
void table_poke(uint8_t what)
{
	char byte = 0;

	if (what & 1)
		send(peer, &byte, 1, MSG_DONTWAIT);
	if (what & 2)
		empty(files[3]);
	if (what & 4 && write(files[2], &byte, 1) == 1 && read(pipe_out, &byte, 1) != 1)
		guard_fail("a byte is gone");
	if (what & 8)
		empty(peer);
}

/** table_reset - close what the input made, known or not */
void table_reset(void)
{
	nr_objects = 0;
	empty(files[3]);
	empty(peer);
	close_range(first_fd, ~0U, 0);
	if (ftruncate(files[1], 0))
		guard_fail("the log file");
}

void table_add(int fd, enum kind kind, unsigned int maker, uint32_t id)
{
	pthread_mutex_lock(&lock);
	if (nr_objects < OBJECTS_MAX)
		objects[nr_objects++] = (struct object) {
			.fd = fd, .kind = kind, .maker = maker, .id = id,
		};
	pthread_mutex_unlock(&lock);
}

void table_remove(int fd)
{
	unsigned int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < nr_objects; i++)
		if (objects[i].fd == fd) {
			memmove(objects + i, objects + i + 1,
				(nr_objects - i - 1) * sizeof(*objects));
			nr_objects--;
			break;
		}
	pthread_mutex_unlock(&lock);
}

static bool fits(const struct object *o, enum kind kind, unsigned int maker, uint8_t obj)
{
	if (obj >= 0xf0)
		return true;
	/* what a client can do a worker can */
	if (o->kind != kind && !(kind == CLIENT && o->kind == WORKER))
		return false;
	return kind < CLIENT || o->maker == maker || obj & 0x40;
}

/**
 * table_find - the descriptor that a step names
 * @kind: of what it is for
 * @maker: who made it, or the call is refused
 * @obj: struct step's
 * @out: what was found
 */
bool table_find(enum kind kind, unsigned int maker, uint8_t obj, struct object *out)
{
	unsigned int i, nr = 0, which;

	pthread_mutex_lock(&lock);
	for (i = 0; i < nr_objects; i++)
		nr += fits(&objects[i], kind, maker, obj);
	which = nr ? (obj & 7) % nr : 0;
	for (i = 0; nr && i < nr_objects; i++)
		if (fits(&objects[i], kind, maker, obj) && !which--) {
			*out = objects[i];
			break;
		}
	pthread_mutex_unlock(&lock);
	return nr;
}
