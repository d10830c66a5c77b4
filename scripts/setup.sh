#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Installs what building and testing dxk needs on Debian 12, with apt-get,
# without a question.  Does nothing when all is there.
#
#   setup.sh           everything "make check" needs
#   setup.sh --demo    only what "make demo" needs
#   setup.sh --bench   what "make bench" needs: servers as well, which Debian starts
#   setup.sh --list    print the packages of any choice, install nothing
set -euo pipefail

subset=all list=
for arg in "$@"; do
	case $arg in
	--demo) subset=demo ;;
	--bench) subset=bench ;;
	--list) list=1 ;;
	-h | --help) sed -n '4,10s/^# \{0,1\}//p' "$0"; exit 0 ;;
	*) echo "setup.sh: unknown argument $arg" >&2; exit 2 ;;
	esac
done

# package, what for
demo=(
	"libssl-dev:hashes in examples/dxsum; builds the debug kernel"
	"libsqlite3-dev:database in examples/dxpkg"
	"gcc:compiler"
	"g++:builds examples/dxcpp"
	"make:runs the builds"
	"libc6-dev:headers for user space"
	"linux-image-amd64:stock 6.1 kernel for the guest"
	"linux-headers-amd64:builds the module for stock 6.1"
	"qemu-system-x86:runs the guest"
	"busybox-static:the guest's first program"
	"cpio:packs the guest's initramfs"
	"kmod:loads modules"
	"pkg-config:finds libdxk"
)
more=(
	"linux-headers-6.12-newest:builds the module for stock 6.12"
	"linux-source-6.12:source of the debug kernel"
	"flex:builds the debug kernel"
	"bison:builds the debug kernel"
	"bc:builds the debug kernel"
	"libelf-dev:builds the debug kernel"
	"python3-docutils:makes the manual and its man pages"
	"man-db:reads the man pages to check them"
	"xz-utils:unpacks the kernel source"
	"sparse:checks the module's source"
	"spin:checks the models in model/"
	"python3:test programs"
	"libjson-c-dev:JSON in tools/"
	"libncurses-dev:full screen of tools/dxkstat"
	"libkmod-dev:dxkctl doctor in tools/"
	"libtracefs-dev:dxkctl trace in tools/"
	"libtraceevent-dev:dxkctl trace in tools/"
	"tmux:the terminal of the tools' tests"
	"trace-cmd:reads the tracepoints in the tools' tests"
	"bpftrace:runs tools/dxk-latency.bt"
	"sqlite3:looks into the database of examples/dxpkg"
	"clang-14:libFuzzer, for fuzz/"
	"libclang-rt-14-dev:libFuzzer, for fuzz/"
	"dpkg-dev:builds the Debian packages"
	"debhelper:builds the Debian packages"
	"dh-dkms:builds the Debian packages"
	"lintian:checks the Debian packages"
	"mmdebstrap:makes the Debian that they are installed in"
	"systemd:systemd-sysusers reads the group that is installed"
)
bench=(
	"python3:makes the table"
	"libjson-c-dev:JSON of the measurements"
	"liburing-dev:a rival"
	"libglib2.0-dev:a rival"
	"libtbb-dev:a rival"
	"beanstalkd:a rival"
	"redis-server:a rival"
)
wanted=("${demo[@]}")
case $subset in
all) wanted+=("${more[@]}") ;;
bench) wanted+=("${bench[@]}") ;;
esac

if [[ -n $list ]]; then
	printf '%s\n' "${wanted[@]}" | column -t -s:
	exit 0
fi

# One call for all packages: this runs before every "make check".
installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' |
	sed -n 's/ installed$//p')
has() { grep -qx -"${2:-F}" -e "$1" <<<"$installed"; }

newest='linux-headers-6\.12\.[0-9.]+\+deb12-amd64'
missing=()
for entry in "${wanted[@]}"; do
	case ${entry%%:*} in
	linux-headers-6.12-newest) has "$newest" E || missing+=("$entry") ;;
	*) has "${entry%%:*}" || missing+=("$entry") ;;
	esac
done
# The guests' QEMU may have to be newer than Debian 12's.
finish() {
	"$(dirname "$0")/qemu.sh" --fetch >/dev/null
	exit
}
((${#missing[@]})) || finish

if ((EUID)); then
	echo "setup.sh: to install packages run it as root: ${missing[*]%%:*}" >&2
	exit 1
fi

export DEBIAN_FRONTEND=noninteractive
# Another apt may be at work: wait for it instead of failing.
apt=(apt-get -q -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0)

echo "setup.sh: apt-get update"
# A foreign source that fails does not matter as long as ours are there.
"${apt[@]}" update >/dev/null || echo "setup.sh: apt-get update complained"

packages=()
for entry in "${missing[@]}"; do
	name=${entry%%:*}
	if [[ $name == linux-headers-6.12-newest ]]; then
		name=$(apt-cache pkgnames linux-headers-6.12. | grep -xE "$newest" |
			sort -V | tail -n 1)
		if [[ -z $name ]]; then
			echo "setup.sh: apt knows no linux-headers-6.12.*+deb12-amd64" >&2
			exit 1
		fi
	fi
	echo "setup.sh: installing $name (${entry#*:})"
	packages+=("$name")
done

# INITRD=No: the guest has its own initramfs, the stock one is never booted,
# and generating it takes longer than all the rest.
INITRD=No "${apt[@]}" install -y --no-install-recommends \
	-o Dpkg::Options::=--force-confold "${packages[@]}"
finish
