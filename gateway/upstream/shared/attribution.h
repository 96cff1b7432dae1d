// Which caller a legacy server means by a message that names no call (behaviour.md 13). The calls that may be
// meant are those in flight, those that were cancelled, and those that ended within `timeouts.cancelGrace`.
// Callers are one where they have one session, one principal with credentials, or else one connection of
// their own.
//
// One for each process of a stdio server, and for each session with an HTTP server. Keeps the last caller
// whose call ended, and how long others before it may be meant.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/kept_text.h"
#include "core/upstream.h"

namespace lineward::upstream {

// Who made a call, as far as that tells callers apart.
class CallerId {
 public:
  explicit CallerId(const core::CallRequest& request);
  CallerId() = default;

  // Two calls of a caller that nothing tells apart from others are two callers' calls.
  bool is_same(const CallerId& other) const {
    return kind_ != Kind::unknown && kind_ == other.kind_ && name_ == other.name_;
  }

 private:
  friend class KeptCallerId;
  enum class Kind : uint8_t { unknown, session, principal, client_on_stdin, connection };
  Kind kind_ = Kind::unknown;
  std::string_view name_;  // of the request, which it does not outlive
};

// The same, for longer than the request.
class KeptCallerId {
 public:
  void keep(const CallerId& id) {
    kind_ = id.kind_;
    if (name_.text() != id.name_) name_.keep(std::string(id.name_));
  }
  CallerId id() const {
    CallerId id;
    id.kind_ = kind_;
    id.name_ = name_.text();
    return id;
  }

 private:
  CallerId::Kind kind_ = CallerId::Kind::unknown;
  KeptText name_{Held::servers};
};

// Callers whose calls have ended: how long they may be meant.
class LateCallers {
 public:
  using Time = std::chrono::milliseconds;
  // A call of this caller ended; it may be meant until then.
  void ended(const CallerId& who, Time until, Time now) {
    if (now < until_ && !last_.id().is_same(who) && others_until_ < until_) others_until_ = until_;
    if (!last_.id().is_same(who)) last_.keep(who);
    until_ = until;
  }
  bool any(Time now) const { return now < until_; }
  Time until() const { return until_; }
  // None of them, or this one alone.
  bool none_but(const CallerId& who, Time now) const {
    return now >= others_until_ && (now >= until_ || last_.id().is_same(who));
  }

 private:
  KeptCallerId last_;
  Time until_{0};
  Time others_until_{0};
};

// The call that a log line is for: the newest in flight, where all calls that may be meant are its caller's.
// It is shown all of those that were not answered, the oldest first.
template <class Call>
class LineOwner {
 public:
  // `call` is null where nothing can be delivered to it any more, or it is Lineward's own.
  void saw(Call* call, const CallerId& who) {
    several_ = several_ || (any_ && !who_.is_same(who));
    any_ = true;
    who_ = who;
    if (call != nullptr) newest_ = call;
  }
  Call* owner(const LateCallers& late, LateCallers::Time now) const {
    return !several_ && late.none_but(who_, now) ? newest_ : nullptr;
  }

 private:
  CallerId who_;
  Call* newest_ = nullptr;
  bool any_ = false;
  bool several_ = false;
};

}  // namespace lineward::upstream
