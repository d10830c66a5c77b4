// SPDX-License-Identifier: GPL-2.0-only
/*
 * The Log Pool (DX-15): a clock buffer. First by itself, then as members and
 * executors use it.
 */
#include <linux/completion.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/shmem_fs.h>

#include "engine/member.h"
#include "runtime/control.h"
#include "runtime/tests/rig.h"
#include "services/files.h"
#include "services/gate.h"
#include "services/log.h"

#define SIZE	4

static void log_release(void *log)
{
	dxk_log_free(log);
}

static struct dxk_log *log_make(struct kunit *test)
{
	struct dxk_log *log = kunit_kzalloc(test, sizeof(*log), GFP_KERNEL);
	struct dxk_engine *e = kunit_kzalloc(test, sizeof(*e), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, log);
	KUNIT_ASSERT_NOT_NULL(test, e);
	dxk_engine_init(e);
	dxk_policy_init(&e->policy);
	dxk_log_init(log, e, NULL);
	KUNIT_ASSERT_EQ(test, dxk_log_alloc(log, SIZE), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, log_release, log), 0);
	return log;
}

static void add(struct dxk_log *log, enum dxk_log_full full, u32 first, u32 last)
{
	for (; first <= last; first++)
		dxk_log_add(log, full, 100 + first, "message %u", first);
}

/* What a drainer does. */
static bool take_next(struct dxk_log *log, struct dxk_log_record *r)
{
	if (!dxk_log_hold(log))
		return false;
	*r = log->held;
	dxk_log_pass(log);
	return true;
}

/* Take one and compare all of it. */
static void take(struct kunit *test, struct dxk_log *log, u64 seq, u32 nr)
{
	struct dxk_log_record r = { };
	char text[32];

	snprintf(text, sizeof(text), "message %u", nr);
	KUNIT_ASSERT_TRUE(test, take_next(log, &r));
	KUNIT_EXPECT_EQ(test, r.seq, seq);
	KUNIT_EXPECT_EQ(test, r.thread, 100 + nr);
	KUNIT_EXPECT_STREQ(test, r.text, text);
	KUNIT_EXPECT_EQ(test, r.len, strlen(text));
	KUNIT_EXPECT_EQ(test, r.flags, 0);
	KUNIT_EXPECT_EQ(test, r.lost, 0);
	KUNIT_EXPECT_LE(test, r.time_ns, ktime_get_ns());
}

static void take_gap(struct kunit *test, struct dxk_log *log, u64 seq, u32 lost)
{
	struct dxk_log_record r = { };
	char text[32];

	snprintf(text, sizeof(text), "%u lost", lost);
	KUNIT_ASSERT_TRUE(test, take_next(log, &r));
	KUNIT_EXPECT_EQ(test, r.flags, DXK_LOG_GAP);
	KUNIT_EXPECT_EQ(test, r.seq, seq);
	KUNIT_EXPECT_EQ(test, r.lost, lost);
	KUNIT_EXPECT_STREQ(test, r.text, text);
	KUNIT_EXPECT_EQ(test, r.len, strlen(text));
}

static void take_none(struct kunit *test, struct dxk_log *log)
{
	struct dxk_log_record r;

	KUNIT_EXPECT_FALSE(test, dxk_log_readable(log));
	KUNIT_EXPECT_FALSE(test, take_next(log, &r));
	KUNIT_EXPECT_EQ(test, dxk_log_use(log), 0);
}

/* DX-15, DX-99: in at the tail, out at the head, many times around */
static void log_first_in_first_out(struct kunit *test)
{
	struct dxk_log *log = log_make(test);
	u32 in = 0, out = 0, round;

	take_none(test, log);
	for (round = 0; round < 5 * SIZE; round++) {
		u32 nr = round % SIZE + 1;

		add(log, DXK_LOG_DROP_NEW, in + 1, in + nr);
		in += nr;
		KUNIT_EXPECT_EQ(test, dxk_log_use(log), nr);
		while (out < in) {
			out++;
			take(test, log, out, out);
		}
		take_none(test, log);
	}
	KUNIT_EXPECT_EQ(test, log->lost, 0);
	KUNIT_EXPECT_EQ(test, log->high, SIZE);
	KUNIT_EXPECT_EQ(test, log->seq, in);
}

