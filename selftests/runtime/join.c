// SPDX-License-Identifier: GPL-2.0-only
/*
 * One dispatcher for many processes: how many contexts a user may have, and their names
 * (DX-7, DX-113). Who may join one is in join_rights.c; whose owner cookies are whose, and
 * what the death of any process leaves behind, in join_owners.c.
 */
#include "join.h"
#include <sched.h>
#include <sys/resource.h>

#include <sys/wait.h>

/* --- how many ---------------------------------------------------------------- */

static int set_limit(int nr)
{
	FILE *f = fopen("/sys/module/dxk/parameters/user_contexts", "w");

	return !f || fprintf(f, "%d\n", nr) < 0 || fclose(f);
}

static int plain(const struct dxt *t)
{
	struct dxk_ctx_create c = { .mode = 0600 };

	return dxk_ctx_create_as(t->ctl, &c);
}

/* Two contexts, no third, and one again for one that is closed. */
static int two_contexts(struct dxt *unused)
{
	struct dxt own = { .ctl = dxk_open() }, *t = &own;
	int a = plain(t), b = plain(t);

	(void)unused;

	if (a < 0 || b < 0)
		return 1;
	if (plain(t) != -EMFILE)
		return 2;
	close(a);
	a = plain(t);
	if (a < 0)
		return 3;
	return plain(t) == -EMFILE ? 0 : 4;
}

/* By a descriptor of root's: counts for root, who has some, even if this user has none. */
static int given_device(struct dxt *t)
{
	return plain(t) == -EMFILE ? 0 : 1;
}

/* Not even one; -1 is any number. */
static int no_context(struct dxt *unused)
{
	struct dxt t = { .ctl = dxk_open() };

	(void)unused;
	return plain(&t) == -EMFILE ? 0 : 1;
}

/* A user without rights has a bound, root has none. */
TEST(contexts_per_user)
{
	struct stat st;
	struct dxt t;
	int fd[5];
	int i;

	ASSERT_EQ(0, stat(DXK_DEVICE, &st));
	ASSERT_EQ(0, chmod(DXK_DEVICE, 0666));
	ASSERT_EQ(0, open_named(&t, NAME, 0666));
	ASSERT_EQ(0, set_limit(2));
	for (i = 0; i < 5; i++) {
		fd[i] = plain(&t);
		EXPECT_LE(0, fd[i]);
	}
	EXPECT_EQ(0, as(UID, GID, 0, two_contexts, &t));
	/* those are gone, and nobody pays for another */
	EXPECT_EQ(0, as(UID, GID, 0, two_contexts, &t));
	EXPECT_EQ(0, as(OTHER, GID, 0, two_contexts, &t));
	EXPECT_EQ(0, as(OTHER, GID, 0, given_device, &t));
	ASSERT_EQ(0, set_limit(0));
	EXPECT_EQ(0, as(UID, GID, 0, no_context, &t));
	i = plain(&t);
	EXPECT_LE(0, i);
	close(i);
	ASSERT_EQ(0, set_limit(-1));
	EXPECT_EQ(2, as(UID, GID, 0, two_contexts, &t));
	EXPECT_EQ(0, set_limit(32));
	for (i = 0; i < 5; i++)
		close(fd[i]);
	close(t.ctx);
	close(t.ctl);
	chmod(DXK_DEVICE, st.st_mode & 0777);
}

/* As a user of the namespace, by this device or by one that it opens: what came of it. */
static int made_by(int ctl, uid_t uid, pid_t *pid)
{
	struct dxt t = { .ctl = ctl };
	int end[2], rc = -EPIPE;

	if (pipe(end))
		return -errno;
	*pid = fork();
	if (!*pid) {
		rc = setresuid(uid, uid, uid) ? -errno : 0;
		if (!rc && ctl < 0)
			t.ctl = dxk_open();
		if (!rc)
			rc = t.ctl < 0 ? t.ctl : plain(&t);
		if (write(end[1], &rc, sizeof(rc)) == sizeof(rc))
			pause();
		_exit(0);
	}
	if (read(end[0], &rc, sizeof(rc)) != sizeof(rc))
		rc = -EPIPE;
	close(end[0]);
	close(end[1]);
	return rc;
}

