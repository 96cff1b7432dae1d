#include "upstream/legacy_listens.h"

#include <fmt/format.h>

#include <utility>

#include "base/json_member.h"
#include "mcp/rewrite.h"

namespace lineward::upstream {
namespace {

using mcp::Field;
using mcp::Method;

constexpr size_t kMostUris = 1000;             // in one listen
constexpr size_t kMostSubscriptions = 100000;  // in all, those not answered yet among them

// What stands in a listen's filter: a list type asked for, or the URIs.
bool asked_for(std::string_view filter, std::string_view name) {
  return json::member(filter, name) == "true";
}

std::string uri_params(const std::string& uri) {
  return fmt::format(R"({{"uri":{}}})", json::quote(uri));
}

// The subscription id is put in by the exchange, which knows the client's.
std::string listen_notification(std::string_view method, std::string_view members) {
  return fmt::format(
      R"({{"jsonrpc":"2.0","method":"{}","params":{{{}{}"_meta":{{"io.modelcontextprotocol/subscriptionId":0}}}}}})",
      method, members, members.empty() ? "" : ",");
}

std::string with_subscription_id(const mcp::Message& notification) {
  json::Splice splice = notification.splice();
  constexpr std::string_view kId = R"({"io.modelcontextprotocol/subscriptionId":0})";
  if (notification.is_object(Field::params_meta)) {
    splice.add_member(notification.at(Field::params_meta), "io.modelcontextprotocol/subscriptionId", "0");
  } else if (notification.is_object(Field::params)) {
    splice.add_member(notification.at(Field::params), "_meta", kId);
  } else {
    splice.insert(notification.at(Field::method).end, fmt::format(R"(,"params":{{"_meta":{}}})", kId));
  }
  return splice.apply();
}

}  // namespace

void LegacyListens::deliver(ListenCall* call, const std::string& text) {
  if (listens_.count(call) == 0) return;
  auto message = mcp::Message::parse(text);
  if (message) call->message(std::move(*message));
}

void LegacyListens::open(ListenCall& call, ListenServer& server) {
  if (server_ == nullptr) server_ = &server;
  const mcp::LegacyServer& told = server_->legacy_server();
  std::string_view filter = call.listen_request().raw(Field::params_notifications);
  Listen listen;
  listen.tools = asked_for(filter, "toolsListChanged") && told.tools_list_changed;
  listen.prompts = asked_for(filter, "promptsListChanged") && told.prompts_list_changed;
  listen.resources = asked_for(filter, "resourcesListChanged") && told.resources_list_changed;
  if (auto uris = json::member(filter, "resourceSubscriptions"); uris && told.resources_subscribe) {
    for (auto& uri : mcp::string_array(*uris)) {
      bool room = subscriptions_.size() + listen.wanted.size() < kMostSubscriptions;
      if (room && listen.wanted.size() < kMostUris) listen.wanted.insert(std::move(uri));
    }
  }
  std::set<std::string> wanted = listen.wanted;
  listens_.emplace(&call, std::move(listen));
  for (const std::string& uri : wanted) {
    auto [subscription, is_new] = subscriptions_.try_emplace(uri);
    ++subscription->second.wishes;
    if (is_new) subscribe(uri);  // else it is there, or its answer decides
  }
  call.phase(core::CallPhase::written);
  acknowledge_ready();
}

void LegacyListens::subscribe(const std::string& uri) {
  subscriptions_[uri].state = State::asked;
  server_->send_own("resources/subscribe", uri_params(uri),
                    [this, alive = alive_, uri](const mcp::Message& answer) {
                      if (*alive) answered(uri, answer.kind() == mcp::MessageKind::result);
                    });
}

void LegacyListens::unsubscribe(const std::string& uri) {
  if (server_ == nullptr || !server_->is_ready()) {
    subscriptions_.erase(uri);
    return;
  }
  subscriptions_[uri].state = State::leaving;
  server_->send_own("resources/unsubscribe", uri_params(uri),
                    [this, alive = alive_, uri](const mcp::Message&) {
                      if (*alive) unsubscribed(uri);
                    });
}

void LegacyListens::answered(const std::string& uri, bool granted) {
  auto found = subscriptions_.find(uri);
  if (found == subscriptions_.end()) return;
  found->second.state = granted ? State::granted : State::refused;
  if (found->second.wishes > 0) return acknowledge_ready();
  if (granted) return unsubscribe(uri);  // all who wanted it have left meanwhile
  subscriptions_.erase(found);
}

void LegacyListens::unsubscribed(const std::string& uri) {
  auto found = subscriptions_.find(uri);
  if (found == subscriptions_.end()) return;
  if (found->second.wishes > 0) return subscribe(uri);  // somebody came meanwhile
  subscriptions_.erase(found);
}

// Acknowledges every listen whose subscriptions are all answered.
void LegacyListens::acknowledge_ready() {
  std::vector<std::pair<ListenCall*, std::string>> ready;
  for (auto& [call, listen] : listens_) {
    if (listen.acknowledged) continue;
    bool waiting = false;
    for (const auto& uri : listen.wanted) {
      State state = subscriptions_[uri].state;
      waiting = waiting || state == State::asked || state == State::leaving;
    }
    if (!waiting) ready.emplace_back(call, acknowledge(listen));
  }
  for (const auto& [call, text] : ready)
    deliver(call, text);
}

std::string LegacyListens::acknowledge(Listen& listen) const {
  listen.acknowledged = true;
  std::string honoured;
  auto add = [&](const std::string& member) { honoured += (honoured.empty() ? "" : ",") + member; };
  if (listen.tools) add(R"("toolsListChanged":true)");
  if (listen.prompts) add(R"("promptsListChanged":true)");
  if (listen.resources) add(R"("resourcesListChanged":true)");
  std::string uris;
  for (const auto& uri : listen.wanted) {
    auto found = subscriptions_.find(uri);
    if (found == subscriptions_.end() || found->second.state != State::granted) continue;
    listen.granted.insert(uri);
    uris += (uris.empty() ? "" : ",") + json::quote(uri);
  }
  if (!uris.empty()) add(R"("resourceSubscriptions":[)" + uris + "]");
  return listen_notification("notifications/subscriptions/acknowledged",
                             fmt::format(R"("notifications":{{{}}})", honoured));
}

bool LegacyListens::notify(const mcp::Message& notification) {
  Method method = mcp::method_of(notification.method());
  std::string uri = notification.text(Field::params_uri);
  std::vector<ListenCall*> to;
  for (const auto& [call, listen] : listens_) {
    bool wants = false;
    switch (method) {
      case Method::tools_list_changed: wants = listen.tools; break;
      case Method::prompts_list_changed: wants = listen.prompts; break;
      case Method::resources_list_changed: wants = listen.resources; break;
      case Method::resources_updated: wants = listen.granted.count(uri) > 0; break;
      default: break;
    }
    if (wants && listen.acknowledged) to.push_back(call);
  }
  if (to.empty()) return false;
  std::string text = with_subscription_id(notification);
  for (ListenCall* call : to)
    deliver(call, text);
  return true;
}

void LegacyListens::close(ListenCall& call) {
  auto found = listens_.find(&call);
  if (found == listens_.end()) return;
  std::set<std::string> wanted = std::move(found->second.wanted);
  listens_.erase(found);
  for (const auto& uri : wanted) {
    auto subscription = subscriptions_.find(uri);
    if (subscription == subscriptions_.end() || --subscription->second.wishes > 0) continue;
    if (subscription->second.state == State::granted) {
      unsubscribe(uri);
    } else if (subscription->second.state == State::refused || server_ == nullptr) {
      subscriptions_.erase(subscription);
    }
  }
}

void LegacyListens::fail_all(const core::Failure& failure) {
  std::vector<ListenCall*> calls;
  for (const auto& entry : listens_)
    calls.push_back(entry.first);
  for (ListenCall* call : calls) {
    if (listens_.count(call) == 0) continue;
    close(*call);
    call->fail(failure);
  }
}

void LegacyListens::lost(const ListenServer* server) {
  if (server != server_) return;
  server_ = nullptr;
  *alive_ = false;
  alive_ = std::make_shared<bool>(true);
  for (auto entry = subscriptions_.begin(); entry != subscriptions_.end();) {
    entry->second.state = State::asked;
    entry = entry->second.wishes > 0 ? std::next(entry) : subscriptions_.erase(entry);
  }
}

void LegacyListens::restore(ListenServer& server) {
  server_ = &server;
  std::vector<std::string> uris;
  for (const auto& entry : subscriptions_)
    uris.push_back(entry.first);
  for (const auto& uri : uris)
    subscribe(uri);
  std::vector<std::pair<ListenCall*, std::string>> changes;
  for (const auto& [call, listen] : listens_) {
    if (!listen.acknowledged) continue;
    auto change = [&, to = call](std::string_view method, std::string members = {}) {
      changes.emplace_back(to, listen_notification(method, members));
    };
    if (listen.tools) change("notifications/tools/list_changed");
    if (listen.prompts) change("notifications/prompts/list_changed");
    if (listen.resources) change("notifications/resources/list_changed");
    for (const auto& uri : listen.granted) {
      change("notifications/resources/updated", fmt::format(R"("uri":{})", json::quote(uri)));
    }
  }
  for (const auto& [call, text] : changes)
    deliver(call, text);
}

}  // namespace lineward::upstream
