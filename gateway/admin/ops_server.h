// The ops listener: probes and metrics, read-only, on an address of its own.
#pragma once

#include <memory>

#include "admin/plain_http.h"
#include "admin/readiness.h"

namespace lineward::admin {

class OpsServer {
 public:
  OpsServer(const Sources& sources, const Readiness& readiness);

  Status<net::ListenFailure> listen(const std::string& address) { return server_.listen(address); }
  const std::string& address() const { return server_.address(); }

 private:
  PlainResponse handle(const PlainRequest& request) const;
  PlainResponse ready(const PlainRequest& request) const;

  const Sources& sources_;
  const Readiness& readiness_;
  const config::Listen host_rules_;  // which Host names are ours
  PlainServer server_;
};

}  // namespace lineward::admin
