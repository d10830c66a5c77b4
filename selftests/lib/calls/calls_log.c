// SPDX-License-Identifier: GPL-2.0-only
/* The cases (calls.h) of the log. */
#define DXT_NO_HARNESS
#include "lib/calls/calls.h"

/* --- the log --------------------------------------------------------------------- */

static int say(struct env *e, unsigned int i)
{
	char text[16];

	return dxk_log_write(e->me, text, (size_t)snprintf(text, sizeof(text), "say %u", i),
			     0, 0);
}

/* Messages @first..@last of this thread are in the log, those of the module beside. */
static const char *hear(struct env *e, unsigned int first, unsigned int last)
{
	struct dxk_log_record r;
	char want[16];

	while (dxk_log_read(e->t.ctx, &r, 1, 0) == 1) {
		if (r.thread != e->id)
			continue;
		snprintf(want, sizeof(want), "say %u", first++);
		if (r.flags || strcmp(r.text, want))
			return "another message";
	}
	return first == last + 1 ? NULL : "a message is lost";
}

static const char *set_log_write(struct env *e)
{
	const char *why = hear(e, 1, 0);

	e->arg.log_write.len = (uint32_t)snprintf(e->text, sizeof(e->text), "say 1");
	use_buf(e, &e->arg.log_write.text, e->text, e->arg.log_write.len, false, WHOLE, 0);
	return why;
}

static const char *end_log_write(struct env *e, int rc)
{
	return hear(e, 1, rc ? 0 : 1);
}

static const char *set_log_read(struct env *e)
{
	const char *why = hear(e, 1, 0);

	if (say(e, 1) || say(e, 2))
		return "no message";
	e->arg.log_read.nr = 2;
	e->arg.log_read.record_size = sizeof(e->record[0]);
	use_buf(e, &e->arg.log_read.records, e->record, sizeof(e->record), true, ELEMENTS,
		sizeof(e->record[0]));
	return why;
}

static const char *end_log_read(struct env *e, int rc)
{
	unsigned int i, nr = rc > 0 ? (unsigned int)rc : 0;
	char want[16];

	for (i = 0; i < nr; i++) {
		snprintf(want, sizeof(want), "say %u", i + 1);
		if (e->record[i].thread != e->id || strcmp(e->record[i].text, want))
			return "another message";
	}
	return hear(e, nr + 1, 2);
}

static const char *set_log_file(struct env *e)
{
	e->arg.log_file.fd = e->file;
	return NULL;
}

static const char *end_log_file(struct env *e, int rc)
{
	struct dxk_log_record r;
	int read = dxk_log_read(e->t.ctx, &r, 1, 0);

	if (rc ? read < 0 : read != -EBUSY)
		return "the log file";
	return dxk_log_file(e->t.ctx, -1) ? "no log file any more" : NULL;
}

static const char *set_instrument(struct env *e)
{
	e->arg.instrument.flags = DXK_INSTRUMENT_SET;
	e->arg.instrument.value = 5;
	strcpy(e->arg.instrument.name, "faults");
	return dxk_instrument(e->me, "faults", DXK_INSTRUMENT_SET, 1) ? "no counter" : NULL;
}

static const char *end_instrument(struct env *e, int rc)
{
	char text[64];

	if (!dxt_text(&e->t, text, sizeof(text), "instruments"))
		return "no file";
	return strcmp(text, rc ? "faults 1" : "faults 5") ? "another value" : NULL;
}

static const char *set_label(struct env *e)
{
	e->arg.label.object = 7;
	strcpy(e->arg.label.name, "faults");
	return dxk_label(e->me, 7, "before") ? "no label" : NULL;
}

static const char *end_label(struct env *e, int rc)
{
	char text[64];

	if (!dxt_text(&e->t, text, sizeof(text), "labels"))
		return "no file";
	return strstr(text, rc ? ":0x7 before" : ":0x7 faults") ? NULL : "another name";
}

const struct row log_rows[] = {
	ROW("LABEL", LABEL, MEMBER, dxk_label, set_label, end_label, 0, 0),
	ROW("INSTRUMENT", INSTRUMENT, MEMBER, dxk_instrument, set_instrument, end_instrument,
	    0, 0),
	ROW("LOG_FILE", LOG_FILE, ON_CONTEXT, dxk_log_file, set_log_file, end_log_file, 0,
	    0),
	ROW("LOG_READ", LOG_READ, ON_CONTEXT, dxk_log_read, set_log_read, end_log_read, 2,
	    2, .fewer = true),
	ROW("LOG_WRITE", LOG_WRITE, MEMBER, dxk_log_write, set_log_write, end_log_write, 0,
	    0),
	{ 0 },
};
