// The GET stream of a session with a legacy HTTP server, on which the server speaks by itself (2025-03-26 …
// 2025-11-25 transports, "Listening for Messages from the Server"): opens it, goes on where it broke off, and
// opens it again after pauses. A server may offer none; where too many stand already (StreamPlaces) it waits
// for its turn. Either way the session does without: what its server tells then comes with its calls.
//
// Servers allow one such stream for a session. Where other replicas serve the session too (docs/replicas.md),
// each of them has one only while the session's client has its own there.
//
// Owned by an HttpSession, which is its owner.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/backoff.h"
#include "config/config.h"
#include "http_client/http_headers.h"
#include "http_client/stream_places.h"
#include "upstream/http/http_messages.h"

namespace lineward::upstream {

class HttpCall;
class SessionCredentials;

enum class StreamNews : uint8_t {
  settled,  // it is there, or is not waited for any more
  // One stands again in the place of one that ended, and nothing says where to go on: what the server told in
  // between is lost. Told once for each loss, and now and then, however many there are.
  missed
};

class ServerStreamOwner {
 public:
  // Of the next request of this session.
  virtual Headers headers(HttpVerb verb) const = 0;
  virtual SessionCredentials& credentials() = 0;
  virtual bool is_ready() const = 0;
  // It is ready and its server has accepted that, and speaks on a stream like this one.
  virtual bool may_stream() const = 0;
  // Whether this end says that the server knows the session no more; sees to it then.
  virtual bool check_lost(const MessagesEnd& end) = 0;
  // What the server says. `call` is null: on no call's stream.
  virtual void hear(mcp::Message message, HttpCall* call) = 0;
  virtual void refuse_malformed(const mcp::MessageFault& fault) = 0;
  virtual void on_stream_news(StreamNews news) = 0;

 protected:
  ~ServerStreamOwner() = default;
};

class ServerStream final : public MessagesOwner {
 public:
  ServerStream(HttpPool& pool, const config::Server& server, ServerStreamOwner& owner);
  ~ServerStream();
  ServerStream(const ServerStream&) = delete;
  ServerStream& operator=(const ServerStream&) = delete;

  // The server has accepted that the session is initialised. Opens it, that of a shared session if it is
  // wanted.
  void start();
  // It was asked for and is not there yet: what the server tells meanwhile would be lost.
  bool is_pending() const { return pending_; }
  // The server has one for us, though it may just be opened again.
  bool is_offered() const { return was_open_ && (messages_ != nullptr || timer_.running()); }
  // The session is over.
  void close();

  // Other replicas serve the session too; or none does any more.
  void share() { shared_ = true; }
  void unshare() { shared_ = false; }
  bool is_shared() const { return shared_; }
  // Of a shared session: its client has a stream here; or has none any more.
  void want();
  void let_go();

 private:
  void on_messages_open(HttpMessages& from, const http::ResponseInfo& info) override;
  void on_message(HttpMessages& from, mcp::Message&& message) override;
  void on_malformed_request(HttpMessages&, const mcp::MessageFault& fault) override;
  void on_no_message(HttpMessages&, const mcp::MessageFault& fault) override {
    owner_.refuse_malformed(fault);
  }
  void on_messages_end(HttpMessages& from, const MessagesEnd& end) override;
  void open();
  void ask();
  void reopen(std::chrono::milliseconds after);
  void settle();
  void close_messages();
  void shared_ended(const MessagesEnd& end);
  void note_gap();
  void tell_gap();
  void note_good();
  Backoff::Range pauses(std::chrono::milliseconds first) const;

  net::Loop& loop_;
  HttpPool& pool_;
  const config::Server& server_;
  ServerStreamOwner& owner_;
  StreamPlace place_;
  std::unique_ptr<HttpMessages> messages_;
  bool pending_ = false;
  bool was_open_ = false;
  bool shared_ = false;
  bool wanted_ = false;  // that of a shared one
  std::string last_event_id_;
  std::chrono::milliseconds retry_{1000};
  Backoff backoff_;
  net::Timer timer_;  // until it is not waited for any more, or is opened again
  bool stands_ = false;
  std::chrono::milliseconds stands_since_{0};
  bool missed_ = false;       // not told yet
  bool same_loss_ = false;    // one was lost, and none that followed was good
  bool missed_more_ = false;  // one of these stood, and was lost as well: told when one is good
  net::Timer good_timer_;
  std::chrono::milliseconds gap_pause_{0};
  std::chrono::milliseconds next_gap_{0};  // is not told before
  net::Timer gap_timer_;
};

}  // namespace lineward::upstream
