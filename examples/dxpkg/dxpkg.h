/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * dxpkg: Debian's package lists in a SQLite database, as a DX application.
 *
 * The work is a hierarchy of requests, one Runnable for each level. Every level
 * posts requests to the level below and collects them by owner:
 *
 *	level		lane	request		owner		Runnable
 *	main thread	-
 *	feeder		1	struct input	struct app	feed.c
 *	transaction	2	struct chunk	struct input	chunk.c
 *	sub-request	3	struct stanza	struct chunk	stanza.c
 *
 * The database is the native handle of the Handle Table: a worker that executes a
 * transaction gets a connection of its own, opened at its first one (db.c).
 */
#ifndef _DXPKG_H
#define _DXPKG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../common.h"

/* A deeper level is more urgent: what was begun ends before more is begun. */
enum { PRIO_FEEDER = 10, PRIO_TRANSACTION = 20, PRIO_SUB = 30 };

/* Text within a chunk; not terminated. p is NULL where there is none. */
struct slice {
	const char *p;
	int len;
};

/* The fields of a stanza that are stored as they are. */
enum field { PACKAGE, VERSION, ARCHITECTURE, STATUS, SECTION, PRIORITY, SOURCE,
	     INSTALLED_SIZE, FIELDS };

/* Fields with relations, in the order of relation_names. */
#define RELATIONS	9
extern const char *const relation_names[RELATIONS];

/**
 * struct relation - one alternative of one relation
 * @field: index of relation_names
 * @group: number of the relation in its field; its alternatives share it
 * @alternative: number of the alternative
 * @name: of the other package
 * @arch: behind the colon
 * @op: as "<<", with @version
 * @version: likewise
 */
struct relation {
	int field, group, alternative;
	struct slice name, arch, op, version;
};

/* What became of a stanza. */
enum outcome { UNPARSED, STORE, NOT_INSTALLED, MALFORMED };

/**
 * struct stanza - the paragraph of a package; the request of a sub-request
 * @chunk: its text is part of that of the chunk ...
 * @at: ... from here on ...
 * @len: ... so many bytes
 * @line: number of its first line
 * @outcome: what the sub-request made of it
 * @fields: those that it has
 * @relations: @nr of them
 * @nr: how many
 * @room: for how many there is memory
 * @problem: with %MALFORMED what is wrong ...
 * @bad_line: ... in this line
 */
struct stanza {
	struct chunk *chunk;
	size_t at, len;
	unsigned long line;
	enum outcome outcome;
	struct slice fields[FIELDS];
	struct relation *relations;
	size_t nr, room;
	const char *problem;
	unsigned long bad_line;
};

/**
 * struct chunk - some stanzas; the request of a transaction
 * @input: where they are from
 * @text: @len bytes
 * @len: how many
 * @room: for how many there is memory
 * @stanzas: @nr of them
 * @nr: how many
 * @stanza_room: for how many there is memory
 *
 * The feeder's until it is posted and once it is collected, in between the
 * transaction's.
 */
struct chunk {
	struct input *input;
	char *text;
	size_t len, room;
	struct stanza *stanzas;
	size_t nr, stanza_room;
};

struct problem {
	unsigned long line;
	const char *text;
};

/**
 * struct input - a file; the request of a feeder
 * @path: its name
 * @kind: "status" or "index"
 * @id: its number in the database
 * @error: why not all of it could be read, malloc()ed
 * @stanzas: how many it has ...
 * @stored: ... of these in the database
 * @absent: ... of these of packages that are not installed
 * @malformed: ... of these malformed
 * @problems: the first of them, @nr
 * @nr: how many
 */
struct input {
	const char *path, *kind;
	int id;
	char *error;
	unsigned long stanzas, stored, absent, malformed;
	struct problem problems[50];
	size_t nr;
};

struct options {
	unsigned int workers;
	bool thread;
	const char *db;
	struct input *inputs;
	size_t nr;
};

/* What every level needs to know; written before the first post. */
struct app {
	struct options opt;
	Runnable feeder, transaction, parser;
	struct db *db;
	atomic_bool failed;		/* the database cannot be made */
	atomic_uint connections;	/* that workers have opened */
	atomic_ulong busy_waits;	/* of these for each other */
};

extern struct app app;

/* feed.c */
const char *packed_suffix(const char *path);
int ExecuteFeeder(Runnable *self, void *request);

/* chunk.c */
struct chunk *chunk_new(struct input *input);
void chunk_add_stanza(struct chunk *chunk, unsigned long line);
void chunk_add_line(struct chunk *chunk, const char *line, size_t len);
void chunk_free(struct chunk *chunk);
int ExecuteTransaction(Runnable *self, void *request);

/* stanza.c */
int ExecuteParser(Runnable *self, void *request);

/* db.c */
struct db *db_create(const char *path);
void db_add_input(struct db *db, const struct input *input);
int db_store(const struct chunk *chunk);
void db_share(struct db *db);
void db_unshare(struct db *db);
void db_finish(struct db *db, const struct options *opt);
void db_discard(struct db *db);

/* main.c */
bool stopping(void);
void fail(const char *what, const char *why);
/* exit status, besides NOT_RUN and 128 + a signal's number */
enum { ALL_STORED, SOME_NOT_STORED, NOT_WRITTEN = 3 };

#endif /* _DXPKG_H */
