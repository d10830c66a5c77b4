// SPDX-License-Identifier: GPL-2.0-only
/*
 * One dispatcher for many processes: names, who may join and for what, whose owner
 * cookies are whose, and what the death of any process leaves behind (DX-7, DX-49,
 * DX-55, DX-92, DX-93, DX-113, R-1, R-2, R-19 between processes).
 *
 * The rights are compared with those of a real file that has the same owner, group
 * and mode, asked for by the same process.
 */
#include "engine_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <linux/capability.h>

#define UID	4001
#define GID	4002
#define OTHER	4003
#define NAME	"dxk-test"

/* A context with a name, an owner and a mode; not started. */
static int open_named(struct dxt *t, const char *name, unsigned int mode)
{
	struct dxk_ctx_create create = {
		.flags = DXK_CTX_CHOWN,
		.uid = UID,
		.gid = GID,
		.mode = mode,
	};

	*t = (struct dxt){ .ctl = dxk_open(), .ctx = -1, .member = -1 };
	if (t->ctl < 0)
		return t->ctl;
	strncpy(create.name, name, sizeof(create.name) - 1);
	t->ctx = dxk_ctx_create_as(t->ctl, &create);
	if (t->ctx < 0) {
		int rc = t->ctx;

		close(t->ctl);
		return rc;
	}
	t->id = create.id;
	dxk_policy_get(t->ctx, &t->policy);
	t->policy.dispatch = dxt_mode();
	t->policy.max_threads = 4;
	t->policy.kernel_threads = 0;
	return 0;
}

static int join(const struct dxt *t, unsigned int access)
{
	return dxk_ctx_join(t->ctl, NAME, access, 0, NULL);
}

/* Another user, with one more group or none. */
static void become(uid_t uid, gid_t gid, gid_t more)
{
	if (setgroups(!!more, &more) || setresgid(gid, gid, gid) ||
	    setresuid(uid, uid, uid))
		_exit(99);
}

