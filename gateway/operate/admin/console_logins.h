// Logins of the console with a token of admin.tokenFile, and the tokens of its forms.
//
// A login is a random number in a cookie. Only the digest of its token is stored, and looked up in the file
// at each request: removing a token from the file ends its logins. A form post carries a form token bound to
// the login, which only a page from here knows.
//
// On the first worker's thread. Bounded: kMost logins, each for kLife.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "foundation/net/loop.h"
#include "operate/admin/sign_in_pauses.h"
#include "protocol/http/header_list.h"

namespace lineward::admin {

class ConsoleLogins {
 public:
  static constexpr size_t kMost = 64;
  static constexpr std::chrono::hours kLife{12};

  // The loop must outlive it, and is its clock.
  explicit ConsoleLogins(const net::Loop& loop);

  // Opens a login, and returns its cookie value. If there are too many, the oldest login of the token with
  // the most logins ends.
  std::string open(std::string_view token);
  void close(const std::string& login);
  // The digest of the login's token; nullopt if there is no such login, or it has expired.
  std::optional<std::string> digest_of(const std::string& login) const;
  static std::string digest(std::string_view token);

  // Sign-in pauses of addresses with wrong tokens.
  SignInPauses& pauses() { return pauses_; }
  std::chrono::milliseconds now() const { return loop_.now(); }

  // `login` is empty if no login is required.
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
// Cookies ignore ports, so the name contains the port: several gateways may run on one machine.
std::string login_cookie_name(std::string_view host);
// The cookie's value in a request; empty if there is none.
std::string cookie_of(const http::HeaderList& headers, std::string_view name);
// The value of the cookie named after the request's own Host.
std::string login_of(const http::HeaderList& headers);

}  // namespace lineward::admin
