#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# examples/dxserve and examples/dxcall: a service of worker processes, and clients that
# come and go. Whoever of them is killed, nothing is lost: a dead worker's requests are
# executed by another one, a dead supervisor's service goes on and is taken over, a dead
# client's requests trouble nobody (R-16, DX-25, DX-113, D-26).
set -uo pipefail

examples=$(cd "$(dirname "$0")/.." && pwd)/examples
dispatch=${DXK_DISPATCH:-direct}
work=/tmp/dxserve-test
n=0 failed=0
supervisor=''

export LC_ALL=C
rm -rf "$work"
mkdir -p "$work" && cd "$work" || exit 1

cleanup() {
	[[ -z $supervisor ]] || kill -TERM "$supervisor" 2>/dev/null
	cd / && rm -rf "$work"
}
trap cleanup EXIT

ok() {
	local status=$?
	n=$((n + 1))
	if ((status == 0)); then
		echo "ok $n $*"
	else
		echo "not ok $n $*"
		failed=1
	fi
}
tell() { echo "# $*"; }

# until_true CONDITION...: is it true within a minute?
until_true() {
	local end=$((SECONDS + 60))
	until "$@"; do
		if ((SECONDS > end)); then
			tell "not within 60 s: $*"
			return 1
		fi
		read -rt 0.05 <> <(:)
	done
	return 0
}

