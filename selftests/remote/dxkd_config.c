// SPDX-License-Identifier: GPL-2.0-only
/*
 * The configuration of dxkd: what of a file is refused, in which line and in which words, and
 * what a good one comes to.
 */
#include "../tools/dxkd/config.c"

#include "kselftest_harness.h"

static char dir[] = "/tmp/dxkd_config.XXXXXX";

static void write_file(const char *path, mode_t mode, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || fchmod(fd, mode))
		abort();
	close(fd);
}

/* The errors of a file in which "DIR" is our directory, "" for none. */
static const char *errors_of(const char *text, struct config *config)
{
	static char said[8192];
	char path[64], errors[64], file[16384];
	size_t len = 0;
	int out, saved;
	ssize_t n;

	for (; *text; text++) {
		if (!strncmp(text, "DIR", 3)) {
			len += (size_t)sprintf(file + len, "%s", dir);
			text += 2;
		} else {
			file[len++] = *text;
		}
	}
	file[len] = '\0';
	snprintf(path, sizeof(path), "%s/f", dir);
	snprintf(errors, sizeof(errors), "%s/errors", dir);
	write_file(path, 0600, file);
	out = open(errors, O_RDWR | O_CREAT | O_TRUNC, 0600);
	saved = dup(2);
	dup2(out, 2);
	config_read(path, config);
	fflush(stderr);
	dup2(saved, 2);
	close(saved);
	n = pread(out, said, sizeof(said) - 1, 0);
	close(out);
	said[n < 0 ? 0 : n] = '\0';
	return said;
}

FIXTURE(config)
{
	struct config config;
};

