// The interfaces for operators and monitoring: the ops listener, the admin API on its control socket and on
// TCP, readiness.
//
// Owned by the Gateway; destroyed before the objects that its sources refer to.
#pragma once

#include <memory>
#include <string>

#include "operate/admin/admin_api.h"
#include "operate/admin/admin_server.h"
#include "operate/admin/console.h"
#include "operate/admin/ops_server.h"
#include "operate/admin/readiness.h"
#include "proxy/metrics/snapshot.h"

namespace lineward::admin {

class Operations {
 public:
  explicit Operations(Sources sources);

  // Opens the configured listeners. Fails only for an explicitly configured address; a default address that
  // is unavailable only logs a warning.
  Status<> listen();
  // Reads all metrics; false if a worker is stuck.
  bool read_metrics(metrics::MetricSnapshot& metrics) const;
  // "http://127.0.0.1:9464", or empty.
  std::string ops_url() const;
  // "http://127.0.0.1:8001", or empty: the admin API on TCP.
  std::string admin_url() const;

 private:
  const Sources sources_;
  Readiness readiness_;
  std::unique_ptr<OpsServer> ops_;
  std::unique_ptr<AdminApi> api_;
  std::unique_ptr<Console> console_;
  std::unique_ptr<AdminServer> control_;
  std::unique_ptr<AdminServer> tcp_;
  Status<> listen_ops();
  Status<> listen_control();
  Status<> listen_tcp();
};

}  // namespace lineward::admin
