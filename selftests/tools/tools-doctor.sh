#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# dxkctl doctor finds each reason for which the device of a loaded module cannot be
# used. Files of the system are replaced by others mounted over them.
# shellcheck source=selftests/lib/tools.bash
. "${0%/*}/tools.bash"
stock_only
one_mode

bound=()
bind() { mount --bind "$1" "$2" && bound+=("$2"); }
unbind() { umount "${bound[-1]}" && unset 'bound[-1]'; }
restore() {
	while ((${#bound[@]})); do unbind; done
	chown root:root /dev/dxk
}

doctor() { run 1 dxkctl doctor && has out "$1"; }

run 0 dxkctl doctor && has out '^ok .*ABI version 1' && ! line out WRONG
ok "all is well"
run 1 nobody dxkctl doctor && has out 'nobody may not open /dev/dxk.*mode 0600' &&
	has out 'do: .*udev/rules.d' && has out 'do: adduser nobody dxk'
ok "no group has the device"
gid=$(getent group audio | cut -d: -f3)
chown "root:$gid" /dev/dxk && chmod 660 /dev/dxk
run 1 nobody dxkctl doctor && has out 'do: adduser nobody audio'
ok "the user is not in the group"
printf -v many ',%s' {1000..1299}
run 1 setpriv --reuid 65534 --regid 65534 --groups "${many#,}" dxkctl doctor &&
	has out 'do: adduser nobody audio'
ok "for a user with many groups, too"
sed -E 's/^(audio:.*:)[^:]*$/\1nobody/' /etc/group >group && bind group /etc/group &&
	run 1 nobody dxkctl doctor && has out 'do: newgrp audio'
ok "the session is older than the membership"
run 0 setpriv --reuid 65534 --regid 65534 --groups "$gid" dxkctl doctor
ok "in the group all is well"
unbind
chown root:root /dev/dxk && chmod 600 /dev/dxk
mv /dev/dxk /dev/dxk.away && doctor '/dev/dxk: No such file' &&
	has out 'do: udevadm trigger' && has out 'do: mknod'
ok "no device node"
run 1 dxkctl stop 0 && has err 'next: dxkctl doctor'
ok "others send to the doctor"
mknod /dev/dxk c 1 3 && doctor 'is not the device' && has out 'do: rm /dev/dxk'
ok "another device in its place"
mv -f /dev/dxk.away /dev/dxk

# Another version's answer to DXK_IOC_VERSION
export LD_PRELOAD=$build/selftests/tools_abi.so
ABI=7 run 0 dxkctl doctor && has out '^ok .* ABI version 7$'
ok "a newer module serves this program"
ABI=0 run 1 dxkctl doctor &&
	has out 'ABI version 0, .* for 1' &&
	has out 'do: install the module'
ok "an older one does not"
unset LD_PRELOAD

mkdir -p /run/dxkd
remote=/run/dxkd/status.json
service() {	# NAME STATE ERROR
	printf '{"name": "%s", "role": "import", "request_connection": {"state": "%s"%s}}' "$1" "$2" \
		"${3:+, \"error\": \"$3\"}"
}
echo "{\"pid\": $$, \"services\": [$(service a up)]}" >$remote
run 0 dxkctl doctor && has out '^ok    dxkd: all of its services are connected: 1$'
ok "dxkd is well"
cat >$remote <<END
{"pid": $$, "services": [$(service a up), $(service b down "NOT_FOUND - no exchange 'dxk.x.b'"),
$(service c refused 'ACCESS_REFUSED - no'), $(service d blocked), $(service e down 'timed out'),
{"name": "f", "role": "export", "context_error": "No such file"}]}
END
doctor "^WRONG dxkd: import b: requests: NOT_FOUND - no exchange" &&
	has out 'do: start dxkd where' && has out 'import c: .*ACCESS_REFUSED' &&
	has out "the user's rights" && has out 'import d: requests: blocked' &&
	has out 'lacks memory or disk' && has out 'import e: .*timed out' &&
	has out 'is the broker there' && has out 'export f: context: No such' &&
	[[ $(lines out WRONG) == 5 ]]
ok "what hinders it is told, with what helps"
sleep 0 & gone=$!
wait $gone
echo "{\"pid\": $gone, \"services\": []}" >$remote && doctor 'dxkd has ended' &&
	echo '{' >$remote && doctor 'WRONG /run/dxkd/status.json'
ok "one that was killed, and a file that is none"
rm -f $remote
plan
