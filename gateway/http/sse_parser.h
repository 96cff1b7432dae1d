// Server-sent events out of a byte stream that may be cut anywhere (WHATWG HTML, "server-sent events"): LF,
// CRLF and CR end a line, one byte order mark at the start is dropped, unknown fields and comments are passed
// over.
//
// Owned by one upstream response and lives as long as it, or over several with restart(). Knows no sockets
// and no clock, and never calls back. Data is passed on as it came: whether it is UTF-8 is for its reader to
// check.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "json/json_outline.h"

namespace lineward::http {

struct SseLimits {
  size_t line_bytes =
      (32u << 20) + 64;            // one line without its end; room for a whole message behind its field name
  size_t event_bytes = 32u << 20;  // the data of one event
};

struct SseEvent {
  std::string data;               // its lines joined by LF
  json::OutlinePtr outline;       // of data that is long, JSON and on one line
  std::string event = "message";  // the type
  std::string id;                 // the last one the stream named, in this event or before it; empty: none
  std::optional<std::chrono::milliseconds> retry;  // when told since the event before
};

class SseParser {
 public:
  enum class Next { need_more, event, failed };

  explicit SseParser(const SseLimits& limits = {}) : limits_(limits) {}

  // Takes bytes from the wire. buffered() tells how many wait unparsed.
  void append(std::string_view bytes);
  size_t buffered() const { return buffer_.size() - at_; }
  // All that is held, of an event that comes too.
  size_t kept() const {
    return buffer_.size() + data_.size() + type_.size() + id_.size() + coming_id_.size();
  }

  // Goes on to the end of the next event that has data. `event`: take_event() gives it. `failed`: fault()
  // says which limit was broken; the parser stays failed. `need_more`: append more first. What the end of the
  // stream leaves unfinished is never given out.
  Next next();
  SseEvent take_event() { return std::move(ready_); }
  const std::string& fault() const { return fault_; }
  // Comments, and ends of events that had no data, so far.
  uint64_t empty_lines() const { return empty_lines_; }

  // What a reconnect needs. An id counts when its event has ended, with data or without: a server that goes
  // on behind an event that was cut would never send that one again. An id longer than kMaxEventId bytes is
  // passed over.
  static constexpr size_t kMaxEventId = 1024;
  const std::string& last_event_id() const { return id_; }
  std::optional<std::chrono::milliseconds> retry() const { return retry_; }

  // The stream has ended and another one goes on where it stopped: only last_event_id() and retry() stay.
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
  size_t at_ = 0;       // what stands before was used
  size_t scanned_ = 0;  // no line end between at_ and here
  bool at_start_ = true;
  bool skip_lf_ = false;  // the line before ended in CR
  uint64_t empty_lines_ = 0;
  std::string data_;
  bool has_data_ = false;
  json::ArrivingOutline arriving_;  // of the first data line of an event, while it comes
  json::OutlinePtr outline_;        // of data_
  std::string type_;
  std::string id_;
  std::string coming_id_;  // once the event has ended
  std::optional<std::chrono::milliseconds> retry_;
  bool retry_told_ = true;  // in an event
  SseEvent ready_;
  std::string fault_;
};

}  // namespace lineward::http
