// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The commands: a table of names, numbers of arguments, and what they do.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "dxkv.h"

enum kind { PLAIN, READS, WRITES, FORKS };

struct entry {
	const char *name;
	enum kind kind;
	unsigned int min, max;	/* arguments, with the name; 0: any number */
	unsigned int step;	/* each such argument is a key; 0: none is */
	int (*run)(const struct request *r, struct db *db, struct bytes *reply);
};

static int ping(const struct request *r, struct db *db, struct bytes *reply)
{
	(void)db;
	if (r->nr > 1)
		put_bulk(reply, r->args[1].p, r->args[1].len);
	else
		put_text(reply, "+PONG\r\n");
	return 0;
}

static int echo(const struct request *r, struct db *db, struct bytes *reply)
{
	(void)db;
	put_bulk(reply, r->args[1].p, r->args[1].len);
	return 0;
}

static int ok(const struct request *r, struct db *db, struct bytes *reply)
{
	(void)r;
	(void)db;
	put_text(reply, "+OK\r\n");
	return 0;
}

/* There is one database. */
static int selects(const struct request *r, struct db *db, struct bytes *reply)
{
	if (!slice_is(&r->args[1], "0"))
		put_error(reply, "ERR DB index is out of range");
	else
		ok(r, db, reply);
	return 0;
}

/* Clients ask for descriptions of commands, and do without. */
static int describe(const struct request *r, struct db *db, struct bytes *reply)
{
	(void)r;
	(void)db;
	put_array(reply, 0);
	return 0;
}

/* Benchmarks ask how Redis is configured. */
static int config(const struct request *r, struct db *db, struct bytes *reply)
{
	(void)db;
	if (r->nr != 3 || !slice_is(&r->args[1], "GET")) {
		put_error(reply, "ERR only CONFIG GET is known");
		return 0;
	}
	put_array(reply, 2);
	put_bulk(reply, r->args[2].p, r->args[2].len);
	put_bulk(reply, "", 0);
	return 0;
}

static int get(const struct request *r, struct db *db, struct bytes *reply)
{
	return db_get(db, &r->args[1], reply);
}

static int mget(const struct request *r, struct db *db, struct bytes *reply)
{
	int rc = 0;

	put_array(reply, r->nr - 1);
	for (unsigned int i = 1; i < r->nr && !rc; i++)
		rc = db_get(db, &r->args[i], reply);
	return rc;
}

static int exists(const struct request *r, struct db *db, struct bytes *reply)
{
	int64_t nr = 0;
	bool found;
	int rc = 0;

	for (unsigned int i = 1; i < r->nr && !rc; i++) {
		rc = db_exists(db, &r->args[i], &found);
		nr += found;
	}
	if (!rc)
		put_number(reply, nr);
	return rc;
}

static int dbsize(const struct request *r, struct db *db, struct bytes *reply)
{
	int64_t nr = 0;
	int rc = db_count(db, &nr);

	(void)r;
	if (!rc)
		put_number(reply, nr);
	return rc;
}

static int set(const struct request *r, struct db *db, struct bytes *reply)
{
	int rc = db_set(db, &r->args[1], &r->args[2]);

	if (!rc)
		put_text(reply, "+OK\r\n");
	return rc;
}

static int mset(const struct request *r, struct db *db, struct bytes *reply)
{
	int rc = 0;

	for (unsigned int i = 1; i < r->nr && !rc; i += 2)
		rc = db_set(db, &r->args[i], &r->args[i + 1]);
	if (!rc)
		put_text(reply, "+OK\r\n");
	return rc;
}

static int del(const struct request *r, struct db *db, struct bytes *reply)
{
	int64_t nr = 0;
	bool found;
	int rc = 0;

	for (unsigned int i = 1; i < r->nr && !rc; i++) {
		rc = db_del(db, &r->args[i], &found);
		nr += found;
	}
	if (!rc)
		put_number(reply, nr);
	return rc;
}

static int incr(const struct request *r, struct db *db, struct bytes *reply)
{
	struct slice value;
	bool is_number;
	char text[32];
	int64_t n;
	int rc = db_value(db, &r->args[1], &n, &is_number);

	if (rc)
		return rc;
	if (!is_number || n == INT64_MAX) {
		put_error(reply, is_number ? "ERR increment or decrement would overflow" :
					     "ERR value is not an integer or out of range");
		return 0;
	}
	value.p = text;
	value.len = (size_t)snprintf(text, sizeof(text), "%lld", (long long)++n);
	rc = db_set(db, &r->args[1], &value);
	if (!rc)
		put_number(reply, n);
	return rc;
}

static const struct entry entries[] = {
	{ "GET", READS, 2, 2, 1, get },
	{ "SET", WRITES, 3, 3, 2, set },
	{ "MGET", FORKS, 2, 0, 1, mget },
	{ "MSET", WRITES, 3, 0, 2, mset },
	{ "INCR", WRITES, 2, 2, 1, incr },
	{ "DEL", WRITES, 2, 0, 1, del },
	{ "EXISTS", READS, 2, 0, 1, exists },
	{ "DBSIZE", READS, 1, 1, 0, dbsize },
	{ "PING", PLAIN, 1, 2, 0, ping },
	{ "ECHO", PLAIN, 2, 2, 0, echo },
	{ "SELECT", PLAIN, 2, 2, 0, selects },
	{ "QUIT", PLAIN, 1, 1, 0, ok },
	{ "COMMAND", PLAIN, 1, 0, 0, describe },
	{ "CONFIG", PLAIN, 2, 0, 0, config },
};

static const struct entry *find(const struct request *r)
{
	for (unsigned int i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		if (slice_is(&r->args[0], entries[i].name))
			return &entries[i];
	return NULL;
}

/* Return: is there something to execute? Else the reply says what is wrong. */
static bool is_right(const struct request *r, const struct entry *e, struct bytes *reply)
{
	int len = r->args[0].len < 64 ? (int)r->args[0].len : 64;

	if (!e) {
		put_error(reply, "ERR unknown command '%.*s'", len, r->args[0].p);
		return false;
	}
	if (r->nr < e->min || (e->max && r->nr > e->max && e->run != set) ||
	    (e->run == mset && !(r->nr % 2))) {
		put_error(reply, "ERR wrong number of arguments for '%s' command", e->name);
		return false;
	}
	if (e->max && r->nr > e->max) {
		put_error(reply, "ERR syntax error");
		return false;
	}
	for (unsigned int i = 1; e->step && i < r->nr; i += e->step) {
		if (r->args[i].len > KEY_MAX) {
			put_error(reply, "ERR key is longer than %d bytes", KEY_MAX);
			return false;
		}
	}
	return true;
}

bool command_reads(const struct request *request)
{
	const struct entry *e = find(request);

	return e && e->kind == READS;
}

enum verdict command(const struct request *request, struct db *db, bool writes,
		     struct bytes *reply)
{
	const struct entry *e = find(request);
	size_t begin = reply->len;
	int rc;

	if (!is_right(request, e, reply))
		return ANSWERED;
	if (e->kind == WRITES && !writes)
		return NEEDS_WRITER;
	if (e->kind == FORKS && request->nr > 2)
		return NEEDS_FORKS;
	rc = e->kind == PLAIN || db ? e->run(request, db, reply) : SQLITE_CANTOPEN;
	if (rc) {
		reply->len = begin;
		put_error(reply, "ERR database: %s", sqlite3_errstr(rc));
		return e->kind == WRITES ? FAILED : ANSWERED;
	}
	return slice_is(&request->args[0], "QUIT") ? QUITS : ANSWERED;
}
