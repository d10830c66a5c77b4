#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Which lines of the module do the tests reach?  Builds dxk with gcov, runs the
# selftests in both modes and the KUnit suites in a guest with the kernel of the
# benchmarks (fast, it has gcov), and those tests that inject faults in one with the
# debug kernel.  Prints gcovr's table per file with the lines that nothing reached; it
# is kept in build/coverage/uncovered.txt, and in html/ there with the source.
#
#   coverage.sh [options]
#
#   --min P         exit 1 when less than P percent are covered (90)
#   --tests GLOB    only the test programs whose names match
#   --mode M        direct, thread or both (both)
#   --no-faults     not the guest with the debug kernel
#   --report        only the report, of the data of the last run
set -euo pipefail

cd "$(dirname "$0")/../.."
# The builds below are not parts of the make that called this script.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
build=$PWD/build out=$PWD/build/coverage

min=90 tests='!(*-asan)' mode=both faults=1 report=''
while (($#)); do
	case $1 in
	--min) min=$2; shift ;;
	--tests) tests=$2; shift ;;
	--mode) mode=$2; shift ;;
	--no-faults) faults='' ;;
	--report) report=1 ;;
	-h | --help) sed -n '4,17s/^# \{0,1\}//p' "$0"; exit 0 ;;
	*) echo "coverage.sh: unknown option $1" >&2; exit 2 ;;
	esac
	shift
done

mkdir -p "$out"
exec 7>"$out/lock"
flock -n 7 || { echo "coverage.sh: another one is running in this tree" >&2; exit 1; }

quiet() {
	"$@" >"$out/build.log" 2>&1 7>&- || { tail -n 30 "$out/build.log"; exit 1; }
}

# build_module KDIR NAME: the modules in build/kernels/NAME, and dxk.ko with its suites
# in kunit/ below it.  Both are linked of the same objects, whose counts add up.
build_module() {
	local kdir=$1 to=$build/kernels/$2
	mkdir -p "$to"
	cp -pRu VERSION Kbuild dxk uapi "$to/"
	quiet make -C "$kdir" M="$to" DXK_GCOV=y DXK_KUNIT=y -j"$(nproc)" modules
	mkdir -p "$to/kunit"
	mv "$to/dxk/dxk.ko" "$to/kunit/"
	quiet make -C "$kdir" M="$to" DXK_GCOV=y -j"$(nproc)" modules
	install -D -t "$to/plain/dxk" "$to/dxk/dxk.ko"
	install -D -t "$to/plain/dxk/executors" "$to/dxk/executors/dxk_executors.ko"
}

# guest NAME KERNEL TESTS: runs them and fetches the counts.
guest() {
	local name=$1 kernel=$2 tests=$3 to=$build/kernels/$1 status=0 judged=0
	local share=$out/$name
	rm -rf "$share"
	mkdir -p "$share"
	cat >"$share/run.sh" <<-END
		selftests/run.sh $([[ $name == gcov-debug ]] || echo "--kunit $to/kunit") \
			--tests '$tests' --mode $mode $to/plain || echo "\$?" >"$share/incomplete"
		# The counts of modules that are gone are kept.  These files have no size.
		cd /sys/kernel/debug/gcov$to || exit
		find . -name '*.gcda' | while read -r f; do
			busybox mkdir -p "$share/counts/\${f%/*}"
			busybox cat "\$f" >"$share/counts/\$f"
		done
	END
	echo "guest $name boots (log: build/coverage/$name.ktap, .console)"
	scripts/guest/guest.sh --kernel "$kernel" --mem 1536 --timeout 7200 --silent 120 \
		--share "$share" \
		--log "$out/$name.console" -- bash "$share/run.sh" 2>"$out/$name.log" 7>&- |
		scripts/check/report.sh "$out" "$name" || status=${PIPESTATUS[0]} judged=1
	if ((status)) || [[ ! -s $share/counts/dxk/main.gcda ]]; then
		tail -n 30 "$out/$name.log"
		echo "coverage.sh: guest $name ended with status $status" >&2
		exit 1
	fi
	# what they reached is told all the same
	((!judged)) && [[ ! -e $share/incomplete ]] ||
		{ echo "coverage.sh: tests failed in guest $name" >&2; failed=1; }
}

guests=(gcov) failed=0
[[ -z $faults ]] || guests+=(gcov-debug)
if [[ -z $report ]]; then
	scripts/setup.sh 7>&-
	bench=$(scripts/guest/kernel.sh --bench 7>&-)
	[[ -z $faults ]] || debug=$(scripts/guest/kernel.sh 7>&-)
	quiet make -j"$(nproc)" lib examples tools selftests
	build_module "$bench" gcov
	[[ -z $faults ]] || build_module "$debug" gcov-debug
	guest gcov "$bench" "$tests"
	[[ -z $faults ]] || guest gcov-debug "$debug" '@(fault*|failnth*|ctx)'
fi

# --- report -----------------------------------------------------------------

# The counts of both guests become gcovr's own files, of the same names: dxk/main.c.
files=()
for name in "${guests[@]}"; do
	to=$build/kernels/$name
	find "$to" -name '*.gcda' -delete
	cp -r "$out/$name/counts/." "$to/"
	(cd "$to" && gcovr --filter dxk/ --exclude-directories 'dxk/.*/tests' \
		--exclude dxk/trace.h --json "$out/$name.json" dxk) 2>"$out/gcovr.log" ||
		{ cat "$out/gcovr.log" >&2; exit 1; }
	files+=(--add-tracefile "$out/$name.json")
done
status=$failed
rm -rf "$out/html"
mkdir "$out/html"
gcovr "${files[@]}" --txt "$out/uncovered.txt" --html-details "$out/html/index.html" \
	--fail-under-line "$min" || status=1
cat "$out/uncovered.txt"
echo "The same with the source: $out/html/index.html"
exit $status
