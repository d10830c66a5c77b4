// SPDX-License-Identifier: GPL-2.0-only
/* The calls of uapi/dxk.h: how each one's argument comes out of a step's fields. */
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <time.h>

#include "call.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

static void *arena(struct call *c, unsigned int where)
{
	return c->a->arena + where;
}

/* --- control ---------------------------------------------------------------- */

static void fill_none(struct call *c, union arg *a)
{
	(void)c;
	(void)a;
}

static void fill_executor_find(struct call *c, union arg *a)
{
	static const char * const names[] = { "nop", "echo", "sleep", "sha256", "", "nobody" };

	strcpy(a->executor_find.name, names[take(c) % COUNT(names)]);
}

static void fill_name(struct call *c, char *name)
{
	const uint8_t v = take(c);

	switch (v & 7) {
	case 0: break;
	case 1: case 2: case 3: case 4: sprintf(name, "fuzz%u", v & 7); break;
	case 5: strcpy(name, "a/b"); break;
	case 6: memset(name, 'x', DXK_NAME_LEN); break;
	default: strcpy(name, "."); break;
	}
}

static void fill_ctx_create(struct call *c, union arg *a)
{
	struct dxk_ctx_create *x = &a->ctx_create;

	fill_name(c, x->name);
	x->mode = (uint32_t[]) { 0700, 0777, 0, 0740, 01000 }[take(c) % 5];
	x->flags = take(c) & DXK_CTX_CHOWN;
	x->uid = number(c);
	x->gid = number(c);
}

static void after_ctx_create(struct call *c, union arg *a, int ret)
{
	(void)ret;
	table_add(a->ctx_create.fd, CONTEXT, c->a->nr, a->ctx_create.id);
}

static void fill_ctx_join(struct call *c, union arg *a)
{
	struct dxk_ctx_join *x = &a->ctx_join;
	struct object o;
	uint8_t flags;

	x->abi = DXK_ABI_VERSION;
	x->access = ~take(c) & 0xf;
	flags = take(c);
	x->flags = flags & 7;
	x->weight = flags >> 3 & 3;
	x->ready_entries = flags >> 5;
	if (!(x->flags & DXK_JOIN_BY_ID))
		fill_name(c, x->name);
	else if (table_find(CONTEXT, 0, take(c), &o))
		x->id = o.id;
}

static void after_ctx_join(struct call *c, union arg *a, int ret)
{
	(void)ret;
	table_add(a->ctx_join.fd, CONTEXT, c->a->nr, a->ctx_join.id);
}

/* --- the context ------------------------------------------------------------ */

static void fill_ctx_stop(struct call *c, union arg *a)
{
	struct dxk_ctx_stop *x = &a->ctx_stop;

	x->mode = take(c) % 3;
	x->deadline = deadline(c);
	x->nr = number(c);
	x->running_size = sizeof(struct dxk_running);
	x->running = address(c, ARENA_ARRAY);
}

/* The default policy with up to five fields changed: pairs of number and value. */
static void fill_policy(struct call *c, union arg *a)
{
	uint32_t *field = (uint32_t *)&a->policy;
	unsigned int i, which;

	a->policy.size = sizeof(a->policy);
	ioctl(c->fd, DXK_IOC_POLICY_GET, &a->policy);
	for (i = 0; i < 5; i++) {
		which = take(c) % (sizeof(a->policy) / 4);
		if (which > 1)
			field[which] = number(c);
	}
}

/*
 * A running context of one of the usual kinds: create, policy and start in one step,
 * so that inputs get further.
 */
