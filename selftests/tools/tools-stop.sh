#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# dxkctl drain and stop: what is Ready is executed or is not, and who still executes is
# told (DX-107, DX-108, DX-110, DX-114); who may not do it cannot.
# shellcheck source=selftests/lib/tools.bash
. "${0%/*}/tools.bash"

# --- somebody else ----------------------------------------------------------

open busy 0640 1
chmod 666 /dev/dxk
run 0 nobody dxkctl list && ! line out busy && has err '1 more may not be read' &&
	run 1 nobody dxkctl show "$id" && has err 'may not be read by you' &&
	run 1 nobody dxkctl set "$id" max_threads 3 && run 1 nobody dxkctl stop busy &&
	has err 'may not control' && run 0 nobody dxkstat -n 1 -i 0.1 -j &&
	json 'L[0]["contexts"] == []' && is state running
ok "who may not read it"
shut
open open 0644 1
run 0 nobody dxkctl list && has out ' open ' && run 0 nobody dxkctl show open &&
	run 1 nobody dxkctl set open max_threads 2 && has err 'may not control' &&
	run 1 nobody dxkctl send open quit && run 1 nobody dxkctl drain "$id" &&
	is state running
ok "who may only read it"
chmod 600 /dev/dxk
run 1 nobody dxkctl stop open && has err 'next: dxkctl doctor'
ok "who may not even open the device"
shut

# --- drain and stop ---------------------------------------------------------

open stop 0640 2 && ask label 1 9 && ask hold 2 3 && ask post 5 3 0
run 1 dxkctl drain --timeout 0.3 stop && has err 'the time is up: 2 still execute' &&
	has err '^ +[12] +[0-9]+ +[0-9.]+ +3  0x1 +0x1234 +0x0 +job9$' &&
	has err 'stop --cancel' && is state stopping
ok "drain tells who still executes"
starts dxkctl drain stop
sleeps_in_stop() { line "/proc/$pid/stack" dxk_.*stop; }
until_true sleeps_in_stop
kill -TERM $pid
wait $pid
[[ $? == 1 ]] && has err 'interrupted: 2 still execute'
ok "drain is interrupted"
starts dxkctl drain stop
until_true sleeps_in_stop
ask release && wait $pid && is state stopped &&
	[[ $(counter completions) == 7 && $(counter cancelled) == 0 ]]
ok "drain waits for all that is Ready"
run 0 dxkctl stop stop && run 1 dxkctl send stop show pools
ok "stop of what is stopped"
run 0 dxkctl set stop ready_entries 77 && is policy/ready_entries 77
ok "set what only a stopped context takes"
shut
open stop 0640 1 && ask hold 1 3 && ask post 5 3 0
run 1 dxkctl stop --cancel --timeout 0 stop && has err '1 still executes' &&
	ask release && run 0 dxkctl stop --timeout 3600 "$id" && is state stopped &&
	[[ $(counter cancelled) == 5 ]]
ok "stop --cancel"
shut
plan
