#include "client/endpoint/affinity.h"

#include <fmt/format.h>

#include <algorithm>

#include "mcp/errors.h"

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

// Every value of our cookie; a browser sends one Cookie field, others may send several (RFC 6265, 5.4).
std::vector<std::string_view> cookies(const http::HeaderList& headers) {
  std::vector<std::string_view> found;
  for (const auto& header : headers.all()) {
    if (!http::equals_ignoring_case(header.name, "Cookie")) continue;
    std::string_view rest = header.value;
    while (!rest.empty()) {
      size_t end = rest.find(';');
      std::string_view pair = http::trim_white_space(rest.substr(0, end));
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
      size_t equals = pair.find('=');
      if (equals == std::string_view::npos || pair.substr(0, equals) != kAffinityCookie) continue;
      std::string_view value = pair.substr(equals + 1);
      if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
        value = value.substr(1, value.size() - 2);
      found.push_back(value);
    }
  }
  return found;
}

}  // namespace

Result<std::string, HttpRefusal> affinity_of(const http::HeaderList& headers) {
  auto refuse = [](std::string text) { return Unexpected<HttpRefusal>{invalid_request(std::move(text))}; };
  std::vector<std::string_view> names;
  if (headers.count(kAffinityHeader) > 0) {
    if (headers.count(kAffinityHeader) > 1)
      return refuse(fmt::format("the {} header stands there more than once", kAffinityHeader));
    names.push_back(headers.get(kAffinityHeader));
  } else {
    names = cookies(headers);
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
