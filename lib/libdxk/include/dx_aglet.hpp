/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libdxk, aglets for C++11 and later: the classes of Aglets, on top of <dx_aglet.h>, where the
 * texts are. Link with -ldxk as a C program does.
 *
 * All is in the namespace dx, beside what <dx.hpp> has there. Objects of the library are held by
 * objects here, which can be copied, or moved, and give them back.
 *
 * Errors are return values, as in C. Only constructors throw. An exception that leaves
 * handleMessage() is the reply: an exception with dx::StatusOfException() and the text of
 * what(). One that leaves onCreation() is its return value, one that leaves another call-back a
 * line in the log.
 */
#ifndef _DX_AGLET_HPP
#define _DX_AGLET_HPP

#include <cstdlib>
#include <string>
#include <system_error>

#include <dx.hpp>
#include <dx_aglet.h>

namespace dx {

namespace detail {

/* What a constructor got from the library, or why not */
template <class T> T *Made(T *object, const char *what, int error = ENOMEM)
{
	if (!object)
		throw std::system_error(error, std::generic_category(), what);
	return object;
}

} /* namespace detail */

/* AgletReply - a reply, or the text of an exception */
struct AgletReply {
	int Answer = AGLET_NOT_HANDLED;	/* enum AgletAnswer, or a negative errno */
	int Code = 0;			/* of an exception */
	std::string Data;

	bool Replied() const { return Answer == AGLET_REPLIED; }
};

namespace detail {

inline AgletReply Reply(int answer, ::AgletReply *reply)
{
	AgletReply r;

	r.Answer = answer;
	if (reply) {
		r.Code = reply->Code;
		try {
			r.Data.assign(reply->Data, reply->Len);
		} catch (...) {
			r.Answer = -ENOMEM;
		}
	}
	std::free(reply);
	return r;
}

} /* namespace detail */

/* AgletMessage - a message to send, or one that a handler got; copies are the same message */
class AgletMessage {
public:
	explicit AgletMessage(const std::string &kind, const std::string &arg = std::string())
		: AgletMessage(kind, arg.data(), arg.size())
	{
	}
	AgletMessage(const std::string &kind, const void *arg, std::size_t len)
		: m_(detail::Made(::AgletMessage_create(kind.c_str(), arg, len), "AgletMessage"))
	{
	}
	/* One that a handler got, to be there when that has returned */
	explicit AgletMessage(::AgletMessage *m) : m_(::AgletMessage_hold(m)) {}
	AgletMessage(const AgletMessage &other) : AgletMessage(other.m_) {}
	AgletMessage &operator=(const AgletMessage &other)
	{
		::AgletMessage *m = ::AgletMessage_hold(other.m_);

		::AgletMessage_release(m_);
		m_ = m;
		return *this;
	}
	~AgletMessage() { ::AgletMessage_release(m_); }

	void setPriority(int priority) { ::AgletMessage_setPriority(m_, priority); }
	std::string kind() const { return ::AgletMessage_kind(m_); }
	bool sameKind(const char *kind) const { return ::AgletMessage_sameKind(m_, kind); }
	std::string arg() const
	{
		std::size_t len;
		const void *arg = ::AgletMessage_arg(m_, &len);

		return std::string(static_cast<const char *>(arg), len);
	}
	int sendReply(const std::string &reply = std::string())
	{
		return ::AgletMessage_sendReply(m_, reply.data(), reply.size());
	}
	int sendException(int code, const std::string &text)
	{
		return ::AgletMessage_sendException(m_, code, text.c_str());
	}
	int enableDeferedReply() { return ::AgletMessage_enableDeferedReply(m_); }

	::AgletMessage *Object() const { return m_; }

private:
	::AgletMessage *m_;
};

/* FutureReply - a reply that is collected later; to be moved */
class FutureReply {
public:
	FutureReply() noexcept : f_(nullptr) {}
	explicit FutureReply(::FutureReply *f) noexcept : f_(f) {}
	FutureReply(FutureReply &&other) noexcept : f_(other.Release()) {}
	FutureReply &operator=(FutureReply &&other) noexcept
	{
		::FutureReply *f = other.Release();

		::FutureReply_release(f_);
		f_ = f;
		return *this;
	}
	~FutureReply() { ::FutureReply_release(f_); }

	explicit operator bool() const { return f_; }
	bool isAvailable() { return ::FutureReply_isAvailable(f_); }
	int waitForReply(unsigned int timeout_ms = 0)
	{
		return ::FutureReply_waitForReply(f_, timeout_ms);
	}
	AgletReply getReply()
	{
		::AgletReply *reply;
		int answer = ::FutureReply_getReply(f_, &reply);

		return detail::Reply(answer, reply);
	}

