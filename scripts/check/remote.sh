#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What dxkd does with a broker: starts a RabbitMQ node on 127.0.0.1, with TLS as well, and runs
# selftests/remote/dxkd_link against it. The tests kill the node, stop it, and take its memory.
# Without rabbitmq-server nothing is run, which is said.
#
#   remote.sh [--port N]    N..N+3 are used (27673)
set -euo pipefail

cd "$(dirname "$0")/../.."
port=27673
while (($#)); do
	case $1 in
	--port) port=$2; shift ;;
	-h | --help) sed -n '4,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
	*) echo "remote.sh: unknown argument $1" >&2; exit 2 ;;
	esac
	shift
done
compgen -G '/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin' >/dev/null ||
	{ echo "remote.sh: no rabbitmq-server: skipped"; exit 0; }

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
"$DXKD_BROKER" start "$DXKD_DIR" "$port"
"$DXKD_BROKER" ctl "$DXKD_DIR" add_user me secret
"$DXKD_BROKER" ctl "$DXKD_DIR" set_permissions me '.*' '.*' '.*'
build/selftests/dxkd_link
