// Listens of modern clients on a legacy server, which knows none: made from resources/subscribe, counted per URI, and
// from its list_changed notifications (BEHAVIOUR 6 and 9).
//
// One per group of modern clients on a legacy server; holds its listens as plain calls, which leave through close().
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "mcp/legacy_server.h"
#include "upstream/stdio_instance.h"

namespace lineward::upstream {

class LegacyListens {
 public:
  bool empty() const { return listens_.empty(); }
  // A listen, on a ready instance: subscribes what is not subscribed yet, acknowledges what was granted.
  void open(StdioCall& call, StdioInstance& instance);
  // The call is over, whoever ended it. `instance` may be null.
  void close(StdioCall& call, StdioInstance* instance);
  // A server's notification to everyone who asked for it; true when that was somebody.
  bool notify(const mcp::Message& notification);
  // The process is gone: nothing is subscribed any more.
  void lost();
  // Another process took its place: subscribes again and tells that things may have changed meanwhile.
  void restore(StdioInstance& instance);
  std::vector<StdioCall*> calls() const;

 private:
  struct Listen {
    StdioCall* call;
    bool tools = false, prompts = false, resources = false;
    std::set<std::string> wanted;   // URIs
    std::set<std::string> granted;
    size_t outstanding = 0;         // subscriptions not yet answered
    bool acknowledged = false;
  };
  void subscribe(Listen& listen, StdioInstance& instance);
  void answered(const StdioCall* call, const std::string& uri, bool granted);
  void acknowledge(Listen& listen);
  static void send(Listen& listen, std::string_view method, std::string_view params_members);

  std::vector<std::unique_ptr<Listen>> listens_;
  std::multiset<std::string> subscribed_;  // once per listen that was granted it
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // of this generation of the process
};

}  // namespace lineward::upstream
