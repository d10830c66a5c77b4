/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libdxk, the DX API for C++11 and later: the classes of the Domino eXplorer, on top
 * of <dx.h> and of nothing else. Link with -ldxk as a C program does.
 *
 * All is in the namespace dx. A class has the name, and a member the name and the
 * answers, of what it stands for in <dx.h>, where the texts are; functions that need
 * no class are the same ones, dx::RejoinWait() is ::RejoinWait().
 *
 * Errors are return values, as in C. Only constructors throw, and what they throw is
 * a std::exception.
 *
 * Exceptions do not leave a call-back of the library: one that leaves
 * ExecuteThisRequest(), HandleCommand() or OpenHandle() becomes its return value
 * (dx::StatusOfException()) and a line in the log; one that leaves Tick() or
 * CloseHandle() a line in the log. pthread_exit() in ExecuteThisRequest() works as in
 * C and runs destructors on its way. Not with %DXK_ON_BLOCK_HELP: what waits below such
 * a request is left as well, and an Owner among it, which cannot be, calls
 * std::terminate().
 */
#ifndef _DX_HPP
#define _DX_HPP

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <new>
#include <pthread.h>
#include <string>
#include <system_error>

#if defined(__cpp_impl_coroutine)
#include <coroutine>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#endif

#include <dx.h>

namespace dx {

using ::CancelCommand;
using ::CancelRequest;
using ::CancelRequests;
using ::CurrentRequest;
using ::FindKernelExecutor;
using ::GetRejoinElement;
using ::RejoinAll;
using ::GetRejoinRequest;
using ::GetRejoinRequests;
using ::GetThreadHandle;
using ::InstrumentAdd;
using ::InstrumentSet;
using ::LabelObject;
using ::HandleTableRemove;
using ::LogLevel;
using ::LogMessage;
using ::LogMessageAt;
using ::LogRecord;
using ::LogRotate;
using ::LogSink;
using ::MTExecutiveGetState;
using ::PostRequests;
using ::ReleaseThreadHandle;
using ::RejoinWait;
using ::RequestState;
using ::RQElement;
using ::RQOptions;
using ::RQPost;
using ::SendCommandAt;
using ::SendCommandEvery;
using ::SendCommandTo;
using ::SetRequestResult;
using ::ShouldStop;
using ::TakeRequestFd;
using ::WakeRequest;

/* The status of a request whose Runnable threw what stands for no errno. */
constexpr int StatusUncaught = -ENOTRECOVERABLE;

/*
 * StatusOfException - the exception that is being handled, as a status
 *
 * For use in a catch clause. Return: the negative errno that a std::system_error of
 * the generic or the system category carries, -ENOMEM for std::bad_alloc, else
 * StatusUncaught.
 */
inline int StatusOfException()
{
	try {
		throw;
	} catch (const std::system_error &e) {
		const std::error_category &kind = e.code().category();
		int value = e.code().value();

		if ((kind == std::generic_category() || kind == std::system_category()) &&
		    value > 0 && value < 4096)
			return -value;
	} catch (const std::bad_alloc &) {
		return -ENOMEM;
	} catch (...) {
	}
	return StatusUncaught;
}

namespace detail {

/* In a catch clause: what was thrown, to the log. */
inline int Uncaught(const char *where)
{
	int status = StatusOfException();

	try {
		throw;
	} catch (const std::exception &e) {
		::LogMessage("an exception left %s: %s", where, e.what());
	} catch (...) {
		::LogMessage("an exception left %s", where);
	}
	return status;
}

/* Runs @f on behalf of C code, which no exception may cross. */
template <class F> int Guarded(const char *where, F f)
{
	try {
		return f();
	} catch (...) {
		/* What is no exception of C++ is the end of the thread. */
		if (!std::current_exception())
			throw;
		return Uncaught(where);
	}
}

/* Is @rc a shortage, after which the same call can succeed? */
constexpr bool IsShortage(int rc)
{
	return rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM;
}

/* 10 ms, also in a thread that is being cancelled. */
inline void Pause() noexcept
{
	struct timespec ts = {};
	int cancel;

	ts.tv_nsec = 10000000;
	::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	::nanosleep(&ts, nullptr);
	::pthread_setcancelstate(cancel, nullptr);
}

} /* namespace detail */

/* --- settings -------------------------------------------------------------- */

/*
 * RunSettings - the basic configuration of an application, which derives its
 *	AppRunSettings from it
 *
 * Its strings are not copied: they must last while an MTExecutive is constructed.
 */
class RunSettings : public ::RunSettings {
public:
	explicit RunSettings(const char *name, int arg_count = 0, char **args = nullptr)
		: ::RunSettings()
	{
		::RunSettingsInit(this, name, arg_count, args);
	}

