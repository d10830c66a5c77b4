#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# examples/dxchat with socat as client (NI-15, NI-16).
# shellcheck source=selftests/lib/test.bash
. "${0%/*}/test.bash"
needs_network

type -P socat >/dev/null || skip_all "socat is not installed"
bring_near "$build/examples/dxchat" "$(type -P socat)"
export LC_ALL=C
server='' clients=()
restore() { kill -KILL $server "${clients[@]}" 2>/dev/null; }

gives 2 "$near/dxchat" -p none && has err "number" && gives 2 "$near/dxchat" x &&
	gives 0 "$near/dxchat" --help
ok "options that are wrong"

: >address
"$near/dxchat" -p 0 >address 2>err &
server=$!
listens() { read -r address <address; }
until_true listens
[[ $address == 127.0.0.1:* ]]
ok "it says where it listens"

# Three of them, who hear all but themselves
nr=3
for ((i = 1; i <= nr; i++)); do
	mkfifo "in.$i"
	exec {fd}<>"in.$i"
	says[i]=$fd
	: >"out.$i"
	"$near/socat" - "TCP:$address" <"in.$i" >"out.$i" 2>/dev/null &
	clients[i]=$!
	until_true line "out.$i" "^\* you are $i$"
done
until_true line out.1 "^\* 3 has come$"
ok "three clients have come"

for ((i = 1; i <= nr; i++)); do
	for k in {1..50}; do echo "line $k" >&"${says[i]}"; done
done
heard() { (($(lines "$1" '^[0-9]+: line ') == 100)); }
status=0
for ((i = 1; i <= nr; i++)); do
	until_true heard "out.$i"
	for ((j = 1; j <= nr; j++)); do
		for k in {1..50}; do ((i == j)) || echo "$j: line $k"; done >"want"
		grep "^$j: " "out.$i" >got
		same want got || status=1
	done
done
((status == 0))
ok "each hears the others, whole lines, in their order"

kill -KILL "${clients[2]}"
until_true line out.1 "^\* 2 has gone$"
echo "still there" >&"${says[3]}"
until_true line out.1 "^3: still there$"
ok "one is killed, the others go on"

kill -TERM "$server" && wait "$server" && until_true no_context
ok "it ends when it is told to"
server=''
plan
