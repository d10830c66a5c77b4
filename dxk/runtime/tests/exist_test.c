// SPDX-License-Identifier: GPL-2.0-only
/*
 * DX-92: "none exists" is said by whom nothing escapes, however long each transition of
 * a request takes. All of them are made longer here, at random.
 *
 * "Before" is told by one counter that everybody takes a number from: a call that begins
 * when another one has returned draws a larger one. So a denial is judged afterwards, by
 * the requests that certainly lived all the time that its call ran.
 */
#include <linux/delay.h>
#include <linux/random.h>

#include "runtime/tests/rig.h"
#include "trace.h"

#define OWNER		92
#define REQUESTS	400
#define DENIALS		20000
#define POLLERS		4
#define DELAY_US	100

/* It lives for certain after @posted and before @ending. */
struct exist_request {
	u32 posted;		/* its post has returned */
	u32 ending;		/* the call that returns it begins */
	atomic_t returned;
};

/* One answer "none exists". */
struct exist_denial {
	u32 begin, end;
};

static struct exist {
	struct dxk_executor exec;
	atomic_t numbers, denials, not_ready, odd, moves;
	bool posted;
	struct exist_request request[REQUESTS];
	struct exist_denial denial[DENIALS];
} *exist;

static u32 number(void)
{
	return atomic_inc_return(&exist->numbers);
}

static void dawdle(void)
{
	udelay(get_random_u32() % DELAY_US);
}

/* With the engine's lock held, so nobody else is in the midst of something. */
static void delay_move(void *data, u32 ctx, const struct dxk_rqe *rqe, u8 from, u8 to)
{
	atomic_inc(&exist->moves);
	dawdle();
}

static s32 dawdle_and_end(struct dxk_call *call)
{
	dawdle();
	return 0;
}

static void note_answers(const struct dxk_answer *answer, int nr, u32 begin)
{
	for (; nr > 0; nr--, answer++) {
		struct exist_request *r = &exist->request[answer->param];

		if (answer->param >= REQUESTS || atomic_fetch_inc(&r->returned))
			atomic_inc(&exist->odd);
		else
			WRITE_ONCE(r->ending, begin);
	}
}

static void note_denial(u32 begin, u32 end)
{
	u32 i = atomic_fetch_inc(&exist->denials);

	if (i < DENIALS)
		exist->denial[i] = (struct exist_denial){ begin, end };
}

/* Until nothing exists, and nobody posts any more. */
static int poll_on(struct dxk_errand *e)
{
	struct dxk_member *m = dxk_client_create(e->rig->ctx[0]);
	u32 begin, said = 0;
	bool last;

	if (IS_ERR(m))
		return PTR_ERR(m);
	do {
		struct dxk_answer answer[2] = { };
		u64 deadline = get_random_u32() % 3 ? 0 : dxk_in_ms(1);
		int nr;

		last = READ_ONCE(exist->posted);
		begin = number();
		nr = dxk_rejoin(m, OWNER, answer, 1 + get_random_u32() % 2, 1, deadline, &said);
		note_answers(answer, nr, begin);
		if (nr < 0 || (nr > 0) != (said == RJR_RETURNED))
			atomic_inc(&exist->odd);
		if (said == RJR_NONE_EXIST)
			note_denial(begin, number());
		if (said == RJR_NONE_READY)
			atomic_inc(&exist->not_ready);
		dawdle();
		cond_resched();
	} while (!READ_ONCE(e->rig->over) && !(last && said == RJR_NONE_EXIST));
	dxk_client_destroy(m);
	return 0;
}

static void post_all(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	u32 i;

	for (i = 0; i < REQUESTS; i++) {
		struct dxk_request req = {
			.owner = OWNER,
			.executor = exist->exec.id,
			.param = i,
			.attrs = PXR_REJOIN | PXR_KERNEL | PXR_WAITIF_BUSY,
		};

		KUNIT_EXPECT_EQ(test, dxk_post(rig->m[0], &req, 1, DXK_FOREVER, NULL), 1);
		WRITE_ONCE(exist->request[i].posted, number());
		/* now and then all are gone before the next one comes */
		if (get_random_u32() % 4)
			dawdle();
		else
			usleep_range(1000, 3000);
	}
	WRITE_ONCE(exist->posted, true);
}

static u32 count_lies(void)
{
	u32 i, j, lies = 0, denials = min_t(u32, atomic_read(&exist->denials), DENIALS);

	for (i = 0; i < denials; i++) {
		for (j = 0; j < REQUESTS; j++)
			if (exist->request[j].posted < exist->denial[i].begin &&
			    exist->request[j].ending > exist->denial[i].end)
				break;
		lies += j < REQUESTS;
		cond_resched();
	}
	return lies;
}

static void exist_certain(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_errand *e[POLLERS];
	struct dxk_policy p;
	u32 i, returned = 0;

	dxk_rig_policy(test, &p, 3);
	dxk_rig_start(rig, &p);
	for (i = 0; i < POLLERS; i++)
		e[i] = dxk_rig_errand(rig, poll_on);
	post_all(test);
	for (i = 0; i < POLLERS; i++) {
		dxk_rig_finished(e[i]);
		KUNIT_EXPECT_EQ(test, e[i]->ret, 0);
	}
	for (i = 0; i < REQUESTS; i++)
		returned += atomic_read(&exist->request[i].returned);
	KUNIT_EXPECT_EQ(test, returned, REQUESTS);
	KUNIT_EXPECT_EQ(test, count_lies(), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&exist->odd), 0);
	/* each was posted, dispatched, executed and collected, and there were both answers */
	KUNIT_EXPECT_GE(test, atomic_read(&exist->moves), 4 * REQUESTS);
	KUNIT_EXPECT_GT(test, atomic_read(&exist->denials), POLLERS);
	KUNIT_EXPECT_GT(test, atomic_read(&exist->not_ready), 0);
}

static void exist_exit(struct kunit *test)
{
	dxk_rig_exit(test);
	if (!exist)
		return;
	unregister_trace_dxk_move(delay_move, NULL);
	tracepoint_synchronize_unregister();
	dxk_executor_unregister(&exist->exec);
	kvfree(exist);
	exist = NULL;
}

static int exist_init(struct kunit *test)
{
	int err = dxk_rig_init(test);

	if (err)
		return err;
	exist = kvzalloc(sizeof(*exist), GFP_KERNEL);
	if (!exist)
		return -ENOMEM;
	exist->exec.name = "kunit-exist";
	exist->exec.owner = THIS_MODULE;
	exist->exec.execute_this_request = dawdle_and_end;
	err = dxk_executor_register(&exist->exec);
	if (!err)
		return register_trace_dxk_move(delay_move, NULL);
	kvfree(exist);
	exist = NULL;
	return err;
}

KUNIT_ARRAY_PARAM(mode, dxk_rig_modes, dxk_rig_mode_name);

static struct kunit_case exist_cases[] = {
	KUNIT_CASE_PARAM(exist_certain, mode_gen_params),
	{ }
};

static struct kunit_suite exist_suite = {
	.name = "dxk_exist",
	.init = exist_init,
	.exit = exist_exit,
	.test_cases = exist_cases,
};

kunit_test_suites(&exist_suite);
