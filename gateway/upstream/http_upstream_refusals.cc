// The part of HttpUpstream that deals with servers that refuse: whose credentials a refusal means, and what
// of it the client is told (behaviour.md 11, authorization for the plain sidecar).
#include <fmt/format.h>

#include "upstream/http_upstream.h"

namespace lineward::upstream {

using mcp::EndReason;

// A client can do something about 401, 403 and 429 only where its own credentials went up. Elsewhere they
// mean Lineward's, and a client that saw them would log in at the wrong door.
core::Failure HttpUpstream::failure_of(const MessagesEnd& end) {
  core::Failure failure{end.fault.reason, fmt::format("{} {}", server_.name, end.fault.text),
                        end.fault.limit_ms};
  failure.server_status = end.status;
  bool of_client = end.status == 401 || end.status == 403 || end.status == 429;
  if (!of_client) return failure;
  if (plain_sidecar_) {
    failure.headers = end.challenge;
  } else {
    failure.reason = end.status == 429 ? EndReason::upstream_unreachable : EndReason::upstream_protocol;
  }
  return failure;
}

void HttpUpstream::fetch_document(const std::string& path, core::DocumentDone done) {
  if (documents_ && !stopping_) return documents_->fetch(path, std::move(done));
  loop_.defer([done = std::move(done)] {
    done(Unexpected<core::NoDocument>{{503, "the server cannot be asked now"}});
  });
}

}  // namespace lineward::upstream
