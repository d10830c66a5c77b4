#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# examples/dxsum against find and sha256sum, over trees with all that is odd: a
# whole DX application, three levels of requests deep (DX-51, DX-58, DX-104..DX-106),
# with the smallest crew and pools that the lanes allow (DX-76), its end by signals
# (DX-107, DX-113).
# shellcheck source=selftests/lib/test.bash
. "${0%/*}/test.bash"

bring_near "$build/examples/dxsum"
mapfile -t programs < <(type -P find sort xargs sha256sum setpriv)
cp -L "${programs[@]}" "$near/"
dxsum=$near/dxsum
as=''	# the words of a command that runs another as somebody else
mkdir tree && cd tree || exit 1

# run STATUS OPTION... DIR...: dxsum, with that exit status
# shellcheck disable=SC2086 # $as is words
run() { gives "$1" $as "$dxsum" --dispatch "$dispatch" "${@:2}"; }

# reference DIR...: what find and sha256sum say, to $work/ref, $work/ref.err
# and $ref_status.
# shellcheck disable=SC2086
reference() {
	ref_status=0
	$as find "$@" -type f -print0 2>"$work/find.err" | sort -z >"$work/list"
	((PIPESTATUS[0] == 0)) || ref_status=1
	$as xargs -0 sha256sum -- <"$work/list" >"$work/ref" 2>"$work/sum.err" ||
		ref_status=1
	complaints "$work/ref.err" "$work/find.err" "$work/sum.err"
}

