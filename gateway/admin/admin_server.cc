#include "admin/admin_server.h"

#include "log/log.h"

namespace lineward::admin {

AdminServer::AdminServer(net::Loop& loop, const config::Admin& rules, AdminApi& api, Way way)
    : rules_(rules),
      api_(api),
      way_(way),
      server_(loop, [this](const PlainRequest& request, PlainServer::Answer answer) {
        handle(request, std::move(answer));
      }) {}

void AdminServer::handle(const PlainRequest& request, PlainServer::Answer answer) {
  const Access access = access_of(request, rules_, way_, way_ == Way::tcp && server_.is_loopback());
  if (!access.role) {
    log::write(log::Level::warn, "admin.denied",
               {{"remote", request.peer},
                {"uid", request.uid ? int64_t{*request.uid} : int64_t{-1}},
                {"status", access.refusal.status}});
  }
  api_.handle(request, access, std::move(answer));
}

}  // namespace lineward::admin
