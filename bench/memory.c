// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of a queued request, beside the data that it carries: what all slab caches
 * grow by, or what the server says.
 */
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "dxk_calls.h"
#include "servers.h"

#define DATA	16	/* what a message and a job carry */

double slab_bytes(void)
{
	unsigned long per_slab, slabs;
	double pages = 0;
	char text[512];
	FILE *f = fopen("/proc/slabinfo", "r");

	if (!f)
		die("/proc/slabinfo");
	while (fgets(text, sizeof(text), f))
		if (sscanf(text, "%*s %*u %*u %*u %*u %lu : tunables %*u %*u %*u : "
			   "slabdata %*u %lu", &per_slab, &slabs) == 2)
			pages += (double)per_slab * slabs;
	fclose(f);
	return pages * sysconf(_SC_PAGESIZE);
}

/* --- dxk ----------------------------------------------------------------------------- */

static void with_room(struct dxk_policy *policy, long unused)
{
	(void)unused;
	policy->ready_entries = policy->rejoin_entries = policy->max_requests = 1 << 17;
}

/* @arg: bytes of data */
static double dxk_measure(const struct variant *v)
{
	struct dxk_post_entry entry[BATCH];
	char data[512] = { 0 };
	double before, after;

	for (int i = 0; i < BATCH; i++)
		entry[i] = (struct dxk_post_entry){
			.owner = OWNER,
			.attrs = PXR_REJOIN,
			.data = (uintptr_t)data,
			.data_len = v->arg,
		};
	/* The context and its free requests count. */
	before = slab_bytes();
	dxk_open_ctx(with_room, 0);
	profile_begin();
	for (long left = v->ops; left; left -= left < BATCH ? left : BATCH)
		dxk_post_all(entry, left < BATCH ? left : BATCH);
	profile_end();
	after = slab_bytes();
	return (after - before) / v->ops - v->arg;
}

const struct kind dxk_memory = { .measure = dxk_measure };

static void with_keys(struct dxk_policy *policy, long unused)
{
	with_room(policy, unused);
	policy->max_waiting = policy->max_requests;
}

/* Messages to one key: all but the first wait for it. */
static double held_measure(const struct variant *v)
{
	struct dxk_post_more entry[BATCH];
	struct dxk_post post = {
		.size = sizeof(post),
		.entries = (uintptr_t)entry,
		.entry_size = sizeof(*entry),
	};
	double before, after;

	for (int i = 0; i < BATCH; i++)
		entry[i] = (struct dxk_post_more){
			.post = { .owner = OWNER, .attrs = PXR_REJOIN | PXR_KEY },
			.key = 1,
		};
	before = slab_bytes();
	dxk_open_ctx(with_keys, 0);
	for (long left = v->ops; left; left -= post.nr) {
		post.nr = left < BATCH ? left : BATCH;
		MUST(post.nr, ioctl(dxk_client, DXK_IOC_POST, &post));
	}
	after = slab_bytes();
	return (after - before) / v->ops;
}

const struct kind held_memory = { .measure = held_measure };

/* --- message queue ---------------------------------------------------------------------- */

static double mq_measure(const struct variant *v)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	struct mq_attr attr = { .mq_maxmsg = v->ops, .mq_msgsize = DATA };
	char data[DATA] = { 0 };
	double before, after;
	mqd_t mq;

	MUST(0, setrlimit(RLIMIT_MSGQUEUE, &limit));
	mq = mq_open("/dxk_bench_memory", O_RDWR | O_CREAT | O_CLOEXEC, 0600, &attr);
	if (mq < 0)
		die("mq_open");
	mq_unlink("/dxk_bench_memory");
	before = slab_bytes();
	for (long i = 0; i < v->ops; i++)
		MUST(0, mq_send(mq, data, sizeof(data), 0));
	after = slab_bytes();
	return (after - before) / v->ops - DATA;
}

const struct kind mq_memory = { .measure = mq_measure };

/* --- Redis ------------------------------------------------------------------------------ */

static double redis_used(struct stream *s)
{
	unsigned long len;
	const char *at, *text;

	write_all(s->fd, "INFO memory\r\n", 13);
	MUST(1, sscanf(stream_line(s), "$%lu", &len));
	text = stream_bytes(s, len + 2);
	at = memmem(text, len, "used_memory:", 12);
	if (!at)
		die("no used_memory");
	return atof(at + 12);
}

static double redis_measure(const struct variant *v)
{
	static struct stream s;
	char text[64];
	int server = redis_start(SOCKET);
	double before, after;

	stream_open(&s, SOCKET);
	before = redis_used(&s);
	for (long i = 0; i < v->ops; i++) {
		int len = sprintf(text, "LPUSH work %016lx\r\n", i);

		write_all(s.fd, text, len);
		if (*stream_line(&s) != ':')
			die("no reply to LPUSH");
	}
	after = redis_used(&s);
	child_end(server, SIGKILL);
	return (after - before) / v->ops - DATA;
}

const struct kind redis_memory = { .measure = redis_measure };
