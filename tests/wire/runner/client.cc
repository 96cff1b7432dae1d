// The client's bytes, HTTP and SSE verbs.
#include "client.h"

#include <fmt/format.h>
#include <strings.h>

#include "json_raw.h"

namespace lineward::wire {

Client::Client(Run& run, const Command& command) : McpClient(run, command.args[0].text), command_(command) {}

Client::~Client() {
  join();
}

void Client::start() {
  thread_ = std::thread([this] {
    try {
      try {
        run_block(command_.block);
      } catch (const WireError& error) {
        fail(error.what());
      }
      connections_.clear();
      left_.clear();
    } catch (const Failure& failure) {
      run_.fail(failure.line, name_ + ": " + failure.what());
    } catch (const Stopped&) {
    } catch (const std::exception& other) {
      run_.fail(line(), name_ + ": " + other.what());
    }
  });
}

void Client::join() {
  if (thread_.joinable()) thread_.join();
}

void Client::connect(const std::string& address) {
  HttpConnection::Hooks hooks;
  auto label = current_ == "main" ? name_ : name_ + "/" + current_;
  hooks.idle = [this] { check_stopped(); };
  hooks.record = [this, label](char direction, std::string_view bytes) {
    run_.record(label, direction, bytes);
  };
  hooks.http2 = run_.get("http2 " + address).has_value();
  if (const Word* first = command_.option("first")) hooks.first = expand(*first);
  const Word* from = command_.option("from");
  const Word* pem = command_.option("tls-cert");
  std::optional<HttpConnection::Tls> tls;
  if (command_.flag("tls") || pem != nullptr || run_.get("tls " + address))
    tls.emplace().pem = pem ? expand(*pem) : std::string();
  connections_[current_] =
      std::make_unique<HttpConnection>(address, from ? expand(*from) : std::string(), tls, std::move(hooks));
}

HttpConnection& Client::connection() {
  auto& slot = connections_[current_];
  if (slot) return *slot;
  if (address_.empty()) {
    const Word* given = command_.option("connect");
    auto first = given ? std::optional<Value>(Value{expand(*given)}) : run_.get("first-gateway");
    if (!first) fail("there is no gateway to connect to");
    address_ = first->text;
  }
  connect(address_);
  return *connections_[current_];
}

void Client::execute(const Command& command) {
  if (!execute_bytes(command) && !execute_http(command) && !execute_mcp(command)) {
    fail("the verb " + std::string(command.verb()) + " is not possible here");
  }
}

bool Client::execute_bytes(const Command& command) {
  auto verb = command.verb();
  if (verb == "connect") {
    if (!command.args.empty()) address_ = arg(command, 0);
    connections_.erase(current_);
    connection();
  } else if (verb == "use") {
    current_ = arg(command, 0);
  } else if (verb == "send") {
    send(arg(command, 0));
  } else if (verb == "sendhex") {
    send(from_hex(arg(command, 0), line()));
  } else if (verb == "split") {
    split_ = static_cast<size_t>(number(command, 0));
  } else if (verb == "recv") {
    set_local("recv", {connection().read_exactly(static_cast<size_t>(number(command, 0)), deadline())});
  } else if (verb == "close") {
    auto& slot = connection();
    if (slot.leave_streams(deadline())) {
      left_.push_back(std::move(connections_[current_]));
    } else {
      slot.close_fin();
    }
    connections_.erase(current_);
    run_.record(name_, '>', "(close)");
  } else if (verb == "reset") {
    connection().close_rst();
    connections_.erase(current_);
    run_.record(name_, '>', "(reset)");
  } else if (verb == "shutdown") {
    connection().shutdown_write();
    run_.record(name_, '>', "(end of our direction)");
  } else if (verb == "vanish") {
    connection().vanish();
    run_.record(name_, '>', "(gone without a word)");
  } else if (verb == "expect-close") {
    connection().expect_end(deadline(), command.flag("any"));
    connections_.erase(current_);
  } else if (verb == "expect-none") {
    auto until = std::min(deadline(), Clock::now() + std::chrono::milliseconds(number(command, 0)));
    auto came = connection().anything(until);
    if (!came.empty()) fail("expected nothing; came " + printable(came, 600));
  } else {
    return false;
  }
  return true;
}

void Client::keep_message(const std::string& name, const std::string& text) {
  set_local(name, {text, is_json(text)});
}

void Client::read_head() {
  auto head = connection().read_head(deadline());
  clear_locals("resp.");
  clear_locals("event.");
  set_local("resp.status", {std::to_string(head.status), true});
  for (const auto& [name, value] : head.headers)
    set_local("resp.header." + name, {value});
}

void Client::read_response() {
  read_head();
  auto body = connection().read_body(deadline());
  set_local("resp.body", {body});
  if (is_json(body)) set_local("resp.json", {body, true});
}

// JSON or SSE: a client takes both.
void Client::read_answer() {
  read_head();
  set_local("answer", {});
  auto type = resolve("resp.header.content-type");
  if (!type || type->text.find("text/event-stream") == std::string::npos) {
    auto body = connection().read_body(deadline());
    set_local("resp.body", {body});
    if (is_json(body)) set_local("resp.json", {body, true});
    keep_message("answer", body);
    return;
  }
  while (auto item = connection().read_item(deadline())) {
    if (!item->comment && !item->data.empty()) keep_message("answer", item->data);
  }
}

bool Client::execute_http(const Command& command) {
  auto verb = command.verb();
  if (verb == "txreq") {
    std::optional<std::string> body;
    if (const Word* word = command.option("body")) {
      body = word->kind == Word::Kind::braces ? one_line(expand(*word)) : expand(*word);
    }
    send(build_request(arg(command, 0), arg(command, 1), {}, body, &command));
  } else if (verb == "rxhead") {
    read_head();
  } else if (verb == "rxresp") {
    read_response();
  } else if (verb == "rxanswer") {
    read_answer();
  } else if (verb == "rxevent" || verb == "rxcomment") {
    bool comment = verb == "rxcomment";
    for (;;) {
      auto item = connection().read_item(deadline());
      if (!item)
        fail(std::string("expected ") + (comment ? "a comment" : "an event") +
             "; came the end of the stream");
      if (comment != item->comment || (!comment && item->data.empty() && !command.flag("any"))) {
        if (comment) fail("expected a comment; came the event " + printable(item->text, 600));
        continue;
      }
      clear_locals("event.");
      set_local("event.comment", {item->text});
      set_local("event.data", {item->data});
      set_local("event.id", {item->id});
      set_local("event.type", {item->type});
      if (is_json(item->data)) set_local("event.json", {item->data, true});
      break;
    }
  } else if (verb == "rxend") {
    while (auto item = connection().read_item(deadline())) {
      if (!item->comment)
        fail("expected the end of the stream; came the event " + printable(item->text, 600));
    }
  } else {
    return false;
  }
  return true;
}

// Host, the given headers without -no-hdr, -hdr, Content-Length.
std::string Client::build_request(const std::string& method, const std::string& path, Headers headers,
                                  const std::optional<std::string>& body, const Command* edits) {
  connection();  // so that the address is known
  std::string out = method + " " + path + " HTTP/1.1\r\n";
  auto has = [&](std::string_view name, std::string_view option_name) {
    if (!edits) return false;
    for (const auto& option : edits->options) {
      auto text = option.value.text.substr(0, option.value.text.find(':'));
      if (option.name == option_name && strcasecmp(text.c_str(), std::string(name).c_str()) == 0) return true;
    }
    return false;
  };
  if (!has("Host", "hdr") && !(edits && edits->flag("no-host"))) out += "Host: " + address_ + "\r\n";
  for (const auto& header : always_) {
    if (!has(header.substr(0, header.find(':')), "no-hdr")) out += header + "\r\n";
  }
  for (const auto& [name, value] : headers) {
    if (!has(name, "no-hdr") && !has(name, "hdr")) out += name + ": " + value + "\r\n";
  }
  if (edits) {
    for (const auto& option : edits->options) {
      if (option.name == "hdr") out += expand(option.value) + "\r\n";
    }
  }
  bool framed = has("Content-Length", "hdr") || has("Transfer-Encoding", "hdr");
  if (body && !framed) out += "Content-Length: " + std::to_string(body->size()) + "\r\n";
  return out + "\r\n" + body.value_or("");
}

}  // namespace lineward::wire