/* Head and tail only count up: their wrap must change nothing. */
static void log_counters_wrap(struct kunit *test)
{
	struct dxk_log *log = log_make(test);
	u32 i;

	log->ring.head = log->ring.tail = U32_MAX - 5;
	add(log, DXK_LOG_DROP_NEW, 1, 3);
	for (i = 4; i < 40; i++) {
		add(log, DXK_LOG_DROP_NEW, i, i);
		KUNIT_EXPECT_EQ(test, dxk_log_use(log), SIZE);
		take(test, log, i - 3, i - 3);
	}
	KUNIT_EXPECT_LT(test, log->ring.tail, 40);
	KUNIT_EXPECT_EQ(test, log->lost, 0);

	for (i = 37; i < 40; i++)
		take(test, log, i, i);

	/* full across the wrap */
	log->ring.head = log->ring.tail = U32_MAX - 1;
	add(log, DXK_LOG_DROP_OLDEST, 1, SIZE + 2);
	KUNIT_EXPECT_EQ(test, dxk_log_use(log), SIZE);
	KUNIT_EXPECT_EQ(test, log->lost, 2);
	take_gap(test, log, 40, 2);
	take(test, log, 39 + 3, 3);
	KUNIT_EXPECT_EQ(test, log->high, SIZE);
}

/*
 * DX-101: the new ones are dropped; the gap shows when it is reached. The module's
 * own messages displace none either where somebody waited for room (BLOCK).
 */
static void log_drop_new(struct kunit *test)
{
	static const enum dxk_log_full policy[] = { DXK_LOG_DROP_NEW, DXK_LOG_BLOCK };
	u32 p, i;

	for (p = 0; p < ARRAY_SIZE(policy); p++) {
		struct dxk_log *log = log_make(test);

		add(log, policy[p], 1, 10);
		KUNIT_EXPECT_EQ(test, log->lost, 6);
		take(test, log, 1, 1);
		/* in front of the message behind it ... */
		add(log, policy[p], 11, 12);
		for (i = 2; i <= SIZE; i++)
			take(test, log, i, i);
		take_gap(test, log, 5, 6);
		take(test, log, 11, 11);
		/* ... or when there is none */
		KUNIT_EXPECT_TRUE(test, dxk_log_readable(log));
		take_gap(test, log, 12, 1);
		take_none(test, log);
		KUNIT_EXPECT_EQ(test, log->lost, 7);
	}
}

/* DX-101: the oldest are dropped */
static void log_drop_oldest(struct kunit *test)
{
	struct dxk_log *log = log_make(test);
	u32 i;

	add(log, DXK_LOG_DROP_OLDEST, 1, 10);
	KUNIT_EXPECT_EQ(test, log->lost, 6);
	take_gap(test, log, 1, 6);
	for (i = 7; i <= 10; i++)
		take(test, log, i, i);
	take_none(test, log);
	/* one that began before is a gap of its own */
	add(log, DXK_LOG_DROP_OLDEST, 11, 16);
	take_gap(test, log, 11, 2);
	take(test, log, 13, 13);
	add(log, DXK_LOG_DROP_OLDEST, 17, 18);
	take_gap(test, log, 14, 1);
	take(test, log, 15, 15);
}

/* Lost and taken together are all that was ever logged. */
static void log_loses_none_silently(struct kunit *test)
{
	struct dxk_log *log = log_make(test);
	struct dxk_log_record r;
	u64 taken = 0, gaps = 0, next = 1;
	u32 i;

	for (i = 1; i <= 200; i++) {
		add(log, i & 16 ? DXK_LOG_DROP_NEW : DXK_LOG_DROP_OLDEST, i, i);
		while (i == 200 || i * 7 % 10 <= 4) {
			if (!take_next(log, &r))
				break;
			KUNIT_EXPECT_EQ(test, r.seq, next);
			next += r.lost ?: 1;
			gaps += r.lost;
			taken += !r.lost;
			if (i < 200)
				break;
		}
	}
	KUNIT_EXPECT_GT(test, log->lost, 0);
	KUNIT_EXPECT_EQ(test, gaps, log->lost);
	KUNIT_EXPECT_EQ(test, taken + gaps, 200);
}

