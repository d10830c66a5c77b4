#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# examples/dxkv with Redis' own clients, with sqlite3 at the same file, and with mad clients of
# our own (CO-9, CO-12, CO-14, CO-15): what it says is what a dictionary says, and what it has
# acknowledged is in the file after a kill.
# shellcheck source=selftests/lib/test.bash
. "${0%/*}/test.bash"
needs_network

for tool in redis-cli redis-benchmark sqlite3; do
	type -P $tool >/dev/null || skip_all "$tool is not installed"
done
bring_near "$build/examples/dxkv" "$(type -P redis-cli)" "$(type -P redis-benchmark)" \
	"$(type -P sqlite3)"
export LC_ALL=C
server=''
restore() { [[ -z $server ]] || kill -KILL "$server" 2>/dev/null; }

serve() {	# OPTION...: is $server, at $port
	: >where
	"$near/dxkv" -p "${port:-0}" "$@" kv.db >where 2>err &
	server=$!
	until_true line_or_ended "$server"
	read -r port <where
	port=${port##*:}
}
line_or_ended() { [[ -s where ]] || ended "$1"; }
client() { python3 "$build/selftests/kv_clients.py" "$port" "$@"; }
cli() { "$near/redis-cli" -p "$port" "$@" </dev/null; }
sql() { "$near/sqlite3" kv.db "$@"; }
is() { [[ $1 == "$2" ]] || { tell "'$1' instead of '$2'"; false; }; }
stops() {
	kill -TERM "$server" && wait "$server" && until_true no_context
	local status=$?
	server=''
	return $status
}

rounds=100 load=800 kills=1 mad=60
[[ -z $long ]] || rounds=5000 load=100000 kills=20 mad=10000

# --- how it is begun --------------------------------------------------------------------

gives 2 "$near/dxkv" && has err 'FILE' && gives 2 "$near/dxkv" -p 99999 kv.db && has err '65535' &&
	gives 2 "$near/dxkv" -a nonsense kv.db && gives 2 "$near/dxkv" nowhere/kv.db &&
	has err 'unable to open' && gives 0 "$near/dxkv" --help
ok "options that are wrong"

serve -w 2 -v 600000
[[ -n $port ]]
ok "it says where it listens"

# --- redis-cli and sqlite3 ---------------------------------------------------------------

is "$(cli PING)" PONG && is "$(cli SET one 1)" OK && is "$(cli GET one)" 1 &&
	is "$(cli INCR one)" 2 && is "$(cli MSET two 2 three 3)" OK &&
	is "$(cli MGET one none three)" $'2\n\n3' && is "$(cli EXISTS one two none)" 2 &&
	is "$(cli DBSIZE)" 3 && is "$(cli DEL two none)" 1 && is "$(cli GET two)" ''
ok "redis-cli"
is "$(sql "SELECT cast(key AS text) || '=' || cast(value AS text) FROM kv ORDER BY key")" \
	$'one=2\nthree=3' && sql "INSERT INTO kv VALUES (cast('five' AS blob), cast('5' AS blob))" &&
	is "$(cli MGET five one)" $'5\n2' && is "$(cli DEL five one three)" 3
ok "sqlite3 sees what it has written, and the other way round"

# --- clients that no tool is ----------------------------------------------------------------

client model 4711 $rounds
ok "$rounds random batches as a dictionary has them"
client pieces
ok "a request byte by byte"
client order 50
ok "250 requests at once, which need this and that"
client wrong
ok "what is wrong is told"
client garbage 1 $mad
ok "$mad requests changed at random"
client greedy 30
ok "a client that asks for more than it reads"
client atomic $rounds
ok "MGET sees MSETs whole"
client count 8 $((rounds / 4))
ok "increments of eight clients"
is "$(cli DBSIZE)" "$(sql 'SELECT count(*) FROM kv')" && ! ended "$server" &&
	! line err 'neither responded'
ok "and it is still there, without a leak"

# --- under load ---------------------------------------------------------------------------------

for p in 1 16; do
	"$near/redis-benchmark" -p "$port" -q -n $load -c 16 -P $p -r 1000 -d 100 -t ping,set,get,incr,mset \
		>out 2>err2 && has out 'SET: .*requests per second' && has out 'GET: ' && has out 'MSET'
	ok "redis-benchmark, $p at a time"
	"$near/redis-benchmark" -p "$port" -q -n $((load / 4)) -c 16 -P $p -r 1000 \
		mget key:__rand_int__ key:__rand_int__ key:__rand_int__ >out 2>err2 &&
		has out 'requests per second'
	ok "MGET, $p at a time"
done

client drained >drained &
pid=$!
until_true line drained ready
stops && wait $pid
ok "told to end it answers what has begun"
is "$(sql "SELECT cast(value AS text) FROM kv WHERE key = cast('d' AS blob)")" \
	"$(busybox tail -n 1 drained)" && is "$(sql 'PRAGMA integrity_check')" ok && [[ ! -s kv.db-wal ]]
ok "and the file has what was answered"

# --- killed ------------------------------------------------------------------------------------

status=0
for ((i = 0; i < kills; i++)); do
	serve -w 2
	: >ready
	client store 8 acked >ready &
	pid=$!
	until_true line ready ready
	sleep 0.5
	kill -KILL "$server"
	wait "$server" 2>/dev/null
	wait $pid
	until_true no_context
	is "$(sql 'PRAGMA integrity_check')" ok || status=1
	serve -w 2
	client stored acked || status=1
	stops || status=1
done
((status == 0))
ok "killed under load: the file is whole, and what was acknowledged is in it"

serve -w 1 -s && is "$(cli SET disk sync)" OK && is "$(cli GET disk)" sync && stops
ok "on the disk before it says so"

plan
