// OAuth protected-resource metadata of the endpoints (RFC 9728; MCP authorization, "Authorization Server
// Location").
#pragma once

#include <string>
#include <unordered_map>

#include "config/config.h"

namespace lineward::runtime {

// Documents by path; empty without auth.resourceMetadata.
std::unordered_map<std::string, std::string> resource_documents(const config::Config& config);

}  // namespace lineward::runtime
