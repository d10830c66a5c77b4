/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counts the words of files: a request for each file, and one for each piece of it. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <dx.h>

#define PIECE 65536

/* --- the requests --- */

struct piece {
	const char *from, *to;
	int before;		/* the character in front of it */
	unsigned long words;
};

struct file {
	const char *name;
	unsigned long words;
};

/* --- collecting --- */

/* Returns 0 when all requests of the owner were executed well. */
static int Collect(void *owner, void (*add)(void *owner, void *request))
{
	RQElement done;
	int rc = 0;

	for (;;) {
		switch (GetRejoinElement(owner, &done, NULL, 0, -1)) {
		case RJR_RETURNED:
			if (done.RQEStatus)
				rc = done.RQEStatus;
			else
				add(owner, done.pPObject);
			continue;
		case RJR_NONE_EXIST:
			return rc;
		case -EINTR:
		case -ESHUTDOWN:
			continue;
		default:
			abort();
		}
	}
}

/* --- a piece --- */

static int CountPiece(Runnable *self, void *request)
{
	struct piece *p = request;
	int last = p->before;

	(void)self;
	for (const char *c = p->from; c < p->to; last = *c++)
		p->words += isspace((unsigned char)last) && !isspace((unsigned char)*c);
	return 0;
}

static Runnable pieces = { .ExecuteThisRequest = CountPiece };

/* --- a file --- */

static char *ReadFile(const char *name, size_t *len)
{
	FILE *f = fopen(name, "r");
	char *text = NULL;
	size_t room = 0;

	*len = 0;
	while (f && !feof(f) && !ferror(f)) {
		if (room - *len < PIECE)
			text = realloc(text, room += 4 * PIECE);
		if (!text)
			abort();
		*len += fread(text + *len, 1, room - *len, f);
	}
	if (f)
		fclose(f);
	return text;
}

static void AddPiece(void *file, void *piece)
{
	((struct file *)file)->words += ((struct piece *)piece)->words;
}

static int CountFile(Runnable *self, void *request)
{
	struct file *file = request;
	int rc = 0, status;
	size_t len;
	char *text = ReadFile(file->name, &len);
	size_t nr = (len + PIECE - 1) / PIECE;
	struct piece *p = calloc(nr + 1, sizeof(*p));

	(void)self;
	if (!text || !p) {
		free(text);
		free(p);
		return -ENOENT;
	}
	for (size_t i = 0; i < nr && !rc; i++) {
		p[i].from = text + i * PIECE;
		p[i].to = i + 1 < nr ? p[i].from + PIECE : text + len;
		p[i].before = i ? p[i].from[-1] : ' ';
		rc = PostARequest(&p[i], &pieces, file, 20,
				  PXR_REJOIN | PXR_WAITIF_BUSY);
	}
	status = Collect(file, AddPiece);
	free(text);
	free(p);
	return rc ? rc : status;
}

static Runnable files = { .ExecuteThisRequest = CountFile };

/* --- the program --- */

static void PrintFile(void *owner, void *file)
{
	(void)owner;
	printf("%lu %s\n", ((struct file *)file)->words, ((struct file *)file)->name);
}

int main(int argc, char **argv)
{
	struct file *f = calloc((size_t)argc, sizeof(*f));
	ThreadManagerPolicy policy;
	char text[DX_ERROR_TEXT];
	MTExecutiveError error;
	RunSettings settings;
	MTExecutive *mte;
	int rc = 0, status;

	RunSettingsInit(&settings, "words", argc, argv);
	ThreadManagerPolicyInit(&policy);
	policy.TPMaxThreads = 4;
	policy.TPSchedMode = TPOOL_MODE_CMLS;
	policy.TPLanePct[2] = 50;
	mte = MTExecutiveCreate(&settings, &policy, &error);
	if (!mte || !f) {
		fprintf(stderr, "%s\n", MTExecutiveErrorText(&error, text, sizeof(text)));
		return 2;
	}
	for (int i = 1; i < argc && !rc; i++) {
		f[i].name = argv[i];
		rc = PostARequest(&f[i], &files, f, 10,
				  PXR_LANE2 | PXR_REJOIN | PXR_WAITIF_BUSY);
	}
	status = Collect(f, PrintFile);
	MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1);
	free(f);
	return rc || status;
}