/*
 * A user who has made a namespace with a thousand users in it has two contexts in all.
 * @up: told that it is there; @down: when it has its users.
 */
static int namespace_maker(int up, int down)
{
	int rc[4], ctl, i, wrong = 0;
	pid_t pid[4];
	char c = 0;

	if (leave_chroot())
		return 1;
	become(UID, GID, 0);
	ctl = dxk_open();
	if (ctl < 0 || unshare(CLONE_NEWUSER))
		return 2;
	if (write(up, &c, 1) != 1 || read(down, &c, 1) != 1)
		return 3;
	for (i = 0; i < 4; i++)		/* the device it has, and two opened by others */
		rc[i] = made_by(i % 3 ? -1 : ctl, (uid_t)i + 1, &pid[i]);
	for (i = 0; i < 4; i++) {
		wrong += i < 2 ? rc[i] < 0 : rc[i] != -EMFILE;
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	return wrong ? 4 : 0;
}

TEST(contexts_of_a_namespace)
{
	int up[2], down[2], fd;
	char path[64], c = 0;
	struct stat st;
	pid_t pid;

	ASSERT_EQ(0, stat(DXK_DEVICE, &st));
	ASSERT_EQ(0, chmod(DXK_DEVICE, 0666));
	ASSERT_EQ(0, set_limit(2));
	ASSERT_EQ(0, pipe(up));
	ASSERT_EQ(0, pipe(down));
	pid = fork();
	if (!pid)
		_exit(namespace_maker(up[1], down[0]));
	close(up[1]);
	if (read(up[0], &c, 1) == 1) {
		/* as newuidmap(1) does */
		snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		EXPECT_EQ(14, write(fd, "0 100000 1000\n", 14));
		close(fd);
	}
	EXPECT_EQ(1, write(down[1], &c, 1));
	EXPECT_EQ(0, dxt_reap(pid));
	EXPECT_EQ(0, set_limit(32));
	chmod(DXK_DEVICE, st.st_mode & 0777);
}

/* A device that was opened for reading only: look, and join to look. */
TEST(read_only_device)
{
	struct dxk_version version;
	struct dxk_policy p;
	struct dxt t, r;
	unsigned int access;
	uint64_t id;
	int fd;

	ASSERT_EQ(0, open_named(&t, NAME, 0666));
	r = t;
	r.ctl = open(DXK_DEVICE, O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, r.ctl);
	EXPECT_EQ(0, dxk_version(r.ctl, &version));
	EXPECT_NE(-EACCES, dxk_executor_find(r.ctl, "sha256", &id));
	EXPECT_EQ(-EACCES, plain(&r));
	for (access = 1; access < 16; access++) {
		fd = join(&r, access);
		if (access == DXK_ACCESS_READ) {
			EXPECT_LE(0, fd);
			EXPECT_EQ(0, dxk_policy_get(fd, &p));
			EXPECT_EQ(-EACCES, dxk_policy_set(fd, &p, NULL));
			close(fd);
		} else {
			EXPECT_EQ(-EACCES, fd);
		}
	}
	EXPECT_EQ(-EACCES, dxk_ctx_join_id(r.ctl, t.id, DXK_ACCESS_WRITE, 0));
	close(r.ctl);
	r.ctl = open(DXK_DEVICE, O_WRONLY | O_CLOEXEC);
	fd = plain(&r);
	EXPECT_LE(0, fd);
	close(fd);
	close(r.ctl);
	EXPECT_EQ(1, dxt_num(&t, "descriptors"));
	dxt_close(&t);
}

static int set_crew(const struct dxt *own, unsigned int workers)
{
	struct dxk_policy policy;

	if (dxk_policy_get(own->ctx, &policy))
		return -1;
	policy.max_threads = policy.kernel_threads = workers;
	return dxk_policy_set(own->ctx, &policy, NULL);
}

/* A context of the caller's, with so many kernel workers if it can be started. */
static int crew(const struct dxt *t, unsigned int workers, struct dxt *own)
{
	struct dxk_ctx_create c = { .mode = 0600 };

	own->ctx = dxk_ctx_create_as(t->ctl, &c);
	own->id = c.id;
	return own->ctx < 0 ? -1 : set_crew(own, workers) ?: dxk_ctx_start(own->ctx);
}

/* Ten kernel threads at most, of which each context has three beside its workers. */
static int ten_threads(struct dxt *t)
{
	struct rlimit limit = { 10, 10 };
	struct dxt a = { 0 }, b = { 0 };

	if (setrlimit(RLIMIT_NPROC, &limit) || crew(t, 4, &a))
		return 1;
	if (crew(t, 4, &b) != -EAGAIN)
		return 2;
	/* a crew that grows meets the limit, too */
	if (set_crew(&a, 20) || !DXT_SOON(dxt_num(&a, "pools/thread_use") == 7))
		return 3;
	if (dxk_ctx_stop(a.ctx, DXK_STOP_DRAIN, -1))
		return 4;
	if (set_crew(&b, 8) || dxk_ctx_start(b.ctx) != -EAGAIN)
		return 5;
	return set_crew(&b, 7) || dxk_ctx_start(b.ctx) ? 6 : 0;
}

/* Kernel workers count for who made the context: RLIMIT_NPROC bounds all that it has. */
TEST(threads_per_user)
{
	struct dxt t;
	int i;

	ASSERT_EQ(0, open_named(&t, NAME, 0666));
	/* those of contexts that are closed end soon: whoever is next is not refused */
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(0, as(UID, GID, 0, ten_threads, &t));
		EXPECT_EQ(0, as(OTHER, GID, 0, ten_threads, &t));
	}
	dxt_close(&t);
}

