#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Loads the modules found below DIR, runs the test programs, unloads the modules.
# Prints KTAP (see the kernel's Documentation/dev-tools/ktap.rst): a subtest for each
# program, which "kunit.py parse" reads.  Exit status 1 when not all was done that was
# to be done; whether the tests passed is for who reads the results.
#
#   run.sh [options] DIR
#   run.sh --kunit DIR
#
#   --build DIR      user-space build directory (build)
#   --tier T         what tiers.txt has in this column (check)
#   --tests GLOB     only programs whose names match, whatever the tier
#   --mode M         direct, thread or both dispatch modes, whatever the tier
#   --kunit DIR      before that, the KUnit suites of the dxk.ko there, built with them
#   --here           on this machine: DIR's modules, if they are not loaded already
#
# A test program is an executable in BUILD/selftests that has a line in tiers.txt.  It
# prints TAP, reads the mode from DXK_DISPATCH, finds the modules' directory in
# DXK_MODULES and may end with 4 when it skipped all.
#
# There is no limit on how long a program may take.  Who watches what is printed here
# sends a line to $DXK_STUCK when nothing comes any more: the program that runs is shown
# with the kernel's stacks, ended, and has failed.
set -uo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
build=$root/build tier=check tests='' mode='' kunit='' machine='' dir=''

while (($#)); do
	case $1 in
	--build) build=$2; shift ;;
	--tier) tier=$2; shift ;;
	--tests) tests=$2; shift ;;
	--mode) mode=$2; shift ;;
	--kunit) kunit=$2; shift ;;
	--here) machine=1 tier=here ;;
	-h | --help) sed -n '4,26s/^# \{0,1\}//p' "$0"; exit 0 ;;
	-*) echo "run.sh: unknown option $1" >&2; exit 2 ;;
	*) dir=$1 ;;
	esac
	shift
done
for d in $dir $kunit; do
	[[ -d $d ]] || { echo "run.sh: no directory with modules: $d" >&2; exit 2; }
done
[[ -n $dir || -n $kunit ]] || { echo "run.sh: no directory with modules" >&2; exit 2; }
dxk=''
if [[ -n $dir ]]; then
	dir=$(cd "$dir" && pwd)
	dxk=$(find "$dir" -name dxk.ko | head -n 1)
fi

# --- results ----------------------------------------------------------------

# Starting a dynamic program takes the emulated debug kernel 0.3 s, a static
# one half of that, a function of bash nothing: hence busybox, and no process
# that can be done without.

complaints=$("$root/scripts/check/check-log.sh" --pattern)
now() { echo $((${EPOCHREALTIME/./} / 1000)); }

# new_messages: what the kernel said since the last time. A machine's log is not ours to
# clear.
new_messages() {
	if [[ -z $machine ]]; then
		busybox dmesg -c
	else
		busybox dmesg | busybox awk -v mark="dxk-run: $marks:" '
			index($0, mark) { text = ""; next }
			{ text = text $0 "\n" }
			END { printf "%s", text }'
	fi
}

marks=0
begin() {
	echo "dxk-run: $((++marks)): $1" >/dev/kmsg
	# the empty line ends what somebody who was left over has begun
	printf '\n\001begin %s\n' "$1"
	started=$(now)
}

wrong() { printf '\n\001wrong %s\n' "$*"; }

# end STATUS: what the kernel said since begin() counts for the program, too.  The empty
# lines end a last line that has no end.
end() {
	local took=$(($(now) - started))
	echo
	new_messages >"$work/dmesg"
	# where it is looked at a second time the exceptions are known
	if busybox grep -qE -e "$complaints" "$work/dmesg" &&
		! "$root/scripts/check/check-log.sh" "$work/dmesg" >"$work/complaints"; then
		busybox sed 's/^/# | /' "$work/complaints"
		wrong "the kernel complained"
	fi
	printf '\n\001end %s %s\n' "$1" "$took"
}

tap() {
	local status=$1
	shift
	n=$((n + 1))
	if ((status == 0)); then echo "ok $n $*"; else echo "not ok $n $*"; fi
	return "$status"
}

# --- programs ---------------------------------------------------------------

# Who watches may have told so of a program that has just ended.
forget() { while read -rt 0 -u 8; do read -rn 1 -u 8; done; }

# kin PID: those of its process group, and what it has forked into a group of their own
kin() {
	local p stat parent group
	for p in /proc/[0-9]*; do
		stat=$(busybox cat "$p/stat" 2>/dev/null)
		# after the name, which may be anything: the state, and then
		read -r _ parent group _ <<<"${stat##*) }"
		[[ $parent != "$1" && $group != "$1" ]] || echo "${p#/proc/}"
	done
}
# stacks KIN: theirs, and those of threads that are in dxk; and what the contexts show
stacks() {
	local p
	for p in /proc/[0-9]*; do
		[[ $p/stat -ef /proc/self/stat ]] && continue
		case " $1 " in
		*" ${p#/proc/} "*) ;;
		*) busybox grep -q dxk "$p/stack" 2>/dev/null || continue ;;
		esac
		echo "# ${p#/proc/} $(<"$p/comm"):"
		busybox sed 's/^/#   /' "$p"/task/*/stack
	done
	for p in /sys/kernel/dxk/[0-9]*; do
		busybox grep -r . "$p"/{state,waiting,keys,pools,stats,threads} |
			busybox grep -v ':0$' | busybox head -n 100 | busybox sed 's,^/sys/kernel/,#   ,'
	done
} 2>/dev/null

# Runs a program in a process group of its own.  Sets $status; fails when not even
# SIGKILL ends it, then the kernel is of no use any more.
run_program() {
	local pid guard kin
	forget
	set -m
	"$@" </dev/null 2>&1 8<&- &
	pid=$!
	set +m
	(read -r _ <&8) &
	guard=$!
	wait -n "$pid" "$guard"
	status=$?
	if kill "$guard" 2>/dev/null; then
		wait "$guard" 2>/dev/null
		# its children
		kill -KILL -- "-$pid" 2>/dev/null
		return 0
	fi
	echo
	kin=$(kin "$pid")
	kin=${kin//$'\n'/ }
	stacks "$kin"
	wrong "printed nothing any more (above: the kernel's stacks of its threads and dxk's)"
	kill -TERM -- "-$pid" 2>/dev/null
	busybox sleep 0.5
	# shellcheck disable=SC2086 # pids
	kill -KILL -- "-$pid" $kin 2>/dev/null
	busybox sleep 4 &
	guard=$!
	wait -n "$pid" "$guard" 2>/dev/null
	status=137
	if [[ ! -e /proc/$pid || $(</proc/"$pid"/stat) == *") Z "* ]]; then
		kill "$guard" 2>/dev/null
		return 0
	fi
	wrong "cannot be killed"
	return 1
} 2>/dev/null

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

# --- KUnit ------------------------------------------------------------------

# The suites run inside of insmod; what the kernel says meanwhile is told there, for
# all of them.
kunit() {
	local results=/sys/kernel/debug/kunit suite suites hangs
	n=0
	begin insmod
	# what the kernel prints meanwhile shows that it goes on
	cat /dev/kmsg | sed -un 's/^[^;]*; *\(\(not \)\?ok [0-9].*\|# Subtest.*\)/# \1/p' &
	run_program load "$(find "$kunit" -name dxk.ko | head -n 1)"
	hangs=$?
	kill %?kmsg
	tap "$status" "insmod dxk.ko with its suites"
	echo "1..$n"
	end "$status"

	# The sources say which suites there should be: one that was not linked,
	# or not run, is missed.
	suites=$(sed -n 's/^\t\.name = "\(dxk_[a-z_]*\)",$/\1/p' "$root"/dxk/*/tests/*_test.c)
	[[ -n $suites ]] || { echo "run.sh: no file names a suite" >&2; return 1; }
	for suite in $suites; do
		# complete, other than the ring buffer of the kernel's log
		if busybox grep -qE '^ +(not )?ok ' "$results/$suite/results" 2>/dev/null; then
			printf '\001suite %s\n' "$suite"
			cat "$results/$suite/results"
			printf '\001end\n'
		else
			begin "$suite"
			wrong "the suite did not run, or has no results"
			end 0
		fi
	done

	((hangs == 0)) || return
	n=0
	begin rmmod
	busybox rmmod dxk
	tap $? "rmmod dxk"
	echo "1..$n"
	end 0
}

# --- kselftests -------------------------------------------------------------

own_modules() {
	local f
	find "$dir" -name '*.ko' | sort | while read -r f; do
		[[ $(name_of "$f") == dxk ]] || echo "$f"
	done
}

loaded=()
load_all() {
	local ko
	n=0
	begin load
	[[ -n $dxk || -e /sys/module/dxk ]] || wrong "dxk.ko is neither loaded nor built"
	for ko in $dxk $(own_modules); do
		[[ -z $machine || ! -e /sys/module/$(name_of "$ko") ]] || continue
		load "$ko"
		tap $? "insmod $(basename "$ko")" && loaded=("$(name_of "$ko")" "${loaded[@]}")
	done
	((n)) || { echo "ok 1 the modules were loaded before"; n=1; }
	echo "1..$n"
	end 0
}

# What must not be there after rmmod
gone() {
	local p comm turn threads
	[[ ! -e /sys/module/dxk ]]
	tap $? "/sys/module/dxk is gone"
	[[ ! -e /sys/kernel/dxk ]]
	tap $? "/sys/kernel/dxk is gone"
	[[ ! -e /dev/dxk ]]
	tap $? "/dev/dxk is gone"
	# kernel threads have no executable; one that has ended is seen for a moment more
	for turn in {1..40}; do
		threads=''
		for p in /proc/[0-9]*/comm; do
			{ read -r comm <"$p"; } 2>/dev/null || continue
			[[ $comm != dxk* || -e ${p%comm}exe ]] || threads+=" $comm"
		done
		[[ -n $threads ]] || break
		busybox sleep 0.05
	done
	[[ -z $threads ]] || echo "#$threads, after $turn looks"
	[[ -z $threads ]]
	tap $? "no kernel thread is left"
}

unload_all() {
	local module leaks
	((${#loaded[@]})) || return 0
	n=0
	begin unload
	for module in "${loaded[@]}"; do
		busybox rmmod "$module"
		tap $? "rmmod $module"
	done
	[[ -e /sys/module/dxk && -n $machine ]] || gone
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
	end 0
}

# plan: the programs of this tier or those asked for, with their modes, to $planned
planned=()
plan() {
	local name cells column='' i m
	while read -r name cells; do
		read -ra cells <<<"$cells"
		if [[ $name == '#' && ${cells[0]-} == program ]]; then
			for ((i = 1; i < ${#cells[@]}; i++)); do
				[[ ${cells[i]} != "$tier" ]] || column=$((i - 1))
			done
			continue
		fi
		[[ $name != '#'* && -n $name ]] || continue
		[[ -n $column ]] || { echo "run.sh: there is no tier $tier" >&2; return 2; }
		m=${cells[column]}
		# shellcheck disable=SC2053 # it is a pattern
		if [[ -n $tests ]]; then
			[[ $name == $tests ]] || continue
			[[ $m != - ]] || m=direct
		fi
		[[ $m != - ]] || continue
		m=${mode:-$m}
		case $m in
		direct | thread | both) ;;
		*) echo "run.sh: $name: there is no mode $m" >&2; return 2 ;;
		esac
		[[ $m == both ]] && m='direct thread'
		planned+=("$name $m")
	done <"$here/tiers.txt"
	((${#planned[@]})) || { echo "run.sh: there is no such program: $tests" >&2; return 2; }
}

programs() {
	local row name m useless
	load_all
	for row in "${planned[@]}"; do
		name=${row%% *}
		for m in ${row#* }; do
			begin "$name.$m"
			useless=0
			if [[ -x $build/selftests/$name ]]; then
				DXK_DISPATCH=$m run_program "$build/selftests/$name"
				useless=$?
			else
				wrong "was not built"
				status=0
			fi
			end "$status"
			((useless == 0)) || return 1
		done
	done
	unload_all
}

# Interrupted on a machine: nothing of it stays there.
# shellcheck disable=SC2317 # called by the trap
stop() {
	[[ -z ${pid-} ]] || kill -KILL -- "-$pid"
	unload_all
	exit 130
} >/dev/null 2>&1

# --- all of it --------------------------------------------------------------

[[ -z $dir ]] || plan || exit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [[ -n $machine ]] && compgen -G '/sys/kernel/dxk/[0-9]*' >/dev/null; then
	echo "run.sh: dxk is in use on this machine: dxkctl list shows by whom" >&2
	exit 2
fi
new_messages >/dev/null
memleak=/sys/kernel/debug/kmemleak
# This is refused when it is off; scans are asked for, not left to its thread.
if [[ -z $machine ]] && { echo scan=off >$memleak; } 2>/dev/null; then
	echo clear >$memleak
else
	memleak=''
fi
[[ -n $machine || ! -e /sys/kernel/debug/kcsan ]] || echo on >/sys/kernel/debug/kcsan
if [[ -n ${DXK_STUCK-} ]]; then
	exec 8<>"$DXK_STUCK"
else
	# nobody watches: a pipe that nothing comes from
	exec 8<> <(:)
fi
export DXK_MODULES=$dir LD_LIBRARY_PATH=$build/lib

[[ -z $machine ]] || trap : INT TERM HUP
{
	[[ -z $machine ]] || trap stop INT TERM HUP
	{ [[ -z $kunit ]] || kunit; } && { [[ -z $dir ]] || programs; }
} | busybox awk -f "$here/ktap.awk"
exit $((PIPESTATUS[0] | PIPESTATUS[1]))
