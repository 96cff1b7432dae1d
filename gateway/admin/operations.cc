#include "admin/operations.h"

#include "admin/control_path.h"
#include "log/log.h"

namespace lineward::admin {

Operations::Operations(Sources sources) : sources_(std::move(sources)), readiness_(sources_) {}

Status<net::ListenFailure> Operations::listen() {
  auto ops = listen_ops();
  return ops ? listen_control() : ops;
}

Status<net::ListenFailure> Operations::listen_ops() {
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

// Its own path cannot be had in a read-only system: that is no reason not to serve.
Status<net::ListenFailure> Operations::listen_control() {
  const std::string& address = sources_.config.admin.address;
  if (address == "off") return Done{};
  bool automatic = address == "auto";
  std::string chosen = address;
  auto warn = [](const std::string& why) {
    log::write(log::Level::warn, "admin.off", {{"why", why}, {"fix", "--admin unix:/path, or --admin off"}});
  };
  if (automatic) {
    live_sockets();  // clears what killed gateways left
    auto path = own_socket_path();
    if (!path) {
      warn(path.error().text);
      return Done{};
    }
    chosen = "unix:" + *path;
  }
  control_ = std::make_unique<ControlServer>(sources_, [this] { return ops_url(); });
  auto listening = control_->listen(chosen);
  if (listening) return Done{};
  control_.reset();
  if (!automatic) return listening;
  warn(listening.error().text);
  return Done{};
}

std::string Operations::ops_url() const {
  if (!ops_) return {};
  bool unix_socket = ops_->address().rfind("unix:", 0) == 0;
  return unix_socket ? ops_->address() : "http://" + ops_->address();
}

}  // namespace lineward::admin
