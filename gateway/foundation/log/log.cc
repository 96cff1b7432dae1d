#include "foundation/log/log.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#include "foundation/base/line_output.h"
#include "foundation/log/peer_rates.h"
#include "foundation/log/redaction.h"
#include "foundation/log/sanitize.h"
#include "foundation/log/tap.h"

namespace lineward::log {
namespace {

constexpr size_t kMaxLine = 4096;

std::atomic<uint64_t> left_out_lines{0};
std::atomic<uint64_t> lost_lines{0};

// Writes to stderr without blocking. If the pipe's reader is slow, lines are dropped and counted; the loop
// never waits. (The descriptor is shared with other processes, so it cannot be made non-blocking.) Buffered
// lines are written in one system call.
class StderrSink {
 public:
  std::function<void(bool urgent)> wanted;

  // The buffer; after adding a line to it, added() must be called.
  std::string& lines() { return lines_; }
  void added(bool urgent) {
    ++count_;
    if (!wanted || lines_.size() > kMaxGathered) return flush();
    if (count_ == 1 || (urgent && !urgent_)) wanted(urgent);
    urgent_ = urgent_ || urgent;
  }
  // Called in a signal handler.
  void last_words() const {
    if (!lines_.empty() && ::write(STDERR_FILENO, lines_.data(), lines_.size()) < 0) return;
  }

  void flush() {
    if (lines_.empty()) return;
    // Writes in pieces of PIPE_BUF: lines of two threads must not mix. If one thread leaves a partial line,
    // the next one ends it.
    static std::mutex one_at_a_time;
    static LineOutput output;
    std::lock_guard<std::mutex> lock(one_at_a_time);
    // At the front: the end of the text may not fit.
    const bool tells = dropped_ > 0;
    if (tells) {
      lines_.insert(0, fmt::format("(lineward dropped {} log lines: {})\n", dropped_,
                                   error_ == 0 ? "the reader was too slow" : std::strerror(error_)));
    }
    // A writable pipe takes a page without blocking, so each write is at most a page.
    const uint64_t lost = output.put(lines_, PIPE_BUF, [this](std::string_view piece) -> ssize_t {
      pollfd out{STDERR_FILENO, POLLOUT, 0};
      error_ = 0;
      if (poll(&out, 1, 0) != 1 || (out.revents & POLLOUT) == 0) return -1;
      const ssize_t taken = ::write(STDERR_FILENO, piece.data(), piece.size());
      if (taken < 0) error_ = errno;
      return taken;
    });
    lost_lines.fetch_add(std::min(lost, count_), std::memory_order_relaxed);
    const bool told = lost < count_ + (tells ? 1 : 0);
    dropped_ = told ? lost : dropped_ + count_;
    lines_.clear();
    count_ = 0;
    urgent_ = false;
  }

 private:
  static constexpr size_t kMaxGathered = 64 * 1024;
  std::string lines_;
  uint64_t count_ = 0;
  bool urgent_ = false;  // it contains a warning
  uint64_t dropped_ = 0;
  int error_ = 0;  // of the last write; 0: the pipe is full
};

struct Settings {
  Format format = Format::logfmt;
  std::atomic<Level> level = Level::info;
  bool colour = false;
  bool ready = false;
};

// The taps. The flags are atomic, the rest is under the mutex.
struct Tapped {
  std::atomic<bool> there{false};
  std::atomic<bool> everything{false};  // some tap wants everything
  std::mutex one_at_a_time;
  std::vector<std::pair<std::shared_ptr<Tap>, Wants>> taps;

