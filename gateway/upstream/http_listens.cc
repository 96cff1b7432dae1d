#include "upstream/http_listens.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_member.h"
#include "mcp/rewrite.h"

namespace lineward::upstream {
namespace {

using mcp::Field;
using mcp::Method;

constexpr size_t kMostUris = 1000;  // in one listen

// Does a listen's filter ask for this type of list?
bool asked(std::string_view filter, std::string_view name) {
  return json::member(filter, name) == "true";
}

std::string uri_params(const std::string& uri) {
  return fmt::format(R"({{"uri":{}}})", json::quote(uri));
}

}  // namespace

HttpListens::Listen* HttpListens::find(const ListenCall* call) {
  auto found = std::find_if(listens_.begin(), listens_.end(), [&](const auto& l) { return l->call == call; });
  return found == listens_.end() ? nullptr : found->get();
}

void HttpListens::open(ListenCall& call, ListenServer& server) {
  const mcp::LegacyServer& told = server.legacy_server();
  std::string_view filter = call.listen_request().raw(Field::params_notifications);
  auto listen = std::make_unique<Listen>();
  listen->call = &call;
  listen->tools = asked(filter, "toolsListChanged") && told.tools_list_changed;
  listen->prompts = asked(filter, "promptsListChanged") && told.prompts_list_changed;
  listen->resources = asked(filter, "resourcesListChanged") && told.resources_list_changed;
  if (auto uris = json::member(filter, "resourceSubscriptions"); uris && told.resources_subscribe) {
    for (auto& uri : mcp::string_array(*uris)) {
      if (listen->wanted.size() < kMostUris) listen->wanted.insert(std::move(uri));
    }
  }
  Listen& opened = *listens_.emplace_back(std::move(listen));
  call.phase(core::CallPhase::written);
  subscribe(opened, server);
}

void HttpListens::subscribe(Listen& listen, ListenServer& server) {
  listen.outstanding = listen.wanted.size();
  listen.granted.clear();
  if (listen.wanted.empty()) return acknowledge(listen);
  // A copy: an answer for what is subscribed already comes at once.
  for (const std::string& uri : std::set<std::string>(listen.wanted)) {
    if (subscribed_.count(uri) > 0) {
      answered(listen.call, uri, true);
      continue;
    }
    server.send_own("resources/subscribe", uri_params(uri),
                    [this, alive = alive_, call = listen.call, uri](const mcp::Message& answer) {
                      if (*alive) answered(call, uri, answer.kind() == mcp::MessageKind::result);
                    });
  }
}

void HttpListens::answered(const ListenCall* call, const std::string& uri, bool granted) {
  Listen* listen = find(call);
  if (listen == nullptr) return;
  if (granted && listen->granted.insert(uri).second) subscribed_.insert(uri);
  if (listen->outstanding > 0 && --listen->outstanding == 0) acknowledge(*listen);
}

void HttpListens::acknowledge(Listen& listen) {
  if (listen.acknowledged) return;
  listen.acknowledged = true;
  std::string honoured;
  auto add = [&](std::string member) { honoured += (honoured.empty() ? "" : ",") + std::move(member); };
  if (listen.tools) add(R"("toolsListChanged":true)");
  if (listen.prompts) add(R"("promptsListChanged":true)");
  if (listen.resources) add(R"("resourcesListChanged":true)");
  if (!listen.granted.empty()) {
    std::string uris;
    for (const auto& uri : listen.granted)
      uris += (uris.empty() ? "" : ",") + json::quote(uri);
    add(R"("resourceSubscriptions":[)" + uris + "]");
  }
  send(listen, "notifications/subscriptions/acknowledged",
       fmt::format(R"("notifications":{{{}}})", honoured));
}

// The subscription id is put in by the exchange, which knows the client's.
void HttpListens::send(Listen& listen, std::string_view method, std::string_view params_members) {
  auto message = mcp::Message::parse(fmt::format(
      R"({{"jsonrpc":"2.0","method":"{}","params":{{{}{}"_meta":{{"io.modelcontextprotocol/subscriptionId":0}}}}}})",
      method, params_members, params_members.empty() ? "" : ","));
  if (message) listen.call->message(std::move(*message));
}

bool HttpListens::wants(const Listen& listen, const mcp::Message& notification) {
  if (!listen.acknowledged) return false;
  switch (mcp::method_of(notification.method())) {
    case Method::tools_list_changed: return listen.tools;
    case Method::prompts_list_changed: return listen.prompts;
    case Method::resources_list_changed: return listen.resources;
    case Method::resources_updated: return listen.granted.count(notification.text(Field::params_uri)) > 0;
    default: return false;
  }
}

bool HttpListens::notify(const mcp::Message& notification) {
  // A listen may end while it is told: walk a list of their calls.
  std::vector<ListenCall*> concerned;
  for (auto& listen : listens_) {
    if (wants(*listen, notification)) concerned.push_back(listen->call);
  }
  for (ListenCall* call : concerned) {
    if (find(call) == nullptr) continue;
    json::Splice splice = notification.splice();
    constexpr std::string_view kId = R"({"io.modelcontextprotocol/subscriptionId":0})";
    if (notification.is_object(Field::params_meta)) {
      splice.add_member(notification.at(Field::params_meta), "io.modelcontextprotocol/subscriptionId", "0");
    } else if (notification.is_object(Field::params)) {
      splice.add_member(notification.at(Field::params), "_meta", kId);
    } else {
      splice.insert(notification.at(Field::method).end, fmt::format(R"(,"params":{{"_meta":{}}})", kId));
    }
    auto message = mcp::Message::parse(splice.apply());
    if (message) call->message(std::move(*message));
  }
  return !concerned.empty();
}

void HttpListens::close(ListenCall& call, ListenServer* server) {
  auto found =
      std::find_if(listens_.begin(), listens_.end(), [&](const auto& l) { return l->call == &call; });
  if (found == listens_.end()) return;
  std::set<std::string> granted = std::move((*found)->granted);
  listens_.erase(found);
  for (const auto& uri : granted) {
    auto one = subscribed_.find(uri);
    if (one == subscribed_.end()) continue;
    subscribed_.erase(one);
    if (subscribed_.count(uri) == 0 && server != nullptr)
      server->send_own("resources/unsubscribe", uri_params(uri), nullptr);
  }
}

void HttpListens::lost() {
  *alive_ = false;
  alive_ = std::make_shared<bool>(true);
  subscribed_.clear();
  for (auto& listen : listens_) {
    listen->granted.clear();
    listen->outstanding = 0;
  }
}

void HttpListens::restore(ListenServer& server) {
  for (ListenCall* call : calls()) {
    Listen* listen = find(call);
    if (listen == nullptr) continue;
    bool known = listen->acknowledged;
    subscribe(*listen, server);
    if (!known) continue;
    if (listen->tools) send(*listen, "notifications/tools/list_changed", "");
    if (listen->prompts) send(*listen, "notifications/prompts/list_changed", "");
    if (listen->resources) send(*listen, "notifications/resources/list_changed", "");
    for (const auto& uri : listen->wanted) {
      send(*listen, "notifications/resources/updated", fmt::format(R"("uri":{})", json::quote(uri)));
    }
  }
}

std::vector<ListenCall*> HttpListens::calls() const {
  std::vector<ListenCall*> out;
  for (const auto& listen : listens_)
    out.push_back(listen->call);
  return out;
}

}  // namespace lineward::upstream
