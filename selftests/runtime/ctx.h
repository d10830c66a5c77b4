/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of a context share: what sysfs shows of it, a client that sleeps. */
#ifndef CTX_H
#define CTX_H

#include "lib/dxt.h"

#include <dirent.h>

/* The ids below threads/, in ascending order: "0 1 2 500". */
static inline const char *ids(const struct dxt *t)
{
	static char text[4096];
	unsigned int id[600], nr = 0, i, j, tmp;
	char path[64], *at = text;
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "/sys/kernel/dxk/%u/threads", t->id);
	dir = opendir(path);
	if (!dir)
		return "(none)";
	while ((e = readdir(dir)))
		if (e->d_name[0] != '.' && nr < ARRAY_SIZE(id))
			id[nr++] = (unsigned int)atoi(e->d_name);
	closedir(dir);
	for (i = 0; i < nr; i++)
		for (j = i + 1; j < nr; j++)
			if (id[j] < id[i])
				tmp = id[i], id[i] = id[j], id[j] = tmp;
	text[0] = 0;
	for (i = 0; i < nr; i++)
		at += sprintf(at, "%s%u", i ? " " : "", id[i]);
	return text;
}

static inline bool state_is(const struct dxt *t, const char *state)
{
	char text[32];

	return dxt_text(t, text, sizeof(text), "state") && !strcmp(text, state);
}

static inline bool role_is(const struct dxt *t, unsigned int id, const char *role)
{
	char text[32];

	return dxt_text(t, text, sizeof(text), "threads/%u/role", id) &&
	       !strcmp(text, role);
}

/* A kernel thread gets its name when it runs first. */
static inline bool kthreads_are(const struct dxt *t, int nr)
{
	return DXT_UNTIL(t, dxt_kthreads(t) == nr);
}

static inline bool context_dir(unsigned int id)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/kernel/dxk/%u", id);
	return !access(path, F_OK);
}

struct sleeper {
	struct dxt *t;
	uint64_t owner;
	uint64_t param;
	bool post;
	_Atomic int member_id;
	int rc;
	uint32_t answer;
};

/* A client that sleeps in a post or in a rejoin. */
static inline void *sleeper_thread(void *arg)
{
	struct sleeper *s = arg;
	struct dxk_result result;
	unsigned int id;
	int fd = dxk_member_create(s->t->ctx, DXK_MEMBER_CLIENT, &id);

	s->member_id = fd < 0 ? fd : (int)id;
	if (s->post)
		s->rc = dxt_post1(fd, s->owner, DXT_GATE, s->param,
				  PXR_REJOIN | PXR_WAITIF_BUSY, DXK_FOREVER, &s->answer);
	else
		s->rc = dxt_rejoin(fd, s->owner, &result, 1, 1, DXK_FOREVER, &s->answer);
	close(fd);
	return NULL;
}

#endif /* CTX_H */