/* Runs @fn in a child: 0 when it returned 0. */
static int as(uid_t uid, gid_t gid, gid_t more, int (*fn)(struct dxt *t), struct dxt *t)
{
	pid_t pid = dxt_fork();
	int status;

	if (!pid) {
		if (uid)
			become(uid, gid, more);
		_exit(fn(t));
	}
	status = dxt_reap(pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

/* --- how many ---------------------------------------------------------------- */

static int set_limit(unsigned int nr)
{
	FILE *f = fopen("/sys/module/dxk/parameters/user_contexts", "w");

	return !f || fprintf(f, "%u\n", nr) < 0 || fclose(f);
}

static int plain(const struct dxt *t)
{
	struct dxk_ctx_create c = { .mode = 0600 };

	return dxk_ctx_create_as(t->ctl, &c);
}

/* Two contexts, no third, and one again for one that is closed. */
static int two_contexts(struct dxt *t)
{
	int a = plain(t), b = plain(t);

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

/* A user without rights has a bound, whoever opened the device; root has none. */
TEST(contexts_per_user)
{
	struct dxt t;
	int fd[5];
	int i;

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
	ASSERT_EQ(0, set_limit(0));
	EXPECT_EQ(2, as(UID, GID, 0, two_contexts, &t));
	EXPECT_EQ(0, set_limit(32));
	for (i = 0; i < 5; i++)
		close(fd[i]);
	close(t.ctx);
	close(t.ctl);
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
	EXPECT_FALSE(dxt_exists(&t, ""));
	close(t.ctl);
	ASSERT_EQ(0, open_named(&u, NAME, 0666));
	dxt_close(&u);
}

/* --- permissions --------------------------------------------------------------- */

static char oracle[64];		/* a file with the same owner, group and mode */

/* Compares all eight sets of r, w, x with what the file allows. */
static int compare(struct dxt *t)
{
	unsigned int access;
	int fd, wrong = 0;

	for (access = 1; access < 8; access++) {
		int want = faccessat(AT_FDCWD, oracle, access, AT_EACCESS) ? -errno : 0;

		fd = join(t, access);
		wrong += (fd < 0 ? fd : 0) != want;
		if (fd >= 0)
			close(fd);
	}
	/* control is the owner's */
	fd = join(t, DXK_ACCESS_CONTROL);
	wrong += fd < 0 && (fd != -EACCES || geteuid() == UID || !geteuid());
	wrong += fd >= 0 && geteuid() && geteuid() != UID;
	if (fd >= 0)
		close(fd);
	return wrong;
}

/* Owner, group, supplementary group, others: as a file's, for every mode. */
TEST(permission_matrix)
{
	static const struct {
		uid_t uid;
		gid_t gid, more;
	} who[] = {
		/* owner */ { UID, OTHER, 0 },
		/* owner in group */ { UID, GID, 0 },
		/* group */ { OTHER, GID, 0 },
		/* supplementary group */ { OTHER, OTHER, GID },
		/* others */ { OTHER, OTHER, 0 },
	};
	unsigned int mode, i, step = dxt_debug_kernel() ? 037 : 011;
	struct dxt t;
	int fd;

	snprintf(oracle, sizeof(oracle), "/tmp/dxk-join-%d", getpid());
	fd = open(oracle, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, fchown(fd, UID, GID));
	close(fd);
	for (mode = 0; mode <= 0777; mode += step) {
		ASSERT_EQ(0, open_named(&t, NAME, mode));
		ASSERT_EQ(0, chmod(oracle, mode));
		for (i = 0; i < ARRAY_SIZE(who); i++)
			EXPECT_EQ(0, as(who[i].uid, who[i].gid, who[i].more, compare, &t))
				TH_LOG("who %u, mode %04o", i, mode);
		dxt_close(&t);
	}
	unlink(oracle);
}

/* The administrator of the namespace overrides the mode. */
TEST(administrator)
{
	struct dxt t;
	int fd;

	ASSERT_EQ(0, open_named(&t, NAME, 0));
	fd = join(&t, 15);
	EXPECT_LE(0, fd);
	close(fd);
	dxt_close(&t);
}

/* Reads or writes all files below a directory of sysfs: how many could be. */
static int open_all(const char *path, int flags)
{
	char name[512], text[4096];
	struct dirent *e;
	int nr = 0, fd;
	DIR *dir = opendir(path);

	if (!dir)
		return 0;
	while ((e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
		if (e->d_type == DT_DIR) {
			nr += open_all(name, flags);
			continue;
		}
		fd = open(name, flags | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (flags == O_WRONLY)
			nr++;
		else
			nr += read(fd, text, sizeof(text)) >= 0;
		close(fd);
	}
	closedir(dir);
	return nr;
}

static int sysfs_files(const struct dxt *t, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/kernel/dxk/%u", t->id);
	return open_all(path, flags);
}

/* Whoever has no right sees nothing, posts nothing, rejoins nothing. */
static int stranger(struct dxt *t)
{
	int access;

	for (access = 1; access < 16; access++)
		if (join(t, access) != -EACCES ||
		    dxk_ctx_join_id(t->ctl, t->id, access, 0) != -EACCES)
			return 1;
	if (sysfs_files(t, O_RDONLY) || sysfs_files(t, O_WRONLY))
		return 2;
	if (dxt_store(t, "policy/max_threads", "1") != -EACCES)
		return 3;
	/* a member that it inherited is another thread's */
	if (dxt_post1(t->member, 1, DXT_NOP, 0, 0, 0, NULL) != -EPERM ||
	    dxt_rejoin(t->member, 1, &(struct dxk_result){ 0 }, 1, 1, 0, NULL) != -EPERM)
		return 4;
	return 0;
}

static int reader(struct dxt *t)
{
	int fd = join(t, DXK_ACCESS_READ);
	struct dxk_policy p;

	if (fd < 0 || sysfs_files(t, O_RDONLY) < 100 || sysfs_files(t, O_WRONLY))
		return 1;
	if (dxk_policy_get(fd, &p) || dxk_policy_set(fd, &p, NULL) != -EACCES)
		return 2;
	return 0;
}

static int owner(struct dxt *t)
{
	if (sysfs_files(t, O_RDONLY) < 100 || sysfs_files(t, O_WRONLY) < 10)
		return 1;
	return dxt_store(t, "policy/monitor_interval_ms", "70") ? 2 : 0;
}

TEST(sysfs_rights)
{
	struct dxt t;

	ASSERT_EQ(0, open_named(&t, NAME, 0640));
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(0, as(OTHER, OTHER, 0, stranger, &t));
	EXPECT_EQ(0, as(OTHER, GID, 0, reader, &t));
	EXPECT_EQ(0, as(UID, OTHER, 0, owner, &t));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "policy/monitor_interval_ms") == 70));
	EXPECT_EQ(1, dxt_num(&t, "pools/ready_use"));
	dxt_down(&t);
}

/* Each right opens its calls and no others; it stays with the descriptor. */
TEST(rights_of_a_descriptor)
{
	struct dxt t;
	int access;

	ASSERT_EQ(0, open_named(&t, NAME, 0));
	ASSERT_EQ(0, dxt_start(&t));
	for (access = 1; access < 16; access++) {
		bool r = access & DXK_ACCESS_READ, w = access & DXK_ACCESS_WRITE;
		bool x = access & DXK_ACCESS_EXECUTE, c = access & DXK_ACCESS_CONTROL;
		struct dxk_log_record rec;
		struct dxk_sample sample;
		struct dxk_policy p;
		unsigned int nr;
		int fd = join(&t, access), m;

		ASSERT_LE(0, fd);
		EXPECT_EQ(r ? 0 : -EACCES, dxk_policy_get(fd, &p));
		EXPECT_EQ(r ? 0 : -EACCES, dxk_samples_read(fd, 0, &sample, 1));
		EXPECT_EQ(c ? -EBUSY : -EACCES, dxk_ctx_start(fd));
		EXPECT_EQ(c ? 0 : -EACCES, dxk_policy_set(fd, &t.policy, NULL));
		m = dxk_log_read(fd, &rec, 1, 0);
		EXPECT_EQ(c, m >= 0);
		EXPECT_TRUE(c || m == -EACCES);
		m = dxt_ioctl(fd, DXK_IOC_HANDLE_OPEN, &(struct dxk_handle_open){
			.size = sizeof(struct dxk_handle_open), .fd = -1 });
		EXPECT_EQ(c ? -EBADF : -EACCES, m);
		m = dxt_ioctl(fd, DXK_IOC_LOG_FILE, &(struct dxk_log_file){
			.size = sizeof(struct dxk_log_file), .fd = -1 });
		EXPECT_EQ(c ? 0 : -EACCES, m);
		m = dxt_ioctl(fd, DXK_IOC_COMMAND_SEND, &(struct dxk_command_send){
			.size = sizeof(struct dxk_command_send) });
		EXPECT_EQ(c ? -EINVAL : -EACCES, m);
		if (!c)
			EXPECT_EQ(-EACCES, dxk_ctx_stop(fd, DXK_STOP_CANCEL, 0));
		m = dxk_crew_wait(fd, 0, &nr, NULL);
		EXPECT_EQ(x ? 4 : -EACCES, m);
		m = dxk_member_create(fd, DXK_MEMBER_CLIENT, &nr);
		EXPECT_EQ(w, m >= 0);
		if (m >= 0) {
			struct dxk_command_attach a = { .size = sizeof(a), .attach = 1 };

			EXPECT_LE(1000, nr);
			EXPECT_EQ(c ? 0 : -EACCES, dxt_ioctl(m, DXK_IOC_COMMAND_ATTACH, &a));
			close(m);
		} else {
			EXPECT_EQ(-EACCES, m);
		}
		m = dxk_member_create(fd, DXK_MEMBER_WORKER, &nr);
		EXPECT_EQ(x, m >= 0);
		if (m >= 0)
			close(m);
		else
			EXPECT_EQ(-EACCES, m);
		close(fd);
	}
	EXPECT_EQ(1, dxt_num(&t, "descriptors"));
	dxt_down(&t);
}

/* A descriptor that is passed on takes its rights and its owners along. */
static int passed(struct dxt *t)
{
	struct dxk_result r;
	uint32_t answer;
	int m = dxk_member_create(t->ctx, DXK_MEMBER_CLIENT, NULL);

	if (m < 0 || dxk_member_create(t->ctx, DXK_MEMBER_WORKER, NULL) != -EACCES)
		return 1;
	if (dxk_ctx_stop(t->ctx, DXK_STOP_CANCEL, 0) != -EACCES)
		return 2;
	if (dxt_rejoin(m, 77, &r, 1, 1, dxt_in(20 * DXT_SEC), &answer) != 1 ||
	    r.param != 5)
		return 3;
	return dxt_post1(m, 78, DXT_NOP, 6, PXR_REJOIN, 0, NULL) == 1 ? 0 : 4;
}

TEST(passed_descriptor)
{
	struct dxt t, u;
	struct dxk_result r;
	int fd, m;

	ASSERT_EQ(0, open_named(&t, NAME, 0600));
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, dxt_workers_start(&t, 1));
	fd = join(&t, DXK_ACCESS_WRITE);
	ASSERT_LE(0, fd);
	m = dxk_member_create(fd, DXK_MEMBER_CLIENT, NULL);
	ASSERT_LE(0, m);
	ASSERT_EQ(1, dxt_post1(m, 77, DXT_NOP, 5, PXR_REJOIN, 0, NULL));
	u = t;
	u.ctx = fd;
	/* nobody who could open it by its name */
	EXPECT_EQ(0, as(OTHER, OTHER, 0, passed, &u));
	EXPECT_EQ(1, dxt_rejoin(m, 78, &r, 1, 1, dxt_in(20 * DXT_SEC), NULL));
	EXPECT_EQ(6, r.param);
	close(m);
	close(fd);
	dxt_down(&t);
}

static void drop_caps(void)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2] = { { 0 } };

	if (syscall(SYS_capset, &h, d))
		_exit(97);
}

