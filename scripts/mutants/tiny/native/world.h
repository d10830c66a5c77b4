/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's names that tiny.c uses.
 */
#ifndef _TINY_WORLD_H
#define _TINY_WORLD_H

#define unlikely(x)		__builtin_expect(!!(x), 0)
#define WARN_ON_ONCE(x)		((void)(x))
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), (v), __ATOMIC_RELAXED)
#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define smp_store_release(p, v)	__atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define smp_load_acquire(p)	__atomic_load_n((p), __ATOMIC_ACQUIRE)
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

#endif /* _TINY_WORLD_H */
