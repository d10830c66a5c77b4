#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# dxkctl at a context with a known load: what it shows is what is, what it is told is
# done (DX-5, DX-8, DX-9, DX-29..DX-32), and wrong use is told with what to do about
# it.
# shellcheck source=selftests/lib/tools.bash
. "${0%/*}/tools.bash"
stock_only

# --- list and show ----------------------------------------------------------

run 0 dxkctl list && [[ $(lines out .) == 1 ]] && run 0 dxkctl list --json &&
	json 'v == []'
ok "no context"

# It has no pools, lanes and counters yet.
open fresh 0644 new && run 0 dxkctl list && same err /dev/null &&
	has out "^ *$id  fresh +new +root +0644 +0 +0 +0$" && run 0 dxkctl list --json &&
	json 'v[0]["workers"] == v[0]["ready"] == v[0]["busy"] == 0'
ok "list of a context that has not been started"
run 0 dxkctl show fresh && same err /dev/null && has out '^  state +new$' &&
	has out '^  max_threads +[1-9]' && has out '^  none before the first Start$' &&
	run 0 dxkctl show fresh stats && has out '^stats$' && [[ $(lines out .) == 2 ]] &&
	run 0 dxkctl show --json fresh && json '"policy" in v and "stats" not in v'
ok "show of such a context"
# The mode says who may read a context, that of the device who may join it.
asks() { run 0 nobody dxkctl show fresh instrumentation && same err /dev/null; }
asks && has out '^  for those who may join the context$' && chmod 666 /dev/dxk && asks &&
	has out '^  lane0_run$'
ok "show of the instrumentation to others"
chmod 600 /dev/dxk
run 0 dxkstat -n 2 -i 0.1 && same err /dev/null && [[ $(lines out ^fresh) == 2 ]] &&
	run 0 dxkstat -j -n 1 fresh && json 'L[0]["contexts"][0]["state"] == "new"'
ok "dxkstat of such a context"
# One that has read the policy sleeps before it writes it.
preload=$build/selftests/tools_upset.so
UPSET="$((0xd813)) 1 stop" LD_PRELOAD=$preload dxkctl set fresh ready_entries 77 &
first=$!
stopped() { [[ $(<"/proc/$1/stat") == *') T '* ]]; }
until_true stopped $first
dxkctl set fresh rejoin_entries 88 &
second=$!
waits_or_ended() { line /proc/locks '-> FLOCK' || ended $second; }
until_true waits_or_ended
kill -CONT $first
wait $first && wait $second && is policy/ready_entries 77 && is policy/rejoin_entries 88
ok "of two that set a context which does not run, none undoes what the other set"
shut
open stale 0644 new && run 0 dxkctl set stale ready_entries 70 max_requests 70 redo_max 9 &&
	is policy/ready_entries 70 && is policy/max_requests 70 && is policy/redo_max 9 && shut
ok "set of several that only Start takes"
open busy 0640 4 max_waiting=4 sched_mode=1 'lane_pct[1]=25' 'lane_pct[2]=25' prio_policy=1 &&
	ask post 20 3 1 && ask collect
ok "a context with a name"
run 0 dxkctl list &&
	has out "^ *$id  busy +running +root +0640 +4 +0 +0$" &&
	run 0 dxkctl list --json &&
	json 'len(v) == 1 and v[0]["name"] == "busy" and v[0]["id"] == '"$id"' and
v[0]["mode"] == "0640" and v[0]["uid"] == 0 and v[0]["workers"] == 4'
ok "list"
run 0 dxkctl show busy && has out '^  name +busy$' &&
	has out '^  prio_policy +1 \(agerqs\)$' && has out '^  thread +4 +4' &&
	has out '^  user +1 +0 +1 +0$' && has out '^ +1  user-worker +available' &&
	has out '^ +id +role .* tid$' &&
	has out '^  posts +20$' && has out '^  lane3_wait$' && has out '^  sample$'
ok "show"
run 0 dxkctl show --json "$id" && json 'v["policy"]["lane_pct1"] == 25 and
v["stats"]["completions"] == 20 and v["threads"]["500"]["role"] == "monitor" and
[l["limit"] for l in v["lanes"]["user"]][2] == 2 and v["lanes"]["ready"][3]["in_use"] == 0 and v["pools"]["rejoin_use"] == 0'
ok "show --json, by the id"
run 0 dxkctl show busy stats lanes && has out '^stats$' && has out '^lanes$' &&
	! line out 'policy|^  name'
