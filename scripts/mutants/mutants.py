#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the tests: changes the engine in one place at a time; who notices?

    mutants.py [--jobs N] [--files next.c ...] [--since COMMIT] [--only NAME ...]
               [--sample N [--seed S]] [--min PERCENT] [--list] [--self-test]

libclang finds the places: conditions, comparisons, arithmetic, constants, statements,
barriers. Each mutant is built in user space and shown to the suites and the simulator
(bench.py: JUDGES). One that changes no object code is not counted; one that a judge
fails, crashes or hangs with is noticed. Prints the survivors, and ends with 1 when less
than --min percent were noticed. equivalent.txt lists those that change no behaviour,
and why; an entry without a place, or one that is noticed after all, is an error.
All verdicts are in build/mutants/results.txt.
"""
import argparse
import contextlib
import io
import itertools
import multiprocessing
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

# The tree stays as it is.
sys.dont_write_bytecode = True

import places
from bench import Bench, Verdict

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
ENGINE = "dxk/engine"
INCLUDE = ("native/threads", "native", "dxk", ".")

worker = {}


def become_worker(root, work):
    # A pool replaces workers that fail here, for ever.
    try:
        worker["bench"] = Bench(root, tempfile.mkdtemp(dir=work), ENGINE)
    except (OSError, RuntimeError) as error:
        worker["error"] = error


def judge(mutant):
    if "error" in worker:
        raise worker["error"]
    return worker["bench"].judge(mutant)


class Equivalent:
    """The file of those that are known to change nothing"""

    def __init__(self, path):
        self.path, self.reasons = path, {}
        identity = None
        with open(path, encoding="utf-8") as file:
            for line in file:
                if not line.strip() or line[0] == "#":
                    continue
                if line[0].isspace():
                    self.reasons[identity] += line.strip() + " "
                else:
                    identity = line.strip()
                    self.reasons[identity] = ""

    def complaints(self, mutants):
        there = {m.identity for m in mutants}
        for identity, reason in self.reasons.items():
            if identity not in there:
                yield f"equivalent.txt: no such place: {identity}"
            elif not reason:
                yield f"equivalent.txt: no reason: {identity}"


def changed_lines(root, commit):
    """Per file the numbers of the lines that differ from a commit's"""
    diff = subprocess.run(
        ["git", "-C", root, "diff", "-U0", "--no-color", commit, "--", ENGINE],
        check=True, stdout=subprocess.PIPE, text=True).stdout
    lines, file = {}, ""
    for line in diff.splitlines():
        if line.startswith("+++ "):
            file = os.path.basename(line)
        elif m := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))?", line):
            first, nr = int(m[1]), int(m[2] or 1)
            lines.setdefault(file, set()).update(range(first, first + nr))
    return lines


def choose(mutants, args):
    if args.files:
        mutants = [m for m in mutants if m.file in args.files]
    if args.only:
        mutants = [m for m in mutants if m.name in args.only or m.identity in args.only]
    if args.since:
        lines = changed_lines(args.root, args.since)
        mutants = [m for m in mutants if m.line in lines.get(m.file, ())]
    if args.sample and args.sample < len(mutants):
        some = set(random.Random(args.seed).sample(range(len(mutants)), args.sample))
        mutants = [m for i, m in enumerate(mutants) if i in some]
    return mutants


def run(mutants, args, work):
    """The verdicts of all, in the order of the places"""
    begin = time.monotonic()
    verdicts = {}
    # Headers take longest; the order of the rest spreads what hangs.
    order = sorted(mutants, key=lambda m: (m.file[-1] != "h", m.name))
    with multiprocessing.Pool(min(args.jobs, len(order)), become_worker,
                              (args.root, work)) as pool:
        for nr, verdict in enumerate(pool.imap_unordered(judge, order), 1):
            verdicts[verdict.mutant.identity] = verdict
            seconds = time.monotonic() - begin
            if verdict.verdict == "survived" and args.results:
                print("survives:", show(verdict.mutant), flush=True)
            if sys.stderr.isatty():
                print(f"\r{nr}/{len(order)}, {seconds:.0f} s ", end="", file=sys.stderr)
            elif nr % 100 == 0 and args.results:
                print(f"{nr}/{len(order)}, {seconds:.0f} s", flush=True)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return [verdicts[m.identity] for m in mutants]


def show(mutant):
    return f"{mutant.name} {mutant.line} {mutant.identity}"


