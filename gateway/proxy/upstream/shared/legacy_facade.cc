#include "proxy/upstream/shared/legacy_facade.h"

#include <fmt/format.h>

#include <utility>

#include "config/config.h"
#include "foundation/json/json_scan.h"
#include "protocol/mcp/errors.h"
#include "protocol/mcp/targets.h"

namespace lineward::upstream {

using mcp::Field;
using mcp::Method;

LegacyFacade::LocalAnswer LegacyFacade::answer(const core::UpstreamRequest& request,
                                               const mcp::LegacyServer& server,
                                               const std::string& initialize_result,
                                               const LowestLogLevel& level) const {
  std::string text;
  if (request.client_era == mcp::Era::modern) {
    text = mcp::answer_in_its_place(request.method, server);
  } else if (request.method == Method::initialize) {
    text = fmt::format(R"({{"jsonrpc":"2.0","id":0,"result":{}}})", initialize_result);
  } else if (request.method == Method::logging_set_level && !level.is_lowered_by(request.message)) {
    text = R"({"jsonrpc":"2.0","id":0,"result":{}})";
  }
  if (text.empty()) return std::nullopt;
  if (auto answer = mcp::Message::parse(std::move(text))) {
    if (!answer->is_string(Field::result_protocol_version)) return std::move(*answer);
    const std::string agreed = answer->text(Field::result_protocol_version);
    const std::string wanted = request.message.text(Field::params_protocol_version);
    const std::string_view told = mcp::told_revision(wanted, agreed, request.wire());
    if (told == agreed) return std::move(*answer);
    json::Splice splice = answer->splice();
    splice.replace(answer->at(Field::result_protocol_version), json::quote(told));
    return mcp::Message::parse(splice.apply()).value();
  }
  return Unexpected<core::Failure>{{mcp::EndReason::upstream_protocol,
                                    fmt::format("{} answered initialize with no result", server_.name)}};
}

bool LegacyFacade::wants_log_line(const core::UpstreamRequest& request, const mcp::Message& line) {
  auto level = mcp::log_level(line.text(Field::params_level));
  if (request.client_era != mcp::Era::modern) {
    auto wished = mcp::log_level(request.log_wish.level);
    return !wished || !level || *level >= *wished;
  }
  auto wanted = mcp::log_level(request.message.text(Field::meta_log_level));
  return wanted && level && *level >= *wanted;
}

std::string LegacyFacade::roots(const mcp::Message& question) const {
  std::string roots;
  for (const auto& root : server_.roots) {
    roots += fmt::format(R"({}{{"uri":{}}})", roots.empty() ? "" : ",", json::quote(root));
  }
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{"roots":[{}]}}}})", question.raw(Field::id),
                     roots);
}

std::string LegacyFacade::nobody_to_ask(const mcp::Message& question, std::string_view place) {
  return mcp::error_message(question.raw(Field::id), mcp::kMethodNotFound,
                            fmt::format("no single client stands behind this {}", place));
}

void LegacyFacade::remember(const core::UpstreamRequest& request) {
  const mcp::Message& message = request.message;
  switch (request.method) {
    case Method::logging_set_level: level_params_ = mcp::level_params(message); break;
    case Method::resources_subscribe:
      if (subscriptions_.size() < mcp::kMaxSubscriptions)
        subscriptions_.insert(message.text(Field::params_uri), request.account());
      break;
    case Method::resources_unsubscribe: subscriptions_.erase(message.text(Field::params_uri)); break;
    default: break;
  }
}

void LegacyFacade::replay(ListenServer& to) const {
  if (!level_params_.empty()) to.send_own("logging/setLevel", level_params_, nullptr);
  for (const std::string& uri : subscriptions_)
    to.send_own("resources/subscribe", mcp::uri_params(uri), nullptr);
}

void LegacyFacade::tell(std::vector<std::string> notices, core::ScopeCallbacks* const& scope) {
  for (std::string& notice : notices) {
    auto message = mcp::Message::parse(std::move(notice));
    if (message && scope != nullptr) scope->on_scope_message(std::move(*message), std::nullopt);
  }
}

void LegacyFacade::tell_state_is_gone(const mcp::LegacyServer& server,
                                      core::ScopeCallbacks* const& scope) const {
  tell(mcp::notices_of_lost_state(server, server_.name, level_params_), scope);
}

void LegacyFacade::tell_restarted(core::ScopeCallbacks* const& scope) const {
  tell(mcp::notices_of_lost_state(mcp::LegacyServer(), server_.name, {}), scope);
}

void LegacyFacade::tell_changes(const mcp::LegacyServer& server, core::ScopeCallbacks* const& scope) const {
  std::vector<std::string> notices = mcp::notices_of_changed_lists(server);
  for (const std::string& uri : subscriptions_) {
    notices.push_back(
        fmt::format(R"({{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{}}})",
                    mcp::uri_params(uri)));
  }
  tell(std::move(notices), scope);
}

std::string LowestLogLevel::lower_for(const core::UpstreamRequest& request, const mcp::LegacyServer& server) {
  const bool modern = request.client_era == mcp::Era::modern;
  // A default level does not lower the server's level if no level was requested before.
  if (!modern && !request.log_wish.is_said && level_ == kNobodys) return {};
  const std::string name = modern ? request.message.text(Field::meta_log_level) : request.log_wish.level;
  auto wanted = mcp::log_level(name);
  if (!wanted || *wanted >= level_ || !server.logging) return {};
  level_ = *wanted;
  return fmt::format(R"({{"level":"{}"}})", name);
}

void LowestLogLevel::want(const core::UpstreamRequest& request, ListenServer& server) {
  const std::string params = lower_for(request, server.legacy_server());
  if (!params.empty()) server.send_own("logging/setLevel", params, nullptr);
}

bool LowestLogLevel::is_lowered_by(const mcp::Message& set_level) const {
  auto level = mcp::log_level(set_level.text(Field::params_level));
  return !level || *level < level_;
}

void LowestLogLevel::is_set(const mcp::Message& set_level) {
  if (auto level = mcp::log_level(set_level.text(Field::params_level))) level_ = *level;
}

}  // namespace lineward::upstream
