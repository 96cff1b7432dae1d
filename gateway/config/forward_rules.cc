#include "config/forward_rules.h"

#include <algorithm>
#include <array>

#include "config/auth_blocks.h"
#include "config/identity_words.h"
#include "foundation/base/glob.h"

namespace lineward::config {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return lower(c); });
  return out;
}

// `expected` is in lower case.
bool same(std::string_view name, std::string_view expected) {
  return name.size() == expected.size() &&
         std::equal(name.begin(), name.end(), expected.begin(), [](char a, char b) { return lower(a) == b; });
}

template <size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view one) { return same(name, one); });
}

// Forwarded only if named in full: a glob that is too wide must not reveal the client's identity.
bool is_private(std::string_view name) {
  static constexpr std::array<std::string_view, 5> kNames{"authorization", "cookie", "origin", "referer",
                                                          "x-api-key"};
  return is_one_of(kNames, name);
}

bool is_state_header(std::string_view name) {
  return name.size() == kStateHeader.size() &&
         std::equal(name.begin(), name.end(), kStateHeader.begin(),
                    [](char a, char b) { return lower(a) == lower(b); });
}

bool is_token(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("!#$%&'+-.^_`|~").find(c) != std::string_view::npos;
}

std::string_view fault_of(std::string_view pattern) {
  if (pattern.empty() || pattern.size() > 100) return "a header name has 1 to 100 characters";
  bool plain =
      std::all_of(pattern.begin(), pattern.end(), [](char c) { return is_token(c) || c == '*' || c == '?'; });
  if (!plain) return "forwardHeaders takes header names, or globs such as X-*";
  if (is_own_header(pattern)) {
    return "this header belongs to one connection or to the message itself and is never passed on";
  }
  if (is_state_header(pattern)) return "this header names state of Lineward's own and is never passed on";
  return {};
}

}  // namespace

bool is_own_header(std::string_view name) {
  static constexpr std::array<std::string_view, 22> kNames{"content-length",
                                                           "transfer-encoding",
                                                           "connection",
                                                           "keep-alive",
                                                           "te",
                                                           "trailer",
                                                           "upgrade",
                                                           "http2-settings",
                                                           "expect",
                                                           "host",
                                                           "proxy-connection",
                                                           "proxy-authorization",
                                                           "content-type",
                                                           "accept",
                                                           "accept-encoding",
                                                           "content-encoding",
                                                           "proxy-authenticate",
                                                           "content-location",
                                                           "range",
                                                           "last-event-id",
                                                           "if-match",
                                                           "if-none-match"};
  return same(name.substr(0, 4), "mcp-") || is_one_of(kNames, name);
}

const Server* plain_sidecar(const Config& config) {
  if (has_auth(config)) return nullptr;  // its clients' credentials are for Lineward
  const Server* only = nullptr;
  for (const Server& server : config.servers) {
    if (server.disabled) continue;
    if (only != nullptr) return nullptr;
    only = &server;
  }
  bool plain = only != nullptr && !only->url.empty() && only->credentials.client_id.empty();
  return plain ? only : nullptr;
}

ForwardRules::ForwardRules(const Server& server, bool plain_sidecar) : words_(words_of(server)) {
  if (server.url.empty()) return;
  for (const auto& [name, words] : server.identity.headers)
    withheld_.push_back(folded_header_name(name));
  for (const std::string& name : server.identity.withheld)
    withheld_.push_back(folded_header_name(name));
  // A server may take another spelling for the fixed header, as CGI takes `X_Tenant` for `X-Tenant`.
  for (const auto& [name, value] : server.headers)
    withheld_.push_back(folded_header_name(name));
  // Trace context reveals nothing about the client, and a hop that omits it breaks the trace.
  names_ = {"traceparent", "tracestate"};
  if (plain_sidecar) names_.push_back("authorization");
  for (const std::string& pattern : server.forward_headers) {
    bool glob = pattern.find_first_of("*?") != std::string::npos;
    (glob ? globs_ : names_).push_back(lower(pattern));
  }
  auto configured = [&](const std::string& name) {
    if (name == "authorization" && !server.credentials.client_id.empty()) return true;  // its own token
    return std::any_of(server.headers.begin(), server.headers.end(),
                       [&](const auto& header) { return same(header.first, name); });
  };
  std::erase_if(names_, configured);
}

bool ForwardRules::passes(std::string_view name) const {
  if (!name.empty() && name.front() == kIdentityMark)
    return std::find(words_.begin(), words_.end(), name.substr(1)) != words_.end();
  bool named =
      std::any_of(names_.begin(), names_.end(), [&](const std::string& one) { return same(name, one); });
  if ((!named && globs_.empty()) || is_own_header(name) || is_state_header(name)) return false;
  if (!withheld_.empty() &&
      std::find(withheld_.begin(), withheld_.end(), folded_header_name(name)) != withheld_.end())
    return false;
  if (named) return true;
  if (is_private(name)) return false;
  std::string text = lower(name);
  return std::any_of(globs_.begin(), globs_.end(),
                     [&](const std::string& glob) { return glob_match(glob, text); });
}

void ForwardRules::add(const ForwardRules& more) {
  names_.insert(names_.end(), more.names_.begin(), more.names_.end());
  globs_.insert(globs_.end(), more.globs_.begin(), more.globs_.end());
  for (const std::string& words : more.words_) {
    if (std::find(words_.begin(), words_.end(), words) == words_.end()) words_.push_back(words);
  }
}

std::string_view forward_fault(const std::vector<std::string>& patterns) {
  if (patterns.size() > 64) return "at most 64 headers can be named";
  for (const std::string& pattern : patterns) {
    if (auto fault = fault_of(pattern); !fault.empty()) return fault;
  }
  return {};
}

}  // namespace lineward::config
