// SPDX-License-Identifier: LGPL-2.1-or-later
/* The replies to a connection's requests. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dxhttpd.h"
#include "http.h"

/* Files up to that many bytes go out with the head, in one piece. */
#define SMALL		4096
/* A head's, with a path of which each byte is encoded */
#define REPLY_HEAD	(1024 + 3 * PATH_LEN)

struct reply {
	OutputQueue *out;
	const struct http_request *request;
	int status;
	size_t len;
	char text[REPLY_HEAD + SMALL];
};

static const char *now(void)
{
	static __thread char text[32];
	static __thread time_t last;
	time_t t = time(NULL);

	if (t != last)
		http_date(text, t);
	last = t;
	return text;
}

__attribute__((__format__(__printf__, 2, 3)))
static void add(struct reply *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	r->len += (size_t)vsnprintf(r->text + r->len, REPLY_HEAD - r->len, format, args);
	va_end(args);
}

static void begin(struct reply *r, int status, int64_t length)
{
	r->status = status;
	r->len = 0;
	add(r, "HTTP/1.1 %d %s\r\nServer: dxhttpd\r\nDate: %s\r\nContent-Length: %lld\r\n"
	    "Connection: %s\r\n", status, http_reason(status), now(), (long long)length,
	    r->request->keep ? "keep-alive" : "close");
}

static int send_text(struct reply *r)
{
	return OutputQueue_enqueue(r->out, r->text, r->len) ? 0 : -ENOMEM;
}

/* A reply whose body says its status. @field: a further one of the head */
static int complain(struct reply *r, int status, const char *field)
{
	char body[128];
	int n = snprintf(body, sizeof(body), "%d %s\n", status, http_reason(status));

	begin(r, status, n);
	add(r, "Content-Type: text/plain\r\n%s\r\n%s", field,
	    r->request->method == METHOD_HEAD ? "" : body);
	return send_text(r);
}

static int status_of(int error)
{
	switch (error) {
	case EACCES:
	case EPERM:
		return 403;
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case EAGAIN:
		return 503;
	case ENOENT:
	case ENOTDIR:
	case ENAMETOOLONG:
	case ELOOP:
	case EXDEV:	/* beyond the root */
	case ENXIO:
		return 404;
	}
	return 500;
}

/* Nothing beyond the root is opened, whatever the path is and links say. */
static int open_below(const char *path)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, server.root, path, &how, sizeof(how));
}

/* Return: a descriptor, and in @st what it is; or -1, and errno. */
static int open_file(const char *path, struct stat *st)
{
	int fd = open_below(path), error;

	if (fd < 0 || !fstat(fd, st))
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

/* A directory that was named without its slash */
static int redirect(struct reply *r)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				    "-._~/!$&'()*+,;=:@";
	char field[REPLY_HEAD];
	size_t n;

	n = (size_t)sprintf(field, "Location: /");
	for (const char *p = r->request->path; *p; p++)
		n += (size_t)sprintf(field + n, strchr(plain, *p) ? "%c" : "%%%02X",
				     (unsigned char)*p);
	strcpy(field + n, "/\r\n");
	return complain(r, 301, field);
}

static void add_file_fields(struct reply *r, const char *path, const struct stat *st)
{
	char date[32];

	http_date(date, st->st_mtime);
	add(r, "Content-Type: %s\r\nLast-Modified: %s\r\nAccept-Ranges: bytes\r\n",
	    http_type(path), date);
}

/* Takes @fd over. */
static int send_file(struct reply *r, const char *path, int fd, const struct stat *st)
{
	int64_t first, count;
	char field[64];
	int status, rc = 0;
	ssize_t n = 0;

	if (r->request->since && st->st_mtime <= r->request->since) {
		begin(r, 304, st->st_size);
		add_file_fields(r, path, st);
		add(r, "\r\n");
		close(fd);
		return send_text(r);
	}
	status = http_range(r->request, st->st_size, &first, &count);
	if (status == 416) {
		close(fd);
		sprintf(field, "Content-Range: bytes */%lld\r\n", (long long)st->st_size);
		return complain(r, 416, field);
	}
	begin(r, status, count);
	add_file_fields(r, path, st);
	if (status == 206)
		add(r, "Content-Range: bytes %lld-%lld/%lld\r\n", (long long)first,
		    (long long)(first + count - 1), (long long)st->st_size);
	add(r, "\r\n");
	if (r->request->method == METHOD_HEAD || !count) {
		close(fd);
		return send_text(r);
	}
	if (count > SMALL) {
		if (OutputQueue_enqueueFile(r->out, r->text, r->len, fd, first, (size_t)count))
			return 0;
		close(fd);
		return -ENOMEM;
	}
	n = pread(fd, r->text + r->len, (size_t)count, first);
	close(fd);
	/* It has become shorter: what the head says would be wrong. */
	if (n != count)
		rc = complain(r, 500, "");
	else
		r->len += (size_t)n;
	return rc ? rc : n == count ? send_text(r) : 0;
}

static int send_path(struct reply *r)
{
	const char *path = r->request->path;
	char index[PATH_LEN + sizeof("index.html")];
	struct stat st;
	int fd;

	fd = open_file(*path ? path : ".", &st);
	if (fd >= 0 && S_ISDIR(st.st_mode)) {
		close(fd);
		if (!r->request->slash)
			return redirect(r);
		sprintf(index, "%sindex.html", path);
		path = index;
		fd = open_file(path, &st);
	}
	if (fd < 0)
		return complain(r, status_of(errno), "");
	if (!S_ISREG(st.st_mode)) {
		close(fd);
		return complain(r, 403, "");
	}
	return send_file(r, path, fd, &st);
}

/**
 * reply - answer a request
 * @head: it, with the empty line; is changed
 * @len: its bytes, or 0: it is too long
 * @out: of the connection
 * @keep: out: further requests may follow
 *
 * Return: 0 or a negative errno.
 */
int reply(char *head, size_t len, OutputQueue *out, bool *keep)
{
	struct http_request request = { .method = METHOD_OTHER };
	struct reply r = { .out = out, .request = &request };
	int status = len ? http_parse(head, len, &request) : 431;

	/* Where the next request begins is not known then. */
	if (!status && request.body)
		status = request.method == METHOD_OTHER ? 405 : 413;
	if (status)
		request.keep = false;
	*keep = request.keep;
	if (!status && request.method == METHOD_OTHER)
		status = 405;
	if (status)
		return complain(&r, status, status == 405 ? "Allow: GET, HEAD\r\n" : "");
	return send_path(&r);
}
