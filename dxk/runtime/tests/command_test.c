// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands of in-kernel clients: handlers that come, go and are replaced while
 * ticks and commands come; timed commands.
 */
#include "runtime/tests/rig.h"

/**
 * struct probe - a handler that counts, and can be held
 * @h: the handler
 * @ticks: calls of tick
 * @texts: calls of command
 * @in: calls in progress
 * @most: most calls that were in progress at a time
 * @gone: it was detached: a call from now on is wrong
 * @late: such calls
 * @hold: calls wait for @leave
 * @entered: a held call is in progress
 * @leave: it may go on
 * @err: what the attach from within returned
 */
struct probe {
	struct dxk_command_handler h;
	atomic_t ticks;
	atomic_t texts;
	atomic_t in;
	atomic_t most;
	bool gone;
	atomic_t late;
	bool hold;
	struct completion entered;
	struct completion leave;
	int err;
};

static void probe_call(struct probe *p)
{
	if (atomic_inc_return(&p->in) > 1)
		atomic_inc(&p->most);
	if (READ_ONCE(p->gone))
		atomic_inc(&p->late);
	if (READ_ONCE(p->hold)) {
		complete(&p->entered);
		wait_for_completion_timeout(&p->leave, msecs_to_jiffies(DXK_RIG_MS));
	}
	if (READ_ONCE(p->gone))
		atomic_inc(&p->late);
	atomic_dec(&p->in);
}

static void probe_tick(struct dxk_command_handler *h, struct dxk_ctx *ctx)
{
	struct probe *p = container_of(h, struct probe, h);

	probe_call(p);
	atomic_inc(&p->ticks);
}

static int probe_command(struct dxk_command_handler *h, struct dxk_ctx *ctx,
			 const char *text, char *reply, size_t room)
{
	struct probe *p = container_of(h, struct probe, h);
	int err = 0;

	probe_call(p);
	atomic_inc(&p->texts);
	if (!strcmp(text, "detach")) {
		p->err = dxk_attach_command_handler(ctx, NULL);
	} else if (!strcmp(text, "show commands")) {
		/* extends the context's own (DX-30) */
		err = dxk_send_command(ctx, text, reply, room, DXK_FOREVER);
		strlcat(reply, "and more\n", room);
	} else if (!strcmp(text, "long")) {
		memset(reply, 'x', room);
	} else if (strcmp(text, "mine")) {
		return -ENOENT;
	} else {
		snprintf(reply, room, "%s", h->name);
	}
	return err;
}

static struct probe *probe_new(struct kunit *test, const char *name)
{
	struct probe *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	p->h.name = name;
	p->h.owner = THIS_MODULE;
	p->h.tick = probe_tick;
	p->h.command = probe_command;
	init_completion(&p->entered);
	init_completion(&p->leave);
	return p;
}

static struct dxk_ctx *start(struct kunit *test, u32 ms)
{
	struct dxk_policy p;

	dxk_rig_policy(test, &p, 1);
	p.monitor_interval_ms = ms;
	return dxk_rig_start(test->priv, &p);
}

static int ask(struct dxk_ctx *ctx, const char *text, char *reply)
{
	*reply = '\0';
	return dxk_send_command(ctx, text, reply, DXK_COMMAND_MAX + 1,
				dxk_in_ms(DXK_RIG_MS));
}

static char *reply_new(struct kunit *test)
{
	char *reply = kunit_kzalloc(test, DXK_COMMAND_MAX + 1, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, reply);
	return reply;
}

/* No test leaves a handler attached: its memory goes before the context does. */
static void detach(struct kunit *test, struct dxk_ctx *ctx)
{
	KUNIT_EXPECT_EQ(test, dxk_attach_command_handler(ctx, NULL), 0);
}

