// SPDX-License-Identifier: GPL-2.0-only
/*
 * DX-113: the module goes when the last descriptor is closed, without a trace, and
 * comes again; while anybody uses it, in whatever state, it stays and all goes on.
 * The modules that run.sh loaded are loaded again at the end. A module that uses it is
 * in module_executors.c, that it goes and comes many times in module_again.c.
 */
#include "module_test.h"

#include <sys/epoll.h>
#include <sys/stat.h>

static bool works(const struct dxt *t)
{
	struct dxk_result r;

	return dxt_post1(t->member, OWNER, DXT_PARAM, 5, PXR_REJOIN, 0, NULL) == 1 &&
	       dxt_rejoin(t->member, OWNER, &r, 1, 1, dxt_late(),
			  NULL) == 1 && r.status == 5;
}

TEST_F(module, nobody)
{
	GOES();
}

TEST_F(module, control)
{
	struct dxk_version version;
	int ctl = dxk_open();

	STAYS();
	EXPECT_EQ(0, dxk_version(ctl, &version));
	close(ctl);
	GOES();
}

/* Made and not started; started; stopped; and when a member is all that is left. */
TEST_F(module, context)
{
	struct dxt *t = &self->t;

	ASSERT_EQ(0, dxt_open(t));
	close(t->ctl);
	t->ctl = -1;
	STAYS();
	ASSERT_EQ(0, dxt_start(t));
	ASSERT_EQ(0, dxt_workers_start(t, 2));
	STAYS();
	EXPECT_TRUE(works(t));
	EXPECT_EQ(0, dxk_ctx_stop(t->ctx, DXK_STOP_DRAIN, -1));
	STAYS();
	while (t->workers)
		dxt_worker_end(t->workers);
	EXPECT_EQ(0, dxk_ctx_start(t->ctx));
	ASSERT_EQ(0, dxt_workers_start(t, 1));
	EXPECT_TRUE(works(t));
	dxk_ctx_stop(t->ctx, DXK_STOP_CANCEL, -1);
	dxt_worker_end(t->workers);
	close(t->ctx);
	t->ctx = -1;
	STAYS();
	EXPECT_EQ(-ESHUTDOWN, dxt_post1(t->member, OWNER, DXT_NOP, 0, 0, 0, NULL));
	dxt_close(t);
	GOES();
}

/* Workers of another process, one idle and one that executes. */
TEST_F(module, workers_elsewhere)
{
	struct dxt_gate *gate = dxt_gate_new();
	struct dxt *t = &self->t;
	struct dxk_result r;
	pid_t pid;

	ASSERT_EQ(0, dxt_up(t, 0));
	pid = dxt_worker_process(t, 2);
	ASSERT_LT(0, pid);
	STAYS();
	EXPECT_TRUE(works(t));
	ASSERT_EQ(1, dxt_post1(t->member, OWNER, DXT_GATE, DXT_PTR(gate), PXR_REJOIN, 0,
			       NULL));
	EXPECT_TRUE(DXT_UNTIL(t, gate->entered));
	STAYS();
	dxt_gate_open(gate);
	EXPECT_EQ(1, dxt_rejoin(t->member, OWNER, &r, 1, 1,
				dxt_late(), NULL));
	dxt_down(t);
	/* it has copies, and ends by itself, for Stop told its workers */
	EXPECT_EQ(0, dxt_reap(pid));
	GOES();
	dxt_gate_free(gate);
}

/* Results that nobody collects hold the module only with their context. */
TEST_F(module, results)
{
	struct dxt *t = &self->t;
	int i;

	ASSERT_EQ(0, dxt_up(t, 1));
	for (i = 0; i < 20; i++)
		ASSERT_EQ(1, dxt_post1(t->member, OWNER + i % 3, DXT_NOP, 0, PXR_REJOIN, 0,
				       NULL));
	EXPECT_TRUE(DXT_UNTIL(t, dxt_num(t, "pools/rejoin_use") == 20));
	STAYS();
	EXPECT_EQ(7, dxt_drain(t, t->member, OWNER));
	STAYS();
	dxt_down(t);
	GOES();
}

/*
 * A process that was killed a moment ago, as a client, a worker that executes and the
 * only one to have the context: it is in use until it is not, and then it goes.
 */
TEST_F(module, killed)
{
	_Atomic int *ready = dxt_shared(sizeof(*ready));
	int i, rc;

	for (i = 0; i < times(4); i++) {
		pid_t pid = dxt_fork();

		ASSERT_LE(0, pid);
		if (!pid) {
			struct dxt_gate *gate = dxt_gate_new();
			struct dxt t;

			if (dxt_up(&t, 2))
				_exit(1);
			while (gate->entered < 2)
				dxt_post1(t.member, OWNER, DXT_GATE, DXT_PTR(gate),
					  PXR_REJOIN, 0, NULL);
			*ready = i + 1;
			dxt_rejoin(t.member, OWNER, &(struct dxk_result){ 0 }, 1, 1,
				   DXK_FOREVER, NULL);
			_exit(2);
		}
		EXPECT_TRUE(DXT_SOON(*ready == i + 1));
		STAYS();
		kill(pid, SIGKILL);
		/* no wait for its end */
		EXPECT_TRUE(DXT_SOON((rc = unload("dxk")) != -EWOULDBLOCK));
		EXPECT_EQ(0, rc);
		EXPECT_EQ(NULL, left_over()) TH_LOG("%s", left_over());
		EXPECT_EQ(SIGKILL, dxt_reap(pid));
		ASSERT_EQ(0, load_all(false));
	}
}

