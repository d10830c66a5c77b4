// SPDX-License-Identifier: GPL-2.0-only
/*
 * Channels whose bytes do not go as they are: TLS by OpenSSL, of which the library knows nothing
 * (NI-12, NI-13, NI-14, NI-16).
 */
#define _GNU_SOURCE
#include "library/libwait.h"

#include <dx_reactor.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

/* --- the server: a ChannelIO, and a handler of lines -------------------------------- */

struct server {
	InputHandler base;
	ChannelIO io;
	ChannelFacade *facade;
	SSL *ssl;
	short read_wants, write_wants;
	bool no_pending;		/* whether there is more it says by -EAGAIN only */
	bool shy;			/* it reads no more from a message on until it writes */
	const char *goodbye;
	_Atomic unsigned int messages, wrong;
	_Atomic bool held;		/* no message is taken */
	_Atomic bool over;
};

static struct server *of_io(ChannelIO *io)
{
	return (struct server *)((char *)io - offsetof(struct server, io));
}

static ssize_t answer_of(struct server *s, int n, short *wants)
{
	switch (SSL_get_error(s->ssl, n)) {
	case SSL_ERROR_NONE:
		return n;
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	case SSL_ERROR_WANT_READ:
		*wants = POLLIN;
		return -EAGAIN;
	case SSL_ERROR_WANT_WRITE:
		*wants = POLLOUT;
		return -EAGAIN;
	}
	return -EPROTO;
}

static ssize_t tls_read(ChannelIO *self, int fd, void *data, size_t len)
{
	struct server *s = of_io(self);

	s->wrong += fd != SSL_get_fd(s->ssl);
	ERR_clear_error();
	return answer_of(s, SSL_read(s->ssl, data, (int)len), &s->read_wants);
}

static ssize_t tls_write(ChannelIO *self, int fd, const void *data, size_t len)
{
	struct server *s = of_io(self);

	s->wrong += fd != SSL_get_fd(s->ssl);
	if (s->shy)
		ChannelFacade_modifyInterestOps(s->facade, OP_READ, 0);
	ERR_clear_error();
	return answer_of(s, SSL_write(s->ssl, data, (int)len), &s->write_wants);
}

static bool tls_pending(ChannelIO *self)
{
	return SSL_pending(of_io(self)->ssl);
}

static short tls_want(ChannelIO *self, short events)
{
	struct server *s = of_io(self);

	return (short)((events & POLLIN ? s->read_wants : 0) |
		       (events & POLLOUT ? s->write_wants : 0));
}

static int tls_end(ChannelIO *self, int fd)
{
	struct server *s = of_io(self);
	int n;

	s->wrong += fd != SSL_get_fd(s->ssl);
	ERR_clear_error();
	n = SSL_shutdown(s->ssl);
	return n < 0 ? (int)answer_of(s, n, &s->write_wants) : 0;
}

static Message *next_line(InputHandler *self, ChannelFacade *facade)
{
	InputQueue *q = ChannelFacade_inputQueue(facade);
	ssize_t n = InputQueue_indexOf(q, '\n');

	if (n < 0 || ((struct server *)self)->held)
		return NULL;
	return InputQueue_dequeueBytes(q, (size_t)n + 1);
}

static int send_back(InputHandler *self, Message *m, ChannelFacade *facade)
{
	struct server *s = (struct server *)self;

	s->wrong += !OutputQueue_enqueue(ChannelFacade_outputQueue(facade), m->Data, m->Len);
	s->messages++;
	if (s->shy)
		ChannelFacade_modifyInterestOps(facade, 0, OP_READ);
	ChannelFacade_awaitDrain(facade, facade);
	return 0;
}

static void starting(InputHandler *self, ChannelFacade *facade)
{
	struct server *s = (struct server *)self;

	s->facade = facade;
	s->wrong += ChannelFacade_setIO(facade, &s->io) != 0;
}

static void stopping(InputHandler *self, ChannelFacade *facade)
{
	struct server *s = (struct server *)self;

	if (s->goodbye)
		OutputQueue_enqueue(ChannelFacade_outputQueue(facade), s->goodbye,
				    strlen(s->goodbye));
}

