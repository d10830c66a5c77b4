#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds everything for every kernel and runs all tests.  The last line is
# "N passed, N failed, N skipped"; exit status 1 when one failed or none
# passed.  Logs are in build/check.
#
#   check.sh [options]
#
#   --only PART    host, stock, debug, kunit or fuzz, or of the matrix stock-6.12,
#                  kcsan or sid; may be repeated
#   --matrix       the guests of all kernels, with the same programs, and a table
#   --tests GLOB   only the guests' test programs whose names match
#   --mode M       direct, thread or both dispatch modes (both)
#   --all          also what is left out for time: all programs in both modes
#   --strict       a program that fails has failed, though it may pass the next time
#   --timeout S    seconds a test program may take (stock 240, others 420)
#   --kmemleak     the debug guest with kmemleak and slab debugging (slower)
set -euo pipefail

cd "$(dirname "$0")/.."
# The builds below are not parts of the make that called this script.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
root=$PWD build=$PWD/build check=$PWD/build/check

only='' matrix='' tests='*' mode=both limit='' all=() again=2 kmemleak=()
while (($#)); do
	case $1 in
	--only) only+=" $2"; shift ;;
	--matrix) matrix=1 ;;
	--tests) tests=$2; shift ;;
	--mode) mode=$2; shift ;;
	--all) all=(--all) ;;
	--strict) again=0 ;;
	--timeout) limit=$2; shift ;;
	--kmemleak) kmemleak=(--kmemleak) ;;
	-h | --help) sed -n '4,19s/^# \{0,1\}//p' "$0"; exit 0 ;;
	*) echo "check.sh: unknown option $1" >&2; exit 2 ;;
	esac
	shift
done
if [[ -z $only ]]; then
	parts=' host stock debug kunit fuzz '
	[[ -z $matrix ]] || parts+='stock-6.12 kcsan sid '
else
	parts="$only "
fi
part() { [[ $parts == *" $1 "* ]]; }
for p in $parts; do
	case $p in
	host | stock | debug | kunit | fuzz | stock-6.12 | kcsan | sid) ;;
	*) echo "check.sh: there is no part $p" >&2; exit 2 ;;
	esac
done

