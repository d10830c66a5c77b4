#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The engine in user space: builds it three times, plain, with the address and undefined
# behaviour sanitizers, and with the thread sanitizer, and runs its tests.
#
#   native.sh [suites] [threads] [simulator] [fuzz]    only these; fuzz only if it is named
#     --steps N      of the simulator (60000000), a tenth of that with sanitizers
#     --seed N       its first one (1)
#     --seconds N    of libFuzzer (60)
set -euo pipefail

cd "$(dirname "$0")/../.."
steps=60000000 seed=1 seconds=60 what=''
while (($#)); do
	case $1 in
	--steps) steps=$(printf %.0f "$2"); shift ;;
	--seed) seed=$2; shift ;;
	--seconds) seconds=$2; shift ;;
	suites | threads | simulator | fuzz) what+=" $1 " ;;
	-h | --help) sed -n '4,10s/^# \{0,1\}//p' "$0"; exit 0 ;;
	*) echo "native.sh: unknown argument $1" >&2; exit 2 ;;
	esac
	shift
done
what=${what:- suites threads simulator }
export UBSAN_OPTIONS=print_stacktrace=1
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES

build() { make -s -j"$(nproc)" -C native BUILD="$PWD/build" VARIANT="$1" "${@:2}"; }

# run NAME COMMAND...: shows all of what fails, the last line of what does not
run() {
	local out
	if ! out=$("${@:2}" 2>&1); then
		echo "$out"
		echo "$1 failed"
		exit 1
	fi
	echo "$1: $(tail -n 1 <<<"$out")"
}

# hash ARGUMENT...: of what the simulator did
hash() { build/native/sim "$@" | sed -n 's/.* hash \([0-9a-f]*\):.*/0x\1/p'; }

# Each episode is the same alone, and wherever in memory it is: it can be looked into.
replays() {
	local all=$(($(hash --seed "$seed" --steps 1e5))) i sum=0

	for ((i = seed; sum != all && i < seed + 100; i++)); do
		sum=$((sum + $(hash --episode "$i")))
	done
	((sum == all)) || echo "the first 100 episodes are others when they run alone"
	((sum == all)) && echo "$((i - seed)) episodes, each run again"
}

for variant in '' asan tsan; do
	[[ $what == *' suites '* || $what == *' threads '* || $what == *' simulator '* ]] || break
	build "$variant"
	dir=build/native${variant:+-$variant}
	[[ $what != *' suites '* ]] || run "suites${variant:+, $variant}" "$dir/suites"
	[[ $what != *' threads '* ]] || run "threads${variant:+, $variant}" "$dir/stress"
	[[ $what != *' simulator '* ]] || run "simulator${variant:+, $variant}" "$dir/sim" \
		--seed "$seed" --steps $((${#variant} ? steps / 10 : steps)) \
		--out "build/native/failed${variant:+-$variant}"
	[[ $what != *' simulator '* || $variant ]] || run replays replays
done
[[ $what == *' fuzz '* ]] || exit 0

build fuzz "$PWD/build/native-fuzz/sim"
mkdir -p build/native-fuzz/corpus
run fuzz build/native-fuzz/sim -max_total_time="$seconds" -max_len=16384 \
	-artifact_prefix=build/native-fuzz/ build/native-fuzz/corpus
