#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# dxsum, dxpkg, dxcpp, dxcall and dxserve while the worst happens at any moment: somebody
# stops or drains the context, signals, SIGKILL, too little memory, a full disk, a reader
# that goes, a tree that changes. Each line that they print is true, and what is missing is
# told: by a status that is not 0, and by a message, unless a signal ended it.
# DXK_ROUNDS=n rounds of each program, DXK_SEED=n the same ones again, but for the moments.
# Thirteen have each kind of upset at least once.
# shellcheck source=selftests/lib/test.bash
. "${0%/*}/test.bash"
needs_network

command -v sqlite3 >/dev/null || skip_all "no sqlite3"
bring_near "$build"/examples/{dxsum,dxpkg,dxcpp,dxserve,dxcall} "$build/tools/dxkctl" \
	"$(type -P sqlite3)"
rounds=${DXK_ROUNDS:-${long:+100}}
rounds=${rounds:-6}
RANDOM=${DXK_SEED:=$RANDOM}
tell "DXK_SEED=$DXK_SEED"
service=''
restore() {
	[[ -z $service ]] || kill -TERM "$service"
	umount "$work/small"
} 2>/dev/null

# --- what is true -----------------------------------------------------------

mkdir tree moving small
for d in tree/{a..d} moving/{a..b}; do
	mkdir "$d"
	for f in "$d"/{1..25}; do printf '%*s\n' $((RANDOM % 3000)) "$f" >"$f"; done
done
# What moves has the contents of one of them, wherever it is found.
declare -A digest=() known=() here=()
while IFS= read -r text; do
	digest[${text:66}]=$text
	known[${text::64}]=1
done < <(sha256sum {tree,moving}/*/*)
for f in tree/*/*; do here[$f]=; done
declare -A counted=()
while read -r l w c f; do counted[$f]="$l $w $c"; done < <(LC_ALL=C wc tree/*/*)
unset 'counted[total]'
awk '/^$/ && ++nr == 500 { exit } 1' /var/lib/dpkg/status >status
gives 0 dxpkg --db whole --status status && sqlite3 whole .dump >whole.dump
ok "what is true: ${#digest[@]} files, $(lines whole.dump 'INTO version') packages"

# true_lines STATUS: is each line one of a file that there is, and is none missing with 0?
# A line that was not ended is none.
true_lines() {
	local -A missing=()
	local f text
	for f in "${!here[@]}"; do missing[$f]=; done
	while IFS= read -r text; do
		[[ ${digest[${text:66}]-} == "$text" ]] ||
			[[ $text == *"  moving/"* && -n ${known[${text::64}]-} ]] ||
			{ tell "wrong: $text"; return 1; }
		unset "missing[${text:66}]"
	done <lines
	((${#missing[@]} == 0 || $1)) && return
	tell "status 0, ${#missing[@]} of ${#here[@]} files are missing"
	return 1
}

# true_counts STATUS: the same of dxcpp, whose last line is the sum of the others.
true_counts() {
	local -A missing=()
	local l w c f sum=(0 0 0)
	for f in "${!counted[@]}"; do missing[$f]=; done
	while read -r l w c f; do
		if [[ $f == total ]]; then
			[[ "$l $w $c" == "${sum[*]}" ]] && continue
		elif [[ ${counted[$f]-} == "$l $w $c" ]]; then
			sum=($((sum[0] + l)) $((sum[1] + w)) $((sum[2] + c)))
			unset "missing[$f]"
			continue
		fi
		tell "wrong: $l $w $c $f"
		return 1
	done <lines
	((${#missing[@]} == 0 || $1)) && return
	tell "status 0, ${#missing[@]} of ${#counted[@]} files are missing"
	return 1
}

# --- what happens -----------------------------------------------------------

# What an undisturbed run takes once it has a context, in ms: upsets are drawn from that.
span=100
began() { ! no_context || ended "$pid"; }
measure() {	# COMMAND...
	local begin i
	for i in cold warm; do
		"$@" >$i 2>&1 &
		pid=$!
		while ! began; do :; done
		begin=${EPOCHREALTIME/./}
		wait "$pid"
		span=$(((${EPOCHREALTIME/./} - begin) / 1000 + 1))
	done
	tell "$1: $span ms"
}
moment() {
	local never ms=$((RANDOM % span))
	while ! began; do :; done
	exec {never}<> <(:)
	read -rt "$((ms / 1000)).$(printf %03d $((ms % 1000)))" -u "$never"
	exec {never}>&-
	return 0
}
# The operator's command takes as long to start as the program to end: that stands still
# until it is heard.
operator() {	# COMMAND
	local dir
	kill -STOP "$pid"
	for dir in /sys/kernel/dxk/[0-9]*; do
		# shellcheck disable=SC2086 # words
		dxkctl $1 --timeout 3600 "${dir##*/}" &
		until_true stopping_or_ended $!
	done
	kill -CONT "$pid"
}
change() {
	mv moving/a/$((RANDOM % 25 + 1)) moving/b/$((RANDOM % 25 + 1))
	mv moving/b moving/c
	mv moving/a moving/b
	mv moving/c moving/a
} 2>/dev/null

