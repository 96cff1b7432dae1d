// Everything that people and monitoring see of a running gateway: the ops listener, the control socket,
// readiness.
//
// Owned by the Gateway; dies before what its sources name.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "admin/control_server.h"
#include "admin/ops_server.h"
#include "admin/readiness.h"

namespace lineward::admin {

class Operations {
 public:
  explicit Operations(Sources sources);

  // Opens what the configuration wants. Fails only for an address that somebody gave; a default one that
  // cannot be had is a warning in the log.
  Status<net::ListenFailure> listen();
  // "http://127.0.0.1:9464", or empty.
  std::string ops_url() const;

 private:
  const Sources sources_;
  Readiness readiness_;
  std::unique_ptr<OpsServer> ops_;
  std::unique_ptr<ControlServer> control_;
  Status<net::ListenFailure> listen_ops();
  Status<net::ListenFailure> listen_control();
};

}  // namespace lineward::admin
