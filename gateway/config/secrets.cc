#include "config/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace lineward::config {
namespace {

// In names of variables, in capitals.
constexpr std::array<std::string_view, 16> kTelling{"KEY",    "TOKEN",   "SECRET", "PASS",    "PWD", "AUTH",
                                                    "CRED",   "PRIVATE", "COOKIE", "SESSION", "DSN", "CONN",
                                                    "BEARER", "SIGN",    "SALT",   "CERT"};
// A longer run of letters is more likely a phrase that was chosen to be long.
constexpr size_t kLongestWord = 15;

bool all_of(std::string_view text, std::string_view others, int (*is)(int)) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return is(static_cast<unsigned char>(c)) != 0 || others.find(c) != std::string_view::npos;
  });
}

}  // namespace

bool is_harmless(std::string_view name, std::string_view value) {
  std::string capitals(name);
  std::transform(capitals.begin(), capitals.end(), capitals.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const bool telling = std::any_of(kTelling.begin(), kTelling.end(), [&](std::string_view word) {
    return capitals.find(word) != std::string::npos;
  });
  if (telling) return false;
  if (value.empty() || value.front() == '/' || value.substr(0, 2) == "./" || value.front() == '~')
    return true;
  if (all_of(value, ".,:-+_", std::isdigit)) return true;
  const size_t scheme = value.find("://");
  if (scheme != std::string_view::npos && all_of(value.substr(0, scheme), "+", std::islower))
    return value.find_first_of("@?") == std::string_view::npos;
  return value.size() <= kLongestWord && all_of(value, "-_", std::islower);
}

std::vector<std::string> secrets_of(const Config& config) {
  std::vector<std::string> out;
  for (const Server& server : config.servers) {
    for (const auto& [name, value] : server.env) {
      if (!is_harmless(name, value)) out.push_back(value);
    }
    for (const auto& [name, value] : server.headers) {
      out.push_back(value);
      const size_t gap = value.find(' ');  // "Bearer TOKEN"
      if (gap != std::string::npos) out.push_back(value.substr(gap + 1));
    }
    out.push_back(server.credentials.client_secret);
    out.push_back(server.credentials.private_key);
    const size_t at = server.proxy.rfind('@');
    const size_t scheme = server.proxy.find("://");
    if (at != std::string::npos && scheme != std::string::npos && scheme + 3 < at)
      out.push_back(server.proxy.substr(scheme + 3, at - scheme - 3));
  }
  return out;
}

}  // namespace lineward::config
