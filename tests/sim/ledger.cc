#include "ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <initializer_list>
#include <set>

namespace lineward::sim {
namespace {

// How long the gateway may take for what it should do at once: the way there counts too.
constexpr Time kAtOnce = 200 * kMillisecond;
constexpr size_t kLong = 10'000;                 // bytes that a pipe does not take at once
constexpr std::chrono::milliseconds kGone{200};  // of a process that goes when it is told to

std::string_view padding(const CallPlan& call, size_t more = 0) {
  static const std::string letters = [] {
    std::string text;
    for (size_t i = 0; i < 300'000; ++i)
      text += static_cast<char>('a' + (i * 7 + i / 1000) % 26);
    return text;
  }();
  return std::string_view(letters).substr(call.tag.size() * 31, call.padding + more);
}

std::string joined(std::initializer_list<std::string_view> parts) {
  size_t size = 0;
  for (const std::string_view part : parts)
    size += part.size();
  std::string text;
  text.reserve(size);
  for (const std::string_view part : parts)
    text += part;
  return text;
}

bool by_server(const CallRecord& record) {
  return record.outcome == "result" || record.outcome == "tool_error" ||
         record.outcome.rfind("error -32050", 0) == 0;
}

}  // namespace

std::string arguments_of(const CallPlan& call) {
  return joined({R"({ "tag": ")", call.tag, R"(","n" :1.0, "e":[1e2, -0 ] ,"u":"\u00e9 \/","pad":")",
                 padding(call), R"("})"});
}

std::string content_of(const CallPlan& call) {
  return joined({R"({"z":1.50,"of": ")", call.tag, R"(", "a":[ {} ,"\u0041"],"pad":")",
                 padding(call, call.more_in_result), R"(" })"});
}

std::string tag_in(std::string_view text) {
  for (size_t at = text.find('T'); at != std::string_view::npos; at = text.find('T', at + 1)) {
    size_t end = at + 1;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])))
      ++end;
    if (end == at + 1 || end >= text.size() || text[end] != '.') continue;
    const size_t number = ++end;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])))
      ++end;
    if (end > number && end < text.size() && text[end] == '.')
      return std::string(text.substr(at, end + 1 - at));
  }
  return {};
}

CallRecord& Ledger::begin(const CallPlan& call, size_t client, bool modern) {
  CallRecord& record = calls_[call.tag];
  record.plan = &call;
  record.client = client;
  record.modern = modern;
  return record;
}

CallRecord* Ledger::find(const std::string& tag) {
  auto found = calls_.find(tag);
  return found == calls_.end() ? nullptr : &found->second;
}

void Ledger::violation(const std::string& what, const std::string& details) {
  violations_.push_back({world_.now(), what, details});
  world_.tell(fmt::format("VIOLATION {}: {}", what, details));
}

bool Ledger::asked_too_late(const std::string& tag) {
  const CallRecord* record = find(tag);
  if (record == nullptr || !record->plan->asks()) return false;
  Time over = record->left >= 0 ? record->left : record->ended;
  for (const auto& attempt : record->attempts) {
    // Its limit was there first; the client may not have read that yet.
    if (attempt->cancel_sent >= 0 && (over < 0 || attempt->cancel_sent < over)) over = attempt->cancel_sent;
  }
  const Time grace = plan_.config.servers[record->plan->server].timeouts.cancel_grace.count() * kMillisecond;
  if (over < 0 || world_.now() <= over + grace) return false;
  const bool is_told = plan_.config.servers[record->plan->server].cancel != config::CancelMode::never;
  // A server that stood still all the time has not read the cancel, and its question may be older.
  const bool heard = std::all_of(record->attempts.begin(), record->attempts.end(), [&](const auto& attempt) {
    return attempt->cancel_received >= 0 && attempt->cancel_received <= over + grace;
  });
  return !(record->plan->obeys_cancel && is_told && heard);
}

void Ledger::check_client(size_t client, std::string_view text) {
  if (plan_.policies.redacts && text.find("sk-sim-") != std::string_view::npos)
    violation("what is to be blacked out reached a client", std::string(text.substr(0, 300)));
  for (;;) {
    const std::string tag = tag_in(text);
    if (tag.empty()) return;
    if (static_cast<size_t>(std::atoi(tag.c_str() + 1)) != client && !asked_too_late(tag))
      violation("what is one client's reached another", fmt::format("client {} got {}", client, tag));
    text.remove_prefix(text.find(tag) + tag.size());
  }
}

