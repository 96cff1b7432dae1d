#include "upstream.h"

#include <fmt/format.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "json_raw.h"

namespace lineward::wire {

using namespace std::chrono_literals;

Upstream::Upstream(Run& run, const Command& command, const std::string& runner)
    : run_(run), command_(command), name_(command.args[0].text) {
  if (command.flag("raw")) era_ = PlayedEra::raw;
  if (const Word* era = command.option("era")) {
    if (era->text != "modern" && era->text != "legacy")
      throw Failure(command.line, "-era is modern or legacy");
    era_ = era->text == "legacy" ? PlayedEra::legacy : PlayedEra::modern;
  }
  if (const Word* w = command.option("auto")) auto_ = one_line(w->text);
  if (const Word* w = command.option("discover-result")) discover_ = one_line(w->text);
  if (const Word* w = command.option("init-result")) initialize_ = one_line(w->text);
  for (const auto& c : command.block) {
    if (c.verb() != "instance") {
      first_.push_back(c);
    } else if (c.args[0].text == "*") {
      other_ = &c;
    } else {
      blocks_[atoi(c.args[0].text.c_str())] = &c;
    }
  }
  collect(command.block);

  auto path = run.tmp() + "/" + name_ + ".sock";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener_, 64) != 0) {
    throw Failure(command.line, "cannot listen on " + path);
  }
  auto args = fmt::format("--stdio-peer {} {} {}", path, name_, run.tag());
  run.set(name_ + ".command", {runner + " " + args});
  run.set(name_ + ".program", {runner});
  auto list = fmt::format("[\"--stdio-peer\", \"{}\", \"{}\", \"{}\"]", path, name_, run.tag());
  run.set(name_ + ".args", {list, true});
  run.set(name_ + ".yaml", {fmt::format("command: \"{}\", args: {}", runner, list)});
  run.set(name_ + ".instances", {"0", true});
  run.set(name_ + ".processes", {"0", true});
  acceptor_ = std::thread([this] { accept_loop(); });
}

Upstream::~Upstream() {
  end();
}

// Requests that a block waits for by name are never answered automatically.
void Upstream::collect(const Block& block) {
  for (const auto& c : block) {
    if ((c.verb() == "recvcall" || c.verb() == "recvnotify") && !c.args.empty())
      named_[c.args[0].text] = true;
    collect(c.block);
  }
}

void Upstream::accept_loop() {
  while (!ended_) {
    pollfd fd{listener_, POLLIN, 0};
    if (poll(&fd, 1, 50) <= 0) continue;
    int stub = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (stub < 0) continue;
    std::lock_guard lock(mutex_);
    run_.set(name_ + ".processes", {std::to_string(++processes_), true});
    instances_.push_back(std::make_unique<Instance>(run_, *this, stub));
  }
}

const Block* Upstream::claim(int& number) {
  std::lock_guard lock(mutex_);
  number = ++real_;
  run_.set(name_ + ".instances", {std::to_string(number), true});
  if (number == 1) return &first_;
  if (auto found = blocks_.find(number); found != blocks_.end()) return &found->second->block;
  return other_ ? &other_->block : nullptr;
}

void Upstream::wait() {
  while (!run_.stopped()) {
    std::string missing;
    {
      std::lock_guard lock(mutex_);
      auto need = [&](int number) {
        for (const auto& instance : instances_) {
          if (instance->number() == number && instance->done()) return;
        }
        missing = fmt::format("the block of {}'s instance {} is not done", name_, number);
      };
      if (!first_.empty()) need(1);
      for (const auto& [number, command] : blocks_)
        need(number);
    }
    if (missing.empty()) return;
    // A moment later than the peers: their own errors say more.
    if (Clock::now() >= run_.deadline() + 300ms) throw Failure(command_.line, missing);
    std::this_thread::sleep_for(2ms);
  }
  throw Stopped{};
}

void Upstream::end() {
  if (ended_.exchange(true)) return;
  if (acceptor_.joinable()) acceptor_.join();
  close(listener_);
  for (auto& instance : instances_)
    instance->hang_up();
  instances_.clear();
}

std::string Upstream::discover_result() const {
  if (!discover_.empty()) return discover_;
  return R"({"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},)"
         R"("resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"logging":{}},)"
         R"("ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":)"
         R"({"name":"wire-peer","version":"1"}}})";
}

std::string Upstream::initialize_result(const std::string& asked) const {
  if (!initialize_.empty()) return initialize_;
  static constexpr std::string_view known[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};
  std::string version = "2025-11-25";
  for (auto v : known) {
    if (v == asked) version = v;
  }
  return R"({"protocolVersion":")" + version +
         R"(","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},)"
         R"("prompts":{"listChanged":true},"logging":{}},"serverInfo":{"name":"wire-peer","version":"1"}})";
}

// ---- an instance: the reader's side

