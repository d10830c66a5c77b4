// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests that wait, in C++: turns, and coroutines (W-1 to W-4). Built a second time with the
 * address sanitizer.
 */
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include "libcpp.hpp"

namespace {

using namespace std::chrono_literals;

class WaitPolicy : public Policy {
public:
	explicit WaitPolicy(unsigned int threads) : Policy(threads)
	{
		TPMaxWaiting = 2000;
	}
};

/* The status of one result of the owner */
int StatusOf(void *owner)
{
	RQElement e;

	return dx::GetRejoinElement(owner, &e, nullptr, 0, Patience) == RJR_RETURNED ?
		       e.RQEStatus : 4711;
}

/* A turn without coroutines */
class Ticks : public dx::Runnable {
public:
	int ExecuteThisRequest(void *) override
	{
		const RQElement *me = dx::CurrentRequest();

		if (me->RQETurn && me->RQEWake != DXK_WAKE_TIME)
			return -EPROTO;
		if (me->RQETurn == 3)
			return 33;
		return dx::WaitRequest(dx::After(1ms) | dx::Called());
	}
};

void Turns()
{
	Settings settings;
	WaitPolicy policy(2);
	Ticks ticks;
	dx::MTExecutive executive(settings, policy);
	int owner;

	EXPECT(dx::PostARequest(nullptr, &ticks, &owner, 0, PXR_REJOIN) == 0);
	EXPECT(StatusOf(&owner) == 33);
}

/* Each source, through a Task that a Task awaits */
class Sources : public dx::Coroutine {
public:
	explicit Sources(int fd) : fd_(fd) {}
	std::atomic<int> step{ 0 };
	std::atomic<unsigned int> threads{ 0 };
	dx::Runnable *child = nullptr;

private:
	dx::Task<std::string> ReadLine()
	{
		std::string line;
		char c;

		for (;;) {
			dx::Wake wake = co_await dx::until(dx::Readable(fd_) | dx::After(60s));

			if (wake.Reason != DXK_WAKE_FILE)
				throw std::runtime_error("no byte");
			if (read(fd_, &c, 1) != 1 || c == '\n')
				co_return line;
			line += c;
		}
	}

	dx::Task<void> Doze()
	{
		dx::Wake wake = co_await dx::until(dx::After(2ms));

		if (wake.Reason != DXK_WAKE_TIME)
			throw std::runtime_error("no time");
	}

	dx::Task<int> Run(void *request) override
	{
		auto *lines = static_cast<std::vector<std::string> *>(request);

		lines->push_back(co_await ReadLine());
		step = 1;
		lines->push_back(co_await ReadLine());
		co_await Doze();
		step = 2;
		dx::Wake wake = co_await dx::until(dx::Called());
		if (wake.Reason != DXK_WAKE_CALL)
			co_return -EPROTO;
		for (int i = 0; i < 5; i++)
			if (dx::PostARequest(nullptr, child, this, 0, PXR_REJOIN))
				co_return -EIO;
		wake = co_await dx::until(dx::Joined(this));
		if (wake.Reason != DXK_WAKE_JOIN)
			co_return -EPROTO;
		int sum = 0;
		for (RQElement e; dx::GetRejoinElement(this, &e, nullptr, 0, 0) == RJR_RETURNED;)
			sum += e.RQEStatus;
		wake = co_await dx::until(dx::Again());
		co_return wake.Reason == DXK_WAKE_AGAIN ? sum : -EPROTO;
	}

	int fd_;
};

class Seven : public dx::Runnable {
	int ExecuteThisRequest(void *) override { return 7; }
};

/* W-1 .. W-4 */
void CoroutineWaits()
{
	Settings settings;
	WaitPolicy policy(2);
	int fd[2], owner;

	EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
	{
		std::vector<std::string> lines;
		Sources sources(fd[0]);
		Seven seven;
		dx::MTExecutive executive(settings, policy);
		RQOptions options = {};

		sources.child = &seven;
		options.pName = &sources;
		EXPECT(dx::PostARequestWith(&lines, &sources, &owner, 0, PXR_REJOIN, options) == 0);
		for (const char *c = "hello\nworld\n"; *c; c++)
			EXPECT(write(fd[1], c, 1) == 1);
		/* also if it does not wait for it yet */
		EXPECT(dx::WakeRequest(&sources) == 0);
		EXPECT(StatusOf(&owner) == 35);
		EXPECT(sources.step == 2);
		EXPECT(lines.size() == 2 && lines[0] == "hello" && lines[1] == "world");
	}
	close(fd[0]);
	close(fd[1]);
}

/* How each kind of end comes out, and that nothing of it is left (for the sanitizer). */
class Ends : public dx::Coroutine {
public:
	std::atomic<int> alive{ 0 };

private:
	struct Alive {
		explicit Alive(std::atomic<int> &n) : n(n) { n++; }
		~Alive() { n--; }
		std::atomic<int> &n;
	};

