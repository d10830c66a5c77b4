#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs the test programs on this machine, without a guest: those that take nothing of it
# away from others (column "here" of tiers.txt).  For root, while nobody else uses dxk.
# The modules are those that are loaded, or else those that "make" built.
#
#   here.sh [--tests NAMES]
#
# What prints nothing for 40 s is ended and has failed.
set -uo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
options=()
if [[ ${1:-} == --tests ]]; then
	read -ra words <<<"$2"
	options=(--tests "@($(IFS='|'; echo "${words[*]}"))")
elif (($#)); then
	sed -n '4,10s/^# \{0,1\}//p' "$0"
	exit 2
fi
if ((EUID)); then
	echo "here.sh: this is for root: tests become other users, and load modules" >&2
	exit 2
fi
kunit=$("$root/scripts/kernel.sh" --tools)/tools/testing/kunit/kunit.py || exit

work=$(mktemp -d) pid=''
trap '((BASHPID != $$)) || rm -rf "$work"' EXIT
# run.sh unloads what it has loaded
trap '[[ -z $pid ]] || { kill -- "-$pid"; wait "$pid"; } 2>/dev/null; exit 130' INT TERM HUP
mkfifo "$work/stuck"
exec 8<>"$work/stuck"

set -m
DXK_STUCK=$work/stuck "$here/run.sh" --here "${options[@]}" "$root/dxk" 8<&- \
	>"$work/ktap" 2>"$work/err" &
pid=$!
set +m
tail -s 0.2 --pid=$pid -n +1 -f "$work/ktap" | python3 -uB "$kunit" parse \
	>"$work/report" 2>&1 8<&- &
reader=$!
tail -s 0.2 --pid=$reader -n +1 -f "$work/report" | grep --line-buffered -v '\] \[PASSED\]' &
size=0 quiet=$SECONDS
while kill -0 $pid 2>/dev/null; do
	sleep 1
	now=$(stat -c %s "$work/ktap")
	((now == size)) || size=$now quiet=$SECONDS
	((SECONDS - quiet < 40)) || { echo stuck >&8; quiet=$SECONDS; }
done
wait $pid
status=$?
wait $reader || status=1
wait
cat "$work/err" >&2
exit $status
