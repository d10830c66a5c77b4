#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests the guests that the tests run in, without dxk: the emulation, and what guest.sh
# says of a guest that is stuck.
set -uo pipefail

cd "$(dirname "$0")/.." || exit
bad=0 out=''
ok() {
	local status=$1
	shift
	if ((status == 0)); then echo "ok $*"; else echo "$out"; echo "FAILED $*"; bad=1; fi
}

# The kernel patches itself at each turn of a tracepoint while both CPUs run just
# there.  QEMU 7.2 with a thread for each CPU is stuck within fifty turns.
# shellcheck disable=SC2016 # the guest's
patching='
for i in 1 2; do while :; do busybox true; done & done
cd /sys/kernel/tracing/events/task/task_rename || exit
for ((i = 0; i < 100; i++)); do echo 1 >enable; echo 0 >enable; echo "$i"; done'
out=$(scripts/guest.sh --timeout 300 --silent 60 -- bash -c "$patching" 2>&1)
[[ $? == 0 && ${out##*$'\n'} == 99 ]]
ok $? "a kernel that patches itself goes on"

begin=$SECONDS
out=$(scripts/guest.sh --timeout 300 --silent 30 -- bash -c 'echo here; sleep 290' 2>&1)
[[ $? == 124 && $SECONDS -lt $((begin + 200)) && $out == *here* &&
	$out == *'printed nothing for 30 s'* && $out =~ RIP=ffffffff[0-9a-f]+ &&
	$out =~ ffff[0-9a-f]{12}:' 0x' && $out == *'Run /init as init process'* ]]
ok $? "a guest that is silent is given up, and what it did is told"

out=$(scripts/guest.sh --timeout 5 -- bash -c 'while :; do echo x; sleep 1; done' 2>&1)
[[ $? == 124 && $out == *'did not end within 5 s'* ]]
ok $? "a guest that does not end is given up"

exit "$bad"
