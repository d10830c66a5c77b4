#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# examples/dxpkg against dpkg-query, on the package list of this machine: a whole DX
# application, three levels of requests deep (DX-51, DX-104..DX-106), with a handle of
# SQLite for each worker from the Handle Table (DX-16, DX-26), lanes and the smallest
# crew that they allow (DX-76).
set -uo pipefail

dxpkg=$(cd "$(dirname "$0")/.." && pwd)/examples/dxpkg
dispatch=${DXK_DISPATCH:-direct}
work=/tmp/dxpkg-test
n=0 failed=0

export LC_ALL=C.UTF-8
rm -rf "$work"
mkdir -p "$work" && cd "$work" || exit 1

cleanup() {
	[[ ! -e /dev/dxk.away ]] || mv /dev/dxk.away /dev/dxk
	umount "$work/small" 2>/dev/null
	cd / && rm -rf "$work"
}
trap cleanup EXIT

for tool in sqlite3 dpkg-query awk; do
	command -v "$tool" >/dev/null && continue
	echo "1..0 # SKIP no $tool"
	exit 4
done

ok() {
	local status=$?
	n=$((n + 1))
	if ((status == 0)); then
		echo "ok $n $*"
	else
		echo "not ok $n $*"
		failed=1
	fi
}

tell() { echo "# $*"; }
tell_file() { head -n 10 "$1" | cut -c -200 | sed 's/^/#   /'; }

# run STATUS OPTION...: dxpkg, with that exit status; its output is in out and err.
run() {
	local expected=$1 status=0
	shift
	"$dxpkg" --dispatch "$dispatch" "$@" >out 2>err || status=$?
	((status == expected)) && return
	tell "exit status $status instead of $expected: $*"
	tell_file err
	return 1
}

# same FILE FILE: are they equal?
same() {
	diff -a "$1" "$2" >diff && return
	tell_file diff
	return 1
}

query() { sqlite3 -batch -separator ' ' "$1" "$2"; }

# no_trace DB: nothing of a database that was not made
no_trace() { ! compgen -G "$1*" >/dev/null; }

until_true() {
	local end=$((SECONDS + 60))
	until "$@"; do
		((SECONDS > end)) && return 1
		read -rt 0.02 <> <(:)
	done
}

no_context() { ! compgen -G '/sys/kernel/dxk/[0-9]*' >/dev/null; }

# --- as dpkg-query tells it -------------------------------------------------

# Starting a program is what takes time here, so a few do it all. The emulated debug
# kernel gets the first hundred packages.
mkdir admin admin/updates admin/info && : >admin/triggers-file
status=admin/status
awk -v max="$([[ -e /proc/lockdep ]] && echo 100 || echo 100000)" \
	'/^$/ && ++nr == max { exit } 1' /var/lib/dpkg/status >$status
dpkg-query --admindir="$work/admin" -W -f '${Package}\t${Architecture}\t${Version}\t${Status}\t${Pre-Depends}\t${Depends}\t${Recommends}\n' \
	>dpkg

# versions, every alternative of Depends, dependent packages of each package
awk -F '\t' '
function trim(text) { gsub(/^ +| +$/, "", text); return text }
{
	print $1, $2, $3, $4 >"ref.versions"
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
					print $1, $2, i - 1, k - 1, text >"ref.depends"
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
		print name, reverse[name] >"ref.reverse"
}' dpkg
for file in versions depends reverse; do sort -o "ref.$file" "ref.$file"; done
read -r packages versions _ depends _ <ref.numbers

run 0 --db db --status $status && [[ ! -s err ]] && ((versions >= 50 && depends >= 50))
ok "$packages packages, $depends dependencies"
sqlite3 -batch -separator ' ' db <<-'END'
	.output got.numbers
	SELECT (SELECT count(*) FROM package), (SELECT count(*) FROM version),
		sum(field = 'Pre-Depends'), sum(field = 'Depends'),
		sum(field = 'Recommends') FROM dependency;
	.output got.versions
	SELECT package, architecture, version, status FROM version;
	.output got.depends
	SELECT v.package, v.architecture, relation, alternative, target ||
		coalesce(':' || d.architecture, '') ||
		coalesce(' (' || op || ' ' || target_version || ')', '')
		FROM dependency d JOIN version v ON v.id = d.version
		WHERE field = 'Depends';
	.output got.reverse
	SELECT target, count(DISTINCT version) FROM dependency
		WHERE field IN ('Depends', 'Pre-Depends') GROUP BY 1;
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
for file in versions depends reverse; do sort -o "got.$file" "got.$file"; done
same ref.numbers got.numbers
ok "numbers of packages, versions, Pre-Depends, Depends, Recommends: $(<ref.numbers)"
same ref.versions got.versions
ok "package, architecture, version and state of every one"
same ref.depends got.depends
ok "every alternative of Depends"
same ref.reverse got.reverse
ok "how many packages depend on each, as $(grep '^libc6 ' ref.reverse)"
printf '%s\n' ok 0 0 | same - got.sound && [[ $(echo db*) == db ]]
ok "a sound database of one file, reverse counts included"
connections=$(sed -n 's/^connections of .* workers: \([0-9]*\),.*/\1/p' out)
((connections >= 1 && connections <= 5 * $(nproc)))
ok "connections: $connections"
run 0 --db small-crew --status $status --workers 3 &&
	sqlite3 small-crew .dump >got && same got.dump got
