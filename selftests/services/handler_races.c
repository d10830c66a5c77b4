// SPDX-License-Identifier: GPL-2.0-only
/* As handler.c: handlers that come and go while others send or stop. */
#include "handler_test.h"

#include <unistd.h>

/* --- races ------------------------------------------------------------------- */

struct racer {
	struct dxt *t;
	pthread_t thread;
	unsigned int rounds;
	unsigned int got;
	const char *wrong;
	int rc;
};

/* Attach, take what there is, detach; after that there is nothing for it. */
static void *racer_thread(void *arg)
{
	char text[DXK_COMMAND_MAX];
	struct racer *r = arg;
	unsigned int i;
	size_t len;
	int fd;

	fd = dxk_member_create(r->t->ctx, DXK_MEMBER_CLIENT, NULL);
	for (i = 0; i < r->rounds && !r->wrong; i++) {
		r->rc = dxk_command_attach(fd, 1);
		if (r->rc)
			r->wrong = "attach";
		r->rc = dxk_command_next(fd, 0, NULL, 0, text, &len, 0);
		if (r->rc > 0)
			r->got++;
		else if (r->rc != -ETIMEDOUT && r->rc != -ESTALE)
			r->wrong = "next";
		if (i % 8 == 0)
			continue;
		r->rc = dxk_command_attach(fd, 0);
		if (r->rc)
			r->wrong = "detach";
		r->rc = dxk_command_next(fd, 0, NULL, 0, text, &len, 0);
		if (r->rc != -EPERM)
			r->wrong = "next after detach";
	}
	close(fd);
	return NULL;
}

/* thousands of attaches and detaches of two handlers, ticks of 1 ms, senders */
TEST(race)
{
	char reply[DXK_COMMAND_MAX + 1];
	struct racer racer[2] = { 0 };
	unsigned int i, asked = 0;
	bool over = false;
	struct dxt t;
	int rc;

	ASSERT_EQ(0, up(&t, 1));
	for (i = 0; i < 2; i++) {
		racer[i].t = &t;
		racer[i].rounds = dxt_debug_kernel() ? 300 : 2000;
		ASSERT_EQ(0, pthread_create(&racer[i].thread, NULL, racer_thread,
					    &racer[i]));
	}
	while (!over) {
		/* whoever has it: it is answered, and nothing of it is lost */
		rc = ask(&t, "show pools", reply, sizeof(reply));
		EXPECT_EQ(0, rc);
		EXPECT_EQ(0, tell(&t, "set boost_value 3"));
		asked++;
		dxt_tell("%u commands", asked);
		over = rc || pthread_tryjoin_np(racer[0].thread, NULL) == 0;
	}
	if (rc)
		pthread_join(racer[0].thread, NULL);
	pthread_join(racer[1].thread, NULL);
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(NULL, racer[i].wrong) {
			TH_LOG("%s: %d", racer[i].wrong, racer[i].rc);
		}
	}
	EXPECT_LT(0, asked);
	EXPECT_TRUE(DXT_SOON(waiting(&t) == 0));
	dxt_down(&t);
}

/* Stop while senders send and handlers come and go: all are answered. */
TEST(race_stop)
{
	struct sender *s[8];
	struct handler *h;
	struct dxt t;
	int round, i;

	ASSERT_EQ(0, up(&t, 1));
	for (round = 0; round < (dxt_debug_kernel() ? 5 : 12); round++) {
		h = handler_start(&t);
		for (i = 0; i < 8; i++)
			s[i] = sender_start(&t, i & 1 ? "echo x" : "show pools");
		EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_CANCEL, -1));
		for (i = 0; i < 8; i++) {
			int rc = sender_end(s[i]);

			EXPECT_TRUE(!rc || rc == -ESHUTDOWN) {
				TH_LOG("%d", rc);
			}
		}
		EXPECT_EQ(-ESHUTDOWN, handler_end(h));
		EXPECT_EQ(0, dxk_ctx_start(t.ctx));
	}
	dxt_down(&t);
}
