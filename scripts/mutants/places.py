# SPDX-License-Identifier: GPL-2.0-only
"""Finds the places of a C source that can be changed, and the changes: mutants."""
import hashlib
import os
import re
from dataclasses import dataclass

import clang.cindex as ci
from clang.cindex import CursorKind as K

from source import Source, offset_of, peeled

BINARY = {"&&": "||", "||": "&&", "<": "<=", "<=": "<", ">": ">=", ">=": ">",
          "==": "!=", "!=": "==", "+": "-", "-": "+", "*": "/", "/": "*",
          "|": "&", "&": "|", "+=": "-=", "-=": "+=", "|=": "&=", "&=": "|=",
          "*=": "/=", "/=": "*="}
COUNT = {"++": "--", "--": "++"}
TRUTH = {"true": "false", "false": "true"}
CALLS = {"min": "max", "max": "min", "list_add": "list_add_tail",
         "list_add_tail": "list_add", "list_move": "list_move_tail",
         "list_move_tail": "list_move", "list_first_entry": "list_last_entry",
         "list_last_entry": "list_first_entry",
         "list_splice_init": "list_splice_tail_init",
         "list_splice_tail_init": "list_splice_init"}
NUMBER = re.compile(r"(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)$")
EXPRESSIONS = (K.CALL_EXPR, K.BINARY_OPERATOR, K.COMPOUND_ASSIGNMENT_OPERATOR,
               K.UNARY_OPERATOR, K.UNEXPOSED_EXPR, K.PAREN_EXPR, K.StmtExpr)
JUMPS = (K.RETURN_STMT, K.BREAK_STMT, K.CONTINUE_STMT, K.GOTO_STMT)
LOOPS = (K.FOR_STMT, K.WHILE_STMT, K.DO_STMT)
DECLARATIONS = (K.STRUCT_DECL, K.UNION_DECL, K.ENUM_DECL, K.TYPEDEF_DECL,
                K.STATIC_ASSERT, K.PARM_DECL)


@dataclass
class Mutant:
    file: str           # below the engine's directory
    function: str
    line: int
    start: int
    end: int
    text: str           # instead of what is there
    what: str           # as one reads it
    barrier: bool
    identity: str = ""
    name: str = ""      # a short one

    def apply(self, text):
        old = text[self.start:self.end]
        lines = old.count("\n") - self.text.count("\n")
        return text[:self.start] + self.text + "\n" * lines + text[self.end:]


