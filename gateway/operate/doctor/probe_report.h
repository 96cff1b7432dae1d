// The measurements of the path to a Lineward, and their meaning. Pure; front_check.cc measures.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "operate/doctor/finding.h"
#include "operate/doctor/probe_stream.h"

namespace lineward::doctor {

// ---- what Lineward sees of the request ----

struct FrontSeen {
  std::string host_sent, host_came;
  std::vector<std::string> signs;  // names of the headers that proxies add
  bool direct = false;             // no proxy stands between
  // Two connections from here came to Lineward on one.
  bool shares_connection = false;
  size_t gateways = 1;  // processes that answered
};
void report_front(const FrontSeen& seen, Findings& findings);

// ---- a leave ----

enum class Left : bool { before_head, in_stream };
struct LeaveSeen {
  enum class How : uint8_t {
    arrived,
    never,    // not within `waited`
    unknown,  // the gateway that answers does not know the stream
    unread    // `why`
  };
  How how = How::unread;
  std::chrono::milliseconds after{0};   // of `arrived`
  std::chrono::milliseconds waited{0};  // of `never`
  size_t asked = 0;                     // of `unknown`: how often, one after the other
  uint32_t arrivals = 1;                // of the request
  std::string why;
};
void report_leave(Left when, const LeaveSeen& seen, Findings& findings);

// ---- events ----

struct Lateness {
  size_t count = 0;
  std::chrono::microseconds latest{0};
  bool at_the_end = false;  // the first came when the last had been sent
};
// `reference`: the least difference between the two clocks that any other answer of that gateway has shown.
Lateness lateness_of(const std::vector<ProbeEvent>& events,
                     std::optional<std::chrono::microseconds> reference);
void report_events(size_t wanted, const Lateness& seen, Findings& findings);

// ---- head, body, idle ----

// No value: none came in time.
void report_head(std::optional<std::chrono::milliseconds> after, Findings& findings);

struct BodySeen {
  int status = 0;
  std::string fault;  // empty: it passed
};
void report_body(const BodySeen& seen, Findings& findings);

struct QuietSeen {
  std::chrono::milliseconds tried{0};
  // From the last byte that came to the end; nothing: it stayed.
  std::optional<std::chrono::milliseconds> cut_after;
  std::string why;  // it could not be tried, or Lineward ended it: that
};
// A stream with comments every `keep_alive`, and one without.
void report_idle(const QuietSeen& with_comments, const QuietSeen& without,
                 std::chrono::milliseconds keep_alive, Findings& findings);

}  // namespace lineward::doctor
