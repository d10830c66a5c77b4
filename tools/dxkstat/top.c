// SPDX-License-Identifier: GPL-2.0-only
/*
 * The full screen: one context, with bars for its pools, its lanes and its threads.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ncurses.h>

#include "stat.h"

/* The minimum width for a line's texts. */
#define COLS_MIN	40
#define LINES_MIN	8
#define LABEL		10	/* columns before a bar */
#define FIGURES		24	/* and after it */
#define BAR_MIN		4

/**
 * struct screen - what is on the screen
 * @line: the next one that is free
 * @chosen: id of the context
 * @scroll: threads that are above the first one shown
 */
struct screen {
	int line;
	unsigned int chosen, scroll;
};

/* Text at a place, cut off at the right margin. Below the screen it is lost. */
static void __attribute__((format(printf, 3, 4)))
put(int line, int column, const char *format, ...)
{
	char text[256];
	va_list args;

	if (line < 0 || line >= LINES || column < 0 || column >= COLS)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	mvaddnstr(line, column, text, COLS - column);
}

static void bar(int line, int column, int width, double part)
{
	int i, full;

	if (width < BAR_MIN)
		return;
	part = part < 0 ? 0 : part > 1 ? 1 : part;
	width -= 2;
	full = (int)(part * width + 0.5);
	/* anything above zero is to be visible */
	if (!full && part > 0)
		full = 1;
	put(line, column, "[");
	for (i = 0; i < full; i++)
		put(line, column + 1 + i, "#");
	put(line, column + 1 + width, "]");
}

static void heading(struct screen *s, const char *text)
{
	attron(A_BOLD);
	put(s->line++, 0, "%s", text);
	attroff(A_BOLD);
}

static double part_of(uint64_t use, uint64_t size)
{
	return size ? (double)use / (double)size : use ? 1 : 0;
}

/* --- the parts ------------------------------------------------------------- */

static void draw_head(struct screen *s, const struct sample *c, unsigned int nr)
{
	attron(A_REVERSE);
	mvhline(s->line, 0, ' ', COLS);
	put(s->line, 0, "dxk context %u %s  %s", c->id, c->name, c->state);
	attroff(A_REVERSE);
	put(++s->line, 0, "per second: %.0f posts, %.0f dispatches, %.0f completions, "
	    "%.0f rejoins, %.0f blocks", c->rate[RATE_POSTS], c->rate[RATE_DISPATCHES],
	    c->rate[RATE_COMPLETIONS], c->rate[RATE_REJOINS], c->rate[RATE_BLOCKS]);
	if (c->tune.target)
		put(++s->line, 0, "autotune: %llu workers of each kind, %llu per second, %llu steps",
		    (unsigned long long)c->tune.target, (unsigned long long)c->tune.rate,
		    (unsigned long long)c->tune.steps);
	put(LINES - 1, 0, "q quit  arrows scroll%s", nr > 1 ? "  n p next context" : "");
	s->line++;
}

static void draw_pools(struct screen *s, const struct sample *c)
{
	int i, width = COLS - LABEL - FIGURES;

	heading(s, "pools          use/size and the most there were");
	put(s->line, 0, "busy");
	bar(s->line, LABEL, width, part_of(c->busy, c->pool[P_THREAD].use));
	put(s->line++, COLS - FIGURES + 1, "%llu/%llu %llu", (unsigned long long)c->busy,
	    (unsigned long long)c->pool[P_THREAD].use,
	    (unsigned long long)c->pool[P_THREAD].high);
	for (i = P_READY; i < P_NR; i++) {
		const struct pool_use *p = &c->pool[i];

		put(s->line, 0, "%s", pool_name[i]);
		bar(s->line, LABEL, width, part_of(p->use, p->size));
		put(s->line++, COLS - FIGURES + 1, "%llu/%llu %llu",
		    (unsigned long long)p->use, (unsigned long long)p->size,
		    (unsigned long long)p->high);
	}
}

/* Lanes that have no share and nobody in them are not shown. */
static void draw_lanes(struct screen *s, const struct sample *c)
{
	int i, width = COLS - LABEL - FIGURES;

	heading(s, "lanes          in use/limit and who waits");
	for (i = 0; i < R_NR * DXK_LANES; i++) {
		const struct lane_use *l = &c->lane[i / DXK_LANES][i % DXK_LANES];

		if (!l->in_use && !l->limit && !l->waiters)
			continue;
		put(s->line, 0, "%s %d", resource_name[i / DXK_LANES], i % DXK_LANES);
		bar(s->line, LABEL, width, part_of(l->in_use, l->limit));
		put(s->line++, COLS - FIGURES + 1, "%llu/%llu %llu",
		    (unsigned long long)l->in_use, (unsigned long long)l->limit,
		    (unsigned long long)l->waiters);
	}
}

#define THREAD_COLUMNS	41	/* id, role, state, age and rate */

