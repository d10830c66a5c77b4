/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages to mailboxes in turn, so many at a time that all of them are busy.
 */
#ifndef BENCH_MAILBOX_H
#define BENCH_MAILBOX_H

#ifdef __cplusplus
extern "C" {
#endif

/* How many there are. */
void mails_boxes(long nr);
/* The threads that serve them are there, and get the CPU when the sender sleeps. */
void mails_sender_first(void);
/* Sends @ops messages, each of which is a job_done(), and waits for the last. */
void mails_send(long ops, void (*post)(long box));

#ifdef __cplusplus
}
#endif
#endif /* BENCH_MAILBOX_H */
