/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The internal interfaces between the parts of the DX library.
 *
 * Locks; no two are held together, except L within W or K:
 *
 *   L	dx_lock(): which executives and members exist. Held over the calls that
 *	make their descriptors, so that fork() never sees one that is not listed.
 *	Shared by all: a thread that holds it cannot be cancelled, and makes no
 *	call that may wait for others
 *   G	log.lock: the file, and its current writer
 *   K	commander.lock: the command handler and the state of its thread
 *   W	crew.lock: the worker threads and the thread that starts them
 *   H	handles.lock: the Handle Table; not held over call-backs
 *   T	no lock: only the thread that made the member touches it
 *   C	no lock: does not change between construction and destruction
 *   S	no lock: does not change while the context runs
 */
#ifndef _DX_INTERNAL_H
#define _DX_INTERNAL_H

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <sys/un.h>

#include "dx.h"
#include "dxk.h"

/* The persistent log. */
struct dx_log {
	pthread_mutex_t lock;
	pthread_cond_t moved;		/* G: any of the following has changed */
	char *path;			/* C */
	int fd;				/* C, the file behind it G */
	bool kernel;			/* C: DX_LOG_WRITER_KERNEL */
	bool pooled;			/* C: messages go through the Log Pool */
	uint64_t seq;			/* G: of the last line */
	size_t done;			/* G: bytes of a line that are in the file */
	bool torn;			/* G: it ends within a line */
	int error;			/* G: the error that keeps the drain from writing */
	uint64_t lost;			/* G: dropped since the last line */
	atomic_bool ended;		/* the drain has done its work; written G */
	bool again;			/* G: the context was started before that */
	bool quit;			/* G: it is not to retry much longer */
	unsigned int tries;		/* the drain's: of this line, since then */
	bool threaded;			/* C: there is a drain */
	pthread_t thread;		/* C */
	uint64_t pooled_seq;		/* G: of the Log Pool's last message in the file */
	uint64_t base;			/* G: a line's number less that of the Log Pool */
	struct dxk_log_record *recs;	/* the drain's */
};

/* Senders that have connected and sent nothing; a further one takes the oldest's place. */
#define DX_ADDIN_SENDERS	32

/* The message queue of an add-in. */
struct dx_addin {
	struct sockaddr_un addr;	/* C */
	bool named;			/* C: there is a file at @addr, this one: */
	dev_t dev;			/* C */
	ino_t ino;			/* C */
	int fd;				/* L: the socket, or -1: it is no add-in */
	int senders[DX_ADDIN_SENDERS];	/* L: @nr of them, the oldest first; changed by ... */
	unsigned int nr;		/* L: ... the thread only */
	bool threaded;			/* C: there is one */
	pthread_t thread;		/* C */
};

/* The messages between a sender and the thread, as packets of the length used. */
struct dx_addin_message {
	int64_t timeout_ns;		/* how long the sender waits for the reply, 0: not at all */
	char text[DXK_COMMAND_MAX + 1];	/* the last byte is for a zero */
};

struct dx_addin_reply {
	int32_t status;			/* what SendCommand() returned */
	char text[DXK_COMMAND_MAX + 1];
};

/* The base of an executive: the services that come before the Thread Manager. */
struct ExecEnvironment {
	uint64_t started;		/* C: elapsed timer, ns of CLOCK_MONOTONIC */
	int ctl;			/* C: control descriptor */
	struct dx_addin addin;
	struct dx_log log;
};

/* A thread in the Thread Pool of an executive. */
struct dx_member {
	_Atomic(MTExecutive *) mte;	/* NULL: the executive is gone; written L */
	int fd;				/* C, L in destruction and fork */
	unsigned int id;		/* C */
	struct dx_member *next_own;	/* T: further members of this thread */
	struct dx_member *next;		/* L: further members of the executive */
};

/*
 * The requests that a worker has fetched at a time and executes. The lowest frame of a worker is
 * its loop's, with room for fetch_max requests; those above it, of one request each,
 * are made at the first need, and kept.
 */
struct dx_frame {
	struct dx_frame *below;		/* whose request waits meanwhile, or NULL */
	struct dx_frame *above;
	unsigned int nr;		/* room */
	bool more;			/* elements are the longer ones: requests may wait */
	unsigned char *works;		/* fetched, see dx_work() */
	unsigned char *dones;		/* one for each of them, see dx_done() */
	unsigned char *data;		/* a slot for each: data that came in ... */
	unsigned char *results;		/* ... and the result's data */
	size_t slot;			/* bytes of each slot */
	unsigned int begun, fetched;	/* of @works: executed, and the one that executes */
	unsigned int first, nr_done;	/* of @dones: executed, not yet completed */
	unsigned int waits;		/* of these: how many end with a wait */
	struct dxk_done *done;		/* of the request that executes, or NULL */
	bool waiting;			/* it has called WaitRequest() */
	RQElement element;		/* of that request */
};

