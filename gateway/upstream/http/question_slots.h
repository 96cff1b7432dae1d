// Calls during which a legacy HTTP server may ask their callers: gives each of them a session of its own for
// that long, so that every question has an owner, and finds that owner (behaviour.md 5 and 13).
//
// Callers take turns with the sessions. A parked call keeps its session; the oldest ones of a caller that has
// many end where another caller waits for one (limits.maxParkedPerCaller).
//
// Owned by an HttpUpstream, beside its groups. Calls that wait for a session are plain pointers: each is
// withdrawn before it is freed. A question that finds nobody is refused at once.
#pragma once

#include <chrono>
#include <deque>
#include <utility>

#include "upstream/http/session_groups.h"
#include "upstream/http/session_plan.h"

namespace lineward::upstream {

class QuestionSlots {
 public:
  // `pump` is scheduled when a session may have become free.
  QuestionSlots(net::Loop& loop, const config::Server& server, SessionGroups& groups, SessionPlanner& planner,
                net::Deferred& pump)
      : loop_(loop), server_(server), groups_(groups), planner_(planner), pump_(pump), apart_timer_(loop) {}
  QuestionSlots(const QuestionSlots&) = delete;
  QuestionSlots& operator=(const QuestionSlots&) = delete;

  // Into the group of its plan; where calls take turns into the first that is free, or it waits until one is.
  void place(HttpCall& call, SessionPlan plan);
  // Calls that wait get the sessions that have become free; the others are told that they wait.
  void fill(mcp::Era era);
  void withdraw(HttpCall& call) { std::erase(waiting_, &call); }
  size_t waiting() const { return waiting_.size(); }
  // Those that wait are for the caller to end.
  std::deque<HttpCall*> stop() { return std::exchange(waiting_, {}); }

  // A call that may ask is first in the queue of its group: whether it may be sent behind those before it.
  bool may_follow(SessionGroup& group);
  // A call is over; one that was cancelled may be at work for a while, and ask.
  void note_over(SessionGroup& group, const HttpCall& call);
  void keep_apart(SessionGroup& group);
  // A server's question where no client's session stands behind the group: goes to the call that it belongs
  // to, or is answered here. `call`: on whose stream it came; null: the GET stream.
  void question(HttpSession& session, SessionGroup& group, mcp::Message message, HttpCall* call);

 private:
  bool takes_turns(const SessionPlan& plan);
  SessionGroup* free_group(SessionPlan plan, bool asks);
  // Ends the call that has been parked longest, of another caller that has more of these than it may keep,
  // and the session that it had; false where there is none.
  bool make_room(const SessionPlan& plan, const HttpCall& asking);
  void pump_after(std::chrono::milliseconds pause);

  net::Loop& loop_;
  const config::Server& server_;
  SessionGroups& groups_;
  SessionPlanner& planner_;
  net::Deferred& pump_;
  std::deque<HttpCall*> waiting_;
  net::Timer apart_timer_;
  bool asks_late_ = false;  // it asked something, on no call's stream, after it had answered the call
};

}  // namespace lineward::upstream