ok "the same with three workers"

# --- an index of apt --------------------------------------------------------

index=$(find /var/lib/apt/lists -name '*_Packages*' -type f -printf '%s %p\n' 2>/dev/null |
	sort -n | sed -n '1s/^[0-9]* //p')
if [[ -n $index && -x /usr/lib/apt/apt-helper ]]; then
	/usr/lib/apt/apt-helper cat-file "$index" >plain
	run 0 --db packed --index "$index" --index plain &&
		[[ $(query packed 'SELECT count(*) FROM version WHERE file = 1') == \
			$(grep -c '^Package:' plain) ]] &&
		[[ $(query packed 'SELECT count(*) FROM version WHERE file = 2') == \
			$(grep -c '^Package:' plain) ]]
	ok "$(grep -c '^Package:' plain) packages of an index, packed and not"
	head -c 1000 "$index" >cut.lz4
	run 1 --db packed --index cut.lz4 && grep -q '^dxpkg: cut.lz4: could not be' err
	ok "a packed index that is cut"
else
	echo "ok $((++n)) # SKIP no index, or no apt"
fi

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
run 1 --db wrong --status bad --index missing --index . --status bad &&
	cat >ref <<-'END' && same ref err
	dxpkg: bad:6: no version, or a wrong one
	dxpkg: bad:8: no package, or a wrong name of one
	dxpkg: bad:12: a field that was there before
	dxpkg: bad:14: a continuation of no field
	dxpkg: bad:18: a line that is no field
	dxpkg: bad:22: a version without its closing bracket
	dxpkg: bad:27: a version without its operator
	dxpkg: bad:31: a relation ends with a bar
	dxpkg: bad:33: no package, or a wrong name of one
	dxpkg: missing: No such file or directory
	dxpkg: .: Is a directory
	dxpkg: bad:6: no version, or a wrong one
	dxpkg: bad:8: no package, or a wrong name of one
	dxpkg: bad:12: a field that was there before
	dxpkg: bad:14: a continuation of no field
	dxpkg: bad:18: a line that is no field
	dxpkg: bad:22: a version without its closing bracket
	dxpkg: bad:27: a version without its operator
	dxpkg: bad:31: a relation ends with a bar
	dxpkg: bad:33: no package, or a wrong name of one
	END
ok "malformed stanzas and missing files are told by name and line"
query wrong "SELECT package, version FROM version WHERE file = 1 ORDER BY id" >got
printf '%s\n' 'good-one 1.0' 'good-two 2' | same - got
ok "the others are stored"
query wrong "SELECT relation, alternative, target, architecture, op, target_version
	FROM dependency WHERE version >> 32 = 1" >got
printf '%s\n' '0 0 a1   ' '0 1 b1 any >= 2:1~' '1 0 c1  = 3' '2 0 d1   ' | same - got
ok "relations over several lines, with all parts"
printf 'Package: aa\nVersion: \0\n' >zero
truncate -s 20M long	# one line of zeros
run 1 --db wrong --index zero --index long --index /dev/null &&
	printf '%s\n' 'dxpkg: zero:1: a zero byte' \
		'dxpkg: long: is no package list: more than 16 MB without an empty line' |
	same - err && [[ $(query wrong 'SELECT count(*) FROM version') == 0 ]]
ok "no text, no list, no byte"

# --- the database cannot be written -----------------------------------------

run 3 --db /no/such/directory/db && grep -q '^dxpkg: /no/such/directory/db: ' err
ok "no directory for the database"
mkdir small && mount -t tmpfs -o size=128k dxpkg-test small &&
	echo old >small/db && run 3 --db small/db && grep -q '^dxpkg: small/db: .*full' err &&
	[[ $(<small/db) == old && $(echo small/*) == small/db ]]
ok "the disk is full: what was there stays"
umount small
mkdir dir && run 3 --db dir && [[ $(echo dir*) == dir ]]
ok "a directory is in its place"

# --- signals, wrong use -----------------------------------------------------

for sig in INT TERM; do
	mkfifo "fifo-$sig"
	env --default-signal=INT "$dxpkg" --dispatch "$dispatch" --db "sig-$sig" \
		--status "fifo-$sig" >out 2>err &
	pid=$!
	# the feeder has it open; it waits for what never comes
	exec 5>"fifo-$sig"
	cat $status >&5
	kill -"$sig" "$pid"
	exec 5>&-
	wait "$pid"
	[[ $? == $((128 + $(kill -l $sig))) ]] && no_trace "sig-$sig" &&
		until_true no_context
	ok "SIG$sig ends it, and leaves nothing"
done

bad() {
	local text=$1
	shift
	run 2 "$@" && [[ ! -s out ]] && grep -q -- "$text" err && return
	tell_file err
	return 1
}
bad 'where shall the database be' --workers 3 && bad 'no such option' --frob &&
	bad 'no number from 3' --db x --workers 2 && no_trace x
ok "wrong options"
run 0 --help && grep -q '^Usage: dxpkg' out && grep -q '^Exit status' out
ok "help"
mv /dev/dxk /dev/dxk.away
bad '^dxpkg: /dev/dxk: .*load dxk.ko first' --db x && no_trace x
ok "no /dev/dxk"
mv /dev/dxk.away /dev/dxk
until_true no_context
ok "no context is left"

echo "1..$n"
exit $failed
