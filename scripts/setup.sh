#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Installs what building and testing dxk needs on Debian 12, with apt-get,
# without a question.  Does nothing when all is there.  What the Debian packages are
# built with is in debian/control, and only there.
#
#   setup.sh           everything "make check" needs
#   setup.sh --demo    only what "make demo" needs
#   setup.sh --bench   what "make bench" needs: servers as well, which Debian starts
#   setup.sh --list    print the packages of any choice and why, install nothing
set -euo pipefail

subset=all list=
for arg in "$@"; do
	case $arg in
	--demo) subset=demo ;;
	--bench) subset=bench ;;
	--list) list=1 ;;
	-h | --help) sed -n '4,11s/^# \{0,1\}//p' "$0"; exit 0 ;;
	*) echo "setup.sh: unknown argument $arg" >&2; exit 2 ;;
	esac
done

# package:what for
demo=(
	"libssl-dev:hashes in examples/dxsum; builds the debug kernel"
	"libsqlite3-dev:database in examples/dxpkg and examples/dxkv"
	"libcurl4-openssl-dev:requests of examples/dxspider"
	"libxml2-dev:HTML in examples/dxspider"
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
	"curl:a client of examples/dxhttpd"
	"wget:what examples/dxspider is compared with"
	"libnbd-bin:nbdinfo and nbdcopy, clients of examples/dxnbd"
	"sqlite3:looks into the databases of examples/dxpkg and examples/dxkv"
	"redis-tools:redis-cli and redis-benchmark, clients of examples/dxkv"
)
more=(
	"linux-headers-6.12-newest:builds the module for stock 6.12"
	"linux-source-6.12:kselftest_harness.h and kunit.py; source of the debug kernel"
	"flex:builds the debug kernel"
	"bison:builds the debug kernel"
	"bc:builds the debug kernel"
	"libelf-dev:builds the debug kernel"
	"man-db:reads the man pages to check them"
	"xz-utils:unpacks the kernel source"
	"sparse:checks the module's source"
	"codespell:spelling of what people read"
	"pahole:layouts of structs, which are compared with those kept"
	"spin:checks the models in model/"
	"gcovr:says which lines the tests reach"
	"python3:test programs"
	"python3-prometheus-client:reads what dxkstat --openmetrics writes"
	"prometheus:promtool, which judges what dxkstat --prometheus writes"
	"tmux:the terminal of the tools' tests"
	"trace-cmd:reads the tracepoints in the tools' tests"
	"bpftrace:runs tools/dxk-latency.bt"
	"apache2-utils:ab, a client of examples/dxhttpd"
	"socat:a client of examples/dxchat"
	"rabbitmq-server:a broker, for the tests of dxkd"
	"amqp-tools:a client of the broker that sends garbage, for the tests of dxkd"
	"openssl:certificates, for the tests of dxkd"
	"qemu-utils:qemu-img and qemu-io, clients of examples/dxnbd"
	"fio:a client of examples/dxnbd"
	"clang-14:libFuzzer, for fuzz/"
	"libclang-rt-14-dev:libFuzzer, for fuzz/"
	"python3-clang-14:finds the places that scripts/mutants changes"
	"build-essential:what all Debian packages are built with"
	"lintian:checks the Debian packages"
	"mmdebstrap:makes the Debian that they are installed in"
	"autopkgtest:runs debian/tests and DKMS' own test, as Debian does"
	"autodep8:tells autopkgtest of DKMS' own test"
	"systemd:systemd-sysusers reads the group that is installed"
)
bench=(
	"python3:makes the table"
	"liburing-dev:a rival"
	"libglib2.0-dev:a rival"
	"libtbb-dev:a rival"
	"libasio-dev:a rival"
	"beanstalkd:a rival"
	"redis-server:a rival"
)
# Build-Depends and Build-Depends-Indep of debian/control, as they stand there
mapfile -t packaging < <(awk '
	/^$/ { exit }
	/^[^ \t#]/ { ours = sub(/^Build-Depends(-Indep)?:/, "") }
	ours && !/^#/ { all = all " " $0 }
	END { print all }' "$(dirname "$0")/../debian/control" | tr ',' '\n' |
	sed 's/^ *//; s/ *$//; /^$/d; s/$/:builds the Debian packages (debian\/control)/')

wanted=("${demo[@]}")
case $subset in
all) wanted+=("${more[@]}" "${packaging[@]}") ;;
bench) wanted+=("${bench[@]}" "${packaging[@]}") ;;
esac

