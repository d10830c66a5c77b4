/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A server of squares: a task for each number of a line, and one that joins them and answers. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <dx_server.h>

#define PORT 7009
#define NUMBERS 16
#define LINE 1000

static TaskQueue *queue;
static ConnectionPool *pool;
static Task read_line, square_one, answer;

/* --- a job --- */

struct part {
	long number, square;
};

struct job {
	JoinPoint join;
	Connection *connection;
	int nr, refused;
	struct part parts[NUMBERS];
};

/* --- when is there enough? --- */

static ssize_t IsLine(const DataObserver *self, InputQueue *input)
{
	ssize_t end = InputQueue_indexOf(input, '\n');

	(void)self;
	if (end >= LINE || (end < 0 && InputQueue_length(input) >= LINE))
		return -EMSGSIZE;
	return end + 1;
}

static int Observe(Connection *c)
{
	DataObserver line = { .enough = IsLine, .Run = &read_line, .Context = c };

	return Connection_observe(c, &line);
}

/* --- a line has come --- */

static int ReadLine(Task *self, Message *data, void *context)
{
	char line[LINE + 1], *p = line, *end;
	Connection *c = context;
	struct job *job;
	int rc;

	(void)self;
	memcpy(line, data->Data, data->Len);
	line[data->Len] = 0;
	if (!strncmp(line, "quit", 4)) {
		ConnectionPool_shutdown(pool, 0);
		Task_answered();
		return 0;
	}
	job = calloc(1, sizeof(*job));
	if (!job)
		return -ENOMEM;
	job->connection = Connection_hold(c);
	JoinPoint_init(&job->join, queue, &answer, job, JOIN_LAZY);
	while (job->nr < NUMBERS) {
		struct part *part = &job->parts[job->nr];

		part->number = strtol(p, &end, 10);
		if (end == p)
			break;
		p = end;
		job->nr++;
		if (JoinPoint_add(&job->join, &square_one, part))
			job->refused++;
	}
	rc = JoinPoint_set(&job->join);
	if (rc) {
		fprintf(stderr, "no answer: %s\n", strerror(-rc));
		abort();
	}
	return 0;
}

/* --- the parts --- */

static int Square(Task *self, Message *data, void *context)
{
	struct part *part = context;

	(void)self;
	(void)data;
	part->square = part->number * part->number;
	return 0;
}

/* --- and the answer --- */

static int Answer(Task *self, Message *data, void *context)
{
	struct job *job = context;
	long sum = 0;
	char text[32];
	int rc;

	(void)self;
	(void)data;
	for (int i = 0; i < job->nr; i++)
		sum += job->parts[i].square;
	if (job->refused || JoinPoint_status(&job->join, NULL))
		snprintf(text, sizeof(text), "not done\n");
	else
		snprintf(text, sizeof(text), "%ld\n", sum);
	rc = Connection_send(job->connection, text, strlen(text));
	if (!rc)
		Observe(job->connection);
	Connection_release(job->connection);
	free(job);
	return 0;
}

/* --- the program --- */

static int Opened(Connection *c, void *arg)
{
	(void)arg;
	return Observe(c);
}

static const ConnectionOps ops = { .opened = Opened };

int main(int argc, char **argv)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), rc;
	ThreadManagerPolicy policy;
	MTExecutiveError error;
	RunSettings settings;
	MTExecutive *mte;

	ThreadManagerPolicyInit(&policy);
	policy.TPMaxThreads = 4;
	policy.TPMaxWaiting = 1000;
	RunSettingsInit(&settings, "squares", argc, argv);
	mte = MTExecutiveCreate(&settings, &policy, &error);
	if (!mte)
		return 1;
	Task_init(&read_line, ReadLine);
	Task_init(&square_one, Square);
	Task_init(&answer, Answer);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	if (bind(s, (struct sockaddr *)&a, sizeof(a)) || listen(s, 128)) {
		perror("port");
		return 1;
	}
	queue = TaskQueue_create(mte, NULL);
	pool = queue ? ConnectionPool_create(queue, NULL) : NULL;
	if (!pool || Acceptor_create(pool, s, &ops, NULL, NULL))
		return 1;
	rc = ConnectionPool_serve(pool);
	ConnectionPool_destroy(pool);
	TaskQueue_destroy(queue);
	MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1);
	return rc != 0;
}
