// Cancelled calls of an HTTP server, until the server is notified and their streams are closed (behaviour.md
// 3). The notification waits for the end of the turn: a call answered in the same turn is over, and not
// cancelled.
//
// Owned by the HttpCallTable.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "foundation/net/lifetime.h"
#include "proxy/metrics/stats.h"
#include "proxy/upstream/http/http_messages.h"
#include "proxy/upstream/http/http_parts.h"
#include "proxy/upstream/http/origin.h"
#include "proxy/upstream/http_client/http_headers.h"

namespace lineward::upstream {

// A call without a waiting caller.
struct LeftCall {
  enum class Means : uint8_t {
    post,   // a notification is sent in the session; then the stream is closed
    close,  // closing the stream is the cancel
    keep    // no cancel: the stream continues, and its messages are dropped
  };
  Means means = Means::close;
  std::unique_ptr<HttpMessages> messages;  // null: between two connections, or answered on another stream
  int64_t id = 0;
  std::string group;
  OriginUse origin = {};  // that has the call
  std::string why;
  // Headers forwarded with messages about it; nullopt: those that the session stores.
  std::optional<Headers> forwarded;
  std::vector<std::string> refusals;  // answers to the server's open requests, sent after the notification
  uint64_t tag = 0;
  bool may_be_task = false;
  std::chrono::milliseconds at_most{0};  // for `keep`: the rest of the call's maxDuration
};

class HttpCancels {
 public:
  explicit HttpCancels(const HttpParts& parts);
  ~HttpCancels();
  HttpCancels(const HttpCancels&) = delete;
  HttpCancels& operator=(const HttpCancels&) = delete;

  void take(LeftCall call);
  // An answer outside the call's own stream; true if it answers one of these calls.
  bool answered(const mcp::Message& answer, int64_t id);
  // Notifies the server now: the session may be about to end.
  void tell_now();
  // Closes the streams of `keep`.
  void close_kept();

 private:
  class PendingCancel;
  // Posts into the session of the call's group; false if there is none. `sent` (may be empty) is called when
  // the message is written, or never will be.
  bool post(const LeftCall& call, std::string message, std::function<void()> sent);
  void tell(PendingCancel& pending);
  void refuse(LeftCall& call);
  void settle(PendingCancel& pending, metrics::CancelOutcome outcome);
  enum class Close : uint8_t { at_once, quietly };
  void over(PendingCancel& pending, Close how = Close::at_once);
  PendingCancel* find(int64_t id);

  net::Loop& loop_;
  const config::Server& server_;
  SessionGroups& groups_;
  const ServerEra& era_;
  metrics::UpstreamStats& stats_;
  std::vector<std::unique_ptr<PendingCancel>> cancels_;  // oldest first
  std::vector<int64_t> untold_;
  net::Deferred tell_later_;
  size_t kept_ = 0;
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream
