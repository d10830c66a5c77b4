#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Measures examples/dxnbd beside nbdkit and qemu-nbd, in a guest whose clock counts instructions:
# fio with one request in flight and with 64, 4 KiB each, by turns, of one file of an ext4 in
# memory: through the page cache, and with O_DIRECT, which nbdkit does not have. Prints requests a
# second of 10^9 instructions, those of the client included. Needs fio, nbdkit and qemu-utils.
#
#   nbd.sh [ROUNDS [REQUESTS]]    (2, 3000)
set -euo pipefail

cd "$(dirname "$0")/../.."
rounds=${1:-2} requests=${2:-3000}

. scripts/bench/servers.bash
in_guest nbd.sh "$rounds" "$requests" -- fio nbdkit qemu-nbd

modprobe brd rd_nr=1 rd_size=131072
modprobe ext4
mkdir -p /tmp/disk
mkfs.ext4 -q /dev/ram0
mount /dev/ram0 /tmp/disk
file=/tmp/disk/image megabytes=64
head -c ${megabytes}M /dev/urandom >$file
sync $file

dxnbd -p 8080 -l 1 -b $file >/dev/null 2>&1 &
pids=($!)
dxnbd -p 8081 -l 1 $file >/dev/null 2>&1 &
pids+=($!)
nbdkit -f -i 127.0.0.1 -p 8082 file $file &
pids+=($!)
qemu-nbd -f raw -b 127.0.0.1 -p 8083 -e 8 -t $file &
pids+=($!)
qemu-nbd -f raw -b 127.0.0.1 -p 8084 -e 8 -t --cache=none --aio=native $file &
pids+=($!)
sleep 3

# rate PORT WHAT DEPTH REQUESTS
rate() {
	fio --name=x --thread --ioengine=nbd --uri="nbd://127.0.0.1:$1/" --rw="$2" --bs=4k \
		--iodepth="$3" --size=${megabytes}M --io_size=$(($4 * 4))k --randrepeat=1 \
		--output-format=terse --terse-version=3 2>/dev/null |
		awk -F';' '/^3;/ { if ($5 != 0) exit 1; print $8 + $49; got = 1 }
			   END { if (!got) exit 1 }'
}

# compare NAME PORT...: the first one is ours
compare() {
	local name=$1 what depth port nr rates best i
	shift
	for what in randread randwrite; do
		for depth in 1 64; do
			nr=$requests
			for port; do
				rate "$port" $what $depth $((nr / 10 + 64)) >/dev/null
			done
			for ((i = 0; i < rounds; i++)); do
				rates=()
				for port; do
					rates+=("$(rate "$port" $what $depth "$nr")")
				done
				printf '%-7s %-9s %3d' "$name" $what $depth
				printf ' %9.0f' "${rates[@]}"
				best=$(printf '%s\n' "${rates[@]:1}" | sort -n | tail -n 1)
				awk "BEGIN { printf \"  %.2f\\n\", ${rates[0]} / $best }"
			done
		done
	done
}
printf '%-7s %-9s %3s %9s %9s %9s  %s\n' file what nr dxnbd nbdkit qemu-nbd ratio
compare cached 8080 8082 8083
printf '%-7s %-9s %3s %9s %9s  %s\n' file what nr dxnbd qemu-nbd ratio
compare direct 8081 8084
kill "${pids[@]}"
wait || :
umount /tmp/disk
