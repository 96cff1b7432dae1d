// An HTTP server of either era, at one address or at two, its origins: a session lives at the one where it
// was opened.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "http_text.h"
#include "script.h"
#include "writer.h"

namespace lineward::sim {

class HttpServer {
 public:
  HttpServer(World& world, Ledger& ledger, const ServerPlan& plan, size_t index);
  ~HttpServer();
  // `origin`: what came in at this address; -1: at any.
  void reset_all(int origin);
  void stall_all(Time until, int origin);
  void pulse();
  size_t listens() const;
  size_t sessions() const;

 private:
  class Connection;
  struct Session {
    std::map<std::string, bool> uris;
    bool asks = false;  // its client can be asked
    int origin = 0;
  };
  void accept(std::shared_ptr<Link> link, int origin);
  World& world_;
  Ledger& ledger_;
  const ServerPlan& plan_;
  size_t index_;
  std::vector<std::shared_ptr<Connection>> connections_;
  std::map<std::string, Session> sessions_;
  uint64_t last_session_ = 0;
  std::map<std::string, Time> early_cancels_;  // that came before their calls, by session and id
};

}  // namespace lineward::sim
