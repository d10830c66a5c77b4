/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An ordered set behind the kernel's names: a treap. Its shape hangs on a hash of the nodes'
 * addresses, and is that of a tree whose nodes came in random order.
 */
#ifndef _DXK_NATIVE_TREE_H
#define _DXK_NATIVE_TREE_H

struct rb_node {
	/* @kid: by side, what comes before and after it; no higher than it is */
	struct rb_node *kid[2], *parent;
};

struct rb_root {
	struct rb_node *rb_node;
};

typedef bool rb_less_fn(struct rb_node *a, const struct rb_node *b);

struct rb_root_cached {
	struct rb_root rb_root;
};

#define RB_ROOT_CACHED		((struct rb_root_cached) { })
#define RB_EMPTY_ROOT(root)	(!(root)->rb_node)
#define rb_entry(ptr, type, member)	container_of(ptr, type, member)

static inline bool rb_higher(const struct rb_node *a, const struct rb_node *b)
{
	return (uintptr_t)a * 0x9e3779b97f4a7c15 > (uintptr_t)b * 0x9e3779b97f4a7c15;
}

/* The last one on a side below @node, or itself. */
static inline struct rb_node *rb_outmost(struct rb_node *node, int side)
{
	while (node && node->kid[side])
		node = node->kid[side];
	return node;
}

static inline struct rb_node *rb_first_cached(const struct rb_root_cached *tree)
{
	return rb_outmost(tree->rb_root.rb_node, 0);
}

static inline struct rb_node *rb_next(const struct rb_node *node)
{
	if (node->kid[1])
		return rb_outmost(node->kid[1], 0);
	while (node->parent && node->parent->kid[1] == node)
		node = node->parent;
	return node->parent;
}

/* What points to @node gets @other instead. */
static inline void rb_replace(struct rb_root *root, struct rb_node *node, struct rb_node *other)
{
	struct rb_node *parent = node->parent;

	if (other)
		other->parent = parent;
	if (!parent)
		root->rb_node = other;
	else
		parent->kid[parent->kid[1] == node] = other;
}

/* @node, which has a parent, changes places with it. */
static inline void rb_rise(struct rb_root *root, struct rb_node *node)
{
	struct rb_node *parent = node->parent, *inner;
	int side = parent->kid[1] == node;

	inner = node->kid[!side];
	rb_replace(root, parent, node);
	node->kid[!side] = parent;
	parent->parent = node;
	parent->kid[side] = inner;
	if (inner)
		inner->parent = parent;
}

static inline void rb_add_cached(struct rb_node *node, struct rb_root_cached *tree,
				 rb_less_fn *less)
{
	struct rb_node **at = &tree->rb_root.rb_node, *parent = NULL;

	while (*at) {
		parent = *at;
		at = &parent->kid[!less(node, parent)];
	}
	*at = node;
	*node = (struct rb_node) { .parent = parent };
	while (node->parent && rb_higher(node, node->parent))
		rb_rise(&tree->rb_root, node);
}

static inline void rb_erase_cached(struct rb_node *node, struct rb_root_cached *tree)
{
	struct rb_node **kid = node->kid;

	while (kid[0] && kid[1])
		rb_rise(&tree->rb_root, kid[rb_higher(kid[1], kid[0])]);
	rb_replace(&tree->rb_root, node, kid[0] ?: kid[1]);
}

#endif /* _DXK_NATIVE_TREE_H */
