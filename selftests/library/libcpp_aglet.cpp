// SPDX-License-Identifier: GPL-2.0-only
/*
 * Aglets in C++ (AG-10, AG-11, AG-15, AG-16). Built a second time with the address sanitizer.
 */
#include <atomic>
#include <stdexcept>
#include <string>
#include <system_error>
#include <unistd.h>

#include "libcpp.hpp"

#include <dx_aglet.hpp>

/* The next allocation of the calling thread fails; the sanitizer has an allocator of its own. */
static thread_local bool fails;

#ifndef __SANITIZE_ADDRESS__
extern "C" void *__libc_malloc(std::size_t size);
extern "C" void *malloc(std::size_t size)
{
	bool now = fails;

	fails = false;
	return now ? nullptr : __libc_malloc(size);
}
#endif

namespace {

/* Its text is all that memory was there for. */
class NoMemory : public std::exception {
public:
	const char *what() const noexcept override
	{
		fails = true;
		return "no memory";
	}
};

class Counter : public dx::Aglet {
public:
	std::atomic<int> sum{ 0 }, lives{ 0 };
	dx::AgletProxy other;

	int onCreation(void *arg) override
	{
		lives++;
		subscribeMessage("all");
		return arg ? throw std::system_error(EDOM, std::generic_category()) : 0;
	}
	void onDisposing() override { lives--; }

	bool handleMessage(dx::AgletMessage &message) override
	{
		if (message.sameKind("add"))
			return sum += std::stoi(message.arg()), true;
		if (message.sameKind("sum"))
			return !message.sendReply(std::to_string(sum));
		if (message.sameKind("pass"))
			return other && !other.delegateMessage(message);
		if (message.sameKind("itself"))
			return !message.sendReply(getProxy().sendMessage(
				dx::AgletMessage("sum")).Data);
		if (message.sameKind("wait"))
			return waitMessage(1) == -ETIMEDOUT && notifyMessage() == 0 &&
			       notifyAllMessages() == 0 && exitMonitor() == 0;
		if (message.sameKind("number"))
			throw 7;
		if (message.sameKind("memory"))
			throw NoMemory();
		if (message.sameKind("too late"))
			return !message.sendReply("said") && (throw 7, true);
		if (message.sameKind("no"))
			throw std::system_error(ENOENT, std::generic_category(), "nowhere");
		return false;
	}
};

class AgletPolicy : public Policy {
public:
	AgletPolicy() : Policy(2) { TPMaxWaiting = 1000; }
};

dx::AgletContextOptions AsThePolicySays()
{
	dx::AgletContextOptions options;

	options.minThreads = options.maxThreads = 0;
	return options;
}

void Sends()
{
	Settings settings;
	AgletPolicy policy;
	Counter a, b, c;
	dx::MTExecutive executive(settings, policy);
	dx::AgletContext context(executive, AsThePolicySays());

	EXPECT(context.createAglet(a) == 0);
	EXPECT(context.createAglet(b) == 0);
	EXPECT(context.createAglet(c, &c) == -EDOM);
	EXPECT(a.lives == 1 && c.lives == 1);

	dx::AgletProxy to = a.getProxy(), copy;
	dx::AgletMessage add("add", "20"), sum("sum");
	dx::FutureReply future;

	copy = to;
	a.other = b.getProxy();
	add.setPriority(7);
	EXPECT(to.sendOnewayMessage(add) == 0);
	EXPECT(copy.sendFutureMessage(dx::AgletMessage("add", "22"), future) == 0);
	EXPECT(future.waitForReply() == 0 && future.isAvailable());
	EXPECT(future.getReply().Replied());
	EXPECT(to.sendMessage(sum).Data == "42");
	EXPECT(to.sendMessage(dx::AgletMessage("itself")).Data == "42");
	EXPECT(to.sendMessage(dx::AgletMessage("wait")).Replied());
	EXPECT(to.sendMessage(dx::AgletMessage("nothing")).Answer == AGLET_NOT_HANDLED);
	EXPECT(to.sendMessage(dx::AgletMessage("pass")).Answer == AGLET_NOT_HANDLED);

	dx::AgletReply no = to.sendMessage(dx::AgletMessage("no"));
	EXPECT(no.Answer == AGLET_EXCEPTION && no.Code == -ENOENT);
	EXPECT(no.Data.find("nowhere") == 0);
	EXPECT(to.sendMessage(dx::AgletMessage("number")).Code == dx::StatusUncaught);
	EXPECT(to.sendMessage(dx::AgletMessage("add", "x")).Code == dx::StatusUncaught);

	/* An exception that cannot be told is no success; after a reply it is too late for one. */
	no = to.sendMessage(dx::AgletMessage("memory"));
#ifndef __SANITIZE_ADDRESS__
	EXPECT(no.Answer == AGLET_NOT_HANDLED);
#else
	EXPECT(no.Data == "no memory");
#endif
	EXPECT(to.sendMessage(dx::AgletMessage("too late")).Data == "said");

	EXPECT(to.suspend() == 0 && to.resume() == 0 && to.state() == AGLET_RUNNING);
	EXPECT(to.suspend() == 0 && to.deactivate() == 0 && to.activate() == 0);
	EXPECT(to.suspend() == 0 && to.dispose() == 0);
	EXPECT(a.lives == 0);
	EXPECT(to.sendMessage(sum).Answer == AGLET_NOT_HANDLED);
}

void Sets()
{
	Settings settings;
	AgletPolicy policy;
	Counter a[3];
	dx::MTExecutive executive(settings, policy);
	dx::AgletContext context(executive, AsThePolicySays());
	dx::ReplySet set(context);
	dx::FutureReply future;
	int handled = 0;

	for (auto &one : a)
		EXPECT(context.createAglet(one) == 0);
	EXPECT(context.multicastMessage(dx::AgletMessage("all")) == 3);
	EXPECT(context.multicastMessage(dx::AgletMessage("all"), set) == 3);
	EXPECT(context.multicastMessage(dx::AgletMessage("nobody"), set) == 0);
	EXPECT(set.sendFutureMessage(a[0].getProxy(), dx::AgletMessage("sum")) == 0);
	EXPECT(a[1].getProxy().sendFutureMessage(dx::AgletMessage("sum"), future) == 0);
	EXPECT(set.addFutureReply(std::move(future)) == 0 && !future);
	EXPECT(set.waitForNext() == 0 && set.waitForAll() == 0);
	EXPECT(set.areAllAvailable() && set.countAvailable() == 5);
	while ((future = set.getNextFutureReply()))
		handled += future.getReply().Replied();
	EXPECT(handled == 2);
}

void Refused()
{
	Settings settings;
	Policy policy(1);
	dx::MTExecutive executive(settings, policy);
	int error = 0;

	try {
		dx::AgletContext context(executive);
	} catch (const std::system_error &e) {
		error = e.code().value();
	}
	EXPECT(error == EOPNOTSUPP);
}

const Test tests[] = {
	{ "sends", Sends },
	{ "sets", Sets },
	{ "refused", Refused },
};

} /* namespace */

int main()
{
	return RunTests(tests);
}
