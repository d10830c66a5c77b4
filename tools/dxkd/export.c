// SPDX-License-Identifier: GPL-2.0-only
/*
 * The serving side. Requests are consumed from a queue for each lane, each with a credit of its
 * own, for one queue would let requests of one lane keep those of another from coming that they
 * wait for. They are posted into the local context, and their results are published. A delivery
 * is acked when the broker has confirmed its answer: whoever dies, the request or its answer
 * is in the broker.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <uthash.h>

#include "../common/common.h"
#include "judge.h"
#include "link.h"
#include "message.h"
#include "payload.h"
#include "task.h"

#define KNOWN_MAX	65536	/* answered ones that are remembered */
#define POST_AGAIN	(NSEC_PER_SEC / 100)
#define QUEUE_LEN	64
#define SEND_AGAIN	NSEC_PER_SEC
#define SEND_FOR	60	/* s, longer than an importer takes to connect again */

enum state {
	WAITS,		/* for the time of grace to be over */
	UNPOSTED,	/* for room in the local context */
	POSTED,
	UNSENT,		/* its answer, or the copy, is to be published */
	SENT,		/* and to be confirmed */
	AWAY,		/* there was no queue for it: it is sent again a little later */
	REMEMBERED,	/* answered */
};

/**
 * struct job - a request that was delivered
 * @by_id: in struct export.ids, unless it is about to be forgotten
 * @by_owner: in struct export.posted
 * @prev: in the list of its state
 * @next: likewise
 * @owner: cookie in the local context, a number of its own
 * @r: the request, whose data is at @data
 * @file: its sealed file, or -1
 * @known: it is in struct export.ids
 * @tag: of its delivery
 * @epoch: of the connection that this came over
 * @state: where it is
 * @copy: what is published is the request once more, not an answer
 * @redelivered: as the broker said
 * @status: of the answer
 * @returned: SENT: there is no queue for it
 * @away: since when there has been none, 0: there was one
 * @time: WAITS: when it is judged again; AWAY: when it is sent again; REMEMBERED: when it was
 *	answered
 * @len: bytes of result
 * @data: data of the request, then the result, with room for both
 */
struct job {
	UT_hash_handle by_id, by_owner;
	struct job *prev, *next;
	uint64_t owner;
	struct request r;
	int file;
	bool known;
	uint64_t tag;
	uint64_t epoch;
	enum state state;
	bool copy;
	bool redelivered;
	bool returned;
	int32_t status;
	uint64_t away;
	uint64_t time;
	uint32_t len;
	char *data;
};

struct list {
	struct job *first, *last;
	unsigned int nr;
};

struct export {
	struct task task;
	const struct service *cfg;
	struct link in, out;
	char exchange[64];
	struct job *ids, *posted;
	struct list lists[REMEMBERED + 1];
	uint64_t owners;
	int ctl, ctx, member;
	uint32_t data_size;
	bool times;			/* its requests can have a time to expire */
	uint64_t retry;			/* the context */
	int said;			/* why there is none */
	bool leaving, ended;		/* the daemon, the context */
	bool cancelled;			/* nothing is consumed */
	unsigned int ups;		/* of @in */
	struct rejects rejects;
	struct notes notes;
	struct counts counts;
};

/* --- jobs -------------------------------------------------------------------- */

static void unlist(struct export *x, struct job *job)
{
	struct list *l = &x->lists[job->state];

	*(job->prev ? &job->prev->next : &l->first) = job->next;
	*(job->next ? &job->next->prev : &l->last) = job->prev;
	l->nr--;
}

static void enlist(struct export *x, struct job *job, enum state state)
{
	struct list *l = &x->lists[state];

	job->state = state;
	job->next = NULL;
	job->prev = l->last;
	*(l->last ? &l->last->next : &l->first) = job;
	l->last = job;
	l->nr++;
}

static void move(struct export *x, struct job *job, enum state state)
{
	unlist(x, job);
	enlist(x, job, state);
}

static void forget(struct export *x, struct job *job)
{
	if (job->known)
		HASH_DELETE(by_id, x->ids, job);
	job->known = false;
}

static void drop_file(struct job *job)
{
	if (job->file >= 0)
		close(job->file);
	job->file = -1;
}

static void job_free(struct export *x, struct job *job)
{
	forget(x, job);
	unlist(x, job);
	drop_file(job);
	free(job->data);
	free(job);
}

static void remember(struct export *x, struct job *job)
{
	HASH_ADD(by_id, x->ids, r.id, (unsigned int)strlen(job->r.id), job);
	job->known = true;
}

static struct job *job_of(struct export *x, const char *id)
{
	struct job *job;

	HASH_FIND(by_id, x->ids, id, (unsigned int)strlen(id), job);
	return job;
}

/* Nobody waits for what was delivered over a connection that is gone. */
static bool live(const struct export *x, const struct job *job)
{
	return x->in.up && job->epoch == x->in.epoch;
}

static void tell(struct export *x, const struct job *job, const char *what, uint32_t attempt)
{
	char trace[TRACE_LEN];
	struct id id;

	if (!id_read(job->r.id, strlen(job->r.id), &id))
		return;
	id_trace(&id, trace);
	note_request(&x->notes, "export", x->cfg->name, trace, "%s, attempt %" PRIu32, what, attempt);
}

static void answer(struct export *x, struct job *job, int32_t status, uint32_t len)
{
	if (status == -EOWNERDEAD) {
		tell(x, job, "it may have run: EOWNERDEAD", job->r.attempt);
		x->counts.dead++;
	}
	else if (job->state == POSTED)
		x->counts.answered[job->r.lane]++;
	else
		x->counts.refused++;
	job->status = status;
	job->len = len;
	job->copy = false;
	drop_file(job);
	move(x, job, UNSENT);
}

/* ETIME says that it was not begun, which nobody knows of what was begun elsewhere before. */
static void answer_late(struct export *x, struct job *job)
{
	if (job->r.attempt > 1) {
		answer(x, job, -EOWNERDEAD, 0);
		return;
	}
	tell(x, job, "came too late, it is not begun: ETIME", job->r.attempt);
	answer(x, job, -ETIME, 0);
}

/* Somebody, this host or another one, gets it as a new message. */
static void publish_copy(struct export *x, struct job *job, uint32_t attempt)
{
	x->counts.republished++;
	tell(x, job, attempt > job->r.attempt ? "it may have begun, and is to run again" :
		     "is given back to the broker", attempt);
	forget(x, job);
	job->r.attempt = attempt;
	job->copy = true;
	move(x, job, UNSENT);
}

static void ack(struct export *x, struct job *job)
{
	if (live(x, job))
		link_ack(&x->in, job->tag);
	job->epoch = 0;
}

/* --- publishing ---------------------------------------------------------------- */

static bool publish_request(struct export *x, struct job *job)
{
	char lane[2] = { (char)('0' + job->r.lane) };
	size_t len = job->r.len + job->r.payload;
	char *body = NULL;
	struct message m;
	bool up;

	request_write(&job->r, x->cfg->name, x->cfg->broker->user, (uint64_t)time(NULL), &m);
	if (job->file >= 0 &&
	    payload_join(job->data, job->r.len, job->file, job->r.payload, &body))
		abort();
	up = link_publish(&x->out, x->exchange, lane, true, &m.p, body ?: job->data, len, job);
	free(body);
	return up;
}

static bool publish_reply(struct export *x, struct job *job)
{
	struct reply reply = { .status = job->status, .attempt = job->r.attempt };
	struct message m;

	id_read(job->r.id, strlen(job->r.id), &reply.id);
	strcpy(reply.user, x->cfg->broker->user);
	reply_write(&reply, &m);
	return link_publish(&x->out, "dxk.reply", job->r.reply_to, true, &m.p, job->data,
			    job->len, job);
}

static bool publish(struct export *x, struct job *job)
{
	return job->copy ? publish_request(x, job) : publish_reply(x, job);
}

static void publish_all(struct export *x)
{
	struct job *job;

	while ((job = x->lists[UNSENT].first)) {
		/* Who asked for it gets the copy from the broker, or another host's answer. */
		if (job->copy && !live(x, job)) {
			job_free(x, job);
			continue;
		}
		if (!link_takes(&x->out, x->exchange, job->copy ? job->r.payload : 0))
			return;
		move(x, job, SENT);
		if (!publish(x, job))
			return;
	}
}

/* The confirm comes next. */
static void on_returned(struct link *link, const amqp_message_t *message)
{
	struct export *x = link->owner;
	amqp_bytes_t id = message->properties.correlation_id;
	struct job *job;

	if (!(message->properties._flags & AMQP_BASIC_CORRELATION_ID_FLAG))
		return;
	for (job = x->lists[SENT].first; job; job = job->next)
		if (strlen(job->r.id) == id.len && !memcmp(job->r.id, id.bytes, id.len))
			job->returned = true;
}

/*
 * A broker that has crashed may no longer know a queue, until its importer, or this exporter, has
 * declared it again: an answer that is sent before would be lost. So would a copy, which somebody
 * has to answer: the queue is of this exporter. Return: is it sent again?
 */
static bool is_sent_again(struct export *x, struct job *job)
{
	uint64_t now = now_ns(), since;
	bool returned = job->returned;

	job->returned = false;
	if (!returned)
		return false;
	if (!job->away)
		job->away = now;
	/* Its importer may have been without the broker for as long as this exporter was. */
	since = job->away > x->out.since ? job->away : x->out.since;
	/* Until then it has a place of its lane, which is not for everybody. */
	if (!job->copy && (now - since > SEND_FOR * NSEC_PER_SEC ||
			   !users_have(&x->cfg->peers, job->r.user))) {
		tell(x, job, "nobody is there to whom it could be sent", job->r.attempt);
		return false;
	}
	job->time = now + SEND_AGAIN;
	move(x, job, AWAY);
	return true;
}

static void send_again(struct export *x, uint64_t now)
{
	struct list *l = &x->lists[AWAY];

	while (l->first && now >= l->first->time)
		move(x, l->first, UNSENT);
}

static void on_confirmed(struct link *link, void *what, bool taken)
{
	struct export *x = link->owner;
	struct job *job = what;

	if (!taken) {
		move(x, job, UNSENT);
		return;
	}
	if (is_sent_again(x, job))
		return;
	job->away = 0;
	ack(x, job);
	if (job->copy || !job->known) {
		job_free(x, job);
		return;
	}
	job->time = now_ns();
	job->data = realloc(job->data, job->len ?: 1) ?: job->data;
	move(x, job, REMEMBERED);
}

/* --- what is at the broker -------------------------------------------------------- */

static const char *queue_of(const struct export *x, unsigned int lane, char queue[QUEUE_LEN],
			    char key[2])
{
	key[0] = (char)('0' + lane);
	key[1] = '\0';
	snprintf(queue, QUEUE_LEN, "dxk.req.%s.%s", x->cfg->name, key);
	return queue;
}

static bool declare_lane(struct export *x, struct link *link, unsigned int lane)
{
	amqp_table_entry_t e[3] = {};
	amqp_table_t arguments = { 0, e };
	char queue[QUEUE_LEN], key[2];

	e[arguments.num_entries++] = (amqp_table_entry_t){
		amqp_cstring_bytes("x-dead-letter-exchange"),
		{ AMQP_FIELD_KIND_UTF8, { .bytes = amqp_cstring_bytes("dxk.dead") } } };
	if (x->cfg->quorum) {
		e[arguments.num_entries++] = (amqp_table_entry_t){
			amqp_cstring_bytes("x-queue-type"),
			{ AMQP_FIELD_KIND_UTF8, { .bytes = amqp_cstring_bytes("quorum") } } };
		e[arguments.num_entries++] = (amqp_table_entry_t){
			amqp_cstring_bytes("x-delivery-limit"),
			{ AMQP_FIELD_KIND_I32, { .i32 = (int32_t)x->cfg->redo_max + 1 } } };
	} else {
		e[arguments.num_entries++] = (amqp_table_entry_t){
			amqp_cstring_bytes("x-max-priority"),
			{ AMQP_FIELD_KIND_I32, { .i32 = BANDS - 1 } } };
	}
	queue_of(x, lane, queue, key);
	return link_queue(link, queue, arguments) && link_bind(link, queue, x->exchange, key);
}

/*
 * The service, with all its queues: requests wait in them also while there is no context that
 * they could be taken for.
 */
