#include "proxy/client/http/awaited_header.h"

#include <fmt/format.h>

#include "proxy/metrics/limits.h"

namespace lineward::client {

AwaitedHeader::AwaitedHeader(net::Loop& loop, const config::Listen& config,
                             std::unique_ptr<net::ByteStream> stream, std::string peer, Over over)
    : loop_(loop), stream_(std::move(stream)), peer_(std::move(peer)), over_(std::move(over)), timer_(loop) {
  stream_->set_owner(this);
  stream_->start_reading();
  const auto limit = config.head_timeout;
  timer_.start(limit, [this, limit] {
    metrics::limit_reached(metrics::Limit::head_timeout);
    end(metrics::ProxyHeader::late,
        fmt::format("the PROXY header was not complete within {} ms (listen.headTimeout)", limit.count()));
  });
}

std::unique_ptr<net::ByteStream> AwaitedHeader::take_stream() {
  if (stream_) stream_->set_owner(nullptr);
  return std::move(stream_);
}

void AwaitedHeader::on_data(std::string_view bytes) {
  const size_t used = header_.feed(bytes);
  if (header_.state() == net::ProxyHeader::State::more) return;
  if (header_.state() == net::ProxyHeader::State::failed)
    return end(metrics::ProxyHeader::bad, std::string(header_.fault()));
  if (used < bytes.size()) stream_->put_back(bytes.substr(used));
  end(header_.client().empty() ? metrics::ProxyHeader::local : metrics::ProxyHeader::taken, {});
}

void AwaitedHeader::on_end(int) {
  if (!header_.begun())
    return end(metrics::ProxyHeader::local, "the connection has ended before its first byte");
  end(metrics::ProxyHeader::bad, "the connection has ended within the PROXY header");
}

void AwaitedHeader::end(metrics::ProxyHeader outcome, std::string fault) {
  timer_.stop();
  outcome_ = outcome;
  fault_ = std::move(fault);
  if (!fault_.empty()) {
    stream_->close();
    loop_.retire(std::move(stream_));
  }
  if (Over over = std::exchange(over_, nullptr)) over(*this);
}

}  // namespace lineward::client
