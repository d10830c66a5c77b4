#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The part of check-packages.sh that runs in a guest: what an installed system
# does at boot, with what was installed in ROOT.
#
#   in-guest.sh ROOT
set -euo pipefail

root=$1
status=0
expect() {
	local text=$1 said
	shift
	if said=$("$@" 2>&1 </dev/null); then
		echo "ok - $text"
	else
		echo "not ok - $text"
		sed 's/^/#   /' <<<"$said"
		status=1
	fi
}
# udevadm does nothing in a chroot, unless it is told that it may.
in_root() { SYSTEMD_IGNORE_CHROOT=1 chroot "$root" "$@"; }

# The guest has the host's files, and must not write them: what changes stays in memory.
mkdir /run/{upper,work}
modprobe overlay
mount -t overlay overlay -o "lowerdir=$root,upperdir=/run/upper,workdir=/run/work" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sys "$root/sys"
mount -t devtmpfs dev "$root/dev"
mount -t tmpfs run "$root/run"
mount -t tmpfs tmp "$root/tmp"

# The modules of modules-load.d, with what they depend on
loaded() {
	in_root /lib/systemd/systemd-modules-load
	grep '^dxk ' /proc/modules && grep '^dxk_executors ' /proc/modules
}
expect "modules-load.d loads the modules" loaded
[[ -e /sys/module/dxk ]] || exit 1

# O: not built with the kernel, E: the kernel knows no key for it
expect "the kernel is tainted O and E, nothing else" \
	bash -c '(($(cat /proc/sys/kernel/tainted) == (1 << 12 | 1 << 13)))'

uses() { in_root setpriv --reuid nobody --regid "$1" --clear-groups "${@:2}"; }
refused() { ! uses nogroup "$@"; }
expect "without the rule nobody but root may use it" bash -c \
	"[[ \$(stat -c '%U %G %a' /dev/dxk) == 'root root 600' ]]"

ruled() {
	in_root /lib/systemd/systemd-udevd --daemon >/dev/null 2>&1
	in_root udevadm trigger --settle --subsystem-match=misc --sysname-match=dxk
	[[ $(in_root stat -c '%U %G %a' /dev/dxk) == 'root dxk 660' ]]
}
expect "udev gives it to group dxk" ruled
expect "who is not in the group is refused" refused /packages/hello
expect "and dxkctl tells why" refused dxkctl doctor
expect "who is may use it" uses dxk /packages/hello
expect "dxkctl finds nothing wrong" uses dxk dxkctl doctor
expect "also from C++" uses dxk /packages/hello++
expect "also linked statically" uses dxk /packages/hello-static

# An emulated CPU needs a minute for the index of all manual pages, which tells nothing of dxk.
rm -f "$root/var/lib/man-db/auto-update"

# A program that was begun with the old packages goes on, and ends well.
upgraded() {
	local in out pid said
	coproc { uses dxk /packages/rounds; }
	# what bash has of it is gone with it
	pid=$COPROC_PID
	exec {in}>&"${COPROC[1]}" {out}<&"${COPROC[0]}"
	eval "exec ${COPROC[1]}>&-"
	read -r -t 20 said <&"$out" && [[ $said == begun ]] || return
	in_root bash -c 'dpkg -i /packages/next/libdxk1_*.deb /packages/next/dxk-tools_*.deb' || return
	# shellcheck disable=SC2016 # expanded inside
	in_root bash -c '[[ $(dpkg-query -W -f "\${Version}" libdxk1) == *+next ]]' || return
	exec {in}>&-
	read -r -t 20 said <&"$out" && echo "$said"
	wait "$pid"
}
expect "an upgrade disturbs no program that runs" upgraded
expect "and the new library works" uses dxk /packages/hello

expect "the modules can be removed" in_root modprobe -r dxk_executors dxk
exit $status
