#include "proxy/client/http/proxy_signs.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <functional>
#include <string>

namespace lineward::client {
namespace {

constexpr std::string_view kForwarded = "X-Forwarded-";

// Headers that are the same in all requests of one caller.
struct CallerHeader {
  std::string_view name, another;
};
constexpr std::array<CallerHeader, 3> kCallerHeaders{{{"Authorization", "another Authorization"},
                                                      {"User-Agent", "another User-Agent"},
                                                      {"Host", "another Host"}}};

size_t digest(const std::string& text) {
  return std::hash<std::string>()(text) | 1;
}

bool is_loopback_name(std::string_view name) {
  return http::equals_ignoring_case(name, "localhost") || name.substr(0, 4) == "127." || name == "[::1]";
}

}  // namespace

bool is_proxy_sign(std::string_view name) {
  static constexpr std::array<std::string_view, 3> kNames{"Via", "Forwarded", "X-Real-IP"};
  return http::equals_ignoring_case(name.substr(0, kForwarded.size()), kForwarded) ||
         std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view one) { return http::equals_ignoring_case(name, one); });
}

bool through_proxy(const http::HeaderList& headers) {
  const auto& all = headers.all();
  return std::any_of(all.begin(), all.end(), [](const auto& header) { return is_proxy_sign(header.name); });
}

bool comes_directly(std::string_view peer, const http::RequestHead& head, uint16_t local_port) {
  if (local_port == 0 || head.minor_version != 1 || through_proxy(head.headers)) return false;
  if (peer.substr(0, 4) != "127." && peer.substr(0, 6) != "[::1]:") return false;
  const std::string_view host = head.headers.get("Host");
  const size_t colon = host.rfind(':');
  if (colon == std::string_view::npos || !is_loopback_name(host.substr(0, colon))) return false;
  uint16_t port = 0;
  const char* end = host.data() + host.size();
  const auto [read, error] = std::from_chars(host.data() + colon + 1, end, port);
  return error == std::errc() && read == end && port == local_port;
}

Sharing::Sharing() {
  static std::atomic<uint64_t> next{1};
  number_ = next.fetch_add(1, std::memory_order_relaxed);
}

void Sharing::saw(const http::RequestHead& head) {
  if (shared() || head.number == seen_) return;  // the same head as before
  seen_ = head.number;
  for (size_t i = 0; i < kCallerHeaders.size(); ++i) {
    const size_t now = digest(std::string(head.headers.get(kCallerHeaders[i].name)));
    if (callers_[i] != 0 && now != callers_[i] && !shared()) sign_ = kCallerHeaders[i].another;
    callers_[i] = now;
  }
  const std::string_view session = head.headers.get(std::string_view("Mcp-Session-Id"));
  if (session.empty()) return;
  const size_t name = digest(std::string(session));
  const bool another = session_ != 0 ? name != session_ : opened_;
  if (another && !shared()) sign_ = "another Mcp-Session-Id";
  session_ = name;
}

void Sharing::opens(bool by_client) {
  if (by_client && (opened_ || session_ != 0) && !shared()) sign_ = "a second initialize";
  opened_ = true;
}

void Sharing::named(std::string_view session) {
  session_ = digest(std::string(session));
}

}  // namespace lineward::client
