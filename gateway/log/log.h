// Events as lines on stderr (stdout belongs to MCP on the stdio front). The same keys in all three formats:
// text for people on a terminal, logfmt, JSON. Bytes from outside are escaped: one event is one line,
// whatever it holds.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace lineward::log {

enum class Level : uint8_t { debug, info, warn, error, off };
enum class Format : uint8_t { text, logfmt, json };

// Looks at its text, and so is for the argument list of one write() only.
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

// Once, before the first event. Lines longer than 4 KiB are cut.
void configure(Format format, Level level, bool colour);
bool enabled(Level level);
void set_level(Level level);
// This thread's lines gather until flush(). `wanted` is called when the first one is there and must see to it
// that flush() is called soon, and again with `urgent` when the first warning or error is there, which must
// not wait longer than to the end of the loop turn. Without it every line is written at once. What has
// gathered when the process crashes is written by a signal handler.
void gather(std::function<void(bool urgent)> wanted);
void flush();
// `event` is a stable name such as "call.end"; empty values are left out. Each event has a rate for each peer
// that its fields name (peer_rates.h): what is beyond it is counted, and told as `log.limited`.
void write(Level level, std::string_view event, std::initializer_list<Field> fields);

// For /metrics: lines that were not written, beyond their peer's rate, and because stderr took none.
struct Counts {
  uint64_t left_out = 0;
  uint64_t lost = 0;
};
Counts counts();

// From any thread: at once, past what has gathered.
void write_aside(Level level, std::string_view event, std::initializer_list<Field> fields);
// Plain text on stderr for the person who started it; what cannot be written is lost (fmt::print throws).
void tell(const std::string& text);

// "2026-11-20T12:03:07.412Z", valid until the next call on this thread.
std::string_view iso_now();

// Exposed for tests: the line without its newline, at a fixed time.
std::string render(Format format, Level level, std::string_view event, std::initializer_list<Field> fields,
                   std::string_view iso_time, bool colour);

}  // namespace lineward::log
