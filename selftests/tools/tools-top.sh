#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# dxkstat --top in a terminal: it shows what is, survives any size, and leaves the
# terminal as it was, however it ends.
# shellcheck source=selftests/lib/tools.bash
. "${0%/*}/tools.bash"
stock_only

restore() { [[ ! -S terminal ]] || tmux kill-server; }
tmux() { python tmux "$@"; }

# on COLUMNS LINES COMMAND...: in a terminal; the exit status, and the settings of the
# terminal before and after it, go to files.
on() {
	rm -f status before after
	tmux new-session -d -s looked -x "$1" -y "$2" \
		"'stty -g >before; ${*:3} 2>err; echo \$? >status; stty -g >after; read forever'"
}
off() { tmux kill-session -t looked; }
# sees PATTERN...: waits for a screen with all of them, and none that has a ! in front.
# It is looked at while it is drawn, so that one look must have them all.
screen() {
	local pattern
	tmux capture-pane -p -t looked || return
	for pattern; do
		if [[ $pattern == !* ]]; then
			! line out "${pattern#!}" || return
		else
			line out "$pattern" || return
		fi
	done
}
sees() { until_true screen "$@"; }
keys() { tmux send-keys -t looked "$@"; }
size() { tmux resize-window -t looked -x "$1" -y "$2"; }
left() { until_true test -s after && [[ $(<status) == "$1" ]] && same before after; }
find_top() {
	local comm
	for pid in /proc/[0-9]*; do
		read -r comm <"$pid/comm" && pid=${pid#/proc/} && [[ $comm == dxkstat ]] &&
			return
	done
	return 1
} 2>/dev/null

open screen 0640 3 sched_mode=1 'lane_pct[1]=34' 'lane_pct[2]=34' && ask hold 2 3
on 100 40 dxkstat --top -i 0.2 screen
sees '^busy +\[#{3,} *\] 2/3' "^dxk context $id screen  running" \
	'^per second: 0 posts' '^ready +\[ *\] 0/1024 ' '^user 3 +\[#+ *\] 2/3 0$' \
	'^user 1 +\[ *\] 0/1 0$' '!^kernel' '^ +[123] user-worker +busy' \
	'^ +500 monitor' '^q quit'
ok "bars of pools, lanes and threads"
(until [[ -e enough ]]; do ask post 8 3 0 || break; done) &
pid=$!
sees '^per second: [1-9][0-9]* posts' '^ +[123] user-worker .*\[#+ *\]'
ok "a busy worker has a bar"
touch enough
wait $pid
size 20 24 && sees '^too small: 20x24 *$' '^needs ' '!pools|busy' &&
	[[ $(lines out .) == 2 ]] && size 3 2 && sees '^too' && size 41 9 && sees '^dxk context' && size 100 40 &&
	sees '^ +500 monitor'
ok "resize, too small and back"
keys Down Down Up NPage n p q
left 0
ok "q quits, the terminal is as before"
off
for sig in TERM INT HUP; do
	on 80 24 dxkstat --top -i 5
	sees '^dxk context' && find_top && kill -$sig "$pid" &&
		left $((128 + $(kill -l $sig)))
	ok "SIG$sig, the terminal is as before"
	off
done
on 80 24 env --ignore-signal=HUP dxkstat --top -i 3600
sees '^dxk context' && find_top && off && until_true ended "$pid"
ok "the terminal goes, SIGHUP is ignored"
on 20 10 dxkstat --top && sees '^too small: 20x10' && keys q && left 0
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
	sees '^dxk context .* late' && keys q && left 0
ok "--top waits for a context"
off
shut
plan
