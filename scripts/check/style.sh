#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Spelling of all that people read, and the kernel's own opinion of the module's source.
#
#   style.sh [--self-test]
#
#   --self-test  plants a fault of each sort: each must be found
#
# checkpatch.pl is of the kernel's source, which scripts/guest/kernel.sh has unpacked; where it
# has not, only the spelling is looked at, and the last line says so.
set -euo pipefail
cd "$(dirname "$0")/../.."

# Words of the sources and of programs: fom; names in models, patterns and options.
words=fom,foms,nown,ans,upto,fro,nin,ssee,te,rende,bu
spelling() {
	found=$(codespell --ignore-words-list "$words" "$@" || :)
	[[ -z $found ]] || { echo "$found"; return 1; }
}

# What is not asked, for a reason:
#   MULTIPLE_ASSIGNMENTS, OPEN_ENDED_LINE, PARENTHESIS_ALIGNMENT, LINE_SPACING: .clang-format says
#   COMPLEX_MACRO, MACRO_ARG_REUSE, TRAILING_SEMICOLON: tables that are made by the preprocessor
#   BIT_MACRO, NEW_TYPEDEFS: the interface has no BIT(), and types of functions have names
#   MEMORY_BARRIER, WAITQUEUE_ACTIVE: the comment stands above the lines it is about
#   CONST_STRUCT, MINMAX, CAMELCASE: not so in Linux 6.1, or in user space
#   NEEDLESS_IF: on the way of each request a call that does nothing is one too many
#   JIFFIES_COMPARISON: two that are equal were read at once
#   TYPO_SPELLING: as above
not_asked=MULTIPLE_ASSIGNMENTS,OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT,LINE_SPACING
not_asked+=,COMPLEX_MACRO,MACRO_ARG_REUSE,TRAILING_SEMICOLON,BIT_MACRO,NEW_TYPEDEFS
not_asked+=,MEMORY_BARRIER,WAITQUEUE_ACTIVE,CONST_STRUCT,MINMAX,CAMELCASE
not_asked+=,JIFFIES_COMPARISON,TYPO_SPELLING,NEEDLESS_IF
kernel_style() {
	found=$(perl "$checkpatch" --no-tree --strict --terse --show-types --max-line-length=100 \
		--no-summary --ignore "$not_asked" -f "$@" || :)
	rm -f .checkpatch-camelcase.git.*
	[[ -z $found ]] || { echo "$found"; return 1; }
}

# The oldest one: newer ones ask for calls that older kernels lack.
source=$(find "${DXK_CACHE:-/var/cache/dxk}" -maxdepth 1 -name 'source-*' -type d 2>/dev/null |
	sort -V | head -n 1)
checkpatch=$source/scripts/checkpatch.pl

if [[ ${1:-} == --self-test ]]; then
	scratch=$(mktemp -d)
	trap 'rm -rf "$scratch"' EXIT
	printf 'This is t%s end.\n' eh >"$scratch/words.txt"
	printf '// SPDX-License-Identifier: GPL-2.0-only\nint f(void) {\n\treturn 0;\n}\n' >"$scratch/f.c"
	! spelling "$scratch/words.txt" >/dev/null || { echo "a wrong word is not found"; exit 1; }
	[[ ! -e $checkpatch ]] || ! kernel_style "$scratch/f.c" >/dev/null ||
		{ echo "a brace in the wrong place is not found"; exit 1; }
fi

status=0
# Without git: the tree may be a copy, or another user's. What builds leave here is no text of ours.
texts=(-name '*.[ch]' -o -name '*.[ch]pp' -o -name '*.rst' -o -name '*.md' -o -name '*.sh'
	-o -name '*.bash' -o -name '*.py' -o -name '*.pml' -o -name '*.txt' -o -name 'Makefile'
	-o -name 'sysfs-kernel-dxk')
mapfile -t all < <(find . \( -path ./build -o -path ./.git -o -path ./LICENSES \) -prune -o \
	-type f \( "${texts[@]}" \) ! -name '*.mod.c' ! -path ./lib/libdxk/abi.txt -print | sort)
((${#all[@]} > 500)) || { echo "only ${#all[@]} texts are found"; exit 1; }
spelling "${all[@]}" || status=1
if [[ -e $checkpatch ]]; then
	mapfile -t ours < <(find dxk uapi -name '*.[ch]' ! -name '*.mod.c' ! -path '*/tests/*' | sort)
	kernel_style "${ours[@]}" || status=1
else
	echo "checkpatch.pl is not there: not asked"
fi
exit "$status"
