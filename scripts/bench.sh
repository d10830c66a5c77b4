#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Measures dxk and its rivals in one boot of a guest whose clock counts
# instructions.  Prints a table; the same is in build/bench/results.json.
# Documentation/bench.rst tells what is measured.
#
#   bench.sh [options] [NAME...]
#
#   --rounds N    rounds per measurement, after one that is dropped (6)
#   --timeout S   seconds until the guest is given up (600)
#   NAME          only these measurements, named as in results.json
set -euo pipefail

cd "$(dirname "$0")/.."
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
out=$PWD/build/bench

rounds=6 limit=600
while (($#)); do
	case $1 in
	--rounds) rounds=$2; shift ;;
	--timeout) limit=$2; shift ;;
	-h | --help) sed -n '4,12s/^# \{0,1\}//p' "$0"; exit 0 ;;
	-*) echo "bench.sh: unknown option $1" >&2; exit 2 ;;
	*) break ;;
	esac
	shift
done

mkdir -p "$out"
exec 7>"$out/lock"
flock -n 7 || { echo "bench.sh: another one is running in this tree" >&2; exit 1; }

# --- build ------------------------------------------------------------------

# A copy, so that the work tree may be built for another kernel.
src=$out/src
kdir=$(compgen -G '/usr/src/linux-headers-6.1.*-amd64' | sort -V | tail -n 1)
[[ -n $kdir ]] || { echo "bench.sh: no headers of Debian 6.1, run scripts/setup.sh" >&2; exit 1; }
mkdir -p "$src/selftests"
cp -pRu VERSION Kbuild dxk uapi "$src/"
# Built anew: kbuild does not notice when a symbol of dxk has another version.
rm -rf "$src/selftests/bench"
cp -pR selftests/bench "$src/selftests/"

quiet() {
	"$@" >"$out/build.log" 2>&1 7>&- || { cat "$out/build.log"; exit 1; }
}
quiet make -C "$kdir" M="$src" -j"$(nproc)" modules
quiet make -C "$kdir" M="$src/selftests/bench" \
	KBUILD_EXTRA_SYMBOLS="$src/Module.symvers" modules
gcc -std=gnu11 -O2 -Wall -Wextra -Werror -pthread -o "$out/bench" \
	selftests/bench/bench.c

# --- run --------------------------------------------------------------------

rm -f "$out/results.json"
# In a cgroup of its own, as any program outside of a test: what it makes the
# kernel allocate is accounted.
# shellcheck disable=SC2016 # for the guest's shell
run='cd /sys/fs/cgroup && echo +memory >cgroup.subtree_control &&
	mkdir bench && echo $$ >bench/cgroup.procs || exit
	insmod "$1/dxk/dxk.ko" && insmod "$1/dxk/executors/dxk_executors.ko" &&
	insmod "$1/selftests/bench/dxk_bench.ko" && shift && exec "$@"'
scripts/guest.sh --icount --smp 1 --timeout "$limit" --log "$out/console" \
	--share "$out" -- bash -c "$run" bench "$src" "$out/bench" \
	-r "$rounds" -o "$out/results.json" "$@" 7>&- | tee "$out/table.txt"
scripts/check-log.sh "$out/console" >&2