# upset WHAT COMMAND...: runs it; $status, and what it printed in the files lines and err
upset() {
	local what=$1 out=lines
	shift
	: >err >lines
	status=0
	case $what in
	memory)
		(ulimit -v $((50000 + RANDOM * 10)) && exec "$@") >lines 2>err || status=$?
		return
		;;
	disk)
		mount -t tmpfs -o size=4k upsets small && "$@" >small/lines 2>err || status=$?
		cp small/lines lines
		umount small
		return
		;;
	pipe)
		"$@" 2>err | { read -r text && echo "$text" >lines; }
		# what it wrote before the reader went is nowhere: that is no loss of its own
		status=$((PIPESTATUS[0] ? PIPESTATUS[0] : 141))
		return
		;;
	esac
	env --default-signal=INT "$@" >$out 2>err &
	pid=$!
	moment
	case $what in
	INT | TERM | KILL) kill -"$what" "$pid" ;;
	tree) change ;;
	drain | stop) operator $what ;;
	cancel) operator 'stop --cancel' ;;
	worker) kill -KILL "$(pgrep -P "$service" | shuf -n 1)" ;;
	service) kill -KILL "$service" ;;
	end) kill -TERM "$service" ;;
	esac >said 2>&1
	wait "$pid" || status=$?
} 2>/dev/null

told() { ((status == 0 || status > 128)) || [[ -s err ]]; }
pick() { eval "$1=\${$((RANDOM % ($# - 1) + 2))}"; }
# Each kind in its turn, in an order that is drawn anew when all had theirs.
kinds=(INT TERM KILL drain stop cancel cancel memory disk pipe)
happens() {	# KIND...: also these
	local all=("${kinds[@]}" "$@")
	((${#deck[@]})) || mapfile -t deck < <(shuf -e "${all[@]}" --random-source=<(
		while :; do echo $RANDOM; done))
	what=${deck[0]}
	deck=("${deck[@]:1}")
}

# --- the rounds ---------------------------------------------------------------

measure dxsum tree moving
deck=()
for ((round = 0; round < rounds; round++)); do
	happens tree
	pick how --user --kernel '--user --workers 3 --ready 3' '--user --no-cmls'
	# shellcheck disable=SC2086 # words
	upset $what dxsum --dispatch "$dispatch" $how tree moving
	told && true_lines $status
	ok "dxsum $how, $what: $status"
	until_true no_context
done

# All of it, or what was there before and nothing beside it; but for what SIGKILL leaves, and
# which may come when all is done.
true_db() {
	if ((status == 0)) || { ((status == 137)) && [[ $(stat -c %s db) != 4 ]]; }; then
		sqlite3 db .dump >dump && same whole.dump dump
	else
		[[ $(<db) == old ]] || { tell "status $status, and the database is another one"; return 1; }
		[[ $status == 137 || $(echo db*) == db ]] || { tell "left: $(echo db*)"; return 1; }
	fi
}
rm -f db*
measure dxpkg --db db --status status
deck=()
for ((round = 0; round < rounds; round++)); do
	happens
	rm -f db*
	echo old >db
	if [[ $what == disk ]]; then
		mount -t tmpfs -o size=$((RANDOM % 400 + 20))k upsets small && echo old >small/db
		status=0
		dxpkg --dispatch "$dispatch" --db small/db --status status >lines 2>err || status=$?
		cp small/* .
		umount small
	else
		upset $what dxpkg --dispatch "$dispatch" --db db --status status
		# it is printed when all is done
		[[ $what != pipe ]] || (($(stat -c %s db) == 4)) || status=0
	fi
	told && true_db
	ok "dxpkg, $what: $status"
	until_true no_context
done

# twice, or they would fit on the disk
measure dxcpp -p 500 tree/*/* tree/*/*
deck=()
for ((round = 0; round < rounds; round++)); do
	happens
	pick how '-w 2' '-w 3 -p 500' '-w 5'
	# shellcheck disable=SC2086 # words
	LC_ALL=C upset $what dxcpp $how tree/*/* tree/*/*
	told && true_counts $status
	ok "dxcpp $how, $what: $status"
	until_true no_context
done

serving() { compgen -G '/sys/kernel/dxk/[0-9]*/threads/2' >/dev/null; }
# Does it wait for SIGTERM by now?
listening() {
	local name value
	while read -r name value; do
		[[ $name != SigCgt: ]] || { (((16#$value >> 14) & 1)) && return; }
	done <"/proc/$service/status"
	ended "$service"
} 2>/dev/null
have_service() {
	[[ -z $service ]] || ! ended "$service" || wait "$service"
	[[ -n $service ]] && ! ended "$service" && return
	dxserve -w 2 -d "$dispatch" 2>service.err &
	service=$!
	until_true listening && until_true serving
} 2>/dev/null
have_service
measure dxcall sha256 tree/*/*
deck=()
for ((round = 0; round < rounds; round++)); do
	have_service
	happens worker service end
	upset $what dxcall -t 60 sha256 tree/*/*
	told && true_lines $status
	ok "dxcall, $what: $status"
done
# One that was killed has left its workers behind.
have_service
{ kill -TERM "$service" && wait "$service"; } 2>/dev/null
service=''
until_true no_context
ok "no context is left"
plan
