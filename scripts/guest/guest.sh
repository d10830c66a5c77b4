#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Boots a guest, runs a command in it as root and exits with its status.
# The command sees the host's files (read-only) and has /tmp, /run and /var/tmp for
# itself.  It starts in the project's tree, which is at /run/dxk/tree, too: there all
# users reach it, wherever it lies on the host.  DXK_KILLS, DXK_LONG, DXK_ROUNDS,
# DXK_SECONDS, DXK_SEED and DXK_STEPS are passed on, which lengthen and repeat tests.
#
#   guest.sh [options] -- COMMAND [ARG...]
#   guest.sh [options] --terminal -- COMMAND [ARG...]
#   guest.sh --has-kvm    run nothing: exit status 0 when guests are run by KVM
#
#   --kernel K    stock (newest Debian 6.1, the default), stock-6.12, debug,
#                 bench, or a kernel build directory
#   --smp N       CPUs (2)
#   --mem M       memory in MiB (1024)
#   --timeout S   seconds until the guest is given up (120)
#   --silent S    ... and seconds that COMMAND may print nothing (as --timeout). Then
#                 it is sent a line "stuck", which it can read from $DXK_STUCK; the
#                 guest is given up when that does not help within 12 s.
#   --log FILE    keep the kernel's messages there
#   --out FILE    write what COMMAND prints there instead of standard output
#   --icount      counting clock: one CPU, 1 ns of guest time = 1 instruction
#   --plugin P    FILE.so[,ARG=VALUE...] a plugin for QEMU
#   --kmemleak    leave kmemleak and slab debugging on (debug kernel, slower)
#   --append A    more kernel parameters
#   --share DIR   the guest may write to this directory of the host
#   --forward P   what connects to 10.0.2.100:5672 reaches port P of the host's loopback; more
#                 of these are at 10.0.2.101 and so on. Without it the guest has no network,
#                 and with it no other one
#   --terminal    this terminal is COMMAND's; there is no limit but the --timeout asked for
#   -v            tell what is done
#
# Exit status: COMMAND's, or 124 when the time is up, 125 when the guest died
# (panic, oops, no answer), 2 for wrong use.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
tree=$(dirname "$(dirname "$here")")
cache=${DXK_CACHE:-/var/cache/dxk}

kernel=stock smp='' mem=1024 limit='' silent='' log='' out='' icount='' kmemleak=''
append='' share='' forward=() plugin='' terminal='' ask_kvm='' verbose=''

say() { echo "guest.sh: $*" >&2; }
tell() { [[ -z $verbose ]] || say "$@"; }
die() { say "$@"; exit 2; }

while (($#)); do
	case $1 in
	--kernel) kernel=$2; shift ;;
	--smp) smp=$2; shift ;;
	--mem) mem=$2; shift ;;
	--timeout) limit=$2; shift ;;
	--silent) silent=$2; shift ;;
	--log) log=$2; shift ;;
	--out) out=$2; shift ;;
	--icount) icount=1 ;;
	--kmemleak) kmemleak=1 ;;
	--append) append=$2; shift ;;
	--plugin) plugin=$2; shift ;;
	--share) share=$(realpath "$2"); shift ;;
	--forward) forward+=("$2"); shift ;;
	--terminal) terminal=1 ;;
	--has-kvm) ask_kvm=1 ;;
	-v | --verbose) verbose=1 ;;
	-h | --help) sed -n '4,40s/^# \{0,1\}//p' "$0"; exit 0 ;;
	--) shift; break ;;
	*) die "unknown option $1" ;;
	esac
	shift
done
(($#)) || [[ -n $ask_kvm ]] || die "no command"
[[ -n $limit ]] || limit=$([[ -n $terminal ]] && echo 0 || echo 120)

# --- the kernel -------------------------------------------------------------

newest_stock() {
	local image
	image=$(compgen -G "/boot/vmlinuz-$1.*-amd64" | grep -v cloud | grep -v rt- |
		sort -V | tail -n 1)
	[[ -n $image ]] || die "no Debian $1 kernel in /boot, run scripts/setup.sh"
	echo "$image"
}

modules=()	# what a stock kernel loads before it can mount
own=''		# a kernel of ours: everything is built in
case $kernel in
stock) image=$(newest_stock 6.1) ;;
stock-6.12) image=$(newest_stock 6.12) ;;
debug) image=$("$here/kernel.sh")/arch/x86/boot/bzImage own=1 ;;
bench) image=$("$here/kernel.sh" --bench)/arch/x86/boot/bzImage own=1 ;;
*)
	image=$kernel/arch/x86/boot/bzImage own=1
	[[ -e $image ]] || die "$kernel holds no arch/x86/boot/bzImage"
	;;
