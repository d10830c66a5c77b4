// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The memory of the engine in user space: malloc(), and a count of what is not freed.
 * The thread layer may let an allocation fail.
 */
#include "world.h"

struct kmem_cache {
	const char *name;
	size_t size;
	void (*construct)(void *obj);
	long live;
};

long os_allocated;

static void count(long nr)
{
	__atomic_add_fetch(&os_allocated, nr, __ATOMIC_RELAXED);
}

/*
 * What lies behind an object is no address, so that who reads on there is noticed. The
 * address sanitizer does so by itself, if nothing lies there.
 */
#ifdef __SANITIZE_ADDRESS__
static const size_t behind;
#else
static const size_t behind = sizeof(void *);
#endif

static void *allocate(size_t size)
{
	void *ptr;

	if (os_allocation_fails())
		return NULL;
	ptr = calloc(1, size + behind);
	if (!ptr)
		return NULL;
	if (behind)
		memset(ptr + size, 0xa5, behind);
	count(1);
	return ptr;
}

void *kzalloc(size_t size, gfp_t gfp)
{
	return allocate(size);
}

void *kvcalloc(size_t nr, size_t size, gfp_t gfp)
{
	return allocate(nr * size);
}

void kfree(const void *ptr)
{
	if (ptr)
		count(-1);
	free((void *)ptr);
}

void kvfree(const void *ptr)
{
	kfree(ptr);
}

struct kmem_cache *kmem_cache_create(const char *name, size_t size, size_t align, u32 flags,
				     void (*construct)(void *obj))
{
	struct kmem_cache *cache = allocate(sizeof(*cache));

	if (cache)
		*cache = (struct kmem_cache) {
			.name = name, .size = size, .construct = construct,
		};
	return cache;
}

void kmem_cache_destroy(struct kmem_cache *cache)
{
	WARN_ONCE(cache->live, "%ld objects of %s are left", cache->live, cache->name);
	kfree(cache);
}

/* All or none, as the kernel's. */
void *kmem_cache_alloc(struct kmem_cache *cache, gfp_t gfp)
{
	void *obj;

	return kmem_cache_alloc_bulk(cache, gfp, 1, &obj) ? obj : NULL;
}

int kmem_cache_alloc_bulk(struct kmem_cache *cache, gfp_t gfp, size_t nr, void **obj)
{
	size_t i;

	if (os_allocation_fails())
		return 0;
	for (i = 0; i < nr; i++) {
		obj[i] = gfp & __GFP_ZERO ? calloc(1, cache->size) : malloc(cache->size);
		if (!obj[i])
			abort();
		if (cache->construct)
			cache->construct(obj[i]);
	}
	__atomic_add_fetch(&cache->live, nr, __ATOMIC_RELAXED);
	count(nr);
	return nr;
}

void kmem_cache_free_bulk(struct kmem_cache *cache, size_t nr, void **obj)
{
	size_t i;

	__atomic_sub_fetch(&cache->live, nr, __ATOMIC_RELAXED);
	count(-(long)nr);
	for (i = 0; i < nr; i++)
		free(obj[i]);
}

void kmem_cache_free(struct kmem_cache *cache, void *obj)
{
	kmem_cache_free_bulk(cache, 1, &obj);
}