void Ledger::judge() {
  for (const auto& [tag, record] : calls_) {
    (void)tag;
    judge_call(record);
    judge_time(record);
    for (const auto& attempt : record.attempts)
      judge_leave(record, *attempt);
    if (plan_.calm) judge_calm(record);
    if (record.plan->is_probe && is_forbidden(record)) continue;
    // Each replica has a circuit of its own, and closes it when it is asked.
    const bool may_be_open = plan_.replicas > 1 && record.outcome.find("circuit_open") != std::string::npos;
    // An idle process is told to exit, and keeps its place until then: a deaf one until it is killed, any
    // other for longer than a short queue lasts.
    const ServerPlan& kind = plan_.servers[record.plan->server];
    const bool goes_late = kind.ignores_end || kind.ignores_term ||
                           plan_.config.servers[record.plan->server].limits.queue_timeout < kGone;
    const size_t instances = plan_.config.servers[record.plan->server].instances;
    const bool may_be_taken = !kind.http && (goes_late || sessions_near(record.begun) >= instances) &&
                              instances < 64 && record.outcome.find("queue_full") != std::string::npos;
    if (record.plan->is_probe && !drained && record.outcome != "result" && !may_be_open && !may_be_taken)
      violation("a server is not served as ever when all calls have ended", tag + " " + record.outcome);
  }
  for (size_t i = 0; i < plan_.servers.size(); ++i) {
    judge_places(i);
    judge_queue(i);
    judge_rate(i);
  }
  judge_log();
}

void Ledger::judge_call(const CallRecord& record) {
  const std::string& tag = record.plan->tag;
  if (record.ended < 0 && record.left < 0 && !(drained && record.request_cut))
    violation("a call never ended", tag);
  // The request with the answer to a question is another one.
  size_t run = 0, most = 0;
  for (const auto& attempt : record.attempts) {
    run = attempt->asked ? 0 : run + (attempt->refused ? 0 : 1);
    most = std::max(most, run);
  }
  const bool may_repeat =
      record.plan->reads_only && plan_.config.servers[record.plan->server].retry.attempts > 1;
  if (most > 1 && !may_repeat) violation("a call was run twice", tag);
  if (most > plan_.config.servers[record.plan->server].retry.attempts && may_repeat)
    violation("a call was repeated more often than it may be", tag);
  if (is_forbidden(record) && !record.plan->asks() && !record.attempts.empty())
    violation("what a policy forbids reached the server", tag + " " + record.outcome);
  if (record.plan->names_no_string && !record.attempts.empty())
    violation("a call that names no tool reached the server", tag);
  // Only the server answers.
  bool answered = false;
  for (const auto& attempt : record.attempts)
    answered = answered || attempt->answered >= 0;
  if (by_server(record) && !answered) violation("an answer that no server gave", tag);
  const Op::Kind wanted = record.outcome == "result"       ? Op::Kind::result
                          : record.outcome == "tool_error" ? Op::Kind::tool_error
                                                           : Op::Kind::error;
  bool in_plan = false;
  for (const Op& op : record.plan->ops)
    in_plan = in_plan || op.kind == wanted;
  if (by_server(record) && !in_plan)
    violation("an answer of another kind than the server gave", tag + " " + record.outcome);
  // An answer after its client's cancel is dropped. The worker that has read the cancel hands it to the
  // server's worker, and the answer may be there first.
  const Time handed = passing() + (plan_.config.workers > 1 ? kMillisecond : 0);
  const ServerPlan& kind = plan_.servers[record.plan->server];
  const bool nameless = kind.http && !kind.modern && !kind.sessions;
  for (const auto& attempt : record.attempts) {
    if (record.left_by_message && !nameless && record.left_read >= 0 && by_server(record) &&
        !attempt->was_full && record.sent >= 0 &&
        record.sent + passing(record.request_bytes) < record.left_read &&
        attempt->answer_read > record.left_read + handed && !plan_.replica_ends())
      violation("a late answer was passed on", fmt::format("{} taken back at {:.6f}, answer read at {:.6f}",
                                                           tag, static_cast<double>(record.left_read) / 1e6,
                                                           static_cast<double>(attempt->answer_read) / 1e6));
  }
  // A stream is cut only when the gateway stops, when its reader takes nothing, or when there is too little
  // memory.
  if (record.outcome == "cut" && record.left < 0 && !drained && !plan_.replica_ends() &&
      !peers_fell_silent() && !plan_.has(FaultPlan::Kind::crowded) && !plan_.narrow &&
      record.plan->slow_reader == 0 && !record.request_cut && record.sent >= 0)
    violation("a client's connection was closed instead of an answer", tag);
}

