#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Checks the models of the engine with Spin: each configuration over all its
# states, and each mutation until it is found.  The last line is "N passed, N
# failed"; exit status 1 when one failed.  Logs are in build/model.
#
#   check.sh [options]
#
#   --full         larger configurations as well
#   --only WORD    only lines of the lists below with this name; may be repeated
#   --trail        print the steps to an error that was not wanted; implies --jobs 1
#   --jobs N       lines at a time, each up to 1 GB; as many as there are processors
#
# A line of "good" is a configuration that must be free of errors.  A line of "bad"
# is one with one thing removed, MUT_name, in which an error must be found.  Every
# word is a macro, see the head of the model.
set -euo pipefail

cd "$(dirname "$0")"
model=$PWD out=${BUILD:-$PWD/../build}/model

three='NOWN=3 OWNER(r)=r NCL=3 NREQ=3'
pollers='NW=2 NREQ=2 NOWN=1 OWNER(r)=0 POSTS(c,r)=(c==0) COLLECTS(c)=0 FAULTS=2 POLL'
death='NW=2 NREQ=2 OWNER(r)=r REJOIN(r)=(r!=1) REDO(r)=(r==0) DEATHS=2'
nested='NW=2 NCL=1 NREQ=4 NOWN=3 OWNER(r)=(r<2->0:r-1) POSTS(c,r)=(r<2)
	SUB(r)=(r<2->r+2:NREQ) LANE(r)=(r/2) CMLS NESTED'
batch='NW=3 NCL=1 NREQ=3 NOWN=1 OWNER(r)=0 BUDGET=1 BATCH'
reserve="NW=1 $three REJOIN(r)=(r<2) RESERVE=1 SIGNALS=1"
drain='NW=2 NCL=1 NREQ=2 NOWN=2 OWNER(r)=r POSTS(c,r)=(r==0) COLLECTS(c)=0
	SUB(r)=(r==0->1:NREQ) NESTED ENTRIES=1 STOP=1'
alone='NW=1 NCL=1 NREQ=2 NOWN=1 OWNER(r)=0'

# Requests that wait
waits='WAITS NCL=1 NOWN=1 OWNER(r)=0'
three_wait="NW=2 NREQ=3 $waits REJOIN(r)=(r==0) BATCH"
two_wait="NW=1 NREQ=2 $waits REJOIN(r)=(r==0) BATCH"
called="NW=2 NREQ=3 $waits ENTRIES=1 HOW(r,t)=(r==0&&t==0->CALL:(r==1&&t<2->(t==0->AGAIN:CALL):END))
	POSTED(r)=(r==2->CALL:END) CALLS(r)=(r==0->2:1)"
timed="$three_wait HOW(r,t)=(t==0->(r==0->CALL|TIME:(r==1->TIME|MASKED:END)):END)
	CALLS(r)=(r==0) CANCELS(r)=(r<2)"
expire="NW=1 NREQ=2 $waits BATCH HOW(r,t)=(r==0&&t<2->CALL:END) POSTED(r)=(r==1->CALL:END)
	CALLS(r)=1 EXPIRE(r)=1"
joined='NW=2 NREQ=3 WAITS NCL=2 NOWN=2 OWNER(r)=(r>0) BATCH TO(r)=1'
join="$joined HOW(r,t)=(r==0&&t==0->JOIN:END) REJOIN(r)=(r==0) DEATHS=1"
either="$joined HOW(r,t)=(r<2&&t==0->(r==0->RESULT|CALL:JOIN):END) REJOIN(r)=(r!=1) CALLS(r)=(r==0)"
drain_wait="$three_wait STOP=1 HOW(r,t)=(r<2&&t==0->CALL:END) CALLS(r)=(r==0) LANE(r)=(r==0)"
service="$two_wait STOP=1 HOW(r,t)=(t==0->(r==0->CALL:TIME|MASKED):END) POSTED(r)=(r==0->CALL:END)
	LANE(r)=0 CANCELS(r)=(r==1)"
end_wait="$three_wait HOW(r,t)=(r<2&&t==0->(r==0->CALL:TIME|MASKED):END) POSTED(r)=(r==2->CALL:END)"
last_turn="$two_wait STOP=2 HOW(r,t)=(t==0->(r==0->CALL:TIME|MASKED):END) DEATHS=1 GONE"
space="NW=2 NREQ=3 $waits BATCH HOW(r,t)=(r<2&&t==0->CALL:END) POSTED(r)=(r==2->CALL:END)
	CLOSES(c)=1"

