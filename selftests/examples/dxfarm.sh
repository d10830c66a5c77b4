#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# examples/dxfarm: the sums of a list of files, computed by a service: those of sha256sum; and
# names that lead nowhere. What hosts make of it is in scripts/check/remote-guest.sh.
# shellcheck source=selftests/lib/test.bash
. "${0%/*}/test.bash"

bring_near "$build"/examples/dxfarm
service=''
restore() { [[ -z $service ]] || kill -KILL "$service" 2>/dev/null; }
serve() {	# OPTION... DIR
	"$near/dxfarm" -s -n sums "$@" 2>serve.err &
	service=$!
	until_true running_or_ended "$service"
}
running_or_ended() {
	local state file=(/sys/kernel/dxk/[0-9]*/state)
	{ read -r state <"${file[0]}" && [[ $state == running ]]; } 2>/dev/null || ended "$1"
}
# asks STATUS LIST OPTION...: as gives, with the names of LIST
asks() { gives "$1" bash -c "exec dxfarm -n sums \"\${@:2}\" <\$1" - "${@:2}"; }

mkdir -p files/sub
for ((i = 0; i < 70; i++)); do
	head -c $((i * 997)) /bin/bash >"files/sub/$i"
	echo "sub/$i"
done >list
echo x >'files/sub/a  b'
echo x >'files/back\slash'
printf '%s\n' 'sub/a  b' 'back\slash' sub/0 >>list
(cd files && mapfile -t names <../list && sha256sum -- "${names[@]}") >sums

asks 2 list && has err '^dxfarm: sums: '
ok "nobody serves"
serve -w 2 files
asks 0 list && same sums out
ok "the sums of sha256sum, in the order of the list"
asks 0 list -w 1 && same sums out && asks 0 /dev/null && ! line out .
ok "one at a time, and none"

echo secret >above
ln -s ../above files/link
mkfifo files/fifo
printf '%s\n' sub/1 ../above /etc/passwd '' link fifo sub none "$(printf 'x%.0s' {1..600})" \
	sub/2 >odd
asks 1 odd && [[ $(lines out .) == 2 ]] && [[ $(lines err '^dxfarm: ') == 8 ]] &&
	has out ' sub/1$' && has out ' sub/2$' && has err 'none: No such file' &&
	has err 'link: Invalid cross-device link' && has err 'sub: Is a directory'
ok "what is not below the directory, or no file, is told, and the others summed"
asks 0 list -u 0 && asks 2 list -u 65534 && has err 'sums: '
ok "whose service it is can be asked for"
gives 2 nobody "$near/dxfarm" -n sums
ok "others are let in if the mode says so"

gives 2 dxfarm -s && gives 2 dxfarm -s files list && gives 2 dxfarm list && gives 2 dxfarm -w 0 &&
	gives 2 dxfarm -x && gives 2 dxfarm -s -m 1000 files && gives 2 dxfarm -s none/there
ok "wrong arguments"
gives 0 dxfarm --help && has out '^Usage'
ok "help"

kill -TERM "$service" && wait "$service"
ok "it ends when it is told to"
service=''
until_true no_context
ok "nothing is left"
plan
