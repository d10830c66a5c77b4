// SPDX-License-Identifier: GPL-2.0-only
/*
 * The reactor's queues (NI-12, NI-14, NI-15, NI-17, NI-18), without a context.
 */
#define _GNU_SOURCE
#include "kselftest_harness.h"

#include <dx_reactor.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>

TEST(NI_12_pieces)
{
	for (size_t piece = 1; piece < 9000; piece = piece * 3 + 1) {
		InputQueue *q = InputQueue_create(NULL);
		char text[10000];
		Message *m;

		memset(text, 'a', sizeof(text));
		text[9999] = '\n';
		for (size_t at = 0; at < sizeof(text); at += piece) {
			EXPECT_EQ(-1, InputQueue_indexOf(q, '\n'));
			ASSERT_EQ(0, InputQueue_put(q, text + at, piece < sizeof(text) - at ?
						    piece : sizeof(text) - at));
		}
		EXPECT_EQ(9999, InputQueue_indexOf(q, '\n'));
		EXPECT_EQ(9997, InputQueue_indexOfBytes(q, "aa\n", 3));
		EXPECT_EQ(-1, InputQueue_indexOfBytes(q, "\na", 2));
		EXPECT_EQ(0, InputQueue_indexOfBytes(q, "aaaa", 4));
		InputQueue_discardBytes(q, 5000);
		EXPECT_EQ(4999, InputQueue_indexOf(q, '\n'));
		m = InputQueue_dequeueBytes(q, 99999);
		ASSERT_NE(NULL, m);
		EXPECT_EQ(5000, m->Len);
		EXPECT_EQ(0, memcmp(m->Data, text + 5000, 5000));
		Message_free(m);
		EXPECT_TRUE(InputQueue_isEmpty(q));
		EXPECT_EQ(0, BufferFactory_inUse());
		InputQueue_destroy(q);
	}
}

TEST(NI_14_NI_17_NI_18_partial_writes)
{
	OutputQueue *q = OutputQueue_create(NULL, 1 << 20);
	InputQueue *in = InputQueue_create(NULL);
	unsigned int sent = 0, got = 0;
	int fd[2], rc;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd));
	EXPECT_EQ(-EAGAIN, InputQueue_fillFrom(in, fd[1]));
	EXPECT_EQ(0, BufferFactory_inUse());
	while (OutputQueue_enqueue(q, &sent, sizeof(sent)))
		sent++;
	EXPECT_EQ((1u << 20) / sizeof(sent), sent);
	EXPECT_EQ(-EAGAIN, OutputQueue_drainTo(q, fd[0]));
	EXPECT_FALSE(OutputQueue_isEmpty(q));
	do {
		Message *m;

		rc = OutputQueue_drainTo(q, fd[0]);
		while (InputQueue_fillFrom(in, fd[1]) > 0)
			;
		while (InputQueue_length(in) >= sizeof(got)) {
			m = InputQueue_dequeueBytes(in, sizeof(got));
			ASSERT_EQ(0, memcmp(m->Data, &got, sizeof(got)));
			got++;
			Message_free(m);
		}
	} while (rc == -EAGAIN);
	EXPECT_EQ(0, rc);
	EXPECT_EQ(sent, got);
	EXPECT_EQ(0, BufferFactory_inUse());
	close(fd[1]);
	EXPECT_TRUE(OutputQueue_enqueue(q, "x", 1));
	EXPECT_EQ(-EPIPE, OutputQueue_drainTo(q, fd[0]));
	close(fd[0]);
	OutputQueue_destroy(q);
	InputQueue_destroy(in);
	EXPECT_EQ(0, BufferFactory_inUse());
}

TEST(NI_14_file_between_bytes)
{
	OutputQueue *q = OutputQueue_create(NULL, 0);
	int file = open("/tmp", O_TMPFILE | O_RDWR, 0600), fd[2];
	char got[16] = "";

	ASSERT_LE(0, file);
	ASSERT_EQ(6, write(file, "012345", 6));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd));
	EXPECT_TRUE(OutputQueue_enqueueFile(q, "<", 1, dup(file), 2, 3));
	EXPECT_TRUE(OutputQueue_enqueue(q, ">", 1));
	EXPECT_EQ(2, OutputQueue_length(q));
	EXPECT_EQ(0, OutputQueue_drainTo(q, fd[0]));
	EXPECT_EQ(5, read(fd[1], got, sizeof(got)));
	EXPECT_STREQ("<234>", got);
	/* it has become shorter */
	EXPECT_TRUE(OutputQueue_enqueueFile(q, "", 0, dup(file), 4, 3));
	EXPECT_EQ(-EIO, OutputQueue_drainTo(q, fd[0]));
	EXPECT_FALSE(OutputQueue_isEmpty(q));
	OutputQueue_destroy(q);
	EXPECT_EQ(0, BufferFactory_inUse());
	close(file);
	close(fd[0]);
	close(fd[1]);
}

static void *writes(void *arg)
{
	static _Atomic int next;
	char text[1024];

	memset(text, next++, sizeof(text));
	for (int i = 0; i < 200; i++)
		if (!OutputQueue_enqueue(arg, text, sizeof(text)))
			return arg;
	return NULL;
}

TEST(NI_15_contiguous)
{
	OutputQueue *q = OutputQueue_create(NULL, 0);
	unsigned int blocks = 0, of[8] = { 0 };
	char text[1024], same[1024];
	pthread_t t[8];
	void *failed;
	int fd[2];

	for (int i = 0; i < 8; i++)
		ASSERT_EQ(0, pthread_create(&t[i], NULL, writes, q));
	for (int i = 0; i < 8; i++) {
		pthread_join(t[i], &failed);
		EXPECT_EQ(NULL, failed);
	}
	fd[0] = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	ASSERT_LE(0, fd[0]);
	EXPECT_EQ(0, OutputQueue_drainTo(q, fd[0]));
	lseek(fd[0], 0, SEEK_SET);
	while (read(fd[0], text, sizeof(text)) == sizeof(text)) {
		memset(same, text[0], sizeof(same));
		ASSERT_EQ(0, memcmp(same, text, sizeof(text)));
		of[text[0] & 7]++;
		blocks++;
	}
	EXPECT_EQ(1600, blocks);
	for (int i = 0; i < 8; i++)
		EXPECT_EQ(200, of[i]);
	close(fd[0]);
	OutputQueue_destroy(q);
	EXPECT_EQ(0, BufferFactory_inUse());
}

TEST_HARNESS_MAIN