/* DX-102: too long is cut and marked; one line, whatever it is made of */
static void log_edges(struct kunit *test)
{
	struct dxk_log *log = log_make(test);
	struct dxk_log_record r;
	char text[2 * DXK_LOG_TEXT];
	char line[DXK_LOG_TEXT + 80];
	u32 len;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	dxk_log_add(log, DXK_LOG_BLOCK, 1, "%s", text);
	KUNIT_ASSERT_TRUE(test, take_next(log, &r));
	KUNIT_EXPECT_EQ(test, r.flags, DXK_LOG_CUT);
	KUNIT_EXPECT_EQ(test, r.len, DXK_LOG_TEXT - 1);
	KUNIT_EXPECT_EQ(test, strnlen(r.text, DXK_LOG_TEXT), DXK_LOG_TEXT - 1);
	/* the longest line that there can be */
	r.seq = U64_MAX;
	r.time_ns = U64_MAX;
	r.thread = U32_MAX;
	len = dxk_logfile_line(&r, line, sizeof(line));
	KUNIT_EXPECT_LT(test, len, sizeof(line) - 1);
	KUNIT_EXPECT_STREQ(test, line + len - 7, " [cut]\n");

	dxk_log_add(log, DXK_LOG_BLOCK, 1, "a\tb\n%s\177\n\n", "c\rd");
	KUNIT_ASSERT_TRUE(test, take_next(log, &r));
	KUNIT_EXPECT_STREQ(test, r.text, "a b c d ");
	r.time_ns = 12 * NSEC_PER_SEC + 34;
	len = dxk_logfile_line(&r, line, sizeof(line));
	KUNIT_EXPECT_STREQ(test, line, "2 12.000000034 1 a b c d \n");
	KUNIT_EXPECT_EQ(test, len, strlen(line));
	r.flags = DXK_LOG_GAP;
	dxk_logfile_line(&r, line, sizeof(line));
	KUNIT_EXPECT_STREQ(test, line, "2 12.000000034 - a b c d \n");
	dxk_log_add(log, DXK_LOG_BLOCK, 1, "%s", "");
	KUNIT_ASSERT_TRUE(test, take_next(log, &r));
	KUNIT_EXPECT_EQ(test, r.len, 0);
	/* only newlines */
	dxk_log_add(log, DXK_LOG_BLOCK, 1, "\n\n");
	KUNIT_ASSERT_TRUE(test, take_next(log, &r));
	KUNIT_EXPECT_EQ(test, r.len, 0);
}

/* What is held and was not handed on is unread; it is the next one again. */
static void log_drainer(struct kunit *test)
{
	struct dxk_log *log = log_make(test);

	add(log, DXK_LOG_BLOCK, 1, 2);
	KUNIT_EXPECT_EQ(test, dxk_log_claim(log), 1);
	KUNIT_EXPECT_EQ(test, dxk_log_claim(log), 0);
	KUNIT_ASSERT_TRUE(test, dxk_log_hold(log));
	KUNIT_EXPECT_EQ(test, dxk_log_unwritten(log), 2);
	/* others go on with a drainer that hangs */
	add(log, DXK_LOG_BLOCK, 3, 3);
	KUNIT_ASSERT_EQ(test, dxk_log_alloc(log, 2 * SIZE), 0);
	add(log, DXK_LOG_BLOCK, 4, 4);
	dxk_log_async(log);
	dxk_log_sync(log);
	dxk_log_yield(log);
	KUNIT_EXPECT_EQ(test, dxk_log_claim(log), 1);
	KUNIT_EXPECT_EQ(test, dxk_log_unwritten(log), 4);
	take(test, log, 1, 1);
	KUNIT_EXPECT_EQ(test, dxk_log_unwritten(log), 3);
	take(test, log, 2, 2);
	take(test, log, 3, 3);
	take(test, log, 4, 4);
	take_none(test, log);
	dxk_log_yield(log);
}

