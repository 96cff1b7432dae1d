#include "config/reader/listeners.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/options/names.h"
#include "config/options/read_value.h"
#include "config/reader/changes.h"
#include "config/reader/client_addresses.h"
#include "config/reader/option_reader.h"
#include "config/reader/plugin_reader.h"
#include "config/reader/section_findings.h"
#include "config/reader/tls.h"

namespace lineward::config {
namespace {

constexpr size_t kMostListeners = 16;
constexpr std::string_view kListen = "listen.";

// They belong to the address, and are not inherited.
bool is_own(std::string_view option) {
  return option == "address" || option == "proxyProtocol" || option.substr(0, 7) == "socket." ||
         option.substr(0, 4) == "tls.";
}

// A row of the same kind, for what `listen` does not have.
Option servers_row() {
  Option row = *find_option("listen.allowedHosts");
  row.path = "listeners.*.servers";
  return row;
}

class ListenerReader {
 public:
  ListenerReader(ValueReader& values, PluginReader* plugins, WrittenListener& out)
      : values_(values), plugins_(plugins), options_(values, out.said), out_(out) {}

  void read(const Node& node) {
    for (const Member& member : node.members)
      read(member);
    if (node.find("address") != nullptr) return;
    values_.add("missing-option", fmt::format("the listener '{}' has no address", out_.name), node).hint =
        "add address: host:port, :port or unix:/path";
  }

 private:
  void read(const Member& member) {
    if (is_of_process(member.key)) {
      values_
          .add("bad-value", fmt::format("'{}' is for the whole process, not for a listener", member.key),
               member)
          .hint = "it stands under listen";
      return;
    }
    if (member.key == "servers") {
      Value value;
      if (values_.read_option(servers_row(), member.value, value)) out_.servers = value.list;
      return;
    }
    if (member.key == "auth") return read_auth(member);
    note("listen", member);
    Server unused;
    options_.read("listen", member, unused);
  }

  void read_auth(const Member& member) {
    if (member.value.kind == NodeKind::null) return;
    if (member.value.kind == NodeKind::mapping && plugins_ != nullptr)
      return plugins_->read_auth(member, out_.name, out_.auth);
    const std::string& text = member.value.text;
    if (member.value.kind == NodeKind::scalar && (text == "on" || text == "off")) {
      out_.authenticates = text == "on";
      return;
    }
    values_.add("wrong-type", "'auth' of a listener is on, off, or a map as auth: at the top", member.value)
        .hint = "on: as `auth:` says; off: each caller is anonymous";
  }

  void note(const std::string& group, const Member& member) {
    const std::string path = group + "." + member.key;
    if (const Option* option = find_option(path)) out_.set.push_back(option);
    if (member.value.kind != NodeKind::mapping || !is_group(path)) return;
    for (const Member& child : member.value.members)
      note(path, child);
  }

  ValueReader& values_;
  PluginReader* const plugins_;
  OptionReader options_;
  WrittenListener& out_;
};

}  // namespace

void read_listeners(ValueReader& values, PluginReader* plugins, const Member& member,
                    std::vector<WrittenListener>& out) {
  if (member.value.kind == NodeKind::null) return;
  if (member.value.kind != NodeKind::mapping) {
    values.add("wrong-type", "'listeners' is a map of listeners by name", member.value).hint =
        "write listeners: { inside: { address: 127.0.0.1:8001 } }";
    return;
  }
  for (const Member& one : member.value.members) {
    if (!is_server_name(one.key) || one.key == kFirstListener) {
      values.add("bad-name", fmt::format("'{}' is no name of a further listener", clip(one.key)), one).hint =
          "letters, digits, - and _; listen is the first listener";
      continue;
    }
    if (out.size() == kMostListeners) {
      values.add("too-many", fmt::format("more than {} listeners", kMostListeners), one);
      return;
    }
    if (one.value.kind != NodeKind::mapping) {
      values.add("wrong-type", fmt::format("the listener '{}' is a map with address, path, tls …", one.key),
                 one.value);
      continue;
    }
    WrittenListener& written = out.emplace_back();
    written.name = one.key;
    written.said.listen.address.clear();
    ListenerReader(values, plugins, written).read(one.value);
  }
}

namespace {

// A caller is told apart by where it was proven, unless the same authentication proves it elsewhere.
void name_realms(const Listen& first, FurtherListen& made) {
  made.listen.name = made.name;
  if (made.auth.given) {
    made.listen.realm = realm_of(made.name);
  } else if (!made.authenticates) {
    made.listen.realm = "off/";
  }
  ListenTls& tls = made.listen.tls;
  const bool same = tls.client_authorities == first.tls.client_authorities;
  tls.realm = same ? made.listen.realm : realm_of(made.name);
}

}  // namespace

void inherit_listeners(const std::vector<WrittenListener>& written, Config& config) {
  for (const WrittenListener& from : written) {
    if (from.said.listen.address.empty()) continue;  // reported
    FurtherListen& made = config.listeners.emplace_back();
    made.name = from.name;
    made.servers = from.servers;
    made.authenticates = from.authenticates;
    made.auth = from.auth;
    made.listen = from.said.listen;
    Config taken;
    taken.listen = std::move(made.listen);
    Server unused;
    for (const Option& option : options()) {
      if (option.path.substr(0, kListen.size()) != kListen || is_own(option.path.substr(kListen.size())))
        continue;
      if (std::find(from.set.begin(), from.set.end(), &option) == from.set.end())
        option.copy(config, unused, taken, unused);
    }
    made.listen = std::move(taken.listen);
    take_off_slash(made.listen.path);
    name_realms(config.listen, made);
  }
}

const Member* find_listener(const Node& root, const std::string& name) {
  const Member* all = root.find(std::string(kListeners));
  return all != nullptr ? all->value.find(name) : nullptr;
}

void check_listeners(const Node& root, const LoadOptions& options, LoadResult& result) {
  Config& config = result.config;
  const bool peers = !config.replicas.peers.empty() || !config.replicas.peers_from.empty();
  for (FurtherListen& one : config.listeners) {
    const Member* section = find_listener(root, one.name);
    SectionFindings findings(section, "listeners." + one.name, result);
    if (one.listen.address == "stdio" || config.listen.address == "stdio") {
      findings.add("address", "bad-value", "stdio is one client: it has no listeners", "remove listeners:");
      continue;
    }
    for (const std::string& server : one.servers) {
      if (find_server(config, server) != nullptr) continue;
      findings.add("servers", "unknown-server", fmt::format("there is no server '{}'", clip(server)),
                   "name servers of mcpServers");
    }
    if (!one.authenticates && !config.auth.given)
      findings
          .add("auth", "ignored-option", "there is no auth: each caller is anonymous anyway", "remove auth:")
          .severity = Severity::info;
    if (one.auth.given && one.auth.methods.empty() && !one.auth.anonymous &&
        one.listen.tls.client_authorities.empty())
      findings.add("auth", "missing-option", "'auth' names no way to come in",
                   "add one of the methods of auth:, or tls.clientCertificates for those alone");
    if (peers && (!one.authenticates || one.auth.given || one.listen.path != config.listen.path ||
                  !one.servers.empty()))
      findings.add(
          "address", "bad-value",
          "requests that replicas pass to each other arrive at listen: a listener with another path, "
          "with servers, with auth: off or an auth of its own cannot have them",
          "remove replicas.peers (or peersFrom), or that option");
    check_client_addresses(section, findings.name(), one.listen, result);
    check_tls(section, findings.name(), one.listen, options, result);
  }
}

}  // namespace lineward::config
