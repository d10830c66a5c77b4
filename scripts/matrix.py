#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compares what the guests of all kernels ran.

    matrix.py DIRECTORY

Reads the *.out files of check.sh --matrix. Prints a table, the results of each
program that passed per kernel, and what was skipped where, and why. Exit status 1
when a program did not run on one of the kernels, or had other results there.
"""
import glob
import os
import re
import sys


def read(path):
    """{program: [results, skipped]}, both modes together, and {reason: programs}"""
    counts, reasons, program, run, void = {}, {}, None, [0, 0], False
    for line in open(path, errors="replace"):
        if m := re.match(r"@begin (\S+) (\S+)", line):
            program, run, void = m[1], [0, 0], False
        elif line.startswith("@again"):
            void = True  # it runs again
        elif line.startswith("@end"):
            count = counts.setdefault(program, [0, 0])
            if not void:
                count[0] += run[0]
                count[1] += run[1]
            program = None
        elif program and (m := re.match(r"(?:ok \d+|1\.\.0)\b(.*)", line)):
            skip = re.search(r"# *SKIP\S* *(.*)", m[1], re.I)
            if skip:
                reasons.setdefault(skip[1].strip(), set()).add(program)
            run[0] += not line.startswith("1..")
            run[1] += bool(skip)
    return counts, reasons


guests, why = {}, {}
for out in sorted(glob.glob(os.path.join(sys.argv[1], "*.out"))):
    name = os.path.basename(out)[:-4]
    if name != "kunit":
        guests[name], why[name] = read(out)

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
        elif results == 0 and skipped == 0:
            bad.append(f"{name} has no results on {guest}")
    print("%-20s" % name + "".join("%12s" % c for c in cells))
    # A program that is skipped as a whole prints no results, and in one mode half.
    most = max(c.get(name, (0, 0))[0] for c in guests.values())
    for guest, counts in guests.items():
        results = counts.get(name, (0, 0))[0]
        if results and results not in (most, most // 2):
            bad.append(f"{name}: {results} results on {guest}, {most} elsewhere")
for guest, reasons in why.items():
    for reason, programs in sorted(reasons.items()):
        print(f"skipped on {guest}: {reason}: {', '.join(sorted(programs))}")
for text in bad:
    print(f"matrix: {text}")
sys.exit(bool(bad) or len(guests) < 2)
