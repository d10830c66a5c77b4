# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What comparisons of servers share.

# in_guest SCRIPT ARGUMENT... -- PROGRAM...: goes on in a guest whose clock counts instructions, in
# which SCRIPT of scripts/bench is run with these arguments. PROGRAMs are what it needs. Returns in
# the guest.
in_guest() {
	local arguments=() kdir
	while [[ $1 != -- ]]; do arguments+=("$1"); shift; done
	shift
	[[ ! -e /sys/module/dxk ]] || return 0
	for program; do
		command -v "$program" >/dev/null || { echo "${arguments[0]}: no $program" >&2; exit 1; }
	done
	kdir=$(compgen -G '/usr/src/linux-headers-6.1.*-amd64' | sort -V | tail -n 1)
	mkdir -p build/kernels build/share
	scripts/build-module.sh "$kdir" build/kernels/stock >"build/${arguments[0]}.log"
	make -s lib examples tools
	exec scripts/guest/guest.sh --icount --smp 1 --mem 2048 --timeout 3000 \
		--log "build/${arguments[0]}.console" --share "$PWD/build/share" -- \
		bash scripts/guest/guest-shell.sh build/kernels/stock "$PWD/build/share" \
		"scripts/bench/${arguments[0]}" "${arguments[@]:1}"
}
