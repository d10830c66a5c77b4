// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The message manager: an aglet's settings for kinds of messages, and its monitor.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* --- kinds ---------------------------------------------------------------------------- */

/* The settings of a kind, or NULL. Under P. */
static struct dxa_kind *find(AgletProxy *p, const char *name)
{
	struct dxa_kind *k;

	LIST_FOREACH(k, &p->kinds, link)
		if (!strcmp(k->name, name))
			break;
	return k;
}

/** dxa_says - an aglet's settings for a message; priority: the kind's, else its own. Under P */
struct dxa_says dxa_says(AgletProxy *p, const AgletMessage *m)
{
	struct dxa_says says = { 0 };
	struct dxa_kind *k = find(p, m->body->kind);

	if (k)
		says = k->says;
	if (!says.priority)
		says.priority = m->body->priority;
	return says;
}

void dxa_kinds_free(AgletProxy *p)
{
	struct dxa_kind *k;

	while ((k = LIST_FIRST(&p->kinds))) {
		LIST_REMOVE(k, link);
		free(k);
	}
}

/* The same, made if necessary; NULL without memory. Under P. */
static struct dxa_kind *get(AgletProxy *p, const char *name)
{
	struct dxa_kind *k = find(p, name);

	if (k)
		return k;
	k = calloc(1, sizeof(*k) + strlen(name) + 1);
	if (k) {
		strcpy(k->name, name);
		LIST_INSERT_HEAD(&p->kinds, k, link);
	}
	return k;
}

/* Removes a kind without settings. Under P. */
static void put(struct dxa_kind *k)
{
	if (k->says.priority || k->says.activates || k->says.subscribed)
		return;
	LIST_REMOVE(k, link);
	free(k);
}

enum what { PRIORITY, ACTIVATES, SUBSCRIBED };

static int say(AgletProxy *p, const char *name, enum what what, int value)
{
	struct dxa_kind *k;

	pthread_mutex_lock(&p->lock);
	k = get(p, name);
	if (k) {
		if (what == PRIORITY)
			k->says.priority = value;
		else if (what == ACTIVATES)
			k->says.activates = value;
		else
			k->says.subscribed = value;
		put(k);
	}
	pthread_mutex_unlock(&p->lock);
	return k ? 0 : -ENOMEM;
}

int MessageManager_setPriority(Aglet *aglet, const char *kind, int priority)
{
	if (priority != NOT_QUEUED && (priority < 1 || priority > AGLET_MAX_PRIORITY))
		return -EINVAL;
	return say(aglet->Proxy, kind, PRIORITY, priority);
}

void MessageManager_removePriority(Aglet *aglet, const char *kind)
{
	say(aglet->Proxy, kind, PRIORITY, 0);
}

int MessageManager_setActivation(Aglet *aglet, const char *kind, bool activates)
{
	return say(aglet->Proxy, kind, ACTIVATES, activates);
}

int MessageManager_subscribeMessage(Aglet *aglet, const char *kind, bool subscribes)
{
	return say(aglet->Proxy, kind, SUBSCRIBED, subscribes);
}

/* --- the monitor ---------------------------------------------------------------------- */

/* The caller's message releases the monitor for others. Except for LEAVE, it then has it again. */
static int monitor(unsigned int what, unsigned int timeout_ms)
{
	int rc, again;

	if (!getCurrentMessage())
		return -EPERM;
	rc = UseKey(what, timeout_ms ? timeout_ms * 1000000LL : -1);
	/* A message that is not queued was never in the monitor. */
	if (rc == -EINVAL)
		return -EPERM;
	if (rc != -EINTR)
		return rc;
	/* The message has its place, and returns to it. */
	do
		again = UseKey(DXK_KEY_ENTER, 0);
	while (again == -EINTR);
	return again == -ECANCELED ? again : rc;
}

int MessageManager_waitMessage(unsigned int timeout_ms)
{
	AgletMessage *m = getCurrentMessage();
	int rc;

	if (!m)
		return -EPERM;
	/* A thread that ends the aglet from here on finds the message, and ends the wait. */
	rc = dxa_list(m, m->proxy) ? monitor(DXK_KEY_WAIT, timeout_ms) : -ECANCELED;
	dxa_unlist(m);
	if (rc == -ECANCELED)
		UseKey(DXK_KEY_LEAVE, 0);
	return rc;
}

int MessageManager_notifyMessage(void)
{
	int rc = monitor(DXK_KEY_NOTIFY, 0);

	return rc == -EINTR ? 0 : rc;
}

int MessageManager_notifyAllMessages(void)
{
	int rc = monitor(DXK_KEY_NOTIFY_ALL, 0);

	return rc == -EINTR ? 0 : rc;
}

int MessageManager_exitMonitor(void)
{
	return monitor(DXK_KEY_LEAVE, 0);
}
