#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds the modules in a copy of their source, so that builds for several kernels
# disturb neither each other nor the work tree.  What has not changed is not built
# again.  The example for other modules is built beside them, in COPY.small.
#
#   build-module.sh KDIR COPY [VARIABLE=VALUE...]
#
# Fails at the first warning (W=1), and then throws the copy away: the next build would
# not compile the file again and so be silent.
set -euo pipefail

cd "$(dirname "$0")/.."
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
kdir=$1 to=$2
shift 2

# A pattern that matches two kernels gives the second one's headers for COPY.
if [[ -e $to/Makefile ]]; then
	echo "build-module.sh: $to is no copy of the modules" >&2
	exit 2
fi
# One that was interrupted may have told its warnings to nobody.
[[ ! -e $to.building ]] || rm -rf "$to"
mkdir -p "$to"
: >"$to.building"
# what differs, and not what is newer: a file can be older than the one that it replaces
find VERSION Kbuild dxk uapi -type f \( -name '*.[chS]' -o -name 'Kbuild*' -o -name VERSION \) \
	! -name '*.mod.c' | while read -r f; do
	cmp -s "$f" "$to/$f" || { rm -f "$to/$f" && install -D -m 644 "$f" "$to/$f"; }
done
# A module that Kbuild does not name any more must not be tested.
find "$to" -name '*.ko' -delete
# files that are gone from the tree
(cd "$to" && find Kbuild dxk uapi -type f \
	\( -name '*.[chS]' -o -name 'Kbuild*' -o -name 'Makefile*' \) \
	! -name '*.mod.c') | while read -r f; do
	[[ -e $f ]] || rm -f "$to/$f"
done

# The example is built as a stranger's module is, against the others.
mkdir -p "$to.small"
for f in Kbuild dxk_small.c; do
	cmp -s "examples/small/kmod/$f" "$to.small/$f" || cp "examples/small/kmod/$f" "$to.small/"
done
# Kbuild does not see that what another module exports has changed.
rm -f "$to.small/Module.symvers" "$to.small/"*.mod.[co]

if ! { make -C "$kdir" M="$(realpath "$to")" W=1 "$@" -j"$(nproc)" modules &&
	make -C "$kdir" M="$(realpath "$to.small")" DXK="$(realpath "$to")" W=1 "$@" modules
} >"$to.log" 2>&1 ||
	grep -E 'warning:|^WARNING:' "$to.log" | grep -v 'compiler differs'; then
	cat "$to.log"
	rm -rf "$to" "$to.small" "$to.building"
	exit 1
fi
rm "$to.building"
cat "$to.log"
find "$to" -name dxk.ko | grep -q . || { echo "no dxk.ko was built"; exit 1; }
