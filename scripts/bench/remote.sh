#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What a remote request costs beside librabbitmq alone, by turns, with one broker: time, and the
# processor's time of the programs, the daemons and the broker. Prints also the module's share,
# the daemons' memory, and how often they wake up when nothing is to be done.
#
#   remote.sh [options]
#
#   --pairs N     turns of each, after one that is dropped (7)
#   --count N     requests in each (2000)
#   --port N      N..N+2 are used (27673)
#   --modules DIR for the guest's kernel (build/kernels/stock)
#
# The programs are in a guest, which is emulated where there is no KVM, and the broker is not. So
# the raw rival is run outside of the guest as well: its processor time there, to that in the
# guest, says how much the guest's has to be divided by before it is added to the broker's.
set -euo pipefail

cd "$(dirname "$0")/../.."
pairs=7 count=2000 port=27673 modules=build/kernels/stock
while (($#)); do
	case $1 in
	--pairs) pairs=$2; shift ;;
	--count) count=$2; shift ;;
	--port) port=$2; shift ;;
	--modules) modules=$2; shift ;;
	-h | --help) sed -n '4,17s/^# \{0,1\}//p' "$0"; exit 0 ;;
	*) echo "remote.sh: unknown argument $1" >&2; exit 2 ;;
	esac
	shift
done
out=build/bench
mkdir -p "$out"
make -s lib tools
make -s -C bench BUILD="$PWD/build" remote
[[ -e $modules/dxk/dxk.ko ]] || scripts/build-module.sh \
	"$(compgen -G '/usr/src/linux-headers-6.1.*-amd64' | sort -V | tail -n 1)" "$modules"

dir=$(mktemp -d) broker=scripts/check/broker.sh
trap '[[ ! -e $dir/pid ]] || "$broker" stop "$dir" || :; rm -rf "$dir"' EXIT
"$broker" start "$dir" "$port"
"$broker" ctl "$dir" add_user me secret
"$broker" ctl "$dir" set_permissions me '.*' '.*' '.*'

# broker_us: processor time of the broker, us
broker_us() {
	awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print ($12 + $13) * 1000000 / hz }' \
		"/proc/$(<"$dir/pid")/stat"
}
for ((i = 0; i < 3; i++)); do
	echo "native $(build/bench/remote raw 127.0.0.1 "$port" "$count" 256 64)"
done | tee "$out/remote.log"
scripts/guest/guest.sh --forward "$port" --mem 1024 --timeout $((600 + pairs * count / 10)) \
	--silent 600 --log "$out/remote.console" -- \
	scripts/bench/remote_guest.py "$modules" "$pairs" "$count" |
	while IFS= read -r line; do
		[[ $line != mark* ]] || line+=" broker $(broker_us)"
		echo "$line"
	done | tee -a "$out/remote.log"
scripts/bench/remote_report.py "$count" "$out/remote.log"