/* DX-103: pools come and go, the stream goes on, what is unread stays */
static void log_resize(struct kunit *test)
{
	struct dxk_log *log = log_make(test);
	u32 i;

	/* without a pool nothing is taken, nor breaks */
	add(log, DXK_LOG_BLOCK, 1, 2);
	dxk_log_trim(log);
	take(test, log, 1, 1);
	dxk_log_free(log);
	take_none(test, log);
	add(log, DXK_LOG_BLOCK, 1, 1);
	take_none(test, log);
	KUNIT_EXPECT_EQ(test, log->seq, 2);

	/* larger: all of it */
	KUNIT_ASSERT_EQ(test, dxk_log_alloc(log, SIZE), 0);
	add(log, DXK_LOG_BLOCK, 3, 6);
	take(test, log, 3, 3);
	add(log, DXK_LOG_BLOCK, 7, 7);
	KUNIT_ASSERT_EQ(test, dxk_log_alloc(log, 4 * SIZE), 0);
	KUNIT_EXPECT_EQ(test, dxk_log_use(log), SIZE);
	add(log, DXK_LOG_BLOCK, 8, 10);
	for (i = 4; i <= 8; i++)
		take(test, log, i, i);
	/* smaller: all of it, too, in front of what comes */
	add(log, DXK_LOG_BLOCK, 11, 20);
	KUNIT_ASSERT_EQ(test, dxk_log_alloc(log, 2), 0);
	KUNIT_EXPECT_EQ(test, dxk_log_use(log), 12);
	add(log, DXK_LOG_BLOCK, 21, 23);
	KUNIT_EXPECT_EQ(test, log->lost, 1);
	take(test, log, 9, 9);
	/* once more: what was left over then is lost */
	KUNIT_ASSERT_EQ(test, dxk_log_alloc(log, SIZE), 0);
	KUNIT_EXPECT_EQ(test, log->lost, 12);
	add(log, DXK_LOG_BLOCK, 24, 24);
	take_gap(test, log, 10, 11);
	take(test, log, 21, 21);
	KUNIT_EXPECT_NOT_NULL(test, log->old.entry);
	take(test, log, 22, 22);
	KUNIT_EXPECT_NULL(test, log->old.entry);
	take_gap(test, log, 23, 1);
	take(test, log, 24, 24);
	take_none(test, log);
	/* nothing unread: there is nothing to keep */
	KUNIT_ASSERT_EQ(test, dxk_log_alloc(log, 2 * SIZE), 0);
	KUNIT_EXPECT_NULL(test, log->old.entry);
	KUNIT_ASSERT_EQ(test, dxk_log_alloc(log, SIZE), 0);
	dxk_log_trim(log);
	KUNIT_EXPECT_NULL(test, log->ring.entry);
}

/* One user's message. */
static void add_of(struct dxk_log *log, enum dxk_log_full full, u32 share, u32 nr)
{
	struct dxk_log_record rec = { .thread = 100 + nr };

	rec.len = scnprintf(rec.text, sizeof(rec.text), "message %u", nr);
	scoped_guard(spinlock_irqsave, &log->lock)
		dxk_log_enter(log, full, &rec, share);
}

/*
 * A user who writes more than its share loses its own new messages, whichever the policy
 * drops: there is room for those of others, and it pushes none of them out.
 */
