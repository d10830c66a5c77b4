#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# examples/dxspider on a site of two servers, dxhttpd and one that does odd things: what it
# finds is what wget finds, it asks as politely as it says, and whatever a server does it ends.
# shellcheck source=selftests/lib/test.bash
. "${0%/*}/test.bash"
needs_network

type -P wget >/dev/null || skip_all "wget is not installed"
bring_near "$build/examples/dxspider" "$build/examples/dxhttpd"
odd_server='' server='' pid=''
restore() { kill -KILL $odd_server $server $pid; } 2>/dev/null
unset http_proxy https_proxy all_proxy

# of dxhttpd, and of the other server, which is slower
pages=120 own_pages=30
[[ -z $long ]] || pages=2000 own_pages=500

# spider STATUS ARG...: with that exit status; what it asked the odd server for is in asked
spider() {
	local before
	before=$(lines log .)
	gives "$1" "$near/dxspider" "${@:2}" || return
	tail -n +$((before + 1)) log >asked
}
# finds WHY PATH [ARG...]: that page of the odd server is broken, and none else
finds() {
	local first
	spider 1 -t 30 "${@:3}" "$there$2" && has out '; 1 broken, 1 links to these$' || return
	read -r first <out
	# shellcheck disable=SC2053 # a pattern
	[[ $first == "- $there$2 "$1 ]] || ! tell "not '$1': $first"
}
fine() { spider 0 -t 30 "${@:2}" "$there$1" && has out '; 0 broken, 0 links to these$'; }
asked_for() { has asked " $1 [0-9]+$"; }
not_asked_for() { ! line asked " $1 [0-9]+$"; }
twice() { sort asked | cut -d ' ' -f 1-3 | uniq -d; }
most() { awk -v a="$1" '$1 == a && $4 > most { most = $4 } END { print +most }' asked; }
# politely N: nothing twice, and not more at a time
politely() {
	[[ -z $(twice) ]] && (($(most 127.0.0.2) <= $1)) && return
	tell "$(most 127.0.0.2) at a time, twice: $(twice | head -n 3)"
	return 1
}
broken() { grep -v ' hosts; ' "$1" | sort; }

# --- how it is begun --------------------------------------------------------------------

status=0
for args in "" "-l x http://h/" "-n 0 http://h/" "-c 0 http://h/" "-j 500 http://h/" \
	"-t 0 http://h/" "-x http://h/" h http:// ftp://h/ /etc/passwd http://h:x/ "http://h/ http://[/"
do
	# shellcheck disable=SC2086 # words
	gives 2 "$near/dxspider" $args && [[ ! -s out && -s err ]] || status=1
done
gives 0 "$near/dxspider" --help && has out '^Usage' && ((!status))
ok "options and URLs that are wrong"

mkdir -p a b
line_or_ended() { [[ -s $1 ]] || ended "$2"; }
: >port
: >url
"$near/dxhttpd" -p 0 a >url 2>httpd.err &
server=$!
until_true line_or_ended url $server
read -r here <url
python3 "$build/selftests/spider_site.py" "$here" $pages $own_pages 127.0.0.{2..9} >port &
odd_server=$!
until_true line_or_ended port $odd_server
read -r port <port
there=http://127.0.0.2:$port/
ok "a site of $pages pages, and one of $own_pages"

# --- what is broken ---------------------------------------------------------------------

# For wget a host is the same at any port; each server has an address of its own.
as_wget() {
	wget --no-config --spider -r -nd -e robots=off --no-iri -T 60 -t 1 -nv -o wget.log "$@"
	awk '/^Found .* broken link/ { found = 1 } found && /^http/' wget.log | decoded >theirs
	# The end of redirects is what wget names.
	awk '/ [0-9]+( at [^ ]+)?$/ { print $4 == "at" ? $5 : $2 }' out | decoded >ours
	(($(lines theirs .) > 3)) && same theirs ours
}
# Both may write a byte as it is, or as %XX.
decoded() { while read -r url; do printf '%b\n' "${url//%/\\x}"; done | sort -u; }

# Each page once, of each host one at a time (AG-2, AG-12, AG-15)
spider 1 "$here" "$there" && broken out >all && politely 1 && ! line asked HEAD
ok "each page once, one at a time: $(tail -n 1 out)"

as_wget -l 99 -H -D 127.0.0.1,127.0.0.2 "$here"
ok "what wget finds"

spider 1 -c 8 "$there" "$here" && politely 8 && broken out >got && same all got
ok "the same with eight requests at a time"

spider 1 "$here" && broken out >one && [[ -s one && ! -s asked && -z $(comm -23 one all) ]]
ok "one of them: the other one is not asked"

# What is elsewhere is asked for by HEAD, and not read.
missing=" ${there}elsewhere/missing 404"
spider 1 -e "$here" && ! line asked ' GET ' && [[ -z $(twice) ]] && has out "$missing$" &&
	broken out | grep -vF "$missing" >got && same one got
ok "and where it links to, no step further"

spider 0 -l 1 "${here}d1/" && spider 1 -l 2 "${here}d1/" && as_wget -l 2 -np "${here}d1/"
ok "two links away, below a directory"

kill -TERM $server && wait $server
server=''

