// The end of a stream that belongs to another worker: a socket to the client connection there. Carries one
// request after the other.
//
// Owned by the HTTP/2 connection.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "foundation/net/byte_stream.h"
#include "proxy/client/http2/stream_end.h"

namespace lineward::client {

class Http2Connection;

class Relay final : public StreamEnd, private net::StreamCallbacks {
 public:
  Relay(Http2Connection& connection, std::unique_ptr<net::ByteStream> socket);

  // A digest of its last request's path: the next one to the same path belongs to the same worker, most
  // likely.
  size_t path() const { return path_; }
  bool is_idle() const { return stream_ == nullptr; }
  // No byte came since its last answer: it may serve another stream.
  bool is_quiet() const { return socket_->quiet(); }

  // Bytes of the answer that the client has not taken.
  size_t backlog() const;

  void begin(Http2Stream& stream) override;
  void give(std::string_view bytes) override;
  bool is_full() const override;
  void leave() override;
  void finished(bool reusable) override;
  void drained() override;

 private:
  void on_data(std::string_view bytes) override;
  void on_end(int error) override;
  void on_drained() override;

  Http2Connection& connection_;
  const std::unique_ptr<net::ByteStream> socket_;
  size_t path_ = 0;
  Http2Stream* stream_ = nullptr;
};

}  // namespace lineward::client