static void fill_runtime(struct call *c, union arg *a)
{
	struct dxk_policy *p = &a->policy;
	const uint8_t kinds = take(c), lanes = take(c), sizes = take(c), full = take(c);

	p->size = sizeof(*p);
	ioctl(c->fd, DXK_IOC_POLICY_GET, p);
	p->dispatch = kinds & 1;
	p->on_block = (kinds >> 1 & 3) % 3;
	p->rejoin_full = (kinds >> 3 & 3) % 3;
	p->log_full = (kinds >> 5 & 3) % 3;
	p->shutdown = kinds >> 7 ? DXK_STOP_CANCEL : DXK_STOP_DRAIN;
	/* CMLS wants more of both kinds; each thread costs time */
	p->kernel_threads = lanes & 3 ? lanes & 4 ? 4 : 2 : 0;
	p->max_threads = p->kernel_threads + (lanes & 4 ? 4 : 3);
	p->max_spares = 2;
	if (lanes & 4) {
		p->sched_mode = TPOOL_MODE_CMLS;
		p->lane_pct[0] = lanes & 8 ? 25 : 0;
		p->lane_pct[1] = lanes & 16 ? 25 : 0;
		p->lane_pct[2] = lanes & 32 ? 25 : 0;
	}
	p->prio_policy = (full & 3) == 3 ? PRIO_POLICY_AGERQS | PRIO_POLICY_BOOST :
					   full & PRIO_POLICY_AGERQS;
	/* less, and a slow guest does nothing else */
	p->sched_interval_ms = 5 << (full >> 2 & 3);
	p->monitor_interval_ms = 5 << (full >> 4 & 3);
	p->sample_interval_ms = full & 0x80 ? 5 : 0;
	p->ready_entries = 8 << (sizes & 3);
	p->rejoin_entries = 1 << (sizes >> 2 & 3);
	p->log_entries = 2 << (sizes >> 4 & 3);
	p->max_requests = sizes & 0x40 ? p->ready_entries : 256;
	p->handle_entries = sizes & 0x80 ? 2 : 16;
	p->max_waiting = full & 0x40 ? 2 : 64;
	p->key_batch = lanes & 0x40 ? 1 : 16;
	p->data_size = 64;
}

static void after_runtime(struct call *c, union arg *a, int ret)
{
	struct dxk_ctx_start start = { .size = sizeof(start) };

	(void)a;
	(void)ret;
	ioctl(c->fd, DXK_IOC_CTX_START, &start);
}

static void fill_member_create(struct call *c, union arg *a)
{
	a->member_create.kind = take(c) % 3;
}

static void after_member_create(struct call *c, union arg *a, int ret)
{
	(void)ret;
	table_add(a->member_create.fd, a->member_create.kind ? WORKER : CLIENT, c->a->nr,
		  a->member_create.id);
}

static void fill_crew_wait(struct call *c, union arg *a)
{
	a->crew_wait.deadline = deadline(c);
}

/* --- requests --------------------------------------------------------------- */

static uint64_t executor(struct call *c, uint8_t which)
{
	static const char * const names[] = { "nop", "echo", "sleep", "sha256" };
	struct dxk_executor_find f = { .size = sizeof(f) };

	if (which > 3)
		return which;
	strcpy(f.name, names[which]);
	return ioctl(c->fd, DXK_IOC_EXECUTOR_FIND, &f) ? which : f.id;
}

/* The executors' ids; they do not change while the modules stay. */
static uint64_t executor_id(struct call *c, uint8_t which)
{
	static uint64_t ids[4];
	struct call on = *c;
	struct object o;

	if (which > 3)
		return which;
	if (!ids[which] && table_find(CONTEXT, 0, 0, &o)) {
		on.fd = o.fd;
		ids[which] = executor(&on, which);
	}
	return ids[which];
}

static void fill_post(struct call *c, union arg *a)
{
	static const uint32_t lane[] = { 0, PXR_LANE0, PXR_LANE1, PXR_LANE_CHILD };
	struct dxk_post_entry *e = arena(c, ARENA_ARRAY);
	struct dxk_post *x = &a->post;
	const uint8_t nr = take(c), attrs = take(c), exec = take(c), owner = take(c);
	const uint8_t prio = take(c), data = take(c), file = take(c);
	unsigned int i;

	x->nr = nr < 0x80 ? 1 + (nr & 7) : nr & 0x7f;
	x->flags = exec >> 7;
	x->deadline = deadline(c);
	x->entries = address(c, ARENA_ARRAY);
	x->entry_size = sizeof(*e);
	memset(e, 0, 64 * sizeof(*e));
	for (i = 0; i < 64; i++, e++) {
		e->owner = (owner & 3) + (owner & 0x80 ? i : 0);
		e->attrs = (attrs & 0x0f) ^ PXR_REJOIN;
		/* nr's upper bits: the lanes of a batch differ */
		e->attrs |= lane[((attrs >> 4) + (nr & 0x40 ? i : 0)) & 3];
		if (attrs & 0x40)
			e->attrs |= PXR_KERNEL;
		e->executor = executor_id(c, exec & 7);
		e->param = 50 * (exec & 0x38);		/* µs of "sleep" */
		e->prio = prio < 0x80 ? prio : (int32_t)(prio << 24);
		e->data = address(c, ARENA_DATA);
		e->data_len = data & 0x7f;
		e->result_len = data & 0x80 ? 64 : data & 0x3f;
		if (attrs & 0x80) {
			e->attrs |= PXR_FD;
			e->fd = table_file(file);
		}
	}
	/* the last one of a batch is not like the others */
	if (file & 0x40)
		((struct dxk_post_entry *)arena(c, ARENA_ARRAY))[(x->nr - 1) & 63].attrs ^=
			1 << (file & 15);
}

