#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests what the tests run in: that a test that fails, hangs or kills the kernel, and a
# guest that says nothing, are told for what they are, within a minute; and that it does
# not matter who may search the directory of the clone.
#
#   check-guest.sh [MODULES]
#   check-guest.sh --emulation
#
# MODULES is a directory with modules for the stock kernel (build/kernels/stock).
# --emulation only tests QEMU: no part of "make check", because QEMU 10.0 has failed it,
# once in some twenty times, on a machine with twice as much to do as it has CPUs.
set -uo pipefail

cd "$(dirname "$0")/../.." || exit
modules=${1:-build/kernels/stock}
work=build/check/guest
mkdir -p "$work"
exec 6>"$work.lock"
flock 6
kunit=$(scripts/guest/kernel.sh --tools)/tools/testing/kunit/kunit.py
bad=0 out=''
ok() {
	local status=$1
	shift
	if ((status == 0)); then echo "ok $*"; else echo "$out"; echo "FAILED $*"; bad=1; fi
}

# The kernel patches itself at each turn of a tracepoint while both CPUs run just
# there.  QEMU 7.2 with a thread for each CPU is stuck within fifty turns.
emulation() {
	# shellcheck disable=SC2016 # the guest's
	local patching='
for i in 1 2; do while :; do busybox true; done & done
cd /sys/kernel/tracing/events/task/task_rename || exit
for ((i = 0; i < 100; i++)); do echo 1 >enable; echo 0 >enable; echo "$i"; done'
	out=$(scripts/guest/guest.sh --timeout 600 --silent 40 -- bash -c "$patching" 2>&1)
	[[ $? == 0 && ${out##*$'\n'} == 99 ]]
	ok $? "a kernel that patches itself goes on"
}
if [[ ${1:-} == --emulation ]]; then
	emulation
	exit "$bad"
fi

# --- guests that get nowhere -------------------------------------------------

# A guest gets 20 s here, 40 in check.sh: with what it takes to be sure that it is stuck,
# and to tell why, that stays within a minute.
silent=20

# guest TEXT STATUS COMMAND: with that status, and is that text printed in time after the
# last "alive"? An emulated guest may be told of an interrupt that it does not know, at any
# time, and print that: then it has not been silent.
guest() {
	local status=0 before now line
	scripts/guest/guest.sh --timeout 600 --silent $silent -- bash -c "$3" 2>&1 |
		while IFS= read -r line; do echo "$SECONDS $line"; done >"$work/out"
	status=${PIPESTATUS[0]} out=$(<"$work/out")
	before=$(grep -E 'alive|No irq handler' "$work/out" | tail -n 1) now=$(grep -m1 "$1" "$work/out")
	((status == $2 && ${now%% *} - ${before%% *} <= silent + 20))
}
guest 'printed nothing for' 124 'echo alive; sleep 500' &&
	[[ $out =~ RIP=ffffffff[0-9a-f]+ && $out =~ ffff[0-9a-f]{12}:' 0x' &&
		$out == *'Run /init as init process'* ]]
ok $? "a guest that says nothing is given up, and what it did is told"
guest 'Kernel panic' 125 'echo alive; echo c >/proc/sysrq-trigger; sleep 500'
ok $? "a panic is told"
out=$(scripts/guest/guest.sh --timeout 5 -- bash -c 'while :; do echo x; sleep 1; done' 2>&1)
[[ $? == 124 && $out == *'did not end within 5 s'* ]]
ok $? "a guest that does not end is given up"
# shellcheck disable=SC2016 # the guest's
out=$(scripts/guest/guest.sh -- bash -c 'read -rt 1 x <$DXK_STUCK; echo "$?"; exit 42' 2>&1)
[[ $? == 42 && $out == 142 ]]
ok $? "its status is the command's, and it is not told that it is stuck"

# --- a test that ends early ------------------------------------------------------

make -s -C selftests "$PWD/build/selftests/.obj/harness/kselftest_harness.h" \
	BUILD="$PWD/build" KSRC="$(scripts/guest/kernel.sh --tools)" &&
	gcc -O2 -isystem build/selftests/.obj/harness \
		-isystem "$(scripts/guest/kernel.sh --tools)/tools/testing/selftests" \
		-o "$work/early" -xc - <<'END'
#define _GNU_SOURCE
#include <kselftest_harness.h>
FIXTURE(test) {
	int up;
};
FIXTURE_SETUP(test)
{
	self->up = 1;
}
FIXTURE_TEARDOWN(test)
{
	TH_LOG("torn down %d", self->up);
}
TEST_F(test, fails)
{
	ASSERT_EQ(0, self->up);
}
TEST_HARNESS_MAIN
END
ok $? "a test is built"
out=$("$work/early" 2>&1)
[[ $? == 1 && $out == *"torn down 1"* && $out == *"not ok 1"* ]]
ok $? "a test that an assertion ends is torn down"

# --- a guest of one's own ----------------------------------------------------

share=$PWD/$work/share
mkdir -p "$share"
printf 'one\ntwo\n' >"$share/.stdin"
# shellcheck disable=SC2016 # the guest's
out=$(scripts/guest/guest.sh --share "$share" -- bash scripts/guest/guest-shell.sh "$modules" \
	"$share" bash -c 'cat; dxkctl list >"$SHARE/out"; exit 7')
[[ $? == 7 && $out == $'one\ntwo' && $(<"$share/out") == *STATE* && ! -e $share/.stdin ]]
ok $? "a command of one's own has the modules, its input, and a directory to write to"

# --- tests that get nowhere --------------------------------------------------

# They have the names of others, which tiers.txt knows.
rm -rf "$work/build"
mkdir -p "$work/build/selftests"
plant() {
	printf '#!/bin/bash\n%s\n' "$2" >"$work/build/selftests/$1"
	chmod +x "$work/build/selftests/$1"
}
run() {	# GLOB: of these; what kunit.py says of it is $out
	scripts/guest/guest.sh --timeout 600 --silent $silent --log "$work/console" -- \
		selftests/run.sh --build "$work/build" --tests "$1" "$modules" \
		>"$work/ktap" 2>"$work/err"
	status=$?
	out=$(python3 -B "$kunit" parse <"$work/ktap" 2>&1)
	summary=${out##*Testing complete. }
}
ends() { plant "$1" "echo 1..1; echo ok 1 - all is well"; }
plant abi 'echo 1..3; echo ok 1 one; echo "# because"; echo not ok 2 - two; echo "ok 3 # SKIP no"; exit 1'
plant charged 'echo "1..0 # SKIP no such thing"; exit 4'
plant command 'echo 1..2; echo ok 1 - one'
plant crew 'echo 1..1; kill -SEGV $$'
plant ctx 'echo 1..1; echo ok 1; echo "WARNING: CPU: 0 planted" >/dev/kmsg'
plant deadlock 'echo "ok 1 no plan"'
plant death 'echo 1..1; echo "ok 1 - it said so # 1"; exit 3'
plant lanes 'echo 1..1; echo "not ok 1 four # SKIP a directive"; exit 1'
plant join 'echo 1..1; echo "ok 1 - not skipped"; exit 4'
ends post
run '@(abi|charged|command|crew|ctx|deadlock|death|join|lanes|post)'
[[ $status == 0 && $summary == 'Ran 25 tests: passed: 15, failed: 8, skipped: 2' ]] &&
	for text in 'because' '[FAILED] two' 'planned 2 results, printed 1' \
		'killed by signal 11' 'CPU: 0 planted' '[FAILED] the kernel complained' \
		'[FAILED] printed no plan' 'ended with status 3 and no failing test' \
		'[FAILED] four' 'ended with status 4 and no failing test' \
		'[PASSED] all is well'; do
		[[ $out == *"$text"* ]] || { false; break; }
	done
ok $? "each kind of failure is told once, and no other"

plant abi 'echo 1..1; trap "" TERM; echo "# alive"; sleep 500; sleep 500'
ends post
run '@(abi|post)'
took='# abi.direct took ([0-9]+) ms'
[[ $status == 0 && $out == *'[FAILED] printed nothing any more'* && $out == *nanosleep* &&
	$out == *'[PASSED] all is well'* && $out =~ $took ]] &&
	((BASH_REMATCH[1] <= (silent + 20) * 1000))
ok $? "a test that hangs is told with the stacks of its threads, and the next one runs"

plant abi 'echo 1..2; echo ok 1; echo c >/proc/sysrq-trigger; sleep 500'
run '@(abi|post)'
# what it printed last may be lost with it, not what the kernel said
[[ $status == 125 && $(<"$work/err") == *'dxk-run: 2: abi.direct'*'Kernel panic'* ]]
ok $? "a test that kills the kernel is told"

# The parser stops reading at what a kernel says that found no root.
out=$(printf '%s\n' 'KTAP version 1' 'ok 1 a' '# | Kernel panic - not syncing: VFS: planted' \
	'not ok 2 b' | scripts/check/report.sh "$work" report)
[[ $? != 0 && $out == *'passed: 1, failed: 1'* ]]
ok $? "a result behind the last words of a kernel counts"

# --- a clone that others cannot search ----------------------------------------

# As below root's home, which is closed, or made by a root whose new directories are: tests
# that become other users reach what they need all the same.
closed=$work/closed/dxk
rm -rf "$work/closed"
mkdir -m 700 "$work/closed" "$closed"
mkdir -p "$closed/build/kernels"
cp -al VERSION dxk scripts selftests tools uapi "$closed/"
cp -al build/{lib,examples,tools,selftests} "$closed/build/"
cp -al "$modules" "$closed/build/kernels/stock"
"$closed/scripts/guest/guest.sh" --timeout 600 --silent 40 -- selftests/run.sh \
	--tests '@(tools-stop.sh|dxserve.sh)' build/kernels/stock >"$work/ktap" 2>"$work/err"
status=$?
out=$(python3 -B "$kunit" parse <"$work/ktap" 2>&1)
[[ $status == 0 && $out == *'[PASSED] tools-stop.sh.direct'* &&
	$out == *'[PASSED] dxserve.sh.direct'* && ${out##*Testing complete.} != *@(failed|crashed|errors)* ]]
ok $? "tests that become other users pass in a closed directory"
rm -rf "$work/closed"

exit "$bad"
