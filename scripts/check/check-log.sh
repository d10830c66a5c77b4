#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Looks for complaints of the kernel in a console log or in dmesg's output.
#
#   check-log.sh FILE         exit 1 and print the lines when there are any
#   check-log.sh --pattern    print the pattern, without the exceptions
#   check-log.sh --self-test  prove that planted complaints are found
#
# Upper and lower case matter: "kasan: ... initialized" is a boot line,
# "BUG: KASAN: ..." is not.
set -euo pipefail

# One kind of complaint each.
bad=(
	'\bBUG[: ]'
	'kernel BUG at'
	'WARNING: '
	'\bOops\b'
	'Kernel panic'
	'KASAN: '
	'KCSAN: '
	'KFENCE: '
	'UBSAN: '
	'ODEBUG: '
	'unreferenced object'
	'kmemleak: [0-9]+ new suspected'
	'possible (recursive|circular|irq) locking'
	'circular locking'
	'inconsistent lock state'
	'bad unlock balance'
	'held lock freed'
	'lock held when returning to user space'
	'trying to register non-static key'
	'DEBUG_LOCKS_WARN_ON'
	'Invalid wait context'
	'suspicious RCU'
	'rcu.*(detected stalls|self-detected stall|detected expedited stalls|kthread starved)'
	'Voluntary context switch within RCU'
	'blocked for more than'
	'(soft|hard|workqueue) (lockup|LOCKUP)'
	'\bhung (task|up)'
	'sleeping function called'
	'scheduling while atomic'
	'general protection'
	'(U|u)nable to handle (kernel|page fault)'
	'(double|divide) (fault|error)'
	'invalid opcode'
	'Bad page (state|map)'
	'page allocation failure'
	'Call Trace'
	'\bRIP: '
	'\[ cut here \]'
	'refcount_t: '
	'percpu ref .* <= 0'
	'list_(add|del)(_rcu)? corruption'
	'(plist|rb).*corruption'
	'Poison overwritten|Redzone overwritten|Object already free'
	'[Ss]lab cache still has objects|Objects remaining in'
	'stack (overflow|end|guard)|corrupted stack'
	'kernel stack is corrupted'
	'detected (buffer overflow|field-spanning write)'
	'Kernel memory (exposure|overwrite) attempt'
	'cannot create duplicate filename'
	'does not have a release\(\) function'
)

# Ordinary lines which the patterns above would take.
good='Spectre V2 ?: WARNING: |RETBleed: WARNING: '
good+='|loading out-of-tree module taints kernel|module verification failed'
good+='|Command line: '

join() {
	local IFS='|'
	echo "$*"
}
pattern=$(join "${bad[@]}")