Instance::Instance(Run& run, Upstream& upstream, int fd)
    : Peer(run, upstream.command().args[0].text), upstream_(upstream), fd_(fd) {
  ucred who{};
  socklen_t size = sizeof who;
  if (getsockopt(fd_, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0) pid_ = who.pid;
  run_.record(name_, ' ', fmt::format("process {} started", pid_));
  reader_ = std::thread([this] { read_loop(); });
}

Instance::~Instance() {
  hang_up();
  if (reader_.joinable()) reader_.join();
  if (worker_.joinable()) worker_.join();
  close(fd_);
}

void Instance::hang_up() {
  shutdown(fd_, SHUT_RDWR);
}

void Instance::push(Event event) {
  {
    std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
  }
  changed_.notify_all();
}

void Instance::read_loop() {
  if (upstream_.era() == PlayedEra::raw) become_real();
  char bytes[65536];
  for (;;) {
    ssize_t n = read(fd_, bytes, sizeof bytes);
    if (n <= 0) break;
    frames_.append(bytes, static_cast<size_t>(n));
    while (auto frame = cut_frame(frames_))
      on_frame(*frame);
  }
  run_.record(name_, ' ', fmt::format("process {} is gone", pid_));
  {
    std::lock_guard lock(mutex_);
    gone_ = true;
  }
  push({Event::Kind::gone, {}});
}

void Instance::on_frame(const Frame& frame) {
  switch (frame.kind) {
    case FrameKind::input:
      run_.be_late();
      input_ += frame.payload;
      for (size_t end; (end = input_.find('\n')) != std::string::npos;) {
        auto text = input_.substr(0, end);
        input_.erase(0, end + 1);
        on_line(std::move(text));
      }
      break;
    case FrameKind::input_end:
      run_.record(name_, '<',
                  input_.empty() ? "(end of stdin)" : "(end of stdin in the middle of) " + input_);
      if (block_) {
        push({Event::Kind::input_end, {}});
      } else {
        order(FrameKind::exit, "0", false);
      }
      break;
    case FrameKind::signal:
      run_.record(name_, '<', "(signal " + frame.payload + ")");
      push({Event::Kind::signal, frame.payload});
      break;
    case FrameKind::done: {
      std::lock_guard lock(mutex_);
      ++carried_out_;
    }
      changed_.notify_all();
      break;
    default: break;
  }
}

void Instance::on_line(std::string text) {
  run_.record(name_, '<', text);
  if (upstream_.era() != PlayedEra::raw) {
    auto method = find_raw(text, {"method"});
    auto id = find_raw(text, {"id"});
    auto name = method ? json_string(*method).value_or("") : "";
    if (!name.empty() && answer_by_itself(text, name, id ? std::string(*id) : "")) return;
    if (!block_) become_real();
  }
  if (block_) {
    push({Event::Kind::line, std::move(text)});
  } else if (!run_.finished()) {
    run_.fail(upstream_.command().line, fmt::format("{}: real process {} has no block, but got {}", name_,
                                                    number_.load(), printable(text, 300)));
  }
}

bool Instance::answer_by_itself(const std::string& text, const std::string& method, const std::string& id) {
  bool legacy = upstream_.era() == PlayedEra::legacy;
  auto result = [&](const std::string& text_of_it) {
    say(R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":)" + text_of_it + "}");
  };
  auto refuse = [&] {
    say(R"({"jsonrpc":"2.0","id":)" + id + R"(,"error":{"code":-32601,"message":"Method not found"}})");
  };
  if (!block_ || upstream_.automatic(method)) {
    if (method == "server/discover") {
      legacy ? refuse() : result(upstream_.discover_result());
      return true;
    }
    if (method == "initialize") {
      auto asked = find_raw(text, {"params", "protocolVersion"});
      legacy ? result(upstream_.initialize_result(asked ? json_string(*asked).value_or("") : "")) : refuse();
      return true;
    }
    if (method == "notifications/initialized") {
      if (legacy && !block_) become_real();
      return true;
    }
  }
  if (!upstream_.automatic(method)) return false;
  if (auto given = find_raw(upstream_.auto_results(), {method})) {
    if (!id.empty()) result(std::string(*given));
    return true;
  }
  if (method == "ping" && !id.empty()) {
    result("{}");
    return true;
  }
  if (method == "tools/list" && !id.empty()) {
    result(legacy ? R"({"tools":[]})"
                  : R"({"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"})");
    return true;
  }
  return false;
}

void Instance::become_real() {
  if (number_ != 0) return;
  int number = 0;
  block_ = upstream_.claim(number);
  number_ = number;
  if (number > 1) name_ += "#" + std::to_string(number);
  run_.record(name_, ' ', fmt::format("process {} is instance {}", pid_, number));
  run_.set(name_ + ".pid", {std::to_string(pid_), true});
  if (block_) worker_ = std::thread([this] { block_loop(); });
}

void Instance::order(FrameKind kind, std::string_view payload, bool wait) {
  unsigned long mine;
  {
    std::lock_guard writing(write_mutex_);
    {
      std::lock_guard lock(mutex_);
      mine = ++ordered_;
    }
    write_frame(fd_, kind, payload);
  }
  if (!wait) return;
  std::unique_lock lock(mutex_);
  while (carried_out_ < mine && !gone_) {
    if (run_.stopped()) throw Stopped{};
    if (Clock::now() >= deadline()) fail("the gateway does not read the process's output");
    changed_.wait_for(lock, 50ms);
  }
}

void Instance::say(std::string_view message) {
  run_.record(name_, '>', message);
  order(FrameKind::output, std::string(message) + "\n", false);
}

}  // namespace lineward::wire
