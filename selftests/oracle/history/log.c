// SPDX-License-Identifier: GPL-2.0-only
/* See log.h. */
#define DXT_NO_HARNESS
#include "log.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Room for what calls that are under way may still need. */
#define MARGIN		4096

bool history_full(const struct history *h)
{
	return h->nr_events + MARGIN > h->max_events ||
	       h->nr_requests + MARGIN > h->max_requests ||
	       h->nr_members + MARGIN / 16 > h->max_members;
}

/* --- a call -------------------------------------------------------------- */

static void begin(struct history_log *log, unsigned long cmd, unsigned int events)
{
	log->cmd = cmd;
	log->returned = false;
	log->base = atomic_fetch_add(&log->h->nr_events, events);
	if (log->base + events > log->h->max_events)
		abort();
	log->begin = history_number(log->h);
	log->open = true;
}

static struct history_event *event(struct history_log *log, unsigned int i, uint64_t end,
				   enum history_kind kind)
{
	struct history_event *e = &log->h->event[log->base + i];

	*e = (struct history_event){
		.begin = log->begin, .end = end, .kind = kind, .member = log->member,
		.request = HIST_NOBODY, .owner = log->owner,
	};
	return e;
}

static void note_post(struct history_log *log, uint64_t end)
{
	unsigned int i;

	for (i = 0; i < log->nr; i++) {
		struct history_event *e = event(log, i, end, HIST_POST);

		e->request = log->first + i;
		e->how = !log->returned ? POST_UNKNOWN :
			 (int)i < log->rc ? POST_TAKEN : POST_REFUSED;
	}
}

static void note_rejoin(struct history_log *log, uint64_t end)
{
	enum history_kind kind;
	unsigned int i;

	for (i = 0; i < log->nr && log->result[i].param != HIST_NOBODY; i++) {
		const struct dxk_result *r = &log->result[i];
		struct history_event *e = event(log, i, end, HIST_RESULT);

		e->request = (uint32_t)r->param;
		e->status = r->status;
		e->prio = r->prio;
		e->inspect = r->inspect_count;
		e->worker = (uint16_t)r->worker;
		e->attempt = (uint16_t)r->attempts;
		e->time = dxt_now();
		e->at = (uint8_t)i;
	}
	if (i)
		return;
	switch (log->rejoin.answer) {
	case RJR_NONE_EXIST:
		kind = HIST_NONE_EXIST;
		break;
	case RJR_NONE_READY:
		kind = HIST_NONE_READY;
		break;
	case RJR_HELP:
		kind = HIST_HELP;
		break;
	default:
		kind = log->returned && log->rc == -EDEADLK ? HIST_DEADLOCK : HIST_ASLEEP;
	}
	event(log, 0, end, kind)->deadline = log->rejoin.deadline;
}

static void note_next(struct history_log *log, uint64_t end)
{
	unsigned int i, nr_done = log->next.nr_done, nr_work = log->next.nr_work;
	unsigned int taken = log->next.nr_taken == DXT_POISON32 ? 0 : log->next.nr_taken;

	for (i = 0; i < nr_done; i++) {
		struct history_event *e = event(log, i, end, HIST_DONE);
		const struct dxk_done_more *d = log_done(log, i);

		e->ticket = d->done.ticket;
		e->status = d->done.status;
		if (log->h->waits) {
			e->wait = d->wait.wait;
			e->awaited = (uint32_t)d->wait.owner;
			e->key = (uint32_t)d->wait.key;
			e->time = d->wait.deadline;
		}
		e->how = i < taken ? DONE_TAKEN : DONE_NOTHING;
		/* callers see to it that nothing else can be the reason */
		if (i == taken && log->returned &&
		    (log->rc == -ESTALE || (log->rc >= 0 && taken)))
			e->how = DONE_STALE;
	}
	for (i = 0; i < nr_work && log_work(log, i)->work.ticket; i++) {
		struct history_event *e = event(log, nr_done + i, end, HIST_START);
		const struct dxk_work_more *more = log_work(log, i);
		const struct dxk_work *w = &more->work;

		e->ticket = w->ticket;
		e->request = (uint32_t)w->param;
		e->owner = (uint32_t)w->owner;
		e->prio = w->prio;
		e->inspect = w->inspect_count;
		e->worker = (uint16_t)log->worker;
		e->attempt = (uint16_t)w->attempt;
		e->time = dxt_now();
		if (log->h->waits) {
			e->turn = (uint16_t)more->turn;
			e->wake = (uint8_t)more->wake;
			e->key = (uint32_t)more->key;
			e->nested = more->nested;
		}
	}
	if (nr_work && !i && !log->returned)
		event(log, nr_done, end, HIST_FETCH_LOST);
}

