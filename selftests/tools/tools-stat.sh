#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# dxkstat: figures that are those of the counters, and contexts that go while it looks.
# shellcheck source=selftests/lib/tools.bash
. "${0%/*}/tools.bash"
stock_only

open busy 0640 3 sched_mode=1 'lane_pct[1]=34' 'lane_pct[2]=34' && ask hold 2 3
run 0 dxkstat -n 2 -i 0.1 && [[ $(lines out ^busy) == 2 ]] &&
	has out '^busy +0 +3 +2 +0 +0 +0 +0 +2 +0 +0 +0 +0 +0$' &&
	has out '^context +ready'
ok "a table"
starts dxkstat -j -n 3 -i 0.2 busy
for _ in {1..12}; do ask post 10 3 0; done
wait $pid && json 'len(L) == 3 and all(l["contexts"][0]["busy"] >= 2 for l in L) and
L[2]["contexts"][0]["lanes"]["user"][3]["limit"] == 3 and
L[2]["contexts"][0]["pools"]["thread"]["use"] == 3 and L[2]["time"] > L[0]["time"]'
ok "JSON, one line a sample"

more_lines() { (($(lines out .) > $1)); }
starts dxkstat -j -i 0.3 busy
until_true test -s out
for _ in {1..20}; do ask post 20 3 0; done
until_true more_lines $(($(lines out .) + 1))
kill $pid
wait $pid
# What the rates say happened is what happened.
json 'max(l["contexts"][0]["per_second"]["posts"] for l in L) > 0 and
L[-1]["contexts"][0]["total"]["posts"] == '"$(counter posts)" && python rates
ok "rates"
run 0 dxkstat -h && has out '^Usage' && run 2 dxkstat -i 0 && run 2 dxkstat -i x &&
	run 2 dxkstat -n 0 && run 2 dxkstat -n -1 && run 2 dxkstat a b &&
	run 2 dxkstat --json --top && run 2 dxkstat --frob && run 1 dxkstat frob &&
	run 1 dxkstat --top && run 2 dxkstat --openmetrics --json &&
	run 2 dxkstat --prometheus --openmetrics && run 1 dxkstat --openmetrics frob
ok "wrong use"
run 0 dxkstat --version && has out '^dxkstat \(dxk\) '
ok "the version"
dxkstat -n 1 -i 0.1 >/dev/full 2>err
[[ $? == 1 && $(lines err 'No space left') == 1 ]]
ok "the output cannot be written, which is told once"
starts dxkstat -i 0.1 busy
until_true test -s out
ask release && shut && until_true ended $pid || kill -KILL $pid
wait $pid && [[ ! -s err ]]
ok "the context goes, dxkstat ends"
until_true no_context
run 0 dxkstat -n 2 -i 0.1 && [[ $(lines out '^context') == 1 && $(lines out '^\(none\)$') == 2 ]]
ok "where there is no context it says so"

# Of a name that has to be quoted, too.
metrics() {
	dxkstat --openmetrics >new && dxkstat --prometheus >old && line new '^# EOF$' &&
		/usr/bin/python3 "$build/selftests/tools_metrics.py" new old "$id" "$1" >wrong &&
		return
	tell_file wrong
	return 1
}
# Of one context, and of all with the services of dxkd
promlint() {
	local only
	for only in "$id" ''; do
		dxkstat --prometheus ${only:+"$only"} >old && promtool check metrics <old >out 2>&1 &&
			[[ ! -s out ]] && continue
		tell_file out
		return 1
	done
	line old '^# TYPE dxk_remote_up gauge$'
}
mkdir -p /run/dxkd
printf '%s' '{"services": [{"name": "far", "role": "import", "broker": "a\"b", "in_flight": 7,
"requests": [1, 2, 3, 4], "rejected": 5, "answer_connection": {"state": "up"},
"request_connection": {"state": "blocked"}}, 4, {"requests": 3, "name": ["\n"]}]}' \
	>/run/dxkd/status.json
open 'a"b\c' 0640 3 sched_mode=0 sample_interval_ms=1000 && ask post 20 3 0 &&
	ask count 1 -7 && ask count 2 5 && ask count 1 3
run 0 dxkstat -j -n 1 -i 0.1 "$id" &&
	json 'v["contexts"][0]["instruments"] == {"own1": -4, "own2": 5}'
ok "counters of the application's own"
if /usr/bin/python3 -c 'import prometheus_client.openmetrics' 2>/dev/null; then
	metrics 'a"b\c'
	ok "metrics are those of the counters"
	far='service="far",role="import",broker="a.*b"'
	has new '^dxk_instrument[{].*instrument="own1"[}] -4(\.0)?$' &&
		has new "^dxk_remote_requests_total[{]$far,lane=\"2\"} 3$" &&
		has old "^dxk_remote_in_flight[{]$far} 7$" &&
		has new "^dxk_remote_up[{]$far,connection=\"answers\"} 1$" &&
		has new "^dxk_remote_up[{]$far,connection=\"requests\"} 0$"
	ok "and those of services on other hosts"
else
	skip "metrics: there is no python3-prometheus-client"
fi
if type promtool >/dev/null 2>&1; then
	promlint
	ok "promtool has nothing to say against the metrics"
else
	skip "promtool: there is none"
fi
shut
until_true no_context
rm /run/dxkd/status.json
run 0 dxkstat --openmetrics && [[ $(<out) == *'dxk_contexts 0'*'# EOF' ]] &&
	! line out dxk_remote
ok "metrics where there is no context"

# Contexts come and go while they are looked at.
python churn
churn=$child
run 0 dxkstat -n 10 -i 0.05 -j && json 'len(L) == 10' && run 0 dxkctl list --json &&
	json 'len(v) <= 5' && run 0 dxkctl list && run 0 dxkstat -n 5 -i 0.05
ok "contexts that come and go"
show_some() {
	local i
	for i in {1..6}; do
		dxkctl show $((i % 4)) >out 2>err || has err 'there is no context' || return
	done
}
show_some
ok "a context that goes while it is shown"
kill "$churn"
until_true ended "$churn"
plan