static bool declare(struct export *x, struct link *link)
{
	amqp_table_entry_t limits[2] = {
		{ amqp_cstring_bytes("x-max-length"), { AMQP_FIELD_KIND_I32, { .i32 = 10000 } } },
		{ amqp_cstring_bytes("x-message-ttl"),
		  { AMQP_FIELD_KIND_I32, { .i32 = 7 * 86400 * 1000 } } },
	};
	unsigned int lane;

	if (!link_exchange(link, x->exchange, "direct") ||
	    !link_exchange(link, "dxk.dead", "fanout") ||
	    !link_queue(link, "dxk.dead", (amqp_table_t){ 2, limits }) ||
	    !link_bind(link, "dxk.dead", "dxk.dead", ""))
		return false;
	for (lane = 0; lane < LANES; lane++)
		if (x->cfg->lane[lane] && !declare_lane(x, link, lane))
			return false;
	return true;
}

static bool out_up(struct link *link)
{
	struct export *x = link->owner;

	return link_exchange(link, "dxk.reply", "direct") && declare(x, link);
}

/* Answers that were not confirmed are sent first when there is a connection again. */
static void out_down(struct link *link)
{
	struct export *x = link->owner;
	struct job *job;

	while ((job = x->lists[SENT].first)) {
		job->returned = false;
		move(x, job, UNSENT);
	}
}

/* --- the local context ----------------------------------------------------------- */

static void context_close(struct export *x)
{
	if (x->member >= 0)
		close(x->member);
	if (x->ctx >= 0)
		close(x->ctx);
	x->member = x->ctx = -1;
	x->ended = false;
}

static int context_open(struct export *x)
{
	struct dxk_policy policy;
	int rc;

	if (x->ctl < 0)
		x->ctl = dxk_open();
	if (x->ctl < 0)
		return x->ctl;
	x->ctx = dxk_ctx_join(x->ctl, x->cfg->context, DXK_ACCESS_WRITE | DXK_ACCESS_READ, 0, NULL);
	if (x->ctx < 0)
		return x->ctx;
	rc = dxk_policy_get(x->ctx, &policy);
	if (rc < 0)
		return rc;
	x->data_size = policy.data_size;
	x->times = policy.max_waiting;
	x->member = dxk_member_create(x->ctx, DXK_MEMBER_CLIENT, NULL);
	return x->member < 0 ? x->member : 0;
}

static void context_try(struct export *x, uint64_t now)
{
	int rc;

	if (x->member >= 0 || x->leaving || now < x->retry)
		return;
	rc = context_open(x);
	if (rc) {
		if (rc != x->said)
			note("export %s: context %s: %s", x->cfg->name, x->cfg->context,
			     strerror(-rc));
		context_close(x);
		x->retry = now + RETRY_CONTEXT;
	}
	x->said = rc;
}

/*
 * What was not begun is for others, or for this host when the context is there again. A copy of
 * what waits would not say that it may have begun: the broker has the mark, and gives it to
 * somebody by itself when the connection ends.
 */
static void give_back(struct export *x)
{
	struct job *job;

	while ((job = x->lists[UNPOSTED].first) || (job = x->lists[WAITS].first)) {
		if (job->state == WAITS)
			job_free(x, job);
		else
			publish_copy(x, job, job->r.attempt);
	}
}

static void context_ended(struct export *x)
{
	if (!x->ended)
		note("export %s: context %s has ended", x->cfg->name, x->cfg->context);
	x->ended = true;
}

/*
 * The broker begins requests again: with PXR_REDO in this context as well, a request would be begun
 * as often as both counts multiplied.
 */
static int post(struct export *x, struct job *job)
{
	struct dxk_post_more e = {
		.post = {
			.owner = job->owner, .executor = job->r.op, .param = job->r.param,
			.data = (uintptr_t)job->data, .data_len = (uint32_t)job->r.len,
			.result_len = job->r.room, .prio = job->r.prio,
			.attrs = PXR_REJOIN | (job->r.attrs & ~(uint32_t)PXR_REDO),
		},
	};

	if (job->file >= 0) {
		e.post.attrs |= PXR_FD;
		e.post.fd = job->file;
	}
	if (job->r.expire_us && x->times) {
		e.post.attrs |= PXR_EXPIRE;
		e.expire = monotonic_of(job->r.expire_us);
		return dxk_post_more(x->member, &e, 1, 0, NULL);
	}
	return dxk_post(x->member, &e.post, 1, 0, NULL);
}

static bool late(const struct job *job)
{
	uint64_t now;

	if (!job->r.deadline_us && !job->r.expire_us)
		return false;
	now = realtime_us();
	return (job->r.deadline_us && now > job->r.deadline_us) ||
	       (job->r.expire_us && now > job->r.expire_us);
}

static void post_all(struct export *x)
{
	bool full[LANES] = { false };
	struct job *job, *next;
	int rc;

	for (job = x->lists[UNPOSTED].first; job && !x->ended && !x->leaving; job = next) {
		next = job->next;
		if (full[job->r.lane])
			continue;
		if (late(job)) {
			answer_late(x, job);
			continue;
		}
		rc = post(x, job);
		if (rc == 1) {
			HASH_ADD(by_owner, x->posted, owner, sizeof(job->owner), job);
			move(x, job, POSTED);
		} else if (rc == -EAGAIN || rc == -ENOSPC || rc == -EDQUOT || rc == -ENOMEM ||
			   rc == -ETOOMANYREFS || rc == -EINTR) {
			full[job->r.lane] = true;
		} else if (rc == -ESHUTDOWN) {
			context_ended(x);
		} else {
			answer(x, job, rc, 0);
		}
	}
}

/* libdxk's dxk_rejoin_any() has no data of results, dxk_rejoin() needs to know an owner. */
static int rejoin_any(struct export *x, struct dxk_result *result, char *data, uint64_t *owner,
		      uint32_t *what)
{
	struct dxk_rejoin arg = {
		.size = sizeof(arg), .flags = DXK_CALL_ANY, .results = (uintptr_t)result,
		.data = (uintptr_t)data, .nr = 1, .result_size = sizeof(*result),
		.data_stride = DATA_MAX,
	};
	int rc = ioctl(x->member, DXK_IOC_REJOIN, &arg);

	*owner = arg.owner;
	*what = arg.answer;
	return rc < 0 ? -errno : rc;
}

static void ended(struct export *x, struct job *job, const struct dxk_result *res,
		  const char *data)
{
	bool died = res->status == -EOWNERDEAD && job->r.attrs & PXR_REDO &&
		    job->r.attempt < x->cfg->redo_max;
	bool never = res->status == -ECANCELED && !res->attempts;

	if (died || never) {
		/* Of a connection that is gone the broker gives it to somebody by itself. */
		if (live(x, job))
			publish_copy(x, job, job->r.attempt + died);
		else
			job_free(x, job);
	} else if (res->status == -ETIME && !res->attempts) {
		answer_late(x, job);
	} else {
		/* from here on there is no use for the data of the request */
		memcpy(job->data, data, res->data_len);
		answer(x, job, res->status, res->data_len);
	}
}

static void collect(struct export *x)
{
	static char data[DATA_MAX];
	struct dxk_result result;
	struct job *job;
	uint64_t owner;
	uint32_t what;
	int rc;

	if (!x->lists[POSTED].nr)
		return;
	while ((rc = rejoin_any(x, &result, data, &owner, &what)) == 1) {
		HASH_FIND(by_owner, x->posted, &owner, sizeof(owner), job);
		if (!job)
			continue;
		HASH_DELETE(by_owner, x->posted, job);
		ended(x, job, &result, data);
	}
	if (rc < 0 && rc != -EINTR)
		context_ended(x);
	/* Nothing comes any more of what was posted. */
	if ((rc < 0 && rc != -EINTR) || (!rc && what == RJR_NONE_EXIST))
		while ((job = x->lists[POSTED].first)) {
			HASH_DELETE(by_owner, x->posted, job);
			answer(x, job, -EOWNERDEAD, 0);
		}
}

/* --- what is delivered ------------------------------------------------------------ */

static void judge(struct export *x, struct job *job, bool settling)
{
	struct delivery d = {
		.redelivered = job->redelivered, .redo = job->r.attrs & PXR_REDO,
		.late = late(job), .settling = settling, .quorum = x->cfg->quorum,
		.attempt = job->r.attempt, .deliveries = job->r.deliveries,
		.redo_max = x->cfg->redo_max,
	};

	switch (judge_delivery(&d)) {
	case DO_POST:
		job->r.attempt = attempt_of(&d);
		job->owner = ++x->owners;
		move(x, job, UNPOSTED);
		break;
	case DO_REPUBLISH:
		publish_copy(x, job, attempt_of(&d));
		break;
	case DO_REFUSE:
		answer(x, job, -EOWNERDEAD, 0);
		break;
	case DO_EXPIRE:
		answer_late(x, job);
		break;
	case DO_WAIT:
		job->time = x->in.since + x->cfg->grace * NSEC_PER_SEC;
		move(x, job, WAITS);
		break;
	case DO_NOTE:
	case DO_ANSWER:
		break;
	}
}

