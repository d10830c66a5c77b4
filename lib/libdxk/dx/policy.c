// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * ThreadManagerPolicy: the fields of struct dxk_policy under their DX names, and
 * those of the worker threads of this process.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

#define THREADS_MAX	499

/* Slots have the alignment of malloc(), so that results can be any object. */
#define SLOT_ALIGN	(2 * sizeof(void *))

/* How long to wait for a review, in milliseconds, in case others change more. */
#define REVIEW_MS	5000

static const struct field {
	const char *name;
	uint32_t dx, abi;	/* offsets */
	uint32_t preset;	/* the module's default, used when the module is not there */
} fields[] = {
#define FIELD(dx, abi, preset) {				\
	#dx, offsetof(ThreadManagerPolicy, dx),			\
	offsetof(struct dxk_policy, abi), preset }
	FIELD(TPSchedMode, sched_mode, 0),
	FIELD(TPPrioPolicy, prio_policy, 0),
	FIELD(TPMaxThreads, max_threads, 0),
	FIELD(TPKernelThreads, kernel_threads, 0),
	FIELD(TPReadyEntries, ready_entries, 1024),
	FIELD(TPRejoinEntries, rejoin_entries, 1024),
	FIELD(TPLogEntries, log_entries, 1024),
	FIELD(TPHandleEntries, handle_entries, 256),
	FIELD(TPMaxRequests, max_requests, 65536),
	FIELD(TPDataSize, data_size, 512),
	FIELD(TPLanePct[0], lane_pct[0], 0),
	FIELD(TPLanePct[1], lane_pct[1], 0),
	FIELD(TPLanePct[2], lane_pct[2], 0),
	FIELD(TPBoostValue, boost_value, 1),
	FIELD(TPSchedInterval, sched_interval_ms, 1000),
	FIELD(TPMonitorInterval, monitor_interval_ms, 100),
	FIELD(TPDispatchInterval, dispatch_interval_ms, 0),
	FIELD(TPDispatch, dispatch, DXK_DISPATCH_DIRECT),
	FIELD(TPLogFull, log_full, DXK_LOG_BLOCK),
	FIELD(TPRejoinFull, rejoin_full, DXK_REJOIN_GROW),
	FIELD(TPShutdown, shutdown, DXK_STOP_DRAIN),
	FIELD(TPOnBlock, on_block, DXK_ON_BLOCK_STRICT),
	FIELD(TPOrder, order, DXK_ORDER_PRIO_GLOBAL),
	FIELD(TPLogBatch, log_batch, 64),
	FIELD(TPSampleInterval, sample_interval_ms, 0),
	FIELD(TPSampleEntries, sample_entries, 64),
	FIELD(TPReportAge, report_age_ms, 0),
	FIELD(TPRedoMax, redo_max, 3),
	FIELD(TPHelpDepth, help_depth, 4),
	FIELD(TPMaxSpares, max_spares, 8),
	FIELD(TPUserShare, user_share, 75),
	FIELD(TPPreallocRequests, prealloc_requests, 64),
	FIELD(TPMaxWaiting, max_waiting, 0),
	FIELD(TPWaitReport, wait_report_ms, 0),
	FIELD(TPMinThreads, min_threads, 0),
	FIELD(TPSpareIdle, spare_idle_ms, 10000),
	FIELD(TPKeyBatch, key_batch, 16),
	FIELD(TPMinSpares, min_spares, 0),
	FIELD(TPSpareAfter, spare_after_ms, 0),
	FIELD(TPHomes, homes, 0),
	FIELD(TPSteal, steal, 0),
	FIELD(TPSpaceWeight, space_weight, 0),
	FIELD(TPAutotune, autotune, 0),
	FIELD(TPHelpScope, help_scope, DXK_HELP_ANY),
#undef FIELD
};

#define for_each_field(f) \
	for (f = fields; f < fields + sizeof(fields) / sizeof(*fields); f++)

