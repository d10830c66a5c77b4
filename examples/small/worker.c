// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * worker: joins the context "small", which loop.c makes, by its name, and executes its
 * requests: it makes their letters large. Any number of them may run, and die.
 */
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <dxk.h>

int main(void)
{
	int ctl = dxk_open();
	int ctx = ctl < 0 ? ctl : dxk_ctx_join(ctl, "small", DXK_ACCESS_EXECUTE, 0, NULL);
	int me = ctx < 0 ? ctx : dxk_member_create(ctx, DXK_MEMBER_WORKER, NULL);
	unsigned int nr_done = 0;
	struct dxk_done done;
	struct dxk_work work;
	char in[256], out[256];
	int rc = me;

	while (rc >= 0) {
		/* gives back what it has done, and waits for the next request */
		rc = dxk_next(me, &done, nr_done, NULL, &work, 1, in, sizeof(in), -1);
		nr_done = rc > 0;
		if (rc <= 0)
			continue;
		done = (struct dxk_done){
			.ticket = work.ticket,
			.status = (int)work.data_len,
			.data = (uintptr_t)out,
			.data_len = work.data_len < work.result_len ? work.data_len : work.result_len,
		};
		for (uint32_t i = 0; i < done.data_len; i++)
			out[i] = (char)toupper((unsigned char)in[i]);
	}
	if (rc == -ESHUTDOWN)	/* the context has ended */
		return 0;
	fprintf(stderr, "worker: %s\n", strerror(-rc));
	return 1;
}
