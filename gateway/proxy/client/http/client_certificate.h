// The certificate that a client showed in its TLS handshake, as a caller (listen.tls.clientCertificates).
// TLS has verified it.
#pragma once

#include <chrono>
#include <memory>

#include "config/config.h"
#include "proxy/core/gate.h"

struct x509_st;

namespace lineward::client {

class ClientCertificate {
 public:
  explicit ClientCertificate(x509_st* certificate);

  // By the rules in effect now: the caller, null without rules, or why there is none. The principal is
  // "certificate:" and the first name that the rules accept.
  core::GateAnswer judge(const config::ListenTls& rules);

 private:
  const std::shared_ptr<x509_st> shown_;
  const std::chrono::system_clock::time_point until_;
  core::CallerPtr caller_;  // as judged last
};

}  // namespace lineward::client
