// SPDX-License-Identifier: GPL-2.0-only
/*
 * Another thread unmaps and maps a part of each array while calls copy it: each call does
 * all, or what it tells, and nothing is lost or doubled. usercopy.c has what cannot be
 * copied at all, byte by byte.
 */
#include "lib/dxt.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define PAGE	4096
#define NR	40
#define OWNER	5
/* How often each call is to meet the page, and to miss it. */
#define ENOUGH	20
#define ROUNDS	100000

enum { POST, FETCH, COMPLETE, REJOIN, CALLS };
static const char *const call_name[] = { "post", "fetch", "complete", "rejoin" };

/* Two pages, of which the second comes and goes; and both again, which stay. */
struct pages {
	unsigned char *at, *same;
	int fd;
	_Atomic bool end;
};

FIXTURE(unmapped) {
	struct dxt t;
	struct pages pages;
	int worker;
	unsigned int met[CALLS], missed[CALLS];
};

static void map(struct pages *p, bool there)
{
	int flags = there ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;

	mmap(p->at + PAGE, PAGE, there ? PROT_READ | PROT_WRITE : PROT_NONE,
	     flags | MAP_FIXED, there ? p->fd : -1, there ? PAGE : 0);
}

static void *come_and_go(void *arg)
{
	struct pages *p = arg;

	while (!p->end) {
		map(p, false);
		sched_yield();
		map(p, true);
		sched_yield();
	}
	return NULL;
}

FIXTURE_SETUP(unmapped)
{
	struct pages *p = &self->pages;

	ASSERT_EQ(0, dxt_open(&self->t));
	self->t.policy.max_threads = 1;
	ASSERT_EQ(0, dxt_start(&self->t));
	self->worker = dxk_member_create(self->t.ctx, DXK_MEMBER_WORKER, NULL);
	ASSERT_LE(0, self->worker);
	p->fd = (int)syscall(SYS_memfd_create, "pages", 0);
	ASSERT_LE(0, p->fd);
	ASSERT_EQ(0, ftruncate(p->fd, 2 * PAGE));
	p->at = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, 0);
	p->same = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, 0);
	ASSERT_NE(MAP_FAILED, p->at);
	ASSERT_NE(MAP_FAILED, p->same);
}

FIXTURE_TEARDOWN(unmapped)
{
	munmap(self->pages.at, 2 * PAGE);
	munmap(self->pages.same, 2 * PAGE);
	close(self->pages.fd);
	close(self->worker);
	dxt_down(&self->t);
}

/* Where an array begins whose byte @k is the first in the second page. */
static size_t begin(size_t k)
{
	return PAGE - k;
}

/* One call on @left elements has done @did, or failed. Return: is it as it may be? */
static bool count(unsigned int *met, unsigned int *missed, int did, unsigned int left, bool whole)
{
	if (did == (int)left) {
		++*missed;
		return true;
	}
	++*met;
	sched_yield();
	return did == -EFAULT || (!whole && did > 0 && did < (int)left);
}

#define COUNT(call, did, left, whole) \
	ASSERT_TRUE(count(&self->met[call], &self->missed[call], did, left, whole)) \
		TH_LOG("%s: %d of %u", call_name[call], did, left)

static bool enough(const unsigned int *met, const unsigned int *missed)
{
	int i;

	for (i = 0; i < CALLS; i++)
		if (met[i] < ENOUGH || missed[i] < ENOUGH)
			return false;
	return true;
}

TEST_F(unmapped, nothing_is_lost_or_doubled)
{
	struct pages *p = &self->pages;
	unsigned int round, i, done, taken;
	bool seen[NR];
	pthread_t thread;
	int rc;

	ASSERT_EQ(0, pthread_create(&thread, NULL, come_and_go, p));
	for (round = 0; round < ROUNDS && !enough(self->met, self->missed); round++) {
		size_t part = round % NR;
		size_t at = begin(part * sizeof(struct dxk_post_entry) + round % 56);
		struct dxk_post_entry *entry = (void *)(p->same + at);
		struct dxk_done *dones;
		struct dxk_result *results;
		struct dxk_work *works;
		uint64_t ticket[NR];

		for (i = 0; i < NR; i++)
			entry[i] = dxt_entry(OWNER, DXT_NOP, i, PXR_REJOIN);
		do {
			rc = dxk_post(self->t.member, (void *)(p->at + at), NR, 0, NULL);
			COUNT(POST, rc, NR, true);
		} while (rc != NR);

		at = begin(part * sizeof(*works) + round % 80);
		works = (void *)(p->same + at);
		memset(seen, 0, sizeof(seen));
		for (done = 0; done < NR; done += rc > 0 ? rc : 0) {
			rc = dxk_next(self->worker, NULL, 0, NULL, (void *)(p->at + at), NR,
				      NULL, 0, 0);
			COUNT(FETCH, rc, NR - done, false);
			for (i = 0; (int)i < rc; i++) {
				ASSERT_GT(NR, works[i].param);
				ASSERT_FALSE(seen[works[i].param]);
				ASSERT_EQ(OWNER, works[i].owner);
				ASSERT_EQ(-1, works[i].fd);
				ASSERT_EQ(DXK_POSTED_HERE, works[i].origin);
				ASSERT_EQ(getpid(), (pid_t)works[i].pid);
				seen[works[i].param] = true;
				ticket[works[i].param] = works[i].ticket;
			}
		}

		at = begin(part * sizeof(*dones) + round % 24);
		dones = (void *)(p->same + at);
		for (i = 0; i < NR; i++)
			dones[i] = (struct dxk_done) { .ticket = ticket[i], .status = i };
		do {
			rc = dxk_next(self->worker, (void *)(p->at + at), NR, &taken, NULL, 0,
				      NULL, 0, 0);
			COUNT(COMPLETE, rc ? rc : (int)taken, NR, true);
		} while (rc);

		at = begin(part * sizeof(*results) + round % 48);
		results = (void *)(p->same + at);
		for (done = 0; done < NR; done += rc > 0 ? rc : 0) {
			rc = dxk_rejoin(self->t.member, OWNER, (void *)(p->at + at), NR, 1,
					NULL, 0, 0, NULL);
			COUNT(REJOIN, rc, NR - done, false);
			for (i = 0; (int)i < rc; i++) {
				ASSERT_EQ(done + i, results[i].param);
				ASSERT_EQ(done + i, (unsigned int)results[i].status);
				ASSERT_EQ(1, results[i].attempts);
			}
		}
	}
	p->end = true;
	ASSERT_EQ(0, pthread_join(thread, NULL));
	for (i = 0; i < CALLS; i++) {
		printf("# %s: %u met it, %u did not\n", call_name[i], self->met[i],
		       self->missed[i]);
		EXPECT_LE(ENOUGH, self->met[i]);
		EXPECT_LE(ENOUGH, self->missed[i]);
	}
}

TEST_HARNESS_MAIN
