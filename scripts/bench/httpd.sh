#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Measures examples/dxhttpd beside nginx, in a guest whose clock counts instructions: ab with 64
# connections that stay, files of three sizes, by turns.  Prints requests a second of 10^9
# instructions, those of the client included.  Needs nginx and ab.
#
#   httpd.sh [ROUNDS [REQUESTS]]    (2, 3000)
set -euo pipefail

cd "$(dirname "$0")/../.."
rounds=${1:-2} requests=${2:-3000}

. scripts/bench/servers.bash
in_guest httpd.sh "$rounds" "$requests" -- nginx ab

www=/tmp/www own=/tmp/nginx
mkdir -p $www $own
chmod 755 $www
for size in 1024 16384 200000; do
	head -c $size /dev/urandom >$www/$size
done
temp=''
for kind in client_body proxy fastcgi uwsgi scgi; do
	temp+="${kind}_temp_path $own/$kind; "
done
cat >$own/conf <<-END
	worker_processes 1; daemon off; pid $own/pid; error_log $own/errors;
	events { worker_connections 1024; }
	http {
		access_log off; sendfile on; keepalive_requests 100000000; $temp
		server { listen 127.0.0.1:8081; root $www; }
	}
END
nginx -c $own/conf &
dxhttpd -p 8080 -w 1 -t 0 $www >/dev/null 2>&1 &
sleep 1

# rate PORT FILE REQUESTS
rate() {
	ab -q -k -c 64 -n "$3" "http://127.0.0.1:$1/$2" 2>&1 |
		awk '/^Requests per/ { rate = $4 } /^Failed/ && $3 { bad = 1 } /^Non-2xx/ { bad = 1 }
		     END { if (bad || !rate) exit 1; print rate }'
}

printf '%8s %10s %10s %8s\n' bytes dxhttpd nginx ratio
for size in 1024 16384 200000; do
	nr=$((size > 100000 ? requests / 4 : requests))
	for port in 8080 8081; do
		rate $port $size $((nr / 10 + 64)) >/dev/null
	done
	for ((i = 0; i < rounds; i++)); do
		dx=$(rate 8080 $size $nr)
		other=$(rate 8081 $size $nr)
		awk "BEGIN { printf \"%8d %10.0f %10.0f %8.2f\n\", $size, $dx, $other, $dx / $other }"
	done
done
kill %1 %2
wait || :