/* From another IPC namespace there is no such context, whatever its mode. */
static int elsewhere(struct dxt *t)
{
	struct dxt u;
	int fd;

	if (unshare(CLONE_NEWIPC))
		return 1;
	fd = join(t, DXK_ACCESS_READ);
	if (fd != -ENOENT || dxk_ctx_join_id(t->ctl, t->id, DXK_ACCESS_READ, 0) != -ENOENT)
		return 2;
	/* the name is free here, and leads here */
	if (open_named(&u, NAME, 0600))
		return 3;
	fd = join(t, DXK_ACCESS_WRITE);
	if (fd < 0 || dxt_num(&u, "descriptors") != 2 || dxt_num(t, "descriptors") != 1)
		return 4;
	dxt_close(&u);
	drop_caps();
	return sysfs_files(t, O_RDONLY) ? 5 : 0;
}

TEST(other_ipc_namespace)
{
	struct dxt t;
	int rc;

	ASSERT_EQ(0, open_named(&t, NAME, 0777));
	rc = as(0, 0, 0, elsewhere, &t);
	EXPECT_EQ(0, rc);
	EXPECT_EQ(1, dxt_num(&t, "descriptors"));
	dxt_close(&t);
}

/* --- whose owners ---------------------------------------------------------------- */

#define CLIENTS	4

