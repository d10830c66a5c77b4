/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of <dx.hpp> share: settings, a policy, and how they are run.
 */
#ifndef DXT_LIBCPP_HPP
#define DXT_LIBCPP_HPP

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include <dx.hpp>

const char Log[] = "/tmp/dxk-cpp-test.log";
constexpr std::int64_t Patience = 60 * 1000000000LL;

static int failures;

#define EXPECT(condition)							\
	do {									\
		if (!(condition)) {						\
			std::printf("# %s:%d: %s\n", __FILE__, __LINE__,	\
				    #condition);				\
			failures++;						\
		}								\
	} while (0)

inline bool Logged(const std::string &text)
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

struct Test {
	const char *name;
	void (*run)();
};

template <std::size_t nr> int RunTests(const Test (&tests)[nr])
{
	int n = 0, failed = 0;

	std::printf("TAP version 13\n1..%zu\n", nr);
	for (const auto &test : tests) {
		failures = 0;
		try {
			test.run();
		} catch (const std::exception &e) {
			std::printf("# %s: %s\n", test.name, e.what());
			failures++;
		}
		std::printf("%sok %d %s\n", failures ? "not " : "", ++n, test.name);
		std::fflush(stdout);
		failed |= failures;
	}
	return failed ? 1 : 0;
}

#endif /* DXT_LIBCPP_HPP */
