#include "proxy/upstream/shared/legacy_listens.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "foundation/json/json_member.h"
#include "protocol/mcp/rewrite.h"
#include "protocol/mcp/targets.h"

namespace lineward::upstream {
namespace {

using mcp::Field;
using mcp::Method;
using std::chrono::milliseconds;

constexpr size_t kMaxInAll = 100000;  // subscriptions, pending ones included
// Maximum requests in progress per server; later ones are queued.
constexpr size_t kMaxUnderWay = 32;
// Identical notifications of several servers within this time are one change.
constexpr milliseconds kAlike{1000};

// Reads a listen's filter: whether a list type is requested.
bool asked_for(std::string_view filter, std::string_view name) {
  return json::member(filter, name) == "true";
}

// The exchange adds the subscription id, since it knows the client's id.
std::string listen_notification(std::string_view method, std::string_view members) {
  return fmt::format(R"({{"jsonrpc":"2.0","method":"{}","params":{{{}}}}})", method, members);
}

}  // namespace

LegacyListens::~LegacyListens() = default;

void LegacyListens::deliver_all(std::vector<ToldTo> all) {
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  for (const auto& one : all)
    deliver(one.call, one.text);
}

void LegacyListens::deliver(ListenCall* call, const std::string& text) {
  if (listens_.count(call) == 0) return;
  auto message = mcp::Message::parse(text);
  if (message) call->message(std::move(*message));
}

// ---- servers ----

LegacyListens::Server* LegacyListens::find(const ListenServer* server) const {
  for (const auto& one : servers_) {
    if (one->server == server) return one.get();
  }
  return nullptr;
}

LegacyListens::Server& LegacyListens::joined(ListenServer& server) {
  if (Server* known = find(&server)) return *known;
  servers_.push_back(std::make_unique<Server>());
  Server& one = *servers_.back();
  one.server = &server;
  one.number = next_server_++;
  for (const auto& [uri, wishes] : wishes_)
    subscribe(one, uri);
  return one;
}

void LegacyListens::join(ListenServer& server) {
  Server& one = joined(server);
  if (!std::exchange(gap_, false)) return;
  for (const auto& [uri, state] : one.uris) {
    if (state == State::asked) one.restoring.insert(uri);
  }
  const bool restored = one.restoring.empty();
  look_again();
  if (restored) tell_changes();
}

void LegacyListens::lost(const ListenServer* server) {
  auto found =
      std::find_if(servers_.begin(), servers_.end(), [&](const auto& one) { return one->server == server; });
  if (found == servers_.end()) return;
  for (auto& [what, told] : told_)
    told.by.erase((*found)->number);
  const bool changes_untold = !(*found)->restoring.empty();
  servers_.erase(found);
  if (!servers_.empty()) {
    look_again();  // its answer may have been awaited
    if (changes_untold) tell_changes();
    return;
  }
  told_.clear();
  gap_ = !listens_.empty();
}

// ---- listens ----

void LegacyListens::open(ListenCall& call, ListenServer& server) {
  joined(server);
  const mcp::LegacyServer& told = server.legacy_server();
  std::string_view filter = call.listen_request().raw(Field::params_notifications);
  Listen listen;
  listen.number = ++last_listen_;
  listen.tools = asked_for(filter, "toolsListChanged") && told.tools_list_changed;
  listen.prompts = asked_for(filter, "promptsListChanged") && told.prompts_list_changed;
  listen.resources = asked_for(filter, "resourcesListChanged") && told.resources_list_changed;
  // Independent of the declared capability: the SDK for Python always declares none, and serves
  // subscriptions.
  if (auto uris = json::member(filter, "resourceSubscriptions")) {
    for (auto& uri : mcp::string_array(*uris)) {
      bool room = wishes_.size() + listen.wanted.size() < kMaxInAll;
      if (room && listen.wanted.size() < mcp::kMaxSubscriptions)
        listen.wanted.insert(text_of(std::move(uri)));
    }
  }
  listen.needs_server = !call.is_of_session() || !listen.wanted.empty();
  needing_ += listen.needs_server ? 1 : 0;
  const CountedSet wanted = listen.wanted;
  Listen& opened = listens_.emplace(&call, std::move(listen)).first->second;
  for (const SharedText& uri : wanted) {
    if (++wishes_[uri] > 1) continue;
    for (auto& one : servers_) {
      // Otherwise a pending answer decides, or it is subscribed still.
      auto known = one->uris.find(uri->text());
      if (known == one->uris.end() || known->second == State::refused) subscribe(*one, uri);
    }
  }
  for (const SharedText& uri : wanted) {
    if (is_open(uri)) opened.open.insert(uri);
  }
  call.phase(core::CallPhase::written);
  acknowledge_ready();
}

SharedText LegacyListens::text_of(std::string uri) const {
  if (auto known = wishes_.find(uri); known != wishes_.end()) return known->first;
  return shared_text(std::move(uri));
}

void LegacyListens::subscribe(Server& server, const SharedText& uri) {
  server.uris[uri] = State::asked;
  server.to_ask.push_back(uri);
  ask_more(server);
}

void LegacyListens::unsubscribe(Server& server, const SharedText& uri) {
  if (!server.server->is_ready()) {
    server.uris.erase(uri->text());
    return;
  }
  server.uris[uri] = State::leaving;
  server.to_ask.push_back(uri);
  ask_more(server);
}

void LegacyListens::ask_more(Server& server) {
  std::vector<SharedText> there_still;
  bool restored = false;
  while (server.under_way < kMaxUnderWay && !server.to_ask.empty()) {
    const SharedText uri = std::move(server.to_ask.front());
    server.to_ask.pop_front();
    auto state = server.uris.find(uri->text());
    if (state == server.uris.end()) continue;
    const bool wanted = wishes_.contains(uri->text());
    if (state->second == State::asked && wanted) {
      ask(server, uri, "resources/subscribe", &LegacyListens::answered);
    } else if (state->second == State::asked) {
      server.uris.erase(state);  // not wanted any more, and not sent yet
      restored = (server.restoring.erase(uri->text()) && server.restoring.empty()) || restored;
    } else if (state->second == State::leaving && !wanted) {
      ask(server, uri, "resources/unsubscribe", &LegacyListens::unsubscribed);
    } else if (state->second == State::leaving) {
      state->second = State::granted;  // wanted again before the unsubscribe was sent
      there_still.push_back(uri);
    }
  }
  const auto watch = server.lifetime.watch();
  for (const SharedText& uri : there_still)
    decided(uri);
  if (restored && !watch.gone()) tell_changes();
}

void LegacyListens::ask(Server& server, const SharedText& uri, std::string_view method,
                        void (LegacyListens::*then)(Server& server, const SharedText& uri, bool granted)) {
  ++server.under_way;
  server.server->send_own(method, mcp::uri_params(uri->text()),
                          server.lifetime.guard([this, &server, uri, then](const mcp::Message& answer) {
                            const auto watch = server.lifetime.watch();
                            --server.under_way;
                            (this->*then)(server, uri, answer.kind() == mcp::MessageKind::result);
                            if (!watch.gone()) ask_more(server);
                          }));
}

void LegacyListens::answered(Server& server, const SharedText& uri, bool granted) {
  server.uris[uri] = granted ? State::granted : State::refused;
  const bool restored = server.restoring.erase(uri->text()) && server.restoring.empty();
  const auto watch = server.lifetime.watch();
  settle(server, uri, granted);
  if (restored && !watch.gone()) tell_changes();
}

void LegacyListens::settle(Server& server, const SharedText& uri, bool granted) {
  if (wishes_.contains(uri->text())) return is_open(uri) ? void() : decided(uri);
  if (granted) return unsubscribe(server, uri);  // no listen wants it any more
  server.uris.erase(uri->text());
}

void LegacyListens::unsubscribed(Server& server, const SharedText& uri, bool) {
  if (wishes_.contains(uri->text())) return subscribe(server, uri);  // wanted again meanwhile
  server.uris.erase(uri->text());
}

bool LegacyListens::is_granted(const SharedText& uri) const {
  return std::any_of(servers_.begin(), servers_.end(), [&](const auto& one) {
    auto state = one->uris.find(uri->text());
    return state != one->uris.end() && state->second == State::granted;
  });
}

// Whether a pending answer could still grant it. If one server has granted it, a server that does not answer
// delays nothing.
bool LegacyListens::is_open(const SharedText& uri) const {
  if (is_granted(uri)) return false;
  return std::any_of(servers_.begin(), servers_.end(), [&](const auto& one) {
    auto state = one->uris.find(uri->text());
    return state != one->uris.end() && (state->second == State::asked || state->second == State::leaving);
  });
}

void LegacyListens::look_again() {
  for (auto& [call, listen] : listens_) {
    if (listen.granted) continue;
    listen.open.clear();
    for (const SharedText& uri : listen.wanted) {
      if (is_open(uri)) listen.open.insert(uri);
    }
  }
  acknowledge_ready();
}

void LegacyListens::decided(const SharedText& uri) {
  bool ready = false;
  for (auto& [call, listen] : listens_) {
    if (listen.granted || !listen.open.erase(uri->text())) continue;
    ready = ready || listen.open.empty();
  }
  if (ready) acknowledge_ready();
}

// Acknowledges every listen without pending subscriptions.
void LegacyListens::acknowledge_ready() {
  if (servers_.empty()) return;
  std::vector<ToldTo> ready;
  for (auto& [call, listen] : listens_) {
    if (!listen.granted && listen.open.empty()) ready.push_back({listen.number, call, acknowledge(listen)});
  }
  deliver_all(std::move(ready));
}

std::string LegacyListens::acknowledge(Listen& listen) const {
  listen.granted.emplace();
  std::string honoured;
  auto add = [&](const std::string& member) { honoured += (honoured.empty() ? "" : ",") + member; };
  if (listen.tools) add(R"("toolsListChanged":true)");
  if (listen.prompts) add(R"("promptsListChanged":true)");
  if (listen.resources) add(R"("resourcesListChanged":true)");
  std::string uris;
  for (const auto& uri : listen.wanted) {
    if (!is_granted(uri)) continue;
    listen.granted->insert(uri);
    uris += (uris.empty() ? "" : ",") + json::quote(uri->text());
  }
  if (!uris.empty()) add(R"("resourceSubscriptions":[)" + uris + "]");
  return listen_notification("notifications/subscriptions/acknowledged",
                             fmt::format(R"("notifications":{{{}}})", honoured));
}

// ---- notifications ----

// Several servers report one change one after another. A notification that another server sent just before is
// dropped, unless a request was sent since: it may then report a second change. A server's notification that
// exceeds the count of all others is news.
bool LegacyListens::is_known(const Server& from, const mcp::Message& notification, const std::string& uri,
                             milliseconds now) {
  if (servers_.size() < 2) return false;
  const std::string what = notification.method() + ' ' + uri;
  auto known = told_.find(what);
  Told& told = known != told_.end() ? known->second : told_[shared_text(what)];
  size_t digest = std::hash<std::string>()(notification.bytes());
  if (told.digest != digest || told.asked != asked_ || now - told.at > kAlike) {
    told.by.clear();
    told.times = 0;
  }
  if (++told.by[from.number] <= told.times) return true;
  ++told.times;
  told.digest = digest;
  told.asked = asked_;
  told.at = now;
  return false;
}

bool LegacyListens::notify(const ListenServer& from, const mcp::Message& notification, milliseconds now) {
  Method method = mcp::method_of(notification.method());
  std::string uri;
  if (method == Method::resources_updated) uri = notification.text(Field::params_uri);
  std::vector<std::pair<uint64_t, ListenCall*>> to;
  for (const auto& [call, listen] : listens_) {
    bool wants = false;
    if (!listen.granted) continue;
    switch (method) {
      case Method::tools_list_changed: wants = listen.tools; break;
      case Method::prompts_list_changed: wants = listen.prompts; break;
      case Method::resources_list_changed: wants = listen.resources; break;
      case Method::resources_updated: wants = listen.granted->contains(uri); break;
      default: return false;
    }
    if (wants) to.emplace_back(listen.number, call);
  }
  if (to.empty()) return false;
  const Server* server = find(&from);
  if (server != nullptr && is_known(*server, notification, uri, now)) return true;
  std::sort(to.begin(), to.end());
  for (const auto& [number, call] : to) {
    if (listens_.count(call) > 0) call->message(notification);
  }
  return true;
}

void LegacyListens::tell_changes() {
  std::vector<ToldTo> changes;
  for (const auto& [call, listen] : listens_) {
    if (!listen.granted) continue;
    auto change = [&, number = listen.number, to = call](std::string_view method, std::string members = {}) {
      changes.push_back({number, to, listen_notification(method, members)});
    };
    if (listen.tools) change("notifications/tools/list_changed");
    if (listen.prompts) change("notifications/prompts/list_changed");
    if (listen.resources) change("notifications/resources/list_changed");
    for (const auto& uri : *listen.granted) {
      change("notifications/resources/updated", fmt::format(R"("uri":{})", json::quote(uri->text())));
    }
  }
  deliver_all(std::move(changes));
}

// ---- the end ----

void LegacyListens::close(ListenCall& call) {
  auto found = listens_.find(&call);
  if (found == listens_.end()) return;
  needing_ -= found->second.needs_server ? 1 : 0;
  const CountedSet wanted = std::move(found->second.wanted);
  listens_.erase(found);
  if (listens_.empty()) {
    told_.clear();
    gap_ = false;
  }
  for (const auto& uri : wanted) {
    auto wish = wishes_.find(uri->text());
    if (wish == wishes_.end() || --wish->second > 0) continue;
    wishes_.erase(wish);
    told_.erase("notifications/resources/updated " + uri->text());
    for (auto& one : servers_) {
      auto state = one->uris.find(uri->text());
      if (state == one->uris.end()) continue;
      if (state->second == State::granted) {
        unsubscribe(*one, uri);
      } else if (state->second == State::refused) {
        one->uris.erase(state);
      }
    }
  }
}

void LegacyListens::fail_all(const core::Failure& failure) {
  std::vector<std::pair<uint64_t, ListenCall*>> calls;
  for (const auto& [call, listen] : listens_)
    calls.emplace_back(listen.number, call);
  std::sort(calls.begin(), calls.end());
  for (const auto& [number, call] : calls) {
    if (listens_.count(call) == 0) continue;
    close(*call);
    call->fail(failure);
  }
}

}  // namespace lineward::upstream
