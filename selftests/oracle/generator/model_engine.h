/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of the picture's engine (model.h) share. */
#ifndef MODEL_ENGINE_H
#define MODEL_ENGINE_H

#include "model.h"

extern struct member *engine_members;	/* of the one model there is */

void engine_finish(struct ctx *c, struct member *m, long rc);
void engine_fall_asleep(struct ctx *c, struct member *m, enum sleep how);
void engine_leave_idle(struct ctx *c, struct member *m);
struct member *engine_sleeper(const struct ctx *c, enum sleep how, uint64_t after);
bool engine_shut(const struct ctx *c, const struct member *m);
void engine_serve_posters(struct ctx *c);
void engine_post_end(struct ctx *c, struct member *m, long error, uint32_t reason);
void engine_post_continue(struct ctx *c, struct member *m, bool head);
void engine_owner_changed(struct ctx *c, const struct space *s, uint64_t owner);
bool engine_rejoin_answer(struct ctx *c, struct member *m);
void engine_vanish(struct ctx *c, struct req *r);
bool engine_of_owner(const struct req *r, const struct space *s, uint64_t owner);
void engine_end_request(struct ctx *c, struct req *r);

#endif /* MODEL_ENGINE_H */
