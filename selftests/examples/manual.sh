#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The programs of README.md, of the man pages and of the tutorials, as they stand there: what they
# print, and what those of the first two make of each answer. A wait that a signal or a Stop ends says nothing of
# the requests, so it changes nothing; a request that was not taken, or was cancelled,
# is told, by the status, too.
# shellcheck source=selftests/lib/test.bash
. "${0%/*}/test.bash"
needs_network

bring_near "$build"/manual/{README,dxk.7,dx.hpp.3,dx.hpp.3-2,Dispatcher_create.3} \
	"$build"/manual/{AgletContext_create.3,AgletProxy_sendMessage.3,fom_domain_init.3} \
	"$build"/manual/{ConnectionPool_create.3,JoinPoint_init.3,BoundedQueue_create.3} \
	"$build"/manual/{ThreadManagerPolicy.3,RunSettings.3,MTExecutiveError.3} \
	"$build"/manual/{RQElement.3,RQPost.3,HandleClass.3} \
	"$build"/manual/tutorial-{dx,foms,aglets,reactor,server} "$(type -P socat)"
squares=$'0\n1\n4\n9\n16\n25\n36\n49'
declare -A wanted=([README]=$squares [dxk.7]='sum 140' [dx.hpp.3]='sum 140')
POST=$((0xd820)) REJOIN=$((0xd821))
EINTR=4 ESHUTDOWN=108

# upset STATUS CALL NTH WHAT PROGRAM: see tools_upset.c
upset() {
	gives "$1" env UPSET="$2 $3 $4" LD_PRELOAD="$build/selftests/tools_upset.so" "$near/$5"
}
as_ever() { upset 0 "$REJOIN" "$1" "$2" "$3" && [[ $(<out) == "${wanted[$3]}" ]]; }
# The log goes to standard error, too.
failure='^(status|the job failed:) -[0-9]+$'
told() { upset 1 "$@" && [[ ! -s out ]] && has err "$failure"; }

for p in "${!wanted[@]}"; do
	gives 0 "$near/$p" && [[ $(<out) == "${wanted[$p]}" ]] && ! line err "$failure"
	ok "$p"
	for nth in 1 2 5 11; do
		as_ever $nth -$EINTR "$p" && as_ever $nth -$ESHUTDOWN "$p"
		ok "$p: wait $nth ends early"
	done
	for nth in 1 2 9; do
		told "$POST" $nth -$ESHUTDOWN "$p"
		ok "$p: request $nth is not taken"
		told "$REJOIN" $nth cancelled "$p"
		ok "$p: request $nth is cancelled"
	done
done
gives 2 nobody "$near/README" && [[ ! -s out ]] && has err '/dev/dxk: Permission denied'
ok "a program without a right to the device says so"
# A copy by a coroutine, and servers
head -c 100000 /bin/bash >whole
"$near/busybox" cat whole | "$near/dx.hpp.3-2" 2>err | "$near/busybox" cat >copy
busybox cmp whole copy
ok "a coroutine copies a pipe"
sends_back() {
	[[ $(printf 'one\ntwo\n' | "$near/socat" -t 60 - "TCP:127.0.0.1:$1" 2>/dev/null) == $'one\ntwo' ]]
}
for p in Dispatcher_create.3,7007 ConnectionPool_create.3,7010; do
	"$near/${p%,*}" 2>err &
	server=$!
	until_true sends_back "${p#*,}"
	ok "${p%,*}: a server sends back each line"
	kill -KILL $server
	wait $server 2>/dev/null
done

# Tasks that are joined, and a queue whose order is the program's
gives 0 "$near/JoinPoint_init.3" && [[ $(<out) == 'sum 140' ]]
ok "the parts of a sum are joined"
gives 0 "$near/BoundedQueue_create.3" && [[ $(<out) == $'now\nsoon\nlater' ]]
ok "the most urgent comes first"

# Aglets: a token twice round a ring of 10,000, and once more; five philosophers, three meals each
gives 0 "$near/AgletContext_create.3" && [[ $(<out) == 20001 ]]
ok "a token goes round a ring of aglets"
meals=$(for i in 0 1 2 3 4; do printf '%s eats\n' $i $i $i; done)
gives 0 "$near/AgletProxy_sendMessage.3" && [[ $("$near/busybox" sort out) == "$meals" ]]
ok "philosophers dine"
# Foms: a thousand, each of which counts to three
gives 0 "$near/fom_domain_init.3" && [[ $(<out) == 6000 ]]
ok "foms count"

# Structs, one by one
declare -A prints=([RQElement]='hello, world' [RQPost]=140 [RunSettings]='' [HandleClass]=''
	[ThreadManagerPolicy]='' [MTExecutiveError]='TPMaxThreads: 500 is not in 1..499')
for p in "${!prints[@]}"; do
	gives 0 "$near/$p.3" && [[ $(<out) == "${prints[$p]}" ]]
	ok "$p"
done

# The tutorials
awk 'BEGIN { for (i = 0; i < 40000; i++) printf "%s%s", i % 7 ? "word" : "a", i % 5 ? " " : "\n\n" }' >long
printf 'no end' >short
: >empty
busybox wc -w long short empty | busybox awk '$2 != "total" { print $1, $2 }' | sort >wanted
gives 0 "$near/tutorial-dx" long short empty && sort out >counted && same wanted counted &&
	gives 1 "$near/tutorial-dx" short nowhere && [[ $(<out) == '2 short' ]]
ok "tutorial: words are counted"
gives 0 "$near/tutorial-foms" && [[ $(<out) == '200 cars crossed, 1 at a time' ]]
ok "tutorial: cars cross a bridge"
gives 0 "$near/tutorial-aglets" && [[ $(<out) == 'total 1000' ]]
ok "tutorial: no money gets lost"
answers() {	# PROGRAM PORT ANSWERS
	"$near/$1" 2>err &
	server=$!
	until_true are "$2" "$3"
	echo quit | tells "$2"
	wait $server && ! line err "neither responded"
}
tells() { "$near/socat" -t 60 - "TCP:127.0.0.1:$1" 2>/dev/null; }
are() { [[ $(printf '1 2 3\n4 -5\nnone\n' | tells "$1") == "$2" ]]; }
answers tutorial-reactor 7008 $'6\n-1\n0'
ok "tutorial: a server adds, and ends"
answers tutorial-server 7009 $'14\n41\n0'
ok "tutorial: a server squares and joins, and ends"

until_true no_context
ok "no context is left"
plan
