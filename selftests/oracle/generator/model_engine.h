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
bool engine_worker_admits(const struct ctx *c, unsigned int lane);
bool engine_lane_has_room(const struct ctx *c, unsigned int lane);
int engine_owner_count(const struct ctx *c, const struct space *s, uint64_t owner,
		       enum req_state state);
int engine_owner_coming(const struct ctx *c, const struct space *s, uint64_t owner);
void engine_put_back(const struct ctx *c, struct req *r);
void engine_enter_ready(struct ctx *c, struct req *r);
void engine_enter_last(struct ctx *c, struct req *r);
struct req *engine_last(const struct ctx *c);
void engine_stop_workers(struct ctx *c);

/* --- waits (model_wait.c) ------------------------------------------------- */

bool engine_begun(const struct req *r);
bool engine_has_crew(const struct ctx *c);
/* @posted: it is not taken yet. */
uint32_t engine_wait_over(struct ctx *c, const struct req *r, bool posted);
void engine_wait_enter(struct ctx *c, struct req *r);
void engine_alarm_set(struct ctx *c, struct req *r, uint64_t at);
void engine_resume(struct ctx *c, struct req *r, uint32_t reason);
void engine_admit_ripe(struct ctx *c);
bool engine_has_ripe(const struct ctx *c, unsigned int lane);
void engine_owner_join(struct ctx *c, const struct space *s, uint64_t owner);
struct req *engine_eager(struct ctx *c, bool kernel);
void engine_serve_joined(struct ctx *c);
int engine_park(struct ctx *c, struct req *r);
void engine_end_early(struct ctx *c, struct req *r, int status);
void engine_put_told_back(struct req *r);
void engine_more_tell(struct req *r, uint32_t reason);
struct req *engine_first_waiting(const struct ctx *c, enum line line);
void engine_end_orphans(struct ctx *c);
void engine_stop_waits(struct ctx *c);
void engine_cancel_waits(struct ctx *c);

/* --- circles (model_cycle.c) ------------------------------------------------ */

/* Would the request wait for ever? @posted: it is not taken yet. */
bool engine_wait_is_dead(struct ctx *c, const struct req *r, bool posted);
/* Would the worker? */
bool engine_rejoin_is_dead(struct ctx *c, const struct member *m);

/* --- ends of others (model_purge.c) ---------------------------------------- */

struct doom *engine_doom(struct ctx *c, const struct space *s, uint64_t owner);
bool engine_doomed(struct ctx *c, const struct req *r);
void engine_owner_gone(struct ctx *c, const struct space *s, uint64_t owner);
void engine_purge_begin(struct ctx *c, const struct space *s, uint64_t owner);
bool engine_purge_due(struct ctx *c);
void engine_purge(struct ctx *c);
uint32_t engine_tell(struct ctx *c, struct req *r, uint32_t reason);
struct req *engine_named(struct ctx *c, const struct space *s, uint64_t name);

#endif /* MODEL_ENGINE_H */
