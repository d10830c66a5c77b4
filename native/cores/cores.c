// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Round trips on more than one CPU: contexts with a client and workers each, for some
 * time, in dxk's engine, in GLib's or in oneTBB's pool. Real time: what it tells is a
 * comparison with who ran right before and after.
 *
 *   cores SYSTEM CONTEXTS WORKERS BATCH MS ROUNDS [hold]
 *
 * ROUNDS: of the loop that each request runs. Prints one line of JSON. With "hold" how
 * long the engine's lock was held: how often so many times OS_HOLD_WIDTH ticks.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cores.h"
#include "engine/owner.h"
#include "engine/pool.h"

#define CONTEXTS	16
#define TRIPS		(1 << 20)

struct client {
	pthread_t thread;
	void *context;
	/* of the newest trips, in ns */
	u32 *trip;
	u64 trips;
};

static const struct system *const systems[] = { &dxk_system, &glib_system, &tbb_system };
static const struct system *sys;
static bool measuring, over;
static int batch;
int job_rounds;

void job(void)
{
	int i;

	for (i = 0; i < job_rounds; i++)
		asm volatile("" : : : "memory");
}

static void *client(void *arg)
{
	struct client *c = arg;
	u64 before, after = os_now();

	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		before = after;
		sys->post(c->context, batch);
		sys->collect(c->context, batch);
		after = os_now();
		if (__atomic_load_n(&measuring, __ATOMIC_RELAXED))
			c->trip[c->trips++ % TRIPS] = min(after - before, (u64)U32_MAX);
	}
	return NULL;
}

static int ascending(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return (x > y) - (x < y);
}

static void report(struct client *c, int nr, u64 ns)
{
	u64 all = 0, kept = 0;
	u32 *trip;
	int i;

	for (i = 0; i < nr; i++) {
		all += c[i].trips;
		kept += min(c[i].trips, (u64)TRIPS);
	}
	trip = calloc(kept + 1, sizeof(*trip));
	for (kept = 0, i = 0; i < nr; i++) {
		u64 n = min(c[i].trips, (u64)TRIPS);

		memcpy(trip + kept, c[i].trip, n * sizeof(*trip));
		kept += n;
	}
	qsort(trip, kept, sizeof(*trip), ascending);
	printf("{\"requests\": %llu, \"ns\": %llu, \"p50\": %u, \"p99\": %u",
	       (unsigned long long)all * batch, (unsigned long long)ns, trip[kept / 2],
	       trip[kept * 99 / 100]);
	free(trip);
}

static void report_holds(struct client *c, int nr)
{
	unsigned long long holds[OS_HOLDS] = { 0 };
	int i;

	for (i = 0; i < nr; i++)
		dxk_holds(c[i].context, holds);
	printf(", \"holds\": [");
	for (i = 0; i < OS_HOLDS; i++)
		printf("%s%llu", i ? ", " : "", holds[i]);
	printf("]");
}

/* Of all threads, in ns. */
static u64 cpu_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static void run(struct client *c, int nr, int ms, bool hold)
{
	u64 from, to, ticks, cpu;
	int i;

	for (i = 0; i < nr; i++)
		if (pthread_create(&c[i].thread, NULL, client, &c[i]))
			abort();
	usleep(ms * 1000 / 4);
	os_timed = hold;
	from = os_now();
	cpu = cpu_time();
	ticks = os_ticks();
	__atomic_store_n(&measuring, true, __ATOMIC_RELAXED);
	usleep(ms * 1000);
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	to = os_now();
	ticks = os_ticks() - ticks;
	cpu = cpu_time() - cpu;
	for (i = 0; i < nr; i++)
		pthread_join(c[i].thread, NULL);
	os_timed = false;
	report(c, nr, to - from);
	printf(", \"cpu_ns\": %llu, \"ns_per_tick\": %.6f", (unsigned long long)cpu,
	       (double)(to - from) / ticks);
	if (hold)
		report_holds(c, nr);
	printf("}\n");
}

int main(int argc, char **argv)
{
	static struct client c[CONTEXTS];
	int contexts, workers, i;

	for (i = 0; argc >= 7 && i < (int)ARRAY_SIZE(systems); i++)
		if (!strcmp(systems[i]->name, argv[1]))
			sys = systems[i];
	contexts = sys ? atoi(argv[2]) : 0;
	workers = sys ? atoi(argv[3]) : 0;
	batch = sys ? atoi(argv[4]) : 0;
	if (contexts < 1 || contexts > CONTEXTS || workers < 1 || batch < 1 || batch > BATCH) {
		fprintf(stderr, "usage: cores dxk|glib|tbb CONTEXTS WORKERS BATCH MS ROUNDS [hold]\n");
		return 2;
	}
	job_rounds = atoi(argv[6]);
	tbb_threads(contexts * workers);
	dxk_rqe_init();
	dxk_owner_init();
	for (i = 0; i < contexts; i++) {
		c[i].context = sys->begin(workers);
		c[i].trip = calloc(TRIPS, sizeof(*c[i].trip));
		if (!c[i].trip)
			abort();
	}
	run(c, contexts, atoi(argv[5]), argc > 7 && sys == &dxk_system);
	for (i = 0; i < contexts; i++) {
		sys->end(c[i].context);
		free(c[i].trip);
	}
	dxk_owner_exit();
	dxk_rqe_exit();
	return 0;
}
