#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Runs in the guest that scripts/demo.sh boots: dxsum over real files of the host,
# compared with sha256sum, and the figures of the context.
set -euo pipefail

cd "$(dirname "$0")/.."
dxsum=$PWD/build/examples/dxsum
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
want=2000

# Headers of the kernel that the guest runs: they are on every machine that can build
# the module for it. Many files and few bytes: what is to be seen is the dispatching,
# and an emulated machine hashes slowly.
include=$(compgen -G '/usr/src/linux-headers-6.1.*-common/include' | sort -V |
	tail -n 1) || true
if [[ -z $include ]]; then
	echo "demo: no kernel headers in /usr/src, run scripts/setup.sh --demo" >&2
	exit 1
fi
cd "$include"
dirs=(uapi dt-bindings asm-generic trace crypto soc xen)
total=$(find "${dirs[@]}" -type f -printf . | wc -c)
echo "$total files, $(du -shc "${dirs[@]}" | tail -n 1 | cut -f 1), in $include/{$(
	IFS=,
	echo "${dirs[*]}"
)}"
if ((total < want)); then
	echo "demo: $want are wanted" >&2
	exit 1
fi

# The time of a command in ms, to $took.
timed() {
	local start=${EPOCHREALTIME/./}
	"$@"
	took=$(((${EPOCHREALTIME/./} - start) / 1000))
}

# What dxsum promises to equal.
reference() {
	find "${dirs[@]}" -type f -print0 | LC_ALL=C sort -z |
		xargs -0 sha256sum -- >"$work/sha256sum"
}

timed reference
echo "find, sort and sha256sum: $took ms, the first to read them all"

for how in --kernel --user; do
	status=0
	timed "$dxsum" "$how" --stats "${dirs[@]}" >"$work/dxsum" 2>"$work/stats" ||
		status=$?
	if ((status)) || ! cmp "$work/sha256sum" "$work/dxsum"; then
		cat "$work/stats"
		echo "demo: dxsum $how: status $status, or not what sha256sum says" >&2
		exit 1
	fi
	echo "dxsum $how: $took ms, $(wc -l <"$work/dxsum") lines, every byte as sha256sum's"
	[[ $how != --kernel ]] || cp "$work/stats" "$work/stats.kernel"
done

echo
echo "/sys/kernel/dxk/<context> at the end of dxsum --kernel:"
cat "$work/stats.kernel"
