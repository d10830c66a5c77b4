#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Makes a page of the manual: rst2html.py SOURCE.rst TARGET.html

docutils, and beside what it knows:

  .. kernel-doc:: FILE      what the kernel's kernel-doc script (the environment's
     :doc: TITLE            KERNEL_DOC) makes of a C file of this tree: one DOC
     :identifiers: NAME...  block, some types and functions, or with :export: all
     :export:               functions of the file that are exported to modules

  .. members:: FILE STRUCT  the definition of a struct and its members, from its
     :policy:               kernel-doc comment; with :policy: what struct dxk_policy
                            says of the same fields, too

  name(3)                   a link to the man page that documents the name
  links to FILE.rst         become links to FILE.html
"""
import os
import pathlib
import re
import subprocess
import sys
import textwrap

from docutils import core, nodes, transforms
from docutils.parsers.rst import Directive, directives, roles
from docutils.readers import standalone
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


class KernelDoc(Directive):
    required_arguments = 1
    option_spec = {"doc": directives.unchanged, "identifiers": directives.unchanged,
                   "export": directives.flag}

    def run(self):
        file = TREE / self.arguments[0]
        which = []
        if "export" in self.options:
            which = ["-export"]
        for name in self.options.get("identifiers", "").split():
            which += ["-function", name]
        if "doc" in self.options:
            which = ["-function", self.options["doc"]]
        # 3.0.0: the form of its output, c:struct and not c:type for structs
        done = subprocess.run([os.environ["KERNEL_DOC"], "-rst", "-sphinx-version",
                               "3.0.0", *which, str(file)],
                              capture_output=True, text=True)
        if done.returncode or done.stderr or not done.stdout.strip():
            raise self.severe(f"kernel-doc {file}: {done.stderr or 'nothing found'}")
        text = done.stdout
        if "doc" in self.options:	# the page has a title for it
            text = re.sub(r"\A\s*\.\. _.*:\s+\*\*.*\*\*\n", "", text)
        lines = StringList(text.expandtabs(8).splitlines(), source=str(file))
        result = nodes.container()
        self.state.nested_parse(lines, self.content_offset, result)
        return result.children


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


class Declaration(Directive):
    """.. c:function:: PROTOTYPE, .. c:struct:: NAME"""
    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self):
        kind = self.name.split(":")[1]
        text = " ".join(self.arguments[0].split())
        found = re.search(r"(\w+) \(", text)
        name = found.group(1) if found else text
        title = nodes.paragraph(classes=["c-decl"])
        title += nodes.strong(text=text if found else f"{kind} {name}")
        title["ids"] = [name]
        self.state.document.note_explicit_target(title, title)
        body = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, body)
        return [title] + body.children


def declared(role, rawtext, text, lineno, inliner, options=None, content=None):
    """:c:type:`struct dxk_post <dxk_post>`"""
    return [nodes.literal(text=re.sub(r" *<.*>$", "", text))], []


class Links(transforms.Transform):
    default_priority = 900

    def apply(self):
        source = pathlib.Path(self.document["source"]).resolve()
        here = source.parent
        for node in list(self.document.findall(nodes.docinfo)):
            node.parent.remove(node)
        if here.name == "man":
            self.document["title"] += f"({source.stem.split('.')[-1]})"
        for node in self.document.findall(nodes.reference):
            self.local(node, "refuri", here)
        for node in self.document.findall(nodes.image):
            self.local(node, "uri", here)
        pages = man_pages()
        for node in list(self.document.findall(nodes.Text)):
            if not isinstance(node.parent, (nodes.reference, nodes.literal,
                                            nodes.literal_block, nodes.title)):
                self.to_pages(node, pages, source)

    def local(self, node, key, here):
        path, mark, anchor = node.get(key, "").partition("#")
        if not path or re.match(r"[a-z]+:", path):
            return
        target = here / path
        if not target.exists():
            self.document.reporter.error(f"there is no {path}", base_node=node)
        elif anchor and anchor not in map(nodes.make_id, target.read_text().split("\n")):
            self.document.reporter.error(f"{path} has no title {anchor}",
                                         base_node=node)
        node[key] = re.sub(r"\.rst$", ".html", path) + mark + anchor

    def to_pages(self, node, pages, source):
        parts = re.split(r"(\b\w[\w.-]*\([1-9]\))", str(node))
        if len(parts) == 1:
            return
        new = []
        for part in parts:
            page = pages.get(part)
            if page and page != source:
                to = os.path.relpath(page, source.parent)[:-len("rst")] + "html"
                new.append(nodes.reference("", part, refuri=to))
            elif part:
                new.append(nodes.Text(part))
        node.parent.replace(node, new)


class Reader(standalone.Reader):
    def get_transforms(self):
        return super().get_transforms() + [Links]


STYLE = """
body { max-width: 50em; margin: 1em auto; padding: 0 1em; }
td, th { text-align: left; vertical-align: top; }
p.c-decl { margin-top: 2em; font-family: monospace; }
img { max-width: 100%; }
"""


def register():
    """What docutils does not know"""
    directives.register_directive("kernel-doc", KernelDoc)
    directives.register_directive("members", Members)
    for kind in ("function", "struct", "union", "enum", "type", "macro"):
        directives.register_directive("c:" + kind, Declaration)
    for role in ("type", "func", "struct", "enum"):
        roles.register_local_role("c:" + role, declared)


def main():
    source, target = sys.argv[1:]
    register()
    html = core.publish_string(
        pathlib.Path(source).read_bytes(), source_path=source, destination_path=target,
        reader=Reader(), writer_name="html5", settings_overrides={
            "report_level": 2, "halt_level": 2, "traceback": False,
            "input_encoding": "utf-8", "syntax_highlight": "none",
            "raw_enabled": False, "generator": False, "datestamp": None})
    html = html.replace(b"</head>", f"<style>{STYLE}</style>\n</head>".encode(), 1)
    index = HERE / "index.rst"
    if pathlib.Path(source).resolve() != index:
        to = os.path.relpath(index, pathlib.Path(source).resolve().parent)[:-len("rst")] + "html"
        back = f'<body>\n<p class="index"><a href="{to}">The dxk manual</a></p>'
        html = re.sub(rb"<body[^>]*>", back.encode(), html, count=1)
    pathlib.Path(target).write_bytes(html)


if __name__ == "__main__":
    main()
