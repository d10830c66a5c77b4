// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * dxcpp - counts lines, words and bytes of files, as wc(1) does, with the classes of
 * <dx.hpp>.
 *
 * It is the last sequence of the DX document: one Runnable, a singleton, executes a
 * top-level request and its sub-requests on several workers in parallel. The
 * top-level request is the list of files, a sub-request is a part of one file. Lanes
 * keep a worker free for sub-requests while the top-level one waits for them.
 */
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <getopt.h>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <dx.hpp>

namespace {

constexpr off_t ReadSize = 1 << 16;
constexpr off_t ToEnd = std::numeric_limits<off_t>::max();
constexpr int TopPriority = 10, PartPriority = 20;

/* What a part has. Parts of a file are put together in their order. */
struct Count {
	unsigned long long lines = 0, words = 0, bytes = 0;

	void Add(const unsigned char *data, std::size_t len)
	{
		bytes += len;
		for (std::size_t i = 0; i < len; i++) {
			lines += data[i] == '\n';
			if (std::isspace(data[i]))
				Go(Space);
			else if (std::isprint(data[i]))
				words += Go(Word);
			/* what cannot be printed neither begins nor ends a word */
		}
	}

	/* A word that goes across the boundary was counted in both. */
	void Append(const Count &next)
	{
		lines += next.lines;
		words += next.words;
		bytes += next.bytes;
		if (next.first == Nothing)
			return;
		words -= last == Word && next.first == Word;
		Go(next.first);
		last = next.last;
	}

private:
	enum Kind { Nothing, Space, Word };
	Kind first = Nothing, last = Nothing;

	/* Return: it is a change. */
	bool Go(Kind kind)
	{
		bool change = last != kind;

		if (first == Nothing)
			first = kind;
		last = kind;
		return change;
	}
};

class File {
public:
	explicit File(const char *path) : fd_(::open(path, O_RDONLY | O_CLOEXEC))
	{
		struct stat st;

		if (fd_ < 0)
			throw std::system_error(errno, std::generic_category(), path);
		if (::fstat(fd_, &st) || !S_ISREG(st.st_mode)) {
			::close(fd_);
			throw std::system_error(EINVAL, std::generic_category(), path);
		}
		size_ = st.st_size;
	}
	~File() { ::close(fd_); }
	File(const File &) = delete;
	File &operator=(const File &) = delete;

	off_t Size() const { return size_; }

	/* Throws when the disk does not give what the file has. */
	std::size_t Read(unsigned char *to, std::size_t len, off_t at) const
	{
		ssize_t n;

		do
			n = ::pread(fd_, to, len, at);
		while (n < 0 && errno == EINTR);
		if (n < 0)
			throw std::system_error(errno, std::generic_category(), "read");
		return static_cast<std::size_t>(n);
	}

private:
	int fd_;
	off_t size_;
};

/* A request: what the Runnable is to do, and what came out. */
struct Request {
	virtual ~Request() = default;
};

struct PartRequest : Request {
	const File *file = nullptr;
	off_t offset = 0, size = 0;
	Count count;
	unsigned int worker = 0;
};

struct TopRequest : Request {
	struct Result {
		const char *path;
		Count count;
		int status;		/* 0 or a negative errno */
	};

	std::vector<Result> results;	/* one for each file */
	std::size_t parts = 0;
	std::set<unsigned int> workers;	/* that executed parts */
};

/* As Owner::GetRejoinElement(). A signal or a Stop ends a wait, not the requests. */
int Collect(dx::Owner &owner, RQElement &element)
{
	int rc;

	do
		rc = owner.GetRejoinElement(element);
	while (rc == -EINTR || rc == -ESHUTDOWN);
	return rc;
}

class WordCounter : public dx::RunnableOf<Request> {
public:
	explicit WordCounter(off_t part_size) : part_size_(part_size) {}

	int Execute(Request &request) override
	{
		TopRequest *top = dynamic_cast<TopRequest *>(&request);

		if (top)
			return ExecuteTop(*top);
		return ExecutePart(dynamic_cast<PartRequest &>(request));
	}

private:
	/* One file after the other: what is open and in memory stays bounded. */
	int ExecuteTop(TopRequest &top)
	{
		for (TopRequest::Result &result : top.results) {
			try {
				result.status = CountFile(top, result);
			} catch (const std::exception &) {
				result.status = dx::StatusOfException();
			}
			if (result.status == -ECANCELED)
				return -ECANCELED;
		}
		return 0;
	}

	int CountFile(TopRequest &top, TopRequest::Result &result)
	{
		File file(result.path);
		/* One of 0 bytes has a part, too: those of /proc do not tell their size. */
		off_t last = file.Size() ? (file.Size() - 1) / part_size_ : 0;
		std::vector<PartRequest> parts(static_cast<std::size_t>(last) + 1);
		dx::RQElement element;
		int status = 0, rc = 0;
		off_t at = 0;

		/* Last in this block, so that it collects before they go. */
		dx::Owner owner(&result);

		for (PartRequest &part : parts) {
			part.file = &file;
			part.offset = at;
			part.size = &part == &parts.back() ? ToEnd : part_size_;
			at += part_size_;
			/* DX-105: for itself, while it executes */
			rc = owner.PostARequest(static_cast<Request *>(&part), this,
						PartPriority);
			if (rc)
				break;
		}
		while (Collect(owner, element) == RJR_RETURNED)
			if (element.RQEStatus)
				status = element.RQEStatus;
		if (rc || status)
			return status ? status : -ECANCELED;

		for (const PartRequest &part : parts) {
			result.count.Append(part.count);
			top.workers.insert(part.worker);
		}
		top.parts += parts.size();
		return 0;
	}

