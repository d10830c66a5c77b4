// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that requests wait for: see watch.h.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/poll.h>
#include <linux/refcount.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <net/sock.h>

#include "compat.h"
#include "engine/bin.h"
#include "engine/calls.h"
#include "engine/engine.h"
#include "engine/fire.h"
#include "engine/more.h"
#include "engine/os.h"
#include "services/file.h"
#include "services/files.h"
#include "services/waker.h"
#include "services/watch.h"

/* Maximum number of wait queues of a file for poll(2). Pipes and terminals have two. */
#define DXK_HOOKS	2

/* Watches that the Monitor checks per lock hold. */
#define DXK_LOOKS	256

struct dxk_file_watch;

/**
 * struct dxk_hook - an entry in a wait queue of a file
 */
struct dxk_hook {
	/** @entry: in the queue */
	wait_queue_entry_t entry;
	/** @head: (A) the queue, until the entry has left it */
	wait_queue_head_t *head;
	/** @w: whose hook it is */
	struct dxk_file_watch *w;
};

/**
 * struct dxk_file_watch - a watch
 *
 * Fields without a letter belong to the holder of the watch.
 */
struct dxk_file_watch {
	/** @watch: the engine's part */
	struct dxk_watch watch;
	/** @ws: (C) of its context */
	struct dxk_watches *ws;
	/** @link: in dxk_watches.list while it is hooked */
	struct list_head link;
	/** @refs: the holder's, and the Monitor's */
	refcount_t refs;
	/** @armed: (A) events that are waited for; 0: none */
	u32 armed;
	/** @file: referenced, or NULL: it is not hooked */
	struct file *file;
	/** @mm: of the process that waits for @file, grabbed */
	struct mm_struct *mm;
	/** @nr: how many of @hook are used */
	u32 nr;
	/** @too_many: the file has more queues than that */
	bool too_many;
	/** @hook: in its queues */
	struct dxk_hook hook[DXK_HOOKS];
};

static struct dxk_file_watch *dxk_file_watch_of(struct dxk_watch *watch)
{
	return container_of(watch, struct dxk_file_watch, watch);
}

/* --- wait queues ------------------------------------------------------------------ */

/* Any context, interrupts are off: the file has changed. */
static int dxk_watch_called(wait_queue_entry_t *entry, unsigned int mode, int sync, void *key)
{
	struct dxk_hook *hook = container_of(entry, struct dxk_hook, entry);
	u32 seen = (__force u32)key_to_poll(key);
	struct dxk_file_watch *w = hook->w;
	u32 armed = READ_ONCE(w->armed);
	bool ends = seen & (__force u32)POLLFREE;
	bool fires = armed && (!seen || seen & armed) && xchg(&w->armed, 0);

	if (fires)
		dxk_event_fire(w->ws->engine, &w->watch.event,
			       seen & armed ?: DXK_SEEN_SOMETHING);
	if (unlikely(ends)) {
		list_del_init(&entry->entry);
		/* Pairs with dxk_watch_unhook(): from here on the watch may be gone. */
		smp_store_release(&hook->head, NULL);
	}
	return fires;
}

struct dxk_hook_table {
	poll_table table;
	struct dxk_file_watch *w;
};

static void dxk_watch_hook(struct file *file, wait_queue_head_t *head, poll_table *table)
{
	struct dxk_file_watch *w = container_of(table, struct dxk_hook_table, table)->w;
	struct dxk_hook *hook = &w->hook[w->nr];

	if (w->nr == DXK_HOOKS) {
		w->too_many = true;
		return;
	}
	w->nr++;
	hook->w = w;
	hook->head = head;
	init_waitqueue_func_entry(&hook->entry, dxk_watch_called);
	add_wait_queue(head, &hook->entry);
}

/* Whether it is still in all the queues that it was hooked into. */
static bool dxk_watch_is_hooked(const struct dxk_file_watch *w)
{
	u32 i;

	for (i = 0; i < w->nr; i++)
		if (!READ_ONCE(w->hook[i].head))
			return false;
	return w->file;
}

static void dxk_watch_unhook(struct dxk_file_watch *w)
{
	wait_queue_head_t *head;

	for (; w->nr; w->nr--) {
		struct dxk_hook *hook = &w->hook[w->nr - 1];

		/* A queue that ends does so after a grace period. */
		rcu_read_lock();
		/* pairs with the release in dxk_watch_called() */
		head = smp_load_acquire(&hook->head);
		if (head)
			remove_wait_queue(head, &hook->entry);
		rcu_read_unlock();
	}
}

