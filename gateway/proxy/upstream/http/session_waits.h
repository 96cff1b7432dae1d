// The short waits of calls in a session with a legacy HTTP server. Calls wait for the confirmation of their
// log level, and for the answer to a ping between two calls that allow server requests. Requests outside
// calls' streams before that answer belong to the earlier call (behaviour.md 13).
//
// Owned by an HttpSession, which is its owner.
#pragma once

#include <cstdint>
#include <string_view>

#include "protocol/mcp/legacy_server.h"
#include "proxy/core/upstream.h"
#include "proxy/upstream/http/session_requests.h"
#include "proxy/upstream/shared/legacy_facade.h"

namespace lineward::upstream {

class SessionWaitsCallbacks {
 public:
  virtual bool is_ready() const = 0;
  virtual const mcp::LegacyServer& legacy_server() const = 0;
  // As SessionRequestsCallbacks's.
  virtual bool check_lost(const MessagesEnd& end) = 0;
  // Waiting calls may be sent.
  virtual void on_wait_over() = 0;

 protected:
  ~SessionWaitsCallbacks() = default;
};

class SessionWaits {
 public:
  SessionWaits(net::Loop& loop, SessionRequests& requests, SessionWaitsCallbacks& owner)
      : requests_(requests), owner_(owner), level_timer_(loop), ping_timer_(loop) {}
  SessionWaits(const SessionWaits&) = delete;
  SessionWaits& operator=(const SessionWaits&) = delete;

  // Whether these waits allow the request to be sent now.
  bool takes(const core::UpstreamRequest& request) const;
  // Sets the log level of a call in a shared session: a legacy server has one level for all, the lowest
  // requested.
  void want_level(const core::UpstreamRequest& request);
  // A legacy client's own logging/setLevel was sent.
  void level_is_set(const mcp::Message& set_level) { level_.is_set(set_level); }
  const LowestLogLevel& level() const { return level_; }

  // Requests that the server sends right after `initialize` belong to no call. So calls that allow requests
  // wait until the stream is open and a ping is answered.
  void settle_first() { settles_first_ = true; }
  void stream_settled();
  // The same between two such calls, if all messages come on one stream.
  void acquire_turn();
  // Adds one of Lineward's own requests: returns the turn in which it must be answered, to be passed to
  // left(); 0: it need not be.
  uint32_t join(std::string_view method);
  void left(uint32_t turn);

  // The session is over: the waits end.
  void stop();

 private:
  void level_set();
  void turn_settled();

  SessionRequests& requests_;
  SessionWaitsCallbacks& owner_;
  LowestLogLevel level_;
  bool settles_first_ = false;
  bool level_pending_ = false;  // sent and not confirmed yet
  bool pinged_ = false;         // sent and not answered yet
  bool answers_pings_ = true;
  uint32_t awaited_ = 0;  // pending answers that end the turn, the ping's included
  uint32_t turn_ = 0;
  net::Timer level_timer_, ping_timer_;  // when waiting calls are sent anyway
};

}  // namespace lineward::upstream