static void reject(struct export *x, uint64_t tag, const char *why)
{
	link_reject(&x->in, tag);
	note_reject(&x->rejects, "export", x->cfg->name, why);
	x->counts.rejected++;
}

/* The same request in another message, or once more: the answer acks this one. */
static void again(struct export *x, struct job *job, uint64_t tag)
{
	if (live(x, job))
		link_ack(&x->in, job->tag);
	job->tag = tag;
	job->epoch = x->in.epoch;
	if (job->state == REMEMBERED)
		move(x, job, UNSENT);
}

static void deliver(struct link *link, const amqp_basic_deliver_t *d, const amqp_message_t *m)
{
	struct export *x = link->owner;
	struct rules rules = {
		.service = x->cfg->name, .user = x->cfg->broker->user, .clients = &x->cfg->peers,
		.data_size = x->data_size, .payload_max = x->cfg->payload_max,
	};
	struct request r;
	struct job *job;
	const char *why;
	int verdict;

	verdict = request_read(&m->properties, d->routing_key, m->body, &rules, &r, &why);
	if (verdict == MESSAGE_REJECT) {
		reject(x, d->delivery_tag, why);
		return;
	}
	x->counts.requests[r.lane]++;
	x->counts.redelivered += d->redelivered;
	job = verdict ? NULL : job_of(x, r.id);
	if (job && strcmp(job->r.user, r.user)) {
		reject(x, d->delivery_tag, "another one's id");
		return;
	}
	if (job) {
		again(x, job, d->delivery_tag);
		return;
	}
	job = calloc(1, sizeof(*job));
	if (!job)
		abort();
	job->r = r;
	job->tag = d->delivery_tag;
	job->epoch = link->epoch;
	job->redelivered = d->redelivered;
	job->file = -1;
	if (!verdict && r.has_payload) {
		job->file = payload_make((const char *)r.data + r.len, r.payload);
		if (job->file < 0)
			verdict = job->file;
	}
	if (!verdict) {
		job->data = malloc((r.len > r.room ? r.len : r.room) ?: 1);
		if (!job->data)
			abort();
		memcpy(job->data, r.data, r.len);
		remember(x, job);
	}
	enlist(x, job, WAITS);
	if (verdict)
		answer(x, job, verdict, 0);
	else
		judge(x, job, x->ups > 1 &&
			      now_ns() - link->since < x->cfg->grace * NSEC_PER_SEC);
}

static void settle(struct export *x, uint64_t now)
{
	struct job *job, *next;

	for (job = x->lists[WAITS].first; job; job = next) {
		next = job->next;
		if (now >= job->time)
			judge(x, job, false);
	}
}

/* Who is forgotten may be run again, so time alone does it, unless there are very many. */
static void expire(struct export *x, uint64_t now)
{
	uint64_t age = x->cfg->remember * NSEC_PER_SEC;
	struct list *l = &x->lists[REMEMBERED];

	while (l->first && (now - l->first->time > age || l->nr > KNOWN_MAX))
		job_free(x, l->first);
}

static bool in_up(struct link *link)
{
	struct export *x = link->owner;
	char queue[QUEUE_LEN], key[2];
	unsigned int lane;

	if (!declare(x, link))
		return false;
	for (lane = 0; lane < LANES; lane++)
		if (x->cfg->lane[lane] &&
		    !link_consume(link, queue_of(x, lane, queue, key), key, x->cfg->lane[lane]))
			return false;
	x->cancelled = false;
	x->ups++;
	return true;
}

static void in_down(struct link *link)
{
	struct export *x = link->owner;
	struct job *job;

	while ((job = x->lists[WAITS].first))
		job_free(x, job);
}

/* --- the task ------------------------------------------------------------------- */

static bool holds_nothing(const struct export *x)
{
	return !x->lists[WAITS].nr && !x->lists[UNPOSTED].nr && !x->lists[POSTED].nr &&
	       !x->lists[UNSENT].nr && !x->lists[SENT].nr && !x->lists[AWAY].nr;
}