// How many sessions may not have idled so long that their processes have gone by then.
size_t Ledger::sessions_near(Time then) const {
  const auto& listen = plan_.config.listen;
  const Time gone = (listen.session_idle + listen.resume_window).count() * kMillisecond + 5 * kSecond;
  std::set<size_t> clients;
  for (const auto& [tag, record] : calls_) {
    if (!record.modern && !record.plan->is_probe && then < std::max(record.ended, record.left) + gone)
      clients.insert(record.client);
  }
  return clients.size();
}

// Replicas that all stand still have heard nothing of each other when they go on.
bool Ledger::peers_fell_silent() const {
  Time stood = 0;
  for (const FaultPlan& fault : plan_.faults)
    stood += !fault.dropped && fault.kind == FaultPlan::Kind::jump ? std::min(fault.length, kSecond) : 0;
  return plan_.replicas > 1 && stood > plan_.config.listen.keep_alive.count() * kMillisecond;
}

// By a plugin: what it forbids is not told to the server.
bool Ledger::is_forbidden(const CallRecord& record) const {
  const Policies& policies = plan_.policies;
  const bool hidden = record.plan->reads_only && policies.hides_look == static_cast<int>(record.plan->server);
  return hidden || (policies.burst > 0 && (record.outcome.find("rate_limited") != std::string::npos ||
                                           record.outcome.rfind("status 429", 0) == 0));
}

// No more calls get through at a server's own path than its bucket has, between any two moments.
void Ledger::judge_rate(size_t server) {
  const Policies& policies = plan_.policies;
  if (policies.burst == 0) return;
  std::vector<std::pair<Time, Time>> passed;  // between these two it was let through
  for (const auto& [tag, record] : calls_) {
    (void)tag;
    if (record.plan->server != server || record.plan->asks() || record.attempts.empty()) continue;
    if (!plan_.clients[record.client].together)
      passed.emplace_back(record.begun, record.attempts.front()->sent);
  }
  for (const auto& first : passed) {
    for (const auto& last : passed) {
      const Time from = first.first, until = last.second;
      if (until < from) continue;
      int count = 0;
      for (const auto& one : passed)
        count += one.first >= from && one.second <= until ? 1 : 0;
      const auto most = static_cast<Time>(plan_.replicas) *
                        (policies.burst + (until - from) * policies.per_second / kSecond + 1);
      if (count > most)
        return violation("more calls were let through than the rate allows",
                         fmt::format("s{}: {} in {} ms", server, count, (until - from) / 1000));
    }
  }
}

// The time of a request from one replica to another: a long one takes 40 ms for each 512 bytes on the
// narrowest and slowest way.
Time Ledger::passing(size_t bytes) const {
  return plan_.replicas > 1 ? kSecond + static_cast<Time>(bytes / 512) * 40 * kMillisecond : 0;
}

