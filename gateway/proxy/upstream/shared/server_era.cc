#include "proxy/upstream/shared/server_era.h"

#include <algorithm>
#include <utility>

#include "config/config.h"
#include "foundation/log/log.h"
#include "protocol/mcp/revision.h"

namespace lineward::upstream {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLegacyVerdictLasts{24ll * 60 * 60 * 1000};
constexpr milliseconds kAssumedVerdictLasts{10ll * 60 * 1000};

}  // namespace

ServerEra::ServerEra(net::Loop& loop, const config::Server& server, EraProber& prober,
                     ServerEraCallbacks& owner)
    : loop_(loop), server_(server), prober_(prober), owner_(owner) {
  auto configured = configured_verdict(server);
  if (!configured) return;
  verdict_ = std::move(*configured);
  expires_ = milliseconds::max();
}

// A session's own `initialize` is sent to it in the legacy era, as to each server that may speak both.
void ServerEra::assume_both() {
  certain_ = true;
  verdict_ = EraVerdict();
  verdict_.known = true;
  verdict_.era = mcp::Era::modern;
  verdict_.versions = {std::string(mcp::kNewestModern)};
  expires_ = milliseconds::max();
}

std::optional<std::vector<std::string>> ServerEra::versions() const {
  if (!is_known()) return std::nullopt;
  if (verdict_.era == mcp::Era::modern) return verdict_.versions;
  // For a legacy server Lineward translates the modern era, and forwards the legacy ones.
  std::vector<std::string> all;
  for (const auto& revision : mcp::kRevisions)
    all.emplace_back(revision.name);
  return all;
}

std::optional<core::Failure> ServerEra::refusal(const core::UpstreamRequest& request) const {
  if (!request.only_era || *request.only_era == era()) return std::nullopt;
  core::Failure failure{mcp::EndReason::internal, server_.name + " is a server of the other era"};
  failure.of_other_era = true;
  return failure;
}

void ServerEra::share(SharedPart part) {
  shared_ = std::move(part);
  publish();
}

void ServerEra::publish_to(std::shared_ptr<HomeEra> known) {
  home_ = std::move(known);
  version_ = home_->begin();
  publish();
}

void ServerEra::publish() {
  if (!verdict_.known) return;
  if (shared_) shared_.server->publish(shared_.version, verdict_);
  if (home_) home_->publish(version_, verdict_.era == mcp::Era::modern);
}

void ServerEra::adopt() const {
  const auto known = shared_.server->verdict();
  if (!known || known == doubted_) return;
  verdict_ = *known;
  expires_ = verdict_.era == mcp::Era::legacy ? loop_.now() + kLegacyVerdictLasts : milliseconds::max();
}

void ServerEra::assume(const EraVerdict& verdict) {
  if (verdict_.known || stopping_) return;
  verdict_ = verdict;
  expires_ = loop_.now() + kAssumedVerdictLasts;
}

void ServerEra::warm_up(std::function<void(const EraVerdict&)> ready) {
  on_ready_ = std::move(ready);
  if (!verdict_.known) return ask();
  loop_.defer(lifetime_, [this] {
    if (on_ready_) std::exchange(on_ready_, nullptr)(verdict_);
  });
}

// ---- probing ----

void ServerEra::ask() {
  if (stopping_) return;
  if (prober_.is_busy()) return waiting_.empty() ? void() : prober_.hurry();
  prober_.ask(waiting_.empty() ? nullptr : &waiting_.front()->request,
              lifetime_.guard([this](EraVerdict verdict, const core::Failure& failure) {
                decide(std::move(verdict), failure);
              }));
}

void ServerEra::prober_free() {
  if (!waiting_.empty() && !verdict_.known) ask();
}

void ServerEra::note_initialized() {
  if (is_known() || stopping_) return;
  was_initialized_ = true;
  if (!prober_.is_busy()) decide({}, {});
}

void ServerEra::decide(EraVerdict verdict, const core::Failure& failure) {
  if (was_initialized_ && !verdict.known) {
    verdict = EraVerdict();
    verdict.known = true;
  }
  verdict_ = std::move(verdict);
  expires_ = verdict_.era == mcp::Era::legacy ? loop_.now() + kLegacyVerdictLasts : milliseconds::max();
  publish();
  // The callbacks below may re-enter: work on copies.
  const EraVerdict told = verdict_;
  owner_.on_era_verdict(told);
  // A missing verdict during the shutdown is expected.
  const bool expected = told.known || stopping_;
  log::write(expected ? log::Level::info : log::Level::warn, "upstream.era",
             {{"upstream", server_.name},
              {"era", told.known ? mcp::name(told.era) : std::string_view("unknown")},
              {"server", told.server},
              {"why", told.failure.text},
              {"stderr", told.failure.last_stderr},
              {"detail", told.failure.detail}});
  if (stopping_) on_ready_ = nullptr;
  if (on_ready_) std::exchange(on_ready_, nullptr)(told);
  std::deque<TransportCall*> waited;
  waited.swap(waiting_);
  if (!told.known) return fail(std::move(waited), failure);
  for (TransportCall* call : waited)
    owner_.on_era_known(*call);
}

// Calls that the refusal does not concern cause another probe.
void ServerEra::fail(std::deque<TransportCall*> waited, const core::Failure& failure) {
  std::deque<TransportCall*> meant;
  for (TransportCall* call : waited)
    (prober_.concerns(call->request, failure) ? meant : waiting_).push_back(call);
  const bool again = !waiting_.empty();
  for (TransportCall* call : meant)
    call->fail(failure);
  if (again && !waiting_.empty()) ask();
}

// ---- waiting calls ----

void ServerEra::wait(TransportCall& call) {
  waiting_.push_back(&call);
  loop_.defer(lifetime_, [this] {
    const std::deque<TransportCall*> waiting = waiting_;
    for (TransportCall* one : waiting) {
      if (std::find(waiting_.begin(), waiting_.end(), one) != waiting_.end())
        one->phase(core::CallPhase::starting);
    }
    if (!waiting_.empty()) ask();
  });
}

std::deque<TransportCall*> ServerEra::stop() {
  stopping_ = true;
  return std::exchange(waiting_, {});
}

}  // namespace lineward::upstream
