// SPDX-License-Identifier: GPL-2.0-only
/*
 * The configuration file. libinih splits it into sections, names and values. The function that
 * reads lines is our own, because it counts the lines, and sees sections without a key.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ini.h>

#include "config.h"

#define PORT_TLS	5671
#define PORT_PLAIN	5672
#define KEYS_MAX	32
#define PASSWORD_MAX	256
#define USER_WORKERS_MAX	499

enum section { NONE, IS_BROKER, IS_EXPORT, IS_IMPORT };

struct parser {
	const char *path;
	FILE *file;
	struct config *config;
	unsigned int line, errors;
	unsigned int header;		/* line of the last [section] */
	bool used;			/* a key of it was seen */
	char title[64];			/* of the section that keys are of */
	enum section section;
	bool seen[KEYS_MAX];		/* in it */
};

static void wrong(struct parser *p, unsigned int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void wrong(struct parser *p, unsigned int line, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s:%u: ", p->path, line);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	p->errors++;
}

bool users_have(const struct users *users, const char *name)
{
	unsigned int i;

	for (i = 0; i < users->nr; i++)
		if (!strcmp(users->name[i], name))
			return true;
	return false;
}

/* --- values ---------------------------------------------------------------- */

/* Names are parts of the names of queues, so they must not contain a dot. */
static bool word(const char *text, char *to)
{
	size_t len = strlen(text), i;

	if (!len || len >= WORD_MAX_LEN)
		return false;
	for (i = 0; i < len; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '-' && text[i] != '_')
			return false;
	memcpy(to, text, len + 1);
	return true;
}

static bool number(const char *text, long min, long max, int base, long *value)
{
	char *end;

	if (!isdigit((unsigned char)*text) && !(*text == '-' && isdigit((unsigned char)text[1])))
		return false;
	errno = 0;
	*value = strtol(text, &end, base);
	return !errno && !*end && *value >= min && *value <= max;
}

/* The words of a value: *@rest moves past each; NULL after the last one. */
static char *next_word(char **rest)
{
	return strtok_r(NULL, " \t", rest);
}

static bool set_users(struct users *users, char *value, const char **want)
{
	char *rest = value, *one;

	*want = "at most 16 users of the broker, of A-Z a-z 0-9 - _, each shorter than 32";
	users->nr = 0;
	while ((one = next_word(&rest)))
		if (users->nr == USERS_MAX || !word(one, users->name[users->nr++]))
			return false;
	return users->nr;
}

/* [amqps://|amqp://]HOST[:PORT], an IPv6 address in brackets */
static bool set_node(struct node *node, const char *text)
{
	const char *host = text, *end, *port = NULL;
	long value;

	if (!strncmp(host, "amqp://", 7)) {
		node->plain = true;
		host += 7;
	} else if (!strncmp(host, "amqps://", 8)) {
		host += 8;
	}
	if (*host == '[') {
		end = strchr(++host, ']');
		if (!end || (end[1] && end[1] != ':'))
			return false;
		if (end[1])
			port = end + 2;
	} else {
		end = strchrnul(host, ':');
		if (*end)
			port = end + 1;
	}
	if (end == host || end - host >= HOST_LEN || memchr(host, '/', (size_t)(end - host)))
		return false;
	memcpy(node->host, host, (size_t)(end - host));
	node->host[end - host] = '\0';
	value = node->plain ? PORT_PLAIN : PORT_TLS;
	if (port && !number(port, 1, 65535, 10, &value))
		return false;
	node->port = (unsigned int)value;
	return true;
}

static bool set_nodes(struct broker *broker, char *value, const char **want)
{
	char *rest = value, *one;

	*want = "[amqps://|amqp://]HOST[:PORT], at most 8 of them";
	while ((one = next_word(&rest)))
		if (broker->nr_nodes == NODES_MAX ||
		    !set_node(&broker->nodes[broker->nr_nodes++], one)) {
			broker->nr_nodes = 0;
			return false;
		}
	return broker->nr_nodes;
}

static bool set_priorities(struct service *s, char *value, const char **want)
{
	char *dots = strstr(value, "..");
	long low, high;

	*want = "LOW..HIGH, LOW less than HIGH";
	if (!dots)
		return false;
	*dots = '\0';
	if (!number(value, INT32_MIN, INT32_MAX, 10, &low) ||
	    !number(dots + 2, INT32_MIN, INT32_MAX, 10, &high) || low >= high)
		return false;
	s->prio_low = (int32_t)low;
	s->prio_high = (int32_t)high;
	s->bands = true;
	return true;
}

static bool set_lanes(struct service *s, char *value, const char **want)
{
	char *rest = value, *one;
	unsigned int i = 0, sum = 0;
	long pct;

	*want = "percents of lanes 0, 1 and 2, together at most 100";
	while ((one = next_word(&rest))) {
		if (i == LANES - 1 || !number(one, 0, 100, 10, &pct))
			return false;
		s->lane_pct[i++] = (uint32_t)pct;
		sum += (unsigned int)pct;
	}
	return i == LANES - 1 && sum <= 100;
}

static bool set_context(struct service *s, const char *value, const char **want)
{
	size_t len = strlen(value), i;

	*want = "printable, without blank and \"/\", shorter than 32";
	if (!len || len >= sizeof(s->context) || !strcmp(value, ".") || !strcmp(value, ".."))
		return false;
	for (i = 0; i < len; i++)
		if (!isgraph((unsigned char)value[i]) || value[i] == '/')
			return false;
	memcpy(s->context, value, len + 1);
	return true;
}

static bool set_queue(struct service *s, const char *value, const char **want)
{
	*want = "classic or quorum";
	s->quorum = !strcmp(value, "quorum");
	return s->quorum || !strcmp(value, "classic");
}

static bool set_yes(bool *to, const char *value, const char **want)
{
	*want = "yes or no";
	*to = !strcmp(value, "yes");
	return *to || !strcmp(value, "no");
}

static bool set_text(char **to, const char *value, const char **want)
{
	*want = "must not be empty";
	if (!*value)
		return false;
	*to = strdup(value);
	if (!*to)
		abort();
	return true;
}

static bool set_word(char *to, const char *value, const char **want)
{
	*want = "a name of A-Z a-z 0-9 - _, shorter than 32";
	return word(value, to);
}

/* --- keys ------------------------------------------------------------------ */

enum { B = 1 << IS_BROKER, X = 1 << IS_EXPORT, I = 1 << IS_IMPORT };

#define OF_BROKER(m)	offsetof(struct broker, m)
#define OF_SERVICE(m)	offsetof(struct service, m)

enum type { NODES, TEXT, WORD, YES, USERS, CONTEXT, QUEUE, LANE_SHARES, PRIORITIES, NUMBER, OCTAL };

static const struct key {
	const char *name;
	unsigned int sections;
	enum type type;
	size_t offset;
	long min, max;
	bool needed;
} keys[] = {
	{ "nodes", B, NODES, 0, 0, 0, true },
	{ "vhost", B, TEXT, OF_BROKER(vhost), 0, 0, false },
	{ "user", B, WORD, OF_BROKER(user), 0, 0, true },
	{ "password_file", B, TEXT, OF_BROKER(password_file), 0, 0, true },
	{ "plain", B, YES, OF_BROKER(plain), 0, 0, false },
	{ "ca", B, TEXT, OF_BROKER(ca), 0, 0, false },
	{ "certificate", B, TEXT, OF_BROKER(certificate), 0, 0, false },
	{ "key", B, TEXT, OF_BROKER(key), 0, 0, false },
	{ "heartbeat", B, NUMBER, OF_BROKER(heartbeat), 1, 3600, false },
	{ "broker", X | I, WORD, OF_SERVICE(broker_name), 0, 0, true },
	{ "context", X | I, CONTEXT, 0, 0, 0, false },
	{ "queue", X | I, QUEUE, 0, 0, 0, false },
	{ "payload_max", X | I, NUMBER, OF_SERVICE(payload_max), 0, PAYLOAD_MAX, false },
	{ "clients", X, USERS, OF_SERVICE(peers), 0, 0, true },
	{ "lane0", X, NUMBER, OF_SERVICE(lane[0]), 0, 1000, false },
	{ "lane1", X, NUMBER, OF_SERVICE(lane[1]), 0, 1000, false },
	{ "lane2", X, NUMBER, OF_SERVICE(lane[2]), 0, 1000, false },
	{ "lane3", X, NUMBER, OF_SERVICE(lane[3]), 1, 1000, false },
	{ "redo_max", X, NUMBER, OF_SERVICE(redo_max), 1, 1000, false },
	{ "remember", X, NUMBER, OF_SERVICE(remember), 1, 86400, false },
	{ "grace", X, NUMBER, OF_SERVICE(grace), 0, 3600, false },
	{ "workers", I, USERS, OF_SERVICE(peers), 0, 0, true },
	{ "window", I, NUMBER, OF_SERVICE(window), 1, USER_WORKERS_MAX, false },
	{ "begin_within", I, NUMBER, OF_SERVICE(begin_within), 0, 3600, false },
	{ "answer_within", I, NUMBER, OF_SERVICE(answer_within), 0, 86400, false },
	{ "mode", I, OCTAL, OF_SERVICE(mode), 0, 0777, false },
	{ "data_size", I, NUMBER, OF_SERVICE(data_size), 0, 4096, false },
	{ "max_waiting", I, NUMBER, OF_SERVICE(max_waiting), 0, 1 << 21, false },
	{ "lanes", I, LANE_SHARES, 0, 0, 0, false },
	{ "priorities", I, PRIORITIES, 0, 0, 0, false },
};

#define NR_KEYS		(sizeof(keys) / sizeof(*keys))
_Static_assert(NR_KEYS <= KEYS_MAX, "room for what was seen");

static bool set(const struct key *key, void *object, char *value, char *text, size_t size)
{
	void *at = (char *)object + key->offset;
	const char *want = "";
	bool ok = false;
	long n;

	switch (key->type) {
	case NODES:
		ok = set_nodes(object, value, &want);
		break;
	case TEXT:
		ok = set_text(at, value, &want);
		break;
	case WORD:
		ok = set_word(at, value, &want);
		break;
	case YES:
		ok = set_yes(at, value, &want);
		break;
	case USERS:
		ok = set_users(at, value, &want);
		break;
	case CONTEXT:
		ok = set_context(object, value, &want);
		break;
	case QUEUE:
		ok = set_queue(object, value, &want);
		break;
	case LANE_SHARES:
		ok = set_lanes(object, value, &want);
		break;
	case PRIORITIES:
		ok = set_priorities(object, value, &want);
		break;
	case NUMBER:
	case OCTAL:
		ok = number(value, key->min, key->max, key->type == OCTAL ? 8 : 10, &n);
		if (ok)
			*(uint32_t *)at = (uint32_t)n;
		else
			snprintf(text, size, key->type == OCTAL ? "%lo..%lo, octal" : "%ld..%ld",
				 key->min, key->max);
		return ok;
	}
	snprintf(text, size, "%s", want);
	return ok;
}

/* --- sections -------------------------------------------------------------- */

static void *grow(void *array, unsigned int nr, size_t size)
{
	array = realloc(array, (nr + 1) * size);
	if (!array)
		abort();
	memset((char *)array + nr * size, 0, size);
	return array;
}

static void *current(struct parser *p)
{
	struct config *c = p->config;

	if (p->section == IS_BROKER)
		return &c->brokers[c->nr_brokers - 1];
	return p->section == NONE ? NULL : &c->services[c->nr_services - 1];
}

static void section_end(struct parser *p)
{
	const struct key *key;
	unsigned int line;

	if (p->section == NONE)
		return;
	line = p->section == IS_BROKER ? ((struct broker *)current(p))->line :
					 ((struct service *)current(p))->line;
	for (key = keys; key < keys + NR_KEYS; key++)
		if (key->needed && key->sections & 1U << p->section && !p->seen[key - keys])
			wrong(p, line, "[%s]: %s is missing", p->title, key->name);
}

static bool same_name(const struct parser *p, enum section section, const char *name)
{
	const struct config *c = p->config;
	unsigned int i;

	for (i = 0; section == IS_BROKER && i < c->nr_brokers; i++)
		if (!strcmp(c->brokers[i].name, name))
			return true;
	for (i = 0; section != IS_BROKER && i < c->nr_services; i++)
		if (!strcmp(c->services[i].name, name) &&
		    (c->services[i].role == IMPORT) == (section == IS_IMPORT))
			return true;
	return false;
}

static void section_begin(struct parser *p, const char *title)
{
	static const char *const kinds[] = { "", "broker ", "export ", "import " };
	struct config *c = p->config;
	enum section s;
	char name[WORD_MAX_LEN];

	section_end(p);
	snprintf(p->title, sizeof(p->title), "%s", title);
	memset(p->seen, 0, sizeof(p->seen));
	p->section = NONE;
	for (s = IS_BROKER; s <= IS_IMPORT; s++)
		if (!strncmp(title, kinds[s], 7))
			break;
	if (s > IS_IMPORT) {
		wrong(p, p->header,
		      "[%s]: there are [broker NAME], [export NAME], [import NAME]",
		      title);
		return;
	}
	if (!word(title + 7, name)) {
		wrong(p, p->header, "[%s]: NAME is of A-Z a-z 0-9 - _, shorter than 32", title);
		return;
	}
	if (same_name(p, s, name)) {
		wrong(p, p->header, "[%s]: there is such a section already", title);
		return;
	}
	p->section = s;
	if (s == IS_BROKER) {
		struct broker *b;

		c->brokers = grow(c->brokers, c->nr_brokers, sizeof(*b));
		b = &c->brokers[c->nr_brokers++];
		strcpy(b->name, name);
		b->line = p->header;
		b->heartbeat = 10;
	} else {
		struct service *v;

		c->services = grow(c->services, c->nr_services, sizeof(*v));
		v = &c->services[c->nr_services++];
		*v = (struct service){
			.role = s == IS_IMPORT ? IMPORT : EXPORT, .line = p->header,
			.lane = { 0, 0, 0, 8 }, .redo_max = 3, .remember = 600, .grace = 30,
			.window = 64, .mode = DXK_MODE_DEFAULT, .data_size = 512, .prio_high = 120,
			.payload_max = 1 << 20,
		};
		strcpy(v->name, name);
	}
}

static int on_key(void *user, const char *title, const char *name, const char *value)
{
	struct parser *p = user;
	const struct key *key;
	char text[160], *copy;

	if (!*title) {
		wrong(p, p->line, "%s: stands before any section", name);
		return 1;
	}
	if (!p->used) {
		p->used = true;
		section_begin(p, title);
	}
	if (p->section == NONE)
		return 1;
	for (key = keys; key < keys + NR_KEYS; key++)
		if (key->sections & 1U << p->section && !strcmp(key->name, name))
			break;
	if (key == keys + NR_KEYS) {
		wrong(p, p->line, "%s: [%s] has no such key", name, p->title);
		return 1;
	}
	if (p->seen[key - keys]) {
		wrong(p, p->line, "%s: is given twice", name);
		return 1;
	}
	p->seen[key - keys] = true;
	copy = strdup(value);
	if (!copy)
		abort();
	if (!set(key, current(p), copy, text, sizeof(text)))
		wrong(p, p->line, "%s: %s", name, text);
	free(copy);
	return 1;
}

/* Reports the last header if its section has no key. */
static void unused(struct parser *p)
{
	if (p->header && !p->used)
		wrong(p, p->header, "the section is empty");
}

static char *read_line(char *line, int size, void *user)
{
	struct parser *p = user;
	size_t len;
	int c;

	if (!fgets(line, size, p->file)) {
		unused(p);
		p->used = true;
		return NULL;
	}
	p->line++;
	len = strlen(line);
	if (len == (size_t)size - 1 && line[len - 1] != '\n') {
		c = fgetc(p->file);
		if (c != EOF && c != '\n')
			wrong(p, p->line, "longer than %d bytes", size - 1);
		while (c != EOF && c != '\n')
			c = fgetc(p->file);
	}
	if (line[strspn(line, " \t")] == '[') {
		unused(p);
		p->header = p->line;
		p->used = false;
	}
	return line;
}

/* --- checks across sections ------------------------------------------------ */

static bool loopback(const char *host)
{
	return !strcmp(host, "127.0.0.1") || !strcmp(host, "::1");
}

static void check_readable(struct parser *p, const struct broker *b, const char *key,
			   const char *path)
{
	if (path && access(path, R_OK))
		wrong(p, b->line, "%s: %s: %s", key, path, strerror(errno));
}

static void read_password(struct parser *p, struct broker *b)
{
	char text[PASSWORD_MAX + 2];
	struct stat st;
	ssize_t n;
	int fd;

	if (!b->password_file)
		return;
	fd = open(b->password_file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st)) {
		wrong(p, b->line, "password_file: %s: %s", b->password_file, strerror(errno));
	} else if (!S_ISREG(st.st_mode)) {
		wrong(p, b->line, "password_file: %s: not a file", b->password_file);
	} else if (st.st_mode & 077) {
		wrong(p, b->line, "password_file: %s: its mode is %o, 600 is wanted",
		      b->password_file, st.st_mode & 07777);
	} else {
		n = read(fd, text, sizeof(text) - 1);
		if (n > 0 && text[n - 1] == '\n')
			n--;
		if (n <= 0 || n > PASSWORD_MAX || memchr(text, '\n', (size_t)n) ||
		    memchr(text, '\0', (size_t)n)) {
			wrong(p, b->line, "password_file: %s: one line of 1..%d bytes",
			      b->password_file, PASSWORD_MAX);
		} else {
			text[n] = '\0';
			b->password = strdup(text);
			if (!b->password)
				abort();
		}
		explicit_bzero(text, sizeof(text));
	}
	if (fd >= 0)
		close(fd);
}

