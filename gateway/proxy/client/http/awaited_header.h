// A connection of a trusted proxy before its PROXY header is complete (listen.proxyProtocol). Such a
// connection has no other use and gets no answer.
//
// Owned by the ConnectionTable, which retires it when its header is there, or will not come.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "config/config.h"
#include "foundation/net/byte_stream.h"
#include "foundation/net/loop.h"
#include "foundation/net/proxy_header.h"
#include "proxy/metrics/stats.h"

namespace lineward::client {

class AwaitedHeader final : private net::StreamCallbacks {
 public:
  // `over` is called once, unless this is destroyed before: the header is complete, or fault() tells why not.
  using Over = std::function<void(AwaitedHeader&)>;
  AwaitedHeader(net::Loop& loop, const config::Listen& config, std::unique_ptr<net::ByteStream> stream,
                std::string peer, Over over);
  AwaitedHeader(const AwaitedHeader&) = delete;
  AwaitedHeader& operator=(const AwaitedHeader&) = delete;

  const std::string& peer() const { return peer_; }
  // The outcome; `local` too if it was closed before its first byte, as checks of health are.
  metrics::ProxyHeader outcome() const { return outcome_; }
  const std::string& fault() const { return fault_; }
  // The client in a complete header; empty: the peer speaks for itself.
  const std::string& client() const { return header_.client(); }
  // The stream behind the header, with all bytes that follow it. Null: it has ended.
  std::unique_ptr<net::ByteStream> take_stream();

 private:
  void on_data(std::string_view bytes) override;
  void on_end(int error) override;
  void end(metrics::ProxyHeader outcome, std::string fault);

  net::Loop& loop_;
  std::unique_ptr<net::ByteStream> stream_;
  const std::string peer_;
  Over over_;
  net::ProxyHeader header_;
  metrics::ProxyHeader outcome_ = metrics::ProxyHeader::bad;
  std::string fault_;
  net::Timer timer_;
};

}  // namespace lineward::client