static void note_name(struct history_log *log, uint64_t end, enum history_kind kind)
{
	struct history_event *e = event(log, 0, end, kind);

	e->request = log->first;
	e->how = !log->returned ? NAME_UNKNOWN : log->rc == 1 ? NAME_FOUND : NAME_NONE;
}

static void note_key(struct history_log *log, uint64_t end)
{
	struct history_event *e = event(log, 0, end, HIST_KEY);

	e->key = log->key;
	e->ticket = log->key_call.ticket;
	e->what = (uint8_t)log->key_call.what;
	e->refuse = log->key_call.flags & DXK_KEY_REFUSE;
	e->deadline = log->key_call.deadline;
	e->awaited = log->space;
	e->how = log->returned ? KEY_RETURNED : KEY_UNKNOWN;
	e->status = log->returned ? log->rc : 0;
	e->time = dxt_now();
}

/*
 * Writes the call down. May be done again from the begin by somebody else: it comes
 * to the same, until the call is not open any more.
 */
static void note(struct history_log *log, uint64_t end)
{
	switch (log->cmd) {
	case DXK_IOC_POST:
		note_post(log, end);
		break;
	case DXK_IOC_REJOIN:
		note_rejoin(log, end);
		break;
	case DXK_IOC_NEXT:
		note_next(log, end);
		break;
	case DXK_IOC_WAKE:
		note_name(log, end, HIST_CALL);
		break;
	case DXK_IOC_CANCEL:
		note_name(log, end, HIST_CANCEL);
		break;
	case DXK_IOC_KEY:
		note_key(log, end);
		break;
	}
	log->open = false;
}

static int perform(struct history_log *log, void *arg)
{
	log->rc = dxt_ioctl(log->fd, log->cmd, arg);
	log->returned = true;
	note(log, history_number(log->h));
	return log->rc;
}

/* --- calls --------------------------------------------------------------- */

int log_post(struct history_log *log, unsigned int nr, uint32_t owner, uint64_t deadline)
{
	unsigned int i;

	log->nr = nr;
	log->owner = owner;
	log->first = atomic_fetch_add(&log->h->nr_requests, nr);
	if (log->first + nr > log->h->max_requests)
		abort();
	for (i = 0; i < nr; i++) {
		struct dxk_post_more *e = log_entry(log, i);
		struct history_request *r = &log->h->request[log->first + i];

		e->post.owner = owner;
		e->post.param = log->first + i;
		*r = (struct history_request){
			.owner = owner,
			.space = log->space,
			.attrs = e->post.attrs,
			.prio = e->post.prio,
			.batch = log->first,
		};
		if (!log->h->waits)
			continue;
		e->name = e->post.attrs & PXR_NAMED ? log->first + i + 1 : 0;
		r->wait = e->wait.wait;
		r->awaited = (uint32_t)e->wait.owner;
		r->deadline = e->wait.deadline;
		r->expire = e->expire;
		r->key = (uint32_t)e->key;
		r->reentry = (uint8_t)e->reentry;
	}
	log->post = (struct dxk_post){
		.size = sizeof(log->post),
		.deadline = deadline,
		.entries = DXT_PTR(log->entry),
		.nr = nr,
		.entry_size = log->h->waits ? sizeof(struct dxk_post_more) :
					      sizeof(struct dxk_post_entry),
	};
	begin(log, DXK_IOC_POST, nr);
	return perform(log, &log->post);
}

