#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The part of remote.sh that runs in a guest: contexts on both sides of a broker that is the
# host's, two dxkd between them, and kills. A line "host: ACTION" asks remote.sh for something.
#
#   remote-guest.sh MODULES
set -uo pipefail

modules=$(realpath "$1")
tree=$PWD
work=/tmp/remote
mkdir -p $work && cd $work || exit 1
export LD_LIBRARY_PATH=$tree/build/lib
dxkd=$tree/build/tools/dxkd dxkctl=$tree/build/tools/dxkctl peer=$tree/build/selftests/dxkd_peer
dxfarm=$tree/build/examples/dxfarm
find "$modules" -name dxk.ko -exec insmod {} \;
chmod 666 /dev/dxk

n=0 failed=0
ok() {
	local status=$?
	n=$((n + 1))
	if ((status == 0)); then
		echo "ok $n $*"
	else
		echo "not ok $n $*"
		failed=1
		sed 's/^/#   /' "$work/log" | tail -n 20
		[[ -z ${got:-} ]] || echo "#   got $got"
		[[ ! -s shown ]] || sed 's/^/#   /' shown
	fi
}

printf secret >password && chmod 600 password
# broker USER
broker() {
	printf '%s\n' '[broker farm]' 'nodes = amqp://10.0.2.100:5672' 'plain = yes' "user = $1" \
		"password_file = $work/password" 'heartbeat = 10'
}
# export_|import_ NAME LINE...: a section
export_() { printf '%s\n' "[export $1]" 'broker = farm' 'clients = poster' 'grace = 2' "${@:2}"; }
import_() { printf '%s\n' "[import $1]" 'broker = farm' 'workers = worker' "${@:2}"; }
{
	broker worker
	export_ hash 'lane3 = 8'
	export_ hashq 'queue = quorum' 'payload_max = 1000'
	export_ tree 'lane2 = 2' 'lane3 = 2'
	export_ late 'lane3 = 8'
} >export.conf
{
	broker poster
	import_ hash 'window = 16' 'mode = 777' 'data_size = 1024' 'max_waiting = 16'
	import_ none 'window = 2'
	import_ hashq 'queue = quorum' 'window = 16' 'mode = 777'
	import_ sums 'window = 16' 'payload_max = 2000000'
	import_ late 'window = 4' 'begin_within = 4' 'answer_within = 6'
	import_ tree 'window = 16' 'lanes = 0 0 50' 'mode = 777'
} >import.conf
{ broker worker; export_ sums 'lane3 = 4'; } >sums.conf
{
	broker poster | sed 's/10\.0\.2\.100:5672/127.0.0.1:1/'
	import_ late 'context = void' 'window = 4' 'begin_within = 1'
} >void.conf

# start export|import; its id is in $pid
start() { "$dxkd" --status "$1.json" "$1.conf" 2>>log & pid=$!; }
serves() { [[ $got == "back=$1 dead=$2 other=0 wrong=0 twice=0 early=0 none=1" ]]; }

# several SIGNAL of the exporter, or of the importer, while an application waits
several() {
	local signal=$1 whose=$2 times=$3 i
	for ((i = 0; i < times; i++)); do
		sleep 1.5
		kill "-$signal" "${!whose}"
		wait "${!whose}" 2>/dev/null
		start "$whose"
		printf -v "$whose" %s "$pid"
	done
}

# soon COMMAND...: it succeeds within a minute
soon() {
	local end=$((SECONDS + 60))
	until "$@"; do
		((SECONDS < end)) || { echo "# not within a minute: $*"; return 1; }
		sleep 0.2
	done
}
# shellcheck disable=SC2317 # soon calls it
both() { grep -q "export hash: $1" log && grep -q "import hash: $1" log; }

# status export|import SERVICE TEXT: the status of the daemon has this of the service
status() {
	[[ -e $1.json ]] && sed 's/},{"name"/\n&/g' "$1.json" | grep "\"name\":\"$2\"" | grep -qF "$3"
}

# What an application got says that each of NR requests was answered, and once.
once() {
	got=$(<result)
	[[ $got =~ ^back=$1\ dead=([0-9]+)\ other=0\ wrong=0\ twice=0\ early=0\ none=1$ ]]
}

# How often what was posted as REDO percent from FIRST on was begun: at most MAX times with
# PXR_REDO, once without
begun() {
	sort -n begun | uniq -c | awk -v first="$1" -v redo="$2" -v max="$3" '
		$2 < first { next }
		($2 - first) % 100 < redo ? $1 > max : $1 > 1 { print "# begun:", $0; bad = 1 }
		END { exit bad }'
}

# --- nobody serves ----------------------------------------------------------------

# as if a daemon had died before it started its context
"$peer" make none@farm >made & maker=$!
soon grep -qs made made
start import; import=$pid
# then its context has been started
soon status import none '"served":false'
got=$("$peer" one none@farm executor)
[[ $got == 'status=-113 begun=1 no result' ]]
ok "where nobody ever served a request is refused (EHOSTUNREACH)"
kill "$maker"
wait "$maker" 2>/dev/null

