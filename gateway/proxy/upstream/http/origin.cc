#include "proxy/upstream/http/origin.h"

#include <fmt/format.h>

#include "foundation/log/log.h"
#include "proxy/upstream/http/origin_set.h"
#include "proxy/upstream/shared/circuit_breaker.h"

namespace lineward::upstream {

Origin::Origin(OriginSet& owner, uint32_t slot, std::string key, HttpUrl url, OriginBook::StatePtr state,
               bool only)
    : owner_(owner),
      slot_(slot),
      key_(std::move(key)),
      url_(std::move(url)),
      tally_(std::make_shared<Tally>(Tally{std::move(state), only})) {}

void Origin::open(net::Loop& loop, std::shared_ptr<net::TlsContext> tls, PoolOptions options) {
  pool_ = std::make_unique<HttpPool>(loop, url_, std::move(tls), std::move(options));
  pool_->be_liberal();
  pool_->observe(*this);
}

void Origin::timed_out() {
  owner_.on_origin_failed(*this, "did not answer in time");
}

void Origin::on_response(const http::ResponseInfo& info) {
  if (info.status == 429 || info.status == 503) {
    if (info.headers.count("Retry-After") == 1)
      owner_.on_origin_busy(*this, info.status, info.headers.get("Retry-After"));
  }
  if (tally_->only) return;
  if (info.status >= 500) return owner_.on_origin_failed(*this, fmt::format("answered HTTP {}", info.status));
  if (state().succeeded(pool_->loop().now())) {
    log::write(log::Level::info, "upstream.origin",
               {{"upstream", pool_->server()}, {"origin", state().name}, {"state", "ready"}});
  }
}

void Origin::on_broken(const core::Failure& fault) {
  if (tally_->only) return;
  const bool is_nonsense = fault.reason == mcp::EndReason::upstream_protocol && !fault.oversize;
  if (counts_for_circuit(fault.reason) || is_nonsense) owner_.on_origin_failed(*this, fault.text);
}

}  // namespace lineward::upstream