# Keys
order='NREQ=5 NKEY=2 KEY(r)=(r==4) PRIO(r)=(r==2) CALLS(r)=(r==1) CANCELS(r)=(r>1) SUSPENDS=1
	OP(r,p)=(r==0&&p==0->AGAIN:(r==1&&p==0->PARK:END))'
back='NREQ=4 PRIO(r)=(r==3) OP(r,p)=(r==0&&p==0->PARK:(r==1&&p<2->(p==0->LEAVE:ENTER):END))
	CALLS(r)=(r==0) CANCELS(r)=(r!=3)'
key_death="$back DEATHS=2 REDO(r)=(r!=2)"
monitor='NW=3 NREQ=5 OUTSIDE(r)=(r!=1) SIGNALS=1 CANCELS(r)=(r==3)
	OP(r,p)=(r==0&&p<2->(p==0->POST(1):WAIT):(r==1&&p<ONCE->TELLS:LEAVES(r,p)))
	LEAVES(r,p)=(r==2&&p<2->(p==0->LEAVE:ENTER):(r==3&&p==0->WAIT_TIMED:END))'
crossed='NREQ=4 NKEY=2 KEY(r)=(r&1) OUTSIDE(r)=(r<2) DEADLOCKS=1
	OP(r,p)=(r<2&&p<2->(p==0->POST(3-r):CALL((r==0->8:4))):END)'
# 0 calls 1, of another key, and 1 calls 2, of that of 0
chain='NREQ=4 NKEY=2 KEY(r)=(r==1) OUTSIDE(r)=(r==0||r==3)'
nest="$chain OP(r,p)=(r<2&&p<2->(p==0->POST(r+1):CALL(bit(r+1))):END)"
nest_timed="$chain OP(r,p)=(r<2&&p<2->(p==0->POST(r+1):(r==0->CALL_TIMED(2):CALL(4))):END)"
nest_parks="$chain OP(r,p)=(r<2&&p<2->(p==0->POST(r+1):CALL(bit(r+1))):(r==2&&p==0->PARK:END))
	CALLS(r)=(r==2)"
# 0 calls 1 and 2 at a time, and both call back
nest_two='NW=3 NREQ=5 NKEY=3 KEY(r)=(r==1->1:(r==2->2:0)) OUTSIDE(r)=(r==0)
	OP(r,p)=(r==0&&p<3->(p==0->POST(1):(p==1->POST(2):CALL(6))):CALLED(r,p))
	CALLED(r,p)=(r>0&&r<3&&p<2->(p==0->POST(r+2):CALL(bit(r+2))):END)'
enter='NREQ=3 OP(r,p)=(r==0&&p<2->(p==0->LEAVE:ENTER):(r==1&&p==0->CALL(1):END)) DEADLOCKS=1'
storm='NW=3 NREQ=5 NKEY=2 KEY(r)=(r==1||r==4) OUTSIDE(r)=(r==0||r>2) DEATHS=2 REDO(r)=(r!=4)
	SIGNALS=1 CALLS(r)=(r==3) CANCELS(r)=(r==4||r==2) SUSPENDS=1 DEADLOCKS=1
	OP(r,p)=(r<2&&p<2->(p==0->POST(r+1):CALL(bit(r+1))):(r==2&&p<2->(p==0->LEAVE:AGAIN):THIRD(r,p)))
	THIRD(r,p)=(r==3&&p<3->(p==0->LEAVE:(p==1->ENTER:PARK)):END)'

# Block marks: 0 sleeps outside until 1, which has its key, has ended
block_key='OP(r,p)=(r==0&&p<3->(p==0->BLOCKS:(p==1->SLEEP(1):UNBLOCK)):END)'
# 0 and 1 both, for one that has no key
block_two='NREQ=4 KEY(r)=(r==2) OP(r,p)=(r<2&&p<3->(p==0->BLOCK_WAIT:(p==1->SLEEP(2):UNBLOCK)):END)'
# between its marks 0 sleeps in a rejoin, too; 1 does not unmark itself
block_call='NREQ=4 KEY(r)=(r==2) OP(r,p)=(r==0&&p<4->(p==0->BLOCK_FORCED:IN(p)):OTHER(r,p))
	IN(p)=(p==1->REJOIN(2):(p==2->SLEEP(3):UNBLOCK))
	OTHER(r,p)=(r==1&&p<2->(p==0->BLOCK:SLEEP(2)):END)'