ok "show only some"
waits() { dxkctl show busy waits | grep -q "$1"; }
run 0 dxkctl show busy waits && [[ $(lines out .) == 2 ]] && ask family &&
	until_true waits rejoining && run 0 dxkctl show busy waits &&
	has out '^ +[1-4]  rejoining +owner [0-9]+:0x5678 +[1-4] +lane [0-3] owner [0-9]+:0x1234 ' &&
	run 0 dxkctl show --json busy waits && json 'len(v["waits"]) == 1 and
all(w["state"] == "rejoining" and len(w["on"]) == 1 and str(w["on"][0]) not in v["waits"]
    for w in v["waits"].values())' && ask release && ask collect
ok "show who waits for whom"
run 0 dxkctl show busy waiting && [[ $(lines out .) == 2 ]] && ask wait 3600000 &&
	run 0 dxkctl show busy waiting && has out '^ +age ms  lane  kind ' &&
	has out '^ +[0-9]+ +3  user +0  [0-9]+:0x9abc +0x0 +- +0x77 +time,call$' &&
	run 0 dxkctl show --json busy waiting && json 'len(v["waiting"]) == 1 and
v["waiting"][0]["name"] == "0x77" and v["waiting"][0]["lane"] == 3 and
v["waiting"][0]["for"] == "time,call" and v["waiting"][0]["age_ms"] < 3600000' &&
	run 0 dxkctl send busy show waiting && has out ' lane 3 owner [0-9]+:0x9abc .* name 0x77 '
ok "show what waits without a worker"
run 0 dxkctl why busy && has out '^nobody waits for another one$' && ask family &&
	until_true waits rejoining && run 0 dxkctl why busy &&
	has out '^thread [1-4] rejoining .lane 2 owner [0-9]+:0x1234 .* waits for owner [0-9]+:0x5678: thread [1-4]$' &&
	has out '^thread [1-4] .lane 3 owner [0-9]+:0x5678 .* holds up 1: busy for [0-9]+ ms, tid [1-9]' &&
	has out '^    .*futex' && ! has out circle &&
	run 0 dxkctl why --json busy && json 'len(v["waits"]) == len(v["holders"]) == 1 and
v["waits"][0]["on"] == [v["holders"][0]["who"]] and v["circles"] == [] and
v["holders"][0]["others"] == 1 and v["holders"][0]["stack"]' &&
	run 0 dxkctl why --dot busy && has out '^	"thread [1-4]" -> "thread [1-4]" ' &&
	ask release && ask collect
ok "why: who waits for whom, and who holds them up"
circle() { run 0 dxkctl why busy && has out '^circle 1: thread [1-4], thread [1-4]$'; }
ask circle && until_true circle && run 0 dxkctl why --json busy &&
	json 'len(v["circles"]) == 1 and len(v["circles"][0]) == 2 and v["holders"] == []' &&
	run 0 dxkctl why --dot busy && [[ $(lines out 'style=filled') == 2 ]] && ask release
ok "why: a circle"
run 0 dxkctl show busy keys && [[ $(lines out .) == 2 ]] && ask keyed 3 && ask label 1 7 &&
	run 0 dxkctl show busy keys &&
	has out '^  [0-9]+:0x55 +3 +2  executed +[1-4]  [0-9]+:0x1234 +0x1 +job7$' &&
	run 0 dxkctl show --json busy keys && json 'v["keys"][0]["held"] == 2' &&
	run 0 dxkctl send busy show keys && has out '^key [0-9]+:0x55 users 3 held 2 is executed ' &&
	run 0 dxkctl why busy &&
	[[ $(lines out '^request [12] .* label job7\] waits for key [0-9]+:0x55: thread [1-4]$') == 2 ]] &&
	has out '^thread [1-4] .* label job7\] holds up 2: ' && ask quote 1 &&
	run 0 dxkctl why --dot busy && has out ' label job\\"\\\\"\];$' &&
	ask label 1 7 && ask release && ask collect
ok "keys, and why a request waits for one"
run 2 dxkctl why && run 2 dxkctl why busy busy && run 2 dxkctl why --svg busy &&
	run 1 dxkctl why none && run 1 nobody dxkctl why busy
