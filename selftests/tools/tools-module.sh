#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# dxkctl doctor finds each reason for which the module is not loaded. Files of the
# system are replaced by others mounted over them.
# shellcheck source=selftests/lib/tools.bash
. "${0%/*}/tools.bash"
stock_only
one_mode

dxk=$(find "$DXK_MODULES" -name dxk.ko | head -n 1)
mapfile -t others < <(find "$DXK_MODULES" -name '*.ko' ! -name dxk.ko)
load_modules() {
	local ko
	[[ -e /sys/module/dxk ]] || busybox insmod "$dxk"
	for ko in "${others[@]}"; do
		[[ -e /sys/module/$(basename "$ko" .ko) ]] || busybox insmod "$ko"
	done
}
unload_modules() {
	local ko
	for ko in "${others[@]}"; do busybox rmmod "$(basename "$ko" .ko)"; done
	busybox rmmod dxk
}

bound=()
bind() { mount --bind "$1" "$2" && bound+=("$2"); }
unbind() { umount "${bound[-1]}" && unset 'bound[-1]'; }
restore() {
	while ((${#bound[@]})); do unbind; done
	rm -f /run/modprobe.d/dxk-test.conf
	load_modules
}

doctor() { run 1 dxkctl doctor && has out "$1"; }

unload_modules
release=$(uname -r)
pattern=${release//[.+]/[.+]}	# of an expression
mkdir -p "modules/$release/extra" modules/0.0-other/extra /run/modprobe.d
touch "modules/$release/modules."{order,builtin}
bind modules /lib/modules && depmod "$release" &&
	doctor "no module dxk for this kernel, $pattern" &&
	has out "do: apt install linux-headers-$pattern" && has out 'do: make module'
ok "it is not built"
cp "$dxk" modules/0.0-other/extra/ && doctor 'another kernel: .*0.0-other'
ok "it is built for another kernel"
run 1 dxkctl list && has err 'next: dxkctl doctor' && run 1 dxkctl show 0 &&
	run 1 dxkctl trace && run 1 dxkstat
ok "others without a module"
cp "$dxk" "modules/$release/extra/" && depmod "$release" &&
	doctor 'WRONG the module is not loaded' && has out 'ok .*dxk.ko$' &&
	has out 'do: modprobe dxk'
ok "it is not loaded"
echo 'blacklist dxk' >/run/modprobe.d/dxk-test.conf && doctor 'do: .*blacklisted'
ok "it is blacklisted"
echo 'install dxk /bin/false' >/run/modprobe.d/dxk-test.conf &&
	doctor "line 'install dxk"
ok "modprobe is told to do something else"
rm -f /run/modprobe.d/dxk-test.conf
echo 'quiet module_blacklist=floppy,dxk' >cmdline && bind cmdline /proc/cmdline &&
	doctor module_blacklist
ok "it is blacklisted by the boot loader"
unbind
echo 1 >one && bind one /proc/sys/kernel/modules_disabled && doctor modules_disabled
ok "no modules any more"
unbind
enforce=/sys/module/module/parameters/sig_enforce
if [[ -e $enforce ]]; then
	echo Y >yes && bind yes $enforce && doctor 'is not signed' &&
		has out 'do: mokutil --import'
	ok "it is not signed"
	sign=$(compgen -G '/usr/lib/linux-kbuild-6.*/scripts/sign-file' | head -n 1)
	if [[ -x $sign ]] && openssl req -new -x509 -newkey ec \
		-pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key \
		-out cert -outform DER -subj '/CN=dxk test key' -days 2 2>err &&
		"$sign" sha256 key cert "modules/$release/extra/dxk.ko" 2>err; then
		doctor "signed by 'dxk test key'" && has out 'do: mokutil --test-key'
		ok "it is signed by somebody unknown"
	else
		skip "signed by somebody unknown: nothing to sign with: $(tail -n 1 err)"
	fi
	unbind
else
	skip "not signed: this kernel does not know signatures"
	skip "signed by somebody unknown: this kernel does not know signatures"
fi
unbind
load_modules && run 0 dxkctl doctor
ok "all is well again"
plan
