// SPDX-License-Identifier: GPL-2.0-only
/*
 * What dxk_bench.ko measures, and the ioctl of its device that does nothing.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "bench.h"

#define DIR	"/sys/kernel/debug/dxk_bench/"

static void say(const char *file, long value)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), DIR "%s", file);
	f = fopen(path, "w");
	if (!f || fprintf(f, "%ld", value) < 0 || fclose(f))
		die("%s", path);
}

/*
 * A file gives lines "NAME NUMBER": "ops" and "ns", or "value"; others go along. A
 * negative "error" is why there is nothing.
 */
static double kernel_measure(const struct variant *v)
{
	double ops = 0, ns = 0, value = -1, sleeps = 0, preempted = 0, number;
	char path[128], name[64];
	FILE *f;

	say("ops", v->ops);
	say("arg", v->arg);
	say("profile", profiling());
	snprintf(path, sizeof(path), DIR "%s", v->text);
	f = fopen(path, "r");
	if (!f)
		die("%s", path);
	while (fscanf(f, "%63s %lf", name, &number) == 2) {
		if (!strcmp(name, "ops"))
			ops = number;
		else if (!strcmp(name, "ns"))
			ns = number;
		else if (!strcmp(name, "sleeps"))
			sleeps = number;
		else if (!strcmp(name, "preempted"))
			preempted = number;
		else if (!strcmp(name, "value"))
			value = number;
		else
			extra(name, number);
		if (!strcmp(name, "started") && !number)
			note("not started");
		if (!strcmp(name, "stood_still") && number)
			note("stands still");
	}
	if (ferror(f) || (value < 0 && (!ops || !ns)))
		die("%s", path);
	fclose(f);
	if (ops) {
		profile_ops(ops);
		extra("client_sleeps", sleeps / ops);
		extra("client_preempted", preempted / ops);
	}
	return value < 0 ? ns / ops : value;
}

const struct kind kernel_side = { .measure = kernel_measure };

static int driver;

static void driver_setup(const struct variant *v)
{
	(void)v;
	driver = open("/dev/dxk_bench", O_RDWR | O_CLOEXEC);
	if (driver < 0)
		die("/dev/dxk_bench");
}

static void driver_run(long ops)
{
	while (ops--)
		MUST(0, ioctl(driver, 0));
}

const struct kind driver_ioctl = { .setup = driver_setup, .run = driver_run };
