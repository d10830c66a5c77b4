// SPDX-License-Identifier: GPL-2.0-only
/*
 * profile: counts what the guest executes between two marks, by address. A plugin of
 * QEMU; scripts/bench/bench.sh --profile uses it, profile.py there adds up by function.
 *
 * Writes a line "ADDRESS INSTRUCTIONS TIMES" for each block of instructions that was
 * executed TIMES times. A block has one entry and is left at its end, by a jump at
 * the latest, so that it belongs to one function. Which address space a user address
 * is in is not told. For a guest with one CPU.
 *
 * And a line "cache ACCESSES MISSES LINES": loads and stores of data, how many of them would
 * have to wait for a line in a cache of 32 KiB, 8 ways, 64 bytes a line, least recently used
 * goes first, as many x86 CPUs have, by virtual address; and how many lines there are in all.
 */
#include <inttypes.h>
#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mark.h"

/*
 * What is used of QEMU's interface for plugins: of version 1, which QEMU had up to 8.2, or
 * of 2, which is in later ones.
 */
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { NO_REGS = 0, LOADS_AND_STORES = 3 };
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*fn)(uint64_t id,
					   struct qemu_plugin_tb *tb));
void qemu_plugin_register_atexit_cb(uint64_t id, void (*fn)(uint64_t id, void *arg),
				    void *arg);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
					  void (*fn)(unsigned int cpu, void *arg),
					  int flags, void *arg);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    void (*fn)(unsigned int cpu, void *arg),
					    int flags, void *arg);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
				      void (*fn)(unsigned int cpu, uint32_t info,
						 uint64_t addr, void *arg),
				      int flags, int which, void *arg);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb,
						 size_t idx);
#if PLUGIN_VERSION == 1
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
#else
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *to, size_t room);
#endif
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

#define EXPORT	__attribute__((visibility("default")))

EXPORT int qemu_plugin_version = PLUGIN_VERSION;

/* @count runs on; @before is what it was at the begin mark. */
struct block {
	struct block *next;
	uint64_t addr;
	uint64_t insns;
	uint64_t count, before, total;
};

static struct block *blocks;
static void *tree;
static bool counting;
static const char *file;

static int by_place(const void *a, const void *b)
{
	const struct block *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return (x->insns > y->insns) - (x->insns < y->insns);
}

static struct block *block_get(uint64_t addr, uint64_t insns)
{
	struct block key = { .addr = addr, .insns = insns }, *b, **found;

	found = tfind(&key, &tree, by_place);
	if (found)
		return *found;
	b = calloc(1, sizeof(*b));
	if (!b)
		abort();
	b->addr = addr;
	b->insns = insns;
	b->next = blocks;
	blocks = b;
	tsearch(b, &tree, by_place);
	return b;
}

static void begin(unsigned int cpu, void *arg)
{
	(void)cpu;
	(void)arg;
	for (struct block *b = blocks; b; b = b->next)
		b->before = b->count;
	counting = true;
}

static void end(unsigned int cpu, void *arg)
{
	(void)cpu;
	(void)arg;
	for (struct block *b = blocks; b && counting; b = b->next) {
		b->total += b->count - b->before;
		/* one that is translated meanwhile begins with 0 */
		b->before = b->count;
	}
	counting = false;
}

/* --- the cache ------------------------------------------------------------------- */

#define LINE_BITS	6
#define SETS		64
#define WAYS		8
#define SEEN_BITS	22

/* Of each set the newest line first. 0 is no line that anybody uses. */
static uint64_t cache[SETS][WAYS];
/* Lines that were met: an open hash. */
static uint64_t seen[1 << SEEN_BITS];
static uint64_t accesses, misses, lines;

static void meet(uint64_t line)
{
	uint64_t at = line * 0x9e3779b97f4a7c15 >> (64 - SEEN_BITS);

	while (seen[at] && seen[at] != line)
		at = (at + 1) % (1 << SEEN_BITS);
	if (seen[at] == line || lines == (1 << SEEN_BITS) * 3 / 4)
		return;
	seen[at] = line;
	lines++;
}

static void touch(uint64_t line)
{
	uint64_t *way = cache[line % SETS];
	size_t i;

	for (i = 0; i < WAYS - 1 && way[i] != line; i++)
		;
	if (way[i] != line) {
		misses++;
		meet(line);
	}
	memmove(way + 1, way, i * sizeof(*way));
	way[0] = line;
}

static void accessed(unsigned int cpu, uint32_t info, uint64_t addr, void *arg)
{
	(void)cpu;
	(void)info;
	(void)arg;
	if (!counting)
		return;
	accesses++;
	touch(addr >> LINE_BITS);
}

/* --- what is executed ------------------------------------------------------------ */

/* The number of the mark that @insn is, or 0. */
static uint32_t mark(const struct qemu_plugin_insn *insn)
{
	static const unsigned char nop[] = { 0x0f, 0x1f, 0x84, 0x00 };
	unsigned char bytes[8];
	uint32_t number;

	if (qemu_plugin_insn_size(insn) != sizeof(bytes))
		return 0;
#if PLUGIN_VERSION == 1
	memcpy(bytes, qemu_plugin_insn_data(insn), sizeof(bytes));
#else
	qemu_plugin_insn_data(insn, bytes, sizeof(bytes));
#endif
	if (memcmp(bytes, nop, sizeof(nop)))
		return 0;
	memcpy(&number, bytes + 4, sizeof(number));
	return number;
}

static void executed(unsigned int cpu, void *arg)
{
	struct block *b = arg;

	(void)cpu;
	b->count++;
}

static void translated(uint64_t id, struct qemu_plugin_tb *tb)
{
	size_t insns = qemu_plugin_tb_n_insns(tb);
	struct block *b = block_get(qemu_plugin_tb_vaddr(tb), insns);

	(void)id;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, NO_REGS, b);
	for (size_t i = 0; i < insns; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		qemu_plugin_register_vcpu_mem_cb(insn, accessed, NO_REGS, LOADS_AND_STORES,
						 NULL);
		switch (mark(insn)) {
		case MARK_BEGIN:
			qemu_plugin_register_vcpu_insn_exec_cb(insn, begin, NO_REGS, NULL);
			break;
		case MARK_END:
			qemu_plugin_register_vcpu_insn_exec_cb(insn, end, NO_REGS, NULL);
			break;
		}
	}
}

static void finish(uint64_t id, void *arg)
{
	FILE *f = fopen(file, "w");

	(void)id;
	(void)arg;
	if (!f) {
		perror(file);
		return;
	}
	for (struct block *b = blocks; b; b = b->next)
		if (b->total)
			fprintf(f, "%" PRIx64 " %" PRIu64 " %" PRIu64 "\n", b->addr,
				b->insns, b->total);
	fprintf(f, "cache %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", accesses, misses, lines);
	fclose(f);
}

EXPORT int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
	(void)info;
	if (argc != 1 || strncmp(argv[0], "out=", 4))
		return 1;
	file = strdup(argv[0] + 4);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, finish, NULL);
	return 0;
}
