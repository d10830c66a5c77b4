#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds dxk for Debian's 6.1 kernel, boots a guest with that kernel, loads the
# modules there and runs examples/demo-guest.sh.  Nothing of the host's kernel
# is touched.
set -euo pipefail

cd "$(dirname "$0")/.."
# The builds below are not parts of the make that called this script.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
umask 022
build=$PWD/build
mkdir -p "$build/check"
# what a check's guest has loaded is not built again below its feet
exec 7>"$build/check/lock"
flock -n 7 || { echo "demo: check.sh is running in this tree" >&2; exit 1; }

phase=''
next() {
	[[ -z $phase ]] || echo "== $phase: $((SECONDS - start)) s"
	phase=$1 start=$SECONDS
	[[ -z $phase ]] || echo "== $phase"
}

# Shows what a build prints only when it fails; a dot for each ten lines of it.
quiet() {
	local n=0
	if "$@" 2>&1 </dev/null 7>&- | tee "$build/demo.log" |
		while read -r _; do ((++n % 10)) || printf .; done; then
		echo
		return
	fi
	printf '\n'
	tail -n 30 "$build/demo.log"
	return 1
}

next "installing what is missing"
scripts/setup.sh --demo 7>&-

next "building the module, the library and the examples"
kdir=$(compgen -G '/usr/src/linux-headers-6.1.*-amd64' | sort -V | tail -n 1)
to=$build/kernels/stock
mkdir -p "$build/kernels"
quiet scripts/build-module.sh "$kdir" "$to"
quiet make -j"$(nproc)" lib examples

exec 7>&-

next "booting a guest and running the demo in it"
cat >"$build/demo-run.sh" <<-EOF
	set -e
	load() {
		for dep in \$(modinfo -F depends "\$1" | tr , ' '); do
			[ -e "/sys/module/\$dep" ] || modprobe -q "\$dep"
		done
		insmod "\$1"
	}
	load $to/dxk/dxk.ko
	load $to/dxk/executors/dxk_executors.ko
	export LD_LIBRARY_PATH=$build/lib
	exec examples/demo-guest.sh
EOF
status=0
# A busy host with two cores takes a minute; this is for a guest that hangs.
scripts/guest/guest.sh --kernel stock --timeout 1200 --log "$build/demo.console" -- \
	bash "$build/demo-run.sh" || status=$?
next ''
if ! scripts/check/check-log.sh "$build/demo.console"; then
	echo "demo: the kernel complained, see build/demo.console"
	exit 1
fi
exit "$status"
