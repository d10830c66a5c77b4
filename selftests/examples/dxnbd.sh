#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# examples/dxnbd with clients of others, and with wrong, sudden and eager ones of our own: foms that
# wait for sockets, a disk queue and long locks (FO-8, FO-17, FO-21, FO-35, FO-43, FO-44, FO-49).
# What arrives is compared with the file.
# shellcheck source=selftests/lib/test.bash
. "${0%/*}/test.bash"
needs_network

for tool in nbdinfo nbdcopy qemu-img qemu-io fio; do
	type -P $tool >/dev/null || skip_all "$tool is not installed"
done
bring_near "$build/examples/dxnbd"
server='' client='' device=/dev/nullb0 null=/sys/kernel/config/nullb/nullb0
restore() {
	[[ -z $server ]] || kill -KILL "$server" 2>/dev/null
	[[ -z $client ]] || kill -KILL "$client" 2>/dev/null
	umount small 2>/dev/null
	umount fs 2>/dev/null
	[[ ! -d $null ]] || { until_true no_context; null_ends; }
}

serve() {	# [OPTION...] FILE: is $server, at $uri and $port
	: >uri
	"$near/dxnbd" -p "${port:-0}" -l 2 "$@" >uri 2>err &
	server=$!
	until_true line_or_ended "$server"
	read -r uri <uri
	port=${uri#*://*:}
	port=${port%%/*}
	[[ -n $port ]]
}
line_or_ended() { [[ -s uri ]] || ended "$1"; }
ends() {	# with its work done
	kill -TERM "$server" && wait "$server" && server='' && until_true no_context
}
clients() { python3 "$build/selftests/nbd_clients.py" "$port" "$size" "$@" >clients 2>&1; }
begins() {	# CASE: in the background, as $client
	: >clients
	python3 "$build/selftests/nbd_clients.py" "$port" "$size" "$@" >clients 2>&1 &
	client=$!
}
cases() {	# CASE...: each is a result
	clients "$@"
	for case; do
		has clients "^${case%%,*}: ok$"
		ok "client: $case"
	done
}
equal() { busybox cmp "$1" "$2"; }
idle() {	# no request waits but the acceptor's and those that complete, and no client has a socket
	local waiting file=(/sys/kernel/dxk/[0-9]*/pools/wait_use)

	read -r waiting <"${file[0]}" && ((waiting == 3)) &&
		[[ $(busybox ls -l /proc/"$server"/fd | busybox grep -c socket:) == 1 ]]
} 2>/dev/null
writes() { line clients '^writes$'; }
some_flushed() { (($(lines clients '^[0-9]+$') > 4)); }

megabytes=8
[[ -z $long ]] || megabytes=100
size=$((megabytes << 20))
head -c $size /dev/urandom >image

# --- how it is begun --------------------------------------------------------------------

gives 2 "$near/dxnbd" && has err 'FILE' && gives 2 "$near/dxnbd" nowhere && has err 'No such file' &&
	gives 2 "$near/dxnbd" -p 99999 image && has err '65535' && gives 2 "$near/dxnbd" . &&
	gives 2 "$near/dxnbd" -r /dev/null && has err 'neither' &&
	gives 2 "$near/dxnbd" -a nonsense image && gives 0 "$near/dxnbd" --help
ok "options that are wrong"

truncate -s $size disk
serve -n disk disk
ok "it says where it listens"

# --- tools of others ------------------------------------------------------------------

nbdinfo "$uri" >out && has out "export-size: $size" && has out 'is_read_only: false' &&
	has out 'can_multi_conn: true' && has out 'can_trim: true' && has out 'can_fua: true'
ok "nbdinfo"
nbdcopy image "$uri" && equal image disk
ok "nbdcopy into it"
nbdcopy "$uri" copy && equal image copy
ok "nbdcopy out of it"
qemu-img compare -f raw -F raw image "$uri" >out
ok "qemu-img compare"
qemu-io -f raw -c 'write -P 7 1000 3000' -c 'aio_write -P 5 2M 1M' -c 'aio_write -P 6 3M 1M' \
	-c aio_flush -c 'read -P 7 1000 3000' -c 'read -P 5 2M 1M' -c 'read -P 6 3M 1M' \
	-c 'write -z 2M 1M' -c 'read -P 0 2M 1M' -c 'discard 3M 1M' -c flush "$uri" >out 2>&1 &&
	! line out 'failed|error'
ok "qemu-io"

verify() {	# OPTION...
	fio --name=verify --ioengine=nbd --uri="$uri" --rw=randrw --bs=4k --verify=crc32c \
		--output=out "$@" >/dev/null 2>&1 && ! line out 'verify:.*bad'
}
verify --iodepth=32 --size=$((megabytes << 16)) --numjobs=2 --offset_increment=$((megabytes << 16))
ok "fio writes in two jobs, and reads what it has written"

# --- clients that no tool is ---------------------------------------------------------

cases options garbage wrong kinds many overlap half pieces
until_true idle
ok "and nothing is left of them"

# --- sudden ends -----------------------------------------------------------------------

for ((i = 0; i < (${#long} ? 20 : 1); i++)); do
	begins write_on
	until_true writes
	kill -KILL $client
	wait $client
	until_true idle
done 2>/dev/null
client=''
! ended "$server" && clients pieces
ok "clients that are killed while they write leave nothing"

truncate -s 4096 disk
clients fails,0,1000000,5 && has clients ok && truncate -s $size disk
ok "a file that has become shorter"
rm disk && clients kinds pieces
ok "a file that has been removed"
ends
ok "it ends when it is told to"

truncate -s $size disk
serve -n disk disk && clients "drained,$server" && has clients 'drained: ok' && wait "$server"
ok "what it has taken is answered when it is told to end"
server=''
if [[ -n $long ]]; then
	serve disk && clients "unread,$server" && wait "$server"
	ok "a client that reads nothing is not waited for, then"
	server=''
fi

serve -r -n disk disk && cases read_only && ends
ok "an export that is not written"

mkdir small && mount -t tmpfs -o size=1m dxnbd-test small && truncate -s $((8 << 20)) small/disk &&
	serve small/disk && size=$((8 << 20)) clients fails,1,0,0 &&
	! head -c 1m /dev/zero 2>/dev/null >small/rest &&
	size=$((8 << 20)) clients fails,1,4000000,28 && has clients 'fails: ok' && ends &&
	umount small
ok "a disk that is full"
[[ -z $server ]] || kill -KILL "$server"

serve disk
begins flushed
until_true some_flushed
kill -KILL "$server"
wait "$server" $client 2>/dev/null
server='' client=''
nr=$(busybox awk '/^[0-9]+$/ { n = $1 } END { print n }' clients)
clients "contains,disk,$nr" && has clients 'contains: ok' && until_true no_context
ok "killed while it writes: what was flushed is there"

# --- the disk queue ----------------------------------------------------------------------

# Where files are in memory they have none, and a device stands in. It is made, so none of it is
# there, and no system that cares for devices runs.
has_null() {
	[[ ! -e $device && ! -d /run/systemd/system ]] && modprobe -q null_blk nr_devices=0 &&
		{ [[ -d ${null%/*} ]] || mount -t configfs none /sys/kernel/config; }
}
null_begins() {	# ATTRIBUTE=VALUE...
	local attribute
	busybox mkdir "$null" || return
	for attribute in memory_backed=1 size=1024 hw_queue_depth=128 "$@" power=1; do
		echo "${attribute#*=}" >"$null/${attribute%%=*}" || return
	done
	until_true test -b $device
}
null_ends() { busybox rmdir "$null" && modprobe -r null_blk; }

queue() {	# NAME DISK
	serve -n disk "$2" && has err runs
	nbdcopy image "$uri" && busybox cmp -n "$((megabytes << 20))" image "$2"
	ok "$1: nbdcopy"
	verify --iodepth=64 --size=$((megabytes << 16))
	ok "$1: fio"
	cases many overlap half
	until_true idle
	ok "$1: nothing is left"
	serve_pid=$server
	begins write_on
	until_true writes
	stop_context stop --cancel
	wait "$serve_pid"
	ok "$1: the executive is stopped while it writes"
	server=''
	wait $client $stopper
	client=''
	until_true no_context
}

if busybox dd if=disk of=/dev/null bs=4096 count=1 iflag=direct 2>/dev/null; then
	queue "the disk queue" disk
elif has_null; then
	size=$((1 << 30))
	null_begins irqmode=2 completion_nsec=500000 && queue "a disk that is late" $device && null_ends
	has_null && null_begins irqmode=0 && queue "a disk that is not" $device
	ok "and both go"
else
	skip "the disk queue: no file takes O_DIRECT"
fi

# What fails there is an error of the request, and the server goes on: a part that is bad, a file
# system that is full, a file in use that becomes shorter and goes, and a device that goes.
if [[ -d $null ]]; then
	serve $device && echo +2048-2303 >$null/badblocks && cases bad,1048576,131072
	echo -2048-2303 >$null/badblocks && cases bad,1048576,0 && ends
	ok "a disk that is bad in part, and is not any more"
	size=$((8 << 20))
	mkfs.ext4 -q -O ^has_journal $device 4m && mkdir fs && mount -t ext4 $device fs &&
		truncate -s $size fs/disk && serve fs/disk && cases fails,1,0,0 &&
		! head -c 8m /dev/zero 2>/dev/null >fs/rest && cases fails,1,4000000,28 fails,1,4194304,28
	rm fs/rest && cases fails,1,4194304,0
	ok "a file system that is full, and is not any more"
	truncate -s 8192 fs/disk && cases fails,0,1048576,5 fails,0,4096,5 fails,1,1048576,0
	rm fs/disk && cases fails,0,1048576,0 fails,1,4096,0 && ends && umount fs
	ok "a file that becomes shorter, and is removed"
	size=$((1 << 30))
	serve $device && cases fails,1,1048576,0 && echo 0 >$null/power && cases gone && ends &&
		null_ends
	ok "a device that goes"
fi

plan
