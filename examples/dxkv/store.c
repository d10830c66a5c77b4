// SPDX-License-Identifier: LGPL-2.1-or-later
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common.h"
#include "store.h"

/* How long one waits for a writer of another process: sqlite3, say */
#define BUSY_MS		5000

static const char *const text[SQLS] = {
	[SQL_BEGIN] = "BEGIN",
	[SQL_BEGIN_WRITE] = "BEGIN IMMEDIATE",
	[SQL_COMMIT] = "COMMIT",
	[SQL_ROLLBACK] = "ROLLBACK",
	[SQL_GET] = "SELECT value FROM kv WHERE key = ?1",
	[SQL_EXISTS] = "SELECT 1 FROM kv WHERE key = ?1",
	[SQL_SET] = "INSERT INTO kv VALUES (?1, ?2) ON CONFLICT(key) DO UPDATE SET value = ?2",
	[SQL_DEL] = "DELETE FROM kv WHERE key = ?1",
	[SQL_COUNT] = "SELECT count(*) FROM kv",
};

static const char *path;
static const char *settings;

/* --- handles ---------------------------------------------------------------------------- */

static void close_db(struct db *db)
{
	for (int i = 0; i < SQLS; i++)
		sqlite3_finalize(db->sql[i]);
	sqlite3_close(db->sqlite);
	free(db);
}

static int open_db(HandleClass *self, void *native, void **own)
{
	struct db *db = calloc(1, sizeof(*db));
	int rc;

	(void)self;
	(void)native;
	if (!db)
		return -ENOMEM;
	rc = sqlite3_open_v2(path, &db->sqlite, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
			     SQLITE_OPEN_NOMUTEX, NULL);
	if (!rc) {
		sqlite3_busy_timeout(db->sqlite, BUSY_MS);
		rc = sqlite3_exec(db->sqlite, settings, NULL, NULL, NULL);
	}
	for (int i = 0; i < SQLS && !rc; i++)
		rc = sqlite3_prepare_v3(db->sqlite, text[i], -1, SQLITE_PREPARE_PERSISTENT,
					&db->sql[i], NULL);
	if (rc) {
		tell("%s: %s", path, sqlite3_errstr(rc));
		close_db(db);
		return -EIO;
	}
	*own = db;
	return 0;
}

static void close_own(HandleClass *self, void *own)
{
	(void)self;
	close_db(own);
}

static HandleClass handles = { open_db, close_own };

struct db *db_mine(void)
{
	void *own;

	return GetThreadHandle(&handles, &own) ? NULL : own;
}

void store_open(const char *file, bool full)
{
	sqlite3 *db;
	int rc;

	path = file;
	settings = full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL";
	rc = sqlite3_open(file, &db);
	if (!rc)
		rc = sqlite3_busy_timeout(db, BUSY_MS);
	if (!rc)
		rc = sqlite3_exec(db, "PRAGMA journal_mode = WAL;"
				  "CREATE TABLE IF NOT EXISTS kv (key BLOB PRIMARY KEY, "
				  "value BLOB NOT NULL) WITHOUT ROWID", NULL, NULL, NULL);
	if (rc)
		die(NOT_RUN, "%s: %s", file, db ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
	sqlite3_close(db);
	rc = HandleTableAdd(&handles, &handles);
	if (rc)
		die(NOT_RUN, "handle table: %s", strerror(-rc));
}

void store_close(void)
{
	HandleTableRemove(&handles);
}

/* --- statements ---------------------------------------------------------------------------- */

/* Executes one that gives no row. */
static int finish(sqlite3_stmt *s)
{
	int rc = sqlite3_step(s);

	sqlite3_reset(s);
	return rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : rc;
}

/* A zero pointer would be NULL, and not no bytes. */
static void bind(sqlite3_stmt *s, int i, const struct slice *bytes)
{
	sqlite3_bind_blob64(s, i, bytes->len ? bytes->p : "", bytes->len, SQLITE_STATIC);
}

int db_begin(struct db *db, bool writes)
{
	return finish(db->sql[writes ? SQL_BEGIN_WRITE : SQL_BEGIN]);
}

int db_commit(struct db *db)
{
	return finish(db->sql[SQL_COMMIT]);
}

void db_rollback(struct db *db)
{
	if (!sqlite3_get_autocommit(db->sqlite))
		finish(db->sql[SQL_ROLLBACK]);
}

int db_get(struct db *db, const struct slice *key, struct bytes *to)
{
	sqlite3_stmt *s = db->sql[SQL_GET];
	int rc;

	bind(s, 1, key);
	rc = sqlite3_step(s);
	if (rc == SQLITE_ROW) {
		const void *p = sqlite3_column_blob(s, 0);

		put_bulk(to, p, (size_t)sqlite3_column_bytes(s, 0));
		rc = SQLITE_DONE;
	} else if (rc == SQLITE_DONE) {
		put_null(to);
	}
	sqlite3_reset(s);
	return rc == SQLITE_DONE ? 0 : rc;
}

int db_value(struct db *db, const struct slice *key, int64_t *number, bool *is_number)
{
	sqlite3_stmt *s = db->sql[SQL_GET];
	struct slice value;
	int rc;

	*number = 0;
	*is_number = true;
	bind(s, 1, key);
	rc = sqlite3_step(s);
	if (rc == SQLITE_ROW) {
		value.p = sqlite3_column_blob(s, 0);
		value.len = (size_t)sqlite3_column_bytes(s, 0);
		*is_number = slice_number(&value, number);
		rc = SQLITE_DONE;
	}
	sqlite3_reset(s);
	return rc == SQLITE_DONE ? 0 : rc;
}

int db_exists(struct db *db, const struct slice *key, bool *found)
{
	sqlite3_stmt *s = db->sql[SQL_EXISTS];
	int rc;

	bind(s, 1, key);
	rc = sqlite3_step(s);
	sqlite3_reset(s);
	*found = rc == SQLITE_ROW;
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : rc;
}

int db_set(struct db *db, const struct slice *key, const struct slice *value)
{
	bind(db->sql[SQL_SET], 1, key);
	bind(db->sql[SQL_SET], 2, value);
	return finish(db->sql[SQL_SET]);
}

int db_del(struct db *db, const struct slice *key, bool *found)
{
	int rc;

	bind(db->sql[SQL_DEL], 1, key);
	rc = finish(db->sql[SQL_DEL]);
	*found = !rc && sqlite3_changes(db->sqlite) > 0;
	return rc;
}

int db_count(struct db *db, int64_t *count)
{
	sqlite3_stmt *s = db->sql[SQL_COUNT];
	int rc = sqlite3_step(s);

	if (rc == SQLITE_ROW)
		*count = sqlite3_column_int64(s, 0);
	sqlite3_reset(s);
	return rc == SQLITE_ROW ? 0 : rc;
}
