#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Measures dxk and its rivals in one boot of a guest whose clock counts
# instructions.  Prints a table with the targets and fails when one is missed; the
# same, the figures of all rounds and the curves are in build/bench.
# Documentation/bench.rst tells what is measured.
#
#   bench.sh [options] [WORKLOAD[/VARIANT]...]
#
#   --rounds N     rounds per measurement, after one that is dropped (5)
#   --timeout S    seconds until the guest is given up (3000)
#   --profile      of one WORKLOAD/VARIANT: the instructions of a round by function,
#                  in build/bench/profile.txt
#   WORKLOAD       only these, named as in the table
set -euo pipefail

cd "$(dirname "$0")/../.."
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
out=$PWD/build/bench

rounds=5 limit=3000 profile=''
while (($#)); do
	case $1 in
	--rounds) rounds=$2; shift ;;
	--timeout) limit=$2; shift ;;
	--profile) profile=1 ;;
	-h | --help) sed -n '4,17s/^# \{0,1\}//p' "$0"; exit 0 ;;
	-*) echo "bench.sh: unknown option $1" >&2; exit 2 ;;
	*) break ;;
	esac
	shift
done
if [[ -n $profile && ($# -ne 1 || $1 != */*) ]]; then
	echo "bench.sh: --profile takes one WORKLOAD/VARIANT" >&2
	exit 2
fi

mkdir -p "$out"
exec 7>"$out/lock"
flock -n 7 || { echo "bench.sh: another one is running in this tree" >&2; exit 1; }

# --- build ------------------------------------------------------------------

# A copy, so that the work tree may be built for another kernel.
src=$out/src
kdir=$(compgen -G '/usr/src/linux-headers-6.1.*-amd64' | sort -V | tail -n 1)
[[ -n $kdir ]] || { echo "bench.sh: no headers of Debian 6.1, run scripts/setup.sh" >&2; exit 1; }
pkg-config --exists json-c liburing glib-2.0 tbb ||
	{ echo "bench.sh: libraries of rivals are missing, run scripts/setup.sh --bench" >&2; exit 1; }
mkdir -p "$src/bench"
cp -pRu VERSION Kbuild dxk uapi "$src/"
# Built anew: kbuild does not notice when a symbol of dxk has another version.
rm -rf "$src/bench"
mkdir -p "$src/bench"
cp -pR bench/kernel bench/mark.h "$src/bench/"

quiet() {
	"$@" >"$out/build.log" 2>&1 7>&- || { cat "$out/build.log"; exit 1; }
}
quiet make -C "$kdir" M="$src" -j"$(nproc)" modules
quiet make -C "$kdir" M="$src/bench/kernel" \
	KBUILD_EXTRA_SYMBOLS="$src/Module.symvers" modules
quiet make -C lib/libdxk BUILD="$PWD/build"
quiet make -s -C bench BUILD="$PWD/build" -j"$(nproc)"

# --- run --------------------------------------------------------------------

rm -f "$out"/raw.json "$out"/{kallsyms,maps,blocks}
args=(-r "$rounds")
guest=(--icount --smp 1 --mem 2048 --timeout "$limit" --log "$out/console" --share "$out")
if [[ -n $profile ]]; then
	args=(-p "$out/maps")
	read -r qemu _ < <(scripts/guest/qemu.sh)
	version=$("$qemu" --version | sed -n 's/.* version \([0-9]*\).*/\1/p')
	guest+=(--plugin "$out/profile-$((version < 9 ? 1 : 2)).so,out=$out/blocks")
fi

# In a cgroup of its own, as any program outside of a test: what it makes the
# kernel allocate is accounted.
# shellcheck disable=SC2016 # for the guest's shell
run='cd /sys/fs/cgroup && echo +memory >cgroup.subtree_control &&
	mkdir bench && echo $$ >bench/cgroup.procs || exit
	insmod "$1/dxk/dxk.ko" && insmod "$1/dxk/executors/dxk_executors.ko" &&
	insmod "$1/bench/kernel/dxk_bench.ko" || exit
	cat /proc/kallsyms >"$2/kallsyms"
	{ uname -r; cat /proc/cmdline; } >"$2/guest"
	shift 2
	exec "$@"'
status=0
scripts/guest/guest.sh "${guest[@]}" -v -- bash -c "$run" bench "$src" "$out" "$out/bench" \
	"${args[@]}" -o "$out/raw.json" "$@" 7>&- 2> >(tee "$out/guest.log" >&2) |
	while IFS= read -r line; do
		printf '%(%T)T %s\n' -1 "$line"
	done || status=$?
scripts/check/check-log.sh "$out/console" >&2 || status=1
[[ -e $out/raw.json ]] || exit 1

if [[ -n $profile ]]; then
	scripts/bench/profile.py "$out" | tee "$out/profile.txt"
	exit "$status"
fi
partial=()
(($# == 0)) || partial=(--partial)
scripts/bench/bench.py "${partial[@]}" --config "/boot/config-$(head -n 1 "$out/guest")" \
	--compiler "$(gcc --version | head -n 1)" "$out" || status=1
exit "$status"
