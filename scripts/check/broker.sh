#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A RabbitMQ node for tests: without systemd, on 127.0.0.1 only, with its own cookie, and all its
# files below one directory.
#
#   broker.sh start DIR [PORT]    wait until it takes connections; PORT+1 and PORT+2 are its
#                                 own (27673). Lines of DIR/extra.conf are added to its
#                                 configuration; a second start goes on with what is in DIR
#   broker.sh join DIR PORT FIRST the same, in a cluster with the node in directory FIRST;
#                                 PORT+1 is its own
#   broker.sh ctl DIR ARG...      rabbitmqctl ARG...
#   broker.sh stop DIR            end it
#   broker.sh kill DIR            the same, as a crash
set -euo pipefail

usage() { sed -n '4,15s/^# \{0,1\}//p' "$0"; }
case ${1:-} in
-h | --help) usage; exit 0 ;;
start | join | ctl | stop | kill) (($# >= 2)) || { usage >&2; exit 2; } ;;
*) usage >&2; exit 2 ;;
esac
command=$1 dir=$(realpath -m "$2")
shift 2

# The wrappers in /usr/sbin change the user and read /etc.
bin=$(compgen -G '/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin' | tail -n 1) ||
	{ echo "broker.sh: no rabbitmq-server" >&2; exit 1; }

environment() {
	set -a
	# shellcheck disable=SC1091 # written by us
	. "$dir/env"
	set +a
}

# ended PID: it is not our child
ended() {
	local i
	for ((i = 0; i < 300; i++)); do
		kill -0 "$1" 2>/dev/null || return 0
		sleep 0.1
	done
	return 1
}

# start PORT [FIRST]
start() {
	local port=${1:-27673} first=${2:-$dir} names i
	names=$((port + 2))
	[[ $first == "$dir" ]] || names=$(sed -n 's/^ERL_EPMD_PORT=//p' "$first/env")
	mkdir -p "$dir"/{mnesia,log,home}
	if [[ $first == "$dir" && ! -e $dir/home/.erlang.cookie ]]; then
		head -c 18 /dev/urandom | base64 | tr -d '+/=\n' >"$dir/home/.erlang.cookie"
		chmod 400 "$dir/home/.erlang.cookie"
	fi
	echo '[].' >"$dir/enabled_plugins"
	cat >"$dir/rabbitmq.conf" <<-END
		listeners.tcp.1 = 127.0.0.1:$port
		log.console = false
		vm_memory_high_watermark.absolute = 1GB
		disk_free_limit.absolute = 200MB
	END
	# It joins at its first start. Each call of rabbitmqctl would be an Erlang of its own.
	if [[ $first != "$dir" ]]; then
		cat >>"$dir/rabbitmq.conf" <<-END
			cluster_formation.peer_discovery_backend = classic_config
			cluster_formation.classic_config.nodes.1 = $(sed -n 's/^RABBITMQ_NODENAME=//p' "$first/env")
			cluster_formation.classic_config.nodes.2 = dxt$port@localhost
		END
	fi
	[[ ! -e $dir/extra.conf ]] || cat "$dir/extra.conf" >>"$dir/rabbitmq.conf"
	cat >"$dir/env" <<-END
		HOME='$first/home'
		RABBITMQ_NODENAME=dxt$port@localhost
		RABBITMQ_MNESIA_BASE='$dir/mnesia'
		RABBITMQ_LOG_BASE='$dir/log'
		RABBITMQ_CONFIG_FILE='$dir/rabbitmq.conf'
		RABBITMQ_ENABLED_PLUGINS_FILE='$dir/enabled_plugins'
		RABBITMQ_CONF_ENV_FILE='$dir/none'
		RABBITMQ_PID_FILE='$dir/pid'
		ERL_CRASH_DUMP='$dir/erl_crash.dump'
		RABBITMQ_DIST_PORT=$((port + 1))
		ERL_EPMD_PORT=$names
		ERL_EPMD_ADDRESS=127.0.0.1
		RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="+sbwt none +sbwtdcpu none +sbwtdio none \
			-kernel inet_dist_use_interface {127,0,0,1}"
		RABBITMQ_CTL_ERL_ARGS="-kernel inet_dist_use_interface {127,0,0,1}"
	END
	environment
	: >"$dir/out"	# else the start before this one could be taken for it
	setsid "$bin/rabbitmq-server" >"$dir/out" 2>&1 </dev/null &
	# Not "rabbitmqctl await_startup": each try of that is an Erlang of its own.
	for ((i = 0; i < 600; i++)); do
		! grep -qs 'Starting broker... completed' "$dir/out" || return 0
		sleep 0.2
	done
	cat "$dir/out" >&2
	return 1
}

# The name server of Erlang stays behind, at a port that only this node's is at.
end_names() {
	local f pid
	environment
	for f in /proc/[0-9]*/environ; do
		pid=${f//[^0-9]/}
		[[ $(cat "/proc/$pid/comm" 2>/dev/null) == epmd ]] || continue
		if tr '\0' '\n' <"$f" 2>/dev/null | grep -qx "ERL_EPMD_PORT=$ERL_EPMD_PORT"; then
			kill "$pid" 2>/dev/null || :
		fi
	done
}

case $command in
start) start "$@" ;;
join) start "$@" ;;
ctl)
	environment
	exec "$bin/rabbitmqctl" -q "$@"
	;;
stop)
	pid=$(<"$dir/pid")
	kill "$pid"
	ended "$pid" || kill -9 "$pid"
	[[ ! -d $dir/home || ! -e $dir/home/.erlang.cookie ]] || end_names
	;;
kill)
	pid=$(<"$dir/pid")
	kill -9 "$pid"
	ended "$pid"
	;;
esac
