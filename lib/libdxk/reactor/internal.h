/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A reactor. Each channel is one request: its name is the facade, its owner is the dispatcher, and
 * Dispatcher_dispatch() collects its result, and so learns of channels that end without a turn.
 *
 * A thread that wants something of a channel first notes it (A, or under O), then checks whether
 * there is a turn. The turn first marks that there is none, then checks what is wanted, and ends
 * with the corresponding wait. So one of the two sees the other: either the turn handles the note,
 * or the thread calls the request, which causes a turn. Only the turn decides what the channel
 * waits for.
 *
 * Locks; D is taken within no other, O is innermost:
 *
 *   D	dispatcher.lock: which channels exist, and which of them await the drain of which
 *   O	queue.lock of an output queue
 *   A	no lock: atomic, sequentially consistent
 *   R	no lock: the turn; when there will be no turn any more, the thread that collects the request
 *   T	no lock: the user of the queue, one thread at a time
 *   C	no lock: does not change
 */
#ifndef _DX_REACTOR_INTERNAL_H
#define _DX_REACTOR_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "dx_reactor.h"

struct InputQueue {
	BufferFactory *factory;		/* C */
	Buffer *first, *last;		/* T: none of them is empty */
	size_t len;			/* T */
};

/* A part of the output: bytes in buffers, then those of a file. */
struct dxr_part {
	struct dxr_part *next;
	Buffer *first, *last;
	int fd;				/* or -1 */
	off_t offset;
	size_t count;
};

struct OutputQueue {
	BufferFactory *factory;		/* C */
	size_t limit;			/* C */
	ChannelFacade *facade;		/* C: whose, or NULL */
	pthread_mutex_t lock;
	struct dxr_part *first, *last;	/* O */
	struct dxr_part own;		/* O: the first one, most times ... */
	bool own_used;			/* O: ... and now */
	atomic_uint parts;		/* written O */
	atomic_size_t len;		/* written O: bytes in buffers */
	unsigned int files;		/* O: parts that have a file */
	bool closed;			/* O: takes no more */
};

struct Dispatcher {
	MTExecutive *mte;		/* C */
	DispatcherOptions options;	/* C */
	Runnable gate;			/* C: of the request that is there until the shutdown */
	pthread_mutex_t lock;
	ChannelFacade **by_fd;		/* D: whose descriptor it is, or NULL */
	unsigned int nr_fds;		/* D: entries of @by_fd */
	unsigned int channels;		/* D: without acceptors */
	unsigned int live;		/* D: facades of which a request exists */
	bool shut;			/* D: there will be no more */
	ChannelFacade *held;		/* D: acceptors that wait for less load */
	atomic_size_t queued;
	atomic_ullong turns, in, out, accepted, refused, died, pauses;
};

struct ChannelFacade {
	Runnable base;			/* C: executes its turns */
	Dispatcher *dispatcher;		/* C */
	InputHandlerFactory *factory;	/* C: of an acceptor; or of @made */
	InputHandler *made;		/* C: by the factory, or NULL */
	bool acceptor;			/* C */
	bool write_only;		/* C: its file is not open for reading */
	atomic_uint holds;
	_Atomic int64_t idle;		/* how long it may move no byte, or 0 */
	InputQueue in;			/* R */
	OutputQueue out;
	int fd;				/* R, written D; -1: there is none any more */
	_Atomic(InputHandler *) handler; /* NULL: an acceptor's */
	ChannelIO *io;			/* R: how bytes come and go, or NULL */
	bool dry;			/* R: of @io: it has no more before the file has */
	atomic_int ops;			/* OP_READ or OP_ACCEPT, or 0 */
	atomic_bool running;		/* has a turn that will check the notes of others */
	atomic_bool called;		/* one will follow, no need to call again */
	atomic_bool look;		/* what the turn has looked at may have changed */
	atomic_bool leave;		/* ends at once */
	atomic_bool close;		/* ends when its output is written */
	atomic_bool paused;		/* awaits a drain */
	ChannelFacade *next_waiter;	/* D: of those that await the same */
	ChannelFacade *waiters;		/* D: those that await this one's */
	atomic_bool awaited;		/* there are some; written D */
	ChannelFacade *next_held;	/* D */
	int kept;			/* R: of an acceptor: a connection without room, or -1 */
	bool eof, full, hung, more;	/* R */
	bool started, stopping, ended;	/* R */
	bool sealed;			/* R: its output queue is empty, and takes no more ... */
	bool said;			/* R: ... which was reported to the peer ... */
	bool finished;			/* R: ... and has ended, or was waited for long enough */
	uint64_t lingers;		/* R: until when that is waited for; or 0 */
	uint64_t active;		/* R: when bytes moved last, if it may not be idle */
};

/* Files in an output queue, at most: each is a descriptor */
#define DXR_FILES	32

/* queue.c */
void dxr_input_init(InputQueue *q, BufferFactory *factory);
void dxr_output_init(OutputQueue *q, BufferFactory *factory, size_t limit, ChannelFacade *f);
void dxr_output_close(OutputQueue *q);
bool dxr_output_drained(OutputQueue *q);
bool dxr_output_seal(OutputQueue *q);

/* dispatcher.c */
int dxr_register(Dispatcher *d, int fd, InputHandler *handler, InputHandlerFactory *factory,
		 bool acceptor, int priority, ChannelFacade **facade);
bool dxr_overloaded(Dispatcher *d, ChannelFacade *hold);
int dxr_forget(ChannelFacade *f);
void dxr_overload_ends(Dispatcher *d);

/* channel.c */
int dxr_channel_turn(Runnable *self, void *request);
void dxr_channel_end(ChannelFacade *f, int status);
void dxr_close(int fd);
void dxr_call(ChannelFacade *f, bool look);
void dxr_resume(ChannelFacade *f);
void dxr_drained(ChannelFacade *f, size_t written);
int dxr_begin(ChannelFacade *f, const RQElement *me);
int dxr_wait(ChannelFacade *f, RQWait *wait);
int dxr_again(ChannelFacade *f);

/* acceptor.c */
int dxr_acceptor_turn(Runnable *self, void *request);

#endif /* _DX_REACTOR_INTERNAL_H */