/* --- the file ---------------------------------------------------------------------- */

/*
 * A socket may be set to wait in close() until all is sent (SO_LINGER). That is for its process,
 * not for the thread that releases it here. It is sent without a wait, as at a process's end.
 */
static void dxk_watch_put_file(struct file *file)
{
	struct socket *sock = file_count(file) == 1 ? sock_from_file(file) : NULL;

	if (sock && sock->sk && sock_flag(sock->sk, SOCK_LINGER)) {
		lock_sock(sock->sk);
		sock_reset_flag(sock->sk, SOCK_LINGER);
		release_sock(sock->sk);
	}
	if (current->flags & PF_KTHREAD) {
		os_may_wait_for_user();
		__fput_sync(file);
	} else {
		fput(file);
	}
}

/* It no longer waits for this file. */
static void dxk_watch_unset(struct dxk_file_watch *w)
{
	if (!w->file)
		return;
	spin_lock(&w->ws->lock);
	if (!list_empty(&w->link)) {
		list_del_init(&w->link);
		w->ws->nr--;
	}
	spin_unlock(&w->ws->lock);
	dxk_watch_unhook(w);
	dxk_watch_put_file(w->file);
	mmdrop(w->mm);
	w->file = NULL;
	w->mm = NULL;
}

/* Make a watch, which waits for nothing yet. */
static struct dxk_file_watch *dxk_watch_make(struct dxk_watches *ws)
{
	struct dxk_payer payer = dxk_payer_self();
	int err = dxk_files_open(ws->files);
	struct dxk_file_watch *w;

	if (err)
		return ERR_PTR(err);
	w = kzalloc(sizeof(*w), GFP_KERNEL_ACCOUNT);
	if (!w)
		return ERR_PTR(-ENOMEM);
	err = dxk_file_charge(&payer);
	if (err) {
		kfree(w);
		return ERR_PTR(err);
	}
	w->watch.ref.watched = true;
	w->watch.ref.paid = true;
	w->watch.ref.payer = __kuid_val(payer.uid);
	w->ws = ws;
	INIT_LIST_HEAD(&w->link);
	refcount_set(&w->refs, 1);
	return w;
}

static void dxk_watch_put(struct dxk_file_watch *w)
{
	if (!refcount_dec_and_test(&w->refs))
		return;
	dxk_fired_flush(w->ws->engine, &w->watch.event);
	dxk_file_uncharge(KUIDT_INIT(w->watch.ref.payer));
	kfree(w);
}

/* Poll the file, and be called from now on. @hook: the watch is not in its queues yet */
static int dxk_watch_arm(struct dxk_file_watch *w, u32 events, bool hook)
{
	struct dxk_hook_table t = { .w = w };
	u32 mask;

	init_poll_funcptr(&t.table, hook ? dxk_watch_hook : NULL);
	t.table._key = (__force __poll_t)events;
	WRITE_ONCE(w->watch.event.seen, 0);
	/* A call that finds it armed stores what it has seen at once: 0 must come before that. */
	smp_store_release(&w->armed, events);
	/* Pairs with the barrier between the change of a file and the check of its queues. */
	smp_mb();
	mask = (__force u32)vfs_poll(w->file, &t.table) & events;
	if (w->too_many)
		return -EOPNOTSUPP;
	/* If it was disarmed meanwhile it has been called, and that counts. */
	if (mask && xchg(&w->armed, 0))
		WRITE_ONCE(w->watch.event.seen, mask);
	return 0;
}

/**
 * dxk_watch_set - a request is about to wait for a file
 * @ws: of its context
 * @more: of the request, which the caller has: POSTED, or BUSY
 * @wait: the file of the caller, and the events to wait for
 *
 * An event from here on ends the wait, even if it happens before the wait begins.
 * Return: 0; -EBADF: no open file; -EPERM: one that cannot be polled; -ELOOP: a descriptor of
 * dxk's; -EOPNOTSUPP: one with more than two wait queues; -ETOOMANYREFS: the user has as many
 * files with dxk as it may have open; -ENOMEM.
 */
