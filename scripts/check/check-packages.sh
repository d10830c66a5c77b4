#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Installs dxk as people do and looks at what is there: "make install" into a
# directory; the Debian packages, built twice, checked by lintian, tested by
# autopkgtest, installed into a clean Debian 12 where DKMS builds the modules, which
# guests then load; upgraded, also below a program that runs, removed and purged.
#
#   check-packages.sh [--lint | --keep]
#
#   --lint    only what needs neither root nor another Debian: the packages are
#             built once, checked by lintian, and "make install" follows in the
#             same tree, where all but the examples is built by then.  No modules.
#   --keep    purge nothing and leave build/packages, root/ is the Debian 12
#
# Prints "ok" and "not ok" lines.  Exit status 1 when one is not ok, 4 when this
# place allows no chroot.  DXK_CACHE (default /var/cache/dxk) keeps the clean
# Debian and the packages that were downloaded, DXK_MIRROR is where they are from.
# shellcheck disable=SC2317 # "expect" and "trap" call what it sees no call of
set -euo pipefail

cd "$(dirname "$0")/../.."
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
export LC_ALL=C.UTF-8
here=$PWD/scripts/check
cache=${DXK_CACHE:-/var/cache/dxk}
mirror=${DXK_MIRROR:-http://deb.debian.org/debian}
version=$(cat VERSION)

keep='' lint=''
case ${1:-} in
--lint) lint=1 ;;
--keep) keep=1 ;;
'') ;;
-h | --help) sed -n '4,18s/^# \{0,1\}//p' "$0"; exit 0 ;;
*) echo "check-packages.sh: unknown option $1" >&2; exit 2 ;;
esac

work=$PWD/build/packages${lint:+-lint}
if [[ -z $lint ]] && { ((EUID)) || ! unshare --mount true; }; then
	echo "# skipped: mounting in a chroot is for root"
	exit 4
fi

bad=0
ok() { echo "ok - $*"; }
not_ok() { echo "not ok - $*"; bad=1; }
# expect TEXT COMMAND...: what the command prints is shown when it fails
expect() {
	local text=$1 said
	shift
	if said=$("$@" 2>&1 </dev/null); then
		ok "$text"
	else
		not_ok "$text"
		tail -n 40 <<<"$said" | sed 's/^/#   /'
		return 1
	fi
}
took() { echo "# $1: $((SECONDS - since)) s"; since=$SECONDS; }
since=$SECONDS

# Mounts are made in a namespace of their own only, see below: whatever happens,
# nothing of the host is mounted below the directory that is removed here.
clean_up() { [[ -n $keep ]] || rm -rf "$work"; }
lock=$cache/chroot.lock
[[ -z $lint ]] || lock=$work.lock
mkdir -p "${lock%/*}"
exec 8>"$lock"
flock 8
rm -rf "$work"
mkdir -p "$work"
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

# --- from source ------------------------------------------------------------

copy() {
	mkdir -p "$1"
	tar -c --exclude-vcs --exclude=./build . | tar -x -C "$1"
	make -C "$1" clean >/dev/null
}

# dkms_kernels CONF: those that the module was tried with, and no other
dkms_kernels() {
	local kernels kernel
	kernels=$(sed -n 's/^BUILD_EXCLUSIVE_KERNEL="\(.*\)"$/\1/p' "$1")
	for kernel in 6.1.0-56-amd64 6.12.43+deb13-amd64 7.0.0 7.2.13 7.2+deb14-amd64; do
		[[ $kernel =~ $kernels ]] || { echo "DKMS does not build for $kernel"; return 1; }
	done
	for kernel in 5.10.0-8-amd64 6.0.1 7.3.0 7.20.1 8.0.0; do
		[[ ! $kernel =~ $kernels ]] || { echo "DKMS builds for $kernel"; return 1; }
	done
	rm -rf "$work/headers"
	mkdir -p "$work/headers/6.1.0-9-amd64/"{build,source/include/linux}
	dkms_takes "$1" 6.1.0-9-amd64 || { echo "DKMS looks where no headers are"; return 1; }
	touch "$work/headers/6.1.0-9-amd64/source/include/linux/module.h"
	! dkms_takes "$1" 6.1.0-9-amd64 || { echo "DKMS builds without linux/cleanup.h"; return 1; }
	touch "$work/headers/6.1.0-9-amd64/source/include/linux/cleanup.h"
	dkms_takes "$1" 6.1.0-9-amd64 || { echo "DKMS does not see linux/cleanup.h"; return 1; }
}
# dkms_takes CONF KERNEL: it would build for that, whose headers are in $work/headers
# shellcheck disable=SC1090,SC2034 # it reads the file as DKMS does
dkms_takes() {
	local BUILD_EXCLUSIVE_KERNEL install_tree=$work/headers kernelver=$2 dkms_tree='' arch=''
	. "$1"
	[[ $2 =~ $BUILD_EXCLUSIVE_KERNEL ]]
}

