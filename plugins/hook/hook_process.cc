#include "plugins/hook/hook_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "foundation/base/backoff.h"
#include "foundation/json/json_member.h"
#include "foundation/log/log.h"

extern char** environ;

namespace lineward::plugins {
namespace {

using std::chrono::milliseconds;

constexpr size_t kMaxLine = 40 << 20;  // the largest message of a server, escaped, with a margin
constexpr size_t kMaxStderrLine = 4096;
constexpr uint64_t kStderrBytesPerSecond = 64 << 10;
// Limit of data waiting in the pipe; no more is sent beyond it.
constexpr size_t kMaxBacklog = 1 << 20;
constexpr Backoff::Range kPauses{milliseconds(200), milliseconds(30000)};
// Questions wait in the queue during pauses shorter than this.
constexpr milliseconds kSoon{1000};
// A process that was up for this long resets the pause.
constexpr milliseconds kWell{10000};
// After the exit the pipe may still hold answers; after the end of the pipe the exit status usually follows
// at once.
constexpr milliseconds kLastWords{100};
constexpr milliseconds kExitFollows{50};
constexpr int kMaxRubbish = 1000;

bool is_default_variable(std::string_view entry) {
  for (std::string_view name : {"PATH=", "HOME=", "LANG=", "TZ=", "TMPDIR="}) {
    if (entry.substr(0, name.size()) == name) return true;
  }
  return false;
}

}  // namespace

void HookProcess::Pipe::on_data(std::string_view bytes) {
  if (this == &process->out_) process->out_data(bytes);
  if (this == &process->err_) process->err_data(bytes);
}

void HookProcess::Pipe::on_end(int) {
  if (this == &process->err_) return;
  bool out = this == &process->out_;
  process->out_ended_ = process->out_ended_ || out;
  process->ending(out ? "closed its output" : "closed its input", false);
}

void HookProcess::Pipe::on_drained() {
  if (this == &process->in_) process->owner_.on_hook_ready();
}

HookProcess::HookProcess(net::Loop& loop, process::Spawner& spawner, HookCommand command,
                         HookDispatcher& owner)
    : loop_(loop),
      spawner_(spawner),
      command_(std::move(command)),
      owner_(owner),
      lines_(kMaxLine),
      stderr_lines_(kMaxStderrLine),
      timer_(loop),
      last_words_(loop) {
  in_.process = out_.process = err_.process = this;
  timer_.start(milliseconds(0), [this] { start(); });
}

HookProcess::~HookProcess() {
  lifetime_.end();
  close();
}

void HookProcess::close() {
  for (Pipe* pipe : {&in_, &out_, &err_}) {
    if (!pipe->stream) continue;
    pipe->stream->close();
    loop_.retire(std::move(pipe->stream));
  }
  // Kills its remaining descendants. Its own callback may be on the stack.
  loop_.retire(std::move(child_));
}

std::vector<std::string> HookProcess::environment() const {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string_view text = *entry;
    std::string_view name = text.substr(0, text.find('='));
    bool given = std::any_of(command_.env.begin(), command_.env.end(),
                             [&](const auto& one) { return one.first == name; });
    if (!given && is_default_variable(text)) out.emplace_back(text);
  }
  for (const auto& [key, value] : command_.env)
    out.push_back(key + "=" + value);
  return out;
}

bool HookProcess::open(Pipe& pipe, int fd) {
  auto stream = net::ByteStream::from_pipe(loop_, fd);
  if (!stream) return false;
  pipe.stream = std::move(*stream);
  pipe.stream->set_owner(&pipe);
  return true;
}

void HookProcess::start() {
  process::SpawnRequest request;
  request.argv = command_.argv;
  request.environment = environment();
  request.cwd = command_.cwd;
  process::ChildProcess::Events events;
  events.started = [this](pid_t pid) {
    log::write(log::Level::info, "plugin.spawn",
               {{"plugin", command_.name}, {"pid", static_cast<int64_t>(pid)}});
  };
  events.failed = [this](const Error& failure) {
    down(fmt::format("could not be started ({}: {})", failure.place, std::strerror(failure.code)));
  };
  events.exited = [this](process::ExitStatus status) {
    ending(status.signal != 0 ? fmt::format("was ended by signal {}", status.signal)
                              : fmt::format("exited with code {}", status.code),
           true);
  };
  started_at_ = loop_.now();
  rubbish_ = 0;
  exited_ = out_ended_ = false;
  lines_.take_partial();
  stderr_lines_.take_partial();
  auto child = spawner_.start(request, std::move(events));
  if (!child) return down("could not be started: " + child.error().text);
  child_ = std::move(*child);
  if (!open(in_, child_->take_stdin()) || !open(out_, child_->take_stdout()) ||
      !open(err_, child_->take_stderr()))
    return down("could not be started: no descriptors are left");
  out_.stream->start_reading();
  err_.stream->start_reading();
  broken_.clear();
  owner_.on_hook_ready();
}

