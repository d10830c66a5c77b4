// SPDX-License-Identifier: GPL-2.0-only
/*
 * The posting side. The context's workers are places at the broker: each fetches a request,
 * publishes it, and completes it when its answer is there. Until then it is with a worker for all
 * who look. An answer is acked when its owner has it in the Rejoin Pool.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "../common/common.h"
#include "closer.h"
#include "judge.h"
#include "link.h"
#include "message.h"
#include "payload.h"
#include "task.h"

#define EVENTS		16
#define PUBLISH_AGAIN	(NSEC_PER_SEC / 100)
#define FETCH_AGAIN	(NSEC_PER_SEC / 10)
#define CLOSED_LATE	(10 * NSEC_PER_SEC)
#define REPLIES_EXPIRE	3600000		/* ms without a consumer */

enum at { IDLE, UNSENT, SENT, CONFIRMED };

/**
 * struct place - one worker
 * @fd: the member
 * @number: 1..window
 * @at: where its request is
 * @turn: number of its publication: a confirm may come when the place has another request
 * @file: the sealed file that goes with its request, or -1
 * @payload: bytes of that
 * @begin: before which time it has to begin
 * @expire: when it has to end
 * @give_up: when it ends without its answer; all of CLOCK_MONOTONIC, %NEVER: there is no such time
 * @w: the request
 * @data: its data
 */
struct place {
	int fd;
	unsigned int number;
	enum at at;
	uint64_t turn;
	int file;
	uint32_t payload;
	uint64_t begin, expire, give_up;
	struct dxk_work_more w;
	char data[DATA_MAX];
};

struct import {
	struct task task;
	const struct service *cfg;
	struct link in, out;
	char exchange[64], instance[INSTANCE_LEN], replies[REPLY_TO_LEN];
	struct place *places;
	struct closer *closer;	/* of files that do not travel */
	uint64_t full;		/* it takes no more, when that is to be told; 0: it does */
	bool lacks;		/* descriptors or memory, as the last fetch said */
	unsigned int nr_busy, nr_unsent;
	int ctl, ctx, epoll;
	uint64_t retry;		/* the context */
	int said;		/* why there is none */
	bool ended, leaving;
	bool nowhere;		/* nobody has ever served it */
	bool can_reply;		/* there is a queue for answers */
	bool timed;		/* a request had a time to expire */
	uint64_t deaf;		/* since when it consumes no answers; 0: it does, or never has */
	uint64_t turns;		/* publications */
	struct rejects rejects;	/* answers */
	struct notes notes;
	struct counts counts;
};

/* --- requests ------------------------------------------------------------------ */

static void set_at(struct import *m, struct place *p, enum at at)
{
	m->nr_busy += (at != IDLE) - (p->at != IDLE);
	m->nr_unsent += (at == UNSENT) - (p->at == UNSENT);
	p->at = at;
}

static void tell(struct import *m, const struct id *id, const char *what)
{
	char trace[TRACE_LEN];

	id_trace(id, trace);
	note_request(&m->notes, "import", m->cfg->name, trace, "%s", what);
}

static struct id id_of(const struct import *m, const struct place *p)
{
	struct id id = { .place = p->number, .ticket = p->w.work.ticket };

	strcpy(id.instance, m->instance);
	return id;
}

static void tell_of(struct import *m, const struct place *p, const char *what)
{
	struct id id = id_of(m, p);

	tell(m, &id, what);
}

static uint64_t within(uint32_t seconds)
{
	return seconds ? now_ns() + seconds * NSEC_PER_SEC : NEVER;
}

/* That it has not begun, which ETIME says, nobody knows any more. */
static void may_have_begun(struct place *p)
{
	p->begin = p->expire = NEVER;
}

/* It has been fetched: from now on its times count. */
static void set_times(struct import *m, struct place *p)
{
	p->begin = within(m->cfg->begin_within);
	p->expire = p->w.expire ?: NEVER;
	m->timed |= !!p->w.expire;
	p->give_up = within(m->cfg->answer_within);
	/* A daemon that had it before has died. */
	if (p->w.work.attempt > 1)
		may_have_begun(p);
}

static void listen_to(struct import *m, struct place *p, bool on)
{
	struct epoll_event event = { .events = on ? EPOLLIN : 0, .data.u32 = p->number };

	epoll_ctl(m->epoll, EPOLL_CTL_MOD, p->fd, &event);
}

static void context_ended(struct import *m)
{
	if (!m->ended)
		note("import %s: context %s has ended", m->cfg->name, m->cfg->context);
	m->ended = true;
}

/* Can the request be sent? */
static int check(struct import *m, struct place *p)
{
	if (m->nowhere)
		return -EHOSTUNREACH;
	if (lane_of(p->w.work.attrs) < 0)
		return -EINVAL;
	return p->file >= 0 ? payload_check(p->file, m->cfg->payload_max, &p->payload) : 0;
}

static void drop_file(struct place *p)
{
	if (p->file >= 0)
		close(p->file);
	p->file = -1;
	p->payload = 0;
}

/*
 * Complete a request, unless @done is NULL, and fetch. What cannot be sent is completed at once.
 * After that nothing is fetched: who posts such requests all the time would keep the loop here.
 */
static void turn(struct import *m, struct place *p, const struct dxk_done_more *done)
{
	struct dxk_done_more refused;
	unsigned int want, taken;
	bool was = p->at == IDLE;
	char why[96];
	int n, status;

	for (;;) {
		want = !m->leaving && done != &refused && !closer_is_full(m->closer);
		taken = 0;
		drop_file(p);
		n = dxk_next_more(p->fd, done, !!done, &taken, want ? &p->w : NULL, want,
				  want ? p->data : NULL, want ? sizeof(p->data) : 0, 0);
		if (done && !taken && n < 0) {
			snprintf(why, sizeof(why), "its answer was not taken: %s", strerror(-n));
			tell_of(m, p, why);
		}
		if (n == 0 && done && want) {
			done = NULL;	/* completed; the fetch is to be asked for its error */
			continue;
		}
		if (n < 1)
			break;
		p->file = p->w.work.fd;
		status = check(m, p);
		if (!status) {
			set_at(m, p, UNSENT);
			set_times(m, p);
			if (was)
				listen_to(m, p, false);
			return;
		}
		if (p->file >= 0)
			closer_close(m->closer, p->file);
		p->file = -1;
		refused = (struct dxk_done_more){
			.done = { .ticket = p->w.work.ticket, .status = status },
		};
		done = &refused;
		m->counts.refused++;
	}
	set_at(m, p, IDLE);
	if (!was)
		listen_to(m, p, true);
	m->lacks |= n == -EMFILE || n == -ENFILE || n == -ENOMEM;
	if (n == -ESHUTDOWN)
		context_ended(m);
}

/* @attempts: how often it was begun by those that it was sent to */
static void complete(struct import *m, struct place *p, int32_t status, uint32_t attempts,
		     const void *data, size_t len)
{
	uint64_t total = (uint64_t)p->w.work.attempt + (attempts ? attempts - 1 : 0);
	struct dxk_done_more done = {
		.done = { .ticket = p->w.work.ticket, .status = status,
			  .data = (uintptr_t)data, .data_len = (uint32_t)len },
		.attempts = total < UINT16_MAX ? (uint32_t)total : UINT16_MAX,
	};

	turn(m, p, &done);
}

static void refuse(struct import *m, struct place *p, int32_t status)
{
	m->counts.refused++;
	complete(m, p, status, 0, NULL, 0);
}

static void end_in_vain(struct import *m, struct place *p, int32_t status, const char *what)
{
	tell_of(m, p, what);
	refuse(m, p, status);
}

/* Is the time over in which it may begin, which it has not? */
static bool is_late(const struct place *p, uint64_t now)
{
	return now >= earlier(p->begin, p->expire);
}

