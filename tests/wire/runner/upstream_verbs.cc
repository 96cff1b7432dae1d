// The verbs of an upstream's block; run on the instance's own thread.
#include <fmt/format.h>
#include <signal.h>

#include <regex>

#include "json_raw.h"
#include "upstream.h"

namespace lineward::wire {

using namespace std::chrono_literals;

void Instance::block_loop() {
  try {
    run_block(*block_);
    done_ = true;
    after_block();
  } catch (const Failure& failure) {
    run_.fail(failure.line, name_ + ": " + failure.what());
  } catch (const Stopped&) {
  } catch (const std::exception& other) {
    run_.fail(line(), name_ + ": " + other.what());
  }
  done_ = true;
}

// The block is over: the process lives until its stdin ends, and nothing more may come for it.
void Instance::after_block() {
  for (;;) {
    Event event;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !events_.empty(); });
      event = std::move(events_.front());
      events_.pop_front();
    }
    if (event.kind == Event::Kind::gone) return;
    if (event.kind == Event::Kind::input_end && !stays_) order(FrameKind::exit, "0", false);
    if (event.kind == Event::Kind::line && !run_.finished()) {
      fail("a message after the end of the block: " + printable(event.text, 400));
    }
  }
}

Instance::Event Instance::next(Clock::time_point deadline, std::string_view waiting_for, bool skip_signals) {
  std::unique_lock lock(mutex_);
  for (;;) {
    while (events_.empty()) {
      if (run_.stopped()) throw Stopped{};
      if (Clock::now() >= deadline) fail(fmt::format("waited for {}; nothing came", waiting_for));
      changed_.wait_until(lock, std::min(deadline, Clock::now() + 50ms));
    }
    Event event = std::move(events_.front());
    events_.pop_front();
    if (event.kind == Event::Kind::gone) events_.push_back(event);  // it stays true
    if (event.kind != Event::Kind::signal || !skip_signals) return event;
  }
}

std::string Instance::next_line(std::string_view waiting_for) {
  auto event = next(deadline(), waiting_for);
  if (event.kind == Event::Kind::input_end)
    fail(fmt::format("expected {}; came the end of stdin", waiting_for));
  if (event.kind == Event::Kind::gone) fail(fmt::format("expected {}; the process was ended", waiting_for));
  return std::move(event.text);
}

void Instance::keep(const Command& command, const std::string& as, const std::string& text) {
  Value value{text, is_json(text)};
  set_local(as, value);
  if (!command.flag("as")) return;
  const auto name = option(command, "as");
  set_local(name, value);  // in this block it is what came here, whatever another block calls so
  run_.set(name, value);
}

std::string Instance::id_of(const Command& command) const {
  const Word* word = command.option("to");
  if (!word) fail("-to is missing");
  auto id = resolve(word->text + ".id");
  if (!id) fail("'" + word->text + "' has no id (yet)");
  return id->text;
}

void Instance::recv_cancel(const Command& command) {
  auto of = option(command, "of");
  auto id = resolve(of + ".id");
  if (!id) fail("'" + of + "' has no id (yet)");
  auto text = next_line("notifications/cancelled for " + of);
  keep(command, "notify", text);
  auto need = [&](bool holds, const char* what) {
    if (!holds) fail(fmt::format("expected {}; came {}", what, printable(text, 600)));
  };
  need(find_raw(text, {"method"}) == "\"notifications/cancelled\"" && !find_raw(text, {"id"}),
       "notifications/cancelled");
  auto what = "params.requestId " + id->text;
  need(find_raw(text, {"params", "requestId"}) == id->text, what.c_str());
  auto reason = find_raw(text, {"params", "reason"});
  auto words = reason ? json_string(*reason) : std::nullopt;
  need(words && !words->empty(), "a params.reason that says something");
  if (command.flag("reason")) {
    need(std::regex_search(*words, std::regex(option(command, "reason"))),
         "a params.reason that matches -reason");
  }
  if (command.flag("modern")) {
    const std::string prefix = "io.modelcontextprotocol/";
    need(find_raw(text, {"params", "_meta", prefix + "protocolVersion"}) == "\"2026-07-28\"",
         "_meta protocolVersion");
    need(find_raw(text, {"params", "_meta", prefix + "clientCapabilities"}).has_value(),
         "_meta clientCapabilities");
  }
}

void Instance::expect_killed() {
  for (;;) {
    auto event = next(deadline(), "the end of the process");
    if (event.kind == Event::Kind::gone) return;
    if (event.kind == Event::Kind::line)
      fail("expected the end of the process; came " + printable(event.text, 400));
  }
}

void Instance::await_gone() {
  std::unique_lock lock(mutex_);
  while (!gone_) {
    if (run_.stopped()) throw Stopped{};
    if (Clock::now() >= deadline()) fail("the process does not end");
    changed_.wait_for(lock, 50ms);
  }
}

