# SPDX-License-Identifier: GPL-2.0-only
#
# Makes KTAP of what run.sh and its programs print: a subtest for each program.  Lines
# that begin with \001 are run.sh's:
#
#   begin NAME                  what follows is that program's
#   wrong TEXT                  something went wrong that it cannot say itself
#   end STATUS MILLISECONDS     it has ended
#   suite NAME                  what follows is KTAP already, to the line "end"
#
# Results are counted anew and get a name where they have none; a plan that is not kept
# is a failure.  What is no result becomes a comment.

function put(text) { print text; fflush() }

# Only who has a result has subtests.
function head() {
	if (!headed++) put("    KTAP version 1\n    # Subtest: " name)
}

function result(bad, text, directive) {
	head()
	results++
	failed += bad
	# the reader counts what has failed and has a directive as skipped
	if (!bad && match(text, /# *[Ss][Kk][Ii][Pp]/)) {
		skipped++
		directive = " # SKIP" substr(text, RSTART + RLENGTH)
		text = substr(text, 1, RSTART - 1)
	}
	# the reader would take it for a directive
	gsub(/#/, "no. ", text)
	sub(/^[- ]+/, "", text)
	sub(/ +$/, "", text)
	put("    " (bad ? "not ok " : "ok ") results " " \
	    (text == "" ? "result " results : text) directive)
}

function wrong(text) { result(1, text); told++ }

function finish(status, ms) {
	if (status > 128 && !told)
		wrong("killed by signal " status - 128)
	else if (status && !failed && (status != 4 || results > skipped))
		wrong("ended with status " status " and no failing test")
	if (!told && !all && !plan)
		wrong("printed no plan")
	else if (!told && plan != results)
		wrong("planned " plan " results, printed " results)
	if (headed)
		put("    # " name " took " ms " ms")
	number++
	put((failed ? "not ok " : "ok ") number " " name (results ? "" : " # SKIP " reason))
	name = ""
}

BEGIN { put("KTAP version 1") }

{ sub(/\r$/, "") }

/^\001begin / {
	if (name != "") { wrong("its end was not told"); finish(0, 0) }
	name = $2
	headed = results = failed = skipped = told = plan = all = 0
	reason = ""
	next
}
/^\001wrong / { wrong(substr($0, 8)); next }
/^\001end / { finish($2, $3); next }
/^\001suite / { suite = $2; number++; failed = 0; next }
suite && /^\001end/ { suite = ""; next }
suite {
	failed += /^ +not ok /
	if ($0 ~ /^ / || sub(/^ok 1 /, "ok " number " "))
		put($0)
	# the reader counts the tests of a suite only
	if (sub(/^not ok 1 /, "not ok " number " ")) {
		put($0)
		if (!failed)
			put("not ok " ++number " " suite " failed, and none of its tests")
	}
	next
}
name == "" { if ($0 != "") put("# " $0); next }
/^K?TAP version [0-9]+$/ { next }
/^1\.\.0/ {
	all = 1
	reason = $0
	sub(/^1\.\.0[# ]*([Ss][Kk][Ii][Pp])? */, "", reason)
	next
}
/^1\.\.[0-9]+/ { plan += substr($0, 4); next }
sub(/^ok [0-9]+/, "") { result(0, $0); next }
sub(/^not ok [0-9]+/, "") { result(1, $0); next }
$0 != "" {
	head()
	sub(/^ *#? ?/, "")
	# the reader would take it for the head of a program
	sub(/^Subtest:/, "subtest:")
	put("    # " $0)
}
