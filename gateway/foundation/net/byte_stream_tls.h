// The TLS part of a ByteStream; only for byte_stream*.cc.
#pragma once

#include <memory>
#include <string_view>

#include "foundation/net/byte_stream.h"
#include "foundation/net/tls_session.h"

namespace lineward::net {

// Between the stream and its owner: receives the stream's callbacks. Owned by the stream.
struct ByteStream::Tls final : StreamCallbacks {
  Tls(ByteStream& its_stream, std::unique_ptr<TlsSession> its_session)
      : stream(its_stream), session(std::move(its_session)) {}
  void on_data(std::string_view bytes) override;
  void on_end(int error) override;
  void on_drained() override;
  bool can_move() const { return session->state() == TlsSession::State::open && session->output().empty(); }
  // Before the socket is closed: close_notify, if the kernel takes it at once.
  void say_goodbye();

  ByteStream& stream;
  StreamCallbacks* owner = nullptr;
  std::unique_ptr<TlsSession> session;  // null after detach()
};

}  // namespace lineward::net
