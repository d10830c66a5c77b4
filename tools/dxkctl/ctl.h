/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXKCTL_CTL_H
#define _DXKCTL_CTL_H

#include <stdio.h>

#include "../common/common.h"

/**
 * struct field - a field of the policy, as far as this program knows it
 * @name: its file in policy/
 * @offset: in struct dxk_policy
 * @words: names of the values from the least on, ended by NULL; none for plain numbers
 */
struct field {
	const char *name;
	unsigned int offset;
	const char *words[5];
};

/* NULL for a field that only the module knows. */
const struct field *field_of(const char *name);

/* The name of the field at an offset, "?" if none begins there. */
const char *field_at(unsigned int offset);

/* Reads the files of the policy into @policy. */
struct ctx;
void fields_read(const struct ctx *ctx, struct dxk_policy *policy);

/* A number, or one of the field's words: false for anything else. */
bool field_parse(const struct field *f, const char *text, uint32_t *value);

/* The word for a value, or NULL. */
const char *field_word(const struct field *f, uint32_t value);

/* The permitted values, as a text for a message. */
const char *field_range(const struct field *f, char *text, size_t size);

/*
 * The records of a context's instrumentation, as {"sample": {...},
 * "lane0_wait": {"<least ns>": count}, ...}: NULL when the caller cannot join it.
 */
struct json_object;
struct json_object *instrumentation(const struct ctx *ctx);
/* As a text, with the times in ranges. */
void instrumentation_show(struct json_object *object);

/*
 * Which threads sleep for which, as
 * {"<id>": {"state", "executes", "awaits", "on": [<id>, ...]}, ...}:
 * NULL when that cannot be read.
 */
struct json_object *waits(const struct ctx *ctx);

/*
 * The lines of a file of the context, "waiting" or "keys", as [{"age_ms", "lane", "owner",
 * ...}, ...]: NULL when that cannot be read.
 */
struct json_object *listing(const struct ctx *ctx, const char *file);
/* As tables. */
void waiting_show(struct json_object *all);
void keys_show(struct json_object *all);

/*
 * The names of executors, {"0x55d0": "sum", "kernel 0x3": "squash"}: where two programs mean
 * different ones by the same number, one of them. label_of() is NULL for one without.
 */
struct json_object *labels(const struct ctx *ctx);
const char *label_of(struct json_object *labels, uint64_t executor, uint32_t attrs);

/* A text as JSON and dot(1) have it, with its quotes. */
void put_text(FILE *out, const char *text);

/* The errors in the status of a service of dxkd: the keys, and words for them */
struct remote_part {
	const char *key, *name;
};
extern const struct remote_part remote_parts[];

/* The error of a service, in the words of the daemon or a broker; NULL for none. */
const char *remote_trouble(struct json_object *service, const char *key);
/* A line that reports it, without control characters for a terminal. */
void remote_tell(struct json_object *service, const char *key, const char *what);

/*
 * Open a context, given by its id or name: descriptor and id, and DONE, or FAILED
 * after a message.
 */
int ctx_join(const char *word, unsigned int access, int *ctx, unsigned int *id);

/* The subcommands: their own arguments with their name in front. */
int ctl_list(int argc, char **argv);
int ctl_show(int argc, char **argv);
int ctl_why(int argc, char **argv);
int ctl_requests(int argc, char **argv);
int ctl_set(int argc, char **argv);
int ctl_send(int argc, char **argv);
int ctl_tell(int argc, char **argv);
int ctl_drain(int argc, char **argv);
int ctl_stop(int argc, char **argv);
int ctl_remote(int argc, char **argv);
int ctl_doctor(int argc, char **argv);
int ctl_trace(int argc, char **argv);

/**
 * options - parse the options of a subcommand
 * @argc: number of its arguments
 * @argv: the arguments, its name in front
 * @text: short options, as of getopt()
 * @longs: long options, as of getopt_long()
 *
 * Return: as getopt_long(), '?' after a message for what is wrong
 */
struct option;
int options(int argc, char **argv, const char *text, const struct option *longs);

#endif /* _DXKCTL_CTL_H */
