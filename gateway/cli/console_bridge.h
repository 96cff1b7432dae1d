// A gateway's console in this user's browser: a listener on this machine that hands requests on to the
// control socket and answers back, the event stream among them.
//
// Who may: whoever has the cookie that the one-time link gives, once. All paths stand below one that is
// random too, and the cookie is for that path only: cookies know no port, and another server of this machine
// must not get it. Nothing of the browser's goes on but method, path, query, content type, cursor and body;
// the gateway sees this process's user, and gives it the role that it has.
//
// Bounded by PlainServer (connections, head, body) and here (answers, time). One thread, one loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "admin/plain_http.h"
#include "net/loop.h"

namespace lineward::cli {

class ConsoleBridge {
 public:
  // `socket` says where the gateway is, anew for each request: it may have been started again. `opened` is
  // called when the link has been used.
  ConsoleBridge(net::Loop& loop, std::function<std::string()> socket, std::function<void()> opened);
  ~ConsoleBridge();
  ConsoleBridge(const ConsoleBridge&) = delete;
  ConsoleBridge& operator=(const ConsoleBridge&) = delete;

  // On a free port of 127.0.0.1.
  Status<net::ListenFailure> listen();
  // Good for one browser, once. A secret until then.
  std::string link() const;
  // Where the console is for whoever has the cookie.
  std::string address() const;

 private:
  class Passing;
  void handle(const admin::PlainRequest& request, admin::PlainServer::Answer answer);
  // Why it is not handed on; nothing where it is.
  std::optional<admin::PlainResponse> refusal(const admin::PlainRequest& request) const;
  admin::PlainResponse use_link();

  net::Loop& loop_;
  const std::function<std::string()> socket_;
  std::function<void()> opened_;
  const std::string root_;  // "/0123…"
  const std::string cookie_;
  std::string once_;  // empty: it has been used
  std::set<std::shared_ptr<Passing>> passing_;
  admin::PlainServer server_;
};

}  // namespace lineward::cli