# name, model, macros
good=(
	'sleep wait'
	'sleep-signal wait SIGNAL'
	'fire fire CHANGES=2'
	'thread thread'
	'thread-publish thread PUBLISH'
	'thread-late thread PUBLISH LATE'
	'thread-late-stays thread PUBLISH LATE STAYS'
	'three-three-two engine NW=3 NREQ=3 NOWN=2'
	"pollers engine $pollers"
	"posters engine NW=1 $three ENTRIES=1 SIGNALS=1"
	"reserve engine $reserve"
	"resize engine NW=1 $three ENTRIES=1 RESIZE=2"
	"death engine $death"
	'stale engine NW=2 NREQ=2 OWNER(r)=r STALE=1 ROUNDS=2'
	"lanes engine $nested"
	"budget engine $batch"
	'drain engine NW=2 NREQ=2 ENTRIES=1 STOP=1'
	"drain-nested engine $drain"
	'drain-death engine NW=2 NCL=1 NREQ=2 NOWN=1 ENTRIES=1 STOP=1 DEATHS=1 REDO(r)=(r==0)'
	'cancel engine NW=2 NREQ=2 ENTRIES=1 STOP=2'
	'cancel-death engine NW=2 NCL=1 NREQ=2 NOWN=1 STOP=2 DEATHS=1'
	"park-wake engine $called"
	"park-time-cancel engine $timed"
	"park-expire engine $expire"
	"park-join-death engine $join"
	"park-result engine $either"
	"drain-waiting engine $drain_wait"
	"drain-service engine $service"
	"cancel-waiting engine $end_wait STOP=2"
	"cancel-waiting-death engine $last_turn"
	"close-waiting engine $end_wait STOP=3"
	"close-space engine $space"
	"key-order key $order"
	"key-death key $key_death"
	"key-monitor key $monitor ONCE=2 TELLS=NOTIFY"
	"key-monitor-all key $monitor ONCE=1 TELLS=NOTIFY_ALL"
	"key-enter key $enter"
	"crossed key $crossed"
	"key-nest key $nest"
	"key-nest-self key $nest REENTRY(r)=SELF DEADLOCKS=1"
	"key-nest-timed key $nest_timed"
	"key-nest-parks key $nest_parks"
	"key-nest-two key $nest_two"
	"key-nest-none key $nest_two REENTRY(r)=NONE DEADLOCKS=2"
	"key-nest-death key $nest DEATHS=2 REDO(r)=(r>0)"
	"key-nest-redo key $nest_two DEATHS=2 REDO(r)=1"
	"block-key block $block_key BLOCKS=BLOCK_WAIT"
	"block-key-idle block NW=2 NS=0 $block_key BLOCKS=BLOCK"
	"block-key-forced block $block_key BLOCKS=BLOCK_FORCED"
	"block-key-two block $block_two NS=2"
	"block-key-crew block $block_two NW=2 SIGNALS=1"
	"block-key-call block $block_call NW=2 NS=2"
	"block-key-death block $block_two NW=2 NS=2 DEATHS=1"
	'life life STARTS=2 DRAIN CANCEL CLOSE'
	'life-fail life STARTS=2 FAIL DRAIN CLOSE STUCK PIN'
	'life-nest life STARTS=2 DRAIN CANCEL NEST'
	'life-policy life STARTS=2 FAIL DRAIN POLICY'
	'life-owners life STARTS=2 CANCEL SWAP'
)
more=(
	"posters-2 engine NW=1 $three ENTRIES=1 SIGNALS=2"
	"death-3 engine ${death%=2}=3"
	'life-stuck life DRAIN CANCEL CLOSE NEST STUCK PIN'
	"key-storm key $storm"
)
bad=(
	'RELEASE wait'			# done is stored before what goes with it
	'FINISH_ORDER wait'		# done is set first, then the task is looked up
	'FINISH_REF wait'		# no reference for the wake-up
	'WAKE_FIRST wait'		# the wake-up comes before done
	'SLEEP_BARRIER wait'		# __set_current_state()
	'SLEEP_RECHECK wait'		# done is not looked at after it
	'CANCEL_LOCK wait SIGNAL'	# a signal: the queue is left without the lock
	'CANCEL_DONE wait SIGNAL'	# .. though the move was made
	'SIGNAL_LEAVE wait SIGNAL'	# .. the queue is not left
	'WAKE_BARRIER fire CHANGES=1'	# the file changes after the look at its queue
	'ARM_BARRIER fire CHANGES=1'	# the file is asked before it is armed for others
	'ARM_ORDER fire CHANGES=1'	# .. and before what was seen earlier is forgotten
	'ARM_LATE fire CHANGES=1'	# .. and before it is armed at all
	'FIRE_SEEN fire CHANGES=1'	# the event enters the list, then says what has happened
	'FIRE_PENDING fire CHANGES=2'	# it is in no list any more, says who has looked at it
	'PARK_SEEN fire CHANGES=1'	# the wait begins without a look at what was seen
	'UNHOOK_FREE fire CHANGES=1'	# freed with the event in the list
	'HINT_LATE fire CHANGES=1'	# who falls idle looks for events, then says that it is
	'CATCH_SLEEP fire CHANGES=1'	# .. and looks for them before a wake-up would end its sleep
	'CATCH_LEAVE fire CHANGES=1'	# who is given other work leaves an event to nobody
	'KICK_BARRIER thread'		# waitqueue_active() for wq_has_sleeper()
	'KICK_LATE thread'		# the kick is cleared after the look
	'PARK_LOCK thread'		# parked without the lock around the look
	'SLEEP_BARRIER thread'
	'RCU_SECTION thread PUBLISH'	# the reader ends before the inbox has the operation
	'STOP_RCU thread PUBLISH'	# no synchronize_rcu()
	'LAST_INBOX thread PUBLISH'	# the thread ends without a last look
	'RAN_WAKE thread PUBLISH'	# no wake-up of the caller
	'TAKER_KICK thread PUBLISH LATE STAYS'	# who takes over does not say what it leaves
	"SLEEP_BARRIER engine $alone"
	"SLEEP_RECHECK engine $alone"
	'SIGNAL_LEAVE engine NW=1 NREQ=2 ENTRIES=1 OWNER(r)=r SIGNALS=1'
	"CANCEL_DONE engine ${alone/NW=1/NW=2} DEATHS=1"
	"CANCEL_SERVE engine $reserve"	# who stood behind a sleeper that left
	"SERVE_FREED engine $reserve"	# a Rejoin Pool entry is free
	'COMPLETE_LOCK engine NW=2 NREQ=2'	# BUSY to REJOIN in two lock holds
	"COPY_UNCOUNTED engine $pollers"	# a result being copied out counts no more
	'NO_NOTIFY engine NW=2 NREQ=2'	# a completion does not look for pollers
	"REDO_BOUND engine $death"	# run again without end
	"OWNER_DEAD engine $death"	# what a dead worker had does not end
	'TICKET engine NW=2 NREQ=2 OWNER(r)=r STALE=1 ROUNDS=2'
	"LANE_TEST engine $nested"	# workers take requests of any lane
	"ASSIGN_SERVE engine NW=1 $three ENTRIES=1"	# a Ready Pool entry is free
	"RESIZE_SERVE engine NW=1 $three ENTRIES=1 RESIZE=2"	# the pool has grown
	"SWEEP engine $batch"		# the budget is over, thread 700 is not told
	'STOP_WAKE engine NW=2 NREQ=2 ENTRIES=1 STOP=1'	# Stop wakes nobody
	"DRAIN_INSIDE engine $drain"	# it refuses who executes, too
	'DIED_STOP engine NW=2 NCL=1 NREQ=2 NOWN=1 STOP=1 DEATHS=1 REDO(r)=0'
	'PUT_BACK_CANCEL engine NW=2 NCL=1 NREQ=2 NOWN=1 STOP=2 DEATHS=1'
	"LATCH_LOST engine $called"	# a call while it executes is not kept
	"LATCH_CLEAR engine $called"	# a call is forgotten at the dispatch
	"RIPE_SERVE engine $called"	# who was posted waiting gets no room
	"TIMER_STALE engine $timed"	# who is woken stays in the tree of alarms
	"CANCEL_BUSY engine $two_wait HOW(r,t)=(t==0->CALL:END) CANCELS(r)=1"
	"EXPIRE_LOST engine $expire"	# a wait that is over takes the time to end along
	"TELL_CALL engine $expire"	# a turn for another reason takes the call along
	"PARK_UNLOCKED engine $join"	# the owner is looked at before the lock hold
	"JOIN_SERVE engine $join"	# nobody goes on with those who waited for an owner
	"TWO_REASONS engine $either"	# who is called waits for the owner still
	"SELF_JOIN engine $either"	# it waits for itself
	"STOP_WAITING engine $drain_wait"	# Stop(drain) does not wait for who waits
	"STOP_SERVICE engine $drain_wait"	# Stop does not tell those of lane 0
	"SERVICE_LATE engine $drain_wait"	# .. who begin to wait after it
	"CANCEL_BEGUN engine $end_wait STOP=2"	# Stop(cancel) ends who is to have a last turn
	"BACK_BEGUN engine $last_turn"	# so does a last turn that is not fetched
	"ORPHANS engine $last_turn"	# nobody is left who would take last turns
	"CLOSE_LAST engine $end_wait STOP=3"	# so it is when the context is closed
	"PARK_CLOSED engine $space"	# a request waits in a closed space
	"KEY_DROP_END key $order"	# who has ended has its key
	"KEY_DROP_PARK key $order"	# so has who waits
	"KEY_DROP_CANCEL key $order"	# so has who was cancelled while it was Ready
	"KEY_DROP_DEATH key $key_death"	# so has whose worker has died
	"KEY_TWO key $order"		# who is Ready with a key does not have it
	"RELEASE_PASS key $order"	# nobody is next when the key is held back no more
	"HOLD_PASS key $back SUSPENDS=1"	# nobody comes back to a key that is held back
	"BACK_LAST key $monitor ONCE=2 TELLS=NOTIFY"	# who is Held comes before who comes back
	"ENTER_AGAIN key $enter"	# who waits for one that waits for its key is not looked at
	"NO_CYCLE key $crossed"		# nobody looks for circles
	"NEST_ANY key $nest"		# any request that is Held is nested
	"NEST_FREE key $nest DEATHS=1"	# a key with nested requests is free
	"NEST_WAKE key $nest_timed"	# the call of the outer one returns meanwhile
	"NEST_AGAIN key $nest_two"	# when it has ended nobody else is nested
	"HELD_AGAIN key $nest_parks"	# nor who comes to its key once more
	"REDO_HAS key $nest DEATHS=1 REDO(r)=1"	# done again beside what is nested in it
	"KEY_KEPT block $block_key BLOCKS=BLOCK_WAIT"	# who blocks keeps its key
	"NOT_ASLEEP block $block_key BLOCKS=BLOCK_FORCED"	# its worker does not count as asleep
	"NO_STAND_IN block $block_key BLOCKS=BLOCK NS=0"	# it blocks though nobody goes on
	"ASK_UNCALLED block $block_key BLOCKS=BLOCK_WAIT"	# nobody makes a spare for who asks
	"GRANT_LOST block $block_key BLOCKS=BLOCK_WAIT"	# who asks is not told of one
	"SIGNAL_LEAVE block $block_two NW=2 SIGNALS=1"	# whose sleep a signal ended asks still
	"BACK_LAST block $block_key NREQ=4 BLOCKS=BLOCK_WAIT"	# who is Held comes before who is back
	"BACK_BESIDE block $block_two NS=2"	# who is back does not wait for its key
	"MARK_STAYS block $block_call NW=2 NS=2"	# a mark is there after the turn
	"MARK_DEATH block $block_two NW=2 NS=2 DEATHS=1"	# .. or its count after the worker
	"TWICE block $block_call NW=2 NS=2"	# who is marked and sleeps in a call counts twice
	"SPARE_ANY block $block_key NREQ=4 KEY(r)=(r>1) BLOCKS=BLOCK_WAIT"	# spares run beside all workers
	'STOP_TEARS life STARTS=2 DRAIN CANCEL'	# a stopper ends whatever run there is
	'HOW_FALLS life CANCEL CLOSE DRAIN'	# a drain after a cancel is one
	'WALK_EARLY life DRAIN'		# a step goes down while something executes
	'POST_LATE life DRAIN'		# a post looks at the state without the lock
	'JOIN_DOWN life DRAIN'		# a worker is made though the run is ended
	'LOOK_PARK life DRAIN'		# the walker looks, and returns in another hold
	'LAST_KICK life DRAIN'		# the last worker goes without a kick
	'QUIET_KICK life DRAIN'		# so does the last request
	'PIN_KICK life CLOSE PIN'	# so does the last pin
	'CLOSE_WAITS life CLOSE STUCK'	# the close waits for the workers
	'STALE_POLICY life STARTS=2 FAIL POLICY'	# the review takes fields of Start
	'SWAP_LOCK life STARTS=2 CANCEL SWAP'	# the owners' table without the lock
)