/* They run where who makes the context may run. */
TEST(threads_on_its_cpus)
{
	cpu_set_t all, one, of;
	int pid[8], nr, i;
	struct dxt t;

	ASSERT_EQ(0, sched_getaffinity(0, sizeof(all), &all));
	CPU_ZERO(&one);
	CPU_SET(CPU_COUNT(&all) - 1, &one);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(one), &one));
	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = t.policy.kernel_threads = 2;
	ASSERT_EQ(0, dxt_start(&t));
	EXPECT_EQ(0, sched_setaffinity(0, sizeof(all), &all));
	nr = dxt_kthread_pids(&t, pid, 8);
	EXPECT_EQ(5, nr);
	for (i = 0; i < nr; i++) {
		CPU_ZERO(&of);
		EXPECT_EQ(0, sched_getaffinity(pid[i], sizeof(of), &of));
		EXPECT_TRUE(CPU_EQUAL(&one, &of)) TH_LOG("thread %d", pid[i]);
	}
	dxt_down(&t);
}

/* --- whose --------------------------------------------------------------------- */

static struct dxk_ctx_join asked(unsigned int flags, uid_t uid)
{
	struct dxk_ctx_join j = { .access = DXK_ACCESS_WRITE, .flags = flags, .uid = uid };

	strcpy(j.name, NAME);
	return j;
}

/* In a user namespace without numbers: nobody has the owner's, not even ~0. */
static int without_numbers(struct dxt *t)
{
	struct dxk_ctx_join j = asked(0, 0);
	int fd;

	if (unshare_user())
		return 1;
	fd = dxk_ctx_join_as(t->ctl, &j);
	if (fd < 0 || j.uid != ~0U || j.gid != ~0U || j.mode != 0666)
		return 2;
	close(fd);
	for (uid_t uid = 65533; uid < 65536; uid++) {
		j = asked(DXK_JOIN_OWNER, uid);
		if (dxk_ctx_join_as(t->ctl, &j) != -EPERM)
			return 3;
	}
	j = asked(DXK_JOIN_OWNER, -1U);
	return dxk_ctx_join_as(t->ctl, &j) == -EPERM ? 0 : 4;
}

