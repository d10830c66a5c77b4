// SPDX-License-Identifier: GPL-2.0-only
/*
 * The classes of <dx.hpp>: construction and destruction, virtual functions, exceptions that
 * do not reach the library, and owners. Built a second time with the address sanitizer.
 */
#include <atomic>
#include <ctime>
#include <exception>
#include <memory>
#include <pthread.h>
#include <stdexcept>
#include <sys/resource.h>
#include <type_traits>
#include <unistd.h>
#include <vector>

#include "libcpp.hpp"

namespace {

/* --- what cannot be done -------------------------------------------------------- */

template <class T> constexpr bool Stays()
{
	return !std::is_copy_constructible<T>::value && !std::is_copy_assignable<T>::value &&
	       !std::is_move_constructible<T>::value && !std::is_move_assignable<T>::value;
}

struct Nop : dx::Runnable {
	int ExecuteThisRequest(void *) override { return 0; }
};

static_assert(Stays<dx::MTExecutive>(), "an executive has an address");
static_assert(Stays<dx::ExecEnvironment>(), "an executive takes it over");
static_assert(Stays<Nop>(), "requests name a Runnable");
static_assert(Stays<dx::CommandHandler>(), "the executive names its handler");
static_assert(Stays<dx::Owner>(), "requests name their owner");
static_assert(std::is_abstract<dx::Runnable>::value, "a Runnable executes something");
static_assert(std::has_virtual_destructor<dx::Runnable>::value, "");
static_assert(!std::is_assignable<decltype(dx::RQPost::pXObject) &, Nop *>::value,
	      "an executor is the Runnable of C in it");

/* --- the sequence of the DX document --------------------------------------------- */

struct Job {
	Job *top;
	int number;
	bool done;
};

/* DX-104..DX-106: a singleton that executes the top-level request and the others. */
class Singleton : public dx::RunnableOf<Job> {
public:
	int Execute(Job &job) override
	{
		const dx::RQElement *me = dx::CurrentRequest();

		wrong += me->pPObject != &job || dx::Runnable::From(me->pXObject) != this;
		if (job.top) {
			Overlap();
			job.done = true;
			return 100 + job.number;
		}

		std::vector<Job> jobs(8);
		dx::Owner owner(&job);
		dx::RQElement element;
		int number = 0;

		for (Job &sub : jobs) {
			sub = Job{ &job, number++, false };
			wrong += owner.PostARequest(&sub, this, 10) != 0;
		}
		while (owner.GetRejoinElement(element) == RJR_RETURNED) {
			Job *sub = static_cast<Job *>(element.pPObject);

			wrong += !sub->done || element.RQEStatus != 100 + sub->number;
			number--;
		}
		wrong += number || owner.GetRejoinRequest(nullptr) != RJR_NONE_EXIST;
		return 42;
	}

	std::atomic<int> wrong{ 0 }, inside{ 0 }, most{ 0 };

private:
	/* Stay until there is another one, for a while. */
	void Overlap()
	{
		timespec ms = { 0, 1000000 };
		int now = ++inside;

		for (int i = 0; i < 10000 && most < 2; i++) {
			if (now > most)
				most = now;
			::nanosleep(&ms, nullptr);
			now = inside;
		}
		--inside;
	}
};

void Sequence()
{
	Settings settings;
	Policy policy(4);
	Singleton singleton;
	Job top = { nullptr, 0, false };
	dx::MTExecutive executive(settings, policy);
	dx::RQElement element;
	dx::Owner owner(executive);

	EXPECT(executive.ThreadId() == 0);
	EXPECT(executive.ContextId() >= 0);
	EXPECT(executive.Elapsed() > 0);
	EXPECT(owner.PostARequest(&top, &singleton, 0) == 0);
	EXPECT(owner.GetRejoinElement(element, Patience) == RJR_RETURNED);
	EXPECT(element.RQEStatus == 42 && element.pPObject == &top);
	EXPECT(owner.RejoinWait(nullptr) == RJR_NONE_EXIST);
	EXPECT(singleton.wrong == 0);
	/* three can be there when the first one looks */
	EXPECT(singleton.most >= 2);
	EXPECT(executive.Stop() == 0);
	EXPECT(owner.PostARequest(&top, &singleton, 0) == -ESHUTDOWN);
}

/* --- the run time ---------------------------------------------------------------- */

/* The one that looks at who executes it. */
class Looker : public dx::Runnable {
public:
	explicit Looker(dx::ThreadManager manager) : manager_(manager) {}