/* A fetched request, and how it ended; in a frame with longer elements, their first part. */
static inline struct dxk_work *dx_work(const struct dx_frame *f, unsigned int i)
{
	return (void *)(f->works + i * (f->more ? sizeof(struct dxk_work_more) :
						  sizeof(struct dxk_work)));
}

static inline struct dxk_done *dx_done(const struct dx_frame *f, unsigned int i)
{
	return (void *)(f->dones + i * (f->more ? sizeof(struct dxk_done_more) :
						  sizeof(struct dxk_done)));
}

/* A worker thread of this process. Members without a letter are private to it. */
struct dx_worker {
	MTExecutive *mte;
	unsigned int kind;		/* C: enum dxk_member_kind */
	struct dx_member *member;	/* written W; NULL again on its way out */
	pid_t tid;			/* C */
	struct dx_frame *frame;		/* the one at work */
	struct dx_own *owns;		/* its own handles */
	unsigned int removals;		/* handles.removals when it last looked */
	bool stale;			/* some of @owns are to be closed */
	pthread_t thread;		/* W */
	struct dx_worker *next;		/* W */
};

enum dx_commander_state {
	COMMANDER_NONE,			/* there is no thread; below 0: the error */
	COMMANDER_STARTS,
	COMMANDER_UP,
	COMMANDER_ENDED,		/* on its own; to be joined */
};

/* The command handler and the thread that calls it. */
struct dx_commander {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	CommandHandler *handler;	/* K */
	bool attaching;			/* K: a thread changes the handler */
	bool calling;			/* K: the thread is in a call of it */
	bool quit;			/* K: the thread is to end */
	int state;			/* K */
	int wake;			/* L: eventfd that notifies it, or -1 */
	pthread_t thread;		/* only for the thread that attaches */
};

struct MTExecutive {
	struct ExecEnvironment env;	/* the first: its address is that of the executive */
	struct dx_single *single;	/* S: it is only an environment, see single.c */
	int ctx;			/* C: context descriptor */
	unsigned int id;		/* C */
	atomic_bool foreign;		/* a copy in the child of a fork() */
	bool joined;			/* C: the context is another process's */
	const OperationTable *operations; /* C: for other processes, or NULL */
	uint32_t fetch_max;		/* C */
	size_t stack_size;		/* C */
	size_t slot;			/* S: the policy's data_size, aligned */
	bool help;			/* S: DXK_ON_BLOCK_HELP */
	bool waits;			/* S: requests may wait */
	unsigned int homes;		/* S: of the policy */
	struct {
		pthread_mutex_t lock;
		pthread_cond_t changed;		/* W: any of the following has changed */
		struct dx_worker *workers;	/* W: workers that were not joined yet */
		bool filling;			/* W: one thread starts some: only it ... */
		unsigned int starting;		/* W: ... so many that did not attach yet */
		unsigned int attached;		/* W: ... so many that did */
		int error;			/* W: ... of the first that failed */
		bool managed;			/* W: there is a manager */
		bool left;			/* W: it has ended on its own */
		bool closing;			/* W: it is to end */
		pthread_t manager;		/* W */
	} crew;
	struct {
		pthread_mutex_t lock;
		void *tree;		/* H: struct dx_native, see tsearch(3) */
		unsigned int size;	/* S */
		unsigned int use;	/* H: native and own ones */
		atomic_uint removals;	/* counted H */
	} handles;
	struct dx_commander commander;
	struct dx_member *members;	/* L */
	MTExecutive *next;		/* L */
};

/* env.c */
uint64_t dx_now(void);
void dx_env_setup(struct ExecEnvironment *env);
int dx_env_platform(struct ExecEnvironment *env);
int dx_env_init(struct ExecEnvironment *env, const RunSettings *settings,
		const char **step);
void dx_env_exit(struct ExecEnvironment *env);

/* addin.c */
int dx_addin_path(struct sockaddr_un *addr, const char *name);
void dx_addin_setup(struct dx_addin *a);
int dx_addin_init(struct dx_addin *a, const char *name);
int dx_addin_start(MTExecutive *mte);
void dx_addin_end(struct dx_addin *a);

/* log.c */
void dx_log_setup(struct dx_log *log);
int dx_log_init(struct dx_log *log, const char *path);
void dx_log_exit(struct dx_log *log);
void dx_log_own(MTExecutive *mte, unsigned int severity, const char *format, ...)
	__attribute__((__format__(__printf__, 3, 4)));

/* Room for a line: the message, its prefix and its suffix. */
#define DX_LINE_MAX	(DXK_LOG_TEXT + 128)
size_t dx_line_format(char *line, const struct dxk_log_record *rec,
		      uint64_t seq, long thread);
int dx_line_write(struct dx_log *log, const char *line, size_t len);
int dx_lost_write(struct dx_log *log);
void dx_line_give_up(struct dx_log *log);

