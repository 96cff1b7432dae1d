// The log as somebody sees it who looks at the running process (admin/event_feed.h), beside stderr: the same
// events, from all threads, as their fields. Others may look on as well (plugins/telemetry).
//
// What is written for every call (write_often) reaches one only while it wants everything, or when it is a
// warning: while nobody looks, a call costs one look at a flag.
#pragma once

#include <initializer_list>
#include <memory>
#include <string_view>

#include "log/log.h"

namespace lineward::log {

class Tap {
 public:
  virtual ~Tap() = default;
  // From any thread, one at a time; must not log, and must be quick.
  virtual void told(Level level, std::string_view event, std::initializer_list<Field> fields,
                    std::string_view iso_time) = 0;
};

// Info and above reach each tap whatever log.level says. When end_tap() returns nobody is within it.
enum class Wants : bool { warnings, everything };  // of what is written for every call
void add_tap(std::shared_ptr<Tap> tap, Wants wants);
void tap_wants(const Tap& tap, Wants wants);
void end_tap(const Tap& tap);

// As enabled() and write(), for what is written once for every call: without a rate, unless the call was
// refused before it cost anything.
enum class Rated : bool { no, yes };
bool enabled_often(Level level);
void write_often(Level level, std::string_view event, std::initializer_list<Field> fields,
                 Rated rated = Rated::no);

}  // namespace lineward::log
