# SPDX-License-Identifier: GPL-2.0-only
"""A C source as text and tokens, and the way from libclang's cursors to both.

What the preprocessor has made is told from what stands in the file by one rule: the
token at a cursor's place in the file must be the one that such a cursor begins with.
"""
import ctypes
import re

import clang.cindex as ci

# Left alone, with all that is in their parentheses: assertions and traces.
ALONE = re.compile(r"trace_|static_assert$|BUILD_BUG_ON|lockdep_assert|WARN_|OS_DEBUG$|"
                   r"dxk_step$|dxk_hold_(begin|end)$")
CLOSING = {"(": ")", "[": "]", "{": "}"}

_place = ci.conf.lib.clang_getFileLocation
_place.argtypes = [ci.SourceLocation, ctypes.POINTER(ci.c_object_p)] + \
    [ctypes.POINTER(ctypes.c_uint)] * 3
_place.restype = None


def offset_of(location):
    """In the file: that of an argument of a macro where it is written"""
    file, unused, offset = ci.c_object_p(), ctypes.c_uint(), ctypes.c_uint()
    _place(location, ctypes.byref(file), ctypes.byref(unused), ctypes.byref(unused),
           ctypes.byref(offset))
    return offset.value


def peeled(cursor):
    """An expression without parentheses and casts that the compiler has added"""
    while cursor.kind in (ci.CursorKind.UNEXPOSED_EXPR, ci.CursorKind.PAREN_EXPR):
        inner = list(cursor.get_children())
        if len(inner) != 1:
            break
        cursor = inner[0]
    return cursor


class Source:
    def __init__(self, unit, path):
        with open(path, encoding="ascii") as file:
            self.text = file.read()
        handle = ci.File.from_name(unit, path)
        ends = [ci.SourceLocation.from_offset(unit, handle, at)
                for at in (0, len(self.text))]
        tokens = [t for t in unit.get_tokens(extent=ci.SourceRange.from_locations(*ends))
                  if t.kind != ci.TokenKind.COMMENT]
        self.words = [t.spelling for t in tokens]
        self.starts = [t.location.offset for t in tokens]
        self.at = {start: i for i, start in enumerate(self.starts)}
        self.partner = {}
        self._match()
        self.alone = list(self._left_alone())

    def _match(self):
        open_ones = []
        for i, word in enumerate(self.words):
            if word in CLOSING:
                open_ones.append(i)
            elif open_ones and word == CLOSING[self.words[open_ones[-1]]]:
                self.partner[i] = open_ones[-1]
                self.partner[open_ones.pop()] = i

    def _left_alone(self):
        for i, word in enumerate(self.words[:-1]):
            if not ALONE.match(word):
                continue
            first, last = i, i
            if self.words[i + 1] == "(":
                last = self.partner[i + 1]
            # what is done when an assertion is broken, or is done for one
            if self.words[i - 2:i] == ["if", "("]:
                first, last = i - 2, self.partner[i - 1]
                last = self.statement_end(last + 1)
            yield self.starts[first], self.end(last)

    def end(self, i):
        return self.starts[i] + len(self.words[i])

    def word(self, offset):
        """The token that begins there, or an empty one"""
        i = self.at.get(offset)
        return "" if i is None else self.words[i]

    def statement_end(self, i):
        """The last token of a statement that begins with the token i"""
        if self.words[i] == "{":
            return self.partner[i]
        while self.words[i] != ";":
            i = self.partner[i] + 1 if self.words[i] in CLOSING else i + 1
        return i

    def is_alone(self, start):
        return any(a <= start < b for a, b in self.alone)

    def span(self, cursor):
        """Start and end in the file, or None if these are not whole tokens"""
        start, end = offset_of(cursor.extent.start), offset_of(cursor.extent.end)
        text = self.text[start:end]
        whole = start in self.at and start < end and text.count("(") == text.count(")")
        return (start, end) if whole else None

    def operator(self, left, right):
        """The token between two operands, or None"""
        i = self.at.get(offset_of(right.extent.start))
        if not i or self.starts[i - 1] < offset_of(left.extent.start):
            return None
        return i - 1

    def line(self, offset):
        return self.text.count("\n", 0, offset) + 1

    def line_text(self, offset):
        first = self.text.rfind("\n", 0, offset) + 1
        return " ".join(self.text[first:self.text.find("\n", offset)].split())