/*
 * Those whose time is over end, whoever has them: an answer that comes later is dropped.
 * Return: when the next one's is.
 */
static uint64_t end_late(struct import *m, uint64_t now)
{
	const struct service *cfg = m->cfg;
	uint64_t next = NEVER;
	unsigned int i;

	if (!cfg->begin_within && !cfg->answer_within && !m->timed)
		return NEVER;
	for (i = 0; i < cfg->window; i++) {
		struct place *p = &m->places[i];

		if (p->at == UNSENT && is_late(p, now))
			end_in_vain(m, p, -ETIME, "was not sent in time: ETIME");
		else if (p->at != IDLE && now >= p->give_up)
			end_in_vain(m, p, -ETIMEDOUT, "was not answered in time: ETIMEDOUT");
		if (p->at != IDLE)
			next = earlier(next, p->give_up);
		if (p->at == UNSENT)
			next = earlier(next, earlier(p->begin, p->expire));
	}
	return next;
}

/* --- publishing ------------------------------------------------------------------ */

static void *what_of(const struct place *p)
{
	return (void *)(uintptr_t)(p->turn << 9 | p->number);
}

/* The place whose last publication that is, or NULL. */
static struct place *place_of(struct import *m, void *what)
{
	struct place *p = m->places ? &m->places[((uintptr_t)what & 511) - 1] : NULL;

	return p && p->at == SENT && what_of(p) == what ? p : NULL;
}

/*
 * Other hosts know CLOCK_REALTIME only. It may be set while a request is still here, so its time is
 * asked for no earlier.
 */
static uint64_t sent_as(uint64_t time)
{
	return time == NEVER ? 0 : realtime_of(time);
}

/* Has the broker refused messages of this size? */
static bool is_too_large(const struct import *m, const struct place *p)
{
	return m->out.largest && p->w.work.data_len + p->payload > m->out.largest;
}

static bool publish(struct import *m, struct place *p)
{
	const struct service *cfg = m->cfg;
	struct id id = id_of(m, p);
	struct request r = {
		.op = p->w.work.executor, .param = p->w.work.param, .prio = p->w.work.prio,
		.attrs = p->w.work.attrs & TRAVELS, .lane = (unsigned int)lane_of(p->w.work.attrs),
		.band = cfg->quorum ? -1 : band_of(p->w.work.prio, cfg->prio_low, cfg->prio_high),
		.room = p->w.work.result_len, .attempt = 1, .deadline_us = sent_as(p->begin),
		.expire_us = sent_as(p->expire), .has_payload = p->file >= 0,
		.payload = p->payload,
	};
	char lane[2] = { (char)('0' + r.lane) };
	size_t len = p->w.work.data_len + r.payload;
	struct message message;
	char *body = NULL;
	bool up;
	int err;

	if (is_too_large(m, p)) {
		refuse(m, p, -EMSGSIZE);
		return true;
	}
	if (r.has_payload) {
		err = payload_join(p->data, p->w.work.data_len, p->file, r.payload, &body);
		if (err) {
			refuse(m, p, err);
			return true;
		}
	}
	id_write(&id, r.id);
	strcpy(r.user, cfg->broker->user);
	strcpy(r.reply_to, m->replies);
	request_write(&r, cfg->name, cfg->broker->user, (uint64_t)time(NULL), &message);
	m->counts.requests[r.lane]++;
	p->turn = ++m->turns;
	set_at(m, p, SENT);
	up = link_publish(&m->out, m->exchange, lane, true, &message.p, body ?: p->data, len,
			  what_of(p));
	free(body);
	return up;
}

/* The context gave tickets in its order, which is kept. */
static struct place *first_unsent(const struct import *m)
{
	struct place *first = NULL, *p;

	for (p = m->places; p < m->places + m->cfg->window; p++)
		if (p->at == UNSENT && (!first || p->w.work.ticket < first->w.work.ticket))
			first = p;
	return first;
}

