#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Makes tables and curves of what bench measured; fails when a target is missed.

    bench.py [--partial] [--config FILE] [--compiler TEXT] DIR

Reads DIR/raw.json; writes DIR/bench.md, DIR/bench-results.rst, DIR/results.json and
DIR/*.svg. --partial: a target whose measurements were not asked for is not missed.
"""
import argparse
import hashlib
import json
import math
import os
import statistics
import sys

from bench_targets import TARGETS

LIMITS = "counts instructions, sees no caches, no contention, no parallelism"
# In these units less is better, and a ratio says something.
COSTS = ("instructions", "bytes", "wake-ups", "p99")


class Results:
    """The medians, by "WORKLOAD/VARIANT"."""

    def __init__(self, raw):
        self.raw = raw
        self.by_name = {}
        for workload in raw["workloads"]:
            for name, variant in workload["variants"].items():
                if variant.get("rounds"):
                    values = variant["rounds"]
                    variant["median"] = statistics.median(values)
                    variant["spread"] = max(values) - min(values)
                    self.by_name[f"{workload['name']}/{name}"] = variant

    def __call__(self, name):
        return self.by_name[name]["median"]

    def extra(self, name, key):
        return statistics.median(self.by_name[name]["extras"][key])


def number(x):
    if x is None:
        return ""
    return f"{x:.0f}" if abs(x) >= 100 else f"{x:.3g}"


def judge(results, partial):
    """(row, text, value, verdict) for each target"""
    for row, text, value, bound in TARGETS:
        try:
            got = value(results)
        except KeyError as e:
            if not partial:
                yield row, text, None, f"MISSED: no {e.args[0]}"
            continue
        met = got >= bound if ">=" in text else got <= bound
        yield row, text, got, "met" if met else "MISSED"


def dxk_of(workload, name):
    """What a rival is compared with: dxk, at the same point of the curve."""
    _, at, x = name.partition("@")
    return workload["variants"].get("dxk" + at + x)


def rows(workload):
    """(name, median, spread in %, the client's sleeps for each, dxk by it, remarks)"""
    for name, variant in workload["variants"].items():
        remark = "; ".join(filter(None, (
            variant.get("note"),
            "skipped: " + variant["skipped"] if "skipped" in variant else None,
            "FAILED: " + variant["failed"] if "failed" in variant else None)))
        median = variant.get("median")
        if median is None:
            yield name, None, None, None, None, remark
            continue
        dxk = dxk_of(workload, name)
        by = None
        costs = workload["unit"].startswith(COSTS)
        if costs and dxk and "median" in dxk and not name.startswith("dxk") and median:
            by = dxk["median"] / median
        spread = 100 * variant["spread"] / median if median else 0
        sleeps = variant.get("extras", {}).get("client_sleeps")
        sleeps = statistics.median(sleeps) if sleeps and costs else None
        yield name, median, spread, sleeps, by, remark


# --- text -----------------------------------------------------------------------


def markdown(cells):
    return "| " + " | ".join(cells) + " |"


def as_markdown(raw, verdicts, env):
    yield "# dxk and its rivals\n"
    for key, value in env.items():
        yield f"- {key}: {value}"
    yield f"- {LIMITS}\n\n## Targets\n"
    yield markdown(("row", "target", "is", "")) + "\n|---|---|---|---|"
    for row, text, value, verdict in verdicts:
        yield markdown((str(row), text, number(value), verdict))
    for workload in raw["workloads"]:
        yield f"\n## {workload['row']}. {workload['what']} ({workload['name']})\n"
        yield markdown(("", workload["unit"], "spread", "sleeps", "dxk / it", ""))
        yield "|---|---|---|---|---|---|"
        for name, median, spread, sleeps, by, remark in rows(workload):
            yield markdown((name, number(median),
                            "" if spread is None else f"{spread:.2f} %",
                            "" if sleeps is None else f"{sleeps:.2f}",
                            "" if by is None else f"{by:.2f}", remark))


def list_table(title, header, lines, widths):
    yield f".. list-table:: {title}\n   :header-rows: 1\n   :widths: {widths}\n"
    for cells in (header, *lines):
        for i, cell in enumerate(cells):
            yield ("   * - " if i == 0 else "     - ") + cell
    yield ""


def as_rst(raw, verdicts, env):
    title = "Results of the benchmarks"
    yield ".. SPDX-License-Identifier: GPL-2.0-only\n\n" + "=" * len(title)
    yield title + "\n" + "=" * len(title) + "\n"
    yield "Made by ``make bench``. `Benchmarks <bench.rst>`_ says what was measured.\n"
    for key, value in env.items():
        yield f"- {key}: {value}"
    yield f"- {LIMITS}\n"
    yield from list_table("Targets", ("row", "target", "is", ""),
                          [(str(r), t, number(v), w) for r, t, v, w in verdicts],
                          "5 60 15 20")
    for workload in raw["workloads"]:
        yield from list_table(
            f"{workload['row']}. {workload['what']} (``{workload['name']}``)",
            ("", workload["unit"], "spread", "sleeps", "dxk / it", ""),
            [(n, number(m), "" if s is None else f"{s:.2f} %",
              "" if c is None else f"{c:.2f}", "" if b is None else f"{b:.2f}", r)
             for n, m, s, c, b, r in rows(workload)],
            "30 15 11 11 11 22")


# --- curves -------------------------------------------------------------------------

# the workloads that are drawn
X_TITLES = {"backlog": "requests", "post": "requests in a call", "owners": "owners"}
COLOURS = ("#b03060", "#d98200", "#2e8b57", "#3465a4", "#75507b", "#555753")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 400, 70, 150, 40, 50


def svg(workload, curves, x_title):
    """x logarithmic, y from 0"""
    points = [p for curve in curves.values() for p in curve]
    low, high = min(x for x, _ in points), max(x for x, _ in points)
    step = 10 ** math.floor(math.log10(max(y for _, y in points)))
    top = math.ceil(1.05 * max(y for _, y in points) / step) * step

    def at(x, y):
        share = math.log(x / low) / (math.log(high / low) or 1)
        return (LEFT + share * (WIDTH - LEFT - RIGHT),
                HEIGHT - BOTTOM - y / top * (HEIGHT - TOP - BOTTOM))

    def label(x, y, text, more=""):
        return f'<text x="{x:.0f}" y="{y:.0f}" {more}>{text}</text>'

    yield (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
           f'height="{HEIGHT}" font-family="sans-serif" font-size="12">')
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
    yield label(LEFT, 20, f"{workload['what']}: {workload['unit']}")
    for i in range(5):
        x, y = at(low, top * i / 4)
        yield (f'<line x1="{x}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" '
               'stroke="#ccc"/>')
        yield label(x - 8, y + 4, f"{top * i / 4:g}", 'text-anchor="end"')
    for x in sorted({x for x, _ in points}):
        px, py = at(x, 0)
        yield label(px, py + 18, f"{x:g}", 'text-anchor="middle"')
    yield label((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x_title, 'text-anchor="middle"')
    for i, (name, curve) in enumerate(curves.items()):
        colour = COLOURS[i % len(COLOURS)]
        line = " ".join("{:.1f},{:.1f}".format(*at(x, y)) for x, y in curve)
        yield f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>'
        for x, y in curve:
            px, py = at(x, y)
            yield f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" fill="{colour}"/>'
        yield label(WIDTH - RIGHT + 10, TOP + 18 * i + 10, name, f'fill="{colour}"')
    yield "</svg>"


def draw(raw, directory):
    for workload in raw["workloads"]:
        title, curves = X_TITLES.get(workload["name"]), {}
        for name, variant in workload["variants"].items():
            curve, at, x = name.partition("@")
            if at and "median" in variant:
                curves.setdefault(curve, []).append((float(x), variant["median"]))
        curves = {name: sorted(points) for name, points in curves.items()}
        if title and curves:
            with open(f"{directory}/{workload['name']}.svg", "w") as f:
                f.write("\n".join(svg(workload, curves, title)) + "\n")


# --- all of it ------------------------------------------------------------------------


def environment(args, raw):
    with open(f"{args.dir}/guest") as f:
        kernel, parameters = f.read().splitlines()
    env = {"kernel": f"Linux {kernel}, {raw['cpus']} CPU, {parameters}"}
    if args.config:
        with open(args.config, "rb") as f:
            digest = hashlib.sha256(f.read()).hexdigest()
        env["kernel configuration"] = f"{args.config}, sha256 {digest}"
    env["compiler"] = args.compiler
    env["rounds"] = f"{raw['rounds']} after one that is dropped, in turns"
    with open(f"{args.dir}/guest.log") as f:
        for line in f:
            if "qemu-system" in line:
                command = line.partition(": ")[2].strip().replace("'", "")
                env["guest"] = command.replace(os.getcwd(), ".")
    return env


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--partial", action="store_true")
    parser.add_argument("--config")
    parser.add_argument("--compiler", default="?")
    parser.add_argument("dir")
    args = parser.parse_args()

    with open(f"{args.dir}/raw.json") as f:
        raw = json.load(f)
    results = Results(raw)
    verdicts = list(judge(results, args.partial))
    env = environment(args, raw)

    text = "\n".join(as_markdown(raw, verdicts, env)) + "\n"
    with open(f"{args.dir}/bench.md", "w") as f:
        f.write(text)
    with open(f"{args.dir}/bench-results.rst", "w") as f:
        f.write("\n".join(as_rst(raw, verdicts, env)))
    targets = [dict(zip(("row", "target", "value", "verdict"), v)) for v in verdicts]
    with open(f"{args.dir}/results.json", "w") as f:
        json.dump({"environment": env, "limits": LIMITS, "targets": targets, **raw}, f,
                  indent=1)
    draw(raw, args.dir)

    print(text)
    failed = [name for w in raw["workloads"] for name, v in w["variants"].items()
              if "failed" in v]
    missed = [v for v in verdicts if v[3].startswith("MISSED")]
    print(f"{len(missed)} of {len(verdicts)} targets missed, "
          f"{len(failed)} measurements failed")
    sys.exit(1 if missed or failed else 0)


main()
