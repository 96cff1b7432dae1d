// The verbs of an HTTP origin's block; run on the origin's own thread.
#include <fmt/format.h>

#include <algorithm>

#include "http_origin.h"
#include "json_raw.h"

namespace lineward::wire {

using namespace std::chrono_literals;

void HttpOrigin::block_loop() {
  try {
    run_block(command_.block);
    std::lock_guard lock(mutex_);
    done_ = true;
    if (!requests_.empty()) too_many(requests_.front().request);
  } catch (const Failure& failure) {
    run_.fail(failure.line, name_ + ": " + failure.what());
  } catch (const Stopped&) {
  } catch (const std::exception& other) {
    run_.fail(line(), name_ + ": " + other.what());
  }
  std::lock_guard lock(mutex_);
  done_ = true;
  changed_.notify_all();
}

void HttpOrigin::receive(const Command& command) {
  auto wanted = arg(command, 0, "");
  auto what = wanted.empty() ? "a request" : "the request " + wanted;
  auto right = [&](const Target& one) {
    auto method = find_raw(one.request.body, {"method"});
    return wanted.empty() || one.request.method == wanted || (method && json_string(*method) == wanted);
  };
  Target got;
  {
    std::unique_lock lock(mutex_);
    auto next = [&] {
      return command.flag("among") ? std::find_if(requests_.begin(), requests_.end(), right)
                                   : requests_.begin();
    };
    while (next() == requests_.end()) {
      if (run_.stopped()) throw Stopped{};
      if (Clock::now() >= deadline()) fail(fmt::format("waited for {}; nothing came", what));
      changed_.wait_until(lock, std::min(deadline(), Clock::now() + 50ms));
    }
    auto found = next();
    got = std::move(*found);
    requests_.erase(found);
  }
  const auto& request = got.request;
  if (!right(got))
    fail(fmt::format("expected {}; came {} {}", what, request.method, printable(request.body, 600)));
  for (const auto& as : {std::string("req"), option(command, "as", "req")}) {
    clear_locals(as + ".");
    auto keep = [&](const std::string& path, Value value) {
      set_local(as + path, value);
      if (as != "req" && path.rfind(".header.", 0) != 0) run_.set(as + path, value);
    };
    keep("", {request.body, is_json(request.body)});
    keep(".json", {request.body, is_json(request.body)});
    keep(".body", {request.body});
    keep(".method", {request.method});
    keep(".path", {request.path});
    keep(".conn", {std::to_string(got.connection->number()), true});
    for (const auto& [name, value] : request.headers)
      keep(".header." + name, {value});
    targets_[as] = got;
    last_ = as;
  }
}

void HttpOrigin::accept(const Command& command) {
  std::unique_lock lock(mutex_);
  while (accepted_.empty()) {
    if (run_.stopped()) throw Stopped{};
    if (Clock::now() >= deadline()) fail("waited for a connection; none came");
    changed_.wait_until(lock, std::min(deadline(), Clock::now() + 50ms));
  }
  last_ = option(command, "as", "conn");
  targets_[last_] = {accepted_.front(), {}};
  set_local(last_ + ".conn", {std::to_string(accepted_.front()->number()), true});
  accepted_.pop_front();
}

HttpOrigin::Target& HttpOrigin::target(const Command& command) {
  auto name = option(command, "to", last_);
  auto found = targets_.find(name);
  if (found == targets_.end()) fail("there is no request or connection '" + name + "' (yet)");
  return found->second;
}

void HttpOrigin::put(Target& to, std::string_view bytes) {
  to.connection->send(bytes, split_, deadline());
  check_stopped();
}

void HttpOrigin::put_piece(Target& to, std::string_view bytes) {
  if (bytes.empty()) return;
  if (framing_[to.connection.get()] == Framing::chunked) {
    put(to, fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes));
  } else {
    put(to, bytes);
  }
}

void HttpOrigin::begin_stream(Target& to, const std::string& more_headers, bool until_close) {
  to.connection->over(false);
  framing_[to.connection.get()] = until_close ? Framing::until_close : Framing::chunked;
  put(to, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n" + more_headers +
              (until_close ? "Connection: close\r\n\r\n" : "Transfer-Encoding: chunked\r\n\r\n"));
}