static void publish_all(struct import *m)
{
	struct place *p;

	/* where answers go has to be there first */
	while (m->nr_unsent && m->can_reply) {
		p = first_unsent(m);
		if (!link_takes(&m->out, m->exchange, p->payload) || !publish(m, p))
			return;
	}
}

static void message_lost(struct import *m, struct place *p)
{
	switch (judge_lost(p->at != SENT, p->w.work.attrs & PXR_REDO)) {
	case DO_KEEP:
		break;
	case DO_AGAIN:
		m->counts.republished++;
		tell_of(m, p, "the broker may not have it: it is sent again");
		may_have_begun(p);
		set_at(m, p, UNSENT);
		break;
	case DO_FAIL:
		m->counts.dead++;
		tell_of(m, p, "the broker may not have it, and it may have run: EOWNERDEAD");
		complete(m, p, -EOWNERDEAD, 0, NULL, 0);
		break;
	}
}

static void on_confirmed(struct link *link, void *what, bool taken)
{
	struct import *m = link->owner;
	struct place *p = place_of(m, what);

	if (p && taken)
		set_at(m, p, CONFIRMED);
	else if (p)
		message_lost(m, p);
}

static void out_down(struct link *link)
{
	struct import *m = link->owner;
	struct place *p;

	for (p = m->places; p && p < m->places + m->cfg->window; p++)
		if (p->at == SENT && is_too_large(m, p))
			refuse(m, p, -EMSGSIZE);
		else if (p->at == SENT)
			message_lost(m, p);
}

/* An answer's, or a returned request's place, if it still has that request */
static struct place *place_by_id(struct import *m, const struct id *id, struct answer *a)
{
	struct place *p = NULL;

	a->ours = m->places && !strcmp(id->instance, m->instance) && id->place <= m->cfg->window;
	if (a->ours) {
		p = &m->places[id->place - 1];
		a->busy = p->at != IDLE;
		a->ticket = p->w.work.ticket == id->ticket;
		a->room = p->w.work.result_len;
	}
	return p;
}

static void returned(struct link *link, const amqp_message_t *message)
{
	struct import *m = link->owner;
	amqp_bytes_t text = message->properties.message_id;
	struct answer a = { 0 };
	struct place *p;
	struct id id;

	if (!(message->properties._flags & AMQP_BASIC_MESSAGE_ID_FLAG) ||
	    !id_read(text.bytes, text.len, &id))
		return;
	p = place_by_id(m, &id, &a);
	if (judge_answer(&a) != DO_DROP)
		refuse(m, p, -EHOSTUNREACH);
}

/* Nobody serves it so far: what is posted is told so, until somebody does. */
static bool served(struct link *link, const char *exchange)
{
	struct import *m = link->owner;
	bool there = link_exchange_exists(link, exchange);
	unsigned int i;

	if (link->code != 404 && !there)
		return false;
	m->nowhere = !there;
	for (i = 0; m->nowhere && m->places && i < m->cfg->window; i++)
		if (m->places[i].at == UNSENT)
			refuse(m, &m->places[i], -EHOSTUNREACH);
	return there;
}

static bool out_up(struct link *link)
{
	struct import *m = link->owner;

	return served(link, m->exchange);
}

/* --- answers ----------------------------------------------------------------------- */