/* Of the clock: has come, comes soon, or late. */
static uint64_t some_time(unsigned int v)
{
	struct timespec t;

	if (v & 2)
		return v & 1 ? DXK_FOREVER : 1ULL << 62;
	if (v & 1)
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec + 2000000;
}

/* @bits: what for; @what: which of that. Fields go with the bits, so most can be. */
static void fill_wait(struct dxk_wait *w, uint8_t bits, uint8_t what)
{
	/* without any source it is ready again */
	w->wait = bits & 0x1f ? bits & 0x1f : DXK_WAIT_AGAIN;
	if (w->wait & DXK_WAIT_RESULT && bits & 0x20)
		w->wait &= ~DXK_WAIT_JOIN;
	if (bits & 0x40) {
		w->wait |= DXK_WAIT_PRIO;
		w->prio = (int8_t)what;
	}
	if (bits & 0x80)
		w->wait |= DXK_WAIT_MASKED;
	if (w->wait & DXK_WAIT_JOIN && what & 0x10)
		w->wait |= DXK_WAIT_EAGER;
	if (w->wait & DXK_WAIT_TIME)
		w->deadline = some_time(what);
	if (w->wait & (DXK_WAIT_RESULT | DXK_WAIT_JOIN))
		w->owner = what >> 2 & 3;
	if (w->wait & DXK_WAIT_FILE) {
		w->fd = table_file(what & 0x20 ? 3 : what >> 3);
		w->events = what & 0x40 ? EPOLLOUT : what & 0x80 ? 0 : EPOLLIN | EPOLLRDHUP;
	}
	w->state = what;
}

/* Requests with names or keys, that wait, expire, or take others along. */
static void fill_post_more(struct call *c, union arg *a)
{
	static const uint32_t lane[] = { 0, PXR_LANE_CHILD, PXR_LANE1, PXR_LANE2 };
	struct dxk_post_more *e = arena(c, ARENA_ARRAY);
	struct dxk_post *x = &a->post;
	const uint8_t nr = take(c), attrs = take(c), more = take(c), wait = take(c);
	const uint8_t what = take(c), owner = take(c);
	unsigned int i;

	x->nr = 1 + (nr & 7);
	x->deadline = deadline(c);
	x->entries = address(c, ARENA_ARRAY);
	x->entry_size = sizeof(*e) + (nr & 0x80 ? 8 : 0);
	memset(e, 0, 64 * (sizeof(*e) + 8));
	for (i = 0; i < 64; i++) {
		e = (void *)((char *)arena(c, ARENA_ARRAY) + i * x->entry_size);
		e->post.owner = (owner & 3) + (owner & 0x80 ? i : 0);
		e->post.attrs = (attrs & 0x0f) ^ PXR_REJOIN;
		e->post.attrs |= lane[attrs >> 4 & 3];
		if (attrs & 0x40)
			e->post.attrs |= PXR_KERNEL;
		e->post.executor = executor_id(c, owner >> 2 & 3);
		e->post.data = address(c, ARENA_DATA);
		e->post.data_len = e->post.result_len = attrs & 0x80 ? 32 : 0;
		if (more & 1) {
			e->post.attrs |= PXR_NAMED;
			e->name = (more >> 4 & 3) + (more & 0x40 ? i : 0);
		}
		if (more & 2) {
			e->post.attrs |= PXR_WAIT;
			fill_wait(&e->wait, wait, what + (nr & 0x40 ? i : 0));
		}
		if (more & 4) {
			e->post.attrs |= PXR_EXPIRE;
			e->expire = some_time(owner >> 4);
		}
		if (more & 8)
			e->post.attrs |= PXR_FAIL_FAST;
		if (more & 0x80) {
			e->post.attrs |= PXR_KEY;
			e->key = owner >> 4 & 3;
			e->reentry = (owner >> 6) % (DXK_REENTRY_CHAIN + 1);
		}
	}
}