	/* RunSettingsRead(). @path: %nullptr for the environment only */
	int Read(::ThreadManagerPolicy *policy, const char *path = nullptr,
		 MTExecutiveError *error = nullptr)
	{
		return ::RunSettingsRead(this, policy, path, error);
	}
};

/* ThreadManagerPolicy - the configuration of the runtime; the module's defaults first */
class ThreadManagerPolicy : public ::ThreadManagerPolicy {
public:
	ThreadManagerPolicy() : ::ThreadManagerPolicy()
	{
		/* Without a module the constructor of MTExecutive says so. */
		::ThreadManagerPolicyInit(this);
	}
};

/* --- Runnables ------------------------------------------------------------- */

/*
 * Runnable - an object that executes requests, on several workers in parallel
 *
 * It must stay in place, and be alive as what it was derived to, while a request
 * names it.
 */
class Runnable : private ::Runnable {
public:
	Runnable() : ::Runnable() { ::Runnable::ExecuteThisRequest = &Runnable::Call; }
	virtual ~Runnable() = default;
	Runnable(const Runnable &) = delete;
	Runnable &operator=(const Runnable &) = delete;

	/* Executes one request in a worker. Return: its status. */
	virtual int ExecuteThisRequest(void *request) = 0;

	/* What <dx.h> knows it as: for RQPost.pXObject. */
	::Runnable *Object() { return this; }

	/* The way back from RQElement.pXObject, of a request for a dx::Runnable. */
	static Runnable *From(void *object)
	{
		return static_cast<Runnable *>(static_cast<::Runnable *>(object));
	}

private:
	static int Call(::Runnable *self, void *request)
	{
		return detail::Guarded("ExecuteThisRequest", [=] {
			return static_cast<Runnable *>(self)->ExecuteThisRequest(request);
		});
	}
};

/* RunnableOf - a Runnable whose requests are objects of one class */
template <class Request> class RunnableOf : public Runnable {
public:
	virtual int Execute(Request &request) = 0;

private:
	int ExecuteThisRequest(void *request) final
	{
		return Execute(*static_cast<Request *>(request));
	}
};

/* --- commands and handles -------------------------------------------------- */

/*
 * CommandHandler - an object that handles commands
 *
 * It must be detached, or the executive destroyed, before it is: best declared before
 * the executive.
 */
class CommandHandler : private ::CommandHandler {
public:
	CommandHandler() : ::CommandHandler()
	{
		::CommandHandler::Tick = &CommandHandler::CallTick;
		::CommandHandler::HandleCommand = &CommandHandler::CallHandle;
	}
	virtual ~CommandHandler() = default;
	CommandHandler(const CommandHandler &) = delete;
	CommandHandler &operator=(const CommandHandler &) = delete;

	/* Called once per monitor interval. */
	virtual void Tick() {}

	/* Return: 0 or a negative errno, -ENOENT for a command that it does not know. */
	virtual int HandleCommand(const std::string &command, std::string &reply)
	{
		(void)command;
		(void)reply;
		return -ENOENT;
	}

	::CommandHandler *Object() { return this; }

private:
	static void CallTick(::CommandHandler *self)
	{
		detail::Guarded("Tick", [=] {
			static_cast<CommandHandler *>(self)->Tick();
			return 0;
		});
	}

	static int CallHandle(::CommandHandler *self, const char *command, char *reply,
			      std::size_t room)
	{
		return detail::Guarded("HandleCommand", [=] {
			std::string text;
			int status = static_cast<CommandHandler *>(self)
					     ->HandleCommand(command, text);

			std::snprintf(reply, room, "%s", text.c_str());
			return status;
		});
	}
};

/* HandleClass - how handles of one kind are opened for a thread; must stay in place */
class HandleClass : private ::HandleClass {
public:
	HandleClass() : ::HandleClass()
	{
		::HandleClass::OpenHandle = &HandleClass::CallOpen;
		::HandleClass::CloseHandle = &HandleClass::CallClose;
	}
	virtual ~HandleClass() = default;
	HandleClass(const HandleClass &) = delete;
	HandleClass &operator=(const HandleClass &) = delete;

