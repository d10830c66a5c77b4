#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# examples/dxcpp against wc(1): the last sequence of the DX document in C++ (DX-104,
# DX-105, DX-106), over files of one part and of many, and files that it cannot read.
set -uo pipefail

dxcpp=$(cd "$(dirname "$0")/.." && pwd)/examples/dxcpp
work=/tmp/dxcpp-test
n=0 failed=0

export LC_ALL=C
rm -rf "$work"
mkdir -p "$work" && cd "$work" || exit 1
trap 'cd / && rm -rf "$work"' EXIT

ok() {
	local status=$?
	n=$((n + 1))
	if ((status == 0)); then
		echo "ok $n $*"
	else
		echo "not ok $n $*"
		failed=1
	fi
}

# same OPTION... -- FILE...: is the answer that of wc, without its blanks?
same() {
	local options=() status=0
	while [[ $1 != -- ]]; do options+=("$1"); shift; done
	shift
	"$dxcpp" "${options[@]}" "$@" >out 2>err || status=$?
	wc "$@" | sed 's/^ *//; s/  */ /g' >ref
	((status == 0)) && cmp ref out && return
	echo "# status $status"
	diff ref out | head -n 10 | sed 's/^/# /'
	sed 's/^/# /' err
	return 1
}

: >empty
printf 'no newline' >short
printf ' \n\t blanks \v\f \r\n' >blanks
# words go across the boundaries of parts, and blanks, too
for size in 4095 4096 4097 8192; do
	head -c "$size" /dev/zero | tr '\0' x >"one-word-$size"
	{ head -c "$((size - 2))" /dev/zero | tr '\0' '\n'; printf 'ab cd'; } >"edge-$size"
done
cat /usr/share/common-licenses/* >big
parts=$((($(stat -c %s big) + 4095) / 4096))

same -- empty short blanks
ok "small files"
same -p 4096 -- one-word-* edge-*
ok "words across the boundaries of parts"
same -v -p 4096 -- big
ok "a file of many parts"
grep -qE "^dxcpp: $parts parts by [1-4] workers$" err
ok "each part was a request of its own"
same -w 2 -p 1000 -- big edge-* short
ok "with the smallest crew that has a worker for each lane"
same -w 9 -l "$work/log" -- /usr/share/common-licenses/* big
ok "many files, many workers"
grep -q 'dxcpp: context [0-9]* runs with 9 workers' log
ok "the log is where the settings say"

"$dxcpp" short /no/such /tmp empty >out 2>err
(($? == 1)) && [[ $(cat out) == $'0 2 10 short\n0 0 0 empty\n0 2 10 total' ]] &&
	grep -q '^dxcpp: /no/such: No such file' err && grep -q '^dxcpp: /tmp: ' err
ok "what cannot be read is told, the rest is counted"
"$dxcpp" -w 1 short >out 2>err
(($? == 1)) && [[ ! -s out ]] && grep -q '^dxcpp: policy TPLanePct' err
ok "a crew that is too small is refused: $(cat err)"
same -p 1 -- short edge-4096
ok "a request for each byte"
"$dxcpp" -p 0 short >out 2>err
(($? == 2)) && grep -q '^usage:' err
ok "usage"

echo "1..$n"
exit "$failed"
