// The calls in progress at an HTTP server. Sends them, passes on the server's messages, and ends them by an
// answer, a failure, or a cancel, which is sent to the server. Resumes broken streams within their limits,
// and repeats calls of a lost session (behaviour.md 11).
//
// Owned by an HttpUpstream, beside its groups; it outlives all live calls. Calls are plain pointers: each
// leaves the table when it is over. Any callback of a call may end other calls and start new ones.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foundation/base/slab_allocator.h"
#include "proxy/metrics/stats.h"
#include "proxy/upstream/http/http_call.h"
#include "proxy/upstream/http/http_cancels.h"
#include "proxy/upstream/http/http_parts.h"
#include "proxy/upstream/http/session_group.h"
#include "proxy/upstream/http_client/http_headers.h"
#include "proxy/upstream/shared/shared_slots.h"

namespace lineward::upstream {

class HttpCallTable {
 public:
  explicit HttpCallTable(const HttpParts& parts);
  ~HttpCallTable();
  HttpCallTable(const HttpCallTable&) = delete;
  HttpCallTable& operator=(const HttpCallTable&) = delete;

  // Whether one more call may be sent. True: its place is taken, and it must be sent now. False: the pump is
  // scheduled when there is room.
  bool take_room(const SessionGroup& group, const HttpCall& call);
  // limits.maxInFlight may have changed.
  void limits_changed() {
    if (places_) places_->limit(server_.limits.max_in_flight);
  }
  // All waiting calls were offered their place.
  void pumped() {
    if (places_ && !std::exchange(wants_room_, false)) places_->stop_waiting();
  }
  // Nullopt, or why one more listen is refused: it would use up the connections for calls.
  std::optional<core::Failure> refuses(const SessionGroup& group, const HttpCall& call) const;
  size_t in_flight() const { return in_flight_; }
  // How many more calls may be sent.
  size_t places() const {
    const size_t most = server_.limits.max_in_flight, taken = places_ ? places_->taken_by_all() : in_flight_;
    return most > taken ? most - taken : 0;
  }
  // Sends a call that has left its group's queue, in the group's session.
  void send(SessionGroup& group, HttpCall& call);
  // A response or progress that arrived outside its call's stream: routed to the call by its id.
  void stray(HttpSession& session, mcp::Message message);
  // An invalid message of a session: ends the call that it was meant to answer.
  void broken(const HttpSession& session, const mcp::MessageFault& fault);
  // Fail the waiting calls of a group, and the sent ones.
  void fail_queue(SessionGroup& group, const core::Failure& failure);
  void fail_sent(SessionGroup& group, const core::Failure& failure);
  // Sends pending cancel notifications now: their session may be about to end.
  void tell_cancels() { cancels_.tell_now(); }
  // The group's session is lost and has left it: its calls are repeated in a new session, or end.
  void session_lost(SessionGroup& group);
  // The session still exists: calls that waited for this result end with the server's reply.
  void session_kept(SessionGroup& group);
  // From here on a lost listen is over for good. Closes streams without a waiting caller.
  void stop();

  // The caller cancels.
  void withdraw(HttpCall& call, std::string_view why);
  // The caller's answer to a server request.
  void reply(HttpCall& call, std::string message);
  // The call is parked, or no longer: a parked call does not count as in flight.
  void park(HttpCall& call);
  void unpark(HttpCall& call);
  // The client has retried; the retry is the call's request now.
  void retried(HttpCall& call);
  // Adds what the session knows: has_session and server_info.
  void session_facts(const HttpCall& call, core::CallFacts& facts);
  // Events of its response. In call_ended() `messages` is null.
  void call_opened(HttpCall& call, HttpMessages& from, const http::ResponseInfo& info);
  void call_message(HttpCall& call, HttpMessages& from, mcp::Message&& message);
  void call_malformed(HttpCall& call, const mcp::MessageFault& fault);
  void call_ended(HttpCall& call, const MessagesEnd& end);

 private:
  SessionGroup* group_of(const HttpCall& call) const;
  HttpRequest session_request(SessionGroup& group, HttpCall& call, const Headers& forwarded);
  void call_notification(HttpCall& call, SessionGroup* group, mcp::Message&& message);
  void finish(HttpCall& call, mcp::Message&& answer);
  void fail(HttpCall& call, const core::Failure& failure);
  // Removes a call from the table; its place is free.
  void left(HttpCall& call);
  void give_place();
  void tell_given_up(HttpCall& call);
  void refused(HttpCall& call, const MessagesEnd& end);
  // The call failed before its first byte was sent. True: another origin gets it, or its session is given up.
  bool send_elsewhere(HttpCall& call, SessionGroup* group);
  void resume(HttpCall& call, const MessagesEnd& end);
  void listen_lost(HttpCall& call, core::Failure failure, bool flooded);
  void drop(std::string_view kind, std::string_view id = {});

  // Messages that a legacy server sends between the answer and the end of a call's stream are read for a
  // moment and within limits.
  class AnsweredStream;
  void read_on(std::unique_ptr<HttpMessages> messages, const SessionGroup& group);
  void after_answer(const AnsweredStream& stream, mcp::Message&& message);
  void over(AnsweredStream& stream);
  void end_answered();

  // Lost sessions. A call that the server did not accept waits for the result of a ping; it stays in the
  // table meanwhile. True: the session may be lost, and the call is handled.
  bool is_doubtful(HttpCall& call, SessionGroup& group, const MessagesEnd& end);
  // The same for a call that was answered with an error.
  bool is_doubtful(HttpCall& call, SessionGroup& group, const mcp::Message& answer, int status);
  bool put_in_doubt(HttpCall& call, SessionGroup& group, HttpCall::Doubt doubt);
  void no_such_session(HttpCall& call, SessionGroup& group);
  // Repeats the call in a new session.
  void repeat(HttpCall& call, SessionGroup& group);
  // The call ends with the server's reply.
  void end_doubt(HttpCall& call, HttpCall::Doubt doubt);

  const HttpParts& parts_;
  net::Loop& loop_;
  const config::Server& server_;
  SessionGroups& groups_;
  metrics::UpstreamStats& stats_;
  const SharedHeaders post_headers_;
  ModernLines modern_lines_;
  Slabs call_nodes_;
  using CallNodes = SlabAllocator<std::pair<const int64_t, HttpCall*>>;
  // Sent calls, by upstream id.
  std::map<int64_t, HttpCall*, std::less<>, CallNodes> calls_{CallNodes(call_nodes_)};
  HttpCancels cancels_;
  std::vector<std::unique_ptr<AnsweredStream>> answered_;
  size_t in_flight_ = 0;  // without listens
  // Counts them for all workers, if all serve this server.
  std::optional<SharedSlots::Part> places_;
  bool wants_room_ = false;  // in this pump, a call found no place
  bool stopping_ = false;
};

}  // namespace lineward::upstream
