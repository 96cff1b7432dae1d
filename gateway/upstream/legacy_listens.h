// Listens of modern clients on a legacy server, which knows none: made from resources/subscribe, counted per
// URI, and from its list_changed notifications (BEHAVIOUR 6 and 9). Knows no transport: what it needs of
// calls and of the server stands in two small interfaces.
//
// One per group of modern clients on a legacy server; holds its listens as plain calls, which leave through
// close(). A client may end its listen whenever it is sent something: listens are found again by their call
// after each delivery.
//
// For one URI there is one request under way at a time: over HTTP a subscribe and an unsubscribe sent side by
// side could arrive in either order. What was decided meanwhile is done when the answer is there.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/upstream.h"
#include "mcp/legacy_server.h"

namespace lineward::upstream {

// A subscriptions/listen that waits for its messages.
class ListenCall {
 public:
  virtual const mcp::Message& listen_request() const = 0;
  virtual void phase(core::CallPhase phase) = 0;
  virtual void message(mcp::Message message) = 0;
  virtual void fail(const core::Failure& failure) = 0;

 protected:
  ~ListenCall() = default;
};

// The legacy server behind: one process, or one session.
class ListenServer {
 public:
  using OwnAnswer = std::function<void(const mcp::Message& answer)>;
  virtual const mcp::LegacyServer& legacy_server() const = 0;
  // Requests may be sent to it now.
  virtual bool is_ready() const = 0;
  // A request of Lineward's own; `answered` may be empty. Never calls back from inside.
  virtual void send_own(std::string_view method, std::string_view params, OwnAnswer answered) = 0;

 protected:
  ~ListenServer() = default;
};

class LegacyListens {
 public:
  LegacyListens() = default;
  ~LegacyListens() { *alive_ = false; }
  LegacyListens(const LegacyListens&) = delete;
  LegacyListens& operator=(const LegacyListens&) = delete;

  bool empty() const { return listens_.empty(); }
  // Does a server stand behind the listens?
  bool served() const { return server_ != nullptr; }
  bool served_by(const ListenServer* server) const { return server_ == server && !listens_.empty(); }
  // A listen, on a ready server: subscribes what is not subscribed yet, acknowledges what was granted. All
  // listens use the first server they were opened on.
  void open(ListenCall& call, ListenServer& server);
  // The call is over, whoever ended it.
  void close(ListenCall& call);
  // Ends every listen with this failure.
  void fail_all(const core::Failure& failure);
  // A server's notification to everyone who asked for it; true when that was somebody.
  bool notify(const mcp::Message& notification);
  // This server is gone.
  void lost(const ListenServer* server);
  // Another one took its place: subscribes again and tells that things may have changed meanwhile.
  void restore(ListenServer& server);

 private:
  struct Listen {
    bool tools = false, prompts = false, resources = false;
    std::set<std::string> wanted;   // URIs
    std::set<std::string> granted;  // of these, what was acknowledged
    bool acknowledged = false;
  };
  enum class State : uint8_t { asked, granted, refused, leaving };
  struct Subscription {
    size_t wishes = 0;  // listens that want it; 0 only until the answer is there
    State state = State::asked;
  };
  void subscribe(const std::string& uri);
  void unsubscribe(const std::string& uri);
  void answered(const std::string& uri, bool granted);
  void unsubscribed(const std::string& uri);
  void acknowledge_ready();
  std::string acknowledge(Listen& listen) const;
  void deliver(ListenCall* call, const std::string& text);

  ListenServer* server_ = nullptr;
  std::map<ListenCall*, Listen> listens_;
  std::map<std::string, Subscription> subscriptions_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // of this generation of the server
};

}  // namespace lineward::upstream