# --- all is well ------------------------------------------------------------------

"$peer" serve hash 4 2000 begun >served 2>>log &
soon grep -qs serves served
"$peer" serve hashq 4 2000 begunq >servedq 2>>log &
soon grep -qs serves servedq
start export; export=$pid
soon both 'requests: up'
got=$("$peer" app hash@farm 300 64 50)
serves 300 0
ok "requests come back with their results"
begun 1 50 1
ok "each was begun once"
soon status export hash '"requests":[0,0,0,300],"answered":[0,0,0,300]' &&
	soon status import hash '"requests":[0,0,0,300],"answered":[0,0,0,300]' &&
	soon status import hash '"in_flight":0,"waiting":0,"unconfirmed":0' &&
	status import none '"served":false' && status import hash '"served":true' &&
	"$dxkctl" remote import.json >shown &&
	grep -Eq '^hash +import +farm +up +up +0 +0 +300 +300 +0 +0 +0$' shown &&
	grep -q '^  import none: requests: .*dxk\.x\.none' shown
ok "the status of both daemons says so"
got=$("$peer" one hash@farm fd)
[[ $got == 'status=-95 begun=1 no result' ]]
ok "a file that is not a sealed memfd does not travel (EOPNOTSUPP)"
got=$("$peer" one hash@farm room)
[[ $got == 'status=-90 begun=1 no result' ]]
ok "a result that the service's context has no room for is refused (EMSGSIZE)"

# --- files whose content is fixed ---------------------------------------------------

got=$("$peer" one hash@farm open 100)
[[ $got == 'status=-95 begun=1 no result' ]]
ok "a memfd that can still be written does not travel (EOPNOTSUPP)"
for bytes in 0 1 1048576; do
	got=$("$peer" one hash@farm sealed $bytes)
	[[ $got == 'status=0 begun=1 right' ]] || break
done
ok "a sealed one does, with up to payload_max bytes"
got=$("$peer" one hash@farm sealed 1048577)
[[ $got == 'status=-90 begun=1 no result' ]]
ok "a larger one is refused (EMSGSIZE)"
got=$("$peer" one hashq@farm sealed 1001)
[[ $got == 'status=-90 begun=1 no result' ]]
ok "by the other end as well, with a limit of its own (EMSGSIZE)"
"$peer" app hash@farm 400 32 50 payload 5001 >result 2>>log & app=$!
several KILL export 1
wait $app
once 400 && ((BASH_REMATCH[1] < 200))
ok "exporter killed: each file is as it was sent (${BASH_REMATCH[1]:-?} EOWNERDEAD)"
begun 5001 50 3
ok "without REDO nothing was begun twice, with it no more than three times"

# --- what the other host says -------------------------------------------------------

got=$("$peer" one hash@farm poison)
[[ $got == 'status=-130 begun=3 no result' ]]
ok "the poster is told how often a request was begun elsewhere"
got=$("$peer" expire hash@farm)
[[ $got == 'statuses 5 5 5 5 -62' ]]
ok "a request's own time limit asks its worker to end, and is not begun after it (ETIME)"

got=$("$peer" app hash@farm 1 1 100 poison 9001)
trace=$(sed -n 's/.*export hash: \(00-[0-9a-f]\{32\}-[0-9a-f]\{16\}-01\): .*attempt 2$/\1/p' log)
[[ -n $trace ]] && serves 1 1 && grep "$trace" log >shown &&
	grep -q 'export hash: .*run again, attempt 3$' shown &&
	grep -q 'export hash: .*EOWNERDEAD, attempt 3$' shown &&
	grep -q 'import hash: .*EOWNERDEAD$' shown
ok "the logs of both hosts tell by the traceparent what became of a request"

# --- times --------------------------------------------------------------------------

soon status import late '"served":true'
got=$("$peer" one late@farm executor)
[[ $got == 'status=-110 begun=1 no result' ]]
ok "a request that nobody answers ends when its time is over (ETIMEDOUT)"
"$peer" serve late 4 0 begunl >servedl 2>>log &
soon status import late '"dropped":1' && [[ ! -s begunl ]]
ok "whoever gets it then does not begin it, and what he answers is dropped"
got=$("$peer" app late@farm 20 4 50)
serves 20 0 && soon status export late '"refused":1'
ok "others have their time"
start void; void=$pid
soon status void late '"waiting":0'
got=$("$peer" one void executor)
[[ $got == 'status=-62 begun=1 no result' ]]
ok "what cannot go to the broker is not begun either (ETIME)"
kill -TERM "$void"
wait "$void"
ok "and holds up no end"

# --- garbage ------------------------------------------------------------------------

echo 'host: garbage'
soon both '1 rejected'; rejected=$?
"$peer" app hash@farm 100 64 50 work 501 >result 2>>log
got=$(<result)
((rejected == 0)) && serves 100 0 && soon status export hash '"rejected":50' &&
	soon status import hash '"rejected":50'
