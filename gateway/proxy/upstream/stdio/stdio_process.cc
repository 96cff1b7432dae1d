#include "proxy/upstream/stdio/stdio_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "config/server_environment.h"
#include "foundation/log/excerpt.h"
#include "foundation/log/log.h"
#include "proxy/upstream/shared/process_end.h"

extern char** environ;

namespace lineward::upstream {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr size_t kMaxStderrLine = 4096;  // as logged
// More is read: a secret that begins at the end of the logged part is recognised by what follows.
constexpr size_t kMaxReadLine = kMaxStderrLine + log::Excerpt::kFurther;
constexpr uint64_t kStderrBytesPerSecond = 1 << 20;
// Cost of a log line besides its text: time, name and number.
constexpr uint64_t kStderrLine = 64;
// Lines read from one process in one turn of the loop; the rest follows in the next one.
constexpr size_t kLinesPerTurn = 256;
// After the process has exited its pipe may still hold answers; a grandchild may hold it open for ever.
constexpr milliseconds kLastWords{100};
// The same if only its stderr has not ended.
constexpr milliseconds kLastStderr{20};
// After its stdout has ended the exit status usually follows at once. It says more, but comes from another
// process, which must be scheduled first.
constexpr milliseconds kExitFollows{200};
// Limit for reading a dead process's pipes: another holder of its output may write for ever.
constexpr milliseconds kLastLines{2000};

}  // namespace

Status<> StdioProcess::Pipe::open(int fd) {
  auto opened = net::ByteStream::from_pipe(process.loop_, fd);
  if (!opened) return fail(opened.error().text);
  stream = std::move(*opened);
  stream->set_owner(this);
  return Done{};
}

void StdioProcess::Pipe::close() {
  if (!stream) return;
  stream->close();
  // A callback of this stream may be on the stack.
  process.loop_.retire(std::move(stream));
}

void StdioProcess::Pipe::on_data(std::string_view bytes) {
  if (this == &process.out_) return process.stdout_data(bytes);
  if (this == &process.err_) return process.stderr_data(bytes);
}

void StdioProcess::Pipe::on_end(int) {
  if (this == &process.out_) return process.stdout_end();
  this == &process.err_ ? process.stderr_end() : process.stdin_end();
}

void StdioProcess::Pipe::on_drained() {
  if (stream && this == &process.in_) process.owner_.on_process_writable();
}

StdioProcess::StdioProcess(net::Loop& loop, process::Spawner& spawner, const config::Server& server,
                           ProcessCallbacks& owner)
    : loop_(loop),
      spawner_(spawner),
      server_(server),
      owner_(owner),
      stats_(metrics::upstream_stats(server.name)),
      lines_(server.limits.max_message_bytes),
      stderr_lines_(kMaxReadLine) {}

StdioProcess::~StdioProcess() {
  lifetime_.end();
  in_.close();
  out_.close();
  err_.close();
}

std::vector<process::ResourceLimit> StdioProcess::resource_limits() const {
  const config::Rlimit& wanted = server_.rlimit;
  std::vector<process::ResourceLimit> limits;
  auto add = [&](process::Resource resource, uint64_t value) {
    if (value > 0) limits.push_back({resource, value});
  };
  add(process::Resource::memory, wanted.memory);
  add(process::Resource::open_files, wanted.open_files);
  add(process::Resource::cpu, static_cast<uint64_t>(wanted.cpu.count()) / 1000);
  add(process::Resource::processes, wanted.processes);
  if (!wanted.core) limits.push_back({process::Resource::core, 0});
  return limits;
}

void StdioProcess::start(const config::Identity::Map& about_caller) {
  process::SpawnRequest request;
  request.argv.push_back(server_.command);
  request.argv.insert(request.argv.end(), server_.args.begin(), server_.args.end());
  request.environment = config::server_environment(server_, environ, about_caller);
  request.cwd = server_.cwd;
  request.limits = resource_limits();
  process::ChildProcess::Events events;
  events.started = [this](pid_t pid) {
    log::write(log::Level::debug, "upstream.spawn",
               {{"upstream", server_.name}, {"pid", static_cast<int64_t>(pid)}});
    owner_.on_process_started();
  };
  events.failed = [this](const Error& failure) { failed(failure); };
  events.exited = [this](process::ExitStatus status) { exited(status); };
  auto child = spawner_.start(request, std::move(events));
  Status<> opened = Done{};
  if (child) {
    child_ = std::move(*child);
    opened = in_.open(child_->take_stdin());
    if (opened) opened = out_.open(child_->take_stdout());
    if (opened) opened = err_.open(child_->take_stderr());
  } else {
    opened = fail(child.error().text);
  }
  if (!opened) {
    loop_.defer(lifetime_, [this, text = opened.error().text] {
      child_.reset();
      exited_ = true;
      exit_cause_ = metrics::ExitCause::spawn;
      go_down({mcp::EndReason::upstream_unreachable, "could not be started: " + text, {}});
    });
    return;
  }
  out_.stream->start_reading();
  err_.stream->start_reading();
}

