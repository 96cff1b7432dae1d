// Passes the server's messages of one exchange through its plugins: in order, one at a time, in a bounded
// queue while a plugin waits.
//
// A member of its owner, which it calls. The owner may end inside any of these calls, and exists until the
// end of the turn.
#pragma once

#include <list>
#include <optional>
#include <string>
#include <string_view>

#include "foundation/base/memory_charge.h"
#include "proxy/core/upstream.h"
#include "proxy/plugin/hook_chain.h"

namespace lineward::plugin {

class HookQueue {
 public:
  class Owner {
   public:
    virtual bool over() const = 0;
    // The queue is long: stop reading from the server, if possible; then resume.
    virtual void pause_server() = 0;
    virtual void resume_server() = 0;
    virtual void passed(mcp::Message message) = 0;
    virtual void passed(const core::Failure& failure) = 0;
    // A plugin consumed a message: ends the exchange with the plugin's result. False: it gave none.
    virtual bool decided() = 0;
    // A plugin broke a rule; ends the exchange.
    virtual void broke(std::string_view what) = 0;

   protected:
    ~Owner() = default;
  };

  HookQueue(HookChain& chain, ExchangeView& view, Owner& owner) : chain_(chain), view_(view), owner_(owner) {}

  void take(mcp::Message message);
  // The server failed: the failure is queued until earlier messages have passed. False: the queue is empty.
  bool holds_back(const core::Failure& failure);
  // The account charged for queued messages.
  void charge(const AccountPtr& account) { held_.charge(account); }
  // Continues after a wait.
  void pump();
  // Messages or a failure of the server are queued.
  bool has_waiting() const { return !waiting_.empty() || failure_; }
  // The server's final message is queued.
  bool has_last() const;
  // The server must not be read from.
  bool is_holding() const { return holding_; }

 private:
  void release();

  HookChain& chain_;
  ExchangeView& view_;
  Owner& owner_;
  // The first is with the plugins. A list, because an empty one has no memory: most exchanges have one
  // message.
  std::list<mcp::Message> waiting_;
  std::string expected_id_;  // of the first, before plugins saw it
  mcp::MessageKind expected_kind_ = mcp::MessageKind::notification;
  bool begun_ = false;  // a plugin has seen the first
  bool holding_ = false;
  size_t waiting_bytes_ = 0;          // of the messages behind the first
  size_t first_bytes_ = 0;            // of the first, while a plugin waits
  MemoryCharge held_{Held::plugins};  // of all of them
  std::optional<core::Failure> failure_;
};

}  // namespace lineward::plugin
