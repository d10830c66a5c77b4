/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The lists that the engine uses: rings with a head, hash chains, and lists that grow
 * without a lock. The names and their meaning are those of the kernel.
 */
#ifndef _DXK_NATIVE_LIST_H
#define _DXK_NATIVE_LIST_H

/* --- rings ------------------------------------------------------------------ */

struct list_head {
	struct list_head *next, *prev;
};

#define LIST_HEAD_INIT(name)	{ &(name), &(name) }
#define LIST_HEAD(name)		struct list_head name = LIST_HEAD_INIT(name)

static inline void INIT_LIST_HEAD(struct list_head *list)
{
	__atomic_store_n(&list->next, list, __ATOMIC_RELAXED);
	list->prev = list;
}

/* As in the kernel this needs no lock, if it may be wrong by the time it answers. */
static inline bool list_empty(const struct list_head *head)
{
	return __atomic_load_n(&head->next, __ATOMIC_RELAXED) == head;
}

static inline bool list_is_singular(const struct list_head *head)
{
	return head->next != head && head->next == head->prev;
}

static inline bool list_is_first(const struct list_head *entry, const struct list_head *head)
{
	return head->next == entry;
}

static inline void list_join(struct list_head *a, struct list_head *b)
{
	__atomic_store_n(&a->next, b, __ATOMIC_RELAXED);
	b->prev = a;
}

static inline void list_add(struct list_head *entry, struct list_head *head)
{
	list_join(entry, head->next);
	list_join(head, entry);
}

static inline void list_add_tail(struct list_head *entry, struct list_head *head)
{
	list_join(head->prev, entry);
	list_join(entry, head);
}

/* Whoever uses it in a list once more dies of it. */
#define LIST_POISON	((struct list_head *)0x100)

static inline void list_del(struct list_head *entry)
{
	list_join(entry->prev, entry->next);
	entry->next = LIST_POISON;
	entry->prev = LIST_POISON;
}

static inline void list_del_init(struct list_head *entry)
{
	list_join(entry->prev, entry->next);
	INIT_LIST_HEAD(entry);
}

static inline void list_move(struct list_head *entry, struct list_head *head)
{
	list_join(entry->prev, entry->next);
	list_add(entry, head);
}

static inline void list_move_tail(struct list_head *entry, struct list_head *head)
{
	list_join(entry->prev, entry->next);
	list_add_tail(entry, head);
}

/* All of @list come before those of @head. */
static inline void list_splice_init(struct list_head *list, struct list_head *head)
{
	if (list_empty(list))
		return;
	list_join(list->prev, head->next);
	list_join(head, list->next);
	INIT_LIST_HEAD(list);
}

/* All of @list come behind those of @head. */
static inline void list_splice_tail_init(struct list_head *list, struct list_head *head)
{
	list_splice_init(list, head->prev);
}

#define list_entry(ptr, type, member)	container_of(ptr, type, member)
#define list_first_entry(head, type, member) \
	list_entry((head)->next, type, member)
#define list_last_entry(head, type, member) \
	list_entry((head)->prev, type, member)
#define list_first_entry_or_null(head, type, member) \
	(list_empty(head) ? NULL : list_first_entry(head, type, member))
#define list_next_entry(pos, member) \
	list_entry((pos)->member.next, __typeof__(*(pos)), member)
#define list_prev_entry(pos, member) \
	list_entry((pos)->member.prev, __typeof__(*(pos)), member)

#define list_for_each_entry(pos, head, member)				\
	for (pos = list_first_entry(head, __typeof__(*pos), member);	\
	     &pos->member != (head); pos = list_next_entry(pos, member))
#define list_for_each_entry_safe(pos, n, head, member)			\
	for (pos = list_first_entry(head, __typeof__(*pos), member),	\
	     n = list_next_entry(pos, member);				\
	     &pos->member != (head); pos = n, n = list_next_entry(n, member))
#define list_for_each_entry_safe_reverse(pos, n, head, member)		\
	for (pos = list_last_entry(head, __typeof__(*pos), member),	\
	     n = list_prev_entry(pos, member);				\
	     &pos->member != (head); pos = n, n = list_prev_entry(n, member))

/* --- hash chains ------------------------------------------------------------ */

struct hlist_node {
	struct hlist_node *next, **from;
};

struct hlist_head {
	struct hlist_node *first;
};

static inline void hlist_add_head(struct hlist_node *node, struct hlist_head *head)
{
	node->next = head->first;
	if (node->next)
		node->next->from = &node->next;
	head->first = node;
	node->from = &head->first;
}

static inline void hlist_del(struct hlist_node *node)
{
	*node->from = node->next;
	if (node->next)
		node->next->from = node->from;
	node->next = (struct hlist_node *)LIST_POISON;
	node->from = NULL;
}

#define hlist_entry_or_null(ptr, type, member) ({		\
	struct hlist_node *_node = (ptr);			\
								\
	_node ? container_of(_node, type, member) : NULL;	\
})

#define hlist_for_each_entry(pos, head, member)						\
	for (pos = hlist_entry_or_null((head)->first, __typeof__(*pos), member); pos;	\
	     pos = hlist_entry_or_null(pos->member.next, __typeof__(*pos), member))
#define hlist_for_each_entry_safe(pos, n, head, member)					\
	for (pos = hlist_entry_or_null((head)->first, __typeof__(*pos), member);		\
	     pos && ({ n = pos->member.next; true; });					\
	     pos = hlist_entry_or_null(n, __typeof__(*pos), member))

/* --- lists without a lock --------------------------------------------------- */

struct llist_node {
	struct llist_node *next;
};

struct llist_head {
	struct llist_node *first;
};

#define llist_entry(ptr, type, member)	container_of(ptr, type, member)

static inline void init_llist_head(struct llist_head *head)
{
	head->first = NULL;
}

static inline bool llist_empty(const struct llist_head *head)
{
	return !__atomic_load_n(&head->first, __ATOMIC_RELAXED);
}

/* Return: was it empty? */
static inline bool llist_add(struct llist_node *node, struct llist_head *head)
{
	struct llist_node *first = __atomic_load_n(&head->first, __ATOMIC_RELAXED);

	os_point();
	do {
		node->next = first;
	} while (!__atomic_compare_exchange_n(&head->first, &first, node, false,
					      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	return !first;
}

/* The newest one first. */
static inline struct llist_node *llist_del_all(struct llist_head *head)
{
	os_point();
	return __atomic_exchange_n(&head->first, NULL, __ATOMIC_ACQ_REL);
}

static inline struct llist_node *llist_reverse_order(struct llist_node *node)
{
	struct llist_node *reverse = NULL;

	while (node) {
		struct llist_node *next = node->next;

		node->next = reverse;
		reverse = node;
		node = next;
	}
	return reverse;
}

#endif /* _DXK_NATIVE_LIST_H */
