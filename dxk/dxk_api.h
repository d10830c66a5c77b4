/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dxk for other modules: kernel executors, and contexts of in-kernel clients.
 *
 * All calls are for process context and may sleep, unless they say otherwise.
 */
#ifndef _DXK_API_H
#define _DXK_API_H

#include <linux/atomic.h>
#include <linux/bvec.h>
#include <linux/fs.h>
#include <linux/kobject.h>
#include <linux/types.h>
#include <linux/uidgid.h>

#include "../uapi/dxk.h"

struct cpumask;
struct dxk_ctx;
struct dxk_member;
struct dxk_session;
struct module;

/**
 * struct dxk_call - a request as its kernel executor sees it
 * @owner: as posted
 * @param: as posted
 * @attrs: PXR_* bits as posted
 * @prio: current priority, frozen at dispatch
 * @data: the request's buffer: on entry @data_len bytes that came with the post;
 *	the executor may write up to @result_room bytes of result over them. %NULL
 *	when the request carries neither
 * @data_len: bytes of data that came with the post
 * @result_room: bytes that the result may have
 * @result_len: out, bytes of result in @data, at most @result_room; 0 on entry
 * @file: the file handed over with %PXR_FD, or %NULL. Valid during the call
 * @self: the worker's member, to post and rejoin from within (DX-105)
 * @uid: effective user of the poster at the time of the post; root for the kernel
 * @gid: likewise the effective group of the poster
 * @pid: process of the poster, in the initial pid namespace, which may have ended since; 0: the
 *	kernel
 * @name: as posted, with %PXR_NAMED
 * @state: dxk_wait.state of its last wait
 * @turn: number of its turns that have ended with a wait
 * @wake: enum dxk_wake_reason: the reason of this turn
 * @events: with %DXK_WAKE_FILE the events that the waker was fired with
 */
struct dxk_call {
	u64 owner;
	u64 param;
	u32 attrs;
	s32 prio;
	void *data;
	u32 data_len;
	u32 result_room;
	u32 result_len;
	struct file *file;
	struct dxk_member *self;
	kuid_t uid;
	kgid_t gid;
	pid_t pid;
	u64 name;
	u64 state;
	u32 turn;
	u32 wake;
	u32 events;
};

/**
 * struct dxk_executor - a kernel executor: what a PXR_KERNEL request runs
 * @name: unique, shorter than %DXK_NAME_LEN
 * @owner: %THIS_MODULE; referenced while a live request names the executor
 * @execute_this_request: runs one request in a kernel worker, on several workers
 *	in parallel (DX-104). May sleep. Its return value is the request's status
 *	(DX-85). Long runs call dxk_should_stop(), and sleep in dxk_wait_should_stop()
 *
 * The struct belongs to the caller and stays in place until
 * dxk_executor_unregister() has returned.
 */
struct dxk_executor {
	const char *name;
	struct module *owner;
	s32 (*execute_this_request)(struct dxk_call *call);

	/* private: the registry's */
	u32 id;
	atomic_t users;
	struct kobj_attribute attr;
};

int dxk_executor_register(struct dxk_executor *exec);
void dxk_executor_unregister(struct dxk_executor *exec);
int dxk_executor_find(const char *name, u64 *id);

bool dxk_should_stop(const struct dxk_call *call);
int dxk_wait_should_stop(const struct dxk_call *call, u64 deadline);
int dxk_call_wait(struct dxk_call *call, const struct dxk_wait *wait);
int dxk_call_key(struct dxk_call *call, enum dxk_key_what what, u64 deadline);
int dxk_block_enter(struct dxk_call *call, bool force, u64 deadline);
int dxk_block_leave(struct dxk_call *call);

/* Of dxk_waker_fire() */
#define DXK_WAKER_EVENTS	0x7fffffffU

struct dxk_waker;

struct dxk_waker *dxk_waker_create(struct dxk_call *call, void (*release)(void *data),
				   void *data);
void dxk_waker_get(struct dxk_waker *waker);
void dxk_waker_put(struct dxk_waker *waker);
bool dxk_waker_fire(struct dxk_waker *waker, u32 events);

__printf(2, 3)
void dxk_log(const struct dxk_call *call, const char *fmt, ...);
struct file *dxk_handle_file(struct dxk_call *call, u64 id);
ssize_t dxk_file_read(struct file *file, void *buf, size_t size, loff_t *pos);

