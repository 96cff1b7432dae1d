// Listens on a legacy server, which knows none, of modern clients and of legacy sessions that share it: made
// from resources/subscribe, counted per URI, and from its list_changed notifications (behaviour.md 6 and 9).
// Knows no transport: what it needs of calls and of the server stands in two small interfaces.
//
// One for each group of callers of a legacy server that Lineward has initialised, whatever number of
// processes, or sessions, works for them: each of these is subscribed, also one that comes later, since any
// of them may be the one that learns of a change. A wish is granted as soon as one grants it; what several
// tell alike comes once. Holds its listens as plain calls, which leave through close(). A client may end its
// listen whenever it is sent something: listens are found again by their call after each delivery.
//
// Each of them has a bounded number of requests under way, however many URIs a client names, and for one URI
// one at a time: over HTTP a subscribe and an
// unsubscribe sent side by side could arrive in either order. What was decided meanwhile is done when the
// answer is there.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/kept_refs.h"
#include "core/upstream.h"
#include "mcp/legacy_server.h"
#include "net/lifetime.h"

namespace lineward::upstream {

// A subscriptions/listen that waits for its messages.
class ListenCall {
 public:
  virtual const mcp::Message& listen_request() const = 0;
  // Kept for a legacy session, which may live long without its client.
  virtual bool is_of_session() const { return false; }
  virtual void phase(core::CallPhase phase) = 0;
  virtual void message(mcp::Message message) = 0;
  virtual void fail(const core::Failure& failure) = 0;

 protected:
  ~ListenCall() = default;
};

// The legacy server behind, or one of several: one process, or one session.
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
  ~LegacyListens();
  LegacyListens(const LegacyListens&) = delete;
  LegacyListens& operator=(const LegacyListens&) = delete;

  bool empty() const { return listens_.empty(); }
  // Does somebody listen for whom a server is needed even while nobody calls? A session that hears of lists
  // alone needs none: one that comes later tells it that they may have changed.
  bool need_server() const { return needing_ > 0; }
  bool served() const { return !servers_.empty(); }
  bool served_by(const ListenServer* server) const { return find(server) != nullptr; }
  // A server is ready: it is subscribed to what is wished. Where none was there for those who listen, they
  // are told that things may have changed meanwhile: once it has answered all of that, since what changes
  // before is told to nobody.
  void join(ListenServer& server);
  // This server is gone.
  void lost(const ListenServer* server);
  // A listen, on a ready server: subscribes what is not subscribed yet, acknowledges what was granted.
  void open(ListenCall& call, ListenServer& server);
  // The call is over, whoever ended it.
  void close(ListenCall& call);
  // Ends every listen with this failure.
  void fail_all(const core::Failure& failure);
  // A server's notification to everyone who asked for it; true when that was somebody.
  bool notify(const ListenServer& from, const mcp::Message& notification, std::chrono::milliseconds now);
  // Something is asked of the servers: what they tell from here on is news to who asked.
  void asked() { ++asked_; }
  // Tells that things may have changed.
  void tell_changes();

 private:
  struct Listen {
    uint64_t number = 0;  // they hear things in the order in which they came
    bool tools = false, prompts = false, resources = false;
    KeptRefs wanted;   // URIs
    KeptRefs open;     // of these, what some answer may still grant
    KeptRefs granted;  // of these, what was acknowledged
    bool acknowledged = false;
    bool needs_server = false;
  };
  enum class State : uint8_t { asked, granted, refused, leaving };
  struct Server {
    ListenServer* server;
    uint64_t number;
    KeptMap<State> uris;
    // Those that are to be asked or left and have not been, since enough requests are under way.
    std::deque<SharedText> to_ask;
    size_t under_way = 0;
    KeptRefs restoring;  // after nobody was there: to be answered before changes are told
    net::Lifetime lifetime;
  };
  // What was told last of one thing, and who has said it how often.
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
  // The text of a URI: the one that is there already, if somebody has it.
  SharedText text_of(std::string uri) const;
  // Looks again at what listens wait for.
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

  std::vector<std::unique_ptr<Server>> servers_;  // that are ready
  uint64_t next_server_ = 1;
  uint64_t last_listen_ = 0;
  std::map<ListenCall*, Listen> listens_;
  size_t needing_ = 0;      // listens that need a server
  KeptMap<size_t> wishes_;  // listens that want a URI
  KeptMap<Told> told_;      // by method and URI, while several servers are there
  uint64_t asked_ = 0;
  bool gap_ = false;  // somebody listened while no server was there
};

}  // namespace lineward::upstream