static void cancel(struct export *x)
{
	unsigned int lane;

	x->cancelled = true;
	for (lane = 0; lane < LANES; lane++) {
		char key[2] = { (char)('0' + lane) };

		if (x->cfg->lane[lane] && !link_cancel(&x->in, key))
			return;
	}
}

/* The context has ended, or the daemon is to: nothing new is taken, the rest is answered. */
static uint64_t wind_up(struct export *x, uint64_t now)
{
	give_back(x);
	if (!x->cancelled && x->in.up) {
		cancel(x);
		return now;	/* what was on its way is still to be read */
	}
	if (!holds_nothing(x) || x->in.unread)
		return NEVER;
	link_drop(&x->in);
	context_close(x);
	x->retry = now + 5 * RETRY_CONTEXT;
	return x->retry;
}

static uint64_t export_run(struct task *task, uint64_t now)
{
	struct export *x = (struct export *)task;
	uint64_t next;

	context_try(x, now);
	next = link_run(&x->out, now);
	if (x->member < 0)
		return x->leaving ? next : earlier(next, x->retry);
	if (x->in.conn || (x->out.up && !x->ended && !x->leaving))
		next = earlier(next, link_run(&x->in, now));
	settle(x, now);
	post_all(x);
	collect(x);
	if (x->ended || x->leaving)
		next = earlier(next, wind_up(x, now));
	send_again(x, now);
	publish_all(x);
	expire(x, now);
	if (x->lists[UNPOSTED].nr)
		next = earlier(next, now + POST_AGAIN);
	if (x->lists[WAITS].nr)
		next = earlier(next, x->lists[WAITS].first->time);
	if (x->lists[AWAY].nr)
		next = earlier(next, x->lists[AWAY].first->time);
	if (x->lists[UNSENT].nr && x->out.up)
		next = earlier(next, now + POST_AGAIN);
	return next;
}

static void export_poll(struct task *task, struct pollfd fds[TASK_FDS])
{
	struct export *x = (struct export *)task;

	fds[0] = (struct pollfd){ link_fd(&x->in), POLLIN, 0 };
	fds[1] = (struct pollfd){ link_fd(&x->out), POLLIN, 0 };
	fds[2] = (struct pollfd){ x->lists[POSTED].nr ? x->member : -1, POLLIN, 0 };
}

static void export_leave(struct task *task)
{
	((struct export *)task)->leaving = true;
}

static bool export_left(struct task *task)
{
	struct export *x = (struct export *)task;

	return x->member < 0;
}

static void export_status(struct task *task, struct status *s)
{
	struct export *x = (struct export *)task;

	*s = (struct status){
		.service = x->cfg, .requests = &x->in, .answers = &x->out, .context = x->said,
		.in_flight = x->lists[POSTED].nr,
		.waiting = x->lists[WAITS].nr + x->lists[UNPOSTED].nr,
		.unconfirmed = x->lists[UNSENT].nr + x->lists[SENT].nr + x->lists[AWAY].nr,
		.counts = &x->counts,
	};
}

static void export_close(struct task *task)
{
	struct export *x = (struct export *)task;
	enum state s;

	link_close(&x->in);
	link_close(&x->out);
	HASH_CLEAR(by_owner, x->posted);
	for (s = WAITS; s <= REMEMBERED; s++)
		while (x->lists[s].first)
			job_free(x, x->lists[s].first);
	context_close(x);
	if (x->ctl >= 0)
		close(x->ctl);
	free(x);
}

struct task *export_new(const struct service *service)
{
	static const struct link_ops in = { in_up, in_down, deliver, on_confirmed, on_returned };
	static const struct link_ops out = { out_up, out_down, NULL, on_confirmed, on_returned };
	struct export *x = calloc(1, sizeof(*x));
	char name[80];

	if (!x)
		abort();
	x->task = (struct task){ export_run, export_poll, export_leave, export_left,
				 export_status, export_close };
	x->cfg = service;
	x->ctl = x->ctx = x->member = -1;
	snprintf(x->exchange, sizeof(x->exchange), "dxk.x.%s", service->name);
	snprintf(name, sizeof(name), "export %s: requests", service->name);
	link_init(&x->in, service->broker, name, &in, x);
	snprintf(name, sizeof(name), "export %s: answers", service->name);
	link_init(&x->out, service->broker, name, &out, x);
	return &x->task;
}