class Finder:
    """Of one file; call top() for each declaration in it"""

    def __init__(self, source, file, known):
        self.s, self.file, self.known = source, file, known
        self.function, self.returns = "", ""
        self.found = {}

    def add(self, start, end, text, what, barrier=False):
        if not self.s.is_alone(start) and (start, end, text) not in self.found:
            self.found[start, end, text] = Mutant(
                self.file, self.function, self.s.line(start), start, end, text, what,
                barrier)

    def replace(self, i, word):
        old = self.s.words[i]
        self.add(self.s.starts[i], self.s.end(i), word, f"{old} -> {word}")

    # --- expressions ---------------------------------------------------------

    def negate(self, start, end, cursor):
        inner = peeled(cursor)
        parts = list(inner.get_children())
        if inner.kind == K.BINARY_OPERATOR and len(parts) == 2:
            i = self.s.operator(*parts)
            if i and self.s.words[i] in ("==", "!="):
                return
        text = self.s.text[start:end].strip()
        start = self.s.text.index(text, start)
        short = " ".join(text.split())
        if inner.kind == K.UNARY_OPERATOR and text[0] == "!" and \
                offset_of(inner.extent.start) == start:
            self.add(start, start + 1, " ", f"`{short}` negated")
        else:
            self.add(start, start + len(text), f"!({text})", f"`{short}` negated")

    def binary(self, cursor, parts):
        i = self.s.operator(*parts)
        if i is None or self.s.words[i] not in BINARY:
            return
        self.replace(i, BINARY[self.s.words[i]])
        if self.s.words[i] in ("&&", "||"):
            self.negate(offset_of(parts[0].extent.start), self.s.starts[i], parts[0])
            span = self.s.span(parts[1])
            if span:
                self.negate(*span, parts[1])

    def unary(self, cursor):
        first = self.s.at.get(offset_of(cursor.extent.start))
        if first is None:
            return
        words = self.s.words
        span = self.s.span(cursor)
        if words[first] in COUNT:
            self.replace(first, COUNT[words[first]])
        elif words[first] == "!" and span:
            self.negate(*span, cursor)
        elif words[first] == "-" and re.match(r"E[A-Z]+$", words[first + 1]):
            self.add(self.s.starts[first], self.s.end(first + 1), "0",
                     f"-{words[first + 1]} -> 0")
        elif span and self.s.text[span[1] - 2:span[1]] in COUNT:
            last = self.s.at.get(span[1] - 2)
            if last:
                self.replace(last, COUNT[words[last]])

    def number(self, start):
        word = self.s.word(start)
        if word in TRUTH:
            self.replace(self.s.at[start], TRUTH[word])
        elif m := NUMBER.match(word):
            value = int(m[1], 0)
            self.replace(self.s.at[start], f"{0 if value == 1 else value + 1}{m[2]}")

    def enumerator(self, cursor):
        start = offset_of(cursor.extent.start)
        constant = cursor.referenced
        if not constant or constant.kind != K.ENUM_CONSTANT_DECL or \
                self.s.word(start) != constant.spelling or \
                not self.known(constant.location.file.name):
            return
        all_of = [c for c in constant.semantic_parent.get_children()
                  if c.kind == K.ENUM_CONSTANT_DECL]
        i = [c.spelling for c in all_of].index(constant.spelling)
        for c in all_of[i + 1:] + all_of[:i][::-1]:
            if c.enum_value != constant.enum_value:
                self.replace(self.s.at[start], c.spelling)
                return

    # --- statements ----------------------------------------------------------

    def drop(self, statement, last):
        """Return: is it one that can be dropped?"""
        first = self.s.at.get(offset_of(statement.extent.start))
        if first is None or statement.kind not in EXPRESSIONS + JUMPS:
            return False
        # the end of a function that returns something
        if statement.kind == K.RETURN_STMT and last and self.returns != "void":
            return False
        end = self.s.statement_end(first)
        text = " ".join(self.s.text[self.s.starts[first]:self.s.starts[end]].split())
        self.add(self.s.starts[first], self.s.end(end), ";", f"`{text}` dropped")
        return True

    def body(self, statement):
        """What an if or a loop controls"""
        first = self.s.at.get(offset_of(statement.extent.start))
        if statement.kind != K.COMPOUND_STMT:
            self.drop(statement, False)
        elif first is not None and self.s.words[first] == "{":
            inner = list(statement.get_children())
            if len(inner) != 1 or inner[0].kind not in EXPRESSIONS + JUMPS:
                self.add(self.s.starts[first], self.s.end(self.s.partner[first]), "{ }",
                         "body skipped")

    def condition(self, cursor, parts):
        first = self.s.at.get(offset_of(cursor.extent.start))
        words = self.s.words
        if first is None:
            return
        if words[first] == "do":
            first = self.s.statement_end(first + 1) + 1
            cond = parts[-1]
        elif words[first] == "for":
            close = self.s.partner[first + 1]
            one = self.s.statement_end(first + 2)
            two = self.s.statement_end(one + 1)
            cond = next((p for p in parts if one < self.s.at.get(
                offset_of(p.extent.start), 0) < two), None)
            if cond and two < close:
                self.negate(self.s.end(one), self.s.starts[two], cond)
            return
        else:
            cond = parts[0]
        if words[first] in ("if", "while") and words[first + 1] == "(":
            self.negate(self.s.end(first + 1), self.s.starts[self.s.partner[first + 1]],
                        cond)

    def choice(self, parts):
        mark = self.s.operator(*parts[:2])
        if mark and self.s.words[mark] == "?":
            self.negate(offset_of(parts[0].extent.start), self.s.starts[mark], parts[0])

    def returned(self, parts):
        span = self.s.span(parts[0])
        if self.returns in ("bool", "_Bool") and span and \
                self.s.word(span[0]) not in TRUTH:
            self.negate(*span, parts[0])

    # --- the walk ------------------------------------------------------------

    def visit(self, cursor):
        parts = list(cursor.get_children())
        kind = cursor.kind
        if kind in DECLARATIONS:
            return
        if kind == K.VAR_DECL and \
                self.s.word(offset_of(cursor.location)) == cursor.spelling:
            self.initialiser(parts)
            return
        if kind in (K.BINARY_OPERATOR, K.COMPOUND_ASSIGNMENT_OPERATOR) and len(parts) == 2:
            self.binary(cursor, parts)
        elif kind == K.UNARY_OPERATOR:
            self.unary(cursor)
        elif kind == K.INTEGER_LITERAL:
            self.number(offset_of(cursor.extent.start))
        elif kind == K.DECL_REF_EXPR:
            self.enumerator(cursor)
        elif kind == K.CONDITIONAL_OPERATOR and len(parts) == 3:
            self.choice(parts)
        elif kind == K.RETURN_STMT and parts:
            self.returned(parts)
        elif kind == K.COMPOUND_STMT and \
                self.s.word(offset_of(cursor.extent.start)) == "{":
            for part in parts:
                self.drop(part, part is parts[-1])
        elif kind in (K.CASE_STMT, K.DEFAULT_STMT) and parts:
            self.drop(parts[-1], False)
        elif kind == K.IF_STMT:
            self.condition(cursor, parts)
            for part in parts[1:]:
                self.body(part)
        elif kind in LOOPS:
            self.condition(cursor, parts)
            self.body(parts[0] if kind == K.DO_STMT else parts[-1])
        for part in parts:
            self.visit(part)

    def initialiser(self, parts):
        """What comes behind the =; before it is the type, with sizes of arrays"""
        for part in parts:
            i = self.s.at.get(offset_of(part.extent.start))
            if part.kind == K.INIT_LIST_EXPR or (i and self.s.words[i - 1] == "="):
                self.visit(part)

    def top(self, cursor):
        self.function = cursor.spelling
        if cursor.kind == K.FUNCTION_DECL and cursor.is_definition():
            self.returns = cursor.result_type.spelling
            for part in cursor.get_children():
                if part.kind == K.COMPOUND_STMT:
                    self.visit(part)
            self.calls(offset_of(cursor.extent.start), offset_of(cursor.extent.end))
        elif cursor.kind == K.VAR_DECL:
            self.visit(cursor)

    def calls(self, start, end):
        """Functions and macros that have a counterpart, which the cursors do not show"""
        for at, i in self.s.at.items():
            word = self.s.words[i]
            if not start <= at < end or self.s.words[i + 1:i + 2] != ["("]:
                continue
            inside = self.s.text[self.s.end(i + 1):self.s.starts[self.s.partner[i + 1]]] \
                if i + 1 in self.s.partner else ""
            if word in CALLS:
                self.replace(i, CALLS[word])
            elif word in ("smp_store_release", "smp_load_acquire"):
                whole = at, self.s.end(self.s.partner[i + 1])
                where, comma, value = inside.partition(",")
                text = f"WRITE_ONCE(*({where}),{value})" if comma else \
                    f"READ_ONCE(*({where}))"
                self.add(*whole, text, f"{word} -> {text.split('(')[0]}", True)

    def constants(self):
        """#define NAME EXPRESSION"""
        for m in re.finditer(r"^#define (\w+)[ \t]+(?=\S)", self.s.text, re.M):
            self.function = m[1]
            i = self.s.at.get(m.end())
            end = self.s.text.index("\n", m.end())
            while i is not None and i < len(self.s.words) and self.s.starts[i] < end:
                if self.s.words[i] in "+-":
                    self.replace(i, BINARY[self.s.words[i]])
                self.number(self.s.starts[i])
                i += 1


