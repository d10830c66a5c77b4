// SPDX-License-Identifier: GPL-2.0-only
/*
 * dxkstat --openmetrics, --prometheus: the figures of all contexts once, for a monitoring
 * system. All samples of a family stand together there, so they are gathered first.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "stat.h"

/* Every second power of two from 2^10 ns, about a microsecond, to 2^38 ns, some minutes. */
#define FIRST_BUCKET	10
#define LAST_BUCKET	38

/**
 * struct page - what is to be printed
 * @families: by name, in their order: type, help, lines
 * @labels: of the context, or service, whose figures are being gathered
 * @old: the format of Prometheus itself, which calls a counter by the name of its samples
 */
struct page {
	struct json_object *families;
	char labels[512];
	bool old;
};

/* The lines of a family. Its name never changes: users' configurations contain it. */
static struct json_object *lines(struct page *p, const char *name, const char *type,
				 const char *help)
{
	struct json_object *family, *array;

	if (!json_object_object_get_ex(p->families, name, &family)) {
		family = json_object_new_object();
		json_object_object_add(family, "type", json_object_new_string(type));
		json_object_object_add(family, "help", json_object_new_string(help));
		json_object_object_add(family, "lines", json_object_new_array());
		json_object_object_add(p->families, name, family);
	}
	json_object_object_get_ex(family, "lines", &array);
	return array;
}

