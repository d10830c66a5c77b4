#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Fuzzes dxk's calls in a guest with the debug kernel: libFuzzer, guided by what the
# calls reach in the module (KCOV). First all inputs of fuzz/corpus, which have to
# reach MIN_PCS basic blocks, then new ones.
#
#   fuzz.sh [options]
#
#   --seconds S     how long in all, if the corpus does not take longer (60)
#   --seed N        of the mutations (of the time)
#   --corpus DIR    where new inputs are kept (build/fuzz/corpus), which the next run
#                   goes on with
#   --fresh         not with those that earlier runs kept
#   --replay FILE   run one input, and print its calls
#   --merge         add the fewest of the kept inputs that reach other blocks than those
#                   of fuzz/corpus to it
#
# Documentation/fuzzing.rst tells what to do with an input that fails; exit status 1.
set -euo pipefail

cd "$(dirname "$0")/.."
# The builds below are not parts of the make that called this script.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
build=$PWD/build out=$PWD/build/fuzz
# Four fifths of what the corpus reaches. Far less means that KCOV does not work, or
# that the corpus is not one for this module any more.
MIN_PCS=1800

seconds=60 seed=$(date +%s) corpus=$out/corpus replay='' merge='' fresh=''
while (($#)); do
	case $1 in
	--seconds) seconds=$2; shift ;;
	--seed) seed=$2; shift ;;
	--corpus) corpus=$(realpath "$2"); shift ;;
	--replay) replay=$(realpath "$2"); shift ;;
	--fresh) fresh=1 ;;
	--merge) merge=1 ;;
	-h | --help) sed -n '4,21s/^# \{0,1\}//p' "$0"; exit 0 ;;
	*) echo "fuzz.sh: unknown option $1" >&2; exit 2 ;;
	esac
	shift
done

mkdir -p "$out/share" "$corpus"
exec 7>"$out/lock"
flock -n 7 || { echo "fuzz.sh: another one is running in this tree" >&2; exit 1; }

# --- build ------------------------------------------------------------------

debug=$(scripts/guest/kernel.sh 7>&-)
src=$build/kernels/debug-kcov
mkdir -p "$src"
cp -pRu VERSION Kbuild dxk uapi "$src/"
quiet() {
	"$@" >"$out/build.log" 2>&1 7>&- || { tail -n 30 "$out/build.log"; exit 1; }
}
quiet make -C "$debug" M="$src" DXK_KCOV=y -j"$(nproc)" modules
quiet make -C fuzz BUILD="$build"

# --- run --------------------------------------------------------------------

share=$out/share
rm -rf "${share:?}"/*
mkdir "$share/corpus" "$share/failed"
[[ -n $fresh ]] || find "$corpus" -type f -exec cp -t "$share/corpus" {} +
[[ -z $replay ]] || cp "$replay" "$share/replay"

cat >"$share/run.sh" <<-EOF
	set -u
	modprobe -q sha256_generic
	busybox insmod $src/dxk/dxk.ko || exit
	busybox insmod $src/dxk/executors/dxk_executors.ko || exit
	cd $share
	export DXK_FUZZ_RING=$share/ring
	export DXK_FUZZ_COMPLAINT=\$($PWD/scripts/check/check-log.sh --pattern)
	# An emulated guest on a busy host may take seconds for an input.
	fuzz() {
		$out/fuzz-ioctl -timeout=200 -report_slow_units=100 \
			-artifact_prefix=failed/ -max_len=512 "\$@"
	}
	if [[ -e replay ]]; then
		DXK_FUZZ_TRACE=1 fuzz -runs=1 replay || exit 1
	elif [[ -n '$merge' ]]; then
		DXK_FUZZ_BLOCKS=1 fuzz -merge=1 merged corpus || exit 1
	else
		export DXK_FUZZ_MIN_PCS=$MIN_PCS
		export DXK_FUZZ_FIRST=$(find fuzz/corpus "$share/corpus" -type f | wc -l)
		fuzz -max_total_time=$seconds -seed=$seed corpus $PWD/fuzz/corpus || exit 1
	fi
	# nothing holds them any more
	busybox rmmod dxk_executors && busybox rmmod dxk
EOF
[[ -z $merge ]] || cp -r fuzz/corpus "$share/merged"
status=0
scripts/guest/guest.sh --kernel "$debug" --mem 1536 --timeout $((seconds * 2 + 600)) \
	--share "$share" --log "$out/console" -- bash "$share/run.sh" \
	>"$out/log" 2>&1 7>&- || status=$?
grep '^fuzz:' "$out/log" || :
[[ -z $replay ]] || cat "$out/log"
scripts/check/check-log.sh "$out/console" || status=1
find "$share/corpus" -type f -exec cp -nt "$corpus" {} +
if ((status)); then
	tail -n 60 "$out/log"
	rm -rf "$out/failed"
	cp -r "$share/failed" "$out/"
	[[ ! -e $share/ring ]] || "$out/fuzz-ioctl" --unpack "$share/ring" "$out/failed"
	echo "fuzz.sh: failed, seed $seed; the last inputs are in $out/failed"
	exit 1
fi
if [[ -n $merge ]]; then
	find "$share/merged" -type f -exec cp -nt fuzz/corpus {} +
	echo "fuzz.sh: fuzz/corpus has $(find fuzz/corpus -type f | wc -l) inputs now"
fi