  void changed() {
    there = !taps.empty();
    everything = std::any_of(taps.begin(), taps.end(),
                             [](const auto& one) { return one.second == Wants::everything; });
  }
};

Tapped& tapped() {
  static Tapped the;
  return the;
}

bool is_tapped(Level level) {
  return level >= Level::info && tapped().there.load(std::memory_order_relaxed);
}

bool is_tapped_often(Level level) {
  return is_tapped(level) && (level >= Level::warn || tapped().everything.load(std::memory_order_relaxed));
}

enum class Often : bool { no, yes };

void tell_taps(std::unique_lock<std::mutex> lock, Level level, std::string_view event,
               std::initializer_list<Field> fields, Often often) {
  if (!lock.owns_lock()) return;
  for (const auto& [tap, wants] : tapped().taps) {
    const bool wanted = often == Often::no || level >= Level::warn || wants == Wants::everything;
    if (wanted) tap->told(level, event, fields, iso_now());
  }
}

void write_line(Level level, std::string_view event, std::initializer_list<Field> fields);
bool is_within_rate(Level level, std::string_view event, std::initializer_list<Field> fields);

// This thread's buffer; null until it has one. A plain pointer, for the signal handler.
thread_local StderrSink* sink = nullptr;

StderrSink& own_sink() {
  thread_local StderrSink mine;
  sink = &mine;
  return mine;
}

// The only process-wide object: written by configure() before any thread starts, then read-only except for
// the level.
Settings& settings() {
  static Settings the;
  return the;
}

constexpr std::string_view kNames[] = {"debug", "info", "warn", "error"};
constexpr std::string_view kUpper[] = {"DEBUG", "INFO ", "WARN ", "ERROR"};
constexpr std::string_view kColours[] = {"\x1b[2m", "", "\x1b[33m", "\x1b[31m"};

}  // namespace

// The date part is formatted once a second.
std::string_view iso_now() {
  using namespace std::chrono;
  thread_local std::time_t made_for = -1;
  thread_local char date[32];
  constexpr size_t kDate = 19;  // bytes of the date part; then ".mmmZ"
  auto now = system_clock::now();
  auto ms = duration_cast<milliseconds>(now.time_since_epoch()).count() % 1000;
  std::time_t seconds = system_clock::to_time_t(now);
  if (seconds != made_for) {
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
    made_for = seconds;
  }
  date[kDate] = '.';
  date[kDate + 1] = static_cast<char>('0' + ms / 100);
  date[kDate + 2] = static_cast<char>('0' + ms / 10 % 10);
  date[kDate + 3] = static_cast<char>('0' + ms % 10);
  date[kDate + 4] = 'Z';
  return {date, kDate + 5};
}

namespace {

// The buffered lines explain the crash.
void on_crash(int signal) {
  if (sink != nullptr) sink->last_words();
  raise(signal);  // its handler is the default one again
}

void watch_crashes() {
  struct sigaction action {};
  action.sa_handler = on_crash;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  sigemptyset(&action.sa_mask);
  for (int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE}) {
    struct sigaction before {};
    // Handlers of others (a sanitizer) stay.
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_DFL) {
      sigaction(signal, &action, nullptr);
    }
  }
}

// A line appended to a text with reserved capacity: some sixty pieces, most of a few bytes.
class Line {
 public:
  Line(std::string& text, size_t room) : text_(text), start_(text.size()) {
    text.resize(start_ + room);
    at_ = text.data() + start_;
  }
  size_t size() const { return static_cast<size_t>(at_ - text_.data()) - start_; }
  void put(std::string_view piece) {
    std::memcpy(at_, piece.data(), piece.size());
    at_ += piece.size();
  }
  // For a piece that may exceed the reserved capacity.
  void put_made(const std::string& piece) {
    const size_t before = static_cast<size_t>(at_ - text_.data());
    text_.resize(text_.size() + piece.size());
    at_ = text_.data() + before;
    put(piece);
  }
  void put(int64_t number) { at_ = std::to_chars(at_, at_ + kMaxNumber, number).ptr; }
  void cut(size_t size) { at_ = text_.data() + start_ + size; }
  void end() { text_.resize(static_cast<size_t>(at_ - text_.data())); }

  static constexpr size_t kMaxNumber = 24;

 private:
  std::string& text_;
  const size_t start_;
  char* at_;
};

bool is_left_out(const Field& field) {
  return !field.number && field.text.empty();
}

size_t room_for(std::initializer_list<Field> fields) {
  size_t room = 160;  // time, level, colours, truncation mark
  for (const Field& field : fields)
    room += field.key.size() + field.text.size() + Line::kMaxNumber + 4;
  return room;
}

void put_value(Line& line, const Field& field, bool quote) {
  if (field.number) return line.put(field.value);
  // Most values take this path, without a copy.
  if (!quote && is_plain_word(field.text) && !redaction::touches(field.text)) return line.put(field.text);
  line.put_made(logged(field.text, quote));
}

