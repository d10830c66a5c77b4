/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The SQLite file: each worker has a connection of its own to it, opened at its first use
 * (the Handle Table).
 *
 * It is in WAL mode: readers see the last commit and wait for nobody, there is one writer. A
 * commit is in the log, in the page cache, when it returns: it survives the death of the process.
 * With @full it is on the disk, too, and survives that of the machine; else the last ones may be
 * lost with the machine, and the file is whole in any case.
 */
#ifndef _DXKV_STORE_H
#define _DXKV_STORE_H

#include <sqlite3.h>

#include "resp.h"

enum { SQL_BEGIN, SQL_BEGIN_WRITE, SQL_COMMIT, SQL_ROLLBACK, SQL_GET, SQL_EXISTS, SQL_SET,
       SQL_DEL, SQL_COUNT, SQLS };

/* A worker's own */
struct db {
	sqlite3 *sqlite;
	sqlite3_stmt *sql[SQLS];
};

/* Ends the program if that cannot be. */
void store_open(const char *path, bool full);
void store_close(void);

/* That of the calling worker, or %NULL. */
struct db *db_mine(void);

/*
 * 0 or an error of SQLite. db_get() puts the value as a bulk string, or null.
 */
int db_begin(struct db *db, bool writes);
int db_commit(struct db *db);
void db_rollback(struct db *db);
int db_get(struct db *db, const struct slice *key, struct bytes *to);
int db_value(struct db *db, const struct slice *key, int64_t *number, bool *is_number);
int db_exists(struct db *db, const struct slice *key, bool *found);
int db_set(struct db *db, const struct slice *key, const struct slice *value);
int db_del(struct db *db, const struct slice *key, bool *found);
int db_count(struct db *db, int64_t *count);

#endif /* _DXKV_STORE_H */
