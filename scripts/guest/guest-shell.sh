# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What shell.sh runs in the guest: loads the modules, then runs a command.
#
#   guest-shell.sh MODULES SHARE COMMAND [ARG...]
#
# COMMAND's standard input is the file SHARE/.stdin if there is one, which goes then.
modules=$1 share=$2
shift 2
for ko in "$modules"/dxk/dxk.ko "$modules"/dxk/executors/dxk_executors.ko; do
	for dep in $(modinfo -F depends "$ko" | tr , ' '); do
		[[ -e /sys/module/${dep//-/_} ]] || modprobe -q "$dep"
	done
	busybox insmod "$ko" || exit 125
done
export PATH=$PWD/build/tools:$PWD/build/examples:$PATH LD_LIBRARY_PATH=$PWD/build/lib
export HISTFILE='' SHARE=$share
if [[ -e $share/.stdin ]]; then
	exec <"$share/.stdin"
	rm "$share/.stdin"
fi
[[ ! -t 0 ]] || cat <<-END
	dxk is loaded; dxkctl, dxkstat and the examples are in the PATH. This machine's files
	are read-only, /tmp is the guest's, and what is written to $share
	stays. "exit" ends the guest, Ctrl-A X one that hangs.
END
exec "$@"
