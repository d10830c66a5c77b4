// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asio: a strand for each mailbox, on a pool of one thread.
 */
#include <asio.hpp>
#include <cstring>
#include <memory>
#include <vector>

#include "mailbox.h"
#include "pools.h"

using strand = asio::strand<asio::thread_pool::executor_type>;

static asio::thread_pool *threads;
static std::vector<strand> strands;

static void post(long box)
{
	struct { char text[16]; } mail;

	memcpy(mail.text, "0123456789abcdef", sizeof(mail.text));
	asio::post(strands[box], [mail] {
		(void)mail;
		job_done();
	});
}

static void setup(const struct variant *v)
{
	threads = new asio::thread_pool(1);
	mails_boxes(v->arg);
	for (long i = 0; i < v->arg; i++)
		strands.emplace_back(threads->get_executor());
	mails_sender_first();
}

static void run(long ops)
{
	mails_send(ops, post);
}

extern "C" const struct kind asio_mails = { setup, run, nullptr, nullptr };