context() {	# NAME: its directory
	local dir
	for dir in /sys/kernel/dxk/[0-9]*; do
		[[ $(cat "$dir/name" 2>/dev/null) == "$1" ]] && echo "$dir" && return
	done
	return 1
}
figure() { cat "$(context "$1")/$2" 2>/dev/null || echo none; }
has() { [[ $(figure "$1" "$2") == "$3" ]]; }
# Is the client in, or already over?
posting() { [[ $(figure one descriptors) -gt 4 ]] || ! kill -0 "$1" 2>/dev/null; }
workers() {	# pids of the worker processes
	grep -lx user-worker "$(context "$1")"/threads/*/role 2>/dev/null |
		while read -r f; do cat "${f%role}pid"; done
}

serve() {	# NAME WORKERS OPTION...
	"$examples/dxserve" -n "$1" -w "$2" -d "$dispatch" "${@:3}" 2>"$work/serve.err" &
	supervisor=$!
	until_true has "$1" pools/thread_use "$2"
}
call() { "$examples/dxcall" -t 60 "$@" >"$work/out" 2>"$work/err"; }
says() {	# STATUS TEXT COMMAND...
	local status=0
	"${@:3}" >"$work/out" 2>"$work/err" || status=$?
	((status == $1)) && grep -qF -e "$2" "$work/out" "$work/err" && return
	tell "status $status: $(cat "$work/out" "$work/err")"
	return 1
}

# The debug kernel is ten times slower.
files=80 kills=6
[[ ! -e /proc/lockdep ]] || files=24 kills=2

mkdir files
for ((i = 1; i <= files; i++)); do
	head -c $((i * 137)) /bin/bash >"files/$i"
	echo "some words of file $i" >>"files/$i"
done
: >files/empty
sha256sum files/* >ref.sum
wc files/* | sed '$d' | awk '{ print $1, $2, $3, $4 }' >ref.wc

# --- without a service ------------------------------------------------------

says 2 'no service of that name' "$examples/dxcall" sha256 files/1
ok "a call without a service says so"
says 2 'no name for a context' "$examples/dxcall" -n a/b sha256 files/1
ok "a call with a name that cannot be"
says 1 'no name for a context' "$examples/dxserve" -n $'a\nb'
ok "a service with a name that cannot be"
says 2 Usage "$examples/dxcall" sha256
ok "a call without a file"
says 2 Usage "$examples/dxserve" -w 0
ok "a service without workers"

# --- the main job -----------------------------------------------------------

serve one 3
ok "a service with three worker processes"
call -n one sha256 files/* && cmp ref.sum out
ok "checksums as sha256sum prints them"
call -n one count files/* && cmp ref.wc out
ok "counts as wc prints them"
says 1 'No such file' "$examples/dxcall" -n one sha256 files/1 files/none files/2 &&
	[[ $(cat out) == "$(grep -E 'files/[12]$' ref.sum)" ]]
ok "a file that is not there is told, the others are answered"
says 1 'Is a directory' "$examples/dxcall" -n one count files
ok "a directory"

# --- clients that come and go ----------------------------------------------

pids=()
for i in {1..4}; do
	"$examples/dxcall" -n one -t 60 sha256 files/* >"out.$i" 2>&1 &
	pids+=($!)
done
status=0
for i in {1..4}; do
	wait "${pids[i - 1]}" && cmp ref.sum "out.$i" || status=1
done
((status == 0))
ok "four clients at a time, each gets its own answers"

# a client is killed with its requests on their way
for ((i = 0; i < kills; i++)); do
	"$examples/dxcall" -n one -t 60 sha256 files/* files/* files/* >/dev/null 2>&1 &
	victim=$!
	until_true posting $victim
	kill -KILL $victim 2>/dev/null
	wait $victim 2>/dev/null
done
call -n one sha256 files/* && cmp ref.sum out
ok "clients that are killed do not trouble the next one"
until_true has one pools/rejoin_use 0 && until_true has one owners 0
ok "nothing of them is left"

# --- workers that are killed ------------------------------------------------

"$examples/dxcall" -n one -t 60 sha256 files/* files/* files/* files/* >out.kill 2>&1 &
client=$!
for ((i = 0; i < kills; i++)); do
	until_true has one pools/thread_use 3
	# shellcheck disable=SC2046
	set -- $(workers one)
	[[ -z ${1:-} ]] || kill -KILL "$1"
done
wait $client && cat ref.sum ref.sum ref.sum ref.sum | cmp - out.kill
ok "all is answered although $kills workers were killed"
until_true has one pools/thread_use 3
ok "and there are three workers again"

# --- the supervisor is killed -----------------------------------------------

before=$(context one)
kill -KILL "$supervisor"
wait "$supervisor" 2>/dev/null
supervisor=''
call -n one sha256 files/* && cmp ref.sum out
ok "the service outlives its supervisor"
# shellcheck disable=SC2046
kill -KILL $(workers one)
until_true test ! -d "$before"
ok "with the last of them the context is gone"

serve two 2
# so that the client cannot be through before they are killed
# shellcheck disable=SC2046
kill -STOP $(workers two)
"$examples/dxcall" -n two -t 60 sha256 files/* files/* files/* >out.kill 2>&1 &
client=$!
until_true has two descriptors 4
kill -KILL "$supervisor"
wait "$supervisor" 2>/dev/null
# shellcheck disable=SC2046
kill -KILL $(workers two)
serve two 2
until_true grep -q "taking over" serve.err
ok "a new supervisor takes over"
wait $client && cat ref.sum ref.sum ref.sum | cmp - out.kill
ok "a client that waited meanwhile gets all its answers"

# --- permissions ------------------------------------------------------------

as=(busybox chpst -u 4001:4002)
if ! "${as[@]}" true 2>/dev/null; then as=(setpriv --reuid 4001 --regid 4002 --clear-groups); fi
chmod 666 /dev/dxk
says 2 'does not let you' "${as[@]}" "$examples/dxcall" -n two sha256 files/1
ok "another user may not call a service of mode 0600"
says 1 "another user's service" "${as[@]}" "$examples/dxserve" -n two
ok "and cannot take it over"
kill -TERM "$supervisor" && wait "$supervisor"
ok "SIGTERM ends the service"
supervisor=''
gone() { ! context two; }
until_true gone
ok "its context is gone"
serve three 2 -m 0622
"${as[@]}" "$examples/dxcall" -n three -t 60 sha256 files/1 files/2 >out 2>err &&
	[[ $(cat out) == "$(grep -E 'files/[12]$' ref.sum)" ]]
ok "with mode 0622 everybody may call"
printf 'secret' >files/secret && chmod 600 files/secret
says 1 'Permission denied' "${as[@]}" "$examples/dxcall" -n three sha256 files/secret
ok "but has only those files read that it can open itself"
chmod 600 /dev/dxk
kill -TERM "$supervisor" && wait "$supervisor"
ok "the end"
supervisor=''

echo "1..$n"
exit $failed