static void stopped(InputHandler *self, ChannelFacade *facade)
{
	(void)facade;
	((struct server *)self)->over = true;
}

/* --- the client: hands over what it says in pieces of any size ------------------------ */

struct client {
	SSL *ssl;
	BIO *in, *out;
	int fd;
	size_t piece;
	unsigned long sent;		/* bytes of the connection */
};

static bool flush(struct client *c)
{
	char data[65536];
	int n;

	while ((n = BIO_read(c->out, data, (int)c->piece)) > 0) {
		if (send(c->fd, data, (size_t)n, MSG_NOSIGNAL) != n)
			return false;
		c->sent += (unsigned int)n;
	}
	return true;
}

/* Return: may the call that returned @n be made again? */
static bool goes_on(struct client *c, int n)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	char data[65536];
	ssize_t got;

	if (!flush(c) || SSL_get_error(c->ssl, n) != SSL_ERROR_WANT_READ ||
	    poll(&p, 1, dxt_late_ms()) != 1)
		return false;
	got = read(c->fd, data, c->piece);
	return got > 0 && BIO_write(c->in, data, (int)got) == got;
}

static bool says(struct client *c, const void *text, size_t len)
{
	int n;

	do
		n = SSL_write(c->ssl, text, (int)len);
	while (n <= 0 && goes_on(c, n));
	return n == (int)len && flush(c);
}

static bool gives(struct client *c, const void *text, size_t len)
{
	char got[4096];
	int n;

	for (size_t at = 0; at < len; at += (size_t)n) {
		do
			n = SSL_read(c->ssl, got, (int)(len - at < sizeof(got) ? len - at :
							sizeof(got)));
		while (n <= 0 && goes_on(c, n));
		if (n <= 0 || memcmp(got, (const char *)text + at, (size_t)n))
			return false;
	}
	return true;
}

static bool answers(struct client *c, const void *text, size_t len)
{
	return says(c, text, len) && gives(c, text, len);
}

/* The peer has said that there is no more: it is not just cut off. */
static bool ends(struct client *c)
{
	char byte;
	int n;

	do
		n = SSL_read(c->ssl, &byte, 1);
	while (n <= 0 && goes_on(c, n));
	return !n && SSL_get_error(c->ssl, n) == SSL_ERROR_ZERO_RETURN;
}

/* --- both --------------------------------------------------------------------------- */

FIXTURE(tls) {
	struct dxt t;
	MTExecutive *mte;
	Dispatcher *d;
	pthread_t thread;
	SSL_CTX *server, *client;
	struct server s;
	struct client c;
};

static void *dispatch(void *arg)
{
	return (void *)(intptr_t)Dispatcher_dispatch(arg);
}

/* A key, and a certificate that it has signed */
static bool certify(SSL_CTX *ctx)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *x = X509_new();
	bool good;

	ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
	X509_gmtime_adj(X509_getm_notBefore(x), -3600);
	X509_gmtime_adj(X509_getm_notAfter(x), 3600);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
				   (const unsigned char *)"localhost", -1, -1, 0);
	X509_set_issuer_name(x, X509_get_subject_name(x));
	good = X509_set_pubkey(x, key) && X509_sign(x, key, EVP_sha256()) &&
	       SSL_CTX_use_certificate(ctx, x) == 1 && SSL_CTX_use_PrivateKey(ctx, key) == 1;
	X509_free(x);
	EVP_PKEY_free(key);
	return good;
}