static void draw_threads(struct screen *s, const struct sample *c)
{
	int room = LINES - 2 - s->line, width = COLS - THREAD_COLUMNS;
	double most = 0;
	unsigned int i;

	if (room < 1)
		return;
	if (s->scroll + (unsigned int)room > c->nr_threads)
		s->scroll = c->nr_threads > (unsigned int)room ?
			    c->nr_threads - (unsigned int)room : 0;
	heading(s, "threads            state        age s       executed/s");
	for (i = 0; i < c->nr_threads; i++)
		if (c->thread[i].per_second > most)
			most = c->thread[i].per_second;
	for (i = s->scroll; i < c->nr_threads && room-- > 0; i++) {
		const struct thread *t = &c->thread[i];

		put(s->line, 0, "%5u %-13.13s%-11.11s %6.1f %7.0f", t->id, t->role,
		    t->state, (double)t->age_ms / 1e3, t->per_second);
		bar(s->line++, THREAD_COLUMNS, width,
		    most > 0 ? t->per_second / most : 0);
	}
}

static const struct sample *chosen(const struct screen *s, const struct samples *all)
{
	unsigned int i;

	for (i = 0; i < all->nr; i++)
		if (all->sample[i].id >= s->chosen)
			return &all->sample[i];
	return all->nr ? &all->sample[0] : NULL;
}

static void draw(struct screen *s, const struct samples *all)
{
	const struct sample *c = chosen(s, all);

	erase();
	s->line = 0;
	if (COLS < COLS_MIN || LINES < LINES_MIN) {
		put(0, 0, "too small: %dx%d", COLS, LINES);
		put(1, 0, "needs %dx%d", COLS_MIN, LINES_MIN);
	} else if (!c) {
		put(0, 0, "no context of dxk that you may read");
		put(LINES - 1, 0, "q quit");
	} else {
		s->chosen = c->id;
		draw_head(s, c, all->nr);
		draw_pools(s, c);
		draw_lanes(s, c);
		draw_threads(s, c);
	}
	refresh();
}

/* --- keys ------------------------------------------------------------------ */

/* The context before or after the chosen one, in a ring. */
static void step(struct screen *s, const struct samples *all, int by)
{
	const struct sample *c = chosen(s, all);
	unsigned int i;

	if (!c)
		return;
	i = (unsigned int)(c - all->sample) + all->nr;
	s->chosen = all->sample[(by > 0 ? i + 1 : i - 1) % all->nr].id;
	s->scroll = 0;
}

/* false: quit */
static bool key(struct screen *s, const struct samples *all, int ch)
{
	switch (ch) {
	case 'q':
	case 'Q':
		return false;
	case 'n':
	case KEY_RIGHT:
		step(s, all, 1);
		break;
	case 'p':
	case KEY_LEFT:
		step(s, all, -1);
		break;
	case KEY_DOWN:
		s->scroll++;	/* draw_threads() stops it */
		break;
	case KEY_UP:
		s->scroll -= s->scroll > 0;
		break;
	case KEY_NPAGE:
		s->scroll += 10;
		break;
	case KEY_PPAGE:
		s->scroll -= s->scroll > 10 ? 10 : s->scroll;
		break;
	}
	return true;
}

/* If so, getch() does not wait. If SIGHUP is ignored, nothing else reports it. */
static bool terminal_gone(void)
{
	struct pollfd in = { .fd = STDIN_FILENO };

	return poll(&in, 1, 0) > 0;
}

/* Draw, and take keys, until the next sample is due: false to quit. */
static bool wait(struct screen *s, const struct samples *all, uint64_t next)
{
	uint64_t now;
	int ch;

	draw(s, all);
	while (!caught && (now = now_ns()) < next) {
		timeout((int)((next - now) / 1000000) + 1);
		ch = getch();
		if (ch == ERR && terminal_gone())
			return false;
		if (ch == ERR)
			continue;
		if (!key(s, all, ch))
			return false;
		draw(s, all);
	}
	return !caught;
}

int top(struct options *o)
{
	struct samples before = { }, now = { };
	struct screen s = { };
	uint64_t next = now_ns();
	uint32_t done = 0;
	SCREEN *screen;
	int err;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return fail("dxkstat without --top", "--top needs a terminal");
	/* Before newterm(), which handles the signals that have no handler. */
	signals_catch();
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return fail("TERM=xterm dxkstat --top", "the terminal '%s' is not known",
			    getenv("TERM") ?: "");
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	curs_set(0);

	do {
		samples_free(&before);
		before = now;
		err = samples_take(o, &before, &now, true);
		next += (uint64_t)o->interval;
		if (next < now_ns())
			next = now_ns();
	} while (!err && wait(&s, &now, next) && (!o->count || ++done < o->count));

	endwin();
	delscreen(screen);
	samples_free(&before);
	samples_free(&now);
	if (caught) {
		signal(caught, SIG_DFL);
		raise(caught);
	}
	return DONE;
}
