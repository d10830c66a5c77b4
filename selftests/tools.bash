# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What the tests of dxkctl and dxkstat share: a context with a known load
# (tools_load.py), and looking at what a program says.
set -uo pipefail

build=$(cd "$(dirname "$0")/.." && pwd)
dispatch=0
[[ ${DXK_DISPATCH:-direct} == direct ]] || dispatch=1
work=/tmp/tools-test
n=0 failed=0
export LC_ALL=C.UTF-8 PATH=$build/tools:$PATH
unset TMUX

# The emulated debug kernel takes minutes to start a hundred programs, and they do
# there what other tests do, too.
stock_only() {
	[[ -e /proc/lockdep ]] || return 0
	echo "1..0 # SKIP left to the stock kernel"
	exit 4
}

rm -rf "$work"
mkdir -p "$work" && cd "$work" || exit 1

cleanup() {
	chmod 600 /dev/dxk
	tmux -L dxk kill-server 2>/dev/null
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
skip() { echo "ok $((++n)) # SKIP $*"; }

tell() { echo "# $*"; }
tell_file() { head -n 12 "$1" | cut -c -160 | sed 's/^/#   /'; }

# run STATUS COMMAND...: with that exit status, output in out and err. A failure (1)
# names what to do next.
run() {
	local expected=$1 status=0
	shift
	"$@" >out 2>err </dev/null || status=$?
	if ((status != expected)); then
		tell "exit status $status instead of $expected: $*"
		tell_file out
		tell_file err
		return 1
	fi
	((status != 1)) || grep -qs '^  next: \|^      do: ' err out || {
		tell "it does not say what to do: $*"
		tell_file err
		return 1
	}
}

# has FILE PATTERN: is there such a line?
has() {
	grep -qE -- "$2" "$1" && return
	tell "$1 has no '$2':"
	tell_file "$1"
	return 1
}

# json CONDITION: of v, the value in out; L are the values of its lines.
json() {
	python3 -c '
import json, sys
text = open("out").read()
try:
    v = json.loads(text)
except ValueError:
    v = None
L = [json.loads(l) for l in text.splitlines()] if v is None or "\n" not in text[:-1] else None
if not eval("(" + sys.argv[1] + ")"):
    sys.exit(f"# not so: {sys.argv[1]}\n# {text[:400]}")
' "$1"
}

# until_true CONDITION...: is it true within two minutes? What is waited for takes a
# second, but an emulated machine can be slow.
until_true() {
	local end=$((SECONDS + 120))
	until "$@"; do
		if ((SECONDS > end)); then
			tell "not within 120 s: $*"
			return 1
		fi
		read -rt 0.05 <> <(:)
	done
	return 0
}

ended() { [[ ! -e /proc/$1 || $(</proc/"$1"/stat) == *") Z "* ]]; } 2>/dev/null
nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }

# Files of the context.
counter() { cat "/sys/kernel/dxk/$id/stats/$1"; }
is() { [[ $(<"/sys/kernel/dxk/$id/$1") == "$2" ]]; } 2>/dev/null

# A context with load: open NAME MODE WORKERS SETTING..., then ask COMMAND, and shut.
open() {
	local word
	rm -f to from
	mkfifo to from
	python3 "$build/selftests/tools_load.py" "$@" "dispatch=$dispatch" <to >from 2>&1 &
	load_pid=$!
	exec 8>to 9<from
	read -rt 120 -u 9 word id && [[ $word == id ]] && return
	tell "no context: $word $id"
	return 1
}
# It may be dead.
say() { (trap '' PIPE && echo "$*" >&8) 2>/dev/null; }
ask() {
	local reply
	say "$*"
	read -rt 120 -u 9 reply && [[ $reply == done* ]]
}
shut() {
	say close
	exec 8>&- 9<&-
	until_true ended "$load_pid"
	wait "$load_pid"
}