static void check_broker(struct parser *p, struct broker *b)
{
	bool tls = false;
	unsigned int i;

	for (i = 0; i < b->nr_nodes; i++) {
		tls |= !b->nodes[i].plain;
		if (b->nodes[i].plain && !b->plain && !loopback(b->nodes[i].host))
			wrong(p, b->line,
			      "nodes: amqp://%s is not this host: amqps://, or plain = yes",
			      b->nodes[i].host);
	}
	if (tls && !b->ca)
		wrong(p, b->line, "ca: is missing, to check certificates of nodes with");
	if (!b->certificate != !b->key)
		wrong(p, b->line, "certificate and key: one without the other");
	check_readable(p, b, "ca", b->ca);
	check_readable(p, b, "certificate", b->certificate);
	check_readable(p, b, "key", b->key);
	read_password(p, b);
	if (!b->vhost)
		b->vhost = strdup("/");
	if (!b->vhost)
		abort();
}

static void check_service(struct parser *p, struct service *s)
{
	const struct config *c = p->config;
	const struct service *other;
	unsigned int i;

	for (i = 0; i < c->nr_brokers; i++)
		if (!strcmp(c->brokers[i].name, s->broker_name))
			s->broker = &c->brokers[i];
	if (*s->broker_name && !s->broker)
		wrong(p, s->line, "broker: there is no [broker %s]", s->broker_name);
	if (!*s->context && s->role == EXPORT)
		strcpy(s->context, s->name);
	if (!*s->context && (size_t)snprintf(s->context, sizeof(s->context), "%s@%s", s->name,
					     s->broker_name) >= sizeof(s->context))
		wrong(p, s->line, "context: %s@%s would be too long", s->name, s->broker_name);
	if (s->quorum && s->bands)
		wrong(p, s->line, "priorities: a quorum queue has none");
	for (other = c->services; other < s; other++)
		if (*s->context && !strcmp(other->context, s->context))
			wrong(p, s->line, "context: %s is that of line %u, too", s->context,
			      other->line);
}

