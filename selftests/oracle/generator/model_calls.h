/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of the picture's calls (model.h) share. */
#ifndef MODEL_CALLS_H
#define MODEL_CALLS_H

#include "model.h"

/* The call is over at once. */
long model_answer(struct proc *p, long rc);
/* The descriptor that the call will have made; its number is news. */
struct desc *model_new_desc(struct proc *p);
/* A zeroed element of an array whose elements begin with a bool "used". */
void *model_unused(void *array, size_t size, int nr);
/* The second half of Stop. */
void model_stopped(struct ctx *c);
void model_ended(struct ctx *c);
long model_ctx_call(struct model *m, struct proc *p, struct session *s);
void model_member_call(struct model *model, struct proc *p, struct member *m);

#endif /* MODEL_CALLS_H */
