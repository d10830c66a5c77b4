#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Downloads packages of another release of Debian than this machine's, with lists of
# its own, into the working directory.  Nothing is installed and apt's own state stays
# as it is: the releases are not mixed.
#
#   fetch.sh RELEASE PACKAGE-REGEX...
#
# Of the packages whose names match a regular expression as a whole it takes the last
# one by version sort, and of that the version of RELEASE.
set -euo pipefail

release=$1
shift
mirror=${DXK_MIRROR:-http://deb.debian.org/debian}
state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
mkdir -p "$state"/{lists,archives}/partial
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
	"$mirror $release main" >"$state/sources.list"
apt=(-q -o Dir::Etc::sourcelist="$state/sources.list"
	-o Dir::Etc::sourceparts=/dev/null
	-o Dir::State::lists="$state/lists"
	-o Dir::State::status=/dev/null
	-o Dir::Cache="$state" -o APT::Sandbox::User=root)

apt-get "${apt[@]}" update >&2
packages=()
for regex in "$@"; do
	newest=$(apt-cache "${apt[@]}" pkgnames | grep -xE "$regex" | sort -V | tail -n 1)
	[[ -n $newest ]] || { echo "fetch.sh: $release has no $regex" >&2; exit 1; }
	packages+=("$newest/$release")
done
apt-get "${apt[@]}" download "${packages[@]}" >&2
