#include "operate/admin/admin_server.h"

#include <fmt/format.h>

#include "operate/admin/denial.h"

namespace lineward::admin {

AdminServer::AdminServer(net::Loop& loop, const config::Admin& rules, AdminApi& api, Console& console,
                         Way way)
    : loop_(loop),
      rules_(rules),
      api_(api),
      console_(console),
      way_(way),
      server_(loop, [this](const PlainRequest& request, OpsHttpServer::Answer answer) {
        handle(request, std::move(answer));
      }) {}

// A token that must wait is not looked at: whether it would be right is not told.
Access AdminServer::access(const PlainRequest& request) {
  Access out =
      access_of(request, rules_, way_, way_ == Way::tcp && server_.is_loopback(), &console_.logins());
  const bool by_token = way_ == Way::tcp && !rules_.token_file.empty();
  const auto token = by_token ? bearer_of(request.head.headers) : std::nullopt;
  const bool judged = out.role || out.refusal.status == 401;
  if (!token || !judged) return out;
  const auto pause = pauses_.left(request.peer, *token, loop_.now());
  if (pause.count() > 0) {
    const int64_t seconds = (pause.count() + 999) / 1000;
    Access later;
    later.refusal =
        refused(429, fmt::format("too many wrong tokens came from this address: try again in {} s", seconds));
    later.refusal.headers.push_back({"Retry-After", std::to_string(seconds)});
    return later;
  }
  if (out.role) {
    pauses_.succeeded(request.peer, *token);
  } else {
    pauses_.failed(request.peer, *token, loop_.now());
  }
  return out;
}

void AdminServer::handle(const PlainRequest& request, OpsHttpServer::Answer answer) {
  const Access access = this->access(request);
  const bool console = Console::has(request.path);
  // The console asks for a token first, and logs the results of its forms itself.
  const bool is_asked_first =
      console && access.refusal.status == 401 && request.head.headers.count("Authorization") == 0;
  if (!access.role && !is_asked_first) tell_denied(request, request.peer, access.refusal.status);
  if (access.refusal.status == 429) return answer(access.refusal);
  if (console) return console_.handle(request, access, answer);
  api_.handle(request, access, std::move(answer));
}

}  // namespace lineward::admin
