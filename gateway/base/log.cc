#include "base/log.h"

#include <fmt/format.h>
#include <poll.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <ctime>
#include <utility>

#include "base/json_scan.h"

namespace lineward::log {
namespace {

constexpr size_t kLongestLine = 4096;

// stderr, without ever waiting for it: when nobody reads the pipe behind it, lines are dropped and counted
// rather than the loop stopped. (The descriptor is shared with others, so it cannot be made non-blocking.)
// Lines of one loop turn go out in one system call.
class StderrSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  std::function<void()> wanted;

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    bool first = lines_.empty();
    lines_.append(message.payload.data(), message.payload.size());
    lines_ += '\n';
    ++count_;
    if (!wanted || lines_.size() > kMostGathered) return flush_();
    if (first) wanted();
  }
  void flush_() override {
    if (lines_.empty()) return;
    pollfd out{STDERR_FILENO, POLLOUT, 0};
    if (poll(&out, 1, 0) != 1 || (out.revents & POLLOUT) == 0) {
      dropped_ += count_;
    } else {
      if (dropped_ > 0) {
        lines_ +=
            fmt::format("(lineward dropped {} log lines that nobody read)\n", std::exchange(dropped_, 0));
      }
      // A pipe with room takes a page without blocking; more goes in pages.
      for (size_t at = 0; at < lines_.size();) {
        size_t piece = std::min<size_t>(lines_.size() - at, PIPE_BUF);
        if (at > 0 && (poll(&out, 1, 0) != 1 || (out.revents & POLLOUT) == 0)) {
          ++dropped_;
          break;
        }
        ssize_t written = ::write(STDERR_FILENO, lines_.data() + at, piece);
        if (written <= 0) break;
        at += static_cast<size_t>(written);
      }
    }
    lines_.clear();
    count_ = 0;
  }

 private:
  static constexpr size_t kMostGathered = 256 * 1024;
  std::string lines_;
  uint64_t count_ = 0;
  uint64_t dropped_ = 0;
};

struct Settings {
  Format format = Format::logfmt;
  Level level = Level::info;
  bool colour = false;
  std::shared_ptr<spdlog::logger> sink;
  std::shared_ptr<StderrSink> out;
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

// The date part is made once a second.
std::string iso_now() {
  using namespace std::chrono;
  thread_local std::time_t made_for = -1;
  thread_local char date[32];
  auto now = system_clock::now();
  auto ms = duration_cast<milliseconds>(now.time_since_epoch()).count() % 1000;
  std::time_t seconds = system_clock::to_time_t(now);
  if (seconds != made_for) {
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
    made_for = seconds;
  }
  std::string out = date;
  out += '.';
  out += static_cast<char>('0' + ms / 100);
  out += static_cast<char>('0' + ms / 10 % 10);
  out += static_cast<char>('0' + ms % 10);
  out += 'Z';
  return out;
}

}  // namespace

void configure(Format format, Level level, bool colour) {
  auto& s = settings();
  s.format = format;
  s.level = level;
  s.colour = colour;
  if (!s.sink) {
    s.out = std::make_shared<StderrSink>();
    s.sink = std::make_shared<spdlog::logger>("lineward", s.out);
    s.sink->set_pattern("%v");
    s.sink->set_level(spdlog::level::trace);
  }
}

void gather(std::function<void()> wanted) {
  if (settings().out) settings().out->wanted = std::move(wanted);
}

void flush() {
  if (settings().out) settings().out->flush();
}

bool enabled(Level level) {
  return level >= settings().level;
}

std::string render(Format format, Level level, std::string_view event, std::initializer_list<Field> fields,
                   std::string_view iso_time, bool colour) {
  auto index = static_cast<size_t>(level);
  std::string line;
  line.reserve(512);
  auto pairs = [&](std::string_view gap) {
    for (const auto& f : fields) {
      if (f.value.empty()) continue;
      line += gap;
      line += f.key;
      line += '=';
      if (f.number || plain(f.value)) {
        line += f.value;
      } else {
        line += quoted(f.value);
      }
    }
  };
  switch (format) {
    case Format::text:
      line += iso_time.substr(11, 8);
      line += ' ';
      line += kUpper[index];
      line += ' ';
      line += event;
      pairs("  ");
      break;
    case Format::logfmt:
      line += "time=";
      line += iso_time;
      line += " level=";
      line += kNames[index];
      line += " event=";
      line += event;
      pairs(" ");
      break;
    case Format::json:
      line += fmt::format(R"({{"time":"{}","level":"{}","event":"{}")", iso_time, kNames[index], event);
      for (const auto& f : fields) {
        if (f.value.empty()) continue;
        line += ",\"";
        line += f.key;
        line += "\":";
        line += f.number ? f.value : quoted(f.value);
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

void write(Level level, std::string_view event, std::initializer_list<Field> fields) {
  auto& s = settings();
  if (level < s.level || !s.sink) return;
  s.sink->info(spdlog::string_view_t(render(s.format, level, event, fields, iso_now(), s.colour)));
}

}  // namespace lineward::log