/*
 * Who joins is told whose the context is, and can ask for an owner before it is made a
 * descriptor: anybody could have taken the name.
 */
TEST(owner)
{
	struct dxk_ctx_join j = asked(0, 77);
	struct dxt t;
	int fd;

	ASSERT_EQ(0, open_named(&t, NAME, 0666));
	fd = dxk_ctx_join_as(t.ctl, &j);
	ASSERT_LE(0, fd);
	EXPECT_EQ(t.id, j.id);
	EXPECT_EQ(UID, j.uid);
	EXPECT_EQ(GID, j.gid);
	EXPECT_EQ(0666, j.mode);
	EXPECT_EQ(0, j.reserved);
	close(fd);

	j = asked(DXK_JOIN_OWNER, UID);
	fd = dxk_ctx_join_as(t.ctl, &j);
	EXPECT_LE(0, fd);
	EXPECT_EQ(UID, j.uid);
	close(fd);
	j = asked(DXK_JOIN_OWNER, OTHER);
	EXPECT_EQ(-EPERM, dxk_ctx_join_as(t.ctl, &j));
	EXPECT_EQ(OTHER, j.uid);
	EXPECT_EQ(-1, j.fd);
	j = asked(DXK_JOIN_OWNER | DXK_JOIN_BY_ID, 0);
	memset(j.name, 0, sizeof(j.name));
	j.id = t.id;
	EXPECT_EQ(-EPERM, dxk_ctx_join_as(t.ctl, &j));
	j = asked(DXK_JOIN_OWNER << 1, UID);
	EXPECT_EQ(-EOPNOTSUPP, dxk_ctx_join_as(t.ctl, &j));
	j = asked(0, 0);
	j.reserved = 1;
	EXPECT_EQ(-EINVAL, dxk_ctx_join_as(t.ctl, &j));
	EXPECT_EQ(0, as(0, 0, 0, without_numbers, &t));
	EXPECT_EQ(1, dxt_num(&t, "descriptors"));
	dxt_close(&t);
}

/* --- names ------------------------------------------------------------------- */

static int create_raw(int ctl, struct dxk_ctx_create *c)
{
	c->size = sizeof(*c);
	return dxt_ioctl(ctl, DXK_IOC_CTX_CREATE, c);
}

