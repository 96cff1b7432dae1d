// A listener of the admin API and the console: the control socket, or TCP. Checks access and dispatches.
#pragma once

#include <string>

#include "config/config.h"
#include "operate/admin/admin_api.h"
#include "operate/admin/api_access.h"
#include "operate/admin/console.h"
#include "operate/admin/plain_http.h"
#include "operate/admin/token_pauses.h"

namespace lineward::admin {

class AdminServer {
 public:
  // All arguments must outlive it.
  AdminServer(net::Loop& loop, const config::Admin& rules, AdminApi& api, Console& console, Way way);

  Status<> listen(const std::string& address) { return server_.listen(address); }
  const std::string& address() const { return server_.address(); }
  bool is_loopback() const { return server_.is_loopback(); }

 private:
  void handle(const PlainRequest& request, OpsHttpServer::Answer answer);
  Access access(const PlainRequest& request);

  net::Loop& loop_;
  const config::Admin& rules_;
  AdminApi& api_;
  Console& console_;
  const Way way_;
  TokenPauses pauses_;  // by TCP
  OpsHttpServer server_;
};

}  // namespace lineward::admin