# KCSAN watches all of the kernel, which has data races of its own, tolerated or not.
# Ours are those where one of the two innermost functions on either side is.
ours() {
	awk '
		function keep() { if (own) printf "%s", report; report = "" }
		/BUG: KCSAN: / { report = $0 "\n"; own = frames = 0; next }
		report == "" { print; next }
		{ report = report $0 "\n" }
		/ bytes by (task|interrupt)/ { frames = 2; next }
		frames-- > 0 && /\[dxk/ { own = 1 }
		/==========/ { keep() }
		END { own = 1; keep() }'
}

# Prints the complaints; success when there are none.
check() {
	! tr -d '\r' <"$1" | ours | grep -aE -e "$pattern" | grep -avE -e "$good"
}

self_test() {
	local dir line n=0 failed=0
	dir=$(mktemp -d)
	# shellcheck disable=SC2064 # the directory of now
	trap "rm -rf '$dir'" EXIT

	cat >"$dir/clean" <<-'EOF'
	[    0.000000] Linux version 6.1.0 (gcc-12) #1 SMP PREEMPT_DYNAMIC
	[    0.000000] Command line: console=ttyS0 oops=panic panic=-1 hung task
	[    0.000000] Spectre V2 : WARNING: Unprivileged eBPF is enabled
	[    0.000000] kasan: KernelAddressSanitizer initialized (generic)
	[    0.000000] kmemleak: Kernel memory leak detector disabled
	[    0.000000] rcu: RCU CPU stall warnings timeout set to 60 (rcu_cpu_stall_timeout).
	[    0.000000] NMI watchdog: Perf NMI watchdog permanently disabled
	[    0.000000] Lock dependency validator: Copyright (c) 2006 Red Hat, Inc.
	[    0.000000] ACPI BIOS Error (bug): Could not resolve symbol
	[    0.100000] debug: unmapping init memory, warnings off
	[    1.000000] dxk: loading out-of-tree module taints kernel.
	[    1.000000] dxk: module verification failed: signature and/or required key missing - tainting kernel
	[    1.100000] dxk-run: abi direct
	[    1.100000]     ok 1 ready_orders_by_key
	[    1.200000] traps: nothing to see
	[    2.000000] reboot: Power down
	EOF
	kcsan() {	# TWO INNERMOST FUNCTIONS
		echo "=================================================================="
		echo "[ 5.0] BUG: KCSAN: data-race in rb_erase / $1"
		echo "[ 5.0] write to 0xffff888003a4d9c0 of 8 bytes by task 77 on cpu 0:"
		printf '[ 5.0]  %s+0x10/0x80\n' rb_erase dequeue_entity dxk_next
		echo "[ 5.0] read to 0xffff888003a4d9c0 of 8 bytes by interrupt on cpu 1:"
		printf '[ 5.0]  %s\n' "$1" "$2" "do_syscall_64+0x5/0x10"
		echo "[ 5.0] Reported by Kernel Concurrency Sanitizer on:"
		echo "[ 5.0] CPU: 1 PID: 78 Comm: abi"
		echo "=================================================================="
	}
	kcsan tick_sched+0x1/0x9 update_load+0x2/0x8 >>"$dir/clean"
	{ cat "$dir/clean"; kcsan rb_first+0x1/0x9 'ready_best+0x2/0x8 [dxk]'; } >"$dir/race"
	if check "$dir/race" >"$dir/out"; then
		echo "not found: a data race"
		failed=1
	fi
	if ! check "$dir/clean" >"$dir/out"; then
		echo "false alarm:"
		cat "$dir/out"
		failed=1
	fi

	while read -r line; do
		n=$((n + 1))
		{ cat "$dir/clean"; printf '[ 9.0] %s\r\n' "$line"; } >"$dir/planted"
		if check "$dir/planted" >"$dir/out"; then
			echo "not found: $line"
			failed=1
		elif [[ $(wc -l <"$dir/out") != 1 ]]; then
			echo "more than the planted line found:"
			cat "$dir/out"
			failed=1
		fi
	done <<-'EOF'
	BUG: kernel NULL pointer dereference, address: 0000000000000008
	BUG kmalloc-64 (Tainted: G           O      ): Poison overwritten
	kernel BUG at /x/dxk/ready.c:12!
	WARNING: CPU: 1 PID: 77 at /x/dxk/main.c:5 dxk_init+0x5/0x10 [dxk]
	WARNING: possible recursive locking detected
	WARNING: possible circular locking dependency detected
	WARNING: inconsistent lock state
	WARNING: suspicious RCU usage
	WARNING: bad unlock balance detected!
	WARNING: held lock freed!
	Oops: 0002 [#1] PREEMPT SMP KASAN PTI
	Kernel panic - not syncing: Fatal exception
	BUG: KASAN: slab-use-after-free in dxk_post+0x12/0x40 [dxk]
	BUG: KCSAN: data-race in dxk_post / dxk_next
	BUG: KFENCE: out-of-bounds read in dxk_post
	UBSAN: array-index-out-of-bounds in lanes.c:9:12
	ODEBUG: free active (active state 0) object: 00000000 object type: timer_list
	unreferenced object 0xffff888003a4d9c0 (size 64):
	kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)
	INFO: trying to register non-static key.
	DEBUG_LOCKS_WARN_ON(lock->magic != lock)
	rcu: INFO: rcu_preempt self-detected stall on CPU
	rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:
	INFO: task dxk/700:88 blocked for more than 120 seconds.
	watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [dxk/700:88]
	workqueue lockup - pool cpus=0 node=0
	BUG: sleeping function called from invalid context at mm/slab.h:4
	BUG: scheduling while atomic: dxk/700/88/0x00000002
	general protection fault, probably for non-canonical address 0xdead
	traps: abi[55] general protection fault ip:55 sp:77 error:0 in abi[55+1]
	BUG: unable to handle page fault for address: ffffc90000000000
	Call Trace:
	RIP: 0010:dxk_post+0x12/0x40 [dxk]
	------------[ cut here ]------------
	refcount_t: underflow; use-after-free.
	list_add corruption. prev->next should be next (00), but was 01.
	list_del corruption, ffff888 is LIST_POISON1 (dead)
	kmem_cache_destroy dxk_rqe: Slab cache still has objects
	divide error: 0000 [#1] SMP
	invalid opcode: 0000 [#1] SMP
	abi: page allocation failure: order:4, mode:0x40cc0(GFP_KERNEL)
	BUG: Bad page state in process abi  pfn:12345
	usercopy: Kernel memory exposure attempt detected from SLUB object
	sysfs: cannot create duplicate filename '/kernel/dxk'
	Kernel panic - not syncing: stack-protector: kernel stack is corrupted in
	FAULT_INJECTION: forcing a failure. Call Trace:
	EOF
	((failed == 0)) && echo "check-log.sh: $n planted complaints found, no false alarm"
	return "$failed"
}

case ${1:-} in
--self-test) self_test ;;
--pattern) echo "$pattern" ;;
-h | --help | '') sed -n '4,11s/^# \{0,1\}//p' "$0"; [[ -n ${1:-} ]] || exit 2 ;;
*) check "$1" ;;
esac
