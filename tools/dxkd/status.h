/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The status for an operator: a file that replaces the previous one.
 */
#ifndef _DXKD_STATUS_H
#define _DXKD_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"

struct link;
struct task;

/**
 * struct counts - of a service since the daemon began
 * @requests: export: delivered, import: published, each time, by lane
 * @answered: with an executor's result, by lane
 * @redelivered: export: had been delivered before, to some host
 * @republished: export: copies, import: after a connection broke
 * @refused: ended by dxkd, not begun
 * @dead: ended with -EOWNERDEAD
 * @dropped: import: answers, double or late
 * @rejected: messages that are not understood
 */
struct counts {
	uint64_t requests[LANES];
	uint64_t answered[LANES];
	uint64_t redelivered;
	uint64_t republished;
	uint64_t refused;
	uint64_t dead;
	uint64_t dropped;
	uint64_t rejected;
};

/**
 * struct status - of a service, now
 * @service: which
 * @requests: the connection that these go over
 * @answers: likewise
 * @context: 0, or a negative errno, why it is not used
 * @served: import: whether a host has ever exported it
 * @in_flight: export: in the context, import: at the broker
 * @waiting: for room there, or for the time of grace
 * @unconfirmed: messages that the broker has not confirmed
 * @counts: so far
 */
struct status {
	const struct service *service;
	const struct link *requests, *answers;
	int context;
	bool served;
	unsigned int in_flight, waiting, unconfirmed;
	const struct counts *counts;
};

/**
 * struct status_file - where it is written
 * @path: the file, NULL for none
 * @started: seconds since 1970
 * @due: when it may be written again
 * @sum: of what was looked at last
 * @differs: that has changed since
 * @text: the last text written
 * @told: the last text sent to the service manager
 * @said: the last errno that was logged
 */
struct status_file {
	char *path;
	uint64_t started;
	uint64_t due;
	uint64_t sum;
	bool differs;
	char *text;
	char told[80];
	int said;
};

/* @path may be NULL: in the directory that the service manager gives, or nowhere */
void status_open(struct status_file *file, const char *path);

/**
 * status_run - write it, at most once a second, if something has changed
 * @file: from status_open()
 * @tasks: the services
 * @nr: how many
 * @now: CLOCK_MONOTONIC
 *
 * If the file cannot be written it does not exist, and that has no other effect.
 *
 * Return: when to be called again
 */
uint64_t status_run(struct status_file *file, struct task **tasks, unsigned int nr, uint64_t now);
/* The daemon ends. */
void status_close(struct status_file *file);

#endif /* _DXKD_STATUS_H */