show() {
	local entry
	for entry; do printf '%-28s %s\n' "${entry%:*}" "${entry##*:}"; done
}
if [[ -n $list ]]; then
	show "${wanted[@]}"
	exit 0
fi

# The versions of what is installed, and of what that provides.  One call for all
# packages: this runs before every "make check".
declare -A versions
while IFS=$'\t' read -r name version status provides; do
	[[ $status == installed ]] || continue
	versions[$name]+=" $version"
	IFS=, read -ra provides <<<"$provides"
	for entry in "${provides[@]}"; do
		read -r name _ version <<<"${entry//[()]/ }"
		versions[$name]+=" ${version:--}"
	done
done < <(dpkg-query -W -f \
	'${Package}\t${Version}\t${db:Status-Status}\t${Provides}\n')

# there "a (>= 1.2) | b": architectures and profiles are left to apt
there() {
	local alternatives name relation wanted version
	IFS='|' read -ra alternatives <<<"${1//[()]/ }"
	for name in "${alternatives[@]}"; do
		read -r name relation wanted <<<"${name%%[[<]*}"
		for version in ${versions[${name%:*}]:-}; do
			if [[ -z $relation ]] || { [[ $version != - ]] &&
				dpkg --compare-versions "$version" "$relation" "$wanted"; }; then
				return 0
			fi
		done
	done
	return 1
}

newest='linux-headers-6\.12\.[0-9.]+\+deb12-amd64'
missing=()
for entry in "${wanted[@]}"; do
	case ${entry%:*} in
	linux-headers-6.12-newest)
		grep -xE "$newest" < <(printf '%s\n' "${!versions[@]}") >/dev/null ;;
	*) there "${entry%:*}" ;;
	esac || missing+=("$entry")
done
# The guests' QEMU may have to be newer than Debian 12's.
finish() {
	"$(dirname "$0")/guest/qemu.sh" --fetch >/dev/null
	exit
}
((${#missing[@]})) || finish

echo "setup.sh: not here yet:"
show "${missing[@]}"
if ((EUID)); then
	echo "setup.sh: root can install them: sudo scripts/setup.sh $*" >&2
	exit 1
fi

export DEBIAN_FRONTEND=noninteractive LC_ALL=C
# Another apt may be at work: wait for it instead of failing.
apt=(apt-get -q -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0)

echo "setup.sh: apt-get update"
# A foreign source that fails does not matter as long as ours are there.
"${apt[@]}" update >/dev/null || echo "setup.sh: apt-get update complained"

packages=''
for entry in "${missing[@]}"; do
	name=${entry%:*}
	if [[ $name == linux-headers-6.12-newest ]]; then
		name=$(apt-cache pkgnames linux-headers-6.12. | grep -xE "$newest" |
			sort -V | tail -n 1) || :
		if [[ -z $name ]]; then
			echo "setup.sh: apt knows no linux-headers-6.12.*+deb12-amd64, which" \
				"Debian 12 has in its security archive" >&2
			exit 1
		fi
	fi
	packages+="${packages:+, }$name"
done

# satisfy installs like install, and takes what a control file says: versions,
# alternatives, names that another package provides.
apt+=(--no-install-recommends -o Dpkg::Options::=--force-confold)
"${apt[@]}" --assume-no satisfy "$packages" 2>/dev/null | awk '
	function mb(n, unit) {
		sub("/.*", "", unit)
		return n * (unit == "GB" ? 1000 : unit == "MB" ? 1 : .001)
	}
	{ gsub(",", "") }
	/newly installed/ { n = $1 + $3 }
	/^Need to get/ { get = mb($4, $5) }
	/^After this operation/ { disk = mb($4, $5) }
	END {
		printf "setup.sh: %d packages, %d MB to download, %d MB on disk; ", n, get, disk
		printf "about %d min at 10 MB/s\n", get / 600 + disk / 1500 + 1
	}' || :

# Tests start a broker of their own, and use no more of prometheus than a program;
# Debian's services would listen on all interfaces.
for name in rabbitmq-server prometheus; do
	if [[ " $packages," == *" $name,"* && -d /run/systemd/system ]]; then
		systemctl mask "$name.service"
	fi
done

# INITRD=No: the guest has its own initramfs, the stock one is never booted,
# and generating it takes longer than all the rest.
INITRD=No "${apt[@]}" -y satisfy "$packages"
finish
