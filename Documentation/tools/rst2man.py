#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Makes a man page: rst2man.py SOURCE.rst TARGET

As rst2man does, which ends at the first warning, with the directive of members.py.
"""
import pathlib
import sys

from docutils import core
from docutils.parsers.rst import directives

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from members import Members	# noqa: E402


def main():
    source, target = sys.argv[1:]
    directives.register_directive("members", Members)
    page = core.publish_string(
        pathlib.Path(source).read_bytes(), source_path=source, destination_path=target,
        writer_name="manpage", settings_overrides={
            "report_level": 2, "halt_level": 2, "traceback": False,
            "input_encoding": "utf-8"})
    pathlib.Path(target).write_bytes(page)


if __name__ == "__main__":
    main()