/**
 * struct dxk_async_read - a read of a file that the executor does not wait for
 * @done: called when it has ended, once, with the number of bytes, 0 at the end of the file, or an
 *	error of the file system; or with -ERESTARTSYS: it did not begin, because SIGKILL came
 *	while the system was suspended. In any context but NMI; interrupts may be off. It may
 *	call dxk_waker_fire() and dxk_waker_put()
 *
 * The caller sets @done, and may use the struct again after its call, see dxk_file_read_async().
 */
struct dxk_async_read {
	void (*done)(struct dxk_async_read *read, long result);

	/* private: dxk's */
	struct kiocb iocb;
	struct bio_vec bvec;
	bool local;
};

void dxk_file_read_async(struct dxk_async_read *read, struct file *file, void *buf, size_t size,
			 loff_t pos);

/**
 * struct dxk_request - a request to post from the kernel
 * @owner: opaque, see struct dxk_post_entry
 * @executor: opaque, with %PXR_KERNEL an executor's id
 * @param: opaque
 * @data: @data_len bytes, copied
 * @data_len: at most the policy's data_size
 * @result_len: room for the result, at most data_size
 * @prio: larger is more urgent
 * @attrs: PXR_* bits; %PXR_FD hands over @file
 * @file: an open file when @attrs has %PXR_FD; dxk takes its own reference
 * @name: with %PXR_NAMED, see struct dxk_post_more
 * @expire: with %PXR_EXPIRE, likewise
 * @wait: with %PXR_WAIT, likewise
 * @key: with %PXR_KEY, likewise
 * @reentry: with %PXR_KEY, likewise
 * @home: with %PXR_HOME, likewise
 *
 * Fields whose attribute is not set are not read, unless another one of these attributes is set.
 */
struct dxk_request {
	u64 owner;
	u64 executor;
	u64 param;
	const void *data;
	u32 data_len;
	u32 result_len;
	s32 prio;
	u32 attrs;
	struct file *file;
	u64 name;
	u64 expire;
	struct dxk_wait wait;
	u64 key;
	u32 reentry;
	u32 home;
};

/**
 * struct dxk_answer - a request that was returned
 * @executor: as posted
 * @param: as posted
 * @status: what the executor returned, -ECANCELED or -EOWNERDEAD
 * @attrs: as posted
 * @prio: priority at its dispatch
 * @inspect_count: scheduler intervals in the Ready Pool
 * @worker: id of the worker, 0 for none
 * @attempts: how often it was begun
 * @data: in, where to store the result, or %NULL when it is not wanted
 * @data_room: in, bytes at @data
 * @data_len: out, bytes of the result; bytes beyond @data_room are cut off
 */
struct dxk_answer {
	u64 executor;
	u64 param;
	s32 status;
	u32 attrs;
	s32 prio;
	u32 inspect_count;
	u32 worker;
	u32 attempts;
	void *data;
	u32 data_room;
	u32 data_len;
};

struct dxk_item;

/**
 * typedef dxk_item_fn - the function of an item
 * @item: the item; not pending: the function may queue it again, or free it
 * @call: without data, file and name; otherwise as for an executor
 *
 * Runs in a kernel worker and may sleep; the rules for executors apply to it.
 */
typedef void dxk_item_fn(struct dxk_item *item, struct dxk_call *call);

/**
 * struct dxk_item - a request that lies in an object of the caller's (struct work_struct)
 * @fn: its function
 * @cancelled: called when a Stop(cancel), the close of the context or its policy has ended the
 *	item before a worker began it; the item is not pending any more and may be freed in it.
 *	In process context, by the thread that ends it: it must not wait. %NULL for none; set it
 *	after dxk_item_init()
 *
 * Only the record of its owner may have to be allocated, see dxk_item_queue(). Nobody collects it:
 * its function must notify those concerned.
 * It counts for its owner, so that a rejoin of the owner returns %RJR_NONE_EXIST when all
 * have been executed. Call dxk_item_cancel_sync() before the object is freed, or its module
 * is unloaded, unless the function or @cancelled frees it.
 */
struct dxk_item {
	dxk_item_fn *fn;
	void (*cancelled)(struct dxk_item *item);

	/* private: dxk's */
	u64 own[26];
};

int dxk_item_init(struct dxk_item *item, dxk_item_fn *fn, u64 owner, s32 prio, u32 attrs);
int dxk_item_queue(struct dxk_member *member, struct dxk_item *item);
bool dxk_item_pending(const struct dxk_item *item);
int dxk_item_flush(struct dxk_ctx *ctx, struct dxk_item *item);
int dxk_item_cancel_sync(struct dxk_ctx *ctx, struct dxk_item *item);

void dxk_policy_init(struct dxk_policy *policy);