	virtual int OpenHandle(void *native, void **own) = 0;
	virtual void CloseHandle(void *own) = 0;

	::HandleClass *Object() { return this; }

private:
	static int CallOpen(::HandleClass *self, void *native, void **own)
	{
		return detail::Guarded("OpenHandle", [=] {
			return static_cast<HandleClass *>(self)->OpenHandle(native, own);
		});
	}

	static void CallClose(::HandleClass *self, void *own)
	{
		detail::Guarded("CloseHandle", [=] {
			static_cast<HandleClass *>(self)->CloseHandle(own);
			return 0;
		});
	}
};

/* --- the runtime ----------------------------------------------------------- */

/* StartError - why there is no executive */
class StartError : public std::system_error {
public:
	explicit StartError(const MTExecutiveError &error)
		: std::system_error(-error.Error, std::generic_category(),
				    std::string(error.Step) + (*error.Field ? " " : "") +
				    error.Field),
		  error_(error)
	{
		::MTExecutiveErrorText(&error_, text_, sizeof(text_));
	}
	/* The text of MTExecutiveErrorText(). */
	const char *what() const noexcept override { return text_; }
	const char *Step() const noexcept { return error_.Step; }
	const char *Field() const noexcept { return error_.Field; }

private:
	MTExecutiveError error_;
	char text_[DX_ERROR_TEXT];
};

/* ElapsedTimer - a timer; it is started when it is made */
class ElapsedTimer {
public:
	ElapsedTimer() { Start(); }
	void Start() { ::ElapsedTimerStart(&timer_); }
	std::uint64_t Lap() { return ::ElapsedTimerLap(&timer_); }
	std::uint64_t Read() const { return ::ElapsedTimerRead(&timer_); }

private:
	::ElapsedTimer timer_;
};

/*
 * ExecEnvironment - the services without an executive, for a single thread
 *
 * What an executive has taken over is that one's.
 */
class ExecEnvironment {
public:
	/* @settings stay in place as long as the object. Throws a StartError. */
	explicit ExecEnvironment(const ::RunSettings &settings) : env_(nullptr)
	{
		MTExecutiveError error;

		env_ = ::ExecEnvironmentCreate(&settings, &error);
		if (!env_)
			throw StartError(error);
	}
	ExecEnvironment(const ExecEnvironment &) = delete;
	ExecEnvironment &operator=(const ExecEnvironment &) = delete;
	/* In a Runnable that it executes, or in another thread: std::terminate(). */
	~ExecEnvironment()
	{
		int rc = ::ExecEnvironmentDestroy(env_);

		if (rc == -EDEADLK || rc == -EPERM)
			std::terminate();
	}
	/* 0 when an executive has taken it over. */
	std::uint64_t Elapsed() const { return env_ ? ::ExecEnvironmentElapsed(env_) : 0; }

private:
	friend class MTExecutive;

	::ExecEnvironment *env_;
};

/* MTExecutive - the run time: services, Thread Manager and worker threads */
class MTExecutive {
public:
	/* Throws a StartError. */
	explicit MTExecutive(const ::RunSettings &settings)
		: MTExecutive(settings, nullptr)
	{
	}
	MTExecutive(const ::RunSettings &settings, const ::ThreadManagerPolicy &policy)
		: MTExecutive(settings, &policy)
	{
	}
	/* Takes @env over. Throws a StartError, and @env is as it was. */
	explicit MTExecutive(ExecEnvironment &env) : MTExecutive(env, nullptr) {}
	MTExecutive(ExecEnvironment &env, const ::ThreadManagerPolicy &policy)
		: MTExecutive(env, &policy)
	{
	}
	MTExecutive(const MTExecutive &) = delete;
	MTExecutive &operator=(const MTExecutive &) = delete;

	/*
	 * Stop as the policy says, and wait for it: requests name objects that go next.
	 * In a worker or a handler of its own it could wait for ever: std::terminate().
	 */
	~MTExecutive()
	{
		int rc;

		do
			rc = ::MTExecutiveDestroy(mte_, DXK_STOP_POLICY, -1);
		while (rc == -EINTR);
		if (rc == -EDEADLK)
			std::terminate();
	}

