#include "runtime/resource_documents.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "config/claim_rules.h"
#include "proxy/client/http/resource_names.h"

namespace lineward::runtime {
namespace {

std::string document(const config::Config& config, const std::string& resource) {
  const config::ResourceMetadata& told = config.auth.resource_metadata;
  std::vector<std::string> servers = told.authorization_servers;
  std::vector<std::string> scopes = told.scopes_supported;
  for (const config::PluginEntry& entry : config.auth.methods) {
    if (entry.type != "jwt") continue;
    if (told.authorization_servers.empty()) servers.push_back(entry.values.text("issuer"));
    // Clients request these if a challenge names none.
    if (told.scopes_supported.empty()) {
      for (const std::string& scope : config::without_rules(entry.values.list("requiredScopes")))
        scopes.push_back(scope);
    }
  }
  nlohmann::ordered_json out;
  out["resource"] = resource;
  if (!servers.empty()) out["authorization_servers"] = servers;
  if (!scopes.empty()) out["scopes_supported"] = scopes;
  out["bearer_methods_supported"] = {"header"};
  if (!told.name.empty()) out["resource_name"] = told.name;
  if (!told.documentation.empty()) out["resource_documentation"] = told.documentation;
  return out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

// "https://mcp.example.com/api/mcp" → "/api/mcp"
std::string path_of(const std::string& url) {
  size_t scheme = url.find("://");
  size_t slash = url.find('/', scheme == std::string::npos ? 0 : scheme + 3);
  std::string path = slash == std::string::npos ? std::string() : url.substr(slash);
  while (!path.empty() && path.back() == '/')
    path.pop_back();
  return path;
}

}  // namespace

std::unordered_map<std::string, std::string> resource_documents(const config::Config& config) {
  std::unordered_map<std::string, std::string> out;
  const std::string& resource = config.auth.resource_metadata.resource;
  if (resource.empty()) return out;
  std::string base = resource;
  while (base.back() == '/')
    base.pop_back();
  const std::string well_known(client::kResourceMetadata);
  // At the path that clients see, and at Lineward's own, if a proxy in front removes a prefix.
  for (const std::string& mount : {path_of(resource), std::string(config.listen.mount())}) {
    out[well_known + mount] = document(config, resource);
    for (const config::Server& server : config.servers) {
      if (server.disabled) continue;
      std::string below = "/" + server.name;
      out[well_known + mount + below] = document(config, base + below);
    }
  }
  out[well_known] = document(config, resource);
  if (resource.back() == '/') out[well_known + path_of(resource) + "/"] = document(config, resource);
  return out;
}

}  // namespace lineward::runtime
