# SPDX-License-Identifier: GPL-2.0-only
"""What pages of the manual have from the headers of the library: needs docutils only, so that
the man pages can be made everywhere.

  .. members:: FILE STRUCT  the definition of a struct and its members, from its
     :policy:               kernel-doc comment; with :policy: what struct dxk_policy
                            says of the same fields, too
"""
import pathlib
import re
import textwrap

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from docutils.statemachine import StringList

HERE = pathlib.Path(__file__).resolve().parent.parent	# Documentation
TREE = HERE.parent


def man_pages():
    """name(section) -> file, from the pages' own lists, or their files' names"""
    pages = {}
    for page in HERE.glob("man/*.[1-9].rst"):
        name, section, _ = page.name.rsplit(".", 2)
        title = re.search(r"^:Title:(.*(?:\n +.*)*)", page.read_text(), re.M)
        names = re.split(r",\s*", title.group(1).strip()) if title else [name]
        for name in names:
            pages[f"{name}({section})"] = page
    return pages


def members_of(file, struct):
    """The definition of a struct, and name -> text of its members, from its comment. Man pages
    are made where there is no kernel-doc script."""
    found = re.search(rf"^/\*\*\n \* struct {struct} - (.*?)^ \*/\n((?:typedef )?struct .*?^\}}.*?;)",
                      (TREE / file).read_text(), re.M | re.S)
    text = re.sub(r"^ \* ?", "", found.group(1), flags=re.M)
    text = re.sub(r"%(\w+)", r"``\1``", text)
    text = re.sub(r"\*@(\w+)", r"``*\1``", text)
    text = re.sub(r"@(\w+)(?!\w*:\s)", r"*\1*", text)
    members = {m.group(1): " ".join(m.group(2).split())
               for m in re.finditer(r"^@(\w+):((?:.*)(?:\n[ \t]+\S.*)*)", text, re.M)}
    return found.group(2), members


class Members(Directive):
    required_arguments = 2
    option_spec = {"policy": directives.flag}

    def run(self):
        file, name = self.arguments
        definition, fields = members_of(file, name)
        if "policy" in self.options:
            self.add_policy(fields)
        lines = ["::", "", *textwrap.indent(definition.expandtabs(8), "    ").splitlines(), ""]
        for member, said in fields.items():
            lines += [f"``{member}``", *textwrap.indent(said, "  ").splitlines(), ""]
        result = nodes.container()
        self.state.nested_parse(StringList(lines, source=file), self.content_offset, result)
        return result.children

    def add_policy(self, fields):
        _, known = members_of("uapi/dxk.h", "dxk_policy")
        names = re.findall(r"^\tFIELD\((\w+)(?:\[\d\])?, (\w+)",
                           (TREE / "lib/libdxk/dx/policy.c").read_text(), re.M)
        for dx, abi in names:
            more = f"In struct dxk_policy, as *{abi}*: {known[abi]}"
            if more not in fields[dx]:
                fields[dx] += "\n\n" + more