static void *send_command(void *arg)
{
	struct dxt *t = arg;
	char reply[16] = "";
	int status = 0, rc;

	rc = dxk_command_send(t->ctx, "ping", 4, reply, sizeof(reply), &status, -1);
	return (void *)(intptr_t)(rc == 4 && !status && !memcmp(reply, "pong", 4));
}

/* A handler that holds a command, a sender that waits, a timed one to come. */
TEST_F(module, command)
{
	struct dxt *t = &self->t;
	char text[DXK_COMMAND_MAX];
	pthread_t thread;
	void *right = NULL;
	size_t len;
	int rc;

	ASSERT_EQ(0, dxt_up(t, 0));
	ASSERT_EQ(0, dxk_command_attach(t->member, 1));
	EXPECT_LT(0, dxk_command_schedule(t->ctx, "later", 5, dxt_in(3600 * DXT_SEC), 0));
	ASSERT_EQ(0, pthread_create(&thread, NULL, send_command, t));
	do {
		len = sizeof(text);
		rc = dxk_command_next(t->member, 0, NULL, 0, text, &len, -1);
	} while (rc == DXK_COMMAND_TICK);
	EXPECT_EQ(DXK_COMMAND_TEXT, rc);
	STAYS();
	do {
		len = sizeof(text);
		rc = dxk_command_next(t->member, 0, "pong", 4, text, &len, 0);
	} while (rc == DXK_COMMAND_TICK);
	pthread_join(thread, &right);
	EXPECT_NE(NULL, right);
	STAYS();
	dxt_down(t);
	GOES();
}

/* The log goes to a file: the file does not keep the module, nor the module the file. */
TEST_F(module, log_file)
{
	struct dxt *t = &self->t;
	struct stat st;
	int fd;

	fd = open("/tmp", O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, dxt_up(t, 0));
	EXPECT_EQ(0, dxk_log_file(t->ctx, fd));
	STAYS();
	EXPECT_EQ(0, dxk_log_write(t->member, "x", 1, 0, 0));
	dxt_close(t);
	ASSERT_EQ(0, fstat(fd, &st));
	EXPECT_LT(0, st.st_size);
	GOES();
	EXPECT_EQ(1, write(fd, "y", 1));
	close(fd);
}

/* A context that has another opener only; whoever made it is gone. */
TEST_F(module, joined)
{
	struct dxk_ctx_create create = { .mode = 0600, .name = "dxk-module" };
	struct dxk_policy policy;
	int ctl, first, second;

	ctl = dxk_open();
	first = dxk_ctx_create_as(ctl, &create);
	ASSERT_LE(0, first);
	second = dxk_ctx_join(ctl, "dxk-module", DXK_ACCESS_READ | DXK_ACCESS_CONTROL,
			      0, NULL);
	ASSERT_LE(0, second);
	close(ctl);
	close(first);
	STAYS();
	EXPECT_EQ(0, dxk_policy_get(second, &policy));
	EXPECT_EQ(0, dxk_ctx_start(second));
	STAYS();
	close(second);
	GOES();
}

/*
 * Those who only look on do not keep it: an epoll that watched, a file of sysfs that
 * is open and polled, tracepoints that are on.
 */
TEST_F(module, onlookers)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLPRI };
	int ep = epoll_create1(EPOLL_CLOEXEC), files[3], i;
	static const char *const name[] = {
		"state", "stats/stalls", "policy/max_threads",
	};
	struct dxt *t = &self->t;
	char path[128], c;

	if (!access(EVENTS "/enable", W_OK))
		EXPECT_EQ(0, dxt_write(EVENTS "/enable", "1"));
	ASSERT_EQ(0, dxt_up(t, 1));
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, t->member, &e));
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, t->ctx, &e));
	for (i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "/sys/kernel/dxk/%u/%s", t->id, name[i]);
		files[i] = open(path, O_RDONLY | O_CLOEXEC);
		ASSERT_LE(0, files[i]);
		EXPECT_EQ(1, read(files[i], &c, 1));
		ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, files[i], &e));
	}
	STAYS();
	EXPECT_TRUE(works(t));
	dxt_down(t);
	GOES();
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(-1, pread(files[i], &c, 1, 0));
		EXPECT_EQ(ENODEV, errno);
		EXPECT_EQ(0, epoll_ctl(ep, EPOLL_CTL_DEL, files[i], NULL));
		close(files[i]);
	}
	close(ep);
	/* the new one's are off and can be put on */
	EXPECT_FALSE(says(EVENTS "/enable", "1"));
}

TEST_HARNESS_MAIN
