// Handles calls during which a legacy HTTP server may send requests to their callers. Assigns each such call
// a session for itself, so that every request has an owner (behaviour.md 5 and 14).
//
// Callers take turns with the sessions. A parked call keeps its session. If another caller waits for a
// session, the oldest parked calls beyond limits.maxParkedPerCaller end.
//
// Owned by an HttpUpstream, beside its groups. Waiting calls are plain pointers: each is withdrawn before it
// is freed.
#pragma once

#include <chrono>
#include <deque>
#include <utility>

#include "proxy/upstream/http/session_groups.h"

namespace lineward::upstream {

class QuestionSlots {
 public:
  explicit QuestionSlots(const HttpParts& parts)
      : loop_(parts.loop),
        server_(parts.server),
        groups_(parts.groups),
        planner_(parts.planner),
        pump_(parts.pump),
        apart_timer_(parts.loop) {}
  QuestionSlots(const QuestionSlots&) = delete;
  QuestionSlots& operator=(const QuestionSlots&) = delete;

  // Puts the call into the group of its plan. If calls take turns: into the first free group, or it waits for
  // one.
  void place(HttpCall& call, SessionPlan plan);
  // Assigns free sessions to waiting calls, and reports the phase of the others.
  void fill(mcp::Era era);
  void withdraw(HttpCall& call) { std::erase(waiting_, &call); }
  size_t waiting() const { return waiting_.size(); }
  // The caller must end the returned calls.
  std::deque<HttpCall*> stop() { return std::exchange(waiting_, {}); }

  // Whether the first call in its group's queue, which allows server requests, may be sent after the calls
  // before it.
  bool may_follow(SessionGroup& group);
  // A call is over; a cancelled one may keep running for a while, and cause requests.
  void note_over(SessionGroup& group, HttpCall& call, Attribution::End end = Attribution::End::over);
  void keep_apart(SessionGroup& group);
  // A server's request to a group without a client session. `aside`: outside all calls' streams.
  void note_question(SessionGroup& group, bool aside, const Addressee& to);

 private:
  bool takes_turns(const SessionPlan& plan);
  SessionGroup* free_group(SessionPlan plan, const HttpCall& call);
  // A request of the group's server may be meant for another caller.
  bool may_mean_another(const SessionGroup& group, const HttpCall& call) const;
  // Ends the longest parked call of another caller that has more parked calls than it may keep, with its
  // session; false if there is none.
  bool make_room(const SessionPlan& plan, const HttpCall& asking);
  void pump_after(std::chrono::milliseconds pause);

  net::Loop& loop_;
  const config::Server& server_;
  SessionGroups& groups_;
  SessionPlanner& planner_;
  net::Deferred& pump_;
  std::deque<HttpCall*> waiting_;
  net::Timer apart_timer_;
  bool asks_aside_ = false;  // a request came on the GET stream
  bool asks_late_ = false;   // a request came after the call's answer, outside all calls' streams
};

}  // namespace lineward::upstream
