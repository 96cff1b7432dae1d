// Listens of modern clients on a legacy server, which knows none: made from resources/subscribe, counted per
// URI, and from its list_changed notifications (BEHAVIOUR 6 and 9). Knows no transport: what it needs of
// calls and of the server stands in two small interfaces.
//
// One per group of modern clients on a legacy server; holds its listens as plain calls, which leave through
// close().
#pragma once

#include <cstdint>
#include <functional>
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

 protected:
  ~ListenCall() = default;
};

// The legacy server behind: one process, or one session.
class ListenServer {
 public:
  using OwnAnswer = std::function<void(const mcp::Message& answer)>;
  virtual const mcp::LegacyServer& legacy_server() const = 0;
  // A request of Lineward's own; `answered` may be empty.
  virtual void send_own(std::string_view method, std::string_view params, OwnAnswer answered) = 0;

 protected:
  ~ListenServer() = default;
};

class HttpListens {
 public:
  HttpListens() = default;
  ~HttpListens() { *alive_ = false; }
  HttpListens(const HttpListens&) = delete;
  HttpListens& operator=(const HttpListens&) = delete;

  bool empty() const { return listens_.empty(); }
  // A listen, on a server that is ready: subscribes what is not subscribed yet, acknowledges what was
  // granted.
  void open(ListenCall& call, ListenServer& server);
  // The call is over, whoever ended it. `server` may be null.
  void close(ListenCall& call, ListenServer* server);
  // A server's notification to everyone who asked for it; true when that was somebody.
  bool notify(const mcp::Message& notification);
  // The server is gone: nothing is subscribed any more.
  void lost();
  // Another one took its place: subscribes again and tells that things may have changed meanwhile.
  void restore(ListenServer& server);
  std::vector<ListenCall*> calls() const;

 private:
  struct Listen {
    ListenCall* call;
    bool tools = false, prompts = false, resources = false;
    std::set<std::string> wanted;  // URIs
    std::set<std::string> granted;
    size_t outstanding = 0;  // subscriptions not yet answered
    bool acknowledged = false;
  };
  Listen* find(const ListenCall* call);
  void subscribe(Listen& listen, ListenServer& server);
  void answered(const ListenCall* call, const std::string& uri, bool granted);
  void acknowledge(Listen& listen);
  static bool wants(const Listen& listen, const mcp::Message& notification);
  static void send(Listen& listen, std::string_view method, std::string_view params_members);

  std::vector<std::unique_ptr<Listen>> listens_;
  std::multiset<std::string> subscribed_;                       // once per listen that was granted it
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // of this generation of the server
};

}  // namespace lineward::upstream