struct shared {
	_Atomic unsigned int ready;
	_Atomic unsigned int go;
	_Atomic unsigned int errors;
	_Atomic unsigned int rounds[CLIENTS];
	int pid_of[CLIENTS];
};

static struct shared *all;

/*
 * DX-49, DX-55: all use the same cookies at the same time. Each gets what
 * it posted, each once, and NONE_EXIST exactly when nothing of it is left.
 */
static void reuse(struct dxt *t, unsigned int me, unsigned int rounds, unsigned int flags)
{
	int fd = dxk_ctx_join(t->ctl, NAME, DXK_ACCESS_WRITE, flags, NULL);
	int m = fd < 0 ? fd : dxk_member_create(fd, DXK_MEMBER_CLIENT, NULL);
	unsigned int i, k;

	all->errors += m < 0;
	all->ready++;
	while (!all->go)
		sched_yield();
	for (i = 0; i < rounds; i++) {
		uint64_t owner = i % 3;
		unsigned int got = 0, seen = 0;
		uint32_t answer = 0;

		for (k = 0; k < 3; k++)
			all->errors += dxt_post1(m, owner, DXT_PARAM, me << 8 | k,
						 PXR_REJOIN | PXR_WAITIF_BUSY,
						 DXK_FOREVER, NULL) != 1;
		while (got < 3) {
			struct dxk_result r[3];
			int n = dxt_rejoin(m, owner, r, 3, 1, dxt_in(60 * DXT_SEC), &answer);

			if (n <= 0) {
				all->errors++;
				break;
			}
			while (n--) {
				all->errors += r[n].param >> 8 != me ||
					       seen & 1U << (r[n].param & 255);
				seen |= 1U << (r[n].param & 255);
				got++;
			}
		}
		all->errors += dxt_rejoin(m, owner, &(struct dxk_result){ 0 }, 1, 1, 0,
					  &answer) || answer != RJR_NONE_EXIST;
		all->rounds[me]++;
	}
}

