#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Prints the QEMU that runs the guests, and with how many threads it may emulate:
# "PATH multi" or "PATH single".
#
#   qemu.sh           print it
#   qemu.sh --fetch   get Debian's backport first, where this machine's is too old
#
# In 7.2 an emulated CPU can keep for good what it has read of an instruction while
# another CPU patched it; in 10.0 "check-guest.sh --emulation" seldom finds that.  Linux
# patches its code whenever a tracepoint goes on or off or a module comes: then a CPU
# meets a breakpoint for ever that nobody has set.  Where there is no newer one, one
# thread emulates all CPUs in turns: that is right, slower, and shows fewer races.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
own=${DXK_CACHE:-/var/cache/dxk}/qemu
name=qemu-system-x86_64

new_enough() {
	local version
	version=$("$1" --version 2>/dev/null | sed -n '1s/.* version \([0-9.]*\).*/\1/p') &&
		printf '10.0\n%s\n' "${version:-0}" | sort -CV
}

# What it has beside its program lies there, too; it looks for that from where it is.
# shellcheck disable=SC2317 # it is called below
fetch() {
	local work=$own.$$ deb
	mkdir -p "$work/root"
	(cd "$work" && "$here/fetch.sh" bookworm-backports \
		qemu-system-{x86,common,data} seabios) &&
		for deb in "$work"/*.deb; do dpkg-deb -x "$deb" "$work/root"; done &&
		new_enough "$work/root/usr/bin/$name" &&
		mv -T "$work/root" "$own"
}

if [[ ${1:-} == --fetch ]] && ! new_enough "$name" &&
	! new_enough "$own/usr/bin/$name"; then
	echo "qemu.sh: fetching a QEMU that may emulate CPUs side by side" >&2
	fetch >&2 || echo "qemu.sh: there is none; guests take longer" >&2
	rm -rf "$own.$$"
fi

if new_enough "$name"; then
	echo "$name multi"
elif new_enough "$own/usr/bin/$name"; then
	echo "$own/usr/bin/$name multi"
else
	echo "$name single"
fi
