# SPDX-License-Identifier: GPL-2.0-only
"""Do dxkstat --openmetrics and --prometheus say the same, and what the counters say?

    tools_metrics.py OPENMETRICS PROMETHEUS CONTEXT NAME

Both files are read by the parsers of python3-prometheus-client. The dashboard for Grafana
beside this program is to ask for nothing else. Prints what is wrong.
"""
import glob
import json
import os
import re
import sys

from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client import parser as prometheus


def samples(families, sort):
    return {(s.name, tuple(sorted(s.labels.items()))): s.value
            for f in families for s in f.samples
            if f.type == sort or sort is None}


def wrong(new, old, context, name):
    with open(new, encoding="utf-8") as file:
        text = file.read()
    families = list(openmetrics.text_string_to_metric_families(text))
    if any(not f.documentation for f in families):
        yield "a family without help"
    all_new = samples(families, None)
    with open(old, encoding="utf-8") as file:
        all_old = samples(prometheus.text_string_to_metric_families(file.read()), None)
    # Only the old format counts what the buckets hold once more.
    some = {k: v for k, v in all_old.items() if not k[0].endswith("_count")}
    if some != all_new:
        yield f"not the same: {sorted(set(some.items()) ^ set(all_new.items()))[:4]}"
    labels = (("context", context), ("name", name))
    counters = samples(families, "counter")
    files = glob.glob(f"/sys/kernel/dxk/{context}/stats/*")
    if len(files) < 20:
        yield "no counters"
    for path in files:
        counter = os.path.basename(path)
        with open(path, encoding="ascii") as file:
            value = int(file.read())
        key = f"dxk_{counter}_total"
        if counter.endswith("_ns"):
            key, value = f"dxk_{counter[:-3]}_seconds_total", value / 1e9
        if abs(counters.get((key, labels), -1) - value) > 1e-9:
            yield f"{key}: {counters.get((key, labels))}, and {path} has {value}"
    ended = all_new.get(("dxk_completions_total", labels))
    for histogram in ("wait", "run"):
        found = sum(v for (n, l), v in all_new.items()
                    if n == f"dxk_request_{histogram}_seconds_bucket" and
                    dict(l)["context"] == context and dict(l)["le"] == "+Inf")
        if found != ended or not ended:
            yield f"{histogram}: {found} requests in the histogram, {ended} have ended"
    if ("dxk_context_state", labels + (("state", "running"),)) not in all_new:
        yield "no state"
    with open(os.path.join(os.path.dirname(__file__), "grafana-dxk.json"),
              encoding="ascii") as file:
        asked = re.findall(r"\bdxk_\w+", " ".join(
            t["expr"] for p in json.load(file)["panels"] for t in p["targets"]))
    for key in set(asked) - {n for n, _ in all_new}:
        yield f"the dashboard asks for {key}"
    if len(asked) < 10:
        yield f"the dashboard asks for {asked} only"


if __name__ == "__main__":
    complaints = list(wrong(*sys.argv[1:]))
    print("\n".join(complaints))
    sys.exit(bool(complaints))