static void log_share(struct kunit *test)
{
	static const enum dxk_log_full policy[] = { DXK_LOG_DROP_NEW, DXK_LOG_DROP_OLDEST };
	u32 p, i;

	for (p = 0; p < ARRAY_SIZE(policy); p++) {
		struct dxk_log *log = log_make(test);

		log->engine->policy.user_share = 50;
		add(log, policy[p], 1, 1);
		for (i = 2; i <= 9; i++)
			add_of(log, policy[p], 1, i);
		/* of 4: under DROP_NEW half of the 3 that were left, else half of all */
		KUNIT_EXPECT_EQ(test, log->ring.has[1], 2);
		KUNIT_EXPECT_EQ(test, log->lost, 6);
		KUNIT_EXPECT_EQ(test, dxk_log_count(log), 3);
		KUNIT_EXPECT_FALSE(test, dxk_log_has_room(log, 1));
		KUNIT_EXPECT_TRUE(test, dxk_log_has_room(log, 2));
		add_of(log, policy[p], 2, 10);
		KUNIT_EXPECT_FALSE(test, dxk_log_has_room(log, 0));
		take(test, log, 1, 1);
		take(test, log, 2, 2);
		take(test, log, 3, 3);
		KUNIT_EXPECT_EQ(test, log->ring.has[1], 0);
		take_gap(test, log, 4, 6);
		take(test, log, 10, 10);
		take_none(test, log);
		KUNIT_EXPECT_EQ(test, log->ring.has[2], 0);
	}
}

/* Where the oldest go, those of whom has less than its share go for it, too. */
static void log_share_oldest(struct kunit *test)
{
	struct dxk_log *log = log_make(test);

	log->engine->policy.user_share = 50;
	add(log, DXK_LOG_DROP_OLDEST, 1, 4);
	add_of(log, DXK_LOG_DROP_OLDEST, 1, 5);
	add_of(log, DXK_LOG_DROP_OLDEST, 1, 6);
	add_of(log, DXK_LOG_DROP_OLDEST, 1, 7);
	take_gap(test, log, 1, 2);
	take(test, log, 3, 3);
	take(test, log, 4, 4);
	take(test, log, 5, 5);
	take(test, log, 6, 6);
	take_gap(test, log, 7, 1);
	take_none(test, log);
}

/*
 * A kick too many, while the system is suspended: nothing pins the log, which may be gone
 * when the gate opens.
 */
static void log_unpinned(struct kunit *test)
{
	struct dxk_log *log = log_make(test);

	KUNIT_ASSERT_EQ(test, dxk_gate_close(DXK_GATE_TIME), 0);
	dxk_logfile_work(&log->work.work);
	KUNIT_EXPECT_TRUE(test, list_empty(&log->gate.link));
	/* pinned it is called again */
	log->pinned = true;
	dxk_logfile_work(&log->work.work);
	KUNIT_EXPECT_FALSE(test, list_empty(&log->gate.link));
	log->pinned = false;
	dxk_gate_open();
	KUNIT_EXPECT_TRUE(test, list_empty(&log->gate.link));
}

/* A queue that does nothing: its one place is taken until @leave. */
struct idle_queue {
	struct dxk_files files;
	struct work_struct work;
	struct completion leave;
};

static void stay(struct work_struct *work)
{
	wait_for_completion(&container_of(work, struct idle_queue, work)->leave);
}

static void idle_queue_end(void *arg)
{
	struct idle_queue *q = arg;

	complete(&q->leave);
	destroy_workqueue(q->files.wq);
}

static void idle_queue_make(struct kunit *test, struct idle_queue *q)
{
	init_completion(&q->leave);
	q->files.wq = alloc_workqueue("dxk_kunit", WQ_UNBOUND, 1);
	KUNIT_ASSERT_NOT_NULL(test, q->files.wq);
	INIT_WORK(&q->work, stay);
	queue_work(q->files.wq, &q->work);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, idle_queue_end, q), 0);
}

static void log_file_end(void *arg)
{
	struct dxk_log *log = arg;

	cancel_delayed_work_sync(&log->work);
	log->pinned = false;
	fput(log->file);
	log->file = NULL;
}

