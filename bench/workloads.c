// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is measured. Documentation/bench.rst says what the rows are, scripts/bench/bench.py
 * what they have to give.
 */
#include <linux/dxk.h>

#include "bench.h"
#include "servers.h"

#define TRIPS	1000

#define DIRECT	DXK_DISPATCH_DIRECT
#define THREAD	DXK_DISPATCH_THREAD

#define KERNEL(_name, _file, _ops, ...)	\
	{ .name = _name, .kind = &kernel_side, .ops = _ops, .text = _file, __VA_ARGS__ }
#define USER(_name, _kind, _ops, ...)	\
	{ .name = _name, .kind = &_kind, .ops = _ops, __VA_ARGS__ }

/* Points of a curve. A million takes long. */
#define BACKLOG(_name, _file)				\
	KERNEL(_name "@100", _file, 100),		\
	KERNEL(_name "@1000", _file, 1000),		\
	KERNEL(_name "@10000", _file, 10000),		\
	KERNEL(_name "@100000", _file, 100000),		\
	KERNEL(_name "@1000000", _file, 1000000, .rounds = 2)

#define BATCHES(_name, _kind)				\
	USER(_name "@1", _kind, 6400, .arg = 1),	\
	USER(_name "@4", _kind, 6400, .arg = 4),	\
	USER(_name "@16", _kind, 6400, .arg = 16),	\
	USER(_name "@64", _kind, 6400, .arg = 64)

#define MAILBOXES(_name, _kind)							\
	USER(_name "@1", _kind, 100000, .arg = 1, .rounds = 2),			\
	USER(_name "@100", _kind, 100000, .arg = 100, .rounds = 2)

#define OWNERS(n)	KERNEL("dxk@" #n, "dxk_owners", 100000, .arg = n)

#define DEATH(_name, _kind, _rounds, ...)					\
	USER(_name "@1", _kind, 1, .rounds = _rounds, __VA_ARGS__),		\
	USER(_name "@10", _kind, 10, .rounds = _rounds, __VA_ARGS__),		\
	USER(_name "@100", _kind, 100, .rounds = _rounds, __VA_ARGS__),		\
	USER(_name "@1000", _kind, 1000, .rounds = _rounds, __VA_ARGS__),	\
	USER(_name "@10000", _kind, 10000, .rounds = _rounds, __VA_ARGS__)

#define STREAM		100000
#define MILLION		1000000

/* The last one is followed by a comma, too. */
#define W(...)	(const struct variant[]){ __VA_ARGS__ { .name = NULL } }