static void fill_rejoin(struct call *c, union arg *a)
{
	struct dxk_rejoin *x = &a->rejoin;

	x->owner = take(c) & 3;
	x->nr = 1 + (take(c) & 0x3f);
	x->deadline = deadline(c);
	x->min = number(c);
	x->flags = take(c) & (DXK_CALL_HELP | DXK_CALL_NEST);
	x->result_size = sizeof(struct dxk_result) + 8 * (take(c) & 1);
	x->results = address(c, ARENA_ARRAY);
	x->data_stride = 64;
	x->data = take(c) & 1 ? 0 : address(c, ARENA_DATA);
	if (x->min > x->nr)
		x->min %= x->nr + 2;
}

static void fill_roundtrip(struct call *c, union arg *a)
{
	struct dxk_roundtrip *x = &a->roundtrip;
	union arg half = { 0 };

	fill_post(c, &half);
	x->flags = half.post.flags;
	x->deadline = half.post.deadline;
	x->entries = half.post.entries;
	x->nr = half.post.nr;
	x->entry_size = half.post.entry_size;
	x->min = take(c);
	x->flags |= x->min >> 3 & DXK_CALL_NEST;
	x->min &= 7;
	if (x->min > x->nr)
		x->min %= x->nr + 2;
	x->result_size = sizeof(struct dxk_result);
	x->results = address(c, ARENA_ARRAY + 0x2000);
	x->data_stride = 64;
	x->data = take(c) & 1 ? 0 : address(c, ARENA_DATA);
}

static void fill_next(struct call *c, union arg *a)
{
	struct dxk_done *d = arena(c, ARENA_ARRAY);
	struct actor *me = c->a;
	struct dxk_next *x = &a->next;
	const uint8_t done = take(c), work = take(c), data = take(c);
	unsigned int i;

	x->deadline = deadline(c);
	x->nr_work = work < 0x80 ? work & 3 : work & 0x7f;
	x->work_size = sizeof(struct dxk_work);
	x->work = address(c, ARENA_ARRAY + 0x2000);
	x->data_stride = 64;
	x->data = data & 1 ? 0 : address(c, ARENA_DATA);
	x->done_size = sizeof(*d);
	x->done = address(c, ARENA_ARRAY);
	memset(d, 0, 64 * sizeof(*d));
	/* all that it holds, some, one of them twice, or one that it does not hold */
	x->nr_done = done & 4 ? me->nr_tickets / 2 : me->nr_tickets;
	if (done & 1)
		x->nr_done = 0;
	for (i = 0; i < x->nr_done; i++) {
		d[i].ticket = me->tickets[i];
		d[i].status = (int8_t)data;
		d[i].data_len = data & 2 ? 32 : 0;
		d[i].data = address(c, ARENA_DATA);
	}
	if ((done & 0x30) == 0x30 && x->nr_done < 64) {
		d[x->nr_done] = d[0];
		d[x->nr_done++].ticket += done >> 6;
	}
	if (!x->nr_done && !x->nr_work)
		x->nr_work = 1;
}

