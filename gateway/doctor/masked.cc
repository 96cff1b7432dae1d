#include "doctor/masked.h"

#include <algorithm>

#include "log/printable.h"

namespace lineward::doctor {
namespace {

// Shorter ones occur by chance, and hiding them would make the line unreadable.
constexpr size_t kShortest = 4;
// More than is shown of any text: what stands further on need not be searched.
constexpr size_t kLooked = 4096;

}  // namespace

Masked::Masked(const config::Server& server) {
  for (const auto& [name, value] : server.env)
    add(value);
  for (const auto& [name, value] : server.headers) {
    add(value);
    // "Bearer TOKEN": the token alone is as good.
    if (const size_t blank = value.find(' '); blank != std::string::npos)
      add(std::string_view(value).substr(blank + 1));
  }
  // http://user:password@host
  const size_t user = server.proxy.find("://"), host = server.proxy.rfind('@');
  if (user != std::string::npos && host != std::string::npos && host > user) {
    const size_t colon = server.proxy.find(':', user + 3);
    if (colon < host) add(std::string_view(server.proxy).substr(colon + 1, host - colon - 1));
  }
  std::sort(secrets_.begin(), secrets_.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
}

// What it says stands on one line, so a value of several lines (a key) is hidden line by line.
void Masked::add(std::string_view secret) {
  for (size_t at = 0; at <= secret.size();) {
    const size_t end = std::min(secret.find('\n', at), secret.size());
    if (end - at >= kShortest) secrets_.emplace_back(secret.substr(at, end - at));
    at = end + 1;
  }
}

std::string Masked::operator()(std::string_view said, size_t most) const {
  std::string out(said.substr(0, kLooked));
  for (const std::string& secret : secrets_) {
    for (size_t at = out.find(secret); at != std::string::npos; at = out.find(secret, at + 3))
      out.replace(at, secret.size(), "***");
    // The text may have been cut within it.
    for (size_t part = std::min(secret.size() - 1, out.size()); part >= kShortest; --part) {
      if (std::string_view(out).substr(out.size() - part) != std::string_view(secret).substr(0, part))
        continue;
      out.replace(out.size() - part, part, "***");
      break;
    }
  }
  return printable(out, most);
}

}  // namespace lineward::doctor