int log_rejoin(struct history_log *log, uint32_t owner, unsigned int nr, unsigned int min,
	       uint64_t deadline, uint32_t flags)
{
	unsigned int i;

	log->nr = nr;
	log->owner = owner;
	for (i = 0; i < nr; i++)
		log->result[i].param = HIST_NOBODY;
	log->rejoin = (struct dxk_rejoin){
		.size = sizeof(log->rejoin),
		.flags = flags,
		.owner = owner,
		.deadline = deadline,
		.results = DXT_PTR(log->result),
		.nr = nr,
		.result_size = sizeof(log->result[0]),
		.min = min,
	};
	begin(log, DXK_IOC_REJOIN, nr);
	return perform(log, &log->rejoin);
}

int log_next(struct history_log *log, unsigned int nr_done, unsigned int nr_work,
	     uint64_t deadline)
{
	unsigned int i;

	log->owner = 0;
	for (i = 0; i < nr_work; i++)
		log_work(log, i)->work.ticket = 0;
	log->next = (struct dxk_next){
		.size = sizeof(log->next),
		.deadline = deadline,
		.done = DXT_PTR(log->done),
		.work = DXT_PTR(log->work),
		.nr_done = nr_done,
		.done_size = !nr_done ? 0 : log->h->waits ? sizeof(struct dxk_done_more) :
							    sizeof(struct dxk_done),
		.nr_work = nr_work,
		.work_size = !nr_work ? 0 : log->h->waits ? sizeof(struct dxk_work_more) :
							    sizeof(struct dxk_work),
		.nr_taken = DXT_POISON32,
	};
	begin(log, DXK_IOC_NEXT, nr_done + nr_work + 1);
	return perform(log, &log->next);
}

int log_name(struct history_log *log, unsigned long cmd, uint32_t request)
{
	log->owner = 0;
	log->first = request;
	log->name = (uint64_t)request + 1;
	log->names = (struct dxk_names){
		.size = sizeof(log->names), .names = DXT_PTR(&log->name), .nr = 1,
	};
	begin(log, cmd, 1);
	return perform(log, &log->names);
}

int log_key(struct history_log *log, uint32_t what, uint32_t key, uint64_t ticket,
	    uint64_t deadline, bool refuse)
{
	log->owner = 0;
	log->key = key;
	log->key_call = (struct dxk_key_call){
		.size = sizeof(log->key_call), .what = what, .key = ticket ? 0 : key,
		.ticket = ticket, .deadline = deadline, .flags = refuse ? DXK_KEY_REFUSE : 0,
	};
	begin(log, DXK_IOC_KEY, 1);
	return perform(log, &log->key_call);
}

/* --- members ------------------------------------------------------------- */

int log_join(struct history_log *log, int ctx, unsigned int kind)
{
	log->fd = dxk_member_create(ctx, kind, &log->worker);
	if (log->fd < 0)
		return log->fd;
	/* before any call, so that whoever buries the process knows of it */
	log->member = log->h->nr_members++;
	return 0;
}

void log_leave(struct history_log *log)
{
	struct history_gone *g = &log->h->member[log->member];

	g->begin = history_number(log->h);
	close(log->fd);
	g->end = history_number(log->h);
	log->member = HIST_NOBODY;
}

void log_desert(struct history_log *log)
{
	log->h->member[log->member] = (struct history_gone){
		.begin = history_number(log->h), .end = UINT64_MAX,
	};
}

void log_bury(struct history_log *log, uint64_t begin)
{
	struct history_gone *g;

	if (log->open)
		note(log, history_number(log->h));
	if (log->member == HIST_NOBODY)
		return;
	g = &log->h->member[log->member];
	if (!g->begin)
		g->begin = begin;
	g->end = history_number(log->h);
}
