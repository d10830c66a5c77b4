#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs inside the guest: loads the modules found below DIR, runs the test
# programs in both dispatch modes, unloads the modules.
#
#   run.sh [options] DIR
#
#   --build DIR      user-space build directory (build)
#   --tests GLOB     only programs whose names match
#   --mode M         direct, thread or both (both)
#   --all            also what is left out for time
#   --again N        so many programs that fail may run again, each once (0)
#   --timeout S      seconds a program may take (120)
#   --kunit          report on the KUnit suites of a dxk.ko built with them instead
#
# A test program is an executable in BUILD/selftests whose name does not begin
# with "bench".  It prints TAP, reads the mode from DXK_DISPATCH, finds the
# modules' directory in DXK_MODULES and may end with 4 when it skipped all.
#
# Printed for scripts/check.sh, around the verbatim output of each program:
#   @begin NAME MODE
#   @dmesg LINE                         a complaint of the kernel
#   @fail TEXT                          anything else that went wrong
#   @again                              it failed, and runs again after this end
#   @end NAME MODE STATUS MILLISECONDS
#   @done                               all that was to be done was done
set -uo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
build=$root/build tests='*' mode=both limit=120 kunit='' all='' again=0 dir=''

while (($#)); do
	case $1 in
	--build) build=$2; shift ;;
	--tests) tests=$2; shift ;;
	--mode) mode=$2; shift ;;
	--timeout) limit=$2; shift ;;
	--kunit) kunit=1 ;;
	--all) all=1 ;;
	--again) again=$2; shift ;;
	-*) echo "run.sh: unknown option $1" >&2; exit 2 ;;
	*) dir=$1 ;;
	esac
	shift
done
[[ -d $dir ]] || { echo "run.sh: no directory with modules" >&2; exit 2; }
dir=$(cd "$dir" && pwd)
modes=("$mode")
[[ $mode != both ]] || modes=(direct thread)

now() { echo $((${EPOCHREALTIME/./} / 1000)); }

# Starting a dynamic program takes the emulated debug kernel 0.3 s, a static
# one half of that, a function of bash nothing: hence busybox, and no process
# that can be done without.
pattern=$("$root/scripts/check-log.sh" --pattern)
busybox dmesg -c >/dev/null

begin() {
	echo "dxk-run: $1 $2" >/dev/kmsg
	echo "@begin $1 $2"
	started=$(now)
}

# What the kernel said since begin() counts for the program, too.  The empty
# line ends a last line that has no end.
end() {
	local took=$(($(now) - started))
	echo
	busybox dmesg -c >/tmp/dmesg
	if busybox grep -qE -e "$pattern" /tmp/dmesg; then
		# there the exceptions are known
		"$root/scripts/check-log.sh" /tmp/dmesg | sed 's/^/@dmesg /'
	fi
	echo "@end $1 $2 $3 $took"
}

tap() {
	local status=$1
	shift
	n=$((n + 1))
	if ((status == 0)); then echo "ok $n $*"; else echo "not ok $n $*"; fi
	return "$status"
}

