// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * loop: an event loop that waits for input, for results and for room at a time. It makes the
 * context "small", whose requests the processes of worker.c execute, posts what it reads, and
 * prints what comes back, in the order in which it comes.
 */
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dxk.h>

enum { OWNER = 1 };

static int must(int rc, const char *what)
{
	if (rc >= 0)
		return rc;
	fprintf(stderr, "loop: %s: %s\n", what, strerror(-rc));
	exit(1);
}

int main(void)
{
	struct dxk_ctx_create create = { .name = "small", .mode = 0700 };
	int ctx = must(dxk_ctx_create_as(must(dxk_open(), "/dev/dxk"), &create), "context small");
	unsigned int answer = RJR_NONE_EXIST;
	struct dxk_result result;
	struct dxk_policy policy;
	struct pollfd fds[2];
	int me, rc, input = STDIN_FILENO;
	char text[256], reply[sizeof(text)];
	struct dxk_post_entry e = {
		.owner = OWNER, .data = (uintptr_t)text, .attrs = PXR_REJOIN | PXR_REDO,
	};
	ssize_t n = 0;	/* bytes of a text that is still to be posted */

	must(dxk_policy_get(ctx, &policy), "policy");
	policy.max_threads = 4;	/* so many workers may come */
	policy.data_size = sizeof(text);	/* for which they have room */
	must(dxk_policy_set(ctx, &policy, NULL), "policy");
	must(dxk_ctx_start(ctx), "start");
	me = must(dxk_member_create(ctx, DXK_MEMBER_CLIENT, NULL), "member");

	while (input >= 0 || answer != RJR_NONE_EXIST) {
		/* readable when a rejoin that answered RJR_NONE_READY would answer more */
		fds[1] = (struct pollfd){ .fd = me, .events = answer == RJR_NONE_READY ? POLLIN : 0 };
		/* writable when a post that was refused would not be; until then nothing is read */
		fds[1].events |= n ? POLLOUT : 0;
		fds[0] = (struct pollfd){ .fd = n ? -1 : input, .events = POLLIN };
		if (poll(fds, 2, -1) < 0)
			break;
		if (fds[0].revents && (n = read(input, text, sizeof(text))) <= 0) {
			input = -1;
			n = 0;
		}
		e.data_len = e.result_len = (uint32_t)n;
		rc = n ? dxk_post(me, &e, 1, 0, NULL) : 0;
		if (rc != -EAGAIN) {
			must(rc, "post");
			n = 0;
		}
		while (must(dxk_rejoin(me, OWNER, &result, 1, 0, reply, sizeof(reply), 0, &answer), "rejoin"))
			printf("%d: %.*s", result.status, (int)result.data_len, reply);
		fflush(stdout);
	}
	return dxk_ctx_stop(ctx, DXK_STOP_DRAIN, -1) < 0;
}
