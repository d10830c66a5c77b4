// SPDX-License-Identifier: GPL-2.0-only
/*
 * trace: records the tracepoints of dxk, in a trace instance of its own, so that it
 * does not disturb other tracing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tracefs.h>

#include <json-c/json.h>

#include "ctl.h"
#include "trace.h"

#define SYSTEM		"dxk"
#define BUFFER_KB	"4096"	/* for each CPU */
#define PERIOD_NS	100000000ULL
#define INSTANCES	"/sys/kernel/tracing/instances"

static const char * const event_name[W_NR] = {
	[W_POST] = "dxk_post",
	[W_DISPATCH] = "dxk_dispatch",
	[W_START] = "dxk_start",
	[W_COMPLETE] = "dxk_complete",
	[W_BLOCK] = "dxk_block",
	[W_STALL] = "dxk_stall",
};

/* --- taking events --------------------------------------------------------- */

struct tracer {
	struct tracefs_instance *instance;
	struct tep_handle *tep;
	int id[W_NR];		/* ids of the events */
	struct recording *r;
	int err;
};

static uint64_t get(struct tep_event *event, struct tep_record *record, const char *name)
{
	struct tep_format_field *field = tep_find_field(event, name);
	unsigned long long value = 0;

	if (field)
		tep_read_number_field(field, record->data, &value);
	return value;
}