/* DX-100: each turn of the log item writes log_batch messages, as it is then. */
static void log_turns(struct kunit *test)
{
	struct idle_queue *q = kunit_kzalloc(test, sizeof(*q), GFP_KERNEL);
	struct dxk_log *log = log_make(test);
	u64 told;

	KUNIT_ASSERT_NOT_NULL(test, q);
	KUNIT_ASSERT_EQ(test, dxk_log_alloc(log, 8 * SIZE), 0);
	idle_queue_make(test, q);
	log->files = &q->files;
	log->file = shmem_file_setup("dxk-kunit-log", 0, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(log->file));
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, log_file_end, log), 0);
	log->pinned = true;
	add(log, DXK_LOG_BLOCK, 1, 20);
	log->engine->policy.log_batch = 3;
	for (told = 3; told <= 12; told += 3) {
		dxk_logfile_work(&log->work.work);
		KUNIT_EXPECT_EQ(test, log->told, told);
		/* what is left is another turn's */
		KUNIT_EXPECT_TRUE(test, work_pending(&log->work.work));
	}
	log->engine->policy.log_batch = 5;
	dxk_logfile_work(&log->work.work);
	KUNIT_EXPECT_EQ(test, log->told, 17);
	dxk_logfile_work(&log->work.work);
	KUNIT_EXPECT_EQ(test, log->told, 20);
	KUNIT_EXPECT_EQ(test, dxk_log_use(log), 0);
}

static struct kunit_case log_cases[] = {
	KUNIT_CASE(log_first_in_first_out),
	KUNIT_CASE(log_counters_wrap),
	KUNIT_CASE(log_drop_new),
	KUNIT_CASE(log_drop_oldest),
	KUNIT_CASE(log_share),
	KUNIT_CASE(log_share_oldest),
	KUNIT_CASE(log_loses_none_silently),
	KUNIT_CASE(log_edges),
	KUNIT_CASE(log_drainer),
	KUNIT_CASE(log_resize),
	KUNIT_CASE(log_unpinned),
	KUNIT_CASE(log_turns),
	{ }
};

static struct kunit_suite log_suite = {
	.name = "dxk_log",
	.test_cases = log_cases,
};

/* --- with a context ---------------------------------------------------------- */

static int say(struct dxk_member *m, u32 nr, bool wait, u64 deadline)
{
	struct dxk_log_record rec = { .thread = m->id };

	rec.len = scnprintf(rec.text, sizeof(rec.text), "message %u", nr);
	return dxk_log_write(&dxk_member_ctx(m)->log, m, &rec, wait, deadline);
}

/* The text of what is next, "" when there is nothing. */
static const char *next_text(struct dxk_ctx *ctx, struct dxk_log_record *rec)
{
	if (!take_next(&ctx->log, rec))
		rec->text[0] = 0;
	return rec->text;
}

#define EXPECT_NEXT(_text) do {							\
	struct dxk_log_record _rec;						\
	KUNIT_EXPECT_STREQ(test, next_text(ctx, &_rec), _text);			\
} while (0)

static struct dxk_ctx *log_start(struct kunit *test, u32 entries, u32 full)
{
	struct dxk_policy p;
	struct dxk_ctx *ctx;

	dxk_rig_policy(test, &p, 1);
	p.log_entries = entries;
	p.log_full = full;
	ctx = dxk_rig_start(test->priv, &p);
	EXPECT_NEXT("started");
	EXPECT_NEXT("");
	return ctx;
}

/*
 * D-10, DX-101: an executor logs with a lock held and interrupts off. It never
 * sleeps, in no policy, with a pool that is full and a sleeper in front of it.
 */
static s32 log_in_atomic_context(struct dxk_job *job, struct dxk_call *call)
{
	static DEFINE_SPINLOCK(lock);
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&lock, flags);
	for (i = 0; i < 100; i++)
		dxk_log(call, "atomic %u\n", i);
	spin_unlock_irqrestore(&lock, flags);
	return call->self->id;
}

