#include "proxy/client/endpoint/affinity.h"

#include <fmt/format.h>

#include <algorithm>

#include "protocol/mcp/errors.h"
#include "proxy/client/http/cookies.h"

namespace lineward::client {
namespace {

constexpr size_t kShortest = 16;
constexpr size_t kMaxLength = 128;

bool well_formed(std::string_view name) {
  if (name.size() < kShortest || name.size() > kMaxLength) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
  });
}

}  // namespace

Result<std::string, HttpError> affinity_of(const http::HeaderList& headers) {
  auto refuse = [](std::string text) { return Unexpected<HttpError>{invalid_request(std::move(text))}; };
  std::vector<std::string_view> names;
  if (headers.count(kAffinityHeader) > 0) {
    if (headers.count(kAffinityHeader) > 1)
      return refuse(fmt::format("the {} header stands there more than once", kAffinityHeader));
    names.push_back(headers.get(kAffinityHeader));
  } else {
    names = state_cookies(headers);
  }
  if (names.empty()) return std::string();
  if (std::any_of(names.begin(), names.end(), [&](auto name) { return name != names.front(); }))
    return refuse(fmt::format("there are several {} cookies", kAffinityCookie));
  if (!well_formed(names.front())) {
    return refuse(fmt::format("{} is {} to {} characters of A-Z a-z 0-9 - . _ ~", kAffinityHeader, kShortest,
                              kMaxLength));
  }
  return std::string(names.front());
}

std::string_view cookie_path(std::string_view listen_path, std::string_view asked) {
  if (listen_path.empty() || asked.substr(0, listen_path.size()) != listen_path) return asked;
  const bool is_below = asked.size() == listen_path.size() || listen_path.back() == '/' ||
                        asked.substr(listen_path.size(), 1) == "/";
  return is_below ? listen_path : asked;
}

std::vector<http::OutHeader> affinity_headers(const std::string& name, std::string_view path) {
  return {
      {std::string(kAffinityHeader), name},
      {"Set-Cookie", fmt::format("{}={}; Path={}; HttpOnly; SameSite=Strict", kAffinityCookie, name, path)}};
}

}  // namespace lineward::client
