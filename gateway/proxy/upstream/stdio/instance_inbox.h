// Reads the messages of one process of a stdio server, line by line. Finds the call of each message, and
// handles messages that belong to no call (behaviour.md 5 and 13).
//
// Belongs to a StdioInstance, which is its owner.
#pragma once

#include <string_view>

#include "proxy/upstream/stdio/instance_calls.h"
#include "proxy/upstream/stdio/instance_wire.h"

namespace lineward::upstream {

// Proof given by a message of a process.
enum class Heard : uint8_t {
  handshake,  // the process runs
  work        // it does work for clients
};

class InboxCallbacks {
 public:
  // A message arrived; it is handled next.
  virtual void on_message() = 0;
  // A message on a listen arrived.
  virtual void on_heard(Heard what) = 0;
  // The answer to `entry`, which is over.
  virtual void on_answer(PendingCall&& entry, mcp::Message&& message) = 0;
  // An unusable answer to `entry`, which is over.
  virtual void on_broken_answer(PendingCall entry, const std::string& why) = 0;
  // A legacy server's request, or a notification that names no call. `only`: the only call it can belong to,
  // if there is exactly one.
  virtual void on_unclaimed(mcp::Message message, StdioCall* only) = 0;
  virtual bool is_down() const = 0;

 protected:
  ~InboxCallbacks() = default;
};

class InstanceInbox {
 public:
  InstanceInbox(const config::Server& server, InstanceCalls& calls, InstanceWire& wire, InboxCallbacks& owner)
      : server_(server),
        stats_(metrics::upstream_stats(server.name)),
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
  // Delivers to the call of this entry; false if it cannot be the addressee.
  bool deliver(PendingCall* entry, mcp::Message& message);
  void drop(std::string_view kind, std::string_view id = {});
  bool is_modern() const { return wire_.era() == mcp::Era::modern; }

  const config::Server& server_;
  metrics::UpstreamStats& stats_;
  InstanceCalls& calls_;
  InstanceWire& wire_;
  InboxCallbacks& owner_;
};

}  // namespace lineward::upstream
