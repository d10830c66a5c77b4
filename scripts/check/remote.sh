#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What dxkd does with a broker: starts a RabbitMQ node on 127.0.0.1, with TLS as well, which the
# tests kill, stop, and take the memory of. Without rabbitmq-server nothing is run: status 4.
#
#   remote.sh [options] [link] [guest] [kills] [cluster]    only these, by default the first two
#
#   link           selftests/remote/dxkd_link: connections, on this host
#   guest          remote-guest.sh: contexts and daemons in a guest, which has no network but
#                  to this node
#   kills          remote-kills.py: daemons, workers, hosts, connections and the broker die in
#                  an order that DXK_SEED decides, DXK_KILLS times (40)
#   cluster        the same with three nodes, of which DXK_KILLS times (6) the one dies that
#                  leads the queue
#   --port N       N..N+3 are used (27673), N+4..N+7 by the cluster
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
	link | guest | kills | cluster) what+=" $1 " ;;
	-h | --help) sed -n '4,19s/^# \{0,1\}//p' "$0"; exit 0 ;;
	*) echo "remote.sh: unknown argument $1" >&2; exit 2 ;;
	esac
	shift
done
what=${what:- link  guest }
compgen -G '/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin' >/dev/null ||
	{ echo "no rabbitmq-server"; exit 4; }

DXKD_DIR=$(mktemp -d) DXKD_BROKER=$PWD/scripts/check/broker.sh
export DXKD_DIR DXKD_BROKER DXKD_PORT=$port DXKD_TLS_PORT=$((port + 3))
# The name server that all nodes use ends with the first of them.
end() {
	local dir
	for dir in "$DXKD_DIR"/node* "$DXKD_DIR"; do
		[[ ! -e $dir/pid ]] || "$DXKD_BROKER" stop "$dir" || :
	done
	rm -rf "$DXKD_DIR"
}
trap end EXIT

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
max_message_size = 1500000
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
user poster '^dxk\.reply\.poster\.' '^(dxk\.x\.(hash|hashq|kills|killsq|late|none|sums|tree)|dxk\.reply\.poster\..*)$' \
	'^dxk\.reply(\.poster\..*)?$'

# connection NUMBER: the process that carries one of the guest's, of all there are
connection() {
	local pids
	mapfile -t pids < <(pgrep -f "^socat - TCP:127.0.0.1:$port\$" | sort -n)
	((${#pids[@]} == 0)) || echo "${pids[$1 % ${#pids[@]}]}"
}
reset() {
	local pid
	pid=$(connection "$1")
	[[ -z $pid ]] || kill -9 "$pid" 2>/dev/null || :
}
# silence NUMBER SECONDS: nothing goes through it for so long
silence() {
	local pid
	pid=$(connection "$1")
	[[ -n $pid ]] || return 0
	kill -STOP "$pid" 2>/dev/null || return 0
	{ sleep "$2"; kill -CONT "$pid"; } 2>/dev/null &
}
# queues: where requests and answers are that nobody has
queues() {
	"$DXKD_BROKER" ctl "$DXKD_DIR" list_queues name messages_ready messages_unacknowledged \
		consumers | sed 's/^/# /' || :
}
restart() { "$DXKD_BROKER" kill "$DXKD_DIR" && start; }

# in_guest WORD... -- COMMAND...: runs it with guest.sh's options WORD; what it asks for is done
# while it goes on.
in_guest() {
	local options=() line log=$DXKD_DIR/console
	while [[ $1 != -- ]]; do options+=("$1"); shift; done
	scripts/guest/guest.sh --kernel "$kernel" "${options[@]}" --log "$log" "$@" |
		while IFS= read -r line; do
			echo "$line"
			# shellcheck disable=SC2086 # words
			case $line in
			'host: garbage' | 'host: dead' | 'host: restart' | 'host: queues' | \
				'host: leader' | 'host: reset '* | 'host: silence '*) ${line#host: } ;;
			esac
		done
	scripts/check/check-log.sh "$log"
}

[[ $what != *' link '* ]] || build/selftests/dxkd_link

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
[[ $what != *' guest '* ]] || in_guest --forward "$port" --timeout 900 --silent 180 -- \
	scripts/check/remote-guest.sh "$modules"
[[ $what != *' kills '* ]] || in_guest --forward "$port" --silent 300 \
	--timeout $((600 + ${DXK_KILLS:-40} * 8)) -- scripts/check/remote-kills.py "$modules"
[[ $what == *' cluster '* ]] || exit 0

# --- a cluster ----------------------------------------------------------------------

nodes=("$DXKD_DIR" "$DXKD_DIR"/node{2,3})
# again NODE: start it, as one of the cluster
again() {
	if (($1)); then
		"$DXKD_BROKER" join "${nodes[$1]}" $((port + 2 + 2 * $1)) "$DXKD_DIR"
	else
		start
	fi
}
# leader: kill the node that leads the queue, and start it again when the guest has counted how
# long the others have needed: on this machine it would take their processor time. How long it
# takes to say which one it is the guest does not count.
leader() {
	local name i
	for i in 0 1 2; do
		name=$("$DXKD_BROKER" ctl "${nodes[i]}" list_queues name leader |
			sed -n 's/^dxk\.req\.killsq\.3[[:space:]]*//p') || continue
		[[ -z $name ]] || break
	done
	for i in 0 1 2; do
		grep -q "^RABBITMQ_NODENAME=$name\$" "${nodes[i]}/env" || continue
		echo "# $name leads"
		"$DXKD_BROKER" kill "${nodes[i]}"
		sleep 10
		again $i
		return
	done
	echo "not ok nobody leads the queue: $name"
}
again 1
again 2
# The daemons of an emulated guest take seconds to connect.
limit=$(scripts/guest/guest.sh --has-kvm && echo 3 || echo 12)
in_guest --forward "$port" --forward $((port + 4)) --forward $((port + 6)) --silent 300 \
	--timeout $((600 + ${DXK_KILLS:-6} * 90)) -- \
	scripts/check/remote-kills.py --cluster 3 --limit "$limit" --kills "${DXK_KILLS:-6}" \
	"$modules"