/* Also while the host is suspended the broker's time passes. */
static uint64_t boottime(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

/*
 * The broker has deleted the queue, as nobody has consumed from it for so long, with the answers in
 * it: those who sent them have forgotten them by now. So requests that the broker had are lost as
 * if it had never confirmed them. A queue that is gone earlier was lost in a crash: then answers
 * are sent again.
 */
static bool have_expired(struct import *m, struct link *link)
{
	unsigned int i;

	if (!m->deaf || boottime() - m->deaf < REPLIES_EXPIRE * (NSEC_PER_SEC / 1000) ||
	    link_queue_exists(link, m->replies) || link->code != 404)
		return false;
	note("import %s: its answers at the broker have expired", m->cfg->name);
	m->deaf = 0;
	for (i = 0; m->places && i < m->cfg->window; i++)
		if (m->places[i].at == CONFIRMED) {
			set_at(m, &m->places[i], SENT);
			message_lost(m, &m->places[i]);
		}
	return true;
}

static bool in_up(struct link *link)
{
	struct import *m = link->owner;
	amqp_table_entry_t e[2] = {
		{ amqp_cstring_bytes("x-expires"),
		  { AMQP_FIELD_KIND_I32, { .i32 = REPLIES_EXPIRE } } },
		{ amqp_cstring_bytes("x-queue-type"),
		  { AMQP_FIELD_KIND_UTF8, { .bytes = amqp_cstring_bytes("quorum") } } },
	};

	/* If the queue is gone, so is the channel on which it was asked for. */
	if (!served(link, "dxk.reply") || have_expired(m, link) ||
	    !link_queue(link, m->replies, (amqp_table_t){ m->cfg->quorum ? 2 : 1, e }) ||
	    !link_bind(link, m->replies, "dxk.reply", m->replies) ||
	    !link_consume(link, m->replies, "replies", m->cfg->window))
		return false;
	m->can_reply = true;
	m->deaf = 0;
	return true;
}

static void in_down(struct link *link)
{
	struct import *m = link->owner;

	m->deaf = boottime();
}

static void deliver(struct link *link, const amqp_basic_deliver_t *d, const amqp_message_t *message)
{
	struct import *m = link->owner;
	struct answer a = { 0 };
	struct reply r;
	struct place *p;
	const char *why;

	if (reply_read(&message->properties, message->body, &m->cfg->peers, &r, &why)) {
		link_reject(link, d->delivery_tag);
		m->counts.rejected++;
		note_reject(&m->rejects, "import", m->cfg->name, why);
		return;
	}
	p = place_by_id(m, &r.id, &a);
	a.len = (uint32_t)r.len;
	switch (judge_answer(&a)) {
	case DO_COMPLETE:
		if (r.status == -EOWNERDEAD) {
			m->counts.dead++;
			tell(m, &r.id, "was answered with EOWNERDEAD");
		} else {
			m->counts.answered[lane_of(p->w.work.attrs)]++;
		}
		complete(m, p, r.status, r.attempt, r.data, r.len);
		break;
	case DO_COMPLAIN:
		end_in_vain(m, p, -EPROTO, "was answered with more than there is room for: EPROTO");
		break;
	case DO_DROP:
		m->counts.dropped++;
		tell(m, &r.id, "an answer that came late, or twice, is dropped");
		break;
	}
	link_ack(link, d->delivery_tag);
}

/* --- the context ------------------------------------------------------------------- */

static void context_close(struct import *m)
{
	unsigned int i;

	for (i = 0; m->places && i < m->cfg->window; i++) {
		drop_file(&m->places[i]);
		if (m->places[i].fd >= 0)
			close(m->places[i].fd);
	}
	free(m->places);
	m->places = NULL;
	m->nr_busy = m->nr_unsent = 0;
	if (m->ctx >= 0)
		close(m->ctx);
	m->ctx = -1;
	m->ended = false;
}

/* Create the context, or join the one that a daemon of the same user has left. */
static int context_find(struct import *m)
{
	struct dxk_ctx_create create = { .mode = m->cfg->mode };
	struct dxk_ctx_join join = { .flags = DXK_JOIN_OWNER, .uid = geteuid() };

	strcpy(create.name, m->cfg->context);
	m->ctx = dxk_ctx_create_as(m->ctl, &create);
	if (m->ctx != -EEXIST)
		return m->ctx;
	strcpy(join.name, create.name);
	join.access = DXK_ACCESS_READ | DXK_ACCESS_EXECUTE | DXK_ACCESS_CONTROL;
	m->ctx = dxk_ctx_join_as(m->ctl, &join);
	return m->ctx;
}

static void policy_make(const struct service *cfg, struct dxk_policy *policy)
{
	unsigned int i;

	policy->max_threads = cfg->window;
	policy->kernel_threads = 0;
	policy->data_size = cfg->data_size;
	policy->max_waiting = cfg->max_waiting;
	policy->prio_policy = PRIO_POLICY_AGERQS;
	policy->rejoin_full = DXK_REJOIN_GROW;
	policy->sched_mode = 0;
	for (i = 0; i < LANES - 1; i++) {
		policy->lane_pct[i] = cfg->lane_pct[i];
		if (policy->lane_pct[i])
			policy->sched_mode = TPOOL_MODE_CMLS;
	}
}

/* A context that was left may run, or its daemon may have died before it had started it. */
static int context_make(struct import *m)
{
	struct dxk_policy policy;
	int rc = context_find(m);
	bool waits;

	if (rc < 0)
		return rc;
	rc = dxk_policy_get(m->ctx, &policy);
	if (rc)
		return rc;
	/* Workers would have to wait until their answers are taken, and none of ours can. */
	waits = policy.rejoin_full == DXK_REJOIN_BLOCK_WORKER;
	policy_make(m->cfg, &policy);
	rc = dxk_policy_set(m->ctx, &policy, NULL);
	if (rc && (rc != -EBUSY || waits))
		return rc == -EBUSY ? -EOPNOTSUPP : rc;
	if (rc && !m->said)
		note("import %s: context %s runs, and keeps its policy", m->cfg->name,
		     m->cfg->context);
	rc = dxk_ctx_start(m->ctx);
	return rc == -EBUSY ? 0 : rc;
}

static int context_open(struct import *m)
{
	struct epoll_event event = { .events = EPOLLIN };
	unsigned int i;
	int rc;

	if (m->ctl < 0)
		m->ctl = dxk_open();
	if (m->ctl < 0)
		return m->ctl;
	rc = context_make(m);
	if (rc)
		return rc;
	m->places = calloc(m->cfg->window, sizeof(*m->places));
	if (!m->places)
		abort();
	for (i = 0; i < m->cfg->window; i++)
		m->places[i].fd = m->places[i].file = -1;
	for (i = 0; i < m->cfg->window; i++) {
		struct place *p = &m->places[i];

		p->number = i + 1;
		p->fd = dxk_member_create(m->ctx, DXK_MEMBER_WORKER, NULL);
		if (p->fd < 0)
			return p->fd;
		event.data.u32 = p->number;
		if (epoll_ctl(m->epoll, EPOLL_CTL_ADD, p->fd, &event))
			return -errno;
	}
	return 0;
}

/*
 * Tickets are those of one context, so each has an instance of its own: a uuid, which no other
 * run of a daemon has.
 */
static void make_instance(struct import *m)
{
	int fd = open("/proc/sys/kernel/random/uuid", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, m->instance, INSTANCE_LEN - 1) != INSTANCE_LEN - 1)
		abort();
	close(fd);
	snprintf(m->replies, sizeof(m->replies), "dxk.reply.%s.%s", m->cfg->broker->user,
		 m->instance);
	m->can_reply = false;
	m->deaf = 0;
}