/* drain.c */
int dx_log_hand_over(MTExecutive *mte);
int dx_log_start(MTExecutive *mte);
void dx_log_stop(MTExecutive *mte);
void dx_log_retreat(struct dx_log *log);
bool dx_log_drains(struct dx_log *log);
bool dx_log_left(struct dx_log *log);
void dx_log_pause(struct dx_log *log, int err);

/* sink.c */
bool dx_log_wanted(unsigned int severity);
bool dx_log_sink(const LogRecord *record);
void dx_log_sink_child(void);

/* cpus.c */
uint32_t dx_cpus(void);

/* policy.c */
int dx_policy_start(MTExecutive *mte, const ThreadManagerPolicy *policy,
		    MTExecutiveError *error);
int dx_policy_restart(MTExecutive *mte);
const char *dx_policy_name(unsigned int i);
bool dx_policy_knows(const char *name);
bool dx_policy_put(ThreadManagerPolicy *policy, const char *name, uint64_t value);
void dx_policy_tell_idle(MTExecutive *mte, const ThreadManagerPolicy *policy);
void dx_error_set(MTExecutiveError *error, int rc, const char *step,
		  const char *field);

/* text.c */
const char *dx_field_of(const char *step, int rc, const RunSettings *settings);

/* member.c */
extern _Thread_local struct dx_worker *dx_current;
extern _Thread_local MTExecutive *dx_commanding;	/* its handler's thread */

int dx_library_init(void);
int dx_lock(void);
int dx_fd(int fd);
void dx_unlock(int cancel);
void dx_executive_add(MTExecutive *mte);
bool dx_executive_offer(MTExecutive *mte);
void dx_executive_retreat(MTExecutive *mte);
void dx_executive_remove(MTExecutive *mte);
MTExecutive *dx_executive(MTExecutive *mte);
int dx_context(MTExecutive **mte);
struct dx_member *dx_member_find(MTExecutive *mte);
int dx_member_join(MTExecutive *mte, unsigned int kind, struct dx_member **out);
int dx_self(MTExecutive **mte, struct dx_member **out);
void dx_member_abandoned(struct dx_member *member);

/* frame.c */
struct dx_frame *dx_frame_new(const MTExecutive *mte, unsigned int nr);
void dx_frame_free(struct dx_frame *f);
void dx_frames_abandon(struct dx_frame *f);
struct dx_frame *dx_executing(void);
int dx_leave(struct dx_frame *f, const void *data, size_t len);

/* worker.c */
unsigned int dx_helps(const struct dx_member *member);
unsigned int dx_nests(const struct dx_member *member);
int dx_help(void);
void dx_execute(struct dx_worker *w, unsigned int i);
void *dx_worker_main(void *arg);
void dx_worker_free(struct dx_worker *w);

/* single.c */
int dx_single_begin(MTExecutive *mte, const RunSettings *settings);
const RunSettings *dx_single_settings(const struct dx_single *s);
int dx_single_idle(const MTExecutive *mte);
void dx_single_reset(MTExecutive *mte, struct dx_single *s);
void dx_single_free(struct dx_single *s);
int dx_single_post(MTExecutive *mte, const struct dxk_post_entry *entries, unsigned int nr);
int dx_single_rejoin(MTExecutive *mte, uint64_t owner, struct dxk_result *results,
		     unsigned int nr, void *data, size_t stride, bool wait,
		     unsigned int *answer);

/* request.c */
int dx_post_entry(struct dxk_post_entry *entry, const RQPost *post);
int dx_post_more(const struct dx_member *member, const struct dxk_post_more *entries,
		 unsigned int nr, uint64_t deadline, unsigned int *reason);
void dx_rejoin_element(RQElement *element, void *owner,
		       const struct dxk_result *result, const void *data);

/* wait.c */
int dx_more_entry(struct dxk_post_more *more, const RQPost *post, const RQOptions *options);
void dx_turn_tell(RQElement *element, const struct dxk_work_more *work);
bool dx_turn_ends(struct dx_frame *f, struct dxk_done *done);
bool dx_done_waits(const struct dx_frame *f, unsigned int i);
bool dx_wait_refused(struct dx_frame *f, int rc);

/* crew.c */
void dx_block_signals(sigset_t *old);
void dx_crew_init(MTExecutive *mte);
void dx_crew_exit(MTExecutive *mte);
int dx_crew_start(MTExecutive *mte);
bool dx_crew_left(MTExecutive *mte);
void dx_crew_join(MTExecutive *mte);

/* handle.c */
void dx_handles_init(MTExecutive *mte);
void dx_handles_exit(MTExecutive *mte);
bool dx_handles_stale(struct dx_worker *w);
void dx_handles_release(struct dx_worker *w);
void dx_handles_close(struct dx_worker *w);

/* command.c */
void dx_commander_init(struct dx_commander *c);
void dx_commander_exit(struct dx_commander *c);
void dx_commander_end(MTExecutive *mte);
int dx_commander_restart(MTExecutive *mte);

#endif /* _DX_INTERNAL_H */