def identify(mutants, sources):
    """The identity has no line numbers, so it lasts while others edit the file."""
    times = {}
    for m in sorted(mutants, key=lambda m: (m.file, m.start, m.end)):
        line = sources[m.file].line_text(m.start)
        what = m.what.removeprefix(f"`{line.rstrip(';')}` ")
        m.identity = f"{m.file}:{m.function}: `{line}`: {what}"
        nr = times[m.identity] = times.get(m.identity, 0) + 1
        if nr > 1:
            m.identity += f" #{nr}"
        m.name = hashlib.sha1(m.identity.encode()).hexdigest()[:8]
        yield m


def find(root, directory, include):
    """All mutants of the sources in a directory, in the order of the files"""
    directory = os.path.join(root, directory)
    args = ["-std=gnu11", "-D_GNU_SOURCE"] + ["-I" + os.path.join(root, i) for i in include]
    index = ci.Index.create()
    finders = {}

    def known(path):
        return os.path.realpath(path).startswith(os.path.realpath(root) + "/")

    for name in sorted(os.listdir(directory)):
        if not name.endswith(".c"):
            continue
        unit = index.parse(os.path.join(directory, name), args=args)
        errors = [d for d in unit.diagnostics if d.severity >= d.Error]
        if errors:
            raise SystemExit(f"mutants.py: {errors[0]}")
        fresh = {}
        for cursor in unit.cursor.get_children():
            where = cursor.location.file
            if not where or os.path.realpath(os.path.dirname(where.name)) != \
                    os.path.realpath(directory):
                continue
            file = os.path.basename(where.name)
            if file in finders:
                continue
            if file not in fresh:
                fresh[file] = Finder(Source(unit, where.name), file, known)
                fresh[file].constants()
            fresh[file].top(cursor)
        finders.update(fresh)
    mutants = [m for f in finders.values() for m in f.found.values()]
    return list(identify(mutants, {file: f.s for file, f in finders.items()}))