# --- how it asks --------------------------------------------------------------------------

# Two hosts are asked at once (AG-1), one is only when it is said so (AG-2).
spider 0 "${there}odd/meet?t=60" "http://127.0.0.3:$port/odd/meet?t=60" &&
	spider 0 -c 2 "${there}odd/meet?t=60" "${there}odd/meet?u=60" && [[ $(most 127.0.0.2) == 2 ]] &&
	spider 1 "${there}odd/meet?t=1" "${there}odd/meet?u=1" && [[ $(most 127.0.0.2) == 1 ]] &&
	[[ $(lines out ' 500$') == 2 ]]
ok "hosts at once, a host not"

# As many threads as there are hosts that have not answered yet (AG-32)
SECONDS=0
spider 1 -t 5 http://127.0.0.{2..9}:"$port"/odd/never && (($(lines out ' Timeout') == 8)) &&
	((SECONDS < 30))
ok "eight hosts that never answer, in the time of some"

spider 1 -n 10 "$there" || spider 0 -n 10 "$there"
has out '^10 URLs of 1 hosts; ' && has err 'links were left out' && [[ $(lines asked .) == 10 ]]
ok "no more requests than it may send"

# --- what servers do -------------------------------------------------------------------------

# No page of an error is read.
finds 404 odd/missing && finds 403 'odd/status?403' && finds 500 'odd/status?500' &&
	finds 503 'odd/status?503' && not_asked_for '.*behind.*' && fine 'odd/status?204'
ok "a start that is not there"

other=http://127.0.0.3:$port
finds "404 at ${there}odd/missing%20page" odd/gone &&
	finds "redirected for ever at ${there}odd/pool" odd/loop &&
	finds "redirected for ever at ${there}odd/chain?20" odd/chain &&
	finds "redirected to no URL" 'odd/to?http://[x' && fine 'odd/to?mailto:x' &&
	finds "404 at ${there}odd/x" 'odd/to?/d1/../odd/x%23y' &&
	fine "odd/to?$other/odd/x" && has err 'is redirected elsewhere' &&
	finds "404 at $other/odd/x" "odd/to?$other/odd/x" -e && asked_for 'HEAD /odd/x'
ok "redirects: to what is not there, for ever, elsewhere"

fine "odd/to?$other/odd/only-get" -e && asked_for 'HEAD /odd/only-get' &&
	asked_for 'GET /odd/only-get'
ok "a server that knows no HEAD"

finds '[A-Z]*' odd/half && finds '[A-Z]*' odd/nonsense && fine odd/binary && [[ ! -s err ]] &&
	spider 1 http://127.0.0.1:1/ && has out "^- http://127.0.0.1:1/ Couldn't connect"
ok "bodies that end early, or are none; no server"

# What it reads of 100 MB, in little memory: its threads' stacks are half of that
limited() { (ulimit -Sd 200000 && exec "$@"); }
large() {	# STATUS PATH ARG...
	local sent
	gives "$1" limited "$near/dxspider" -t 300 "${@:3}" "$there$2" || return
	until_true line log "^big /$2 "
	sent=$(awk -v path="/$2" '$1 == "big" && $2 == path { print $3 }' log)
	((sent < 30000000)) || ! tell "$2: $sent bytes were sent"
}
large 0 odd/big
ok "100 MB of no page"
large 1 odd/big.html && has out "/odd/at-the-begin 404$" && has err 'this is large'
ok "of a page"
large 0 odd/tag.html && has err 'this is large'
ok "of an element"
large 1 odd/links.html -n 20 && has err 'links were left out'
ok "of links"

# --- how it ends ------------------------------------------------------------------------------

# at_work LINES COMMAND...: in the background, until the server was asked so often
at_work() {
	local before
	before=$(lines log .)
	starts env --default-signal=INT "$near/dxspider" "${@:2}"
	until_true asked_or_ended $((before + $1))
}
asked_or_ended() { (($(lines log .) >= $1)) || ended $pid; }
ends() { until_true ended $pid; wait $pid; [[ $? == "$1" ]] && until_true no_context; }

for sig in INT TERM; do
	at_work 1 -t 600 "${there}odd/never" && kill -$sig $pid && ends $((128 + $(kill -l $sig))) &&
		has out '; 0 broken' && [[ ! -s err ]]
	ok "SIG$sig while nobody answers"
done
# A page that never answers: it has always more to do.
ever=(-c 4 -t 600 "$there" "${there}odd/never")
at_work 20 "${ever[@]}" && kill -INT $pid && ends 130 && has out ' hosts; ' && [[ ! -s err ]]
ok "SIGINT amid many answers"
at_work 20 "${ever[@]}" && kill -KILL $pid && ends 137
ok "killed it leaves no context"
at_work 20 "${ever[@]}" && stop_context stop --cancel && ends 2 &&
	has err 'context was stopped' && ! line out odd/never
ok "stopped by somebody else it says so"

# What has not answered by then is broken, too.
at_work 20 "${ever[@]}" && kill -KILL $odd_server && ends 1 && has out 'odd/never [A-Z]' &&
	has out ' 1 hosts; '
ok "a server that is killed"
pid='' odd_server=''
plan
