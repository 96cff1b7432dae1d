// Finds the caller that a legacy server means by a message that names no call (behaviour.md 13). Possible
// calls are those in flight, cancelled ones, and those that ended within `timeouts.cancelGrace`. Two calls
// have the same caller if they share a session, an authenticated principal, or a connection of one client.
//
// There is one for each process of a stdio server, and for each session with an HTTP server. It stores the
// last caller with an ended call, and how long earlier callers are possible.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "foundation/base/counted_string.h"
#include "proxy/core/upstream.h"

namespace lineward::upstream {

// The identity of a caller, as far as callers can be told apart.
class CallerId {
 public:
  explicit CallerId(const core::UpstreamRequest& request);
  CallerId() = default;

  // Two calls of unknown callers never have the same caller.
  bool is_same(const CallerId& other) const {
    return kind_ != Kind::unknown && kind_ == other.kind_ && name_ == other.name_;
  }

 private:
  friend class KeptCallerId;
  enum class Kind : uint8_t { unknown, session, principal, client_on_stdin, connection };
  Kind kind_ = Kind::unknown;
  std::string_view name_;  // refers into the request, and must not outlive it
};

// A copy that outlives the request.
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
  CountedString name_{Held::servers};
};

// Callers with ended calls, and how long a message may be meant for them.
class LateCallers {
 public:
  using Time = std::chrono::milliseconds;
  // A call of this caller ended; until `until` a message may be meant for it.
  void ended(const CallerId& who, Time until, Time now) {
    if (now < until_ && !last_.id().is_same(who) && others_until_ < until_) others_until_ = until_;
    if (!last_.id().is_same(who)) last_.keep(who);
    until_ = until;
  }
  bool any(Time now) const { return now < until_; }
  Time until() const { return until_; }
  // No caller is possible, or this one only.
  bool none_but(const CallerId& who, Time now) const {
    return now >= others_until_ && (now >= until_ || last_.id().is_same(who));
  }

 private:
  KeptCallerId last_;
  Time until_{0};
  Time others_until_{0};
};

// Finds the call for a log message: the newest in flight, if all possible calls have the same caller. saw()
// is called for each unanswered call, oldest first.
template <class Call>
class LineOwner {
 public:
  // `call`: null if nothing can be delivered to it, or for Lineward's own.
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