	/* It is the caller's from now on. */
	::FutureReply *Release() noexcept
	{
		::FutureReply *f = f_;

		f_ = nullptr;
		return f;
	}

private:
	::FutureReply *f_;
};

/* AgletProxy - how to send to an aglet, and to change its state; may outlive it */
class AgletProxy {
public:
	AgletProxy() noexcept : p_(nullptr) {}
	explicit AgletProxy(::AgletProxy *p) : p_(p ? ::AgletProxy_hold(p) : nullptr) {}
	AgletProxy(const AgletProxy &other) : AgletProxy(other.p_) {}
	AgletProxy &operator=(const AgletProxy &other)
	{
		AgletProxy copy(other);
		::AgletProxy *p = p_;

		p_ = copy.p_;
		copy.p_ = p;
		return *this;
	}
	~AgletProxy() { ::AgletProxy_release(p_); }

	explicit operator bool() const { return p_; }
	AgletReply sendMessage(const AgletMessage &message)
	{
		::AgletReply *reply;
		int answer = ::AgletProxy_sendMessage(p_, message.Object(), &reply);

		return detail::Reply(answer, reply);
	}
	int sendFutureMessage(const AgletMessage &message, FutureReply &future)
	{
		::FutureReply *f = nullptr;
		int rc = ::AgletProxy_sendFutureMessage(p_, message.Object(), &f);

		if (!rc)
			future = FutureReply(f);
		return rc;
	}
	int sendOnewayMessage(const AgletMessage &message)
	{
		return ::AgletProxy_sendOnewayMessage(p_, message.Object());
	}
	int delegateMessage(AgletMessage &message)
	{
		return ::AgletProxy_delegateMessage(p_, message.Object());
	}
	int state() const { return ::AgletProxy_state(p_); }
	int suspend() { return ::AgletProxy_suspend(p_); }
	int resume() { return ::AgletProxy_resume(p_); }
	int deactivate() { return ::AgletProxy_deactivate(p_); }
	int activate() { return ::AgletProxy_activate(p_); }
	int dispose() { return ::AgletProxy_dispose(p_); }

	::AgletProxy *Object() const { return p_; }

private:
	::AgletProxy *p_;
};

/*
 * Aglet - what handles messages
 *
 * It must stay in place, and be alive as what it was derived to, until its onDisposing(): best
 * declared before the context, or made by new, and deleted there.
 */
class Aglet : private ::Aglet {
public:
	Aglet() : ::Aglet()
	{
		::Aglet::handleMessage = &Aglet::CallHandle;
		::Aglet::onCreation = &Aglet::CallCreation;
		::Aglet::onActivation = &Aglet::CallActivation;
		::Aglet::onDeactivating = &Aglet::CallDeactivating;
		::Aglet::onDisposing = &Aglet::CallDisposing;
	}
	virtual ~Aglet() = default;
	Aglet(const Aglet &) = delete;
	Aglet &operator=(const Aglet &) = delete;

	virtual bool handleMessage(AgletMessage &message) = 0;
	virtual int onCreation(void *arg)
	{
		(void)arg;
		return 0;
	}
	virtual void onActivation() {}
	virtual void onDeactivating() {}
	virtual void onDisposing() {}

	AgletProxy getProxy() const { return AgletProxy(::Aglet::Proxy); }

	int setPriority(const char *kind, int priority)
	{
		return ::MessageManager_setPriority(this, kind, priority);
	}
	void removePriority(const char *kind) { ::MessageManager_removePriority(this, kind); }
	int setActivation(const char *kind, bool activates = true)
	{
		return ::MessageManager_setActivation(this, kind, activates);
	}
	int subscribeMessage(const char *kind, bool subscribes = true)
	{
		return ::MessageManager_subscribeMessage(this, kind, subscribes);
	}

	/* The monitor, in handleMessage() */
	static int waitMessage(unsigned int timeout_ms = 0)
	{
		return ::MessageManager_waitMessage(timeout_ms);
	}
	static int notifyMessage() { return ::MessageManager_notifyMessage(); }
	static int notifyAllMessages() { return ::MessageManager_notifyAllMessages(); }
	static int exitMonitor() { return ::MessageManager_exitMonitor(); }

