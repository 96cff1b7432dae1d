// What a server says that belongs to no single call by its id: the other half of upstream/instance_group.h.
#include <fmt/format.h>

#include "base/log.h"
#include "mcp/errors.h"
#include "upstream/instance_group.h"

namespace lineward::upstream {

using mcp::Field;
using mcp::Method;

void InstanceGroup::on_instance_message(StdioInstance& instance, mcp::Message message, StdioCall* only) {
  if (scope_ != nullptr) {
    return scope_->on_scope_message(std::move(message),
                                    only ? std::optional(only->request.tag) : std::nullopt);
  }
  if (message.kind() == mcp::MessageKind::request) return question(instance, std::move(message));
  Method method = mcp::method_of(message.method());
  if (method == Method::progress) {
    log::write(log::Level::info, "upstream.dropped", {{"upstream", server_.name}, {"kind", "unknown_token"}});
    return;
  }
  if (method == Method::cancelled) {
    // A server takes a question back.
    if (StdioCall* owner = plan_.exclusive ? instance.asking_call() : nullptr)
      owner->message(std::move(message));
    return;
  }
  if (listens_.notify(instance, message, loop_.now())) return;
  if (only != nullptr && method == Method::message) {
    // A modern call gets the log lines it asked for, at its level.
    auto wanted = mcp::log_level(only->request.message.text(Field::meta_log_level));
    auto level = mcp::log_level(message.text(Field::params_level));
    bool modern = only->request.client_era == mcp::Era::modern;
    if (!modern || (wanted && level && *level >= *wanted)) only->message(std::move(message));
    return;
  }
  log::write(log::Level::debug, "upstream.dropped", {{"upstream", server_.name}, {"kind", "unscoped"}});
}

// In front of a server that asks after its answers one ping between two calls is not enough to tell whose
// question it is: its processes are kept apart after each call from here on, as after a cancelled one.
void InstanceGroup::note_late_question(Method method, bool late) {
  if (!late || asks_late_ || method == Method::roots_list) return;
  asks_late_ = true;
  log::write(log::Level::info, "upstream.asks_late",
             {{"upstream", server_.name}, {"group", plan_.key.substr(0, 64)}});
}

// Its server is known to ask after it has answered: nobody else may be taken for whom it means.
bool InstanceGroup::kept_apart(const StdioInstance& instance) {
  if (!asks_late_ || loop_.now() >= instance.asked_until()) return false;
  if (!apart_timer_.running())
    apart_timer_.start(instance.asked_until() - loop_.now(), [this] { home_.schedule_pump(*this); });
  return true;
}

// A server's question where no session stands behind the process. The one call that may ask owns it.
void InstanceGroup::question(StdioInstance& instance, mcp::Message message) {
  Method method = mcp::method_of(message.method());
  bool known = method == Method::elicitation_create || method == Method::sampling_create_message ||
               method == Method::roots_list;
  // Without capabilities nothing but the only call in flight can have asked: it is told what was missing.
  bool may_own = known && (plan_.exclusive || method != Method::roots_list);
  const bool answered_lately = loop_.now() < instance.asked_until();
  StdioCall* owner = may_own ? instance.asking_call() : nullptr;
  if (plan_.exclusive) {
    note_late_question(method, answered_lately && instance.asking() == 0);
  } else if (answered_lately) {
    owner = nullptr;  // that one may be meant
  }
  if (owner != nullptr && owner->request.client_era == mcp::Era::modern)
    return owner->message(std::move(message));
  std::string answer;
  // While a cancelled call may still be at work, its late questions find nobody.
  bool late = plan_.exclusive && instance.asking() > 0;
  if (method == Method::roots_list && !late) {
    std::string roots;
    for (const auto& root : server_.roots) {
      roots += fmt::format(R"({}{{"uri":{}}})", roots.empty() ? "" : ",", json::quote(root));
    }
    answer = fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{"roots":[{}]}}}})", message.raw(Field::id),
                         roots);
  } else {
    answer = mcp::error_message(message.raw(Field::id), mcp::kMethodNotFound,
                                "no single client stands behind this process");
  }
  instance.answer_server(std::move(answer));
}

}  // namespace lineward::upstream
