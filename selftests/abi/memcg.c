// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a poster makes the kernel keep is charged to the poster's memory cgroup. One
 * that posts without end is stopped by its own limit: it gets ENOMEM, or the kernel
 * kills it and nobody else; its requests, their data and its context are freed. The
 * contexts of others go on: a request of theirs is back within 10 s.
 */
#include "lib/dxt.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROOT	"/sys/fs/cgroup"
#define GROUP	ROOT "/dxk-memcg"
#define DATA	4096
#define MIB	(1LL << 20)
#define LIMIT	(16 * MIB)
#define BOUND_NS (5 * dxt_stall_ns())	/* 10 s: the host may be busy, too */
#define STOCK	(MIB / 2)	/* what CPUs may have charged ahead */

static long long group_num(const char *file, const char *key)
{
	char path[100], line[200], name[64];
	long long value, found = -1;
	FILE *f;

	snprintf(path, sizeof(path), GROUP "/%s", file);
	f = fopen(path, "re");
	while (f && found < 0 && fgets(line, sizeof(line), f)) {
		if (key ? sscanf(line, "%63s %lld", name, &value) == 2 &&
			  !strcmp(name, key) : sscanf(line, "%lld", &value) == 1)
			found = value;
	}
	if (f)
		fclose(f);
	return found;
}

/* What the poster tells from its process. */
struct said {
	_Atomic long long posted;	/* taken so far */
	_Atomic long long charged;	/* to the group for the first of them */
	_Atomic int error;		/* that ended it */
	_Atomic int go;
};

FIXTURE(memcg) {
	struct dxt t;		/* of others */
	struct said *said;
	bool group;
	int log;
};

static const char *group_up(void)
{
	if (access(ROOT "/cgroup.controllers", F_OK) &&
	    mount("cgroup2", ROOT, "cgroup2", 0, NULL))
		return "no cgroup v2";
	if (dxt_write(ROOT "/cgroup.subtree_control", "+memory"))
		return "no memory controller";
	if (mkdir(GROUP, 0755) && errno != EEXIST)
		return "no cgroup can be made";
	if (dxt_write(GROUP "/memory.max", "16777216"))
		return "no memory.max";
	/* not there without swap */
	dxt_write(GROUP "/memory.swap.max", "0");
	return NULL;
}

FIXTURE_SETUP(memcg)
{
	const char *why = group_up();

	if (why)
		SKIP(return, "%s", why);
	self->group = true;
	self->said = dxt_shared(sizeof(*self->said));
	self->log = dxt_log_hold();
	ASSERT_LE(0, self->log);
	ASSERT_EQ(0, dxt_open(&self->t));
	self->t.policy.data_size = DATA;
	self->t.policy.max_threads = 1;
	self->t.policy.ready_entries = self->t.policy.rejoin_entries = 1 << 17;
	self->t.policy.max_requests = 1 << 17;
}

FIXTURE_TEARDOWN(memcg)
{
	if (!self->group)
		return;
	dxt_log_release(self->log, "invoked oom-killer");
	dxt_down(&self->t);
	DXT_SOON(!rmdir(GROUP) || errno != EBUSY);
}

/* Posts with data to a member until it cannot. */
static void post_endlessly(int member, struct said *said)
{
	static unsigned char data[DATA];
	long long before = group_num("memory.current", NULL);
	struct dxk_post_entry e = dxt_entry(1, DXT_NOP, 0, PXR_REJOIN);
	struct dxk_post post;
	int rc;

	e.data = DXT_PTR(data);
	e.data_len = DATA;
	while ((rc = dxt_post(member, &e, 1, 0, &post)) == 1) {
		if (++said->posted == 1024)
			said->charged = group_num("memory.current", NULL) - before;
	}
	said->error = rc;
}

/* A process in the group; @t: the context it shall post to, NULL for one of its own. */
static pid_t poster(struct dxt *t, struct said *said)
{
	struct dxt own;
	pid_t pid = dxt_fork();
	int member = -1;

	if (pid)
		return pid;
	if (dxt_write(GROUP "/cgroup.procs", "0"))
		_exit(1);
	while (!said->go)
		dxt_sleep_ms(1);
	if (t) {
		member = dxk_member_create(t->ctx, DXK_MEMBER_CLIENT, NULL);
	} else if (!dxt_open(&own)) {
		own.policy.data_size = DATA;
		own.policy.ready_entries = own.policy.rejoin_entries = 1 << 17;
		own.policy.max_requests = 1 << 17;
		if (!dxt_start(&own))
			member = own.member;
	}
	if (member < 0)
		_exit(2);
	post_endlessly(member, said);
	_exit(0);
}

