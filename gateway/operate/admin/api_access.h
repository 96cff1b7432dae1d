// Access to the admin API. On the control socket: the user that Lineward runs as, and root. On TCP: a client
// with a token of `admin.tokenFile`, or with a console login opened with one; without such a file, any client
// on this machine.
//
// Web pages are excluded. A host name in Host is accepted only if it is configured (a page could point its
// own name here). An Origin is accepted only if it is this very address. Pure except for the file, which is
// read for each request.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/config.h"
#include "operate/admin/api_routes.h"
#include "operate/admin/console_logins.h"
#include "operate/admin/plain_http.h"

namespace lineward::admin {

enum class Way : uint8_t { socket, tcp };

struct Access {
  std::optional<Role> role;  // nullopt: `refusal` has the reason
  PlainResponse refusal = {};
  std::string who = {};  // for the log: "uid 1000", "127.0.0.1:5123"
};

// `logins`: of the console; may be null.
Access access_of(const PlainRequest& request, const config::Admin& admin, Way way, bool loopback,
                 const ConsoleLogins* logins = nullptr);
// The role of a token of admin.tokenFile; nullopt if it is not one.
std::optional<Role> role_of_token(std::string_view token, const config::Admin& admin);

// The token after "Bearer " in the only Authorization header of a request; nullopt if there is none. Lives as
// long as the headers.
std::optional<std::string_view> bearer_of(const http::HeaderList& headers);

// `name` or `name:port`, an address or localhost: DNS of another party cannot point these here.
bool is_own_host(std::string_view host, const config::Admin& admin);

// The form of every error of the API: {"error": …}.
PlainResponse refused(int status, std::string_view text);

}  // namespace lineward::admin
