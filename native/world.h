/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * User space as the engine's world, see engine/os.h: what of the kernel's names the engine
 * uses, written anew. "thread.h" has tasks and locks, and there are three: that of
 * threads/, for tests with real threads, that of sim/, for virtual ones, and that of cores/,
 * where speed is measured.
 */
#ifndef _DXK_NATIVE_WORLD_H
#define _DXK_NATIVE_WORLD_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <linux/types.h>

#include "engine/waits.h"

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

#define U16_MAX		UINT16_MAX
#define S32_MIN		INT32_MIN
#define S32_MAX		INT32_MAX
#define U32_MAX		UINT32_MAX
#define S64_MIN		((s64)INT64_MIN)
#define S64_MAX		((s64)INT64_MAX)
#define U64_MAX		((u64)UINT64_MAX)

#define NSEC_PER_MSEC	1000000L
#define NSEC_PER_SEC	1000000000L

#define ERESTARTSYS	512
#define ERESTARTNOINTR	513

/* --- the compiler ----------------------------------------------------------- */

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)
#ifndef __always_inline
#define __always_inline	inline __attribute__((always_inline))
#endif
#define noinline	__attribute__((noinline))
#define __uninitialized
#define __printf(fmt, args) __attribute__((format(printf, fmt, args)))
#define static_assert(c) _Static_assert(c, #c)
/* Constants of arguments are known to the optimiser only. */
void os_build_bug(void) __attribute__((error("BUILD_BUG_ON")));
#define BUILD_BUG_ON(c)	do { if (c) os_build_bug(); } while (0)

#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

/* --- numbers ---------------------------------------------------------------- */

#define BIT(n)		(1UL << (n))
#define BIT_ULL(n)	(1ULL << (n))
#define GENMASK(h, l)	(((~0UL) << (l)) & (~0UL >> (sizeof(long) * CHAR_BIT - 1 - (h))))
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define __packed __attribute__((packed))
#define __aligned(n) __attribute__((aligned(n)))
#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))

#define min(a, b) ({			\
	__typeof__(a) _a = (a);		\
	__typeof__(b) _b = (b);		\
	_a < _b ? _a : _b;		\
})
#define max(a, b) ({			\
	__typeof__(a) _a = (a);		\
	__typeof__(b) _b = (b);		\
	_a > _b ? _a : _b;		\
})
#define min3(a, b, c)		min(min(a, b), c)
#define min_t(type, a, b)	min((type)(a), (type)(b))
#define max_t(type, a, b)	max((type)(a), (type)(b))
#define clamp_t(type, v, lo, hi) \
	((type)((v) < (lo) ? (lo) : (v) > (hi) ? (hi) : (v)))
#define swap(a, b) do {			\
	__typeof__(a) _t = (a);		\
	(a) = (b);			\
	(b) = _t;			\
} while (0)

static inline u64 div_u64(u64 n, u32 d)
{
	return n / d;
}

static inline u64 div64_u64(u64 n, u64 d)
{
	return n / d;
}

static inline unsigned int hweight64(u64 word)
{
	return (unsigned int)__builtin_popcountll(word);
}

/* Undefined for 0, as the kernel's. */
static inline unsigned long __ffs64(u64 word)
{
	return __builtin_ctzll(word);
}

static inline unsigned long __ffs(unsigned long word)
{
	return __builtin_ctzl(word);
}

static inline u64 ror64(u64 word, unsigned int shift)
{
	return word >> (shift & 63) | word << (-shift & 63);
}

static inline u32 ilog2(u64 n)
{
	return 63 - __builtin_clzll(n);
}

static inline bool is_power_of_2(u64 n)
{
	return n && !(n & (n - 1));
}

static inline u64 roundup_pow_of_two(u64 n)
{
	return n == 1 ? 1 : 1ULL << (ilog2(n - 1) + 1);
}

/* --- errors ----------------------------------------------------------------- */

/* What a broken assertion does. */
void os_warn(const char *file, int line, const char *fmt, ...) __printf(3, 4);

#define WARN_ONCE(cond, ...) ({					\
	bool _broken = (cond);					\
								\
	if (unlikely(_broken))					\
		os_warn(__FILE__, __LINE__, __VA_ARGS__);	\
	_broken;						\
})
#define WARN_ON_ONCE(cond)	WARN_ONCE(cond, "%s", #cond)