static void context_try(struct import *m, uint64_t now)
{
	int rc;

	if (m->places || m->leaving || now < m->retry)
		return;
	rc = context_open(m);
	if (rc) {
		if (rc != m->said)
			note("import %s: context %s: %s", m->cfg->name, m->cfg->context,
			     strerror(-rc));
		context_close(m);
		m->retry = now + RETRY_CONTEXT;
	}
	m->said = rc;
}

/*
 * Files that do not travel, and cannot be closed either, hold up this service: only its own users
 * can have passed them. Return: do they?
 */
static bool held_up(struct import *m, uint64_t now)
{
	if (!closer_is_full(m->closer)) {
		m->full = 0;
		return false;
	}
	if (!m->full)
		m->full = now + CLOSED_LATE;
	if (now >= m->full) {
		note("import %s: %u refused files cannot be closed: nothing is fetched until then",
		     m->cfg->name, CLOSER_MAX);
		m->full = NEVER;
	}
	return true;
}

static void fetch(struct import *m)
{
	unsigned int left = m->cfg->window / EVENTS + 1;
	struct epoll_event events[EVENTS];
	int n, i;

	do {
		n = epoll_wait(m->epoll, events, EVENTS, 0);
		for (i = 0; i < n; i++) {
			struct place *p = &m->places[events[i].data.u32 - 1];

			if (p->at == IDLE)
				turn(m, p, NULL);
		}
		/* each place that has something is no longer listened to */
	} while (n == EVENTS && !m->ended && --left);
}

