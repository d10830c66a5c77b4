#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# examples/dxsum against find and sha256sum, over trees with all that is odd: a
# whole DX application, three levels of requests deep (DX-51, DX-58, DX-104..DX-106),
# with the smallest crew and pools that the lanes allow (DX-76), its end by signals
# (DX-107, DX-113).
set -uo pipefail

dxsum=$(cd "$(dirname "$0")/.." && pwd)/examples/dxsum
dispatch=${DXK_DISPATCH:-direct}
work=/tmp/dxsum-test
n=0 failed=0
as=''	# the words of a command that runs another as somebody else

export LC_ALL=C.UTF-8
rm -rf "$work"
mkdir -p "$work/tree" && cd "$work/tree" || exit 1

cleanup() {
	[[ ! -e /dev/dxk.away ]] || mv /dev/dxk.away /dev/dxk
	chmod 600 /dev/dxk
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

# What went wrong, before a "not ok".
tell() { echo "# $*"; }
tell_file() { head -n 10 "$1" | cut -c -200 | sed 's/^/#   /'; }

# until_true CONDITION...: is it true within a minute? What is waited for takes a
# second, but an emulated machine can be slow.
until_true() {
	local end=$((SECONDS + 60))
	until "$@"; do
		if ((SECONDS > end)); then
			tell "not within 60 s: $*"
			return 1
		fi
		read -rt 0.02 <> <(:)
	done
	return 0
}

no_context() { ! compgen -G '/sys/kernel/dxk/[0-9]*' >/dev/null; }

# run STATUS OPTION... DIR...: dxsum, with that exit status; its output is in
# $work/out and $work/err.
run() {
	local expected=$1 status=0
	shift
	# shellcheck disable=SC2086 # $as is words
	$as "$dxsum" --dispatch "$dispatch" "$@" >"$work/out" \
		2>"$work/err" || status=$?
	((status == expected)) && return
	tell "exit status $status instead of $expected: $*"
	tell_file "$work/err"
	return 1
}

# reference DIR...: what find and sha256sum say, to $work/ref, $work/ref.err
# and $ref_status.
# shellcheck disable=SC2086
reference() {
	ref_status=0
	$as find "$@" -type f -print0 2>"$work/find.err" | sort -z >"$work/list"
	((PIPESTATUS[0] == 0)) || ref_status=1
	$as xargs -0 sha256sum -- <"$work/list" >"$work/ref" 2>"$work/sum.err" ||
		ref_status=1
	sed -E 's/^(find|sha256sum): //' "$work/find.err" "$work/sum.err" |
		sort >"$work/ref.err"
}

# same OPTION... -- DIR...: is dxsum's answer that of reference DIR...?
same() {
	run "$ref_status" "$@" || return
	cmp "$work/ref" "$work/out" 2>&1 || {
		diff -a "$work/ref" "$work/out" >"$work/diff"
		tell_file "$work/diff"
		return 1
	}
	[[ -s $work/ref.err || -s $work/err ]] || return 0
	sed 's/^dxsum: //' "$work/err" | sort | diff -a "$work/ref.err" - >"$work/diff" &&
		return
	tell_file "$work/diff"
	return 1
}

# figure NAME: of what --stats printed
figure() { sed -n "s/^dxsum: .*\b$1=\([0-9]*\).*/\1/p" "$work/err"; }

# --- the trees --------------------------------------------------------------

mkdir -p many/{0..4}/{0..9}
for i in {0..4}/{0..9}/{0..9}; do echo "file $i" >"many/$i"; done

mkdir -p odd/a odd/a-b odd/a.d 'odd/sp ace' odd/empty $'odd/dir\nline'
for name in $'new\nline' $'carriage\rreturn' $'\r' 'back\slash' '\' $'\xff\xfe' \
	$'half \xe2\x80' -dash --help '*' '$HOME' "apo'strophe" $'tab\t' .hidden \
	' ' 'a b' a0 a+ a/x a-b/x a.d/x 'sp ace/x' $'dir\nline/\\' \
	$'\x01' '~' "${name:=$(printf 'n%.0s' {1..255})}"; do
	echo "$name" >"odd/$name"
done
: >odd/nothing
truncate -s 1000001 odd/sparse
echo end >>odd/sparse
ln -s a/x odd/link
ln -s nowhere odd/dangling
ln -s a odd/link-to-dir
mkfifo odd/fifo
mknod odd/null c 1 3
ln odd/a0 odd/second-name

[[ $(find many -type f | wc -l) == 500 && $(find odd -type f | wc -l) -ge 28 ]]
ok "the trees are there"

# --- the same as find and sha256sum -----------------------------------------

# The kernel does not read the last one for itself.
trees=(many odd /proc/1/cmdline)
reference "${trees[@]}"
for how in --kernel --user '--kernel --workers 3 --kernel-workers 3 --ready 3' \
	'--user --workers 3 --ready 3'; do
	# shellcheck disable=SC2086 # options
	same $how "${trees[@]}"
	ok "dxsum $how is what sha256sum is"
done

run 0 --stats --kernel many/0 /proc/1/cmdline && [[ $(figure files) == 101 ]] &&
	[[ $(figure hashed_instead_of_kernel) == 1 ]] &&
	grep -q '^stats:' "$work/err" && grep -q ' posts=[1-9]' "$work/err"
ok "--stats prints the figures of the context"

arguments=(many/0 many many/ ./odd odd/link odd/link-to-dir odd/a0 odd/a0 missing odd/fifo
	odd/a0/ '' $'no\nthing')
reference "${arguments[@]}"
same --no-cmls --user --workers 3 --ready 1 "${arguments[@]}"
ok "arguments that overlap, are files, links, missing; no lanes"

run 0 --no-cmls --workers 3 --kernel-workers 1 --ready 1 odd/empty odd/fifo &&
	[[ ! -s $work/out && ! -s $work/err ]]
ok "a tree without a file"

mkdir -- -d && echo x >-d/x && run 0 -- -d && diff "$work/out" <(sha256sum -- -d/x)
ok "an argument with a dash in front"

# A path of more than PATH_MAX bytes: find gets there, sha256sum does not.
part=$(printf 'd%.0s' {1..200})
part=$part/$part/$part/$part/$part/$part/$part
(
	mkdir deep && cd deep || exit
	for i in 1 2 3; do
		mkdir -p "$part" && cd "$part" && echo "$i" >file || exit
	done
)
reference deep
grep -q 'File name too long' "$work/ref.err" && same deep
ok "paths longer than PATH_MAX"
rm -rf deep

# --- what cannot be read ----------------------------------------------------

mkdir -p closed/{dir,list}
echo x | tee closed/{file,open,dir/x,list/x,"it's"} >/dev/null
chmod 0 closed/{file,dir,"it's"}
chmod 744 closed/list
chmod 666 /dev/dxk
as='setpriv --reuid 65534 --regid 65534 --clear-groups'
reference closed many/4
grep -q 'Permission denied' "$work/ref.err" || tell "nothing is closed to nobody"
for how in '--kernel --lanes 10,30,10 --workers 20 --kernel-workers 5' \
	'--user --ready 1048576'; do
	# shellcheck disable=SC2086
	grep -q 'Permission denied' "$work/ref.err" && same $how closed many/4
	ok "dxsum $how tells of what it may not read, and does the rest"
done
chmod 600 /dev/dxk
run 2 closed && grep -q '^dxsum: /dev/dxk: Permission denied' "$work/err"
ok "/dev/dxk may not be opened"
as=''

mv /dev/dxk /dev/dxk.away
run 2 closed && grep -q '^dxsum: /dev/dxk: .*load dxk.ko first' "$work/err"
ok "no /dev/dxk"
mv /dev/dxk.away /dev/dxk

# --- few descriptors --------------------------------------------------------

# Of 20, the run time and 10 workers have 17 and the one feeder one: room for two
# files, while the lanes allow more transactions.
mkdir few
for i in {0..7}; do truncate -s 500000 "few/$i"; done
reference few
(ulimit -n 20 && run 0 --stats --user --workers 10 few) && cmp "$work/ref" "$work/out" &&
	[[ $(figure waits_for_descriptors) -gt 0 ]]
ok "it waits when there is no descriptor"
rm -rf few

# --- files that change, signals ---------------------------------------------

# start OPTION... DIR...: dxsum in the background as $pid. A shell's background
# jobs ignore SIGINT.
start() {
	env --default-signal=INT "$dxsum" --dispatch "$dispatch" --workers 3 \
		--ready 3 "$@" >"$work/out" 2>"$work/err" &
	pid=$!
}

has_open() {
	local fd
	for fd in "/proc/$pid/fd/"*; do
		[[ ! $fd -ef $1 ]] || return 0
	done
	return 1
}

ended() {
	[[ ! -e /proc/$pid ]] || [[ $(<"/proc/$pid/stat") == *") Z "* ]]
} 2>/dev/null

# With three workers one transaction executes at a time, in the order of the names:
# while "0" is open all names are listed and nothing else is opened. It ends when it
# is made small.
for how in --kernel --user; do
	rm -rf moving other
	mkdir -p moving/{dir,gone,linked} other
	truncate -s 500G moving/{0,1}
	echo x | tee moving/{kept,lost,piped,made,dir/x,gone/x,linked/x} \
		other/foreign >/dev/null
	start $how moving
	until_true has_open moving/0 && truncate -s 600G moving/0 &&
		rm -r moving/{lost,gone,linked,piped,made} &&
		ln -s ../other moving/linked && mkfifo moving/piped &&
		mkdir moving/made && truncate -s 4096 moving/0 &&
		until_true has_open moving/1 && truncate -s 1M moving/1
	ok "$how: files change while it works"
	until_true ended || kill -KILL "$pid"
	wait "$pid"
	[[ $? == 1 ]] && printf '%s\n' 'dxsum: moving/lost: No such file or directory' \
		'dxsum: moving/made: Is a directory' \
		'dxsum: ‘moving/gone’: No such file or directory' \
		'dxsum: ‘moving/linked’: Not a directory' | sort |
		diff - <(sort "$work/err")
	ok "$how: what vanished is told, what was replaced is not followed"
	grep -v 'moving/[01]$' "$work/out" | diff - <(sha256sum moving/{dir/x,kept}) &&
		grep -qE '^[0-9a-f]{64}  moving/0$' "$work/out" &&
		grep -qE '^[0-9a-f]{64}  moving/1$' "$work/out"
	ok "$how: the others are as they were, those that shrank end"
done

mkdir huge
truncate -s 500G huge/file
for how in --kernel --user; do
	sig=INT
	[[ $how == --kernel ]] || sig=TERM
	start $how many/0/0 huge
	until_true has_open huge/file && kill -$sig "$pid" && until_true ended ||
		kill -KILL "$pid"
	wait "$pid"
	[[ $? == $((128 + $(kill -l $sig))) ]] && until_true no_context &&
		[[ ! -s $work/err ]]
	ok "$how: SIG$sig ends it, cleanly"
	start $how many/0/0 huge
	until_true has_open huge/file && ! no_context && kill -KILL "$pid" &&
		until_true ended && until_true no_context
	ok "$how: nothing is left of it after SIGKILL"
	kill -KILL "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
done

# --- wrong use --------------------------------------------------------------

bad() {
	local text=$1
	shift
	run 2 "$@" && [[ ! -s $work/out ]] && grep -q -- "$text" "$work/err" && return
	tell_file "$work/err"
	return 1
}
bad 'no directory'
ok "no argument"
bad "no such option.*--frob" --frob many && bad "workers: '3x'" --workers 3x many &&
	bad 'of the form' --lanes 1,2 many &&
	bad 'dispatch' --dispatch x many
ok "wrong options"
bad '^dxsum: --workers: ' --workers 2 many && bad '^dxsum: --ready: ' --ready 2 many &&
	bad '^dxsum: --lanes: ' --lanes 0,60,60 many
ok "the option that the policy refused is named"
run 0 -h && grep -q '^Usage: dxsum' "$work/out"
ok "help"
"$dxsum" many/0/0 >/dev/full 2>"$work/err"
[[ $? == 1 ]] && grep -q '^dxsum: write error: No space left' "$work/err"
ok "the output cannot be written"
until_true no_context
ok "no context is left"

echo "1..$n"
exit $failed
