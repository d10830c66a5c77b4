#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Adds up by function what the plugin bench/profile.c counted.

    profile.py [--blocks FUNCTION] DIR

DIR has blocks, kallsyms, maps and raw.json of the run. --blocks: the addresses
within one function.
"""
import argparse
import bisect
import collections
import json
import os
import subprocess


class Symbols:
    """Functions by address: (address, name, module) in order."""

    def __init__(self):
        self.table = []

    def add(self, addr, name, module):
        self.table.append((addr, name, module))

    def sort(self):
        self.table.sort()
        self.addrs = [entry[0] for entry in self.table]

    def find(self, addr):
        i = bisect.bisect_right(self.addrs, addr) - 1
        if i < 0:
            return 0, f"{addr:#x}", "?"
        return self.table[i]


def kernel_symbols(symbols, path):
    with open(path) as f:
        for line in f:
            fields = line.split()
            if fields[1] in "tTwW":
                module = fields[3].strip("[]") if len(fields) > 3 else "kernel"
                symbols.add(int(fields[0], 16), fields[2], module)


def nm(path):
    for options in (["-C"], ["-D", "-C"]):
        run = subprocess.run(["nm", "--defined-only", *options, path],
                             capture_output=True, text=True)
        lines = [line.split(maxsplit=2) for line in run.stdout.splitlines()]
        found = [(int(a, 16), n) for a, t, n in lines if t in "tTwWiu"]
        if found:
            return found
    return []


def user_symbols(symbols, path):
    """Of the process that was measured; another program's are taken for its."""
    with open(path) as f:
        for line in f:
            fields = line.split(maxsplit=5)
            if len(fields) < 6 or "x" not in fields[1]:
                continue
            start = int(fields[0].split("-")[0], 16)
            offset, name = int(fields[2], 16), fields[5].strip()
            base = os.path.basename(name)
            symbols.add(start, f"({base})", base)
            symbols.add(int(fields[0].split("-")[1], 16), "(no file)", "user")
            if name.startswith("/"):
                for addr, function in nm(name):
                    if addr >= offset:
                        symbols.add(addr - offset + start, function, base)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--blocks")
    parser.add_argument("dir")
    args = parser.parse_args()

    symbols = Symbols()
    kernel_symbols(symbols, f"{args.dir}/kallsyms")
    user_symbols(symbols, f"{args.dir}/maps")
    symbols.sort()

    with open(f"{args.dir}/raw.json") as f:
        workload = json.load(f)["workloads"][0]
    (name, variant), = workload["variants"].items()
    ops = variant["ops"]

    insns, calls, blocks = (collections.Counter() for _ in range(3))
    with open(f"{args.dir}/blocks") as f:
        for line in f:
            if line.startswith("cache"):
                cache = [int(n) / ops for n in line.split()[1:]]
                continue
            addr, size, times = line.split()
            start, function, module = symbols.find(int(addr, 16))
            key = (function, module)
            insns[key] += int(size) * int(times)
            if int(addr, 16) == start:
                calls[key] += int(times)
            if function == args.blocks:
                blocks[int(addr, 16) - start, int(size)] += int(times)

    total = sum(insns.values())
    if args.blocks:
        print("  offset  size  times/request  instructions/request")
        for (offset, size), times in sorted(blocks.items()):
            print(f"{offset:+#8x} {size:5} {times / ops:14.3f} "
                  f"{times * size / ops:21.1f}")
        return
    print(f"{workload['name']}/{name}: {total / ops:.0f} instructions per request, "
          f"{ops:.0f} requests")
    print("{:.1f} loads and stores, {:.2f} of them to lines that are not in a cache of 32 KiB; "
          "{:.2f} lines of 64 bytes in all".format(*cache))
    print("   share  instructions   calls  function")
    for key, n in insns.most_common():
        if n / ops < 0.5:
            break
        print(f"{n / total:8.1%} {n / ops:13.1f} {calls[key] / ops:7.2f}  "
              f"{key[0]} [{key[1]}]")
    print("by module:")
    modules = collections.Counter()
    for (_, module), n in insns.items():
        modules[module] += n
    for module, n in modules.most_common(12):
        print(f"{n / total:8.1%} {n / ops:13.1f}          {module}")


main()
