// SPDX-License-Identifier: GPL-2.0-only
/* See puppet.h. */
#define DXT_NO_HARNESS
#include "lib/puppet.h"

static void *puppet_thread(void *arg)
{
	struct puppet *p = arg;
	int fd = dxk_member_create_home(p->t->ctx, p->kind, &p->home, &p->id);

	pthread_mutex_lock(&p->lock);
	p->fd = fd;
	p->made = fd < 0 ? fd : 0;
	p->call = NULL;
	pthread_cond_broadcast(&p->cond);
	while (fd >= 0) {
		while (!p->call && !p->quit)
			pthread_cond_wait(&p->cond, &p->lock);
		if (!p->call)
			break;
		pthread_mutex_unlock(&p->lock);
		p->call(p);
		pthread_mutex_lock(&p->lock);
		p->call = NULL;
		pthread_cond_broadcast(&p->cond);
	}
	pthread_mutex_unlock(&p->lock);
	if (fd >= 0)
		close(fd);
	return NULL;
}

bool puppet_busy(struct puppet *p)
{
	bool busy;

	pthread_mutex_lock(&p->lock);
	busy = p->call;
	pthread_mutex_unlock(&p->lock);
	return busy;
}

static void puppet_ignore(int sig)
{
	(void)sig;
}

void puppet_signals(bool restart)
{
	struct sigaction sa = {
		.sa_handler = puppet_ignore,
		.sa_flags = restart ? SA_RESTART : 0,
	};

	sigaction(DXT_NUDGE, &sa, NULL);
}

/* What the thread begins with: it becomes a member. */
static void puppet_birth(struct puppet *p)
{
	(void)p;
}

static struct puppet *puppet_make(struct dxt *t, enum dxk_member_kind kind, unsigned int home)
{
	struct puppet *p = calloc(1, sizeof(*p));
	pthread_attr_t small;

	if (!p)
		abort();
	p->t = t;
	p->kind = kind;
	p->home = home;
	p->call = puppet_birth;
	p->data = calloc(PUP_BATCH, PUP_DATA);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->cond, NULL);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 128 * 1024);
	if (!p->data || pthread_create(&p->thread, &small, puppet_thread, p))
		abort();
	pthread_mutex_lock(&p->lock);
	while (p->call)
		pthread_cond_wait(&p->cond, &p->lock);
	pthread_mutex_unlock(&p->lock);
	return p->made ? NULL : p;
}

struct puppet *puppet_new(struct dxt *t, enum dxk_member_kind kind)
{
	return puppet_make(t, kind, 0);
}

struct puppet *puppet_new_home(struct dxt *t, unsigned int home)
{
	return puppet_make(t, DXK_MEMBER_WORKER, home);
}

void puppet_free(struct puppet *p)
{
	pthread_mutex_lock(&p->lock);
	p->quit = true;
	pthread_cond_broadcast(&p->cond);
	pthread_mutex_unlock(&p->lock);
	puppet_signals(false);
	while (pthread_tryjoin_np(p->thread, NULL) == EBUSY) {
		pthread_kill(p->thread, DXT_NUDGE);
		dxt_sleep_ms(1);
	}
	free(p->data);
	free(p);
}

void puppets_new(struct dxt *t, struct puppet **p, unsigned int nr,
		 enum dxk_member_kind kind)
{
	while (nr--)
		*p++ = puppet_new(t, kind);
}

void puppets_free(struct puppet **p, unsigned int nr)
{
	while (nr--)
		puppet_free(*p++);
}

bool puppet_sleeps(struct puppet *p)
{
	char state[32];

	return puppet_busy(p) &&
	       dxt_text(p->t, state, sizeof(state), "threads/%u/state", p->id) &&
	       (!strcmp(state, "available") || !strcmp(state, "posting") ||
		!strcmp(state, "rejoining") || !strcmp(state, "completing") ||
		!strcmp(state, "entering") || !strcmp(state, "condition"));
}