/* Others' requests while the poster lives: how many, how long the slowest took. */
static int others(struct dxt *t, pid_t pid, int *status, uint64_t *slowest)
{
	unsigned int nr = 0;
	bool dead = false;
	uint64_t start;
	int rc;

	/* some more after its end */
	while (!dead || nr < 20) {
		start = dxt_now();
		rc = dxt_post1(t->member, 2, DXT_NOP, 0,
			       PXR_REJOIN | PXR_WAITIF_BUSY, dxt_in(60 * DXT_SEC), NULL);
		if (rc == 1)
			rc = dxt_drain(t, t->member, 2);
		if (rc != 1)
			return rc < 0 ? rc : -EPROTO;
		if (dxt_now() - start > *slowest)
			*slowest = dxt_now() - start;
		nr++;
		dxt_tell("%u requests of others", nr);
		if (!dead)
			dead = waitpid(pid, status, WNOHANG) == pid;
	}
	return (int)nr;
}

static void check(struct __test_metadata *_metadata, const struct said *said, int status,
		  int nr, uint64_t slowest, long long kills)
{
	bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;

	EXPECT_LE(20, nr);
	/* what it posted is charged to it, all of the data and more */
	EXPECT_LE(1024, said->posted);
	EXPECT_LE(1024 * DATA - STOCK, said->charged);
	/* and the limit holds: it has not posted more than that */
	EXPECT_GE(LIMIT / DATA, said->posted);
	if (killed) {
		EXPECT_LT(kills, group_num("memory.events", "oom_kill"));
	} else {
		EXPECT_TRUE(WIFEXITED(status) && !WEXITSTATUS(status));
		EXPECT_EQ(-ENOMEM, said->error);
	}
	EXPECT_GT(BOUND_NS, slowest);
	printf("# %lld posted, %lld KiB charged for 1024, then %s; %d requests of others, "
	       "the slowest %llu ms\n", said->posted, said->charged / 1024,
	       killed ? "killed" : "ENOMEM", nr, (unsigned long long)(slowest / DXT_MS));
}

/* The group's memory is free again; the kernel counts some of it a while later. */
static bool freed(void)
{
	return DXT_SOON(group_num("memory.current", NULL) <= 2 * MIB);
}

/* It has a context of its own. */
TEST_F(memcg, own_context)
{
	long long kills = group_num("memory.events", "oom_kill");
	uint64_t slowest = 0;
	int status = 0, nr;
	pid_t pid;

	ASSERT_EQ(0, dxt_start(&self->t));
	ASSERT_EQ(0, dxt_workers_start(&self->t, 1));
	pid = poster(NULL, self->said);
	ASSERT_LT(0, pid);
	self->said->go = 1;
	nr = others(&self->t, pid, &status, &slowest);
	check(_metadata, self->said, status, nr, slowest, kills);
	EXPECT_TRUE(freed()) TH_LOG("%lld bytes are left",
				    group_num("memory.current", NULL));
}

/*
 * It posts to the context of others, which is large. It has its own Ready Pool entries
 * there, but its memory is the poster's, until its requests have been executed.
 */
TEST_F(memcg, shared_context)
{
	long long kills = group_num("memory.events", "oom_kill");
	uint64_t slowest = 0;
	int status = 0, nr;
	long long posted;
	struct dxt own;
	pid_t pid;

	/* nobody executes what it posts until it is over */
	ASSERT_EQ(0, dxt_start(&self->t));
	ASSERT_EQ(0, dxt_up(&own, 1));
	pid = poster(&self->t, self->said);
	ASSERT_LT(0, pid);
	self->said->go = 1;
	nr = others(&own, pid, &status, &slowest);
	check(_metadata, self->said, status, nr, slowest, kills);
	EXPECT_LE(1024 * DATA - STOCK, group_num("memory.current", NULL));

	/*
	 * What it posted is executed, then what it held is free. The last post may have been taken
	 * when the kill came: it did not come to say so.
	 */
	posted = dxt_num(&self->t, "pools/ready_use");
	EXPECT_LE(self->said->posted, posted);
	EXPECT_GE(self->said->posted + 1, posted);
	ASSERT_EQ(0, dxt_workers_start(&self->t, 1));
	EXPECT_TRUE(DXT_UNTIL(&self->t, !dxt_num(&self->t, "pools/ready_use") &&
					!dxt_num(&self->t, "pools/thread_busy")));
	EXPECT_EQ(posted, dxt_num(&self->t, "stats/completions"));
	/* those of owner 1 are in the space of this descriptor: its copy was the child's */
	EXPECT_EQ(posted, dxt_drain(&self->t, self->t.member, 1));
	EXPECT_TRUE(freed()) TH_LOG("%lld bytes are left",
				    group_num("memory.current", NULL));
	dxt_down(&own);
}

TEST_HARNESS_MAIN
