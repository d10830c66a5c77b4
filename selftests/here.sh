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
kunit=$("$root/scripts/guest/kernel.sh" --tools)/tools/testing/kunit/kunit.py || exit

work=$(mktemp -d) pid='' at=/run/dxk/tree
trap '((BASHPID != $$)) || { rm -rf "$work"; rmdir -p "$at" 2>/dev/null; }' EXIT
# run.sh unloads what it has loaded
trap '[[ -z $pid ]] || { kill -- "-$pid"; wait "$pid"; } 2>/dev/null; exit 130' INT TERM HUP
mkfifo "$work/stuck"
: >"$work/ktap"
exec 8<>"$work/stuck"

# In mounts of its own, as in a guest: a path to the tree that all users may search,
# wherever it lies, and what tests mount goes with them.
mkdir -p "$at"
set -m
# shellcheck disable=SC2016 # for the inner one
DXK_STUCK=$work/stuck unshare --mount bash -c '
	mount --bind "$1" "$2" && cd "$2" && shift 2 && exec selftests/run.sh "$@"' - \
	"$root" "$at" --here "${options[@]}" dxk 8<&- >"$work/ktap" 2>"$work/err" &
pid=$!
set +m
tail -s 0.2 --pid=$pid -n +1 -f "$work/ktap" | python3 -uB "$kunit" parse 2>&1 8<&- |
	grep --line-buffered -v '\] \[PASSED\]' &
reader=$!
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
cat "$work/err" >&2
exit $status
