#include "proxy/client/http/client_certificate.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "foundation/base/glob.h"
#include "foundation/net/certificate.h"

namespace lineward::client {
namespace {

bool is_accepted(const std::string& name, const config::ListenTls& rules) {
  return rules.client_names.empty() ||
         std::any_of(rules.client_names.begin(), rules.client_names.end(),
                     [&](const std::string& glob) { return glob_match(glob, name); });
}

std::string principal_of(const std::string& name, const config::ListenTls& rules) {
  return rules.realm + "certificate:" + name;
}

core::PolicyError refused(std::string why) {
  core::PolicyError refusal{.reason = mcp::EndReason::forbidden, .status = 403, .text = std::move(why)};
  refusal.by = "listen.tls";
  return refusal;
}

}  // namespace

ClientCertificate::ClientCertificate(x509_st* certificate)
    : shown_(net::shared_certificate(certificate)), until_(net::not_after_of(certificate)) {}

core::GateAnswer ClientCertificate::judge(const config::ListenTls& rules) {
  if (rules.client_authorities.empty()) return core::CallerPtr();
  // A resumed session, or a connection that is open for long.
  if (until_ <= std::chrono::system_clock::now()) return refused("this client certificate has expired");
  if (caller_ && is_accepted(caller_->name, rules) &&
      caller_->principal == principal_of(caller_->name, rules))
    return caller_;
  const std::vector<std::string> names = net::identities_of(shown_.get());
  const auto name = std::find_if(names.begin(), names.end(),
                                 [&](const std::string& one) { return is_accepted(one, rules); });
  if (name == names.end())
    return refused(
        "the names of this client certificate are not accepted (listen.tls.clientCertificates.names)");
  core::Caller caller;
  caller.principal = principal_of(*name, rules);
  caller.name = *name;
  caller.by = "listen.tls";
  caller.kind = "certificate";
  caller.subject = *name;
  caller.until = until_;
  caller_ = std::make_shared<const core::Caller>(std::move(caller));
  return caller_;
}

}  // namespace lineward::client
