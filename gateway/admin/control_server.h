// The control socket: HTTP/1.1 with JSON on a Unix socket, for `lineward ps`, `cancel` and `status`. Answers
// the user it runs as, and root (SO_PEERCRED), nobody else.
//
//   GET  /api/v1/status
//   GET  /api/v1/calls[?all]        in flight; all: with the last that ended
//   GET  /api/v1/calls/{id}
//   POST /api/v1/reload             {"dryRun": false}
//   POST /api/v1/calls/{id}/cancel  {"reason": "…", "wait": true}; wait: answered when it is known what
//   became of it
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>

#include "admin/plain_http.h"
#include "admin/sources.h"

namespace lineward::admin {

class ControlServer {
 public:
  ControlServer(const Sources& sources, std::function<std::string()> ops_url);
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  Status<net::ListenFailure> listen(const std::string& address) { return server_.listen(address); }

 private:
  struct Wait;
  void handle(const PlainRequest& request, PlainServer::Answer answer);
  size_t worker_of(const std::string& id) const;
  std::optional<nlohmann::json> ended(const std::string& id);
  PlainResponse call(const std::string& id);
  void cancel(const std::string& id, const PlainRequest& request, PlainServer::Answer answer);
  PlainResponse calls(bool all);
  PlainResponse reload(const PlainRequest& request);
  PlainResponse unknown_call(const std::string& id);
  void when_settled(const std::string& id, PlainServer::Answer answer);

  const Sources& sources_;
  std::function<std::string()> ops_url_;
  std::set<std::shared_ptr<Wait>> waits_;
  PlainServer server_;
};

}  // namespace lineward::admin