void append_line(std::string& to, Format format, Level level, std::string_view event,
                 std::initializer_list<Field> fields, std::string_view iso_time, bool colour) {
  const auto index = static_cast<size_t>(level);
  const bool coloured = colour && !kColours[index].empty();
  Line line(to, room_for(fields) + event.size() + iso_time.size());
  if (coloured) line.put(kColours[index]);
  const auto pairs = [&](std::string_view gap) {
    for (const Field& field : fields) {
      if (is_left_out(field)) continue;
      line.put(gap);
      line.put(field.key);
      line.put("=");
      put_value(line, field, false);
    }
  };
  switch (format) {
    case Format::text:
      line.put(iso_time.substr(11, 8));
      line.put(" ");
      line.put(kUpper[index]);
      line.put(" ");
      line.put(event);
      pairs("  ");
      break;
    case Format::logfmt:
      line.put("time=");
      line.put(iso_time);
      line.put(" level=");
      line.put(kNames[index]);
      line.put(" event=");
      line.put(event);
      pairs(" ");
      break;
    case Format::json:
      line.put(R"({"time":")");
      line.put(iso_time);
      line.put(R"(","level":")");
      line.put(kNames[index]);
      line.put(R"(","event":")");
      line.put(event);
      line.put("\"");
      for (const Field& field : fields) {
        if (is_left_out(field)) continue;
        line.put(",\"");
        line.put(field.key);
        line.put("\":");
        put_value(line, field, true);
      }
      line.put("}");
      break;
  }
  const size_t longest = kMaxLine + (coloured ? kColours[index].size() : 0);
  if (line.size() > longest && format != Format::json) {
    line.cut(longest);
    line.put("…");
  }
  if (coloured) line.put("\x1b[0m");
  line.end();
}

}  // namespace

void configure(Format format, Level level, bool colour) {
  auto& s = settings();
  s.format = format;
  s.level = level;
  s.colour = colour;
  s.ready = true;
}

void gather(std::function<void(bool urgent)> wanted) {
  if (!settings().ready) return;
  if (wanted) watch_crashes();
  own_sink().wanted = std::move(wanted);
}

void flush() {
  if (sink != nullptr) sink->flush();
}

namespace {

bool is_written(Level level) {
  return level >= settings().level.load(std::memory_order_relaxed);
}

}  // namespace

bool enabled(Level level) {
  return is_written(level) || is_tapped(level);
}

bool enabled_often(Level level) {
  return is_written(level) || is_tapped_often(level);
}

void add_tap(std::shared_ptr<Tap> tap, Wants wants) {
  std::lock_guard<std::mutex> lock(tapped().one_at_a_time);
  tapped().taps.emplace_back(std::move(tap), wants);
  tapped().changed();
}

void tap_wants(const Tap& tap, Wants wants) {
  std::lock_guard<std::mutex> lock(tapped().one_at_a_time);
  for (auto& [one, its] : tapped().taps) {
    if (one.get() == &tap) its = wants;
  }
  tapped().changed();
}

void end_tap(const Tap& tap) {
  std::vector<std::pair<std::shared_ptr<Tap>, Wants>> ended;  // freed outside of the lock
  std::lock_guard<std::mutex> lock(tapped().one_at_a_time);
  auto& taps = tapped().taps;
  auto first = std::stable_partition(taps.begin(), taps.end(),
                                     [&](const auto& one) { return one.first.get() != &tap; });
  std::move(first, taps.end(), std::back_inserter(ended));
  taps.erase(first, taps.end());
  tapped().changed();
}

void set_level(Level level) {
  settings().level = level;
}

std::string render(Format format, Level level, std::string_view event, std::initializer_list<Field> fields,
                   std::string_view iso_time, bool colour) {
  std::string line;
  append_line(line, format, level, event, fields, iso_time, colour);
  return line;
}

