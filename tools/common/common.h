/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts that dxkctl and dxkstat share: messages, arguments, and the contexts as
 * /sys/kernel/dxk shows them.
 */
#ifndef _DXK_TOOLS_COMMON_H
#define _DXK_TOOLS_COMMON_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dxk.h>

struct json_object;

#define SYSFS		"/sys/kernel/dxk"

/* Exit status */
enum { DONE = 0, FAILED = 1, MISUSED = 2 };

/* the program's name, for messages */
extern const char *tool;

/* --version */
int version(void);

/**
 * fail - report an error and what to do next
 * @next: a command or a short sentence
 * @format: as of printf()
 *
 * Return: FAILED
 */
int fail(const char *next, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * misuse - report an error in the arguments
 * @format: as of printf()
 *
 * Return: MISUSED
 */
int misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/**
 * bad_option - report an unknown option, when getopt_long() returned '?'
 * @argv: as of getopt_long()
 *
 * Return: MISUSED
 */
int bad_option(char **argv);

/**
 * flush - write what standard output still holds
 * @status: the exit status so far
 *
 * Return: @status, or FAILED when it cannot be written
 */
int flush(int status);

/* Numbers with nothing before or after them, decimal or with 0x: false when @text is none. */
bool parse_u32(const char *text, uint32_t *value);
/* Seconds with a fraction, up to ten years, in nanoseconds. */
bool parse_seconds(const char *text, int64_t *ns);

/*
 * The signal that came since signals_catch(), of those that ask a program to end. The
 * parent process may have set some to be ignored.
 */
extern volatile sig_atomic_t caught;
void signals_catch(void);

/* CLOCK_MONOTONIC in nanoseconds */
uint64_t now_ns(void);

/* --- sysfs ----------------------------------------------------------------- */

/**
 * sysfs_read - read a file of one line
 * @dir: directory that @path is relative to
 * @path: the file
 * @text: out, its text without the newline
 * @size: of @text
 *
 * Return: how many bytes, or a negative errno: ENOENT and ENODEV when the context
 * has gone meanwhile.
 */
int sysfs_read(int dir, const char *path, char *text, size_t size);

/* As sysfs_read(), for a number: 0 or a negative errno. */
int sysfs_u64(int dir, const char *path, uint64_t *value);

/* The same, 0 for a file that is not there. */
uint64_t sysfs_number(int dir, const char *path);

/**
 * sysfs_dir - all files of a directory, as {"name": value}
 * @dir: directory that @path is relative to
 * @path: the directory
 *
 * Sorted by name, or by value if the names are numbers; numbers are stored as numbers; a
 * directory is an object in the object. Files that cannot be read are left out.
 *
 * Return: the object, NULL when the directory cannot be read.
 */
struct json_object *sysfs_dir(int dir, const char *path);

/* --- contexts -------------------------------------------------------------- */

/**
 * struct ctx - a context that may be read
 * @id: its number
 * @dir: descriptor of its directory; it still refers to this context when another
 *	one gets the id
 * @name: empty for none
 */
struct ctx {
	unsigned int id;
	int dir;
	char name[DXK_NAME_LEN];
};

/**
 * ctx_all - the ids of all contexts, including those that may not be read
 * @ids: out, sorted; to be freed
 *
 * Return: how many, or a negative errno: ENOENT without the module.
 */
int ctx_all(unsigned int **ids);

/* Open one by its id: 0, or -ENOENT, -EACCES. */
int ctx_open(unsigned int id, struct ctx *ctx);
void ctx_close(struct ctx *ctx);

/**
 * ctx_find - open the context that an argument names
 * @word: its id, if it consists of digits, else its name
 * @ctx: out
 *
 * Return: DONE, or FAILED after a message
 */
int ctx_find(const char *word, struct ctx *ctx);

/**
 * ctx_join_read - join a context to read data that is in no file
 * @ctx: the context
 *
 * Return: a descriptor, or a negative errno
 */
int ctx_join_read(const struct ctx *ctx);

/* Whether it is the id of a context. A context with a name of digits needs its id. */
bool ctx_is_id(const char *word);
/* That id: false when no id is written like this. */
bool parse_id(const char *word, unsigned int *id);

/* --- dxkd ------------------------------------------------------------------- */

#define DXKD_STATUS	"/run/dxkd/status.json"

/* The member of an object; NULL if there is none, or it is no object. */
struct json_object *json_in(struct json_object *object, const char *key);

/**
 * remote_read - read the status that a dxkd has written
 * @path: the file, %DXKD_STATUS
 * @services: out, in it: the array of its services
 *
 * Return: all of it, NULL for none, and errno is the reason: ENOENT: no dxkd runs; EINVAL: it is no
 * status.
 */
struct json_object *remote_read(const char *path, struct json_object **services);

/* No module: reports that and how to find out why. FAILED */
int no_module(void);

#endif /* _DXK_TOOLS_COMMON_H */