static uint32_t *field_of(void *policy, uint32_t offset)
{
	return (uint32_t *)((char *)policy + offset);
}

static void from_abi(ThreadManagerPolicy *policy, struct dxk_policy *abi)
{
	const struct field *f;

	for_each_field(f)
		*field_of(policy, f->dx) = *field_of(abi, f->abi);
}

/* Fields of @abi that have no DX name keep their value. */
static void to_abi(struct dxk_policy *abi, const ThreadManagerPolicy *policy)
{
	ThreadManagerPolicy copy = *policy;
	const struct field *f;

	for_each_field(f)
		*field_of(abi, f->abi) = *field_of(&copy, f->dx);
}

static const char *name_of(uint32_t abi_offset)
{
	const struct field *f;

	for_each_field(f)
		if (f->abi == abi_offset)
			return f->name;
	return NULL;
}

void dx_error_set(MTExecutiveError *error, int rc, const char *step,
		  const char *field)
{
	if (!error)
		return;
	error->Error = rc;
	error->Step = step;
	snprintf(error->Field, sizeof(error->Field), "%s", field ? field : "");
	error->Reason[0] = 0;
}

static void reason_set(MTExecutiveError *error, const char *reason)
{
	if (error && reason)
		snprintf(error->Reason, sizeof(error->Reason), "%s", reason);
}

/* The fields that only the library has. */
static const struct own {
	const char *name;
	size_t dx, size;
} owns[] = {
#define OWN(dx) { #dx, offsetof(ThreadManagerPolicy, dx), sizeof(((ThreadManagerPolicy *)0)->dx) }
	OWN(TPFetchMax), OWN(TPLogWriter), OWN(TPStackSize),
#undef OWN
};

/** dx_policy_name - names of the fields, one for each @i from 0 on, then %NULL */
const char *dx_policy_name(unsigned int i)
{
	const unsigned int nr = sizeof(fields) / sizeof(*fields);

	if (i < nr)
		return fields[i].name;
	i -= nr;
	return i < sizeof(owns) / sizeof(*owns) ? owns[i].name : NULL;
}

bool dx_policy_knows(const char *name)
{
	const char *known;
	unsigned int i;

	for (i = 0; (known = dx_policy_name(i)); i++)
		if (!strcmp(known, name))
			return true;
	return false;
}

/** dx_policy_put - set a field by its name. Return: whether it exists and the value fits */
bool dx_policy_put(ThreadManagerPolicy *policy, const char *name, uint64_t value)
{
	const struct field *f;
	const struct own *o;

	for_each_field(f)
		if (!strcmp(f->name, name) && value <= UINT32_MAX) {
			*field_of(policy, f->dx) = (uint32_t)value;
			return true;
		}
	for (o = owns; o < owns + sizeof(owns) / sizeof(*owns); o++)
		if (!strcmp(o->name, name) && (o->size == sizeof(uint64_t) || value <= UINT32_MAX)) {
			if (o->size == sizeof(uint64_t))
				memcpy((char *)policy + o->dx, &value, sizeof(value));
			else
				*field_of(policy, (uint32_t)o->dx) = (uint32_t)value;
			return true;
		}
	return false;
}

static int ask_module(struct dxk_policy *abi)
{
	int ctl, ctx, rc;

	ctl = dxk_open();
	if (ctl < 0)
		return ctl;
	rc = ctx = dxk_ctx_create(ctl, NULL);
	if (ctx >= 0) {
		rc = dxk_policy_get(ctx, abi);
		close(ctx);
	}
	close(ctl);
	return rc;
}

int ThreadManagerPolicyInit(ThreadManagerPolicy *policy)
{
	const struct field *f;
	struct dxk_policy abi;
	uint32_t cpus = dx_cpus();
	int rc, cancel;

	memset(policy, 0, sizeof(*policy));
	policy->TPFetchMax = 1;
	rc = dx_library_init();
	if (!rc) {
		/* as an executive's, these descriptors are hidden from fork() */
		cancel = dx_lock();
		rc = ask_module(&abi);
		dx_unlock(cancel);
	}
	if (rc >= 0)
		from_abi(policy, &abi);
	else
		for_each_field(f)
			*field_of(policy, f->dx) = f->preset;
	policy->TPMaxThreads = cpus > THREADS_MAX ? THREADS_MAX : cpus;
	return rc < 0 ? rc : 0;
}

