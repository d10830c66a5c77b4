// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The tree as the main thread sees it: which directory to begin next, and what of
 * the output is complete.
 *
 * Lines come in the order of the bytes of their paths, which is the order of a walk
 * that enters directories in place. So the main thread begins directories in just
 * this order, prints what is complete up to the first directory that is not, and
 * forgets it: in memory are the directories at work and the names on the way to
 * them, not the tree. An exception are arguments one of which lies below another;
 * their lines mix, and are kept to be sorted at the end.
 *
 * All of this is the main thread's: no locks.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dxsum.h"

struct line {
	char *path;
	const struct entry *file;
};

struct tree {
	struct dir *top;	/* its entries are the arguments */
	struct dir *plan;	/* what is not done, in the order of the output */
	struct dir *at;		/* what is printed next is of this one */
	bool keep;		/* arguments overlap */
	bool failed;		/* something could not be read */
	struct line *lines;	/* with @keep */
	size_t nr, room;
};

/* --- lines ----------------------------------------------------------------- */

static void complain(struct tree *tree, char *quoted, int error)
{
	tree->failed = true;
	fprintf(stderr, "dxsum: %s: %s\n", quoted, strerror(-error));
	free(quoted);
}

static void print_file(struct tree *tree, const char *path,
		       const struct entry *file)
{
	if (file->status == NOT_A_FILE)
		return;
	if (!file->status)
		print_sum(path, file->digest);
	else
		complain(tree, quote_file(path), file->status);
}

static void keep_line(struct tree *tree, char *path, const struct entry *file)
{
	if (tree->nr == tree->room) {
		tree->room = tree->room ? 2 * tree->room : 1024;
		tree->lines = xrealloc(tree->lines, tree->room,
				       sizeof(*tree->lines));
	}
	tree->lines[tree->nr++] = (struct line){ path, file };
}

static void show_file(struct tree *tree, const struct dir *dir,
		      const struct entry *file)
{
	char *path = path_join(dir->path, file->name);

	if (tree->keep) {
		keep_line(tree, path, file);
	} else {
		print_file(tree, path, file);
		free(path);
	}
}

static int compare_lines(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static void print_kept(struct tree *tree)
{
	size_t i;

	if (tree->nr)
		qsort(tree->lines, tree->nr, sizeof(*tree->lines), compare_lines);
	for (i = 0; i < tree->nr; i++) {
		print_file(tree, tree->lines[i].path, tree->lines[i].file);
		free(tree->lines[i].path);
	}
	free(tree->lines);
}

/* Print what is complete, and forget it. */
static void show(struct tree *tree)
{
	struct dir *dir;

	while ((dir = tree->at) && dir->done) {
		struct entry *e = &dir->entries[dir->shown];

		if (!dir->shown && dir->error)
			complain(tree, quote_dir(dir->path), dir->error);
		if (dir->shown == dir->nr) {
			tree->at = dir->parent;
			if (!tree->keep)
				dir_free(dir);
		} else if (e->sub) {
			dir->shown++;
			tree->at = e->sub;
		} else {
			dir->shown++;
			show_file(tree, dir, e);
		}
	}
}

/* --- arguments ------------------------------------------------------------- */

/* Does the directory @dir, as it is written, lead to @path? */
static bool leads_to(const char *dir, const char *path)
{
	size_t len = strlen(dir);

	return !strncmp(dir, path, len) &&
	       (!path[len] || path[len] == '/' || (len && dir[len - 1] == '/'));
}

static bool overlap(const struct dir *top)
{
	size_t i, j;

	for (i = 0; i < top->nr; i++)
		for (j = 0; j < top->nr; j++)
			if (i != j && top->entries[i].sub &&
			    leads_to(top->entries[i].name, top->entries[j].name))
				return true;
	return false;
}

/**
 * tree_new - the tree that the arguments name
 * @dirs: the arguments, directories or files
 */
struct tree *tree_new(char **dirs)
{
	struct tree *tree = xrealloc(NULL, 1, sizeof(*tree));
	struct entry *e;
	struct stat st;

	*tree = (struct tree){ .top = dir_new(NULL, "") };
	for (; *dirs; dirs++) {
		if (lstat(*dirs, &st)) {
			complain(tree, quote_dir(*dirs), -errno);
			continue;
		}
		if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
			continue;
		e = dir_add(tree->top, *dirs);
		if (S_ISDIR(st.st_mode))
			e->sub = dir_new(tree->top, *dirs);
	}
	tree->keep = overlap(tree->top);
	tree->plan = tree->at = tree->top;
	return tree;
}

/* --- the plan -------------------------------------------------------------- */

/* The next directory to begin, in the order of the output; %NULL: none now. */
struct dir *tree_next(struct tree *tree)
{
	struct dir *dir = tree->plan;

	/* not many: as many as feeders are at work */
	while (dir && dir->posted)
		dir = dir->next;
	return dir;
}

/* The feeder of @dir is back: in the plan its directories take its place. */
void tree_done(struct tree *tree, struct dir *dir)
{
	struct dir **link = dir->prev ? &dir->prev->next : &tree->plan;
	struct dir *prev = dir->prev, *next = dir->next;
	size_t i;

	dir->done = true;
	for (i = 0; i < dir->nr; i++) {
		struct dir *sub = dir->entries[i].sub;

		if (!sub)
			continue;
		sub->prev = prev;
		*link = prev = sub;
		link = &sub->next;
	}
	*link = next;
	if (next)
		next->prev = prev;
	show(tree);
}

/**
 * tree_end - print what is still kept, free all
 * @tree: the tree
 *
 * Return: everything could be read.
 */
bool tree_end(struct tree *tree)
{
	bool ok;

	/* All of it was shown, unless a signal ended it: then the process ends. */
	print_kept(tree);
	ok = !tree->failed;
	free(tree);
	return ok;
}