only='' trail='' jobs=$(nproc)
while (($#)); do
	case $1 in
	--full) good+=("${more[@]}") ;;
	--only) only+=" $2"; shift ;;
	--trail) trail=1 jobs=1 ;;
	--jobs) jobs=$2; shift ;;
	-h | --help) sed -n '4,17s/^# \{0,1\}//p' "$model/${0##*/}"; exit 0 ;;
	*) echo "check.sh: unknown option $1" >&2; exit 2 ;;
	esac
	shift
done
wanted() { [[ -z $only || " $only " == *" $1 "* ]]; }

mkdir -p "$out"

# spin_run DIR OPTIMISATION MODEL MACRO...: the verifier's output is DIR/out.
# Spin's own options would go through a shell, hence the preprocessor first.
spin_run() {
	local dir=$1 opt=$2 pml=$3
	shift 3
	rm -rf "$dir"
	mkdir -p "$dir"
	(
		cd "$dir"
		gcc -E -x c "${@/#/-D}" "$model/$pml.pml" >model.pml
		spin -a model.pml
		# Partial order reduction is on unless it is turned off.  COLLAPSE
		# packs states without loss.
		gcc "$opt" -w -DSAFETY -DCOLLAPSE -DVECTORSZ=1024 -DMEMLIM=5000 \
			-o pan pan.c
		./pan -m100000 -w24
	) >"$dir/out" 2>&1
}

