// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The database. It is built beside its final place and moved there when it is
 * complete, so that whoever reads it sees the old one or the new one.
 *
 * A connection of SQLite is for one thread at a time. The main thread has one, and
 * every worker that executes transactions gets its own from the Handle Table. One
 * of them can write at a time; the others sleep in the busy handler.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "dxpkg.h"

struct db {
	HandleClass class;		/* how workers open it */
	const char *path;		/* as it was given */
	char *place, *building;		/* where it goes, and where it is until then */
	sqlite3 *main;			/* connection of the main thread */
};

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static bool discarded;			/* under @opening */

/* A worker's own connection. */
struct connection {
	sqlite3 *db;
	sqlite3_stmt *package, *version, *dependency;
};

static const char schema[] =
"CREATE TABLE file (id INTEGER PRIMARY KEY, path TEXT NOT NULL, kind TEXT NOT NULL);"
"CREATE TABLE package (name TEXT PRIMARY KEY) WITHOUT ROWID;"
/* id: that of its file << 32 | its line there */
"CREATE TABLE version (id INTEGER PRIMARY KEY,"
" file INTEGER NOT NULL REFERENCES file, package TEXT NOT NULL REFERENCES package,"
" version TEXT NOT NULL, architecture TEXT, status TEXT, section TEXT,"
" priority TEXT, source TEXT, installed_size INTEGER);"
"CREATE TABLE dependency (version INTEGER NOT NULL REFERENCES version,"
" field TEXT NOT NULL, relation INTEGER NOT NULL, alternative INTEGER NOT NULL,"
" target TEXT NOT NULL, architecture TEXT, op TEXT, target_version TEXT,"
" PRIMARY KEY (version, field, relation, alternative)) WITHOUT ROWID;";

/* How many versions of a file name a package in a field, how often. */
static const char reverse[] =
"CREATE TABLE reverse (file INTEGER NOT NULL, target TEXT NOT NULL,"
" field TEXT NOT NULL, versions INTEGER NOT NULL, edges INTEGER NOT NULL,"
" PRIMARY KEY (file, target, field)) WITHOUT ROWID;"
"INSERT INTO reverse SELECT v.file, d.target, d.field, count(DISTINCT d.version),"
" count(*) FROM dependency d JOIN version v ON v.id = d.version GROUP BY 1, 2, 3;"
"CREATE INDEX version_package ON version (package);"
"CREATE INDEX dependency_target ON dependency (target);";

/* --- errors ---------------------------------------------------------------- */

static _Noreturn void die_of(struct db *db, const char *doing)
{
	char *text = strdup(db->main ? sqlite3_errmsg(db->main) : "no memory");

	db_discard(db);
	die(NOT_WRITTEN, "%s: %s: %s", db->path, doing, text ? text : "");
}

/* --- connections ----------------------------------------------------------- */

/* Another connection writes. Asked again until it ends, or all shall end. */
static int wait_while_busy(void *unused, int times)
{
	struct timespec ts = { .tv_nsec = times < 10 ? 1000000 : 10000000 };

	(void)unused;
	app.busy_waits += !times;
	nanosleep(&ts, NULL);
	return !stopping();
}

static int open_connection(const char *path, int flags, sqlite3 **db)
{
	int rc = sqlite3_open_v2(path, db, SQLITE_OPEN_READWRITE |
				 SQLITE_OPEN_NOMUTEX | flags, NULL);

	if (!rc)
		rc = sqlite3_busy_handler(*db, wait_while_busy, NULL);
	if (!rc)
		rc = sqlite3_exec(*db, "PRAGMA journal_mode=WAL;"
				       "PRAGMA synchronous=NORMAL", NULL, NULL, NULL);
	return rc;
}

static void connection_close(struct connection *c)
{
	sqlite3_finalize(c->package);
	sqlite3_finalize(c->version);
	sqlite3_finalize(c->dependency);
	sqlite3_close(c->db);
	free(c);
}

static int prepare(struct connection *c)
{
	static const char package[] = "INSERT OR IGNORE INTO package VALUES (?)";
	static const char version[] =
		"INSERT INTO version VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
	static const char dependency[] =
		"INSERT INTO dependency VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
	int rc = sqlite3_prepare_v2(c->db, package, -1, &c->package, NULL);

	if (!rc)
		rc = sqlite3_prepare_v2(c->db, version, -1, &c->version, NULL);
	return rc ? rc : sqlite3_prepare_v2(c->db, dependency, -1, &c->dependency,
					    NULL);
}

