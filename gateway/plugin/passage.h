// The server's messages of one exchange on their way past its plugins: in order, one at a time, bounded while
// a plugin takes its time.
//
// A part of its owner, which it calls; the owner may end from inside any of these calls, and stays until the
// end of the turn.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "base/held_bytes.h"
#include "core/upstream.h"
#include "plugin/chain.h"

namespace lineward::plugin {

class Passage {
 public:
  class Owner {
   public:
    virtual bool over() const = 0;
    // Much waits for a plugin: the server is not to be read from, where that is possible; then it is again.
    virtual void pause_server() = 0;
    virtual void resume_server() = 0;
    virtual void passed(mcp::Message message) = 0;
    virtual void passed(const core::Failure& failure) = 0;
    // A plugin took a message: ends the exchange with what it said. False: it said nothing.
    virtual bool decided() = 0;
    // A plugin did what it must not do; ends the exchange.
    virtual void broke(std::string_view what) = 0;

   protected:
    ~Owner() = default;
  };

  Passage(Chain& chain, ExchangeView& view, Owner& owner) : chain_(chain), view_(view), owner_(owner) {}

  void take(mcp::Message message);
  // The server failed: told to the owner once what came before has passed. False: nothing waits.
  bool holds_back(const core::Failure& failure);
  // Whose share of what is held the waiting messages are of.
  void charge(const AccountPtr& account) { held_.charge(account); }
  // Goes on after a wait.
  void pump();
  // Something of the server has not passed yet.
  bool has_waiting() const { return !waiting_.empty() || failure_; }
  // That is its last word.
  bool has_last() const;
  // The server is not to be read from.
  bool is_holding() const { return holding_; }

 private:
  void release();

  Chain& chain_;
  ExchangeView& view_;
  Owner& owner_;
  std::deque<mcp::Message> waiting_;  // the first is with the plugins
  std::string expected_id_;           // of the first, as it came
  mcp::MessageKind expected_kind_ = mcp::MessageKind::notification;
  bool begun_ = false;  // the first has been shown to a plugin
  bool holding_ = false;
  size_t waiting_bytes_ = 0;       // of those behind it
  size_t first_bytes_ = 0;         // of it, while a plugin takes its time
  HeldBytes held_{Held::plugins};  // of all of them
  std::optional<core::Failure> failure_;
};

}  // namespace lineward::plugin
