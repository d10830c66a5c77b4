#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# examples/dxcpp against wc(1): the last sequence of the DX document in C++ (DX-104,
# DX-105, DX-106), over files of one part and of many, and files that it cannot read.
# shellcheck source=selftests/lib/test.bash
. "${0%/*}/test.bash"

bring_near "$build/examples/dxcpp"
dxcpp=$near/dxcpp
export LC_ALL=C

# as_wc OPTION... -- FILE...: is the answer that of wc, without its blanks?
as_wc() {
	local options=() l w c f
	while [[ $1 != -- ]]; do options+=("$1"); shift; done
	shift
	wc "$@" | while read -r l w c f; do echo "$l $w $c $f"; done >ref
	gives 0 "$dxcpp" "${options[@]}" "$@" && same ref out
}

: >empty
printf 'no newline' >short
printf ' \n\t blanks \v\f \r\n' >blanks
# words go across the boundaries of parts, and blanks, too
for size in 4095 4096 4097 8192; do
	printf -v blanks '%*s' "$size" ''
	printf '%s' "${blanks// /x}" >"one-word-$size"
	blanks=${blanks:2}
	printf '%sab cd' "${blanks// /$'\n'}" >"edge-$size"
done
licenses=(/usr/share/common-licenses/{GPL-2,GPL-3,LGPL-2.1})
[[ -z $long ]] || licenses=(/usr/share/common-licenses/*)
cat "${licenses[@]}" >big
parts=$((($(stat -c %s big) + 4095) / 4096))

printf 'a \1 b\1c \1\2 \377d\n \1' >unprintable
head -c 5000 /dev/zero >zeros
head -c 50000 /bin/bash >binary
as_wc -- empty short blanks unprintable zeros binary
ok "small files"
as_wc -p 4096 -- one-word-* edge-*
ok "words across the boundaries of parts"
as_wc -p 1 -- unprintable && as_wc -p 1000 -- zeros binary
ok "and what cannot be printed"
as_wc -- /proc/1/status /proc/cmdline
ok "files that do not tell their size"
as_wc -v -p 4096 -- big
ok "a file of many parts"
has err "^dxcpp: $parts parts by [1-4] workers$"
ok "each part was a request of its own"
as_wc -w 2 -p 1000 -- big edge-* short
ok "with the smallest crew that has a worker for each lane"
as_wc -w 9 -l "$work/log" -- "${licenses[@]}" one-word-* edge-* big
ok "many files, many workers"
has log 'dxcpp: context [0-9]* runs with 9 workers'
ok "the log is where the settings say"

upset() {	# STATUS WHAT: see tools_upset.c
	gives "$1" env UPSET="$((0xd821)) $2" LD_PRELOAD="$build/selftests/tools_upset.so" \
		"$dxcpp" -p 4096 big short
}
wc big short | while read -r l w c f; do echo "$l $w $c $f"; done >ref
for nth in 1 2 5 9; do
	upset 0 "$nth -108" && same ref out
	ok "wait $nth is ended by a Stop"
	upset 1 "$nth cancelled" && [[ ! -s out ]] && has err '^dxcpp: '
	ok "request $nth is cancelled"
done

gives 1 "$dxcpp" short /no/such /tmp empty &&
	[[ $(<out) == $'0 2 10 short\n0 0 0 empty\n0 2 10 total' ]] &&
	has err '^dxcpp: /no/such: No such file' && has err '^dxcpp: /tmp: '
ok "what cannot be read is told, the rest is counted"
gives 1 "$dxcpp" -w 1 short && [[ ! -s out ]] && has err '^dxcpp: policy TPMaxThreads: '
ok "a crew that is too small is refused"
as_wc -p 1 -- short edge-4096
ok "a request for each byte"
"$dxcpp" short >/dev/full 2>err
[[ $? == 1 ]] && has err '^dxcpp: write: No space left'
ok "the output cannot be written"
for option in '-p 0' '-p 9223372036854775807' '-p 1x' '-w 4294967298' '-w -1'; do
	# shellcheck disable=SC2086 # its two words
	gives 2 "$dxcpp" $option short && has err '^Usage:'
	ok "usage: $option"
done
plan