TEST(equal_cookies)
{
	unsigned int rounds = dxt_debug_kernel() ? 200 : 1000, i;
	pid_t pid[CLIENTS];
	struct dxt t;

	all = dxt_shared(sizeof(*all));
	ASSERT_EQ(0, open_named(&t, NAME, 0600));
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, dxt_workers_start(&t, 2));
	for (i = 0; i < CLIENTS; i++) {
		pid[i] = dxt_fork();
		if (!pid[i]) {
			reuse(&t, i + 1, rounds, 0);
			_exit(0);
		}
	}
	ASSERT_TRUE(EVENTUALLY(all->ready == CLIENTS));
	all->go = 1;
	for (i = 0; i < CLIENTS; i++)
		EXPECT_EQ(0, dxt_reap(pid[i]));
	EXPECT_EQ(0, all->errors);
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "owners") == 0));
	EXPECT_EQ(rounds * CLIENTS * 3, dxt_num(&t, "stats/collected"));
	munmap(all, sizeof(*all));
	dxt_down(&t);
}

/* A member of a join of its own. */
struct visitor {
	int fd;
	int m;
};

static struct visitor visit(const struct dxt *t, unsigned int flags)
{
	struct visitor v = { .fd = dxk_ctx_join(t->ctl, NAME, DXK_ACCESS_WRITE, flags, NULL) };

	v.m = v.fd < 0 ? v.fd : dxk_member_create(v.fd, DXK_MEMBER_CLIENT, NULL);
	return v;
}

static void leave(struct visitor *v)
{
	close(v->m);
	close(v->fd);
}

static uint32_t ask(int member, uint64_t owner)
{
	struct dxk_result r;
	uint32_t answer = 0;
	int n = dxt_rejoin(member, owner, &r, 1, 1, 0, &answer);

	return n < 0 ? 0 : answer;
}

