#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The examples that are to be read, examples/small, as they stand there: what they print.
# shellcheck source=selftests/lib/test.bash
. "${0%/*}/test.bash"

bring_near "$build"/examples/small/{hello,loop,worker}

gives 0 "$near/hello" && [[ $(<out) == 'hello: the answer is 42' ]]
ok "hello: a request and its result"

gives 1 "$near/worker" && has err '^worker: No such file or directory$'
ok "worker: there is no context to join"

# The first request is there before a worker is.
until_true no_context
mkfifo input
# Not into err, where the words of the program before it are until this has begun.
"$near/loop" <input >said 2>loop.err &
loop=$!
exec 6>input
printf 'one\n' >&6
# shellcheck disable=SC2317 # called by until_true
has_or_ended() { line said "$1" || ended "$worker"; }
# shellcheck disable=SC2317
made() { line loop.err . || line /sys/kernel/dxk/*/stats/posts '^1$'; }
until_true made
tell_file loop.err
"$near/worker" 2>worker.err 6>&- &
worker=$!
until_true has_or_ended '^4: ONE$'
tell_file worker.err
has said '^4: ONE$'
ok "loop, worker: a request of another process is executed"
module=$DXK_MODULES.small/dxk_small.ko
if [[ -e $module ]]; then
	busybox insmod "$module" visit=small && busybox dmesg >seen &&
		has seen 'dxk_small: the answer is VISITOR$' && busybox rmmod dxk_small
	ok "kmod: a module has a program's worker do something"
	gives 2 busybox insmod "$module" visit=smaller && [[ ! -e /sys/kernel/dxk/executors/small_square ]]
	ok "kmod: there is no context that it could join"
else
	skip "kmod: it was not built beside the modules"
fi
kill -KILL $worker
wait $worker 2>/dev/null
"$near/worker" 2>worker.err 6>&- &
worker=$!
printf 'three\n' >&6
until_true has_or_ended '^6: THREE$' && line said '^6: THREE$'
ok "loop, worker: the next worker goes on"
gives 1 "$near/loop" && has err '^loop: context small: File exists$'
ok "loop: the name is taken"
exec 6>&-
wait $loop && [[ $(<said) == $'4: ONE\n6: THREE' ]]
ok "loop: it ends with its input"
wait $worker && [[ ! -s worker.err ]]
ok "worker: it ends with its context"

if [[ -e $module ]]; then
	busybox insmod "$module" && busybox dmesg >said && has said 'dxk_small: the sum is 140$'
	ok "kmod: a module has its requests executed"
	no_context && [[ -e /sys/kernel/dxk/executors/small_square ]]
	ok "kmod: its executor is there, its context has ended"
	busybox rmmod dxk_small && [[ ! -e /sys/kernel/dxk/executors/small_square ]]
	ok "kmod: it can be removed"
else
	skip "kmod: it was not built beside the modules"
fi

until_true no_context
ok "no context is left"
plan
