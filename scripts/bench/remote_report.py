#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
What remote.sh prints of what it has measured.

  remote_report.py COUNT LOG
"""
import statistics
import sys

WINDOW = PREFETCH = 64
HEARTBEAT = 10


def read(path, count):
    """{name: [{field: value}]}, the broker's time as well"""
    rows, marks = {}, []
    for line in open(path, encoding="ascii", errors="replace"):
        name, *rest = line.split() or [""]
        if name == "mark":
            marks.append(float(rest[2]))
        elif rest and len(rest) % 2 == 0 and name in ("native", "raw", "dxkd", "local",
                                                      "export", "import"):
            row = {k: float(v) for k, v in zip(rest[::2], rest[1::2])}
            if name in ("raw", "dxkd"):
                row["broker"] = (marks[-1] - marks[-2]) / count
            rows.setdefault(name, []).append(row)
    return rows


def total(row, *names):
    return sum(v for k, v in row.items() if not names and k not in ("time", "broker") or
               any(k.startswith(n) for n in names))


def line(what, values, unit="", target=None):
    text = (f"{what:58} {statistics.median(values):9.2f} "
            f"({min(values):.2f}..{max(values):.2f}){unit}")
    if target is not None:
        text += f"  target <= {target}: {'met' if statistics.median(values) <= target else 'MISSED'}"
    print(text)


def main():
    count, path = int(sys.argv[1]), sys.argv[2]
    rows = read(path, count)
    raw, dxkd, local = rows["raw"], rows["dxkd"], rows["local"]
    native = statistics.median(total(r, "user", "system") for r in rows["native"])
    factor = statistics.median(total(r, "user", "system") for r in raw) / native
    print(f"{len(dxkd)} pairs of {count} requests; the guest takes {factor:.1f} times as long as "
          "the host for the same program")
    line("raw: time, us", [r["time"] for r in raw])
    line("dxkd: time, us", [r["time"] for r in dxkd])
    line("dxkd : raw, time", [d["time"] / r["time"] for d, r in zip(dxkd, raw)], "", 1.3)
    print("processor time, us of the host:")
    line("  raw: client and server", [total(r, "user", "system") / factor for r in raw])
    line("  raw: broker", [r["broker"] for r in raw])
    for name in ("import", "export", "workers"):
        line(f"  dxkd: {name}", [total(r, name) / factor for r in dxkd])
    line("  dxkd: application", [total(r, "user", "system") / factor for r in dxkd])
    line("  dxkd: broker", [r["broker"] for r in dxkd])
    line("dxkd : raw, processor time without application and workers",
         [(d["broker"] + total(d, "import", "export") / factor) /
          (r["broker"] + total(r, "user", "system") / factor) for d, r in zip(dxkd, raw)], "", 1.2)
    line("dxkd : raw, processor time with them",
         [(d["broker"] + total(d) / factor) / (r["broker"] + total(r, "user", "system") / factor)
          for d, r in zip(dxkd, raw)])
    # Twice what the system does for a request of one context, of all that a remote one takes
    line("two local requests' system time, % of all",
         [200 * sum(v for k, v in x.items() if k.endswith("system")) / factor /
          (d["broker"] + total(d) / factor) for x, d in zip(local, dxkd)], "", 10)
    limit = 8 * 1024 + 8 * (WINDOW + PREFETCH)
    for name in ("import", "export"):
        for row in rows.get(name, []):
            if "rss_kib" in row:
                line(f"{name}: memory, KiB", [row["rss_kib"]], "", limit)
                line(f"{name}: of these its own", [row["anon_kib"]])
            else:
                line(f"{name}: wake-ups in {HEARTBEAT / 2:.0f} s without requests",
                     [row["wakeups"] * HEARTBEAT / 2 / row["idle_seconds"]], "", 1)


main()