void StdioProcess::write_line(std::string message) {
  if (!in_.stream || down_) return;
  message += '\n';
  metrics::stats().bytes(metrics::Side::upstream, 0, message.size());
  written_ += message.size();
  in_.stream->write(std::move(message));
}

// The server has closed its stdin: it usually exits next. A process that stays is useless.
void StdioProcess::stdin_end() {
  in_.close();
  if (down_ || exited_ || out_ended_) return;
  timer_.start(kExitFollows, [this] { stop({mcp::EndReason::upstream_exited, "closed its input", {}}); });
}

void StdioProcess::stdout_data(std::string_view bytes) {
  if (down_) return;
  const auto watch = lifetime_.watch();
  std::string_view rest = bytes;
  bool fits = lines_.feed_some(rest, kLinesPerTurn, [&](json::Text&& line) {
    if (watch.gone() || down_) return;
    if (line.bytes.starts_with(kByteOrderMark)) {  // at the start of a line it has no meaning
      line.bytes.erase(0, kByteOrderMark.size());
      line.outline = nullptr;  // it refers to the unshifted text
    }
    owner_.on_process_line(std::move(line));
  });
  metrics::stats().bytes(metrics::Side::upstream, bytes.size() - rest.size(), 0);
  if (watch.gone() || down_) return;
  if (fits) {
    if (!rest.empty()) out_.stream->put_back(rest);
    return;
  }
  stats_.message_error(metrics::MessageError::oversize);
  kill(
      {mcp::EndReason::upstream_protocol,
       fmt::format("sent a message over limits.maxMessageBytes ({} bytes)", server_.limits.max_message_bytes),
       {}});
}

void StdioProcess::kill(const ProcessEnd& why) {
  const auto watch = lifetime_.watch();
  stop(why);
  if (!watch.gone() && child_) child_->signal(process::TreeSignal::kill);
}

void StdioProcess::count_useless(uint64_t lines) {
  if (lines == 0 || down_ || !flood_.is_over(lines, loop_.now())) return;
  kill({mcp::EndReason::upstream_protocol,
        fmt::format("flooded its output: lines that are no messages, or belong to nothing ({} at once, then "
                    "{} a second)",
                    LineFlood::kBurst, LineFlood::kPerSecond),
        {}});
}

void StdioProcess::stdout_end() {
  if (out_ended_) return;
  out_ended_ = true;
  out_.close();
  if (exited_) return last_stderr_read();
  if (down_) return;
  timer_.start(kExitFollows, [this] {
    ProcessEnd end{mcp::EndReason::upstream_exited, "closed its output", {}};
    stop(end);
  });
}

void StdioProcess::stderr_data(std::string_view bytes) {
  auto now = loop_.now();
  if (now - stderr_second_ >= milliseconds(1000)) {
    tell_dropped_stderr();
    stderr_second_ = now;
    stderr_budget_ = kStderrBytesPerSecond;
  }
  if (bytes.size() > stderr_budget_) {
    stderr_dropped_ += bytes.size();
    if (!down_ && stderr_flood_.is_over(bytes.size(), now)) {
      kill({mcp::EndReason::upstream_protocol,
            fmt::format("flooded its stderr (more than {} MiB a second)", StderrFlood::kPerSecond >> 20),
            {}});
    }
    return;
  }
  std::string_view rest = bytes;
  size_t lines = 0;
  const size_t skipped = stderr_lines_.feed_some(rest, kLinesPerTurn, [&](const std::string& line) {
    stderr_line(line);
    ++lines;
  });
  const size_t used = bytes.size() - rest.size() + lines * kStderrLine;
  stderr_budget_ -= std::min<uint64_t>(stderr_budget_, used);
  stderr_dropped_ += skipped;
  if (!rest.empty()) err_.stream->put_back(rest);
}

