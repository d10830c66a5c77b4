// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who may join a context, and for what. The rights are compared with those of a real file
 * that has the same owner, group and mode, asked for by the same process.
 */
#include "join.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <linux/capability.h>

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
		dxt_tell("mode %o", (unsigned int)mode);
		ASSERT_EQ(0, open_named(&t, NAME, mode));
		ASSERT_EQ(0, chmod(oracle, mode));
		for (i = 0; i < ARRAY_SIZE(who); i++)
			EXPECT_EQ(0, as(who[i].uid, who[i].gid, who[i].more, compare, &t))
				TH_LOG("who %u, mode %04o", i, mode);
		dxt_close(&t);
	}
	unlink(oracle);
}

/* Root of another user namespace has all capabilities, none of them here. */
static int root_elsewhere(struct dxt *t)
{
	unsigned int access;

	if (unshare_user())
		return 1;
	for (access = 1; access < 16; access++)
		if (join(t, access) != -EACCES)
			return 2;
	return 0;
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
	EXPECT_EQ(0, as(0, 0, 0, root_elsewhere, &t));
	dxt_close(&t);
}

/* A context that belongs to @uid and @gid from the start: 0 or why not. */
static int give_to(const struct dxt *t, uid_t uid, gid_t gid)
{
	struct dxk_ctx_create c = {
		.flags = DXK_CTX_CHOWN, .uid = uid, .gid = gid, .mode = 0600,
	};
	int fd = dxk_ctx_create_as(t->ctl, &c);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* UID of group GID, which is in GID + 1, too */
static int gives_away(struct dxt *t)
{
	if (give_to(t, UID, GID) || give_to(t, UID, GID + 1))
		return 1;
	if (give_to(t, OTHER, GID) != -EPERM || give_to(t, 0, GID) != -EPERM)
		return 2;
	return give_to(t, UID, GID + 2) == -EPERM && give_to(t, UID, 0) == -EPERM ? 0 : 3;
}

/* As with a file, only CAP_CHOWN makes it another user's, or a group's one is not in. */
TEST(giving_away)
{
	struct dxt t;

	ASSERT_EQ(0, open_named(&t, NAME, 0600));
	EXPECT_EQ(0, as(UID, GID, GID + 1, gives_away, &t));
	EXPECT_EQ(0, give_to(&t, OTHER, GID + 2));
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
		struct dxk_request_info request[DXK_BATCH_MAX];
		struct dxk_sample sample;
		struct dxk_policy p;
		unsigned int nr;
		uint64_t count, cursor = 0;
		int fd = join(&t, access), m;

		ASSERT_LE(0, fd);
		EXPECT_EQ(r ? 0 : -EACCES, dxk_policy_get(fd, &p));
		EXPECT_EQ(r ? 0 : -EACCES, dxk_samples_read(fd, 0, &sample, 1));
		EXPECT_EQ(r ? 1 : -EACCES,
			  dxk_latencies_read(fd, DXK_LATENCY_WAIT, 0, &count, 1));
		EXPECT_EQ(r ? 0 : -EACCES, dxk_requests_read(fd, &cursor, request));
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
			EXPECT_EQ(x ? 0 : -EACCES, dxk_instrument(m, "counts", 0, 1));
			EXPECT_EQ(x ? 0 : -EACCES, dxk_label(m, 1, "one"));
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

TEST_HARNESS_MAIN
