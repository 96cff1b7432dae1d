#include "operate/admin/readiness.h"

#include <fmt/format.h>

#include <algorithm>

#include "proxy/metrics/stats.h"

namespace lineward::admin {
namespace {

using std::chrono::milliseconds;
using State = core::UpstreamStatus::State;

constexpr milliseconds kBeat{1000};
constexpr uint64_t kDead = 10'000'000'000;
constexpr uint32_t kMaxDoublings = 4;  // 1 s to 16 s between two probes

double seconds(milliseconds time) {
  return static_cast<double>(time.count()) / 1000;
}

}  // namespace

Readiness::Readiness(const Sources& sources) : sources_(sources), heart_(sources.loop) {
  follow();
  beat();
}

// A reload may have changed the required servers.
void Readiness::follow() {
  std::map<std::string, Required> wanted;
  for (const auto& server : sources_.config.servers) {
    if (!server.required || server.disabled) continue;
    auto known = required_.find(server.name);
    wanted[server.name] = known != required_.end() ? known->second : Required{sources_.loop.now()};
  }
  required_ = std::move(wanted);
}

void Readiness::beat() {
  heart_.start(kBeat, [this] {
    look();
    beat();
  });
}

void Readiness::look() {
  follow();
  auto now = sources_.loop.now();
  for (auto& [name, one] : required_) {
    core::UpstreamStatus status;
    const size_t host = sources_.workers.host(name);
    sources_.workers.run(host, [&, upstream = &name] {
      const core::Upstream* running = sources_.upstream(*upstream);
      if (running != nullptr) status = running->status();
    });
    bool ready = status.is_usable();
    if (one.ready && !ready) one.since = now;
    one.ready = ready;
    if (ready) one.tries = 0;
    if (ready || sources_.draining || now < one.next) continue;
    one.next = now + kBeat * (1u << std::min(one.tries++, kMaxDoublings));
    sources_.workers.run(host, [&, upstream = &name] {
      if (core::Upstream* asleep = sources_.upstream(*upstream)) asleep->notice(core::UpstreamNotice::wake);
    });
  }
}

bool Readiness::live() const {
  const uint64_t beat = sources_.workers.slowest_beat();
  const uint64_t now = net::Loop::nanoseconds();
  return now < beat || now - beat < kDead;
}

std::vector<Check> Readiness::checks() const {
  std::vector<Check> out;
  out.push_back({"listener", true, "ok"});
  out.push_back({"serving", !sources_.draining, sources_.draining ? "the gateway is stopping" : "ok"});
  for (const auto& server : sources_.config.servers) {
    if (!server.required || server.disabled) continue;
    auto known = required_.find(server.name);
    auto since = known != required_.end() ? known->second.since : sources_.loop.now();
    auto status = sources_.status(server);
    Check check{"upstream " + server.name, status.is_usable(), "ok"};
    if (!check.ok) {
      check.text = core::name(status.state);
      if (status.state == State::starting)
        check.text +=
            fmt::format(" ({:.1f}s of {:g}s)", seconds(sources_.loop.now() - since), seconds(status.limit));
      if (!status.why.empty()) check.text += ": " + status.why;
    }
    out.push_back(std::move(check));
  }
  size_t servers = 0, starting = 0, away = 0;
  for (const auto& server : sources_.config.servers) {
    if (server.disabled) continue;
    ++servers;
    const core::UpstreamStatus status = sources_.status(server);
    (status.state == State::starting ? starting : away) += status.is_usable() ? 0 : 1;
  }
  // Servers that are not required do not delay readiness.
  if (starting + away > 0) {
    out.push_back(
        {"servers", true,
         fmt::format("{} of {} are not there yet ({} starting, {} failed or waiting to be tried again)",
                     starting + away, servers, starting, away)});
  }
  return out;
}

}  // namespace lineward::admin
