#include "runtime/routes.h"

#include <algorithm>
#include <vector>

#include "config/aggregate.h"
#include "config/forward_rules.h"
#include "config/reader/changes.h"
#include "proxy/upstream/http_client/http_url.h"
#include "runtime/resource_documents.h"

namespace lineward::runtime {

namespace {

// `plain`: the plain sidecar's server; empty: none.
client::PathTable make_table(const config::Config& config, const cluster::ServerPlacement& placement,
                             std::string_view plain) {
  client::PathTable table;
  for (const auto& [name, place] : placement) {
    const config::Server* server = config::find_server(config, name);
    const bool shares = server == nullptr || config::is_of_one_session(server->isolation);
    const bool on_all = place.shared && shares;
    client::PathTable::Place& at = table.placement[name];
    at.home = place.home;
    if (place.shared) at.eras.push_back(place.shared);
    at.shares_sessions = at.by_id = on_all;
  }
  std::vector<const config::Server*> served;
  for (const auto& server : config.servers) {
    if (!server.disabled) served.push_back(&server);
  }
  std::string list;
  for (const auto* server : served) {
    std::string path = config.listen.below(server->name);
    table.servers[path] = server->name;
    if (server->limits.max_request_bytes > 0)
      table.most_bytes[server->name] = server->limits.max_request_bytes;
    if (server->isolation == config::Isolation::session) table.keep_state.insert(server->name);
    if (server->missing_session == config::MissingSession::refuse) table.refuse_missing.insert(server->name);
    table.forward[server->name] = {*server, server->name == plain};
    list += (list.empty() ? "" : ", ") + path;
  }
  if (served.size() == 1) {
    table.servers[config.listen.path] = served.front()->name;
    list = config.listen.path;
  }
  const bool aggregated = config::is_aggregated(config);
  if (aggregated) {
    const std::string& all = config.aggregate_server.name;
    std::string path = config::aggregate_path(config);
    table.servers[path] = all;
    list = path + ", " + list;
    config::ForwardRules rules;
    for (const auto* server : served) {
      rules.add({*server, false});
      if (server->isolation == config::Isolation::session) table.keep_state.insert(all);
      if (server->missing_session == config::MissingSession::refuse) table.refuse_missing.insert(all);
    }
    table.forward[all] = rules;
    if (cluster::is_aggregate_on_all(placement, config)) {
      client::PathTable::Place& at = table.placement[all];
      at.shares_sessions = at.by_id = true;
      for (const auto* server : served) {
        const cluster::ServerPlace place = cluster::place_of(placement, server->name);
        at.eras.push_back(place.known_era());
        // Its clients share sessions, which are at its home.
        if (place.shared && !config::is_of_one_session(server->isolation)) at.shares_sessions = false;
      }
    }
  }
  auto offer_sse = [&](const std::string& end, const std::string& server) {
    table.sse_streams["/sse" + end] = server;
    table.sse_posts["/messages" + end] = server;
    table.sse_post_of["/sse" + end] = "/messages" + end;
  };
  if (config.listen.legacy_sse && aggregated) offer_sse("", config.aggregate_server.name);
  if (config.listen.legacy_sse) {
    for (const auto* server : served)
      offer_sse(served.size() == 1 ? "" : "/" + server->name, server->name);
  }
  const config::Server* only = plain.empty() ? nullptr : config::find_server(config, plain);
  if (only != nullptr) {
    table.plain = only->name;
    if (auto url = upstream::parse_http_url(only->url))
      table.resource = std::make_shared<const client::ResourceNames>(
          (url->tls ? "https://" : "http://") + url->host_header, url->target);
  }
  table.documents = resource_documents(config);
  table.hint = list.empty() ? "no server is configured" : "there is " + list;
  return table;
}

// Keeps the paths in `before` of servers that are leaving.
client::PathTable with_leaving(client::PathTable table, const client::PathTable& before,
                               const std::set<std::string>& leaving) {
  // The aggregate has no process that could be leaving: its requests under way continue.
  const auto is_there = [&](const std::string& server) {
    return leaving.count(server) > 0 || table.forward.count(server) > 0 || config::is_aggregate(server);
  };
  for (const auto& [server, place] : before.placement) {
    const bool stays = leaving.count(server) > 0 || config::is_aggregate(server);
    if (place.by_id && stays) table.placement[server].by_id = true;
  }
  // The forwarded headers distinguish a session's client from others that know its id.
  for (const auto& [server, rules] : before.forward) {
    if (is_there(server)) table.forward.emplace(server, rules);
  }
  for (const auto* paths : {&before.servers, &before.leaving}) {
    for (const auto& [path, server] : *paths) {
      if (is_there(server) && table.servers.count(path) == 0) table.leaving[path] = server;
    }
  }
  // Clients with calls under way still cancel them there, and answer questions.
  for (const auto& [path, server] : before.sse_posts) {
    if (is_there(server)) table.sse_posts.emplace(path, server);
  }
  // Each existing server once, which bounds the list.
  const auto led_to = [&](const std::string& path, const std::string& server) {
    const std::string* now = table.led_by(path);
    if (now == nullptr || *now == server || !is_there(server)) return;
    std::vector<std::string>& servers = table.former[path];
    if (std::find(servers.begin(), servers.end(), server) == servers.end()) servers.push_back(server);
  };
  for (const auto& [path, server] : before.servers)
    led_to(path, server);
  for (const auto& [path, server] : before.leaving)
    led_to(path, server);
  for (const auto& [path, server] : before.sse_posts)
    led_to(path, server);
  for (const auto& [path, servers] : before.former) {
    for (const std::string& server : servers)
      led_to(path, server);
  }
  return table;
}

// A call that waits for its client's answer at a leaving version that was not modern is where that version
// sent all its callers. The answer must come there too, whatever era the next version is of.
client::PathTable with_waiting(client::PathTable table, const config::Config& config,
                               const cluster::ServerPlacement& placement,
                               const std::set<std::string>& leaving) {
  static const auto kNeverModern = std::make_shared<const upstream::HomeEra>();
  for (const std::string& name : leaving) {
    const auto era = cluster::place_of(placement, name).known_era();
    if (!era || era->was_modern()) continue;
    for (const std::string& at : {name, config.aggregate_server.name}) {
      const auto place = table.placement.find(at);
      if (place != table.placement.end() && !place->second.eras.empty())
        place->second.eras.push_back(kNeverModern);
    }
  }
  return table;
}

std::string plain_of(const config::Config& config) {
  const config::Server* plain = config::plain_sidecar(config);
  return plain != nullptr ? plain->name : std::string();
}

// The configuration as if the listener were the only one. All servers together are at a listener without a
// choice of servers only.
config::Config view_of(const config::FurtherListen& listener, const config::Config& config) {
  config::Config view = config;
  view.listen = listener.listen;
  if (listener.auth.given) view.auth = listener.auth;
  view.listeners.clear();
  if (listener.servers.empty()) return view;
  view.aggregate.enabled = false;
  std::erase_if(view.servers, [&](const config::Server& server) {
    return std::find(listener.servers.begin(), listener.servers.end(), server.name) == listener.servers.end();
  });
  return view;
}

}  // namespace

client::PathTable routes(const config::Config& config, const cluster::ServerPlacement& placement) {
  return make_table(config, placement, plain_of(config));
}

client::PathTable routes(const config::Config& config, const cluster::ServerPlacement& placement,
                         const client::PathTable& before, const std::set<std::string>& leaving) {
  return with_waiting(with_leaving(routes(config, placement), before, leaving), config, placement, leaving);
}

// Credentials of clients pass to the only server of the whole gateway, never to the only one of a listener.
client::PathTable routes_of(const config::FurtherListen& listener, const config::Config& config,
                            const cluster::ServerPlacement& placement) {
  client::PathTable table = make_table(view_of(listener, config), placement, plain_of(config));
  if (!listener.authenticates) table.documents.clear();
  return table;
}

client::PathTable routes_of(const config::FurtherListen& listener, const config::Config& config,
                            const cluster::ServerPlacement& placement, const client::PathTable& before,
                            const std::set<std::string>& leaving) {
  return with_waiting(with_leaving(routes_of(listener, config, placement), before, leaving), config,
                      placement, leaving);
}

}  // namespace lineward::runtime