	int ExecuteThisRequest(void *) override
	{
		auto id = static_cast<unsigned int>(::MTExecutiveThreadId(nullptr));
		dx::WorkerThread me = manager_.Worker(id);

		EXPECT(me.Id() == id);
		EXPECT(me.Role() == "user-worker");
		EXPECT(me.State() == "busy");
		EXPECT(me.Executes().find("lane 3") == 0);
		EXPECT(manager_.Busy() == 1);
		return 0;
	}

private:
	dx::ThreadManager manager_;
};

void Threads()
{
	Settings settings;
	Policy policy(2);
	dx::MTExecutive executive(settings, policy);
	dx::ThreadManager manager(executive);
	::ThreadManagerPolicy now;
	Looker looker(manager);
	dx::Owner owner(executive);
	int request = 0;

	EXPECT(manager.State() == "running");
	EXPECT(manager.GetPolicy(now) == 0 && now.TPMaxThreads == 2);
	EXPECT(manager.Monitor().Id() == 500 && manager.Monitor().Role() == "monitor");
	EXPECT(manager.Scheduler().Role() == "scheduler");
	EXPECT(manager.Dispatcher().Role() == "dispatcher");
	EXPECT(!manager.Monitor().State().empty());
	EXPECT(owner.PostARequest(&request, &looker, 0) == 0);
	EXPECT(owner.RejoinWait(nullptr) == RJR_RETURNED);
	EXPECT(manager.Worker(1).Executed() + manager.Worker(2).Executed() == 1);
	EXPECT(manager.Worker(499).State().empty() || manager.Worker(499).State() == "vacant");
	EXPECT(manager.Stop() == 0 && manager.State() == "stopped");
	EXPECT(manager.Start() == 0 && manager.State() == "running");
}

/* --- construction ---------------------------------------------------------------- */

void Construction()
{
	Settings settings;
	Policy policy(2);
	std::string step, field, text;
	int code = 0;

	policy.TPLanePct[1] = 101;
	try {
		dx::MTExecutive executive(settings, policy);
	} catch (const dx::StartError &e) {
		step = e.Step();
		field = e.Field();
		text = e.what();
		code = e.code().value();
	}
	EXPECT(step == "policy");
	EXPECT(field == "TPLanePct[1]");
	EXPECT(text == "policy TPLanePct[1]: Invalid argument; 101 is not in 0..100");
	EXPECT(code == EINVAL);
	EXPECT(dx::RejoinWait(&step, nullptr, 0) == -ENXIO);

	/* the defaults, and what can be changed afterwards */
	dx::MTExecutive executive(settings);
	::ThreadManagerPolicy now;

	EXPECT(executive.GetPolicy(now) == 0);
	EXPECT(now.TPReadyEntries == 1024);
	now.TPReadyEntries = 5;
	MTExecutiveError error;
	EXPECT(executive.SetPolicy(now, &error) == -EBUSY);
	EXPECT(!std::strcmp(error.Field, "TPReadyEntries"));
}

/* --- exceptions ------------------------------------------------------------------ */

struct Guard {
	explicit Guard(std::atomic<int> &n) : count(n) {}
	~Guard() { count++; }
	std::atomic<int> &count;
};

class Thrower : public dx::Runnable {
public:
	int ExecuteThisRequest(void *request) override
	{
		Guard guard(unwound);

		switch (*static_cast<int *>(request)) {
		case 0:
			throw std::system_error(ENOSPC, std::generic_category(), "full");
		case 1:
			throw std::bad_alloc();
		case 2:
			throw std::runtime_error("out of order");
		case 3:
			throw 3;
		case 4:
			throw std::system_error(std::make_error_code(std::io_errc::stream));
		case 5:
			::pthread_exit(nullptr);
		}
		return 7;
	}
	std::atomic<int> unwound{ 0 };
};

/* What leaves a Runnable is its status, and the worker goes on. */
void Exceptions()
{
	static const int expected[] = { -ENOSPC, -ENOMEM, dx::StatusUncaught,
					dx::StatusUncaught, dx::StatusUncaught,
					-EOWNERDEAD, 7 };
	constexpr int nr = sizeof(expected) / sizeof(*expected);
	int which[nr];

	unlink(Log);
	{
		Settings settings;
		Policy policy(1);
		Thrower thrower;
		dx::MTExecutive executive(settings, policy);
		dx::RQElement element;
		dx::Owner owner;

		for (int i = 0; i < nr; i++) {
			which[i] = i;
			EXPECT(owner.PostARequest(&which[i], &thrower, 0) == 0);
			EXPECT(owner.GetRejoinElement(element, Patience) == RJR_RETURNED);
			EXPECT(element.RQEStatus == expected[i]);
		}
		EXPECT(thrower.unwound == nr);
	}
	EXPECT(Logged("an exception left ExecuteThisRequest: full"));
	EXPECT(Logged("an exception left ExecuteThisRequest: out of order"));
}

/* A Runnable whose requests lie in the block that an exception ends. */
class Leaver : public dx::Runnable {
public:
	int ExecuteThisRequest(void *request) override
	{
		timespec ms = { 0, 1000000 };

		if (request) {
			for (int i = 0; i < 20; i++)
				::nanosleep(&ms, nullptr);
			/* it must still be there */
			++*static_cast<int *>(request);
			executed++;
			return 0;
		}
		std::unique_ptr<int[]> parts(new int[10]());
		dx::Owner owner;

		for (int i = 0; i < 10; i++)
			if (owner.PostARequest(&parts[i], this, 1,
					       i % 2 ? PXR_REJOIN : 0))
				throw std::logic_error("not posted");
		throw std::system_error(EPIPE, std::generic_category(), "leaves");
	}
	std::atomic<int> executed{ 0 };
};

void OwnersWait()
{
	Settings settings;
	Policy policy(3);
	Leaver leaver;
	dx::MTExecutive executive(settings, policy);
	dx::RQElement element;
	dx::Owner owner(executive);

	EXPECT(owner.PostARequest(nullptr, &leaver, 0) == 0);
	EXPECT(owner.GetRejoinElement(element, Patience) == RJR_RETURNED);
	EXPECT(element.RQEStatus == -EPIPE);
	EXPECT(leaver.executed == 10);
}

class Held : public dx::Runnable {
public:
	int ExecuteThisRequest(void *) override
	{
		begun = true;
		while (!leave)
			Nap();
		ended = true;
		return 0;
	}
	static void Nap() { ::usleep(1000); }
	std::atomic<bool> begun{ false }, leave{ false }, ended{ false };
};

struct Deletion {
	dx::Owner *owner;
	Held *held;
	std::atomic<bool> begun{ false };
	bool too_early = false;
};

void *Delete(void *arg)
{
	auto deletion = static_cast<Deletion *>(arg);

	deletion->begun = true;
	delete deletion->owner;
	deletion->too_early = !deletion->held->ended;
	return nullptr;
}

/* Its thread needs a descriptor for its first call, and there is none: ~Owner waits. */
void OwnersAreShort()
{
	Settings settings;
	Policy policy(1);
	Held held;
	dx::MTExecutive executive(settings, policy);
	Deletion deletion;
	struct rlimit limit, few;
	std::vector<int> fds;
	pthread_t thread;
	int fd;

	deletion.owner = new dx::Owner(executive);
	deletion.held = &held;
	EXPECT(deletion.owner->PostARequest(nullptr, &held, 0) == 0);
	while (!held.begun)
		Held::Nap();
	::getrlimit(RLIMIT_NOFILE, &limit);
	few = limit;
	few.rlim_cur = 64;
	::setrlimit(RLIMIT_NOFILE, &few);
	while ((fd = ::dup(0)) >= 0)
		fds.push_back(fd);
	EXPECT(::pthread_create(&thread, nullptr, Delete, &deletion) == 0);
	while (!deletion.begun)
		Held::Nap();
	/* time enough to give up */
	::usleep(100000);
	for (int other : fds)
		::close(other);
	::setrlimit(RLIMIT_NOFILE, &limit);
	held.leave = true;
	::pthread_join(thread, nullptr);
	EXPECT(!deletion.too_early);
}

/* --- without an executive, and before it ------------------------------------------ */

/* The same code with one thread and with many. */
void Answers()
{
	class Twice : public dx::RunnableOf<int> {
	public:
		int Execute(int &number) override
		{
			if (number < 0)
				throw std::system_error(ERANGE, std::generic_category());
			return 2 * number;
		}
	} twice;
	int numbers[] = { 1, 2, -1 };
	dx::RQElement element;
	dx::Owner owner;
	int sum = 0;

	for (int &number : numbers)
		EXPECT(!owner.PostARequest(&number, &twice, 0));
	while (owner.GetRejoinElement(element) == RJR_RETURNED)
		sum += element.RQEStatus;
	EXPECT(sum == 6 - ERANGE);
}

void Environment()
{
	Settings settings;
	dx::ExecEnvironment env(settings);
	dx::ElapsedTimer timer;
	bool thrown = false;

	EXPECT(!dx::LogMessage("before the executive"));
	EXPECT(Logged("before the executive"));
	Answers();
	try {
		dx::ExecEnvironment another(settings);
	} catch (const dx::StartError &e) {
		thrown = e.code().value() == EEXIST;
	}
	EXPECT(thrown);
	/* One after the other, for the operands of >= are read in either order. */
	std::uint64_t lap = timer.Lap(), read = timer.Read();

	EXPECT(lap && read >= lap && env.Elapsed() >= read);

	dx::MTExecutive mte(env, Policy(2));
	Answers();
	read = timer.Read();
	EXPECT(!env.Elapsed() && mte.Elapsed() > read);
}

const Test tests[] = {
	{ "sequence", Sequence },
	{ "threads", Threads },
	{ "construction", Construction },
	{ "exceptions", Exceptions },
	{ "owners_wait", OwnersWait },
	{ "owners_are_short", OwnersAreShort },
	{ "environment", Environment },
};

} /* namespace */

int main()
{
	return RunTests(tests);
}