unsigned int config_read(const char *path, struct config *config)
{
	struct parser p = { .path = path, .config = config };
	unsigned int i;
	int line;

	memset(config, 0, sizeof(*config));
	p.file = fopen(path, "re");
	if (!p.file) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return 1;
	}
	line = ini_parse_stream(read_line, &p, on_key, &p);
	if (ferror(p.file)) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		p.errors++;
	}
	fclose(p.file);
	section_end(&p);
	if (line > 0)
		wrong(&p, (unsigned int)line, "neither a [section] nor NAME = VALUE");
	else if (line < 0)
		wrong(&p, p.line, "no memory");
	for (i = 0; i < config->nr_brokers; i++)
		check_broker(&p, &config->brokers[i]);
	for (i = 0; i < config->nr_services; i++)
		check_service(&p, &config->services[i]);
	if (!p.errors && !config->nr_services)
		wrong(&p, p.line, "there is no [export NAME] and no [import NAME]");
	return p.errors;
}

void config_free(struct config *config)
{
	unsigned int i;

	for (i = 0; i < config->nr_brokers; i++) {
		struct broker *b = &config->brokers[i];

		if (b->password)
			explicit_bzero(b->password, strlen(b->password));
		free(b->password);
		free(b->password_file);
		free(b->vhost);
		free(b->ca);
		free(b->certificate);
		free(b->key);
	}
	free(config->brokers);
	free(config->services);
	memset(config, 0, sizeof(*config));
}