/* Checks the fields that the module does not know. Return: the name of the first bad one. */
static const char *check_own(const ThreadManagerPolicy *policy, const char **reason)
{
	pthread_attr_t attr;
	size_t i;
	int rc;

	if (policy->TPFetchMax < 1 || policy->TPFetchMax > DXK_BATCH_MAX)
		return *reason = "it is not in 1..64", "TPFetchMax";
	if (policy->TPLogWriter > DX_LOG_WRITER_KERNEL)
		return *reason = "it is no DX_LOG_WRITER_*", "TPLogWriter";
	if (policy->TPStackSize) {
		pthread_attr_init(&attr);
		rc = pthread_attr_setstacksize(&attr, policy->TPStackSize);
		pthread_attr_destroy(&attr);
		if (rc)
			return *reason = "it is less than a thread needs, or no size of a stack",
			       "TPStackSize";
	}
	for (i = 0; i < sizeof(policy->Reserved) / sizeof(*policy->Reserved); i++)
		if (policy->Reserved[i])
			return *reason = "it is not 0: ThreadManagerPolicyInit() comes first",
			       "Reserved";
	return NULL;
}

static int apply(MTExecutive *mte, const ThreadManagerPolicy *policy,
		 struct dxk_policy *abi, MTExecutiveError *error)
{
	const char *field = NULL, *reason = NULL;
	char why[DXK_POLICY_TEXT];
	unsigned int bad;
	int rc;

	rc = dxk_policy_get(mte->ctx, abi);
	if (rc < 0)
		goto refused;
	rc = -EINVAL;
	field = check_own(policy, &reason);
	if (field)
		goto refused;
	to_abi(abi, policy);
	rc = dxk_policy_set(mte->ctx, abi, &bad);
	field = name_of(bad);
	if (rc < 0) {
		reason = dxk_policy_why(abi, rc, bad, why, sizeof(why));
		goto refused;
	}
	return 0;

refused:
	dx_error_set(error, rc, "policy", field);
	reason_set(error, reason);
	return rc;
}

/* Takes over the policy fields that the library uses. Return: as dx_policy_start(). */
static int adopt(MTExecutive *mte, const struct dxk_policy *abi)
{
	mte->slot = (abi->data_size + SLOT_ALIGN - 1) / SLOT_ALIGN * SLOT_ALIGN;
	mte->handles.size = abi->handle_entries;
	mte->help = abi->on_block == DXK_ON_BLOCK_HELP;
	mte->waits = abi->max_waiting;
	mte->homes = abi->homes;
	return (int)(abi->max_threads - abi->kernel_threads);
}

/**
 * dx_policy_start - give the policy to the new context and to @mte
 * @mte: its context does not run
 * @policy: %NULL for the defaults
 * @error: out on failure
 *
 * Return: how many worker threads of this process the policy requires.
 */
int dx_policy_start(MTExecutive *mte, const ThreadManagerPolicy *policy,
		    MTExecutiveError *error)
{
	struct dxk_policy abi;
	int rc;

	if (policy) {
		rc = apply(mte, policy, &abi, error);
	} else {
		rc = dxk_policy_get(mte->ctx, &abi);
		dx_error_set(error, rc, "policy", NULL);
	}
	if (rc < 0)
		return rc;
	mte->fetch_max = policy ? policy->TPFetchMax : 1;
	mte->stack_size = policy ? policy->TPStackSize : 0;
	mte->env.log.kernel = policy && policy->TPLogWriter == DX_LOG_WRITER_KERNEL;
	return adopt(mte, &abi);
}

/**
 * dx_policy_tell_idle - log which fields of the policy have no effect
 * @mte: whose log
 * @policy: or %NULL
 */