/* Some turns end with waits, the others with a status. */
static void fill_next_more(struct call *c, union arg *a)
{
	struct dxk_done_more *d = arena(c, ARENA_ARRAY);
	struct actor *me = c->a;
	struct dxk_next *x = &a->next;
	const uint8_t done = take(c), work = take(c), wait = take(c), what = take(c);
	unsigned int i;

	x->deadline = deadline(c);
	x->nr_work = work & 3;
	x->work_size = sizeof(struct dxk_work_more) + (work & 0x40 ? 8 : 0);
	x->work = address(c, ARENA_ARRAY + 0x2000);
	x->data_stride = 64;
	x->data = work & 0x80 ? 0 : address(c, ARENA_DATA);
	x->done_size = sizeof(*d);
	x->done = address(c, ARENA_ARRAY);
	memset(d, 0, 64 * sizeof(*d));
	x->nr_done = done & 1 ? 0 : done & 4 ? me->nr_tickets / 2 : me->nr_tickets;
	for (i = 0; i < x->nr_done; i++) {
		d[i].done.ticket = me->tickets[i];
		d[i].done.data_len = work & 0x20 ? 32 : 0;
		d[i].done.data = address(c, ARENA_DATA);
		if (done >> 4 & (1 << (i & 3)))
			d[i].done.status = (int8_t)what, d[i].attempts = wait >> 6;
		else
			fill_wait(&d[i].wait, wait, what + i);
		/* with another key from now on, or with none */
		if (d[i].wait.wait && done & 8) {
			d[i].wait.wait |= DXK_WAIT_MOVE;
			d[i].wait.key = (what + i) & 3;
		} else if (d[i].wait.wait && done & 2) {
			d[i].wait.wait |= DXK_WAIT_ALONE;
		}
	}
	if (!x->nr_done && !x->nr_work)
		x->nr_work = 1;
}

static void after_next(struct call *c, union arg *a, int ret)
{
	const char *work = arena(c, ARENA_ARRAY + 0x2000);
	struct actor *me = c->a;
	unsigned int gone = a->next.nr_done ? a->next.nr_taken : 0;
	int i;

	if (gone > me->nr_tickets)
		gone = me->nr_tickets;
	memmove(me->tickets, me->tickets + gone,
		(me->nr_tickets - gone) * sizeof(me->tickets[0]));
	me->nr_tickets -= gone;
	for (i = 0; i < ret && me->nr_tickets < TICKETS_MAX; i++)
		me->tickets[me->nr_tickets++] =
			((const struct dxk_work *)(work + i * a->next.work_size))->ticket;
}

static void fill_should_stop(struct call *c, union arg *a)
{
	a->should_stop.deadline = deadline(c);
}

/* --- the log ---------------------------------------------------------------- */

static void fill_instrument(struct call *c, union arg *a)
{
	struct dxk_instrument *x = &a->instrument;

	x->flags = take(c) & DXK_INSTRUMENT_SET;
	x->value = number(c);
	x->name[0] = take(c) & 0x7f;
}

static void fill_label(struct call *c, union arg *a)
{
	struct dxk_label *x = &a->label;

	x->object = number(c);
	x->name[0] = take(c) & 0x7f;
}

static void fill_log_write(struct call *c, union arg *a)
{
	struct dxk_log_write *x = &a->log_write;
	uint8_t *text = arena(c, ARENA_DATA);
	unsigned int i;

	x->len = number(c);
	x->flags = take(c) & DXK_LOG_WAIT;
	x->deadline = deadline(c);
	x->text = address(c, ARENA_DATA);
	for (i = 0; i < 256; i++)
		text[i] = i ^ c->s->b[3];
}

static void fill_log_read(struct call *c, union arg *a)
{
	struct dxk_log_read *x = &a->log_read;

	x->nr = 1 + (take(c) & 0x3f);
	x->record_size = sizeof(struct dxk_log_record);
	x->deadline = deadline(c);
	x->records = address(c, ARENA_ARRAY);
}

static void fill_log_file(struct call *c, union arg *a)
{
	const uint8_t v = take(c);

	a->log_file.fd = v & 1 ? table_file(v >> 1) : table_file(1);
}

/* --- commands --------------------------------------------------------------- */

static const char * const commands[] = {
	"show threads", "show pools", "show lanes", "show owners", "show commands",
	"set boost_value 3", "set kernel_threads 2", "set max_threads 6",
	"set lane_pct0 25", "set monitor_interval_ms 2", "set nosuch 1", "set", "set x",
	"set ready_entries 9", "drain", "quit", "cancel 1", "cancel x", "show", "hello",
	" show  threads ", "set on_block help", "set dispatch thread",
};

