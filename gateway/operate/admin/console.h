// The web console below /console: the page with its files, the login if admin.tokenFile is set, and forms for
// use without the script. The script uses the admin API like any client. The page uses it through
// AdminApi::handle(), so that roles, hidden secrets and logging are the same.
//
// On the first worker's thread; for every listener of the admin API.
#pragma once

#include <string>
#include <string_view>

#include "operate/admin/admin_api.h"
#include "operate/admin/api_access.h"
#include "operate/admin/console_logins.h"
#include "operate/admin/console_page.h"
#include "operate/admin/plain_http.h"
#include "operate/admin/sources.h"

namespace lineward::admin {

class Console {
 public:
  // Both must outlive it.
  Console(const Sources& sources, AdminApi& api) : sources_(sources), api_(api), logins_(sources.loop) {}

  const ConsoleLogins& logins() const { return logins_; }
  static bool has(std::string_view path);
  void handle(const PlainRequest& request, const Access& access, const OpsHttpServer::Answer& answer);

 private:
  PlainResponse answered(const PlainRequest& request, const Access& access);
  PlainResponse page(const PlainRequest& request, const Access& access);
  PlainResponse log_in(const PlainRequest& request, const Access& access);
  PlainResponse log_out(const PlainRequest& request);
  PlainResponse act(const PlainRequest& request, const Access& access);
  // The API's synchronous answer to a request on behalf of this console request.
  PlainResponse ask(const PlainRequest& from, const Access& access, std::string_view method, std::string path,
                    std::string query, std::string body);

  const Sources& sources_;
  AdminApi& api_;
  ConsoleLogins logins_;
};

}  // namespace lineward::admin
