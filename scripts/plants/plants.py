#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the tests: breaks the module in small ways and shows which test notices.

    plants.py [--check] [--all-tests] [--kunit] [--mode M] [NAME...]

Reads plants.txt, beside it. For each entry, or those named, the module is built with it
and its tests are run in a guest; "native" is no guest, but the engine in user space,
with its suites and simulator. Prints a table, the same in build/plants/table.rst,
and the survivors; exit status 1 when there is one, or when the tests fail without a
plant. --all-tests runs all programs instead of those that the entry names, --kunit
the suites of KUnit instead. --check only tells which have no place in the source any
more, and which no program of that kernel's tier is to notice. "make selftests" and
scripts/guest/kernel.sh come first.
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORK = os.path.join(ROOT, "build/plants")
ALL = "!(*-asan)"   # of those that "make selftests" builds
NATIVE = {"suites": ["suites"], "simulator": ["sim", "--brief", "--steps", "2e7"]}


class Plant:
    def __init__(self, text):
        lines = text.splitlines()
        self.name, self.what = lines[0].split(": ", 1)
        self.file = lines[1]
        self.kernel, self.tests = lines[2].split(" ", 1)
        self.old = "\n".join(l[2:] for l in lines if l.startswith("- "))
        self.new = "\n".join(l[2:] for l in lines if l.startswith("+ "))

    def fits(self, source):
        text = open(os.path.join(source, self.file)).read()
        fits = text.count(self.old) == 1
        if not fits:
            print(f"plants.py: {self.name}: not exactly once in {self.file}")
        return fits

    def noticeable(self):
        """By a program of "make check", or a suite? By one of "debug" what only assertions see."""
        if self.kernel == "native" and self.tests in NATIVE:
            return True
        named = re.findall(r"[\w.-]+", self.tests)
        if self.kernel == "kunit":
            if any(f'"{suite}"' in s for s in suites() for suite in named):
                return True
        else:
            with open(os.path.join(ROOT, "selftests/tiers.txt")) as tiers:
                rows = [l.split() for l in tiers if l.strip() and l[0] != "#"]
            column = {"stock": 1, "debug": 3}[self.kernel]
            if any(r[0] in named and r[column] != "-" for r in rows):
                return True
        print(f"plants.py: {self.name}: no program of its tier is to notice it")
        return False

    def apply(self, source):
        path = os.path.join(source, self.file)
        if not self.fits(source):
            sys.exit(1)
        text = open(path).read()
        open(path, "w").write(text.replace(self.old, self.new))


def suites():
    return [open(f).read() for f in glob.glob(os.path.join(ROOT, "dxk/*/tests/*_test.c"))]


