#include "operate/doctor/probe_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "config/duration.h"

namespace lineward::doctor {
namespace {

using config::format_duration;
using std::chrono::microseconds;
using std::chrono::milliseconds;

// Two writes of a beat are 300 ms apart: a leave that only they show takes longer than this.
constexpr milliseconds kSoon{500};
constexpr milliseconds kLate{120};       // of events
constexpr milliseconds kLateHead{2500};  // Lineward's is out after one second

}  // namespace

void report_front(const FrontSeen& seen, Findings& findings) {
  if (seen.gateways > 1) findings.ok("front", fmt::format("{} replicas of Lineward answered", seen.gateways));
  if (seen.host_came != seen.host_sent) {
    findings.warning("front",
                     fmt::format("Host arrives as '{}' instead of '{}'", seen.host_came, seen.host_sent),
                     "have the proxy pass Host on (nginx: proxy_set_header Host $host), and name it in "
                     "listen.allowedHosts");
  }
  if (seen.direct)
    return findings.ok("front", "no proxy stands between: this machine's own connection to Lineward's port");
  if (!seen.signs.empty())
    return findings.ok("front", fmt::format("Lineward sees a proxy by {}", fmt::join(seen.signs, ", ")));
  if (seen.shares_connection) {
    return findings.warning("front",
                            "several clients share a connection to Lineward, and no header says so: clients "
                            "that name no session may be taken for one another",
                            "have the proxy send X-Forwarded-For; or sessions.missing: refuse");
  }
  findings.ok("front", "no header of a proxy arrives, and no connection was seen to be shared");
}

void report_leave(Left when, const LeaveSeen& seen, Findings& findings) {
  const std::string what = when == Left::before_head ? "a leave before the head" : "a leave in the stream";
  if (seen.arrivals > 1) {
    findings.warning("leave",
                     fmt::format("the request arrived {} times: a tool would run twice", seen.arrivals),
                     "have the proxy never repeat a POST (haproxy: option http-server-close, no retry-on)");
  }
  switch (seen.how) {
    case LeaveSeen::How::arrived:
      if (seen.after <= kSoon)
        return findings.ok("leave", fmt::format("{} arrives after {} ms", what, seen.after.count()));
      return findings.warning("leave",
                              fmt::format("{} arrives only after {}", what, format_duration(seen.after)),
                              "haproxy: option abortonclose; Apache: a smaller listen.keepAlive; "
                              "docs/proxies.md has other proxies");
    case LeaveSeen::How::never:
      return findings.error(
          "leave",
          fmt::format("{} does not arrive within {}: an abandoned call runs on to its limit", what,
                      format_duration(seen.waited)),
          "have the proxy close its request when the client's connection ends; docs/proxies.md shows how");
    case LeaveSeen::How::unknown:
      return findings.skipped(
          "leave",
          fmt::format("{}: the Lineward that answered did not know the stream, asked {} times on new "
                      "connections; there are replicas behind a balancer, or the request never arrived",
                      what, seen.asked));
    case LeaveSeen::How::unread: return findings.skipped("leave", fmt::format("{}: {}", what, seen.why));
  }
}

Lateness lateness_of(const std::vector<ProbeEvent>& events, std::optional<microseconds> reference) {
  Lateness out;
  out.count = events.size();
  if (events.empty()) return out;
  microseconds least = reference.value_or(events.front().came - events.front().sent);
  microseconds most = least;
  for (const ProbeEvent& one : events) {
    least = std::min(least, one.came - one.sent);
    most = std::max(most, one.came - one.sent);
  }
  out.latest = most - least;
  out.at_the_end = events.size() > 1 && events.front().came - least >= events.back().sent;
  return out;
}

void report_events(size_t wanted, const Lateness& seen, Findings& findings) {
  const auto ms = std::chrono::round<milliseconds>(seen.latest);
  if (seen.count < wanted)
    return findings.error("events", fmt::format("{} of {} events came", seen.count, wanted),
                          "is the stream cut, or is its content changed on the way?");
  if (seen.at_the_end) {
    return findings.error("events",
                          fmt::format("the answer is buffered: all {} events came at its end", seen.count),
                          "switch the buffering of answers off for this path (nginx: proxy_buffering off)");
  }
  if (ms > kLate) {
    return findings.warning(
        "events", fmt::format("events come late: the latest of {} by {} ms", seen.count, ms.count()),
        "haproxy: option http-no-delay; Apache: flushpackets=on; else switch the buffering "
        "of answers off");
  }
  findings.ok("events", fmt::format("the latest of {} events is {} ms late", seen.count, ms.count()));
}

void report_head(std::optional<milliseconds> after, Findings& findings) {
  if (!after) {
    return findings.error("head", "the head of a call that takes long does not come before its answer",
                          "switch the buffering of answers off for this path");
  }
  const std::string text =
      fmt::format("the head of a call that takes long comes after {} ms", after->count());
  if (*after <= kLateHead) return findings.ok("head", text);
  findings.warning("head", text + ", and Lineward sends it after 1000 ms",
                   "switch the buffering of answers off for this path");
}

void report_body(const BodySeen& seen, Findings& findings) {
  if (seen.fault.empty()) return findings.ok("body", "a request of 1 MiB passes");
  const bool by_lineward =
      seen.fault.find("listen.") != std::string::npos || seen.fault.find("limits.") != std::string::npos;
  if (seen.status == 413 && !by_lineward) {
    return findings.warning(
        "body", "a request of 1 MiB is refused in front of Lineward: HTTP 413",
        "nginx: client_max_body_size 8m; Lineward itself takes listen.maxBodyBytes (8MiB)");
  }
  findings.warning("body", fmt::format("a request of 1 MiB does not pass: {}", seen.fault),
                   by_lineward ? "raise that limit, if clients send as much"
                               : "raise the limit of the proxy for request bodies");
}

void report_idle(const QuietSeen& with_comments, const QuietSeen& without, milliseconds keep_alive,
                 Findings& findings) {
  const std::string every = format_duration(keep_alive);
  if (!with_comments.why.empty()) {
    findings.skipped("idle", "a stream with comments: " + with_comments.why);
  } else if (with_comments.cut_after) {
    findings.error(
        "idle",
        fmt::format("a quiet stream is cut {} after its last byte, though a comment is due every {}",
                    format_duration(*with_comments.cut_after), every),
        "raise the proxy's idle timeout, or set listen.keepAlive well below it");
  } else {
    findings.ok("idle", fmt::format("a quiet stream with a comment every {} stays open for {}", every,
                                    format_duration(with_comments.tried)));
  }
  if (!without.why.empty()) return findings.skipped("idle", "a stream without comments: " + without.why);
  if (!without.cut_after) {
    return findings.ok("idle", fmt::format("no idle timeout below {}: a stream without a byte stays open "
                                           "(--idle 2m tries longer)",
                                           format_duration(without.tried)));
  }
  const std::string text = fmt::format("an idle timeout cuts a stream {} after its last byte",
                                       format_duration(*without.cut_after));
  if (*without.cut_after > 2 * keep_alive)
    return findings.ok("idle", fmt::format("{}; a comment every {} keeps streams open", text, every));
  findings.warning("idle", fmt::format("{}, and comments come every {}", text, every),
                   "raise the proxy's idle timeout (haproxy: timeout client and server; nginx: "
                   "proxy_read_timeout), or lower listen.keepAlive");
}

}  // namespace lineward::doctor