ok "why, wrong arguments"
run 0 dxkctl requests busy && has out '^STATE +LANE ' && ask hold 1 1 && ask post 100 3 300 &&
	ask label $((0x1234)) 8 && run 0 dxkctl send busy show owners &&
	has out '^0x1234 .*  job8$' &&
	run 0 dxkctl requests busy && has out '^executes +1  user .* [1-4] .* 0x1234 .* job7$' &&
	has out '^waits +3  user +- +[1-9][0-9]* .* 0x9abc ' && has out '^ready +3  user +[0-9-]+ .* 0x1234 ' &&
	has out '^\.\.\. +more of these$' && run 0 dxkctl why busy &&
	has out '^[0-9]+ Ready in lane 3: the lane has [1-3] of 4 user workers, and can have no more' &&
	run 0 dxkctl why --json busy && json 'v["ready"][0]["kind"] == "user" and
v["ready"][0]["lane"] == 3 and v["ready"][0]["workers"] == 4 and v["ready"][0]["waiters"] > 0' &&
	run 0 dxkctl requests --json busy &&
	json '{r.get("label") for r in v if r["state"] == "executes" and r["lane"] == 1} == {"job7"} and
sum(r["state"] == "ready" for r in v) >= 64 and
[r["lane"] for r in v if r["state"] == "waits"] == [3] and
any(r["state"] == "executes" and r["owner"] == "0x1234" and r["worker"] in range(1, 5) for r in v)' &&
	ask release && ask collect
ok "requests"
run 2 dxkctl requests && run 2 dxkctl requests busy busy && run 2 dxkctl requests --dot busy &&
	run 1 dxkctl requests none && run 1 nobody dxkctl requests busy
ok "requests, wrong arguments, and for whom they are"
run 1 nobody dxkctl show busy waiting && ! has out 0x77
ok "not to those who may not read it"

# --- set --------------------------------------------------------------------

run 0 dxkctl set busy monitor_interval_ms 50 &&
	run 0 dxkctl set "$id" log_full drop_new &&
	run 0 dxkctl set busy report_age_ms 0x100 &&
	until_true is policy/monitor_interval_ms 50 &&
	until_true is policy/log_full 1 && until_true is policy/report_age_ms 256
ok "set, by number and by word"
run 0 dxkctl set busy report_age_ms 0100 && until_true is policy/report_age_ms 100 &&
	run 1 dxkctl set busy report_age_ms 0x && run 1 dxkctl set busy report_age_ms 0x1g
ok "a number that begins with 0 is not octal"
run 0 dxkctl set busy redo_max 5 cpus 0 && is policy/cpus 0 && run 0 dxkctl show busy policy &&
	has out '^  cpus +0$' && run 1 dxkctl set busy cpus 0- && has err 'such as 0-3,8' &&
	run 1 dxkctl set busy cpus 0,4000 && has err 'not all of them are online' &&
	is policy/cpus 0 &&
	run 0 dxkctl set busy cpus "$(</sys/devices/system/cpu/online)"
ok "set of a list of CPUs"
fields='redo_max boost_value log_batch report_age_ms'
for value in 71 72; do
	pids=()
	for f in $fields; do dxkctl set busy "$f" $value 2>>err & pids+=($!); done
	wait "${pids[@]}"
	for f in $fields; do until_true is "policy/$f" $value; done
done
ok "set by several at a time loses nothing"
lanes() { is 'policy/lane_pct1' "$1" && is 'policy/lane_pct2' "$2"; }
run 0 dxkctl set busy lane_pct1 45 lane_pct2 45 && until_true lanes 45 45 &&
	run 0 dxkctl set busy lane_pct1 60 lane_pct2 20 redo_max 73 &&
	until_true lanes 60 20 && is policy/redo_max 73 &&
	run 0 dxkctl set busy lane_pct2 25 lane_pct1 25 && until_true lanes 25 25
ok "set of several fields, in the order in which they fit"
run 1 dxkctl set busy redo_max 74 frob 1 && has err "no field 'frob'" &&
	run 1 dxkctl set busy redo_max 74 log_full sometimes && has err 'drop_oldest \(2\)' &&
	run 2 dxkctl set busy redo_max 74 log_full && is policy/redo_max 73
