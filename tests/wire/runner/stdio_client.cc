#include "stdio_client.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "json_raw.h"

namespace lineward::wire {

using namespace std::chrono_literals;

StdioClient::StdioClient(Run& run, const Command& command, int to, int from)
    : McpClient(run, command.args[0].text), command_(command), to_(to), from_(from) {
  fcntl(to_, F_SETFL, fcntl(to_, F_GETFL) | O_NONBLOCK);
}

StdioClient::~StdioClient() {
  join();
  close_fd(to_);
  close_fd(from_);
}

void StdioClient::close_fd(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

void StdioClient::start() {
  thread_ = std::thread([this] {
    try {
      run_block(command_.block);
    } catch (const Failure& failure) {
      run_.fail(failure.line, name_ + ": " + failure.what());
    } catch (const Stopped&) {
    } catch (const std::exception& other) {
      run_.fail(line(), name_ + ": " + other.what());
    }
  });
}

void StdioClient::join() {
  if (thread_.joinable()) thread_.join();
}

void StdioClient::send(std::string_view bytes) {
  run_.record(name_, '>', bytes);
  while (!bytes.empty()) {
    if (to_ < 0) fail("stdin is closed");
    auto piece = bytes.substr(0, split_ ? split_ : bytes.size());
    ssize_t n = write(to_, piece.data(), piece.size());
    if (n < 0 && errno != EAGAIN && errno != EINTR) fail(fmt::format("cannot write: {}", strerror(errno)));
    if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
    if (n >= 0) {
      if (split_ > 0) wait_until_read();
      continue;
    }
    check_stopped();
    if (Clock::now() >= deadline()) fail("the gateway does not read its stdin");
    pollfd ready{to_, POLLOUT, 0};
    poll(&ready, 1, 50);
  }
}

void StdioClient::wait_until_read() {
  int left = 0;
  while (ioctl(to_, FIONREAD, &left) == 0 && left > 0) {
    check_stopped();
    if (Clock::now() >= deadline()) fail("the gateway does not read its stdin");
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

bool StdioClient::read_more(Clock::time_point until, bool& ended) {
  ended = from_ < 0;
  while (!ended) {
    check_stopped();
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd ready{from_, POLLIN, 0};
    if (poll(&ready, 1, static_cast<int>(std::clamp<long>(left, 0, 50))) > 0) {
      char bytes[65536];
      ssize_t n = read(from_, bytes, sizeof bytes);
      ended = n <= 0;
      if (n > 0) input_.append(bytes, static_cast<size_t>(n));
      return n > 0;
    }
    if (left <= 0) return false;
  }
  return false;
}

std::string StdioClient::next_line(std::string_view waiting_for) {
  size_t end;
  while ((end = input_.find('\n')) == std::string::npos) {
    bool ended = false;
    if (read_more(deadline(), ended)) continue;
    if (ended) fail(fmt::format("expected {}; came the end of stdout", waiting_for));
    fail(fmt::format("waited for {}; nothing came", waiting_for));
  }
  auto text = input_.substr(0, end);
  input_.erase(0, end + 1);
  run_.record(name_, '<', text);
  if (!is_json(text)) fail("stdout holds what is no MCP message: " + printable(text, 600));
  return text;
}

std::string StdioClient::next_message(const char* what, bool has_id, bool has_method,
                                      const std::string& method) {
  auto waiting_for = std::string(what) + (method.empty() ? "" : " " + method);
  auto text = next_line(waiting_for);
  auto came = find_raw(text, {"method"});
  bool right = came.has_value() == has_method &&
               (!has_method || find_raw(text, {"id"}).has_value() == has_id) &&
               (has_method || find_raw(text, {"result"}) || find_raw(text, {"error"}));
  if (!right || (has_method && !method.empty() && json_string(*came) != method)) {
    fail(fmt::format("expected {}; came {}", waiting_for, printable(text, 600)));
  }
  return text;
}

void StdioClient::keep(const Command& command, const char* name, const std::string& text) {
  set_local(name, {text, true});
  if (!command.flag("as")) return;
  set_local(option(command, "as"), {text, true});
  run_.set(option(command, "as"), {text, true});
}

bool StdioClient::execute_bytes(const Command& command) {
  auto verb = command.verb();
  if (verb == "send") {
    send(arg(command, 0));
  } else if (verb == "sendhex") {
    send(from_hex(arg(command, 0), line()));
  } else if (verb == "sendline") {
    send_line(command.args[0].kind == Word::Kind::braces ? one_line(arg(command, 0)) : arg(command, 0));
  } else if (verb == "split") {
    split_ = static_cast<size_t>(number(command, 0));
  } else if (verb == "close") {
    close_fd(to_);
    run_.record(name_, '>', "(end of stdin)");
  } else if (verb == "reset") {
    close_fd(from_);
    run_.record(name_, '>', "(stdout is closed)");
  } else if (verb == "expect-close") {
    bool ended = false;
    if (input_.empty()) read_more(deadline(), ended);
    if (!input_.empty()) fail("expected the end of stdout; came " + printable(input_, 600));
    if (!ended) fail("stdout does not end");
  } else if (verb == "expect-none") {
    bool ended = false;
    auto until = std::min(deadline(), Clock::now() + std::chrono::milliseconds(number(command, 0)));
    if (input_.empty()) read_more(until, ended);
    if (!input_.empty() || ended)
      fail("expected nothing; came " + (ended ? "the end of stdout" : printable(input_, 600)));
  } else {
    return false;
  }
  return true;
}

void StdioClient::legacy_init(const Command& command) {
  send_line(message("0", "initialize", initialize_params(command)));
  auto answer = next_message("the answer to initialize", true, false, "");
  keep(command, "answer", answer);
  if (!find_raw(answer, {"result", "protocolVersion"})) fail("initialize was not answered with a result");
  if (!command.flag("no-initialized")) send_line(message("", "notifications/initialized", ""));
}

void StdioClient::execute(const Command& command) {
  if (execute_bytes(command)) return;
  auto verb = command.verb();
  if (verb == "modern") {
    send_line(message(id_text(command), arg(command, 0), modern_params(command)));
  } else if (verb == "legacy") {
    send_line(message(id_text(command), arg(command, 0), legacy_params(command)));
  } else if (verb == "modern-notify" || verb == "legacy-notify") {
    send_line(message("", arg(command, 0), one_line(arg(command, 1, ""))));
  } else if (verb == "legacy-init") {
    legacy_init(command);
  } else if (verb == "respond") {
    send_line(response(command));
  } else if (verb == "rxanswer") {
    keep(command, "answer", next_message("an answer", true, false, ""));
  } else if (verb == "rxnotify") {
    keep(command, "notify", next_message("the notification", false, true, arg(command, 0)));
  } else if (verb == "rxrequest") {
    keep(command, "request", next_message("the server's request", true, true, arg(command, 0)));
  } else {
    fail("the verb " + std::string(verb) + " is not possible on stdio");
  }
}

}  // namespace lineward::wire
