#include "gateway.h"

#include <arpa/inet.h>
#include <algorithm>

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include <utility>

#include "loopback_socket.h"

namespace lineward::wire {

using namespace std::chrono_literals;

std::vector<std::string> split_words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;)
    words.push_back(word);
  return words;
}

namespace {

int free_port() {
  test::LoopbackSocket one;
  const bool taken = one.take();
  close(one.fd);
  if (!taken) throw std::runtime_error("no free port");
  return one.port();
}

bool reachable(const std::string& address) {
  auto colon = address.rfind(':');
  sockaddr_in to{};
  to.sin_family = AF_INET;
  inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
  to.sin_port = htons(static_cast<uint16_t>(atoi(address.c_str() + colon + 1)));
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bool ok = connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  close(fd);
  return ok;
}

std::string join(const std::vector<std::string>& words, std::string_view between) {
  std::string out;
  for (const auto& word : words)
    out += (out.empty() ? "" : std::string(between)) + word;
  return out;
}

// WIRE_TRANSPORT, "" where the gateway's listener is to speak plain HTTP/1.1: for one that says something of
// TLS, or of which the command line does not decide alone.
std::string transport_of(const Gateway::Setup& setup) {
  const char* given = getenv("WIRE_TRANSPORT");
  const std::string transport = given ? given : "";
  if (!transport.empty() && transport != "tls" && transport != "h2" && transport != "h2c")
    throw std::runtime_error(fmt::format("WIRE_TRANSPORT={} is none of tls, h2 and h2c", transport));
  if (setup.stdio) return "";
  const auto is_about = [&](std::string_view word) {
    return setup.conf.find(word) != std::string::npos ||
           std::any_of(setup.args.begin(), setup.args.end(),
                       [&](const std::string& one) { return one.find(word) != std::string::npos; });
  };
  return is_about("tls") || is_about("listeners:") || is_about("unix:") ? "" : transport;
}

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
}

}  // namespace

Gateway::Gateway(Run& run, std::string name, const GatewayProgram& program)
    : run_(run), name_(std::move(name)), program_(program) {}

Gateway::~Gateway() {
  if (running()) {
    kill(child_.pid, SIGKILL);
    waitpid(child_.pid, nullptr, 0);
  }
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  if (reader_.joinable()) reader_.join();
  for (int fd : {child_.out, stdio_.first, stdio_.second}) {
    if (fd >= 0) close(fd);
  }
  if (child_.err >= 0) close(child_.err);
}

void Gateway::start(const Setup& setup) {
  auto conf_path = run_.tmp() + "/" + name_ + ".yaml";
  if (!setup.conf.empty()) std::ofstream(conf_path) << setup.conf;
  std::vector<std::string> argv;
  if (!program_.command_template.empty()) {
    auto port = std::to_string(free_port());
    address_ = "127.0.0.1:" + port;
    for (auto word : split_words(program_.command_template)) {
      replace_all(word, "${port}", port);
      replace_all(word, "${command}", join(setup.upstream, " "));
      replace_all(word, "${conf}", conf_path);
      if (word == "${words}") {
        argv.insert(argv.end(), setup.upstream.begin(), setup.upstream.end());
      } else {
        argv.push_back(word);
      }
    }
  } else {
    argv = {program_.path, "run", "--listen", "127.0.0.1:0"};
    if (setup.stdio) argv = {program_.path, "stdio"};
    if (std::find(setup.args.begin(), setup.args.end(), "--log-format") == setup.args.end())
      argv.insert(argv.end(), {"--log-format", "logfmt"});
    argv.insert(argv.end(), program_.extra_args.begin(), program_.extra_args.end());
    argv.insert(argv.end(), setup.args.begin(), setup.args.end());
    const auto transport = transport_of(setup);
    over_tls_ = transport == "tls" || transport == "h2";
    over_http2_ = transport == "h2" || transport == "h2c";
    if (over_tls_) argv.push_back("--tls-self-signed");
    // Many run at once: no default port or socket, unless the script is about them.
    for (const char* listener : {"ops", "admin"}) {
      bool in_conf = setup.conf.find(std::string(listener) + ":") != std::string::npos;
      auto flag = std::string("--") + listener;
      if (!in_conf && std::find(argv.begin(), argv.end(), flag) == argv.end())
        argv.insert(argv.end(), {flag, "off"});
    }
    if (!setup.conf.empty()) argv.push_back(conf_path);
    if (!setup.upstream.empty()) {
      argv.push_back("--");
      argv.insert(argv.end(), setup.upstream.begin(), setup.upstream.end());
    }
  }
  run_.record(name_, ' ', "start: " + join(argv, " "));
  child_ = start_process(argv, {"LW_WIRE_TAG=" + run_.tag()}, setup.stdio,
                         setup.keep_workers ? "LINEWARD_WORKERS" : "");
  if (setup.stdio) {
    stdio_ = {child_.in, child_.out};
    child_.in = child_.out = -1;
    run_.set(name_ + ".pid", {std::to_string(child_.pid), true});
  }
  reader_ = std::thread([this] { read_loop(); });
  if (!setup.stdio) wait_ready(setup);
}