# found PATTERN DIR
found() { grep -q -e "$1" "$2/out"; }

# All states, and no error in them?
is_clean() {
	found 'errors: 0$' "$1" && found '+ Partial Order Reduction' "$1" &&
		found '^Full statespace search' "$1" &&
		! found 'max search depth too small' "$1" &&
		! found 'Search not completed' "$1" && ! found 'out of memory' "$1" &&
		! found 'truncated' "$1"
}

# verdict OK? NAME TEXT: of one of several lines at a time
verdict() {
	local word=FAILED
	(($1)) && word=ok
	echo $word >>"$out/verdicts"
	printf '%-6s %-34s %s\n' $word "$2" "$3"
}

# The words of a line are in "word".
check_good() {
	local name=${word[0]} pml=${word[1]} dir=$out/${word[0]} start=$SECONDS ok=0 text
	spin_run "$dir" -O1 "$pml" "${word[@]:2}" || :
	text=$(sed -n 's/^ *\([0-9]*\) states, stored$/\1 states/p' "$dir/out")
	if is_clean "$dir"; then
		ok=1
	else
		text+=", $(grep -m 1 -E '^pan:|error|rror:' "$dir/out" || echo 'not all seen')"
	fi
	verdict $ok "$name" "$text ($((SECONDS - start)) s)"
	if ((!ok)) && [[ $trail && -e $dir/model.pml.trail ]]; then
		(cd "$dir" && spin -t -p -k model.pml.trail model.pml) | tail -n 200
	fi
	rm -f "$dir"/pan*
}

