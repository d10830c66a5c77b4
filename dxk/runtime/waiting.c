// SPDX-License-Identifier: GPL-2.0-only
/*
 * Text descriptions of waiting requests: see waiting.h.
 */
#include <linux/jiffies.h>
#include <linux/kernel.h>

#include "engine/os.h"
#include "engine/request.h"
#include "runtime/waiting.h"
#include "services/label.h"

/** dxk_waiting_age_ms - how long the request has waited */
u32 dxk_waiting_age_ms(const struct dxk_waiting *w)
{
	return jiffies_to_msecs(jiffies - w->since);
}

static u32 dxk_waiting_sources(u32 wait, char *text, u32 len)
{
	static const struct {
		u32 bit;
		const char *name;
	} sources[] = {
		{ DXK_WAIT_TIME, "time" },
		{ DXK_WAIT_CALL, "call" },
		{ DXK_WAIT_FILE, "file" },
		{ DXK_WAIT_RESULT, "result" },
		{ DXK_WAIT_JOIN, "join" },
		{ DXK_WAIT_EAGER, "eager" },
	};
	const char *comma = "";
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sources); i++) {
		if (!(wait & sources[i].bit))
			continue;
		len += scnprintf(text + len, DXK_WAITING_TEXT - len, "%s%s", comma,
				 sources[i].name);
		comma = ",";
	}
	return len;
}

/**
 * dxk_waiting_text - describe a request and what it waits for
 * @labels: of its context
 * @w: the request
 * @text: out: pairs of a word and a value; %DXK_WAITING_TEXT bytes
 */
void dxk_waiting_text(struct dxk_labels *labels, const struct dxk_waiting *w, char *text)
{
	char label[DXK_LABEL_TEXT];
	u32 len;

	len = scnprintf(text, DXK_WAITING_TEXT, "lane %d owner %u:%#llx executor %#llx%s ",
			dxk_lane_of(w->attrs), w->space, w->owner, w->executor,
			dxk_label_text(labels, w->space, w->executor, w->attrs, label));

	if (w->named)
		len += scnprintf(text + len, DXK_WAITING_TEXT - len, "name %#llx ", w->name);
	len += scnprintf(text + len, DXK_WAITING_TEXT - len, "kind %s turn %u for ",
			 w->kind == DXK_KERNEL ? "kernel" : "user", w->turn);
	if (w->ripe) {
		scnprintf(text + len, DXK_WAITING_TEXT - len, "room");
		return;
	}
	if (w->held)
		len += scnprintf(text + len, DXK_WAITING_TEXT - len, "key");
	else
		len = dxk_waiting_sources(w->wait, text, len);
	if (w->held || w->wait & (DXK_WAIT_RESULT | DXK_WAIT_JOIN))
		scnprintf(text + len, DXK_WAITING_TEXT - len, " of %u:%#llx", w->space,
			  w->awaits);
}

/**
 * dxk_key_text - describe a key and its holder
 * @labels: of its context
 * @key: the key
 * @text: out: pairs of a word and a value; %DXK_WAITING_TEXT bytes
 */
void dxk_key_text(struct dxk_labels *labels, const struct dxk_key_seen *key, char *text)
{
	char label[DXK_LABEL_TEXT];
	u32 len = scnprintf(text, DXK_WAITING_TEXT, "key %u:%#llx users %u held %u is %s",
			    key->space, key->key, key->users, key->held,
			    key->refuses ? "refused" : key->suspended ? "suspended" :
			    key->worker ? "executed" : key->taken ? "ready" : "free");

	if (key->worker)
		len += scnprintf(text + len, DXK_WAITING_TEXT - len, " worker %u", key->worker);
	if (key->taken)
		scnprintf(text + len, DXK_WAITING_TEXT - len, " owner %u:%#llx executor %#llx%s",
			  key->space, key->owner, key->executor,
			  dxk_label_text(labels, key->space, key->executor, key->attrs, label));
}

/** dxk_waiting_running - convert to an entry of what Stop still waits for (DX-114) */
void dxk_waiting_running(const struct dxk_waiting *w, struct dxk_running *out)
{
	*out = (struct dxk_running) {
		.executor = w->executor,
		.owner = w->owner,
		.param = w->param,
		.age_ns = jiffies_to_nsecs(jiffies - w->since),
		.attrs = w->attrs,
	};
}