	dx::Task<void> Throws()
	{
		Alive here(alive);

		co_await dx::until(dx::After(1ms));
		throw std::system_error(EDOM, std::generic_category(), "deep");
	}

	dx::Task<int> Run(void *request) override
	{
		Alive here(alive);

		switch (reinterpret_cast<std::uintptr_t>(request)) {
		case 1:
			co_await Throws();
			break;
		case 2:
			try {
				co_await Throws();
				co_return 0;
			} catch (const std::system_error &) {
			}
			/* and it goes on */
			co_await dx::until(dx::After(1ms));
			co_return 2;
		case 3:	/* a wait that cannot be */
			co_await dx::until(dx::Wait(0));
			break;
		case 4:	/* one that is refused */
			co_await dx::until(dx::Readable(4711));
			break;
		case 5:
			if ((co_await dx::until(dx::Called())).Ends())
				co_return 5;
			break;
		case 6:
			pthread_exit(nullptr);
		}
		co_return 0;
	}
};

void CoroutineEnds()
{
	static const int status[] = { 0, -EDOM, 2, -EINVAL, -EBADF, 5, -EOWNERDEAD };
	Settings settings;
	WaitPolicy policy(2);
	std::atomic<int> *alive;
	int owner;

	{
		Ends ends;
		dx::MTExecutive executive(settings, policy);

		alive = &ends.alive;
		for (std::uintptr_t i = 0; i < 7; i++) {
			RQOptions options = {};

			options.pName = &options;
			EXPECT(dx::PostARequestWith(reinterpret_cast<void *>(i), &ends, &owner, 0,
						    PXR_REJOIN, options) == 0);
			if (i == 5)
				EXPECT(dx::CancelRequest(&options) > 0);
			int is = StatusOf(&owner);
			/* before it began, or after */
			if (is != status[i] && !(i == 5 && is == -ECANCELED)) {
				std::printf("# %d: %d\n", static_cast<int>(i), is);
				EXPECT(false);
			}
		}
		/* the one that was refused goes with its Runnable */
		EXPECT(*alive <= 2);
	}
	EXPECT(Logged("an exception left ExecuteThisRequest: deep"));
}

/* A pipeline: each stage a coroutine of its own, joined by calls; a thousand of them on two threads */
class Stage : public dx::Coroutine {
public:
	Stage *next = nullptr;
	std::atomic<long> value{ -1 };

private:
	dx::Task<int> Run(void *) override
	{
		while (value < 0) {
			dx::Wake wake = co_await dx::until(dx::Called());

			if (wake.Ends())
				co_return -ECANCELED;
		}
		if (next) {
			next->value = value + 1;
			dx::WakeRequest(next);
		}
		co_return 0;
	}
};

void Pipeline()
{
	constexpr int nr = 1000;
	Settings settings;
	WaitPolicy policy(2);
	std::vector<Stage> stages(nr);
	dx::MTExecutive executive(settings, policy);
	int owner, failed = 0;

	for (int i = 0; i < nr; i++) {
		RQOptions options = {};

		stages[i].next = i + 1 < nr ? &stages[i + 1] : nullptr;
		options.pName = &stages[i];
		failed += dx::PostARequestWith(nullptr, &stages[i], &owner, 0, PXR_REJOIN,
					       options) != 0;
	}
	stages[0].value = 0;
	EXPECT(dx::WakeRequest(&stages[0]) == 0);
	for (int i = 0; i < nr; i++)
		failed += StatusOf(&owner) != 0;
	EXPECT(failed == 0);
	EXPECT(stages[nr - 1].value == nr - 1);
}

const Test tests[] = {
	{ "turns", Turns },
	{ "coroutine_waits", CoroutineWaits },
	{ "coroutine_ends", CoroutineEnds },
	{ "pipeline", Pipeline },
};

} /* namespace */

int main()
{
	return RunTests(tests);
}
