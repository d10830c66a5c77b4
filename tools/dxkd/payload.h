/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files whose content is fixed travel with requests: a memfd that is sealed against writing and
 * shrinking is read here, and made anew on the other host. Reading one does not depend on anybody:
 * its pages are memory.
 */
#ifndef _DXKD_PAYLOAD_H
#define _DXKD_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

/**
 * payload_check - can a file travel?
 * @fd: the file
 * @max: bytes that it may have; 0: none may travel
 * @len: out, its bytes
 *
 * Return: 0; -EOPNOTSUPP, it is not sealed, or not open for reading; -EMSGSIZE
 */
int payload_check(int fd, uint32_t max, uint32_t *len);

/**
 * payload_make - a sealed file
 * @data: its content
 * @len: bytes there
 *
 * Return: its descriptor, or a negative errno
 */
int payload_make(const void *data, size_t len);

/**
 * payload_join - the body of a message
 * @data: data of the request
 * @len: bytes there
 * @fd: the file, for which payload_check() returned @payload
 * @payload: its bytes
 * @body: out, to be freed: both, one behind the other
 *
 * Return: 0 or a negative errno, then there is no body
 */
int payload_join(const void *data, size_t len, int fd, uint32_t payload, char **body);

#endif /* _DXKD_PAYLOAD_H */