check_bad() {
	local name=MUT_${word[0]} pml=${word[1]} ok=0 text='not found' dir
	local -a parts
	dir=$out/$pml-$name
	mapfile -t parts < <(sed -n 's/^#include "\(.*\)"$/\1/p' "$pml.pml")
	grep -qw "$name" "$pml.pml" "${parts[@]}" || { verdict 0 "$name" "not in $pml.pml"; return; }
	# A broken build is no error that was found.
	spin_run "$dir" -O0 "$pml" "$name" "${word[@]:2}" || :
	if found 'errors: [1-9]' "$dir"; then
		ok=1
		text="found: $(sed -n 's/^pan:[0-9]*: *\(.*\) (at depth.*/\1/p' "$dir/out")"
	fi
	verdict $ok "$pml $name" "${text:0:90}"
	rm -f "$dir"/pan*
}

started=0
: >"$out/verdicts"
# run PREFIX CHECK LINE...
run() {
	local prefix=$1 check=$2 line
	shift 2
	for line; do
		read -r -d '' -a word <<<"$line" || :
		wanted "$prefix${word[0]}" || continue
		while (($(jobs -pr | wc -l) >= jobs)); do
			wait -n || :
		done
		started=$((started + 1))
		$check &
	done
}
run '' check_good "${good[@]}"
run MUT_ check_bad "${bad[@]}"
wait

passed=$(grep -c ok "$out/verdicts") || :
failed=$((started - passed))
echo "$passed passed, $failed failed"
((failed == 0 && passed > 0))
