// Who may use the admin API: by the control socket the user that Lineward runs as, and root; by TCP whoever
// brings a token of `admin.tokenFile` or has logged in to the console with one, or, without such a file,
// whoever is on this machine.
//
// Web pages may not: a Host that is a name is taken only when it is configured (a page could have pointed its
// own name here), and an Origin only when it is this very address. Pure but for the file, which is read anew
// for each request.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "admin/api_routes.h"
#include "admin/console_logins.h"
#include "admin/plain_http.h"
#include "config/config.h"

namespace lineward::admin {

enum class Way : uint8_t { socket, tcp };

struct Access {
  std::optional<Role> role;  // nothing: `refusal` says why
  PlainResponse refusal = {};
  std::string who = {};  // for the log: "uid 1000", "127.0.0.1:5123"
};

// `logins`: of the console; null where there are none.
Access access_of(const PlainRequest& request, const config::Admin& admin, Way way, bool loopback,
                 const ConsoleLogins* logins = nullptr);
// The role of a token of admin.tokenFile; nothing where it is none.
std::optional<Role> role_of_token(std::string_view token, const config::Admin& admin);

// What stands behind "Bearer " in the one Authorization of a request; nothing where that is not so. Lasts as
// long as the headers.
std::optional<std::string_view> bearer_of(const http::HeaderList& headers);

// `name` or `name:port`, an address or localhost: nobody else can have pointed it here.
bool is_own_host(std::string_view host, const config::Admin& admin);

// As every answer of the API that says no: {"error": …}.
PlainResponse refused(int status, std::string_view text);

}  // namespace lineward::admin
