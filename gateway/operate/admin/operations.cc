#include "operate/admin/operations.h"

#include "config/reader/admin.h"
#include "foundation/log/log.h"
#include "operate/admin/control_path.h"
#include "operate/admin/metrics_reader.h"

namespace lineward::admin {

Operations::Operations(Sources sources) : sources_(std::move(sources)), readiness_(sources_) {}

Status<> Operations::listen() {
  auto ops = listen_ops();
  if (!ops || sources_.config.admin.address == "off") return ops;
  api_ = std::make_unique<AdminApi>(sources_, [this] { return OwnUrls{ops_url(), admin_url()}; });
  console_ = std::make_unique<Console>(sources_, *api_);
  auto control = listen_control();
  return control ? listen_tcp() : control;
}

Status<> Operations::listen_ops() {
  const config::Ops& ops = sources_.config.ops;
  if (ops.address == "off") return Done{};
  ops_ = std::make_unique<OpsServer>(sources_, readiness_);
  auto listening = ops_->listen(ops.address);
  if (listening) return Done{};
  ops_.reset();
  if (ops.given) return listening;
  log::write(log::Level::warn, "ops.off",
             {{"why", listening.error().text}, {"fix", "--ops ADDR, or --ops off to do without"}});
  return Done{};
}

// A read-only system has no place for the default path: the gateway serves anyway.
Status<> Operations::listen_control() {
  const std::string& address = sources_.config.admin.address;
  const bool automatic = address.rfind("unix:", 0) != 0;
  std::string chosen = address;
  auto warn = [](const std::string& why) {
    log::write(log::Level::warn, "admin.off", {{"why", why}, {"fix", "--admin unix:/path, or --admin off"}});
  };
  if (automatic) {
    live_sockets();  // removes sockets of killed gateways
    auto path = own_socket_path();
    if (!path) {
      warn(path.error().text);
      return Done{};
    }
    chosen = "unix:" + *path;
  }
  control_ =
      std::make_unique<AdminServer>(sources_.loop, sources_.config.admin, *api_, *console_, Way::socket);
  auto listening = control_->listen(chosen);
  if (listening) return Done{};
  control_.reset();
  if (!automatic) return listening;
  warn(listening.error().text);
  return Done{};
}

Status<> Operations::listen_tcp() {
  const config::Admin& admin = sources_.config.admin;
  if (!config::is_tcp_address(admin.address)) return Done{};
  tcp_ = std::make_unique<AdminServer>(sources_.loop, admin, *api_, *console_, Way::tcp);
  auto listening = tcp_->listen(admin.address);
  if (!listening) return listening;
  if (tcp_->is_loopback() || !admin.token_file.empty()) return Done{};
  // The name resolved to an unexpected address.
  return fail("admin.address " + admin.address +
              " is not this machine's alone, and there is no admin.tokenFile");
}

bool Operations::read_metrics(metrics::MetricSnapshot& metrics) const {
  auto read = admin::read_metrics(sources_);
  if (read) metrics = std::move(*read);
  return read.has_value();
}

std::string Operations::admin_url() const {
  return tcp_ ? "http://" + tcp_->address() : std::string();
}

std::string Operations::ops_url() const {
  if (!ops_) return {};
  bool unix_socket = ops_->address().rfind("unix:", 0) == 0;
  return unix_socket ? ops_->address() : "http://" + ops_->address();
}

}  // namespace lineward::admin