void dx_policy_tell_idle(MTExecutive *mte, const ThreadManagerPolicy *policy)
{
	struct dxk_policy abi = { .size = sizeof(abi) };
	char why[DXK_POLICY_TEXT];
	unsigned int at = 0;

	if (!policy)
		return;
	to_abi(&abi, policy);
	while ((at = dxk_policy_idle(&abi, at, why, sizeof(why))))
		dx_log_own(mte, DX_LOG_WARNING, "policy: %s: %s", name_of(at), why);
}

/**
 * dx_policy_restart - the policy that a stopped context starts with again
 * @mte: no thread of it is a worker
 *
 * Return: as dx_policy_start().
 */
int dx_policy_restart(MTExecutive *mte)
{
	struct dxk_policy abi;
	int rc = dxk_policy_get(mte->ctx, &abi);

	return rc < 0 ? rc : adopt(mte, &abi);
}

static uint32_t own_log_writer(const MTExecutive *mte)
{
	return mte->env.log.kernel ? DX_LOG_WRITER_KERNEL : DX_LOG_WRITER_LIBRARY;
}

int MTExecutiveGetPolicy(MTExecutive *mte, ThreadManagerPolicy *policy)
{
	struct dxk_policy abi;
	int rc;

	rc = dx_context(&mte);
	if (rc)
		return rc;
	rc = dxk_policy_get(mte->ctx, &abi);
	if (rc < 0)
		return rc;
	memset(policy, 0, sizeof(*policy));
	from_abi(policy, &abi);
	policy->TPFetchMax = mte->fetch_max;
	policy->TPStackSize = mte->stack_size;
	policy->TPLogWriter = own_log_writer(mte);
	return 0;
}

/* Waits for the Monitor's next review, which makes the places for the crew of @abi. */
static void await_review(MTExecutive *mte, const struct dxk_policy *abi)
{
	static const struct timespec ms = { .tv_nsec = 1000000 };
	struct dxk_policy now;
	unsigned int i;

	for (i = 0; i < REVIEW_MS; i++) {
		if (dxk_policy_get(mte->ctx, &now) < 0 ||
		    (now.max_threads == abi->max_threads &&
		     now.kernel_threads == abi->kernel_threads) ||
		    dxk_crew_wait(mte->ctx, 0, NULL, NULL) == -ESHUTDOWN)
			return;
		nanosleep(&ms, NULL);
	}
}

static int policy_change(MTExecutive *mte, const ThreadManagerPolicy *policy,
			 MTExecutiveError *error)
{
	struct dxk_policy abi;
	int rc;

	rc = apply(mte, policy, &abi, error);
	if (rc < 0)
		return rc;
	await_review(mte, &abi);
	rc = dx_crew_start(mte);
	if (rc)
		dx_error_set(error, rc, "workers", NULL);
	else
		dx_policy_tell_idle(mte, policy);
	return rc;
}

int MTExecutiveSetPolicy(MTExecutive *mte, const ThreadManagerPolicy *policy,
			 MTExecutiveError *error)
{
	const char *field = NULL;
	int rc = dx_context(&mte), cancel;

	if (rc) {
		/* reported below */
	} else if (policy->TPFetchMax != mte->fetch_max ||
		   policy->TPStackSize != mte->stack_size ||
		   policy->TPLogWriter != own_log_writer(mte)) {
		rc = -EBUSY;
		field = policy->TPFetchMax != mte->fetch_max ? "TPFetchMax" :
			policy->TPStackSize != mte->stack_size ? "TPStackSize" :
								 "TPLogWriter";
	} else {
		/* A cancellation would leave an incomplete crew. */
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
		rc = policy_change(mte, policy, error);
		pthread_setcancelstate(cancel, NULL);
		return rc;
	}
	dx_error_set(error, rc, "policy", field);
	if (rc == -EBUSY)
		reason_set(error, "only a new executive takes another one");
	return rc;
}
