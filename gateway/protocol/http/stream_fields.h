// Rules for fields of HTTP/2 streams, in both directions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace lineward::http {

// RFC 9113, 8.2.2.
inline constexpr std::array<std::string_view, 5> kOfConnections{
    "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"};
inline bool is_of_connections(std::string_view lower_name) {
  return std::find(kOfConnections.begin(), kOfConnections.end(), lower_name) != kOfConnections.end();
}

inline constexpr size_t kFieldCost = 32;  // RFC 9113, 6.5.2

inline bool is_one_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

}  // namespace lineward::http
