// SPDX-License-Identifier: GPL-2.0-only
/*
 * A recording as a time line: JSON in the trace event format, a process for each
 * context, a track for each thread of it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "ctl.h"
#include "trace.h"

#define NONE		SIZE_MAX
#define ROWS_MAX	64	/* the maximum that a worker fetches at once */
#define ROW_SHIFT	16	/* a further row's track: row << 16 | thread */

/* enum dxk_member_state as a block reports it; see Documentation/ABI */
static const char * const state_name[] = {
	"vacant", "running", "away", "available", "busy", "posting", "rejoining",
	"completing", "logging", "listening", "entering", "condition", "blocked",
};

/**
 * struct slice - a piece of a thread's time
 * @start: its most informative event: of a request its start, or its end when the
 *	start was not seen; of a block its begin or end
 * @dispatch: of a request, or NULL when it was not seen
 * @post: likewise
 * @complete: likewise
 * @outer: the slice that it lies in, or NONE
 */
struct slice {
	uint64_t begin, end;
	const struct event *start, *dispatch, *post, *complete;
	size_t outer;
};

/* A change of a context's Ready Pool. */
struct step {
	uint64_t ts;
	uint32_t ctx;
	int change;
};

struct timeline {
	const struct recording *r;
	FILE *out;
	struct slice *slice;
	size_t nr_slices;
	struct step *step;
	size_t nr_steps;
	long requests;
	bool more;		/* an object was written: a comma is due */
};

/* --- out of events, requests and blocks ------------------------------------ */

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Blocks together by thread, requests by number, each in the order of time. */
static int by_subject(const void *a, const void *b)
{
	const struct event *x = a, *y = b;
	int block_x = x->what == W_BLOCK, block_y = y->what == W_BLOCK;

	return compare(x->ctx, y->ctx) ?: block_x - block_y ?:
	       (block_x ? compare(x->thread, y->thread) : compare(x->seq, y->seq)) ?:
	       compare(x->ts, y->ts) ?: x->what - y->what;
}

static void add_step(struct timeline *t, const struct event *e, int change)
{
	t->step[t->nr_steps++] = (struct step){ e->ts, e->ctx, change };
}

static struct slice *add_slice(struct timeline *t, const struct event *e, uint64_t begin,
			       uint64_t end)
{
	struct slice *s = &t->slice[t->nr_slices++];

	*s = (struct slice){
		.begin = begin, .end = end < begin ? begin : end, .start = e,
		.outer = NONE,
	};
	return s;
}

/*
 * The events of one request. It executes from its start to its completion, or to its
 * next dispatch when its worker died. A request that began before the recording has no
 * start, one that continues after it has no end.
 */
static void take_request(struct timeline *t, const struct event *e, size_t nr)
{
	const struct event *post = NULL, *dispatch = NULL, *start = NULL, *last = e + nr;
	bool ready = false;
	struct slice *s;

	for (; e < last; e++) {
		switch (e->what) {
		case W_POST:
			post = e;
			ready = true;
			add_step(t, e, 1);
			break;
		case W_DISPATCH:
			/* first seen here: it was Ready when the recording began */
			if (ready || (!post && !dispatch && !start))
				add_step(t, e, -1);
			ready = false;
			dispatch = e;
			if (!start)
				break;
			s = add_slice(t, start, start->ts, e->ts);
			s->post = post;
			start = NULL;
			break;
		case W_START:
			start = e;
			break;
		case W_COMPLETE:
			if (ready) {
				/* cancelled before it ran */
				add_step(t, e, -1);
				ready = false;
				break;
			}
			if (!e->thread)
				break;
			s = add_slice(t, start ?: e, start ? start->ts : t->r->begin, e->ts);
			s->post = post;
			s->dispatch = dispatch;
			s->complete = e;
			start = NULL;
			t->requests++;
			break;
		}
	}
	if (start) {
		s = add_slice(t, start, start->ts, t->r->end);
		s->post = post;
		s->dispatch = dispatch;
		t->requests++;
	}
}

/* The blocks of one thread: a begin, then its end. */
static void take_blocks(struct timeline *t, const struct event *e, size_t nr)
{
	const struct event *begin = NULL, *last = e + nr;

	for (; e < last; e++) {
		if (!e->ns) {
			begin = e;
			continue;
		}
		add_slice(t, e, begin ? begin->ts : t->r->begin, e->ts);
		begin = NULL;
	}
	if (begin)
		add_slice(t, begin, begin->ts, t->r->end);
}

/* --- writing --------------------------------------------------------------- */

void put_text(FILE *out, const char *text)
{
	struct json_object *string = json_object_new_string(text);

	fputs(json_object_to_json_string_ext(string, JSON_C_TO_STRING_NOSLASHESCAPE), out);
	json_object_put(string);
}