/* DX-30: who answers what */
static void command_answers(struct kunit *test)
{
	struct dxk_ctx *ctx = start(test, 1000);
	struct probe *p = probe_new(test, "probe");
	char *reply = reply_new(test);

	KUNIT_EXPECT_EQ(test, ask(ctx, "mine", reply), -ENOENT);
	KUNIT_EXPECT_EQ(test, dxk_attach_command_handler(ctx, &p->h), 0);
	KUNIT_EXPECT_EQ(test, ask(ctx, "mine", reply), 0);
	KUNIT_EXPECT_STREQ(test, reply, "probe");
	KUNIT_EXPECT_EQ(test, ask(ctx, "show pools", reply), 0);
	KUNIT_EXPECT_NOT_NULL(test, strstr(reply, "high_water"));
	KUNIT_EXPECT_EQ(test, ask(ctx, "show commands", reply), 0);
	KUNIT_EXPECT_NOT_NULL(test, strstr(reply, "handler: probe\n"));
	KUNIT_EXPECT_NOT_NULL(test, strstr(reply, "and more\n"));
	KUNIT_EXPECT_EQ(test, ask(ctx, "nobody's", reply), -ENOENT);
	KUNIT_EXPECT_EQ(test, ask(ctx, "long", reply), 0);
	KUNIT_EXPECT_EQ(test, strlen(reply), DXK_COMMAND_MAX);
	KUNIT_EXPECT_EQ(test, ask(ctx, "", reply), -EINVAL);
	/* a call that would wait for itself */
	KUNIT_EXPECT_EQ(test, ask(ctx, "detach", reply), 0);
	KUNIT_EXPECT_EQ(test, p->err, -EDEADLK);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->texts), 6);
	detach(test, ctx);
	KUNIT_EXPECT_EQ(test, ask(ctx, "mine", reply), -ENOENT);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->most), 0);
}

/* A handler without calls is one all the same. */
static void command_no_calls(struct kunit *test)
{
	struct dxk_ctx *ctx = start(test, 1);
	struct probe *p = probe_new(test, "empty");
	char *reply = reply_new(test);

	p->h.tick = NULL;
	p->h.command = NULL;
	KUNIT_EXPECT_EQ(test, dxk_attach_command_handler(ctx, &p->h), 0);
	msleep(20);
	KUNIT_EXPECT_EQ(test, ask(ctx, "mine", reply), -ENOENT);
	KUNIT_EXPECT_EQ(test, ask(ctx, "show commands", reply), 0);
	KUNIT_EXPECT_NOT_NULL(test, strstr(reply, "handler: empty\n"));
	detach(test, ctx);
}

/* DX-29: once per interval and no more; only while attached and running */
static void command_ticks(struct kunit *test)
{
	struct dxk_ctx *ctx = start(test, 20);
	struct probe *p = probe_new(test, "probe");
	u64 begin = ktime_get_ns();
	u32 ticks;

	KUNIT_EXPECT_EQ(test, dxk_attach_command_handler(ctx, &p->h), 0);
	KUNIT_EXPECT_TRUE(test, DXK_SOON(atomic_read(&p->ticks) >= 10));
	ticks = atomic_read(&p->ticks);
	KUNIT_EXPECT_LE(test, (u64)ticks,
			div_u64(ktime_get_ns() - begin, 20 * NSEC_PER_MSEC) + 1);

	/* it stays attached over Stop and Start, and is not called between */
	KUNIT_EXPECT_EQ(test, dxk_ctx_stop(ctx, DXK_STOP_DRAIN, dxk_in_ms(DXK_RIG_MS)), 0);
	/* it does not wait for a call that is about to begin */
	flush_work(&ctx->commands.call_work);
	ticks = atomic_read(&p->ticks);
	msleep(60);
	KUNIT_EXPECT_EQ(test, (u32)atomic_read(&p->ticks), ticks);
	KUNIT_EXPECT_EQ(test, dxk_ctx_start(ctx), 0);
	KUNIT_EXPECT_TRUE(test, DXK_SOON((u32)atomic_read(&p->ticks) > ticks + 2));
	detach(test, ctx);
}

/* DX-31: a detach waits for the call that is in progress, a replace too */
static int attach_errand(struct dxk_errand *e)
{
	return dxk_attach_command_handler(e->rig->ctx[0],
					  (struct dxk_command_handler *)(uintptr_t)e->owner);
}

