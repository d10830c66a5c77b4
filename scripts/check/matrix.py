#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compares what the guests of all kernels ran.

    matrix.py DIRECTORY

Reads the *.ktap files of "check.sh matrix". Prints a table, the results of each
program per kernel, and what was skipped where, and why. Exit status 1 when a program
did not run on one of the kernels, or had other results there.
"""
import glob
import os
import re
import sys


def read(path):
    """{program: [results, skipped]}, both modes together, and {reason: programs}"""
    counts, reasons, program = {}, {}, None
    for line in open(path, errors="replace"):
        if m := re.match(r" +# Subtest: ([^.\s]+(?:\.sh)?)", line):
            program = m[1]
        elif m := re.match(r"( *)(?:not )?ok \d+ ([^#\n]*)(?:# SKIP *(.*))?", line):
            if m[1] or m[3] is not None:
                name = program if m[1] else re.match(r"[^.\s]+(?:\.sh)?", m[2])[0]
                count = counts.setdefault(name, [0, 0])
                count[0] += 1
                count[1] += m[3] is not None
                if m[3]:
                    reasons.setdefault(m[3].strip(), set()).add(name)
    return counts, reasons


guests, why = {}, {}
for ktap in sorted(glob.glob(os.path.join(sys.argv[1], "*.ktap"))):
    name = os.path.basename(ktap)[:-5]
    if name not in ("kunit", "host"):
        guests[name], why[name] = read(ktap)

bad = []
names = sorted(set().union(*guests.values()))
print("%-20s" % "passed" + "".join("%12s" % g for g in guests))
for name in names:
    cells = []
    for guest, counts in guests.items():
        results, skipped = counts.get(name, (0, 0))
        cells.append("-" if not results else
                     f"{results - skipped}" + (f" ({skipped})" if skipped else ""))
        if name not in counts:
            bad.append(f"{name} did not run on {guest}")
    print("%-20s" % name + "".join("%12s" % c for c in cells))
    # A program that is skipped as a whole has one result.
    most = max(c.get(name, (0, 0))[0] for c in guests.values())
    for guest, counts in guests.items():
        results, skipped = counts.get(name, (0, 0))
        if results != most and results != skipped:
            bad.append(f"{name}: {results} results on {guest}, {most} elsewhere")
for guest, reasons in why.items():
    for reason, programs in sorted(reasons.items()):
        print(f"skipped on {guest}: {reason}: {', '.join(sorted(programs))}")
for text in bad:
    print(f"matrix: {text}")
sys.exit(bool(bad) or not guests)
