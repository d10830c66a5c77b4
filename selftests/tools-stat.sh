#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# dxkstat: figures that are those of the counters, a full screen that survives any
# size and leaves the terminal as it was, and contexts that go while it looks.
# shellcheck source=selftests/tools.bash
. "$(dirname "$0")/tools.bash"

# --- lines ------------------------------------------------------------------

open busy 0640 3 sched_mode=1 'lane_pct[1]=34' 'lane_pct[2]=34' && ask hold 2 3 &&
	until_true is pools/thread_busy 2
run 0 dxkstat -n 2 -i 0.1 && [[ $(grep -c ^busy out) == 2 ]] &&
	has out '^busy +0 +3 +2 +0 +0 +0 +0 +2 +0 +0 +0 +0 +0$' &&
	has out '^context +ready'
ok "a table"
dxkstat -j -n 3 -i 0.2 busy >out 2>err &
pid=$!
for _ in {1..12}; do ask post 10 3 0; done
wait $pid && json 'len(L) == 3 and all(l["contexts"][0]["busy"] >= 2 for l in L) and
L[2]["contexts"][0]["lanes"]["user"][3]["limit"] == 3 and
L[2]["contexts"][0]["pools"]["thread"]["use"] == 3 and L[2]["time"] > L[0]["time"]'
ok "JSON, one line a sample"

more_lines() { (($(wc -l <out) > $1)); }
dxkstat -j -i 0.3 busy >out 2>err &
pid=$!
until_true test -s out
for _ in {1..20}; do ask post 20 3 0; done
until_true more_lines $(($(wc -l <out) + 1))
kill $pid
wait $pid
# What the rates say happened is what happened.
json 'max(l["contexts"][0]["per_second"]["posts"] for l in L) > 0 and
L[-1]["contexts"][0]["total"]["posts"] == '"$(counter posts)" && python3 - <<'END'
import json, sys
L = [json.loads(l) for l in open("out")]
total = [l["contexts"][0]["total"]["posts"] for l in L]
said = sum(b["contexts"][0]["per_second"]["posts"] * (b["time"] - a["time"])
           for a, b in zip(L, L[1:]))
happened = total[-1] - total[0]
if total != sorted(total) or not abs(said - happened) <= 0.3 * happened + 5:
    sys.exit(f"# rates sum up to {said}, counters to {happened}: {total}")
END
ok "rates"
run 0 dxkstat -h && has out '^Usage' && run 2 dxkstat -i 0 && run 2 dxkstat -i x &&
	run 2 dxkstat -n 0 && run 2 dxkstat -n -1 && run 2 dxkstat a b &&
	run 2 dxkstat --json --top && run 2 dxkstat --frob && run 1 dxkstat frob &&
	run 1 dxkstat --top
ok "wrong use"
dxkstat -i 0.1 busy >out 2>err &
pid=$!
until_true test -s out
ask release && shut && until_true ended $pid
wait $pid && [[ ! -s err ]]
ok "the context goes, dxkstat ends"

# Contexts come and go while they are looked at.
python3 -c '
import ctypes, os
lib = ctypes.CDLL("libdxk.so.1")
ctl = lib.dxk_open()
while True:
    fds = [lib.dxk_ctx_create(ctl, None) for _ in range(5)]
    for fd in fds: os.close(fd)
' &
churn=$!
run 0 dxkstat -n 10 -i 0.05 -j && json 'len(L) == 10' && run 0 dxkctl list --json &&
	json 'len(v) <= 5' && run 0 dxkctl list && run 0 dxkstat -n 5 -i 0.05
ok "contexts that come and go"
for i in {1..6}; do
	dxkctl show $((i % 4)) >out 2>err && continue
	has err 'there is no context' || break
done
ok "a context that goes while it is shown"
kill $churn
wait $churn 2>/dev/null

# --- the full screen --------------------------------------------------------

# on COLUMNS LINES COMMAND...: in a terminal; the exit status, and the settings of the
# terminal before and after it, go to files.
on() {
	local columns=$1 lines=$2
	shift 2
	rm -f status before after
	tmux -L dxk -f /dev/null new-session -d -x "$columns" -y "$lines" \
		"stty -g >before; $* 2>err; echo \$? >status; stty -g >after; exec cat"
}
off() {
	tmux -L dxk kill-server 2>/dev/null
	until_true no_server
}
no_server() { ! tmux -L dxk ls; } >/dev/null 2>&1
screen() {
	tmux -L dxk capture-pane -p >out
	grep -qE -- "$1" out
}
sees() {
	until_true screen "$1" && return
	tell_file out
	return 1
}
size() { tmux -L dxk resize-window -x "$1" -y "$2"; }
left() { until_true test -s after && [[ $(<status) == "$1" ]] && cmp before after; }

open screen 0640 3 sched_mode=1 'lane_pct[1]=34' 'lane_pct[2]=34' && ask hold 2 3
on 100 40 dxkstat --top -i 0.2 screen
sees '^busy +\[#{3,} *\] 2/3' && has out "^dxk context $id screen  running" &&
	has out '^per second: 0 posts' && has out '^ready +\[ *\] 0/1024 ' &&
	has out '^user 3 +\[#+ *\] 2/3 0$' && has out '^user 1 +\[ *\] 0/1 0$' &&
	! grep -q '^kernel' out && has out '^ +[123] user-worker +busy' &&
	has out '^ +500 monitor' && has out '^q quit'
ok "bars of pools, lanes and threads"
(for _ in {1..100}; do ask post 8 3 0 || break; [[ ! -e enough ]] || break; done) &
pid=$!
sees '^per second: [1-9][0-9]* posts' && sees '^ +[123] user-worker .*\[#+ *\]'
ok "a busy worker has a bar"
touch enough
wait $pid
size 20 24 && sees '^too small: 20x24 *$' && ! grep -q 'pools\|busy' out &&
	[[ $(grep -c . out) == 2 ]] && size 3 2 && sees '^too' && size 41 9 &&
	sees '^dxk context' && size 100 40 && sees '^ +500 monitor'
ok "resize, too small and back"
tmux -L dxk send-keys Down Down Up NPage n p q
left 0
ok "q quits, the terminal is as before"
off
for sig in TERM INT HUP; do
	on 80 24 dxkstat --top -i 5
	sees '^dxk context' && pid=$(pgrep -x dxkstat) && kill -$sig "$pid" &&
		left $((128 + $(kill -l $sig)))
	ok "SIG$sig, the terminal is as before"
	off
done
on 20 10 dxkstat --top && sees '^too small: 20x10' && tmux -L dxk send-keys q && left 0
ok "a terminal of 20 columns"
off
on 80 24 TERM=frob dxkstat --top && left 1 && has err "'frob' is not known"
ok "an unknown terminal"
off
on 80 24 dxkstat --top -n 3 -i 0.1 screen && left 0
ok "--top -n"
off
on 80 24 dxkstat --top -i 0.2 screen && sees '^dxk context' && ask release && shut &&
	left 0
ok "the context goes, --top ends"
off
on 80 24 dxkstat --top -i 0.2 && sees '^no context' && open late 0640 1 &&
	sees '^dxk context .* late' && tmux -L dxk send-keys q && left 0
ok "--top waits for a context"
off
shut

echo "1..$n"
exit $failed
