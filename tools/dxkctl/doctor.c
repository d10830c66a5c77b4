// SPDX-License-Identifier: GPL-2.0-only
/*
 * doctor: why /dev/dxk cannot be used. The checks follow the way that a program's
 * open() takes: module, device node, permission, version. The first that fails is
 * the reason, and the later ones cannot be checked. Then the problems of dxkd, if one runs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <glob.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <json-c/json.h>
#include <libkmod.h>

#include "ctl.h"

static void good(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void good(const char *format, ...)
{
	va_list args;

	fputs("ok    ", stdout);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

/* The error, and then the commands that help. */
static void wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void wrong(const char *format, ...)
{
	va_list args;

	fputs("WRONG ", stdout);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

static void help(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void help(const char *format, ...)
{
	va_list args;

	fputs("      do: ", stdout);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

static bool exists(const char *path)
{
	return !access(path, F_OK);
}

/* --- a module that is not loaded ------------------------------------------- */

/* Whether there is a word "NAME=...,dxk,..." on the kernel's command line. */
static bool on_command_line(const char *name)
{
	char line[4096], *word, *rest = line, *item;
	size_t len = strlen(name);

	if (sysfs_read(AT_FDCWD, "/proc/cmdline", line, sizeof(line)) < 0)
		return false;
	while ((word = strsep(&rest, " "))) {
		if (strncmp(word, name, len) || word[len] != '=')
			continue;
		word += len + 1;
		while ((item = strsep(&word, ",")))
			if (!strcmp(item, "dxk"))
				return true;
	}
	return false;
}

static bool listed(struct kmod_config_iter *iter)
{
	bool found = false;

	while (iter && kmod_config_iter_next(iter))
		found |= !strcmp(kmod_config_iter_get_key(iter), "dxk");
	kmod_config_iter_free_iter(iter);
	return found;
}

/* Whether the kernel accepts signed modules only. */
static const char *signed_only(void)
{
	char text[128];

	if (sysfs_read(AT_FDCWD, "/sys/module/module/parameters/sig_enforce", text,
		       sizeof(text)) > 0 && text[0] == 'Y')
		return "module.sig_enforce is set";
	/* "none [integrity] confidentiality" */
	if (sysfs_read(AT_FDCWD, "/sys/kernel/security/lockdown", text,
		       sizeof(text)) > 0 && !strstr(text, "[none]"))
		return "the kernel is locked down, as under Secure Boot";
	return NULL;
}

/* The signer, to be freed; NULL if it is not signed. */
static char *signer_of(struct kmod_module *module)
{
	struct kmod_list *info = NULL, *entry;
	char *signer = NULL;

	if (kmod_module_get_info(module, &info) < 0)
		return NULL;
	kmod_list_foreach(entry, info) {
		const char *value = kmod_module_info_get_value(entry);

		if (!strcmp(kmod_module_info_get_key(entry), "signer"))
			signer = strdup(*value ? value : "?");
	}
	kmod_module_info_free_list(info);
	return signer;
}

static void why_not_signed(struct kmod_module *module)
{
	const char *reason = signed_only();
	char *signer;

	if (!reason)
		return;
	signer = signer_of(module);
	if (!signer) {
		wrong("the module is not signed, and %s", reason);
		if (exists("/var/lib/dkms/mok.pub"))
			help("dkms install --force dxk/VERSION (it signs with /var/lib/dkms/mok.key)");
		else
			help("sign it: /usr/src/linux-headers-$(uname -r)/scripts/sign-file sha256 KEY CERT %s",
			     kmod_module_get_path(module));
	} else {
		wrong("the module is signed by '%s', and %s: that key must be known",
		      signer, reason);
		help("mokutil --test-key CERT, where DKMS has /var/lib/dkms/mok.pub");
	}
	help("mokutil --import CERT, boot, enroll the key");
	free(signer);
}

static void why_not_built(const char *release)
{
	glob_t found = { };
	bool dkms;

	wrong("no module dxk for this kernel, %s", release);
	/* in extra/ or updates/, or one deeper */
	if (!glob("/lib/modules/*/*/dxk.ko*", 0, NULL, &found) ||
	    !glob("/lib/modules/*/*/*/dxk.ko*", GLOB_APPEND, NULL, &found))
		printf("      there is one for another kernel: %s\n", found.gl_pathv[0]);
	globfree(&found);
	dkms = exists("/var/lib/dkms/dxk");
	help("apt install linux-headers-%s", release);
	if (dkms)
		help("dkms autoinstall -k %s", release);
	else
		help("make module && make modules_install && depmod, in the source of dxk; or install its DKMS package");
}

/* The module is not in the kernel. */
static void why_not_loaded(void)
{
	struct kmod_ctx *kmod = kmod_new(NULL, NULL);
	struct kmod_list *list = NULL;
	struct kmod_module *module;
	struct utsname uts;
	char text[16];

	uname(&uts);
	if (!kmod || kmod_module_new_from_lookup(kmod, "dxk", &list) < 0 || !list) {
		why_not_built(uts.release);
		goto out;
	}
	module = kmod_module_get_module(list);
	if (!kmod_module_get_path(module) || !exists(kmod_module_get_path(module))) {
		why_not_built(uts.release);
		goto out_module;
	}
	good("the module is there: %s", kmod_module_get_path(module));
	if (sysfs_read(AT_FDCWD, "/proc/sys/kernel/modules_disabled", text,
		       sizeof(text)) > 0 && text[0] == '1') {
		wrong("kernel.modules_disabled is set: no module can be loaded any more");
		help("boot, and load dxk before that is set");
	} else if (on_command_line("module_blacklist")) {
		wrong("the kernel's command line has module_blacklist=dxk");
		help("remove it from the boot loader's configuration, and boot");
	} else if (listed(kmod_config_get_install_commands(kmod))) {
		wrong("a line 'install dxk ...' says what modprobe is to do instead");
		help("grep -rs dxk /etc/modprobe.d /run/modprobe.d /lib/modprobe.d, and remove it");
	} else {
		wrong("the module is not loaded");
		if (listed(kmod_config_get_blacklists(kmod)))
			help("it is blacklisted, and so not loaded at boot: grep -rs dxk /etc/modprobe.d /run/modprobe.d /lib/modprobe.d /proc/cmdline");
		why_not_signed(module);
		help("modprobe dxk");
	}
out_module:
	kmod_module_unref(module);
out:
	if (list)
		kmod_module_unref_list(list);
	kmod_unref(kmod);
}

/* --- the device ------------------------------------------------------------ */

/* The device's number as the kernel shows it. */
static bool device_number(dev_t *dev)
{
	unsigned int major, minor;
	char text[32];

	if (sysfs_read(AT_FDCWD, "/sys/class/misc/dxk/dev", text, sizeof(text)) < 0 ||
	    sscanf(text, "%u:%u", &major, &minor) != 2)
		return false;
	*dev = makedev(major, minor);
	return true;
}

static bool device_ok(struct stat *st)
{
	dev_t dev;

	if (!device_number(&dev)) {
		wrong("the module is loaded, but has no device");
		help("dmesg | grep dxk");
		return false;
	}
	if (lstat(DXK_DEVICE, st)) {
		wrong("%s: %s", DXK_DEVICE, strerror(errno));
	} else if (S_ISLNK(st->st_mode) ? stat(DXK_DEVICE, st) : 0) {
		wrong("%s is a link to nothing", DXK_DEVICE);
	} else if (!S_ISCHR(st->st_mode) || st->st_rdev != dev) {
		wrong("%s is not the device %u:%u", DXK_DEVICE, major(dev), minor(dev));
		help("rm %s", DXK_DEVICE);
	} else {
		return true;
	}
	help("udevadm trigger --action=add /sys/class/misc/dxk");
	help("mknod -m 600 %s c %u %u, where there is no udev; give a container the device",
	     DXK_DEVICE, major(dev), minor(dev));
	return false;
}

/* All groups: a directory service may return hundreds. */
struct groups {
	gid_t *list;
	int nr;
};

static bool in_groups(gid_t gid, const struct groups *g)
{
	int i;

	for (i = 0; i < g->nr; i++)
		if (g->list[i] == gid)
			return true;
	return false;
}

static void groups_room(struct groups *g, int nr)
{
	g->nr = nr;
	g->list = calloc((size_t)nr + 1, sizeof(*g->list));
	if (!g->list)
		g->nr = 0;
}

/* Of this process, and of the user, who may have got more since the process started. */
static struct groups groups_now(void)
{
	struct groups g;

	groups_room(&g, getgroups(0, NULL));
	g.nr = g.nr ? getgroups(g.nr, g.list) : 0;
	if (g.nr < 0)
		g.nr = 0;
	return g;
}

static struct groups groups_then(const struct passwd *pw)
{
	struct groups g = { 0 };
	int nr = 0;

	if (!pw)
		return g;
	getgrouplist(pw->pw_name, pw->pw_gid, NULL, &nr);
	groups_room(&g, nr);
	if (getgrouplist(pw->pw_name, pw->pw_gid, g.list, &g.nr) < 0)
		g.nr = 0;
	return g;
}

/* open() returned EACCES or EPERM. */
static void why_not_permitted(const struct stat *st, int err)
{
	const struct passwd *pw = getpwuid(geteuid());
	const struct group *gr = getgrgid(st->st_gid);
	const char *user = pw ? pw->pw_name : "YOU";
	struct groups now = groups_now(), then = groups_then(pw);
	char group[32];

	snprintf(group, sizeof(group), "%u", st->st_gid);
	if (gr)
		snprintf(group, sizeof(group), "%s", gr->gr_name);
	wrong("%s may not open %s: %s (owner %u, group %s, mode %#o)", user, DXK_DEVICE,
	      strerror(err), st->st_uid, group, st->st_mode & 07777);
	if ((st->st_mode & 0060) != 0060) {
		gr = getgrnam("dxk");
		if (!gr)
			help("groupadd --system dxk");
		help("echo 'KERNEL==\"dxk\", GROUP=\"dxk\", MODE=\"0660\"' >/etc/udev/rules.d/60-dxk.rules");
		help("udevadm control --reload; udevadm trigger --action=add /sys/class/misc/dxk");
		if (!gr || !in_groups(gr->gr_gid, &then))
			help("adduser %s dxk, and log in anew", user);
	} else if (in_groups(st->st_gid, &now) || getegid() == st->st_gid) {
		help("you are in the group: look for an ACL, a container's device list or a security policy: getfacl %s",
		     DXK_DEVICE);
	} else if (in_groups(st->st_gid, &then)) {
		help("newgrp %s, or log in anew: you are in the group, but this session began before",
		     group);
	} else {
		help("adduser %s %s, and log in anew", user, group);
	}
	free(now.list);
	free(then.list);
}

static bool version_ok(int ctl)
{
	struct dxk_version version;
	int err = dxk_version(ctl, &version);

	if (err) {
		wrong("%s does not answer as dxk: %s", DXK_DEVICE, strerror(-err));
		help("rmmod dxk; modprobe dxk");
		return false;
	}
	/* a newer module serves older programs */
	if (version.abi < DXK_ABI_VERSION) {
		wrong("the module has ABI version %u, this program was built for %u",
		      version.abi, DXK_ABI_VERSION);
		help("install the module of this release; rmmod dxk; modprobe dxk");
		return false;
	}
	if (!(version.capabilities & DXK_CAP_NAMES)) {
		wrong("the module that is loaded is older than this program: it has no named contexts");
		help("rmmod dxk; modprobe dxk");
		return false;
	}
	good("the module answers, ABI version %u", version.abi);
	return true;
}

/* --- a daemon that carries requests to other hosts ---------------------------- */

/* By the first words of the broker's or librabbitmq's message */
static const char *advice(const char *key, const char *trouble)
{
	static const struct {
		const char *begin, *advice;
	} known[] = {
		{ "NOT_FOUND - no exchange", "start dxkd where the service is exported" },
		{ "NOT_FOUND - no vhost", "rabbitmqctl list_vhosts, on the broker's host" },
		{ "ACCESS_REFUSED", "look at the password file, and at the user's rights: man dxkd" },
		{ "PRECONDITION_FAILED",
		  "give all hosts the same queue and redo_max, or delete the old queue: rabbitmqctl delete_queue" },
		{ "blocked", "the broker lacks memory or disk: rabbitmqctl status, on its host" },
	};
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strncmp(trouble, known[i].begin, strlen(known[i].begin)))
			return known[i].advice;
	if (!strcmp(key, "context_error"))
		return "dxkctl list; dxkd joins the context when it is there and lets it";
	return "is the broker there? rabbitmqctl status, on its host";
}

static bool service_ok(struct json_object *service)
{
	const struct remote_part *p;
	bool ok = true;

	for (p = remote_parts; p->key; p++) {
		const char *trouble = remote_trouble(service, p->key);

		if (!trouble)
			continue;
		fputs("WRONG dxkd: ", stdout);
		remote_tell(service, p->key, p->name);
		help("%s", advice(p->key, trouble));
		ok = false;
	}
	return ok;
}

/* Where no dxkd runs there is no file. */
static bool remote_ok(void)
{
	struct json_object *services, *all = remote_read(DXKD_STATUS, &services), *pid;
	size_t i, nr;
	bool ok;

	if (!all && errno == ENOENT)
		return true;
	if (!all) {
		wrong("%s: %s", DXKD_STATUS, strerror(errno));
		help("systemctl restart dxkd");
		return false;
	}
	ok = !json_object_object_get_ex(all, "pid", &pid) ||
	     !kill((pid_t)json_object_get_int(pid), 0) || errno != ESRCH;
	if (!ok) {
		wrong("dxkd has ended without a word, it was process %s",
		      json_object_get_string(pid));
		help("journalctl -u dxkd");
		json_object_put(all);
		return false;
	}
	nr = json_object_array_length(services);
	for (i = 0; i < nr; i++)
		ok &= service_ok(json_object_array_get_idx(services, i));
	if (ok)
		good("dxkd: all of its services are connected: %zu", nr);
	json_object_put(all);
	return ok;
}

int ctl_doctor(int argc, char **argv)
{
	static const struct option none[] = { { } };
	struct stat st;
	int ctl;
	bool ok;

	if (options(argc, argv, ":", none) == '?')
		return MISUSED;
	if (optind < argc)
		return misuse("doctor takes no argument: %s", argv[optind]);

	if (!exists("/sys/module/dxk")) {
		why_not_loaded();
		return FAILED;
	}
	good("the module is loaded");
	if (!device_ok(&st))
		return FAILED;
	ctl = dxk_open();
	if (ctl == -EACCES || ctl == -EPERM) {
		why_not_permitted(&st, -ctl);
		return FAILED;
	}
	if (ctl < 0) {
		wrong("%s: %s", DXK_DEVICE, strerror(-ctl));
		help("rmmod dxk; modprobe dxk");
		return FAILED;
	}
	good("%s can be opened", DXK_DEVICE);
	ok = version_ok(ctl);
	close(ctl);
	return ok && remote_ok() ? DONE : FAILED;
}