	int Stop(unsigned int mode = DXK_STOP_POLICY, std::int64_t timeout_ns = -1)
	{
		return ::MTExecutiveStop(mte_, mode, timeout_ns);
	}
	int Start(MTExecutiveError *error = nullptr)
	{
		return ::MTExecutiveStart(mte_, error);
	}
	int GetPolicy(::ThreadManagerPolicy &policy) const
	{
		return ::MTExecutiveGetPolicy(mte_, &policy);
	}
	int SetPolicy(const ::ThreadManagerPolicy &policy,
		      MTExecutiveError *error = nullptr)
	{
		return ::MTExecutiveSetPolicy(mte_, &policy, error);
	}
	std::uint64_t Elapsed() const { return ::MTExecutiveElapsed(mte_); }
	int ContextFd() const { return ::MTExecutiveContextFd(mte_); }
	int ContextId() const { return ::MTExecutiveContextId(mte_); }
	int MemberFd() const { return ::MTExecutiveMemberFd(mte_); }
	int ThreadId() const { return ::MTExecutiveThreadId(mte_); }

	int PostARequest(void *request, Runnable *executor, void *owner, int priority,
			 unsigned int flags)
	{
		return ::PostARequestOf(mte_, request,
					executor ? executor->Object() : nullptr, owner,
					priority, flags);
	}
	int RejoinWait(void *owner, void **request, std::int64_t timeout_ns)
	{
		return ::RejoinWaitOf(mte_, owner, request, timeout_ns);
	}
	int RequestState(void *owner, const void *request, RQElement *element = nullptr)
	{
		return ::RequestStateOf(mte_, owner, request, element);
	}
	int AttachCommandHandler(CommandHandler *handler)
	{
		return ::AttachCommandHandlerOf(mte_, handler ? handler->Object() : nullptr);
	}
	int HandleTableAdd(HandleClass *kind, void *native)
	{
		return ::HandleTableAddOf(mte_, kind ? kind->Object() : nullptr, native);
	}
	int HandleTableRemove(void *native)
	{
		return ::HandleTableRemoveOf(mte_, native);
	}
	int SendCommand(const std::string &command, std::string &reply,
			std::int64_t timeout_ns = -1)
	{
		char text[DXK_COMMAND_MAX + 1] = "";
		int rc = ::SendCommandOf(mte_, command.c_str(), text, sizeof(text),
					 timeout_ns);

		reply = text;
		return rc;
	}
	int LogRotate() { return ::LogRotateOf(mte_); }

	/* For the functions of <dx.h>; it stays this object's. */
	::MTExecutive *Object() const { return mte_; }

private:
	MTExecutive(const ::RunSettings &settings, const ::ThreadManagerPolicy *policy)
		: mte_(nullptr)
	{
		MTExecutiveError error;

		mte_ = ::MTExecutiveCreate(&settings, policy, &error);
		if (!mte_)
			throw StartError(error);
	}
	MTExecutive(ExecEnvironment &env, const ::ThreadManagerPolicy *policy) : mte_(nullptr)
	{
		MTExecutiveError error;

		mte_ = ::MTExecutiveCreateIn(env.env_, policy, &error);
		if (!mte_)
			throw StartError(error);
		env.env_ = nullptr;
	}

	::MTExecutive *mte_;
};

/* --- the objects of the run time -------------------------------------------- */

/*
 * Views of what the module has made for an executive: they name it, and own nothing. What they
 * are asked is looked up when it is asked; of what is not there the answer is empty, or 0.
 */
namespace detail {
class View {
public:
	/* A value by its name, see MTExecutiveGetState(). */
	std::string Get(const std::string &name) const
	{
		char text[4096];
		int len = ::MTExecutiveGetState(mte_, (dir_ + name).c_str(), text, sizeof(text));

		return len < 0 ? std::string() : std::string(text, static_cast<std::size_t>(len));
	}
	unsigned long long Number(const std::string &name) const
	{
		return std::strtoull(Get(name).c_str(), nullptr, 10);
	}
	std::string State() const { return Get("state"); }

protected:
	explicit View(::MTExecutive *mte, const std::string &dir = std::string())
		: mte_(mte), dir_(dir)
	{
	}

