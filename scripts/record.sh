#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Makes Documentation/top.svg anew, which README.md shows: dxkstat --top, in a guest, while a
# worker process of a service is killed and another takes its place.
#
#   record.sh          needs termtosvg
#   record.sh guest    the part that runs in the guest
#   record.sh below    what is shown below dxkstat there
set -euo pipefail

cd "$(dirname "$0")/.."
# large enough for a worker to be at work whenever it is killed
mapfile -t files < <(find /usr/lib/x86_64-linux-gnu -maxdepth 1 -type f -size +2M -size -8M | head -n 40)
for ((i = 0; i < 3; i++)); do files+=("${files[@]}"); done
call=(dxcall -n sums -t 20 sha256)

# shows COMMAND...: as if it was typed
shows() {
	printf '\n$ %s' "$*"
	sleep 2
	echo
	"$@" || true
}

below() {
	local supervisor=$1 stats=/sys/kernel/dxk/0/stats worker sums
	echo "$ dxcall -n sums sha256 /usr/lib/*/*.so.* | sha256sum --check --quiet"
	("${call[@]}" "${files[@]}" | sha256sum --check --quiet; echo "sums: $?") &
	sums=$!
	sleep 3
	worker=$(pgrep -o -P "$supervisor")
	shows kill -KILL "$worker"
	shows grep . $stats/{redone,owner_dead}
	wait "$sums"
	sleep 3
	tmux kill-server
}

guest() {
	local supervisor
	export TERM=xterm LC_ALL=C.UTF-8 TMUX_TMPDIR=/tmp
	dxserve -n sums -w 3 &
	supervisor=$!
	until "${call[@]}" /etc/hostname; do sleep 0.1; done
	# shellcheck disable=SC2153 # guest-shell.sh sets it
	termtosvg record "$SHARE/top.cast" -g 100x34 -c "tmux new-session 'dxkstat -i 1 --top sums' ; \
		split-window -l 9 'scripts/record.sh below $supervisor' ; set status off" \
		< <(sleep 60) >/dev/null
	kill "$supervisor"
	wait
}

case ${1:-} in
guest) guest; exit ;;
below) below "$2"; exit ;;
esac
type termtosvg >/dev/null || { echo "record.sh: there is no termtosvg" >&2; exit 1; }
share=$(mktemp -d)
trap 'rm -rf "$share"' EXIT
scripts/guest/shell.sh --share "$share" -c 'scripts/record.sh guest'
termtosvg render "$share/top.cast" Documentation/top.svg -m 200 -M 2000 -D 3000 -t window_frame
