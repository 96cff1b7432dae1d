// What calls of a session with a legacy HTTP server wait for, each a moment at most: that the server has
// confirmed the log level they want, and that it has answered a ping between two calls that it may ask
// about. What it asked on its own stream before that belongs to the earlier one (behaviour.md 13).
//
// Owned by an HttpSession, which is its owner.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/upstream.h"
#include "mcp/legacy_server.h"
#include "upstream/http/session_requests.h"
#include "upstream/shared/legacy_facade.h"

namespace lineward::upstream {

class SessionWaitsOwner {
 public:
  virtual bool is_ready() const = 0;
  virtual const mcp::LegacyServer& legacy_server() const = 0;
  // As SessionRequestsOwner's.
  virtual bool check_lost(const MessagesEnd& end) = 0;
  // Calls that waited may be sent.
  virtual void on_wait_over() = 0;

 protected:
  ~SessionWaitsOwner() = default;
};

class SessionWaits {
 public:
  SessionWaits(net::Loop& loop, SessionRequests& requests, SessionWaitsOwner& owner)
      : requests_(requests), owner_(owner), level_timer_(loop), ping_timer_(loop) {}
  SessionWaits(const SessionWaits&) = delete;
  SessionWaits& operator=(const SessionWaits&) = delete;

  // Whether a request may be sent now, as far as this is concerned.
  bool takes(const core::CallRequest& request) const;
  // The log level of a call whose client is not the only one here: a legacy server has one for all, the
  // lowest that anyone wanted.
  void want_level(const core::CallRequest& request);
  // A legacy client's own was sent.
  void level_is_set(const mcp::Message& set_level) { level_.is_set(set_level); }
  const LowestLogLevel& level() const { return level_; }

  // What the server asks as soon as it is initialised belongs to no call: it gets none that it may ask about
  // before it has answered a ping, once its stream stands.
  void settle_first() { settles_first_ = true; }
  void stream_settled();
  // The same between two calls that it may ask about, where all it says comes on one stream.
  void settle_turn();
  // A request of Lineward's own: the turn it has to be answered in, which is given to left(); 0: no matter.
  uint32_t join(std::string_view method);
  void left(uint32_t turn);

  // The session is over: nobody waits.
  void stop();

 private:
  void level_set();
  void turn_settled();

  SessionRequests& requests_;
  SessionWaitsOwner& owner_;
  LowestLogLevel level_;
  bool settles_first_ = false;
  bool level_pending_ = false;  // set and not confirmed yet
  bool pinged_ = false;         // and has not answered yet
  bool answers_pings_ = true;
  uint32_t awaited_ = 0;  // answers that a call waits for with the ping's, and that itself
  uint32_t turn_ = 0;
  net::Timer level_timer_, ping_timer_;  // until those who wait for these go on without
};

}  // namespace lineward::upstream
