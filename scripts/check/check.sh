#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds and tests.  The last line is "N passed, N failed, N skipped"; exit status 1
# when one failed or none passed.  Results and logs are in build/check/TIER.
#
#   check.sh [options] [TIER]
#
#   check     (the default) builds, documents, packages' lint, and the test programs in a
#             guest with Debian's 6.1; no kernel of our own
#   debug     KUnit and the programs on abuse, failing memory, kills and races in a guest
#             with the debug kernel; on 6.1 what "check" left out
#   matrix    all programs in the guests of all five kernels, and a table
#
#   --tests NAMES  only these test programs, names or globs
#   --jobs NAMES   only these jobs of part host
#   --mode M       direct, thread or both dispatch modes (as selftests/tiers.txt says)
#   --only PART    of a tier: host, stock; debug, kunit, more; stock-6.12, kcsan, sid.
#                  May be repeated, and then need not be of that tier
#   --kmemleak     the debug guest with kmemleak and slab debugging (slower)
set -euo pipefail

cd "$(dirname "$0")/../.."
# The builds below are not parts of the make that called this script.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
# Tests become other users: what is built is for all.
umask 022
root=$PWD build=$PWD/build kernels=$PWD/build/kernels

tier=check only='' tests='' jobs='' named_jobs=() mode='' asan='' kmemleak=()
while (($#)); do
	case $1 in
	--tests) tests=$2; shift ;;
	--jobs) jobs=$2; shift ;;
	--mode) mode=$2; shift ;;
	--only) only+=" $2"; shift ;;
	--kmemleak) kmemleak=(--kmemleak) ;;
	check | debug | matrix) tier=$1 ;;
	-h | --help) sed -n '4,23s/^# \{0,1\}//p' "$0"; exit 0 ;;
	*) echo "check.sh: unknown option $1" >&2; exit 2 ;;
	esac
	shift
done
case $tier in
check) parts=' stock host ' ;;
debug) parts=' debug more ' ;;
matrix) parts=' stock debug stock-6.12 kcsan sid ' ;;
esac
# any NAME...: a glob for any of these names
any() { local IFS='|'; echo "@($*)"; }
# shellcheck disable=SC2086,SC2053 # words, and a pattern
if [[ -n $tests$jobs ]]; then
	set -f
	for name in $tests; do
		hits=''
		while read -r p _; do
			[[ $p == '#'* || $p != $name ]] || hits+=" $p"
		done <selftests/tiers.txt
		[[ -n $hits ]] || { echo "check.sh: there is no program $name" >&2; exit 2; }
		[[ $hits != *-asan* && $hits != *sanitizers* ]] || asan=1
	done
	read -ra named_jobs <<<"$jobs"
	parts=' '
	[[ -z $tests ]] || parts+="$([[ $tier == check ]] && echo stock || echo debug) "
	[[ -z $jobs ]] || parts+='host '
	tests=${tests:+$(any $tests)} jobs=${jobs:+$(any $jobs)}
	set +f
fi
[[ -z $only ]] || parts="$only "
part() { [[ $parts == *" $1 "* ]]; }
for p in $parts; do
	case $p in
	host | stock | more | debug | kunit | stock-6.12 | kcsan | sid) ;;
	*) echo "check.sh: there is no part $p" >&2; exit 2 ;;
	esac
done

