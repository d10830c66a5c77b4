// SPDX-License-Identifier: GPL-2.0-only
/*
 * As module.c: it goes and comes again and again, also while others open the device.
 *
 * rounds loads and unloads for some 5 seconds, with DXK_ROUNDS=n n times; 1000
 * take some minutes.
 */
#include "module_test.h"

/* --- again and again -------------------------------------------------------------- */

/* Opens the device and all that comes after it whenever it can. */
static void *open_on(void *arg)
{
	struct poster *p = arg;
	uint64_t begin;
	struct dxt t;
	int rc;

	while (!p->stop) {
		begin = dxt_now();
		rc = dxt_up(&t, 0);
		if (rc == -ENOENT || rc == -ENXIO || rc == -ENODEV) {
			p->missed++;
		} else if (rc) {
			p->error = rc;
		} else {
			p->posted++;
		}
		dxt_close(&t);
		/* longer than it took: now and then nobody has it */
		dxt_sleep_ms(1 + 2 * (unsigned int)((dxt_now() - begin) / DXT_MS));
	}
	return NULL;
}

/* Whoever opens the device while it goes gets it whole or not at all. */
TEST_F(module, open_while_it_goes)
{
	struct poster p[2] = { { .error = 0 } };
	pthread_t thread[2];
	unsigned long before;
	int i;

	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, open_on, &p[i]));
	for (i = 0; i < times(5); i++) {
		int rc;

		before = p[0].posted;
		EXPECT_TRUE(DXT_SOON(p[0].posted != before || p[0].error));
		EXPECT_TRUE(DXT_SOON((rc = unload("dxk")) != -EWOULDBLOCK));
		EXPECT_EQ(0, rc);
		dxt_tell("%d times", i);
		EXPECT_EQ(NULL, left_over()) TH_LOG("%s", left_over());
		ASSERT_EQ(0, load_all(false));
	}
	for (i = 0; i < 2; i++) {
		p[i].stop = true;
		pthread_join(thread[i], NULL);
		EXPECT_EQ(0, p[i].error);
		EXPECT_LT(0, p[i].posted);
	}
	TH_LOG("%lu opened it, %lu did not find it", p[0].posted + p[1].posted,
	       p[0].missed + p[1].missed);
}

/* KiB that the kernel has for itself and does not give back. */
static long kernel_kib(void)
{
	static const char *const what[] = {
		"SUnreclaim:", "VmallocUsed:", "Percpu:", "KernelStack:",
	};
	char line[128];
	long sum = 0, n;
	unsigned int i;
	FILE *f;

	dxt_write("/proc/sys/vm/drop_caches", "2");
	f = fopen("/proc/meminfo", "re");
	while (f && fgets(line, sizeof(line), f))
		for (i = 0; i < sizeof(what) / sizeof(what[0]); i++)
			if (!strncmp(line, what[i], strlen(what[i])) &&
			    sscanf(line + strlen(what[i]), "%ld", &n) == 1)
				sum += n;
	if (f)
		fclose(f);
	return sum;
}

/* A context of both kinds of worker, of which all is used once. */
static int use_once(struct dxt *t)
{
	struct dxk_result r;
	int rc = dxt_open(t), i;

	t->policy.max_threads = 3;
	t->policy.kernel_threads = 1;
	rc = rc ? rc : dxt_start(t);
	rc = rc ? rc : dxt_workers_start(t, 2);
	rc = rc ? rc : post_kernel(t, "echo", 0);
	if (rc != 1)
		return rc < 0 ? rc : -EIO;
	dxt_post1(t->member, OWNER, DXT_NOP, 0, PXR_REJOIN, 0, NULL);
	for (i = 0; i < 2; i++)
		if (dxt_rejoin(t->member, OWNER, &r, 1, 1,
			       dxt_late(), NULL) != 1 || r.status)
			return -EIO;
	/* some that nobody collects, by every second context not even with a Stop */
	for (i = 0; i < 3; i++)
		dxt_post1(t->member, OWNER, DXT_NOP, 0, PXR_REJOIN, 0, NULL);
	return 0;
}

#define WARM_UP	5

TEST_F(module, rounds)
{
	const char *rounds = getenv("DXK_ROUNDS");
	int nr = rounds ? atoi(rounds) : times(2 * WARM_UP);
	uint64_t end = dxt_in(5 * DXT_SEC);
	struct dxt *t = &self->t;
	int i;
	long kib = 0;

	if (dxt_mode() == DXK_DISPATCH_THREAD && !rounds)
		SKIP(return, "the same in both modes");
	for (i = 0; i < nr || (!rounds && dxt_now() < end); i++) {
		if (i == WARM_UP)
			kib = kernel_kib();
		ASSERT_EQ(0, load_all(true));
		ASSERT_EQ(0, use_once(t));
		if (i % 2)
			dxt_down(t);
		else
			dxt_close(t);
		ASSERT_EQ(0, unload_soon(EXECUTORS));
		ASSERT_EQ(0, unload_soon("dxk"));
		dxt_tell("%d times", i);
		if (i % 8 == 7)
			ASSERT_EQ(NULL, left_over()) TH_LOG("%s", left_over());
	}
	/* What the kernel's own caches gain is less than a page for each. */
	if (i > WARM_UP && !dxt_debug_kernel()) {
		kib = kernel_kib() - kib;
		EXPECT_GT(1024 + i / 2, kib);
		TH_LOG("the kernel has %ld KiB more", kib);
	}
	TH_LOG("%d times", i);
}