static void log_any_context(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_log_record rec;
	u32 full;

	for (full = DXK_LOG_BLOCK; full <= DXK_LOG_DROP_NEW; full++) {
		struct dxk_ctx *ctx = log_start(test, 2, full);
		struct dxk_job *job = dxk_rig_job(rig);
		struct dxk_member *m = full ? dxk_rig_client(rig, ctx) : rig->m[0];
		struct dxk_request req = dxk_rig_request(job, 1, 0, PXR_REJOIN);
		struct dxk_answer answer = { };
		u32 said;

		job->fn = log_in_atomic_context;
		KUNIT_ASSERT_EQ(test, dxk_post(m, &req, 1, 0, NULL), 1);
		KUNIT_ASSERT_EQ(test, dxk_rejoin(m, 1, &answer, 1, 1,
						 dxk_in_ms(DXK_RIG_MS), &said), 1);
		KUNIT_EXPECT_EQ(test, answer.status, 1);
		KUNIT_EXPECT_EQ(test, ctx->log.lost, 98);
		if (full != DXK_LOG_DROP_NEW)
			EXPECT_NEXT("98 lost");
		KUNIT_ASSERT_TRUE(test, take_next(&ctx->log, &rec));
		KUNIT_EXPECT_EQ(test, rec.thread, 1);
		KUNIT_EXPECT_STREQ(test, rec.text, full == DXK_LOG_DROP_NEW ?
						   "atomic 0" : "atomic 98");
	}
}

static int errand_say(struct dxk_errand *e)
{
	return say(e->m, e->owner, true, e->deadline);
}

static struct dxk_errand *sleeper(struct kunit *test, struct dxk_ctx *ctx, u32 nr)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_member *m = dxk_rig_client(rig, ctx);
	struct dxk_errand *e = &rig->errand[rig->nr_errands];

	e->m = m;
	e->owner = nr;
	e->deadline = DXK_FOREVER;
	e = dxk_rig_errand(rig, errand_say);
	KUNIT_ASSERT_TRUE(test, DXK_SOON(READ_ONCE(m->state) == DXK_M_LOGGING));
	return e;
}

/* DX-98, DX-99: sleepers enter in their order; kernel callers do not wait */
static void log_sleepers(struct kunit *test)
{
	struct dxk_ctx *ctx = log_start(test, 2, DXK_LOG_BLOCK);
	struct dxk_rig *rig = test->priv;
	struct dxk_errand *e[3];
	u32 i;

	for (i = 1; i <= 2; i++)
		KUNIT_EXPECT_EQ(test, say(rig->m[0], i, true, DXK_FOREVER), 0);
	KUNIT_EXPECT_EQ(test, say(rig->m[0], 0, true, 0), -ETIMEDOUT);
	for (i = 0; i < 3; i++)
		e[i] = sleeper(test, ctx, 3 + i);
	/* the module's own: does not wait, wakes nobody, and displaces nothing */
	dxk_log_add(&ctx->log, DXK_LOG_BLOCK, 500, "monitor");
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_FALSE(test, completion_done(&e[i]->done));
	EXPECT_NEXT("message 1");
	dxk_rig_finished(e[0]);
	KUNIT_EXPECT_FALSE(test, completion_done(&e[1]->done));
	EXPECT_NEXT("message 2");
	dxk_rig_finished(e[1]);
	KUNIT_EXPECT_EQ(test, dxk_log_use(&ctx->log), 2);
	EXPECT_NEXT("1 lost");
	EXPECT_NEXT("message 3");
	dxk_rig_finished(e[2]);
	EXPECT_NEXT("message 4");
	EXPECT_NEXT("message 5");
	EXPECT_NEXT("");
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, e[i]->ret, 0);
	KUNIT_EXPECT_EQ(test, ctx->log.lost, 1);
	KUNIT_EXPECT_EQ(test, ctx->log.blocks, 4);
	KUNIT_EXPECT_GT(test, ctx->log.block_ns, 0);
}