# complaints TO FROM...: without who says it, sorted
complaints() {
	local to=$1 from text said=()
	for from in "${@:2}"; do
		while IFS= read -r text; do said+=("${text#*: }"); done <"$from"
	done
	if ((${#said[@]} > 1)); then
		printf '%s\n' "${said[@]}" | sort >"$to"
	else
		printf '%s' "${said[@]/%/$'\n'}" >"$to"
	fi
}

# is_reference OPTION... DIR...: is dxsum's answer that of reference DIR...?
is_reference() {
	run "$ref_status" "$@" && same "$work/ref" "$work/out" &&
		complaints "$work/said.err" "$work/err" && same "$work/ref.err" "$work/said.err"
}

# figure NAME: of what --stats printed
figure() { [[ $(<"$work/err") =~ [^a-z_]"$1"=([0-9]+) ]] && echo "${BASH_REMATCH[1]}"; }

# --- the trees --------------------------------------------------------------

# more than a crew, its lanes and a Ready Pool of 3 have room for
dirs=({0..2}/{0..3}) files=({0..2}/{0..3}/{0..7})
[[ -z $long ]] || dirs=({0..4}/{0..9}) files=({0..4}/{0..9}/{0..9})
mkdir -p "${dirs[@]/#/many/}"
for i in "${files[@]}"; do echo "file $i" >"many/$i"; done
first=(many/0/*/*)

mkdir -p odd/a odd/a-b odd/a.d 'odd/sp ace' odd/empty $'odd/dir\nline'
for name in $'new\nline' $'carriage\rreturn' $'\r' 'back\slash' '\' $'\xff\xfe' \
	$'half \xe2\x80' -dash --help '*' '$HOME' "apo'strophe" $'tab\t' .hidden \
	' ' 'a b' a0 a+ a/x a-b/x a.d/x 'sp ace/x' $'dir\nline/\\' \
	$'\x01' '~' "${name:=$(printf 'n%.0s' {1..255})}"; do
	echo "$name" >"odd/$name"
done
: >odd/nothing
truncate -s 200001 odd/sparse
echo end >>odd/sparse
ln -s a/x odd/link
ln -s nowhere odd/dangling
ln -s a odd/link-to-dir
mkfifo odd/fifo
mknod odd/null c 1 3
ln odd/a0 odd/second-name

# --- the same as find and sha256sum -----------------------------------------

# The kernel does not read the last one for itself.
trees=(many odd /proc/1/cmdline)
reference "${trees[@]}"
mapfile -d '' list <"$work/list"
((${#list[@]} >= ${#files[@]} + 28 + 1))
ok "the trees are there"
for how in --kernel --user '--kernel --workers 3 --kernel-workers 3 --ready 3' \
	'--user --workers 3 --ready 3'; do
	# shellcheck disable=SC2086 # options
	is_reference $how "${trees[@]}"
	ok "dxsum $how is what sha256sum is"
done

run 0 --stats --kernel many/0 /proc/1/cmdline &&
	[[ $(figure files) == $((${#first[@]} + 1)) ]] &&
	[[ $(figure hashed_instead_of_kernel) == 1 ]] &&
	has "$work/err" '^stats:' && has "$work/err" ' posts=[1-9]' &&
	! line "$work/err" ' (instruments|keys|labels)='
ok "--stats prints the figures of the context"

arguments=(many/0/1 many/0 many/0/ ./odd odd/link odd/link-to-dir odd/a0 odd/a0 missing odd/fifo
	odd/a0/ '' $'no\nthing')
reference "${arguments[@]}"
is_reference --no-cmls --user --workers 3 --ready 1 "${arguments[@]}"
ok "arguments that overlap, are files, links, missing; no lanes"

run 0 --no-cmls --workers 3 --kernel-workers 1 --ready 1 odd/empty odd/fifo &&
	[[ ! -s $work/out && ! -s $work/err ]]
ok "a tree without a file"

mkdir -- -d && echo x >-d/x && sha256sum -- -d/x >"$work/ref" && run 0 -- -d &&
	same "$work/ref" "$work/out"
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
has "$work/ref.err" 'File name too long' && is_reference deep
ok "paths longer than PATH_MAX"
# not that of busybox, which does not get there either
"$(type -P rm)" -rf deep

# --- what cannot be read ----------------------------------------------------

mkdir -p closed/{dir,list}
for f in file open dir/x list/x "it's"; do echo x >"closed/$f"; done
chmod 0 closed/{file,dir,"it's"}
chmod 744 closed/list
chmod 666 /dev/dxk
as=nobody
reference closed many/2
for how in '--kernel --lanes 10,30,10 --workers 20 --kernel-workers 5' \
	'--user --ready 1048576'; do
	# shellcheck disable=SC2086
	has "$work/ref.err" 'Permission denied' && is_reference $how closed many/2
	ok "dxsum $how tells of what it may not read, and does the rest"
done
chmod 600 /dev/dxk
run 2 closed && has "$work/err" '^dxsum: platform /dev/dxk: Permission denied; dxkctl doctor tells why'
ok "/dev/dxk may not be opened"
as=''

mv /dev/dxk /dev/dxk.away
run 2 closed && has "$work/err" '^dxsum: platform /dev/dxk: .*dxkctl doctor'
ok "no /dev/dxk"
mv /dev/dxk.away /dev/dxk

# --- few descriptors --------------------------------------------------------

# Of 22, the run time, the signals and 10 workers have 19 and the one feeder one: room for two
# files, while the lanes allow more transactions.
mkdir few
truncate -s 500000 few/{0..4}
sha256sum few/* >"$work/ref"
(ulimit -n 22 && run 0 --stats --user --workers 10 few) && same "$work/ref" "$work/out" &&
	[[ $(figure waits_for_descriptors) -gt 0 ]]
ok "it waits when there is no descriptor"
rm -rf few

# --- files that change, signals ---------------------------------------------

# start OPTION... DIR...: dxsum in the background
start() {
	starts env --default-signal=INT "$dxsum" --dispatch "$dispatch" --workers 3 \
		--ready 3 "$@"
}

# unchanged FILES: what is in the output but for these, which changed, to $work/rest
unchanged() {
	local text
	while IFS= read -r text; do
		# shellcheck disable=SC2053 # a pattern
		[[ $text == *"  "$1 ]] || echo "$text"
	done <"$work/out" >"$work/rest"
}

has_open() {
	local fd
	for fd in "/proc/$pid/fd/"*; do
		[[ ! $fd -ef $1 ]] || return 0
	done
	return 1
}

# With three workers one transaction executes at a time, in the order of the names:
# while "0" is open all names are listed and nothing else is opened. It ends when it
# is made small.
for how in --kernel --user; do
	rm -rf moving other
	mkdir -p moving/{dir,gone,linked} other
	truncate -s 500G moving/{0,1}
	for f in moving/{kept,lost,piped,made,dir/x,gone/x,linked/x} other/foreign; do
		echo x >"$f"
	done
	start $how moving
	until_true has_open moving/0 && truncate -s 600G moving/0 &&
		rm -r moving/{lost,gone,linked,piped,made} &&
		ln -s ../other moving/linked && mkfifo moving/piped &&
		mkdir moving/made && truncate -s 4096 moving/0 &&
		until_true has_open moving/1 && truncate -s 1M moving/1
	ok "$how: files change while it works"
	until_true ended "$pid" || kill -KILL "$pid"
	wait "$pid"
	[[ $? == 1 ]] && printf '%s\n' 'moving/lost: No such file or directory' \
		'moving/made: Is a directory' \
		'‘moving/gone’: No such file or directory' \
		'‘moving/linked’: Not a directory' >"$work/ref.err" &&
		complaints "$work/said.err" "$work/err" &&
		same "$work/ref.err" "$work/said.err"
	ok "$how: what vanished is told, what was replaced is not followed"
	sha256sum moving/{dir/x,kept} >"$work/ref"
	unchanged 'moving/[01]'
	same "$work/ref" "$work/rest" &&
		has "$work/out" '^[0-9a-f]{64}  moving/0$' &&
		has "$work/out" '^[0-9a-f]{64}  moving/1$'
	ok "$how: the others are as they were, those that shrank end"
done

mkdir huge
truncate -s 500G huge/file
for how in --kernel --user; do
	sig=INT
	[[ $how == --kernel ]] || sig=TERM
	start $how many/0/0 huge
	until_true has_open huge/file && kill -$sig "$pid" && until_true ended "$pid" ||
		kill -KILL "$pid"
	wait "$pid"
	[[ $? == $((128 + $(kill -l $sig))) ]] && until_true no_context &&
		[[ ! -s $work/err ]]
	ok "$how: SIG$sig ends it, cleanly"
	start $how many/0/0 huge
	until_true has_open huge/file && ! no_context && kill -KILL "$pid" &&
		until_true ended "$pid" && until_true no_context
	ok "$how: nothing is left of it after SIGKILL"
	kill -KILL "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
done

# --- a file that somebody has leased --------------------------------------------

# File servers do that. This one is killed by the signal that asks it to give way.
holds_lease() { has_open leased && read -r _ </proc/locks && line /proc/locks 'LEASE  ACTIVE'; }
echo x >leased && sha256sum leased >"$work/ref"
for how in --kernel --user; do
	python3 -ESc 'import fcntl, os, time
fcntl.fcntl(os.open("leased", os.O_RDWR), 1024, fcntl.F_WRLCK)
time.sleep(1000)' &
	pid=$!
	until_true holds_lease && run 0 $how leased && same "$work/ref" "$work/out"
	ok "$how: a file with a lease is read when it was given up"
	kill "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
done

# --- somebody else stops the context ------------------------------------------

# What was not read has no line: no digest that nobody made.
mkdir -p ended/dir && truncate -s 4096 ended/0
for f in ended/{1..9} ended/dir/x; do echo x >"$f"; done
sha256sum many/0/0/* ended/? ended/dir/x >"$work/ref"
for how in --kernel --user; do
	for stop in drain 'stop --cancel'; do
		truncate -s 500G ended/0
		start $how many/0/0 ended
		# shellcheck disable=SC2086 # options
		until_true has_open ended/0 && stop_context $stop && truncate -s 4096 ended/0
		wait "$pid"
		[[ $? == 2 ]] && has "$work/err" '^dxsum: the context was stopped' &&
			unchanged ended/0 && is_part "$work/rest" "$work/ref" && wait $stopper && until_true no_context
		ok "$how: dxkctl $stop ends it, and that is told"
	done
done

# --- wrong use --------------------------------------------------------------

bad() {
	local text=$1
	shift
	run 2 "$@" && [[ ! -s $work/out ]] && has "$work/err" "$text"
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
run 0 -h && has "$work/out" '^Usage: dxsum'
ok "help"
"$dxsum" many/0/0 >/dev/full 2>"$work/err"
[[ $? == 1 ]] && has "$work/err" '^dxsum: write error: No space left'
ok "the output cannot be written"
until_true no_context
ok "no context is left"
plan
