#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# examples/dxserve and examples/dxcall: a service of worker processes, and clients that
# come and go. Whoever of them is killed, nothing is lost: a dead worker's requests are
# executed by another one, a dead supervisor's service goes on and is taken over, a dead
# client's requests trouble nobody (R-16, DX-25, DX-113, D-26).
# shellcheck source=selftests/lib/test.bash
. "${0%/*}/test.bash"

bring_near "$build"/examples/{dxserve,dxcall}
examples=$near
supervisor=''
export LC_ALL=C
restore() { [[ -z $supervisor ]] || kill -TERM "$supervisor" 2>/dev/null; }

context() {	# NAME: its directory is $dir
	local name
	for dir in /sys/kernel/dxk/[0-9]*; do
		read -r name <"$dir/name" && [[ $name == "$1" ]] && return
	done
	return 1
} 2>/dev/null
figure() {	# NAME FILE: is $figure
	figure=none
	context "$1" && read -r figure <"$dir/$2"
} 2>/dev/null
at() { figure "$1" "$2" && [[ $figure == "$3" ]]; }
# Is the client in, or already over?
posting() { { figure one descriptors && ((figure > 4)); } || ended "$1"; }
# Of one that has just died the pid is 0, which for kill is all of us.
workers() {	# NAME: are there any? Pids of the worker processes are $workers
	local f role pid
	workers=()
	context "$1" || return
	for f in "$dir"/threads/*/role; do
		read -r role <"$f" && [[ $role == user-worker ]] &&
			read -r pid <"${f%role}pid" && ((pid)) && workers+=("$pid")
	done
	((${#workers[@]}))
} 2>/dev/null
# Are there three workers, and not the one with this pid?
replaced() { workers one && ((${#workers[@]} == 3)) && [[ " ${workers[*]} " != *" $1 "* ]]; }

serve() {	# NAME WORKERS OPTION...
	: >serve.err
	"$examples/dxserve" -n "$1" -w "$2" -d "$dispatch" "${@:3}" 2>serve.err &
	supervisor=$!
	until_true at "$1" pools/thread_use "$2"
}
end_service() {	# SIGNAL
	local status=0
	kill "-$1" "$supervisor"
	wait "$supervisor" || status=$?
	supervisor=''
	return $status
} 2>/dev/null
call() { "$examples/dxcall" -t 3600 "$@" >out 2>err; }
says() {	# STATUS TEXT COMMAND...
	gives "$1" "${@:3}" && { line out "$2" || has err "$2"; }
}

# The debug kernel is ten times slower.
files=80 kills=6
window=64	# requests of dxcall that are on their way at a time
[[ ! -e /proc/lockdep ]] || files=24 kills=2

# Of different sizes, 5 KB each, and no text.
mkdir files
head -c $((files * 5500)) /bin/bash >binary
split -n "l/$files" --numeric-suffixes=1 binary files/
for f in files/*; do echo "some words of $f" >>"$f"; done
: >files/empty
sums=$(sha256sum files/*)
echo "$sums" >ref.sum
for i in 1 2 3 4; do echo "$sums"; done >ref.4
counts=$(wc files/*)
while read -r l w c f; do echo "$l $w $c $f"; done <<<"${counts%$'\n'*}" >ref.wc
two=$(grep -E 'files/0[12]$' ref.sum)

# --- without a service ------------------------------------------------------

says 2 'no service of that name' "$examples/dxcall" sha256 files/01
ok "a call without a service says so"
says 2 'no name for a context' "$examples/dxcall" -n a/b sha256 files/01
ok "a call with a name that cannot be"
says 1 'no name for a context' "$examples/dxserve" -n $'a\nb'
ok "a service with a name that cannot be"
says 2 Usage "$examples/dxcall" sha256
ok "a call without a file"
says 2 Usage "$examples/dxserve" -w 0 && says 0 '^Usage' "$examples/dxserve" --help &&
	says 0 '^Usage' "$examples/dxcall" --help
ok "a service without workers"

# --- the main job -----------------------------------------------------------

serve one 3
ok "a service with three worker processes"
call -n one sha256 files/* && same ref.sum out
ok "checksums as sha256sum prints them"
call -n one count files/* && same ref.wc out
ok "counts as wc prints them"
says 1 'No such file' "$examples/dxcall" -n one sha256 files/01 files/none files/02 &&
	[[ $(<out) == "$two" ]]
ok "a file that is not there is told, the others are answered"
says 1 'Is a directory' "$examples/dxcall" -n one count files
ok "a directory"

# names that could be taken for lines
mkdir odd
for f in $'a\nb' $'c\rd' 'back\slash' "it's"; do echo "$f" >"odd/$f"; done
sha256sum odd/* >ref.odd && call -n one sha256 odd/* && same ref.odd out
ok "odd names as sha256sum prints them"
wc odd/* | while read -r l w c f; do [[ $f == total ]] || echo "$l $w $c $f"; done >ref.odd
call -n one count odd/* && same ref.odd out
ok "and as wc does"
says 1 "^dxcall: 'odd/'\\$'\\\\n''x': No such file" "$examples/dxcall" -n one sha256 $'odd/\nx'
ok "and in a message"

# --- clients that come and go ----------------------------------------------

pids=()
for i in {1..4}; do
	"$examples/dxcall" -n one -t 3600 sha256 files/* >"out.$i" 2>&1 &
	pids+=($!)
done
status=0
for i in {1..4}; do
	wait "${pids[i - 1]}" && same ref.sum "out.$i" || status=1
done
((status == 0))
ok "four clients at a time, each gets its own answers"

# a client is killed with its requests on their way
for ((i = 0; i < kills; i++)); do
	"$examples/dxcall" -n one -t 3600 sha256 files/* files/* files/* >/dev/null 2>&1 &
	victim=$!
	until_true posting $victim
	kill -KILL $victim 2>/dev/null
	wait $victim 2>/dev/null
done
call -n one sha256 files/* && same ref.sum out
ok "clients that are killed do not trouble the next one"
until_true at one pools/rejoin_use 0 && until_true at one owners 0
ok "nothing of them is left"

# --- workers that are killed ------------------------------------------------

"$examples/dxcall" -n one -t 3600 sha256 files/* files/* files/* files/* >out.kill 2>&1 &
client=$!
killed=0 victim=0
for ((i = 0; i < kills; i++)); do
	until_true replaced "$victim" && victim=${workers[i % 3]} && kill -KILL "$victim" &&
		((++killed))
done
wait $client && ((killed == kills)) && same ref.4 out.kill
ok "all is answered although $kills workers were killed"
until_true replaced "$victim"
ok "and there are three workers again"

# --- the supervisor is killed -----------------------------------------------

end_service KILL
call -n one sha256 files/* && same ref.sum out
ok "the service outlives its supervisor"
workers one && kill -KILL "${workers[@]}"
until_true no_context
ok "with the last of them the context is gone"

serve two 2
# so that the client cannot be through before they are killed
workers two && kill -STOP "${workers[@]}"
"$examples/dxcall" -n two -t 3600 sha256 files/* files/* files/* files/* >out.kill 2>&1 &
client=$!
until_true at two descriptors 4
end_service KILL
workers two && kill -KILL "${workers[@]}"
serve two 2
until_true line serve.err "taking over"
ok "a new supervisor takes over"
wait $client && same ref.4 out.kill
ok "a client that waited meanwhile gets all its answers"

# It told the old one to end, and killed it: what is executed goes on.
truncate -s 500G big
"$examples/dxcall" -n two sha256 big >out.big 2>&1 &
client=$!
until_true at two pools/thread_busy 1
kill -TERM "$supervisor" && until_true at two state stopping
end_service KILL
"$examples/dxserve" -n two -w 2 -d "$dispatch" 2>serve.err &
supervisor=$!
until_true line serve.err 'waiting for its end' && truncate -s 4096 big &&
	until_true at two state running &&
	gives 0 "$examples/dxcall" -n two -t 3600 sha256 files/01 files/02 &&
	[[ $(<out) == "$two" ]]
ok "a supervisor that comes while the old service ends starts a new one"
wait $client && has out.big '^[0-9a-f]{64}  big$'
ok "whoever called the old one gets the answer of that"
end_service KILL
other=direct
[[ $dispatch == thread ]] || other=thread
"$examples/dxserve" -n two -w 3 -d $other 2>serve.err &
supervisor=$!
until_true at two pools/thread_use 3 && has serve.err '^dxserve: -d: .* stays$'
ok "one that takes over has its number of workers, and says what it cannot have"

# Nobody can become a worker.
mv /dev/dxk /dev/dxk.away
workers two && kill -KILL "${workers[@]}"
until_true line serve.err 'worker: No such file'
sleep 2
(($(lines serve.err 'worker: No such file') < 20))
ok "workers that cannot come are not started at any rate"
mv /dev/dxk.away /dev/dxk
until_true at two pools/thread_use 3
ok "but as soon as they can"

# --- it is told to end -----------------------------------------------------------

# Its clients wait for what it has taken, and it takes no more.
end_service TERM
ok "SIGTERM ends a service"
until_true no_context
serve two 2
workers two && kill -STOP "${workers[@]}"
"$examples/dxcall" -n two -t 3600 sha256 files/* files/* >out.term 2>err.term &
client=$!
until_true at two stats/posts $window
kill -TERM "$supervisor" && until_true at two state stopping
kill -CONT "${workers[@]}"
wait $client
[[ $? == 2 ]] && has err.term 'the service ends$'
ok "whoever has more to ask for is told"
head -n $window ref.4 >ref.term && same ref.term out.term
ok "after it has got all answers to what was taken"
wait "$supervisor"
ok "and that was all that it had to do"
until_true no_context
# Just between the look whether it is told to end and the wait for something to do
UPSET="$((0xd81b)) 2 term" LD_PRELOAD=$build/selftests/tools_upset.so \
	"$examples/dxserve" -n two -w 1 -d "$dispatch" 2>serve.err &
supervisor=$!
until_true ended $supervisor && wait $supervisor
ok "no SIGTERM is lost"
until_true no_context
serve two 2

# --- permissions ------------------------------------------------------------

as=(setpriv --reuid 4001 --regid 4002 --clear-groups)
chmod 666 /dev/dxk
says 2 'does not let you' "${as[@]}" "$examples/dxcall" -n two sha256 files/01
ok "another user may not call a service of mode 0600"
says 1 "another user's service" "${as[@]}" "$examples/dxserve" -n two
ok "and cannot take it over"
end_service TERM
ok "SIGTERM ends the service"
until_true no_context
ok "its context is gone"
serve three 2 -m 0622
gives 0 "${as[@]}" "$examples/dxcall" -n three -t 3600 sha256 files/01 files/02 &&
	[[ $(<out) == "$two" ]]
ok "with mode 0622 everybody may call"
printf 'secret' >files/secret && chmod 600 files/secret
says 1 'Permission denied' "${as[@]}" "$examples/dxcall" -n three sha256 files/secret
ok "but has only those files read that it can open itself"
end_service TERM
ok "the end"

# Somebody else has a service of the name that root asks for.
until_true no_context
"${as[@]}" "$examples/dxserve" -n three -w 1 -m 0777 -d "$dispatch" 2>serve.err &
supervisor=$!
until_true at three pools/thread_use 1
says 2 "another user's service" "$examples/dxcall" -n three sha256 files/01 &&
	figure three stats/posts && [[ $figure == 0 ]]
ok "files are not given to a service of somebody else"
says 2 "another user's service" "$examples/dxcall" -n three -u 4000 sha256 files/01
ok "nor of another one than was asked for"
says 1 "another user's service" "$examples/dxserve" -n three -w 1
ok "which root does not take over"
for user in 4001 any; do
	gives 0 "$examples/dxcall" -n three -t 3600 -u $user sha256 files/01 files/02 &&
		[[ $(<out) == "$two" ]]
	ok "but with -u $user"
done
gives 0 "${as[@]}" "$examples/dxcall" -n three -t 3600 sha256 files/01 files/02
ok "and its owner"
end_service TERM
ok "the end of that one, too"
until_true no_context
"${as[@]}" "$examples/dxserve" -n own -w 1 -d "$dispatch" 2>serve.err &
supervisor=$!
until_true at own pools/thread_use 1 && [[ ! -s serve.err ]]
ok "a user's service has workers in each mode"
end_service TERM

# --- a service that gives no answer ----------------------------------------------

until_true no_context
mkfifo evil
python3 -ESc 'import sys
sys.path.insert(0, sys.argv[1])
import tools_load
tools_load.main("evil", "666", "1")' "$build/selftests" <evil >/dev/null &
supervisor=$!
exec 6>evil
echo release >&6
until_true at evil pools/thread_use 1
says 1 'files/01: Protocol error' "$examples/dxcall" -n evil -t 3600 sha256 files/01 && [[ ! -s out ]]
ok "an answer without its data is none"
exec 6>&-
plan