	::Aglet *Object() { return this; }

private:
	static bool CallHandle(::Aglet *self, ::AgletMessage *m)
	{
		const char *text = "";

		try {
			AgletMessage message(m);

			try {
				return static_cast<Aglet *>(self)->handleMessage(message);
			} catch (const std::exception &e) {
				text = e.what();
				return Failed(m, text);
			}
		} catch (...) {
			/* What is no exception of C++ is the end of the thread. */
			if (!std::current_exception())
				throw;
			return Failed(m, text);
		}
	}
	/* What the exception cannot be told of, for want of memory, was not handled. */
	static bool Failed(::AgletMessage *m, const char *text)
	{
		int rc = ::AgletMessage_sendException(m, StatusOfException(), text);

		return !rc || rc == -EALREADY;
	}
	static int CallCreation(::Aglet *self, void *arg)
	{
		return detail::Guarded("onCreation", [=] {
			return static_cast<Aglet *>(self)->onCreation(arg);
		});
	}
	static void CallActivation(::Aglet *self)
	{
		detail::Guarded("onActivation", [=] {
			static_cast<Aglet *>(self)->onActivation();
			return 0;
		});
	}
	static void CallDeactivating(::Aglet *self)
	{
		detail::Guarded("onDeactivating", [=] {
			static_cast<Aglet *>(self)->onDeactivating();
			return 0;
		});
	}
	static void CallDisposing(::Aglet *self)
	{
		detail::Guarded("onDisposing", [=] {
			static_cast<Aglet *>(self)->onDisposing();
			return 0;
		});
	}
};

/* AgletContextOptions - the configuration of a context; the defaults first */
class AgletContextOptions : public ::AgletContextOptions {
public:
	AgletContextOptions() : ::AgletContextOptions() { ::AgletContextOptionsInit(this); }
};

class ReplySet;

/* AgletContext - where aglets are; its destructor disposes of all of them, and waits */
class AgletContext {
public:
	explicit AgletContext(MTExecutive &executive,
			      const ::AgletContextOptions &options = AgletContextOptions())
		: c_(::AgletContext_create(executive.Object(), &options))
	{
		if (!c_)
			throw std::system_error(errno, std::generic_category(), "AgletContext");
	}
	AgletContext(const AgletContext &) = delete;
	AgletContext &operator=(const AgletContext &) = delete;

	/* In a worker it would wait for itself: std::terminate(). */
	~AgletContext()
	{
		if (::AgletContext_dispose(c_))
			std::terminate();
	}

	int createAglet(Aglet &aglet, void *arg = nullptr)
	{
		return ::AgletContext_createAglet(c_, aglet.Object(), arg, nullptr);
	}
	int multicastMessage(const AgletMessage &message)
	{
		return ::AgletContext_multicastMessage(c_, message.Object(), nullptr);
	}
	int multicastMessage(const AgletMessage &message, ReplySet &set);

	::AgletContext *Object() const { return c_; }

private:
	::AgletContext *c_;
};

/* ReplySet - futures of many aglets */
class ReplySet {
public:
	explicit ReplySet(AgletContext &context)
		: set_(detail::Made(::ReplySet_create(context.Object()), "ReplySet"))
	{
	}
	ReplySet(const ReplySet &) = delete;
	ReplySet &operator=(const ReplySet &) = delete;
	~ReplySet() { ::ReplySet_release(set_); }

	int sendFutureMessage(const AgletProxy &proxy, const AgletMessage &message)
	{
		return ::ReplySet_sendFutureMessage(set_, proxy.Object(), message.Object(),
						    nullptr);
	}
	/* With 0 it is the set's from now on. */
	int addFutureReply(FutureReply &&future)
	{
		::FutureReply *f = future.Release();
		int rc = ::ReplySet_addFutureReply(set_, f);

		if (rc)
			future = FutureReply(f);
		return rc;
	}
	unsigned int countAvailable() { return ::ReplySet_countAvailable(set_); }
	bool areAllAvailable() { return ::ReplySet_areAllAvailable(set_); }
	int waitForNext(unsigned int timeout_ms = 0)
	{
		return ::ReplySet_waitForNext(set_, timeout_ms);
	}
	int waitForAll(unsigned int timeout_ms = 0)
	{
		return ::ReplySet_waitForAll(set_, timeout_ms);
	}
	/* False: there is none. */
	FutureReply getNextFutureReply()
	{
		return FutureReply(::ReplySet_getNextFutureReply(set_));
	}

	::ReplySet *Object() const { return set_; }

private:
	::ReplySet *set_;
};

inline int AgletContext::multicastMessage(const AgletMessage &message, ReplySet &set)
{
	return ::AgletContext_multicastMessage(c_, message.Object(), set.Object());
}

} /* namespace dx */

#endif /* _DX_AGLET_HPP */
