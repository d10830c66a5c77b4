#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# dxkctl trace: the time line has every request once, and what the counters say; the
# tracepoints also serve bpftrace and trace-cmd.
# shellcheck source=selftests/lib/tools.bash
. "${0%/*}/tools.bash"

# To make and remove a trace instance takes an emulated 6.1 two seconds and more, so that
# one recording serves for several things.
how=()	# it is run
# recording OPTION...: dxkctl trace in the background, that has begun
recording() {
	starts "${how[@]}" dxkctl trace -o trace.json "$@"
	until_true line err ': recording'
}
no_instance() {
	! compgen -G '/sys/kernel/tracing/instances/*' >/dev/null && return
	tell "an instance is left"
	return 1
}
recorded() {
	kill -"${1:-TERM}" "$pid"
	wait "$pid" && no_instance && return
	tell_file err
	return 1
}

open traced 0640 2 && ask hold 1 3
ask label 0 9 && recording traced && ask release && ask collect && ask post 40 3 1 && ask collect &&
	for _ in {1..5}; do ask post 20 3 0 && ask collect || break; done &&
	ask post 7 2 0 && ask collect && a=$(counter completions) && ask hold 1 3 &&
	ask post 30 3 0 &&
	until_true is stats/completions 178 && recorded &&
	((a == 148)) && line trace.json '"name":"job9"' && python trace done=178 open=1 early=1 lane2=7 contexts=1 lost=0
ok "a time line: also requests that were cut off"
ask release && ask collect
recording && a=$(counter completions) && ask post 64 3 1 && ask post 64 2 0 &&
	ask collect && recorded && b=$(counter completions) &&
	python trace done=$((b - a)) open=0 early=0 lane2=64 ready=0 lost=0
ok "as many slices as completions"
shut

# With one worker, what waits for a child waits in vain. Nobody collects the child: that
# it completes is told by the counters alone. The Monitor writes its message after its
# event.
open alone 0640 1
read -r logged <"/sys/kernel/dxk/$id/pools/log_use"
stalled() { (($(counter stalls) > 0)) && ! is pools/log_use "$logged"; }
recording && ask parent && until_true stalled && ask release && ask collect &&
	until_true is stats/completions 2 && recorded && s=$(counter stalls) &&
	((s >= 1)) && python trace stalls="$s" done=2 lost=0 &&
	line trace.json '"name":"rejoining","cat":"block"' &&
	line trace.json '"name":"context '"$id"' alone"'
ok "stalls, and who sleeps"
run 0 dxkctl trace -t 0.2 -o - "$id" && json 'v["traceEvents"]' && cp out trace.json &&
	python trace done=0 contexts=1 lost=0 &&
	run 1 dxkctl trace -t 1 -o /nonexistent/x &&
	run 1 dxkctl trace -o /dev/full -t 0.2 && has err 'No space' && no_instance
ok "a time, standard output, and where it cannot be written"
mkdir long && for i in {1..2000}; do echo "something that is longer than a recording"; done >long/x &&
	run 0 dxkctl trace -t 0.1 -o long/x "$id" && ! line long/x something && no_instance
ok "and a recording replaces one"
mkdir -m 777 pub && echo earlier >pub/x && chmod 666 pub/x &&
	run 1 nobody dxkctl trace -t 1 -o pub/x && has err 'run it as root' && [[ $(<pub/x) == earlier ]]
ok "trace by somebody else leaves an earlier recording"
how=(env --default-signal=INT)
recording && ask post 5 2 0 && ask collect && ask post 5 3 0 && shut && recorded INT &&
	python trace lane2=5 lost=0
ok "the context goes while it is recorded, Ctrl-C ends it"

# --- other programs ---------------------------------------------------------

[[ $dispatch == direct ]] || plan
slow=''
[[ ! -e /proc/lockdep ]] || slow=1

open traced 0640 2
if [[ -n $slow ]]; then
	skip "dxk-latency.bt: left to the stock kernel, this one is too slow"
elif ! command -v bpftrace >/dev/null; then
	skip "dxk-latency.bt: there is no bpftrace"
else
	starts bpftrace "$build/../tools/dxk-latency.bt" "$id"
	# It computes for half a minute on a busy host: as long as it does that is told.
	turns=0 ticks=0
	begun() {
		local stat
		line out ^Tracing && return
		ended $pid && return
		((++turns % 100)) && return 1
		read -ra stat </proc/$pid/stat && ((stat[13] > ticks)) &&
			ticks=${stat[13]} && tell "bpftrace has computed for $ticks ticks"
		return 1
	} 2>/dev/null
	# bpftrace 0.17 forgets a signal that comes while it is not in epoll_wait(),
	# as when it prints: it is told again, but not at each turn.
	told_to_end() {
		ended $pid && return
		((told++ % 20)) || kill -TERM $pid
		return 1
	} 2>/dev/null
	told=0
	until_true begun
	if ended $pid; then
		skip "dxk-latency.bt: bpftrace cannot run here: $(tail -n 1 err)"
	else
		true
		ok "dxk-latency.bt begins"
		ask post 10 3 1 && ask post 3 2 1 && ask collect
		until_true told_to_end
		wait $pid
		# @NAME[LANE]: and the lines of its histogram
		declare -A sums=()
		key='' bucket='^[[(].*[])] +([0-9]+) \|'
		while read -r text; do
			if [[ $text =~ ^@([a-z_]+)\[([0-9])\]: ]]; then
				key=${BASH_REMATCH[1]}${BASH_REMATCH[2]}
			elif [[ $text =~ $bucket ]]; then
				((sums[$key] += BASH_REMATCH[1]))
			fi
		done <out
		[[ ${#sums[@]} == 4 && ${sums[wait_us2]-} == 3 && ${sums[wait_us3]-} == 10 &&
			${sums[run_us2]-} == 3 && ${sums[run_us3]-} == 10 ]] ||
			{ tell_file out; false; }
		ok "dxk-latency.bt counts each request once"
	fi
fi
if [[ -n $slow ]] || ! command -v trace-cmd >/dev/null; then
	skip "trace-cmd: it is not there, or the kernel too slow"
else
	trace-cmd start -e dxk:dxk_complete >out 2>&1 && ask post 12 3 0 && ask collect &&
		trace-cmd extract -o trace.dat >out 2>&1
	echo 0 >/sys/kernel/tracing/events/enable
	echo >/sys/kernel/tracing/trace
	echo 1 >/sys/kernel/tracing/tracing_on
	trace-cmd report -i trace.dat >report 2>/dev/null
	[[ $(lines report "complete: .*ctx=$id ") == 12 ]] || { tell_file report; false; }
	ok "trace-cmd understands the events"
fi
shut
plan
