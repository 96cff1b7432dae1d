// Requests that Lineward itself sends to an HTTP server, or that nobody waits for: the handshake,
// notifications, answers to a server's questions, cancels, the end of a session. Each is one POST or DELETE
// with a limit in time.
//
// HttpSubRequests owns those under way and belongs to the upstream; a sub-request is freed when it is over.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "upstream/http/http_messages.h"

namespace lineward::upstream {

class HttpSubRequests;

struct SubRequestPlan {
  HttpRequest request;
  int64_t id = 0;  // of the request in it; 0: no answer is awaited
  // In which session it goes (HttpSubRequests::next_session); 0: in none. The last one there waits a moment
  // for those before it: on connections of their own it could overtake them.
  uint64_t session = 0;
  bool is_last = false;
  bool answered_elsewhere = false;  // where the server has accepted it and not answered: by take_answer()
  std::chrono::milliseconds limit{10000};
  std::string_view option = {};  // that the limit is, where it is one
  // All of it was given to the kernel, or it will never be; called once.
  std::function<void()> drained;
  std::function<void(const http::ResponseInfo& info)> opened;
  // A message of the response that is no answer to this one's request.
  std::function<void(mcp::Message message)> other;
  // The limit has run out, and the server may know the request: it can be told before the response is closed,
  // which waits a moment for that. `done` follows at once.
  std::function<void()> late;
  // Over. `answer` is the result or error in the response, where there was one.
  std::function<void(std::optional<mcp::Message> answer, const MessagesEnd& end)> done;
};

class HttpSubRequest final : public MessagesOwner {
 public:
  HttpSubRequest(HttpSubRequests& owner, SubRequestPlan plan);
  ~HttpSubRequest() = default;
  // Nothing is called any more.
  void drop();

 private:
  void start();
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
  net::Timer limit_;
  std::unique_ptr<HttpMessages> messages_;  // null: it waits for others, or for its answer
  std::optional<mcp::Message> answer_;
};

class HttpSubRequests {
 public:
  HttpSubRequests(HttpPool& pool, uint64_t max_message_bytes)
      : pool_(pool), max_message_bytes_(max_message_bytes) {}
  ~HttpSubRequests() { drop_all(); }

  // Never calls back from inside. What the plan's functions look at must live until `done`, or guard itself.
  void run(SubRequestPlan plan);
  // What came on the stream of this session: true, and it is taken, when it answers one that is under way
  // there.
  bool take_answer(uint64_t session, mcp::Message& message);
  uint64_t next_session() { return ++last_session_; }
  void drop_all();
  void set_max_message_bytes(uint64_t bytes) { max_message_bytes_ = bytes; }
  size_t size() const { return sub_requests_.size(); }
  // Of the bodies of those under way.
  size_t bytes() const { return bytes_; }
  // Called once, when none is left.
  void when_empty(std::function<void()> empty);

 private:
  friend class HttpSubRequest;
  void over(HttpSubRequest& one);
  bool is_awaited(const SubRequestPlan& last) const;

  HttpPool& pool_;
  uint64_t max_message_bytes_;
  std::vector<std::unique_ptr<HttpSubRequest>> sub_requests_;
  size_t bytes_ = 0;
  uint64_t last_session_ = 0;
  std::function<void()> empty_;
};

}  // namespace lineward::upstream