FIXTURE_SETUP(config)
{
	char path[64];

	strcpy(strrchr(dir, '.') + 1, "XXXXXX");
	ASSERT_NE(NULL, mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/password", dir);
	write_file(path, 0600, "secret\n");
	snprintf(path, sizeof(path), "%s/open", dir);
	write_file(path, 0640, "secret\n");
	snprintf(path, sizeof(path), "%s/two", dir);
	write_file(path, 0600, "one\ntwo\n");
	snprintf(path, sizeof(path), "%s/ca", dir);
	write_file(path, 0644, "");
}

FIXTURE_TEARDOWN(config)
{
	char path[64];
	size_t i;
	static const char *const files[] = { "password", "open", "two", "ca", "f", "errors" };

	config_free(&self->config);
	for (i = 0; i < sizeof(files) / sizeof(*files); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		unlink(path);
	}
	rmdir(dir);
}

#define BROKER	"[broker farm]\nnodes = amqp://127.0.0.1\nuser = me\npassword_file = DIR/password\n"

/* All keys, and what they come to */
TEST_F(config, good)
{
	const struct broker *b;
	const struct service *s;

	ASSERT_STREQ("", errors_of(
		"; a comment\n"
		"[import render]\n"
		"broker = farm\n"
		"workers = host-1 host_2	host3   ; three\n"
		"window = 499\n"
		"payload_max = 16777216\n"
		"max_waiting = 2097152\n"
		"mode = 0770\n"
		"data_size = 4096\n"
		"lanes = 0 10 90\n"
		"priorities = -20..19\n"
		"[broker farm]\n"
		"nodes = mq1.example amqps://mq2.example:1 amqp://[::1] amqp://127.0.0.1:65535\n"
		"vhost = /tenant\n"
		"user = me\n"
		"password_file = DIR/password\n"
		"ca = DIR/ca\n"
		"certificate = DIR/ca\n"
		"key = DIR/ca\n"
		"heartbeat = 3600\n"
		"[export hash]\n"
		"broker = farm\n"
		"context = local!\n"
		"queue = quorum\n"
		"clients = a\n"
		"lane1 = 1\n"
		"lane3 = 1000\n"
		"redo_max = 1\n"
		"remember = 1\n"
		"grace = 0\n", &self->config));
	ASSERT_EQ(1, self->config.nr_brokers);
	ASSERT_EQ(2, self->config.nr_services);
	b = self->config.brokers;
	EXPECT_STREQ("farm", b->name);
	EXPECT_STREQ("/tenant", b->vhost);
	EXPECT_STREQ("secret", b->password);
	EXPECT_EQ(3600, b->heartbeat);
	ASSERT_EQ(4, b->nr_nodes);
	EXPECT_STREQ("mq1.example", b->nodes[0].host);
	EXPECT_EQ(5671, b->nodes[0].port);
	EXPECT_FALSE(b->nodes[0].plain);
	EXPECT_EQ(1, b->nodes[1].port);
	EXPECT_STREQ("::1", b->nodes[2].host);
	EXPECT_EQ(5672, b->nodes[2].port);
	EXPECT_TRUE(b->nodes[2].plain);
	EXPECT_EQ(65535, b->nodes[3].port);
	s = &self->config.services[0];
	EXPECT_EQ(IMPORT, s->role);
	EXPECT_EQ(b, s->broker);
	EXPECT_STREQ("render", s->name);
	EXPECT_STREQ("render@farm", s->context);
	EXPECT_FALSE(s->quorum);
	EXPECT_EQ(3, s->peers.nr);
	EXPECT_TRUE(users_have(&s->peers, "host3"));
	EXPECT_FALSE(users_have(&s->peers, "host"));
	EXPECT_EQ(499, s->window);
	EXPECT_EQ(16777216, s->payload_max);
	EXPECT_EQ(2097152, s->max_waiting);
	EXPECT_EQ(0770, s->mode);
	EXPECT_EQ(4096, s->data_size);
	EXPECT_EQ(90, s->lane_pct[2]);
	EXPECT_EQ(-20, s->prio_low);
	EXPECT_EQ(19, s->prio_high);
	s = &self->config.services[1];
	EXPECT_EQ(EXPORT, s->role);
	EXPECT_STREQ("local!", s->context);
	EXPECT_TRUE(s->quorum);
	EXPECT_EQ(0, s->lane[0]);
	EXPECT_EQ(1, s->lane[1]);
	EXPECT_EQ(1000, s->lane[3]);
	EXPECT_EQ(1, s->redo_max);
}

/* What is left out has the values of the manual. */
TEST_F(config, defaults)
{
	const struct service *s;

	ASSERT_STREQ("", errors_of(BROKER
		"[export a]\nbroker = farm\nclients = me\n"
		"[import b]\nbroker = farm\nworkers = me\n", &self->config));
	EXPECT_STREQ("/", self->config.brokers->vhost);
	EXPECT_EQ(10, self->config.brokers->heartbeat);
	EXPECT_EQ(NULL, self->config.brokers->ca);
	s = &self->config.services[0];
	EXPECT_STREQ("a", s->context);
	EXPECT_FALSE(s->quorum);
	EXPECT_EQ(8, s->lane[3]);
	EXPECT_EQ(0, s->lane[2]);
	EXPECT_EQ(3, s->redo_max);
	EXPECT_EQ(600, s->remember);
	EXPECT_EQ(30, s->grace);
	s = &self->config.services[1];
	EXPECT_STREQ("b@farm", s->context);
	EXPECT_EQ(64, s->window);
	EXPECT_EQ(1048576, s->payload_max);
	EXPECT_EQ(0, s->max_waiting);
	EXPECT_EQ(DXK_MODE_DEFAULT, s->mode);
	EXPECT_EQ(512, s->data_size);
	EXPECT_EQ(0, s->begin_within);
	EXPECT_EQ(0, s->answer_within);
	EXPECT_EQ(0, s->prio_low);
	EXPECT_EQ(120, s->prio_high);
}

#define EXPORT_	BROKER "[export a]\nbroker = farm\nclients = me\n"	/* 7 lines */
#define IMPORT_	BROKER "[import a]\nbroker = farm\nworkers = me\n"
#define AT(line, text)	"DIR/f:" #line ": " text "\n"
#define HOLDS_200	"0123456789012345678901234567890123456789012345678901234567890123456789" \
	"0123456789012345678901234567890123456789012345678901234567890123456789" \
	"012345678901234567890123456789012345678901234567890123456789"

static const struct {
	const char *text, *errors;
} bad[] = {
	{ "", AT(0, "there is no [export NAME] and no [import NAME]") },
	{ BROKER, AT(4, "there is no [export NAME] and no [import NAME]") },
	{ EXPORT_ "window = 3\n", AT(8, "window: [export a] has no such key") },
	{ EXPORT_ "lane3 = 0\n", AT(8, "lane3: 1..1000") },
	{ EXPORT_ "lane3 = 1001\n", AT(8, "lane3: 1..1000") },
	{ EXPORT_ "lane3 =\n", AT(8, "lane3: 1..1000") },
	{ EXPORT_ "lane3 = 3x\n", AT(8, "lane3: 1..1000") },
	{ EXPORT_ "lane3 = +3\n", AT(8, "lane3: 1..1000") },
	{ EXPORT_ "lane3 = 99999999999999999999\n", AT(8, "lane3: 1..1000") },
	{ EXPORT_ "lane4 = 1\n", AT(8, "lane4: [export a] has no such key") },
	{ EXPORT_ "redo_max = 0\n", AT(8, "redo_max: 1..1000") },
	{ EXPORT_ "grace = 3601\n", AT(8, "grace: 0..3600") },
	{ EXPORT_ "begin_within = 1\n", AT(8, "begin_within: [export a] has no such key") },
	{ EXPORT_ "grace = 1\ngrace = 2\n", AT(9, "grace: is given twice") },
	{ EXPORT_ "grace = 1\n  2\n", AT(9, "grace: is given twice") },
	{ EXPORT_ "queue = stack\n", AT(8, "queue: classic or quorum") },
	{ EXPORT_ "context = a/b\n",
	  AT(8, "context: printable, without blank and \"/\", shorter than 32") },
	{ EXPORT_ "context = 01234567890123456789012345678901\n",
	  AT(8, "context: printable, without blank and \"/\", shorter than 32") },
	{ IMPORT_ "window = 500\n", AT(8, "window: 1..499") },
	{ IMPORT_ "window = 0\nmode = 1000\n",
	  AT(8, "window: 1..499") AT(9, "mode: 0..777, octal") },
	{ IMPORT_ "begin_within = 3601\n", AT(8, "begin_within: 0..3600") },
	{ IMPORT_ "answer_within = 86401\n", AT(8, "answer_within: 0..86400") },
	{ IMPORT_ "mode = 8\n", AT(8, "mode: 0..777, octal") },
	{ IMPORT_ "payload_max = 16777217\n", AT(8, "payload_max: 0..16777216") },
	{ IMPORT_ "data_size = 4097\n", AT(8, "data_size: 0..4096") },
	{ IMPORT_ "lanes = 0 0\n",
	  AT(8, "lanes: percents of lanes 0, 1 and 2, together at most 100") },
	{ IMPORT_ "lanes = 50 50 1\n",
	  AT(8, "lanes: percents of lanes 0, 1 and 2, together at most 100") },
	{ IMPORT_ "lanes = 1 1 1 1\n",
	  AT(8, "lanes: percents of lanes 0, 1 and 2, together at most 100") },
	{ IMPORT_ "priorities = 3..3\n", AT(8, "priorities: LOW..HIGH, LOW less than HIGH") },
	{ IMPORT_ "priorities = 3\n", AT(8, "priorities: LOW..HIGH, LOW less than HIGH") },
	{ IMPORT_ "priorities = 0..2147483648\n",
	  AT(8, "priorities: LOW..HIGH, LOW less than HIGH") },
	{ IMPORT_ "priorities = 0..9\nqueue = quorum\n",
	  AT(5, "priorities: a quorum queue has none") },
	{ BROKER "[export a]\n[import b]\nbroker = farm\nworkers = me\n",
	  AT(5, "the section is empty") },
	{ BROKER "[export a]\nbroker = farm\nclients = me\n[import b]\n",
	  AT(8, "the section is empty") },
	{ BROKER "[export a]\nclients = me\n", AT(5, "[export a]: broker is missing") },
	{ BROKER "[export a]\nbroker = farm\n", AT(5, "[export a]: clients is missing") },
	{ BROKER "[export a]\nbroker = barn\nclients = me\n",
	  AT(5, "broker: there is no [broker barn]") },
	{ EXPORT_ "[export a]\nbroker = farm\nclients = me\n",
	  AT(8, "[export a]: there is such a section already") },
	{ EXPORT_ "[import b]\nbroker = farm\nworkers = me\ncontext = a\n",
	  AT(8, "context: a is that of line 5, too") },
	{ EXPORT_ "[exports b]\nbroker = farm\n",
	  AT(8, "[exports b]: there are [broker NAME], [export NAME], "
	     "[import NAME]") },
	{ EXPORT_ "[export a.b]\nbroker = farm\n",
	  AT(8, "[export a.b]: NAME is of A-Z a-z 0-9 - _, shorter than 32") },
	{ EXPORT_ "[export 01234567890123456789012345678901]\nbroker = farm\n",
	  AT(8, "[export 01234567890123456789012345678901]: NAME is of A-Z a-z 0-9 - _, "
	     "shorter than 32") },
	{ "grace = 1\n" EXPORT_, AT(1, "grace: stands before any section") },
	{ EXPORT_ "nothing\n", AT(8, "neither a [section] nor NAME = VALUE") },
	{ EXPORT_ "; " HOLDS_200 "\n", AT(8, "longer than 199 bytes") },
	{ BROKER "[export a]\nbroker = farm\nclients = a.b\n",
	  AT(7, "clients: at most 16 users of the broker, of A-Z a-z 0-9 - _, each shorter "
	     "than 32") },
	{ BROKER "[export a]\nbroker = farm\nclients = a a a a a a a a a a a a a a a a a\n",
	  AT(7, "clients: at most 16 users of the broker, of A-Z a-z 0-9 - _, each shorter "
	     "than 32") },
	{ "[broker farm]\nuser = me\npassword_file = DIR/password\nnodes = 127.0.0.1\n"
	  "[export a]\nbroker = farm\nclients = me\n",
	  AT(1, "ca: is missing, to check certificates of nodes with") },
	{ "[broker farm]\nuser = me\npassword_file = DIR/password\nnodes = amqp://localhost\n"
	  "[export a]\nbroker = farm\nclients = me\n",
	  AT(1, "nodes: amqp://localhost is not this host: amqps://, or plain = yes") },
	{ "[broker farm]\nuser = me\npassword_file = DIR/password\nnodes = http://a\n"
	  "[export a]\nbroker = farm\nclients = me\n",
	  AT(4, "nodes: [amqps://|amqp://]HOST[:PORT], at most 8 of them") },
	{ "[broker farm]\nuser = me\npassword_file = DIR/password\nnodes = a:65536\n"
	  "[export a]\nbroker = farm\nclients = me\n",
	  AT(4, "nodes: [amqps://|amqp://]HOST[:PORT], at most 8 of them") },
	{ "[broker farm]\nuser = me\npassword_file = DIR/password\nnodes = amqp://127.0.0.1\n"
	  "ca = DIR/none\nkey = DIR/ca\nplain = maybe\n"
	  "[export a]\nbroker = farm\nclients = me\n",
	  AT(7, "plain: yes or no") AT(1, "certificate and key: one without the other")
	  AT(1, "ca: DIR/none: No such file or directory") },
	{ "[broker farm]\nuser = me\npassword_file = DIR/open\nnodes = amqp://127.0.0.1\n"
	  "[export a]\nbroker = farm\nclients = me\n",
	  AT(1, "password_file: DIR/open: its mode is 640, 600 is wanted") },
	{ "[broker farm]\nuser = me\npassword_file = DIR/two\nnodes = amqp://127.0.0.1\n"
	  "[export a]\nbroker = farm\nclients = me\n",
	  AT(1, "password_file: DIR/two: one line of 1..256 bytes") },
	{ "[broker farm]\nuser = me\npassword_file = DIR\nnodes = amqp://127.0.0.1\n"
	  "[export a]\nbroker = farm\nclients = me\n",
	  AT(1, "password_file: DIR: not a file") },
	{ "[broker farm]\nuser = me\npassword_file = DIR/none\nnodes = amqp://127.0.0.1\n"
	  "[export a]\nbroker = farm\nclients = me\n",
	  AT(1, "password_file: DIR/none: No such file or directory") },
};

/* Each mistake is told of by file, line and key. */
TEST_F(config, bad)
{
	char want[1024];
	const char *at;
	size_t i, len;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		for (len = 0, at = bad[i].errors; *at; at++) {
			if (!strncmp(at, "DIR", 3)) {
				len += (size_t)sprintf(want + len, "%s", dir);
				at += 2;
			} else {
				want[len++] = *at;
			}
		}
		want[len] = '\0';
		EXPECT_STREQ(want, errors_of(bad[i].text, &self->config)) {
			TH_LOG("of row %zu", i);
		}
		config_free(&self->config);
	}
}

/* Any bytes are told of, or mean something. */
TEST_F(config, noise)
{
	static const char parts[][16] = { "[", "]", "broker ", "export ", "a", "=", "\n", " ",
		"nodes", "amqp://", "127.0.0.1", ":", "\t", "..", "priorities", "import ",
		"lanes", "9", ";", "\"" };
	char text[400];
	unsigned int i, n, seed = 1;

	for (i = 0; i < 3000; i++) {
		*text = '\0';
		for (n = 0; n < 24; n++) {
			seed = seed * 1664525 + 1013904223;
			strcat(text, parts[(seed >> 16) % (sizeof(parts) / sizeof(*parts))]);
		}
		errors_of(text, &self->config);
		config_free(&self->config);
	}
}

TEST_HARNESS_MAIN
