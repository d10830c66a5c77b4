/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An ordered set of which the engine wants the first element only: a pairing heap behind
 * the kernel's names. Adding costs O(1), erasing O(log n) amortised.
 */
#ifndef _DXK_NATIVE_TREE_H
#define _DXK_NATIVE_TREE_H

struct rb_node {
	/* @child: the first one; @next: the next sibling; @from: what points here */
	struct rb_node *child, *next, **from;
};

struct rb_root {
	struct rb_node *rb_node;
};

typedef bool rb_less_fn(struct rb_node *a, const struct rb_node *b);

struct rb_root_cached {
	struct rb_root rb_root;
	/* The same for all that were ever added. */
	rb_less_fn *less;
};

#define RB_ROOT_CACHED		((struct rb_root_cached) { })
#define RB_EMPTY_ROOT(root)	(!(root)->rb_node)
#define rb_entry(ptr, type, member)	container_of(ptr, type, member)

static inline struct rb_node *rb_first_cached(const struct rb_root_cached *tree)
{
	return tree->rb_root.rb_node;
}

static inline void rb_hang(struct rb_node **from, struct rb_node *node)
{
	*from = node;
	if (node)
		node->from = from;
}

/* Both are roots; the one that is less becomes that of both. */
static inline struct rb_node *rb_meld(struct rb_node *a, struct rb_node *b, rb_less_fn *less)
{
	if (less(b, a))
		swap(a, b);
	rb_hang(&b->next, a->child);
	rb_hang(&a->child, b);
	return a;
}

/* Siblings become one: in pairs from the left, then all pairs from the right. */
static inline struct rb_node *rb_meld_all(struct rb_node *first, rb_less_fn *less)
{
	struct rb_node *pairs = NULL, *all = NULL;

	while (first) {
		struct rb_node *a = first, *b = a->next;

		first = b ? b->next : NULL;
		a = b ? rb_meld(a, b, less) : a;
		a->next = pairs;
		pairs = a;
	}
	while (pairs) {
		struct rb_node *next = pairs->next;

		all = all ? rb_meld(all, pairs, less) : pairs;
		pairs = next;
	}
	return all;
}

static inline void rb_add_cached(struct rb_node *node, struct rb_root_cached *tree,
				 rb_less_fn *less)
{
	struct rb_node *root = tree->rb_root.rb_node;

	tree->less = less;
	node->child = NULL;
	rb_hang(&tree->rb_root.rb_node, root ? rb_meld(root, node, less) : node);
	tree->rb_root.rb_node->next = NULL;
}

static inline void rb_erase_cached(struct rb_node *node, struct rb_root_cached *tree)
{
	struct rb_node *rest = rb_meld_all(node->child, tree->less);

	rb_hang(node->from, node->next);
	if (rest) {
		struct rb_node *root = tree->rb_root.rb_node;

		rb_hang(&tree->rb_root.rb_node,
			root ? rb_meld(root, rest, tree->less) : rest);
		tree->rb_root.rb_node->next = NULL;
	}
}

#endif /* _DXK_NATIVE_TREE_H */