void StdioProcess::tell_dropped_stderr() {
  if (stderr_dropped_ == 0) return;
  log::write(log::Level::warn, "upstream.stderr",
             {{"upstream", server_.name}, {"dropped_bytes", std::exchange(stderr_dropped_, 0)}});
}

void StdioProcess::stderr_line(const std::string& line) {
  if (line.empty()) return;
  ++stats_.stderr_lines;
  stderr_dropped_ += line.size() - std::min(line.size(), kMaxStderrLine);
  log::write(log::Level::info, "upstream.stderr",
             {{"upstream", server_.name},
              {"pid", static_cast<int64_t>(pid())},
              {"line", log::Excerpt(line, kMaxStderrLine)}});
  stderr_tail_.add(line);
}

void StdioProcess::stderr_end() {
  err_ended_ = true;
  if (stderr_lines_.has_partial()) stderr_line(stderr_lines_.take_partial());
  tell_dropped_stderr();
  if (exited_ && out_ended_) last_stderr_read();
}

// It has exited, and its stdout has ended: wait briefly for its last stderr lines.
void StdioProcess::last_stderr_read() {
  if (down_) return check_gone();
  if (err_ended_) {
    timer_.stop();
    return go_down({mcp::EndReason::upstream_exited, exit_text_, {}});
  }
  timer_.start(kLastStderr, [this] { go_down({mcp::EndReason::upstream_exited, exit_text_, {}}); });
}

void StdioProcess::failed(const Error& failure) {
  exited_ = true;
  exit_cause_ = metrics::ExitCause::spawn;
  go_down(describe_failure(failure, server_));
}

void StdioProcess::exited(process::ExitStatus status) {
  exited_ = true;
  if (status.signal != 0) exit_cause_ = stopping_ ? metrics::ExitCause::killed : metrics::ExitCause::signal;
  exit_text_ = status.signal != 0
                   ? fmt::format("was ended by signal {} ({})", status.signal, strsignal(status.signal))
                   : fmt::format("exited with code {}", status.code);
  log::write(stopping_ ? log::Level::debug : log::Level::warn, "upstream.exit",
             {{"upstream", server_.name},
              {"pid", static_cast<int64_t>(pid())},
              {"how", exit_text_},
              {"stderr", stderr_tail_.text()}});
  timer_.stop();
  if (down_) return check_gone();
  if (out_ended_) return last_stderr_read();
  // Two timers, so that the loop has read the pipe even after a delay longer than kLastWords.
  timer_.start(kLastWords, [this] { read_last_lines(loop_.now() + kLastLines); });
}

void StdioProcess::read_last_lines(milliseconds until) {
  timer_.start(milliseconds(1), [this, until] {
    if (out_.stream && out_.stream->holds_back() && loop_.now() < until) return read_last_lines(until);
    go_down({mcp::EndReason::upstream_exited, exit_text_, {}});
  });
}

void StdioProcess::go_down(ProcessEnd end) {
  if (!down_) {
    down_ = true;
    end.last_stderr = stderr_tail_.text();
    const auto watch = lifetime_.watch();
    owner_.on_process_down(end);
    if (watch.gone()) return;
  }
  check_gone();
}

void StdioProcess::stop(const ProcessEnd& why) {
  if (!stopping_ && !exited_) {
    stopping_ = true;
    begin_stop();
  }
  go_down(why);
}

void StdioProcess::begin_stop() {
  if (!child_) return;
  if (in_.stream) {
    // Queued messages (a cancel, for instance) are still written before the end.
    net::ByteStream::close_after_writes(std::move(in_.stream), server_.stop.stdin_grace);
  }
  timer_.start(server_.stop.stdin_grace, [this] {
    child_->signal(process::TreeSignal::term);
    timer_.start(server_.stop.term_grace, [this] { child_->signal(process::TreeSignal::kill); });
  });
}

void StdioProcess::check_gone() {
  if (!exited_ || gone_) return;
  gone_ = true;
  timer_.stop();
  in_.close();
  out_.close();
  err_.close();
  owner_.on_process_gone();
}

}  // namespace lineward::upstream
