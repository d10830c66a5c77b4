/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef DXSERVE_H
#define DXSERVE_H

/* Joins the context @name as a worker and serves until it stops. @ready: told so. */
_Noreturn void serve(const char *name, int ready);

#endif /* DXSERVE_H */
