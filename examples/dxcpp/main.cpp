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
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <set>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <dx.hpp>

namespace {

constexpr std::size_t ReadSize = 1 << 16;
constexpr int TopPriority = 10, PartPriority = 20;

/* What a part has. Parts of a file are put together in their order. */
struct Count {
	unsigned long long lines = 0, words = 0, bytes = 0;
	bool starts_in_word = false, ends_in_word = false;

	void Add(const unsigned char *data, std::size_t len)
	{
		for (std::size_t i = 0; i < len; i++) {
			bool in_word = !std::isspace(data[i]);

			lines += data[i] == '\n';
			words += in_word && !ends_in_word;
			if (!bytes++)
				starts_in_word = in_word;
			ends_in_word = in_word;
		}
	}

	/* A word that goes across the boundary was counted in both. */
	void Append(const Count &next)
	{
		if (!next.bytes)
			return;
		if (!bytes)
			starts_in_word = next.starts_in_word;
		words -= bytes && ends_in_word && next.starts_in_word;
		lines += next.lines;
		words += next.words;
		bytes += next.bytes;
		ends_in_word = next.ends_in_word;
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
	off_t offset = 0;
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
		std::vector<PartRequest> parts(static_cast<std::size_t>(
			(file.Size() + part_size_ - 1) / part_size_));
		dx::RQElement element;
		int status = 0, rc = 0;
		off_t at = 0;

		/* Last in this block, so that it collects before they go. */
		dx::Owner owner(&result);

		for (PartRequest &part : parts) {
			part.file = &file;
			part.offset = at;
			at += part_size_;
			/* DX-105: for itself, while it executes */
			rc = owner.PostARequest(static_cast<Request *>(&part), this,
						PartPriority);
			if (rc)
				break;
		}
		while (owner.GetRejoinElement(element) == RJR_RETURNED)
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
		off_t at = part.offset, end = part.offset + part_size_;
		std::size_t want, got;

		part.worker = dx::CurrentRequest()->RQEWorker;
		while (at < end) {
			want = static_cast<std::size_t>(end - at);
			got = part.file->Read(buffer.get(),
					      want < ReadSize ? want : ReadSize, at);
			if (!got)
				break;
			part.count.Add(buffer.get(), got);
			at += static_cast<off_t>(got);
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
		int option;

		LogPath = "/dev/null";
		while ((option = ::getopt(arg_count, args, "w:p:l:v")) != -1) {
			switch (option) {
			case 'w':
				workers = static_cast<unsigned int>(
					std::strtoul(::optarg, nullptr, 10));
				break;
			case 'p':
				part_size = std::strtol(::optarg, nullptr, 10);
				break;
			case 'l':
				LogPath = ::optarg;
				break;
			case 'v':
				verbose = true;
				break;
			default:
				usage = true;
			}
		}
		usage |= ::optind == arg_count || part_size < 1;
	}

	unsigned int workers = 4;
	off_t part_size = 1 << 20;
	bool verbose = false, usage = false;
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
	if (owner.GetRejoinElement(element) != RJR_RETURNED || element.RQEStatus)
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
	return failed;
}

} /* namespace */

int main(int argc, char **argv)
{
	AppRunSettings settings(argc, argv);

	if (settings.usage) {
		std::fprintf(stderr, "usage: dxcpp [-v] [-w WORKERS] [-p BYTES] [-l LOG] FILE...\n");
		return 2;
	}
	try {
		return Run(settings);
	} catch (const std::exception &e) {
		std::fprintf(stderr, "dxcpp: %s\n", e.what());
		return 1;
	}
}
