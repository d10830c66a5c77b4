#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds everything for every kernel and runs all tests.  The last line is
# "N passed, N failed, N skipped"; exit status 1 when one failed or none
# passed.  Logs are in build/check.
#
#   check.sh [options]
#
#   --only PART    host, stock, debug or kunit; may be repeated
#   --tests GLOB   only the guests' test programs whose names match
#   --mode M       direct, thread or both dispatch modes (both)
#   --timeout S    seconds a test program may take (stock 240, debug 900)
#   --kmemleak     the debug guest with kmemleak and slab debugging (slower)
set -euo pipefail

cd "$(dirname "$0")/.."
# The builds below are not parts of the make that called this script.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
root=$PWD build=$PWD/build check=$PWD/build/check

only='' tests='*' mode=both limit='' kmemleak=()
while (($#)); do
	case $1 in
	--only) only+=" $2"; shift ;;
	--tests) tests=$2; shift ;;
	--mode) mode=$2; shift ;;
	--timeout) limit=$2; shift ;;
	--kmemleak) kmemleak=(--kmemleak) ;;
	-h | --help) sed -n '4,14s/^# \{0,1\}//p' "$0"; exit 0 ;;
	*) echo "check.sh: unknown option $1" >&2; exit 2 ;;
	esac
	shift
done
part() { [[ -z $only || " $only " == *" $1 "* ]]; }

mkdir -p "$check"
# one run at a time: they share build/
exec 7>"$check/lock"
flock -n 7 || { echo "check.sh: another one is running in this tree" >&2; exit 1; }
rm -rf "$check"/*.{log,out,console,results}
results=$check/results.results
: >"$results"

scripts/setup.sh 7>&-
debug=''
if part debug || part kunit || part host; then
	debug=$(scripts/kernel.sh 7>&-)
fi
newest() { compgen -G "/usr/src/linux-headers-$1.*-amd64" | sort -V | tail -n 1; }
stock=$(newest 6.1)
stock612=$(newest 6.12)

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

have_stock='' have_debug='' have_kunit='' have_user=''
if part host || part stock; then
	job module-stock build_module "$stock" "$kernels/stock" && have_stock=1
fi
if part host; then
	job module-stock-6.12 build_module "$stock612" "$kernels/stock-6.12" || :
fi
if part host || part debug; then
	job module-debug build_module "$debug" "$kernels/debug" && have_debug=1
fi
if part host || part kunit; then
	job module-debug-kunit build_module "$debug" "$kernels/debug-kunit" \
		DXK_KUNIT=y && have_kunit=1
	job module-stock-kunit refuse_kunit "$stock" "$kernels/stock-kunit" || :
fi
if part host || part stock || part debug; then
	job user-space build_user && have_user=1
fi
if part host; then
	[[ -z $have_stock ]] ||
		job sparse-stock check_sparse "$stock" "$kernels/stock" || :
	[[ ! -d $kernels/stock-6.12 ]] ||
		job sparse-stock-6.12 check_sparse "$stock612" "$kernels/stock-6.12" || :
	for t in man html kernel-doc source; do
		job "doc-$t" make -C Documentation BUILD="$build" "check-$t" || :
	done
	job ids scripts/ids.sh || :
	job check-log scripts/check-log.sh --self-test || :
	job packages scripts/check-packages.sh || :
	for t in selftests/host/*.sh; do
		[[ -x $t ]] || continue
		job "host-$(basename "$t" .sh)" env BUILD="$build" "$t" || :
	done
fi

# --- jobs in guests ---------------------------------------------------------

# guest NAME DIR LIMIT GUEST-OPTIONS... -- RUN-OPTIONS...
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

# What cannot run because its build failed is a failure, too.
runs() {
	local need
	part "$1" || return
	for need in "${@:2}"; do
		[[ -n $need ]] && continue
		echo "guest $1: not run, what it needs was not built"
		echo "0 1 0" >>"$results"
		return 1
	done
}

pids=()
# -m gives each background job a process group, which can be ended as a whole.
trap 'for pid in "${pids[@]}"; do kill -- "-$pid" 2>/dev/null || :; done' EXIT
trap 'exit 130' INT TERM HUP

set -m
# One guest for each of two CPUs: the debug kernel takes longest, so the others
# follow each other beside it.
if runs debug "${have_debug:-}" "${have_user:-}"; then
	guest debug "$kernels/debug" 3600 --kernel "$debug" --mem 1536 \
		"${kmemleak[@]}" -- --tests "$tests" \
		--mode "$mode" --timeout "${limit:-900}" 7>&- &
	pids+=($!)
fi
todo=''
runs stock "$have_stock" "$have_user" && todo+=' stock'
runs kunit "$have_kunit" && todo+=' kunit'
for name in $todo; do
	case $name in
	stock) guest stock "$kernels/stock" 3600 -- --tests "$tests" --mode "$mode" \
		--timeout "${limit:-240}" ;;
	kunit) guest kunit "$kernels/debug-kunit" 900 --kernel "$debug" -- --kunit \
		--timeout "${limit:-600}" ;;
	esac
done 7>&- &
pids+=($!)
set +m
for pid in "${pids[@]}"; do wait "$pid" || echo "0 1 0" >>"$results"; done
pids=()

cat "$check"/*.results | awk '
	{ p += $1; f += $2; s += $3 }
	END { printf "%d passed, %d failed, %d skipped\n", p, f, s
	      exit f > 0 || p == 0 }'