static void command_detach_waits(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_ctx *ctx = start(test, 2);
	struct probe *p[2] = { probe_new(test, "one"), probe_new(test, "two") };
	char *reply = reply_new(test);
	struct dxk_errand *e;
	u32 i;

	for (i = 0; i < 2; i++) {
		WRITE_ONCE(p[i]->hold, true);
		KUNIT_EXPECT_EQ(test, dxk_attach_command_handler(ctx, &p[i]->h), 0);
		KUNIT_ASSERT_NE(test, 0, wait_for_completion_timeout(&p[i]->entered,
						msecs_to_jiffies(DXK_RIG_MS)));
		/* DX-32: nobody else waits for the call */
		KUNIT_EXPECT_EQ(test, dxk_send_command(ctx, "mine", reply, 16,
						       dxk_in_ms(5)), -ETIMEDOUT);
		rig->errand[rig->nr_errands].owner =
			i ? 0 : (uintptr_t)&p[1]->h;
		e = dxk_rig_errand(rig, attach_errand);
		/* not before it has begun: what is queued then is for the next handler */
		KUNIT_ASSERT_TRUE(test, DXK_SOON(!READ_ONCE(ctx->commands.kernel)));
		msleep(20);
		KUNIT_EXPECT_FALSE(test, completion_done(&e->done));
		/* meanwhile there is no handler */
		KUNIT_EXPECT_EQ(test, ask(ctx, "show commands", reply), 0);
		KUNIT_EXPECT_NOT_NULL(test, strstr(reply, "handler: none\n"));
		WRITE_ONCE(p[i]->hold, false);
		complete_all(&p[i]->leave);
		dxk_rig_finished(e);
		KUNIT_EXPECT_EQ(test, e->ret, 0);
		WRITE_ONCE(p[i]->gone, true);
		if (!i)
			KUNIT_EXPECT_TRUE(test, DXK_SOON(atomic_read(&p[1]->ticks)));
		detach(test, ctx);
	}
	msleep(20);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, atomic_read(&p[i]->late), 0);
		KUNIT_EXPECT_EQ(test, atomic_read(&p[i]->most), 0);
	}
}

/* no call after detach returned, with ticks of 1 ms and commands */
#define ROUNDS	10000

static int flood_errand(struct dxk_errand *e)
{
	struct dxk_ctx *ctx = e->rig->ctx[0];
	int err = 0;

	while (!READ_ONCE(e->rig->over) && !READ_ONCE(e->owner) &&
	       (!err || err == -EAGAIN)) {
		err = dxk_send_command(ctx, "mine", NULL, 0, 0);
		if (!err)
			err = dxk_send_command(ctx, "show lanes", NULL, 0,
					       dxk_in_ms(DXK_RIG_MS));
		usleep_range(50, 100);
	}
	return err;
}

static void command_race(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_ctx *ctx = start(test, 1);
	struct probe *p[2] = { probe_new(test, "one"), probe_new(test, "two") };
	struct dxk_errand *flood = dxk_rig_errand(rig, flood_errand);
	u32 i, calls = 0;

	for (i = 0; i < ROUNDS; i++) {
		struct probe *now = p[i & 1], *before = p[~i & 1];

		WRITE_ONCE(now->gone, false);
		KUNIT_ASSERT_EQ(test, dxk_attach_command_handler(ctx, &now->h), 0);
		/* replaced, if it was not detached */
		WRITE_ONCE(before->gone, true);
		if (i % 64 == 0)
			usleep_range(500, 1500);
		if (i % 3)
			continue;
		KUNIT_ASSERT_EQ(test, dxk_attach_command_handler(ctx, NULL), 0);
		WRITE_ONCE(now->gone, true);
	}
	detach(test, ctx);
	WRITE_ONCE(flood->owner, 1);
	dxk_rig_finished(flood);
	KUNIT_EXPECT_TRUE(test, !flood->ret || flood->ret == -EAGAIN);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, atomic_read(&p[i]->late), 0);
		KUNIT_EXPECT_EQ(test, atomic_read(&p[i]->most), 0);
		KUNIT_EXPECT_EQ(test, atomic_read(&p[i]->in), 0);
		calls += atomic_read(&p[i]->ticks) + atomic_read(&p[i]->texts);
	}
	KUNIT_EXPECT_GT(test, calls, 10);
	KUNIT_EXPECT_TRUE(test, DXK_SOON(!READ_ONCE(ctx->commands.nr)));
}

