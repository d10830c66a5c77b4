// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Transactions (lane 2): each has its stanzas parsed by sub-requests (lane 3),
 * waits for all of them, and stores what they made of them in one transaction of
 * the database.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dxpkg.h"

struct chunk *chunk_new(struct input *input)
{
	struct chunk *chunk = xrealloc(NULL, 1, sizeof(*chunk));

	*chunk = (struct chunk){ .input = input };
	return chunk;
}

/* Lines that are added from here on are those of a new stanza. */
void chunk_add_stanza(struct chunk *chunk, unsigned long line)
{
	if (chunk->nr == chunk->stanza_room) {
		chunk->stanza_room = chunk->stanza_room ? 2 * chunk->stanza_room : 64;
		chunk->stanzas = xrealloc(chunk->stanzas, chunk->stanza_room,
					  sizeof(*chunk->stanzas));
	}
	chunk->stanzas[chunk->nr++] = (struct stanza){
		.chunk = chunk, .at = chunk->len, .line = line,
	};
}

void chunk_add_line(struct chunk *chunk, const char *line, size_t len)
{
	if (chunk->room - chunk->len < len) {
		chunk->room = 2 * chunk->room + len + 4096;
		chunk->text = xrealloc(chunk->text, chunk->room, 1);
	}
	memcpy(chunk->text + chunk->len, line, len);
	chunk->len += len;
	chunk->stanzas[chunk->nr - 1].len += len;
}

void chunk_free(struct chunk *chunk)
{
	size_t i;

	if (!chunk)
		return;
	for (i = 0; i < chunk->nr; i++)
		free(chunk->stanzas[i].relations);
	free(chunk->stanzas);
	free(chunk->text);
	free(chunk);
}

/* Return: all were taken; else program.stopped tells why. */
static bool post_stanzas(struct chunk *chunk)
{
	RQPost posts[DXK_BATCH_MAX];
	unsigned int nr;
	size_t i = 0;
	int rc;

	while (i < chunk->nr) {
		for (nr = 0; nr < DXK_BATCH_MAX && i + nr < chunk->nr; nr++)
			posts[nr] = (RQPost){
				.pOObject = chunk,
				.pXObject = &app.parser,
				.pPObject = &chunk->stanzas[i + nr],
				.RQEPriority = PRIO_SUB,
				.RQEAttrs = PXR_REJOIN | PXR_WAITIF_BUSY,
			};
		rc = post(posts, nr);
		if (rc > 0)
			i += (unsigned int)rc;
		else if (rc == -ESHUTDOWN)
			return false;
		else
			die(NOT_RUN, "a stanza cannot be posted: %s", strerror(-rc));
	}
	return true;
}

/* The Runnable of a transaction. Return: 0, or a negative errno: nothing was stored. */
int ExecuteTransaction(Runnable *self, void *request)
{
	struct chunk *chunk = request;
	int rc = post_stanzas(chunk) ? 0 : -ECANCELED;
	RQElement done;

	(void)self;
	/* They point to the chunk: no return before they are back. */
	while (rejoin(chunk, &done, NULL, 0) == RJR_RETURNED)
		rc = rc ? rc : done.RQEStatus;
	if (!rc && stopping())
		rc = -ECANCELED;
	return rc ? rc : db_store(chunk);
}
