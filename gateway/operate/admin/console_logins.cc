#include "operate/admin/console_logins.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <charconv>

#include "foundation/base/base64url.h"
#include "foundation/base/random_id.h"

namespace lineward::admin {
namespace {

constexpr size_t kMaxCookie = 4096;

}  // namespace

ConsoleLogins::ConsoleLogins(const net::Loop& loop) : loop_(loop), key_(random_id() + random_id()) {}

std::string ConsoleLogins::digest(std::string_view token) {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(token.data(), token.size(), bytes, &size, EVP_sha256(), nullptr);
  return {reinterpret_cast<const char*>(bytes), size};
}

std::string ConsoleLogins::open(std::string_view token) {
  if (logins_.size() >= kMost) make_room();
  std::string login = random_id();
  logins_.emplace(login, Login{digest(token), next_++, loop_.now()});
  return login;
}

// The token with the most logins loses one: a token can only log out its own.
void ConsoleLogins::make_room() {
  std::map<std::string_view, size_t> of_token;
  for (const auto& [login, one] : logins_)
    ++of_token[one.digest];
  logins_.erase(std::min_element(logins_.begin(), logins_.end(), [&](const auto& a, const auto& b) {
    const size_t many = of_token[a.second.digest], others = of_token[b.second.digest];
    return many != others ? many > others : a.second.order < b.second.order;
  }));
}

void ConsoleLogins::close(const std::string& login) {
  logins_.erase(login);
}

std::optional<std::string> ConsoleLogins::digest_of(const std::string& login) const {
  auto found = logins_.find(login);
  if (found == logins_.end() || loop_.now() - found->second.opened > kLife) return std::nullopt;
  return found->second.digest;
}

std::string ConsoleLogins::seal(std::string_view minute, std::string_view login) const {
  const std::string text = fmt::format("{}|{}", minute, login);
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), bytes, &size);
  return to_base64url({reinterpret_cast<const char*>(bytes), size});
}

std::string ConsoleLogins::form_token(std::string_view login) const {
  const std::string minute =
      std::to_string(std::chrono::duration_cast<std::chrono::minutes>(loop_.now()).count());
  return minute + "." + seal(minute, login);
}

bool ConsoleLogins::takes(std::string_view form_token, std::string_view login) const {
  const size_t dot = form_token.find('.');
  if (dot == std::string_view::npos) return false;
  const std::string_view minute = form_token.substr(0, dot);
  int64_t count = 0;
  auto [stop, fault] = std::from_chars(minute.data(), minute.data() + minute.size(), count);
  if (fault != std::errc() || stop != minute.data() + minute.size()) return false;
  const std::string wanted = seal(minute, login);
  const std::string_view given = form_token.substr(dot + 1);
  if (given.size() != wanted.size() || CRYPTO_memcmp(given.data(), wanted.data(), wanted.size()) != 0)
    return false;
  return loop_.now() - std::chrono::minutes(count) <= kLife;
}

std::string login_cookie_name(std::string_view host) {
  const size_t colon = host.rfind(':');
  std::string port;
  if (colon != std::string_view::npos) port = host.substr(colon + 1);
  const bool digits =
      !port.empty() && std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits ? fmt::format("{}_{}", kConsoleCookie, port) : std::string(kConsoleCookie);
}

std::string cookie_of(const http::HeaderList& headers, std::string_view name) {
  std::string_view rest = headers.get("Cookie");
  if (rest.size() > kMaxCookie) return {};
  while (!rest.empty()) {
    std::string_view part = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    part = http::trim_white_space(part);
    const size_t equals = part.find('=');
    if (equals != std::string_view::npos && part.substr(0, equals) == name)
      return std::string(part.substr(equals + 1));
  }
  return {};
}

std::string login_of(const http::HeaderList& headers) {
  return cookie_of(headers, login_cookie_name(headers.get("Host")));
}

}  // namespace lineward::admin
