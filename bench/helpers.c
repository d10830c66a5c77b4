// SPDX-License-Identifier: GPL-2.0-only
/*
 * The second thread and the second process of a measurement, servers, sockets.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

static pthread_t partner;

void partner_start(void *(*fn)(void *), void *arg)
{
	errno = pthread_create(&partner, NULL, fn, arg);
	if (errno)
		die("pthread_create");
}

void partner_join(void)
{
	pthread_join(partner, NULL);
}

int child_start(void (*fn)(void))
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		die("fork");
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent)
		fn();
	_exit(0);
}

void child_end(int pid, int signal)
{
	if (signal)
		kill(pid, signal);
	waitpid(pid, NULL, 0);
}

int server_start(const char *const argv[])
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (!pid) {
		int null = open("/dev/null", O_RDWR);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	return pid;
}

int socket_connect(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		die("socket");
	strncpy(addr.sun_path, path, sizeof(addr.sun_path) - 1);
	for (int i = 0; i < 1000; i++) {
		if (!connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
			return fd;
		usleep(10000);
	}
	die("connect %s", path);
}

void read_all(int fd, void *buf, size_t len)
{
	char *at = buf;

	while (len) {
		ssize_t got = read(fd, at, len);

		if (got <= 0)
			die("read gave %zd", got);
		at += got;
		len -= (size_t)got;
	}
}

void write_all(int fd, const void *buf, size_t len)
{
	const char *at = buf;

	while (len) {
		ssize_t put = write(fd, at, len);

		if (put <= 0)
			die("write gave %zd", put);
		at += put;
		len -= (size_t)put;
	}
}
