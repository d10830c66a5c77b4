#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The programs of the manual and the examples under the thread sanitizer and Valgrind's
# memcheck: they do what they always do, and nothing is reported. What the kernel writes,
# and the order that it gives to threads, libdxk tells these two. It does not tell them
# too much: a race that there is, is reported.
# Valgrind takes ten seconds and more to start a program in an emulated machine:
# DXK_LONG=1 has all of them run by it.
# shellcheck source=selftests/lib/test.bash
. "${0%/*}/test.bash"

tsan=$build/tsan
[[ -e $tsan/manual/built ]] || skip_all "make selftests-asan builds what this runs"
command -v valgrind >/dev/null || skip_all "no valgrind"
export LD_LIBRARY_PATH=$build/lib
service='' server=''
restore() { kill -TERM $service $server; } 2>/dev/null

squares=$'0\n1\n4\n9\n16\n25\n36\n49'
declare -A wanted=([README]=$squares [dxk.7]='sum 140' [dx.hpp.3]='sum 140')
mkdir tree
for ((i = 0; i < 12; i++)); do head -c $((RANDOM % 9000)) /bin/bash >tree/$i; done
sha256sum tree/* | sort >sums
LC_ALL=C wc tree/* | while read -r l w c f; do echo "$l $w $c $f"; done >counts
awk '/^$/ && ++nr == 12 { exit } 1' /var/lib/dpkg/status >status

# A sanitizer wants the addresses where they are without randomisation.
thread() {	# DIRECTORY PROGRAM ARG...
	TSAN_OPTIONS=exitcode=66 setarch -R "$tsan/$1/$2" "${@:3}"
}
# It may take longer than who watches waits for a line. Whether it runs its time tells.
memory() {
	local pid never stat turns=0 ran=0
	valgrind -q --sim-hints=lax-ioctls --error-exitcode=65 "$build/$1/$2" "${@:3}" &
	pid=$!
	exec {never}<> <(:)
	until read -rt 0.2 -u "$never" || ended "$pid"; do
		((++turns % 50 == 0)) && read -ra stat </proc/"$pid"/stat || continue
		((stat[13] + stat[14] > ran)) || continue
		ran=$((stat[13] + stat[14]))
		tell "$2 has run for $((ran / 100)) s" >&"$report"
	done
	exec {never}>&-
	wait "$pid"
}
exec {report}>&1
# clean PATTERN: has it said nothing?
clean() { ! line "$1" 'ThreadSanitizer|^==[0-9]+== ' || { tell_file "$1"; return 1; }; }
runs() { gives 0 "$@" && clean err; }
page() { runs "$1" manual "$2" && [[ $(<out) == "${wanted[$2]}" ]]; }
sums() {
	runs "$1" examples dxsum --dispatch "$dispatch" "${@:2}" tree && sort out >sorted &&
		same sums sorted
}
packages() { rm -f db && runs "$1" examples dxpkg --db db --status status && [[ -s db ]]; }
counts() { LC_ALL=C runs "$1" examples dxcpp -p 1000 tree/* && same counts out; }
# A site whose pages link to all others
links() {
	local status=0 i k
	mkdir site
	for i in index {1..12}; do
		for k in index {1..12}; do echo "<a href='./$k.html?$i'>"; done >"site/$i.html"
	done
	: >url
	"$build/examples/dxhttpd" -p 0 site >url 2>/dev/null &
	server=$!
	until_true line url '^http:'
	runs "$1" examples dxspider -c 4 -l 1 "$(<url)" && has out '^14 URLs of 1 hosts; 0 broken' ||
		status=1
	kill -TERM $server
	wait $server
	server=''
	return $status
}
serving() { compgen -G '/sys/kernel/dxk/[0-9]*/threads/2' >/dev/null; }
calls() {
	local status=0
	"$1" examples dxserve -w 2 -d "$dispatch" 2>service.err &
	service=$!
	until_true serving
	runs "$1" examples dxcall sha256 tree/* && sort out >sorted && same sums sorted || status=1
	# what was started by a shell is not the shell
	kill -TERM "$(pgrep -P "$service" || echo "$service")"
	wait "$service" || status=1
	service=''
	clean service.err && return $status
}

for p in "${!wanted[@]}"; do
	page thread "$p"
	ok "$p, threads"
done
thread manual race >out 2>err
[[ $? == 66 ]] && has err 'data race'
ok "a race is reported"
for how in --user --kernel; do
	sums thread $how
	ok "dxsum $how, threads"
done
packages thread
ok "dxpkg, threads"
counts thread
ok "dxcpp, threads"
calls thread
ok "dxserve and dxcall, threads"
if has_network; then
	links thread
	ok "dxspider, threads"
else
	skip "dxspider, threads: this kernel has no TCP"
fi

page memory dx.hpp.3
ok "dx.hpp.3, memory"
sums memory --user
ok "dxsum, memory"
calls memory
ok "dxserve and dxcall, memory"
if [[ -n $long ]]; then
	for p in README dxk.7; do
		page memory $p
		ok "$p, memory"
	done
	sums memory --kernel
	ok "dxsum --kernel, memory"
	packages memory
	ok "dxpkg, memory"
	counts memory
	ok "dxcpp, memory"
fi
until_true no_context
ok "no context is left"
plan