check=$build/check/$tier
mkdir -p "$check" "$kernels"
# one run at a time: they share build/
exec 7>"$build/check/lock"
flock -n 7 || { echo "check.sh: another one is running in this tree" >&2; exit 1; }
rm -rf "${check:?}"/*

scripts/setup.sh 7>&-
scripts/guest/kernel.sh --tools >/dev/null 7>&-
newest() { compgen -G "/usr/src/linux-headers-$1.*-amd64" | sort -V | tail -n 1; }
# What the module is built with, per part.
declare -A kdir=([stock]=$(newest 6.1) [stock-6.12]=$(newest 6.12))

# --- what will take how long -------------------------------------------------

echo "check.sh: $(nproc) CPUs; guests are $(scripts/guest/guest.sh --has-kvm &&
	echo "run by KVM" || echo "emulated, there is no KVM"). On two quiet CPUs, emulated:"
for p in $parts; do
	case $p in
	stock) text="builds, then a guest: 6 minutes" ;;
	host) text="beside the guest: 5 minutes" ;;
	more) text="builds, then a guest: 7 minutes" ;;
	debug) text="beside the guest more: 12 minutes" ;;
	kunit) text="2 minutes" ;;
	*) text="an hour" ;;
	esac
	[[ -z $tests$jobs ]] || text="what was asked for"
	echo "  $p: $text"
done
for p in debug kcsan sid; do
	! part $p || scripts/guest/kernel.sh --$p --path >/dev/null 2>&1 ||
		echo "  before that, once: its kernel is built for $p, 5-10 minutes"
done

# does the debug guest run KUnit, too?
with_kunit() { [[ -z $tests && $tier != matrix ]]; }

# A failure that no report has
failure() {
	echo "$*"
	echo "$*" >>"$check/failures"
}

# --- jobs on the host -------------------------------------------------------

needed=1	# even where --jobs names others
# job NAME COMMAND...: one test; what it prints is kept, shown when it fails.
# Status 4 is a skip.  All lanes write to one report, which counts.
job() {
	local name=$1 status=0 begin=$SECONDS verdict='' log=$check/$1.log
	shift
	# shellcheck disable=SC2053 # a pattern
	[[ -z $jobs || $name == $jobs || -n $needed ]] || return 0
	"$@" >"$log" 2>&1 </dev/null 6>&- 7>&- || status=$?
	case $status in
	0) verdict="ok 0 $name" ;;
	4) verdict="ok 0 $name # SKIP $(tail -n 1 "$log")" ;;
	*) verdict=$(tail -n 25 "$log" | sed 's/^/# | /' && echo "not ok 0 $name") ;;
	esac
	(
		flock 9
		printf '# %s took %d ms\n%s\n' "$name" $(((SECONDS - begin) * 1000)) \
			"$verdict" >&6
	) 9>"$check/lock"
	((status == 0 || status == 4))
}
number() {
	busybox awk '/^(not )?ok 0 / { sub(/0/, ++n) } { print; fflush() }'
}

# Where KUnit is off its suites would be built, loaded, and never run.
refuse_kunit() {
	local to=$kernels/stock-kunit
	! scripts/build-module.sh "${kdir[stock]}" "$to" DXK_KUNIT=y || {
		echo "the suites were built for a kernel without KUnit"
		return 1
	}
	grep -q 'KUnit suites need a kernel with CONFIG_KUNIT' "$to.log"
}

# C=2 runs sparse on every file and compiles none again.  Complaints about the
# kernel's own headers are not ours.
check_sparse() {
	local dir=$1 to=$2
	make -C "$dir" M="$to" C=2 CHECK=sparse modules >"$to.sparse" 2>&1 || {
		cat "$to.sparse"
		return 1
	}
	grep -q '^ *CHECK ' "$to.sparse" || { echo "sparse looked at nothing"; return 1; }
	! grep -E '^([^ ]*/)?(dxk|uapi)/[^ ]*: *(warning|error|note):' "$to.sparse"
}

# Which room of the module uses which; and is a violation found?
check_layers() {
	scripts/check/layers.sh --self-test && scripts/check/layers.sh . "$kernels/stock"
}

# has_options FILE CONFIG...: one of these kernels has what the file says is needed
has_options() {
	local file=$1
	shift
	grep -q '^CONFIG' "$file" && cat "$@" >/dev/null &&
		! grep '^CONFIG' "$file" | grep -vxF -f <(cat "$@")
}

# The debug kernel runs the suites, and the programs as well as the stock kernel does.
check_config() {
	local debug=${kdir[debug]}/.config
	has_options dxk/.kunitconfig "$debug" &&
		has_options selftests/config "$debug" "${kdir[stock]}/.config"
}

# build_user TARGET...: an earlier build may have been made for its owner alone
build_user() {
	make -j"$(nproc)" "$@" && chmod -R go+rX "$build"/{lib,examples,tools,selftests}
}

check_abi() {
	scripts/check/abi.py --self-test "$build" && scripts/check/abi.py "$build"
}

host_jobs() {
	local t
	job module-stock-6.12 scripts/build-module.sh "${kdir[stock-6.12]}" \
		"$kernels/stock-6.12" || :
	for t in stock stock-6.12; do
		job "sparse-$t" check_sparse "${kdir[$t]}" "$kernels/$t" || :
	done
	job module-stock-kunit refuse_kunit || :
	job layers check_layers || :
	job ids scripts/check/ids.sh || :
	job abi check_abi || :
	job style scripts/check/style.sh --self-test || :
	job compile-commands scripts/compile-commands.py "$kernels/stock" "$build" \
		"${kdir[stock]}" "$build/compile_commands.json" || :
	for t in suites threads simulator; do
		job "native-$t" scripts/check/native.sh "$t" || :
	done
	job plants scripts/plants/plants.py --check || :
	job mutants scripts/mutants/mutants.py --self-test || :
	job history-unit "$build/selftests/history_unit" || :
	job remote scripts/check/remote.sh --modules "$kernels/stock" || :
	job check-log scripts/check/check-log.sh --self-test || :
	for t in man html kernel-doc source; do
		job "doc-$t" make -C Documentation BUILD="$build" "check-$t" || :
	done
	job packages scripts/check/check-packages.sh --lint || :
	job guest scripts/check/check-guest.sh || :
}

# --- jobs in guests ---------------------------------------------------------

# guest NAME GUEST-OPTIONS... -- RUN-OPTIONS...: what prints nothing for so long, by the
# clock of this machine, is stuck.
guest() {
	local name=$1 options=() status=0 silent=60
	shift
	while [[ $1 != -- ]]; do options+=("$1"); shift; done
	shift
	case $name in debug | kunit | kcsan) silent=90 ;; esac
	[[ $tier != matrix || $name == kunit ]] || set -- "$@" --tier full
	[[ -z $tests ]] || set -- "$@" --tests "$tests"
	[[ -z $mode ]] || set -- "$@" --mode "$mode"
	echo "guest $name boots (log: ${check#"$root"/}/$name.ktap, .console)"
	case $name in
	kunit) ;;
	more) set -- "$@" build/kernels/stock ;;
	*) set -- "$@" "build/kernels/$name" ;;
	esac
	: >"$check/$name.report"	# missed if nobody writes it
	scripts/guest/guest.sh "${options[@]}" --timeout 4200 --silent "$silent" \
		--log "$check/$name.console" -- selftests/run.sh "$@" 2>"$check/$name.log" 7>&- |
		scripts/check/report.sh "$check" "$name" || status=${PIPESTATUS[0]}
	if ((status)); then
		failure "guest $name: ended with status $status"
		tail -n 70 "$check/$name.log" | sed 's/^/    /'
	fi
	if ! scripts/check/check-log.sh "$check/$name.console" >"$check/$name.complaints" &&
		! grep -q 'the kernel complained' "$check/$name.ktap"; then
		# from boot, or from between two programs
		failure "guest $name: complaints of the kernel in its console"
		sed -n '1,40s/^/    | /p' "$check/$name.complaints"
	fi
}

# run_guest PART.  What cannot run because its build failed is a failure, too.
run_guest() {
	local p=$1 need needs="$1 user" kunit=()
	case $p in
	more) needs='stock user' ;;
	kunit) needs=kunit ;;
	debug) ! with_kunit || needs='debug kunit user' kunit=(--kunit build/kernels/kunit) ;;
	esac
	for need in $needs; do
		[[ -z ${built[$need]:-} ]] || continue
		failure "guest $p: not run, what it needs was not built"
		return
	done
	case $p in
	stock*) guest "$p" --kernel "$p" -- --tier check ;;
	more) DXK_ROUNDS=${DXK_ROUNDS:-20} guest "$p" --kernel stock -- --tier more ;;
	kunit) guest kunit --kernel "${kdir[$p]}" --mem 1536 -- --kunit build/kernels/kunit ;;
	*) guest "$p" --kernel "${kdir[$p]}" --mem 1536 "${kmemleak[@]}" -- --tier debug \
		"${kunit[@]}" ;;
	esac
}

# --- all of it --------------------------------------------------------------

declare -A built=()
# build PART...: the module that the guests of these load
build() {
	local p options
	for p in "$@"; do
		options=()
		[[ $p != kunit ]] || options=(DXK_KUNIT=y)
		! job "module-$p" scripts/build-module.sh "${kdir[$p]}" "$kernels/$p" \
			"${options[@]}" || built[$p]=1
	done
}

# A lane is parts, one after the other. The kernel that one needs is built there, and
# the other goes on.
own_kernel() {
	local needed=1
	case $1 in
	debug | kunit) kdir[debug]=$(scripts/guest/kernel.sh) && kdir[kunit]=${kdir[debug]} ;;
	kcsan | sid) kdir[$1]=$(scripts/guest/kernel.sh --"$1") ;;
	*) return 0 ;;
	esac || { failure "kernel $1: not built"; return 1; }
	build "$1"
	if [[ $1 == debug ]]; then
		job config check_config || :
		! with_kunit || build kunit
	fi
}
lane() {
	local p
	for p in "$@"; do
		part "$p" || continue
		if [[ $p == host ]]; then
			host_jobs
		elif own_kernel "$p"; then
			run_guest "$p"
		fi
	done
}

pids=()
# shellcheck disable=SC2317 # called by the trap
end_lanes() {
	local pid
	((BASHPID == $$)) || return 0
	for pid in "${pids[@]}"; do kill -- "-$pid" 2>/dev/null || :; done
}
trap end_lanes EXIT
trap 'exit 130' INT TERM HUP

# start COMMAND...: in the background.  -m gives it a process group, which can be ended
# as a whole.
start() {
	set -m
	"$@" 7>&- &
	pids+=($!)
	set +m
}

: >"$check/host.report"
exec 6> >(number | scripts/check/report.sh "$check" host)
reporter=$!
echo "KTAP version 1" >&6
if [[ $parts != ' kunit ' ]]; then build stock; fi
! part stock-6.12 || build stock-6.12
user=(lib examples tools selftests)
[[ $tier != matrix ]] && ! part more || asan=1
[[ -z $asan ]] || user+=(selftests-asan)
[[ $parts == ' kunit ' ]] || ! job user-space build_user "${user[@]}" || built[user]=1

needed=''
# two CPUs, two lanes, since a guest often waits
start lane stock more stock-6.12 sid
start lane host kunit debug kcsan
for pid in "${pids[@]}"; do wait "$pid" || failure "a lane ended with status $?"; done
pids=()
exec 6>&-
wait "$reporter" || :

for name in "${named_jobs[@]}"; do
	compgen -G "$check/$name.log" >/dev/null || failure "there is no job $name"
done
[[ $tier != matrix ]] || scripts/check/matrix.py "$check" || failure "matrix.py: see above"

echo "where the time went (s):"
sed -nE 's/^ *# (.*) took ([0-9]+) ms$/\2 \1/p' "$check"/*.ktap | sort -rn |
	busybox awk 'NR <= 12 { printf "  %6.1f  %s\n", $1 / 1000, $2 }'
echo "  $((SECONDS)).0  from begin to end"
sed -nE 's/^ *ok [0-9]+ (.*) # SKIP */\1: /p' "$check"/*.ktap | sort >"$check/skipped"
[[ ! -s $check/skipped ]] || echo "skipped, and why: ${check#"$root"/}/skipped"
# Last, so that the end of a log names them, and says why: what a failed program, or job,
# printed but for its tests that passed.
{
	for f in "$check"/*.ktap; do
		busybox awk -v part="$(basename "$f" .ktap)" '
			/^(not )?ok / {
				for (i = n > 12 ? n - 12 : 0; /^not/ && i < n; i++)
					print "    " said[i]
				n = 0
			}
			sub(/^ *not ok [0-9]+ /, "") { print "failed: " part " " $0; next }
			/#  RUN / { mark = n }
			/# +OK / { n = mark; next }
			/^ *(ok |KTAP |1\.\.|#   \[<|# (Subtest|Starting|Totals)|# .* took )/ { next }
			{ said[n++] = $0 }' "$f"
	done
	[[ ! -e $check/failures ]] || sed 's/^/failed: /' "$check/failures"
} | head -n 60

# The last line of each report: "[12:34:56] Testing complete. Ran 7 tests: passed: 5, failed:
# 2".  What the tests printed is never at the begin of a line.
{
	for f in "$check"/*.report; do
		grep -aE '^\[[0-9:]+\] Testing complete\. Ran [1-9]' "$f" || echo "failed: 1"
	done
	[[ ! -e $check/failures ]] || sed 's/.*/failed: 1/' "$check/failures"
} | busybox awk '
	function count(what) { return match($0, what ": [0-9]+") ?
		substr($0, RSTART + length(what) + 2, RLENGTH - length(what) - 2) : 0 }
	{
		p += count("passed"); s += count("skipped")
		f += count("failed") + count("crashed") + count("errors")
	}
	END { printf "%d passed, %d failed, %d skipped\n", p, f, s
	      exit f > 0 || p == 0 }' | tee "$check/counts"
