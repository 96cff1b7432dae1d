#include "aggregate/uris.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>

namespace lineward::aggregate {
namespace {

constexpr std::string_view kUi = "ui://";
constexpr std::array<std::string_view, 4> kKept{kUi, "https:", "http:", "data:"};

constexpr size_t kMaxTemplates = 1000;
constexpr size_t kMaxSeenUri = 2048;  // bytes

// Twice, with a node of the map and a server's name.
size_t bytes_seen(const std::string& uri) {
  return 2 * uri.size() + 192;
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

bool begins(std::string_view text, std::string_view with) {
  return text.size() >= with.size() &&
         std::equal(with.begin(), with.end(), text.begin(), [](char a, char b) { return a == lower(b); });
}

}  // namespace

std::string origin_token(std::string_view server) {
  std::string token;
  for (char c : server)
    token += c == '_' ? '-' : lower(c);
  bool letter = !token.empty() && token.front() >= 'a' && token.front() <= 'z';
  if (letter && token == server) return token;
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(server.data()), server.size(), digest.data());
  return fmt::format("{}{}-{:02x}{:02x}", letter ? "" : "s-", token, digest[0], digest[1]);
}

bool keeps_scheme(std::string_view uri) {
  return std::any_of(kKept.begin(), kKept.end(), [&](std::string_view kept) { return begins(uri, kept); });
}

std::string with_origin(std::string_view server, std::string_view uri) {
  if (!begins(uri, kUi)) return origin_token(server) + "+" + std::string(uri);
  return std::string(uri.substr(0, kUi.size())) + origin_token(server) + "+" +
         std::string(uri.substr(kUi.size()));
}

std::string Uris::listed(const std::string& server, const std::string& uri) {
  if (!keeps_scheme(uri)) return with_origin(server, uri);
  return owners_.claim(server, uri, {uri, with_origin(server, uri)});
}

std::string Uris::to_client(const std::string& server, const std::string& uri) {
  if (!keeps_scheme(uri)) return with_origin(server, uri);
  if (const std::string* known = owners_.shown(server, uri)) return *known;
  const Owners::Owner* owner = owners_.find(uri);
  if (owner != nullptr) return with_origin(server, uri);
  auto seen = seen_.find(uri);
  if (seen != seen_.end() && seen->second != server) return with_origin(server, uri);
  saw(server, uri);
  return uri;
}

// Results may name any number of URIs: the last ones are remembered.
void Uris::saw(const std::string& server, const std::string& uri) {
  if (uri.size() > kMaxSeenUri || !seen_.try_emplace(uri, server).second) return;
  seen_order_.push_back(uri);
  seen_bytes_ += bytes_seen(uri);
  if (seen_order_.size() <= most_seen_) return;
  seen_bytes_ -= bytes_seen(seen_order_.front());
  seen_.erase(seen_order_.front());
  seen_order_.pop_front();
}

std::optional<Uris::Target> Uris::to_server(const std::string& shown) const {
  if (const Owners::Owner* owner = owners_.find(shown)) return Target{owner->server, owner->original};
  std::string_view ahead = begins(shown, kUi) ? kUi : std::string_view();
  size_t plus = shown.find('+', ahead.size());
  if (plus != std::string::npos) {
    std::string token = shown.substr(ahead.size(), plus - ahead.size());
    std::transform(token.begin(), token.end(), token.begin(), lower);  // a URI's scheme may be written so
    auto server = by_token_.find(token);
    if (server != by_token_.end())
      return Target{server->second, shown.substr(0, ahead.size()) + shown.substr(plus + 1)};
  }
  auto seen = seen_.find(shown);
  if (seen != seen_.end()) return Target{seen->second, shown};
  // The longest beginning that some template has.
  const std::string* best = nullptr;
  size_t length = 0;
  for (const auto& [literal, server] : templates_) {
    if (literal.size() < length || shown.compare(0, literal.size(), literal) != 0) continue;
    best = &server;
    length = literal.size();
  }
  if (best != nullptr) return Target{*best, shown};
  return std::nullopt;
}

void Uris::listed_template(const std::string& server, const std::string& uri_template) {
  if (!keeps_scheme(uri_template) || templates_.size() >= kMaxTemplates) return;
  std::string literal = uri_template.substr(0, uri_template.find('{'));
  if (literal.size() < kMaxSeenUri && literal.size() > std::string_view("https://").size())
    templates_.try_emplace(literal, server);
}

}  // namespace lineward::aggregate