FIXTURE_SETUP(tls)
{
	/* Less than a record of TLS, so that both have to stop amid one */
	DispatcherOptions o = { .InputLimit = 6000, .OutputLimit = 8000, .MaxReads = 2 };
	ThreadManagerPolicy policy = policy_of(DXK_ON_BLOCK_STRICT, 2);

	policy.TPMaxWaiting = 16;
	self->mte = executive(&policy, &self->t);
	ASSERT_NE(NULL, self->mte);
	self->d = Dispatcher_create(self->mte, &o);
	ASSERT_NE(NULL, self->d);
	ASSERT_EQ(0, pthread_create(&self->thread, NULL, dispatch, self->d));
	self->server = SSL_CTX_new(TLS_server_method());
	self->client = SSL_CTX_new(TLS_client_method());
	ASSERT_TRUE(certify(self->server));
	SSL_CTX_set_min_proto_version(self->server, TLS1_3_VERSION);
	SSL_CTX_set_mode(self->server, SSL_MODE_ENABLE_PARTIAL_WRITE |
				       SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

FIXTURE_TEARDOWN(tls)
{
	void *status;

	EXPECT_EQ(0, self->s.wrong);
	EXPECT_TRUE(DXT_SOON(self->s.over));
	Dispatcher_shutdown(self->d);
	pthread_join(self->thread, &status);
	EXPECT_EQ(NULL, status);
	Dispatcher_destroy(self->d);
	EXPECT_EQ(0, BufferFactory_inUse());
	MTExecutiveDestroy(self->mte, DXK_STOP_CANCEL, -1);
	SSL_free(self->s.ssl);
	SSL_free(self->c.ssl);
	close(self->c.fd);
	SSL_CTX_free(self->server);
	SSL_CTX_free(self->client);
}

static int connects(FIXTURE_DATA(tls) *self, size_t piece)
{
	struct server *s = &self->s;
	struct client *c = &self->c;
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd))
		return -errno;
	s->base = (InputHandler){ next_line, send_back, starting, NULL, stopping, stopped };
	s->io = (ChannelIO){ tls_read, tls_write, s->no_pending ? NULL : tls_pending, tls_want,
			     tls_end };
	s->read_wants = POLLIN;
	s->write_wants = POLLOUT;
	s->ssl = SSL_new(self->server);
	SSL_set_accept_state(s->ssl);
	SSL_set_fd(s->ssl, fd[0]);
	*c = (struct client){ .ssl = SSL_new(self->client), .fd = fd[1], .piece = piece };
	c->in = BIO_new(BIO_s_mem());
	c->out = BIO_new(BIO_s_mem());
	SSL_set_bio(c->ssl, c->in, c->out);
	SSL_set_connect_state(c->ssl);
	return Dispatcher_registerChannel(self->d, fd[0], &s->base, NULL);
}

static uint64_t turns(Dispatcher *d)
{
	DispatcherStatus s;

	Dispatcher_status(d, &s);
	return s.Turns;
}

static void fill(char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		text[i] = (char)(i % 100 == 99 ? '\n' : 'a' + (i / 100 + i) % 26);
}

static bool says_end(struct client *c)
{
	return SSL_shutdown(c->ssl) == 0 && flush(c);
}

/* Messages are no records. The peer's end, and what is said then */
TEST_F(tls, echo)
{
	self->s.goodbye = "bye\n";
	ASSERT_EQ(0, connects(self, 65536));
	EXPECT_TRUE(answers(&self->c, "one\n", 4));
	EXPECT_STREQ("TLSv1.3", SSL_get_version(self->c.ssl));
	EXPECT_TRUE(answers(&self->c, "two\nthree\nfour\n", 15));
	EXPECT_TRUE(says(&self->c, "fi", 2));
	EXPECT_TRUE(says(&self->c, "ve\nsi", 5));
	EXPECT_TRUE(gives(&self->c, "five\n", 5));
	EXPECT_TRUE(says(&self->c, "x\n", 2));
	EXPECT_TRUE(gives(&self->c, "six\n", 4));
	EXPECT_EQ(6, self->s.messages);
	EXPECT_TRUE(says_end(&self->c));
	EXPECT_TRUE(gives(&self->c, "bye\n", 4));
	EXPECT_TRUE(ends(&self->c));
}

/* NI-12: the handshake, too, comes in single bytes */
TEST_F(tls, byte_by_byte)
{
	uint64_t before;

	ASSERT_EQ(0, connects(self, 1));
	before = turns(self->d);
	EXPECT_TRUE(answers(&self->c, "a line\n", 7));
	EXPECT_TRUE(answers(&self->c, "another one\nand one\n", 20));
	EXPECT_EQ(3, self->s.messages);
	/* Each byte is an event at most, and nothing spins for the rest of a record. */
	EXPECT_GE(self->c.sent + 20, turns(self->d) - before);
	EXPECT_TRUE(says_end(&self->c));
	EXPECT_TRUE(ends(&self->c));
}

