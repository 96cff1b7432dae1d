// The server's side of calls from one other worker: starts that worker's calls and posts their events, in
// order. The other half is cluster/remote_upstream.h.
//
// Owned exclusively by its owner, which destroys it before the server; all methods are called on its own
// thread, by messages. Workers never wait for each other. Bytes that the other side has not taken are
// counted, and over the limit the server is paused, or the call ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "foundation/net/loop.h"
#include "proxy/cluster/remote_handle.h"
#include "proxy/core/upstream.h"

namespace lineward::cluster {

class RemoteCallTable;

class RemoteCallServer {
 public:
  // `lease` keeps the server while the other worker, `caller`, uses it.
  RemoteCallServer(net::Loop& loop, core::Upstream& server, std::shared_ptr<void> lease, size_t caller = 0);
  ~RemoteCallServer();
  RemoteCallServer(const RemoteCallServer&) = delete;
  RemoteCallServer& operator=(const RemoteCallServer&) = delete;

  // Sets the calling side. Must come before everything else.
  void use(RemoteHandle<RemoteCallTable> table) { table_ = std::move(table); }
  // Posts the server's changed state.
  void tell_state();
  // Posts that its answer to discover is another one than was given from memory.
  void tell_described();

  // Calls have the number that the RemoteCallTable assigned; a call that has ended gets no events.
  void start(uint64_t number, core::UpstreamRequest request);
  void cancel(uint64_t number, uint64_t tag, core::CancelCause why);
  void reply(uint64_t number, std::string message);
  void pause(uint64_t number);
  void resume(uint64_t number);
  void hand_over(uint64_t number, core::Handover how);
  void retried(uint64_t number, mcp::Message request);
  // Its owner has taken this many bytes of its messages.
  void taken(uint64_t number, size_t bytes);
  // A session that is kept on the other worker.
  void open_scope(const core::Scope& scope);
  void close_scope(const core::Scope& scope);
  // A session's worker tells this about its client; as in core::ScopeCallbacks.
  struct Presence {
    bool is_pinned = true;
    std::optional<std::chrono::milliseconds> unused = {}, abandoned = {};
  };
  // The answer to InboundScope::unused_for() and abandoned_for().
  void told_presence(const std::string& session, const Presence& presence);
  void send(const core::Scope& scope, mcp::Era client_era, const mcp::Message& message,
            const core::HeaderFields& headers) {
    client_came(scope);
    server_.send(scope, client_era, message, headers);
  }
  void wake() { server_.notice(core::UpstreamNotice::wake); }
  // The other worker has no more calls, and makes none.
  void let_go() { lease_.reset(); }

  size_t size() const { return calls_.size(); }

 private:
  struct InboundCall final : core::CallCallbacks {
    InboundCall(RemoteCallServer& its_server, uint64_t its_number)
        : call_server(its_server), number(its_number) {}
    void on_call_phase(core::CallPhase phase) override;
    void on_call_message(mcp::Message&& message) override;
    void on_call_failed(const core::Failure& failure) override;
    void on_call_repeated() override;
    void on_call_request(core::Coalesced coalesced) override;
    void hold() { can_pause = call && call->live() && (paused || held ? call->pause() : call->resume()); }

    RemoteCallServer& call_server;
    const uint64_t number;
    std::unique_ptr<core::Call> call;
    bool paused = false;     // by the call's owner
    bool held = false;       // too many bytes are in flight
    bool can_pause = false;  // as reported last
    size_t under_way = 0;    // bytes that the other worker has not taken yet
  };
  struct InboundScope final : core::ScopeCallbacks {
    InboundScope(RemoteCallServer& its_server, core::Scope its_scope)
        : call_server(its_server), scope(std::move(its_scope)) {}
    void on_scope_message(mcp::Message message, std::optional<uint64_t> only_call) override;
    void on_scope_reset() override;
    // These are as the session's worker answered the last time it was asked, if that was lately.
    bool is_pinned() const override { return !is_answer_new() || presence.is_pinned; }
    // These two ask it again, unused_for() at the end of the turn, if few others want the same. Each answer
    // counts once.
    std::optional<std::chrono::milliseconds> unused_for() const override;
    std::optional<std::chrono::milliseconds> abandoned_for() const override;
    std::optional<std::chrono::milliseconds> once(std::optional<std::chrono::milliseconds>& told) const;
    void ask() const;
    bool is_answer_new() const;

    RemoteCallServer& call_server;
    const core::Scope scope;
    mutable Presence presence;
    mutable bool is_asked = false;      // a question is open
    mutable bool wants_answer = false;  // at the end of the turn
    mutable uint64_t place = 0;         // in the order of questions, and of messages of clients
    std::chrono::milliseconds told_at{0};
  };
  InboundCall* find(uint64_t number);
  // Answers are void after a message of the session's client.
  void client_came(const core::Scope& scope);
  void ask_some();
  // The call may be on the stack.
  void over(uint64_t number);
  void fail(uint64_t number, core::Failure failure);

  net::Loop& loop_;
  core::Upstream& server_;
  std::shared_ptr<void> lease_;
  const size_t caller_;
  RemoteHandle<RemoteCallTable> table_;
  std::unordered_map<uint64_t, std::unique_ptr<InboundCall>> calls_;
  std::unordered_map<std::string, std::unique_ptr<InboundScope>> scopes_;
  uint64_t places_ = 0;
  net::Deferred ask_later_;
};

}  // namespace lineward::cluster
