# SPDX-License-Identifier: GPL-2.0-only
"""A Sphinx extension: what the manual needs beside what Sphinx knows.

  .. kernel-doc:: FILE      what the kernel's kernel-doc script (the environment's
     :doc: TITLE            KERNEL_DOC) makes of a C file of this tree: one DOC
     :identifiers: NAME...  block, some types and functions, or with :export: all
     :export:               functions of the file that are exported to modules

  .. members::              see members.py

  name(3)                   a link to the man page that documents the name
  ``name``, ``name()``,     a link to where a type or function of C is documented
  ``struct name``           and in programs a link from struct name
  links to FILE.rst         links to the page, as on a web site that shows sources
"""
import os
import pathlib
import re
import subprocess

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from members import HERE, TREE, Members, man_pages

log = logging.getLogger(__name__)


class KernelDoc(SphinxDirective):
    required_arguments = 1
    option_spec = {"doc": directives.unchanged, "identifiers": directives.unchanged,
                   "export": directives.flag}

    def run(self):
        file = TREE / self.arguments[0]
        self.env.note_dependency(str(file))
        which = []
        if "export" in self.options:
            which = ["-export"]
        for name in self.options.get("identifiers", "").split():
            which += ["-function", name]
        if "doc" in self.options:
            which = ["-function", self.options["doc"]]
        done = subprocess.run([os.environ["KERNEL_DOC"], "-rst", "-sphinx-version",
                               "3.0.0", *which, str(file)],
                              capture_output=True, text=True)
        if done.returncode or done.stderr or not done.stdout.strip():
            raise self.severe(f"kernel-doc {file}: {done.stderr or 'nothing found'}")
        text = done.stdout
        if "doc" in self.options:	# the page has a title for it
            text = re.sub(r"\A\s*\.\. _.*:\s+\*\*.*\*\*\n", "", text)
        if "export" in self.options:	# some are called as a struct of the ABI is
            text = f".. c:namespace-push:: kernel\n\n{text}\n\n.. c:namespace-pop::\n"
        lines = StringList(text.expandtabs(8).splitlines(), source=str(file))
        result = nodes.container()
        self.state.nested_parse(lines, self.content_offset, result)
        return result.children


def is_page(name):
    return (HERE / f"{name}.rst").exists()


def man_title(app, name, source):
    """A man page has one title, and what rst2man reads is not shown."""
    if not name.startswith("man/"):
        return
    section = name.rsplit(".", 1)[1]
    source[0] = re.sub(r"^=+\n(.*)\n=+\n\n-+\n(.*)\n-+\n\n(?::.*\n(?: +.*\n)*)*",
                       lambda m: f"{m[1]}({section})\n{'*' * 80}\n\n{m[2][0].upper()}{m[2][1:]}.\n",
                       source[0], flags=re.M)


class Links:
    """Makes links of one page."""

    def __init__(self, app, name):
        self.app = app
        self.name = name
        self.pages = {title: str(page.relative_to(HERE))[:-len(".rst")]
                      for title, page in man_pages().items()}
        self.types, self.functions = {}, {}
        for full, _, kind, page, anchor, _ in app.env.get_domain("c").get_objects():
            known = self.functions if kind == "function" else self.types
            if kind != "member":
                known[full.rsplit(".")[-1]] = page, anchor

    def uri(self, page, anchor=""):
        return self.app.builder.get_relative_uri(self.name, page) + (anchor and "#" + anchor)

    def ids(self, page):
        return {name for node in self.app.env.get_doctree(page).findall(nodes.Element)
                for name in node.get("ids", [])}

    def to_source(self, node):
        path, _, anchor = node.get("refuri", "").partition("#")
        if not path or re.match(r"[a-z]+:", path) or node.get("internal"):
            return
        page = os.path.normpath(pathlib.PurePath(self.name).parent / path)
        if not page.endswith(".rst") or not is_page(page[:-len(".rst")]):
            log.warning("there is no %s", path, location=node)
            return
        page = page[:-len(".rst")]
        if anchor and anchor not in self.ids(page):
            log.warning("%s has no title %s", path, anchor, location=node)
        node["refuri"] = self.uri(page, anchor)
        node["internal"] = True

    def to_pages(self, node):
        parts = re.split(r"(\b\w[\w.-]*\([1-9]\))", str(node))
        if len(parts) == 1:
            return
        new = []
        for part in parts:
            page = self.pages.get(part)
            if page and page != self.name:
                new.append(nodes.reference("", part, refuri=self.uri(page), internal=True))
            elif part:
                new.append(nodes.Text(part))
        node.parent.replace(node, new)

    def to_object(self, node):
        found = re.fullmatch(r"(struct |union |enum |)(\w+)(\(\)|)", node.astext())
        if not found:
            return
        kind, name, call = found.groups()
        known = [self.types.get(name)] if not call else []
        if not kind:
            known += [self.pages.get(f"{name}(3)"), self.functions.get(name)]
            if self.name == "in-kernel":
                known.reverse()
        page = next(filter(None, known), None)
        page, anchor = page if isinstance(page, tuple) else (page, "")
        if not page or (page == self.name and not anchor):
            return
        link = nodes.reference("", "", refuri=self.uri(page, anchor), internal=True)
        node.parent.replace(node, link)
        link += node

    def in_program(self, node):
        parts = re.split(r"\b((?:struct|union|enum) \w+)", node.astext())
        new = []
        for part in parts:
            page, anchor = self.types.get(part.split(" ")[-1], (None, ""))
            if part in parts[1::2] and page:
                new.append(nodes.reference("", part, refuri=self.uri(page, anchor), internal=True))
            else:
                new.append(nodes.Text(part))
        if len(new) > 1:
            node.children, node.rawsource = [], ""	# Sphinx takes it as it is
            node += new

    def make(self, doctree):
        for node in list(doctree.findall(nodes.reference)):
            self.to_source(node)
        plain = (nodes.reference, nodes.literal, nodes.literal_block, nodes.title)
        for node in list(doctree.findall(nodes.Text)):
            if not isinstance(node.parent, plain):
                self.to_pages(node)
        for node in list(doctree.findall(nodes.literal)):
            if not isinstance(node.parent, plain):
                self.to_object(node)
        for node in doctree.findall(nodes.literal_block):
            self.in_program(node)


def setup(app):
    app.add_directive("kernel-doc", KernelDoc)
    app.add_directive("members", Members)
    app.connect("source-read", man_title)
    app.connect("doctree-resolved", lambda app, doctree, name: Links(app, name).make(doctree))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