static void __attribute__((format(printf, 2, 3)))
add(struct json_object *to, const char *format, ...)
{
	char line[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	json_object_array_add(to, json_object_new_string(line));
}

/* A label's value: a quote, a backslash and a newline are escaped. */
static void escape(char *to, const char *from)
{
	for (; *from; from++) {
		if (strchr("\"\\\n", *from))
			*to++ = '\\';
		*to++ = *from == '\n' ? 'n' : *from;
	}
	*to = 0;
}

static void label(struct page *p, const struct sample *s)
{
	char name[2 * DXK_NAME_LEN];

	escape(name, s->name);
	snprintf(p->labels, sizeof(p->labels), "context=\"%u\",name=\"%s\"", s->id, name);
}

static void gauges(struct page *p, const struct sample *s)
{
	int i;

	add(lines(p, "dxk_context_state", "gauge", "1 for the state that the context is in"),
	    "dxk_context_state{%s,state=\"%s\"} 1", p->labels, s->state);
	add(lines(p, "dxk_requests_executing", "gauge", "Requests that workers have"),
	    "dxk_requests_executing{%s} %llu", p->labels, (unsigned long long)s->busy);
	add(lines(p, "dxk_workers_target", "gauge",
		  "Workers of each kind that autotune allows; 0 without it"),
	    "dxk_workers_target{%s} %llu", p->labels, (unsigned long long)s->tune.target);
	add(lines(p, "dxk_workers_rate", "gauge",
		  "Requests per second in the last interval that autotune could compare"),
	    "dxk_workers_rate{%s} %llu", p->labels, (unsigned long long)s->tune.rate);
	for (i = 0; i < P_NR; i++) {
		const struct pool_use *u = &s->pool[i];

		add(lines(p, "dxk_pool_entries", "gauge", "Entries of a pool in use"),
		    "dxk_pool_entries{%s,pool=\"%s\"} %llu", p->labels, pool_name[i],
		    (unsigned long long)u->use);
		add(lines(p, "dxk_pool_size", "gauge", "Entries that a pool has"),
		    "dxk_pool_size{%s,pool=\"%s\"} %llu", p->labels, pool_name[i],
		    (unsigned long long)u->size);
		add(lines(p, "dxk_pool_high_water", "gauge",
			  "The most entries of a pool that ever were in use"),
		    "dxk_pool_high_water{%s,pool=\"%s\"} %llu", p->labels, pool_name[i],
		    (unsigned long long)u->high);
	}
	for (i = 0; i < R_NR * DXK_LANES; i++) {
		const struct lane_use *l = &s->lane[i / DXK_LANES][i % DXK_LANES];
		const char *resource = resource_name[i / DXK_LANES];

		add(lines(p, "dxk_lane_in_use", "gauge", "What a lane holds of a resource"),
		    "dxk_lane_in_use{%s,resource=\"%s\",lane=\"%d\"} %llu", p->labels,
		    resource, i % DXK_LANES, (unsigned long long)l->in_use);
		add(lines(p, "dxk_lane_limit", "gauge",
			  "What a lane could hold of a resource while the others stay"),
		    "dxk_lane_limit{%s,resource=\"%s\",lane=\"%d\"} %llu", p->labels,
		    resource, i % DXK_LANES, (unsigned long long)l->limit);
		add(lines(p, "dxk_lane_waiters", "gauge", "Who waits for a resource of a lane"),
		    "dxk_lane_waiters{%s,resource=\"%s\",lane=\"%d\"} %llu", p->labels,
		    resource, i % DXK_LANES, (unsigned long long)l->waiters);
	}
}

/* Only the application knows what they count: they may fall, and be below 0. */
static void instruments(struct page *p, const struct sample *s)
{
	json_object_object_foreach(s->own, name, value) {
		char text[2 * DXK_NAME_LEN];

		escape(text, name);
		add(lines(p, "dxk_instrument", "gauge", "Counters of the application's own"),
		    "dxk_instrument{%s,instrument=\"%s\"} %lld", p->labels, text,
		    (long long)json_object_get_int64(value));
	}
}

/* Each file of stats/ is a counter; nanoseconds are reported in seconds. */
static void counters(struct page *p, const struct ctx *ctx)
{
	struct json_object *stats = sysfs_dir(ctx->dir, "stats");
	char name[96], help[160];

	if (!stats)
		return;
	json_object_object_foreach(stats, file, value) {
		size_t length = strlen(file);
		bool time = length > 3 && !strcmp(file + length - 3, "_ns");

		if (time)
			length -= 3;
		snprintf(name, sizeof(name), "dxk_%.*s%s", (int)length, file,
			 time ? "_seconds" : "");
		snprintf(help, sizeof(help), "What /sys/kernel/dxk/%s/stats/%s counts",
			 "<context>", file);
		if (time)
			add(lines(p, name, "counter", help), "%s_total{%s} %.9f", name,
			    p->labels, (double)json_object_get_int64(value) / 1e9);
		else
			add(lines(p, name, "counter", help), "%s_total{%s} %llu", name,
			    p->labels, (unsigned long long)json_object_get_int64(value));
	}
	json_object_put(stats);
}

/* How many there were up to each bound. Their sum is not kept by the module. */
static void histogram(struct page *p, int fd, enum dxk_latency latency, unsigned int lane,
		      const char *name, const char *help)
{
	uint64_t counts[DXK_LATENCY_BUCKETS], sum = 0;
	int i, nr = dxk_latencies_read(fd, latency, lane, counts, DXK_LATENCY_BUCKETS);
	struct json_object *to;

	if (nr < 0)
		return;
	to = lines(p, name, "histogram", help);
	for (i = 0; i < nr; i++) {
		if (i >= FIRST_BUCKET && i <= LAST_BUCKET && i % 2 == FIRST_BUCKET % 2)
			add(to, "%s_bucket{%s,lane=\"%u\",le=\"%.9g\"} %llu", name, p->labels,
			    lane, (double)(1ULL << i) / 1e9, (unsigned long long)sum);
		sum += counts[i];
	}
	add(to, "%s_bucket{%s,lane=\"%u\",le=\"+Inf\"} %llu", name, p->labels, lane,
	    (unsigned long long)sum);
	/* Without the count, some readers of the old format assume 0. */
	if (p->old)
		add(to, "%s_count{%s,lane=\"%u\"} %llu", name, p->labels, lane,
		    (unsigned long long)sum);
}

static void latencies(struct page *p, const struct ctx *ctx)
{
	int fd = ctx_join_read(ctx);
	unsigned int lane;

	if (fd < 0)
		return;
	for (lane = 0; lane < DXK_LANES; lane++)
		histogram(p, fd, DXK_LATENCY_WAIT, lane, "dxk_request_wait_seconds",
			  "From the post of a request to its start, by lane");
	for (lane = 0; lane < DXK_LANES; lane++)
		histogram(p, fd, DXK_LATENCY_RUN, lane, "dxk_request_run_seconds",
			  "From the start of a request to its end, by lane");
	close(fd);
}

/* --- services of dxkd --------------------------------------------------------- */

static void connection(struct page *p, struct json_object *service, const char *key,
		       const char *name)
{
	const char *state = json_object_get_string(json_in(json_in(service, key), "state"));

	add(lines(p, "dxk_remote_up", "gauge", "Is a connection of a service to its broker up?"),
	    "dxk_remote_up{%s,connection=\"%s\"} %d", p->labels, name,
	    state && !strcmp(state, "up"));
}

static void by_lane(struct page *p, struct json_object *service, const char *key, const char *name,
		    const char *help)
{
	struct json_object *lanes = json_in(service, key);
	size_t i;

	for (i = 0; json_object_is_type(lanes, json_type_array) &&
		    i < json_object_array_length(lanes); i++)
		add(lines(p, name, "counter", help), "%s_total{%s,lane=\"%zu\"} %lld", name,
		    p->labels, i,
		    (long long)json_object_get_int64(json_object_array_get_idx(lanes, i)));
}

static void service(struct page *p, struct json_object *s)
{
	static const struct {
		const char *key, *name, *type, *help;
	} figures[] = {
		{ "places", "dxk_remote_places", "gauge", "Requests that may be under way" },
		{ "in_flight", "dxk_remote_in_flight", "gauge",
		  "Requests in the context of an export, or at the broker of an import" },
		{ "waiting", "dxk_remote_waiting", "gauge", "Requests that wait to go there" },
		{ "redelivered", "dxk_remote_redelivered", "counter",
		  "Requests that had been delivered before, to some host" },
		{ "dead", "dxk_remote_dead", "counter", "Requests that ended with EOWNERDEAD" },
		{ "refused", "dxk_remote_refused", "counter", "Requests that dxkd itself ended" },
		{ "dropped", "dxk_remote_dropped", "counter", "Answers that were double or late" },
		{ "rejected", "dxk_remote_rejected", "counter",
		  "Messages that are no request and no answer" },
	};
	char text[3][2 * 64 + 2];
	size_t i;

	for (i = 0; i < 3; i++) {
		static const char * const keys[] = { "name", "role", "broker" };
		char cut[64];

		snprintf(cut, sizeof(cut), "%s",
			 json_object_get_string(json_in(s, keys[i])) ?: "");
		escape(text[i], cut);
	}
	snprintf(p->labels, sizeof(p->labels), "service=\"%s\",role=\"%s\",broker=\"%s\"", text[0],
		 text[1], text[2]);
	connection(p, s, "request_connection", "requests");
	connection(p, s, "answer_connection", "answers");
	by_lane(p, s, "requests", "dxk_remote_requests", "Requests that came, or went, by lane");
	by_lane(p, s, "answered", "dxk_remote_answered",
		"Requests that were answered by an executor, by lane");
	for (i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		add(lines(p, figures[i].name, figures[i].type, figures[i].help), "%s%s{%s} %lld",
		    figures[i].name, strcmp(figures[i].type, "counter") ? "" : "_total", p->labels,
		    (long long)json_object_get_int64(json_in(s, figures[i].key)));
}

/* Of this host's dxkd, if one runs */
static void services(struct page *p)
{
	struct json_object *all, *array;
	size_t i;

	all = remote_read(DXKD_STATUS, &array);
	for (i = 0; all && i < json_object_array_length(array); i++)
		service(p, json_object_array_get_idx(array, i));
	json_object_put(all);
}

static void print(const struct page *p)
{
	json_object_object_foreach(p->families, name, family) {
		struct json_object *type, *help, *array;
		const char *more = "";
		size_t i;

		json_object_object_get_ex(family, "type", &type);
		json_object_object_get_ex(family, "help", &help);
		json_object_object_get_ex(family, "lines", &array);
		if (p->old && !strcmp(json_object_get_string(type), "counter"))
			more = "_total";
		printf("# TYPE %s%s %s\n", name, more, json_object_get_string(type));
		printf("# HELP %s%s %s\n", name, more, json_object_get_string(help));
		for (i = 0; i < json_object_array_length(array); i++)
			puts(json_object_get_string(json_object_array_get_idx(array, i)));
	}
	if (!p->old)
		puts("# EOF");
}

int metrics(const struct options *o)
{
	struct page p = { .old = o->prometheus };
	struct samples none = { }, now;
	unsigned int i;

	if (samples_take(o, &none, &now, false))
		return no_module();
	p.families = json_object_new_object();
	add(lines(&p, "dxk_contexts", "gauge", "Contexts that may be read"),
	    "dxk_contexts %u", now.nr);
	for (i = 0; i < now.nr; i++) {
		const struct sample *s = &now.sample[i];
		struct ctx ctx = o->only;

		if (!o->one && ctx_open(s->id, &ctx))
			continue;
		label(&p, s);
		gauges(&p, s);
		if (s->own)
			instruments(&p, s);
		counters(&p, &ctx);
		latencies(&p, &ctx);
		if (!o->one)
			ctx_close(&ctx);
	}
	if (!o->one)
		services(&p);
	print(&p);
	json_object_put(p.families);
	samples_free(&now);
	return flush(DONE);
}