const struct workload workloads[] = {
	{ 0, "yardsticks", "what everything is made of", "instructions", W(
		KERNEL("kmalloc", "kmalloc", TRIPS),
		KERNEL("kmalloc-account", "kmalloc_account", TRIPS),
		KERNEL("spinlock", "spinlock", TRIPS),
		USER("ioctl", driver_ioctl, TRIPS),
	) },
	{ 1, "trip", "one request to a kernel executor and back", "instructions", W(
		KERNEL("dxk-item", "dxk_item_trip", TRIPS),
		KERNEL("dxk", "dxk_trip", TRIPS),
		KERNEL("dxk-thread", "dxk_trip_thread", TRIPS),
		USER("dxk-user-client", dxk_kernel_trip, TRIPS, .arg = DIRECT),
		KERNEL("wq-unbound", "wq_trip", TRIPS),
		KERNEL("wq-bound", "wq_bound_trip", TRIPS),
		KERNEL("kthread_worker", "kw_trip", TRIPS),
	) },
	{ 2, "backlog", "N empty requests to kernel executors, all posted first",
	  "instructions per request", W(
		BACKLOG("dxk-item", "dxk_item_count"),
		BACKLOG("dxk-item-all", "dxk_item_all"),
		BACKLOG("dxk", "dxk_count"),
		BACKLOG("dxk-rejoin", "dxk_bulk"),
		BACKLOG("dxk-all", "dxk_all"),
		BACKLOG("wq-unbound", "wq_bulk"),
		BACKLOG("wq-copied", "wq_copied_bulk"),
		BACKLOG("wq-bound", "wq_bound_bulk"),
		BACKLOG("kthread_worker", "kw_bulk"),
	) },
	{ 2, "key", "10^4 requests of which one executes at a time, all posted first",
	  "instructions per request", W(
		KERNEL("dxk", "dxk_key", 10000),
		KERNEL("dxk-64-keys", "dxk_keys", 10000),
		KERNEL("wq-ordered", "wq_ordered", 10000),
		KERNEL("wq-ordered-copied", "wq_ordered_copied", 10000),
	) },
	{ 2, "by-64", "64 requests to a kernel executor and back",
	  "instructions per request", W(
		KERNEL("dxk-item", "dxk_item_by_64", 64000),
		KERNEL("dxk", "dxk_by_64", 64000),
		KERNEL("dxk-thread", "dxk_by_64_thread", 64000),
		KERNEL("wq-unbound", "wq_by_64", 64000),
		KERNEL("wq-copied", "wq_copied_by_64", 64000),
		KERNEL("kthread_worker", "kw_by_64", 64000),
	) },
	{ 2, "wait", "64 requests that wait are called, have a turn, and wait again",
	  "instructions per request", W(
		KERNEL("dxk", "dxk_wait", 64000),
		KERNEL("wq-unbound", "wq_by_64", 64000),
	) },
	{ 3, "post", "the post alone", "instructions per request", W(
		BATCHES("dxk", dxk_post_alone),
		USER("ioctl@1", driver_ioctl, 6400),
		BATCHES("io_uring-nop", uring_nop),
	) },
	{ 4, "user-trip", "to a second thread and back, both sleep", "instructions", W(
		USER("dxk", dxk_user_trip, TRIPS, .arg = DIRECT),
		USER("dxk-call", dxk_user_call, TRIPS, .arg = DIRECT),
		USER("dxk-thread", dxk_user_trip, TRIPS, .arg = THREAD),
		USER("futex", futex_trip, TRIPS),
		USER("eventfd", eventfd_trip, TRIPS),
		USER("pipe", pipe_trip, TRIPS),
		USER("socketpair", socketpair_trip, TRIPS),
		USER("mq", mq_trip, TRIPS),
	) },
	{ 5, "process", "64 at a time to a worker of another process and back",
	  "instructions per request", W(
		USER("dxk", dxk_process, 64000, .arg = DIRECT),
		USER("socketpair-trip", socketpair_trip, TRIPS),
		USER("socketpair", socketpair_each, 6400),
		USER("socketpair-mmsg", socketpair_mmsg, 6400),
		USER("socketpair-stream", socketpair_stream, 64000),
		USER("mq", mq_batch, 6400),
		USER("beanstalkd", beanstalkd_batch, 6400, .program = BEANSTALKD),
		USER("redis", redis_batch, 6400, .program = REDIS),
	) },
	{ 6, "urgent", "an urgent request among N waiting ones, 4 workers",
	  "lower ones that start before it", W(
		KERNEL("dxk@20000", "dxk_urgent", 20000),
		KERNEL("dxk@100000", "dxk_urgent", 100000, .rounds = 3),
		KERNEL("wq-highpri@20000", "wq_urgent", 20000),
		KERNEL("wq-highpri@100000", "wq_urgent", 100000, .rounds = 3),
		USER("mq@20000", mq_urgent, 20000),
		USER("mq@65000", mq_urgent, 65000, .rounds = 3),
		USER("glib@20000", glib_urgent, 20000),
		USER("glib@100000", glib_urgent, 100000, .rounds = 3),
	) },
	{ 7, "ageing", "one request in an endless stream of more urgent ones",
	  "more urgent ones before it", W(
		KERNEL("dxk", "dxk_ageing", 1, .arg = 1),
		KERNEL("dxk-no-ageing", "dxk_ageing", 1, .arg = 0, .rounds = 2),
		USER("mq", mq_stream, STREAM, .rounds = 2),
		USER("glib-priorities", glib_stream, STREAM, .rounds = 2),
		USER("beanstalkd", beanstalkd_stream, STREAM / 10, .program = BEANSTALKD,
		     .rounds = 2),
	) },
	{ 8, "levels", "three levels on 3 workers, 2420 requests", "requests executed", W(
		USER("dxk", library_levels, 1),
		USER("glib", glib_levels, 1),
		USER("glib-priorities", glib_levels, 1, .arg = 1),
		USER("tbb", tbb_levels, 1),
		KERNEL("wq-max-active-3", "wq_levels", 1, .arg = 3),
	) },
	{ 9, "crowd", "256 sleeping workers, one request", "wake-ups per request", W(
		USER("dxk", dxk_crowd, 200),
		USER("eventfd", eventfd_crowd, 200),
		USER("epoll-exclusive", epoll_crowd, 200),
	) },
	{ 10, "owners", "post and rejoin one by one of 10^5 requests",
	  "instructions per request", W(
		OWNERS(1), OWNERS(100), OWNERS(10000), OWNERS(100000),
		KERNEL("dxk-first@100000", "dxk_owners_first", 100000, .arg = 100000),
	) },
	{ 11, "death", "a worker process is killed with N requests",
	  "instructions per request", W(
		DEATH("dxk", dxk_death, 0),
		DEATH("beanstalkd", beanstalkd_death, 2, .program = BEANSTALKD),
	) },
	{ 12, "memory", "a queued request, beside its data", "bytes", W(
		USER("dxk", dxk_memory, 100000),
		USER("dxk-16-bytes", dxk_memory, 100000, .arg = 16),
		USER("dxk-256-bytes", dxk_memory, 100000, .arg = 256),
		USER("dxk-held", held_memory, 100000, .rounds = 1),
		USER("dxk-fom", fom_memory, 100000, .rounds = 2),
		KERNEL("work_struct", "work_struct", 1),
		USER("mq", mq_memory, 65000),
		USER("redis", redis_memory, 20000, .program = REDIS, .rounds = 2),
	) },
	{ 13, "idle", "60 s with nothing to do", "wake-ups", W(
		USER("dxk", dxk_idle, 1, .rounds = 2),
		USER("dxk-one-waits", dxk_waiting, 1, .rounds = 2),
		USER("kworkers", kworker_idle, 1, .rounds = 2),
	) },
	{ 14, "mix", "short requests among long ones", "p99 of waiting, instructions", W(
		KERNEL("dxk", "dxk_mix", 10000, .arg = 1),
		KERNEL("dxk-4-workers", "dxk_mix", 10000, .arg = 4),
		KERNEL("wq-unbound", "wq_mix", 10000),
		KERNEL("wq-unbound-1", "wq_mix", 10000, .arg = 1),
	) },
	{ 15, "library", "10^6 requests of one process, 1000 at a time", "instructions per request", W(
		USER("dxk", library, MILLION, .rounds = 2),
		USER("dxk-fetch-64", library, MILLION, .arg = 64, .rounds = 2),
		USER("dxk-each", library_each, 20000),
		USER("glib-priorities", glib_pool, MILLION, .arg = 1, .rounds = 2),
		USER("glib", glib_pool, MILLION, .rounds = 2),
		USER("mutex-pool", list_pool, MILLION, .rounds = 2),
		USER("tbb", tbb_tasks, MILLION, .rounds = 2),
	) },
	{ 16, "event", "64 bytes to a server and back, N connections at a time",
	  "instructions per message", W(
		USER("dxk@1", reactor_events, 10000, .arg = 1),
		USER("dxk-request@1", request_events, 10000, .arg = 1),
		USER("epoll-pool@1", epoll_events, 10000, .arg = 1, .text = "pool"),
		USER("epoll@1", epoll_events, 10000, .arg = 1),
		USER("dxk@64", reactor_events, 64000, .arg = 64),
		USER("dxk-request@64", request_events, 64000, .arg = 64),
		USER("dxk-request-fetch-64@64", request_events, 64000, .arg = 64, .text = "64"),
		USER("epoll-pool@64", epoll_events, 64000, .arg = 64, .text = "pool"),
		USER("epoll@64", epoll_events, 64000, .arg = 64),
	) },
	{ 17, "message", "a message to an idle mailbox and its reply", "instructions", W(
		USER("dxk", aglet_trip, TRIPS),
		USER("dxk-request", request_trip, TRIPS),
		USER("glib-mailbox", glib_mail_trip, TRIPS, .arg = 1),
	) },
	{ 18, "mailbox", "10^4 messages at a time to N mailboxes",
	  "instructions per message", W(
		MAILBOXES("dxk", aglet_mails),
		MAILBOXES("glib-mailbox", glib_mails),
		MAILBOXES("asio-strand", asio_mails),
	) },
	{ 19, "fom", "N state machines that wait are called, have a turn, and wait again",
	  "instructions per turn", W(
		USER("dxk@1", fom_turns, 10000, .arg = 1),
		USER("dxk-request@1", request_turns, 10000, .arg = 1),
		USER("dxk@64", fom_turns, 64000, .arg = 64),
		USER("dxk-request@64", request_turns, 64000, .arg = 64),
	) },
	{ 20, "join", "64 requests of an owner, and what follows upon the last one",
	  "instructions per request", W(
		USER("dxk", joins, 64000, .arg = DXK_WAIT_JOIN),
		USER("dxk-eager", joins, 64000, .arg = DXK_WAIT_JOIN | DXK_WAIT_EAGER),
		USER("dxk-request", joins, 64000),
	) },
	{ .name = NULL }
};
