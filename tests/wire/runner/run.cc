#include "run.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <random>
#include <set>
#include <thread>

namespace lineward::wire {

using namespace std::chrono_literals;

std::string printable(std::string_view bytes, size_t limit) {
  std::string out;
  auto add = [&](std::string_view part) {
    for (unsigned char c : part) {
      if (c == '\n') {
        out += "\\n";
      } else if (c == '\r') {
        out += "\\r";
      } else if (c < 0x20 || c == 0x7f) {
        out += fmt::format("\\x{:02x}", c);
      } else {
        out += static_cast<char>(c);
      }
    }
  };
  if (bytes.size() <= limit) {
    add(bytes);
    return out;
  }
  add(bytes.substr(0, limit / 2));
  out += fmt::format(" …{} bytes… ", bytes.size() - limit / 2 * 2);
  add(bytes.substr(bytes.size() - limit / 2));
  return out;
}

Run::Run(const Script& script, std::string runner) : script_(script) {
  char name[] = "/tmp/lw-wire-XXXXXX";
  if (!mkdtemp(name)) throw std::runtime_error("no temporary directory");
  tmp_ = name;
  tag_ = "lwtag-" + std::to_string(getpid()) + "-" + tmp_.substr(tmp_.size() - 6);
  deadline_ = start_ + std::chrono::milliseconds(script.timeout_ms);
  set("tmp", {tmp_});
  set("tag", {tag_});
  set("runner", {std::move(runner)});
  count_barriers(script.commands, true);
}

Run::~Run() {
  std::error_code ignored;
  std::filesystem::remove_all(tmp_, ignored);
}

// Each block of a peer (or of one instance) that names a barrier takes part in it; so does the script itself.
void Run::count_barriers(const Block& block, bool is_peer) {
  std::set<std::string> here;
  std::function<void(const Block&)> walk = [&](const Block& commands) {
    for (const auto& command : commands) {
      auto verb = command.verb();
      if (verb == "barrier" && command.args[1].text == "sync") here.insert(command.args[0].text);
      if (verb == "loop" || verb == "within") walk(command.block);
      if (verb == "upstream" || verb == "client" || verb == "instance") count_barriers(command.block, true);
    }
  };
  walk(block);
  if (!is_peer) return;
  for (const auto& name : here)
    ++barriers_[name].parties;
}

void Run::record(std::string_view peer, char direction, std::string_view bytes) {
  auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start_).count();
  std::lock_guard lock(mutex_);
  if (record_.size() < 4u << 20)
    record_ += fmt::format("{:6} ms  {:<8} {} {}\n", ms, peer, direction, printable(bytes));
}

std::string Run::transcript() {
  std::lock_guard lock(mutex_);
  return record_;
}

void Run::fail(int line, const std::string& text) {
  {
    std::lock_guard lock(mutex_);
    if (failed_) return;
    failure_line_ = line;
    failure_text_ = text;
    failed_ = true;
    stopped_ = true;
  }
  changed_.notify_all();
  record("runner", ' ', fmt::format("FAILED at line {}: {}", line, text));
}

std::string Run::failure_text() {
  std::lock_guard lock(mutex_);
  return failure_text_;
}

void Run::be_late() const {
  if (jitter_.count() == 0) return;
  thread_local std::minstd_rand random{std::random_device{}()};
  // Most steps are in time: an order turns when one peer is late and its neighbour is not.
  if (random() % 4 != 0) return;
  std::this_thread::sleep_for(
      std::chrono::microseconds(std::uniform_int_distribution<long>(0, jitter_.count() * 1000)(random)));
}

void Run::set(const std::string& name, Value value) {
  std::lock_guard lock(mutex_);
  values_[name] = std::move(value);
}

std::optional<Value> Run::get(const std::string& name) {
  std::lock_guard lock(mutex_);
  auto found = values_.find(name);
  if (found == values_.end()) return std::nullopt;
  return found->second;
}

void Run::set_barrier(const std::string& name, int parties) {
  std::lock_guard lock(mutex_);
  barriers_[name].parties = parties;
}

bool Run::sync(const std::string& barrier, Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  Barrier& b = barriers_[barrier];
  auto round = b.round;
  if (++b.waiting >= b.parties) {
    b.waiting = 0;
    ++b.round;
    lock.unlock();
    changed_.notify_all();
    return true;
  }
  while (b.round == round) {
    if (stopped_) throw Stopped{};
    if (Clock::now() >= deadline) return false;
    changed_.wait_until(lock, std::min(deadline, Clock::now() + 50ms));
  }
  return true;
}

std::string Run::missing_at(const std::string& barrier) {
  std::lock_guard lock(mutex_);
  return fmt::format("{} of {}", barriers_[barrier].waiting, barriers_[barrier].parties);
}

}  // namespace lineward::wire
