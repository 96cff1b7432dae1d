#include "operate/doctor/checks.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <set>
#include <string>

#include "foundation/base/backoff.h"
#include "foundation/base/random_id.h"
#include "operate/doctor/probe_report.h"
#include "operate/doctor/probe_stream.h"
#include "operate/fetch/redactor.h"
#include "protocol/mcp/errors.h"

namespace lineward::doctor {
namespace {

using fetch::Redactor;
using nlohmann::json;
using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr uint32_t kEvents = 20;
constexpr milliseconds kBetweenEvents{50};
constexpr size_t kLargeBody = 1 << 20;
constexpr milliseconds kHeadBound{6000};
// Both comments of the beat that opens a stream are out by then.
constexpr milliseconds kAfterHead{700};
// Lineward's head is out after one second: a leave before it begins well before that.
constexpr milliseconds kBeforeHead{700};
constexpr Backoff::Range kPauses{milliseconds(20), milliseconds(1000)};
constexpr size_t kMostUnknown = 8;
constexpr milliseconds kLeastWait{8000}, kMostWait{60000};
constexpr size_t kMaxSeen = 16;  // of what answers name

class Front {
 public:
  Front(const config::Server& server, const HttpTarget& target, const FrontTrial& trial, Findings& findings)
      : server_(server), target_(target), trial_(trial), findings_(findings) {}

  void check();

 private:
  ProbeAnswer ask(std::string_view members);
  bool is_lineward();
  void body();
  void leave(Left when);
  LeaveSeen leaving(Left when, ProbeStream& stream, const std::string& nonce);
  bool wait_for_arrival(ProbeStream& stream, const std::string& nonce);
  bool wait_for_head(ProbeStream& stream);
  LeaveSeen outcome(const std::string& nonce, steady_clock::time_point left_at);
  void events();
  void idle();
  steady_clock::time_point in(milliseconds time) const { return steady_clock::now() + time; }
  milliseconds wait_for_leave() const { return std::clamp(3 * keep_alive_, kLeastWait, kMostWait); }

