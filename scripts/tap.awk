# SPDX-License-Identifier: GPL-2.0-only
#
# Reads what selftests/run.sh prints and reports on each program: a line, and
# what went wrong.  Appends "PASSED FAILED SKIPPED" to the file RESULTS and
# "SECONDS GUEST PROGRAM MODE" to TIMES; GUEST is the name of the guest.  What fails,
# and then passes, goes to UNSTEADY; where the kernel complained it stays a failure.
#
# Results may be nested (KUnit): a result behind deeper ones sums those up and
# is not counted again.

function reset(d) {
	passed = failed = skipped = 0
	for (d = 0; d < 9; d++) have[d] = lost[d] = plan[d] = planned[d] = 0
	trouble = report = notes = ""
	again = 0
	lines = 0
}

function wrong(text) { trouble = trouble "    " program ": " text "\n" }

function result(d, bad, skip) {
	if (planned[d + 1] && have[d + 1] != plan[d + 1])
		wrong("planned " plan[d + 1] " results below \"" $0 "\", got " have[d + 1] + 0)
	# the sum of deeper results says something new only when it fails alone
	if (!have[d + 1] || (bad && !lost[d + 1])) {
		if (skip) skipped++
		else if (bad) { failed++; report = report notes "    " $0 "\n" }
		else passed++
	}
	have[d + 1] = lost[d + 1] = plan[d + 1] = planned[d + 1] = 0
	have[d]++
	lost[d] += bad
	notes = ""
}

function finish(status, ms, i) {
	if (status == 124 || status == 137)
		wrong("killed, its time was up")
	else if (status > 128)
		wrong("killed by signal " status - 128)
	else if (status && status != 4 && !failed)
		wrong("ended with status " status " and no failing test")
	if (allskipped && !have[0])
		skipped++
	else if (!planned[0])
		wrong("printed no TAP plan")
	else if (have[0] != plan[0])
		wrong("planned " plan[0] " results, printed " have[0])
	if (again && trouble == "" && complaints == "") {
		printf "%-6s %-7s %-28s %d failed, it runs again (%.1f s)\n%s", \
			GUEST, mode, program, failed, ms / 1000, report
		fflush()
		print GUEST, mode, program >> UNSTEADY
		program = ""
		return
	}
	if (trouble != "") failed++
	if (complaints != "") failed++
	printf "%-6s %-7s %-28s %3d passed, %d failed, %d skipped (%.1f s)\n", \
		GUEST, mode, program, passed, failed, skipped, ms / 1000
	printf "%s%s", report, trouble
	if (complaints != "")
		printf "    %s: the kernel complained\n%s", program, complaints
	if (trouble != "") {
		print "    the end of its output:"
		for (i = lines > 15 ? lines - 14 : 1; i <= lines; i++)
			print "    | " line[i]
	}
	fflush()
	print passed, failed, skipped >> RESULTS
	print int(ms / 1000 + 0.5), GUEST, program, mode >> TIMES
	total++
	program = ""
}

BEGIN { reset(); program = "" }

{ sub(/\r$/, "") }

/^@begin / {
	program = $2; mode = $3
	reset()
	allskipped = 0
	complaints = ""
	next
}
/^@dmesg / { complaints = complaints "    | " substr($0, 8) "\n"; next }
/^@fail / {
	if (program != "") wrong(substr($0, 7))
	else { print GUEST ": " substr($0, 7); print 0, 1, 0 >> RESULTS }
	next
}
/^@again/ { again = 1; next }
/^@end / { finish($4, $5); next }
/^@done/ { done = 1; next }

program == "" { if ($0 != "") print GUEST "  | " $0; next }

{
	line[++lines] = $0
	if ($0 == "") lines--
	match($0, /^ */)
	depth = int(RLENGTH / 4)
}
/^ *(not )?ok( |$)/ {
	result(depth, /^ *not /, /# *[Ss][Kk][Ii][Pp]/)
	next
}
/^ *1\.\.[0-9]+/ {
	text = $0
	sub(/^ *1\.\./, "", text)
	plan[depth] += text + 0
	planned[depth] = 1
	if (text + 0 == 0 && depth == 0) allskipped = 1
	next
}
/^Bail out!/ { wrong($0); next }
/^ *#/ { notes = notes "    " $0 "\n"; next }

END {
	if (program != "") {
		wrong("the guest ended while it ran")
		finish(0, 0)
	} else if (!done) {
		print GUEST ": the guest ended before all programs had run"
		print 0, 1, 0 >> RESULTS
	} else if (!total) {
		print GUEST ": no program was run"
		print 0, 1, 0 >> RESULTS
	}
}