	::MTExecutive *mte_;
	std::string dir_;
};

class Thread : public View {
public:
	unsigned int Id() const { return id_; }
	std::string Role() const { return Get("role"); }

protected:
	Thread(::MTExecutive *mte, unsigned int id)
		: View(mte, "threads/" + std::to_string(id) + "/"), id_(id)
	{
	}

private:
	unsigned int id_;
};
} /* namespace detail */

/* ThreadMonitor - starts worker threads, reviews the policy, has the log written */
class ThreadMonitor : public detail::Thread {
public:
	explicit ThreadMonitor(::MTExecutive *mte = nullptr) : Thread(mte, 500) {}
};

/* ThreadScheduler - has the requests that are Ready age */
class ThreadScheduler : public detail::Thread {
public:
	explicit ThreadScheduler(::MTExecutive *mte = nullptr) : Thread(mte, 600) {}
};

/* ThreadDispatcher - between who posts and who executes, with %DXK_DISPATCH_THREAD */
class ThreadDispatcher : public detail::Thread {
public:
	explicit ThreadDispatcher(::MTExecutive *mte = nullptr) : Thread(mte, 700) {}
};

/* WorkerThread - one of 1 to TPMaxThreads, or a place where one may come */
class WorkerThread : public detail::Thread {
public:
	WorkerThread(::MTExecutive *mte, unsigned int id) : Thread(mte, id) {}

	unsigned long long Executed() const { return Number("executed"); }
	/* The request that it executes, and what for it sleeps in it, as texts. */
	std::string Executes() const { return Get("executes"); }
	std::string Awaits() const { return Get("awaits"); }
};

/* ThreadManager - the context of an executive: its policy, pools and threads */
class ThreadManager : public detail::View {
public:
	explicit ThreadManager(::MTExecutive *mte = nullptr) : View(mte) {}
	explicit ThreadManager(const MTExecutive &mte) : View(mte.Object()) {}

	int Start(MTExecutiveError *error = nullptr) { return ::MTExecutiveStart(mte_, error); }
	int Stop(unsigned int mode = DXK_STOP_POLICY, std::int64_t timeout_ns = -1)
	{
		return ::MTExecutiveStop(mte_, mode, timeout_ns);
	}
	int GetPolicy(::ThreadManagerPolicy &policy) const
	{
		return ::MTExecutiveGetPolicy(mte_, &policy);
	}
	ThreadMonitor Monitor() const { return ThreadMonitor(mte_); }
	ThreadScheduler Scheduler() const { return ThreadScheduler(mte_); }
	ThreadDispatcher Dispatcher() const { return ThreadDispatcher(mte_); }
	WorkerThread Worker(unsigned int id) const { return WorkerThread(mte_, id); }
	/* Worker threads that there are, and how many of them execute. */
	unsigned long long Workers() const { return Number("pools/thread_use"); }
	unsigned long long Busy() const { return Number("pools/thread_busy"); }
};

/* --- requests and owners --------------------------------------------------- */

inline int PostARequest(void *request, Runnable *executor, void *owner, int priority,
			unsigned int flags)
{
	return ::PostARequest(request, executor ? executor->Object() : nullptr, owner,
			      priority, flags);
}

inline int AttachCommandHandler(CommandHandler *handler)
{
	return ::AttachCommandHandler(handler ? handler->Object() : nullptr);
}

inline int HandleTableAdd(HandleClass *kind, void *native)
{
	return ::HandleTableAdd(kind ? kind->Object() : nullptr, native);
}

inline int SendCommand(const std::string &command, std::string &reply,
		       std::int64_t timeout_ns = -1)
{
	char text[DXK_COMMAND_MAX + 1] = "";
	int rc = ::SendCommand(command.c_str(), text, sizeof(text), timeout_ns);

	reply = text;
	return rc;
}

/* --- requests that wait ----------------------------------------------------- */

/*
 * Wait - what a request waits for; several are joined by |: the first that happens
 *
 *	return dx::WaitRequest(dx::Readable(fd) | dx::After(std::chrono::seconds(1)));
 */
class Wait : public ::RQWait {
public:
	explicit Wait(std::uint32_t sources) : ::RQWait() { Sources = sources; }

