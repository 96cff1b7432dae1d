#include "config/options/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "config/options/options.h"

namespace lineward::config {
namespace {

constexpr size_t kMaxName = 64;  // a longer name is not close to any known name

#define SERVER "mcpServers.*."
constexpr Synonym kSynonyms[] = {
    {"requesttimeout", SERVER "timeouts.request", "agentgateway"},
    {"backendrequesttimeout", SERVER "timeouts.maxDuration", "agentgateway"},
    {"default", SERVER "timeouts.request", "ToolHive"},
    {"proxyreadtimeout", SERVER "timeouts.request", "nginx"},
    {"timeoutserver", SERVER "timeouts.request", "HAProxy"},
    {"streamidletimeout", SERVER "timeouts.request", "Envoy"},
    {"streamtimeout", SERVER "timeouts.maxDuration", "Caddy"},
    {"maxtotaltimeout", SERVER "timeouts.maxDuration", "the TypeScript SDK"},
    {"maxstreamduration", SERVER "timeouts.maxDuration", "Envoy"},
    {"resettimeoutonprogress", SERVER "timeouts.progressResets", "the TypeScript SDK"},
    {"mcptimeout", SERVER "timeouts.startup", "Claude Code"},
    {"startuptimeout", SERVER "timeouts.startup", "opencode"},
    {"parktimeout", SERVER "timeouts.park", ""},
    {"connecttimeout", SERVER "timeouts.connect", "agentgateway"},
    {"proxyconnecttimeout", SERVER "timeouts.connect", "nginx"},
    {"timeoutconnect", SERVER "timeouts.connect", "HAProxy"},
    {"dialtimeout", SERVER "timeouts.connect", "Caddy"},
    {"timeoutqueue", SERVER "limits.queueTimeout", "HAProxy"},
    {"maxconn", SERVER "limits.maxInFlight", "HAProxy"},
    {"maxqueue", SERVER "limits.maxQueue", "HAProxy"},
    {"maxrequests", SERVER "limits.maxInFlight", "Envoy"},
    {"maxpendingrequests", SERVER "limits.maxQueue", "Envoy"},
    {"inflightreq", SERVER "limits.maxInFlight", "Traefik"},
    {"limitconn", SERVER "limits.maxInFlight", "nginx"},
    {"concurrency", SERVER "limits.maxInFlight", ""},
    {"environment", SERVER "env", ""},
    {"envvars", SERVER "env", ""},
    {"arguments", SERVER "args", ""},
    {"cmd", SERVER "command", ""},
    {"workingdirectory", SERVER "cwd", ""},
    {"workingdir", SERVER "cwd", ""},
    {"idletimeout", SERVER "instanceIdle", ""},
    {"maxinstances", SERVER "instances", ""},
    {"replicas", SERVER "instances", ""},
    {"retries", SERVER "retry", "HAProxy"},
    {"clientbodytimeout", "listen.readTimeout", "nginx"},
    {"sendtimeout", "listen.writeTimeout", "nginx"},
    {"timeouthttprequest", "listen.headTimeout", "HAProxy"},
    {"requestheaderstimeout", "listen.headTimeout", "Envoy"},
    {"clientheadertimeout", "listen.headTimeout", "nginx"},
    {"keepalivetimeout", "listen.idleTimeout", "nginx"},
    {"timeouthttpkeepalive", "listen.idleTimeout", "HAProxy"},
    {"clientmaxbodysize", "listen.maxBodyBytes", "nginx"},
    {"maxconn", "listen.maxConnections", "HAProxy"},
    {"setrealipfrom", "listen.trustedProxies", "nginx"},
    {"trustproxy", "listen.trustedProxies", "Express"},
    {"acceptproxy", "listen.proxyProtocol", "HAProxy"},
    {"grace", "shutdown.delay", "HAProxy"},
    {"shutdowndelay", "shutdown.delay", "Caddy"},
    {"requestacceptgracetimeout", "shutdown.delay", "Traefik"},
    {"connectionminterminationdeadline", "shutdown.delay", "agentgateway"},
    {"hardstopafter", "shutdown.drain", "HAProxy"},
    {"workershutdowntimeout", "shutdown.drain", "nginx"},
    {"draintimeout", "shutdown.drain", "Envoy"},
    {"graceperiod", "shutdown.drain", "Caddy"},
    {"gracetimeout", "shutdown.drain", "Traefik"},
    {"connectionterminationdeadline", "shutdown.drain", "agentgateway"},
    {"port", "listen.address", ""},
    {"host", "listen.address", ""},
    {"bind", "listen.address", ""},
    {"streamablehttppath", "listen.path", "supergateway"},
    {"loglevel", "log.level", "supergateway"},
    {"logging", "log", ""},
    {"targets", "mcpServers", "agentgateway"},
    {"upstreams", "mcpServers", ""},
    {"backends", "mcpServers", ""},
    {"mcp", "mcpServers", "VS Code's settings.json"},
};
#undef SERVER

size_t edits(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + cost});
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

constexpr size_t kMaxServerName = 64;

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

// May be empty, or too long.
std::string plain_name(std::string_view written) {
  std::string out;
  for (char c : written) {
    if (is_name_char(c)) {
      out += c;
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  while (!out.empty() && out.back() == '-')
    out.pop_back();
  return out;
}

std::string hashed_name(std::string_view plain, std::string_view written) {
  uint32_t hash = 2166136261u;  // FNV-1a
  for (char c : written)
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  const std::string end = fmt::format("-{:04x}", (hash ^ hash >> 16) & 0xffff);
  return std::string(plain.empty() ? "server" : plain.substr(0, kMaxServerName - end.size())) + end;
}

}  // namespace

std::string normalised(std::string_view name) {
  std::string text;
  for (char c : name) {
    if (c != '_' && c != '-') text += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  return text;
}

std::string_view nearest(std::string_view name, const std::vector<std::string_view>& candidates) {
  if (name.empty() || name.size() > kMaxName) return {};
  std::string wanted = normalised(name);
  std::string_view best;
  size_t limit = std::max<size_t>(1, wanted.size() / 3) + 1;
  for (std::string_view candidate : candidates) {
    size_t distance = edits(wanted, normalised(candidate));
    if (distance < limit) {
      limit = distance;
      best = candidate;
    }
  }
  return best;
}

const Synonym* find_synonym(std::string_view name, bool per_server) {
  if (name.size() > kMaxName) return nullptr;
  std::string wanted = normalised(name);
  const Synonym* other_side = nullptr;
  for (const Synonym& synonym : kSynonyms) {
    if (synonym.word != wanted) continue;
    bool for_server = synonym.target.substr(0, kServerPrefix.size()) == kServerPrefix;
    if (for_server == per_server) return &synonym;
    if (other_side == nullptr) other_side = &synonym;
  }
  return other_side;
}

std::string_view nearest_synonym(std::string_view name, bool per_server) {
  std::vector<std::string_view> words;
  for (const Synonym& synonym : kSynonyms) {
    if ((synonym.target.substr(0, kServerPrefix.size()) == kServerPrefix) == per_server)
      words.push_back(synonym.word);
  }
  return nearest(name, words);
}

std::string_view address_fault(std::string_view address) {
  if (address == "stdio") return {};  // one client, on this process's stdin and stdout
  const std::string_view fault = socket_fault(address);
  return fault == kSocketShape ? "write host:port, :port, [::1]:port, unix:/path or stdio" : fault;
}

std::string_view socket_fault(std::string_view address) {
  if (address.substr(0, 5) == "unix:") {
    std::string_view path = address.substr(5);
    if (path.empty() || path[0] != '/')
      return "a unix socket needs an absolute path: unix:/run/lineward/mcp.sock";
    return path.size() > 107 ? "the path of a unix socket has at most 107 bytes" : std::string_view();
  }
  size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return kSocketShape;
  std::string_view host = address.substr(0, colon);
  std::string_view port = address.substr(colon + 1);
  bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (!bracketed && host.find(':') != std::string_view::npos)
    return "an IPv6 address needs brackets: [::1]:8000";
  if (host.find_first_of(" \t/@") != std::string_view::npos) return kSocketShape;
  if (port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != std::string_view::npos)
    return kSocketShape;
  unsigned number = 0;
  for (char c : port)
    number = number * 10 + static_cast<unsigned>(c - '0');
  return number > 65535 ? "a port is at most 65535" : std::string_view();
}

bool is_server_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxServerName &&
         std::all_of(name.begin(), name.end(), is_name_char);
}

std::vector<std::string> server_names(const std::vector<std::string>& written) {
  std::map<std::string, std::set<std::string>> who;  // name here → names in the file
  for (const std::string& one : written)
    who[is_server_name(one) ? one : plain_name(one)].insert(one);
  std::vector<std::string> out;
  out.reserve(written.size());
  for (const std::string& one : written) {
    if (is_server_name(one)) {
      out.push_back(one);
      continue;
    }
    std::string name = plain_name(one);
    const bool whole = name.size() <= kMaxServerName && who[name].size() == 1;
    out.push_back(whole && !name.empty() ? name : hashed_name(name, one));
  }
  return out;
}

}  // namespace lineward::config