/* Nobody else can poll an owner, unless both share on purpose. */
TEST(spaces)
{
	struct visitor a, b, s1, s2;
	struct dxt t;

	ASSERT_EQ(0, open_named(&t, NAME, 0600));
	ASSERT_EQ(0, dxt_start(&t));
	a = visit(&t, 0);
	b = visit(&t, 0);
	s1 = visit(&t, DXK_JOIN_SHARED);
	s2 = visit(&t, DXK_JOIN_SHARED);
	ASSERT_LE(0, a.m);
	ASSERT_LE(0, b.m);
	ASSERT_LE(0, s1.m);
	ASSERT_LE(0, s2.m);
	ASSERT_EQ(1, dxt_post1(a.m, 1, DXT_NOP, 11, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(RJR_NONE_READY, ask(a.m, 1));
	EXPECT_EQ(RJR_NONE_EXIST, ask(b.m, 1));
	EXPECT_EQ(RJR_NONE_EXIST, ask(s1.m, 1));
	EXPECT_EQ(RJR_NONE_EXIST, ask(t.member, 1));
	ASSERT_EQ(1, dxt_post1(s1.m, 1, DXT_NOP, 12, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(RJR_NONE_READY, ask(s2.m, 1));
	EXPECT_EQ(RJR_NONE_EXIST, ask(b.m, 1));
	EXPECT_EQ(RJR_NONE_EXIST, ask(t.member, 1));
	ASSERT_EQ(1, dxt_post1(t.member, 2, DXT_NOP, 13, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(RJR_NONE_EXIST, ask(s1.m, 2));
	EXPECT_EQ(RJR_NONE_EXIST, ask(a.m, 2));

	ASSERT_EQ(0, dxt_workers_start(&t, 1));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/rejoin_use") == 3));
	EXPECT_EQ(RJR_NONE_EXIST, ask(b.m, 1));
	/* the successor of one that is gone collects */
	leave(&s1);
	EXPECT_EQ(RJR_RETURNED, ask(s2.m, 1));
	EXPECT_EQ(RJR_RETURNED, ask(a.m, 1));
	EXPECT_EQ(RJR_RETURNED, ask(t.member, 2));
	leave(&a);
	leave(&b);
	leave(&s2);
	EXPECT_EQ(0, dxt_num(&t, "owners"));
	dxt_down(&t);
}

/*
 * R-2, DX-93: what one process has posted another one that shares sees, told through
 * a pipe.
 */
TEST(post_then_poll_elsewhere)
{
	unsigned int rounds = dxt_debug_kernel() ? 300 : 1500, i;
	int there[2], back[2], wrong = 0;
	struct visitor v;
	struct dxt t;
	pid_t pid;

	ASSERT_EQ(0, open_named(&t, NAME, 0600));
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, dxt_workers_start(&t, 2));
	ASSERT_EQ(0, pipe2(there, O_CLOEXEC));
	ASSERT_EQ(0, pipe2(back, O_CLOEXEC));
	pid = dxt_fork();
	if (!pid) {
		char c;

		v = visit(&t, DXK_JOIN_SHARED);
		for (i = 0; i < rounds; i++) {
			if (read(there[0], &c, 1) != 1)
				_exit(1);
			c = ask(v.m, i & 1) == RJR_NONE_EXIST;
			if (write(back[1], &c, 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	v = visit(&t, DXK_JOIN_SHARED);
	ASSERT_LE(0, v.m);
	for (i = 0; i < rounds; i++) {
		char c = 0;

		ASSERT_EQ(1, dxt_post1(v.m, i & 1, DXT_NOP, 0, PXR_REJOIN, 0, NULL));
		ASSERT_EQ(1, write(there[1], &c, 1));
		ASSERT_EQ(1, read(back[0], &c, 1));
		wrong += c;
		dxt_drain(&t, v.m, i & 1);
	}
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(0, dxt_reap(pid));
	leave(&v);
	dxt_down(&t);
}

/* --- death --------------------------------------------------------------------- */

static void wait_killed(_Atomic unsigned int *flag)
{
	*flag = 1;
	for (;;)
		pause();
}

/* Between join and attach: nobody notices. */
TEST(dies_before_it_attaches)
{
	struct dxt_snapshot before, after;
	struct dxt t;
	pid_t pid;

	all = dxt_shared(sizeof(*all));
	ASSERT_EQ(0, open_named(&t, NAME, 0600));
	ASSERT_EQ(0, dxt_start(&t));
	dxt_snapshot(&t, &before);
	pid = dxt_fork();
	if (!pid) {
		if (join(&t, DXK_ACCESS_EXECUTE | DXK_ACCESS_WRITE) < 0)
			_exit(1);
		wait_killed(&all->ready);
	}
	ASSERT_TRUE(EVENTUALLY(all->ready));
	EXPECT_EQ(2, dxt_num(&t, "descriptors"));
	kill(pid, SIGKILL);
	dxt_reap(pid);
	EXPECT_EQ(1, dxt_num(&t, "descriptors"));
	dxt_snapshot(&t, &after);
	EXPECT_EQ(NULL, dxt_differs(&before, &after));
	munmap(all, sizeof(*all));
	dxt_down(&t);
}

/*
 * A client that is killed: what it posted is executed, its results go with it, and
 * those of others stay. More results than one lock hold drops.
 */
TEST(client_dies)
{
	unsigned int nr = 700, i;
	struct dxt_gate *gate = dxt_gate_new();
	struct visitor other;
	struct dxt t;
	pid_t pid;

	all = dxt_shared(sizeof(*all));
	ASSERT_EQ(0, open_named(&t, NAME, 0600));
	t.policy.ready_entries = 2000;
	ASSERT_EQ(0, dxt_start(&t));
	other = visit(&t, 0);
	ASSERT_LE(0, other.m);
	ASSERT_EQ(1, dxt_post1(other.m, 1, DXT_NOP, 1, PXR_REJOIN, 0, NULL));
	pid = dxt_fork();
	if (!pid) {
		struct visitor v = visit(&t, 0);

		for (i = 0; i < nr; i++)
			if (dxt_post1(v.m, i % 7, DXT_NOP, i, PXR_REJOIN, 0, NULL) != 1)
				_exit(1);
		/* one that executes when it dies, and one behind it */
		if (dxt_post1(v.m, 1, DXT_GATE, DXT_PTR(gate), PXR_REJOIN, 0, NULL) != 1 ||
		    dxt_post1(v.m, 1, DXT_NOP, 0, PXR_REJOIN, 0, NULL) != 1)
			_exit(2);
		wait_killed(&all->ready);
	}
	ASSERT_TRUE(EVENTUALLY(all->ready));
	ASSERT_EQ(0, dxt_workers_start(&t, 1));
	EXPECT_TRUE(DXT_UNTIL(&t, gate->entered == 1));
	EXPECT_EQ(nr + 1, dxt_num(&t, "pools/rejoin_use"));
	EXPECT_EQ(8, dxt_num(&t, "owners"));
	kill(pid, SIGKILL);
	dxt_reap(pid);
	EXPECT_EQ(1, dxt_num(&t, "pools/rejoin_use"));
	EXPECT_EQ(2, dxt_num(&t, "owners"));
	EXPECT_EQ(nr, dxt_num(&t, "stats/vanished"));
	dxt_gate_open(gate);
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "stats/completions") == nr + 3));
	EXPECT_EQ(nr + 2, dxt_num(&t, "stats/vanished"));
	EXPECT_EQ(1, dxt_num(&t, "owners"));
	EXPECT_EQ(RJR_RETURNED, ask(other.m, 1));
	leave(&other);
	dxt_gate_free(gate);
	munmap(all, sizeof(*all));
	dxt_down(&t);
}

/* A rejoinable entry that was reserved is free again (rejoin_full=reserve, DX-96). */
TEST(client_dies_with_reserved_entries)
{
	struct visitor v, w;
	struct dxt t;

	ASSERT_EQ(0, open_named(&t, NAME, 0600));
	t.policy.rejoin_full = DXK_REJOIN_RESERVE;
	t.policy.rejoin_entries = 2;
	ASSERT_EQ(0, dxt_start(&t));
	v = visit(&t, 0);
	w = visit(&t, 0);
	ASSERT_EQ(1, dxt_post1(v.m, 1, DXT_NOP, 1, PXR_REJOIN, 0, NULL));
	ASSERT_EQ(1, dxt_post1(v.m, 1, DXT_NOP, 1, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(-EAGAIN, dxt_post1(w.m, 1, DXT_NOP, 1, PXR_REJOIN, 0, NULL));
	leave(&v);
	/* they still wait for a worker, and have their entries until then */
	EXPECT_EQ(-EAGAIN, dxt_post1(w.m, 1, DXT_NOP, 1, PXR_REJOIN, 0, NULL));
	ASSERT_EQ(0, dxt_workers_start(&t, 1));
	EXPECT_EQ(1, dxt_post1(w.m, 1, DXT_NOP, 1, PXR_REJOIN | PXR_WAITIF_BUSY,
			       dxt_in(60 * DXT_SEC), NULL));
	EXPECT_EQ(1, dxt_post1(w.m, 1, DXT_NOP, 1, PXR_REJOIN | PXR_WAITIF_BUSY,
			       dxt_in(60 * DXT_SEC), NULL));
	EXPECT_EQ(2, dxt_drain(&t, w.m, 1));
	leave(&w);
	dxt_down(&t);
}

/* The creator dies: the others go on, and the last one ends the context (DX-113). */
TEST(creator_dies)
{
	struct dxt *t = dxt_shared(sizeof(*t));
	struct dxt_worker w = { 0 };
	struct dxk_result r;
	struct visitor v;
	pid_t pid, worker;

	all = dxt_shared(sizeof(*all));
	pid = dxt_fork();
	if (!pid) {
		if (open_named(t, NAME, 0600) || dxt_start(t))
			_exit(1);
		wait_killed(&all->ready);
	}
	ASSERT_TRUE(EVENTUALLY(all->ready));
	t->ctl = dxk_open();
	v = visit(t, 0);
	ASSERT_LE(0, v.m);
	ASSERT_EQ(1, dxt_post1(v.m, 1, DXT_PARAM, 41, PXR_REJOIN, 0, NULL));
	kill(pid, SIGKILL);
	dxt_reap(pid);
	EXPECT_EQ(1, dxt_num(t, "descriptors"));
	ASSERT_EQ(1, dxt_post1(v.m, 1, DXT_PARAM, 42, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(RJR_NONE_READY, ask(v.m, 1));
	worker = dxt_fork();
	if (!worker) {
		w.t = t;
		w.ctx = join(t, DXK_ACCESS_EXECUTE);
		_exit(w.ctx < 0 || dxt_worker_loop(&w));
	}
	EXPECT_EQ(1, dxt_rejoin(v.m, 1, &r, 1, 1, dxt_in(60 * DXT_SEC), NULL));
	EXPECT_EQ(41, r.status);
	EXPECT_EQ(1, dxt_rejoin(v.m, 1, &r, 1, 1, dxt_in(60 * DXT_SEC), NULL));
	EXPECT_EQ(42, r.status);
	/* the worker goes, its request would be answered; then the last one */
	kill(worker, SIGKILL);
	dxt_reap(worker);
	EXPECT_EQ(1, dxt_num(t, "descriptors"));
	leave(&v);
	EXPECT_FALSE(dxt_exists(t, ""));
	close(t->ctl);
	munmap(t, sizeof(*t));
	munmap(all, sizeof(*all));
}

TEST_HARNESS_MAIN
