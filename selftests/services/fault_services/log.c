// SPDX-License-Identifier: GPL-2.0-only
/* The calls of fault_services.c that are about the log. */
#define DXT_NO_HARNESS
#include "fault_services.h"

/* --- the log ----------------------------------------------------------------- */

static int say(services *s, unsigned int i)
{
	char text[32];
	int len = snprintf(text, sizeof(text), "message %u", i);

	return dxk_log_write(s->me, text, (size_t)len, 0, 0);
}

/* The next message of this thread; the module may have some of its own between. */
static int hears(services *s, unsigned int *i)
{
	struct dxk_log_record r;
	int rc;

	do {
		rc = dxk_log_read(s->t.ctx, &r, 1, 0);
	} while (rc == 1 && r.thread != s->id);
	if (rc == 1 && (r.flags || sscanf(r.text, "message %u", i) != 1))
		return WRONG;
	return rc;
}

/* Messages @first..@last and nothing behind them are in the pool. */
static bool holds(services *s, unsigned int first, unsigned int last)
{
	unsigned int i;

	for (; first <= last; first++)
		if (hears(s, &i) != 1 || i != first)
			return false;
	return !hears(s, &i);
}

int log_write(services *s, unsigned int n, bool *hit)
{
	int rc = FAULTY(n, hit, say(s, n));

	return holds(s, n, rc ? n - 1 : n) ? rc : WRONG;
}

int log_read(services *s, unsigned int n, bool *hit)
{
	struct dxk_log_record r[3];
	unsigned int i;
	int rc, k, got = 0;

	if (!holds(s, 1, 0))
		return WRONG;
	for (i = 1; i <= 3; i++)
		if (say(s, i))
			return WRONG;
	rc = FAULTY(n, hit, dxk_log_read(s->t.ctx, r, 3, 0));
	for (k = 0; k < rc; k++) {
		if (r[k].thread != s->id)
			continue;
		if (r[k].flags || sscanf(r[k].text, "message %u", &i) != 1 ||
		    i != (unsigned int)++got)
			return WRONG;
	}
	if (!holds(s, (unsigned int)got + 1, 3))
		return WRONG;
	/* fewer are an answer, too, if the fault came behind the first */
	return rc > 0 && (*hit || rc == 3) ? 0 : rc;
}

/* With no file the log is still LOG_READ's. */
int log_file_set(services *s, unsigned int n, bool *hit)
{
	int fd = open(FILE_, O_WRONLY | O_APPEND | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct dxk_log_record r;
	int rc, read;

	rc = FAULTY(n, hit, dxk_log_file(s->t.ctx, fd));
	close(fd);
	read = dxk_log_read(s->t.ctx, &r, 1, 0);
	if (rc ? read < 0 : read != -EBUSY)
		return WRONG;
	return dxk_log_file(s->t.ctx, -1) ? WRONG : rc;
}

/* Counts messages 1..@nr in a file; a line without its end is none. */
static void count_lines(const char *path, unsigned char *seen, unsigned int nr)
{
	FILE *f = fopen(path, "re");
	char line[512], *at;
	unsigned int i;

	while (f && fgets(line, sizeof(line), f)) {
		at = strstr(line, " message ");
		if (at && strchr(at, '\n') && sscanf(at, " message %u", &i) == 1 &&
		    i && i <= nr)
			seen[i]++;
	}
	if (f)
		fclose(f);
}

/*
 * Whether the work or the caller writes them, and whichever file could be written:
 * each message is in one of the two, once.
 */
int log_file_replace(services *s, unsigned int n, bool *hit)
{
	enum { MESSAGES = 40 };
	unsigned char seen[MESSAGES + 1] = { 0 };
	unsigned int i;
	int fd[2], rc;

	fd[0] = open(FILE_, O_WRONLY | O_APPEND | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	fd[1] = open(FILE_ "2", O_WRONLY | O_APPEND | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (dxk_log_file(s->t.ctx, fd[0]))
		return WRONG;
	for (i = 1; i <= MESSAGES; i++)
		if (say(s, i))
			return WRONG;
	rc = FAULTY(n, hit, dxk_log_file(s->t.ctx, fd[1]));
	if (dxk_log_file(s->t.ctx, -1))
		return WRONG;
	close(fd[0]);
	close(fd[1]);
	count_lines(FILE_, seen, MESSAGES);
	count_lines(FILE_ "2", seen, MESSAGES);
	for (i = 1; i <= MESSAGES; i++)
		if (seen[i] != 1)
			return WRONG;
	return rc;
}
