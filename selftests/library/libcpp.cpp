// SPDX-License-Identifier: GPL-2.0-only
/*
 * The classes of <dx.hpp>: what they add to <dx.h>, construction and destruction,
 * virtual functions, and exceptions that do not reach the library. Built a second time
 * with the address sanitizer.
 */
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <fstream>
#include <memory>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <type_traits>
#include <unistd.h>
#include <vector>

#include <dx.hpp>

namespace {

const char Log[] = "/tmp/dxk-cpp-test.log";
constexpr std::int64_t Patience = 60 * 1000000000LL;

int failures;

#define EXPECT(condition)							\
	do {									\
		if (!(condition)) {						\
			std::printf("# %s:%d: %s\n", __FILE__, __LINE__,	\
				    #condition);				\
			failures++;						\
		}								\
	} while (0)

bool Logged(const std::string &text)
{
	std::ifstream in(Log);
	std::string line;

	while (std::getline(in, line))
		if (line.find(text) != std::string::npos)
			return true;
	return false;
}

class Settings : public dx::RunSettings {
public:
	Settings() : dx::RunSettings("libcpp")
	{
		LogPath = Log;
	}
	unsigned int pages = 7;		/* DX-1: an application's own */
};

class Policy : public dx::ThreadManagerPolicy {
public:
	explicit Policy(unsigned int threads)
	{
		const char *mode = std::getenv("DXK_DISPATCH");

		TPMaxThreads = threads;
		TPMonitorInterval = 10;
		TPDispatch = mode && !std::strcmp(mode, "thread") ? DXK_DISPATCH_THREAD :
								     DXK_DISPATCH_DIRECT;
	}
};

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

/* --- construction ---------------------------------------------------------------- */

void Construction()
{
	Settings settings;
	Policy policy(2);
	std::string step, field;
	int code = 0;

	policy.TPLanePct[1] = 101;
	try {
		dx::MTExecutive executive(settings, policy);
	} catch (const dx::StartError &e) {
		step = e.Step();
		field = e.Field();
		code = e.code().value();
	}
	EXPECT(step == "policy");
	EXPECT(field == "TPLanePct[1]");
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

/* --- commands -------------------------------------------------------------------- */

class Handler : public dx::CommandHandler {
public:
	void Tick() override
	{
		if (ticks++ == 1)
			throw std::runtime_error("tick");
	}
	int HandleCommand(const std::string &command, std::string &reply) override
	{
		if (command == "hello") {
			reply = "world";
			return 0;
		}
		if (command == "long") {
			reply.assign(100000, 'x');
			return 0;
		}
		if (command == "throw")
			throw std::system_error(EDOM, std::generic_category(), "command");
		return -ENOENT;
	}
	std::atomic<int> ticks{ 0 };
};

/* DX-29..DX-31 */
void Commands()
{
	timespec ms = { 0, 1000000 };

	unlink(Log);
	{
		Settings settings;
		Policy policy(1);
		Handler handler;
		dx::CommandHandler silent;
		dx::MTExecutive executive(settings, policy);
		std::string reply;

		EXPECT(executive.AttachCommandHandler(&handler) == 0);
		EXPECT(executive.SendCommand("hello", reply) == 5);
		EXPECT(reply == "world");
		EXPECT(executive.SendCommand("long", reply) == DXK_COMMAND_MAX);
		EXPECT(reply.size() == DXK_COMMAND_MAX);
		EXPECT(executive.SendCommand("throw", reply) == -EDOM);
		EXPECT(executive.SendCommand("show commands", reply) > 0);
		EXPECT(executive.SendCommand("no such", reply) == -ENOENT);
		for (int i = 0; i < 60000 && handler.ticks < 4; i++)
			::nanosleep(&ms, nullptr);
		EXPECT(handler.ticks >= 4);
		EXPECT(dx::AttachCommandHandler(&silent) == 0);
		EXPECT(dx::SendCommand("hello", reply) == -ENOENT);
		EXPECT(dx::AttachCommandHandler(nullptr) == 0);
		/* with one attached at the end: it goes after the executive */
		EXPECT(executive.AttachCommandHandler(&handler) == 0);
	}
	EXPECT(Logged("an exception left Tick: tick"));
	EXPECT(Logged("an exception left HandleCommand: command"));
}

/* --- handles --------------------------------------------------------------------- */

class Handles : public dx::HandleClass {
public:
	int OpenHandle(void *native, void **own) override
	{
		if (fail)
			throw std::bad_alloc();
		opens++;
		*own = new int(*static_cast<int *>(native));
		return 0;
	}
	void CloseHandle(void *own) override
	{
		delete static_cast<int *>(own);
		closes++;
		throw 1;
	}
	std::atomic<bool> fail{ true };
	std::atomic<int> opens{ 0 }, closes{ 0 };
};

struct User : dx::Runnable {
	int ExecuteThisRequest(void *request) override
	{
		void *own;
		int rc = dx::GetThreadHandle(request, &own);

		return rc ? rc : *static_cast<int *>(own);
	}
};

/* DX-16, DX-26 */
void HandleTable()
{
	Settings settings;
	Policy policy(1);
	Handles handles;
	User user;
	int native = 33;

	{
		dx::MTExecutive executive(settings, policy);
		dx::RQElement element;
		dx::Owner owner(executive);

		EXPECT(executive.HandleTableAdd(&handles, &native) == 0);
		EXPECT(owner.PostARequest(&native, &user, 0) == 0);
		EXPECT(owner.GetRejoinElement(element, Patience) == RJR_RETURNED);
		EXPECT(element.RQEStatus == -ENOMEM);
		handles.fail = false;
		for (int i = 0; i < 2; i++) {
			EXPECT(owner.PostARequest(&native, &user, 0) == 0);
			EXPECT(owner.GetRejoinElement(element, Patience) == RJR_RETURNED);
			EXPECT(element.RQEStatus == 33);
		}
		EXPECT(executive.HandleTableRemove(&native) == 1);
	}
	EXPECT(handles.opens == 1);
	EXPECT(handles.closes == 1);
}

/* --- help ------------------------------------------------------------------------ */

/* D-4 with one worker, which is in all of the requests at a time. */
struct Nested : dx::Runnable {
	int ExecuteThisRequest(void *request) override
	{
		int depth = *static_cast<int *>(request), deeper = depth + 1;
		const dx::RQElement *me = dx::CurrentRequest();
		dx::RQElement element;
		dx::Owner owner;

		if (depth == 3)
			throw std::system_error(EILSEQ, std::generic_category(), "bottom");
		if (owner.PostARequest(&deeper, this, 0) ||
		    owner.GetRejoinElement(element) != RJR_RETURNED)
			return -1;
		if (dx::CurrentRequest() != me)
			return -2;
		return element.RQEStatus;
	}
};

void Help()
{
	Settings settings;
	Policy policy(1);
	Nested nested;
	int depth = 0;

	policy.TPOnBlock = DXK_ON_BLOCK_HELP;
	dx::MTExecutive executive(settings, policy);
	dx::RQElement element;
	dx::Owner owner(executive);

	EXPECT(owner.PostARequest(&depth, &nested, 0) == 0);
	EXPECT(owner.GetRejoinElement(element, Patience) == RJR_RETURNED);
	EXPECT(element.RQEStatus == -EILSEQ);
}

/* One worker: the request that ends its thread is executed in the wait of the other. */
struct Quitter : dx::Runnable {
	int ExecuteThisRequest(void *request) override
	{
		dx::Owner owner;

		if (request)
			::pthread_exit(nullptr);
		return owner.PostARequest(this, this, 0);
	}
};

/* Its owner cannot be left: std::terminate(). */
void QuitInHelp()
{
	pid_t pid = ::fork();
	int status = 0;

	if (!pid) {
		Settings settings;
		Policy policy(1);
		Quitter quitter;

		policy.TPOnBlock = DXK_ON_BLOCK_HELP;
		std::set_terminate([] { ::_exit(42); });
		dx::MTExecutive executive(settings, policy);
		dx::Owner owner(executive);

		owner.PostARequest(nullptr, &quitter, 0);
		owner.RejoinWait(nullptr, Patience);
		::_exit(1);
	}
	EXPECT(::waitpid(pid, &status, 0) == pid);
	EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 42);
}

const struct {
	const char *name;
	void (*run)();
} tests[] = {
	{ "sequence", Sequence },	{ "construction", Construction },
	{ "exceptions", Exceptions },	{ "owners_wait", OwnersWait },
	{ "commands", Commands },	{ "handle_table", HandleTable },
	{ "help", Help },		{ "quit_in_help", QuitInHelp },
	{ "owners_are_short", OwnersAreShort },
};

} /* namespace */

int main()
{
	int nr = 0, failed = 0;

	std::printf("TAP version 13\n1..%zu\n", sizeof(tests) / sizeof(*tests));
	for (const auto &test : tests) {
		failures = 0;
		try {
			test.run();
		} catch (const std::exception &e) {
			std::printf("# %s: %s\n", test.name, e.what());
			failures++;
		}
		std::printf("%sok %d %s\n", failures ? "not " : "", ++nr, test.name);
		std::fflush(stdout);
		failed |= failures;
	}
	return failed ? 1 : 0;
}
