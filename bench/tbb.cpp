// SPDX-License-Identifier: GPL-2.0-only
/*
 * oneTBB: empty tasks, CHUNK at a time; the hierarchy on 3 threads.
 */
#include <atomic>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include "bench.h"
#include "levels.h"
#include "pools.h"

static std::atomic<long> executed;

static void run(long ops)
{
	tbb::task_group group;
	long all = ops;

	executed = 0;
	while (ops) {
		long nr = ops < CHUNK ? ops : CHUNK;

		for (long i = 0; i < nr; i++)
			group.run([] { executed.fetch_add(1, std::memory_order_relaxed); });
		group.wait();
		ops -= nr;
	}
	MUST(all, executed);
}

extern "C" const struct kind tbb_tasks = { nullptr, run, nullptr, nullptr };

/* --- the hierarchy -------------------------------------------------------------- */

static void descend(int level)
{
	tbb::task_group group;

	for (int i = 0; i < level_children[level]; i++)
		group.run([level] {
			level_executes(level);
			descend(level + 1);
		});
	group.wait();
}

static void *levels_main(void *ended)
{
	tbb::global_control threads(tbb::global_control::max_allowed_parallelism, 3);
	tbb::task_arena arena(3);

	arena.execute([] { descend(0); });
	levels_ended(ended);
	return nullptr;
}

static double levels_measure(const struct variant *)
{
	/* It loads and looks for much at first: that is no standing still. */
	tbb::task_group().run_and_wait([] { });
	return levels_watch(levels_main);
}

extern "C" const struct kind tbb_levels = { nullptr, nullptr, nullptr, levels_measure };
