#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# All that there is to test dxk with, one after the other: a night.  Ends in a table of
# what was run, at which commit, how it ended and how long it took, build/full/table.txt
# with the logs beside it.  Exit status 1 when something failed.
#
#   check-full.sh [--keep] [NAME...]
#
#   NAME     only these of the table; of the others it has what was kept before
#   --keep   keep the table in Documentation/results/VERSION, as the evidence of a release:
#            it is when all is run.  So a night that was interrupted can go on
set -uo pipefail

cd "$(dirname "$0")/../.." || exit
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
keep=''
if [[ ${1:-} == --keep ]]; then
	keep=1
	shift
fi
names=$*
out=build/full kept=Documentation/results/$(<VERSION)/table.txt
mkdir -p "$out"
[[ -n $names ]] || rm -rf "${out:?}"/*
rm -f "$out/table.txt"
commit=$(git rev-parse --short=12 HEAD 2>/dev/null || echo none)
git diff --quiet HEAD 2>/dev/null || commit+=+
failed=0 ran=''

# step NAME TEXT COMMAND...: the last line that it prints is its result
step() {
	local name=$1 text=$2 status=0 begin=$SECONDS verdict=passed
	shift 2
	if [[ -n $names && " $names " != *" $name "* ]]; then
		grep -s "^$name " "$kept" >>"$out/table.txt" ||
			printf '%-17s not run\n' "$name" >>"$out/table.txt"
		return
	fi
	ran+=" $name "
	echo "== $name: $text"
	"$@" >"$out/$name.log" 2>&1 </dev/null || status=$?
	((status == 0)) || verdict=FAILED failed=1
	printf '%-17s %-7s %6d s  %-13s  %-46s  %s\n' "$name" "$verdict" $((SECONDS - begin)) \
		"$commit" "$text" "$(grep -v '^ *$' "$out/$name.log" | tail -n 1 | cut -c -100)" |
		tee -a "$out/table.txt"
	((status == 0)) || tail -n 30 "$out/$name.log" | sed 's/^/    | /'
}

{
	echo "dxk $(<VERSION), $(date -u +%F); each line names the commit that was tested, + if changed"
	echo "$(nproc) CPUs, guests $(scripts/guest/guest.sh --has-kvm && echo "run by KVM" ||
		echo emulated), $(gcc --version | head -n 1)"
} | tee -a "$out/table.txt"

step emulation "QEMU, while the kernel patches itself" scripts/check/check-guest.sh --emulation
step check "make check" scripts/check/check.sh
step debug "make check-debug" scripts/check/check.sh debug
for kernel in stock stock-6.12 sid debug kcsan; do
	step "matrix-$kernel" "all programs, both modes" scripts/check/check.sh matrix \
		--only "$kernel"
done
step kmemleak "debug kernel with kmemleak" scripts/check/check.sh debug --only debug --kmemleak
step long "long forms, 1,000 kills and loads" env DXK_LONG=1 DXK_KILLS=1000 DXK_ROUNDS=1000 \
	DXK_SECONDS=600 scripts/check/check.sh \
	--tests 'history generator module storm crowd unserved join_owners dxsum.sh dxpkg.sh sanitizers.sh'
step kills "1,000 kills around dxkd" env DXK_KILLS=1000 scripts/check/remote.sh kills
step cluster "deaths of the broker that leads the queue" env DXK_KILLS=20 \
	scripts/check/remote.sh cluster
step upsets "examples in 200 upsets each" env DXK_ROUNDS=200 scripts/check/check.sh \
	--tests upsets.sh
step faults "each point at which memory can fail or hang" env DXK_LONG=1 \
	scripts/check/check.sh debug --tests 'failnth failnth_init unserved'
step fuzz "an hour of fuzzing" scripts/fuzz.sh --fresh --seconds 3600
step simulator "10^9 steps of virtual threads" scripts/check/native.sh --steps 1000000000 simulator
step native-fuzz "libFuzzer on the simulator" scripts/check/native.sh --seconds 600 fuzz
step mutants "small changes of the engine" scripts/mutants/mutants.py
step plants "planted bugs" scripts/plants/plants.py
step coverage "lines of the module" scripts/check/coverage.sh --min 95
step model "Spin, larger models" model/check.sh --full
step packages "packages, in a clean Debian 12" scripts/check/check-packages.sh
step bench "costs beside the rivals'" make bench
step bench-remote "dxkd beside librabbitmq alone" make bench-remote
step bench-cores 'two CPUs at one lock' make bench-cores

cat "$out/table.txt"
[[ -n $names && -z $keep ]] || install -D -m 644 "$out/table.txt" "$kept"
for name in $names; do
	[[ $ran == *" $name "* ]] || { echo "check-full.sh: there is no $name"; failed=1; }
done
exit "$failed"