def report(verdicts, equivalent, args, seconds):
    """Prints survivors and the summary. Return: the exit status"""
    wrong = [v for v in verdicts if v.mutant.identity in equivalent.reasons and
             v.verdict in ("noticed", "hang")]
    for v in verdicts:
        if v.verdict == "survived" and v.mutant.identity in equivalent.reasons:
            v.verdict = "equivalent"
    survivors = [v for v in verdicts if v.verdict == "survived"]
    print("\nsurvivors that are not equivalent:" if survivors else "")
    for v in survivors:
        print("survived", show(v.mutant))
    for v in wrong:
        print(f"not equivalent, noticed by {v.judge}:", show(v.mutant))

    def count(*what):
        return sum(v.verdict in what for v in verdicts)

    noticed = count("noticed", "hang")
    by = ", ".join(
        f"{name} {len(list(group))}" for name, group in itertools.groupby(sorted(
            v.judge for v in verdicts if v.verdict == "noticed")))
    percent = 100 * noticed / max(1, noticed + len(survivors))
    summary = (f"{len(verdicts)} places, {count('not compiled')} not compiled, "
               f"{count('same code')} same code, {noticed} noticed "
               f"({by + ', ' if by else ''}hang {count('hang')}), "
               f"{count('equivalent')} equivalent, {len(survivors)} survived: "
               f"{percent:.1f} % noticed")
    print(summary)
    if args.results:
        with open(args.results, "w", encoding="utf-8") as file:
            for v in verdicts:
                judged = f"{v.verdict} {v.judge}".strip()
                print(judged, show(v.mutant), v.detail, f"{v.seconds:.2f} s", sep="\t",
                      file=file)
            print(f"{summary}; {seconds:.0f} s, {args.jobs} jobs", file=file)
    return 1 if wrong or percent < args.min else 0


def self_test():
    """On a source of its own, whose mutants have known verdicts"""
    root = os.path.join(HERE, "tiny")
    with open(os.path.join(root, "expected.txt"), encoding="ascii") as file:
        expected = [line.rstrip("\n") for line in file if line[0] != "#"]
    mutants = places.find(root, ENGINE, INCLUDE)
    args = argparse.Namespace(root=root, jobs=2, min=100, results=None)
    with tempfile.TemporaryDirectory() as work:
        verdicts = run(mutants, args, work)
    got = [f"{v.verdict} {v.judge}".strip() + "\t" + v.mutant.identity for v in verdicts]
    bad = [f"- {line}" for line in expected if line not in got] + \
        [f"+ {line}" for line in got if line not in expected]
    equivalent = Equivalent(os.path.join(root, "equivalent.txt"))
    complaints = list(equivalent.complaints(mutants))
    if [c.split(":")[1] for c in complaints] != [" no such place", " no reason"]:
        bad.append(f"complaints: {complaints}")
    with contextlib.redirect_stdout(io.StringIO()):
        status = report(verdicts, equivalent, args, 0)
    if status != 1 or sum(v.verdict == "equivalent" for v in verdicts) != 2:
        bad.append(f"status {status}")
    noticed = [Verdict(v.mutant, "noticed", "suites") for v in verdicts]
    equivalent.reasons.clear()
    with contextlib.redirect_stdout(io.StringIO()):
        status = report(noticed, equivalent, args, 0)
    if status:
        bad.append("all are noticed, and the status is not 0")
    print("\n".join(bad) if bad else f"self-test: ok, {len(got)} mutants")
    return 1 if bad else 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--files", nargs="+", help="only places in these")
    parser.add_argument("--since", metavar="COMMIT",
                        help="only places on lines that have changed since then")
    parser.add_argument("--only", nargs="+", metavar="NAME",
                        help="only these: short names or whole identities")
    parser.add_argument("--sample", type=int, metavar="N", help="a random choice")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--min", type=float, default=95, metavar="PERCENT")
    parser.add_argument("--list", action="store_true", help="print the places only")
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    args.root = ROOT
    args.results = os.path.join(ROOT, "build/mutants/results.txt")
    return args


def main():
    args = arguments()
    if args.self_test:
        return self_test()
    everything = places.find(ROOT, ENGINE, INCLUDE)
    equivalent = Equivalent(os.path.join(HERE, "equivalent.txt"))
    complaints = list(equivalent.complaints(everything))
    if complaints:
        sys.exit("\n".join(complaints))
    mutants = choose(everything, args)
    if args.list:
        for m in mutants:
            print(show(m))
        print(f"{len(mutants)} places")
        return 0
    if not mutants:
        print("0 places")
        return 0
    begin = time.monotonic()
    work = os.path.join(ROOT, "build/mutants")
    os.makedirs(work, exist_ok=True)
    work = tempfile.mkdtemp(dir=work)
    try:
        verdicts = run(mutants, args, work)
    except RuntimeError as error:
        sys.exit(f"mutants.py: {error}")
    finally:
        shutil.rmtree(work)
    return report(verdicts, equivalent, args, time.monotonic() - begin)


if __name__ == "__main__":
    sys.exit(main())
