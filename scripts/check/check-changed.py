#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs the tests that a change touches: those of the work tree, or since a commit.

    check-changed.py [--list] [COMMIT]

plants.txt is the map from the module's sources to tests: whoever notices a bug that is
planted in a file is run when that file has changed. A source that it does not name, and
what all tests share, wants all of "make check". --list only prints what would be run.
Of the debug kernel nothing is run here; it says when KUnit has to be.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOCS = ["doc-*"]
ALL = "all of it"


def git(*args):
    return subprocess.run(["git", "-C", ROOT, *args], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.splitlines()


def plants():
    """{source: programs that notice a bug in it}"""
    tests = {}
    text = open(os.path.join(ROOT, "scripts/plants/plants.txt")).read()
    for plant in re.split(r"^= ", text, flags=re.M)[1:]:
        file, names = plant.splitlines()[1:3]
        tests.setdefault(file, set()).update(re.findall(r"[\w.-]+", names.split(" ", 1)[1]))
    return tests


def programs():
    with open(os.path.join(ROOT, "selftests/tiers.txt")) as f:
        return {l.split()[0] for l in f if l.strip() and l[0] != "#"}


def touched(path, noticed, known):
    """Test programs and jobs for one file; {ALL} when it may concern everything"""
    room, _, rest = path.partition("/")
    stem = re.sub(r"\.\w+$", "", os.path.basename(path))
    if re.match(r"dxk/\w+/tests/", path):
        return {"KUNIT"}, ["ids", "native-suites"]
    if room == "native":
        return set(), ["native-*"]
    if path.startswith("dxk/executors/"):
        return {"dxsum.sh", "module"}, ["sparse-stock"]
    if room == "dxk":
        tests = set().union(*(noticed.get(re.sub(r"\w$", e, path), set()) for e in "ch"))
        tests |= {stem} & known
        native = ["native-*"] if path.startswith("dxk/engine/") else []
        return tests or {ALL}, ["layers", "sparse-stock", "plants", "doc-kernel-doc"] + native
    if room == "uapi":
        return {ALL}, DOCS
    if room == "lib":
        return {p for p in known if p.startswith("lib") and not p.endswith("-asan")}, DOCS
    if room == "tools":
        own = {p for p in known if p == f"tools-{stem}.sh"}
        return own or {p for p in known if p.startswith("tools-")}, []
    if room == "examples":
        name = {"dxcall": "dxserve"}.get(rest.split("/")[0], rest.split("/")[0])
        return {f"{name}.sh"} & known or {p for p in known if re.match(r"dx.*\.sh$", p)}, []
    if path in ("selftests/run.sh", "selftests/ktap.awk") or \
            re.match(r"scripts/(check/(check\.|check-guest|report)|"
                     r"guest/(guest|kernel|qemu))", path):
        return {"next"}, ["guest"]
    if room == "selftests":
        parts = rest.split("/")  # ROOM/NAME.c, ROOM/NAME/*, lib/*
        name = re.sub(r"\.\w+$", "", parts[1]) if len(parts) > 1 else ""
        own = {p for p in known if parts[0] != "lib" and
               (re.sub(r"\.sh$", "", p) == name or p.startswith(name + "_"))}
        return own or ({ALL} if re.search(r"\.(c|h|bash|py)$", path) else set()), \
            ["ids", "plants"]
    if path == "README.md" or path.startswith(("Documentation/man/", "Documentation/tools/",
                                               "Documentation/tutorials/")):
        return {"manual.sh"}, DOCS
    if room in ("Documentation", "bench", "model", "LICENSES"):
        return set(), DOCS
    if room in ("debian", "dist"):
        return set(), ["packages"]
    if path.startswith("scripts/mutants/"):
        return set(), ["mutants"]
    if room == "scripts":
        return set(), [{"ids": "ids", "check-log": "check-log", "build-module": "module-*",
                        "check-packages": "packages"}.get(stem, "plants")]
    return {ALL}, []


def main():
    args = [a for a in sys.argv[1:] if a != "--list"]
    if any(a in ("-h", "--help") for a in args):
        print(__doc__)
        return 0
    changed = git("diff", "--no-renames", "--name-only", args[0] if args else "HEAD")
    changed += git("ls-files", "--others", "--exclude-standard")
    if not changed:
        print("check-changed: nothing has changed")
        return 0
    noticed, known = plants(), programs()
    tests, jobs = set(), set()
    for path in sorted(set(changed)):
        t, j = touched(path, noticed, known)
        print(f"{path}: {' '.join(sorted(t) + sorted(j)) or 'nothing'}")
        tests |= t
        jobs.update(j)
    if "KUNIT" in tests:
        print("check-changed: KUnit is not run here: scripts/check/check.sh --only kunit")
        tests.discard("KUNIT")
    command = [os.path.join(ROOT, "scripts/check/check.sh")]
    if ALL in tests:
        print("check-changed: that is all of make check")
    else:
        if tests:
            command += ["--tests", " ".join(sorted(tests))]
        if jobs:
            command += ["--jobs", " ".join(sorted(jobs))]
    if "--list" in sys.argv:
        return 0
    sys.stdout.flush()
    os.execv(command[0], command)


sys.exit(main())