/* OpenHandle of the Handle Table: in the worker that uses it first. */
static int open_own(HandleClass *self, void *native, void **own)
{
	struct connection *c = calloc(1, sizeof(*c));
	struct db *db = native;
	int rc;

	(void)self;
	if (!c)
		return -ENOMEM;
	pthread_mutex_lock(&opening);
	rc = discarded ? SQLITE_ABORT : open_connection(db->building, 0, &c->db);
	if (!rc)
		rc = prepare(c);
	pthread_mutex_unlock(&opening);
	if (rc) {
		fail("cannot be opened by a worker", c->db ? sqlite3_errmsg(c->db) : sqlite3_errstr(rc));
		connection_close(c);
		return -EIO;
	}
	app.connections++;
	*own = c;
	return 0;
}

static void close_own(HandleClass *self, void *own)
{
	(void)self;
	connection_close(own);
}

/* --- life ------------------------------------------------------------------ */

/* Memory may be what it all ends for the want of. */
static void unlink_suffix(const char *path, const char *suffix)
{
	char name[PATH_MAX + 16];

	snprintf(name, sizeof(name), "%s%s", path, suffix);
	unlink(name);
}

/**
 * db_discard - leave nothing behind; may be called by any thread that ends it all
 * @db: may be %NULL
 *
 * The others still run: from here on they cannot open it, which would make files anew.
 */
void db_discard(struct db *db)
{
	if (!db)
		return;
	pthread_mutex_lock(&opening);
	discarded = true;
	unlink(db->building);
	unlink_suffix(db->building, "-wal");
	unlink_suffix(db->building, "-shm");
	unlink_suffix(db->building, "-journal");
	pthread_mutex_unlock(&opening);
}

/*
 * Where @path leads to, if it is a link. Else a name that SQLite takes for no URI.
 */
static void set_place(struct db *db, const char *path)
{
	int rc = 0;

	db->place = realpath(path, NULL);
	if (!db->place)
		rc = asprintf(&db->place, "%s%s", *path == '/' ? "" : "./", path);
	if (rc < 0 || asprintf(&db->building, "%s.dxpkg-%ld", db->place, (long)getpid()) < 0)
		die(NOT_RUN, "memory exhausted");
}

/* Who could not read the one that it replaces cannot read it either. */
static void take_mode(struct db *db)
{
	struct stat st;

	if (stat(db->place, &st))
		return;
	if (chown(db->building, st.st_uid, st.st_gid))
		st.st_mode &= 0700;
	if (!chmod(db->building, st.st_mode & 0777))
		return;
	db_discard(db);
	die(NOT_WRITTEN, "%s: %s", db->path, strerror(errno));
}

struct db *db_create(const char *path)
{
	struct db *db = xrealloc(NULL, 1, sizeof(*db));

	*db = (struct db){ .class = { open_own, close_own }, .path = path };
	set_place(db, path);
	if (open_connection(db->building, SQLITE_OPEN_CREATE, &db->main))
		die_of(db, "cannot be made");
	take_mode(db);
	if (sqlite3_exec(db->main, schema, NULL, NULL, NULL))
		die_of(db, "cannot be made");
	return db;
}

void db_add_input(struct db *db, const struct input *input)
{
	sqlite3_stmt *stmt;

	if (sqlite3_prepare_v2(db->main, "INSERT INTO file VALUES (?, ?, ?)", -1,
			       &stmt, NULL))
		die_of(db, "cannot be written");
	sqlite3_bind_int(stmt, 1, input->id);
	sqlite3_bind_text(stmt, 2, input->path, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 3, input->kind, -1, SQLITE_STATIC);
	sqlite3_step(stmt);
	if (sqlite3_finalize(stmt))
		die_of(db, "cannot be written");
}

/* From here on workers can have connections of their own. */
void db_share(struct db *db)
{
	int rc = HandleTableAdd(&db->class, db);

	if (rc)
		die(NOT_RUN, "the Handle Table does not take the database: %s",
		    strerror(-rc));
}

/* Workers close theirs at the latest when the executive is destroyed. */
void db_unshare(struct db *db)
{
	HandleTableRemove(db);
}

/* --- storing a chunk ------------------------------------------------------- */

static void bind(sqlite3_stmt *stmt, int i, struct slice text)
{
	if (text.p)
		sqlite3_bind_text(stmt, i, text.p, text.len, SQLITE_STATIC);
	else
		sqlite3_bind_null(stmt, i);
}

static int run(sqlite3_stmt *stmt)
{
	sqlite3_step(stmt);
	return sqlite3_reset(stmt);
}

