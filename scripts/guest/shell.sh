#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A guest with dxk's modules loaded, its tools and examples in the PATH, and this tree:
# a terminal in it, or a command's output and exit status.
#
#   shell.sh [options] [-c COMMAND]
#
#   -c COMMAND    run by bash, instead of a terminal
#   --kernel K    stock (Debian 6.1), stock-6.12 or debug (stock)
#   --share DIR   the guest may write to this directory (build/share)
#   --stdin       COMMAND reads what standard input has, which is read to its end before
#                 the guest boots; without it COMMAND's is empty
#
# Documentation/testing.rst, "A guest of one's own", tells what the guest sees.
set -euo pipefail

cd "$(dirname "$0")/../.."
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
umask 022

kernel=stock share=$PWD/build/share command='' input=''
while (($#)); do
	case $1 in
	-c) command=$2; shift ;;
	--kernel) kernel=$2; shift ;;
	--share) share=$(realpath "$2"); shift ;;
	--stdin) input=1 ;;
	-h | --help) sed -n '4,16s/^# \{0,1\}//p' "$0"; exit 0 ;;
	*) echo "shell.sh: unknown option $1" >&2; exit 2 ;;
	esac
	shift
done

[[ -n $command || -z $input ]] || { echo "shell.sh: --stdin is for -c" >&2; exit 2; }
[[ -d $share || $share == "$PWD/build/share" ]] ||
	{ echo "shell.sh: $share is no directory" >&2; exit 2; }

scripts/setup.sh >&2 </dev/null
newest() { compgen -G "/usr/src/linux-headers-$1.*-amd64" | sort -V | tail -n 1; }
case $kernel in
stock) kdir=$(newest 6.1) ;;
stock-6.12) kdir=$(newest 6.12) ;;
debug) kdir=$(scripts/guest/kernel.sh) ;;
*) echo "shell.sh: there is no kernel $kernel" >&2; exit 2 ;;
esac

mkdir -p build/kernels build/share build/check
# where the guest can read it, and nobody else
stdin=$share/.stdin
rm -f "$stdin"
[[ -z $input ]] || (umask 077 && cat >"$stdin")
# not below a check's feet: its guests load what is built here again
exec 7>build/check/lock
flock -n 7 || { echo "shell.sh: check.sh is running in this tree" >&2; exit 1; }
echo "shell.sh: building, and booting a guest; half a minute" >&2
quiet() {
	"$@" >build/shell.log 2>&1 </dev/null 7>&- && return
	tail -n 30 build/shell.log >&2
	exit 125
}
quiet scripts/build-module.sh "$kdir" "build/kernels/$kernel"
quiet make -j"$(nproc)" lib examples tools
exec 7>&-

options=(--kernel "$kernel" --share "$share" --log build/shell.console)
[[ $kernel != debug ]] || options+=(--mem 1536)
if [[ -n $command ]]; then
	# for a guest that hangs; a command that takes longer than a day is not expected
	options+=(--timeout 86400)
	set -- bash -c "$command"
else
	options+=(--terminal)
	set -- bash
fi
exec scripts/guest/guest.sh "${options[@]}" -- \
	bash scripts/guest/guest-shell.sh "build/kernels/$kernel" "$share" "$@"
