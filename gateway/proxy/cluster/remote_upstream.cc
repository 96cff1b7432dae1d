#include "proxy/cluster/remote_upstream.h"

#include <utility>

#include "foundation/base/memory_charge.h"
#include "proxy/core/owned_call.h"
#include "proxy/metrics/stats.h"

namespace lineward::cluster {

using mcp::EndReason;

namespace {

// Bytes of a call's messages that are taken between two reports.
constexpr size_t kWorthTelling = 64 * 1024;

// Posted with a request. If it is destroyed unhandled, because the other worker ends or the RemoteCallServer
// is gone, the caller is notified.
class Receipt {
 public:
  Receipt(RemoteHandle<RemoteCallTable> back, uint64_t number) : back_(std::move(back)), number_(number) {}
  Receipt(Receipt&& other) noexcept
      : back_(std::move(other.back_)), number_(std::exchange(other.number_, 0)) {}
  Receipt& operator=(Receipt&&) = delete;
  ~Receipt() {
    if (number_ == 0) return;
    back_.tell([number = number_](RemoteCallTable& table) {
      table.on_failed(number, {EndReason::cancelled_drain, "the gateway is stopping"}, std::nullopt);
    });
  }
  void arrived() { number_ = 0; }

 private:
  RemoteHandle<RemoteCallTable> back_;
  uint64_t number_;
};

}  // namespace

// ---- a call ----

class RemoteCall final : public core::OwnedCall {
 public:
  RemoteCall(std::shared_ptr<RemoteCallTable> table, const core::UpstreamRequest& request,
             core::CallCallbacks& owner)
      : OwnedCall(&owner),
        table_(std::move(table)),
        number_(++table_->numbers_),
        tag_(request.tag),
        request_(request.message) {
    table_->calls_[number_] = this;
    held_.charge(request.account());
    held_.set(request_.bytes().size());
  }
  ~RemoteCall() override {
    if (live()) cancel_alive(table_->server());
  }

  uint64_t number() const { return number_; }

  void cancel(core::CancelCause why) override {
    if (!live()) return;
    leave();
    bool sent = tell([number = number_, tag = tag_, text = std::string(why.text),
                      reason = why.reason](RemoteCallServer& call_server) {
      call_server.cancel(number, tag, {text, reason});
    });
    if (!sent) metrics::upstream_stats(table_->server()).cancel_settled(tag_, {});
  }
  void reply(std::string message) override {
    if (!live()) return;
    tell([number = number_, text = std::move(message)](RemoteCallServer& call_server) mutable {
      call_server.reply(number, std::move(text));
    });
  }
  // The server may have become one that cannot be held back, and lets go of a pause all the same.
  bool hold(bool on) override {
    if (!live() || (on && !can_pause_)) return false;
    tell([number = number_, on](RemoteCallServer& call_server) {
      on ? call_server.pause(number) : call_server.resume(number);
    });
    return can_pause_;
  }
  void hand_over(core::CallCallbacks& owner, core::Handover how) override {
    if (!live()) return;
    owner_ = &owner;
    tell([number = number_, how](RemoteCallServer& call_server) { call_server.hand_over(number, how); });
  }
  void retried(mcp::Message request) override {
    request_ = request;
    held_.set(request_.bytes().size());
    if (!live()) return;
    tell([number = number_, message = std::move(request)](RemoteCallServer& call_server) mutable {
      call_server.retried(number, std::move(message));
    });
  }
  core::CallFacts call_facts() const override {
    core::CallFacts facts{&request_, server_info_};
    facts.of_legacy_server = of_legacy_server_;
    facts.has_session = has_session_;
    facts.is_from_server = is_from_server_;
    return facts;
  }

  void on_phase(core::CallPhase phase) { owner_->on_call_phase(phase); }
  void on_repeated() { owner_->on_call_repeated(); }
  void on_request(core::Coalesced coalesced) { owner_->on_call_request(coalesced); }
  void on_message(RemoteMessage told) {
    told.held.reset();
    can_pause_ = told.can_pause;
    of_legacy_server_ = told.of_legacy_server;
    has_session_ = told.has_session;
    is_from_server_ = told.is_from_server;
    if (!told.server_info.empty()) server_info_ = std::move(told.server_info);
    if (told.last) return leave()->on_call_message(std::move(told.message));
    taken_ += told.message.bytes().size();
    if (taken_ >= kWorthTelling) {
      tell([number = number_, bytes = std::exchange(taken_, 0)](RemoteCallServer& call_server) {
        call_server.taken(number, bytes);
      });
    }
    owner_->on_call_message(std::move(told.message));
  }
  void on_failed(const core::Failure& failure) { leave()->on_call_failed(failure); }

 private:
  template <class F>
  bool tell(F&& what) {
    return table_->call_server().tell(std::forward<F>(what));
  }
  // Returns its owner for one last callback, which may destroy the call; later messages are dropped.
  core::CallCallbacks* leave() {
    table_->calls_.erase(number_);
    return take_owner();
  }

