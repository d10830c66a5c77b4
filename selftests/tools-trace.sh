#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# dxkctl trace: the time line has every request once, and what the counters say; the
# tracepoints also serve bpftrace and trace-cmd.
# shellcheck source=selftests/tools.bash
. "$(dirname "$0")/tools.bash"

# Checks trace.json against NAME=VALUE...
cat >trace.py <<'END'
import json, sys
want = dict(a.split("=") for a in sys.argv[1:])
trace = json.load(open("trace.json"))
events = trace["traceEvents"]
slices = [e for e in events if e["ph"] == "X"]
requests = [e for e in slices if e["cat"] == "request"]
done = [e for e in requests if "status" in e["args"]]
ready = [e for e in events if e["ph"] == "C"]
bad = []


def same(name, value):
    if name in want and str(value) != want[name]:
        bad.append(f"{name} is {value} instead of {want[name]}")


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
same("done", len(done))
same("open", len([e for e in requests
                  if e["args"].get("ended", "").startswith("after")]))
same("early", len([e for e in requests if "began" in e["args"]]))
same("lane2", len([e for e in done if e["args"].get("lane") == 2]))
same("ready", ready[-1]["args"]["entries"])
same("stalls", len([e for e in events if e["ph"] == "i" and e["name"] == "stall"]))
same("contexts", len([e for e in events if e["name"] == "process_name"]))
same("lost", trace["otherData"]["lost"])
sys.exit("\n".join("# " + b for b in bad[:5]) or 0)
END

# recording OPTION...: dxkctl trace in the background, that has begun
recording() {
	dxkctl trace -o trace.json "$@" >out 2>trace.err &
	trace=$!
	until_true grep -qs ': recording' trace.err
}
no_instance() {
	[[ -z $(ls /sys/kernel/tracing/instances) ]] && return
	tell "an instance is left"
	return 1
}
recorded() {
	kill -TERM $trace
	wait $trace && no_instance && return
	tell_file trace.err
	return 1
}

open traced 0640 2 && ask hold 1 3 && until_true is pools/thread_busy 1
recording traced && ask release && ask collect && ask post 40 3 1 && ask collect &&
	for _ in {1..5}; do ask post 20 3 0 && ask collect || break; done &&
	ask post 7 2 0 && ask collect && a=$(counter completions) && ask hold 1 3 &&
	until_true is pools/thread_busy 1 && ask post 30 3 0 &&
	until_true is stats/completions 178 && recorded &&
	((a == 148)) && python3 trace.py done=178 open=1 early=1 lane2=7 contexts=1 lost=0
ok "a time line: also requests that were cut off"
ask release && ask collect
recording && a=$(counter completions) && ask post 64 3 1 && ask post 64 2 0 &&
	ask collect && recorded && b=$(counter completions) &&
	python3 trace.py done=$((b - a)) open=0 early=0 lane2=64 ready=0 lost=0
ok "as many slices as completions"
shut

# With one worker, what waits for a child waits in vain.
open alone 0640 1
recording && ask parent 700 && ask collect && recorded && s=$(counter stalls) &&
	((s >= 1)) && python3 trace.py stalls="$s" done=2 lost=0 &&
	grep -q '"name":"rejoining","cat":"block"' trace.json &&
	grep -q '"name":"context '"$id"' alone"' trace.json
ok "stalls, and who sleeps"
rm -f trace.json
run 0 dxkctl trace -t 0.2 -o trace.json && python3 trace.py done=0 &&
	run 0 dxkctl trace -t 0.2 -o - "$id" && json 'v["traceEvents"]' &&
	run 1 dxkctl trace -t 1 -o /nonexistent/x &&
	run 1 dxkctl trace -o /dev/full -t 0.2 && has err 'No space' && no_instance
ok "a time, standard output, and where it cannot be written"
mkdir -m 777 pub && run 1 nobody dxkctl trace -t 1 -o pub/x && has err 'run it as root'
ok "trace by somebody else"
env --default-signal=INT dxkctl trace -o trace.json 2>trace.err &
trace=$!
until_true grep -qs ': recording' trace.err && ask post 5 3 0 && ask collect &&
	kill -INT $trace && wait $trace && python3 trace.py done=5 && no_instance
ok "Ctrl-C ends it"
recording && ask post 5 3 0 && shut && recorded && python3 trace.py && no_instance
ok "the context goes while it is recorded"

# --- other programs ---------------------------------------------------------

if ((dispatch)); then
	echo "1..$n"
	exit $failed
fi
slow=''
[[ ! -e /proc/lockdep ]] || slow=1

open traced 0640 2
if [[ -n $slow ]]; then
	skip "dxk-latency.bt: left to the stock kernel, this one is too slow"
elif ! command -v bpftrace >/dev/null; then
	skip "dxk-latency.bt: there is no bpftrace"
else
	bpftrace "$build/../tools/dxk-latency.bt" "$id" >out 2>&1 &
	pid=$!
	begun() { grep -qs '^Tracing' out || ended $pid; }
	until_true begun
	if ended $pid; then
		skip "dxk-latency.bt: bpftrace cannot run here: $(tail -n 1 out)"
	else
		ask post 10 3 1 && ask post 3 2 1 && ask collect
		kill -TERM $pid
		until_true ended $pid || kill -KILL $pid
		wait $pid
		python3 - <<-'END'
		import re, sys
		sums, key = {}, None
		for line in open("out"):
		    if m := re.match(r"@(\w+)\[(\d)\]:", line):
		        key = m.group(1) + m.group(2)
		    elif m := re.match(r"[\[(].*[\])] +(\d+) \|", line):
		        sums[key] = sums.get(key, 0) + int(m.group(1))
		if sums != {"wait_us2": 3, "wait_us3": 10, "run_us2": 3, "run_us3": 10}:
		    sys.exit(f"# {sums}\n" + "".join("# " + l for l in open("out"))[:900])
		END
		ok "dxk-latency.bt counts each request once"
	fi
fi
if [[ -n $slow ]] || ! command -v trace-cmd >/dev/null; then
	skip "trace-cmd: it is not there, or the kernel too slow"
else
	trace-cmd record -q -e dxk:complete -o trace.dat \
		sh -c 'touch begun; until [ -e stop ]; do sleep 0.1; done' >out 2>&1 &
	pid=$!
	until_true test -e begun && ask post 12 3 0 && ask collect
	touch stop
	wait $pid
	trace-cmd report -i trace.dat >report 2>/dev/null
	[[ $(grep -c "complete: .*ctx=$id " report) == 12 ]] || { tell_file report; false; }
	ok "trace-cmd understands the events"
fi
shut

echo "1..$n"
exit $failed