ok "set understands all before it sets one"
run 1 dxkctl set busy redo_max 75 ready_entries 77 && has err '^dxkctl: ready_entries cannot change' &&
	until_true is policy/redo_max 75 && run 1 dxkctl set busy lane_pct1 60 lane_pct2 60 &&
	has err 'beside the rest'
ok "set of several of which one does not fit tells which"
UPSET="$((0xd813)) 1 -5" LD_PRELOAD=$preload run 0 dxkctl set busy sched_mode 1
ok "set to what it is sets nothing else either"
run 1 dxkctl set busy log_full sometimes && has err 'drop_oldest \(2\)' &&
	run 1 dxkctl set busy monitor_interval_ms -1 && has err 'from 1 to 3600000' &&
	run 1 dxkctl set busy monitor_interval_ms 3600001 &&
	has err 'from 1 to 3600000' &&
	run 1 dxkctl set busy monitor_interval_ms 99999999999 &&
	run 1 dxkctl set busy monitor_interval_ms '' &&
	run 1 dxkctl set busy monitor_interval_ms 5x
ok "set says which values there are"
run 1 dxkctl set busy ready_entries 77 && has err 'while the context runs' &&
	run 1 dxkctl set busy kernel_threads 5 && has err 'kernel_threads does not fit: 5 kernel workers are more than 4 workers' &&
	run 1 dxkctl set busy lane_pct0 99 && has err 'beside the rest' &&
	has err '99 \+ 60 \+ 25 = 184 percent, above 100'
ok "set tells what stands against it"
run 0 dxkctl set busy prio_policy boost && has err '^dxkctl: prio_policy is set, but the boost has no effect without ageing' &&
	run 0 dxkctl set busy prio_policy agerqs+boost && same err /dev/null &&
	run 0 dxkctl set busy spare_after_ms 7 && has err 'spare_after_ms is set, but there are no spares' &&
	run 0 dxkctl set busy spare_after_ms 0 prio_policy agerqs && same err /dev/null
ok "set tells what has no effect beside the rest"
run 1 dxkctl set busy frob 1 && has err "no field 'frob'" &&
	run 1 dxkctl set busy ../state 1 && run 1 dxkctl set busy . 1 &&
	run 1 dxkctl set busy '' 1 && is policy/log_full 1 &&
	is policy/monitor_interval_ms 50
ok "set of what is no field"

# --- instrumentation --------------------------------------------------------

recorded() {
	run 0 dxkctl show --json busy instrumentation &&
		json 'v["instrumentation"]["sample"].get("workers") == 4 and
sum(v["instrumentation"]["lane3_wait"].values()) == 6 and
sum(n for ns, n in v["instrumentation"]["lane3_run"].items() if int(ns) >= 2**20) == 6 and
not v["instrumentation"]["lane0_run"]'
} >/dev/null
run 0 dxkctl set busy sample_interval_ms 20 && until_true is policy/sample_interval_ms 20 &&
	ask post 6 3 3 && ask collect && until_true recorded && run 0 dxkctl show busy &&
	has out '^    workers +4$' && has out '^ +[0-9.]+ m?s to +[0-9.]+ m?s +[1-6]$'
ok "show of what the instrumentation recorded"

# --- send -------------------------------------------------------------------

run 0 dxkctl send --timeout 3600 busy show pools && has out '^thread +4' &&
	run 0 dxkctl send --timeout 3600 "$id" set monitor_interval_ms 60 &&
	until_true is policy/monitor_interval_ms 60
ok "send"
run 1 dxkctl send --timeout 3600 busy frob &&
	has err 'neither the application nor dxk' && has err 'show threads, pools, ' &&
	run 1 dxkctl send --timeout 3600 busy set monitor_interval_ms 0 && has out '1..3600000' &&
	has err 'Invalid argument' && run 1 dxkctl send busy "$(printf '%5000s' x)" &&
	has err '4096'
ok "send of what cannot be done"
run 1 dxkctl send --timeout 3600 busy set $'a\e[31m\xc2\x9b31mb\x9b\xc3\xa4' 1 &&
	has out "^a \\[31m  31mb $(printf '\xc3\xa4'): no such field$"
ok "a reply with control characters"

# --- tell -------------------------------------------------------------------