// A leave of the client is sent to its server exactly once, in time, and never after the answer.
void Ledger::judge_leave(const CallRecord& record, const Attempt& attempt) {
  const std::string& tag = record.plan->tag;
  const config::Server& server = plan_.config.servers[attempt.server];
  if (attempt.cancels > 1) violation("a server was told a cancel twice", tag);
  // Over HTTP a message waits for a connection to go out on, and cannot be taken back: there the client's
  // answer tells.
  // Events of one turn are weighed at its end. But a process that ends gets the cancel before, and one with
  // an open question gets an error.
  bool at_once =
      server.isolation != config::Isolation::automatic && server.isolation != config::Isolation::shared;
  // With several threads, simultaneous events may come in two turns.
  at_once =
      at_once || plan_.clients[record.client].together || plan_.config.workers > 1 || plan_.replicas > 1;
  for (const auto& [other_tag, other] : calls_)
    at_once = at_once || (other.plan->asks() && other.plan->server == attempt.server);
  const bool late = attempt.http || attempt.was_full ? by_server(record)
                    : at_once                        ? attempt.cancel_sent > attempt.answer_read
                                                     : attempt.cancel_sent >= attempt.answer_read;
  if (attempt.cancels > 0 && attempt.answer_read >= 0 && late)
    violation("a server was told a cancel after its answer", tag);
  if (attempt.cancels > 0 && server.cancel == config::CancelMode::never)
    violation("a server was told a cancel in spite of cancel: never", tag);
  // Why it may be told: the client left, or a limit, or its stream broke, or the gateway stops.
  const bool limit = record.outcome.find("timeout_") != std::string::npos ||
                     record.outcome.find("cancelled_drain") != std::string::npos;
  // After the break of a legacy server's stream its call goes on without a client, in Lineward's own
  // sessions: those of modern clients and of all servers as one.
  const bool of_ours = attempt.http && !plan_.servers[attempt.server].modern &&
                       (record.modern || plan_.clients[record.client].together);
  const bool broke =
      of_ours && (attempt.died >= 0 || record.outcome.find("upstream_unreachable") != std::string::npos);
  if (attempt.cancels > 0 && record.left < 0 && !limit && !broke && !record.plan->asks() && !drained &&
      record.outcome != "cut" && record.plan->slow_reader == 0)
    violation("a server was told a cancel that nobody wanted", tag + " " + record.outcome);
  if (record.left < 0 || record.left_parked || attempt.asked) return;
  // A killed gateway sends nothing.
  if (plan_.replica_ends()) return;
  // Without a session such a message names no call.
  const ServerPlan& kind = plan_.servers[attempt.server];
  if (record.left_by_message && kind.http && !kind.modern && !kind.sessions) return;
  Time left = record.left_by_message ? record.left_read : record.link->saw_end();
  if (left < 0) return;
  // A cancel that overtook its call is one of nothing.
  if (record.left_by_message && (record.left_unread || record.sent + passing(record.request_bytes) > left))
    return;
  const Time resume =
      record.modern || record.left_by_message ? 0 : plan_.config.listen.resume_window.count() * kMillisecond;
  if (record.modern || record.left_by_message) {
    if (attempt.sent > left + passing() && !attempt.was_full)
      violation("what its client had left was sent",
                fmt::format("{} left at {} sent at {}", tag, left, attempt.sent));
  }
  if (server.cancel == config::CancelMode::never || drained) return;
  // Events in the meantime make it unnecessary.
  Time stood_still = 0;
  for (const FaultPlan& fault : plan_.faults)
    stood_still += !fault.dropped && fault.kind == FaultPlan::Kind::jump ? fault.length : 0;
  // A call with a question at its client waits for it, whatever happens to its connection.
  const Time parked = record.plan->asks() ? server.timeouts.park.count() * kMillisecond : 0;
  const Time bound = left + stood_still + parked + resume + kAtOnce + passing() +
                     (attempt.http ? server.timeouts.connect.count() * kMillisecond + 200 * kMillisecond : 0);
  if (attempt.answer_read >= 0 && attempt.answer_read <= bound) return;
  // Messages behind a long request in a pipe are read that much later.
  Time in_pipe = attempt.http || attempt.received < 0 ? 0 : attempt.received - attempt.sent;
  // It may be one of another call that came between this one and its cancel, and was read before the end.
  for (const auto& [other_tag, other] : calls_) {
    for (const auto& one : other.attempts) {
      const bool between = !attempt.http && one->server == attempt.server && one->sent <= bound;
      if (between && one->received >= left && one->received <= attempt.died)
        in_pipe = std::max(in_pipe, one->received - one->sent);
    }
  }
  if (attempt.died >= 0 && attempt.died <= bound + in_pipe) return;
  // The process is ended because of another call: this one is over already.
  if (!attempt.http && server.cancel == config::CancelMode::kill && attempt.died >= 0) return;
  // Bytes in a stalled pipe are not read any more when its process ends.
  for (const FaultPlan& fault : plan_.faults) {
    if (fault.kind == FaultPlan::Kind::stall && fault.strikes(attempt.server) && attempt.died >= 0) return;
  }
  const bool modern_http = attempt.http && plan_.servers[attempt.server].modern;
  const Time told = attempt.cancels > 0 ? attempt.cancel_sent : attempt.closed ? attempt.closed_at : -1;
  if (told < 0 && attempt.http && attempt.closed) return;
  if (told < 0) return violation("a server was not told that the client has left", tag);
  if (told > bound && !attempt.was_full)
    violation("a server was told too late that the client has left",
              fmt::format("{} left {} told {} bound {}", tag, left, told, bound));
  // By message, where there is a session to send it in and the server can be reached.
  bool reachable = attempt.died < 0;
  for (const FaultPlan& fault : plan_.faults) {
    reachable = reachable && !fault.strikes(attempt.server);
    // A connection that was begun in the very turn in which everything stood still has its time behind it.
    const bool stood = !fault.dropped && fault.kind == FaultPlan::Kind::jump &&
                       std::min(fault.length, kSecond) >= server.timeouts.connect.count() * kMillisecond;
    reachable = reachable && !(stood && left >= fault.at && left <= fault.at + kSecond + kAtOnce);
  }
  if (kind.http && !kind.modern && kind.sessions && reachable && attempt.cancels == 0)
    violation("a legacy HTTP server's stream was closed, and it was not told why", tag);
  if (modern_http && attempt.cancels > 0)
    violation("a modern HTTP server got a message instead of the end of the stream", tag);
}

