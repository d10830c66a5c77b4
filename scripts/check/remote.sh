#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What dxkd does with a broker: starts a RabbitMQ node on 127.0.0.1, with TLS as well, which the
# tests kill, stop, and take the memory of. Without rabbitmq-server nothing is run: status 4.
#
#   remote.sh [options] [link] [guest]    only these
#
#   link           selftests/remote/dxkd_link: connections, on this host
#   guest          remote-guest.sh: contexts and daemons in a guest, which has no network but
#                  to this node
#   --port N       N..N+3 are used (27673)
#   --modules DIR  for the guest's kernel (build/kernels/stock)
#   --kernel K     of the guest (stock)
set -euo pipefail

cd "$(dirname "$0")/../.."
port=27673 modules=build/kernels/stock kernel=stock what=''
while (($#)); do
	case $1 in
	--port) port=$2; shift ;;
	--modules) modules=$2; shift ;;
	--kernel) kernel=$2; shift ;;
	link | guest) what+=" $1 " ;;
	-h | --help) sed -n '4,15s/^# \{0,1\}//p' "$0"; exit 0 ;;
	*) echo "remote.sh: unknown argument $1" >&2; exit 2 ;;
	esac
	shift
done
what=${what:- link  guest }
compgen -G '/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin' >/dev/null ||
	{ echo "no rabbitmq-server"; exit 4; }

DXKD_DIR=$(mktemp -d) DXKD_BROKER=$PWD/scripts/check/broker.sh
export DXKD_DIR DXKD_BROKER DXKD_PORT=$port DXKD_TLS_PORT=$((port + 3))
trap '[[ ! -e $DXKD_DIR/pid ]] || "$DXKD_BROKER" stop "$DXKD_DIR" || :; rm -rf "$DXKD_DIR"' EXIT

# authority NAME; certificate NAME CN AUTHORITY
authority() {
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$1" \
		-keyout "$DXKD_DIR/$1.key" -out "$DXKD_DIR/$1.pem" 2>/dev/null
}
certificate() {
	openssl req -newkey rsa:2048 -nodes -subj "/CN=$2" -keyout "$DXKD_DIR/$1.key" \
		-out "$DXKD_DIR/$1.csr" 2>/dev/null
	openssl x509 -req -in "$DXKD_DIR/$1.csr" -CA "$DXKD_DIR/$3.pem" -CAkey "$DXKD_DIR/$3.key" \
		-CAcreateserial -days 2 -out "$DXKD_DIR/$1.pem" 2>/dev/null
}
authority ca
authority other-ca
certificate server localhost ca
certificate client client ca
certificate other client other-ca
cat >"$DXKD_DIR/extra.conf" <<END
listeners.ssl.1 = 127.0.0.1:$DXKD_TLS_PORT
ssl_options.cacertfile = $DXKD_DIR/ca.pem
ssl_options.certfile = $DXKD_DIR/server.pem
ssl_options.keyfile = $DXKD_DIR/server.key
ssl_options.verify = verify_peer
ssl_options.fail_if_no_peer_cert = true
END
start() { "$DXKD_BROKER" start "$DXKD_DIR" "$port"; }
start
# user NAME CONFIGURE WRITE READ: "me" is for tests, of the others each side has one, which has
# the rights that dxkd(8) names
user() {
	"$DXKD_BROKER" ctl "$DXKD_DIR" add_user "$1" secret
	"$DXKD_BROKER" ctl "$DXKD_DIR" set_permissions "$@"
}
user me '.*' '.*' '.*'
user worker '^dxk\.' '^dxk\.' '^dxk\.'
user poster '^dxk\.reply\.poster\.' '^(dxk\.x\.(hash|hashq|late|none|sums|tree)|dxk\.reply\.poster\..*)$' \
	'^dxk\.reply(\.poster\..*)?$'

[[ $what != *' link '* ]] || build/selftests/dxkd_link
[[ $what == *' guest '* ]] || exit 0

# garbage: another client of the broker sends it to where requests, and the answers of each
# import, come from
NR=50
garbage() {
	local i queue queues
	queues=$("$DXKD_BROKER" ctl "$DXKD_DIR" list_queues name)
	queues=$(grep '^dxk\.reply\.' <<<"$queues")
	for ((i = 0; i < NR; i++)); do
		head -c $((i * 20)) /dev/urandom | send dxk.x.hash 3
		for queue in $queues; do
			head -c $((i * 20)) /dev/urandom | send dxk.reply "$queue"
		done
	done
}
send() { amqp-publish -u "amqp://worker:secret@127.0.0.1:$port" -e "$1" -r "$2"; }
# dead: what was not a request is kept for who wants to see it
dead() {
	local queues i
	for ((i = 0; i < 10; i++)); do
		queues=$("$DXKD_BROKER" ctl "$DXKD_DIR" list_queues name messages)
		! grep -qx "dxk\.dead[[:space:]]$NR" <<<"$queues" || return 0
		sleep 1
	done
	printf 'not ok dxk.dead\n%s\n' "$queues"
	return 1
}
restart() { "$DXKD_BROKER" kill "$DXKD_DIR" && start; }

# What the guest asks for is done while it goes on.
log=$DXKD_DIR/console
scripts/guest/guest.sh --kernel "$kernel" --forward "$port" --timeout 900 --silent 180 \
	--log "$log" -- scripts/check/remote-guest.sh "$modules" |
	while IFS= read -r line; do
		echo "$line"
		case $line in
		'host: garbage' | 'host: dead' | 'host: restart') ${line#host: } ;;
		esac
	done
scripts/check/check-log.sh "$log"
