# SPDX-License-Identifier: GPL-2.0-only
"""Adds up what gcov --json-format counted, a document per line of each file.

A line counts as covered when any copy of it ran: an inline function has one in
each object that uses it. Prints a table per file, writes what was not reached.
"""
import argparse
import collections
import json
import os
import sys


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--min', type=float, required=True)
    p.add_argument('--uncovered', required=True)
    p.add_argument('json', nargs='+')
    args = p.parse_args()

    count = collections.defaultdict(lambda: collections.defaultdict(int))
    for name in args.json:
        with open(name) as f:
            for document in f:
                if document.strip():
                    add(json.loads(document), count)
    if not count:
        sys.exit('coverage: gcov told nothing')

    print(f'{"file":32} {"lines":>6} {"covered":>8} {"%":>6}')
    total = reached = 0
    with open(args.uncovered, 'w') as out:
        for name in sorted(count):
            lines = count[name]
            hit = sum(n > 0 for n in lines.values())
            total += len(lines)
            reached += hit
            print(f'{name:32} {len(lines):6} {hit:8} {100 * hit / len(lines):6.1f}')
            tell(name, [i for i in sorted(lines) if not lines[i]], out)
    percent = 100 * reached / total
    print(f'{"total":32} {total:6} {reached:8} {percent:6.1f}')
    print(f'lines that nothing reached: {args.uncovered}')
    if percent < args.min:
        sys.exit(f'coverage: {percent:.1f} % is less than {args.min:g} %')


def add(document, count):
    for file in document['files']:
        # Only ours: build/kernels/NAME/dxk/..., not the kernel's headers
        path = os.path.normpath(os.path.join(document['current_working_directory'],
                                             file['file']))
        _, ours, name = path.rpartition('/dxk/executors/')
        if not ours:
            _, ours, name = path.rpartition('/dxk/')
        if not ours or '/build/kernels/' not in path or name == 'trace.h':
            continue
        name = ours[1:] + name
        for line in file['lines']:
            count[name][line['line_number']] += line['count']


def tell(name, lines, out):
    if not lines:
        return
    with open(name) as f:
        text = f.read().split('\n')
    for i in lines:
        out.write(f'{name}:{i}: {text[i - 1].strip()}\n')


main()
