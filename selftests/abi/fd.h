/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of descriptors share. */
#ifndef FD_H
#define FD_H

#include "lib/dxt.h"

#include <stdio.h>
#include <sys/socket.h>

#define OWNER	7
#define NOBODY	65534

static inline bool has_member(const struct dxt *t, unsigned int id)
{
	char path[32];

	snprintf(path, sizeof(path), "threads/%u/state", id);
	return dxt_exists(t, path);
}

/* Directory of the context: it goes with the last descriptor. */
static inline bool is_there(const struct dxt *t)
{
	return dxt_exists(t, "state");
}

#define SOON(t, cond)	EXPECT_TRUE(DXT_UNTIL(t, cond))

/* The result of every call of a member by somebody else: -EPERM, or the first other. */
static inline int all_refused(int member, bool worker)
{
	struct dxk_post_entry e = dxt_entry(OWNER, DXT_NOP, 0, 0);
	struct dxk_result r;
	struct dxk_work w;
	char text[DXK_COMMAND_MAX];
	size_t len = sizeof(text);
	int rc[] = {
		dxk_post(member, &e, 1, 0, NULL),
		dxk_rejoin(member, OWNER, &r, 1, 1, NULL, 0, 0, NULL),
		worker ? dxk_next(member, NULL, 0, NULL, &w, 1, NULL, 0, 0) : -EPERM,
		dxk_should_stop(member, 0),
		dxk_log_write(member, "x", 1, 0, 0),
		dxk_command_attach(member, 1),
		dxk_command_next(member, 0, NULL, 0, text, &len, 0),
	};
	unsigned int i;

	for (i = 0; i < sizeof(rc) / sizeof(rc[0]); i++)
		if (rc[i] != -EPERM)
			return rc[i];
	return -EPERM;
}

static inline bool collect_status(const struct dxt *t, int status)
{
	struct dxk_result r;

	return dxt_rejoin(t->member, OWNER, &r, 1, 1,
			  dxt_late(), NULL) == 1 &&
	       r.status == status;
}

static inline int post_one(const struct dxt *t, uint64_t exec, uint64_t param)
{
	return dxt_post1(t->member, OWNER, exec, param, PXR_REJOIN, 0, NULL);
}

/* What another thread calls, and what came of it. */
struct other {
	const struct dxt *t;
	int fd;
	_Atomic int rc;
	_Atomic int tid;
	_Atomic int done;
	struct dxk_work work;
};

static inline int send_fds(int sock, const int *fd, unsigned int nr)
{
	char c = 'c', room[CMSG_SPACE(8 * sizeof(int))] = { 0 };
	struct iovec iov = { &c, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = room, .msg_controllen = CMSG_SPACE(nr * sizeof(int)),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(nr * sizeof(int));
	memcpy(CMSG_DATA(cmsg), fd, nr * sizeof(int));
	return sendmsg(sock, &msg, 0) == 1 ? 0 : -errno;
}

#endif /* FD_H */