bool puppet_begin(struct puppet *p, void (*call)(struct puppet *p))
{
	bool sleeps = false;

	pthread_mutex_lock(&p->lock);
	p->ret = -EINPROGRESS;
	p->call = call;
	pthread_cond_broadcast(&p->cond);
	pthread_mutex_unlock(&p->lock);
	if (!DXT_UNTIL(p->t, !puppet_busy(p) || (sleeps = puppet_sleeps(p))))
		fprintf(stderr, "# thread %u neither returns nor sleeps\n", p->id);
	return sleeps;
}

long puppet_end(struct puppet *p)
{
	return DXT_UNTIL(p->t, !puppet_busy(p)) ? p->ret : -ETIME;
}

void puppet_signal(struct puppet *p)
{
	pthread_kill(p->thread, DXT_NUDGE);
}

/* --- posting --------------------------------------------------------------- */

static void puppet_call_post(struct puppet *p)
{
	p->ret = dxt_ioctl(p->fd, DXK_IOC_POST, &p->post);
}

bool puppet_post(struct puppet *p, unsigned int nr, uint64_t deadline)
{
	p->post = (struct dxk_post){
		.size = sizeof(p->post),
		.deadline = deadline,
		.entries = DXT_PTR(p->entry),
		.nr = nr,
		.entry_size = sizeof(p->entry[0]),
		.index = DXT_POISON32,
		.reason = DXT_POISON32,
	};
	return puppet_begin(p, puppet_call_post);
}

bool puppet_post1(struct puppet *p, uint64_t param, uint32_t attrs)
{
	p->entry[0] = dxt_entry(1, 0, param, attrs | PXR_WAITIF_BUSY);
	return puppet_post(p, 1, DXK_FOREVER);
}

/* --- rejoining ------------------------------------------------------------- */

void puppet_call_rejoin(struct puppet *p)
{
	p->ret = dxt_ioctl(p->fd, DXK_IOC_REJOIN, &p->rejoin);
}

bool puppet_rejoin(struct puppet *p, uint64_t owner, unsigned int nr,
		   unsigned int min, uint64_t deadline)
{
	dxt_poison(p->result, sizeof(p->result));
	p->rejoin = (struct dxk_rejoin){
		.size = sizeof(p->rejoin),
		.owner = owner,
		.deadline = deadline,
		.results = DXT_PTR(p->result),
		.nr = nr,
		.result_size = sizeof(p->result[0]),
		.min = min,
		.answer = DXT_POISON32,
	};
	return puppet_begin(p, puppet_call_rejoin);
}

/* --- posting and rejoining ------------------------------------------------- */

void puppet_call_trip(struct puppet *p)
{
	p->ret = dxt_ioctl(p->fd, DXK_IOC_CALL, &p->trip);
}

bool puppet_trip(struct puppet *p, unsigned int nr, unsigned int min, uint64_t deadline)
{
	dxt_poison(p->result, sizeof(p->result));
	p->trip = (struct dxk_roundtrip){
		.size = sizeof(p->trip),
		.deadline = deadline,
		.entries = DXT_PTR(p->entry),
		.results = DXT_PTR(p->result),
		.nr = nr,
		.entry_size = sizeof(p->entry[0]),
		.result_size = sizeof(p->result[0]),
		.min = min,
		.index = DXT_POISON32,
		.reason = DXT_POISON32,
		.answer = DXT_POISON32,
		.taken = DXT_POISON32,
	};
	return puppet_begin(p, puppet_call_trip);
}

/* --- working --------------------------------------------------------------- */

void puppet_call_next(struct puppet *p)
{
	p->ret = dxt_ioctl(p->fd, DXK_IOC_NEXT, &p->next);
	if (p->ret > 0)
		p->held += p->ret;
	/* completions that were not taken are still the worker's */
	p->held -= p->next.nr_taken;
	memmove(p->work, p->work + p->next.nr_taken, p->held * sizeof(p->work[0]));
}