	friend Wait operator|(Wait a, const Wait &b)
	{
		a.Sources |= b.Sources;
		if (b.Sources & DXK_WAIT_TIME) {
			a.TimeoutNs = b.TimeoutNs;
			a.Deadline = b.Deadline;
		}
		if (b.Sources & (DXK_WAIT_RESULT | DXK_WAIT_JOIN))
			a.pOObject = b.pOObject;
		if (b.Sources & DXK_WAIT_FILE) {
			a.Fd = b.Fd;
			a.Events = b.Events;
		}
		return a;
	}
};

/* @events of POLLIN and the like */
inline Wait File(int fd, std::uint32_t events)
{
	Wait w(DXK_WAIT_FILE);

	w.Fd = fd;
	w.Events = events;
	return w;
}
inline Wait Readable(int fd) { return File(fd, 0x0001 /* POLLIN */); }
inline Wait Writable(int fd) { return File(fd, 0x0004 /* POLLOUT */); }
inline Wait After(std::chrono::nanoseconds time)
{
	Wait w(DXK_WAIT_TIME);

	w.TimeoutNs = time.count();
	return w;
}
/* @deadline of CLOCK_MONOTONIC, in ns */
inline Wait At(std::uint64_t deadline)
{
	Wait w(DXK_WAIT_TIME);

	w.Deadline = deadline;
	return w;
}
/* WakeRequest() with the request's name */
inline Wait Called() { return Wait(DXK_WAIT_CALL); }
/* The owner has a result, or nothing coming any more. */
inline Wait Result(void *owner)
{
	Wait w(DXK_WAIT_RESULT);

	w.pOObject = owner;
	return w;
}
/* All of the owner's requests have ended. */
inline Wait Joined(void *owner)
{
	Wait w(DXK_WAIT_JOIN);

	w.pOObject = owner;
	return w;
}
/* And the worker that ends the last one goes on with this one. */
inline Wait Follows(void *owner)
{
	return Joined(owner) | Wait(DXK_WAIT_EAGER);
}
/* At once, behind the requests of the same priority */
inline Wait Again() { return Wait(DXK_WAIT_AGAIN); }

inline int WaitRequest(const ::RQWait &wait) { return ::WaitRequest(&wait); }

inline int PostARequestWith(void *request, Runnable *executor, void *owner, int priority,
			    unsigned int flags, const ::RQOptions &options)
{
	return ::PostARequestWith(request, executor ? executor->Object() : nullptr, owner,
				  priority, flags, &options);
}

/*
 * Owner - the owner of some requests, for as long as the requests live
 *
 * Declared after the request objects, it collects in its destructor what is left of
 * them, also when an exception ends the block: they are not destroyed while a worker
 * has one. With PXR_REJOIN or without, it waits until none exists. Where it cannot, as
 * for the owner of the request that its thread executes, it calls std::terminate(); but
 * nothing exists in the child of a fork(), and without an executive.
 */
class Owner {
public:
	/* The owner is this object's address, of the executive that NULL means. */
	Owner() : cookie_(this), mte_(nullptr) {}
	/* An address of the application's own, as that of the parent request. */
	explicit Owner(void *cookie) : cookie_(cookie), mte_(nullptr) {}
	explicit Owner(const MTExecutive &mte) : cookie_(this), mte_(mte.Object()) {}
	Owner(const MTExecutive &mte, void *cookie) : cookie_(cookie), mte_(mte.Object()) {}
	Owner(const Owner &) = delete;
	Owner &operator=(const Owner &) = delete;
	~Owner()
	{
		int rc = Collect();

		if (rc < 0 && rc != -EPERM && rc != -ENXIO)
			std::terminate();
	}

	int PostARequest(void *request, Runnable *executor, int priority,
			 unsigned int flags = PXR_REJOIN | PXR_WAITIF_BUSY)
	{
		return ::PostARequestOf(mte_, request,
					executor ? executor->Object() : nullptr,
					cookie_, priority, flags);
	}
	int GetRejoinRequest(void **request)
	{
		return ::GetRejoinRequestOf(mte_, cookie_, request);
	}
	int RejoinWait(void **request, std::int64_t timeout_ns = -1)
	{
		return ::RejoinWaitOf(mte_, cookie_, request, timeout_ns);
	}
	int GetRejoinElement(RQElement &element, std::int64_t timeout_ns = -1,
			     void *data = nullptr, std::size_t room = 0)
	{
		return ::GetRejoinElementOf(mte_, cookie_, &element, data, room,
					    timeout_ns);
	}
	void *Cookie() const noexcept { return cookie_; }

