// Server-sent events from a byte stream that may be split anywhere (WHATWG HTML, "server-sent events"): LF,
// CRLF and CR end a line, one byte order mark at the start is dropped, unknown fields and comments are
// skipped.
//
// Owned by one upstream response and lives as long as it, or over several with restart(). No sockets, no
// clock, no callbacks. Data is passed on unchanged: its reader checks that it is UTF-8.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "foundation/json/json_outline.h"

namespace lineward::http {

struct SseLimits {
  size_t line_bytes =
      (32u << 20) + 64;            // one line without its end; room for a whole message after its field name
  size_t event_bytes = 32u << 20;  // the data of one event
};

struct SseEvent {
  std::string data;               // its lines joined by LF
  json::OutlinePtr outline;       // of long JSON data on a single line
  std::string event = "message";  // the type
  std::string id;                 // the last id of the stream, in this event or before it; empty: none
  std::optional<std::chrono::milliseconds> retry;  // if sent since the previous event
};

class SseParser {
 public:
  enum class Next { need_more, event, failed };

  explicit SseParser(const SseLimits& limits = {}) : limits_(limits) {}

  // Appends bytes from the wire. buffered() is the number of unparsed bytes.
  void append(std::string_view bytes);
  size_t buffered() const { return buffer_.size() - at_; }
  // All held bytes, including those of a partial event.
  size_t kept() const {
    return buffer_.size() + data_.size() + type_.size() + id_.size() + coming_id_.size();
  }

  // Parses to the end of the next event with data. `event`: take_event() returns it. `failed`: fault() names
  // the broken limit; the parser stays failed. `need_more`: append more first. An unfinished event at the end
  // of the stream is never returned.
  Next next();
  SseEvent take_event() { return std::move(ready_); }
  const std::string& fault() const { return fault_; }
  // Comments, and ends of events that had no data, so far.
  uint64_t empty_lines() const { return empty_lines_; }

  // The state for a reconnect. An id takes effect when its event has ended, with data or without. A server
  // that resumes after a truncated event would never send that event again. An id longer than kMaxEventId
  // bytes is ignored.
  static constexpr size_t kMaxEventId = 1024;
  const std::string& last_event_id() const { return id_; }
  std::optional<std::chrono::milliseconds> retry() const { return retry_; }

  // The stream has ended and another one continues it: only last_event_id() and retry() stay.
  void restart();

 private:
  enum class Line { none, whole, too_long };

  Line take_line(std::string_view& line);
  bool pass_mark();
  bool on_field(std::string_view line);
  bool add_data(std::string_view value);
  void outline_partial();
  void set_retry(std::string_view digits);
  bool dispatch();
  Next fail(std::string text);

  SseLimits limits_;
  std::string buffer_;
  size_t at_ = 0;        // bytes before it are parsed
  size_t scanned_ = 0;   // no line end between at_ and here
  bool has_cr_ = false;  // whether a CR may be in the buffer
  bool at_start_ = true;
  bool skip_lf_ = false;  // the previous line ended in CR
  uint64_t empty_lines_ = 0;
  std::string data_;
  bool has_data_ = false;
  json::ArrivingOutline arriving_;  // of the first data line of an event, while it arrives
  json::OutlinePtr outline_;        // of data_
  std::string type_;
  std::string id_;
  std::string coming_id_;  // takes effect when the event has ended
  std::optional<std::chrono::milliseconds> retry_;
  bool retry_told_ = true;  // returned in an event
  SseEvent ready_;
  std::string fault_;
};

}  // namespace lineward::http