static int store_relation(struct connection *c, sqlite3_int64 id,
			  const struct relation *r)
{
	sqlite3_bind_int64(c->dependency, 1, id);
	sqlite3_bind_text(c->dependency, 2, relation_names[r->field], -1,
			  SQLITE_STATIC);
	sqlite3_bind_int(c->dependency, 3, r->group);
	sqlite3_bind_int(c->dependency, 4, r->alternative);
	bind(c->dependency, 5, r->name);
	bind(c->dependency, 6, r->arch);
	bind(c->dependency, 7, r->op);
	bind(c->dependency, 8, r->version);
	return run(c->dependency);
}

static int store_stanza(struct connection *c, int file, const struct stanza *s)
{
	static const enum field columns[] = { PACKAGE, VERSION, ARCHITECTURE, STATUS,
					      SECTION, PRIORITY, SOURCE,
					      INSTALLED_SIZE };
	sqlite3_int64 id = (sqlite3_int64)file << 32 | (sqlite3_int64)s->line;
	size_t i;
	int rc;

	bind(c->package, 1, s->fields[PACKAGE]);
	rc = run(c->package);
	if (rc)
		return rc;
	sqlite3_bind_int64(c->version, 1, id);
	sqlite3_bind_int(c->version, 2, file);
	for (i = 0; i < FIELDS; i++)
		bind(c->version, 3 + (int)i, s->fields[columns[i]]);
	rc = run(c->version);
	for (i = 0; i < s->nr && !rc; i++)
		rc = store_relation(c, id, &s->relations[i]);
	return rc;
}

static int store_chunk(struct connection *c, const struct chunk *chunk)
{
	int rc = sqlite3_exec(c->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	size_t i;

	for (i = 0; i < chunk->nr && !rc; i++)
		if (chunk->stanzas[i].outcome == STORE)
			rc = store_stanza(c, chunk->input->id, &chunk->stanzas[i]);
	return rc ? rc : sqlite3_exec(c->db, "COMMIT", NULL, NULL, NULL);
}

/**
 * db_store - store what was parsed of a chunk, all of it or nothing
 * @chunk: whose
 *
 * In a transaction's worker. Return: 0, or a negative errno, which was told.
 */
int db_store(const struct chunk *chunk)
{
	void *own;
	int rc;

	rc = GetThreadHandle(app.db, &own);
	if (rc) {
		fail("cannot be opened by a worker", strerror(-rc));
		return rc;
	}
	if (!store_chunk(own, chunk))
		return 0;
	fail("cannot be written", sqlite3_errmsg(((struct connection *)own)->db));
	sqlite3_exec(((struct connection *)own)->db, "ROLLBACK", NULL, NULL, NULL);
	return -EIO;
}

/* --- the end --------------------------------------------------------------- */

/* Prints each row of a query, its columns behind each other. */
static void print_rows(struct db *db, const char *sql)
{
	sqlite3_stmt *stmt;
	int i;

	if (sqlite3_prepare_v2(db->main, sql, -1, &stmt, NULL))
		die_of(db, "cannot be read");
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		for (i = 0; i < sqlite3_column_count(stmt); i++)
			printf("%s%s", i ? " " : "  ", sqlite3_column_text(stmt, i));
		putchar('\n');
	}
	if (sqlite3_finalize(stmt))
		die_of(db, "cannot be read");
}

/**
 * db_finish - count reverse dependencies, print the summary, move it to its place
 * @db: no other connection is left
 * @opt: what it was built of
 */
void db_finish(struct db *db, const struct options *opt)
{
	size_t i;

	if (sqlite3_exec(db->main, reverse, NULL, NULL, NULL))
		die_of(db, "cannot be written");
	for (i = 0; i < opt->nr; i++) {
		const struct input *in = &opt->inputs[i];

		printf("%s %s: %lu stanzas, %lu stored, %lu not installed, %lu malformed\n",
		       in->kind, in->path, in->stanzas, in->stored, in->absent,
		       in->malformed);
	}
	puts("in the database:");
	print_rows(db, "SELECT 'packages', count(*) FROM package");
	print_rows(db, "SELECT 'versions', count(*) FROM version");
	print_rows(db, "SELECT field, count(*) FROM dependency GROUP BY 1 ORDER BY 2 DESC, 1");
	puts("most needed:");
	print_rows(db, "SELECT target, sum(versions) FROM reverse"
		       " WHERE field IN ('Depends', 'Pre-Depends')"
		       " GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10");

	/* One file again, which nobody needs to recover. */
	if (sqlite3_exec(db->main, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL))
		die_of(db, "cannot be written");
	if (sqlite3_close(db->main))
		die_of(db, "cannot be closed");
	if (rename(db->building, db->place)) {
		int error = errno;

		db_discard(db);
		die(NOT_WRITTEN, "%s: %s", db->path, strerror(error));
	}
	free(db->building);
	free(db->place);
	free(db);
}
