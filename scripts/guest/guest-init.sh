#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# First program of the guest (busybox sh, in the initramfs guest.sh makes).
# Mounts the host's / read-only through 9p, with fresh /proc, /sys, /dev and
# tmpfs where programs write, runs the command there, tells its exit status
# on ttyS1 and powers off.

PATH=/bin
export PATH
umask 022

mount -t devtmpfs dev /dev 2>/dev/null
mount -t proc proc /proc
mount -t sysfs sys /sys

# "\001dxk-exit N" as the last thing on ttyS1 is the guest's answer; without
# it guest.sh takes the run as failed. Where ttyS1 is a terminal, it is in the kernel's
# log.
answer=/dev/ttyS1
finish() {
	# Not in this shell: a process that the command left, killed by now, is
	# its child, and the signal of such a death ends the wait in close() for
	# the port, which throws away what it has not sent.
	(printf '\001dxk-exit %d\n' "$1" >$answer)
	# returns when the last character has left
	[ $answer = /dev/kmsg ] || stty -F $answer speed 115200 >/dev/null
	poweroff -f
	# not reached
	while :; do sleep 1; done
}

# The output belongs to the command, byte for byte.
stty -F /dev/ttyS1 raw -echo 115200

grep -qw dxk.probe /proc/cmdline && finish 0

for m in /modules/*.ko; do
	[ -e "$m" ] && insmod "$m"
done

SHARE='' TREE='' HIDDEN='' TERMINAL='' SIZE=''
# shellcheck disable=SC1091 # written by guest.sh
. /guest.env

opt=trans=virtio,version=9p2000.L,msize=262144
mkdir -p /host
# Nothing changes below / while the guest runs, so it may cache for good.
if ! mount -t 9p -o "ro,$opt,cache=loose" host /host; then
	echo "guest: the host's / cannot be mounted"
	finish 125
fi

# /host stays as it is, the command sees /root with the mounts on top of it.
# One process for all mounts: in the debug kernel each costs 0.1 s.  Which of
# the last ones exist depends on the kernel.
mkdir -p /root /etc /dev/pts /dev/shm
cat >/etc/fstab <<-EOF
	/host    /root                    none     bind              0 0
	proc     /root/proc               proc     defaults          0 0
	sys      /root/sys                sysfs    defaults          0 0
	dev      /root/dev                devtmpfs defaults          0 0
	tmpfs    /root/tmp                tmpfs    mode=1777         0 0
	tmpfs    /root/run                tmpfs    mode=755          0 0
	tmpfs    /root/var/tmp            tmpfs    mode=1777         0 0
	debugfs  /root/sys/kernel/debug   debugfs  defaults          0 0
	tracefs  /root/sys/kernel/tracing tracefs  defaults          0 0
	cgroup2  /root/sys/fs/cgroup      cgroup2  defaults          0 0
	devpts   /root/dev/pts            devpts   ptmxmode=666      0 0
	tmpfs    /root/dev/shm            tmpfs    mode=1777         0 0
EOF
mount -a 2>/dev/null
ln -sf pts/ptmx /dev/ptmx 2>/dev/null
ln -sf /proc/self/fd /dev/fd
ln -sf /proc/self/fd/0 /dev/stdin
ln -sf /proc/self/fd/1 /dev/stdout
ln -sf /proc/self/fd/2 /dev/stderr

# What the tmpfs mounts hide but the command needs (a tree below /tmp).
for d in $HIDDEN; do
	mkdir -p "/root$d"
	mount --bind "/host$d" "/root$d"
done

if [ -n "$SHARE" ]; then
	mkdir -p "/root$SHARE" 2>/dev/null
	if ! mount -t 9p -o "rw,$opt" share "/root$SHARE"; then
		echo "guest: $SHARE cannot be mounted"
		finish 125
	fi
fi

# The tree has a path that all users may search, wherever it lies. Where its own
# directory is closed to them, what is in it is mounted one by one.
mkdir -p -m 755 /root/run/dxk/tree
case $(stat -c %A "/host$TREE") in
d??????r?[xt]) mount --bind "/host$TREE" /root/run/dxk/tree ;;
*)
	for entry in "/host$TREE"/*; do
		to=/root/run/dxk/tree/${entry##*/}
		if [ -d "$entry" ]; then mkdir "$to"; else : >"$to"; fi
		mount --bind "$entry" "$to"
	done
	;;
esac

hostname dxk
[ ! -d /proc/sys/net/ipv4 ] || ip link set lo up
[ ! -d /sys/class/net/eth0 ] || ifconfig eth0 10.0.2.15
cp /guest.command /root/run/dxk/command

# in_root COMMAND...: as the guest's command sees the world
in_root() {
	chroot /root /usr/bin/env -i HOME=/tmp TERM="${TERMINAL:-dumb}" LANG=C.UTF-8 \
		DXK_GUEST=1 DXK_STUCK=/dev/ttyS1 \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}
if [ -n "$TERMINAL" ]; then
	answer=/dev/kmsg
	# Its size is forgotten when nobody has it open. setsid makes it one that signals
	# and jobs go by.
	{
		# shellcheck disable=SC2086 # words
		stty sane $SIZE
		in_root setsid -c -w /bin/bash /run/dxk/command
	} </dev/ttyS1 >/dev/ttyS1 2>&1
else
	echo "$(printf '\001')dxk-begin" >/dev/ttyS1
	in_root /bin/bash /run/dxk/command </dev/null >/dev/ttyS1 2>&1
fi
status=$?

# Nothing of the command may print behind the answer.
kill -9 -1
finish "$status"
