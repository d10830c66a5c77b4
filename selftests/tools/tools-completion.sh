#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What bash completes for dxkctl and dxkstat: what they take, and contexts that there are.
# shellcheck source=selftests/lib/tools.bash
. "${0%/*}/tools.bash"
stock_only
one_mode

# shellcheck source=dist/bash-completion/dxkctl
. "${0%/*}/dxkctl"

# completes WORD... gives the last word of WORD... as it is typed; prints what is offered
completes() {
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	"_$1"
	printf '%s\n' "${COMPREPLY[@]}" | sort >offered
}
offers() { has offered "^$1\$"; }

# Each subcommand of the help, and no other.
dxkctl --help | sed -n 's/^\(Usage:\|      \) dxkctl \([a-z]\+\).*/\2/p' | sort >there_are
completes dxkctl ""
same there_are offered
ok "subcommands"

open busy 0640 3 && completes dxkctl show b && offers busy && [[ $(lines offered .) == 1 ]] &&
	completes dxkctl set "" && offers "$id" && offers busy &&
	completes dxkstat bu && offers busy
ok "contexts"

completes dxkctl set busy lane_ && offers 'lane_pct0' &&
	completes dxkctl set busy lane_pct0 10 lane_ && offers 'lane_pct1' &&
	completes dxkctl set busy lane_pct0 "" && ! line offered . &&
	completes dxkctl set "$id" ready_e && ! line offered .
ok "fields that can be set, and not their values"

dxkctl --help | sed -n '/SECTION is/,/^  why/{/^  why/!p}' | sed 's/.*SECTION is//' |
	grep -oE '[a-z]+' | grep -vx or | sort >there_are
completes dxkctl show busy ""
same there_are offered
ok "sections"

completes dxkctl stop --c && offers --cancel &&
	completes dxkctl stop --cancel --timeout 3 bu && offers busy &&
	completes dxkctl frob bu && ! line offered . &&
	completes dxkstat --open && offers --openmetrics
ok "options, and what there is not"
shut
until_true no_context
completes dxkctl show "" && ! line offered .
ok "no context"
plan