  const config::Server& server_;
  const HttpTarget& target_;
  const FrontTrial& trial_;
  Findings& findings_;
  milliseconds keep_alive_{5000};
  FrontSeen seen_;
  std::set<std::string> gateways_;
  std::set<int64_t> connections_;  // to Lineward, each of a connection of ours
  // The least difference of our clock to that of the gateway that answered first.
  std::string clock_of_;
  std::optional<microseconds> reference_;
};

void pause_for(milliseconds time) {
  poll(nullptr, 0, static_cast<int>(time.count()));
}

microseconds since_epoch(steady_clock::time_point time) {
  return duration_cast<microseconds>(time.time_since_epoch());
}

ProbeAnswer Front::ask(std::string_view members) {
  ProbeAnswer answer(server_, target_, members, trial_.patience);
  if (!answer.fault.empty()) return answer;
  const std::string gateway = text_in(answer.result, "gateway");
  if (gateways_.size() < kMaxSeen) gateways_.insert(gateway.substr(0, 64));
  if (clock_of_.empty()) clock_of_ = gateway;
  if (gateway == clock_of_) {
    const microseconds difference = since_epoch(answer.came) - answer.at();
    reference_ = std::min(reference_.value_or(difference), difference);
  }
  const int64_t connection = number_in(answer.front, "connection");
  if (connection > 0 && gateway == clock_of_ && connections_.size() < 64 * kMaxSeen &&
      !connections_.insert(connection).second)
    seen_.shares_connection = true;
  return answer;
}

bool Front::is_lineward() {
  const ProbeAnswer hello = ask({});
  if (!hello.fault.empty()) {
    constexpr const char* kUntried = "leaves, events and idle timeouts were not tried";
    const bool off = hello.fault.find("listen.probe") != std::string::npos;
    findings_.skipped(
        "front",
        off ? fmt::format("a Lineward with listen.probe off answers there: {}", kUntried)
            : fmt::format("lineward/probe is not answered there ({}): it is no Lineward, or an older one; {}",
                          hello.fault, kUntried));
    return false;
  }
  const json& front = hello.front;
  const Redactor redactor(server_);
  seen_.host_sent = target_.url.host_header;
  seen_.host_came = front.contains("host") ? redactor(text_in(front, "host"), 100) : seen_.host_sent;
  seen_.direct = flag_in(front, "direct");
  if (front.contains("signs") && front.at("signs").is_array()) {
    for (const json& one : front.at("signs")) {
      if (one.is_string() && seen_.signs.size() < kMaxSeen)
        seen_.signs.push_back(redactor(one.get<std::string>(), 64));
    }
  }
  const int64_t keep_alive = number_in(front, "keepAliveMs");
  if (keep_alive > 0 && keep_alive <= milliseconds(std::chrono::hours(1)).count())
    keep_alive_ = milliseconds(keep_alive);
  return true;
}

void Front::check() {
  if (!is_lineward()) return;
  // Enough of them for a connection that is kept to be taken again.
  for (int i = 0; i < 2; ++i)
    ask({});
  seen_.gateways = std::max<size_t>(1, gateways_.size());
  report_front(seen_, findings_);
  body();
  leave(Left::before_head);
  leave(Left::in_stream);
  events();
  if (trial_.idle.count() > 0) {
    idle();
  } else {
    findings_.skipped("idle", "--idle 0s leaves idle timeouts out");
  }
}

void Front::body() {
  const ProbeAnswer answer = ask(fmt::format(R"("padding":"{}")", std::string(kLargeBody, 'x')));
  BodySeen seen{answer.status, answer.fault};
  if (seen.fault.empty() && number_in(answer.result, "bytes") < static_cast<int64_t>(kLargeBody))
    seen.fault = "not all of it arrived";
  report_body(seen, findings_);
}

void Front::leave(Left when) {
  const std::string nonce = random_id();
  ProbeStream stream(server_, target_);
  const milliseconds silent = wait_for_leave() + std::chrono::seconds(20);
  const Step step = stream.open(fmt::format(R"("nonce":"{}","silentMs":{})", nonce, silent.count()),
                                silent + std::chrono::seconds(5), in(trial_.patience));
  LeaveSeen seen;
  if (step.fault.empty()) {
    seen = leaving(when, stream, nonce);
  } else {
    seen.why = step.fault;
  }
  report_leave(when, seen, findings_);
}

// The stream is at the gateway, and has no head yet.
bool Front::wait_for_arrival(ProbeStream& stream, const std::string& nonce) {
  const auto until = stream.sent_at() + kBeforeHead;
  while (steady_clock::now() < until) {
    const ProbeAnswer answer = ask(fmt::format(R"("outcome":"{}")", nonce));
    if (!answer.fault.empty()) return true;  // leaving shows what it is
    const json& outcome = answer.result.contains("outcome") ? answer.result.at("outcome") : answer.result;
    if (text_in(outcome, "state") == "running") break;
    if (stream.read(in(kPauses.first)) || stream.head_at()) break;
  }
  stream.read(in(milliseconds(1)));  // what is there already
  return !stream.head_at();
}

bool Front::wait_for_head(ProbeStream& stream) {
  const auto until = stream.sent_at() + kHeadBound;
  while (!stream.head_at() && !stream.read(std::min(until, in(kPauses.first))) &&
         steady_clock::now() < until) {
  }
  if (!stream.head_at()) {
    report_head(std::nullopt, findings_);
    return true;
  }
  if (stream.status() != 200 || stream.has_result()) return false;
  report_head(duration_cast<milliseconds>(*stream.head_at() - stream.sent_at()), findings_);
  return !stream.read(*stream.head_at() + kAfterHead);
}

LeaveSeen Front::leaving(Left when, ProbeStream& stream, const std::string& nonce) {
  const bool fit = when == Left::before_head ? wait_for_arrival(stream, nonce) : wait_for_head(stream);
  if (!fit) {
    LeaveSeen seen;
    seen.why = stream.head_at() && stream.status() == 200 && when == Left::before_head
                   ? "the head was there already"
                   : stream.fault();
    return seen;
  }
  const auto left_at = steady_clock::now();
  stream.leave();
  return outcome(nonce, left_at);
}

LeaveSeen Front::outcome(const std::string& nonce, steady_clock::time_point left_at) {
  LeaveSeen seen;
  seen.waited = wait_for_leave();
  milliseconds pause = kPauses.first;
  while (steady_clock::now() < left_at + seen.waited) {
    const ProbeAnswer answer = ask(fmt::format(R"("outcome":"{}")", nonce));
    if (!answer.fault.empty()) {
      seen.why = "how the stream ended could not be asked: " + answer.fault;
      return seen;
    }
    const json& outcome = answer.result.contains("outcome") ? answer.result.at("outcome") : answer.result;
    const std::string state = text_in(outcome, "state");
    seen.arrivals = static_cast<uint32_t>(std::clamp<int64_t>(number_in(outcome, "arrivals"), 1, 100));
    if (state == "left") {
      const microseconds ago = answer.at() - std::chrono::microseconds(number_in(outcome, "ended"));
      const auto after = duration_cast<milliseconds>(answer.came - left_at - ago);
      seen.how = LeaveSeen::How::arrived;
      seen.after = std::clamp(after, milliseconds(0), seen.waited);
      return seen;
    }
    seen.asked = state == "unknown" ? seen.asked + 1 : 0;
    if (seen.asked >= kMostUnknown) {
      seen.how = LeaveSeen::How::unknown;
      return seen;
    }
    if (state == "completed" || state == "ended") {
      seen.why = fmt::format("Lineward ended the stream itself ({})",
                             Redactor(server_)(text_in(outcome, "reason"), 64));
      return seen;
    }
    pause_for(pause);
    pause = Backoff::after(pause, kPauses);
  }
  seen.how = LeaveSeen::How::never;
  return seen;
}

void Front::events() {
  ProbeStream stream(server_, target_);
  const auto until = in(kEvents * kBetweenEvents + trial_.patience);
  const Step step = stream.open(
      fmt::format(R"("nonce":"{}","events":{},"everyMs":{})", random_id(), kEvents, kBetweenEvents.count()),
      milliseconds(0), until);
  if (!step.fault.empty()) return findings_.skipped("events", step.fault);
  stream.read(until);
  if (!stream.fault().empty() && stream.events().empty()) return findings_.skipped("events", stream.fault());
  const bool same_clock = text_in(stream.result(), "gateway") == clock_of_;
  report_events(kEvents, lateness_of(stream.events(), same_clock ? reference_ : std::nullopt), findings_);
}

void Front::idle() {
  ProbeStream with(server_, target_), without(server_, target_);
  QuietSeen seen[2];
  ProbeStream* const streams[2] = {&with, &without};
  const auto until = in(trial_.idle + trial_.patience);
  bool over[2] = {false, false};
  for (int i = 0; i < 2; ++i) {
    seen[i].tried = trial_.idle;
    const Step step = streams[i]->open(
        fmt::format(R"("nonce":"{}","silentMs":{},"keepAlive":{})", random_id(), trial_.idle.count(), i == 0),
        trial_.idle + std::chrono::seconds(5), in(trial_.patience));
    seen[i].why = step.fault;
    over[i] = !step.fault.empty();
  }
  while ((!over[0] || !over[1]) && steady_clock::now() < until) {
    for (int i = 0; i < 2; ++i) {
      if (!over[i]) over[i] = streams[i]->read(in(kPauses.first));
    }
  }
  for (int i = 0; i < 2; ++i) {
    const ProbeStream& stream = *streams[i];
    if (!seen[i].why.empty() || stream.has_result()) continue;
    const bool cut = over[i] && stream.head_at() && stream.status() == 200;
    const auto quiet = duration_cast<milliseconds>(stream.over_at() - stream.last_byte_at());
    // An answer in order that is no result is Lineward's own error.
    if (cut && stream.fault().rfind("error ", 0) != 0) {
      seen[i].cut_after = quiet;
    } else {
      seen[i].why = stream.fault();
    }
  }
  report_idle(seen[0], seen[1], keep_alive_, findings_);
}

}  // namespace

void check_front(const config::Server& server, const FrontTrial& trial, Findings& findings) {
  auto target = fetch::target_of(server);
  if (!target) return findings.error(target.error().check, target.error().fault, target.error().fix);
  Front(server, *target, trial, findings).check();
}

}  // namespace lineward::doctor
