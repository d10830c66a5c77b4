/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * dxnbd: what goes over the wire: the fixed newstyle handshake of NBD, requests and simple replies.
 * All numbers are big-endian.
 */
#ifndef _DXNBD_PROTO_H
#define _DXNBD_PROTO_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define NBD_GREETING		0x4e42444d41474943ULL
#define NBD_OPTION		0x49484156454f5054ULL
#define NBD_OPTION_REPLY	0x0003e889045565a9ULL
#define NBD_REQUEST		0x25609513U
#define NBD_REPLY		0x67446698U

/* Flags of the greeting, and of the client's answer, which has the same bits */
#define NBD_FIXED_NEWSTYLE	0x1
#define NBD_NO_ZEROES		0x2

enum nbd_option {
	NBD_OPT_EXPORT_NAME = 1,
	NBD_OPT_ABORT,
	NBD_OPT_LIST,
	NBD_OPT_INFO = 6,
	NBD_OPT_GO,
};

enum nbd_option_reply {
	NBD_REP_ACK = 1,
	NBD_REP_SERVER,
	NBD_REP_INFO,
};
#define NBD_REP_ERR_UNSUP	0x80000001U
#define NBD_REP_ERR_INVALID	0x80000003U
#define NBD_REP_ERR_UNKNOWN	0x80000006U

enum nbd_info {
	NBD_INFO_EXPORT,
	NBD_INFO_NAME,
	NBD_INFO_BLOCK_SIZE = 3,
};

/* What an export can do */
#define NBD_HAS_FLAGS		0x001
#define NBD_READ_ONLY		0x002
#define NBD_SEND_FLUSH		0x004
#define NBD_SEND_FUA		0x008
#define NBD_SEND_TRIM		0x020
#define NBD_SEND_WRITE_ZEROES	0x040
#define NBD_CAN_MULTI_CONN	0x100

enum nbd_command {
	NBD_CMD_READ,
	NBD_CMD_WRITE,
	NBD_CMD_DISC,
	NBD_CMD_FLUSH,
	NBD_CMD_TRIM,
	NBD_CMD_WRITE_ZEROES = 6,
};

#define NBD_CMD_FUA		0x1
#define NBD_CMD_NO_HOLE		0x2

enum nbd_error {
	NBD_EPERM = 1,
	NBD_EIO = 5,
	NBD_ENOMEM = 12,
	NBD_EINVAL = 22,
	NBD_ENOSPC = 28,
};

#define NBD_GREETING_LEN	18	/* two magics, flags */
#define NBD_CLIENT_LEN		4	/* flags */
#define NBD_OPTION_LEN		16	/* magic, option, length of what follows */
#define NBD_OPTION_REPLY_LEN	20	/* magic, option, type, length of what follows */
#define NBD_REQUEST_LEN		28	/* magic, flags, type, cookie, offset, length */
#define NBD_REPLY_LEN		16	/* magic, error, cookie */
#define NBD_ZEROES		124	/* behind the answer to EXPORT_NAME, unless NO_ZEROES */

static inline uint16_t get16(const unsigned char *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return be16toh(v);
}

static inline uint32_t get32(const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static inline uint64_t get64(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

/* Each returns where the next one goes. */
static inline unsigned char *put16(unsigned char *p, uint16_t v)
{
	v = htobe16(v);
	return (unsigned char *)memcpy(p, &v, sizeof(v)) + sizeof(v);
}

static inline unsigned char *put32(unsigned char *p, uint32_t v)
{
	v = htobe32(v);
	return (unsigned char *)memcpy(p, &v, sizeof(v)) + sizeof(v);
}

static inline unsigned char *put64(unsigned char *p, uint64_t v)
{
	v = htobe64(v);
	return (unsigned char *)memcpy(p, &v, sizeof(v)) + sizeof(v);
}

#endif /* _DXNBD_PROTO_H */