/* A policy that does not wait ends the waiting; so does Stop. */
static void log_sleeps_end(struct kunit *test)
{
	struct dxk_ctx *ctx = log_start(test, 2, DXK_LOG_BLOCK);
	struct dxk_rig *rig = test->priv;
	struct dxk_errand *e[2];
	u32 i;

	for (i = 1; i <= 2; i++)
		KUNIT_EXPECT_EQ(test, say(rig->m[0], i, true, DXK_FOREVER), 0);
	for (i = 0; i < 2; i++)
		e[i] = sleeper(test, ctx, 3 + i);
	dxk_log_review(&ctx->log, DXK_LOG_BLOCK);
	KUNIT_EXPECT_FALSE(test, list_empty(&ctx->log.writers));
	dxk_log_review(&ctx->log, DXK_LOG_DROP_OLDEST);
	for (i = 0; i < 2; i++) {
		dxk_rig_finished(e[i]);
		KUNIT_EXPECT_EQ(test, e[i]->ret, 0);
	}
	EXPECT_NEXT("2 lost");
	EXPECT_NEXT("message 3");
	EXPECT_NEXT("message 4");

	for (i = 1; i <= 2; i++)
		KUNIT_EXPECT_EQ(test, say(rig->m[0], i, true, DXK_FOREVER), 0);
	e[0] = sleeper(test, ctx, 5);
	KUNIT_EXPECT_EQ(test, dxk_ctx_stop(ctx, DXK_STOP_DRAIN, dxk_in_ms(DXK_RIG_MS)), 0);
	dxk_rig_finished(e[0]);
	KUNIT_EXPECT_EQ(test, e[0]->ret, -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, say(rig->m[0], 6, true, DXK_FOREVER), -ENODEV);
	EXPECT_NEXT("message 1");
	EXPECT_NEXT("message 2");
	/* "stopped" */
	EXPECT_NEXT("1 lost");
	EXPECT_NEXT("");
}

#ifdef CONFIG_KPROBES
static struct dxk_member *window_member;
static int window_ret[3];

/* Runs in the starting thread, in front of the Monitor's start. */
static int window_log(struct kprobe *kp, struct pt_regs *regs)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(window_ret); i++)
		window_ret[i] = say(window_member, i, true, DXK_FOREVER);
	return 0;
}

/*
 * D-11, DX-17: the starting thread logs between the switch to asynchronous logging
 * and the start of the Monitor. All calls return, which they could not if they
 * needed the Monitor, and the messages are in order in front of "started".
 */
static void log_start_window(struct kunit *test)
{
	struct kprobe kp = {
		.addr = (kprobe_opcode_t *)dxk_monitor_start,
		.pre_handler = window_log,
	};
	struct dxk_rig *rig = test->priv;
	struct dxk_ctx *ctx = dxk_rig_create(rig);
	u32 i;

	window_member = dxk_rig_client(rig, ctx);
	KUNIT_EXPECT_EQ(test, say(window_member, 0, true, DXK_FOREVER), -ENODEV);
	KUNIT_ASSERT_EQ(test, register_kprobe(&kp), 0);
	for (i = 0; i < ARRAY_SIZE(window_ret); i++)
		window_ret[i] = 1;
	KUNIT_EXPECT_EQ(test, dxk_ctx_start(ctx), 0);
	unregister_kprobe(&kp);
	for (i = 0; i < ARRAY_SIZE(window_ret); i++)
		KUNIT_EXPECT_EQ(test, window_ret[i], 0);
	EXPECT_NEXT("message 0");
	EXPECT_NEXT("message 1");
	EXPECT_NEXT("message 2");
	EXPECT_NEXT("started");
	EXPECT_NEXT("");
}
#else
static void log_start_window(struct kunit *test)
{
	kunit_skip(test, "no kprobes");
}
#endif

static struct kunit_case log_ctx_cases[] = {
	KUNIT_CASE(log_any_context),
	KUNIT_CASE(log_sleepers),
	KUNIT_CASE(log_sleeps_end),
	KUNIT_CASE(log_start_window),
	{ }
};

static struct kunit_suite log_ctx_suite = {
	.name = "dxk_log_context",
	.init = dxk_rig_init,
	.exit = dxk_rig_exit,
	.test_cases = log_ctx_cases,
};

kunit_test_suites(&log_suite, &log_ctx_suite);
