#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Does what programs were built with still mean the same?

    abi.py [--keep | --self-test] BUILD

Compares the structs, constants, symbols, prototypes and types of callbacks of the kernel's
interface (uapi/dxk.h) and of libdxk with those that were kept in lib/libdxk/abi.txt: none may go or
change. What is new is counted; a release keeps it.

    BUILD        with lib/libdxk.so.1
    --keep       writes lib/libdxk/abi.txt
    --self-test  changes what was kept, one line at a time: each must be found

A struct may become longer at its end if its first member is its size. A reserved member may
be given a name, or be split.
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KEPT = f"{ROOT}/lib/libdxk/abi.txt"
INCLUDE = f"{ROOT}/lib/libdxk/include"
HEADERS = ("linux/dxk.h", "dxk.h", "dx.h", "dx_fom.h", "dx_aglet.h", "dx_reactor.h",
           "dx_server.h")
OURS = re.compile(r"(DXK|PXR|RJR|TPOOL|PRIO|DX|AGLET|FOM|FSO)_?\w*$")


def run(*command, **options):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE,
                          **options).stdout


def text_of(header):
    with open(f"{INCLUDE}/{header}", encoding="utf-8") as file:
        return re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)


def tags():
    """Names of structs, enumerators and macros of our headers."""
    structs, values = [], []
    for header in HEADERS:
        text = text_of(header)
        structs += re.findall(r"^(?:typedef )?(?:struct|union) (\w+) \{", text, flags=re.M)
        for body in re.findall(r"^(?:typedef )?enum \w* ?\{(.*?)\}", text, flags=re.M | re.S):
            values += re.findall(r"(?:^|,)\s*([A-Za-z_]\w*)", body)
        values += [n for n in re.findall(r"^#define\s+(\w+)[ \t]+\S", text, flags=re.M)
                   if OURS.match(n)]
    return structs, values


def source(extra=""):
    return "".join(f"#include <{h}>\n" for h in HEADERS) + extra


def layouts(structs):
    """{struct: (bytes, [(offset, bytes, type, name), ...])}"""
    with tempfile.TemporaryDirectory() as scratch:
        with open(f"{scratch}/all.c", "w", encoding="utf-8") as file:
            file.write(source())
        run("gcc", "-g", "-fno-eliminate-unused-debug-types", f"-I{INCLUDE}", "-c", "-o",
            f"{scratch}/all.o", f"{scratch}/all.c")
        out = run("pahole", "-C", ",".join(structs), f"{scratch}/all.o")
    found = {}
    for name, body in re.findall(r"^(?:struct|union) (\w+) \{\n(.*?)^\}", out, flags=re.M | re.S):
        members = []
        for line in body.splitlines():
            line = re.sub(r"__attribute__\(\(.*?\)\)+", "", line)
            m = re.match(r"\s+(.*?)\s*;\s*/\*\s+(\d+)(?::\s*\d+)?\s+(\d+)", line)
            if m:
                kind, _, member = re.sub(r"\s+", " ", m[1]).rpartition(" ")
                members.append((int(m[2]), int(m[3]), kind, member))
        size = re.search(r"/\* size: (\d+),", body)
        found[name] = (int(size[1]), members)
    return found


def constants(names):
    """{name: value} of those that are whole numbers."""
    lines = "".join(
        f'\tprintf("{n} %lld\\n", (long long)_Generic(({n}), char *: 0, default: ({n})));\n'
        for n in names)
    with tempfile.TemporaryDirectory() as scratch:
        with open(f"{scratch}/all.c", "w", encoding="utf-8") as file:
            file.write(source("#include <stdio.h>\n#include <sys/ioctl.h>\nint main(void)\n{\n" +
                              lines + "\treturn 0;\n}\n"))
        run("gcc", "-w", "-D_GNU_SOURCE", f"-I{INCLUDE}", "-o", f"{scratch}/all",
            f"{scratch}/all.c")
        return dict(line.split() for line in run(f"{scratch}/all").splitlines())