// Lineward says where it listens; for others a connection tells.
void Gateway::wait_ready(const Setup& setup) {
  static const std::regex url(R"(https?://([0-9.]+:\d+)(/[^\s"]*)?)");
  auto deadline = run_.deadline();
  for (size_t seen = 0;;) {
    if (run_.stopped()) throw Stopped{};
    if (poll_exit())
      throw std::runtime_error(fmt::format("the gateway ended at its start, code {}", status_));
    if (!program_.command_template.empty()) {
      if (reachable(address_)) break;
      std::this_thread::sleep_for(10ms);
    } else {
      std::unique_lock lock(mutex_);
      std::smatch match;
      for (; seen < lines_.size() && address_.empty(); ++seen) {
        // Lineward's own line stands behind MCP, wherever listen.path is.
        const bool told =
            lines_[seen].find("/mcp") != std::string::npos || lines_[seen].rfind("  MCP ", 0) == 0;
        if (told && std::regex_search(lines_[seen], match, url)) {
          address_ = match[1];
        }
      }
      if (!address_.empty()) break;
      changed_.wait_for(lock, 20ms);
    }
    if (Clock::now() >= deadline) throw std::runtime_error("the gateway does not say http://…/mcp on stderr");
  }
  for (const auto& [option, title] : {std::pair{"admin", "Admin"}, {"ops", "Metrics"}}) {
    std::string address = address_of(option, title, setup, deadline);
    if (!address.empty()) run_.set(name_ + "." + option, {std::move(address)});
  }
  // The line about the first listener comes last.
  if (setup.conf.find("listeners:") != std::string::npos)
    expect_log("event=listen address=" + address_ + "( |$)", 1, deadline);
  note_listeners();
  run_.set(name_ + ".addr", {address_});
  if (over_tls_) run_.set("tls " + address_, {"yes"});
  if (over_http2_) run_.set("http2 " + address_, {"yes"});
  run_.set(name_ + ".port", {address_.substr(address_.rfind(':') + 1)});
  run_.set(name_ + ".url", {"http://" + address_ + "/mcp"});
  run_.set(name_ + ".pid", {std::to_string(child_.pid), true});
  if (!run_.get("first-gateway")) run_.set("first-gateway", {address_});
}

// The addresses of further listeners, from the log.
void Gateway::note_listeners() {
  static const std::regex said(R"(event=listen address=([0-9.]+:\d+) listener=(\S+))");
  std::lock_guard lock(mutex_);
  for (const std::string& line : lines_) {
    std::smatch match;
    if (std::regex_search(line, match, said)) run_.set(name_ + ".listener." + match[2].str(), {match[1]});
  }
}

// The TCP address of the listener of this option; empty without one.
std::string Gateway::address_of(const std::string& option, const std::string& title, const Setup& setup,
                                Clock::time_point deadline) {
  const std::regex wanted(option + R"(:[^\n]*127\.0\.0\.1:)");
  const std::regex said(title + R"( +http://([0-9.]+:\d+)/)");
  if (!std::regex_search(setup.conf, wanted)) return {};
  std::unique_lock lock(mutex_);
  for (;;) {
    std::smatch match;
    for (const std::string& line : lines_) {
      if (std::regex_search(line, match, said)) return match[1];
    }
    if (Clock::now() >= deadline)
      throw std::runtime_error("the gateway does not say where its " + option + " listener is");
    changed_.wait_for(lock, 20ms);
  }
}

