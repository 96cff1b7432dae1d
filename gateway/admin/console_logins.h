// Who has logged in to the console with a token of admin.tokenFile, and the tokens of its forms.
//
// A login is a random number in a cookie; here stands only the digest of the token that it was opened with,
// which is looked for in the file at each request: a token that is taken out of the file ends its logins.
// What a form posts carries a token that only a page from here can know, bound to the login.
//
// On the first worker's thread. Bounded: kMost logins, kLife each.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "admin/sign_in_pauses.h"
#include "http/header_list.h"
#include "net/loop.h"

namespace lineward::admin {

class ConsoleLogins {
 public:
  static constexpr size_t kMost = 64;
  static constexpr std::chrono::hours kLife{12};

  // The loop outlives it, and tells it the time.
  explicit ConsoleLogins(const net::Loop& loop);

  // A new login: the value of its cookie. Where there are too many, the oldest one ends of the token that
  // has most of them.
  std::string open(std::string_view token);
  void close(const std::string& login);
  // The digest of the token that it was opened with; nothing where there is no such login, or no more.
  std::optional<std::string> digest_of(const std::string& login) const;
  static std::string digest(std::string_view token);

  // Of addresses that brought wrong tokens.
  SignInPauses& pauses() { return pauses_; }
  std::chrono::milliseconds now() const { return loop_.now(); }

  // `login` is empty where nobody has to log in.
  std::string form_token(std::string_view login) const;
  bool takes(std::string_view form_token, std::string_view login) const;

 private:
  struct Login {
    std::string digest;
    uint64_t order;
    std::chrono::milliseconds opened;
  };
  void make_room();
  std::string seal(std::string_view minute, std::string_view login) const;

  const net::Loop& loop_;
  const std::string key_;
  std::map<std::string, Login> logins_;
  uint64_t next_ = 0;
  SignInPauses pauses_;
};

inline constexpr std::string_view kConsoleCookie = "lineward_console";
// Cookies know no port, so that several gateways on one machine name theirs by it.
std::string login_cookie_name(std::string_view host);
// Its value in a request; empty where there is none.
std::string cookie_of(const http::HeaderList& headers, std::string_view name);
// The value of the cookie that is named by the request's own Host.
std::string login_of(const http::HeaderList& headers);

}  // namespace lineward::admin