/* The begin of an event; args and the end follow. */
static void open_event(struct timeline *t, char phase, uint64_t ts, uint32_t ctx,
		       uint64_t track, const char *name)
{
	fprintf(t->out, "%s\n{\"ph\":\"%c\",\"ts\":%.3f,\"pid\":%u,\"tid\":%llu,\"name\":",
		t->more ? "," : "", phase,
		ts > t->r->begin ? (double)(ts - t->r->begin) / 1e3 : 0.0, ctx,
		(unsigned long long)track);
	put_text(t->out, name);
	t->more = true;
}

static struct json_object *labels_in(const struct recording *r, uint32_t ctx)
{
	size_t i;

	for (i = 0; i < r->nr_traced; i++)
		if (r->traced[i].id == ctx)
			return r->traced[i].labels;
	return NULL;
}

static const char *executor_name(const struct timeline *t, const struct slice *s,
				 char *text, size_t size)
{
	uint32_t attrs = s->post ? s->post->attrs : 0;
	uint64_t id = s->start->what == W_COMPLETE && s->post ? s->post->executor :
							       s->start->executor;
	const char *name;

	if (s->start->what == W_COMPLETE && !s->post)
		return "request";
	name = label_of(labels_in(t->r, s->start->ctx), id, attrs);
	if (name)
		return name;
	snprintf(text, size, "0x%llx", (unsigned long long)id);
	return text;
}

static void put_request(struct timeline *t, const struct slice *s, uint64_t track)
{
	/* a start, and a post, have fields that a completion lacks */
	const struct event *e = s->start->what == W_COMPLETE && s->post ? s->post : s->start;
	char name[64];

	open_event(t, 'X', s->begin, s->start->ctx, track,
		   executor_name(t, s, name, sizeof(name)));
	fprintf(t->out, ",\"cat\":\"request\",\"dur\":%.3f,\"args\":{\"seq\":%llu,\"worker\":%u",
		(double)(s->end - s->begin) / 1e3, (unsigned long long)s->start->seq,
		s->start->thread);
	if (e->what != W_COMPLETE)
		fprintf(t->out, ",\"lane\":%u,\"owner\":\"0x%llx\",\"param\":\"0x%llx\"",
			e->lane, (unsigned long long)e->owner,
			(unsigned long long)e->param);
	if (s->dispatch)
		fprintf(t->out, ",\"prio\":%d", s->dispatch->prio);
	if (s->start->what == W_START)
		fprintf(t->out, ",\"attempt\":%u", s->start->attempts);
	else
		fputs(",\"began\":\"before the recording\"", t->out);
	if (s->post && s->start->what == W_START)
		fprintf(t->out, ",\"waited_us\":%.3f",
			(double)(s->start->ts - s->post->ts) / 1e3);
	if (s->complete)
		fprintf(t->out, ",\"status\":%d", s->complete->status);
	else
		fputs(s->end == t->r->end ? ",\"ended\":\"after the recording\"" :
					    ",\"ended\":\"its worker died\"", t->out);
	fputs("}}", t->out);
}

static void put_block(struct timeline *t, const struct slice *s, uint64_t track)
{
	const struct event *e = s->start;
	const char *name = "blocked";

	if (e->state < sizeof(state_name) / sizeof(state_name[0]))
		name = state_name[e->state];
	open_event(t, 'X', s->begin, e->ctx, track, name);
	fprintf(t->out, ",\"cat\":\"block\",\"dur\":%.3f,\"args\":{%s}}",
		(double)(s->end - s->begin) / 1e3,
		e->ns ? "" : "\"ended\":\"after the recording\"");
}

static void put_name(struct timeline *t, uint32_t ctx, uint64_t track, const char *what,
		     const char *name)
{
	open_event(t, 'M', 0, ctx, track, what);
	fputs(",\"args\":{\"name\":", t->out);
	put_text(t->out, name);
	fputs("}}", t->out);
}

static void put_track(struct timeline *t, uint32_t ctx, uint32_t thread, uint32_t row)
{
	uint64_t track = (uint64_t)row << ROW_SHIFT | thread;
	char name[32];
	int n;

	if (!thread)
		n = snprintf(name, sizeof(name), "main thread");
	else
		n = snprintf(name, sizeof(name), "%s %u",
			     thread < 500 ? "worker" : "thread", thread);
	if (row)
		snprintf(name + n, sizeof(name) - (size_t)n, " (%u)", row + 1);
	put_name(t, ctx, track, "thread_name", name);
	open_event(t, 'M', 0, ctx, track, "thread_sort_index");
	fprintf(t->out, ",\"args\":{\"sort_index\":%u}}", thread * ROWS_MAX + row);
}

/* --- tracks ---------------------------------------------------------------- */