/* Names are read when a context is first seen: it may be gone later. */
static int see_context(struct recording *r, uint32_t id, bool at_begin)
{
	struct traced *t;
	struct ctx ctx;
	size_t i;

	for (i = r->nr_traced; i--;)
		if (r->traced[i].id == id)
			return 0;
	t = reallocarray(r->traced, r->nr_traced + 1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	r->traced = t;
	t += r->nr_traced++;
	*t = (struct traced){ .id = id };
	if (ctx_open(id, &ctx))
		return 0;
	strcpy(t->name, ctx.name);
	t->labels = labels(&ctx);
	if (at_begin)
		t->ready = (uint32_t)sysfs_number(ctx.dir, "pools/ready_use");
	ctx_close(&ctx);
	return 0;
}

static int take(struct tep_event *event, struct tep_record *record, int cpu, void *arg)
{
	struct tracer *t = arg;
	struct recording *r = t->r;
	struct event *e;
	int what;

	(void)cpu;
	for (what = 0; what < W_NR && t->id[what] != event->id; what++)
		;
	if (what == W_NR)
		return 0;
	if (r->nr == r->room) {
		size_t room = r->room ? 2 * r->room : 4096;

		e = reallocarray(r->event, room, sizeof(*e));
		if (!e) {
			t->err = -ENOMEM;
			return 1;
		}
		r->event = e;
		r->room = room;
	}
	e = &r->event[r->nr++];
	*e = (struct event){
		.ts = record->ts,
		.what = (uint8_t)what,
		.ctx = (uint32_t)get(event, record, "ctx"),
		.seq = get(event, record, "seq"),
		.ticket = get(event, record, "ticket"),
		.owner = get(event, record, "owner"),
		.executor = get(event, record, "executor"),
		.param = get(event, record, "param"),
		.attrs = (uint32_t)get(event, record, "attrs"),
		.attempts = (uint32_t)get(event, record, "attempts"),
		.prio = (int32_t)get(event, record, "prio"),
		.status = (int32_t)get(event, record, "status"),
		.lane = (uint8_t)get(event, record, "lane"),
		.state = (uint8_t)get(event, record, "what"),
		.ns = get(event, record, "ns"),
		.nr = (uint32_t)get(event, record, "nr"),
		.thread = (uint32_t)get(event, record, what == W_DISPATCH ||
					what == W_START || what == W_COMPLETE ?
					"worker" : "member"),
	};
	t->err = see_context(r, e->ctx, false);
	return t->err != 0;
}

static void take_all(struct tracer *t)
{
	if (!t->err)
		tracefs_iterate_raw_events(t->tep, t->instance, NULL, 0, take, t);
}

/* --- the instance ---------------------------------------------------------- */

static int no_tracing(const char *what)
{
	if (errno == EACCES || errno == EPERM)
		return fail("run it as root", "%s: %s", what, strerror(errno));
	return fail("mount -t tracefs tracefs /sys/kernel/tracing", "%s: %s", what,
		    strerror(errno));
}

static void close_tracer(struct tracer *t)
{
	if (t->tep)
		tep_free(t->tep);
	if (!t->instance)
		return;
	tracefs_event_disable(t->instance, SYSTEM, NULL);
	if (tracefs_instance_destroy(t->instance))
		fail("rmdir " INSTANCES "/dxkctl-*", "the trace instance is left: %s",
		     strerror(errno));
	tracefs_instance_free(t->instance);
}

static int open_tracer(struct tracer *t, const struct ctx *only)
{
	static const char * const systems[] = { SYSTEM, NULL };
	char name[32], filter[32];
	int i;

	tracefs_set_loglevel(TEP_LOG_NONE);
	snprintf(name, sizeof(name), "dxkctl-%d", (int)getpid());
	errno = ENOENT;
	t->instance = tracefs_instance_create(name);
	if (!t->instance)
		return no_tracing("no trace instance");
	errno = ENOENT;
	t->tep = tracefs_local_events_system(NULL, systems);
	if (!t->tep)
		return no_tracing("no events");
	/* The clock for the begin and the end. */
	if (tracefs_trace_off(t->instance) ||
	    tracefs_instance_file_write(t->instance, "trace_clock", "mono") < 0 ||
	    tracefs_instance_file_write(t->instance, "buffer_size_kb", BUFFER_KB) < 0)
		return no_tracing("the trace instance cannot be set up");
	if (only)
		snprintf(filter, sizeof(filter), "ctx == %u", only->id);
	for (i = 0; i < W_NR; i++) {
		struct tep_event *event = tep_find_event_by_name(t->tep, SYSTEM,
								 event_name[i]);

		if (!event || tracefs_event_enable(t->instance, SYSTEM, event_name[i]))
			return fail("dxkctl doctor",
				    "the module has no tracepoint " SYSTEM ":%s",
				    event_name[i]);
		t->id[i] = event->id;
		if (only && tracefs_event_file_write(t->instance, SYSTEM, event_name[i],
						     "filter", filter) < 0)
			return no_tracing("no filter can be set");
	}
	return DONE;
}

/* Events that came too fast: those that a full buffer overwrote. */
static uint64_t events_lost(struct tracer *t)
{
	uint64_t lost = 0;
	long cpu;

	for (cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++) {
		unsigned long long nr;
		char path[48], *text, *at;

		snprintf(path, sizeof(path), "per_cpu/cpu%ld/stats", cpu);
		text = tracefs_instance_file_read(t->instance, path, NULL);
		at = text ? strstr(text, "\noverrun: ") : NULL;
		if (at && sscanf(at, "\noverrun: %llu", &nr) == 1)
			lost += nr;
		free(text);
	}
	return lost;
}

static int record(struct tracer *t, const struct ctx *only, int64_t duration)
{
	struct recording *r = t->r;
	unsigned int *ids;
	uint64_t deadline;
	int i, nr;

	if (only) {
		t->err = see_context(r, only->id, true);
	} else {
		nr = ctx_all(&ids);
		for (i = 0; i < nr && !t->err; i++)
			t->err = see_context(r, ids[i], true);
		free(ids);
	}
	r->begin = now_ns();
	deadline = dxk_deadline(duration);
	if (tracefs_trace_on(t->instance))
		return no_tracing("tracing cannot be switched on");
	fprintf(stderr, "%s: recording%s\n", tool, duration < 0 ? ", Ctrl-C ends it" : "");
	while (!caught && !t->err && now_ns() < deadline) {
		uint64_t left = deadline - now_ns(), period = PERIOD_NS;
		struct timespec pause = { };

		pause.tv_nsec = (long)(left < period ? left : period);
		nanosleep(&pause, NULL);
		take_all(t);
	}
	tracefs_trace_off(t->instance);
	r->end = now_ns();
	take_all(t);
	r->lost = events_lost(t);
	return t->err ? fail("a shorter time: -t", "no memory for more events") : DONE;
}

/* --- the subcommand -------------------------------------------------------- */

/* The file keeps its content, an earlier recording, until there is another one. */
static int open_output(const char *name, FILE **out)
{
	int fd;

	*out = stdout;
	if (!strcmp(name, "-"))
		return DONE;
	fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	*out = fd < 0 ? NULL : fdopen(fd, "w");
	if (*out)
		return DONE;
	return fail("another file: -o FILE", "%s: %s", name, strerror(errno));
}

static int write_recording(struct recording *r, FILE *out, const char *name)
{
	long requests;
	int err = 0;

	/* only a regular file has a length */
	if (out != stdout && ftruncate(fileno(out), 0) && errno != EINVAL)
		requests = -errno;
	else
		requests = timeline_write(r, out);
	if (requests < 0)
		err = (int)-requests;
	else if (fflush(out) || ferror(out))
		err = errno;
	if (err)
		return fail("make room, or take another file: -o FILE", "%s: %s", name,
			    strerror(err));
	if (r->lost)
		fprintf(stderr, "%s: %llu events are missing: they came faster than they could be read\n",
			tool, (unsigned long long)r->lost);
	fprintf(stderr, "%s: %ld requests in %.3f s; open %s in a viewer of Chrome traces, as Perfetto\n",
		tool, requests, (double)(r->end - r->begin) / 1e9, name);
	return DONE;
}

int ctl_trace(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "time", required_argument, NULL, 't' },
		{ }
	};
	const char *name = "dxk-trace.json";
	struct recording r = { };
	struct tracer t = { .r = &r };
	struct ctx ctx = { .dir = -1 };
	int64_t duration = -1;
	const struct ctx *only = NULL;
	FILE *out = NULL;
	int opt, status;

	while ((opt = options(argc, argv, ":o:t:", long_options)) != -1) {
		if (opt == '?')
			return MISUSED;
		if (opt == 'o')
			name = optarg;
		else if (!parse_seconds(optarg, &duration) || !duration)
			return misuse("-t: '%s' is no number of seconds", optarg);
	}
	if (argc - optind > 1)
		return misuse("trace takes one context, or none for all");
	if (access(SYSFS, F_OK))
		return no_module();
	if (optind < argc) {
		if (ctx_find(argv[optind], &ctx))
			return FAILED;
		only = &ctx;
	}

	signals_catch();
	status = open_tracer(&t, only);
	if (!status)
		status = open_output(name, &out);
	if (!status)
		status = record(&t, only, duration);
	close_tracer(&t);
	if (!status)
		status = write_recording(&r, out, name);
	free(r.event);
	while (r.nr_traced)
		json_object_put(r.traced[--r.nr_traced].labels);
	free(r.traced);
	if (out && out != stdout)
		fclose(out);
	if (only)
		ctx_close(&ctx);
	return status;
}