// Its answer comes with the last one of its batch, and nothing before it; or there is none, and the stream
// ends with the batch.
bool Ledger::waits_for_batch(const CallRecord& record) const {
  return record.plan->batch > 0 && (plan_.clients[record.client].wants_array || record.left_by_message);
}

void Ledger::judge_time(const CallRecord& record) {
  if (record.ended < 0 || record.begun < 0) return;
  if (record.request_cut || (drained && record.outcome == "cut")) return;
  const config::Server& server = plan_.config.servers[record.plan->server];
  Time most = 0;
  for (auto limit : {server.limits.queue_timeout, server.timeouts.connect * 2, server.timeouts.startup * 2,
                     server.timeouts.max_duration, server.restart.max_backoff})
    most += limit.count() * kMillisecond;
  Time slack = 5 * kSecond + record.plan->slow_reader;
  for (const Op& op : record.plan->ops)
    slack += op.kind == Op::Kind::question
                 ? server.timeouts.park.count() * kMillisecond + record.plan->answer_after
                 : 0;
  for (const FaultPlan& fault : plan_.faults)
    slack += fault.dropped ? 0 : fault.length;
  bool jumps = false;
  for (const FaultPlan& fault : plan_.faults)
    jumps = jumps || (!fault.dropped && fault.kind == FaultPlan::Kind::jump);
  // From when the server got it on there is one limit that nothing puts off.
  const Attempt* only = record.attempts.size() == 1 ? record.attempts.front().get() : nullptr;
  bool asked = false;  // a question names no call: it may have stopped this one's clock
  for (const auto& [tag, other] : calls_)
    asked = asked || (other.plan->asks() && other.plan->server == record.plan->server);
  // A client on stdio has one pipe, and what is behind a long answer in it comes as much later.
  bool behind = false;
  for (const auto& [tag, other] : calls_) {
    const bool is_long = other.plan->padding + other.plan->more_in_result > kLong;
    behind = behind || (plan_.on_stdio && &other != &record && is_long && other.ended >= record.begun &&
                        other.ended <= record.ended);
  }
  const bool answered = by_server(record) && only != nullptr && only->answer_read >= 0;
  const bool is_late_itself = answered || !behind;
  if (only != nullptr && is_late_itself && !only->was_full && !asked && !jumps && !waits_for_batch(record)) {
    const Time until = answered ? only->answer_read : record.ended - record.plan->slow_reader;
    const Time least = std::min(server.timeouts.max_duration, server.timeouts.request).count() * kMillisecond;
    // An answer that a hook looks at has come in time.
    const bool silent =
        !record.plan->wants_progress && record.plan->slow_reader == 0 && !plan_.policies.hooks_hear;
    const Time limit = silent ? least : server.timeouts.max_duration.count() * kMillisecond;
    if (until - only->sent > limit + (answered ? kAtOnce : kSecond) && record.outcome != "cut")
      violation(
          "a call outlived its limit at the server",
          fmt::format("{} took {} ms of {}", record.plan->tag, (until - only->sent) / 1000, limit / 1000));
  }
  if (record.ended - record.begun > most + slack)
    violation("a call outlived its limits",
              fmt::format("{} took {} ms of {}", record.plan->tag, (record.ended - record.begun) / 1000,
                          (most + slack) / 1000));
}