static inline void *ERR_PTR(long err)
{
	return (void *)err;
}

static inline bool IS_ERR(const void *ptr)
{
	return (unsigned long)ptr >= (unsigned long)-4095;
}

static inline long PTR_ERR(const void *ptr)
{
	return (long)ptr;
}

/* Assertions are worth their time, unless it is the time that is measured. */
#ifndef OS_DEBUG
#define OS_DEBUG	1
#endif

/* --- order, tasks, locks ---------------------------------------------------- */

/*
 * os_point() is a place where another thread may run, if no lock is held: before each
 * access of shared data. os_point_held() is one under a lock as well: around what others
 * see without it.
 */
#include "thread.h"

#define READ_ONCE(x) ({							\
	os_point();							\
	__atomic_load_n(&(x), __ATOMIC_RELAXED);			\
})
#define WRITE_ONCE(x, v) do {						\
	os_point();							\
	__atomic_store_n(&(x), (v), __ATOMIC_RELAXED);			\
} while (0)
#define try_cmpxchg(p, old, v) ({						\
	os_point();							\
	__atomic_compare_exchange_n((p), (old), (v), false, __ATOMIC_SEQ_CST,	\
				    __ATOMIC_RELAXED);			\
})
#define xchg(p, v) ({							\
	os_point();							\
	__atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST);		\
})
#define smp_mb() do {							\
	os_point_held();						\
	__atomic_thread_fence(__ATOMIC_SEQ_CST);			\
} while (0)
#define smp_load_acquire(p) ({						\
	os_point();							\
	__atomic_load_n((p), __ATOMIC_ACQUIRE);				\
})
#define smp_store_release(p, v) do {					\
	os_point_held();						\
	__atomic_store_n((p), (v), __ATOMIC_RELEASE);			\
	os_point_held();						\
} while (0)

#define lockdep_assert_held(lock)	WARN_ON_ONCE(OS_DEBUG && !os_lock_is_held(lock))
#define lockdep_assert_not_held(lock)	WARN_ON_ONCE(OS_DEBUG && os_lock_is_held(lock))

/* --- containers, memory ----------------------------------------------------- */

#include "list.h"
#include "tree.h"

typedef u32 gfp_t;

#define GFP_KERNEL		0
#define GFP_KERNEL_ACCOUNT	0
#define __GFP_ZERO		1
#define SLAB_ACCOUNT		0

struct kmem_cache *kmem_cache_create(const char *name, size_t size, size_t align, u32 flags,
				     void (*construct)(void *obj));
void kmem_cache_destroy(struct kmem_cache *cache);
void kmem_cache_free(struct kmem_cache *cache, void *obj);
void *kmem_cache_alloc(struct kmem_cache *cache, gfp_t gfp);
int kmem_cache_alloc_bulk(struct kmem_cache *cache, gfp_t gfp, size_t nr, void **obj);
void kmem_cache_free_bulk(struct kmem_cache *cache, size_t nr, void **obj);

#define KMEM_CACHE(type, flags)	\
	kmem_cache_create(#type, sizeof(struct type), __alignof__(struct type), flags, NULL)

void *kzalloc(size_t size, gfp_t gfp);
void *kvcalloc(size_t nr, size_t size, gfp_t gfp);
void kfree(const void *ptr);
void kvfree(const void *ptr);

/* Caches, their objects and allocations that were not freed: 0 when all is over. */
extern long os_allocated;

/* --- the rest --------------------------------------------------------------- */

static inline u32 os_hash(u64 key, u32 id, u64 seed)
{
	u64 hash = (key ^ (u64)id << 40) * (seed | 1);

	return (hash ^ hash >> 32) * (seed << 1 | 1) >> 32;
}

/* Nobody looks at who waits for whom. */
static inline void os_turn_begin(enum os_turn turn)
{
	(void)turn;
}

static inline void os_turn_end(enum os_turn turn)
{
	(void)turn;
}

static inline void os_may_wait(enum os_turn turn)
{
	(void)turn;
}

static inline void os_may_wait_for_user(void)
{
}

u64 get_random_u64(void);

#endif /* _DXK_NATIVE_WORLD_H */