# Other modules of the kernel that a module of ours needs, then the module.
load() {
	local dep
	for dep in $(modinfo -F depends "$1" | tr , ' '); do
		[[ -e /sys/module/${dep//-/_} ]] || modprobe -q "$dep" || true
	done
	busybox insmod "$1"
}

name_of() {
	local n=${1##*/}
	n=${n%.ko}
	echo "${n//-/_}"
}

# Runs a program in a process group of its own with a time limit.  Sets
# $status; fails when not even SIGKILL ends it, then the guest is of no use.
run_program() {
	local pid guard late='' p
	set -m
	"$@" </dev/null 2>&1 &
	pid=$!
	set +m
	busybox sleep "$limit" &
	guard=$!
	wait -n "$pid" "$guard"
	status=$?
	if ! kill -0 "$guard" 2>/dev/null; then
		late=1
		kill -TERM -- "-$pid"
		busybox sleep 1
	fi
	# also its children
	kill -KILL -- "-$pid" 2>/dev/null
	if [[ -z $late ]]; then
		kill "$guard"
		wait "$guard" 2>/dev/null
		return 0
	fi
	busybox sleep 9 &
	wait -n "$pid" $! 2>/dev/null
	status=124
	[[ -e /proc/$pid && $(</proc/"$pid"/stat) != *") Z "* ]] || return 0
	echo
	for p in /proc/[0-9]*; do
		busybox grep -q dxk "$p/stack" 2>/dev/null || continue
		echo "# $(<"$p/comm"):"
		busybox sed 's/^/# /' "$p/stack"
	done
	echo "@fail cannot be killed"
	return 1
}

own_modules() {
	local f
	find "$dir" -name '*.ko' | sort | while read -r f; do
		[[ $(name_of "$f") == dxk ]] || echo "$f"
	done
}

dxk=$(find "$dir" -name dxk.ko | head -n 1)

# --- KUnit ------------------------------------------------------------------

if [[ -n $kunit ]]; then
	results=/sys/kernel/debug/kunit
	n=0
	# The suites run inside of insmod; what the kernel says meanwhile is told
	# here, for all of them.
	begin insmod kunit
	run_program load "$dxk"
	hangs=$?
	tap "$status" "insmod dxk.ko with its suites"
	echo "1..$n"
	end insmod kunit "$status"

	# The sources say which suites there should be: one that was not linked,
	# or not run, is missed.
	suites=$(sed -n 's/^\t\.name = "\(dxk_[a-z_]*\)",$/\1/p' "$root"/dxk/tests/*_test.c)
	[[ -n $suites ]] || echo "@fail no suite is named in dxk/tests"
	for suite in $suites; do
		begin "$suite" kunit
		# complete, other than the ring buffer of the kernel's log
		if [[ ! -e $results/$suite/results ]]; then
			echo "@fail the suite did not run"
		elif ! busybox grep -qE '^ +(not )?ok ' "$results/$suite/results"; then
			echo "@fail the suite has no results"
		else
			cat "$results/$suite/results"
		fi
		end "$suite" kunit 0
	done

	if ((hangs)); then
		echo "@fail the guest is given up after insmod"
		exit 1
	fi
	n=0
	begin rmmod kunit
	busybox rmmod dxk
	tap $? "rmmod dxk"
	echo "1..$n"
	end rmmod kunit 0
	echo "@done"
	exit 0
fi

# --- kselftests -------------------------------------------------------------

memleak=/sys/kernel/debug/kmemleak
# This is refused when it is off; scans are asked for, not left to its thread.
if { echo scan=off >$memleak; } 2>/dev/null; then
	echo clear >$memleak
else
	memleak=''
fi

loaded=()
n=0
begin load -
for ko in "$dxk" $(own_modules); do
	load "$ko"
	tap $? "insmod $(basename "$ko")" && loaded=("$(name_of "$ko")" "${loaded[@]}")
done
echo "1..$n"
end load - 0

# What one mode shows, and one kernel, needs no second, unless it is asked for.
# Scripts start programs by the hundred, which takes the emulated debug kernels ten
# times as long; what they and the sanitizers of user space watch is not the kernel.
# The dispatch mode is the engine's matter, and these have all of its moves.
slow='' kcsan=/sys/kernel/debug/kcsan
[[ ! -e /proc/lockdep && ! -e $kcsan ]] || slow=1
engine='@(deadlock|kill|lanes|moves|post|race|rejoin|relief|stop|work)'
spared() {	# PROGRAM MODE: the reason
	[[ -z $all ]] || return
	case $1 in
	*.sh | *-asan)
		[[ -z $slow ]] || { echo "left to the stock kernel"; return 0; }
		[[ $2 == "${modes[0]}" ]] || { echo "run in mode ${modes[0]}"; return 0; }
		;;
	*)
		# shellcheck disable=SC2053 # it is a pattern
		[[ -z $slow || $2 == "${modes[0]}" || $1 == $engine ]] || {
			echo "run in mode ${modes[0]}"
			return 0
		}
		;;
	esac
	return 1
}
[[ ! -e $kcsan ]] || echo on >$kcsan

export DXK_MODULES=$dir LD_LIBRARY_PATH=$build/lib
for program in "$build"/selftests/*; do
	name=${program##*/}
	[[ -f $program && -x $program && $name != bench* && $name != *.so* ]] || continue
	# shellcheck disable=SC2053 # it is a pattern
	[[ $name == $tests ]] || continue
	for m in "${modes[@]}"; do
		begin "$name" "$m"
		if reason=$(spared "$name" "$m"); then
			echo "1..0 # SKIP $reason"
			end "$name" "$m" 4
			continue
		fi
		DXK_DISPATCH=$m run_program "$program"
		useless=$?
		# Not what was killed or crashed: that is no matter of a moment.
		if ((status == 1 && again > 0)); then
			again=$((again - 1))
			echo
			echo "@again"
			end "$name" "$m" "$status"
			begin "$name" "$m"
			DXK_DISPATCH=$m run_program "$program"
			useless=$?
		fi
		end "$name" "$m" "$status"
		if ((useless)); then
			echo "@fail the guest is given up after $name $m"
			exit 1
		fi
	done
done

n=0
begin unload -
for module in "${loaded[@]}"; do
	busybox rmmod "$module"
	tap $? "rmmod $module"
done
[[ ! -e /sys/module/dxk ]]
tap $? "/sys/module/dxk is gone"
[[ ! -e /sys/kernel/dxk ]]
tap $? "/sys/kernel/dxk is gone"
[[ ! -e /dev/dxk ]]
tap $? "/dev/dxk is gone"
# kernel threads have no executable
threads=''
for p in /proc/[0-9]*/comm; do
	{ read -r comm <"$p"; } 2>/dev/null || continue
	[[ $comm != dxk* || -e ${p%comm}exe ]] || threads+=" $comm"
done
[[ -z $threads ]] || echo "#$threads"
[[ -z $threads ]]
tap $? "no kernel thread is left"
if [[ -n $memleak ]]; then
	# A fresh object counts as a leak only in the second scan, and one whose
	# address is still on some stack in none.
	sleep 6
	echo scan >$memleak
	echo scan >$memleak
	leaks=$(cat $memleak)
	[[ -z $leaks ]] || busybox sed 's/^/# /' <<<"$leaks"
	[[ -z $leaks ]]
	tap $? "nothing leaked"
fi
echo "1..$n"
end unload - 0
echo "@done"
