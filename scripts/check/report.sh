#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Reads KTAP, keeps it in DIR/NAME.ktap, has the kernel's own parser judge it, and shows a
# line for each program and what failed.  The parser's last line in DIR/NAME.report counts.
#
#   report.sh DIR NAME
set -euo pipefail

here=$(dirname "$0")
dir=$1 name=$2
kunit=$("$here/../guest/kernel.sh" --tools)/tools/testing/kunit/kunit.py

# Jobs on the host are results of their own, without a program around them.
# The parser takes a kernel's last words, in whatever line, for the end of all results.
tee "$dir/$name.ktap" | sed -uE 's/(List of all partitions|not syncing|reboot):/\1/' |
	python3 -uB "$kunit" parse 2>&1 |
	tee "$dir/$name.report" | busybox awk -v name="$name" '
	{ time = substr($0, 1, 10); text = substr($0, 12) }
	text ~ /^\[(PASSED|SKIPPED)\]/ && name != "host" { next }
	# a line, or the head of a program
	text ~ /^=+$/ || text ~ /^=+ [^[].* =+$/ { next }
	{ gsub(/^=+ +| +=+$/, "", text); printf "%s %-5s %s\n", time, name, text; fflush() }'
