// SPDX-License-Identifier: GPL-2.0-only
/* See log.h. */
#define DXT_NO_HARNESS
#include "lib/log.h"

#include <stdarg.h>

/* --- calls ------------------------------------------------------------------- */

int say(int member, uint32_t flags, uint64_t deadline, const char *format, ...)
{
	struct dxk_log_write w = { .size = sizeof(w), .flags = flags, .deadline = deadline };
	char text[256];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	w.text = DXT_PTR(text);
	w.len = strlen(text);
	return dxt_ioctl(member, DXK_IOC_LOG_WRITE, &w);
}

int read_log(const struct dxt *t, struct dxk_log_record *r,
	     unsigned int nr, uint64_t deadline)
{
	struct dxk_log_read a = {
		.size = sizeof(a),
		.deadline = deadline,
		.records = DXT_PTR(r),
		.nr = nr,
		.record_size = sizeof(*r),
	};

	return dxt_ioctl(t->ctx, DXK_IOC_LOG_READ, &a);
}

int discard(const struct dxt *t)
{
	struct dxk_log_record r;
	int n = 0;

	while (read_log(t, &r, 1, 0) == 1)
		n += !(r.flags & DXK_LOG_GAP);
	return n;
}

bool readable(const struct dxt *t)
{
	struct pollfd p = { .fd = t->ctx, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && p.revents & POLLIN;
}

int open_log(const char *path)
{
	return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
}

int write_raw(int member, const void *text, uint32_t len)
{
	struct dxk_log_write w = {
		.size = sizeof(w),
		.text = DXT_PTR(text),
		.len = len,
	};

	return dxt_ioctl(member, DXK_IOC_LOG_WRITE, &w);
}

int up(struct dxt *t, unsigned int entries, unsigned int full)
{
	int rc = dxt_open(t);

	if (rc)
		return rc;
	t->policy.log_entries = entries;
	t->policy.log_full = full;
	rc = dxt_start(t);
	if (!rc)
		discard(t);
	return rc;
}

/* --- log files --------------------------------------------------------------- */

bool get_line(FILE *f, struct line *l)
{
	unsigned long long sec, nsec;
	char line[512];
	int at = 0;

	if (!fgets(line, sizeof(line), f))
		return false;
	memset(l, 0, sizeof(*l));
	if (!strchr(line, '\n'))
		return true;
	line[strcspn(line, "\n")] = 0;
	if (sscanf(line, "%llu %llu.%9llu %u %n", &l->seq, &sec, &nsec, &l->thread,
		   &at) < 4 || !at) {
		at = 0;
		l->gap = sscanf(line, "%llu %llu.%9llu - %n", &l->seq, &sec, &nsec,
				&at) == 3 && at;
		if (!l->gap)
			l->seq = 0;
	}
	if (!l->seq)
		snprintf(l->text, sizeof(l->text), "%s", line);
	else
		snprintf(l->text, sizeof(l->text), "%s", line + at);
	return true;
}

void content_add(struct content *c, const char *path)
{
	FILE *f = fopen(path, "r");
	unsigned int n;
	struct line l;

	while (f && get_line(f, &l)) {
		if (!l.seq) {
			c->malformed++;
			continue;
		}
		if (l.seq != c->seq + 1 && !c->disorder++) {
			c->odd = l.seq;
			c->before = c->seq;
			snprintf(c->odd_text, sizeof(c->odd_text), "%.60s", l.text);
		}
		c->seq = l.seq;
		if (l.gap) {
			n = atoi(l.text);
			c->lost += n;
			c->seq += n - 1;
		} else if (sscanf(l.text, "message %u", &n) == 1) {
			if (!c->messages++)
				c->first = n;
			else
				c->disorder += n <= c->last;
			c->last = n;
		}
	}
	if (f)
		fclose(f);
}

struct content content_of(const char *path)
{
	struct content c = { 0 };

	content_add(&c, path);
	return c;
}

bool in_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "r");
	bool found = false;
	struct line l;

	while (f && !found && get_line(f, &l))
		found = !strcmp(l.text, text);
	if (f)
		fclose(f);
	return found;
}

/* --- a thread that logs ------------------------------------------------------ */

void *talk(void *arg)
{
	struct talker *k = arg;

	k->member = dxk_member_create(k->t->ctx, DXK_MEMBER_CLIENT, NULL);
	while (!k->stop && !k->rc) {
		k->rc = say(k->member, DXK_LOG_WAIT, DXK_FOREVER, "message %u",
			    k->accepted + 1);
		if (!k->rc)
			k->accepted++;
		/* it slept when the context stopped */
		if (k->rc == -ESHUTDOWN)
			k->rc = 0;
	}
	close(k->member);
	return NULL;
}

/* --- disks ------------------------------------------------------------------- */

off_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? -1 : st.st_size;
}

int small_mount(void)
{
	static const char ballast[3 * 4096];
	int fd, rc = 0;

	mkdir(SMALL, 0755);
	if (mount("dxk", SMALL, "tmpfs", 0, "size=16k"))
		return -errno;
	fd = open(SMALL "/ballast", O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0 || write(fd, ballast, sizeof(ballast)) != sizeof(ballast))
		rc = -EIO;
	close(fd);
	return rc;
}

void small_umount(void)
{
	umount(SMALL);
	rmdir(SMALL);
}
