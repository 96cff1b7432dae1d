#include "foundation/log/redaction.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

#include "foundation/log/known_secrets.h"

namespace lineward::redaction {
namespace {

struct All {
  std::mutex mutex;
  std::vector<std::weak_ptr<Redactor>> list;
  std::atomic<bool> any = false;
};

All& all() {
  static All everything;
  return everything;
}

// Whether the text ends with the scheme of a URI with a host, and "://".
bool names_hosts(std::string_view text) {
  constexpr std::array<std::string_view, 12> kSchemes{"http",  "https",    "ws",    "wss",     "ftp",  "sftp",
                                                      "redis", "postgres", "mysql", "mongodb", "amqp", "git"};
  text.remove_suffix(3);
  return std::any_of(kSchemes.begin(), kSchemes.end(), [text](std::string_view scheme) {
    return text.size() >= scheme.size() && text.substr(text.size() - scheme.size()) == scheme;
  });
}

bool may_have_userinfo(std::string_view text) {
  return text.find('@') != std::string_view::npos && text.find("://") != std::string_view::npos;
}

}  // namespace

std::shared_ptr<void> add(Redactor redactor) {
  auto kept = std::make_shared<Redactor>(std::move(redactor));
  std::lock_guard<std::mutex> lock(all().mutex);
  std::erase_if(all().list, [](const auto& one) { return one.expired(); });
  all().list.push_back(kept);
  all().any = true;
  detail::has_rules = true;
  return kept;
}

void use_secrets(const std::vector<std::string>& values) {
  KnownSecrets::use(values);
  if (KnownSecrets::any()) detail::has_rules = true;
}

std::string redacted(std::string_view text) {
  return KnownSecrets::hide(text);
}

std::atomic<bool> detail::has_rules = false;

bool detail::touches(std::string_view text) {
  return all().any.load(std::memory_order_relaxed) || KnownSecrets::stand_in(text) || may_have_userinfo(text);
}

std::string without_userinfo(std::string_view text) {
  std::string out;
  for (;;) {
    const size_t scheme = text.find("://");
    if (scheme == std::string_view::npos) break;
    out += text.substr(0, scheme + 3);
    text.remove_prefix(scheme + 3);
    const size_t end = std::min(text.size(), text.find_first_of("/?# \"'[]<>{}\\"));
    const size_t at = text.substr(0, end).rfind('@');
    if (at == std::string_view::npos || at == 0) continue;
    // Other schemes use @ differently: docs://react@18/hooks.
    const bool has_password = text.substr(0, at).find(':') != std::string_view::npos;
    if (!has_password && !names_hosts(out)) continue;
    out += "…";
    text.remove_prefix(at);
  }
  return out + std::string(text);
}

// Secrets first: a rule may change a text so that a secret in it is no longer recognised.
std::string apply(std::string_view text) {
  std::string out = KnownSecrets::hide(text);
  if (may_have_userinfo(out)) out = without_userinfo(out);
  if (!all().any.load(std::memory_order_relaxed)) return out;
  std::vector<std::shared_ptr<Redactor>> now;
  {
    std::lock_guard<std::mutex> lock(all().mutex);
    for (const auto& weak : all().list) {
      if (auto one = weak.lock()) now.push_back(std::move(one));
    }
    if (now.empty()) all().any = false;
  }
  for (const auto& one : now)
    out = (*one)(out);
  return out;
}

}  // namespace lineward::redaction
