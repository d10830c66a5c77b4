# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What the tests that are scripts share: a directory of their own to work in, results as
# TAP, and looking at what a program says. To start a program takes an emulated machine
# 0.1 s and more, and a bash that forks 0.02 s, so while nothing is wrong bash does it
# all by itself. DXK_LONG=1 asks for larger trees and lists, and more cases.
set -uo pipefail

build=$(cd "${0%/*}/.." && pwd)
dispatch=${DXK_DISPATCH:-direct}
work=/tmp/${0##*/}
work=${work%.sh}-test
n=0 failed=0
long=${DXK_LONG:-}
export LC_ALL=C.UTF-8

# A guest reads its host's files with a message for each step, which makes half a second
# of a start. What is started often is copied, with its libraries, as is the locale, a
# dozen files that each program opens; and what changes files is busybox.
near=${work%-test}-near
busybox rm -rf "$work" "$near"
busybox mkdir -p "$work" "$near" && cd "$work" || exit 1
busybox cp -L "$(type -P busybox)" "$near/"
if [[ -d /usr/lib/locale/C.utf8 ]]; then
	busybox cp -RL /usr/lib/locale/C.utf8 "$near/"
	export LOCPATH=$near
fi
for applet in chmod cp ln mkdir mkfifo mknod mv rm sleep touch truncate; do
	eval "$applet() { $near/busybox $applet \"\$@\"; }"
done
bring_near() {	# PROGRAM...
	local program word take=("$@")
	for program; do
		while read -ra word; do
			[[ ${word[2]-} != /* ]] || take+=("${word[2]}")
		done < <(LD_TRACE_LOADED_OBJECTS=1 "$program")
	done
	cp -Lu "${take[@]}" "$near/"
	export LD_LIBRARY_PATH=$near PATH=$near:$PATH
}

# Whatever a test had changed outside of its directory; called when it ends.
restore() { :; }
cleanup() {
	restore
	[[ ! -e /dev/dxk.away ]] || mv -f /dev/dxk.away /dev/dxk
	chmod 600 /dev/dxk
	cd / && rm -rf "$work" "$near"
}
trap cleanup EXIT

# ok TEXT...: a result, of the last command: a $() in the text would be that
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
skip_all() {
	echo "1..0 # SKIP $*"
	exit 4
}
has_network() { [[ -e /proc/net/tcp ]]; }
needs_network() { has_network || skip_all "this kernel has no TCP"; }
plan() {
	echo "1..$n"
	exit $failed
}

# What went wrong, before a "not ok".
tell() { echo "# $*"; }
tell_file() { head -n 12 "$1" | cut -c -200 | sed 's/^/#   /'; }

# gives STATUS COMMAND...: with that exit status; what it prints is in $work/out and err.
gives() {
	local expected=$1 status=0
	shift
	"$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
	((status == expected)) && return
	tell "exit status $status instead of $expected: $*"
	tell_file "$work/out"
	tell_file "$work/err"
	return 1
}

# starts COMMAND...: in the background, as $pid. A background job ignores SIGINT, unless
# it is told not to. What it prints is looked at while it comes, so that nothing older
# may be there.
starts() {
	: >"$work/out" >"$work/err"
	"$@" >"$work/out" 2>"$work/err" &
	pid=$!
}

# line FILE PATTERN: is there such a line? And how many of them that are complete?
line() {
	local text
	while IFS= read -r text || [[ -n $text ]]; do
		[[ ! $text =~ $2 ]] || return 0
	done <"$1"
	return 1
} 2>/dev/null
lines() {
	local text count=0
	while IFS= read -r text; do
		[[ ! $text =~ $2 ]] || ((++count))
	done <"$1"
	echo $count
} 2>/dev/null

has() {
	line "$@" && return
	tell "$1 has no '$2':"
	tell_file "$1"
	return 1
}

# same FILE FILE: are they equal? They are text.
same() {
	local a b IFS=
	mapfile a <"$1" && mapfile b <"$2" && [[ ${a[*]} == "${b[*]}" ]] && return
	diff -a "$1" "$2" >"$work/diff"
	tell_file "$work/diff"
	return 1
}

# is_part FILE WHOLE: is each line of the file one of the other's, and not all of them?
is_part() {
	local text a b
	mapfile a <"$1" && mapfile b <"$2" && ((${#a[@]} < ${#b[@]})) || return
	while IFS= read -r text; do has "$2" "^${text//\\/\\\\}$" || return; done <"$1"
}

# until_true CONDITION...: waits until it is true. How long is no matter of the guest's
# clock, which goes on while its host does something else: a test that prints nothing is
# given up by who runs it. Hence one line, once, that tells what did not come.
until_true() {
	local never turns=0
	"$@" && return
	exec {never}<> <(:)
	until read -rt 0.05 -u "$never" || "$@"; do
		((++turns != 100)) || tell "waits: $*"
	done
	exec {never}>&-
}

ended() {
	local stat
	! read -r stat </proc/"$1"/stat || [[ $stat == *") Z "* ]]
} 2>/dev/null
# stop_context HOW...: what dxkctl(8) does, to the one context that there is; in the
# background, for it ends when nothing executes any more. Returns when nothing is taken.
stop_context() {
	local dir=(/sys/kernel/dxk/[0-9]*)

	((${#dir[@]} == 1)) || tell "contexts: ${dir[*]}"
	"$build/tools/dxkctl" "$@" "${dir[0]##*/}" >"$work/stop" 2>&1 5>&- &
	stopper=$!
	until_true stopping_or_ended "$stopper"
}
stopping() {
	local state file=(/sys/kernel/dxk/[0-9]*/state)
	read -r state <"${file[0]}" && [[ $state == stop* ]]
} 2>/dev/null
stopping_or_ended() { stopping || ended "$1"; }
no_context() { ! compgen -G '/sys/kernel/dxk/[0-9]*' >/dev/null; }
nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
