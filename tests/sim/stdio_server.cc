#include "stdio_server.h"

#include <fmt/format.h>

#include <csignal>

#include "json_text.h"

namespace lineward::sim {

StdioServer::StdioServer(World& world, Ledger& ledger, const ServerPlan& plan, size_t index,
                         std::shared_ptr<Child> child)
    : world_(world),
      ledger_(ledger),
      plan_(plan),
      index_(index),
      child_(std::move(child)),
      out_(std::make_unique<Writer>(child_->out)) {}

void StdioServer::begin() {
  std::weak_ptr<StdioServer> weak = weak_from_this();
  world_.after(kMillisecond, [weak] {
    auto self = weak.lock();
    if (!self || self->dead_ || !self->child_) return;
    self->pid_ = self->world_.next_pid();
    self->world_.tell(fmt::format("s{} process {} started", self->index_, self->pid_));
    self->world_.in_home(self->child_->home, [child = self->child_, pid = self->pid_] {
      if (child->on_started) child->on_started(pid);
    });
  });
  world_.after(kMillisecond + plan_.start, [weak] {
    auto self = weak.lock();
    if (!self || self->dead_ || !self->child_) return;
    self->ready_ = true;
    self->child_->in->from_gateway.on_ready = [weak] {
      if (auto here = weak.lock()) here->read();
    };
    self->read();
  });
}

void StdioServer::stall(Time until) {
  if (!child_) return;
  child_->in->from_gateway.stall(until);
  child_->out->to_gateway.stall(until);
}

void StdioServer::read() {
  auto self = shared_from_this();
  Way& in = child_->in->from_gateway;
  while (!dead_ && !in.ready().empty()) {
    if (buffer_.empty()) line_began_ = in.next_was_written();
    const std::string_view ready = in.ready();
    const size_t end = ready.find('\n');
    buffer_ += ready.substr(0, end == std::string_view::npos ? end : end + 1);
    in.take(end == std::string_view::npos ? ready.size() : end + 1);
    if (end == std::string_view::npos) continue;
    std::string text = std::move(buffer_);
    buffer_.clear();
    text.pop_back();
    line(text, line_began_);
  }
  if (!dead_ && in.at_end() && !plan_.ignores_end) {
    std::weak_ptr<StdioServer> weak = weak_from_this();
    world_.after(plan_.exit_delay, [weak] {
      if (auto here = weak.lock()) here->exit(0, 0);
    });
  }
}

void StdioServer::line(const std::string& text, Time sent) {
  Json message = read_json(text);
  if (!message.is_object())
    return ledger_.violation("a line for a server is no JSON object", text.substr(0, 200));
  const std::string method = message.value("method", "");
  const std::string id = message.contains("id") ? message["id"].dump() : "";
  if (world_.telling())
    world_.tell(fmt::format("s{} process {} reads {} {}", index_, pid_, method,
                            tag_in(text) + (id.empty() ? "" : " id " + id)));
  if (method == "notifications/cancelled") {
    const Json& params = message["params"];
    const std::string of = params["requestId"].dump();
    if (params.contains("_meta") && !plan_.modern)
      ledger_.violation("a legacy server is told a cancel with an envelope", text);
    if (plan_.modern && !params.contains("_meta"))
      ledger_.violation("a modern server is told a cancel without an envelope", text);
    if (listens_.erase(of) > 0) return;
    auto found = scripts_.find(of);
    if (found == scripts_.end()) return;
    Attempt& attempt = found->second->attempt();
    ++attempt.cancels;
    attempt.was_full = attempt.was_full || child_->in->from_gateway.was_full();
    attempt.cancel_sent = attempt.cancels == 1 ? sent : attempt.cancel_sent;
    attempt.cancel_received = world_.now();
    found->second->cancelled();
    return;
  }
  if (method.empty() && !id.empty()) {
    for (auto& [known, script] : scripts_) {
      (void)known;
      if (script->asks() == id) return script->replied(message);
    }
    return;
  }
  if (method.empty() || id.empty()) return;
  if (method == "initialize" && !plan_.modern) {
    asks_ = message["params"]["capabilities"].contains("elicitation");
    const std::string version = message["params"].value("protocolVersion", "2025-11-25");
    return write(reply(
        id,
        fmt::format(
            R"({{"protocolVersion":"{}","capabilities":{{"tools":{{"listChanged":true}},"prompts":{{"listChanged":true}},"resources":{{"subscribe":true}}}},"serverInfo":{{"name":"sim","version":"1"}}}})",
            version)));
  }
  if (method == "server/discover" && plan_.dies_of_the_probe) return exit(1, 0);
  if (method == "tools/call") return call(message, text, sent);
  if (method == "subscriptions/listen" && plan_.modern) {
    const Json& wanted = object_in(object_in(message, "params"), "notifications");
    Listen& listen = listens_[id];
    for (const Json& uri : member_of(wanted, "resourceSubscriptions"))
      listen.uris.push_back(uri);
    listen.tools = wanted.value("toolsListChanged", false) || plan_.tells_all;
    listen.prompts = wanted.value("promptsListChanged", false) || plan_.tells_all;
    if (plan_.tells_all) listen.uris.push_back(uri_of(kNoClient));
    return write(acknowledged(wanted, id));
  }
  if (method == "resources/subscribe") uris_[message["params"].value("uri", "")] = true;
  if (method == "resources/unsubscribe") uris_.erase(message["params"].value("uri", ""));
  write(answer_to(plan_, method, id, asker_of(message), world_.now()));
}

void StdioServer::call(const Json& message, const std::string& text, Time sent) {
  const std::string id = message["id"].dump();
  const Json& params = object_in(message, "params");
  CallRecord* record = ledger_.find(tag_in(text));
  if (record == nullptr) return ledger_.violation("a server is called by nobody", text.substr(0, 300));
  if (params.value("name", "") != tool_of(*record->plan) || record->plan->server != index_)
    ledger_.violation("a call came to another server or tool than it was for", text.substr(0, 300));
  if (text.find(arguments_of(*record->plan)) == std::string::npos)
    ledger_.violation("arguments were changed on their way", record->plan->tag + " " + text.substr(0, 300));
  if (scripts_.count(id) != 0) ledger_.violation("an id was given to two calls of a process", id);
  record->attempts.push_back(std::make_unique<Attempt>());
  Attempt& attempt = *record->attempts.back();
  attempt.received = world_.now();
  attempt.sent = sent;
  attempt.was_full = child_->in->from_gateway.was_full();
  attempt.server = index_;
  const Json& meta = object_in(params, "_meta");
  const std::string token = meta.contains("progressToken") ? member_of(meta, "progressToken").dump() : "";
  auto script = std::make_unique<Script>(world_, ledger_, *this, plan_.modern, *record, attempt, id, token);
  if (plan_.modern)
    attempt.may_be_asked =
        object_in(meta, "io.modelcontextprotocol/clientCapabilities").contains("elicitation");
  Script& started = *script;
  scripts_[id] = std::move(script);
  started.begin(params);
}

void StdioServer::pulse() {
  if (dead_ || !ready_) return;
  for (const auto& [id, listen] : listens_) {
    for (const auto& uri : listen.uris)
      write(updated(uri, id));
    if (listen.tools) write(list_changed("tools", id));
    if (listen.prompts) write(list_changed("prompts", id));
  }
  if (plan_.modern) return;
  for (const auto& [uri, on] : uris_) {
    (void)on;
    write(updated(uri, {}));
  }
  write(list_changed("tools", {}));
  write(list_changed("prompts", {}));
}

void StdioServer::send(Script&, std::string message, bool, std::function<void()> read) {
  write(message);
  if (read) out_->when_read(std::move(read));
}

void StdioServer::garbage(Script&) {
  out_->write("listening on nothing, and pleased with it\n");
}

void StdioServer::die(Script&) {
  exit(3, 0);
}

// Kept: a cancel that comes later must find it. The process's end is its end.
void StdioServer::over(Script&) {}

void StdioServer::told(char signal) {
  if (dead_) return;
  world_.tell(fmt::format("s{} process {} is told {}", index_, pid_, signal));
  if (signal == 'T' && plan_.ignores_term) return;
  std::weak_ptr<StdioServer> weak = weak_from_this();
  world_.after(signal == 'T' ? plan_.exit_delay : 100, [weak, signal] {
    if (auto self = weak.lock()) self->exit(0, signal == 'T' ? SIGTERM : SIGKILL);
  });
}

void StdioServer::exit(int code, int signal) {
  if (dead_ || !child_) return;
  dead_ = true;
  auto self = shared_from_this();
  world_.tell(fmt::format("s{} process {} exits", index_, pid_));
  for (auto& [id, script] : scripts_) {
    (void)id;
    if (script->attempt().died < 0) script->attempt().died = world_.now();
  }
  child_->in->from_gateway.close_reader();
  child_->in->from_gateway.on_ready = nullptr;
  out_->end();
  child_->err->to_gateway.end();
  auto child = std::move(child_);
  Random random(world_.seed(), "exit", static_cast<uint64_t>(pid_));
  world_.after(random.between(0, 3 * kMillisecond), [self, child, code, signal] {
    const bool unknown = self->pid_ == 0;
    if (unknown) self->pid_ = self->world_.next_pid();
    self->world_.in_home(child->home, [child, code, signal, started = unknown ? self->pid_ : 0] {
      if (started != 0 && child->on_started) child->on_started(started);
      if (child->on_exited) child->on_exited(code, signal);
      if (child->on_gone) child->on_gone();
      child->program = nullptr;
    });
    // It does not run any more; this may be the last reference to it.
    self->world_.after(0, [self] { self->scripts_.clear(); });
  });
}

}  // namespace lineward::sim