// No more calls are under way at a server than it may have.
void Ledger::judge_places(size_t server) {
  Time slack = 50 * kMillisecond;
  // A server without a cancel goes on, and has no place.
  if (plan_.config.servers[server].cancel == config::CancelMode::never || plan_.replica_ends()) return;
  for (const FaultPlan& fault : plan_.faults) {
    if (fault.dropped) continue;
    if (fault.kind == FaultPlan::Kind::jump) slack += fault.length;
    if (!fault.strikes(server)) continue;
    // Only a reload that adjusts it leaves it the same server, and when each call was over is known.
    if (fault.kind != FaultPlan::Kind::reload || fault.how == 2 || fault.how == 3) return;
  }
  // In the turn in which it gave a call up it may have stood still before the cancel was sent.
  const auto stood_before = [&](Time then) {
    Time stood = 0;
    for (const FaultPlan& fault : plan_.faults) {
      const bool jumps = !fault.dropped && fault.kind == FaultPlan::Kind::jump;
      if (jumps && fault.at <= then && then <= fault.at + slack) stood += std::min(fault.length, kSecond);
    }
    return stood;
  };
  struct Stay {
    Time from, until;
    const std::string* tag;
  };
  std::vector<Stay> stays;
  for (const auto& [tag, record] : calls_) {
    if (record.plan->asks()) continue;  // a call that waits for an answer takes no place
    for (const auto& attempt : record.attempts) {
      if (attempt->server != server) continue;
      if (attempt->was_full) return;
      Time until = INT64_MAX;
      // The end of a call is unknown if its process is ended because of another one, or if the call was made
      // again.
      const bool gave_up = record.outcome.find("upstream_exited") != std::string::npos ||
                           attempt->died >= 0 || attempt != record.attempts.back();
      if (plan_.config.servers[server].cancel == config::CancelMode::kill && gave_up) continue;
      for (const Time end : {attempt->answer_read, attempt->died, attempt->closed_at, attempt->cancel_sent,
                             record.left, record.left_read, record.ended}) {
        if (end >= 0) until = std::min(until, end);
      }
      // The end is unknown if no cancel was sent. A call that was sent and given up in the same turn was
      // beside no other.
      if (until != INT64_MAX && until > attempt->sent)
        stays.push_back({attempt->sent, until - 50 * kMillisecond - stood_before(until), &tag});
    }
  }
  auto limit_at = [&](Time when) {
    uint32_t most = 0, now = plan_.config.servers[server].limits.max_in_flight;
    Time since = -1;
    for (const FaultPlan& fault : plan_.faults) {
      if (fault.dropped || fault.kind != FaultPlan::Kind::reload || fault.how != 4 ||
          fault.server != server || fault.at > when)
        continue;
      if (drained && fault.at >= drained_at) continue;  // one that is stopping reads nothing again
      if (fault.at + slack >= when) {
        most = std::max(most, places_after(fault));
      } else if (fault.at > since) {
        since = fault.at;
        now = places_after(fault);
      }
    }
    return std::max(most, now) * static_cast<uint32_t>(plan_.replicas);  // each has its own
  };
  for (const Stay& one : stays) {
    uint32_t beside = 0;
    std::string others;
    for (const Stay& other : stays) {
      if (&other == &one || other.from > one.from || other.until <= one.from) continue;
      ++beside;
      others += fmt::format(", {} from {} to {}", *other.tag, other.from, other.until);
    }
    if (beside + 1 > limit_at(one.from))
      return violation("a server has more calls at once than it may",
                       fmt::format("{} from {} is one of {}, allowed are {}{}", *one.tag, one.from,
                                   beside + 1, limit_at(one.from), others));
  }
}