bool HookProcess::ready() const {
  return in_.stream != nullptr && in_.stream->backlog() < kMaxBacklog;
}

void HookProcess::send(uint64_t, std::string line) {
  if (!in_.stream) return;
  line += '\n';
  in_.stream->write(std::move(line));
}

void HookProcess::unresponsive() {
  // Not from inside the owner's call.
  loop_.defer(lifetime_, [this] {
    if (child_) down("let too many questions in a row run out of time");
  });
}

void HookProcess::out_data(std::string_view bytes) {
  const auto watch = lifetime_.watch();
  bool fits = lines_.feed(bytes, [&](const std::string& text) {
    if (!watch.gone() && out_.stream) line(text);
  });
  if (!watch.gone() && !fits && out_.stream)
    down(fmt::format("wrote a line of more than {} MiB", kMaxLine >> 20));
}

void HookProcess::line(const std::string& text) {
  const auto watch = lifetime_.watch();
  uint64_t id = 0;
  bool whole = text.size() > 2 && json::validate(text, json::kWrappedDepth) == json::Fault::none;
  if (whole) {
    std::string_view raw = json::member(text, "id").value_or("");
    bool number = !raw.empty() && raw.size() < 19 &&
                  std::all_of(raw.begin(), raw.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (number) id = std::stoull(std::string(raw));
  }
  if (id > 0) {
    rubbish_ = 0;
    return owner_.on_hook_answer(id, text);
  }
  if (text.find_first_not_of(" \t\r") == std::string::npos) return;
  owner_.on_hook_rubbish();
  if (watch.gone()) return;
  if (rubbish_++ == 0) {
    log::write(log::Level::warn, "plugin.invalid_output",
               {{"plugin", command_.name}, {"bytes", static_cast<uint64_t>(text.size())}});
  }
  if (rubbish_ >= kMaxRubbish) down(fmt::format("wrote {} lines in a row that answer nothing", kMaxRubbish));
}

void HookProcess::err_data(std::string_view bytes) {
  if (loop_.now() - stderr_second_ >= milliseconds(1000)) {
    if (stderr_dropped_ > 0) {
      log::write(log::Level::warn, "plugin.stderr",
                 {{"plugin", command_.name}, {"dropped_bytes", stderr_dropped_}});
    }
    stderr_second_ = loop_.now();
    stderr_budget_ = kStderrBytesPerSecond;
    stderr_dropped_ = 0;
  }
  auto shown = [&](const std::string& text) {
    if (text.empty()) return;
    log::write(log::Level::info, "plugin.stderr",
               {{"plugin", command_.name},
                {"pid", static_cast<int64_t>(child_ ? child_->pid() : 0)},
                {"line", text}});
    last_stderr_ = text.substr(0, 500);
  };
  bool fits = bytes.size() <= stderr_budget_ && stderr_lines_.feed(bytes, shown);
  if (fits) {
    stderr_budget_ -= bytes.size();
  } else {
    stderr_dropped_ += bytes.size();
  }
}

void HookProcess::ending(const std::string& why, bool exited) {
  bool known = exited_;
  exited_ = exited_ || exited;
  if (exited_ && out_ended_) return down(known ? exit_text_ : why);
  if (exited) exit_text_ = why;
  if (known) return;
  last_words_.start(exited ? kLastWords : kExitFollows, [this, why] { down(why); });
}

void HookProcess::down(std::string why) {
  if (timer_.running()) return;
  last_words_.stop();
  bool well = loop_.now() - started_at_ >= kWell;
  pause_ = well ? kPauses.first : Backoff::after(pause_, kPauses);
  milliseconds next = Backoff::jittered(pause_);
  log::write(log::Level::warn, "plugin.exit",
             {{"plugin", command_.name},
              {"how", why},
              {"stderr", last_stderr_},
              {"again_in_ms", static_cast<int64_t>(next.count())}});
  ++restarts_;
  timer_.start(next, [this] { start(); });
  close();
  if (next > kSoon) broken_ = why;
  owner_.on_hook_down(why);
}

}  // namespace lineward::plugins