def symbols(build):
    out = run("nm", "-D", "--defined-only", "--with-symbol-versions", f"{build}/lib/libdxk.so.1")
    return {line.split()[2] for line in out.splitlines() if line.split()[1] in "TDBR"}


def prototypes():
    """Of all functions of our headers, and of the functions that programs pass to them, which a
    prototype only names; without names of parameters, which no program has seen."""
    passed = [name for header in HEADERS
              for name in re.findall(r"^typedef [^;{]*?\(\*(\w+)\)\(", text_of(header), flags=re.M)]
    with tempfile.TemporaryDirectory() as scratch:
        with open(f"{scratch}/all.c", "w", encoding="utf-8") as file:
            file.write(source("".join(f"extern __typeof__(*({n})0) callback_{n};\n"
                                      for n in passed)))
        run("gcc", f"-I{INCLUDE}", "-c", "-o", os.devnull, "-aux-info", f"{scratch}/prototypes",
            f"{scratch}/all.c")
        with open(f"{scratch}/prototypes", encoding="utf-8") as file:
            for line in file:
                m = re.match(rf"/\* ({re.escape(INCLUDE)}|{re.escape(scratch)})/.*? \*/ "
                             r"extern (.*?(?:callback_)?(\w+) \(.*\));", line)
                if m:
                    kind = "prototype" if m[1] == INCLUDE else "callback"
                    yield f"{kind} {m[3]} {m[2].replace(' ', '_')}"


def now(build):
    """What there is, a line each."""
    structs, values = tags()
    lines = []
    for name, (size, members) in sorted(layouts(structs).items()):
        lines.append(f"struct {name} {size}")
        lines += [f"member {name} {at} {length} {kind.replace(' ', '_')} {member}"
                  for at, length, kind, member in members]
    lines += [f"value {n} {v}" for n, v in sorted(constants(values).items())]
    lines += [f"symbol {s}" for s in sorted(symbols(build))]
    lines += sorted(set(prototypes()))
    return lines


def complaints(kept, here):
    there = set(here)
    sizes = {w[1]: int(w[2]) for w in map(str.split, here) if w[0] == "struct"}
    first = {w[1]: w[5] for w in map(str.split, here) if w[0] == "member" and w[2] == "0"}
    for line in kept:
        word = line.split()
        if line in there:
            continue
        if word[0] == "struct" and sizes.get(word[1], 0) > int(word[2]) and \
                first.get(word[1]) == "size":
            continue
        if word[0] == "member" and word[5].lower().startswith("reserved") and \
                sizes.get(word[1], 0) >= int(word[2]) + int(word[3]):
            continue
        yield f"gone or changed: {line}"


def self_test(here):
    missed = []
    for i, line in enumerate(here):
        word = line.split()
        changed = f"{line}_" if word[0] != "struct" else f"struct {word[1]} {int(word[2]) + 1}"
        if word[0] == "member" and word[5].lower().startswith("reserved"):
            continue
        if not list(complaints(here[:i] + [changed] + here[i + 1:], here)):
            missed.append(changed)
    return missed


def main(mode, build):
    here = now(build)
    if mode == "--self-test":
        missed = self_test(here)
        print("\n".join(f"not noticed: {line}" for line in missed) or
              f"abi.py: each of {len(here)} lines is noticed")
        return bool(missed)
    if mode == "--keep":
        with open(KEPT, "w", encoding="utf-8") as file:
            file.write("\n".join(here) + "\n")
        return 0
    with open(KEPT, encoding="utf-8") as file:
        kept = file.read().splitlines()
    wrong = list(complaints(kept, here))
    print("\n".join(wrong) or f"abi.py: {len(kept)} lines as they were, "
          f"{len(set(here) - set(kept))} new")
    return bool(wrong)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    flag = arguments.pop(0) if len(arguments) == 2 else ""
    if len(arguments) != 1 or flag not in ("", "--keep", "--self-test"):
        sys.exit(__doc__)
    sys.exit(main(flag, arguments[0]))
