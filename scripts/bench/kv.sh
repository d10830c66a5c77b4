#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Measures examples/dxkv beside a loop of epoll_wait(2) in one process over the same kind of SQLite
# file, and beside redis-server, which has all in memory and keeps nothing, in a guest whose clock
# counts instructions: redis-benchmark with 50 connections, one request in flight of each and 16, by
# turns.  Prints requests a second of 10^9 instructions, those of the client included.  Needs
# redis-server, redis-tools, sqlite3 and the library of SQLite.
#
#   kv.sh [ROUNDS [REQUESTS]]    (2, 5000)
set -euo pipefail

cd "$(dirname "$0")/../.."
rounds=${1:-2} requests=${2:-5000}

. scripts/bench/servers.bash
rival=$PWD/build/bench/kv_epoll
if [[ ! -e /sys/module/dxk ]]; then
	mkdir -p build/bench
	make -s lib
	cc -O2 -g -Wall -Wextra -std=gnu11 -pthread -Ilib/libdxk/include -o "$rival" bench/kv/kv_epoll.c \
		examples/dxkv/{resp,command}.c examples/common.c build/lib/libdxk.a -lsqlite3
fi
in_guest kv.sh "$rounds" "$requests" -- redis-server redis-benchmark sqlite3

mkdir -p /tmp/kv
cd /tmp/kv
sqlite3 epoll.db 'PRAGMA journal_mode = WAL; CREATE TABLE kv
	(key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID' >/dev/null
dxkv -p 8080 -w 1 -t 0 dxkv.db >/dev/null 2>&1 &
"$rival" 8081 epoll.db &
redis-server --port 8082 --save '' --appendonly no --daemonize no >/dev/null &
sleep 3

# rate PORT PIPELINE WHAT REQUESTS
rate() {
	local what=(-t "$3")
	[[ $3 != mget ]] || what=(MGET key:__rand_int__ key:__rand_int__ key:__rand_int__ key:__rand_int__)
	redis-benchmark -p "$1" -P "$2" -c 50 -n "$4" -r 1000 -q --csv "${what[@]}" 2>/dev/null |
		tr -d '"' | awk -F, '$1 != "test" && $2 > 0 { print $2; got = 1 } END { exit !got }'
}

printf '%-5s %3s %9s %9s %9s  %s\n' what nr dxkv epoll redis 'dxkv / epoll, / redis'
for what in set get mget; do
	for pipeline in 1 16; do
		for port in 8080 8081 8082; do
			rate $port $pipeline $what $((requests / 10 + 64)) >/dev/null
		done
		for ((i = 0; i < rounds; i++)); do
			rates=()
			for port in 8080 8081 8082; do
				rates+=("$(rate $port $pipeline $what "$requests")")
			done
			printf '%-5s %3d %9.0f %9.0f %9.0f' $what $pipeline "${rates[@]}"
			awk "BEGIN { printf \"  %.2f %.2f\\n\", ${rates[0]} / ${rates[1]}, ${rates[0]} / ${rates[2]} }"
		done
	done
done
kill %1 %2 %3
wait || :
