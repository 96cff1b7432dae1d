#include "proxy/upstream/http/session_credentials.h"

namespace lineward::upstream {

bool SessionCredentials::are_of(const Headers& forwarded) const {
  if (!opened_as_) return true;
  const std::string identity = identity_of(forwarded);
  return identity == *opened_as_ || identity == identity_of(forwarded_);
}

void SessionCredentials::take_cookies(const http::ResponseInfo& info) {
  if (keeps_cookies_ && info.status < 400) cookies_.take(info.headers, url_);
}

Headers SessionCredentials::headers(HttpVerb verb, const Headers& forwarded,
                                    const std::string& revision) const {
  Headers out = base_headers(server_, verb);
  add_all(out, forwarded);
  add_session_headers(out, id_, revision);
  if (cookies_.empty()) return out;
  for (http::OutHeader& header : out) {
    if (!http::equals_ignoring_case(header.name, "Cookie")) continue;
    header.value += "; " + cookies_.header();
    return out;
  }
  out.push_back({"Cookie", cookies_.header()});
  return out;
}

}  // namespace lineward::upstream