  const std::shared_ptr<RemoteCallTable> table_;
  const uint64_t number_;
  const uint64_t tag_;
  mcp::Message request_;
  MemoryCharge held_{Held::calls};  // `request_`: the server's worker has another copy
  size_t taken_ = 0;                // bytes that were not reported yet
  bool can_pause_ = false, of_legacy_server_ = false, has_session_ = true, is_from_server_ = true;
  std::string server_info_;
};

// ---- from the server ----

RemoteCall* RemoteCallTable::find(uint64_t number) {
  auto found = calls_.find(number);
  return found == calls_.end() ? nullptr : found->second;
}

void RemoteCallTable::on_phase(uint64_t number, core::CallPhase phase) {
  if (RemoteCall* call = find(number)) call->on_phase(phase);
}

void RemoteCallTable::on_repeated(uint64_t number) {
  if (RemoteCall* call = find(number)) call->on_repeated();
}

void RemoteCallTable::on_request(uint64_t number, core::Coalesced coalesced) {
  if (RemoteCall* call = find(number)) call->on_request(coalesced);
}

void RemoteCallTable::on_message(uint64_t number, RemoteMessage told) {
  state_.era = told.era;
  if (RemoteCall* call = find(number)) call->on_message(std::move(told));
}

void RemoteCallTable::on_failed(uint64_t number, const core::Failure& failure, std::optional<mcp::Era> era) {
  if (era) state_.era = era;
  if (RemoteCall* call = find(number)) call->on_failed(failure);
}

void RemoteCallTable::on_scope_message(const std::string& session, RemoteMessage told,
                                       std::optional<uint64_t> only_call) {
  told.held.reset();
  auto open = scopes_.find(session);
  if (open != scopes_.end()) open->second->on_scope_message(std::move(told.message), only_call);
}

void RemoteCallTable::on_scope_presence(const std::string& session) {
  auto found = scopes_.find(session);
  if (found == scopes_.end()) return;
  const core::ScopeCallbacks& its = *found->second;
  const RemoteCallServer::Presence presence{its.is_pinned(), its.unused_for(), its.abandoned_for()};
  call_server_.tell(
      [session, presence](RemoteCallServer& call_server) { call_server.told_presence(session, presence); });
}

void RemoteCallTable::on_scope_reset(const std::string& session) {
  auto open = scopes_.find(session);
  if (open != scopes_.end()) open->second->on_scope_reset();
}

// ---- the upstream ----

RemoteUpstream::RemoteUpstream(net::Loop& loop, std::shared_ptr<net::Mailbox> here, std::string name,
                               RemoteHandle<RemoteCallServer> call_server, RemoteState state)
    : Upstream(name),
      loop_(loop),
      table_(std::make_shared<RemoteCallTable>(std::move(name), std::move(call_server))),
      here_{std::move(here), table_} {
  table_->on_state(std::move(state));
  table_->call_server().tell([table = here_](RemoteCallServer& its) mutable { its.use(std::move(table)); });
}

RemoteUpstream::~RemoteUpstream() {
  table_->described_ = nullptr;
  table_->call_server().tell([](RemoteCallServer& call_server) { call_server.let_go(); });
}

Result<std::unique_ptr<core::Call>, core::Failure> RemoteUpstream::start(core::UpstreamRequest&& request,
                                                                         core::CallCallbacks& owner) {
  if (stopping_)
    return Unexpected<core::Failure>{{EndReason::cancelled_drain, table_->server() + " is leaving"}};
  auto call = std::make_unique<RemoteCall>(table_, request, owner);
  const RemoteHandle<RemoteCallServer>& call_server = table_->call_server();
  auto begin = [to = call_server.who, number = call->number(), receipt = Receipt(here_, call->number()),
                asked = std::move(request)]() mutable {
    auto its = to.lock();
    if (!its) return;
    receipt.arrived();
    its->start(number, std::move(asked));
  };
  call_server.mailbox->post(std::move(begin));
  return Result<std::unique_ptr<core::Call>, core::Failure>(std::move(call));
}

void RemoteUpstream::open_scope(const core::Scope& scope, core::ScopeCallbacks& owner) {
  if (scope.bridged_session.empty()) return;
  table_->scopes_[scope.bridged_session] = &owner;
  table_->call_server().tell([scope](RemoteCallServer& call_server) { call_server.open_scope(scope); });
}

void RemoteUpstream::close_scope(const core::Scope& scope) {
  if (table_->scopes_.erase(scope.bridged_session) == 0) return;
  table_->call_server().tell([scope](RemoteCallServer& call_server) { call_server.close_scope(scope); });
}

void RemoteUpstream::send(const core::Scope& scope, mcp::Era client_era, const mcp::Message& message,
                          const core::HeaderFields& headers) {
  table_->call_server().tell([scope, client_era, message, headers](RemoteCallServer& call_server) {
    call_server.send(scope, client_era, message, headers);
  });
}

void RemoteUpstream::notice(core::UpstreamNotice what) {
  if (what != core::UpstreamNotice::wake) return;
  table_->call_server().tell([](RemoteCallServer& call_server) { call_server.wake(); });
}

void RemoteUpstream::stop(std::function<void()> done) {
  stopping_ = true;
  loop_.defer(std::move(done));
}

}  // namespace lineward::cluster
