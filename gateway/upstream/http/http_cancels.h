// Calls of an HTTP server that were cancelled, until the server was told and their streams are closed
// (behaviour.md 3). Telling waits for the end of the loop turn: a call whose answer is among what the turn
// brings is over, and nothing is cancelled that is over.
//
// Owned by the HttpCallTable, which is its CancelsOwner.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "http_client/http_headers.h"
#include "metrics/stats.h"
#include "net/loop.h"
#include "upstream/http/http_messages.h"

namespace lineward::upstream {

struct LeftCall;

class CancelsOwner {
 public:
  // Into the session of the call's group; false when there is none that could be told. `sent` (may be empty):
  // it is on its way, or never will be.
  virtual bool post(const LeftCall& call, std::string message, std::function<void()> sent) = 0;
  // A call that became a task after all.
  virtual void cancel_task(const std::string& group, std::string_view params) = 0;

 protected:
  ~CancelsOwner() = default;
};

// A call that nobody waits for any more.
struct LeftCall {
  enum class Means : uint8_t {
    post,   // the server is told in its session; then the stream is closed
    close,  // closing the stream tells it
    keep    // it is not told: the stream goes on, and what comes is swallowed
  };
  Means means = Means::close;
  std::unique_ptr<HttpMessages> messages;  // null: between two connections, or all comes on another stream
  int64_t id = 0;
  std::string group;
  std::string why;
  // What is forwarded with what its server is told of it; empty: what its session remembers.
  std::optional<Headers> forwarded;
  std::vector<std::string> refusals;  // of what the server asked during it, once it is told
  uint64_t tag = 0;
  bool may_be_task = false;
  std::chrono::milliseconds at_most{0};  // of `keep`: what is left of the call's maxDuration
};

class HttpCancels {
 public:
  HttpCancels(net::Loop& loop, const config::Server& server, CancelsOwner& owner);
  ~HttpCancels();
  HttpCancels(const HttpCancels&) = delete;
  HttpCancels& operator=(const HttpCancels&) = delete;

  void take(LeftCall call);
  // An answer on another stream than the call's own; true when it was that of one of these.
  bool answered(const mcp::Message& answer, int64_t id);
  // Tells the server now: what it is told in may be about to end.
  void tell_now();
  // Ends those that are kept.
  void close_kept();
  size_t size() const { return cancels_.size(); }

 private:
  class PendingCancel;
  void tell(PendingCancel& pending);
  void refuse(LeftCall& call);
  void settle(PendingCancel& pending, core::CancelOutcome outcome);
  enum class Close : uint8_t { at_once, quietly };
  void over(PendingCancel& pending, Close how = Close::at_once);
  PendingCancel* find(int64_t id);

  net::Loop& loop_;
  const config::Server& server_;
  CancelsOwner& owner_;
  core::UpstreamStats& stats_;
  std::vector<std::unique_ptr<PendingCancel>> cancels_;  // the oldest first
  std::vector<int64_t> untold_;
  net::Deferred tell_later_;
  size_t kept_ = 0;
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream
