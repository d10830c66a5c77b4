#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compares the manual with the source: check.py BUILD/doc. Prints what differs.

  - every function of libdxk.map, and of its headers, has a man page, and no page
    documents one that does not exist
  - the prototypes in the pages are those of the headers
  - pages refer to pages that exist, and are installed (in BUILD/doc/root) under each
    name
  - dxk(4) knows every ioctl and every error number, abi.rst every struct and enum
    of uapi/dxk.h, the built in-kernel.html every function exported to modules
  - index.rst leads to every page, and every page to it
  - the first column of a table is not wrapped: that would begin a row
  - the programs in the pages and in README.md compile
  - five-systems.rst has the moves of the engine, and no other ones
  - a tutorial shows all of its program, in order
  - the pages of the systems, and the tutorials, name functions that exist
"""
import pathlib
import re
import subprocess
import sys

DOC = pathlib.Path(__file__).resolve().parent.parent
TREE = DOC.parent
LIB = TREE / "lib/libdxk"
HEADERS = LIB / "include"
sys.dont_write_bytecode = True
sys.path.insert(0, str(DOC / "tools"))
from programs import literals, programs	# noqa: E402
from members import man_pages	# noqa: E402

failures = 0


def fail(text):
    global failures
    failures += 1
    print(text)


def compare(what, wanted, found):
    for name in sorted(set(wanted) - set(found)):
        fail(f"{what}: {name} is missing")
    for name in sorted(set(found) - set(wanted)):
        fail(f"{what}: there is no {name} in the source")


def plain(text):
    """C without comments, preprocessor lines and attributes"""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"^#.*(?:\\\n.*)*", "", text, flags=re.M)
    return re.sub(r"__attribute__\s*\(\(.*?\)\)(?=;)", "", text, flags=re.S)


def squeeze(text):
    text = re.sub(r"\s+", " ", text).strip()
    return re.sub(r"\s*([(){};,*])\s*", r"\1", text)


def prototypes(text):
    """name -> declaration of every function"""
    found = {}
    for line in re.finditer(r"^[A-Za-z_][\w ]*?[ *]+(\w+)\((?:[^;{}()]|\([^;{}()]*\))*\)\s*;",
                            plain(text), re.M):
        found[line.group(1)] = squeeze(line.group(0))
    return found


def structs(text):
    return {m.group(1): squeeze(m.group(0))
            for m in re.finditer(r"^struct (\w+) \{.*?^\};", plain(text), re.M | re.S)}


def check_functions(pages):
    headers = {h: (HEADERS / h).read_text() for h in ("dx.h", "dxk.h", "dx_reactor.h", "dx_aglet.h",
                                                "dx_fom.h", "dx_server.h")}
    declared = {}
    bodies = {}
    for text in headers.values():
        declared.update(prototypes(text))
        bodies.update(structs(text))
    exported = re.findall(r"^\t(\w+);", (LIB / "libdxk.map").read_text(), re.M)
    compare("libdxk.map", declared, exported)

    section3 = {re.sub(r"\(.*", "", n): p for n, p in pages.items() if n.endswith("(3)")}
    # types have pages, too, and the call-backs in them
    types = set(re.findall(r"\b(\w+)\b", " ".join(bodies.values()))) | set(bodies)
    for text in headers.values():
        types |= set(re.findall(r"^typedef struct (\w+) \{", text, re.M))
    compare("man pages", declared,
            [n for n in section3 if n in declared or
             not (n in types or (HEADERS / n).exists())])

    for page in sorted(set(section3.values())):
        synopsis = "\n".join(literals(page.read_text(), "SYNOPSIS"))
        shown = prototypes(synopsis)
        for name, text in shown.items():
            if text != declared.get(name):
                fail(f"{page.name}: {name} is not declared so")
        for name, text in structs(synopsis).items():
            if text != bodies.get(name):
                fail(f"{page.name}: struct {name} is not declared so")
        for name, where in section3.items():
            if where == page and name in declared and name not in shown and \
                    not (name.endswith("Of") and name[:-2] in shown):
                fail(f"{page.name}: the prototype of {name} is missing")
        for header in re.findall(r"#include <(.*)>", synopsis):
            if shown and not set(shown) <= set(prototypes(headers[header])):
                fail(f"{page.name}: not all is in {header}")


def check_references(pages, root):
    for name in pages:
        base, section = name[:-1].split("(")
        if not (root / f"usr/share/man/man{section}/{base}.{section}").exists():
            fail(f"{base}.{section} is not installed")
    for page in sorted(set(pages.values())):
        for name in re.findall(r"\b(\w[\w.-]*\([1-9]\))", page.read_text()):
            ours = re.match(r"dxk|.*[A-Z]", name)
            if ours and name not in pages:
                fail(f"{page.name}: there is no page {name}")


def check_abi(out):
    uapi = (TREE / "uapi/dxk.h").read_text()
    device = (DOC / "man/dxk.4.rst").read_text()
    compare("dxk.4", re.findall(r"^#define (DXK_IOC_(?!TYPE)\w+)", uapi, re.M),
            set(re.findall(r"\bDXK_IOC_\w+", device)))
    errors = re.search(r"calls and errors.*?\*/", uapi, re.S).group(0)
    # single calls have further ones
    told = set(re.findall(r"\b(E[A-Z0-9]+)\b", device))
    compare("dxk.4", re.findall(r"^ \* (E[A-Z0-9]+) ", errors, re.M),
            told & set(re.findall(r"\b(E[A-Z0-9]+)\b", errors)))
    page = (DOC / "abi.rst").read_text()
    named = " ".join(re.findall(r":identifiers:(.*(?:\n {6,}.*)*)", page)).split()
    compare("abi.rst", re.findall(r"^(?:struct|enum) (dxk_\w+) \{", uapi, re.M), named)
    docs = re.findall(r"^ \* DOC: (.*)", uapi, re.M)
    compare("abi.rst", docs, re.findall(r":doc: (.*)", page))

    exported = []
    for source in (TREE / "dxk").glob("*/*.c"):
        exported += re.findall(r"^EXPORT_SYMBOL_GPL\((\w+)\)", source.read_text(), re.M)
    if not exported:
        fail("nothing is exported to modules")
    built = (out / "html/in-kernel.html").read_text()
    for name in exported:
        if f'id="c.kernel.{name}"' not in built:
            fail(f"in-kernel.rst: {name} is missing")


def check_index(out):
    index = (DOC / "index.rst").read_text()
    for page in [*DOC.glob("*.rst"), *DOC.glob("man/*.rst")]:
        name = str(page.relative_to(DOC))
        if name != "index.rst" and f"<{name}>" not in index:
            fail(f"index.rst: no link to {name}")
        built = (out / "html" / name).with_suffix(".html").read_text()
        if name != "index.rst" and 'index.html">' not in built:
            fail(f"{name}: no link to index.rst")


def check_tables():
    border = r"^=+(?: +=+)+ *\n"
    for page in [*DOC.glob("*.rst"), *DOC.glob("man/*.rst")]:
        for table in re.finditer(rf"{border}(?:.*\n)+?{border}(?=\n|\Z)", page.read_text(), re.M):
            lines = table.group(0).splitlines()
            start = re.search(" =", lines[0]).end() - 1
            for line in lines:
                first, rest = line[:start].strip(), line[start:].strip()
                if first and (not rest or first.endswith(",")):
                    fail(f"{page.name}: a row of a table of its own: {first}")


def check_programs():
    for name, text in programs().items():
        to = ["cc", "-std=c11", "-xc"]
        if name.endswith(".cpp"):
            to = ["c++", f"-std=c++{20 if 'co_await' in text else 11}", "-xc++"]
        done = subprocess.run([*to, "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                               f"-I{HEADERS}", "-"], input=text, text=True, capture_output=True)
        if done.returncode:
            fail(f"{name}: {done.stderr}")


def check_moves():
    source = (TREE / "dxk/engine/state.h").read_text()
    table = re.search(r"dxk_moves\[DXK_STATES\] = \{(.*?)\n\};", source, re.S).group(1)
    moves = [f"{entry.group(1)} to {to}"
             for entry in re.finditer(r"\[DXK_(\w+)\]\s*=(.*?)(?=\[DXK_|\Z)", table, re.S)
             for to in re.findall(r"BIT\(DXK_(\w+)\)", entry.group(2))]
    page = (DOC / "five-systems.rst").read_text()
    table = re.search(r"^from +to .*?^=.*?\n(.*?)^=", page, re.S | re.M).group(1)
    compare("five-systems.rst", moves,
            [f"{row.group(1)} to {to}"
             for row in re.finditer(r"^([A-Z]+) +([A-Z]+(?:, [A-Z]+)*)(?=  )", table, re.M)
             for to in row.group(2).split(", ")])


def check_names():
    declared = set()
    for header in HEADERS.glob("*.h"):
        declared |= set(prototypes(header.read_text()))
    for page in [*DOC.glob("system-*.rst"), *DOC.glob("tutorial-*.rst"), DOC / "which-one.rst",
                 DOC / "five-systems.rst"]:
        for name in sorted(set(re.findall(r"\b([A-Za-z]\w+)\(\)", page.read_text())) - declared):
            fail(f"{page.name}: there is no {name}()")


def check_tutorials():
    for file in DOC.glob("tutorials/*.c"):
        page = DOC / f"tutorial-{file.stem}.rst"
        sections = ["-or-later */", *re.findall(r"/\* --- .* --- \*/", file.read_text())]
        shown = re.findall(rf"include:: tutorials/{file.name}\n   :literal:\n"
                           r"   :start-after: (.*)\n(?:   :end-before: (.*)\n)?",
                           page.read_text() if page.exists() else "")
        if shown != list(zip(sections, sections[1:] + [""])):
            fail(f"{page.name}: it does not show {file.name} as it is")


def main():
    out = pathlib.Path(sys.argv[1])
    pages = man_pages()
    check_functions(pages)
    check_references(pages, out / "root")
    check_abi(out)
    check_index(out)
    check_tables()
    check_programs()
    check_moves()
    check_names()
    check_tutorials()
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
