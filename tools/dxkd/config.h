/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The configuration of dxkd: sections of a file, which are all checked before any is used.
 */
#ifndef _DXKD_CONFIG_H
#define _DXKD_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include <dxk.h>

#define NODES_MAX	8
#define USERS_MAX	16
#define WORD_MAX_LEN	32	/* of a service, a user: with the zero */
#define HOST_LEN	128
#define LANES		4
#define BANDS		6	/* priorities of a classic queue */
#define PAYLOAD_MAX	(16 << 20)	/* bytes of a sealed file */

/**
 * struct node - where one node of a broker listens
 * @host: name or address
 * @port: its TCP port
 * @plain: without TLS
 */
struct node {
	char host[HOST_LEN];
	unsigned int port;
	bool plain;
};

/**
 * struct broker - [broker NAME]
 * @name: NAME
 * @line: where the section begins
 * @nodes: tried in turn
 * @nr_nodes: how many
 * @plain: TLS may be left out to a host that is not this one
 * @vhost: virtual host
 * @user: of the broker
 * @password_file: as given
 * @password: the content of that file
 * @ca: certificates that a node's is checked against
 * @certificate: of this client, or NULL
 * @key: of the certificate, or NULL
 * @heartbeat: seconds
 */
struct broker {
	char name[WORD_MAX_LEN];
	unsigned int line;
	struct node nodes[NODES_MAX];
	unsigned int nr_nodes;
	bool plain;
	char *vhost;
	char user[WORD_MAX_LEN];
	char *password_file;
	char *password;
	char *ca;
	char *certificate;
	char *key;
	uint32_t heartbeat;
};

enum role { EXPORT, IMPORT };

/**
 * struct users - names of users of the broker
 * @nr: how many
 * @name: each
 */
struct users {
	unsigned int nr;
	char name[USERS_MAX][WORD_MAX_LEN];
};

bool users_have(const struct users *users, const char *name);

/**
 * struct service - [export NAME] or [import NAME]
 * @role: which
 * @name: NAME
 * @line: where the section begins
 * @broker_name: as given
 * @broker: that one
 * @context: name of the local context
 * @quorum: queues are quorum queues
 * @payload_max: bytes of a sealed file that goes with a request, 0: none may
 * @peers: export: whose requests are accepted (clients), import: whose answers (workers)
 * @lane: export: requests that may be held of each lane
 * @redo_max: how often a request with PXR_REDO is begun
 * @remember: export: seconds that an id is known after its answer
 * @grace: export: seconds after a connection is made again
 * @window: import: places
 * @begin_within: import: seconds after which an executor does not begin a request, 0: none
 * @answer_within: import: seconds after which a request ends without its answer, 0: none
 * @mode: import: of the context
 * @data_size: import: of its policy
 * @max_waiting: import: likewise
 * @lane_pct: import: likewise
 * @prio_low: import: priority of the lowest band, and below
 * @prio_high: import: of the highest band, and above
 * @bands: import: whether priorities are configured
 */
struct service {
	enum role role;
	char name[WORD_MAX_LEN];
	unsigned int line;
	char broker_name[WORD_MAX_LEN];
	const struct broker *broker;
	char context[DXK_NAME_LEN];
	bool quorum;
	uint32_t payload_max;
	struct users peers;
	uint32_t lane[LANES];
	uint32_t redo_max;
	uint32_t remember;
	uint32_t grace;
	uint32_t window;
	uint32_t begin_within, answer_within;
	uint32_t mode;
	uint32_t data_size;
	uint32_t max_waiting;
	uint32_t lane_pct[LANES - 1];
	int32_t prio_low, prio_high;
	bool bands;
};

/**
 * struct config - a whole file
 * @brokers: its [broker] sections
 * @nr_brokers: how many
 * @services: its [export] and [import] sections
 * @nr_services: how many
 */
struct config {
	struct broker *brokers;
	unsigned int nr_brokers;
	struct service *services;
	unsigned int nr_services;
};

/**
 * config_read - read a file and check all of its contents
 * @path: the file
 * @config: out, to be freed also after errors
 *
 * Each error is a line "FILE:LINE: KEY: what is wrong" on standard error.
 *
 * Return: how many errors, 0 if it can be used
 */
unsigned int config_read(const char *path, struct config *config);
void config_free(struct config *config);

#endif /* _DXKD_CONFIG_H */
