// Listens of modern clients on a legacy server, which knows none: made from resources/subscribe, counted per
// URI, and from its list_changed notifications (BEHAVIOUR 6 and 9).
//
// One per group of modern clients on a legacy server; holds its listens as plain calls, which leave through
// close(). A client may end its listen whenever it is sent something: listens are found again by their call
// after each delivery.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "mcp/legacy_server.h"
#include "upstream/stdio_instance.h"

namespace lineward::upstream {

class LegacyListens {
 public:
  ~LegacyListens() { *alive_ = false; }
  bool empty() const { return listens_.empty(); }
  // Does a process stand behind the listens?
  bool served() const { return instance_ != nullptr; }
  // A listen, on a ready instance: subscribes what is not subscribed yet, acknowledges what was granted. All
  // listens use the first instance they were opened on.
  void open(StdioCall& call, StdioInstance& instance);
  // The call is over, whoever ended it.
  void close(StdioCall& call);
  // A server's notification to everyone who asked for it; true when that was somebody.
  bool notify(const mcp::Message& notification);
  // This process is gone.
  void lost(const StdioInstance* instance);
  // Another process took its place: subscribes again and tells that things may have changed meanwhile.
  void restore(StdioInstance& instance);
  std::vector<StdioCall*> calls() const;

 private:
  struct Listen {
    bool tools = false, prompts = false, resources = false;
    std::set<std::string> wanted;  // URIs
    bool acknowledged = false;
  };
  enum class State : uint8_t { asked, granted, refused };
  struct Subscription {
    size_t wishes = 0;  // listens that want it
    State state = State::asked;
  };
  void subscribe(const std::string& uri);
  void answered(const std::string& uri, bool granted);
  void acknowledge_ready();
  std::string acknowledgement(const Listen& listen) const;
  void deliver(StdioCall* call, const std::string& text);

  StdioInstance* instance_ = nullptr;
  std::map<StdioCall*, Listen> listens_;
  std::map<std::string, Subscription> subscriptions_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // of this generation of the process
};

}  // namespace lineward::upstream
