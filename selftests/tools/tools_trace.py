# SPDX-License-Identifier: GPL-2.0-only
"""Is trace.json, of dxkctl trace, sound, and does it hold what it should?"""
import json


def check(*wanted):
    """NAME=VALUE...; returns what is wrong."""
    want = dict(w.split("=") for w in wanted)
    with open("trace.json") as f:
        trace = json.load(f)
    events = trace["traceEvents"]
    slices = [e for e in events if e["ph"] == "X"]
    requests = [e for e in slices if e["cat"] == "request"]
    done = [e for e in requests if "status" in e["args"]]
    ready = [e for e in events if e["ph"] == "C"]
    bad = []

    named = {(e["pid"], e["tid"]) for e in events
             if e["ph"] == "M" and e["name"] == "thread_name"}
    for track in {(e["pid"], e["tid"]) for e in slices}:
        if track not in named:
            bad.append(f"track {track} has no name")
        outer = []
        for e in sorted((e for e in slices if (e["pid"], e["tid"]) == track),
                        key=lambda e: (e["ts"], -e["dur"])):
            # what is written is rounded to 1 ns
            while outer and outer[-1] <= e["ts"] + 0.002:
                outer.pop()
            if outer and e["ts"] + e["dur"] > outer[-1] + 0.002:
                bad.append(f"does not nest: {e}")
            outer.append(e["ts"] + e["dur"])
    end = float(trace["otherData"]["seconds"]) * 1e6
    for e in slices:
        if e["ts"] < 0 or e["dur"] < 0 or e["ts"] + e["dur"] > end + 2:
            bad.append(f"not in the recording: {e}")
    for e in requests:
        if ("status" in e["args"]) == ("ended" in e["args"]):
            bad.append(f"ended twice or never: {e}")
        if e["tid"] & 0xffff != e["args"]["worker"]:
            bad.append(f"on the track of another: {e}")
        if "began" not in e["args"] and (
                e["args"]["owner"] not in ("0x1234", "0x5678") or
                e["args"]["prio"] != 20 + e["args"]["lane"]):
            bad.append(f"wrong owner or priority: {e}")
    if len({(e["pid"], e["args"]["seq"]) for e in done}) != len(done):
        bad.append("a request is completed twice")
    for a, b in zip(ready, ready[1:]):
        if a["pid"] == b["pid"] and a["ts"] > b["ts"]:
            bad.append("a counter goes back in time")

    figures = {
        "done": len(done),
        "open": len([e for e in requests
                     if e["args"].get("ended", "").startswith("after")]),
        "early": len([e for e in requests if "began" in e["args"]]),
        "lane2": len([e for e in done if e["args"].get("lane") == 2]),
        "ready": ready[-1]["args"]["entries"],
        "stalls": len([e for e in events if e["ph"] == "i" and e["name"] == "stall"]),
        "contexts": len([e for e in events if e["name"] == "process_name"]),
        "lost": trace["otherData"]["lost"],
    }
    return bad + [f"{name} is {figures[name]} instead of {value}"
                  for name, value in want.items() if str(figures[name]) != value]
