#include "proxy/client/http/resource_names.h"

#include <algorithm>

#include "foundation/json/json_member.h"
#include "foundation/json/json_splice.h"
#include "protocol/http/char_class.h"

namespace lineward::client {
namespace {

constexpr std::string_view kParameter = "resource_metadata=\"";

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// Scheme and authority in lower case, without the scheme's default port; empty when `url` is invalid.
std::string normal_origin(std::string_view url, size_t& length) {
  size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return {};
  length = std::min(url.find_first_of("/?#", scheme + 3), url.size());
  std::string origin = http::lower_case(url.substr(0, length));
  if (origin.rfind("http://", 0) == 0 && ends_with(origin, ":80")) origin.resize(origin.size() - 3);
  if (origin.rfind("https://", 0) == 0 && ends_with(origin, ":443")) origin.resize(origin.size() - 4);
  return origin;
}

}  // namespace

ResourceNames::ResourceNames(const std::string& origin, const std::string& path) {
  size_t length = 0;
  origin_ = normal_origin(origin, length);
  path_ = path.substr(0, path.find('?'));
  if (path_ == "/") path_.clear();
}

std::optional<std::string> ResourceNames::own_path(std::string_view url) const {
  size_t length = 0;
  if (normal_origin(url, length) != origin_ || origin_.empty()) return std::nullopt;
  return std::string(url.substr(length));
}

std::optional<WellKnown> well_known(std::string_view path) {
  for (std::string_view place : {kResourceMetadata, kAuthorizationMetadata, kOpenidMetadata}) {
    const std::string_view rest = path.substr(0, place.size()) == place ? path.substr(place.size()) : "x";
    if (rest.empty() || rest.front() == '/') return WellKnown{place, std::string(rest), false};
  }
  if (!ends_with(path, kOpenidMetadata)) return std::nullopt;
  path.remove_suffix(kOpenidMetadata.size());
  return WellKnown{kOpenidMetadata, std::string(path), true};
}

std::string ResourceNames::metadata_path(const WellKnown& asked) const {
  const std::string path = asked.endpoint.empty() ? std::string() : path_;
  return asked.behind ? path + std::string(asked.place) : std::string(asked.place) + path;
}

std::string ResourceNames::challenge(std::string_view value, const ClientSide& client) const {
  size_t at = value.find(kParameter);
  if (at == std::string_view::npos || client.origin.empty()) return std::string(value);
  size_t begin = at + kParameter.size();
  size_t end = value.find('"', begin);
  if (end == std::string_view::npos) return std::string(value);
  auto path = own_path(value.substr(begin, end - begin));
  // Only a document that Lineward itself serves can be renamed.
  std::string url;
  if (path && *path == std::string(kResourceMetadata) + path_ && !path_.empty()) {
    url = client.origin + std::string(kResourceMetadata) + client.endpoint;
  } else if (path && *path == kResourceMetadata) {
    url = client.origin + std::string(kResourceMetadata);
  } else {
    return std::string(value);
  }
  return std::string(value.substr(0, begin)) + url + std::string(value.substr(end));
}

std::optional<std::string> ResourceNames::document(const std::string& json, const ClientSide& client) const {
  if (json::validate(json) != json::Fault::none) return std::nullopt;
  auto raw = json::member(json, "resource");
  if (!raw || raw->size() < 2 || raw->front() != '"') return std::nullopt;
  auto path = own_path(json::string_value(raw));
  if (!path || client.origin.empty()) return json;
  std::string resource = client.origin + (*path == path_ && !path_.empty() ? client.endpoint : *path);
  auto begin = static_cast<uint32_t>(raw->data() - json.data());
  json::Splice splice(json);
  splice.replace({begin, begin + static_cast<uint32_t>(raw->size())}, json::quote(resource));
  return splice.apply();
}

ClientSide client_side(const http::RequestHead& head, bool tls) {
  ClientSide side;
  side.endpoint = std::string(head.path);
  std::string_view host = head.headers.get("Host");
  bool fine = !host.empty() && host.size() <= 255 && std::all_of(host.begin(), host.end(), [](char c) {
    return http::is_alpha(c) || http::is_digit(c) ||
           std::string_view(".:-_[]").find(c) != std::string_view::npos;
  });
  if (!fine) return side;
  bool secure = tls || (head.headers.count("X-Forwarded-Proto") == 1 &&
                        http::equals_ignoring_case(head.headers.get("X-Forwarded-Proto"), "https"));
  side.origin = (secure ? "https://" : "http://") + std::string(host);
  return side;
}

std::vector<http::OutHeader> told_headers(const core::HeaderFields& fields, const ResourceNames* names,
                                          const http::RequestHead& head, bool tls) {
  std::vector<http::OutHeader> out;
  for (const auto& [name, value] : fields) {
    const bool renamed = names != nullptr && http::equals_ignoring_case(name, "WWW-Authenticate");
    out.push_back({name, renamed ? names->challenge(value, client_side(head, tls)) : value});
  }
  return out;
}

}  // namespace lineward::client