/* Timed commands: not early, again and again, cancelled, without a handler */
static void command_timed(struct kunit *test)
{
	struct dxk_ctx *ctx = start(test, 2);
	struct probe *p = probe_new(test, "probe");
	u64 due = dxk_in_ms(50);
	char *reply = reply_new(test);
	u32 id, again, nr;

	KUNIT_EXPECT_EQ(test, dxk_attach_command_handler(ctx, &p->h), 0);
	KUNIT_EXPECT_EQ(test, dxk_send_timed_command(ctx, "mine", due, 0, &id), 0);
	KUNIT_EXPECT_EQ(test, dxk_send_timed_command(ctx, "mine", U64_MAX, 1, &id), 0);
	KUNIT_EXPECT_TRUE(test, DXK_SOON(atomic_read(&p->texts)));
	KUNIT_EXPECT_GE(test, ktime_get_ns(), due);
	KUNIT_EXPECT_EQ(test, ctx->commands.nr_timed, 1);
	KUNIT_EXPECT_EQ(test, dxk_send_timed_command(ctx, "mine", 0, 1, &again), 0);
	KUNIT_EXPECT_TRUE(test, DXK_SOON(atomic_read(&p->texts) > 5));
	KUNIT_EXPECT_EQ(test, dxk_command_cancel(&ctx->commands, again), 0);
	KUNIT_EXPECT_EQ(test, dxk_command_cancel(&ctx->commands, again), -ESRCH);
	KUNIT_EXPECT_TRUE(test, DXK_SOON(!READ_ONCE(ctx->commands.nr)));
	nr = atomic_read(&p->texts);
	msleep(30);
	KUNIT_EXPECT_EQ(test, (u32)atomic_read(&p->texts), nr);

	/* one run that waits is enough; ticks beyond the end of time */
	KUNIT_EXPECT_EQ(test, dxk_send_timed_command(ctx, "mine", 1, U64_MAX, &id), 0);
	KUNIT_EXPECT_TRUE(test, DXK_SOON((u32)atomic_read(&p->texts) == nr + 1));
	KUNIT_EXPECT_TRUE(test, DXK_SOON(READ_ONCE(ctx->commands.nr_timed) == 1));
	WRITE_ONCE(p->hold, true);
	KUNIT_EXPECT_EQ(test, dxk_send_timed_command(ctx, "mine", 0, 1, &again), 0);
	KUNIT_ASSERT_NE(test, 0, wait_for_completion_timeout(&p->entered,
						msecs_to_jiffies(DXK_RIG_MS)));
	msleep(30);
	KUNIT_EXPECT_LE(test, READ_ONCE(ctx->commands.nr), 1);
	/* Stop forgets them all, and does not wait for the call */
	KUNIT_EXPECT_EQ(test, dxk_ctx_stop(ctx, DXK_STOP_DRAIN, dxk_in_ms(DXK_RIG_MS)), 0);
	KUNIT_EXPECT_EQ(test, ctx->commands.nr_timed, 0);
	KUNIT_EXPECT_EQ(test, ctx->commands.nr, 0);
	KUNIT_EXPECT_EQ(test, ask(ctx, "show pools", reply), -ESHUTDOWN);
	WRITE_ONCE(p->hold, false);
	complete_all(&p->leave);
	detach(test, ctx);

	KUNIT_EXPECT_EQ(test, dxk_ctx_start(ctx), 0);
	KUNIT_EXPECT_EQ(test, dxk_send_timed_command(ctx, "set boost_value 9", 0, 0, &id),
			0);
	KUNIT_EXPECT_TRUE(test, DXK_SOON(READ_ONCE(ctx->engine.policy.boost_value) == 9));
}

/* A flood is refused at 64, and those behind a handler that goes are not lost. */
static void command_flood(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_ctx *ctx = start(test, 10000);
	struct probe *p = probe_new(test, "probe");
	struct dxk_errand *e;
	u32 i, taken = 0;

	WRITE_ONCE(p->hold, true);
	KUNIT_EXPECT_EQ(test, dxk_attach_command_handler(ctx, &p->h), 0);
	for (i = 0; i < 1000; i++)
		taken += !dxk_send_command(ctx, "set boost_value 33", NULL, 0, 0);
	KUNIT_EXPECT_EQ(test, taken, DXK_COMMANDS_MAX);
	/* one is in the handler's hands, 63 wait */
	KUNIT_ASSERT_NE(test, 0, wait_for_completion_timeout(&p->entered,
						msecs_to_jiffies(DXK_RIG_MS)));
	e = dxk_rig_errand(rig, attach_errand);	/* owner 0: detaches */
	KUNIT_EXPECT_TRUE(test, DXK_SOON(READ_ONCE(ctx->engine.policy.boost_value) == 33));
	KUNIT_EXPECT_TRUE(test, DXK_SOON(READ_ONCE(ctx->commands.nr) == 1));
	WRITE_ONCE(p->hold, false);
	complete_all(&p->leave);
	dxk_rig_finished(e);
	KUNIT_EXPECT_TRUE(test, DXK_SOON(!READ_ONCE(ctx->commands.nr)));
	KUNIT_EXPECT_EQ(test, atomic_read(&p->texts), 1);
}

static struct kunit_case command_cases[] = {
	KUNIT_CASE(command_answers),
	KUNIT_CASE(command_no_calls),
	KUNIT_CASE(command_ticks),
	KUNIT_CASE(command_detach_waits),
	KUNIT_CASE(command_race),
	KUNIT_CASE(command_timed),
	KUNIT_CASE(command_flood),
	{ }
};

static struct kunit_suite command_suite = {
	.name = "dxk_command",
	.init = dxk_rig_init,
	.exit = dxk_rig_exit,
	.test_cases = command_cases,
};

kunit_test_suite(command_suite);