static void fill_command_send(struct call *c, union arg *a)
{
	struct dxk_command_send *x = &a->command_send;
	const uint8_t which = take(c), when = take(c), room = take(c);
	char *text = arena(c, ARENA_DATA);
	struct timespec t;

	x->deadline = deadline(c);
	if (which < 0x80) {
		strcpy(text, commands[which % COUNT(commands)]);
		x->text_len = strlen(text);
	} else {
		memset(text, which, 5000);
		x->text_len = which & 1 ? 4096 : number(c);
	}
	x->text = address(c, ARENA_DATA);
	x->reply = address(c, ARENA_ARRAY);
	x->reply_room = room & 1 ? room : 4096;
	if (when & 1) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		x->at = t.tv_sec * 1000000000ULL + t.tv_nsec + (when & 6) * 500000;
		x->every_ns = when & 8 ? 1000000 : 0;
	}
	if (when & 0x10) {
		x->text_len = 0;
		x->id = when >> 5;
	}
}

static void fill_command_attach(struct call *c, union arg *a)
{
	a->command_attach.attach = !(take(c) & 1);
}

static void fill_command_next(struct call *c, union arg *a)
{
	struct dxk_command_next *x = &a->command_next;

	x->status = -(int32_t)number(c);
	x->deadline = deadline(c);
	x->reply_len = take(c) & 0x3f;
	x->reply = address(c, ARENA_DATA);
	x->text_room = DXK_COMMAND_MAX;
	x->text = address(c, ARENA_ARRAY);
}

/* --- handles and samples ---------------------------------------------------- */

static void fill_handle_open(struct call *c, union arg *a)
{
	const uint8_t v = take(c);

	a->handle_open.fd = table_file(v & 1 ? v >> 1 : 0);
}

static void after_handle_open(struct call *c, union arg *a, int ret)
{
	/* as the data of a request for "sha256" */
	struct dxk_sha256_range r = { .handle = a->handle_open.handle, .length = ~0ULL };

	(void)ret;
	memcpy(arena(c, ARENA_DATA), &r, sizeof(r));
}

static void fill_handle_close(struct call *c, union arg *a)
{
	a->handle_close.handle = take(c) & 7;
}

static void fill_samples_read(struct call *c, union arg *a)
{
	struct dxk_samples_read *x = &a->samples_read;

	x->nr = 1 + (take(c) & 0x3f);
	x->after_ns = take(c);
	x->sample_size = sizeof(struct dxk_sample);
	x->samples = address(c, ARENA_ARRAY);
}

static void fill_latencies_read(struct call *c, union arg *a)
{
	struct dxk_latencies_read *x = &a->latencies_read;

	x->latency = take(c) % 3;
	x->lane = take(c) % (DXK_LANES + 1);
	x->nr = take(c) % (DXK_LATENCY_BUCKETS + 2);
	x->counts = address(c, ARENA_ARRAY);
}

static void fill_requests_read(struct call *c, union arg *a)
{
	struct dxk_requests_read *x = &a->requests_read;

	x->cursor = (uint64_t)(take(c) & 3) << 32 | take(c);
	x->nr = DXK_BATCH_MAX;
	x->request_size = sizeof(struct dxk_request_info);
	x->requests = address(c, ARENA_ARRAY);
}

static void fill_names(struct call *c, union arg *a)
{
	uint64_t *names = arena(c, ARENA_ARRAY);
	unsigned int i;

	a->names.nr = 1 + (take(c) & 3);
	for (i = 0; i < a->names.nr; i++)
		names[i] = take(c) & 3;
	a->names.names = address(c, ARENA_ARRAY);
	a->names.states = take(c) & 1 ? address(c, ARENA_DATA) : 0;
}

static void fill_key_call(struct call *c, union arg *a)
{
	struct dxk_key_call *x = &a->key_call;
	const struct actor *me = c->a;
	uint8_t ticket;

	x->what = take(c) % (DXK_KEY_CANCEL + 2);
	if (x->what <= DXK_KEY_NOTIFY_ALL) {
		/* one that it executes, or any */
		ticket = take(c);
		x->ticket = me->nr_tickets && ticket & 0xe0 ?
			    me->tickets[ticket % me->nr_tickets] : 1 + (ticket & 0x1f);
	} else {
		x->key = take(c) & 3;
	}
	if (x->what == DXK_KEY_WAIT)
		x->deadline = deadline(c);
	x->flags = x->what == DXK_KEY_HOLD ? take(c) & DXK_KEY_REFUSE : 0;
}

