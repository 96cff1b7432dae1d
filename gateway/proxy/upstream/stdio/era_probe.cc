#include "proxy/upstream/stdio/era_probe.h"

#include <fmt/format.h>

#include "config/config.h"
#include "protocol/mcp/errors.h"
#include "protocol/mcp/rewrite.h"
#include "proxy/upstream/shared/own_id.h"

namespace lineward::upstream {
namespace {

using mcp::Field;

constexpr std::chrono::milliseconds kDiscoverPatience{2000};
constexpr int64_t kDiscoverId = 1;
constexpr int64_t kInitializeId = 2;

}  // namespace

EraProbe::EraProbe(net::Loop& loop, process::Spawner& spawner, const config::Server& server, First first,
                   std::function<void(const EraVerdict&)> decided, std::function<void()> finished)
    : server_(server),
      first_(first),
      decided_(std::move(decided)),
      finished_(std::move(finished)),
      process_(loop, spawner, server, *this),
      patience_(loop),
      limit_(loop) {
  limit_.start(server.timeouts.startup, [this] {
    failed({mcp::EndReason::timeout_startup,
            fmt::format("did not answer within {} ms of its start (timeouts.startup)",
                        server_.timeouts.startup.count()),
            process_.last_stderr()});
  });
  process_.start();
}

void EraProbe::stop() {
  process_.stop({mcp::EndReason::cancelled_drain, "was stopped", {}});
}

void EraProbe::on_process_started() {
  if (first_ == First::initialize) return ask_initialize();
  process_.write_line(mcp::discover_request(kDiscoverId));
  patience_.start(kDiscoverPatience, [this] { ask_initialize(); });
}

void EraProbe::ask_initialize() {
  process_.write_line(mcp::initialize_request(kInitializeId, mcp::bare_initialize_params()));
}

void EraProbe::on_process_line(json::Text line) {
  auto message = mcp::Message::parse(std::move(line));
  if (!message || !decided_) return;
  if (message->kind() == mcp::MessageKind::request || message->kind() == mcp::MessageKind::notification)
    return;
  const std::optional<int64_t> id = message->has(Field::id) ? own_id(message->raw(Field::id)) : std::nullopt;
  if (id == kDiscoverId) return decide(verdict_of_discover(*message));
  if (id == kInitializeId && message->kind() == mcp::MessageKind::error && first_ == First::initialize) {
    // It runs, and may not be a legacy server.
    if (std::exchange(refused_initialize_, true)) return;
    knows_initialize_ = mcp::error_code(*message) != mcp::kMethodNotFound;
    process_.write_line(mcp::discover_request(kDiscoverId));
    return;
  }
  if (id == kInitializeId && message->kind() == mcp::MessageKind::result) {
    EraVerdict verdict;
    verdict.known = true;
    verdict.versions = {message->text(Field::result_protocol_version)};
    if (message->has(Field::result_server_info))
      verdict.server = describe_implementation(message->raw(Field::result_server_info));
    decide(std::move(verdict));
  }
}

void EraProbe::on_process_down(const ProcessEnd& end) {
  if (decided_) failed(end);
}

void EraProbe::failed(ProcessEnd end) {
  EraVerdict verdict;
  const bool ours = end.reason == mcp::EndReason::cancelled_drain;
  if (knows_initialize_ && !ours) {
    verdict.known = true;  // it knows `initialize`, but not the modern request
  } else {
    // An exit means legacy: some servers exit on anything before `initialize`. A failed start, Lineward's own
    // stop, or an exit on `initialize` proves nothing.
    verdict.known = end.reason == mcp::EndReason::upstream_exited && first_ == First::discover;
    verdict.failure = std::move(end);
  }
  decide(std::move(verdict));
}

void EraProbe::decide(EraVerdict verdict) {
  patience_.stop();
  limit_.stop();
  auto decided = std::exchange(decided_, nullptr);
  if (!decided) return;
  decided(verdict);
  // Ends the probe process; its later reports are ignored.
  process_.stop({mcp::EndReason::cancelled_drain, "was only asked for its era", {}});
}

void EraProbe::on_process_gone() {
  if (auto finished = std::exchange(finished_, nullptr)) finished();
}

}  // namespace lineward::upstream
