# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What the tests of dxkctl and dxkstat share: contexts with a known load, and looking at
# JSON, both by one python for all of a test (tools.py).
# shellcheck source=selftests/lib/test.bash
. "${0%/*}/test.bash"

bring_near "$build"/tools/{dxkctl,dxkstat}

# The emulated debug kernel takes minutes to start a hundred programs, and they do
# there what other tests do, too.
stock_only() { [[ ! -e /proc/lockdep ]] || skip_all "left to the stock kernel"; }
one_mode() { [[ $dispatch == direct ]] || skip_all "the same in both modes"; }

# run STATUS COMMAND...: with that exit status. A failure (1) names what to do next.
run() {
	local next='^  next: |^      do: '
	gives "$@" || return
	(($1 != 1)) || line err "$next" || line out "$next" || {
		tell "it does not say what to do: ${*:2}"
		tell_file err
		return 1
	}
}

# python REQUEST...: does as tools.py tells, is it so? What it starts is $child.
python() {
	local said
	[[ -n ${python_PID:-} ]] ||
		coproc python { exec python3 -ES "$build/selftests/tools.py"; }
	echo "${*//$'\n'/ }" >&"${python[1]}"
	while read -ru "${python[0]}" said; do
		case $said in
		yes) return 0 ;;
		no) return 1 ;;
		child*) child=${said#child } ;;
		status*) status=${said#status } ;;
		*) echo "# $said" ;;
		esac
	done
	tell "no answer: $*"
	return 1
}
json() { python json "$@"; }

# nobody COMMAND...: run by gives(), whose files python knows
nobody() {
	local status=127
	python nobody "$@"
	return "$status"
}

# Files of the context.
counter() {
	local value
	read -r value <"/sys/kernel/dxk/$id/stats/$1"
	echo "$value"
}
is() {
	local value
	read -r value <"/sys/kernel/dxk/$id/$1" && [[ $value == "$2" ]]
} 2>/dev/null

# A context with load: open NAME MODE WORKERS SETTING..., then ask COMMAND, and shut.
open() {
	local word setting=0
	[[ $dispatch == direct ]] || setting=1
	python open "$@" "dispatch=$setting" && exec 8>to 9<from && load_pid=$child &&
		read -ru 9 word id && [[ $word == id ]] && return
	tell "no context: ${word:-} ${id:-}"
	return 1
}
# It may be dead.
say() { (trap '' PIPE && echo "$*" >&8) 2>/dev/null; }
ask() {
	local reply
	say "$*"
	read -ru 9 reply && [[ $reply == done* ]]
}
# The threads of a process end one by one, and only the last one closes the context.
shut() {
	say close
	exec 8>&- 9<&-
	until_true ended "$load_pid"
	until_true gone "/sys/kernel/dxk/$id"
}
gone() { [[ ! -e $1 ]]; }
