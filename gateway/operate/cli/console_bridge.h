// A gateway's console in this user's browser: a local listener that forwards requests to the control socket,
// and answers back, including the event stream.
//
// Access needs the cookie that the one-time link sets. All paths are below a random one, and the cookie is
// limited to that path: cookies ignore ports, and another local server must not get it. Only method, path,
// query, content type, cursor and body are forwarded. The gateway sees this process's user, and assigns that
// user's role.
//
// Bounded by OpsHttpServer (connections, head, body) and here (answers, time). Runs on one thread and loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "foundation/net/loop.h"
#include "operate/admin/plain_http.h"

namespace lineward::cli {

class ConsoleBridge {
 public:
  // `socket` returns the gateway's socket for each request: it may have been restarted. `opened` is called
  // when the link has been used.
  ConsoleBridge(net::Loop& loop, std::function<std::string()> socket, std::function<void()> opened);
  ~ConsoleBridge();
  ConsoleBridge(const ConsoleBridge&) = delete;
  ConsoleBridge& operator=(const ConsoleBridge&) = delete;

  // Listens on a free port of 127.0.0.1.
  Status<> listen();
  // Valid for one browser, once. A secret until then.
  std::string link() const;
  // The console's address for a browser with the cookie.
  std::string address() const;

 private:
  class Passing;
  void handle(const admin::PlainRequest& request, admin::OpsHttpServer::Answer answer);
  // The response to a request that is not forwarded; nullopt if it is.
  std::optional<admin::PlainResponse> refusal(const admin::PlainRequest& request) const;
  admin::PlainResponse use_link();

  net::Loop& loop_;
  const std::function<std::string()> socket_;
  std::function<void()> opened_;
  const std::string root_;  // "/0123…"
  const std::string cookie_;
  std::string once_;  // empty: used
  std::set<std::shared_ptr<Passing>> passing_;
  admin::OpsHttpServer server_;
};

}  // namespace lineward::cli