	/*
	 * Collects until none exists. A signal or a Stop ends a wait, not the requests; a
	 * shortage, of a descriptor for a thread that makes its first call, passes.
	 * Return: RJR_NONE_EXIST, or the negative errno of what can never succeed.
	 */
	int Collect() noexcept
	{
		int rc;

		do {
			rc = ::RejoinWaitOf(mte_, cookie_, nullptr, -1);
			if (detail::IsShortage(rc))
				detail::Pause();
		} while (rc == RJR_RETURNED || rc == RJR_NONE_READY || rc == -EINTR ||
			 rc == -ESHUTDOWN || detail::IsShortage(rc));
		return rc;
	}

private:
	void *cookie_;
	::MTExecutive *mte_;
};

#if defined(__cpp_impl_coroutine)
/* --- coroutines (C++20) -------------------------------------------------------- */

/*
 * A Coroutine is a Runnable whose requests are coroutines: each co_await dx::until(...) ends
 * a turn with a wait, and the next turn, in whichever worker, goes on behind it. So code that
 * waits reads as if it slept, and holds no thread.
 *
 *	class Ping : public dx::Coroutine {
 *		dx::Task<int> Run(void *request) override
 *		{
 *			dx::Wake why = co_await dx::until(dx::Readable(fd) | dx::After(1s));
 *			...
 *			co_return 0;
 *		}
 *	};
 *
 * What a Task calls with co_await may be a Task itself. A mutex that is held, a pointer to
 * something of the thread, or a dx::Owner must not live across a wait: the next turn may be
 * another thread's, and an Owner's destructor waits in it.
 *
 * GCC 12 takes a co_await in the condition of an if that is the whole body of a loop, without
 * braces, for something else, and the program crashes. What it returns in a variable is safe.
 */

/* Wake - why a request has its turn: RQElement.RQEWake and RQEEvents */
struct Wake {
	std::uint32_t Reason;
	std::uint32_t Events;

	/* It is cancelled, expired or stopped: each further wait is over at once. */
	bool Ends() const
	{
		return Reason == DXK_WAKE_CANCEL || Reason == DXK_WAKE_EXPIRE ||
		       Reason == DXK_WAKE_STOP;
	}
};

namespace detail {

/* The coroutines of a request, and where they are. Only the turn touches it. */
struct Activation {
	std::coroutine_handle<> top, leaf;	/* the first one; which goes on */
	::RQWait wait = {};
	Wake wake = {};
	int error = 0;				/* of the wait */
	bool suspended = false;
	Activation *next = nullptr, **link = nullptr;

	Activation() = default;
	Activation(const Activation &) = delete;
	Activation &operator=(const Activation &) = delete;
	~Activation()
	{
		if (top)
			top.destroy();
	}
};

inline thread_local Activation *current;

struct PromiseBase {
	std::coroutine_handle<> caller;
	std::exception_ptr error;

	struct Final {
		bool await_ready() const noexcept { return false; }
		template <class P>
		std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) const noexcept
		{
			if (h.promise().caller)
				return h.promise().caller;
			return std::noop_coroutine();
		}
		void await_resume() const noexcept {}
	};

	std::suspend_always initial_suspend() const noexcept { return {}; }
	Final final_suspend() const noexcept { return {}; }
	void unhandled_exception()
	{
		error = std::current_exception();
		/* What is no exception of C++ is the end of the thread. */
		if (!error)
			throw;
	}
};

template <class T> struct Promise : PromiseBase {
	std::optional<T> value;

	template <class U> void return_value(U &&v) { value.emplace(std::forward<U>(v)); }
	T Take()
	{
		if (error)
			std::rethrow_exception(error);
		return std::move(*value);
	}
};

template <> struct Promise<void> : PromiseBase {
	void return_void() const noexcept {}
	void Take() const
	{
		if (error)
			std::rethrow_exception(error);
	}
};

} /* namespace detail */