run 1 dxkctl tell tools-addin quit && has err "no add-in 'tools-addin'" && ask addin &&
	run 0 dxkctl tell --timeout 3600 tools-addin show pools && has out '^ready' &&
	run 0 dxkctl tell /run/dxk/tools-addin show lanes && has out '^user'
ok "tell"
run 1 dxkctl tell tools-addin frob && has err 'neither the application nor dxk' &&
	run 1 dxkctl tell tools-addin set boost_value x && has out 'x is no number' &&
	has err 'Invalid argument' && run 1 dxkctl tell tools-addin "$(printf '%5000s' x)" &&
	has err 4096 && run 1 nobody dxkctl tell /run/dxk/tools-addin quit &&
	has err "you may not tell '/run/dxk/tools-addin' anything"
ok "tell what cannot be done"
run 0 dxkctl list && [[ $(lines out ' running ') == 2 ]] &&
	run 0 dxkctl tell tools-addin quit && run 0 dxkctl list &&
	[[ $(lines out ' running ') == 1 ]]
ok "tell it to quit"

# --- wrong use --------------------------------------------------------------

misuses() {
	local arguments
	while read -r arguments; do
		# shellcheck disable=SC2086 # words
		run 2 dxkctl $arguments || return
	done
}
misuses <<-END && run 2 dxkctl send busy '' && is state running

	frob
	list x
	list --frob
	show
	show busy frob
	set busy
	set a b c d
	send busy
	tell
	tell busy
	tell --timeout x busy show
	stop
	stop busy busy
	stop --timeout x busy
	stop --timeout
	drain --cancel busy
	remote a b
	doctor x
	trace -t 0
	trace a b
END
ok "wrong arguments"
names() {	# OPTION COMMAND...
	run 2 "${@:2}" && has err "no such option: $1\$"
}
names -x dxkctl list -xj && names -j dxkctl list -jx && names -x dxkctl list --json -xj &&
	names -x dxkstat -jx && names -x dxkstat -xj && names -x dxkstat --json -xj &&
	names --frob dxkctl list --frob && names --json=1 dxkctl list --json=1
ok "the option that there is not is named"
are_not_there() {
	for c; do
		run 1 dxkctl show -- "$c" && run 1 dxkctl stop -- "$c" || return
	done
}
are_not_there frob 99 4294967297 007 '' ' ' "$(printf 'x%.0s' {1..300})" ../0 executors &&
	run 1 dxkctl send frob x && run 1 dxkctl set frob max_threads 1 &&
	run 1 dxkctl drain 007 && run 1 dxkctl trace -t 1 frob && is state running
ok "contexts that are not there"
run 0 dxkctl --help && has out '^Usage'
ok "help"
has_help() {
	local sub
	for sub in list show set send drain stop remote doctor trace; do
		run 0 dxkctl $sub --help && has out "dxkctl $sub" || return
	done
}
has_help && run 0 dxkctl --version && has out '^dxkctl \(dxk\) [0-9]+\.[0-9]+\.[0-9]+$'
ok "help of each subcommand, and the version"
echo '{"services": 1}' >status
run 1 dxkctl remote there/is/none && has err 'no dxkd runs' && run 1 dxkctl remote / &&
	run 1 dxkctl remote status && has err 'not a status of dxkd' &&
	run 1 dxkctl remote /dev/null && ! line out .
ok "remote: no status of a daemon"
# what a broker says may be anything
printf '%s' '{"services": [{"name": 5, "requests": 7}, 4, null, {"name": "far", "role": "import",
"requests": [1, 2, 3, 4], "answer_connection": {"state": "down", "error": "no\u001b[2J"}}]}' >status
run 0 dxkctl remote status && [[ $(lines out .) == 6 ]] && has out '^far +import .* down +.* 10 ' &&
	has out '^  import far: answers: no\?\[2J$' && run 0 dxkctl remote --json status &&
	json 'v["services"][3]["name"] == "far"'
ok "remote: a status that is not what it should be"
dxkctl list >/dev/full 2>err
[[ $? == 1 ]] && has err 'No space left'
ok "the output cannot be written"
shut
[[ -S /run/dxk/tools-addin ]] && run 1 dxkctl tell tools-addin quit && has err 'no add-in'
ok "tell one who was killed"
plan
