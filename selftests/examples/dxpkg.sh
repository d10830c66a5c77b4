#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# examples/dxpkg against dpkg-query, on the package list of this machine: a whole DX
# application, three levels of requests deep (DX-51, DX-104..DX-106), with a handle of
# SQLite for each worker from the Handle Table (DX-16, DX-26), lanes and the smallest
# crew that they allow (DX-76).
# shellcheck source=selftests/lib/test.bash
. "${0%/*}/test.bash"

restore() { umount "$work/small" /var/lib/apt/lists; } 2>/dev/null

for tool in sqlite3 dpkg-query awk; do
	command -v "$tool" >/dev/null || skip_all "no $tool"
done
bring_near "$build/examples/dxpkg" "$(type -P sqlite3)"
dxpkg=$near/dxpkg

# run STATUS OPTION...: dxpkg, with that exit status
run() { gives "$1" "$dxpkg" --dispatch "$dispatch" "${@:2}"; }
# said LINE...: are these what it complains of?
said() { printf '%s\n' "$@" >said && same said err; }

# query DB SQL...: does it answer what is in the file ref?
query() { sqlite3 -batch -separator ' ' "$1" "$2" >got && same ref got; }

# no_trace DB: nothing of a database that was not made
no_trace() { ! compgen -G "$1*" >/dev/null; }

# --- as dpkg-query tells it -------------------------------------------------

# Starting a program is what takes time here, so a few do it all. The first packages
# have all that there is to see.
mkdir admin admin/updates admin/info && : >admin/triggers-file
status=admin/status
awk -v max="${long:+100000}" '/^$/ && ++nr == (max ? max : 150) { exit } 1' \
	/var/lib/dpkg/status >$status
dpkg-query --admindir="$work/admin" -W -f '${Package}\t${Architecture}\t${Version}\t${Status}\t${Pre-Depends}\t${Depends}\t${Recommends}\n' \
	>dpkg