static void fill_cancel_owner(struct call *c, union arg *a)
{
	a->cancel_owner.owner = take(c) & 3;
}

/* --- all of them ------------------------------------------------------------ */

#define OP(_name, _cmd, _kind, _fill, _after)					\
	{ #_name, DXK_IOC_##_cmd, sizeof(struct dxk_##_name), _kind, _fill, _after }

/* Their places are what corpus/ was made with: new ones go to the end. */
const struct ioctl_op ioctl_ops[] = {
	OP(policy, POLICY_SET, CONTEXT, fill_runtime, after_runtime),
	OP(post, POST, CLIENT, fill_post, NULL),
	OP(rejoin, REJOIN, CLIENT, fill_rejoin, NULL),
	OP(next, NEXT, WORKER, fill_next, after_next),
	OP(post, POST, WORKER, fill_post, NULL),
	OP(rejoin, REJOIN, WORKER, fill_rejoin, NULL),
	OP(next, NEXT, WORKER, fill_next, after_next),
	OP(ctx_create, CTX_CREATE, CONTROL, fill_ctx_create, after_ctx_create),
	OP(ctx_join, CTX_JOIN, CONTROL, fill_ctx_join, after_ctx_join),
	OP(ctx_start, CTX_START, CONTEXT, fill_none, NULL),
	OP(ctx_stop, CTX_STOP, CONTEXT, fill_ctx_stop, NULL),
	OP(policy, POLICY_SET, CONTEXT, fill_policy, NULL),
	OP(member_create, MEMBER_CREATE, CONTEXT, fill_member_create, after_member_create),
	OP(crew_wait, CREW_WAIT, CONTEXT, fill_crew_wait, NULL),
	OP(should_stop, SHOULD_STOP, CLIENT, fill_should_stop, NULL),
	OP(log_write, LOG_WRITE, CLIENT, fill_log_write, NULL),
	OP(instrument, INSTRUMENT, CLIENT, fill_instrument, NULL),
	OP(label, LABEL, CLIENT, fill_label, NULL),
	OP(log_read, LOG_READ, CONTEXT, fill_log_read, NULL),
	OP(log_file, LOG_FILE, CONTEXT, fill_log_file, NULL),
	OP(command_send, COMMAND_SEND, CONTEXT, fill_command_send, NULL),
	OP(command_attach, COMMAND_ATTACH, CLIENT, fill_command_attach, NULL),
	OP(command_next, COMMAND_NEXT, CLIENT, fill_command_next, NULL),
	OP(handle_open, HANDLE_OPEN, CONTEXT, fill_handle_open, after_handle_open),
	OP(handle_close, HANDLE_CLOSE, CONTEXT, fill_handle_close, NULL),
	OP(samples_read, SAMPLES_READ, CONTEXT, fill_samples_read, NULL),
	OP(executor_find, EXECUTOR_FIND, CONTEXT, fill_executor_find, NULL),
	OP(version, VERSION, CONTROL, fill_none, NULL),
	OP(policy, POLICY_GET, CONTEXT, fill_none, NULL),
	OP(latencies_read, LATENCIES_READ, CONTEXT, fill_latencies_read, NULL),
	OP(names, WAKE, CLIENT, fill_names, NULL),
	OP(names, CANCEL, WORKER, fill_names, NULL),
	OP(roundtrip, CALL, CLIENT, fill_roundtrip, NULL),
	OP(roundtrip, CALL, WORKER, fill_roundtrip, NULL),
	OP(key_call, KEY, WORKER, fill_key_call, NULL),
	OP(key_call, KEY, CLIENT, fill_key_call, NULL),
	OP(post, POST, CLIENT, fill_post_more, NULL),
	OP(post, POST, WORKER, fill_post_more, NULL),
	OP(next, NEXT, WORKER, fill_next_more, after_next),
	OP(next, NEXT, WORKER, fill_next_more, after_next),
	OP(names, CANCEL, CLIENT, fill_names, NULL),
	OP(cancel_owner, CANCEL_OWNER, CLIENT, fill_cancel_owner, NULL),
	OP(requests_read, REQUESTS_READ, CONTEXT, fill_requests_read, NULL),
};
const unsigned int nr_ioctl_ops = COUNT(ioctl_ops);