static void echoes_much(struct __test_metadata *_metadata, FIXTURE_DATA(tls) *self)
{
	static char text[48 << 10];

	fill(text, sizeof(text));
	text[sizeof(text) - 1] = '\n';
	ASSERT_EQ(0, connects(self, 65536));
	for (int i = 0; i < 20; i++)
		ASSERT_TRUE(answers(&self->c, text, sizeof(text)));
	EXPECT_TRUE(says_end(&self->c));
	EXPECT_TRUE(ends(&self->c));
}

/* NI-13, NI-14, NI-17: queues that fill amid a record, on both sides */
TEST_F(tls, much)
{
	echoes_much(_metadata, self);
}

/* ... also if only -EAGAIN tells that there is no more */
TEST_F(tls, much_without_pending)
{
	self->s.no_pending = true;
	echoes_much(_metadata, self);
}

/* NI-13: what was taken out of the file while the queue was full is handled without an event */
TEST_F(tls, taken_out_of_the_file)
{
	enum { LEN = 16000 };
	static char text[LEN];
	uint64_t before;

	fill(text, LEN);
	ASSERT_EQ(0, connects(self, 65536));
	EXPECT_TRUE(answers(&self->c, "one\n", 4));
	self->s.held = true;
	EXPECT_TRUE(says(&self->c, text, LEN));
	EXPECT_TRUE(DXT_SOON(InputQueue_length(ChannelFacade_inputQueue(self->s.facade)) >= 6000));
	dxt_sleep_ms(20);
	before = turns(self->d);
	dxt_sleep_ms(30);
	EXPECT_EQ(before, turns(self->d));
	self->s.held = false;
	EXPECT_EQ(0, ChannelFacade_setHandler(self->s.facade, &self->s.base));
	EXPECT_TRUE(gives(&self->c, text, LEN));
	EXPECT_EQ(1 + LEN / 100, self->s.messages);
	EXPECT_TRUE(says_end(&self->c));
	EXPECT_TRUE(ends(&self->c));
}

/* NI-5: ... and so it is if reading was off and is on again in the same turn */
TEST_F(tls, off_and_on)
{
	enum { LEN = 16000 };
	static char text[LEN];

	fill(text, LEN);
	self->s.shy = true;
	ASSERT_EQ(0, connects(self, 65536));
	EXPECT_TRUE(answers(&self->c, text, LEN));
	EXPECT_TRUE(says_end(&self->c));
	EXPECT_TRUE(ends(&self->c));
}

/* A file goes out as bytes do; the end by this side */
TEST_F(tls, file)
{
	enum { LEN = 300000, FROM = 1234 };
	int file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	static char text[FROM + LEN];

	fill(text, sizeof(text));
	ASSERT_LE(0, file);
	ASSERT_EQ(sizeof(text), write(file, text, sizeof(text)));
	ASSERT_EQ(0, connects(self, 65536));
	EXPECT_TRUE(answers(&self->c, "one\n", 4));
	EXPECT_TRUE(OutputQueue_enqueueFile(ChannelFacade_outputQueue(self->s.facade), "head\n", 5,
					    file, FROM, LEN));
	ChannelFacade_close(self->s.facade);
	EXPECT_TRUE(gives(&self->c, "head\n", 5));
	EXPECT_TRUE(gives(&self->c, text + FROM, LEN));
	EXPECT_TRUE(ends(&self->c));
}

/* Who does not speak TLS, or is cut off, ends the channel alone. */
TEST_F(tls, no_tls)
{
	char byte;

	ASSERT_EQ(0, connects(self, 65536));
	EXPECT_EQ(16, write(self->c.fd, "GET / HTTP/1.1\r\n", 16));
	EXPECT_TRUE(DXT_SOON(self->s.over));
	EXPECT_EQ(0, self->s.messages);
	while (read(self->c.fd, &byte, 1) == 1)
		;
}

TEST_HARNESS_MAIN