struct dxk_ctx *dxk_ctx_create(void);
int dxk_ctx_set_policy(struct dxk_ctx *ctx, struct dxk_policy *policy);
void dxk_ctx_get_policy(struct dxk_ctx *ctx, struct dxk_policy *policy);
int dxk_ctx_set_cpus(struct dxk_ctx *ctx, const struct cpumask *cpus);
int dxk_ctx_start(struct dxk_ctx *ctx);
int dxk_ctx_stop(struct dxk_ctx *ctx, enum dxk_stop_mode mode, u64 deadline);
void dxk_ctx_destroy(struct dxk_ctx *ctx);
int dxk_ctx_wait_crew(struct dxk_ctx *ctx, u64 deadline, u32 *workers, u32 *spares);

u32 dxk_ctx_read_running(struct dxk_ctx *ctx, struct dxk_running *out, u32 nr);
int dxk_ctx_read_requests(struct dxk_ctx *ctx, u64 *cursor, struct dxk_request_info *seen);
u32 dxk_ctx_read_samples(struct dxk_ctx *ctx, u64 after_ns, struct dxk_sample *out, u32 nr);
int dxk_ctx_read_latencies(struct dxk_ctx *ctx, enum dxk_latency latency, u32 lane,
			   u64 *counts);

int dxk_ctx_log_read(struct dxk_ctx *ctx, struct dxk_log_record *recs, u32 nr,
		     u64 deadline);
int dxk_ctx_log_file(struct dxk_ctx *ctx, struct file *file);

int dxk_handle_open(struct dxk_ctx *ctx, struct file *file, u64 *id);
int dxk_handle_close(struct dxk_ctx *ctx, u64 id);

struct dxk_member *dxk_client_create(struct dxk_ctx *ctx);
void dxk_client_destroy(struct dxk_member *member);
int dxk_client_wait_stop(struct dxk_member *member, u64 deadline);
int dxk_client_instrument(struct dxk_member *member, const char *name, s64 value, bool set);
int dxk_client_label(struct dxk_member *member, u64 object, const char *name);
__printf(4, 5)
int dxk_client_log(struct dxk_member *member, bool wait, u64 deadline, const char *fmt, ...);

struct dxk_session *dxk_ctx_join(struct dxk_ctx_join *a);
struct dxk_ctx *dxk_session_ctx(const struct dxk_session *s, u32 access);
struct dxk_member *dxk_session_client(struct dxk_session *s);
void dxk_session_close(struct dxk_session *s);

int dxk_post(struct dxk_member *member, const struct dxk_request *reqs, u32 nr,
	     u64 deadline, u32 *reason);
int dxk_wake(struct dxk_member *member, u64 name);
int dxk_cancel(struct dxk_member *member, u64 name);
unsigned int dxk_cancel_owner(struct dxk_member *member, u64 owner);
int dxk_hold_key(struct dxk_member *member, u64 key, bool refuse);
int dxk_release_key(struct dxk_member *member, u64 key);
int dxk_cancel_key(struct dxk_member *member, u64 key);
int dxk_rejoin(struct dxk_member *member, u64 owner, struct dxk_answer *answers,
	       u32 nr, u32 min, u64 deadline, u32 *answer);

/**
 * struct dxk_command_handler - the command handler of an in-kernel client's
 *	context (DX-29..DX-32)
 * @name: for "show commands"
 * @owner: %THIS_MODULE; referenced while attached
 * @tick: called once per monitor interval, or %NULL. A handler that is late is called
 *	once for all ticks that it missed
 * @command: called for each command, with room for a zero-terminated reply; it
 *	returns 0, a negative errno, or -ENOENT for a command that it does not
 *	know, which is then handed to the context's own commands. May be %NULL
 *
 * Both are called from a work item, never at the same time, and may sleep: neither
 * the Monitor nor anything else of the context waits for them. The struct belongs
 * to the caller and stays in place until it has been replaced or detached.
 */
struct dxk_command_handler {
	const char *name;
	struct module *owner;
	void (*tick)(struct dxk_command_handler *h, struct dxk_ctx *ctx);
	int (*command)(struct dxk_command_handler *h, struct dxk_ctx *ctx,
		       const char *text, char *reply, size_t room);
};

int dxk_attach_command_handler(struct dxk_ctx *ctx, struct dxk_command_handler *h);
int dxk_send_command(struct dxk_ctx *ctx, const char *text, char *reply, size_t room,
		     u64 deadline);
int dxk_send_timed_command(struct dxk_ctx *ctx, const char *text, u64 at,
			   u64 every_ns, u32 *id);

#endif /* _DXK_API_H */
