// What one process of a stdio server says, line by line: which call each message belongs to, and what becomes
// of those that belong to none (behaviour.md 5 and 13).
//
// Belongs to a StdioInstance, which is its owner.
#pragma once

#include <string_view>

#include "upstream/stdio/instance_calls.h"
#include "upstream/stdio/instance_wire.h"

namespace lineward::upstream {

// What a process has shown by saying something.
enum class Heard : uint8_t {
  handshake,  // it is there
  work        // it does what it was asked for a client
};

class InboxOwner {
 public:
  // A message came; it is looked at next.
  virtual void on_message() = 0;
  // It said something on a listen.
  virtual void on_heard(Heard what) = 0;
  // The answer to `entry`, which is over.
  virtual void on_answer(PendingCall&& entry, mcp::Message&& message) = 0;
  // Something that was to be the answer to `entry`, which is over.
  virtual void on_broken_answer(PendingCall entry, const std::string& why) = 0;
  // A legacy server's request, or a notification that names no call. `only`: the one call it can belong to,
  // where there is exactly one.
  virtual void on_unclaimed(mcp::Message message, StdioCall* only) = 0;
  virtual bool is_down() const = 0;

 protected:
  ~InboxOwner() = default;
};

class InstanceInbox {
 public:
  InstanceInbox(const config::Server& server, InstanceCalls& calls, InstanceWire& wire, InboxOwner& owner)
      : server_(server),
        stats_(core::upstream_stats(server.name)),
        calls_(calls),
        wire_(wire),
        owner_(owner) {}
  InstanceInbox(const InstanceInbox&) = delete;
  InstanceInbox& operator=(const InstanceInbox&) = delete;

  void read(json::Text line);

 private:
  void broken_line(const mcp::MessageFault& fault);
  void refuse_malformed(const mcp::MessageFault& fault);
  void response(mcp::Message&& message);
  void request(mcp::Message message);
  void notification(mcp::Message message);
  void of_listens(const mcp::Message& message);
  void end_listen(mcp::Message message);
  // To the call of this entry; false when it cannot be meant.
  bool deliver(PendingCall* entry, mcp::Message& message);
  void drop(std::string_view kind);
  bool is_modern() const { return wire_.era() == mcp::Era::modern; }

  const config::Server& server_;
  core::UpstreamStats& stats_;
  InstanceCalls& calls_;
  InstanceWire& wire_;
  InboxOwner& owner_;
};

}  // namespace lineward::upstream