mkdir -p "$check"
# one run at a time: they share build/
exec 7>"$check/lock"
flock -n 7 || { echo "check.sh: another one is running in this tree" >&2; exit 1; }
rm -rf "$check"/*.{log,out,console,results} "$check"/{times,unsteady}
results=$check/results.results
: >"$results"

scripts/setup.sh 7>&-
newest() { compgen -G "/usr/src/linux-headers-$1.*-amd64" | sort -V | tail -n 1; }
# What the module is built with, per part.
declare -A kdir=([stock]=$(newest 6.1) [stock-6.12]=$(newest 6.12))
if part debug || part kunit || part host; then
	kdir[debug]=$(scripts/kernel.sh 7>&-)
	kdir[kunit]=${kdir[debug]}
fi
for p in kcsan sid; do
	! part $p || kdir[$p]=$(scripts/kernel.sh --$p 7>&-)
done

# --- jobs on the host -------------------------------------------------------

# job NAME COMMAND...: one test; what it prints is kept, shown when it fails.
# Status 4 is a skip.
job() {
	local name=$1 status=0 start=$SECONDS verdict counts
	shift
	"$@" >"$check/$name.log" 2>&1 </dev/null 7>&- || status=$?
	case $status in
	0) verdict='passed' counts='1 0 0' ;;
	4) verdict='skipped' counts='0 0 1' ;;
	*) verdict='FAILED' counts='0 1 0' ;;
	esac
	echo "$counts" >>"$results"
	echo "$((SECONDS - start)) host $name" >>"$check/times"
	printf '%-6s %-7s %-28s %s (%d s)\n' host - "$name" "$verdict" \
		$((SECONDS - start))
	if ((status != 0 && status != 4)); then
		tail -n 25 "$check/$name.log" | sed 's/^/    | /'
		return 1
	fi
}

# Each kernel gets its own copy of the module's source, so that the builds
# disturb neither each other nor the work tree.  What has not changed is not
# built again.
copy_source() {
	local to=$1 f
	mkdir -p "$to"
	cp -pRu VERSION Kbuild dxk uapi "$to/"
	# A module that Kbuild does not name any more must not be tested.
	find "$to" -name '*.ko' -delete
	# files that are gone from the tree
	(cd "$to" && find Kbuild dxk uapi -type f \
		\( -name '*.[chS]' -o -name 'Kbuild*' -o -name 'Makefile*' \) \
		! -name '*.mod.c') | while read -r f; do
		[[ -e $f ]] || rm -f "$to/$f"
	done
}

# build_module KDIR COPY [VARIABLE=VALUE...]
# W=1 and no warning.  A build that warned is thrown away: the next one would
# not compile the file again and so be silent.
build_module() {
	local kdir=$1 to=$2 log=$2.log
	copy_source "$to"
	if ! make -C "$kdir" M="$to" W=1 "${@:3}" -j"$(nproc)" modules >"$log" 2>&1 ||
		grep -E 'warning:|^WARNING:' "$log" | grep -v 'compiler differs'; then
		cat "$log"
		rm -rf "$to"
		return 1
	fi
	cat "$log"
	find "$to" -name dxk.ko | grep -q . || { echo "no dxk.ko was built"; return 1; }
}

# Where KUnit is off its suites would be built, loaded, and never run.
refuse_kunit() {
	local kdir=$1 to=$2
	copy_source "$to"
	! make -C "$kdir" M="$to" DXK_KUNIT=y modules >"$to.log" 2>&1 || {
		echo "the suites were built for a kernel without KUnit"
		return 1
	}
	cat "$to.log"
	grep -q 'KUnit suites need a kernel with CONFIG_KUNIT' "$to.log"
}

# C=2 runs sparse on every file and compiles none again.  Complaints about the
# kernel's own headers are not ours.
check_sparse() {
	local kdir=$1 to=$2
	make -C "$kdir" M="$to" C=2 CHECK=sparse modules >"$to.sparse" 2>&1 || {
		cat "$to.sparse"
		return 1
	}
	grep -q '^ *CHECK ' "$to.sparse" || { echo "sparse looked at nothing"; return 1; }
	! grep -E '^([^ ]*/)?(dxk|uapi)/[^ ]*: *(warning|error|note):' "$to.sparse"
}

build_user() {
	# A warning of an earlier build must not hide behind a finished object.
	# Only a full run pays for that.
	[[ -n $only ]] || rm -rf "${build:?}"/{lib,examples,tools,selftests}
	CFLAGS='-O2 -g -Wall -Wextra -Werror' make -j"$(nproc)" lib examples tools selftests
}

kernels=$build/kernels
mkdir -p "$kernels"

# build_for PART...: what the guests of these wait for
declare -A built
build_for() {
	local p options
	for p in "$@"; do
		part "$p" || part host || continue
		[[ -n ${kdir[$p]:-} ]] || continue
		options=()
		[[ $p != kunit ]] || options=(DXK_KUNIT=y)
		job "module-$p" build_module "${kdir[$p]}" "$kernels/$p" "${options[@]}" &&
			built[$p]=1
	done
}

# What nobody waits for
host_jobs() {
	local t
	job module-stock-kunit refuse_kunit "${kdir[stock]}" "$kernels/stock-kunit"
	for t in stock stock-6.12; do
		[[ -z ${built[$t]:-} ]] ||
			job "sparse-$t" check_sparse "${kdir[$t]}" "$kernels/$t"
	done
	for t in man html kernel-doc source; do
		job "doc-$t" make -C Documentation BUILD="$build" "check-$t"
	done
	job ids scripts/ids.sh
	job plants scripts/plants.py --check
	job check-log scripts/check-log.sh --self-test
	job guest scripts/check-guest.sh
	job packages scripts/check-packages.sh
}

# --- jobs in guests ---------------------------------------------------------

