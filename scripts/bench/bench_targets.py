# SPDX-License-Identifier: GPL-2.0-only
"""What the measurements of bench/ have to give.

Each target is (row, text, value, bound): value(m) of the medians, where m("trip/dxk")
is one; with m.extra("trip/dxk", "client_sleeps") as well. "<=" unless the text begins
with ">=".
"""

import math


def ratio(dxk, *rivals):
    """dxk by the best of its rivals"""
    return lambda m: m(dxk) / min(m(rival) for rival in rivals)


def times(dxk, *rivals):
    """how many times dearer the best of the rivals is"""
    return lambda m: min(m(rival) for rival in rivals) / m(dxk)


def growth(curve, first, last):
    return lambda m: m(f"{curve}@{last}") / m(f"{curve}@{first}")


def worst(dxk, rival, points):
    return lambda m: max(m(f"{dxk}@{x}") / m(f"{rival}@{x}") for x in points)


SIZES = (100, 1000, 10000, 100000, 1000000)

TARGETS = [
    (1, "item: <= 1.05 x unbound workqueue",
     ratio("trip/dxk-item", "trip/wq-unbound"), 1.05),
    (1, "copied and collected: <= 1.15 x unbound workqueue",
     ratio("trip/dxk", "trip/wq-unbound"), 1.15),

    (2, "one priority, items: <= 0.65 x unbound workqueue, at each N",
     worst("backlog/dxk-item", "backlog/wq-unbound", SIZES), 0.65),
    (2, "priority, ageing, lanes, owner, items: <= 0.8 x, at each N",
     worst("backlog/dxk-item-all", "backlog/wq-unbound", SIZES), 0.8),
    (2, "one priority, copied: <= 0.85 x unbound workqueue that copies, at each N",
     worst("backlog/dxk", "backlog/wq-copied", SIZES), 0.85),
    (2, "priority, ageing, lanes, owner, copied: <= 1.1 x, at each N",
     worst("backlog/dxk-all", "backlog/wq-copied", SIZES), 1.1),
    (2, "growth from 10^2 to 10^6, items: <= 1.05 x",
     growth("backlog/dxk-item", 100, 1000000), 1.05),
    (2, "growth from 10^2 to 10^6, one priority: <= 1.05 x",
     growth("backlog/dxk", 100, 1000000), 1.05),
    (2, "growth from 10^2 to 10^6, all: <= 1.05 x",
     growth("backlog/dxk-all", 100, 1000000), 1.05),

    (3, "1 at a time: <= 1.6 x ioctl", ratio("post/dxk@1", "post/ioctl@1"), 1.6),
    (3, "64 at a time: <= 0.75 x io_uring NOP",
     ratio("post/dxk@64", "post/io_uring-nop@64"), 0.75),

    (4, "<= 1.15 x futex, the floor", ratio("user-trip/dxk", "user-trip/futex"), 1.15),
    (4, "<= 0.8 x pipe", ratio("user-trip/dxk", "user-trip/pipe"), 0.8),
    (4, "in one call: <= 1.15 x futex", ratio("user-trip/dxk-call", "user-trip/futex"), 1.15),
    (4, "in one call: <= 0.8 x pipe", ratio("user-trip/dxk-call", "user-trip/pipe"), 0.8),
    (4, "<= 0.8 x mq", ratio("user-trip/dxk", "user-trip/mq"), 0.8),
    (4, "<= 0.65 x socketpair", ratio("user-trip/dxk", "user-trip/socketpair"), 0.65),

    (5, "<= 750 instructions", lambda m: m("process/dxk"), 750),
    (5, ">= 10 x cheaper than a socketpair's round trip",
     times("process/dxk", "process/socketpair-trip"), 10),
    (5, ">= 10 x cheaper than messages through a socketpair, its best form",
     times("process/dxk", "process/socketpair", "process/socketpair-mmsg"), 10),
    (5, ">= 20 x cheaper than beanstalkd",
     times("process/dxk", "process/beanstalkd"), 20),

    (6, "lower ones that start before it: <= 4, the workers",
     lambda m: max(m("urgent/dxk@20000"), m("urgent/dxk@100000")), 4),
    (6, "cost of the post, 10^5 by 2 * 10^4 waiting: <= 1.2 x, log n",
     lambda m: m.extra("urgent/dxk@100000", "post") / m.extra("urgent/dxk@20000", "post"),
     1.2),

    (7, "starts after <= 10 intervals, the difference of the priorities",
     lambda m: m.extra("ageing/dxk", "intervals") if m.extra("ageing/dxk", "started")
     else math.inf, 10),
    (7, "rivals that start it: <= 0",
     lambda m: sum(m.extra(f"ageing/{rival}", "started")
                   for rival in ("mq", "glib-priorities", "beanstalkd")), 0),

    (8, ">= 2420 of 2420 requests executed", lambda m: m("levels/dxk"), 2420),

    (9, "<= 1.05 wake-ups", lambda m: m("crowd/dxk"), 1.05),

    (10, "10^5 owners: <= 2200 instructions", lambda m: m("owners/dxk@100000"), 2200),

    (11, "linear, 10^4 by 10^3 held, per request: <= 1.1 x",
     growth("death/dxk", 1000, 10000), 1.1),
    (11, "lost: <= 0",
     lambda m: max(m.extra(f"death/dxk@{n}", "lost") for n in (1, 10, 100, 1000, 10000)),
     0),

    (12, "<= 192 bytes, free requests counted", lambda m: m("memory/dxk"), 192),
    (12, "a fom that waits: <= 600 bytes", lambda m: m("memory/dxk-fom"), 600),

    (13, "nothing to do: <= 0 wake-ups",
     lambda m: m("idle/dxk") + m.extra("idle/dxk", "user_workers"), 0),
    (13, "a request waits: <= 1 x what the intervals allow",
     lambda m: m("idle/dxk-one-waits") / m.extra("idle/dxk-one-waits", "allowed"), 1),

    (14, "p99 <= 0.5 x unbound workqueue",
     ratio("mix/dxk", "mix/wq-unbound", "mix/wq-unbound-1"), 0.5),

    (16, "one connection: <= 1.15 x epoll and a pool",
     ratio("event/dxk@1", "event/epoll-pool@1"), 1.15),
    (16, "64 connections: <= 1.15 x epoll and a pool",
     ratio("event/dxk@64", "event/epoll-pool@64"), 1.15),

    (17, "<= 1.25 x a request that is posted and collected",
     ratio("message/dxk", "message/dxk-request"), 1.25),
    (19, "a fom: <= 500 instructions above a request",
     lambda m: m("fom/dxk@64") - m("fom/dxk-request@64"), 500),

    (20, "<= 100 instructions above requests without",
     lambda m: m("join/dxk") - m("join/dxk-request"), 100),
    (20, "at once: <= 100 instructions above requests without",
     lambda m: m("join/dxk-eager") - m("join/dxk-request"), 100),

    (15, "<= 1.0 x GThreadPool with priorities",
     ratio("library/dxk", "library/glib-priorities"), 1.0),
    (15, "<= 0.7 x GThreadPool without",
     ratio("library/dxk", "library/glib"), 0.7),
    (15, "64 fetched at a time: <= 0.3 x GThreadPool without",
     ratio("library/dxk-fetch-64", "library/glib"), 0.3),
]
