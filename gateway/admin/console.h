// The web console below /console: the page with its files, the login where admin.tokenFile is set, and the
// forms of the page without its script. Its script uses the admin API like anything else; so does the page
// itself, through AdminApi::handle(), so that roles, hidden secrets and the log are what they are there.
//
// On the first worker's thread; for every listener of the admin API.
#pragma once

#include <string>
#include <string_view>

#include "admin/admin_api.h"
#include "admin/api_access.h"
#include "admin/console_logins.h"
#include "admin/console_page.h"
#include "admin/plain_http.h"
#include "admin/sources.h"

namespace lineward::admin {

class Console {
 public:
  // Both outlive it.
  Console(const Sources& sources, AdminApi& api) : sources_(sources), api_(api), logins_(sources.loop) {}

  const ConsoleLogins& logins() const { return logins_; }
  static bool has(std::string_view path);
  void handle(const PlainRequest& request, const Access& access, const PlainServer::Answer& answer);

 private:
  PlainResponse answered(const PlainRequest& request, const Access& access);
  PlainResponse page(const PlainRequest& request, const Access& access);
  PlainResponse log_in(const PlainRequest& request, const Access& access);
  PlainResponse log_out(const PlainRequest& request);
  PlainResponse act(const PlainRequest& request, const Access& access);
  // As the API answers, at once, what was asked with this request to the console.
  PlainResponse ask(const PlainRequest& from, const Access& access, std::string_view method, std::string path,
                    std::string query, std::string body);

  const Sources& sources_;
  AdminApi& api_;
  ConsoleLogins logins_;
};

}  // namespace lineward::admin
