#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Runs in the guest that scripts/demo.sh boots: a program for each of the five systems, and
# what others have that it has to equal: dxsum with sha256sum, and the figures of its context;
# dxhttpd with curl, dxspider with wget, dxnbd with nbdcopy, dxkv with redis-benchmark.
set -euo pipefail

cd "$(dirname "$0")/.."
dxsum=$PWD/build/examples/dxsum
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
want=2000

# Headers of the kernel that the guest runs: they are on every machine that can build
# the module for it. Many files and few bytes: what is to be seen is the dispatching,
# and an emulated machine hashes slowly.
include=$(compgen -G '/usr/src/linux-headers-6.1.*-common/include' | sort -V |
	tail -n 1) || true
if [[ -z $include ]]; then
	echo "demo: no kernel headers in /usr/src, run scripts/setup.sh --demo" >&2
	exit 1
fi
cd "$include"
dirs=(uapi dt-bindings asm-generic trace crypto soc xen)
total=$(find "${dirs[@]}" -type f -printf . | wc -c)
echo "$total files, $(du -shc "${dirs[@]}" | tail -n 1 | cut -f 1), in $include/{$(
	IFS=,
	echo "${dirs[*]}"
)}"
if ((total < want)); then
	echo "demo: $want are wanted" >&2
	exit 1
fi

# The time of a command in ms, to $took.
timed() {
	local start=${EPOCHREALTIME/./}
	"$@"
	took=$(((${EPOCHREALTIME/./} - start) / 1000))
}

# What dxsum promises to equal.
reference() {
	find "${dirs[@]}" -type f -print0 | LC_ALL=C sort -z |
		xargs -0 sha256sum -- >"$work/sha256sum"
}

timed reference
echo "find, sort and sha256sum: $took ms, the first to read them all"

for how in --kernel --user; do
	status=0
	timed "$dxsum" "$how" --stats "${dirs[@]}" >"$work/dxsum" 2>"$work/stats" ||
		status=$?
	if ((status)) || ! cmp "$work/sha256sum" "$work/dxsum"; then
		cat "$work/stats"
		echo "demo: dxsum $how: status $status, or not what sha256sum says" >&2
		exit 1
	fi
	echo "dxsum $how: $took ms, $(wc -l <"$work/dxsum") lines, every byte as sha256sum's"
	[[ $how != --kernel ]] || cp "$work/stats" "$work/stats.kernel"
done

echo
echo "/sys/kernel/dxk/<context> at the end of dxsum --kernel:"
cat "$work/stats.kernel"

# --- the other four: each a server, or a client, of the real thing ----------------------

build=$OLDPWD/build/examples
cd "$work"
failed() {
	cat err
	echo "demo: $1" >&2
	exit 1
}
# serve PROGRAM ARG...: is $server; what it says of itself is in $at
serve() {
	: >at
	"$build/$1" "${@:2}" >at 2>err &
	server=$!
	until [[ -s at ]]; do
		kill -0 $server 2>/dev/null || failed "$1 does not serve"
		sleep 0.1
	done
	read -r at <at
}
ends() {
	kill -TERM $server
	wait $server || failed "$1 ended with $?"
}

echo
site=$include/linux/mfd
mkdir site
for f in "$site"/a*.h "$site"/d*.h; do cp "$f" site/; done
(
	cd site
	echo '<html><body>'
	for f in *.h; do echo "<a href=\"$f\">$f</a>"; done
	echo '<a href="nowhere.h">a broken one</a></body></html>'
) >index.html
mv index.html site/
serve dxhttpd -p 0 site
url=${at%/}
get_all() {
	local f
	for f in site/*.h; do echo "url = $url/${f#site/}"; done >urls
	mkdir -p got
	(cd got && curl -sS --remote-name-all -K ../urls) 2>err || failed "curl: $?"
	for f in site/*.h; do cmp "$f" "got/${f#site/}"; done
}
timed get_all
echo "dxhttpd (reactor): curl has got $(wc -l <urls) files in $took ms, every byte as in the directory"

spider() {
	status=0
	"$build/dxspider" "$url/" >found 2>err || status=$?
}
timed spider
((status == 1)) || failed "dxspider finds no broken link: $status"
wget -q --spider -r -nd -np -l 3 "$url/" 2>/dev/null && failed "wget finds no broken link"
grep -c 'nowhere.h' found >/dev/null || failed "dxspider does not find the broken link"
echo "dxspider (aglets): $(tail -n 1 found), in $took ms; wget says so, too"
ends dxhttpd

truncate -s 16M disk
cp "$(compgen -G '/boot/vmlinuz-6.1.*' | head -n 1)" image 2>/dev/null || head -c 8M /dev/urandom >image
truncate -s 16M image
serve dxnbd -p 0 disk
timed nbdcopy image "$at"
nbdcopy "$at" back
cmp image disk && cmp image back || failed "not what was written"
echo "dxnbd (foms): nbdcopy has written $(du -h --apparent-size image | cut -f 1) in $took ms, read it, and it is the same"
ends dxnbd

serve dxkv -p 0 kv.db
redis-benchmark -p "${at##*:}" -t get,set -n 2000 -c 20 -r 1000 -q 2>err | tr '\r' '\n' |
	grep 'requests per second' >rates || failed "redis-benchmark"
keys=$(redis-cli -p "${at##*:}" DBSIZE </dev/null)
ends dxkv
[[ $(sqlite3 kv.db 'PRAGMA integrity_check') == ok && $(sqlite3 kv.db 'SELECT count(*) FROM kv') == "$keys" ]] ||
	failed "not what is in the database"
echo "dxkv (server): redis-benchmark, $(sed 's/ requests per second.*/ a second/' rates | paste -sd ';'); sqlite3 finds its $keys keys"