// No more calls wait for a server than may: those with their wait over have waited for all of it. The log
// decides here, since it has the time of each end. Only calls of tools count: simultaneous requests for the
// same list wait for one request, which has one place (proxy/upstream/layers/shared_call.h).
void Ledger::judge_queue(size_t server) {
  const config::Server& configured = plan_.config.servers[server];
  const auto whole = configured.limits.queue_timeout.count();
  if (plan_.policies.hooks) return;  // what waits for a verdict waits nowhere else
  for (const FaultPlan& fault : plan_.faults) {
    const bool changes_limits = fault.kind == FaultPlan::Kind::reload && fault.server == server;
    if (!fault.dropped && (changes_limits || fault.kind == FaultPlan::Kind::jump)) return;
  }
  std::vector<int64_t> ends;  // in milliseconds of the day
  const std::string name = fmt::format(" upstream={} ", plan_.servers[server].name);
  const std::string_view log = world_.log();
  for (size_t at = 0, end; (end = log.find('\n', at)) != std::string_view::npos; at = end + 1) {
    const std::string_view line = log.substr(at, end - at);
    const size_t time = line.find('T');
    if (line.find(" reason=timeout_queue ") == std::string_view::npos ||
        line.find(" method=tools/call ") == std::string_view::npos ||
        line.find(name) == std::string_view::npos || time == std::string_view::npos)
      continue;
    int hours = 0, minutes = 0, seconds = 0, rest = 0;
    const std::string digits(line.substr(time + 1, 12));
    if (std::sscanf(digits.c_str(), "%d:%d:%d.%d", &hours, &minutes, &seconds, &rest) != 4) continue;
    ends.push_back(((hours * 60 + minutes) * 60 + seconds) * 1000 + rest);
  }
  constexpr int64_t kSlack = 50;
  const uint64_t most =
      (uint64_t{configured.limits.max_in_flight} + configured.limits.max_queue) * plan_.replicas;
  for (const int64_t one : ends) {
    uint64_t beside = 0;
    for (const int64_t other : ends)
      beside += other >= one && other - whole + kSlack < one ? 1 : 0;
    if (beside > most)
      return violation("more calls wait for a server than may",
                       fmt::format("s{}: {}, allowed are {}", server, beside, most));
  }
}

// A world without faults: every call ends as its server says.
void Ledger::judge_calm(const CallRecord& record) {
  std::string wanted;
  int progress = 0;
  for (const Op& op : record.plan->ops) {
    if (op.kind == Op::Kind::result) wanted = "result";
    if (op.kind == Op::Kind::tool_error) wanted = "tool_error";
    if (op.kind == Op::Kind::error) wanted = "error -32050 ";
    if (op.kind == Op::Kind::progress && wanted.empty()) ++progress;
  }
  if (record.outcome != wanted)
    violation("a call ended otherwise than its server said, although nothing went wrong",
              record.plan->tag + " " + record.outcome + " instead of " + wanted);
  if (record.plan->wants_progress && !record.plan->asks() && !waits_for_batch(record) &&
      record.progress != progress)
    violation("progress was lost",
              fmt::format("{} got {} of {}", record.plan->tag, record.progress, progress));
}

// Each call has one line in the log.
void Ledger::judge_log() {
  std::map<std::string, int> lines;
  std::string_view log = world_.log();
  size_t at = 0;
  auto value = [](std::string_view line, std::string_view key) -> std::string {
    const size_t found = line.find(key);
    if (found == std::string_view::npos) return {};
    const size_t from = found + key.size();
    return std::string(line.substr(from, line.find(' ', from) - from));
  };
  for (size_t end; (end = log.find('\n', at)) != std::string_view::npos; at = end + 1) {
    std::string_view line = log.substr(at, end - at);
    if (line.find("event=bug") != std::string_view::npos ||
        line.find("reason=internal") != std::string_view::npos)
      violation("the gateway says itself that something is wrong", std::string(line.substr(0, 300)));
    if (line.find("event=call.end") == std::string_view::npos ||
        line.find("method=tools/call") == std::string_view::npos)
      continue;
    std::string id = value(line, " rpc_id=");
    std::erase(id, '"');
    std::erase(id, '\\');
    ++lines[(plan_.replicas > 1 ? "" : value(line, " remote=")) + " " + id];
  }
  for (const auto& [tag, record] : calls_) {
    std::string id = record.raw_id;
    std::erase(id, '"');
    const int count = lines[(plan_.replicas > 1 ? "" : record.remote) + " " + id];
    if (count > 1) violation("a call ended twice in the log", tag);
    // A call with a question came back as another request, which may have been refused with its connection.
    const bool came_once = !record.plan->asks() && !record.was_parked;
    if (count == 0 && (by_server(record) || (!record.attempts.empty() && came_once)))
      violation("a call has no end in the log", tag);
  }
}

}  // namespace lineward::sim
