#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The part of check-packages.sh that runs in the clean Debian 12.
#
#   in-chroot.sh install KERNEL...
#   in-chroot.sh upgrade KERNEL...
#   in-chroot.sh purge KERNEL...
set -euo pipefail

step=$1
shift
kernels=("$@")
ours=(dxk-dkms dxk-doc dxk-tools dxkd libdxk-dev libdxk1)
cd /packages

ok() { echo "ok - $*"; }
not_ok() { echo "not ok - $*"; }
expect() {
	local text=$1 said
	shift
	if said=$("$@" 2>&1 </dev/null); then
		ok "$text"
	else
		not_ok "$text"
		sed 's/^/#   /' <<<"$said"
	fi
}

apt() {
	apt-get -q -y -o Dpkg::Use-Pty=0 -o APT::Sandbox::User=root \
		-o APT::Install-Recommends=no "$@"
}

# What packages own and administer.  Not: what runs, caches, dpkg's own records.
listing() {
	find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run \
		-o -path /tmp -o -path /packages -o -path /var/cache -o -path /var/log \
		-o -path /var/lib/apt -o -path /var/lib/dpkg \
		-o -path '/usr/src/linux-headers-*' -o -path '/usr/lib/linux-kbuild-*' \
		\) -prune -o -printf '%p %y %m %U:%G\n' | sort
}

# --- install ----------------------------------------------------------------

# What apt wants besides ours is installed first, so that what is there before
# and after ours can be compared.
dependencies() {
	local need
	mapfile -t need < <(apt -s install /packages/*.deb | awk -v ours=" ${ours[*]} " '
		$1 == "Inst" && !index(ours, " " $2 " ") { print $2 }')
	echo "dependencies: ${need[*]}"
	((${#need[@]} == 0)) && return
	apt install "${need[@]}" && return
	# the lists are as old as the clean Debian
	apt update && apt install "${need[@]}"
}

# module_there KERNEL NAME SUFFIX: the package's version is the module's with this after it.
# Built for this kernel, signed with the key that can be enrolled
module_there() {
	local kernel=$1 name=$2 ko=/lib/modules/$1/updates/dkms/$2.ko
	[[ $(modinfo -F vermagic "$ko") == "$kernel "* ]] &&
		[[ $(modinfo -F version "$ko")$3 == "$(dpkg-query -W -f '${Version}' dxk-dkms)" ]] &&
		[[ $(modinfo -F signer "$ko") == 'DKMS module signing key' ]] &&
		grep -q "/$name.ko" "/lib/modules/$kernel/modules.dep"
}

# Links with the library the way a user would, in both languages.
program() {
	local cc=$1 to=$2
	shift 2
	# shellcheck disable=SC2046 # words are wanted
	$cc -Wall -Wextra -Werror -o "$to" "$@" $(pkg-config --cflags --libs dxk)
}
static_program() {
	# shellcheck disable=SC2046
	gcc -static -o hello-static hello.c $(pkg-config --static --cflags --libs dxk)
}

# All programs, all functions and the page on the whole
pages() {
	local name status=0
	for name in $(dpkg -L dxk-tools | sed -n 's,^/usr/s\?bin/,,p') dxk; do
		man -w "$name" >/dev/null || status=1
	done
	for name in $(nm -D --defined-only /usr/lib/*/libdxk.so.1 |
		awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }'); do
		man -w 3 "$name" >/dev/null || status=1
	done
	return $status
}

install() {
	local k n
	dependencies
	listing >before
	apt install /packages/*.deb
	expect "dpkg is content" bash -c '[[ -z $(dpkg --audit) ]]'
	expect "the files are as they were packed" dpkg --verify "${ours[@]}"
	expect "group dxk exists" getent group dxk
	expect "it has a gid of the system's" bash -c \
		'(($(getent group dxk | cut -d: -f3) < 1000))'
	expect "user dxkd exists" getent passwd dxkd
	expect "its service is enabled, and waits for a configuration" bash -c \
		'[[ -L /etc/systemd/system/multi-user.target.wants/dxkd.service ]] &&
			grep -q ^ConditionPathExists= /lib/systemd/system/dxkd.service'
	for k in "${kernels[@]}"; do
		for n in dxk dxk_executors; do
			expect "DKMS built $n for $k" module_there "$k" $n ''
		done
		expect "and kept its symbols for other modules" grep -q dxk_post \
			"/var/lib/dkms/dxk/kernel-$k-$(uname -m)/Module.symvers"
	done
	expect "each program and function has its manual page" pages
	expect "a C program builds with pkg-config" program gcc hello hello.c
	expect "a program that uses dxk all the time builds" program gcc rounds rounds.c
	expect "a C++ program, too" program g++ hello++ -x c++ hello.c
	expect "a static one, too" static_program
}

# --- upgrade ----------------------------------------------------------------

# The same programs with a higher version
upgrade() {
	local k n
	apt install /packages/next/*.deb
	expect "after an upgrade dpkg is content" bash -c '[[ -z $(dpkg --audit) ]]'
	expect "the new files are as they were packed" dpkg --verify "${ours[@]}"
	for k in "${kernels[@]}"; do
		for n in dxk dxk_executors; do
			expect "DKMS built $n for $k anew" module_there "$k" $n +next
		done
	done
	expect "DKMS knows one version" bash -c \
		'[[ $(dkms status dxk | cut -d, -f1 | sort -u | wc -l) == 1 ]]'
	expect "a program of the old version still builds" program gcc hello hello.c
}

# --- purge ------------------------------------------------------------------

purge() {
	local left k
	apt remove "${ours[@]}"
	expect "removed, dpkg is content" bash -c '[[ -z $(dpkg --audit) ]]'
	for k in "${kernels[@]}"; do
		expect "and no module is left for $k" bash -c \
			"! find /lib/modules/$k/ -name 'dxk*.ko*' | grep ."
	done
	# apt does not know any more those of which nothing is left
	dpkg --purge "${ours[@]}"
	expect "dpkg has forgotten all of them" bash -c \
		'! dpkg-query -W "$@" 2>/dev/null | grep .' - "${ours[@]}"
	expect "DKMS, too" bash -c '[[ -z $(dkms status dxk) ]]'
	listing >after
	# DKMS keeps its key for other modules; depmod's lists are the kernel's.
	left=$(comm -13 before after | grep -vE \
		'^/var/lib/dkms/(mok\.(key|pub)|dkms_dbversion) |^/usr/lib/modules/[^/]*/modules\.' || :)
	if [[ -z $left ]]; then
		ok "nothing is left"
	else
		not_ok "nothing is left"
		sed 's/^/# left: /' <<<"$left"
	fi
	if left=$(comm -23 before after | grep .); then
		not_ok "nothing of others is gone"
		sed 's/^/# gone: /' <<<"$left"
	else
		ok "nothing of others is gone"
	fi
	# Files may still have its gid, so nobody else shall get it.
	expect "group dxk stays, as Debian's policy wants" getent group dxk
	expect "user dxkd, too" getent passwd dxkd
}

$step