int dxk_watch_set(struct dxk_watches *ws, struct dxk_more *more, const struct dxk_wait *wait)
{
	u32 events = wait->events | (__force u32)(EPOLLERR | EPOLLHUP);
	struct file *file __free(fput) = fget(wait->fd);
	struct dxk_file_watch *w;
	bool first;
	int err;

	if (!file)
		return -EBADF;
	if (!file_can_poll(file))
		return -EPERM;
	if (file->f_op->owner == THIS_MODULE)
		return -ELOOP;
	/* A watch of another process goes to the bin: its file's release must not delay this. */
	if (more->watch && dxk_file_watch_of(more->watch)->mm != current->mm) {
		dxk_event_forget(ws->engine, &more->watch->event);
		dxk_bin_put(ws->engine, &more->watch->ref);
		more->watch = NULL;
	}
	if (!more->watch) {
		w = dxk_watch_make(ws);
		if (IS_ERR(w))
			return PTR_ERR(w);
		more->watch = &w->watch;
	}
	w = dxk_file_watch_of(more->watch);
	if (w->file == file && dxk_watch_is_hooked(w))
		return dxk_watch_arm(w, events, false);

	dxk_watch_unset(w);
	w->file = get_file(file);
	w->mm = current->mm;
	w->too_many = false;
	mmgrab(w->mm);
	err = dxk_watch_arm(w, events, true);
	if (err) {
		dxk_watch_unset(w);
		return err;
	}
	spin_lock(&ws->lock);
	list_add_tail(&w->link, &ws->list);
	first = !ws->nr++;
	spin_unlock(&ws->lock);
	/* The Monitor may sleep until there is a watch to review. */
	if (first)
		os_kick(ws->engine, DXK_MONITOR);
	return 0;
}

/**
 * dxk_watch_let_go - release a watch: the request has ended, or no longer has it
 * @watch: dxk_event.more is NULL
 */
void dxk_watch_let_go(struct dxk_watch *watch)
{
	struct dxk_file_watch *w = dxk_file_watch_of(watch);

	if (watch->waker) {
		dxk_waker_let_go(watch);
		return;
	}
	dxk_watch_unset(w);
	dxk_watch_put(w);
}

/* --- watches whose file or process has gone ------------------------------------------- */

static bool dxk_watch_has_gone(const struct dxk_file_watch *w)
{
	return file_count(w->file) == 1 || !atomic_read(&w->mm->mm_users);
}

/* Return: the next that has gone, referenced, or NULL. @left: how many are still to be checked */
static struct dxk_file_watch *dxk_watches_gone(struct dxk_watches *ws, u32 *left)
{
	struct dxk_file_watch *w, *gone = NULL;
	u32 looks;

	spin_lock(&ws->lock);
	for (looks = min_t(u32, *left, DXK_LOOKS); looks && !gone && !list_empty(&ws->list);
	     looks--) {
		w = list_first_entry(&ws->list, struct dxk_file_watch, link);
		list_move_tail(&w->link, &ws->list);
		--*left;
		if (dxk_watch_has_gone(w)) {
			refcount_inc(&w->refs);
			gone = w;
		}
	}
	if (list_empty(&ws->list))
		*left = 0;
	spin_unlock(&ws->lock);
	return gone;
}

/**
 * dxk_watches_review - end the watches whose file or process has gone, once a second
 * @ws: of a context
 *
 * It leaves the watches of executing requests: these release them, or wait for them again.
 * Return: whether there are any.
 */
bool dxk_watches_review(struct dxk_watches *ws)
{
	u32 left = READ_ONCE(ws->nr);
	struct dxk_file_watch *w;

	if (!left || time_before(jiffies, ws->next))
		return left;
	ws->next = jiffies + HZ;
	while (left) {
		w = dxk_watches_gone(ws, &left);
		if (w) {
			/* The release of a file may take long, depending on its driver. */
			if (dxk_detach(ws->engine, &w->watch, DXK_EVENT_GONE))
				dxk_bin_put(ws->engine, &w->watch.ref);
			dxk_watch_put(w);
		}
		cond_resched();
	}
	return READ_ONCE(ws->nr);
}

void dxk_watches_init(struct dxk_watches *ws, struct dxk_engine *e, struct dxk_files *files)
{
	ws->engine = e;
	ws->files = files;
	spin_lock_init(&ws->lock);
	INIT_LIST_HEAD(&ws->list);
	ws->next = jiffies;
}

/** dxk_watches_exit - the module is unloaded: a call from a queue that ended may still return */
void dxk_watches_exit(void)
{
	synchronize_rcu();
}
