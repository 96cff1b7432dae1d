#include "proxy/upstream/layers/listen_hub.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "foundation/json/json_splice.h"
#include "foundation/log/log.h"
#include "proxy/upstream/http_client/http_headers.h"
#include "proxy/upstream/shared/caller_group.h"

namespace lineward::upstream {
namespace {

using core::CallPhase;
using mcp::Field;
using mcp::Method;

// The number of consecutive early ends after which clients are notified of the end.
constexpr uint32_t kTries = 8;

}  // namespace

// ---- the listen ----

SharedListen::SharedListen(ListenHub& hub, std::string key, const core::UpstreamRequest& like)
    : SharedCall(hub.loop(), hub.inner(), std::move(key), like),
      hub_(hub),
      listen_(kTries, like.message.raw(Field::params_notifications), like.account()),
      timer_(hub.loop()) {}

void SharedListen::close(core::CancelCause why) {
  timer_.stop();
  SharedCall::close(why);
}

void SharedListen::over() {
  hub_.over(*this);
}

// Any phase but `written` means that it is not open: it is being reopened, here or in a lower layer.
void SharedListen::on_call_phase(CallPhase phase) {
  if (phase != CallPhase::written) fell();
  SharedCall::on_call_phase(phase);
}

void SharedListen::on_call_message(mcp::Message&& message) {
  using Kind = mcp::MessageKind;
  const bool final = message.kind() == Kind::result || message.kind() == Kind::error;
  const Method method = mcp::method_of(message.method());
  if (final && !acknowledgement_) {
    // It was never acknowledged: all callers get the server's own error.
    tell_end(message);
    return over();
  }
  if (final) return open_again(message.kind() == Kind::result ? "result" : "error", false);
  // The server has ended it, so no cancel is sent.
  if (method == Method::cancelled) return open_again("cancelled", false);
  if (method != Method::subscriptions_acknowledged || acknowledgement_) hub_.seen(message);
  if (method == Method::subscriptions_acknowledged) return stood(std::move(message));
  if (listen_.is_up() && listen_.granted()->passes(message)) {
    listen_.brought();
    tell_changes();
  }
  tell(message);
}

// The listen is lost, here or in a lower layer.
void SharedListen::fell() {
  if (!listen_.is_up()) return;
  listen_.down(loop_.now());
  timer_.stop();
}

void SharedListen::tell_changes() {
  if (listen_.take_changes()) tell_acknowledged(*acknowledgement_);
}

// Cuts the acknowledgement to the requested filter.
void SharedListen::stood(mcp::Message acknowledgement) {
  if (auto cut = listen_.asked().cut(acknowledgement.raw(Field::params_notifications))) {
    json::Splice splice = acknowledgement.splice();
    splice.replace(acknowledgement.at(Field::params_notifications), std::move(*cut));
    if (auto less = mcp::Message::parse(splice.apply_outlined(), json::kDepthCeiling))
      acknowledgement = std::move(*less);
  }
  const bool first = !acknowledgement_;
  acknowledgement_ = std::move(acknowledgement);
  acknowledgement_bytes_.charge(like().account());
  acknowledgement_bytes_.set(acknowledgement_->bytes().size());
  listen_.down(loop_.now());  // a second acknowledgement without a word of the loss
  listen_.up(loop_.now(), std::make_shared<const mcp::ListenFilter>(
                              acknowledgement_->raw(Field::params_notifications), like().account()));
  timer_.start(Backoff::kGoodAfter, [this] {
    listen_.lasted();
    tell_changes();
  });
  // A second acknowledgement makes clients reread what may have changed.
  const bool tells_all = listen_.take_changes() || first;
  tells_all ? tell_acknowledged(*acknowledgement_) : acknowledge_later_ones(*acknowledgement_);
}

// A lost stream and a lack of room are not final, nor is any failure while it is being opened again. With
// workers there is a hub at the server's worker too: its budget counts, and is not begun anew here.
void SharedListen::on_call_failed(const core::Failure& failure) {
  const bool for_good = failure.by_policy || failure.session_over || failure.tries_used_up ||
                        hub_.stopping() || failure.reason == mcp::EndReason::cancelled_drain;
  const bool at_capacity = mcp::is_lack_of_room(failure.reason);
  const bool is_lost = failure.listen_loss != core::ListenLoss::none || !listen_.is_up();
  if (failure.listen_loss == core::ListenLoss::flooded) listen_.spoiled();
  if (acknowledgement_ && !for_good && (at_capacity || is_lost))
    return open_again(mcp::name(failure.reason), at_capacity);
  core::Failure last = failure;
  last.listen_loss = core::ListenLoss::none;
  give_up(last);
}

void SharedListen::give_up(const core::Failure& failure) {
  timer_.stop();
  tell_end(failure);
  over();
}

// The server ended the listen while leases exist: it is reopened, with pauses that double. A refused listen
// may be granted later: only the budget ends the tries.
void SharedListen::open_again(std::string_view why, bool at_capacity) {
  fell();
  const bool tries = listen_.may_try_again(!at_capacity) && !hub_.stopping();
  log::write(log::Level::info, "listen.ended",
             {{"upstream", hub_.name()},
              {"by", why},
              {"clients", uint64_t{living()}},
              {"times", uint64_t{listen_.failures()}}});
  if (!tries) {
    core::Failure failure;
    failure.reason = mcp::EndReason::upstream_protocol;
    failure.tries_used_up = true;
    failure.text =
        fmt::format("{} ended this listen {} times soon after it stood", hub_.name(), listen_.failures());
    return give_up(failure);
  }
  // The call is on the stack.
  loop_.retire(std::move(call_));
  const config::Restart& restart = hub_.server().restart;
  timer_.start(listen_.pause(loop_.now(), {restart.backoff, restart.max_backoff}), [this] { again(); });
  on_call_phase(CallPhase::starting);  // for callers that join meanwhile
}

void SharedListen::again() {
  if (auto failure = open(acknowledgement_.has_value())) on_call_failed(*failure);
}

// ---- the hub ----

ListenHub::~ListenHub() {
  stopping_ = true;
  for (auto& [key, shared] : shared_)
    shared->close("the gateway is stopping");
}

// The same filter, and the same credentials in the server's view.
std::string ListenHub::key_of(const core::UpstreamRequest& request, bool apart) const {
  std::string key = identity_of(server_, request.headers);
  key += '\n';
  if (apart) {
    key += request.scope.affinity + '\n' + request.scope.principal + '\n' + request.scope.session + '\n';
    key += request.scope.bridged_session + '\n';
    key += json::compact(request.message.raw(Field::meta_client_capabilities));
  }
  key += request.of_gateway ? "\nown\n" : "\n";  // these keep no process
  key += request.message.raw(Field::meta_protocol_version);
  key += '\n' + json::compact(request.message.raw(Field::params_notifications));
  return key;
}

// Callers do not share while the server's era is unknown, nor on legacy servers, where processes and sessions
// belong to groups of callers. A listen for a legacy session is not shared either: the server's legacy
// revisions serve the session even if it supports the modern one. The same holds for a session of an
// aggregate with a process of its own.
SharedListen* ListenHub::find(const core::UpstreamRequest& request, std::string& key) {
  using config::Isolation;
  bool apart = inner_->era() != mcp::Era::modern || request.of_session() ||
               has_its_own(*inner_, server_, request.scope) || server_.isolation == Isolation::principal ||
               server_.isolation == Isolation::session || server_.isolation == Isolation::call;
  key = key_of(request, apart);
  auto found = shared_.find(key);
  if (found != shared_.end()) return found->second.get();
  if (apart) return nullptr;
  // A listen opened before the era was known may be shared by all callers now.
  auto early = shared_.extract(key_of(request, true));
  if (!early) return nullptr;
  early.key() = key;
  early.mapped()->rename(key);
  return shared_.insert(std::move(early)).position->second.get();
}

Result<std::unique_ptr<core::Call>, core::Failure> ListenHub::start(core::UpstreamRequest&& request,
                                                                    core::CallCallbacks& owner) {
  bool shares = request.method == Method::subscriptions_listen && request.client_era == mcp::Era::modern &&
                request.message.is_object(Field::params_notifications) && !stopping_;
  if (!shares) return inner_->start(std::move(request), owner);
  std::string key;
  SharedListen* shared = find(request, key);
  if (shared == nullptr) {
    auto made = std::make_unique<SharedListen>(*this, key, request);
    if (auto failure = made->open()) return Unexpected<core::Failure>{std::move(*failure)};
    shared = shared_.emplace(key, std::move(made)).first->second.get();
  }
  auto lease = std::make_unique<SharedCallHandle>(server_, std::move(request), owner);
  shared->join(*lease);
  return Result<std::unique_ptr<core::Call>, core::Failure>(std::move(lease));
}

void ListenHub::over(SharedListen& shared) {
  auto found = shared_.find(shared.key());
  if (found == shared_.end() || found->second.get() != &shared) return;
  // It may be on the stack.
  loop_.retire(std::move(found->second));
  shared_.erase(found);
}

}  // namespace lineward::upstream
