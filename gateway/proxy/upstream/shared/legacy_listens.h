// Emulates listens on a legacy server, for modern clients and for legacy sessions that share it. It uses
// resources/subscribe, counted per URI, and the server's list_changed notifications (behaviour.md 6 and 9).
// Independent of the transport: two small interfaces stand for calls and servers.
//
// There is one for each group of callers of a legacy server that Lineward has initialised. Every process or
// session of the group is subscribed, including later ones, since any of them may report a change. A
// subscription is granted as soon as one of them grants it; identical notifications are sent once. Listens
// are plain pointers, which leave through close(). A client may end its listen during any delivery, so
// listens are looked up again after each one.
//
// The number of requests in progress per server is limited, whatever the number of URIs. There is one at a
// time per URI: over HTTP a concurrent subscribe and unsubscribe could arrive in either order. Decisions made
// meanwhile are executed when the answer has arrived.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/counted_set.h"
#include "foundation/net/lifetime.h"
#include "protocol/mcp/legacy_server.h"
#include "proxy/core/upstream.h"

namespace lineward::upstream {

// A subscriptions/listen that waits for its messages.
class ListenCall {
 public:
  virtual const mcp::Message& listen_request() const = 0;
  // Kept for a legacy session, which may exist long without its client.
  virtual bool is_of_session() const { return false; }
  virtual void phase(core::CallPhase phase) = 0;
  virtual void message(mcp::Message message) = 0;
  virtual void fail(const core::Failure& failure) = 0;

 protected:
  ~ListenCall() = default;
};

// The legacy server, or one of several: one process, or one session.
class ListenServer {
 public:
  using OwnAnswer = std::function<void(const mcp::Message& answer)>;
  virtual const mcp::LegacyServer& legacy_server() const = 0;
  // Requests may be sent to it now.
  virtual bool is_ready() const = 0;
  // Sends one of Lineward's own requests; `answered` may be empty. Never calls back before it returns.
  virtual void send_own(std::string_view method, std::string_view params, OwnAnswer answered) = 0;

 protected:
  ~ListenServer() = default;
};

class LegacyListens {
 public:
  LegacyListens() = default;
  ~LegacyListens();
  LegacyListens(const LegacyListens&) = delete;
  LegacyListens& operator=(const LegacyListens&) = delete;

  bool empty() const { return listens_.empty(); }
  // Whether a listen needs a server even without calls. A session that only wants list changes does not: a
  // later server reports that they may have changed.
  bool need_server() const { return needing_ > 0; }
  bool served() const { return !servers_.empty(); }
  bool served_by(const ListenServer* server) const { return find(server) != nullptr; }
  // A server is ready: subscribes it to all wanted URIs. If there was none before, listening clients are
  // notified that everything may have changed. That is sent after the server has answered the subscriptions,
  // since earlier changes are not notified.
  void join(ListenServer& server);
  // This server is gone.
  void lost(const ListenServer* server);
  // A listen, on a ready server: subscribes missing URIs, and acknowledges the granted ones.
  void open(ListenCall& call, ListenServer& server);
  // The call is over, for any reason.
  void close(ListenCall& call);
  // Ends every listen with this failure.
  void fail_all(const core::Failure& failure);
  // Delivers a server's notification to the listens that want it; true if there was one.
  bool notify(const ListenServer& from, const mcp::Message& notification, std::chrono::milliseconds now);
  // A request is sent to the servers: notifications from here on report new changes.
  void asked() { ++asked_; }
  // Notifies that everything may have changed.
  void tell_changes();

 private:
  struct Listen {
    uint64_t number = 0;  // deliveries are in this order
    bool tools = false, prompts = false, resources = false;
    CountedSet wanted;                  // URIs
    CountedSet open;                    // of these, those that an answer may still grant
    std::optional<CountedSet> granted;  // of these, the acknowledged ones; null: it is not acknowledged
    bool needs_server = false;
  };
  enum class State : uint8_t { asked, granted, refused, leaving };
  struct Server {
    ListenServer* server;
    uint64_t number;
    CountedMap<State> uris;
    // URIs to be subscribed or unsubscribed when enough requests have been answered.
    std::deque<SharedText> to_ask;
    size_t under_way = 0;
    CountedSet restoring;  // after a gap: must be answered before changes are notified
    net::Lifetime lifetime;
  };
  // The last notification of a kind, and how often each server has sent it.
  struct Told {
    size_t digest = 0;
    uint64_t asked = 0;
    std::chrono::milliseconds at{0};
    uint32_t times = 0;
    std::map<uint64_t, uint32_t> by;
  };
  Server* find(const ListenServer* server) const;
  Server& joined(ListenServer& server);
  void subscribe(Server& server, const SharedText& uri);
  void unsubscribe(Server& server, const SharedText& uri);
  void ask_more(Server& server);
  void ask(Server& server, const SharedText& uri, std::string_view method,
           void (LegacyListens::*then)(Server& server, const SharedText& uri, bool granted));
  void answered(Server& server, const SharedText& uri, bool granted);
  void unsubscribed(Server& server, const SharedText& uri, bool granted);
  void settle(Server& server, const SharedText& uri, bool granted);
  bool is_granted(const SharedText& uri) const;
  bool is_open(const SharedText& uri) const;
  // The stored text of a URI, if it is in use already.
  SharedText text_of(std::string uri) const;
  // Recomputes the subscriptions that listens wait for.
  void look_again();
  void decided(const SharedText& uri);
  void acknowledge_ready();
  std::string acknowledge(Listen& listen) const;
  bool is_known(const Server& from, const mcp::Message& notification, const std::string& uri,
                std::chrono::milliseconds now);
  void deliver(ListenCall* call, const std::string& text);
  struct ToldTo {
    uint64_t number;  // of the listen
    ListenCall* call;
    std::string text;
  };
  void deliver_all(std::vector<ToldTo> all);

  std::vector<std::unique_ptr<Server>> servers_;  // the ready ones
  uint64_t next_server_ = 1;
  uint64_t last_listen_ = 0;
  std::map<ListenCall*, Listen> listens_;
  size_t needing_ = 0;         // listens that need a server
  CountedMap<size_t> wishes_;  // number of listens that want a URI
  CountedMap<Told> told_;      // by method and URI, while there are several servers
  uint64_t asked_ = 0;
  bool gap_ = false;  // there were listens while there was no server
};

}  // namespace lineward::upstream
