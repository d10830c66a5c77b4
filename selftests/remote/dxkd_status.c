// SPDX-License-Identifier: GPL-2.0-only
/*
 * When dxkd writes its status, of a service that does nothing but what the test says.
 */
#define VERSION	"1"
#include "../tools/dxkd/link.c"
#include "../tools/dxkd/status.c"

#include "kselftest_harness.h"

const char *tool = "dxkd";

uint64_t now_ns(void)
{
	return 0;
}

static struct broker broker = { .nr_nodes = 1, .nodes = { { .host = "mq", .port = 5672 } } };
static struct service idle = { .broker = &broker, .role = IMPORT };
static struct counts counts;
static struct link requests = { .broker = &broker }, answers = { .broker = &broker };

static void status(struct task *task, struct status *s)
{
	(void)task;
	*s = (struct status){
		.service = &idle, .requests = &requests, .answers = &answers, .counts = &counts,
	};
}

/* The text of the file, until the next call */
static const char *text_of(const char *path)
{
	static char text[4096];
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	text[n] = '\0';
	if (f)
		fclose(f);
	return text;
}

/*
 * It is written at once, then at most once a second, and nothing wakes the daemon for it unless
 * something has changed: the broker's heartbeats have not.
 */
TEST(when_it_is_written)
{
	struct task task = { .status = status }, *tasks[] = { &task };
	char path[] = "/tmp/dxkd_status.XXXXXX";
	struct status_file file;
	uint64_t now = 5 * NSEC_PER_SEC;
	int fd = mkstemp(path);

	ASSERT_LE(0, fd);
	close(fd);
	status_open(&file, path);
	EXPECT_EQ(NEVER, status_run(&file, tasks, 1, now));
	EXPECT_NE(NULL, strstr(text_of(path), "\"dead\":0"));
	EXPECT_EQ(NEVER, status_run(&file, tasks, 1, now + 1));
	counts.dead++;
	EXPECT_EQ(now + NSEC_PER_SEC, status_run(&file, tasks, 1, now + 2));
	EXPECT_NE(NULL, strstr(text_of(path), "\"dead\":0"));
	EXPECT_EQ(NEVER, status_run(&file, tasks, 1, now + NSEC_PER_SEC));
	EXPECT_NE(NULL, strstr(text_of(path), "\"dead\":1"));
	now += NSEC_PER_SEC;
	strcpy(answers.why, "no route");
	EXPECT_EQ(now + NSEC_PER_SEC, status_run(&file, tasks, 1, now + 1));
	EXPECT_EQ(NEVER, status_run(&file, tasks, 1, now + 9 * NSEC_PER_SEC));
	EXPECT_NE(NULL, strstr(text_of(path), "no route"));
	status_close(&file);
	EXPECT_STREQ("", text_of(path));
}

TEST_HARNESS_MAIN
