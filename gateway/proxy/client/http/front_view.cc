#include "proxy/client/http/front_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "foundation/json/json_scan.h"
#include "proxy/client/http/client_connection.h"
#include "proxy/client/http/proxy_signs.h"

namespace lineward::client {
namespace {

constexpr size_t kMaxSigns = 16;
constexpr size_t kMaxHost = 255, kMaxName = 64;

std::string in_lower_case(std::string_view name) {
  std::string out(name.substr(0, kMaxName));
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

std::string in_ascii(std::string_view text) {
  std::string out(text.substr(0, kMaxHost));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c < 0x20 || c > 0x7e; }, '?');
  return out;
}

}  // namespace

std::string front_view(ClientConnection& connection, std::chrono::milliseconds keep_alive) {
  const http::HeaderList& headers = connection.head().headers;
  std::string signs;
  size_t count = 0;
  for (const auto& header : headers.all()) {
    if (!is_proxy_sign(header.name) || ++count > kMaxSigns) continue;
    signs += (signs.empty() ? "" : ",") + json::quote(in_lower_case(header.name));
  }
  const Sharing& sharing = connection.sharing();
  return fmt::format(R"({{"host":{},"signs":[{}],"direct":{},"shared":{},"connection":{},"keepAliveMs":{}}})",
                     json::quote(in_ascii(headers.get(std::string_view("Host")))), signs,
                     connection.is_direct(), sharing.shared(), sharing.number(), keep_alive.count());
}

}  // namespace lineward::client