# unit FILE PROGRAM: systemd understands it all, and it allows little
unit() {
	local copy=$work/unit/${1##*/}
	command -v systemd-analyze >/dev/null || { echo "no systemd-analyze: skipped"; return 0; }
	mkdir -p "$work/unit"
	cp "$2" "$work/unit/program"
	sed "s,^ExecStart=[^ ]*,ExecStart=$work/unit/program," "$1" >"$copy"
	systemd-analyze verify --man=no "$copy" >"$work/unit/said" 2>&1 ||
		{ cat "$work/unit/said"; return 1; }
	! grep -F "${1##*/}" "$work/unit/said" || return 1
	systemd-analyze security --offline=true --threshold=20 "$copy" >"$work/unit/said" ||
		{ tail -n 1 "$work/unit/said"; return 1; }
}

# from_source TREE: every file in its place, and uninstall knows them all
from_source() {
	local tree=$1 d="$work/staged here" f groups modules=()
	local at=$d/usr/local src=$d/usr/src/dxk-$version
	local stage=(make -s -C "$tree" -j"$(nproc)" DESTDIR="$d")
	"${stage[@]}" install examples_install dkms_install || return
	if [[ -z $lint ]]; then
		# the kernel's makefiles take no blank
		"${stage[@]}" modules_install INSTALL_MOD_PATH="$work/modules" || return
		modules=("$at"/src/dxk/{dxk/dxk_api.h,uapi/dxk.h,Module.symvers}
			"$work"/modules/lib/modules/*/*/dxk/{dxk.ko,executors/dxk_executors.ko})
	fi
	for f in "$at"/lib/{libdxk.a,libdxk.so.1,pkgconfig/dxk.pc} \
		"$at"/include/{dxk.h,dx.h,dx.hpp,linux/dxk.h} \
		"$at"/bin/dxsum "$at"/sbin/{dxkctl,dxkd} "$at"/bin/dxkstat \
		"$at"/share/man/{man3/PostARequest.3,man7/dxk.7,man8/dxkctl.8} \
		"$at"/lib/udev/rules.d/60-dxk.rules \
		"$at"/lib/{sysusers.d,modules-load.d}/dxk.conf \
		"$at"/lib/{sysusers.d/dxkd.conf,systemd/system/dxkd.service} \
		"$src"/{Kbuild,VERSION,dkms.conf,dxk/main.c,uapi/dxk.h} "${modules[@]}"; do
		[[ -e $f ]] || { echo "${f#"$d"} is missing"; return 1; }
	done
	[[ $(PKG_CONFIG_PATH=$at/lib/pkgconfig pkg-config --define-variable=prefix=/elsewhere \
		--variable=includedir dxk) == /elsewhere/include ]] ||
		{ echo "dxk.pc does not know its prefix"; return 1; }
	dkms_kernels "$src/dkms.conf" || return
	groups=$(systemd-sysusers --root="$d" --dry-run 2>&1) || return
	[[ $groups == *"Creating group 'dxk'"* ]] ||
		{ echo "sysusers makes no group dxk: $groups"; return 1; }
	[[ $groups == *"Creating user 'dxkd'"* ]] ||
		{ echo "sysusers makes no user dxkd: $groups"; return 1; }
	unit "$at/lib/systemd/system/dxkd.service" "$at/sbin/dxkd" || return
	"${stage[@]}" uninstall >/dev/null || return
	rm -rf "$at/src" "$d/usr/src" "$work/modules"
	find "$d" ! -type d | grep . && { echo "were left by uninstall"; return 1; }
	return 0
}

# --- packages ---------------------------------------------------------------

# What debian/control names, setup.sh takes from there.
named_once() {
	local list
	list=$("$here/../setup.sh" --list) || return
	! awk '{ print $1 }' <<<"$list" | sort | uniq -d | grep .
}

# The second copy is somewhere else, at another time, in another language.
build() {
	copy "$work/one/tree"
	(cd "$work/one/tree" && dpkg-buildpackage -us -uc)
}
rebuild() {
	copy "$work/another/place/tree"
	(cd "$work/another/place/tree" && umask 027 && TZ=Asia/Tokyo LC_ALL=C \
		dpkg-buildpackage -us -uc -b)
}
reproducible() {
	local f status=0
	for f in "$work"/one/*.deb; do
		cmp "$f" "$work/another/place/${f##*/}" || status=1
	done
	return "$status"
}

