#include "base/log.h"

#include <fmt/format.h>
#include <poll.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <utility>

#include "base/json_scan.h"

namespace lineward::log {
namespace {

constexpr size_t kLongestLine = 4096;

// stderr, without ever waiting for it: when nobody reads the pipe behind it, lines are dropped and counted
// rather than the loop stopped. (The descriptor is shared with others, so it cannot be made non-blocking.)
class StderrSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    pollfd out{STDERR_FILENO, POLLOUT, 0};
    if (poll(&out, 1, 0) != 1 || (out.revents & POLLOUT) == 0) {
      ++dropped_;
      return;
    }
    if (dropped_ > 0) {
      std::string note =
          fmt::format("(lineward dropped {} log lines that nobody read)\n", std::exchange(dropped_, 0));
      put(note.data(), note.size());
    }
    put(line.data(), line.size());
  }
  void flush_() override {}

 private:
  static void put(const char* bytes, size_t size) {
    [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, bytes, size);
  }
  uint64_t dropped_ = 0;
};

struct Settings {
  Format format = Format::logfmt;
  Level level = Level::info;
  bool colour = false;
  std::shared_ptr<spdlog::logger> sink;
};

// The one process-wide object: written by configure() before any thread starts, read-only after.
Settings& settings() {
  static Settings the;
  return the;
}

constexpr std::string_view kNames[] = {"debug", "info", "warn", "error"};
constexpr std::string_view kUpper[] = {"DEBUG", "INFO ", "WARN ", "ERROR"};
constexpr std::string_view kColours[] = {"\x1b[2m", "", "\x1b[33m", "\x1b[31m"};

bool plain(std::string_view value) {
  if (value.empty()) return false;
  for (unsigned char c : value) {
    if (c <= 0x20 || c >= 0x7f || c == '"' || c == '=' || c == '\\') return false;
  }
  return true;
}

// U+2028 and U+2029 end lines in some viewers; DEL and C1 controls steer terminals.
std::string quoted(std::string_view value) {
  std::string json = json::quote(value);
  std::string out;
  out.reserve(json.size());
  for (size_t i = 0; i < json.size(); ++i) {
    auto at = [&](size_t k) { return i + k < json.size() ? static_cast<unsigned char>(json[i + k]) : 0u; };
    if (at(0) == 0x7f) {
      out += "\\u007f";
    } else if (at(0) == 0xc2 && at(1) >= 0x80 && at(1) <= 0x9f) {
      out += fmt::format("\\u{:04x}", at(1));
      ++i;
    } else if (at(0) == 0xe2 && at(1) == 0x80 && (at(2) == 0xa8 || at(2) == 0xa9)) {
      out += at(2) == 0xa8 ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      out += json[i];
    }
  }
  return out;
}

std::string iso_now() {
  using namespace std::chrono;
  auto now = system_clock::now();
  auto ms = duration_cast<milliseconds>(now.time_since_epoch()).count() % 1000;
  std::time_t seconds = system_clock::to_time_t(now);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char buffer[32];
  std::strftime(buffer, sizeof buffer, "%Y-%m-%dT%H:%M:%S", &utc);
  return fmt::format("{}.{:03}Z", buffer, ms);
}

}  // namespace

void configure(Format format, Level level, bool colour) {
  auto& s = settings();
  s.format = format;
  s.level = level;
  s.colour = colour;
  if (!s.sink) {
    s.sink = std::make_shared<spdlog::logger>("lineward", std::make_shared<StderrSink>());
    s.sink->set_pattern("%v");
    s.sink->set_level(spdlog::level::trace);
    s.sink->flush_on(spdlog::level::trace);
  }
}

bool enabled(Level level) {
  return level >= settings().level;
}

std::string render(Format format, Level level, std::string_view event, const std::vector<Field>& fields,
                   std::string_view iso_time, bool colour) {
  auto index = static_cast<size_t>(level);
  std::string line;
  switch (format) {
    case Format::text:
      line = fmt::format("{} {} {}", iso_time.substr(11, 8), kUpper[index], event);
      for (const auto& f : fields) {
        if (!f.value.empty())
          line += fmt::format("  {}={}", f.key, plain(f.value) ? f.value : quoted(f.value));
      }
      break;
    case Format::logfmt:
      line = fmt::format("time={} level={} event={}", iso_time, kNames[index], event);
      for (const auto& f : fields) {
        if (!f.value.empty())
          line += fmt::format(" {}={}", f.key, plain(f.value) ? f.value : quoted(f.value));
      }
      break;
    case Format::json:
      line = fmt::format(R"({{"time":"{}","level":"{}","event":"{}")", iso_time, kNames[index], event);
      for (const auto& f : fields) {
        if (!f.value.empty()) line += fmt::format(R"(,"{}":{})", f.key, f.number ? f.value : quoted(f.value));
      }
      line += "}";
      break;
  }
  if (line.size() > kLongestLine && format != Format::json) {
    line.resize(kLongestLine);
    line += "…";
  }
  if (colour && !kColours[index].empty()) line = fmt::format("{}{}\x1b[0m", kColours[index], line);
  return line;
}

void write(Level level, std::string_view event, const std::vector<Field>& fields) {
  auto& s = settings();
  if (level < s.level || !s.sink) return;
  s.sink->info(spdlog::string_view_t(render(s.format, level, event, fields, iso_now(), s.colour)));
}

}  // namespace lineward::log
