#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# examples/dxhttpd with clients of others, and with slow, eager and mad ones of our own
# (NI-12..NI-18, NI-25): what arrives is compared with the files.
# shellcheck source=selftests/lib/test.bash
. "${0%/*}/test.bash"
needs_network

for tool in curl ab; do
	type -P $tool >/dev/null || skip_all "$tool is not installed"
done
bring_near "$build/examples/dxhttpd" "$(type -P curl)" "$(type -P ab)"
export LC_ALL=C
server=''
restore() { [[ -z $server ]] || kill -KILL "$server" 2>/dev/null; }

serve() {	# OPTION...: is $server, at $url and $port
	: >url
	"$near/dxhttpd" -p "${port:-0}" "$@" files >url 2>err &
	server=$!
	until_true line_or_ended "$server"
	read -r url <url
	port=${url%/}
	port=${port##*:}
}
loaded() {	# ab has most of its 16 connections
	local waiting file=(/sys/kernel/dxk/[0-9]*/pools/wait_use)
	read -r waiting <"${file[0]}" && ((waiting > 10))
} 2>/dev/null
line_or_ended() { [[ -s url ]] || ended "$1"; }
client() { (cd files && python3 "$build/selftests/http_clients.py" "$port" "$@"); }
fetch() { "$near/curl" -sS --max-time 100 "$@"; }
equal() { busybox cmp "$1" "$2"; }

rounds=2000 load=2000 kills=3
[[ ! -e /proc/lockdep ]] || rounds=200 load=200 kills=1
[[ -z $long ]] || rounds=100000

mkdir -p files/dir/sub files/with
: >files/empty
head -c 1 /bin/bash >files/one
head -c 16384 /bin/bash >files/small.html
head -c 16385 /bin/bash >files/larger.css
head -c 1000000 /bin/bash >files/large
head -c 5000 /bin/bash >files/with/index.html
echo secret >secret
ln -s ../secret files/out
ln -s large files/in
busybox mkfifo files/fifo

# --- how it is begun --------------------------------------------------------------

gives 2 "$near/dxhttpd" && has err 'DIRECTORY' && gives 2 "$near/dxhttpd" nowhere &&
	has err 'No such file' && gives 2 "$near/dxhttpd" -p 99999 files && has err '65535' &&
	gives 2 "$near/dxhttpd" -a nonsense files && gives 0 "$near/dxhttpd" --help
ok "options that are wrong"

serve -w 2 -c 100 -t 2
[[ -n $port ]]
ok "it says where it listens"

# --- files ---------------------------------------------------------------------------

status=0
for f in empty one small.html larger.css large in; do
	fetch -o got "${url}$f" && equal got "files/$f" || status=1
done
fetch -o got "${url}with/" && equal got files/with/index.html || status=1
fetch -L -o got "${url}with" && equal got files/with/index.html || status=1
((status == 0))
ok "files of any size, and an index, are what they are"

fetch -I "${url}larger.css" >out && has out '^HTTP/1.1 200 OK' && has out 'Length: 16385' &&
	has out 'Type: text/css' && has out 'Accept-Ranges: bytes'
ok "a head"

fetch -r 100-4999 -o got "${url}large" &&
	busybox dd if=files/large bs=100 skip=1 count=49 of=part 2>/dev/null && equal got part &&
	fetch -C 999000 -o rest "${url}large" && [[ $(busybox stat -c %s rest) == 1000 ]]
ok "curl gets a part, and the rest of one"

fetch -z files/large -o not -w '%{http_code}' "${url}large" >out && has out 304
ok "curl does not get what has not changed"

client ranges larger.css
ok "eight hundred parts of a file"
client states one
ok "what is wrong is told, and whether the connection stays"
client conditional one
ok "conditions"

# --- clients that no tool is -----------------------------------------------------------

client pieces small.html
ok "a request byte by byte"
client pipeline one large empty small.html larger.css large one
ok "seven requests at once"
client greedy small.html 4000
ok "a client that asks for more than it reads"
client loris 50 2 one
ok "heads that never end hold nobody, and end"
client garbage 1 $rounds one
ok "$rounds requests changed at random"
[[ $(client garbage 2 100 one 2>&1) == '' ]] && ! ended "$server"
ok "and it is still there"

# --- under load --------------------------------------------------------------------------

"$near/ab" -q -k -n $load -c 16 "${url}small.html" >out 2>err
has out 'Failed requests: *0$' && has out "Complete requests: *$load$" &&
	has out "Keep-Alive requests: *$load$"
ok "ab, connections that stay"
"$near/ab" -q -n $((load / 4)) -c 16 "${url}small.html" >out 2>err
has out 'Failed requests: *0$' && has out "Complete requests: *$((load / 4))$"
ok "ab, a connection for each"

# More clients than it takes at a time: the others wait in the socket.
"$near/ab" -q -n $((load / 4)) -c 150 "${url}one" >out 2>err
has out 'Failed requests: *0$' && has out "Complete requests: *$((load / 4))$"
ok "more clients than it takes at a time"

kill -TERM "$server" && wait "$server" && until_true no_context
ok "it ends when it is told to"
server=''

# Killed under load, and again at the same port: nothing of the one before is in the way.
status=0
for ((i = 0; i < kills; i++)); do
	serve -w 2
	[[ -n $url ]] || status=1
	"$near/ab" -q -k -r -n 1000000 -c 16 "${url}large" >out 2>err &
	ab=$!
	until_true loaded
	sleep 0.2
	kill -KILL "$server"
	wait "$server" 2>/dev/null
	until_true no_context
	kill -KILL $ab
	wait $ab 2>/dev/null
done
server=''
((status == 0)) && [[ ! -s err || $(<err) != *'Address already in use'* ]]
ok "killed under load it leaves no context and no socket"

plan
