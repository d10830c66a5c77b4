#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Lists the behaviours of selftests/ids.txt that no test names which "make check" runs,
# and the test programs without a line in selftests/tiers.txt; exit 1 if any.
#
#   ids.sh [ROOT]
#
# A test names a behaviour in the comment right above it or in its body:
# DX-87, or a range, DX-87..DX-90. What the head of a file or a helper names does not
# count: it would stay when the test goes. A script is a test from its first command on.
set -euo pipefail

cd "${1:-$(dirname "$0")/../..}"
failed=0

# The files of a program are itself and those of its folder.
files=() programs=()
while read -r name check _; do
	[[ $name != '#'* && -n $name ]] || continue
	programs+=("$name")
	[[ $check != - ]] || continue
	for f in selftests/*/"$name" selftests/*/"$name".{c,cpp} selftests/*/"$name"/*.c; do
		[[ ! -f $f ]] || files+=("$f")
	done
done <selftests/tiers.txt

for f in build/selftests/*; do
	name=${f##*/}
	[[ -f $f && -x $f && $name != *.so ]] || continue
	[[ " ${programs[*]} " == *" $name "* ]] || {
		echo "ids.sh: $name has no line in selftests/tiers.txt" >&2
		failed=1
	}
done

# Reads the ids of a text, whole words only: DX-1 is not in DX-10, R-1 is not
# in PXR-1.
# shellcheck disable=SC2016
ids='
function take(text, n, i, p, a, b) {
	while (match(text, /[A-Za-z_]+-[0-9]+(\.\.([A-Z]+-)?[0-9]+)?/)) {
		p = substr(text, RSTART, RLENGTH)
		text = substr(text, RSTART + RLENGTH)
		n = split(p, a, /\.\./)
		b = a[1]; sub(/-[0-9]+$/, "", b)
		sub(/^.*-/, "", a[1])
		if (n == 2) sub(/^.*-/, "", a[2]); else a[2] = a[1]
		for (i = a[1] + 0; i <= a[2] + 0; i++) print b "-" i
	}
}
'

wanted=$(awk "{ sub(/#.*/, \"\"); take(\$0) } $ids" selftests/ids.txt)
# shellcheck disable=SC2016
tests='
FNR == 1 { script = FILENAME ~ /\.sh$/; head = script; test = 0; said = "" }
script { head = head && /^(#|$)/; if (!head) take($0); next }
test { take($0); test = !/^}/; next }
/^(TEST|TEST_F)\(/ { take(said); test = 1; next }
/^(\/\*| \*)/ { said = said "\n" $0; next }
{ said = "" }
'
named=''
((${#files[@]} == 0)) || named=$(awk "$tests $ids" "${files[@]}" | sort -u)

missing=$(grep -vxF -f <(echo "$named") <<<"$wanted" || true)
total=$(wc -l <<<"$wanted")
if [[ -n $missing ]]; then
	echo "$missing"
	echo "ids.sh: $(wc -l <<<"$missing") of $total behaviours are named by no test" >&2
	exit 1
fi
echo "ids.sh: all $total behaviours are named by a test"
exit $failed
