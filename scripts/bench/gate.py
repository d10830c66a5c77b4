#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compares what dxk costs with what it cost when figures were kept.

    gate.py [--keep] DIR

Reads DIR/results.json of bench.sh and kept.json beside this script: medians of dxk's own
measurements. Fails when one costs more than 1.5 % more, which is what work may cost that
does not use a new feature. Measurements that are in one of the two only are named and do
not count, but one must be in both. --keep writes kept.json instead; what was not measured
stays in it.
"""
import argparse
import json
import os
import statistics
import sys

KEPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kept.json")
MORE = 0.015
# In these units less is better.
COSTS = ("instructions", "bytes", "wake-ups", "p99")
# Others count other instructions.
MADE_BY = ("kernel configuration", "compiler")


def medians(results):
    return {f"{w['name']}/{name}": statistics.median(v["rounds"])
            for w in results["workloads"] if w["unit"].startswith(COSTS)
            for name, v in w["variants"].items()
            if name.startswith("dxk") and v.get("rounds")}


def keep(old, made_by, new):
    if old and old["made by"] != made_by:
        old = None
    costs = {**(old["costs"] if old else {}), **new}
    with open(KEPT, "w", encoding="ascii") as f:
        json.dump({"made by": made_by, "costs": dict(sorted(costs.items()))}, f, indent=1)
        f.write("\n")
    print(f"gate.py: kept {len(new)} figures")
    return 0


def compare(old, made_by, new):
    if not old:
        print("gate.py: nothing was kept, see --keep")
        return 2
    for key in MADE_BY:
        if old["made by"][key] != made_by[key]:
            print(f"gate.py: kept with {old['made by'][key]}, measured with {made_by[key]}: "
                  "keep those of the commit before with this one")
            return 2
    worse = both = 0
    for name in sorted(old["costs"].keys() | new.keys()):
        if name not in new or name not in old["costs"]:
            print(f"{name:32} {'not measured' if name in old['costs'] else 'was not kept'}")
            continue
        was, now = old["costs"][name], new[name]
        both += 1
        bad = now > was * (1 + MORE)
        worse += bad
        change = 100 * (now / was - 1) if was else 0
        print(f"{name:32} {was:10.0f} -> {now:10.0f} {change:+7.1f} %"
              f"{'  WORSE' if bad else ''}")
    print(f"gate.py: {worse} of {both} cost more than {100 * MORE:g} % more")
    return 1 if worse or not both else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("dir")
    args = parser.parse_args()

    with open(os.path.join(args.dir, "results.json"), encoding="ascii") as f:
        results = json.load(f)
    made_by = {key: results["environment"].get(key, "?") for key in MADE_BY}
    old = None
    if os.path.exists(KEPT):
        with open(KEPT, encoding="ascii") as f:
            old = json.load(f)
    return (keep if args.keep else compare)(old, made_by, medians(results))


if __name__ == "__main__":
    sys.exit(main())