# versions, every alternative of Depends, dependent packages of each package
awk -F '\t' '
function trim(text) { gsub(/^ +| +$/, "", text); return text }
{
	print "versions", $1, $2, $3, $4
	packages[$1]
	delete named
	for (f = 5; f <= 7; f++) {
		relations = split($f, relation, ",")
		for (i = 1; i <= relations; i++) {
			alternatives = split(relation[i], alternative, "|")
			for (k = 1; k <= alternatives; k++) {
				text = trim(alternative[k])
				edges[f]++
				if (f == 6)
					print "depends", $1, $2, i - 1, k - 1, text
				sub(/[ :(].*/, "", text)
				if (f < 7)
					named[text]
			}
		}
	}
	for (name in named)
		reverse[name]++
}
END {
	print length(packages), NR, edges[5] + 0, edges[6] + 0, edges[7] + 0 >"ref.numbers"
	for (name in reverse)
		print "reverse", name, reverse[name]
}' dpkg | sort >refs
while read -r file line; do echo "$line" >>"ref.$file"; done <refs
read -r packages versions _ depends _ <ref.numbers

run 0 --db db --status $status && [[ ! -s err ]] && ((versions >= 50 && depends >= 50))
ok "$packages packages, $depends dependencies"
sqlite3 -batch -separator ' ' db <<-'END'
	.output got.numbers
	SELECT (SELECT count(*) FROM package), (SELECT count(*) FROM version),
		sum(field = 'Pre-Depends'), sum(field = 'Depends'),
		sum(field = 'Recommends') FROM dependency;
	.output got.versions
	SELECT package || ' ' || architecture || ' ' || version || ' ' || status
		FROM version ORDER BY 1;
	.output got.depends
	SELECT v.package || ' ' || v.architecture || ' ' || relation || ' ' ||
		alternative || ' ' || target ||
		coalesce(':' || d.architecture, '') ||
		coalesce(' (' || op || ' ' || target_version || ')', '')
		FROM dependency d JOIN version v ON v.id = d.version
		WHERE field = 'Depends' ORDER BY 1;
	.output got.reverse
	SELECT target || ' ' || count(DISTINCT version) FROM dependency
		WHERE field IN ('Depends', 'Pre-Depends') GROUP BY target ORDER BY 1;
	.output got.sound
	PRAGMA integrity_check;
	PRAGMA foreign_key_check;
	SELECT (SELECT sum(edges) FROM reverse) - (SELECT count(*) FROM dependency);
	SELECT count(*) FROM (SELECT target, field, count(DISTINCT version)
		FROM dependency GROUP BY 1, 2
		EXCEPT SELECT target, field, versions FROM reverse);
	.output got.dump
	.dump
END
same ref.numbers got.numbers
ok "numbers of packages, versions, Pre-Depends, Depends, Recommends"
same ref.versions got.versions
ok "package, architecture, version and state of every one"
same ref.depends got.depends
ok "every alternative of Depends"
same ref.reverse got.reverse
ok "how many packages depend on each"
[[ $(<got.sound) == $'ok\n0\n0' && $(echo db*) == db ]]
ok "a sound database of one file, reverse counts included"
connections='' said='connections of [^:]* workers: ([0-9]+),'
[[ $(<out) =~ $said ]] && connections=${BASH_REMATCH[1]} &&
	((connections >= 1 && connections <= 5 * $(lines /proc/cpuinfo ^processor)))
ok "connections: $connections"
run 0 --db small-crew --status $status --workers 3 &&
	sqlite3 small-crew .dump >got && same got.dump got
ok "the same with three workers"

# --- an index of apt --------------------------------------------------------

# the smallest
index='' smallest=0
while read -r size file; do
	[[ -n $index ]] && ((size >= smallest)) || index=$file smallest=$size
done < <(stat -c '%s %n' /var/lib/apt/lists/*_Packages* 2>/dev/null)
if [[ -n $index && -x /usr/lib/apt/apt-helper ]]; then
	/usr/lib/apt/apt-helper cat-file "$index" >plain
	count=$(grep -c '^Package:' plain)
	printf '1 %s\n2 %s\n' "$count" "$count" >ref
	run 0 --db packed --index "$index" --index plain &&
		query packed 'SELECT file, count(*) FROM version GROUP BY 1 ORDER BY 1'
	ok "$count packages of an index, packed and not"
	head -c 1000 "$index" >cut.lz4
	run 1 --db packed --index cut.lz4 && has err '^dxpkg: cut.lz4: could not be'
	ok "a packed index that is cut"
else
	skip "no index, or no apt"
fi

# apt keeps an index packed and not, which is one, and what the index was made of.
mkdir lists && cp $status lists/x_Packages
for file in x_Packages.lz4 x_Packages.diff_Index x_Packages-old; do echo none >"lists/$file"; done
mount --bind lists /var/lib/apt/lists && run 0 --db apt --apt && [[ ! -s err ]] &&
	echo "$versions" >ref && query apt 'SELECT count(*) FROM version'
ok "--apt takes each index once, and nothing else"
umount /var/lib/apt/lists

# --- what is wrong is told, the rest is done --------------------------------

cat >bad <<-'END'
	Package: good-one
	Version: 1.0
	Depends: a1 | b1:any (>= 2:1~) , c1 (= 3),
	 d1

	Package: no-version

	Version: 1

	Package: twice
	Version: 1
	version: 2

	  a continuation

	Package: no-colon
	Version: 1
	This is no field

	Package: relations
	Version: 1
	Depends: a1 (>= 1
	Package: other

	Package: operator
	Version: 1
	Breaks: aa, bb (1.0)

	Package: bar
	Version: 1
	Suggests: aa |

	Package: bad name
	Version: 1


	Package: removed
	Status: purge ok not-installed

	Package: good-two
	Version: 2
	Description: it has
	 :a colon
END
wrong=(
	'dxpkg: bad:6: no version, or a wrong one'
	'dxpkg: bad:8: no package, or a wrong name of one'
	'dxpkg: bad:12: a field that was there before'
	'dxpkg: bad:14: a continuation of no field'
	'dxpkg: bad:18: a line that is no field'
	'dxpkg: bad:22: a version without its closing bracket'
	'dxpkg: bad:27: a version without its operator'
	'dxpkg: bad:31: a relation ends with a bar'
	'dxpkg: bad:33: no package, or a wrong name of one'
)
run 1 --db wrong --status bad --index missing --index . --status bad &&
	said "${wrong[@]}" 'dxpkg: missing: No such file or directory' \
		'dxpkg: .: Is a directory' "${wrong[@]}"
ok "malformed stanzas and missing files are told by name and line"
printf '%s\n' 'good-one 1.0' 'good-two 2' >ref
query wrong "SELECT package, version FROM version WHERE file = 1 ORDER BY id"
ok "the others are stored"
printf '%s\n' '0 0 a1   ' '0 1 b1 any >= 2:1~' '1 0 c1  = 3' '2 0 d1   ' >ref
query wrong "SELECT relation, alternative, target, architecture, op, target_version
	FROM dependency WHERE version >> 32 = 1"
ok "relations over several lines, with all parts"
printf 'Package: aa\nVersion: \0\n' >zero
echo $'Package: aa\nVersion: 1\n' >long
truncate -s 20M long	# one line of zeros
echo 1 >ref
run 1 --db wrong --index zero --index long --index /dev/null &&
	said 'dxpkg: zero:1: a zero byte' \
		'dxpkg: long: is no package list: more than 16 MB without an empty line' &&
	query wrong 'SELECT count(*) FROM version'
ok "no text, no list, no byte"
truncate -s 20G line
(ulimit -v 600000 && run 1 --db wrong --workers 3 --index line --index long) &&
	said 'dxpkg: line: is no package list: more than 16 MB without an empty line' \
		'dxpkg: long: is no package list: more than 16 MB without an empty line' &&
	query wrong 'SELECT count(*) FROM version'
ok "a line of any length takes bounded memory, what was before it is stored"
rm line long

# --- the place of the database ----------------------------------------------------

echo "$versions" >ref
run 0 --db file:db --status $status && query ./file:db 'SELECT count(*) FROM version' &&
	[[ $(echo file:*) == file:db ]]
ok "a name that looks like a URI is a name"
mkdir far && echo old >far/db && chmod 640 far/db && chown 4001:4002 far/db && ln -s far/db link
run 0 --db link --status $status && [[ -L link && $(echo far/*) == far/db ]] &&
	query far/db 'SELECT count(*) FROM version' &&
	[[ $(stat -c %a:%u:%g far/db) == 640:4001:4002 ]]
ok "what a link leads to is replaced, its owner and mode stay"

# --- the database cannot be written -----------------------------------------

run 3 --db /no/such/directory/db --status $status && has err '^dxpkg: /no/such/directory/db: '
ok "no directory for the database"
mkdir small && mount -t tmpfs -o size=48k dxpkg-test small && echo old >small/db &&
	run 3 --db small/db --status $status && has err '^dxpkg: small/db: .*full' &&
	[[ $(<small/db) == old && $(echo small/*) == small/db ]]
ok "the disk is full: what was there stays"
umount small
mkdir dir && run 3 --db dir --status $status && [[ $(echo dir*) == dir ]]
ok "a directory is in its place"

# --- somebody else stops the context ------------------------------------------

# The feeder has it open and waits for what comes.
feed() {	# DB
	until_true no_context
	rm -f fifo && mkfifo fifo
	starts env --default-signal=INT "$dxpkg" --dispatch "$dispatch" --db "$1" \
		--status fifo
	exec 5>fifo
}
# more of it than fits into the pipe, and the feeder may have gone
fill() { (trap '' PIPE && echo "$(<$status)"$'\n' >&5) 2>/dev/null; }

echo old >kept
feed kept
stop_context stop --cancel
fill
exec 5>&-
wait "$pid"
[[ $? == 2 ]] && said 'dxpkg: kept: not made: the context was stopped' && wait $stopper &&
	[[ $(<kept) == old && $(echo kept*) == kept ]]
ok "dxkctl stop --cancel ends it, and what was there stays"
feed drained
stop_context drain
fill
exec 5>&-
wait "$pid" && wait $stopper && echo "$versions" >ref &&
	query drained 'SELECT count(*) FROM version'
ok "a drain lets it end what it has begun"

# --- signals, wrong use -----------------------------------------------------

for sig in INT TERM; do
	feed "sig-$sig"
	echo "$(<$status)" >&5
	kill -"$sig" "$pid"
	# It has taken the signal when its context stops, at the latest.
	until_true stopping_or_ended "$pid"
	exec 5>&-
	wait "$pid"
	[[ $? == $((128 + $(kill -l $sig))) ]] && no_trace "sig-$sig" &&
		until_true no_context
	ok "SIG$sig ends it, and leaves nothing"
done

bad() {
	local text=$1
	shift
	run 2 "$@" && [[ ! -s out ]] && has err "$text"
}
bad 'where shall the database be' --workers 3 && bad 'no such option' --frob &&
	bad 'no number from 3' --db x --workers 2 && no_trace x
ok "wrong options"
run 0 --help && has out '^Usage: dxpkg' && has out '^Exit status'
ok "help"
mv /dev/dxk /dev/dxk.away
bad '^dxpkg: platform /dev/dxk: .*dxkctl doctor' --db x && no_trace x
ok "no /dev/dxk"
mv /dev/dxk.away /dev/dxk
until_true no_context
ok "no context is left"
plan