/* --- the task ---------------------------------------------------------------------- */

static uint64_t import_run(struct task *task, uint64_t now)
{
	struct import *m = (struct import *)task;
	uint64_t next;

	m->lacks = false;
	context_try(m, now);
	next = link_run(&m->in, now);
	next = earlier(next, link_run(&m->out, now));
	if (!m->places)
		return m->leaving ? next : earlier(next, m->retry);
	if (!held_up(m, now) && !m->leaving && !m->ended)
		fetch(m);
	next = earlier(next, end_late(m, now));
	publish_all(m);
	if (m->ended) {
		context_close(m);
		link_drop(&m->in);
		make_instance(m);
		m->retry = now + RETRY_CONTEXT;
		return now;
	}
	if (m->full || m->lacks)
		next = earlier(next, now + FETCH_AGAIN);
	return m->nr_unsent && m->out.up ? earlier(next, now + PUBLISH_AGAIN) : next;
}

static void import_poll(struct task *task, struct pollfd fds[TASK_FDS])
{
	struct import *m = (struct import *)task;

	fds[0] = (struct pollfd){ link_fd(&m->in), POLLIN, 0 };
	fds[1] = (struct pollfd){ link_fd(&m->out), POLLIN, 0 };
	/* Nothing is awaited that cannot be fetched. */
	fds[2] = (struct pollfd){ m->places && !m->leaving && !m->full && !m->lacks ? m->epoll : -1,
				  POLLIN, 0 };
}

static void import_leave(struct task *task)
{
	((struct import *)task)->leaving = true;
}

static bool import_left(struct task *task)
{
	struct import *m = (struct import *)task;

	return !m->nr_busy;
}

static void import_status(struct task *task, struct status *s)
{
	struct import *m = (struct import *)task;

	*s = (struct status){
		.service = m->cfg, .requests = &m->out, .answers = &m->in, .context = m->said,
		.served = !m->nowhere, .in_flight = m->nr_busy - m->nr_unsent,
		.waiting = m->nr_unsent, .unconfirmed = (unsigned int)(m->out.next - m->out.first),
		.counts = &m->counts,
	};
}

static void import_close(struct task *task)
{
	struct import *m = (struct import *)task;

	link_close(&m->in);
	link_close(&m->out);
	context_close(m);
	if (m->ctl >= 0)
		close(m->ctl);
	close(m->epoll);
	closer_free(m->closer);
	free(m);
}

struct task *import_new(const struct service *service)
{
	static const struct link_ops in = { in_up, in_down, deliver, on_confirmed, returned };
	static const struct link_ops out = { out_up, out_down, NULL, on_confirmed, returned };
	struct import *m = calloc(1, sizeof(*m));
	char name[80];

	if (!m)
		abort();
	m->task = (struct task){ import_run, import_poll, import_leave, import_left,
				 import_status, import_close };
	m->cfg = service;
	m->ctl = m->ctx = -1;
	m->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (m->epoll < 0)
		abort();
	m->closer = closer_new();
	make_instance(m);
	snprintf(m->exchange, sizeof(m->exchange), "dxk.x.%s", service->name);
	snprintf(name, sizeof(name), "import %s: answers", service->name);
	link_init(&m->in, service->broker, name, &in, m);
	snprintf(name, sizeof(name), "import %s: requests", service->name);
	link_init(&m->out, service->broker, name, &out, m);
	return &m->task;
}
