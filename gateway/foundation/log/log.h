// Events as lines on stderr (on the stdio front stdout belongs to MCP). The same keys in all three formats:
// text for terminals, logfmt, JSON. External bytes are escaped: one event is one line, with any content.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

namespace lineward::log {

enum class Level : uint8_t { debug, info, warn, error, off };
enum class Format : uint8_t { text, logfmt, json };

// Refers to its text: only for the argument list of one write().
struct Field {
  std::string_view key;
  std::string_view text;
  int64_t value = 0;
  bool number = false;
  Field(std::string_view k, std::string_view v) : key(k), text(v) {}
  Field(std::string_view k, const std::string& v) : key(k), text(v) {}
  Field(std::string_view k, const char* v) : key(k), text(v) {}
  Field(std::string_view k, int64_t v) : key(k), value(v), number(true) {}
  Field(std::string_view k, uint64_t v) : key(k), value(static_cast<int64_t>(v)), number(true) {}
  Field(std::string_view k, int v) : key(k), value(v), number(true) {}
};

// Call once, before the first event. Lines longer than 4 KiB are truncated.
void configure(Format format, Level level, bool colour);
bool enabled(Level level);
void set_level(Level level);
// Buffers this thread's lines until flush(). `wanted` is called for the first line and must arrange a flush()
// soon. It is called again with `urgent` for the first warning or error, which must be flushed by the end of
// the loop turn. Without gather() every line is written at once. A signal handler writes the buffer if the
// process crashes.
void gather(std::function<void(bool urgent)> wanted);
void flush();
// `event` is a stable name such as "call.end"; empty values are omitted. Each event has a rate limit for each
// peer named in its fields (peer_rates.h). Events beyond it are counted and reported as `log.limited`.
void write(Level level, std::string_view event, std::initializer_list<Field> fields);

// An id from outside as a value of a field: its first bytes. Valid as long as `id`.
inline std::string_view short_id(std::string_view id) {
  return id.substr(0, 64);
}

// For /metrics: lines not written because of a peer's rate, and because stderr accepted none.
struct Counts {
  uint64_t left_out = 0;
  uint64_t lost = 0;
};
Counts counts();

// From any thread: written at once, bypassing the buffer.
void write_aside(Level level, std::string_view event, std::initializer_list<Field> fields);
// Plain text on stderr for the operator; text that cannot be written is lost (fmt::print throws).
void tell(const std::string& text);

// "2026-11-20T12:03:07.412Z", valid until the next call on this thread.
std::string_view iso_now();

// Exposed for tests: the line without its newline, at a fixed time.
std::string render(Format format, Level level, std::string_view event, std::initializer_list<Field> fields,
                   std::string_view iso_time, bool colour);

}  // namespace lineward::log
