// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an input reached in dxk: the kernel writes down the address of every basic
 * block that this task passes (KCOV), libFuzzer takes them as counters of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <linux/kcov.h>

#include "fuzz.h"

#define AREA_WORDS	(32 << 10)	/* per task and input; what is beyond is lost */
#define COUNTERS	(32 << 10)

/* volatile: the compiler sees nobody read them */
__attribute__((section("__libfuzzer_extra_counters")))
static volatile uint8_t counters[COUNTERS];

struct cover {
	int fd;
	uint64_t *area;
};

/* The addresses seen by any input, a hash table. */
#define PCS_MAX		(64 << 10)
static uint64_t pcs[PCS_MAX];
static unsigned int nr_pcs;

/* Also for inputs to be kept few: then only new blocks count, not new ways there. */
static bool blocks_only;

static uint64_t mix(uint64_t x)
{
	x *= 0x9e3779b97f4a7c15ULL;
	return x ^ x >> 29;
}

static void pc_seen(uint64_t pc)
{
	unsigned int i = mix(pc) % PCS_MAX;

	while (pcs[i] && pcs[i] != pc)
		i = (i + 1) % PCS_MAX;
	if (pcs[i] || nr_pcs == PCS_MAX / 2)
		return;
	pcs[i] = pc;
	nr_pcs++;
}

/** cover_new - for one thread, which enables it then */
struct cover *cover_new(void)
{
	struct cover *c = calloc(1, sizeof(*c));
	const size_t size = AREA_WORDS * sizeof(uint64_t);

	blocks_only = getenv("DXK_FUZZ_BLOCKS");
	c->fd = open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);
	if (c->fd < 0 || ioctl(c->fd, KCOV_INIT_TRACE, AREA_WORDS)) {
		fprintf(stderr, "fuzz: no KCOV in this kernel: %s\n", strerror(errno));
		exit(4);
	}
	c->area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, 0);
	if (c->area == MAP_FAILED)
		guard_fail("kcov: %s", strerror(errno));
	madvise(c->area, size, MADV_DONTFORK);
	return c;
}

/** cover_enable - the calling thread is the one */
void cover_enable(struct cover *c)
{
	if (ioctl(c->fd, KCOV_ENABLE, KCOV_TRACE_PC))
		guard_fail("KCOV_ENABLE: %s", strerror(errno));
}

void cover_begin(struct cover *c)
{
	__atomic_store_n(&c->area[0], 0, __ATOMIC_RELAXED);
}

/** cover_take - count what the thread did since cover_begin(); it is idle now */
void cover_take(struct cover *c)
{
	uint64_t nr = __atomic_load_n(&c->area[0], __ATOMIC_RELAXED);
	uint64_t pc, before = 0, i;

	for (i = 1; i <= nr && i < AREA_WORDS; i++) {
		pc = c->area[i];
		pc_seen(pc);
		counters[mix(pc ^ before) % COUNTERS] = 1;
		before = blocks_only ? 0 : pc << 1;
	}
}

unsigned int cover_pcs(void)
{
	return nr_pcs;
}
