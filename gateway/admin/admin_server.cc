#include "admin/admin_server.h"

#include "admin/denial.h"

namespace lineward::admin {

AdminServer::AdminServer(net::Loop& loop, const config::Admin& rules, AdminApi& api, Console& console,
                         Way way)
    : rules_(rules),
      api_(api),
      console_(console),
      way_(way),
      server_(loop, [this](const PlainRequest& request, PlainServer::Answer answer) {
        handle(request, std::move(answer));
      }) {}

void AdminServer::handle(const PlainRequest& request, PlainServer::Answer answer) {
  const Access access =
      access_of(request, rules_, way_, way_ == Way::tcp && server_.is_loopback(), &console_.logins());
  const bool console = Console::has(request.path);
  // The console asks for a token first, and logs the results of its forms itself.
  const bool is_asked_first =
      console && access.refusal.status == 401 && request.head.headers.count("Authorization") == 0;
  if (!access.role && !is_asked_first) tell_denied(request, request.peer, access.refusal.status);
  if (console) return console_.handle(request, access, answer);
  api_.handle(request, access, std::move(answer));
}

}  // namespace lineward::admin