void HttpOrigin::end_stream(Target& to) {
  auto& framing = framing_[to.connection.get()];
  to.connection->over(true);
  if (framing == Framing::until_close) {
    to.connection->close(false);
  } else {
    put(to, "0\r\n\r\n");
  }
  framing = Framing::none;
}

// An event where a stream is open. Else the last message is a JSON answer; any other opens a stream.
void HttpOrigin::put_message(Target& to, const std::string& json, bool last) {
  if (framing_[to.connection.get()] == Framing::none) {
    if (last) {
      return put(
          to, fmt::format("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                          json.size(), json));
    }
    begin_stream(to, "", false);
  }
  put_piece(to, "event: message\ndata: " + json + "\n\n");
}

std::string HttpOrigin::headers_of(const Command& command) const {
  std::string out;
  for (const auto& option : command.options) {
    if (option.name == "hdr") out += expand(option.value) + "\r\n";
  }
  return out;
}

std::string HttpOrigin::body_of(const Word& word) const {
  return word.kind == Word::Kind::braces ? one_line(expand(word)) : expand(word);
}

bool HttpOrigin::execute_connection(const Command& command) {
  auto verb = command.verb();
  if (verb == "accept") {
    accept(command);
  } else if (verb == "rxreq") {
    receive(command);
  } else if (verb == "expect-none") {
    auto until = std::min(deadline(), Clock::now() + std::chrono::milliseconds(number(command, 0)));
    std::unique_lock lock(mutex_);
    while (requests_.empty() && Clock::now() < until && !run_.stopped())
      changed_.wait_until(lock, until);
    if (!requests_.empty()) fail("expected nothing; came " + printable(requests_.front().request.body, 600));
  } else if (verb == "expect-close") {
    if (!target(command).connection->wait_gone(deadline())) {
      check_stopped();
      fail("the gateway does not close the connection");
    }
  } else if (verb == "expect-open") {
    auto until = std::min(deadline(), Clock::now() + std::chrono::milliseconds(number(command, 0)));
    if (target(command).connection->wait_gone(until)) fail("the gateway closed the connection");
  } else if (verb == "close" || verb == "reset") {
    auto& to = target(command);
    run_.record(fmt::format("{}/{}", name_, to.connection->number()), '>', fmt::format("({})", verb));
    to.connection->close(verb == "reset");
  } else if (verb == "vanish") {
    auto& to = target(command);
    run_.record(fmt::format("{}/{}", name_, to.connection->number()), '>', "(gone without a word)");
    to.connection->vanish();
  } else if (verb == "shutdown") {
    target(command).connection->shutdown_write();
  } else if (verb == "reading") {
    bool on = arg(command, 0) == "on";
    if (!on && arg(command, 0) != "off") fail("usage: reading on | off");
    std::lock_guard lock(mutex_);
    reading_ = on;
    for (auto& connection : connections_)
      connection->read_on(on);
  } else if (verb == "refuse" || verb == "listen") {
    listening_wanted_ = verb == "listen";
    while (listening_wanted_ != listening_) {
      check_stopped();
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, 5ms);
    }
  } else {
    return false;
  }
  return true;
}

bool HttpOrigin::execute_http(const Command& command) {
  auto verb = command.verb();
  if (verb == "send") {
    put(target(command), arg(command, 0));
  } else if (verb == "sendhex") {
    put(target(command), from_hex(arg(command, 0), line()));
  } else if (verb == "split") {
    split_ = static_cast<size_t>(number(command, 0));
  } else if (verb == "txhead") {
    auto& to = target(command);
    auto status = number(command, 0);
    auto headers = headers_of(command);
    if (status >= 200) {
      to.connection->over(false);
      framing_[to.connection.get()] =
          headers.find("chunked") != std::string::npos ? Framing::chunked : Framing::none;
    }
    put(to, fmt::format("HTTP/1.1 {} X\r\n{}\r\n", status, headers));
  } else if (verb == "txresp" || verb == "txjson") {
    auto& to = target(command);
    bool json = verb == "txjson";
    const Word* body = json ? &command.args[0] : command.option("body");
    auto text = body ? body_of(*body) : "";
    auto status = json ? option(command, "status", "200") : arg(command, 0);
    to.connection->over(true);
    framing_[to.connection.get()] = Framing::none;
    put(to, fmt::format("HTTP/1.1 {} X\r\n{}{}Content-Length: {}\r\n\r\n{}", status,
                        json ? "Content-Type: application/json\r\n" : "", headers_of(command), text.size(),
                        text));
  } else if (verb == "txchunk") {
    auto text = arg(command, 0);
    put(target(command), fmt::format("{:x}\r\n{}\r\n", text.size(), text));
  } else {
    return false;
  }
  return true;
}

bool HttpOrigin::execute_sse(const Command& command) {
  auto verb = command.verb();
  if (verb == "txsse-head") {
    begin_stream(target(command), headers_of(command), command.flag("until-close"));
  } else if (verb == "txevent") {
    std::string text;
    for (auto field : {"event", "id", "retry"}) {
      if (command.flag(field)) text += std::string(field) + ": " + option(command, field) + "\n";
    }
    auto data = command.args.empty() ? "" : body_of(command.args[0]);
    for (size_t at = 0; at <= data.size();) {
      size_t end = std::min(data.find('\n', at), data.size());
      text += "data: " + data.substr(at, end - at) + "\n";
      at = end + 1;
    }
    put_piece(target(command), text + "\n");
  } else if (verb == "txcomment") {
    put_piece(target(command), ": " + arg(command, 0) + "\n\n");
  } else if (verb == "txend") {
    end_stream(target(command));
  } else {
    return false;
  }
  return true;
}

bool HttpOrigin::execute_mcp(const Command& command) {
  auto verb = command.verb();
  const std::string head = R"({"jsonrpc":"2.0",)";
  auto json = [&](size_t index) { return one_line(arg(command, index)); };
  auto params = [&](size_t index) { return index < command.args.size() ? ",\"params\":" + json(index) : ""; };
  auto part = [&](const Path& path, const char* what) {
    auto bytes = find_raw(target(command).request.body, path);
    if (!bytes) fail(std::string("the request has no ") + what);
    return std::string(*bytes);
  };
  if (verb == "sendresult" || verb == "senderror") {
    auto& to = target(command);
    auto id = "\"id\":" + part({"id"}, "id");
    put_message(to,
                verb == "sendresult" ? head + id + ",\"result\":" + json(0) + "}"
                                     : head + id + ",\"error\":{\"code\":" + arg(command, 0) +
                                           ",\"message\":" + json_quote(arg(command, 1)) + "}}",
                true);
    if (framing_[to.connection.get()] != Framing::none && !command.flag("open")) end_stream(to);
  } else if (verb == "sendnotify") {
    put_message(target(command), head + "\"method\":" + json_quote(arg(command, 0)) + params(1) + "}", false);
  } else if (verb == "sendrequest") {
    auto id = command.args[0].kind == Word::Kind::quoted ? json_quote(arg(command, 0)) : arg(command, 0);
    put_message(target(command),
                head + "\"id\":" + id + ",\"method\":" + json_quote(arg(command, 1)) + params(2) + "}",
                false);
  } else if (verb == "sendprogress") {
    auto token = part({"params", "_meta", "progressToken"}, "progress token");
    put_message(target(command),
                head + "\"method\":\"notifications/progress\",\"params\":{\"progressToken\":" + token +
                    ",\"progress\":" + arg(command, 0) + "}}",
                false);
  } else {
    return false;
  }
  return true;
}

void HttpOrigin::execute(const Command& command) {
  if (!execute_connection(command) && !execute_http(command) && !execute_sse(command) &&
      !execute_mcp(command)) {
    fail("the verb " + std::string(command.verb()) + " is not possible here");
  }
}

}  // namespace lineward::wire
