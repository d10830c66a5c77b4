// SPDX-License-Identifier: GPL-2.0-only
/*
 * Signals in the waits of libdxk: one that was installed with SA_RESTART, as signal(3)
 * does, is not seen by the caller, but for SendCommand(); another one is -EINTR. Built a
 * second time with the address sanitizer. selftests/runtime/sigalrm.c has all waits of
 * the module.
 */
#include "lib/dxt.h"

#include <dx.h>
#include <signal.h>

#define WAIT_NS	(100 * DXT_MS)

static _Atomic unsigned int signals;

static void count(int sig)
{
	(void)sig;
	signals++;
}

/* Sends a signal to a thread each millisecond. */
struct sender {
	pthread_t thread, to;
	_Atomic bool end;
};

static void *send_main(void *arg)
{
	struct sender *s = arg;

	while (!s->end) {
		pthread_kill(s->to, SIGUSR1);
		dxt_sleep_ms(1);
	}
	return NULL;
}

struct held {
	Runnable runnable;
	CommandHandler handler;
	struct dxt_gate *gate;
	MTExecutive *mte;
};

static int hold(Runnable *self, void *request)
{
	(void)request;
	dxt_gate_pass(((struct held *)self)->gate, 0);
	return 0;
}

static int hold_command(CommandHandler *self, const char *command, char *reply, size_t room)
{
	(void)command;
	(void)reply;
	(void)room;
	dxt_gate_pass(((struct held *)((char *)self - offsetof(struct held, handler)))->gate,
		      0);
	return 0;
}

/* --- the waits, each of them in vain ------------------------------------------ */

static int post(struct held *h, int64_t timeout_ns)
{
	RQPost more = {
		.pOObject = h, .pXObject = &h->runnable, .RQEAttrs = PXR_WAITIF_BUSY,
	};

	return PostRequests(&more, 1, timeout_ns, NULL);
}

static int rejoin(struct held *h, int64_t timeout_ns)
{
	return RejoinWait(h, NULL, timeout_ns);
}

static int should_stop(struct held *h, int64_t timeout_ns)
{
	(void)h;
	return ShouldStop(timeout_ns);
}

static int command(struct held *h, int64_t timeout_ns)
{
	(void)h;
	return SendCommand("hold", NULL, 0, timeout_ns);
}

static int stop(struct held *h, int64_t timeout_ns)
{
	return MTExecutiveStop(h->mte, DXK_STOP_DRAIN, timeout_ns);
}

static const struct {
	const char *name;
	int (*call)(struct held *h, int64_t timeout_ns);
	int late;		/* what it is when the time is over */
	bool not_restarted;
} waits[] = {
	{ "PostRequests", post, -ETIMEDOUT, false },
	{ "RejoinWait", rejoin, RJR_NONE_READY, false },
	{ "ShouldStop", should_stop, 0, false },
	/* it would be sent again */
	{ "SendCommand", command, -ETIMEDOUT, true },
	/* the last one: from then on the context stops */
	{ "MTExecutiveStop", stop, -ETIMEDOUT, false },
};

/* A wait with a time, until some signals have come while it waited. */
static int restarted(unsigned int i, struct held *h)
{
	unsigned int before;
	int rc;

	do {
		before = signals;
		rc = waits[i].call(h, WAIT_NS);
	} while (rc == waits[i].late && signals < before + 3);
	return rc;
}

TEST(restart)
{
	struct held h = { { hold }, { .HandleCommand = hold_command }, dxt_gate_new(), NULL };
	struct sigaction once = { .sa_handler = count };
	struct sender sender = { .to = pthread_self() };
	ThreadManagerPolicy policy;
	RunSettings settings;
	struct dxt t = { 0 };
	unsigned int i;

	RunSettingsInit(&settings, "libsignal", 0, NULL);
	settings.LogPath = "/dev/null";
	ThreadManagerPolicyInit(&policy);
	policy.TPMaxThreads = 1;
	policy.TPReadyEntries = 1;
	policy.TPDispatch = dxt_mode();
	h.mte = MTExecutiveCreate(&settings, &policy, NULL);
	ASSERT_NE(NULL, h.mte);
	t.id = (unsigned int)MTExecutiveContextId(h.mte);
	ASSERT_EQ(0, AttachCommandHandler(&h.handler));
	ASSERT_EQ(0, PostARequest(&h, &h.runnable, &h, 0, PXR_REJOIN));
	ASSERT_TRUE(DXT_UNTIL(&t, h.gate->entered));
	ASSERT_EQ(0, PostARequest(&h, &h.runnable, &h, 0, PXR_REJOIN));

	signal(SIGUSR1, count);
	ASSERT_EQ(0, pthread_create(&sender.thread, NULL, send_main, &sender));
	for (i = 0; i < ARRAY_SIZE(waits); i++) {
		signal(SIGUSR1, count);
		EXPECT_EQ(waits[i].not_restarted ? -EINTR : waits[i].late,
			  restarted(i, &h))
			TH_LOG("%s", waits[i].name);
		sigaction(SIGUSR1, &once, NULL);
		EXPECT_EQ(-EINTR, waits[i].call(&h, -1))
			TH_LOG("%s", waits[i].name);
	}
	sender.end = true;
	pthread_join(sender.thread, NULL);
	dxt_gate_open(h.gate);
	EXPECT_EQ(0, MTExecutiveDestroy(h.mte, DXK_STOP_DRAIN, -1));
	dxt_gate_free(h.gate);
}

TEST_HARNESS_MAIN