bool Instance::execute_send(const Command& command) {
  auto verb = command.verb();
  const std::string head = R"({"jsonrpc":"2.0",)";
  auto raw = [&](size_t index) { return one_line(arg(command, index)); };
  auto params = [&](size_t index) { return index < command.args.size() ? ",\"params\":" + raw(index) : ""; };
  auto out = [&](const std::string& bytes) {
    run_.record(name_, '>', bytes);
    order(FrameKind::output, bytes);
  };
  if (verb == "sendline") {
    auto text = command.args[0].kind == Word::Kind::braces ? raw(0) : arg(command, 0);
    out(text + "\n");
  } else if (verb == "sendbytes") {
    out(arg(command, 0));
  } else if (verb == "sendhex") {
    out(from_hex(arg(command, 0), line()));
  } else if (verb == "sendsplit") {
    auto step = static_cast<size_t>(std::max(1, Peer::number(command, 0)));
    auto text = raw(1) + "\n";
    run_.record(name_, '>', fmt::format("({} at a time) {}", step, text));
    for (size_t at = 0; at < text.size(); at += step)
      order(FrameKind::paced, text.substr(at, step));
  } else if (verb == "sendresult") {
    out(head + "\"id\":" + id_of(command) + ",\"result\":" + raw(0) + "}\n");
  } else if (verb == "senderror") {
    out(head + "\"id\":" + id_of(command) + ",\"error\":{\"code\":" + arg(command, 0) +
        ",\"message\":" + json_quote(arg(command, 1)) + "}}\n");
  } else if (verb == "sendnotify") {
    out(head + "\"method\":" + json_quote(arg(command, 0)) + params(1) + "}\n");
  } else if (verb == "sendrequest") {
    auto id = command.args[0].kind == Word::Kind::quoted ? json_quote(arg(command, 0)) : arg(command, 0);
    out(head + "\"id\":" + id + ",\"method\":" + json_quote(arg(command, 1)) + params(2) + "}\n");
  } else if (verb == "sendprogress") {
    auto of = command.flag("to") ? command.option("to")->text : "";
    auto token = resolve(of + ".params._meta.progressToken");
    if (!token) fail("'" + of + "' has no progress token");
    out(head + "\"method\":\"notifications/progress\",\"params\":{\"progressToken\":" + token->text +
        ",\"progress\":" + arg(command, 0) + "}}\n");
  } else {
    return false;
  }
  return true;
}

void Instance::execute(const Command& command) {
  if (execute_send(command)) return;
  auto verb = command.verb();
  if (verb == "recvline") {
    keep(command, "line", next_line("a line"));
  } else if (verb == "recvcall" || verb == "recvnotify") {
    bool call = verb == "recvcall";
    auto wanted = arg(command, 0, "");
    auto what = std::string(call ? "a request " : "the notification ") + wanted;
    auto text = next_line(what);
    auto method = find_raw(text, {"method"});
    bool right = method && find_raw(text, {"id"}).has_value() == call && is_json(text);
    if (!right || (!wanted.empty() && json_string(*method) != wanted)) {
      fail(fmt::format("expected {}; came {}", what, printable(text, 600)));
    }
    keep(command, call ? "call" : "notify", text);
  } else if (verb == "recvresponse") {
    auto text = next_line("a response");
    auto id = find_raw(text, {"id"});
    auto wanted = command.args.empty()                         ? ""
                  : command.args[0].kind == Word::Kind::quoted ? json_quote(arg(command, 0))
                                                               : arg(command, 0);
    if (!id || find_raw(text, {"method"}) || (!wanted.empty() && *id != wanted)) {
      fail(fmt::format("expected the response {}; came {}", wanted, printable(text, 600)));
    }
    keep(command, "response", text);
  } else if (verb == "recvcancel") {
    recv_cancel(command);
  } else if (verb == "expect-none") {
    auto until = std::min(deadline(), Clock::now() + std::chrono::milliseconds(Peer::number(command, 0)));
    std::unique_lock lock(mutex_);
    while (events_.empty() && Clock::now() < until && !run_.stopped())
      changed_.wait_until(lock, until);
    if (!events_.empty()) {
      const auto& event = events_.front();
      fail("expected nothing; came " +
           (event.kind == Event::Kind::line ? printable(event.text, 600) : "an end or signal"));
    }
  } else if (verb == "expect-eof") {
    auto event = next(deadline(), "the end of stdin");
    if (event.kind != Event::Kind::input_end)
      fail("expected the end of stdin; came " + printable(event.text, 600));
  } else if (verb == "expect-term") {
    auto event = next(deadline(), "SIGTERM", false);
    if (event.kind == Event::Kind::input_end) event = next(deadline(), "SIGTERM", false);
    if (event.kind != Event::Kind::signal || event.text != std::to_string(SIGTERM)) {
      fail("expected SIGTERM; came " + (event.text.empty() ? "an end" : printable(event.text, 600)));
    }
  } else if (verb == "expect-killed") {
    expect_killed();
  } else if (verb == "exit") {
    order(FrameKind::exit, arg(command, 0), false);
    await_gone();
  } else if (verb == "kill") {
    ::kill(pid_, SIGKILL);
    await_gone();
  } else if (verb == "closestdout") {
    order(FrameKind::close_output);
  } else if (verb == "ignoreterm") {
    stays_ = true;
    order(FrameKind::ignore_term);
  } else if (verb == "reading") {
    order(FrameKind::reading, arg(command, 0));
  } else if (verb == "fork-sleeper") {
    order(FrameKind::sleeper,
          std::string(command.flag("setsid") ? "s" : "") + (command.flag("hold-stdout") ? "o" : ""));
  } else if (verb == "stderr") {
    order(FrameKind::error_output, arg(command, 0) + "\n");
  } else {
    fail("the verb " + std::string(verb) + " is not possible here");
  }
}

}  // namespace lineward::wire