# guest NAME DIR LIMIT GUEST-OPTIONS... -- RUN-OPTIONS...: what its programs print
# goes through tap.awk.
guest() {
	local name=$1 dir=$2 limit=$3 options=() status=0
	shift 3
	while [[ $1 != -- ]]; do options+=("$1"); shift; done
	shift
	echo "guest $name boots (log: build/check/$name.out, .console)"
	scripts/guest.sh "${options[@]}" --timeout "$limit" \
		--log "$check/$name.console" -- "$root/selftests/run.sh" "$@" "$dir" \
		2>"$check/$name.log" | tee "$check/$name.out" |
		awk -v GUEST="$name" -v RESULTS="$check/$name.results" \
			-v TIMES="$check/times" \
			-v UNSTEADY="$check/unsteady" \
			-f scripts/tap.awk || status=${PIPESTATUS[0]}
	if ((status)); then
		echo "guest $name: ended with status $status"
		# the tests' own failures are counted already, the guest's death is not
		echo "0 1 0" >>"$check/$name.results"
		tail -n 70 "$check/$name.log" | sed 's/^/    /'
	elif ! scripts/check-log.sh "$check/$name.console" >"$check/$name.log" &&
		! grep -q '^@dmesg' "$check/$name.out"; then
		# not told yet: from boot, or from between two programs
		echo "guest $name: complaints of the kernel in its console"
		head -n 40 "$check/$name.log" | sed 's/^/    | /'
		echo "0 1 0" >>"$check/$name.results"
	fi
}

# run_guest PART.  What cannot run because its build failed is a failure, too.
run_guest() {
	local name=$1 kernel=(--kernel "${kdir[$1]}") need user=user slowest=420
	local options=("${all[@]}" --again "$again" --tests "$tests" --mode "$mode")
	case $name in
	kunit) user='' options=(--kunit) ;;
	debug) kernel+=(--mem 1536 "${kmemleak[@]}") ;;
	kcsan) kernel+=(--mem 1536) ;;
	stock*) kernel=(--kernel "$name") slowest=240 ;;
	esac
	for need in $name $user; do
		[[ -z ${built[$need]:-} ]] || continue
		echo "guest $name: not run, what it needs was not built"
		echo "0 1 0" >>"$check/$name.results"
		return
	done
	slowest=${limit:-$slowest}
	# a guest that does not even end what takes too long is not waited for
	guest "$name" "$kernels/$name" 4200 "${kernel[@]}" --silent $((slowest + 60)) \
		-- "${options[@]}" --timeout "$slowest"
}

# The corpus, then new inputs; how much that was is worth a line.
fuzz() {
	job fuzz scripts/fuzz.sh --fresh --seconds 60 || return
	sed -n 's/^fuzz: /    /p' "$check/fuzz.log"
}

# lane PART...: one after the other
lane() {
	local p
	for p in "$@"; do
		part "$p" || continue
		case $p in
		host) host_jobs || : ;;
		fuzz) fuzz || : ;;
		*) run_guest "$p" ;;
		esac
	done
}

pids=()
trap 'for pid in "${pids[@]}"; do kill -- "-$pid" 2>/dev/null || :; done' EXIT
trap 'exit 130' INT TERM HUP

# start PART...: a lane in the background.  -m gives it a process group, which can be
# ended as a whole.
start() {
	set -m
	lane "$@" 7>&- &
	pids+=($!)
	set +m
}

# For two CPUs: a guest often waits, and the third lane is there to use that.  The
# longest lane begins as soon as it can.
build_for debug kcsan || :
if [[ $parts != ' kunit ' && $parts != ' fuzz ' ]]; then
	job user-space build_user && built[user]=1
fi
start debug kcsan
build_for stock kunit stock-6.12 sid || :
start stock kunit stock-6.12 sid
start host fuzz
for pid in "${pids[@]}"; do wait "$pid" || echo "0 1 0" >>"$results"; done
pids=()

[[ -z $matrix ]] || scripts/matrix.py "$check" || echo "0 1 0" >>"$results"

[[ ! -e $check/unsteady ]] ||
	sed 's/^/unsteady, failed at first and ran again: /' "$check/unsteady"
echo "where the time went (s):"
sort -rn "$check/times" | awk '
	{ sum[$2] += $1; if (NR <= 12) longest = longest sprintf("  %5d  %s\n", $1, $2 " " $3 " " $4) }
	END { for (p in sum) printf "  %5d  all of %s\n", sum[p], p
	      printf "%s  %5d  from begin to end\n", longest, TOOK }' TOOK=$SECONDS

cat "$check"/*.results | awk '
	{ p += $1; f += $2; s += $3 }
	END { printf "%d passed, %d failed, %d skipped\n", p, f, s
	      exit f > 0 || p == 0 }'