/* A name fits into a path and onto a terminal; everything else of bad input. */
TEST(bad_names)
{
	static const char *const bad[] = {
		"a/b", "/", "a\nb", "\x01", "a b", " ", "\x7f", ".", "..", "\xc3\xa4", "a\t",
	};
	struct dxk_ctx_create c = { 0 };
	struct dxk_ctx_join j;
	struct dxt t;
	unsigned int i;
	int fd;

	ASSERT_EQ(0, open_named(&t, NAME, 0600));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		c = (struct dxk_ctx_create){ .mode = 0600, .fd = -7 };
		strcpy(c.name, bad[i]);
		EXPECT_EQ(-EINVAL, create_raw(t.ctl, &c))
			TH_LOG("name %u", i);
		EXPECT_EQ(-7, c.fd);
		EXPECT_EQ(-EINVAL, dxk_ctx_join(t.ctl, bad[i], DXK_ACCESS_READ, 0, NULL));
	}
	c = (struct dxk_ctx_create){ .mode = 0600 };
	memset(c.name, 'n', sizeof(c.name));
	EXPECT_EQ(-EINVAL, create_raw(t.ctl, &c));
	c.name[sizeof(c.name) - 1] = 0;
	ASSERT_EQ(0, create_raw(t.ctl, &c));
	close(c.fd);

	c = (struct dxk_ctx_create){ .mode = 01000 };
	EXPECT_EQ(-EINVAL, create_raw(t.ctl, &c));
	c = (struct dxk_ctx_create){ .reserved = 1 };
	EXPECT_EQ(-EINVAL, create_raw(t.ctl, &c));
	c = (struct dxk_ctx_create){ .uid = UID };	/* without the flag */
	EXPECT_EQ(-EINVAL, create_raw(t.ctl, &c));
	c = (struct dxk_ctx_create){ .flags = DXK_CTX_CHOWN, .uid = -1U };
	EXPECT_EQ(-EINVAL, create_raw(t.ctl, &c));

	j = (struct dxk_ctx_join){ .size = sizeof(j), .access = DXK_ACCESS_READ,
				   .abi = DXK_ABI_VERSION, .name = NAME, .fd = -7 };
	j.abi++;
	EXPECT_EQ(-EPROTONOSUPPORT, dxt_ioctl(t.ctl, DXK_IOC_CTX_JOIN, &j));
	j.abi = DXK_ABI_VERSION;
	j.access = 0;
	EXPECT_EQ(-EINVAL, dxt_ioctl(t.ctl, DXK_IOC_CTX_JOIN, &j));
	j.access = 0x10;
	EXPECT_EQ(-EOPNOTSUPP, dxt_ioctl(t.ctl, DXK_IOC_CTX_JOIN, &j));
	j.access = DXK_ACCESS_READ;
	j.flags = DXK_JOIN_BY_ID;	/* and a name */
	EXPECT_EQ(-EINVAL, dxt_ioctl(t.ctl, DXK_IOC_CTX_JOIN, &j));
	j.flags = 0;
	memset(j.name, 'n', sizeof(j.name));
	EXPECT_EQ(-EINVAL, dxt_ioctl(t.ctl, DXK_IOC_CTX_JOIN, &j));
	EXPECT_EQ(-7, j.fd);
	EXPECT_EQ(-ENOENT, dxk_ctx_join(t.ctl, "nobody", DXK_ACCESS_READ, 0, NULL));
	EXPECT_EQ(-ENOENT, dxk_ctx_join_id(t.ctl, 4000000, DXK_ACCESS_READ, 0));
	fd = dxk_ctx_join_id(t.ctl, t.id, DXK_ACCESS_READ, 0);
	EXPECT_LE(0, fd);
	close(fd);
	EXPECT_EQ(1, dxt_num(&t, "descriptors"));
	dxt_close(&t);
}

/* A name is taken as long as a descriptor of its context is open, whosever. */
TEST(second_creator)
{
	struct dxt t, u;
	char text[64];
	int fd;

	ASSERT_EQ(0, open_named(&t, NAME, 0640));
	EXPECT_TRUE(dxt_text(&t, text, sizeof(text), "name"));
	EXPECT_STREQ(NAME, text);
	EXPECT_EQ(UID, dxt_num(&t, "uid"));
	EXPECT_EQ(GID, dxt_num(&t, "gid"));
	EXPECT_TRUE(dxt_text(&t, text, sizeof(text), "mode"));
	EXPECT_STREQ("0640", text);
	EXPECT_EQ(-EEXIST, open_named(&u, NAME, 0666));
	ASSERT_EQ(0, open_named(&u, NAME "2", 0600));
	EXPECT_NE(t.id, u.id);
	dxt_close(&u);

	fd = join(&t, DXK_ACCESS_READ);
	ASSERT_LE(0, fd);
	EXPECT_EQ(2, dxt_num(&t, "descriptors"));
	close(t.ctx);
	EXPECT_EQ(1, dxt_num(&t, "descriptors"));
	EXPECT_EQ(-EEXIST, open_named(&u, NAME, 0666));
	close(fd);
	/* its name is free at once */
	close(t.ctl);
	ASSERT_EQ(0, open_named(&u, NAME, 0666));
	EXPECT_TRUE(u.id == t.id || DXT_SOON(!dxt_exists(&t, "")));
	dxt_close(&u);
}

TEST_HARNESS_MAIN