/* By thread; the slice that begins first, and of those the longest, is the outer one. */
static int by_place(const void *a, const void *b)
{
	const struct slice *x = a, *y = b;

	return compare(x->start->ctx, y->start->ctx) ?:
	       compare(x->start->thread, y->start->thread) ?:
	       compare(x->begin, y->begin) ?: compare(y->end, x->end);
}

/*
 * A viewer shows slices of one track that nest. Those of a worker do when it executes
 * one after the other, or helps while it waits. Requests that it fetches as a batch
 * overlap: they go to further rows.
 */
static void put_slices(struct timeline *t)
{
	size_t top[ROWS_MAX], i;
	uint32_t rows = 0, row;

	qsort(t->slice, t->nr_slices, sizeof(*t->slice), by_place);
	for (i = 0; i < t->nr_slices; i++) {
		struct slice *s = &t->slice[i];
		const struct event *e = s->start;

		if (!i || e->ctx != s[-1].start->ctx || e->thread != s[-1].start->thread)
			rows = 0;
		for (row = 0; row < rows; row++) {
			while (top[row] != NONE && t->slice[top[row]].end <= s->begin)
				top[row] = t->slice[top[row]].outer;
			if (top[row] == NONE || t->slice[top[row]].end >= s->end)
				break;
		}
		if (row == rows) {
			if (rows == ROWS_MAX)
				row--;
			else
				rows++;
			top[row] = NONE;
			put_track(t, e->ctx, e->thread, row);
		}
		s->outer = top[row];
		top[row] = i;
		if (e->what == W_BLOCK)
			put_block(t, s, (uint64_t)row << ROW_SHIFT | e->thread);
		else
			put_request(t, s, (uint64_t)row << ROW_SHIFT | e->thread);
	}
}

static int by_time(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return compare(x->ctx, y->ctx) ?: compare(x->ts, y->ts);
}

static void put_ready(struct timeline *t, uint64_t ts, uint32_t ctx, long ready)
{
	open_event(t, 'C', ts, ctx, 0, "Ready Pool");
	fprintf(t->out, ",\"args\":{\"entries\":%ld}}", ready < 0 ? 0 : ready);
}

static void put_contexts(struct timeline *t)
{
	const struct step *s = t->step, *last = s + t->nr_steps;
	char name[64];
	size_t i, j;

	qsort(t->step, t->nr_steps, sizeof(*t->step), by_time);
	for (i = 0; i < t->r->nr_traced; i++) {
		const struct traced *c = &t->r->traced[i];
		long ready = c->ready;

		snprintf(name, sizeof(name), "context %u%s%s", c->id,
			 *c->name ? " " : "", c->name);
		put_name(t, c->id, 0, "process_name", name);
		put_ready(t, t->r->begin, c->id, ready);
		for (s = t->step; s < last && s->ctx != c->id; s++)
			;
		for (; s < last && s->ctx == c->id; s++)
			put_ready(t, s->ts, c->id, ready += s->change);
	}
	for (j = 0; j < t->r->nr; j++) {
		const struct event *e = &t->r->event[j];

		if (e->what != W_STALL)
			continue;
		open_event(t, 'i', e->ts, e->ctx, 0, "stall");
		fprintf(t->out, ",\"s\":\"p\",\"args\":{\"nr\":%u}}", e->nr);
	}
}

long timeline_write(struct recording *r, FILE *out)
{
	struct timeline t = { .r = r, .out = out };
	long status = -ENOMEM;
	size_t i, nr;

	/* no event makes more than one slice and one step */
	t.slice = calloc(r->nr + 1, sizeof(*t.slice));
	t.step = calloc(r->nr + 1, sizeof(*t.step));
	if (!t.slice || !t.step)
		goto out;
	if (r->nr)
		qsort(r->event, r->nr, sizeof(*r->event), by_subject);
	for (i = 0; i < r->nr; i += nr) {
		const struct event *e = &r->event[i];
		bool block = e->what == W_BLOCK;

		for (nr = 1; i + nr < r->nr && e[nr].ctx == e->ctx &&
		     (e[nr].what == W_BLOCK) == block &&
		     (block ? e[nr].thread == e->thread : e[nr].seq == e->seq); nr++)
			;
		if (block)
			take_blocks(&t, e, nr);
		else
			take_request(&t, e, nr);
	}
	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", out);
	put_contexts(&t);
	put_slices(&t);
	fprintf(out, "\n],\"otherData\":{\"seconds\":\"%.6f\",\"events\":\"%zu\",\"lost\":\"%llu\"}}\n",
		(double)(r->end - r->begin) / 1e9, r->nr, (unsigned long long)r->lost);
	status = t.requests;
out:
	free(t.slice);
	free(t.step);
	return status;
}