bool puppet_next(struct puppet *p, unsigned int done, int status,
		 unsigned int max, uint64_t deadline)
{
	unsigned int i, behind = p->held;

	for (i = 0; i < done; i++)
		p->done[i] = (struct dxk_done){
			.ticket = p->work[i].ticket,
			.status = status,
		};
	p->next = (struct dxk_next){
		.size = sizeof(p->next),
		.deadline = deadline,
		.done = DXT_PTR(p->done),
		.work = DXT_PTR(&p->work[behind]),
		.data = DXT_PTR(p->data),
		.nr_done = done,
		.done_size = done ? sizeof(p->done[0]) : 0,
		.nr_work = max,
		.work_size = max ? sizeof(p->work[0]) : 0,
		.data_stride = PUP_DATA,
	};
	return puppet_begin(p, puppet_call_next);
}

bool puppet_ask(struct puppet *p)
{
	return puppet_next(p, 0, 0, 1, DXK_FOREVER);
}

long puppet_fetch(struct puppet *p)
{
	puppet_ask(p);
	return puppet_end(p);
}

long puppet_finish(struct puppet *p, int status)
{
	unsigned int before = p->held;

	if (!before)
		return 0;
	puppet_next(p, before, status, 0, 0);
	return p->next.nr_taken == before ? p->ret : -ESTALE;
}

long puppet_finish_data(struct puppet *p, const void *data, unsigned int len)
{
	p->done[0] = (struct dxk_done){
		.ticket = p->work[0].ticket,
		.data = DXT_PTR(data),
		.data_len = len,
	};
	p->next = (struct dxk_next){
		.size = sizeof(p->next),
		.done = DXT_PTR(p->done),
		.nr_done = 1,
		.done_size = sizeof(p->done[0]),
	};
	puppet_begin(p, puppet_call_next);
	return puppet_end(p);
}

/* --- others ---------------------------------------------------------------- */

uint32_t rnd(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

uint64_t the_seed(void)
{
	static _Atomic uint64_t seed;
	const char *given = getenv("DXK_SEED");

	if (!seed)
		seed = given ? strtoull(given, NULL, 0) : dxt_now();
	return seed;
}

bool stall_comes(const struct dxt *t, long long before)
{
	return DXT_WITHIN(dxt_stall_ns(), dxt_num(t, "stats/stalls") > before);
}

int times_of(int nr)
{
	return dxt_debug_kernel() ? (nr + 4) / 5 : nr;
}

void no_periods(struct dxt *t)
{
	t->policy.sched_interval_ms = 3600000;
	t->policy.monitor_interval_ms = 3600000;
	t->policy.dispatch_interval_ms = 3600000;
}

void no_sweeps(struct dxt *t)
{
	t->policy.sched_interval_ms = 3600000;
	t->policy.dispatch_interval_ms = 3600000;
}

void use_cmls(struct dxt *t)
{
	t->policy.sched_mode = TPOOL_MODE_CMLS;
	t->policy.lane_pct[0] = 0;
	t->policy.lane_pct[1] = 20;
	t->policy.lane_pct[2] = 20;
}

uint32_t lane_attr(unsigned int lane)
{
	static const uint32_t attr[] = { PXR_LANE0, PXR_LANE1, PXR_LANE2, 0 };

	return attr[lane];
}

struct dxk_post_entry prio_entry(uint64_t owner, uint64_t param,
				 int prio, uint32_t attrs)
{
	struct dxk_post_entry e = dxt_entry(owner, 0, param, attrs);

	e.prio = prio;
	return e;
}

uint32_t poll_owner(const struct dxt *t, uint64_t owner)
{
	struct dxk_result r;
	uint32_t answer = 0;

	return dxt_rejoin(t->member, owner, &r, 1, 1, 0, &answer) < 0 ? 0 : answer;
}