	int ExecutePart(PartRequest &part)
	{
		std::unique_ptr<unsigned char[]> buffer(new unsigned char[ReadSize]);
		off_t at = part.offset, left = part.size;
		std::size_t want, got;

		part.worker = dx::CurrentRequest()->RQEWorker;
		while (left > 0) {
			want = left < ReadSize ? static_cast<std::size_t>(left) : ReadSize;
			got = part.file->Read(buffer.get(), want, at);
			if (!got)
				break;
			part.count.Add(buffer.get(), got);
			at += static_cast<off_t>(got);
			left -= static_cast<off_t>(got);
		}
		return 0;
	}

	const off_t part_size_;
};

class AppRunSettings : public dx::RunSettings {
public:
	AppRunSettings(int arg_count, char **args)
		: dx::RunSettings("dxcpp", arg_count, args)
	{
		static const ::option longs[] = {
			{ "help", no_argument, nullptr, 'h' }, { nullptr, 0, nullptr, 0 }
		};
		int option;

		LogPath = "/dev/null";
		while ((option = ::getopt_long(arg_count, args, "w:p:l:vh", longs,
					       nullptr)) != -1) {
			switch (option) {
			case 'w':
				workers = static_cast<unsigned int>(Number(::optarg));
				break;
			case 'p':
				part_size = Number(::optarg);
				break;
			case 'l':
				LogPath = ::optarg;
				break;
			case 'v':
				verbose = true;
				break;
			case 'h':
				help = true;
				break;
			default:
				usage = true;
			}
		}
		usage |= ::optind == arg_count;
	}

	unsigned int workers = 4;
	off_t part_size = 1 << 20;
	bool verbose = false, usage = false, help = false;

private:
	/* From 1 to what both of its uses can take. */
	int Number(const char *text)
	{
		char *end;
		long n = std::strtol(text, &end, 10);

		usage |= *end || n < 1 || n > std::numeric_limits<int>::max();
		return usage ? 1 : static_cast<int>(n);
	}
};

void Print(const Count &count, const char *name)
{
	std::printf("%llu %llu %llu %s\n", count.lines, count.words, count.bytes, name);
}

int Run(const AppRunSettings &settings)
{
	dx::ThreadManagerPolicy policy;
	WordCounter counter(settings.part_size);
	TopRequest top;
	Count total;
	int failed = 0, rc;

	for (int i = ::optind; i < settings.argc; i++)
		top.results.push_back({ settings.argv[i], Count(), 0 });
	policy.TPSchedMode = TPOOL_MODE_CMLS;
	policy.TPMaxThreads = settings.workers;
	policy.TPLanePct[2] = 50;

	dx::MTExecutive executive(settings, policy);
	dx::Owner owner(executive);
	dx::RQElement element;

	rc = owner.PostARequest(static_cast<Request *>(&top), &counter, TopPriority,
				PXR_REJOIN | PXR_LANE2);
	if (rc)
		throw std::system_error(rc < 0 ? -rc : EAGAIN, std::generic_category(),
					"post");
	if (Collect(owner, element) != RJR_RETURNED || element.RQEStatus)
		throw std::runtime_error("the top-level request failed");
	if (owner.GetRejoinRequest(nullptr) != RJR_NONE_EXIST)
		throw std::logic_error("there is a request that nobody posted");

	for (const TopRequest::Result &result : top.results) {
		if (result.status) {
			std::fprintf(stderr, "dxcpp: %s: %s\n", result.path,
				     std::strerror(-result.status));
			failed = 1;
			continue;
		}
		Print(result.count, result.path);
		total.lines += result.count.lines;
		total.words += result.count.words;
		total.bytes += result.count.bytes;
	}
	if (top.results.size() > 1)
		Print(total, "total");
	if (settings.verbose)
		std::fprintf(stderr, "dxcpp: %zu parts by %zu workers\n", top.parts,
			     top.workers.size());
	if (std::fflush(stdout) || std::ferror(stdout))
		throw std::system_error(errno, std::generic_category(), "write");
	return failed;
}

} /* namespace */

int main(int argc, char **argv)
{
	AppRunSettings settings(argc, argv);

	if (settings.help || settings.usage) {
		std::fprintf(settings.help ? stdout : stderr,
			     "Usage: dxcpp [-v] [-w WORKERS] [-p BYTES] [-l LOG] FILE...\n"
			     "Count lines, words and bytes as wc does, each BYTES by a worker.\n");
		return settings.help ? 0 : 2;
	}
	try {
		return Run(settings);
	} catch (const std::exception &e) {
		std::fprintf(stderr, "dxcpp: %s\n", e.what());
		return 1;
	}
}
