// Passes log events to live viewers (operate/admin/event_ring.h, plugins/telemetry) besides stderr: the same
// events, from all threads, as their fields.
//
// Events of every call (write_often) reach a tap only while it wants everything, or if they are warnings.
// Without a viewer a call only checks a flag.
#pragma once

#include <initializer_list>
#include <memory>
#include <string_view>

#include "foundation/log/log.h"

namespace lineward::log {

class Tap {
 public:
  virtual ~Tap() = default;
  // From any thread, one call at a time; must not log, and must be quick.
  virtual void told(Level level, std::string_view event, std::initializer_list<Field> fields,
                    std::string_view iso_time) = 0;
};

// Events of level info and above reach each tap at any log.level. After end_tap() no thread is inside the
// tap.
enum class Wants : bool { warnings, everything };  // of events of every call
void add_tap(std::shared_ptr<Tap> tap, Wants wants);
void tap_wants(const Tap& tap, Wants wants);
void end_tap(const Tap& tap);

// Like enabled() and write(), for events written once per call: without a rate limit, unless the call was
// refused before it cost anything.
enum class Rated : bool { no, yes };
bool enabled_often(Level level);
void write_often(Level level, std::string_view event, std::initializer_list<Field> fields,
                 Rated rated = Rated::no);

}  // namespace lineward::log
