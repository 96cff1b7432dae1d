// Requests of Lineward itself, and messages without a waiting caller: the handshake, notifications, answers
// to server requests, cancels, the end of a session. Each is one POST or DELETE with a time limit.
//
// HttpSubRequests owns those in progress and belongs to the upstream; a sub-request is freed when it is over.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "proxy/upstream/http/http_messages.h"
#include "proxy/upstream/http/origin_set.h"

namespace lineward::upstream {

class HttpSubRequests;

struct SubRequestPlan {
  HttpRequest request;
  // The origin that gets it. None: any, and another one if not a byte could be sent to the first.
  OriginUse origin = {};
  std::shared_ptr<OriginUse> went = {};  // if set, gets the origin that it was sent to last
  int64_t id = 0;                        // of its request; 0: no answer is expected
  // Its session (HttpSubRequests::next_session); 0: none. The last request of a session waits briefly for
  // earlier ones, which it could overtake on another connection.
  uint64_t session = 0;
  bool is_last = false;
  bool answered_elsewhere = false;  // accepted without an answer: the answer comes by take_answer()
  std::chrono::milliseconds limit{10000};
  std::string_view option = {};  // the option of this limit, if any
  // Called once, when all of it is passed to the kernel, or never will be.
  std::function<void()> drained;
  std::function<void(const http::ResponseInfo& info)> opened;
  // A message of the response that does not answer this request.
  std::function<void(mcp::Message message)> other;
  // The limit has expired, and the server may have received the request: a notification may be sent before
  // the response is closed; closing waits briefly for it. `done` follows at once.
  std::function<void()> late;
  // Over. `answer`: the result or error in the response, if any.
  std::function<void(std::optional<mcp::Message> answer, const MessagesEnd& end)> done;
};

class HttpSubRequest final : public MessagesCallbacks {
 public:
  HttpSubRequest(HttpSubRequests& owner, SubRequestPlan plan);
  // No further callbacks.
  void drop();

 private:
  void start();
  void send_to(Origin& origin, HttpRequest&& request);
  bool send_elsewhere(const MessagesEnd& end);
  void on_messages_drained(HttpMessages&) override;
  void on_messages_open(HttpMessages&, const http::ResponseInfo& info) override;
  void on_message(HttpMessages& from, mcp::Message&& message) override;
  void on_no_message(HttpMessages& from, const mcp::MessageFault& fault) override;
  void on_messages_end(HttpMessages& from, const MessagesEnd& end) override;
  void finish(std::optional<mcp::Message> answer, const MessagesEnd& end);
  void ran_out();

  friend class HttpSubRequests;
  HttpSubRequests& owner_;
  const size_t bytes_;  // of its body
  SubRequestPlan plan_;
  uint64_t tried_ = 0;  // origins (Origin::bit)
  net::Timer limit_;
  std::unique_ptr<HttpMessages> messages_;  // null: it waits for others, or for its answer
  std::optional<mcp::Message> answer_;
};

class HttpSubRequests {
 public:
  HttpSubRequests(OriginSet& origins, uint64_t max_message_bytes)
      : loop_(origins.loop()), origins_(origins), max_message_bytes_(max_message_bytes) {}
  ~HttpSubRequests() { drop_all(); }

  // Never calls back before it returns. Objects used by the plan's callbacks must live until `done`, or use a
  // guard.
  void run(SubRequestPlan plan);
  // Takes a message on the stream of this session if it answers a sub-request there; true then.
  bool take_answer(uint64_t session, mcp::Message& message);
  uint64_t next_session() { return ++last_session_; }
  void drop_all();
  void set_max_message_bytes(uint64_t bytes) { max_message_bytes_ = bytes; }
  // Called once, when none is left.
  void when_empty(std::function<void()> empty);

 private:
  friend class HttpSubRequest;
  void over(HttpSubRequest& one);
  bool is_awaited(const SubRequestPlan& last) const;

  net::Loop& loop_;
  OriginSet& origins_;
  uint64_t max_message_bytes_;
  std::vector<std::unique_ptr<HttpSubRequest>> sub_requests_;
  size_t bytes_ = 0;  // of the bodies in progress
  uint64_t last_session_ = 0;
  std::function<void()> empty_;
};

}  // namespace lineward::upstream
