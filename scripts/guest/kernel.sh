#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds one of the project's own kernels outside the tree, once, and prints where
# it is.
#
#   kernel.sh            6.12, debug: KASAN, lockdep, fault injection, KUnit ...
#   kernel.sh --bench    6.12 without all that
#   kernel.sh --kcsan    6.12 with KCSAN, which watches for data races
#   kernel.sh --sid      the newest kernel that Debian has, of its release sid
#   kernel.sh --source   only unpack the source and print its directory
#   kernel.sh --tools    only unpack what tests take from the source: the headers of
#                        kselftest and kunit.py; print the directory
#   kernel.sh --path     print the build directory, build nothing; exit 1 when it
#                        is not there
#   kernel.sh --version  print the version, build nothing
#
# The printed directory serves as KDIR and holds arch/x86/boot/bzImage.  DXK_CACHE
# (default /var/cache/dxk) is the place for all of it.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cache=${DXK_CACHE:-/var/cache/dxk}
flavour=debug mode=build

for arg in "$@"; do
	case $arg in
	--debug | --bench | --kcsan | --sid) flavour=${arg#--} ;;
	--source | --tools | --path | --version) mode=${arg#--} ;;
	-h | --help) sed -n '4,20s/^# \{0,1\}//p' "$0"; exit 0 ;;
	*) echo "kernel.sh: unknown argument $arg" >&2; exit 2 ;;
	esac
done

say() { echo "kernel.sh: $*" >&2; }

# Unpacked, not installed.  Once here it stays: a kernel that is
# looked for again every day would be built again every week.
fetch_sid() {
	local dir=$cache/sid
	exec 8>"$cache/sid.lock"
	flock 8
	if ! compgen -G "$dir/linux-source-*.deb" >/dev/null; then
		say "fetching the newest kernel source of Debian sid"
		rm -rf "$dir"
		mkdir -p "$dir"
		(cd "$dir" && "$here/fetch.sh" sid 'linux-source-[0-9.]+')
	fi
	exec 8>&-
	compgen -G "$dir/linux-source-*.deb" | head -n 1
}

mkdir -p "$cache"
if [[ $flavour == sid ]]; then
	package=$(fetch_sid)
	version=$(dpkg-deb -f "$package" Version)
	name=$(dpkg-deb -f "$package" Package)
	tarball=./usr/src/$name.tar.xz
else
	package=''
	tarball=/usr/src/linux-source-6.12.tar.xz
	version=$(dpkg-query -W -f '${Version}' linux-source-6.12 2>/dev/null || true)
	if [[ -z $version || ! -e $tarball ]]; then
		say "linux-source-6.12 is not installed, run scripts/setup.sh"
		exit 1
	fi
fi

fragments=("$here/kernels/base.config" "$here/kernels/x86.config")
[[ ! -e $here/kernels/$flavour.config ]] ||
	fragments+=("$here/kernels/$flavour.config")

# A kernel is its source, its configuration and its compiler.
key=$({ echo "$version"; gcc -dumpfullversion; cat "${fragments[@]}"; } |
	sha256sum | cut -c1-12)
src=$cache/source-${version//[^A-Za-z0-9.-]/_}
tools=$cache/tools-${version//[^A-Za-z0-9.-]/_}
out=$cache/kernel-$flavour-$key

case $mode in
path)
	[[ -e $out/.complete ]] || exit 1
	echo "$out"
	exit 0
	;;
version)
	echo "$version"
	exit 0
	;;
esac

# unpack DIR [PATTERN...]: all of the source or the files that match.  Unpacked under
# another name, so that a directory of the final name is whole.
unpack() {
	local dir=$1
	shift
	[[ -d $dir ]] && return
	exec 8>"$cache/source.lock"
	flock 8
	if [[ ! -d $dir ]]; then
		say "unpacking $tarball"
		rm -rf "$dir.tmp"
		mkdir "$dir.tmp"
		if [[ -n $package ]]; then
			dpkg-deb --fsys-tarfile "$package" | tar -xO "$tarball"
		else
			cat "$tarball"
		fi | tar -C "$dir.tmp" --strip-components=1 --wildcards \
			--no-wildcards-match-slash -I 'xz -T0' -x "$@"
		mv "$dir.tmp" "$dir"
	fi
	exec 8>&-
}

# "option as asked" lines that did not come out so.  Options that the fragments
# do not name are n, so a line that is missing stands for n.
compare() {
	local asked want name
	while read -r asked; do
		case $asked in
		CONFIG_*) want=$asked ;;
		"# CONFIG_"*" is not set") want=$asked ;;
		*) continue ;;
		esac
		name=$(grep -o 'CONFIG_[A-Za-z0-9_]*' <<<"$want")
		[[ $want == *=n ]] && want="# $name is not set"
		grep -qxF -e "$want" "$out/.config" && continue
		if [[ $want == "#"* ]] && ! grep -q "^$name=" "$out/.config"; then
			continue
		fi
		echo "$name"
	done < <(cat "${fragments[@]}" | awk -F'[= ]' '
		# the last word on an option counts
		{ n = $0; sub(/^# /, "", n); sub(/[= ].*/, "", n)
		  line[n] = $0; if (!(n in seen)) { order[++k] = n; seen[n] = 1 } }
		END { for (i = 1; i <= k; i++) print line[order[i]] }')
}

# What one of the versions does not have.
harmless=' CONFIG_KUNIT_AUTORUN_ENABLED CONFIG_PREEMPT_LAZY CONFIG_SCHED_DEBUG '

configure() {
	cat "${fragments[@]}" >"$out/frag.config"
	make -C "$src" O="$out" KCONFIG_ALLCONFIG="$out/frag.config" \
		allnoconfig >>"$out.log" 2>&1 || return
	local name wrong=()
	while read -r name; do
		if [[ $harmless == *" $name "* ]]; then
			say "note: this kernel has no $name (known, harmless)"
		else
			wrong+=("$name")
		fi
	done < <(compare)
	((${#wrong[@]} == 0)) && return
	say "these options did not come out as asked: ${wrong[*]}"
	return 1
}

build() {
	local start=$SECONDS
	[[ -e $out/.complete ]] && return
	exec 9>"$out.lock"
	if ! flock -n 9; then
		say "another build of this kernel is under way, waiting for it"
		flock 9
	fi
	[[ -e $out/.complete ]] && return
	mkdir -p "$out"
	say "building the $flavour kernel, $version, in $out, 5-10 minutes (log: $out.log)"
	: >"$out.log"
	# What is left of an interrupted build is used again by make.  Locks are
	# not for the compiler's servants to inherit, hence 9>&-.
	if ! configure || ! make -C "$src" O="$out" -j"$(nproc)" bzImage modules \
		>>"$out.log" 2>&1 9>&-; then
		say "the build failed, the end of its log:"
		tail -n 25 "$out.log" >&2
		exit 1
	fi
	# External modules need both.
	if [[ ! -s $out/Module.symvers || ! -s $out/arch/x86/boot/bzImage ]]; then
		say "the build left no Module.symvers or no bzImage in $out"
		exit 1
	fi
	touch "$out/.complete"
	say "built in $((SECONDS - start)) s"
	exec 9>&-
}

case $mode in
tools)
	unpack "$tools" '*/tools/testing/selftests/*.h' '*/tools/testing/kunit/*.py'
	echo "$tools"
	;;
source)
	unpack "$src"
	echo "$src"
	;;
build)
	unpack "$src"
	build
	echo "$out"
	;;
esac