void write_aside(Level level, std::string_view event, std::initializer_list<Field> fields) {
  const auto& s = settings();
  if (!s.ready || !enabled(level) || !is_within_rate(level, event, fields)) return;
  // The event may report a stalled loop, which may be inside a tap: do not wait for the lock.
  if (is_tapped(level))
    tell_taps({tapped().one_at_a_time, std::try_to_lock}, level, event, fields, Often::no);
  if (!is_written(level)) return;
  std::string line = render(s.format, level, event, fields, iso_now(), s.colour) + '\n';
  pollfd out{STDERR_FILENO, POLLOUT, 0};
  if (poll(&out, 1, 0) != 1 || (out.revents & POLLOUT) == 0) return;
  if (::write(STDERR_FILENO, line.data(), line.size()) < 0) return;
}

void tell(const std::string& text) {
  // A full disk or a closed stderr must not change the behaviour.
  if (std::fputs(terminal_text(text).c_str(), stderr) < 0) std::clearerr(stderr);
}

namespace {

constexpr Rate kOften{1000, 100};   // lines that a program writes itself
constexpr Rate kSessions{100, 20};  // a client opens one for each run
constexpr Rate kDebug{500, 50};
constexpr Rate kOthers{20, 1};
constexpr double kAllPeers = 50;  // times the rate of one peer

Rate rate_of(Level level, std::string_view event) {
  if (event == "upstream.stderr" || event == "plugin.stderr" || event == "plugin.log") return kOften;
  if (event == "session.open" || event == "session.close") return kSessions;
  return level == Level::debug ? kDebug : kOthers;
}

void tell_left_out_lines(Level level, std::string_view event, std::span<const std::string> peer,
                         uint64_t lines);

// In the order of the fields of tell_left_out_lines(). `kind` is not a key: it may come from the client if
// there is a `reason` too.
PeerRates& peer_rates() {
  thread_local PeerRates mine({"upstream", "remote", "peer", "plugin", "reason", "state"},
                              tell_left_out_lines);
  return mine;
}

bool is_within_rate(Level level, std::string_view event, std::initializer_list<Field> fields) {
  using std::chrono::milliseconds;
  const Rate rate = rate_of(level, event);
  const auto now =
      std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now().time_since_epoch());
  if (peer_rates().allows(level, event, {fields.begin(), fields.size()}, rate,
                          {rate.burst * kAllPeers, rate.per_second * kAllPeers}, now))
    return true;
  left_out_lines.fetch_add(1, std::memory_order_relaxed);
  return false;
}

void write_unlimited(Level level, std::string_view event, std::initializer_list<Field> fields, Often often) {
  if (is_written(level)) write_line(level, event, fields);
  if (often == Often::yes ? is_tapped_often(level) : is_tapped(level))
    tell_taps(std::unique_lock(tapped().one_at_a_time), level, event, fields, often);
}

void tell_left_out_lines(Level level, std::string_view event, std::span<const std::string> peer,
                         uint64_t lines) {
  write_unlimited(level, "log.limited",
                  {{"of", event},
                   {"upstream", peer[0]},
                   {"remote", peer[1]},
                   {"peer", peer[2]},
                   {"plugin", peer[3]},
                   {"reason", peer[4]},
                   {"state", peer[5]},
                   {"lines", lines}},
                  Often::no);
}

}  // namespace

Counts counts() {
  return {left_out_lines.load(std::memory_order_relaxed), lost_lines.load(std::memory_order_relaxed)};
}

void write(Level level, std::string_view event, std::initializer_list<Field> fields) {
  if (!settings().ready || !enabled(level) || !is_within_rate(level, event, fields)) return;
  write_unlimited(level, event, fields, Often::no);
}

void write_often(Level level, std::string_view event, std::initializer_list<Field> fields, Rated rated) {
  if (!settings().ready || !enabled_often(level)) return;
  if (rated == Rated::yes && !is_within_rate(level, event, fields)) return;
  write_unlimited(level, event, fields, Often::yes);
}

namespace {

void write_line(Level level, std::string_view event, std::initializer_list<Field> fields) {
  auto& s = settings();
  StderrSink& out = sink != nullptr ? *sink : own_sink();
  std::string& lines = out.lines();
  append_line(lines, s.format, level, event, fields, iso_now(), s.colour);
  lines += '\n';
  out.added(level >= Level::warn);
}

}  // namespace

}  // namespace lineward::log