esac
version=own
if [[ -z $own ]]; then
	version=${image#*vmlinuz-}
	# in the order of their dependencies, each once
	mapfile -t modules < <(for m in virtio_pci 9pnet_virtio 9p ${forward[0]:+virtio_net}; do
		modprobe -S "$version" --show-depends "$m"
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }')
	((${#modules[@]})) || die "no modules for $version"
fi

# An emulated CPU unpacks a kernel for seconds, so it is done here, once.  The
# place of the packed kernel is in the boot header (setup_sects, payload_offset
# and payload_length).  Where it does not work the guest unpacks it itself.
unpacked() {
	local image=$1 to=$2 sects offset length unpack
	number() { od -An -tu"$3" -j"$2" -N"$3" "$1" | tr -d ' '; }
	sects=$(number "$image" $((0x1f1)) 1)
	offset=$(number "$image" $((0x248)) 4)
	length=$(number "$image" $((0x24c)) 4)
	offset=$(((sects + 1) * 512 + offset))
	case $(od -An -tx1 -j"$offset" -N4 "$image") in
	' fd 37 7a 58') unpack=xz ;;
	' 28 b5 2f fd') unpack=zstd ;;
	*) return 1 ;;
	esac
	# The size behind the packed data makes the unpacker complain.
	tail -c +$((offset + 1)) "$image" | head -c "$length" |
		"$unpack" -dcq 2>/dev/null >"$to.$$" || true
	if [[ $(od -An -tx1 -N4 "$to.$$") != ' 7f 45 4c 46' ]]; then
		rm -f "$to.$$"
		return 1
	fi
	mv "$to.$$" "$to"
}

mkdir -p "$cache"
if [[ -z $own ]]; then
	plain=$cache/vmlinux-$version-$(stat -c %Y "$image")
	[[ -e $plain ]] || unpacked "$image" "$plain" || plain=$image
	image=$plain
fi

# --- the initramfs ----------------------------------------------------------

work=$(mktemp -d "${TMPDIR:-/tmp}/dxk-guest.XXXXXX")
pids=()
# A child that is killed before it has become another program may run this, too.
# shellcheck disable=SC2317 # called by the trap
cleanup() {
	((BASHPID == $$)) || return 0
	((${#pids[@]} == 0)) || kill "${pids[@]}" 2>/dev/null || :
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

# Whatever goes into it is part of its name; made under another name, because
# two guests may start at once.
base=$cache/initramfs-$version-$({
	sha256sum <"$here/guest-init.sh"
	stat -c '%n %s %Y' /bin/busybox "${modules[@]}" "$0"
} | sha256sum | cut -c1-12).cpio

if [[ ! -e $base ]]; then
	tell "making $base"
	root=$work/root n=100
	mkdir -p "$root"/{bin,sbin,dev,proc,sys,modules}
	cp /bin/busybox "$root/bin/busybox"
	for applet in $(/bin/busybox --list | grep -vx busybox); do
		ln -sf /bin/busybox "$root/bin/$applet"
	done
	cp "$here/guest-init.sh" "$root/init"
	chmod +x "$root/init"
	# request_module() calls it outside of the chroot.
	printf '#!/bin/sh\nexec /bin/chroot /root /sbin/modprobe "$@"\n' \
		>"$root/sbin/modprobe"
	chmod +x "$root/sbin/modprobe"
	for m in "${modules[@]}"; do
		to=$root/modules/$((++n))-$(basename "${m%.xz}")
		case $m in
		*.xz) xz -dc "$m" >"$to" ;;
		*) cp "$m" "$to" ;;
		esac
	done
	# Not compressed: unpacking costs an emulated CPU more than reading.
	(cd "$root" && find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0) \
		>"$work/base.cpio"
	cp "$work/base.cpio" "$base.$$" && mv "$base.$$" "$base"
	rm -rf "$root"
	# those of yesterday's scripts
	find "$cache" -maxdepth 1 -name 'initramfs-*' -mtime +1 -delete
fi

# Each run's own part follows in a second archive.
hidden=
for d in "$tree" "$PWD"; do
	case $d in
	/tmp/* | /run/* | /var/tmp/*) [[ $hidden == *"$d"* ]] || hidden+=" $d" ;;
	esac
done
mkdir "$work/run"
{
	printf 'TREE=%q SHARE=%q HIDDEN=%q\n' "$tree" "$share" "${hidden# }"
	[[ -z $terminal ]] || printf 'TERMINAL=%q SIZE=%q\n' "${TERM:-dumb}" \
		"$(stty size 2>/dev/null | sed -n 's/^\([1-9].*\) \(.*\)/rows \1 cols \2/p')"
} >"$work/run/guest.env"
{
	# what lengthens or repeats a test
	for v in DXK_{KILLS,LONG,ROUNDS,SECONDS,SEED,STEPS}; do
		[[ -z ${!v:-} ]] || echo "export $v=${!v@Q}"
	done
	printf 'cd /run/dxk/tree || exit\nexec %s\n' "${*@Q}"
} >"$work/run/guest.command"
(cd "$work/run" && printf '%s\n' guest.env guest.command |
	cpio --quiet -o -H newc -R 0:0) >"$work/run.cpio"
cat "$base" "$work/run.cpio" >"$work/initrd"

# --- QEMU, with KVM or not ---------------------------------------------------

read -r qemu threads < <("$here/qemu.sh")

# A /dev/kvm may exist and yet hang at the first instruction, so only a guest
# that has booted counts.  The verdict holds until this machine boots again.
kvm_works() {
	local id verdict=$cache/kvm-verdict answer=no
	[[ -w /dev/kvm ]] || return
	grep -qwE 'vmx|svm' /proc/cpuinfo || return
	id=$(</proc/sys/kernel/random/boot_id)
	if ! grep -sqF "$id" "$verdict"; then
		# a shell of its own takes the message when qemu aborts
		(timeout -k 1 10 "$qemu" -M pc -accel kvm -cpu host \
			-m 256 -nodefaults -no-reboot -display none -kernel "$image" \
			-initrd "$work/initrd" -serial null \
			-serial "file:$work/probe" \
			-append "quiet panic=-1 dxk.probe" || true) >/dev/null 2>&1
		grep -sqa 'dxk-exit 0' "$work/probe" && answer=yes
		echo "$answer $id" >"$verdict"
		tell "KVM tried: $answer"
	fi
	grep -q '^yes' "$verdict"
}

if [[ -n $ask_kvm ]]; then
	kvm_works && exit
	exit 1
fi
accel=(-accel "tcg,thread=$threads" -cpu max)
if [[ -n $icount ]]; then
	accel=(-accel tcg -cpu max -icount 'shift=0,sleep=off'
		-rtc 'base=2025-01-01T00:00:00,clock=vm')
	# more than one CPU has to be asked for, stock 6.1 hangs with two
	smp=${smp:-1}
elif kvm_works; then
	accel=(-accel kvm -cpu host)
fi

# --- the run ----------------------------------------------------------------

console=$work/console
output=$work/output
[[ -z $log ]] || console=$log
[[ -z $out ]] || output=$out
: >"$console"
: >"$output"

args="console=ttyS0 panic=-1 oops=panic printk.devkmsg=on mitigations=off"
# A busy host may not run a guest for twenty seconds, which would seem to be a timer that
# does not work, or a CPU that is stuck.
args+=" no_timer_check watchdog_thresh=30 rcupdate.rcu_cpu_stall_timeout=60"
if [[ -n $own ]]; then
	# ACPI's interrupt routing takes minutes under KASAN
	args+=" pci=noacpi"
	[[ -n $kmemleak ]] || args+=" slab_debug=- kmemleak=off"
fi
args+=" $append"

qemu=("$qemu" -M pc "${accel[@]}" -smp "${smp:-2}" -m "$mem"
	-nodefaults -no-user-config -no-reboot -display none
	-kernel "$image" -initrd "$work/initrd" -append "$args"
	-serial "file:$console" -serial chardev:command
	-virtfs 'local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap')
[[ -z $share ]] ||
	qemu+=(-virtfs "local,path=$share,mount_tag=share,security_model=none,multidevs=remap")
if ((${#forward[@]})); then
	netdev=user,id=forward,restrict=on
	for i in "${!forward[@]}"; do
		netdev+=",guestfwd=tcp:10.0.2.$((100 + i)):5672-cmd:socat - TCP:127.0.0.1:${forward[i]}"
	done
	qemu+=(-device "virtio-net-pci,netdev=forward,romfile=" -netdev "$netdev")
fi

[[ -z $plugin ]] || qemu+=(-plugin "$plugin")
if [[ -n $terminal ]]; then
	qemu+=(-monitor none -chardev stdio,id=command,mux=on,signal=off)
else
	mkfifo "$work/asked" "$work/input"
	qemu+=(-monitor stdio
		-chardev "file,id=command,path=$output,input-path=$work/input")
fi

tell "kernel $image, limit $limit s"
tell "${qemu[*]@Q}"

# What the CPUs do, twice: a guest that does not answer may still run.
show_cpus() {
	local n sp
	say "what its CPUs do, and their stacks:"
	for n in 1 2; do
		echo 'info registers -a' >&9
		sleep 1
	done
	n=0
	for sp in $(grep -o 'RSP=[0-9a-f]*' "$work/answered" | tail -n "${smp:-2}"); do
		printf 'cpu %d\nx /24gx 0x%s\n' $((n++)) "${sp#*=}" >&9
	done
	sleep 1
	tr -d '\r' <"$work/answered" | grep -E '^(CPU#|RIP=|[0-9a-f]{16}:)' |
		sed 's/^/  | /' >&2
}

: "${silent:=$limit}"
# Until it has ended or is given up.  What it prints is its progress; before the
# command has begun that is what the kernel prints, which boots on a busy host.  The
# wait is one for jobs, because a trap does not interrupt a command.
given_up=''
attend() {
	local end=$((SECONDS + limit)) quiet=$SECONDS last='' size told='' begun='' alarm
	local prints=("$console" "$output")
	while :; do
		sleep 1 8>&- 9>&- &
		alarm=$!
		wait -n "${pids[0]}" "$alarm" || :
		if ! kill -0 "${pids[0]}" 2>/dev/null; then
			kill "$alarm" 2>/dev/null || :
			return
		fi
		if [[ -z $begun ]] && grep -qam1 "$mark" "$output"; then
			begun=1 prints=("$output")
		fi
		size=$(stat -c %s "${prints[@]}")
		[[ $size == "$last" ]] || last=$size quiet=$SECONDS told=''
		if ((SECONDS >= end)); then
			given_up="did not end within $limit s"
		elif ((SECONDS - quiet < silent)); then
			continue
		elif ((SECONDS - quiet < silent + 12)); then
			[[ -n $told ]] || echo stuck >&8
			told=1
			continue
		else
			given_up="printed nothing for $((SECONDS - quiet)) s"
		fi
		say "the guest $given_up"
		show_cpus
		kill "${pids[0]}" 2>/dev/null || :
		return
	done
}

# Lines of the guest's own on ttyS1: the command begins, and its status.
mark=$'\001''dxk-'
start=$(date +%s%N)
if [[ -n $terminal ]]; then
	foreground=()
	((limit == 0)) || foreground=(timeout --foreground -k 5 "$limit")
	"${foreground[@]}" "${qemu[@]}" 2>"$work/qemu" || :
	# its answer is in the kernel's log
	cp "$console" "$output"
else
	# The limit ends QEMU also when this script has been killed.
	exec 8<>"$work/input" 9<>"$work/asked"
	timeout -k 5 $((limit + 30)) "${qemu[@]}" <&9 >"$work/answered" 2>"$work/qemu" &
	pids=($!)
	if [[ -z $out ]]; then
		# as it comes
		tail -s 0.1 --pid="${pids[0]}" -n +1 -f "$output" |
			sed -u -e "/^$mark/d" -e "s/$mark.*//" &
	fi
	attend
	wait "${pids[0]}" || :
	wait
	pids=()
fi
tell "the guest ran $((($(date +%s%N) - start) / 1000000)) ms"

show_console() {
	say "the end of the guest's kernel log:"
	tail -n 60 "$console" | tr -d '\r' | sed 's/^/  | /' >&2
}

result=$(grep -aoE "${mark}exit [0-9]+" "$output" | tail -n 1 | tr -dc 0-9 || true)
[[ -z $out ]] || sed -i -e "/^$mark/d" -e "s/$mark.*//" "$out"

if [[ -n $given_up ]]; then
	show_console
	exit 124
elif [[ -z $result ]]; then
	say "the guest died without an answer"
	[[ ! -s $work/qemu ]] || sed 's/^/  | /' "$work/qemu" >&2
	show_console
	exit 125
elif grep -aqE 'Kernel panic|Oops: |BUG: unable' "$console"; then
	say "the guest's kernel oopsed"
	show_console
	exit 125
fi
exit "$result"