void Gateway::read_loop() {
  std::string pending[2];
  pollfd fds[] = {{child_.out, POLLIN, 0}, {child_.err, POLLIN, 0}};
  while (fds[0].fd >= 0 || fds[1].fd >= 0) {
    if (poll(fds, 2, 50) <= 0) {
      std::lock_guard lock(mutex_);
      if (closed_) return;
      continue;
    }
    for (int i = 0; i < 2; ++i) {
      if (!fds[i].revents) continue;
      char bytes[65536];
      ssize_t n = read(fds[i].fd, bytes, sizeof bytes);
      if (n <= 0) {
        fds[i].fd = -1;
        continue;
      }
      pending[i].append(bytes, static_cast<size_t>(n));
      for (size_t end; (end = pending[i].find('\n')) != std::string::npos;) {
        auto text = pending[i].substr(0, end);
        pending[i].erase(0, end + 1);
        run_.record(name_, i ? '!' : '|', text);
        std::lock_guard lock(mutex_);
        lines_.push_back(std::move(text));
      }
    }
    changed_.notify_all();
  }
}

std::pair<int, int> Gateway::take_stdio() {
  if (stdio_.first < 0)
    throw std::runtime_error("the gateway was not started with -stdio, or has its client");
  return std::exchange(stdio_, {-1, -1});
}

bool Gateway::poll_exit() {
  if (exited_) return true;
  int status = 0;
  if (waitpid(child_.pid, &status, WNOHANG) != child_.pid) return false;
  exited_ = true;
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  run_.record(name_, ' ', fmt::format("ended with {}", status_));
  return true;
}

void Gateway::signal(const std::string& name) {
  static const std::pair<const char*, int> known[] = {{"TERM", SIGTERM}, {"INT", SIGINT},   {"HUP", SIGHUP},
                                                      {"KILL", SIGKILL}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2},
                                                      {"STOP", SIGSTOP}, {"CONT", SIGCONT}};
  for (auto [text, number] : known) {
    if (name != text) continue;
    run_.record(name_, ' ', "signal " + name);
    if (!poll_exit()) kill(child_.pid, number);
    // It goes on until all of its threads have heard of it.
    int status = 0;
    if (number == SIGSTOP && !exited_ && waitpid(child_.pid, &status, WUNTRACED) == child_.pid &&
        !WIFSTOPPED(status)) {
      exited_ = true;
      status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    return;
  }
  throw std::runtime_error("no signal " + name);
}

void Gateway::reload(const std::string& conf, Clock::time_point deadline) {
  static const std::string answer = "event=config\\.(loaded|rejected)";
  int before = 0;
  {
    std::lock_guard lock(mutex_);
    before = count_lines(answer);
  }
  std::ofstream(run_.tmp() + "/" + name_ + ".yaml") << conf;
  signal("HUP");
  expect_log(answer, before + 1, deadline);
  note_listeners();
}

int Gateway::wait_exit(Clock::time_point deadline) {
  while (!poll_exit()) {
    if (run_.stopped()) throw Stopped{};
    if (Clock::now() >= deadline) throw std::runtime_error("the gateway does not end");
    std::this_thread::sleep_for(5ms);
  }
  return status_;
}

int Gateway::count_lines(const std::string& regex) {
  std::regex wanted(regex);
  int count = 0;
  for (const auto& text : lines_)
    count += std::regex_search(text, wanted);
  return count;
}

void Gateway::expect_log(const std::string& regex, int count, Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  for (;;) {
    int found = count_lines(regex);
    if (count < 0 ? found > 0 : found == count) return;
    if (count >= 0 && found > count)
      throw std::runtime_error(fmt::format("{} log lines match /{}/", found, regex));
    if (run_.stopped()) throw Stopped{};
    if (Clock::now() >= deadline)
      throw std::runtime_error(fmt::format("{} log lines match /{}/", found, regex));
    changed_.wait_until(lock, std::min(deadline, Clock::now() + 50ms));
  }
}

void Gateway::no_log(const std::string& regex) {
  std::lock_guard lock(mutex_);
  std::regex wanted(regex);
  for (const auto& text : lines_) {
    if (std::regex_search(text, wanted)) throw std::runtime_error("a log line that must not be: " + text);
  }
}

std::string Gateway::complaint() {
  std::lock_guard lock(mutex_);
  for (const auto& text : lines_) {
    for (auto word : {"Sanitizer", "runtime error:", "Assertion `"}) {
      if (text.find(word) != std::string::npos) return text;
    }
  }
  return {};
}

}  // namespace lineward::wire
