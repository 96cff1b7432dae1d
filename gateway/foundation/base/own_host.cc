#include "foundation/base/own_host.h"

#include <arpa/inet.h>

#include <algorithm>
#include <string>

namespace lineward {

bool is_own_host(std::string_view host) {
  if (host == "127.0.0.1") return true;  // asked for with each request
  constexpr std::string_view kLocal = "localhost";
  const bool local = std::equal(host.begin(), host.end(), kLocal.begin(), kLocal.end(), [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b;
  });
  if (local || host == "::1" || host == "[::1]") return true;
  in_addr address{};
  if (host.find('\0') != std::string_view::npos) return false;
  return inet_pton(AF_INET, std::string(host).c_str(), &address) == 1 && (ntohl(address.s_addr) >> 24) == 127;
}

std::string_view host_of_url(std::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return {};
  url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  // Parsers disagree on whether a backslash ends the host.
  if (url.find_first_of("@\\") != std::string_view::npos) return {};
  if (url.substr(0, 1) != "[") return url.substr(0, url.find(':'));
  const size_t end = url.find(']');
  if (end == std::string_view::npos) return {};
  const std::string_view behind = url.substr(end + 1);
  return behind.empty() || behind[0] == ':' ? url.substr(0, end + 1) : std::string_view();
}

}  // namespace lineward