def run(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", cwd=ROOT, **options)


def kdir(kernel):
    if kernel == "stock":
        return sorted(glob.glob("/usr/src/linux-headers-6.1.*-amd64"))[-1]
    return run("scripts/guest/kernel.sh", "--path").stdout.split()[-1]


def build(kernel, plant):
    """A copy of the source per kernel, so that only what changed is built again."""
    source = os.path.join(WORK, kernel)
    os.makedirs(source, exist_ok=True)
    for part in ("VERSION", "Kbuild", "dxk", "uapi", "native"):
        run("cp", "-pRu", part, source)
    if plant:
        path = os.path.join(source, plant.file)
        shutil.copy(os.path.join(ROOT, plant.file), path)
        plant.apply(source)
    if kernel == "native":
        made = run("make", "-s", "-j2", "-C", f"{source}/native", f"BUILD={source}/build")
    else:
        made = run("make", "-C", kdir(kernel), f"M={source}", "-j2", "modules",
                   *(["DXK_KUNIT=y"] if kernel == "kunit" else []))
    if plant:
        # newer than what was built of the other
        shutil.copyfile(os.path.join(ROOT, plant.file), path)
    if made.returncode:
        sys.exit(f"plants.py: {plant.name if plant else 'no plant'}: not built\n" +
                 made.stdout[-2000:])
    return source


def verdict(lines):
    """The test that noticed first, of the KTAP that run.sh prints; None when none did"""
    program, over = "the guest", False
    for line in lines:
        if m := re.match(r" *# Subtest: (\S+)", line):
            program = m[1]
        elif m := re.match(r" *not ok \d+ (.*)", line):
            return program, m[1].removeprefix("- ")
        # what run.sh and the suites of KUnit end with
        over |= bool(re.match(r"ok \d+ (unload|rmmod)", line))
    return None if over else (program, "the kernel crashed or hung")


def trial_native(source, tests):
    """Of no tests: of all."""
    for test in [tests] if tests in NATIVE else NATIVE:
        program, *options = NATIVE[test]
        try:
            ran = run(os.path.join(source, "build/native", program), *options, timeout=300)
        except subprocess.TimeoutExpired:
            return test, "hangs"
        if ran.returncode:
            bad = re.search(r"^ *not ok \d+ (.*)", ran.stdout, re.M)
            told = ran.stdout.strip().splitlines() or [f"status {ran.returncode}"]
            return test, bad[1].removeprefix("- ") if bad else told[-1]
    return None


def trial(kernel, tests, plant, args):
    """Ends with the first thing that goes wrong: a broken module takes its time."""
    source = build(kernel, plant)
    if kernel == "native":
        return trial_native(source, tests)
    log = os.path.join(WORK, (plant.name if plant else "none") + ".log")
    options = ["--tests", tests, "--mode", args.mode]
    if kernel == "kunit":
        options = ["--kunit"]  # of the directory behind it
    guest = subprocess.Popen(
        ["scripts/guest/guest.sh", "--timeout", "1500", "--silent",
         *(["40", "--kernel", "stock"] if kernel == "stock" else
           ["60", "--kernel", "debug", "--mem", "1536"]),
         "--", "selftests/run.sh", *options, os.path.relpath(source, ROOT)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        cwd=ROOT)

    def lines():
        with open(log, "w") as copy:
            for line in guest.stdout:
                copy.write(line)
                copy.flush()
                yield line

    found = verdict(lines())
    guest.terminate()
    guest.stdout.close()
    guest.wait()
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--all-tests", action="store_true")
    parser.add_argument("--kunit", action="store_true")
    parser.add_argument("--mode", default="direct")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    text = open(os.path.join(ROOT, "scripts/plants/plants.txt")).read()
    plants = [Plant(t) for t in re.split(r"^= ", text, flags=re.M)[1:]]
    if unknown := set(args.names) - {p.name for p in plants}:
        sys.exit(f"plants.py: no plant {', '.join(sorted(unknown))}")
    plants = [p for p in plants if not args.names or p.name in args.names]
    if args.check:
        return not all([p.fits(ROOT) and p.noticeable() for p in plants])
    os.makedirs(WORK, exist_ok=True)
    if args.kunit:
        for p in plants:
            p.kernel = "kunit"

    # What fails without a plant notices nothing.
    for kernel in sorted({p.kernel for p in plants}):
        names = {w for p in plants if p.kernel == kernel
                 for w in re.findall(r"[\w.-]+", p.tests)}
        if found := trial(kernel, ALL if args.all_tests else f"@({'|'.join(sorted(names))})",
                          None, args):
            sys.exit(f"plants.py: without a plant on {kernel}: {found}")

    survivors, rows = [], []
    for p in plants:
        begin = time.time()
        found = trial(p.kernel, ALL if args.all_tests else p.tests, p, args)
        noticed = ": ".join(found) if found else "**nothing**"
        print(f"{p.name:18} {noticed[:100]} ({time.time() - begin:.0f} s)", flush=True)
        rows.append((p.name, p.what, noticed))
        if not found:
            survivors.append(p.name)
    with open(os.path.join(WORK, "table.rst"), "w") as table:
        table.write(".. list-table::\n   :header-rows: 1\n\n"
                    "   * - plant\n     - what is broken\n     - noticed by\n")
        for row in rows:
            table.write("   * - " + "\n     - ".join(row) + "\n")
    print(f"{len(plants)} plants, {len(plants) - len(survivors)} noticed, survivors: "
          f"{', '.join(survivors) or 'none'}")
    return bool(survivors)


sys.exit(main())
