#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The programs of the manual, as a reader would copy them: programs.py OUT

Writes those of the man pages as OUT/PAGE.c or PAGE.cpp, that of README.md as
OUT/README.c, and OUT/tutorial-NAME.c, which are files already.
"""
import pathlib
import re
import sys

DOC = pathlib.Path(__file__).resolve().parent.parent


def literals(text, under=None):
    """The literal blocks of a page, or of one of its sections, without indentation"""
    if under:
        text = re.search(rf"^{under}\n=+\n(.*?)(?=^\S[^\n]*\n===|\Z)", text, re.M | re.S)
        text = text.group(1) if text else ""
    for block in re.finditer(r"::\n\n((?:(?: {4}.*)?\n)+)", text):
        yield re.sub(r"^ {4}", "", block.group(1), flags=re.M)


def programs():
    """file name -> text, of each program"""
    found = {}
    for page in sorted(DOC.glob("man/*.rst")):
        blocks = [b for b in literals(page.read_text()) if "int main(" in b]
        for nr, block in enumerate(blocks):
            suffix = "cpp" if re.search(r"<\w+\.hpp>", block) else "c"
            found[f"{page.stem}{f'-{nr + 1}' if nr else ''}.{suffix}"] = block
    readme = (DOC.parent / "README.md").read_text()
    found["README.c"] = re.search(r"^```c\n(.*?)^```", readme, re.M | re.S).group(1)
    for file in sorted(DOC.glob("tutorials/*.c")):
        found[f"tutorial-{file.name}"] = file.read_text()
    return found


if __name__ == "__main__":
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for name, text in programs().items():
        (out / name).write_text(text)