# What runs as root, or is in others' processes, binds its symbols before it runs.
hardened() {
	local f
	for f in "$work"/one/tree/debian/{dxk-tools/usr/sbin/dxkctl,dxk-tools/usr/bin/dxkstat,dxkd/usr/sbin/dxkd} \
		"$work"/one/tree/debian/libdxk1/usr/lib/*/libdxk.so.1.*; do
		readelf -d "$f" | grep -qw NOW || { echo "$f: without -z now"; return 1; }
	done
}
find_faults() {
	lintian --allow-root --fail-on error,warning "$work"/one/*.changes
}

# --- a clean Debian 12 ------------------------------------------------------

# What building for the bind-mounted headers needs, what uses the packages here,
# and nothing that ours have to ask for themselves.
base_packages=g++,make,libelf1,openssl,pahole,pkg-config,man-db,udev
base=$cache/chroot-$(sha256sum <<<"$base_packages $mirror any date" | cut -c1-12).tar
make_base() {
	[[ -e $base ]] && return
	# lists stay, so that a run with all packages in the cache needs no network;
	# neither the mirror's time nor this machine's has to be right
	mmdebstrap --mode=root --variant=minbase --include="$base_packages" \
		--dpkgopt=force-unsafe-io --skip=cleanup/apt/lists \
		--aptopt='Acquire::Check-Valid-Until "false"' \
		--aptopt='Acquire::Check-Date "false"' \
		bookworm "${base%.tar}-new.tar" "$mirror" || return
	mv "${base%.tar}-new.tar" "$base"
	rm -rf "$cache/chroot-debs"
}

# The kernels whose headers the host has, the ones the guests boot
newest() { compgen -G "/usr/src/linux-headers-$1.*-amd64" | sort -V | tail -n 1; }
kernels=()
for dir in $(newest 6.1) $(newest 6.12); do
	kernels+=("${dir#/usr/src/linux-headers-}")
done

# The packages, and the same with a higher version
unpack() {
	local k deb
	mkdir -p "$work/root" "$cache/chroot-debs/partial"
	tar -C "$work/root" -xf "$base" || return
	mkdir "$work/root/packages"
	cp "$work"/one/*.deb "$here"/packages/{in-chroot.sh,hello.c,rounds.c} \
		"$work/root/packages/"
	rm "$work"/root/packages/*-dbgsym_*
	mkdir "$work/root/packages/next"
	for deb in "$work"/root/packages/*.deb; do
		dpkg-deb -R "$deb" "$work/next" || return
		sed -i "/^Version:/s/$/+next/; s/(= $version)/(= $version+next)/" "$work/next/DEBIAN/control"
		dpkg-deb -b "$work/next" "$work/root/packages/next" >/dev/null || return
		rm -r "$work/next"
	done
	for k in "${kernels[@]}"; do
		mkdir -p "$work/root/lib/modules/$k"
		ln -s "/usr/src/linux-headers-$k" "$work/root/lib/modules/$k/build"
		ln -s "/usr/src/linux-headers-${k%-amd64}-common" "$work/root/lib/modules/$k/source"
	done
}

# in_chroot STEP: runs a step of in-chroot.sh there.  The headers are the host's,
# read-only; all mounts end with their namespace.
in_chroot() {
	# shellcheck disable=SC2016 # expanded inside
	unshare --mount bash -ec '
		root=$1 cache=$2 step=$3
		shift 3
		for k; do
			headers=/usr/src/linux-headers-$k
			kbuild=$(realpath "$headers/scripts/..")
			for d in "$headers" "${headers%-*}-common" "$kbuild"; do
				mkdir -p "$root$d"
				mount --bind -o ro "$d" "$root$d"
			done
		done
		mount -t proc proc "$root/proc"
		mount -t sysfs -o ro sys "$root/sys"
		mount --bind "$cache/chroot-debs" "$root/var/cache/apt/archives"
		cp -L /etc/resolv.conf "$root/etc/resolv.conf"
		exec chroot "$root" env -i LC_ALL=C.UTF-8 HOME=/root TERM=dumb \
			PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
			http_proxy="${http_proxy:-}" \
			bash /packages/in-chroot.sh "$step" "$@"' \
		- "$work/root" "$cache" "$1" "${kernels[@]}" </dev/null
}

# Its results are shown, the rest is kept for the one who asks why.
step() {
	local status=0
	in_chroot "$1" >"$work/$1.log" 2>&1 || status=$?
	grep -E '^(not )?ok - |^# ' "$work/$1.log" || :
	if ((status)); then
		not_ok "$2"
		tail -n 40 "$work/$1.log" | sed 's/^/#   /'
	fi
	! grep -q '^not ok' "$work/$1.log" || bad=1
	return $status
}

# --- as Debian tests packages -----------------------------------------------

# debian/tests, and DKMS' own test, which installs the headers that this Debian has and builds
# for each.  That one breaks its testbed, so this is another Debian 12, for autopkgtest only.
testbed() {
	local root=$work/testbed
	mkdir -p "$root" "$cache/chroot-debs/partial"
	tar -C "$root" -xf "$base" || return
	# shellcheck disable=SC2016 # expanded inside
	unshare --mount bash -ec '
		mount -t proc proc "$1/proc"
		mount -t sysfs -o ro sys "$1/sys"
		mount --bind "$2/chroot-debs" "$1/var/cache/apt/archives"
		cp -L /etc/resolv.conf "$1/etc/resolv.conf"
		exec env -i LC_ALL=C.UTF-8 HOME=/root TERM=dumb PATH=/usr/sbin:/usr/bin:/sbin:/bin \
			http_proxy="${http_proxy:-}" autopkgtest --ignore-restrictions=breaks-testbed \
			--setup-commands="apt-get -q update || :" --output-dir="$3" \
			--summary-file="$3.summary" "$4" -- chroot "$1"' \
		- "$root" "$cache" "$work/autopkgtest" "$work"/one/*.changes
}

# Nothing has a reason to be skipped.  Neither a test that autopkgtest does not know of, nor a
# DKMS that finds no kernel, is a failure to it.
autopkgtests() {
	local status=0 name
	testbed >"$work/autopkgtest.log" 2>&1 || status=$?
	for name in $(sed -n 's/^Tests://p' debian/tests/control | tr , ' ') dkms-autopkgtest; do
		grep -q "^$name  *PASS" "$work/autopkgtest.summary" ||
			{ echo "$name did not pass"; status=1; }
	done
	grep -q '^I: PASS ' "$work/autopkgtest.log" || { echo "DKMS built for no kernel"; status=1; }
	! grep '^I: \(SKIP\|FAIL\) ' "$work/autopkgtest.log" || status=1
	((status == 0)) || grep -E '(^| )(E|FAIL|fatal|error):' "$work/autopkgtest.log" | tail -n 20 || :
	((status == 0)) || tail -n 15 "$work/autopkgtest.log"
	return "$status"
}

# --- all of it --------------------------------------------------------------

quick() {
	expect "setup.sh and debian/control name no package twice" named_once || :
	export DEB_BUILD_OPTIONS='nocheck noautodbgsym'
	expect "the packages are built" build || return 0
	took "packages"
	expect "lintian finds nothing" find_faults || :
	expect "programs and library are hardened" hardened || :
	took "lintian"
	expect "make install, dkms_install, uninstall" from_source "$work/one/tree" || :
	took "from source"
}

whole() {
	local kernel
	copy "$work/one"
	expect "make install, dkms_install, modules_install, uninstall" \
		from_source "$work/one" || :
	took "from source"
	rm -rf "$work/one"

	expect "the packages are built" build || return 0
	if expect "and built again" rebuild; then
		expect "with the same result, byte by byte" reproducible || :
	fi
	took "packages"
	expect "lintian finds nothing" find_faults || :
	expect "programs and library are hardened" hardened || :
	took "lintian"

	expect "a clean Debian 12" make_base || return 0
	expect "autopkgtest: debian/tests, and DKMS for the kernels of this Debian" autopkgtests || :
	took "autopkgtest"
	unpack
	took "Debian 12"
	step install "the packages can be installed" || return 0
	took "installation"

	for kernel in stock stock-6.12; do
		if [[ $kernel != stock ]] && ! compgen -G '/boot/vmlinuz-6.12*' >/dev/null; then
			echo "# $kernel: its image is not installed, so it is not booted"
			continue
		fi
		scripts/guest/guest.sh --kernel $kernel --timeout 300 --log "$work/$kernel.console" -- \
			bash "$here/packages/in-guest.sh" "$work/root" \
			>"$work/$kernel.log" 2>&1 ||
			not_ok "a guest with $kernel loads and uses what was installed"
		sed "s/^\(\(not \)\?ok - \)/\1$kernel: /" "$work/$kernel.log"
		! grep -q '^not ok' "$work/$kernel.log" || bad=1
	done
	took "guests"

	[[ -z $keep ]] || return 0
	step upgrade "the packages can be upgraded" || return 0
	took "upgrade"
	step purge "the packages can be purged" || :
	took "purge"
}

if [[ -n $lint ]]; then quick; else whole; fi
exit $bad
