#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Measures the engine on more than one CPU, in real time, beside GLib's and oneTBB's pools.

    cores.py [--cpus N] [--rounds N] [--ms N] [--json FILE] PROGRAM

PROGRAM is native/cores. Prints reStructuredText: the round trips and batches of 1, 2 and 4
contexts with 1 and 2 workers each, and what a simulation of the lock says about more CPUs
than there are. The systems take turns; figures are medians, ratios medians of the ratios of
neighbours. The host is to be quiet.
"""
import argparse
import heapq
import json
import os
import random
import statistics
import subprocess

SYSTEMS = ("dxk", "glib", "tbb")
BATCH = 64
HOLD_WIDTH = 32     # OS_HOLD_WIDTH of native/cores/thread.h


def measure(args, *what):
    out = subprocess.run([args.program, *map(str, what)], check=True, timeout=60,
                         stdout=subprocess.PIPE, text=True).stdout
    return json.loads(out)


def rows(args):
    """(contexts, workers, batch, {system: [result, ...]})"""
    for batch in (1, BATCH):
        for contexts in (1, 2, 4):
            for workers in (1, 2):
                got = {system: [] for system in SYSTEMS}
                for turn in range(args.rounds):
                    for system in SYSTEMS[::1 if turn % 2 else -1]:
                        got[system].append(measure(args, system, contexts, workers,
                                                   batch, args.ms, 0))
                yield contexts, workers, batch, got


def rate(result):
    return result["requests"] * 1e9 / result["ns"]


def median(results, value):
    return statistics.median(map(value, results))


def table(head, lines):
    """A simple table of reStructuredText"""
    lines = [head, *lines]
    width = [max(len(line[i]) for line in lines) for i in range(len(head))]
    rule = "  ".join("=" * w for w in width)
    text = ["  ".join(cell.ljust(w) for cell, w in zip(line, width)).rstrip()
            for line in lines]
    return "\n".join([rule, text[0], rule, *text[1:], rule])


def trips(measured):
    for contexts, workers, batch, got in measured:
        for system in SYSTEMS:
            ratios = [rate(a) / rate(b) for a, b in zip(got[system], got["glib"])]
            yield (str(batch), str(contexts), str(workers), system,
                   f"{median(got[system], rate) / 1000:,.0f}",
                   f"{median(got[system], lambda r: r['p50']) / 1000:.1f}",
                   f"{median(got[system], lambda r: r['p99']) / 1000:.1f}",
                   f"{statistics.median(ratios):.2f}")


# --- more CPUs than there are ---------------------------------------------------

class Lock:
    """What was measured of the lock, with two CPUs at it"""

    def __init__(self, args):
        r = measure(args, "dxk", 1, 1, BATCH, args.ms, 0, "hold")
        width = HOLD_WIDTH * r["ns_per_tick"]
        self.weights = r["holds"]
        self.holds = [(i + 0.5) * width for i in range(len(self.weights))]
        nr = sum(self.weights)
        self.mean = sum(h * w for h, w in zip(self.holds, self.weights)) / nr
        self.per_request = nr / r["requests"]
        self.held = self.mean * self.per_request
        self.outside = r["cpu_ns"] / r["requests"] - self.held


def simulate(lock, cpus, work, requests=40000):
    """Requests a second: each CPU works, then wants the lock, first come, first served"""
    draw = random.Random(1)
    nr = int(requests * lock.per_request)
    think = (lock.outside + work) / lock.per_request
    ready = [(draw.expovariate(1 / think), cpu) for cpu in range(cpus)]
    heapq.heapify(ready)
    free = 0
    for hold in draw.choices(lock.holds, lock.weights, k=nr):
        at, cpu = heapq.heappop(ready)
        free = max(free, at) + hold
        heapq.heappush(ready, (free + draw.expovariate(1 / think), cpu))
    return nr / lock.per_request * 1e9 / free


def scaling(lock):
    for work in (0, 1000, 10000, 100000):
        one = simulate(lock, 1, work)
        yield (f"{work / 1000:g}", *(f"{simulate(lock, cpus, work) / one:.1f}"
                                     for cpus in (2, 4, 8, 16, 64)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--ms", type=int, default=300)
    parser.add_argument("--json")
    parser.add_argument("program")
    args = parser.parse_args()

    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < args.cpus:
        parser.error(f"there are {len(allowed)} CPUs")
    os.sched_setaffinity(0, allowed[:args.cpus])
    measured = list(rows(args))
    lock = Lock(args)
    if args.json:
        with open(args.json, "w", encoding="ascii") as f:
            json.dump(measured, f)
    print(table(("batch", "contexts", "workers", "system", "1000/s", "p50 µs", "p99 µs",
                 "x glib"), trips(measured)))
    print(f"\nThe lock is held for {lock.mean:.0f} ns at a time, {lock.per_request:.2f} times "
          f"and {lock.held:.0f} ns in all for each request; {lock.outside:.0f} ns of a "
          "request are outside of it.\n")
    print(table(("work µs", "2 CPUs", "4", "8", "16", "64"), scaling(lock)))


if __name__ == "__main__":
    main()