ok "what another client sends that is no request, and no answer, is rejected, once in the log"
echo 'host: dead'

# --- ends ---------------------------------------------------------------------------

"$peer" app hash@farm 1000 64 50 work 10001 >result 2>>log & app=$!
several TERM export 2
wait $app
got=$(<result)
serves 1000 0
ok "an exporter that is to end answers all it has, and gives back the rest"
begun 10001 50 1
ok "nothing was begun twice"

first=20001
for whose in export import; do
	"$peer" app hash@farm 1000 64 50 work $first >result 2>>log & app=$!
	several KILL $whose 3
	wait $app
	once 1000
	ok "${whose}er killed: each request is answered once (${BASH_REMATCH[1]:-?} EOWNERDEAD)"
	begun $first 50 3
	ok "without REDO nothing was begun twice, with it no more than three times"
	first=30001
done

got=$("$peer" app hash@farm 1 1 100 poison 40001)
serves 1 1 && [[ $(grep -cx 40001 begun) == 3 ]]
ok "a request that kills who executes it is begun three times"
got=$("$peer" app hash@farm 1 1 0 poison 40002)
serves 1 1 && [[ $(grep -cx 40002 begun) == 1 ]]
ok "and without REDO once"

ups=$(grep -c 'import hash: requests: up' log)
"$peer" app hash@farm 1500 64 50 work 50001 >result 2>>log & app=$!
sleep 1.5
echo 'host: restart'
# The application waits for the broker to come back.
wait $app
(($(grep -c 'import hash: requests: up' log) > ups)) && once 1500
ok "the broker crashes: each request is answered once (${BASH_REMATCH[1]:-?} EOWNERDEAD)"
begun 50001 50 3
ok "without REDO nothing was begun twice, with it no more than three times"

# --- a queue that counts ------------------------------------------------------------

"$peer" app hashq@farm 600 64 100 >result 2>>log & app=$!
several KILL export 2
wait $app
got=$(<result)
serves 600 0
ok "quorum, an exporter is killed: what has REDO comes back"
mv begunq begun
begun 1 100 3
ok "begun no more than three times"

# --- lanes --------------------------------------------------------------------------

soon status import tree '"served":true'
"$peer" tree tree@farm 48 3 60 >result 2>>log & app=$!
# What is exported without a context waits for one.
soon status import tree '"in_flight":8'
"$peer" serve tree 4 0 trees 50 >servedt 2>>log &
wait $app
got=$(<result)
[[ $got == 'back=48 bad=0' ]]
ok "parents in lane 2 that wait for remote children in lane 3 come to their end"
# Would it be seen? Children in their parents' lane have no places left.
got=$("$peer" tree tree@farm 48 2 5 2>>log)
[[ $got == 'back=0 bad=0' ]]
ok "those that wait for children in their own lane do not"

# --- a farm -------------------------------------------------------------------------

# host NAME: a namespace of IPC has names of contexts of its own, as a host has
host() {
	# shellcheck disable=SC2016 # they are the other shell's
	unshare --ipc bash -c '"$1" -s -n sums -w 2 files & echo $! >>farms
		exec "$2" --status "$3.json" sums.conf' - "$dxfarm" "$dxkd" "$1" 2>>log & pid=$!
}
mkdir files
for ((i = 0; i < 60; i++)); do head -c $((i * 997)) /bin/bash >files/$i; done
for ((i = 0; i < 600; i++)); do echo $((i % 60)); done >list
# shellcheck disable=SC2046 # they are numbers
(cd files && sha256sum $(<../list)) >sums
host one; one=$pid
host two; two=$pid
for name in one two; do soon status $name sums '"request_connection":{"state":"up"'; done
soon status import sums '"served":true'
got=$("$peer" one sums@farm sealed 1600000)
[[ $got == 'status=-90 begun=1 no result' ]]
ok "what the broker refuses for its size ends (EMSGSIZE)"
# The last hundred are for whoever is there then, however soon the others are done.
{
	head -n 500 list
	soon status three sums '"request_connection":{"state":"up"' >&2
	tail -n +501 list
} | "$dxfarm" -n sums@farm >result 2>>log & app=$!
sleep 1.5
kill -KILL "$two"
wait "$two" 2>/dev/null
host three; two=$pid
wait $app && cmp -s result sums
ok "dxfarm: the sums of sha256sum, whatever happens to a host"
sleep 1.1	# what they tell is no older than a second
! grep -F '"answered":[0,0,0,0]' {one,two,three}.json
ok "each of the hosts has computed some"
mapfile -t farms <farms
kill -TERM "$one" "$two" "${farms[@]}"
wait "$one" && wait "$two"
ok "the hosts end when they are told to"

# --- the end ------------------------------------------------------------------------

kill -TERM "$import" "$export"
wait "$import" && wait "$export" && [[ ! -e import.json && ! -e export.json ]]
ok "both end when they are told to"
echo "1..$n"
exit $failed
