// SPDX-License-Identifier: GPL-2.0-only
/* The calls of fault_services.c that are about commands. */
#define DXT_NO_HARNESS
#include "fault_services.h"

/* --- commands ---------------------------------------------------------------- */

static int tell(services *s, const char *text)
{
	return dxk_command_send(s->t.ctx, text, strlen(text), NULL, 0, NULL, 0);
}

static int ask(services *s, const char *text, char *reply, size_t room, int *status)
{
	memset(reply, 0, room);
	return dxk_command_send(s->t.ctx, text, strlen(text), reply, room - 1, status,
				dxt_late_ns());
}

/* Answers and gets a command: the tick that an attach can bring is no part of this. */
static int next_text(services *s, int status, const char *reply, char *text, size_t *len,
		     int64_t ns)
{
	int rc;

	do {
		rc = dxk_command_next(s->me, status, reply, strlen(reply), text, len, ns);
	} while (rc == DXK_COMMAND_TICK);
	return rc;
}

/* What the handler gets next is @want, or nothing for NULL. */
static bool gets(services *s, const char *want)
{
	char text[DXK_COMMAND_MAX];
	size_t len;
	int rc = next_text(s, 0, "", text, &len, 0);

	if (!want)
		return rc == -ETIMEDOUT;
	return rc == DXK_COMMAND_TEXT && len == strlen(want) && !memcmp(text, want, len);
}

int send_plain(services *s, unsigned int n, bool *hit)
{
	char text[32];
	int rc;

	snprintf(text, sizeof(text), "plain %u", n);
	if (dxk_command_attach(s->me, 1))
		return WRONG;
	rc = FAULTY(n, hit, tell(s, text));
	if ((rc == 0 && !gets(s, text)) || !gets(s, NULL) || dxk_command_attach(s->me, 0))
		return WRONG;
	return rc;
}

/*
 * One of the context's own commands: ENOMEM, of the call or its status, says that
 * it did not run. It may have run when the reply alone could not be stored.
 */
int send_set(services *s, unsigned int n, bool *hit)
{
	char text[32], reply[256];
	int rc, status = 0;
	bool done;

	snprintf(text, sizeof(text), "set boost_value %u", 100 + n);
	rc = FAULTY(n, hit, ask(s, text, reply, sizeof(reply), &status));
	if (rc == 0)
		rc = status;
	/* it takes effect at the Monitor's next review */
	done = rc ? dxt_num(&s->t, "policy/boost_value") == 100 + n :
		    DXT_UNTIL(&s->t, dxt_num(&s->t, "policy/boost_value") == 100 + n);
	if (rc != -EFAULT && done != (rc == 0))
		return WRONG;
	return rc;
}

int send_show(services *s, unsigned int n, bool *hit)
{
	char reply[DXK_COMMAND_MAX + 1];
	int rc, status = 0;

	rc = FAULTY(n, hit, ask(s, "show owners", reply, sizeof(reply), &status));
	if (rc < 0 || status)
		return rc < 0 ? rc : status;
	return rc == (int)strlen(reply) && !strncmp(reply, "owner ", 6) ? 0 : WRONG;
}

/* One that was not made, or whose id nobody got, is none. */
int send_timed(services *s, unsigned int n, bool *hit)
{
	char reply[DXK_COMMAND_MAX + 1];
	int rc, status;

	rc = FAULTY(n, hit, dxk_command_schedule(s->t.ctx, "later", 5,
						 dxt_in(1000 * DXT_SEC), 0));
	if (rc > 0)
		rc = dxk_command_cancel(s->t.ctx, rc);
	if (ask(s, "show commands", reply, sizeof(reply), &status) <= 0 ||
	    strstr(reply, "later"))
		return WRONG;
	return rc;
}

int attach(services *s, unsigned int n, bool *hit)
{
	char text[DXK_COMMAND_MAX];
	size_t len;
	int rc = FAULTY(n, hit, dxk_command_attach(s->me, 1));

	if (next_text(s, 0, "", text, &len, 0) !=
	    (rc ? -EPERM : -ETIMEDOUT))
		return WRONG;
	return dxk_command_attach(s->me, 0) ? WRONG : rc;
}

int detach(services *s, unsigned int n, bool *hit)
{
	char text[DXK_COMMAND_MAX];
	size_t len;
	int rc;

	if (dxk_command_attach(s->me, 1))
		return WRONG;
	rc = FAULTY(n, hit, dxk_command_attach(s->me, 0));
	if (next_text(s, 0, "", text, &len, 0) !=
	    (rc ? -ETIMEDOUT : -EPERM))
		return WRONG;
	return rc && dxk_command_attach(s->me, 0) ? WRONG : rc;
}

/* A command that the handler could not get is the next, before those behind it. */
int next_gets(services *s, unsigned int n, bool *hit)
{
	char text[DXK_COMMAND_MAX];
	size_t len;
	int rc;

	if (dxk_command_attach(s->me, 1) || tell(s, "first") || tell(s, "second"))
		return WRONG;
	rc = FAULTY(n, hit, next_text(s, 0, "", text, &len, 0));
	if (rc == DXK_COMMAND_TEXT && (len != 5 || memcmp(text, "first", 5)))
		return WRONG;
	if ((rc < 0 && !gets(s, "first")) || !gets(s, "second") || !gets(s, NULL) ||
	    dxk_command_attach(s->me, 0))
		return WRONG;
	return rc == DXK_COMMAND_TEXT ? 0 : rc;
}

struct sender {
	services *s;
	char reply[64];
	int rc, status;
	pthread_t thread;
};

static void *sender_thread(void *arg)
{
	struct sender *w = arg;

	w->rc = dxk_command_send(w->s->t.ctx, "question", 8, w->reply, sizeof(w->reply),
				 &w->status, -1);
	return NULL;
}

/*
 * Answers one command and gets the next. Whichever failed, the same call again
 * does the rest: the sender gets the answer once, the handler the next command.
 */
int next_answers(services *s, unsigned int n, bool *hit)
{
	char text[DXK_COMMAND_MAX];
	struct sender w = { .s = s };
	size_t len = 0;
	int rc, again;

	if (dxk_command_attach(s->me, 1) ||
	    pthread_create(&w.thread, NULL, sender_thread, &w))
		return WRONG;
	rc = next_text(s, 0, "", text, &len, dxt_late_ns());
	if (rc != DXK_COMMAND_TEXT || tell(s, "behind"))
		return WRONG;
	again = rc = FAULTY(n, hit, next_text(s, -EXDEV, "answer", text, &len, 0));
	if (is_fault(rc))
		again = next_text(s, -EXDEV, "answer", text, &len, 0);
	if (again != DXK_COMMAND_TEXT || len != 6 || memcmp(text, "behind", 6))
		return WRONG;
	/* also lets go a sender that was not answered */
	if (!gets(s, NULL) || dxk_command_attach(s->me, 0))
		return WRONG;
	pthread_join(w.thread, NULL);
	if (w.rc != 6 || w.status != -EXDEV || memcmp(w.reply, "answer", 6))
		return WRONG;
	return rc == DXK_COMMAND_TEXT ? 0 : rc;
}
