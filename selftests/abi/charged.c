// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a call makes the kernel keep is charged to the memory cgroup of its caller:
 * each allocation that the module makes within a call, and each node of an index of
 * its, is an accounted one. The kernel's own tracepoints tell of them; those of many
 * objects at once they do not tell, of which memcg.c sees the sum. The cases are those
 * of calls.h.
 */
#include "lib/calls/calls.h"

#include <sys/stat.h>

#define TRACING	"/sys/kernel/tracing"
#define HERE	TRACING "/instances/dxk-charged"

static const char *const event[] = {
	"kmalloc", "kmalloc_node", "kmem_cache_alloc", "kmem_cache_alloc_node",
};

/* Calls that certainly allocate: were nothing seen of them, nothing would be proved. */
static const char *const allocates[] = {
	"CTX_CREATE", "CTX_START", "MEMBER_CREATE client", "COMMAND_SEND",
	"COMMAND_NEXT", "HANDLE_OPEN",
};

FIXTURE(charged) {
	struct env e;
	bool tracing;
	int on;
};

static const char *tracing_up(void)
{
	char path[160], tid[16];
	unsigned int i, nr = 0;

	if (mkdir(HERE, 0700) && errno != EEXIST)
		return "this kernel does not trace";
	snprintf(tid, sizeof(tid), "%d", gettid());
	if (dxt_write(HERE "/tracing_on", "0") || dxt_write(HERE "/set_event_pid", tid))
		return "no events of one thread";
	for (i = 0; i < sizeof(event) / sizeof(event[0]); i++) {
		snprintf(path, sizeof(path), HERE "/events/kmem/%s/enable", event[i]);
		nr += !dxt_write(path, "1");
	}
	return nr < 2 ? "no events of allocations" : NULL;
}

FIXTURE_SETUP(charged)
{
	const char *why;

	if (dxt_mode() == DXK_DISPATCH_THREAD)
		SKIP(return, "the same in both modes");
	why = tracing_up();
	if (why)
		SKIP(return, "%s", why);
	self->tracing = true;
	self->on = open(HERE "/tracing_on", O_WRONLY | O_CLOEXEC);
	ASSERT_LE(0, self->on);
	why = env_up(&self->e);
	ASSERT_EQ(NULL, why) TH_LOG("%s", why);
}

FIXTURE_TEARDOWN(charged)
{
	if (self->e.dir)
		env_down(&self->e);
	if (self->tracing) {
		close(self->on);
		rmdir(HERE);
	}
}

/* An allocation of the module's in a line of the trace; @site is where it was made. */
static bool ours(const char *line, char *site, size_t room)
{
	const char *at = strstr(line, "call_site=");
	size_t len;

	if (!at)
		return false;
	at += strlen("call_site=");
	len = strcspn(at, " \n");
	/* "function+0x12/0x34 [dxk]" */
	if (!strncmp(at + len, " [dxk]", 6))
		len += 6;
	else if (strncmp(at, "xas_alloc", 9))
		return false;
	snprintf(site, room, "%.*s", (int)(len < room ? len : room - 1), at);
	return true;
}

/* The allocations since the last look; says which is not charged, if one is not. */
static unsigned int look(char *wrong, size_t room, bool *index)
{
	char line[1000], site[200];
	unsigned int nr = 0;
	FILE *f = fopen(HERE "/trace", "re");

	while (f && fgets(line, sizeof(line), f)) {
		if (!ours(line, site, sizeof(site)))
			continue;
		nr++;
		*index |= site[0] == 'x';
		if (!strstr(line, "accounted=true"))
			snprintf(wrong, room, "%s", site);
	}
	if (f)
		fclose(f);
	/* to open it so is what empties it */
	close(open(HERE "/trace", O_WRONLY | O_TRUNC | O_CLOEXEC));
	return nr;
}

TEST_F(charged, each_call)
{
	unsigned int i, k, nr, all = 0;
	struct env *e = &self->e;
	bool index = false;

	for (i = 0; i < ROWS; i++) {
		const struct row *r = &rows[i];
		char wrong[200] = "";
		const char *why = prepare(e, r);
		int rc;

		dxt_tell("%s", r->name);
		ASSERT_EQ(NULL, why) TH_LOG("%s: %s", r->name, why);
		ASSERT_EQ(1, pwrite(self->on, "1", 1, 0));
		rc = dxt_ioctl(row_fd(e, r), r->cmd, &e->arg);
		ASSERT_EQ(1, pwrite(self->on, "0", 1, 0));
		EXPECT_EQ(r->want, rc) TH_LOG("%s", r->name);
		why = r->end(e, rc);
		EXPECT_EQ(NULL, why) TH_LOG("%s: %s", r->name, why);

		nr = look(wrong, sizeof(wrong), &index);
		all += nr;
		EXPECT_EQ(0, strlen(wrong)) TH_LOG("%s: not charged: %s", r->name, wrong);
		for (k = 0; k < sizeof(allocates) / sizeof(allocates[0]); k++)
			if (!strcmp(r->name, allocates[k]))
				EXPECT_LT(0, nr) TH_LOG("%s: no allocation", r->name);
	}
	EXPECT_TRUE(index);
	TH_LOG("%u allocations", all);
}

TEST_HARNESS_MAIN
