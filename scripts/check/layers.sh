#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Which room of dxk/ may use which: main, abi, runtime, services, engine, and each only
# what stands behind it.  Looks at #include lines, and in a build of the module at its
# symbols as well: there what an extern declares is seen, and which files form a circle.
#
#   layers.sh ROOT [BUILD]
#   layers.sh --self-test
#
#   ROOT         of the source
#   BUILD        a directory with dxk/ROOM/*.o
#   --self-test  plants violations in copies of a small tree: each must be found
#
# engine/os.h is what the engine asks of the kernel: runtime/os.c alone may define that.
set -euo pipefail

rooms=(engine services runtime abi)	# from the bottom

# includes ROOT
includes() {
	local own above f bad=0
	for own in "${!rooms[@]}"; do
		for above in "${rooms[@]:own+1}"; do
			! grep -Hn "^#include \"$above/" "$1/dxk/${rooms[own]}"/*.[ch] || bad=1
		done
		# A name without a room is one of the top, or wrong.
		! grep -Hn '^#include "' "$1/dxk/${rooms[own]}"/*.[ch] | grep -vE \
			'"((engine|services|runtime|abi|uapi)/|(compat|dxk_api|trace|world)\.h")' ||
			bad=1
	done
	for f in "$1"/dxk/engine/*.[ch]; do
		[[ ${f##*/} == os.h || $f == *.mod.c ]] ||
			! grep -HnE '^#include (<|"(compat|dxk_api|world)\.h")' "$f" || bad=1
	done
	return $bad
}

# symbols BUILD: which file uses which, as "ROOM/USER ROOM/DEFINER SYMBOL"
symbols() {
	local room
	for room in "${rooms[@]}"; do
		nm -A "$1/dxk/$room"/*.o
	done | awk '
		{
			n = split($1, p, /[\/:]/)
			file = p[n - 2] "/" p[n - 1]
			sub(/\.o$/, "", file)
		}
		$2 == "U" { uses[file "\t" $3]; next }
		$2 ~ /^[TDRB]$/ { home[$3] = file }
		END {
			for (u in uses) {
				split(u, k, "\t")
				if (k[2] in home && home[k[2]] != k[1])
					print k[1], home[k[2]], k[2]
			}
		}' | sort
}

# directions BUILD: no room uses one above it
directions() {
	symbols "$1" | awk -v rooms="${rooms[*]}" '
		BEGIN { n = split(rooms, r, " "); for (i = 1; i <= n; i++) rank[r[i]] = i }
		{ split($1, user, "/"); split($2, definer, "/") }
		rank[definer[1]] > rank[user[1]] && !($2 == "runtime/os" && $3 ~ /^os_/) {
			print $1 " uses " $3 " of " $2
			bad = 1
		}
		END { exit bad }'
}

# What is one object in several files may call to and fro: services/log and log_*.
one_object='{
	for (i = 1; i <= 2; i++)
		sub(/services\/(log_call|log_file|command_handler|command_timed)$/, "&@", $i)
	for (i = 1; i <= 2; i++) { sub(/log_[a-z]+@$/, "log", $i); sub(/command_[a-z]+@$/, "command", $i) }
}'

# circles BUILD: files do not use each other in a circle
circles() {
	local out
	out=$(symbols "$1" | awk "$one_object"'
		!($2 == "runtime/os" && $3 ~ /^os_/) && $1 != $2 { print $1, $2 }' |
		sort -u | tsort 2>&1 >/dev/null) || true
	[[ -z $out ]] || { echo "these files form a circle:"; echo "$out"; return 1; }
}

look() {
	local bad=0
	includes "$1" || bad=1
	[[ -n ${2-} ]] || return $bad
	compgen -G "$2/dxk/engine/*.o" >/dev/null || { echo "no build in $2"; return 1; }
	directions "$2" || bad=1
	circles "$2" || bad=1
	return $bad
}

# --- violations ----------------------------------------------------------------

# plant NAME FILE TEXT: in a copy; an object is built of each C file
plant() {
	local tmp=$work/$1
	rm -rf "$tmp"
	mkdir -p "$tmp"
	cp -a "$work/good" "$tmp/tree"
	echo "$3" >>"$tmp/tree/dxk/$2"
	compile "$tmp/tree"
	if look "$tmp/tree" "$tmp/tree" >"$tmp/out"; then
		echo "not found: $1"
		return 1
	fi
	echo "found: $1: $(head -n 1 "$tmp/out")"
}

compile() {
	local f
	for f in "$1"/dxk/*/*.c; do
		gcc -c -w -I"$1/dxk" -o "${f%.c}.o" "$f"
	done
}

# A mock tree of its own: the real one needs a kernel to compile.
mock() {
	local room below=''
	for room in "${rooms[@]}"; do
		mkdir -p "$1/dxk/$room"
		echo "void $room(void);" >"$1/dxk/$room/$room.h"
		{
			echo "#include \"$room/$room.h\""
			[[ -z $below ]] || echo "#include \"$below/$below.h\""
			echo "void $room(void) { ${below:+$below();} }"
		} >"$1/dxk/$room/$room.c"
		below=$room
	done
	echo 'void os_wake(void);' >"$1/dxk/engine/os.h"
	printf '#include "engine/os.h"\nvoid os_wake(void) { }\n' >"$1/dxk/runtime/os.c"
	printf '%s\n' '#include "engine/os.h"' '#include "engine/engine.h"' \
		'void more(void) { os_wake(); engine(); }' >"$1/dxk/engine/more.c"
	echo 'int flag;' >>"$1/dxk/runtime/runtime.c"
}

self_test() {
	local bad=0
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	mock "$work/good"
	compile "$work/good"
	look "$work/good" "$work/good" || { echo "finds something where nothing is"; bad=1; }
	plant include-up engine/engine.c '#include "services/services.h"' || bad=1
	plant include-top services/services.h '#include "abi/abi.h"' || bad=1
	plant include-bare runtime/runtime.c '#include "runtime.h"' || bad=1
	plant include-world engine/more.c '#include <stddef.h>' || bad=1
	plant extern-up engine/more.c 'extern void abi(void); void up(void) { abi(); }' || bad=1
	plant data-up services/services.c \
		'extern int flag; int look(void) { return flag; }' || bad=1
	plant circle engine/engine.c 'extern void more(void); void to(void) { more(); }' || bad=1
	return $bad
}

case ${1-} in
--self-test) self_test ;;
-h | --help | '') sed -n '4,17s/^# \{0,1\}//p' "$0" ;;
*) look "$@" ;;
esac
