#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Writes compile_commands.json, for editors: how each source file is compiled.

    compile-commands.py COPY BUILD KDIR [OUT]

COPY is where scripts/build-module.sh has built the modules for KDIR; kbuild keeps their
commands beside its objects. Those of all else are what make would run with BUILD, where
libdxk is. Fails if a C source of the rooms, the library, the tools or the native engine has
no command.
"""
import glob
import json
import os
import re
import shlex
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SAVED = re.compile(r"^(?:saved)?cmd_\S+ := (.*)$", re.M)
# what only some machines build
OPTIONAL = re.compile(r"^(dxk/.*/tests/|dxk/\w*/?kunit|tools/dxkd/)")
ROOMS = ("dxk", "lib", "tools", "native")
ALL = ("lib", "examples", "tools", "selftests")


def entry(directory, command, source):
    return {"directory": directory, "file": source, "command": command}


def of_modules(copy, kdir):
    """What kbuild has kept; the copy's names become those of the tree."""
    for path, _, names in os.walk(copy):
        for name in names:
            if not name.endswith(".o.cmd"):
                continue
            with open(os.path.join(path, name), encoding="utf-8") as f:
                saved = SAVED.search(f.read())
            if not saved:
                continue
            command = saved.group(1).split(" ; ")[0].replace(copy + "/", ROOT + "/")
            source = shlex.split(command)[-1]
            if source.endswith(".c") and os.path.exists(os.path.join(kdir, source)):
                yield entry(kdir, command, os.path.normpath(os.path.join(kdir, source)))


def of_make(arguments):
    """What make would run, and where."""
    environment = {k: v for k, v in os.environ.items()
                   if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES")}
    environment["LC_ALL"] = "C"
    out = subprocess.run(["make", "-nBw", *arguments], cwd=ROOT, check=True, text=True,
                         stdout=subprocess.PIPE, env=environment).stdout
    where = [ROOT]
    for line in out.replace("\\\n", " ").splitlines():
        moved = re.match(r"make(?:\[\d+\])?: (Entering|Leaving) directory '(.*)'", line)
        if moved:
            if moved.group(1) == "Entering":
                where.append(moved.group(2))
            else:
                where.pop()
            continue
        if not re.match(r"\s*\S*(cc|gcc|g\+\+|c\+\+|clang)(-\d+)?\s", line):
            continue
        try:
            words = shlex.split(line)
        except ValueError:
            continue
        for word in words:
            source = os.path.normpath(os.path.join(where[-1], word))
            if re.search(r"\.(c|cpp|cc)$", word) and os.path.exists(source):
                yield entry(where[-1], line.strip(), source)


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    copy, build, kdir = (os.path.realpath(a) for a in sys.argv[1:4])
    out = sys.argv[4] if len(sys.argv) == 5 else os.path.join(ROOT, "compile_commands.json")
    native = ["-C", "native", "BUILD=" + build]
    entries = {}
    # The last one counts: of the engine that of the module.
    for e in (*of_make([*native, "VARIANT=fuzz"]), *of_make([*native, "cores", "all"]),
              *of_make([*ALL, "BUILD=" + build]), *of_modules(copy, kdir)):
        entries[e["file"]] = e
    sources = [os.path.relpath(f, ROOT) for d in ROOMS
               for f in glob.glob(os.path.join(ROOT, d, "**", "*.c"), recursive=True)
               if not f.endswith(".mod.c")]
    without = [s for s in sources
               if os.path.join(ROOT, s) not in entries and not OPTIONAL.match(s)]
    if without:
        sys.exit("compile-commands.py: no command for " + " ".join(without))
    with open(out, "w", encoding="utf-8") as f:
        json.dump(sorted(entries.values(), key=lambda e: e["file"]), f, indent=1)
        f.write("\n")
    print(f"{out}: {len(entries)} files")


if __name__ == "__main__":
    main()
