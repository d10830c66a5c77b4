// SPDX-License-Identifier: GPL-2.0-only
/*
 * The classes of <dx.hpp>: command handlers, handles, and help. Built a second time with the
 * address sanitizer.
 */
#include <atomic>
#include <ctime>
#include <exception>
#include <pthread.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

#include "libcpp.hpp"

namespace {

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

const Test tests[] = {
	{ "commands", Commands },
	{ "handle_table", HandleTable },
	{ "help", Help },
	{ "quit_in_help", QuitInHelp },
};

} /* namespace */

int main()
{
	return RunTests(tests);
}