/* Task - a coroutine that begins when it is awaited, once */
template <class T = int> class [[nodiscard]] Task {
public:
	struct promise_type : detail::Promise<T> {
		Task get_return_object()
		{
			return Task(std::coroutine_handle<promise_type>::from_promise(*this));
		}
	};

	Task(Task &&other) noexcept : handle_(std::exchange(other.handle_, {})) {}
	Task &operator=(Task &&) = delete;
	~Task()
	{
		if (handle_)
			handle_.destroy();
	}

	bool await_ready() const noexcept { return false; }
	std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) noexcept
	{
		handle_.promise().caller = caller;
		return handle_;
	}
	T await_resume() { return handle_.promise().Take(); }

private:
	friend class Coroutine;

	explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}

	std::coroutine_handle<promise_type> handle_;
};

/*
 * until - end the turn with a wait
 *
 * Return: a Wake. Throws a std::system_error for a wait that cannot be (-EINVAL, -EOPNOTSUPP).
 * One that the module refuses, as for a descriptor that is not open, ends the request.
 */
class [[nodiscard]] until {
public:
	explicit until(const ::RQWait &wait) : wait_(wait) {}

	bool await_ready() const noexcept { return false; }
	void await_suspend(std::coroutine_handle<> h) const noexcept
	{
		detail::current->wait = wait_;
		detail::current->leaf = h;
	}
	Wake await_resume() const
	{
		if (detail::current->error)
			throw std::system_error(-detail::current->error,
						std::generic_category(), "until");
		return detail::current->wake;
	}

private:
	::RQWait wait_;
};

/*
 * Coroutine - a Runnable whose requests are coroutines
 *
 * A request that is posted waiting has RQWait.State 0. It must not be posted with PXR_REDO: one that died amid a turn cannot be run again,
 * and ends with StatusUncaught. What requests that ended without their last turn have left, as
 * after a wait that was refused, goes with the Coroutine.
 */
class Coroutine : public Runnable {
public:
	Coroutine() = default;
	~Coroutine() override
	{
		while (first_)
			End(first_);
	}

	/* Return: what becomes the request's status. */
	virtual Task<int> Run(void *request) = 0;

private:
	int ExecuteThisRequest(void *request) final
	{
		const ::RQElement *me = ::CurrentRequest();
		/* RQETurn can be 0 again. */
		detail::Activation *a = me->RQEWaitState ?
			reinterpret_cast<detail::Activation *>(me->RQEWaitState) :
			Begin(request);

		if (!a->suspended)
			return StatusUncaught;
		a->wake = { me->RQEWake, me->RQEEvents };
		a->error = 0;
		do {
			a->suspended = false;
			Resume(a);
			if (a->top.done())
				return Done(a);
			a->suspended = true;
			a->wait.State = reinterpret_cast<std::uintptr_t>(a);
			a->error = ::WaitRequest(&a->wait);
		} while (a->error != RQ_WAITS);
		/* From here on another thread may have its next turn. */
		return RQ_WAITS;
	}

	/* One that executes as help finds its caller's again. */
	struct Current {
		explicit Current(detail::Activation *a)
			: before(std::exchange(detail::current, a))
		{
		}
		~Current() { detail::current = before; }
		detail::Activation *before;
	};

	static void Resume(detail::Activation *a)
	{
		Current here(a);

		a->leaf.resume();
	}

	detail::Activation *Begin(void *request)
	{
		std::unique_ptr<detail::Activation> a(new detail::Activation);
		Task<int> task = Run(request);

		a->top = a->leaf = std::exchange(task.handle_, {});
		a->suspended = true;
		std::lock_guard<std::mutex> guard(lock_);
		a->next = first_;
		a->link = &first_;
		if (first_)
			first_->link = &a->next;
		first_ = a.get();
		return a.release();
	}

	int Done(detail::Activation *a)
	{
		using Handle = std::coroutine_handle<Task<int>::promise_type>;
		std::unique_ptr<detail::Activation> ended(a);

		{
			std::lock_guard<std::mutex> guard(lock_);
			Unlink(a);
		}
		return Handle::from_address(a->top.address()).promise().Take();
	}

	void Unlink(detail::Activation *a)
	{
		*a->link = a->next;
		if (a->next)
			a->next->link = a->link;
	}

	void End(detail::Activation *a)
	{
		Unlink(a);
		delete a;
	}

	std::mutex lock_;
	detail::Activation *first_ = nullptr;
};
#endif /* coroutines */

} /* namespace dx */

#endif /* _DX_HPP */
